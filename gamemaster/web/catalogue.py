"""The games that can be looked at and played: shipped ones, pasted ones, and ones that begin in another state."""

import json
import re
from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path

from gamemaster.evaluator import RulesheetSource
from gamemaster.faults import shown
from gamemaster.record import MatchRecord
from gamemaster.web.evaluators.derivation import origin_of
from gamemaster.web.settings import Limits, Problem, refused
from ggp.errors import GgpError
from ggp.gdl.reader import decode
from ggp.gdl.rulesheet import NATURE, Rulesheet, name_and_arity, parse_rulesheet
from ggp.gdl.terms import to_text
from ggp.library import SUFFIX, Metadata, is_match, read_bytes, read_metadata, shipped_rulesheets

_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,79}")
_LONGEST_NAME = 60
_FIRST = {"classic", "line", "small", "two-roles"}  # tags of a game to begin with


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """One game."""

    id: str
    title: str
    roles: tuple[str, ...]
    metadata: Metadata = field(repr=False)
    is_shipped: bool
    has_percepts: bool
    sha256: str  # of the rules
    source: RulesheetSource = field(repr=False)

    @property
    def players(self) -> tuple[str, ...]:
        """The roles that somebody has to take."""
        return tuple(role for role in self.roles if role != NATURE)


class Catalogue:
    """All games by their names; pasted ones are kept as files where there is a folder for them."""

    def __init__(self, folder: Path | None, limits: Limits) -> None:
        self._folder = folder
        self._limits = limits
        self._entries: dict[str, CatalogueEntry] = {}
        self._visitors: Counter[str] = Counter()  # visitor → rulesheets

    def load(self) -> None:
        """Reads the rulesheets; files that are none are passed over."""
        for name, path in shipped_rulesheets().items():
            self._entries[name] = _read_shipped(path, path.stat().st_mtime_ns)
        for path in sorted(self._folder.glob(f"*{SUFFIX}")) if self._folder else ():
            if _ID.fullmatch(path.stem) and path.stem not in self._entries:
                with suppress(GgpError):
                    self._entries[path.stem] = _read(path, is_shipped=False)

    @property
    def tags(self) -> dict[str, int]:
        """The tags of all games with the number of games that have it, the most frequent first."""
        return dict(Counter(tag for entry in self._entries.values() for tag in entry.metadata.tags).most_common())

    @property
    def simplest(self) -> CatalogueEntry:
        """The game to begin with: of small ones that many know, the one with the shortest rules."""
        entries = self.find()
        known = [one for one in entries if set(one.metadata.tags) >= _FIRST and "board" in one.metadata.drawing]
        return min(known or entries, key=lambda entry: len(entry.source.text))

    def get(self, game: str) -> CatalogueEntry | None:
        return self._entries.get(game)

    def find(self, words: str = "", tags: Collection[str] = ()) -> list[CatalogueEntry]:
        """Those that have all the words in their name, title, description, roles or tags, and all the tags; the shipped
        ones first."""
        wanted = words.split()
        found = [one for one in self._entries.values() if is_match(wanted, tags, one.id, one.roles, one.metadata)]
        return sorted(found, key=lambda entry: (not entry.is_shipped, entry.title.lower()))

    def make_entry(self, name: str, text: str) -> CatalogueEntry:
        """Of a rulesheet that can be loaded; the same text under the same name is the same game. Blocks."""
        if len(text.encode(errors="replace")) > self._limits.rulesheet_bytes:
            raise Problem(413, f"a rulesheet has at most {self._limits.rulesheet_bytes:,} bytes")
        title = shown(name)[:_LONGEST_NAME].strip() or "A game"
        return _entry(_id(title, text), Metadata(title=title), text, is_shipped=False)

    def add(self, entry: CatalogueEntry, visitor: str = "") -> CatalogueEntry:
        """Keeps a pasted rulesheet. Blocks. `visitor` is whose share it is taken of."""
        if entry.id in self._entries:
            return self._entries[entry.id]
        if sum(not one.is_shipped for one in self._entries.values()) >= self._limits.rulesheets:
            raise refused(f"there are {self._limits.rulesheets} pasted rulesheets already, as many as are kept")
        if visitor and self._visitors[visitor] >= self._limits.visitor_rulesheets:
            raise refused(f"you have pasted {self._limits.visitor_rulesheets} rulesheets, as many as may be")
        self._visitors[visitor] += 1
        if self._folder is not None:
            _write(self._folder, entry)
        self._entries[entry.id] = entry
        return entry

    def recognised(self, rulesheet: Rulesheet) -> CatalogueEntry | None:
        """The game that has the same rules."""
        sha256 = rulesheet.sha256
        return next((entry for entry in self._entries.values() if entry.sha256 == sha256), None)

    def source_of(self, record: MatchRecord) -> RulesheetSource:
        """What the rulesheet of a record is evaluated and drawn from."""
        entry = self._entries.get(record.game)
        if entry is not None and entry.source.text == record.rulesheet:
            return entry.source
        return self.varied(record.game, record.rulesheet)

    def has_percepts(self, record: MatchRecord) -> bool:
        """Whether the rules of a record tell the roles different things. Blocks."""
        entry = self._entries.get(record.game)
        if entry is not None and entry.source.text == record.rulesheet:
            return entry.has_percepts
        if "sees" not in record.rulesheet.lower():
            return False
        return parse_rulesheet(record.rulesheet, record.game).has_percepts

    def varied(self, game: str, text: str) -> RulesheetSource:
        """A rulesheet that goes by the name of a game; drawn as that is, if it is known or comes from it."""
        entry = self._entries.get(game)
        is_same = entry is not None and (entry.is_shipped or origin_of(text) is not None)
        return RulesheetSource(game, text, entry.metadata.drawing if is_same and entry is not None else {})


def roles_of(rulesheet: Rulesheet) -> tuple[str, ...]:
    """The roles as the facts of the rulesheet name them."""
    heads = (rule.head for rule in rulesheet.rules if rule.is_fact and name_and_arity(rule.head) == ("role", 1))
    return tuple(dict.fromkeys(to_text(head[1]) for head in heads))


@cache
def _read_shipped(path: Path, modified: int) -> CatalogueEntry:
    """Once in a process for each version of the file: reading all of them takes a third of a second."""
    del modified
    return _read(path, is_shipped=True)


def _read(path: Path, *, is_shipped: bool) -> CatalogueEntry:
    return _entry(path.stem, read_metadata(path), decode(read_bytes(path), path.name), is_shipped=is_shipped)


def _entry(game: str, metadata: Metadata, text: str, *, is_shipped: bool) -> CatalogueEntry:
    rulesheet = parse_rulesheet(text, "rulesheet")
    source = RulesheetSource(game, text, metadata.drawing)
    title, roles, sees = metadata.title or game, roles_of(rulesheet), rulesheet.has_percepts
    return CatalogueEntry(game, title, roles, metadata, is_shipped, sees, rulesheet.sha256, source)


def _id(title: str, text: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:40].strip("-") or "game"
    return f"{words}-{sha256(text.encode(errors='replace')).hexdigest()[:8]}"


def _write(folder: Path, entry: CatalogueEntry) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        title = json.dumps(entry.title, ensure_ascii=False)  # TOML has no surrogates, which would stand for an emoji
        (folder / f"{entry.id}.toml").write_text(f"title = {title}\n", encoding="utf-8")
        (folder / f"{entry.id}{SUFFIX}").write_text(entry.source.text, encoding="utf-8", newline="")
    except (OSError, UnicodeError) as error:
        raise Problem(507, f"the rulesheet cannot be kept: {getattr(error, 'strerror', None) or error}") from None

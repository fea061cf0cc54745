"""The games that can be looked at and played: shipped ones, pasted ones, and ones that begin in another state."""

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from gamemaster.faults import shown
from gamemaster.record import MatchRecord
from gamemaster.web.evaluators.pool import Source
from gamemaster.web.problems import Problem, refused
from gamemaster.web.settings import Limits
from ggp.errors import GgpError
from ggp.gdl.reader import decode
from ggp.gdl.rulesheet import NATURE, RULE, Rule, Rulesheet, atoms, name_and_arity, parse_rulesheet, rule_term
from ggp.gdl.state_machine import Facts
from ggp.gdl.terms import Term, subterms, to_text
from ggp.library import SUFFIX, Metadata, game_names, read_bytes, read_metadata, rules_folder

_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,79}")
_LONGEST_NAME = 60
_INIT = "init"
_AROUND = (RULE, "not", "and", "or")  # what holds sentences
_ORIGIN = re.compile(r"; goes on from match ([A-Za-z0-9][A-Za-z0-9._~-]{0,199}) after ([0-9]{1,7}) steps\n")


@dataclass(frozen=True, slots=True)
class Entry:
    """One game."""

    id: str
    title: str
    roles: tuple[str, ...]
    metadata: Metadata = field(repr=False)
    is_shipped: bool
    has_percepts: bool
    sha256: str  # of the rules
    source: Source = field(repr=False)

    @property
    def players(self) -> tuple[str, ...]:
        """The roles that somebody has to take."""
        return tuple(role for role in self.roles if role != NATURE)


class Catalogue:
    """All games by their names; pasted ones are kept as files where there is a folder for them."""

    def __init__(self, folder: Path | None, limits: Limits) -> None:
        self._folder = folder
        self._limits = limits
        self._entries: dict[str, Entry] = {}

    def load(self) -> None:
        """Reads the rulesheets; files that are none are passed over."""
        for name in game_names():
            path = rules_folder() / f"{name}{SUFFIX}"
            self._entries[name] = _read(path, is_shipped=True)
        for path in sorted(self._folder.glob(f"*{SUFFIX}")) if self._folder else ():
            if _ID.fullmatch(path.stem) and path.stem not in self._entries:
                with suppress(GgpError):
                    self._entries[path.stem] = _read(path, is_shipped=False)

    def get(self, game: str) -> Entry | None:
        return self._entries.get(game)

    def find(self, words: str = "") -> list[Entry]:
        """Those that have all the words in their name, title or description, the shipped ones first."""
        wanted = words.lower().split()
        found = [entry for entry in self._entries.values() if _has(entry, wanted)]
        return sorted(found, key=lambda entry: (not entry.is_shipped, entry.title.lower()))

    def add(self, name: str, text: str) -> Entry:
        """Keeps a rulesheet that can be loaded; the same text under the same name is the same game. Blocks."""
        if len(text.encode(errors="replace")) > self._limits.rulesheet_bytes:
            raise Problem(413, f"a rulesheet has at most {self._limits.rulesheet_bytes:,} bytes")
        title = shown(name)[:_LONGEST_NAME].strip() or "A game"
        entry = _entry(_id(title, text), Metadata(title=title), text, is_shipped=False)
        if entry.id in self._entries:
            return self._entries[entry.id]
        if sum(not one.is_shipped for one in self._entries.values()) >= self._limits.rulesheets:
            raise refused(f"there are {self._limits.rulesheets} pasted rulesheets already, as many as are kept")
        if self._folder is not None:
            _write(self._folder, entry)
        self._entries[entry.id] = entry
        return entry

    def recognised(self, rulesheet: Rulesheet) -> Entry | None:
        """The game that has the same rules."""
        sha256 = rulesheet.sha256
        return next((entry for entry in self._entries.values() if entry.sha256 == sha256), None)

    def source_of(self, record: MatchRecord) -> Source:
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

    def varied(self, game: str, text: str) -> Source:
        """A rulesheet that goes by the name of a game; drawn as that is, if it is known or comes from it."""
        entry = self._entries.get(game)
        is_same = entry is not None and (entry.is_shipped or origin_of(text) is not None)
        return Source(game, text, entry.metadata.drawing if is_same and entry is not None else {})


def roles_of(rulesheet: Rulesheet) -> tuple[str, ...]:
    """The roles as the facts of the rulesheet name them."""
    heads = (rule.head for rule in rulesheet.rules if rule.is_fact and name_and_arity(rule.head) == ("role", 1))
    return tuple(dict.fromkeys(to_text(head[1]) for head in heads))


def _read(path: Path, *, is_shipped: bool) -> Entry:
    return _entry(path.stem, read_metadata(path), decode(read_bytes(path), path.name), is_shipped=is_shipped)


def _entry(game: str, metadata: Metadata, text: str, *, is_shipped: bool) -> Entry:
    rulesheet = parse_rulesheet(text, "rulesheet")
    source = Source(game, text, metadata.drawing)
    title, roles, sees = metadata.title or game, roles_of(rulesheet), rulesheet.has_percepts
    return Entry(game, title, roles, metadata, is_shipped, sees, rulesheet.sha256, source)


def _id(title: str, text: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:40].strip("-") or "game"
    return f"{words}-{sha256(text.encode(errors='replace')).hexdigest()[:8]}"


def _has(entry: Entry, wanted: Iterable[str]) -> bool:
    text = f"{entry.id} {entry.title} {entry.metadata.description} {' '.join(entry.roles)}".lower()
    return all(word in text for word in wanted)


def _write(folder: Path, entry: Entry) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{entry.id}.toml").write_text(f"title = {json.dumps(entry.title)}\n", encoding="utf-8")
        (folder / f"{entry.id}{SUFFIX}").write_text(entry.source.text, encoding="utf-8", newline="")
    except (OSError, UnicodeError) as error:
        raise Problem(507, f"the rulesheet cannot be kept: {getattr(error, 'strerror', None) or error}") from None


@dataclass(frozen=True, slots=True)
class Origin:
    """The match and the state in it from which another goes on."""

    match: str
    step: int  # how many steps had been executed


def derived_rulesheet(rulesheet: Rulesheet, facts: Facts, origin: Origin | None = None) -> Rulesheet:
    """The same game from this state on.

    What other rules read of `init` stays as it was: the first state keeps its facts under another name.
    """
    kept = [rule for rule in rulesheet.rules if not _begins(rule)]
    old = _fresh(rulesheet) if any(_reads_init(rule) for rule in kept) else None
    lines = [f"(init {to_text(fact)})" for fact in sorted(facts, key=to_text)]
    if old is None:
        lines += [to_text(rule_term(rule)) for rule in kept]
    else:
        lines += [to_text(_renamed(rule_term(rule), old)) for rule in rulesheet.rules]
    heading = [] if origin is None else [f"; goes on from match {origin.match} after {origin.step} steps"]
    return parse_rulesheet("\n".join([*heading, *lines]) + "\n", rulesheet.source)


def origin_of(text: str) -> Origin | None:
    """What the first line of a derived rulesheet says."""
    found = _ORIGIN.match(text)
    return Origin(found[1], int(found[2])) if found else None


def _begins(rule: Rule) -> bool:
    return name_and_arity(rule.head)[0] == _INIT


def _reads_init(rule: Rule) -> bool:
    return any(name_and_arity(atom.term)[0] == _INIT for part in rule.body for atom, _ in atoms(part))


def _fresh(rulesheet: Rulesheet) -> str:
    """A name that the rules do not use."""
    terms = [part for rule in rulesheet.rules for part in subterms(rule_term(rule))]
    used = {part if isinstance(part, str) else part[0] for part in terms}
    name = "begun"
    while name in used:
        name += "_"
    return name


def _renamed(sentence: Term, name: str) -> Term:
    """A rule or a part of one with another name for the relation `init`; functions keep theirs."""
    if isinstance(sentence, str) or not sentence:
        return sentence
    if sentence[0] in _AROUND:
        return (sentence[0], *(_renamed(part, name) for part in sentence[1:]))
    return (name, *sentence[1:]) if sentence[0] == _INIT else sentence

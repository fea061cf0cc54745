"""The folder of match records: which there are, and what each says; nothing outside of it is ever read."""

import re
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gamemaster.record import MatchRecord, read_record
from gamemaster.web.models import MatchesWanted, MatchHead, Status
from gamemaster.web.views import head_of
from ggp.errors import RecordError
from ggp.gdl.rulesheet import NATURE

SUFFIX = ".json"
MOST_BYTES = 64 * 2**20  # of a record that is read

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_FRESH = 1.0  # seconds for which a folder is not looked at again in which no file came or was replaced
_KINDS: dict[Status, str] = {
    "preparing": "running",
    "running": "running",
    "terminal": "finished",
    "step limit": "finished",
    "broken": "finished",
    "aborted": "given up",
    "interrupted": "given up",
    "given up": "given up",
    "failed": "failed",
}


@dataclass(frozen=True, slots=True)
class Pace:
    """How long a player took for its moves."""

    player: str
    moves: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Kept:
    """A record of the folder without its steps."""

    stamp: tuple[int, int]  # when the file was written, and its size
    head: MatchHead
    paces: tuple[Pace, ...]


class Folder:
    """The records in one folder; called from threads."""

    def __init__(self, folder: Path) -> None:
        self.path = folder
        self._kept: dict[str, Kept] = {}
        self._bad: dict[str, tuple[int, int]] = {}  # what is no record, as it was when that was found
        self._looked = -_FRESH
        self._changed = -1  # when a file had come or been replaced, as the folder said when it was looked at
        self._lock = threading.Lock()

    def get(self, match: str) -> MatchRecord | None:
        """The record of a match; None where there is none, or the file is none."""
        path = self._path(match)
        if path is None:
            return None
        try:
            return read_record(path) if path.stat().st_size <= MOST_BYTES else None
        except (OSError, RecordError):
            return None

    def all(self) -> list[Kept]:
        """All records, the match that began last first."""
        self._refresh()
        kept = list(self._kept.values())
        return sorted(kept, key=lambda one: one.head.started, reverse=True)

    def _path(self, match: str) -> Path | None:
        if not _ID.fullmatch(match):
            return None
        path = self.path / f"{match}{SUFFIX}"
        try:
            is_ours = path.is_file() and path.resolve().parent == self.path.resolve()
        except OSError:
            return None
        return path if is_ours else None

    def _refresh(self) -> None:
        """Reads what is new or has changed."""
        with self._lock:
            changed = self._written()
            if changed == self._changed and time.monotonic() - self._looked < _FRESH:
                return
            found = dict(self._stamps())
            for match in self._kept.keys() - found.keys():
                del self._kept[match]
            for match, stamp in found.items():
                known = self._kept.get(match)
                is_same = known is not None and known.stamp == stamp
                if is_same and known is not None and known.head.status != "running":
                    continue
                if self._bad.get(match) != stamp:
                    self._read(match, stamp)
            self._looked, self._changed = time.monotonic(), changed

    def _written(self) -> int:
        try:
            return self.path.stat().st_mtime_ns
        except OSError:
            return 0

    def _stamps(self) -> Iterable[tuple[str, tuple[int, int]]]:
        try:
            paths = list(self.path.iterdir())
        except OSError:
            return
        for path in paths:
            if path.suffix == SUFFIX and _ID.fullmatch(path.stem):
                try:
                    status = path.stat()
                except OSError:
                    continue
                yield path.stem, (status.st_mtime_ns, status.st_size)

    def _read(self, match: str, stamp: tuple[int, int]) -> None:
        record = self.get(match)
        if record is None:
            self._bad[match] = stamp
            self._kept.pop(match, None)
            return
        self._bad.pop(match, None)
        self._kept[match] = Kept(stamp, head_of(record, match), paces_of(record))


def paces_of(record: MatchRecord) -> tuple[Pace, ...]:
    """Of each player, over the moves in which it had to think at all or not."""
    found = []
    for role in record.roles:
        if role != NATURE and role in record.players:
            seconds = [step.seconds[role] for step in record.steps if role in step.seconds]
            player = record.players[role]
            found.append(Pace(player.name or player.bot or player.url, len(seconds), sum(seconds)))
    return tuple(found)


def is_wanted(head: MatchHead, wanted: MatchesWanted) -> bool:
    """Whether a match is among those that were asked for."""
    return (
        (not wanted.game or head.game == wanted.game)
        and (not wanted.player or any(player.name == wanted.player for player in head.players.values()))
        and (wanted.tournament is None or head.tournament == wanted.tournament)
        and (not wanted.status or wanted.status == _KINDS[head.status])
    )

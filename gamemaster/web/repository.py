"""The match repository: records in the store of tournaments and in a folder, behind one interface."""

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import repeat
from pathlib import Path
from typing import TypeAlias

from gamemaster.player import host_of
from gamemaster.record import Keep, MatchRecord, RecordWriter, is_being_written, is_growing, now, read_record
from gamemaster.tournament.store import MatchRow, MatchStatus, Store
from gamemaster.web.models import MatchesWanted, MatchHead, Player, RoleStatistics, Statistics, Status
from gamemaster.web.views import BETWEEN, CHANCE, head_of, interrupted_at, match_url
from ggp.errors import NotStoredError, RecordError, StoreError
from ggp.gdl.rulesheet import NATURE

SUFFIX = ".json"
Version: TypeAlias = tuple[int, int]  # of a file: its time and size; of a match of the store: its revision, 0
MOST_BYTES = 64 * 2**20  # of a record that is read
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_KEPT_RECORDS = 8  # that were read last
_LOST = "the game master ended in the middle of the match"
_LONG = 65_536  # bytes of a record's steps, beyond which a store is not told of every one
_FRESH = 1.0  # seconds for which a folder is not looked at again in which no file came or was replaced
_KINDS: dict[Status, str] = {
    "preparing": "running",
    "running": "running",
    "terminal": "finished",
    "step limit": "finished",
    "forfeit": "finished",
    "adjudicated": "finished",
    "void": "finished",
    "broken": "finished",
    "aborted": "given up",
    "interrupted": "given up",
    "given up": "given up",
    "failed": "failed",
}
_STATUSES: Mapping[str, MatchStatus] = {
    "running": "running",
    "finished": "finished",
    "failed": "failed",
    "given up": "given up",
}


@dataclass(frozen=True, slots=True)
class MoveTime:
    """How long a player took for its moves."""

    player: str
    moves: int
    seconds: float


@dataclass(frozen=True, slots=True)
class RecordSummary:
    """A record of the folder without its steps."""

    version: Version
    head: MatchHead
    move_times: tuple[MoveTime, ...]
    read_again: datetime | None  # when the status changes though the file does not, since it does not grow


@dataclass(frozen=True, slots=True)
class KeptMatch:
    """A match of the repository."""

    record: MatchRecord
    head: MatchHead | None  # what the store says of it; None where it is a file of the folder


class RecordFolder:
    """The records in one folder; called from threads."""

    def __init__(self, folder: Path) -> None:
        self.path = folder
        self._lock = threading.Lock()  # all that follows is read and written under it
        self._kept: dict[str, RecordSummary] = {}
        self._bad: dict[str, Version] = {}  # files that are no records
        self._looked = -_FRESH
        self._changed = -1  # when a file was last added or replaced, as of the last look

    def get(self, match: str) -> MatchRecord | None:
        """The record of a match; None where there is none, or the file is none."""
        path = self._path(match)
        if path is None:
            return None
        try:
            return read_record(path) if path.stat().st_size <= MOST_BYTES else None
        except (OSError, RecordError):
            return None

    def all(self) -> list[RecordSummary]:
        """All records, the match that began last first. StoreError if the folder cannot be read."""
        with self._lock:
            self._refresh()
            kept = list(self._kept.values())
        return sorted(kept, key=lambda one: one.head.started, reverse=True)

    def version(self, match: str) -> Version | None:
        """Changes with the file of a match; None where there is none."""
        path = self._path(match)
        try:
            return None if path is None else _version(path)
        except OSError:
            return None

    def size_bytes(self) -> int:
        """Of all records. StoreError if the folder cannot be read."""
        return sum(size for _, (_, size) in self._versions())

    def end_lost(self) -> list[MatchRecord]:
        """Completes the records of matches whose game master is dead, as given up; as they were before."""
        return [record for match, _ in self._versions() if (record := self._end_lost(match)) is not None]

    def _end_lost(self, match: str) -> MatchRecord | None:
        path = self._path(match)
        if path is None or not is_growing(path) or is_being_written(path):
            return None
        record = self.get(match)
        if record is None or record.status != "running":
            return None
        ended = {"status": "aborted", "reason": _LOST, "finished": now()}
        with suppress(RecordError):
            RecordWriter(path).write(record.model_copy(update=ended))
        return record

    def revision(self) -> object:
        """Changes whenever a file came or went, or the record of a match that goes on has grown."""
        with self._lock:
            growing = [match for match, kept in self._kept.items() if kept.head.status == "running"]
        return self._written(), tuple(map(self.version, growing))

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
        changed = self._written()
        if changed == self._changed and time.monotonic() - self._looked < _FRESH:
            return
        found = dict(self._versions())
        for match in self._kept.keys() - found.keys():
            del self._kept[match]
        for match, version in found.items():
            known = self._kept.get(match)
            is_same = known is not None and known.version == version
            if is_same and known is not None and (known.read_again is None or now() < known.read_again):
                continue
            if self._bad.get(match) != version:
                self._read(match, version)
        self._looked, self._changed = time.monotonic(), changed

    def _written(self) -> int:
        try:
            return self.path.stat().st_mtime_ns
        except OSError:
            return 0

    def _versions(self) -> Iterable[tuple[str, Version]]:
        try:
            paths = list(self.path.iterdir())
        except FileNotFoundError:
            return  # nothing has been kept yet
        except OSError as error:
            raise StoreError(f"{self.path}: {error.strerror or error}") from None
        for path in paths:
            if path.suffix == SUFFIX and _ID.fullmatch(path.stem):
                with suppress(OSError):
                    yield path.stem, _version(path)

    def _read(self, match: str, version: Version) -> None:
        record = self.get(match)
        if record is None:
            self._bad[match] = version
            self._kept.pop(match, None)
            return
        self._bad.pop(match, None)
        head = head_of(record, match)
        read_again = interrupted_at(record) if head.status == "running" else None
        self._kept[match] = RecordSummary(version, head, move_times_of(record), read_again)


def _version(path: Path) -> Version:
    status = path.stat()
    return status.st_mtime_ns, status.st_size


def move_times_of(record: MatchRecord) -> tuple[MoveTime, ...]:
    """Of each player, over the moves in which it had to think at all or not."""
    found = []
    for role in record.roles:
        if role != NATURE and role in record.players:
            seconds = [step.seconds[role] for step in record.steps if role in step.seconds]
            player = record.players[role]
            found.append(MoveTime(player.name or player.bot or host_of(player.url), len(seconds), sum(seconds)))
    return tuple(found)


def is_wanted(head: MatchHead, wanted: MatchesWanted) -> bool:
    """Whether a match is among those that were asked for."""
    return (
        (not wanted.game or head.game == wanted.game)
        and (not wanted.player or any(player.name == wanted.player for player in head.players.values()))
        and (wanted.tournament is None or head.tournament == wanted.tournament)
        and (not wanted.status or wanted.status == _KINDS[head.status])
    )


class MatchRepository:
    """All matches that are kept; called from threads."""

    def __init__(self, folder: Path, store: Store | None) -> None:
        self._folder = RecordFolder(folder)
        self._store = store
        self._lock = threading.Lock()  # for the records that were read last
        self._records: OrderedDict[str, tuple[Version, MatchRecord]] = OrderedDict()
        self._move_times: dict[str, list[MoveTime]] = {}  # game → how long players of the store took
        self._measured_revision = -1  # the revision of the store that this was worked out of
        self._measuring = threading.Lock()

    def make_keep(self, match: str) -> Keep:
        """What keeps the growing record of a match that is played here; RecordError where that is impossible."""
        if self._store is not None:
            return _StoreWriter(self._store).write
        self.make_folder()
        return RecordWriter(self._folder.path / f"{match}.json").write

    def make_folder(self) -> None:
        """The one of the records, unless the store keeps them; RecordError where that is impossible."""
        if self._store is not None:
            return
        try:
            self._folder.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RecordError(f"{self._folder.path}: {error.strerror or error}") from None

    def size_bytes(self) -> int:
        """Of the records in the folder. StoreError if it cannot be read."""
        return self._folder.size_bytes()

    def end_lost(self) -> list[MatchRecord]:
        """Ends the matches whose game master is dead: their records, for their players to be told.

        StoreError if the folder or the store cannot be read.
        """
        stored = [] if self._store is None else self._store.end_lost()
        return [*self._folder.end_lost(), *stored]

    def find(self, match: str) -> KeptMatch | None:
        """None where there is no such match. A record is read again only when it has changed.

        StoreError if the store does not answer.
        """
        store = self._store
        if store is not None:
            tournament, pairing = _names(match)
            with suppress(NotStoredError):
                row = store.match(tournament, pairing)
                stored = self._once(match, (row.revision, 0), lambda: store.record(tournament, pairing))
                assert stored is not None
                return KeptMatch(stored, head_of_row(row, stored.roles))
        version = self._folder.version(match)
        record = None if version is None else self._once(match, version, lambda: self._folder.get(match))
        return None if record is None else KeptMatch(record, None)

    def _once(self, match: str, version: Version, read: Callable[[], MatchRecord | None]) -> MatchRecord | None:
        with self._lock:
            known = self._records.get(match)
            if known is not None and known[0] == version:
                self._records.move_to_end(match)
                return known[1]
        record = read()
        if record is not None:
            with self._lock:
                self._records[match] = version, record
                while len(self._records) > _KEPT_RECORDS:
                    self._records.popitem(last=False)
        return record

    def revision(self) -> object:
        """Changes whenever something has; StoreError where the store does not answer."""
        return (0 if self._store is None else self._store.revision()), self._folder.revision()

    def listing(self, wanted: MatchesWanted, roles: Mapping[str, tuple[str, ...]]) -> tuple[int, list[MatchHead]]:
        """How many there are, and some of them: those of the store, then those of the folder; the last first.

        roles: game → its roles, of which the store does not know all. StoreError if it or the folder cannot be read.
        """
        total = 0
        heads: list[MatchHead] = []
        if self._store is not None:
            try:
                listing = self._store.matches(
                    wanted.tournament,
                    offset=wanted.offset,
                    limit=wanted.limit,
                    player=wanted.player or None,
                    game=wanted.game or None,
                    status=_STATUSES.get(wanted.status),
                )
            except NotStoredError:  # no such tournament
                return 0, []
            total = listing.total
            heads = [head_of_row(row, roles.get(row.game, ())) for row in listing.rows]
        if not wanted.tournament:
            own = [kept.head for kept in self._folder.all() if is_wanted(kept.head, wanted)]
            first = max(0, wanted.offset - total)
            heads += own[first : first + wanted.limit - len(heads)]
            total += len(own)
        return total, heads

    def statistics(self, game: str) -> Statistics:
        """What came of the matches of a game."""
        kept = [one for one in self._folder.all() if one.head.game == game and one.head.goals is not None]
        matches, steps = len(kept), float(sum(one.head.steps for one in kept))
        goals: dict[str, list[tuple[int, float]]] = {}  # role → numbers of matches and their mean goals
        for one in kept:
            for role, goal in (one.head.goals or {}).items():
                if goal is not None and role in one.head.players and one.head.players[role].kind != "chance":
                    goals.setdefault(role, []).append((1, goal))
        store = self._store
        if store is not None:
            rows = [row for row in store.statistics() if row.game == game]
            for row in rows:
                if row.mean_goal is not None:
                    goals.setdefault(row.role, []).append((row.matches, row.mean_goal))
            if rows:
                matches += max(row.matches for row in rows)
                steps += max(row.matches for row in rows) * rows[0].mean_steps
            if self._measured_revision != store.revision() and not self._measuring.locked():
                threading.Thread(target=self.measure_move_times, daemon=True).start()
        fastest = _fastest(
            [*self._move_times.get(game, ()), *(move_time for one in kept for move_time in one.move_times)]
        )
        return Statistics(
            matches=matches,
            mean_steps=steps / matches if matches else None,
            roles=tuple(_role(role, found) for role, found in goals.items()),
            fastest=fastest[0] if fastest else None,
            fastest_seconds=fastest[1] if fastest else None,
        )

    def measure_move_times(self) -> None:
        """How long players took for their moves; reads all results of the store."""
        store = self._store
        if store is None:
            return
        with self._measuring:
            revision = store.revision()
            move_times: dict[str, list[MoveTime]] = {}
            for name in ("", *(stored.spec.name for stored in store.tournaments())):
                for result in store.results(name):
                    own = move_times.setdefault(result.pairing.game, [])
                    own += map(MoveTime, result.pairing.players, repeat(result.steps), result.seconds)
            self._move_times = {game: _summed(own) for game, own in move_times.items()}
            self._measured_revision = revision


class _StoreWriter:
    """Writes the growing record of one match into a store, which replaces it as a whole each time.

    A long one is written only when it has grown by an eighth, so that a match writes no more than some times its size.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._size = self._kept = 0  # bytes of the steps, and how many of them are in the store
        self._steps = 0

    def write(self, record: MatchRecord) -> None:
        self._size += sum(len(step.model_dump_json()) for step in record.steps[self._steps :])
        self._steps = len(record.steps)
        if record.status == "running" and _LONG < self._size < self._kept * 9 // 8:
            return
        self._store.keep_single(record)
        self._kept = self._size


def _names(match: str) -> tuple[str, str]:
    """Tournament and pairing of what names a match here."""
    tournament, between, pairing = match.partition(BETWEEN)
    return (tournament, pairing) if between else ("", match)


def head_of_row(row: MatchRow, roles: tuple[str, ...]) -> MatchHead:
    """A match of the store; `roles` are those of its game: the store keeps none until the end, and no `random`."""
    own = tuple(role for role in roles if role != NATURE)
    known = row.roles or (own if len(own) == len(row.players) else ())
    names = known or tuple(f"#{number + 1}" for number in range(len(row.players)))
    players = {role: Player(name=name, kind=None) for role, name in zip(names, row.players, strict=True)}
    if names == own:
        players = {role: players.get(role, CHANCE) for role in roles}
    match = f"{row.tournament}{BETWEEN}{row.pairing}" if row.tournament else row.pairing
    return MatchHead(
        id=match,
        game=row.game,
        tournament=row.tournament,
        status=row.ending
        or ("running" if row.status == "running" else "failed" if row.status == "failed" else "given up"),
        reason=row.reason or None,
        resigned=row.resigned,
        forfeited=row.forfeited,
        players=players,
        goals=dict(zip(row.roles, row.goals, strict=True)) if row.roles else None,
        steps=row.steps,
        faults=row.faults,
        started=row.started,
        finished=row.finished,
        url=match_url(match),
    )


def _role(role: str, found: list[tuple[int, float]]) -> RoleStatistics:
    matches = sum(count for count, _ in found)
    return RoleStatistics(
        role=role, matches=matches, mean_goal=sum(count * mean for count, mean in found) / matches if matches else None
    )


def _summed(move_times: Iterable[MoveTime]) -> list[MoveTime]:
    """One for each player."""
    moves: dict[str, int] = {}
    seconds: dict[str, float] = {}
    for move_time in move_times:
        moves[move_time.player] = moves.get(move_time.player, 0) + move_time.moves
        seconds[move_time.player] = seconds.get(move_time.player, 0.0) + move_time.seconds
    return [MoveTime(player, count, seconds[player]) for player, count in moves.items()]


def _fastest(move_times: Iterable[MoveTime]) -> tuple[str, float] | None:
    """The player with the least time for a move on average, and that time."""
    means = {
        move_time.player: move_time.seconds / move_time.moves for move_time in _summed(move_times) if move_time.moves
    }
    best = min(means, key=means.__getitem__, default=None)
    return None if best is None else (best, means[best])

"""Where matches are kept: the store of tournaments or a folder of records; told apart by nobody who asks."""

import threading
from collections.abc import Iterable, Mapping
from itertools import repeat
from pathlib import Path

from gamemaster.record import Keep, MatchRecord
from gamemaster.tournament.store import MatchRow, MatchStatus, Store
from gamemaster.web.archive import Folder, Pace, is_wanted
from gamemaster.web.models import MatchesWanted, MatchHead, Player, RoleStatistics, Statistics
from gamemaster.web.views import BETWEEN, match_url
from gamemaster.writer import RecordWriter
from ggp.errors import RecordError, StoreError
from ggp.gdl.rulesheet import NATURE

_STATUSES: Mapping[str, MatchStatus] = {
    "running": "running",
    "finished": "finished",
    "failed": "failed",
    "given up": "given up",
}


class Depot:
    """All matches that are kept; called from threads."""

    def __init__(self, folder: Path, store: Store | None) -> None:
        self._folder = Folder(folder)
        self._store = store
        self._paces: dict[str, list[Pace]] = {}  # game → how long players of the store took
        self._paced = -1  # the revision of the store that this was worked out of
        self._pacing = threading.Lock()

    def make_keep(self, match: str) -> Keep:
        """What keeps the growing record of a match that is played here; RecordError where that is impossible."""
        store = self._store
        if store is not None:
            return lambda record: _keep(store, record)
        try:
            self._folder.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RecordError(f"{self._folder.path}: {error.strerror or error}") from None
        return RecordWriter(self._folder.path / f"{match}.json").write

    def record(self, match: str) -> MatchRecord | None:
        """The record of a match; None where there is none."""
        if self._store is not None:
            tournament, pairing = _names(match)
            try:
                return self._store.record(tournament, pairing)
            except StoreError:
                pass
        return self._folder.get(match)

    def head(self, match: str, record: MatchRecord) -> MatchHead | None:
        """What the store says of a match; None where it does not have it."""
        if self._store is None:
            return None
        tournament, pairing = _names(match)
        try:
            return head_of_row(self._store.match(tournament, pairing), record.roles)
        except StoreError:
            return None

    def stamp(self) -> tuple[int, int]:
        """Changes whenever something has; StoreError where the store does not answer."""
        try:
            written = self._folder.path.stat().st_mtime_ns
        except OSError:
            written = 0
        return (0 if self._store is None else self._store.revision()), written

    def listing(self, wanted: MatchesWanted, roles: Mapping[str, tuple[str, ...]]) -> tuple[int, list[MatchHead]]:
        """How many there are, and some of them: those of the store, then those of the folder; the last first.

        roles: game → those that somebody takes; for matches that have not told yet.
        """
        total = 0
        heads: list[MatchHead] = []
        if (self._store is not None and wanted.tournament is not None) or self._store is not None:
            try:
                listing = self._store.matches(
                    wanted.tournament,
                    offset=wanted.offset,
                    limit=wanted.limit,
                    player=wanted.player or None,
                    game=wanted.game or None,
                    status=_STATUSES.get(wanted.status),
                )
            except StoreError:  # no such tournament
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
        if self._store is not None:
            rows = [row for row in self._store.statistics() if row.game == game]
            for row in rows:
                if row.mean_goal is not None:
                    goals.setdefault(row.role, []).append((row.matches, row.mean_goal))
            if rows:
                matches += max(row.matches for row in rows)
                steps += max(row.matches for row in rows) * rows[0].mean_steps
        if self._store is not None and self._paced != self._store.revision() and not self._pacing.locked():
            threading.Thread(target=self.work_out_paces, daemon=True).start()  # nobody waits for it
        fastest = _fastest([*self._paces.get(game, ()), *(pace for one in kept for pace in one.paces)])
        return Statistics(
            matches=matches,
            mean_steps=steps / matches if matches else None,
            roles=tuple(_role(role, found) for role, found in goals.items()),
            fastest=fastest[0] if fastest else None,
            fastest_seconds=fastest[1] if fastest else None,
        )

    def work_out_paces(self) -> None:
        """How long players took for their moves; reads all results of the store."""
        store = self._store
        if store is None:
            return
        with self._pacing:
            paced = store.revision()
            paces: dict[str, list[Pace]] = {}
            for name in ("", *(stored.spec.name for stored in store.tournaments())):
                for result in store.results(name):
                    own = paces.setdefault(result.pairing.game, [])
                    own += map(Pace, result.pairing.players, repeat(result.steps), result.seconds)
            self._paces = {game: _summed(own) for game, own in paces.items()}
            self._paced = paced


def _keep(store: Store, record: MatchRecord) -> None:
    store.keep_single(record)


def _names(match: str) -> tuple[str, str]:
    """Tournament and pairing of what names a match here."""
    tournament, between, pairing = match.partition(BETWEEN)
    return (tournament, pairing) if between else ("", match)


def head_of_row(row: MatchRow, roles: tuple[str, ...]) -> MatchHead:
    """A match of the store; `roles` are those of its game, for as long as the match has not told."""
    takers = tuple(role for role in roles if role != NATURE)
    known = row.roles or (takers if len(takers) == len(row.players) else ())
    names = known or tuple(f"#{number + 1}" for number in range(len(row.players)))
    match = f"{row.tournament}{BETWEEN}{row.pairing}" if row.tournament else row.pairing
    return MatchHead(
        id=match,
        game=row.game,
        tournament=row.tournament,
        status=row.ending
        or ("running" if row.status == "running" else "failed" if row.status == "failed" else "given up"),
        reason=row.reason or None,
        players={role: Player(name=name, kind="player") for role, name in zip(names, row.players, strict=True)},
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


def _summed(paces: Iterable[Pace]) -> list[Pace]:
    """One for each player."""
    moves: dict[str, int] = {}
    seconds: dict[str, float] = {}
    for pace in paces:
        moves[pace.player] = moves.get(pace.player, 0) + pace.moves
        seconds[pace.player] = seconds.get(pace.player, 0.0) + pace.seconds
    return [Pace(player, count, seconds[player]) for player, count in moves.items()]


def _fastest(paces: Iterable[Pace]) -> tuple[str, float] | None:
    """The player with the least time for a move on average, and that time."""
    means = {pace.player: pace.seconds / pace.moves for pace in _summed(paces) if pace.moves}
    best = min(means, key=means.__getitem__, default=None)
    return None if best is None else (best, means[best])

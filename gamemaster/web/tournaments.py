"""The tournaments of the store → what pages show of them; worked out once for every change."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from urllib.parse import quote

from gamemaster.tournament.ratings import Estimate, sprt_of
from gamemaster.tournament.results import MatchResult
from gamemaster.tournament.schedule import next_pairings
from gamemaster.tournament.spec import TournamentSpec
from gamemaster.tournament.standings import Conduct, PlayerStanding, RoleStanding, Standings, standings
from gamemaster.tournament.store import Store, StoredTournament
from gamemaster.web import models
from gamemaster.web.catalogue import roles_of
from gamemaster.web.problems import not_found
from gamemaster.web.repository import head_of_row
from ggp.errors import GgpError, NotStoredError
from ggp.gdl.reader import decode
from ggp.gdl.rulesheet import NATURE, parse_rulesheet
from ggp.library import find_rulesheet, read_bytes

_REST = 1.0  # seconds for which standings may be old while a tournament is running
_FIXED = ("round robin", "gauntlet")  # formats that know all matches from the beginning

Roles = Callable[[str], tuple[str, ...]]  # game → roles that somebody takes


@dataclass(frozen=True, slots=True)
class _Worked:
    """What was worked out of a tournament."""

    finished: int  # results that it was worked out of
    at: float
    standings: Standings
    test: models.SequentialTest | None
    planned: Mapping[frozenset[str], int]  # who meets whom how often, where that is known
    total: int | None


class TournamentQueries:
    """Called from threads."""

    def __init__(self, store: Store | None, roles: Roles) -> None:
        self._store = store
        self._roles = roles
        self._worked: dict[str, _Worked] = {}
        self._locks: dict[str, threading.Lock] = {}

    def heads(self) -> tuple[models.TournamentHead, ...]:
        """All tournaments, those that are running and the newest first."""
        if self._store is None:
            return ()
        stored = sorted(self._store.tournaments(), key=lambda one: one.created, reverse=True)
        stored.sort(key=lambda one: one.status != "running")
        return tuple(self._head(one) for one in stored)

    def get(self, name: str) -> models.Tournament:
        """A Problem where there is no such tournament."""
        store = self._store
        if store is None:
            raise not_found(f"there is no tournament {name}")
        try:
            stored = store.tournament(name)
        except NotStoredError as error:
            raise not_found(str(error)) from None
        worked = self._work(store, stored)
        found = worked.standings
        running = store.running(name)
        return models.Tournament(
            **dict(self._head(stored)),
            lines=tuple(map(_line, found.lines)),
            meetings=tuple(
                models.MeetingLine(
                    player=meeting.player,
                    opponent=meeting.opponent,
                    wins=meeting.wins,
                    draws=meeting.draws,
                    losses=meeting.losses,
                    planned=worked.planned.get(frozenset((meeting.player, meeting.opponent))),
                )
                for meeting in found.meetings
            ),
            roles=tuple(_role(role) for table in found.games for role in table.roles),
            tables=tuple(
                models.GameStandings(
                    game=table.game,
                    matches=table.matches,
                    mean_steps=table.mean_steps,
                    lines=tuple(map(_line, table.lines)),
                )
                for table in found.games
            ),
            conduct=tuple(map(_conduct, found.conduct)),
            test=worked.test,
            under_way=tuple(head_of_row(row, self._roles(row.game)) for row in running),
        )

    def warm(self) -> None:
        """Works everything out, so that nobody waits for it later."""
        if self._store is not None:
            for stored in self._store.tournaments():
                self._work(self._store, stored)

    def _head(self, stored: StoredTournament) -> models.TournamentHead:
        spec, counts = stored.spec, stored.counts
        worked = self._worked.get(spec.name)
        return models.TournamentHead(
            name=spec.name,
            status=stored.status,
            url=f"/tournaments/{quote(spec.name)}",
            format=spec.format,
            games=tuple(game.name for game in spec.games),
            players=tuple(player.name for player in spec.players),
            finished=counts.finished,
            running=counts.running,
            failed=counts.failed,
            total=None if worked is None else worked.total,
            created=stored.created,
            note=stored.note,
        )

    def _work(self, store: Store, stored: StoredTournament) -> _Worked:
        name, finished = stored.spec.name, stored.counts.finished
        with self._locks.setdefault(name, threading.Lock()):
            known = self._worked.get(name)
            if known is not None:
                is_young = stored.status == "running" and time.monotonic() - known.at < _REST
                if known.finished == finished or is_young:
                    return known
            results = store.results(name)
            spec = stored.spec
            total, planned = known_schedule(spec) if known is None else (known.total, known.planned)
            found = standings([player.name for player in spec.players], results)
            worked = _Worked(finished, time.monotonic(), found, _test(spec, results), planned, total)
            self._worked[name] = worked
            return worked


def known_schedule(spec: TournamentSpec) -> tuple[int | None, dict[frozenset[str], int]]:
    """How many matches there will be, and how many of each two players; None where results decide that."""
    if spec.format not in _FIXED:
        return None, {}
    try:
        players = {game.name: len(_players(game.rules)) for game in spec.games}
        pairings = next_pairings(spec, players, ())
    except (GgpError, ValueError):  # the rulesheets may not be on this computer
        return None, {}
    planned: Counter[frozenset[str]] = Counter()
    for pairing in pairings:
        planned.update(map(frozenset, combinations(pairing.players, 2)))
    return len(pairings), dict(planned)


def _players(rules: str) -> list[str]:
    path = find_rulesheet(rules)
    rulesheet = parse_rulesheet(decode(read_bytes(path), str(path)), str(path))
    return [role for role in roles_of(rulesheet) if role != NATURE]


def _test(spec: TournamentSpec, results: tuple[MatchResult, ...]) -> models.SequentialTest | None:
    wanted = spec.sprt
    if wanted is None:
        return None
    try:
        found = sprt_of(results, wanted.elo0, wanted.elo1, wanted.alpha, wanted.beta, player=spec.players[0].name)
    except GgpError:  # nothing can be said yet
        return None
    return models.SequentialTest(
        player=found.player,
        opponent=found.opponent,
        llr=found.llr,
        lower=found.lower,
        upper=found.upper,
        decision=found.decision,
        pairs=sum(found.pairs),
        elo=_rated(found.elo),
    )


def _rated(estimate: Estimate) -> models.Rated:
    return models.Rated(value=estimate.value, low=estimate.low, high=estimate.high)


def _line(line: PlayerStanding) -> models.StandingLine:
    tally = line.tally
    return models.StandingLine(
        rank=line.rank,
        player=line.player,
        matches=tally.matches,
        wins=tally.wins,
        draws=tally.draws,
        losses=tally.losses,
        points=tally.points,
        mean_goal=tally.mean_goal,
        rating=None if line.rating is None else _rated(line.rating),
    )


def _role(role: RoleStanding) -> models.RoleLine:
    tally = role.tally
    return models.RoleLine(
        game=role.game,
        role=role.role,
        matches=tally.matches,
        wins=tally.wins,
        draws=tally.draws,
        losses=tally.losses,
        mean_goal=tally.mean_goal,
        advantage=None if role.advantage is None else _rated(role.advantage),
    )


def _conduct(conduct: Conduct) -> models.ConductLine:
    return models.ConductLine(
        player=conduct.player,
        moves=conduct.steps,
        seconds=conduct.seconds,
        longest=conduct.longest,
        faults=dict(conduct.faults),
    )

"""Specifications, results that nobody played, and tournaments that are played with them."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from random import Random

from gamemaster.tournament.pairings import MatchResult, Pairing
from gamemaster.tournament.schedule import Schedule
from gamemaster.tournament.spec import TournamentSpec

TIME = datetime(2026, 1, 31, 17, 45, tzinfo=UTC)

Goals = Callable[[Pairing], tuple[int | None, ...]]


def spec_of(players: int | Sequence[str], games: Sequence[str] = ("alpha",), **fields: object) -> TournamentSpec:
    names = [f"p{number}" for number in range(players)] if isinstance(players, int) else players
    return TournamentSpec.model_validate(
        {
            "name": "event",
            "seed": 7,
            "games": [{"rules": game} for game in games],
            "players": [{"name": name, "bot": "random"} for name in names],
            **fields,
        }
    )


def result_of(pairing: Pairing, goals: Sequence[int | None]) -> MatchResult:
    count = len(pairing.players)
    return MatchResult(
        pairing=pairing,
        roles=tuple(f"role{number}" for number in range(count)),
        goals=tuple(goals),
        ending="terminal",
        steps=9,
        seconds=(1.0,) * count,
        longest=(0.5,) * count,
        faults=({},) * count,
        started=TIME,
        finished=TIME,
    )


def played(spec: TournamentSpec, roles: dict[str, int], goals: Goals, order: Random | None = None) -> Schedule:
    """A schedule whose matches are played one by one, in any order if one is given to draw from."""
    schedule = Schedule(spec, roles)
    while not schedule.is_complete:
        open_ = list(schedule.open)
        pairing = open_[0] if order is None else order.choice(open_)
        schedule.add(result_of(pairing, goals(pairing)))
    return schedule


def by_chance(seed: int) -> Callable[[Pairing], tuple[int, ...]]:
    """Goal values that are drawn once and for all for each pairing."""

    def goals(pairing: Pairing) -> tuple[int, ...]:
        chance = Random(f"{seed} {pairing.id}")
        return tuple(chance.choice((0, 50, 50, 100)) for _ in pairing.players)

    return goals


def by_seeding(pairing: Pairing) -> tuple[int, ...]:
    """The players p0, p1, … are the better the lower their number."""
    return tuple(100 - int(name[1:]) for name in pairing.players)


def all_tied(pairing: Pairing) -> tuple[int, ...]:
    return (50,) * len(pairing.players)

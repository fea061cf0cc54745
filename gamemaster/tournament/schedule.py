"""The schedule of a tournament: specification and results so far → all pairings that are known."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from gamemaster.tournament.formats import KnockOut, Swiss, fixed_count, fixed_schedule
from gamemaster.tournament.pairings import MatchResult, Numbered, Pairing, PairingIds
from gamemaster.tournament.spec import TournamentSpec
from gamemaster.tournament.spec_files import unsuitable
from ggp.errors import SettingsError

MOST_MATCHES = 200_000


def next_pairings(
    spec: TournamentSpec, roles: Mapping[str, int], results: Collection[MatchResult]
) -> tuple[Pairing, ...]:
    """All pairings that are known now, those with results too, in order; `roles` says how many players a game takes.

    A pure function: the order of the results does not matter. It costs some microseconds for each pairing, so with
    results that come one by one, a `Schedule` is quicker. SettingsError as there.
    """
    return schedule_of(spec, roles, results).pairings


def schedule_of(spec: TournamentSpec, roles: Mapping[str, int], results: Collection[MatchResult]) -> "Schedule":
    """The schedule after some results."""
    schedule = Schedule(spec, roles)
    for result in results:
        schedule.add(result)
    return schedule


class Schedule:
    """The schedule of a tournament that takes results one by one.

    Making it costs some microseconds for each pairing, a result costs as much for each pairing that becomes known by
    it. SettingsError for a game that does not suit the format, for more than MOST_MATCHES matches, and for a result
    of another specification.
    """

    def __init__(self, spec: TournamentSpec, roles: Mapping[str, int]) -> None:
        for game in spec.games:
            problem = unsuitable(spec, roles[game.name])
            if problem:
                raise SettingsError(f"{game.name}: {problem}")
        self._format = _format(spec, roles)
        self._known: dict[str, Numbered] = {}  # by their ids
        self._open: dict[str, Pairing] = {}
        self._early: dict[str, MatchResult] = {}  # of pairings that are not known yet
        self._pairings: tuple[Pairing, ...] | None = None
        if self._format.unknown > MOST_MATCHES:
            raise SettingsError(f"these are {self._format.unknown} matches; a tournament has at most {MOST_MATCHES}")
        self._learn(self._format.begin())

    @property
    def pairings(self) -> tuple[Pairing, ...]:
        """All that are known now, in order."""
        if self._pairings is None:
            ordered = sorted(self._known.values(), key=lambda each: (each.pairing.round, each.number))
            self._pairings = tuple(each.pairing for each in ordered)
        return self._pairings

    @property
    def open(self) -> Collection[Pairing]:
        """Those without result, in the order in which they became known."""
        return self._open.values()

    @property
    def expected(self) -> int:
        """How many matches there will be in all; of a knock-out that is an estimate until it is complete."""
        return len(self._known) + self._format.unknown

    @property
    def is_complete(self) -> bool:
        return not self._open

    @property
    def byes(self) -> Mapping[str, int]:
        """Player → byes so far; empty in a round robin or a gauntlet."""
        return self._format.byes

    @property
    def ranking(self) -> tuple[str, ...]:
        """The players in the order that the format gives them so far; empty in a round robin or a gauntlet."""
        return self._format.ranking

    def add(self, result: MatchResult) -> tuple[Pairing, ...]:
        """Takes a result and gives the pairings that are known because of it; a second one of a pairing is ignored."""
        new: list[Pairing] = []
        waiting = [result]
        while waiting:
            result = waiting.pop()
            pairing = self._open.pop(result.pairing.id, None)
            if pairing is None:
                if result.pairing.id not in self._known:
                    self._early[result.pairing.id] = result
                continue
            if pairing != result.pairing:
                raise SettingsError(f"{pairing.id}: the result is of another tournament than the one specified")
            learnt = self._learn(self._format.take(pairing, result))
            new += learnt
            if self._early:
                waiting += [self._early.pop(each.id) for each in learnt if each.id in self._early]
        return tuple(new)

    def _learn(self, new: Sequence[Numbered]) -> list[Pairing]:
        for each in new:
            self._known[each.pairing.id] = each
            self._open[each.pairing.id] = each.pairing
        if new:
            self._pairings = None
        return [each.pairing for each in new]


class _Format(Protocol):
    """How results make a schedule."""

    @property
    def byes(self) -> Mapping[str, int]: ...

    @property
    def ranking(self) -> tuple[str, ...]: ...

    @property
    def unknown(self) -> int:
        """How many matches are not known yet, or about how many."""

    def begin(self) -> Sequence[Numbered]:
        """The pairings that are known without results."""

    def take(self, pairing: Pairing, result: MatchResult) -> Sequence[Numbered]:
        """The pairings that are known because of the result of a pairing that was known."""


class _Fixed:
    """A round robin or a gauntlet."""

    byes: Mapping[str, int] = {}
    ranking: tuple[str, ...] = ()

    def __init__(self, names: PairingIds, roles: Mapping[str, int]) -> None:
        self.unknown = fixed_count(names.spec, roles)
        self._names = names
        self._roles = roles

    def begin(self) -> Sequence[Numbered]:
        self.unknown = 0
        return list(fixed_schedule(self._names, self._roles))

    def take(self, pairing: Pairing, result: MatchResult) -> Sequence[Numbered]:  # noqa: ARG002 - no result changes it
        return ()


def _format(spec: TournamentSpec, roles: Mapping[str, int]) -> _Format:
    names = PairingIds(spec)
    match spec.format:
        case "swiss":
            return Swiss(names)
        case "knock-out":
            return KnockOut(names)
        case _:
            return _Fixed(names, roles)

"""Players who meet in a round → their matches, with names, seeds and assignments of roles; results → points.

A `Pairing` and its `MatchResult` are what passes between the parts of a tournament.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import permutations
from math import factorial
from typing import TypeVar

from gamemaster.faults import FaultKind
from gamemaster.record import MatchRecord
from gamemaster.referee import Ending
from gamemaster.settings import derived
from gamemaster.tournament.spec import TournamentSpec
from ggp.gdl.rulesheet import NATURE


@dataclass(frozen=True, slots=True)
class Pairing:
    """A match of the schedule."""

    id: str  # the same whenever the schedule is worked out again
    round: int  # from 0
    game: str  # the name of a game of the specification
    players: tuple[str, ...]  # names of the specification, one for each role but `random`, in the rulesheet's order
    seed: int  # decides all chance of the match
    group: str = ""  # matches that count together, as a pairing of a knock-out does or a pair with roles exchanged


@dataclass(frozen=True, slots=True)
class MatchResult:
    """What counts of a match; tuples have an entry for each role but `random`, in the rulesheet's order."""

    pairing: Pairing
    roles: tuple[str, ...]
    goals: tuple[int | None, ...]  # 0 to 100; None where the rules give no goal value
    ending: Ending
    steps: int
    seconds: tuple[float, ...]  # that the players took for their moves, summed
    longest: tuple[float, ...]  # seconds of the slowest move
    faults: tuple[Mapping[FaultKind, int], ...]  # how many of each kind, START included, not the game master's own
    started: datetime
    finished: datetime
    forfeited: tuple[str, ...] = ()  # roles

    @property
    def absent(self) -> tuple[bool, ...]:
        """Which players were never reached, in a void match."""
        return tuple(self.ending == "void" and "unreachable" in kinds for kinds in self.faults)


def result_of(pairing: Pairing, record: MatchRecord) -> MatchResult:
    """What counts of a record that is complete."""
    roles = tuple(role for role in record.roles if role != NATURE)
    seconds = {role: [step.seconds[role] for step in record.steps if role in step.seconds] for role in roles}
    faults: dict[str, dict[FaultKind, int]] = {role: {} for role in roles}
    for _, role, fault in record.faults:
        if fault.cause != "player":
            continue
        faults[role][fault.kind] = faults[role].get(fault.kind, 0) + 1
    assert record.status != "running"
    assert record.finished is not None
    goals = record.goals or {}
    return MatchResult(
        pairing=pairing,
        roles=roles,
        goals=tuple(goals.get(role) for role in roles),
        ending=record.status,
        steps=len(record.steps),
        seconds=tuple(round(sum(seconds[role]), 4) for role in roles),
        longest=tuple(max(seconds[role], default=0.0) for role in roles),
        faults=tuple(faults[role] for role in roles),
        started=record.started,
        finished=record.finished,
        forfeited=record.forfeited,
    )


T = TypeVar("T")

FEW_ROLES = 3  # up to so many, every assignment is played; from there on the rotations of one
_SEEDS = 2**63  # of matches lie below


@dataclass(frozen=True, slots=True)
class Numbered:
    """A pairing and its place in its round; round and number together are the order of the schedule."""

    number: int  # from 1, unique in the round
    pairing: Pairing


@dataclass(frozen=True, slots=True)
class PairingIds:
    """Makes the pairings of a tournament, with ids that are words and can be names of files."""

    spec: TournamentSpec
    _words: dict[str, str] = field(default_factory=dict)

    def group(self, round_: int, game: str, number: int) -> str:
        return f"r{round_ + 1:03}-{self._game(game)}-g{number:04}"

    def pairing(self, round_: int, number: int, game: str, players: tuple[str, ...], group: str) -> Numbered:
        words = "-vs-".join([self._words.get(name) or self._word(name) for name in players])[:64]
        # The name of the game has no - here, so round and number can be read from it, and ids are unique.
        name = f"r{round_ + 1:03}-{self._game(game)}-{number:04}-{words}"
        seed = derived(self.spec.seed, name) % _SEEDS
        return Numbered(number, Pairing(name, round_, game, players, seed, group))

    def _game(self, name: str) -> str:
        return name.replace("-", "_")

    def _word(self, name: str) -> str:
        word = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:20].rstrip("-") or "player"
        self._words[name] = word
        return word


def assignments(players: Sequence[str], chance: int) -> list[tuple[str, ...]]:
    """Who takes which role in the matches of one meeting, in an order that follows from `chance`.

    Up to three roles: every assignment once. More: the rotations of one order of the players, so that each takes
    every role once, and next to whom changes with `chance`.
    """
    if len(players) > FEW_ROLES:
        order = _permutation(players, chance)
        return [(*order[first:], *order[:first]) for first in range(len(order))]
    return list(_permutation([*permutations(players)], chance))


def assignment_count(roles: int) -> int:
    return factorial(roles) if roles <= FEW_ROLES else roles


def round_of_meetings(
    names: PairingIds, round_: int, meetings: Iterable[tuple[str, Sequence[Sequence[str]]]]
) -> Iterator[Numbered]:
    """The matches of a round from (game, those who meet side by side in it); the roles change from turn to turn."""
    number = group_number = 0
    for game, side_by_side in meetings:
        turns = []
        for players in side_by_side:
            group_number += 1
            group = names.group(round_, game, group_number)
            turns.append([(group, each) for each in assignments(players, derived(names.spec.seed, "order", group))])
        for turn in zip(*turns, strict=True):
            for group, players in turn:
                number += 1
                yield names.pairing(round_, number, game, players, group)


def _permutation(things: Sequence[T], number: int) -> tuple[T, ...]:
    """One of all orders of some things, each as likely when `number` is drawn from a wide range."""
    left = list(things)
    order: list[T] = []
    while left:
        number, index = divmod(number, len(left))
        order.append(left.pop(index))
    return tuple(order)


WIN = 2
DRAW = 1


def points(result: MatchResult) -> tuple[int, int]:
    """Of both players of a match: WIN for the greater goal value, DRAW each where they are equal.

    A goal value that the rules do not give, as in a match that broke off, counts as 0. In a void match who was never
    reached loses to who was there.
    """
    one, other = map(int.__neg__, result.absent) if result.ending == "void" else values(result)
    if one == other:
        return DRAW, DRAW
    return (WIN, 0) if one > other else (0, WIN)


def values(result: MatchResult) -> tuple[int, int]:
    """The goal values of both players of a match."""
    one, other = (goal or 0 for goal in result.goals)
    return one, other

"""Formats whose schedule depends on no result: round robin and gauntlet."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, zip_longest
from math import comb
from typing import TypeAlias

from gamemaster.settings import derived
from gamemaster.tournament.schedule.meetings import Names, Numbered, assignment_count, round_of_meetings
from gamemaster.tournament.spec import TournamentSpec

Turn: TypeAlias = Sequence[tuple[str, ...]]  # those who meet at the same time; nobody is in two of them


def fixed_count(spec: TournamentSpec, roles: Mapping[str, int]) -> int:
    """How many matches the whole schedule has."""
    return spec.rounds * sum(
        _meetings(spec, roles[game.name]) * assignment_count(roles[game.name]) for game in spec.games
    )


def fixed_schedule(names: Names, roles: Mapping[str, int]) -> Iterator[Numbered]:
    """All matches, round after round; in a round the games alternate, and everybody has about as many at any time."""
    spec = names.spec
    for round_ in range(spec.rounds):
        turns = [_turns(spec, round_, game.name, roles[game.name]) for game in spec.games]
        yield from round_of_meetings(
            names,
            round_,
            (
                (game.name, turn)
                for together in zip_longest(*turns)
                for game, turn in zip(spec.games, together, strict=True)
                if turn is not None
            ),
        )


def circle(players: Sequence[str]) -> list[Turn]:
    """Everybody against everybody, in as few turns as there can be: the circle method (Schurig, 1886)."""
    ring: list[str | None] = [*players, *([None] if len(players) % 2 else [])]
    half = len(ring) // 2
    turns: list[Turn] = []
    for _ in range(len(ring) - 1):
        facing = zip(ring[:half], reversed(ring[half:]), strict=True)
        turns.append([(one, other) for one, other in facing if one is not None and other is not None])
        ring = [ring[0], ring[-1], *ring[1:-1]]
    return turns


def _turns(spec: TournamentSpec, round_: int, game: str, roles: int) -> Sequence[Turn]:
    players = [player.name for player in spec.players]
    if roles == 1:
        return [[(player,) for player in players]]
    if spec.format == "gauntlet":
        return [[(players[0], *others)] for others in combinations(players[1:], roles - 1)]
    if roles == 2:
        return circle(players)
    subsets = combinations(players, roles)
    return [[subset] for subset in sorted(subsets, key=lambda names: derived(spec.seed, "turn", round_, game, *names))]


def _meetings(spec: TournamentSpec, roles: int) -> int:
    players = len(spec.players)
    if roles > 1 and spec.format == "gauntlet":
        return comb(players - 1, roles - 1)
    return comb(players, roles)

"""Players of known strength: events that never took place, and what ratings should say about them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray

from gamemaster.tournament.pairings import MatchResult, Pairing

ELO = 400 / np.log(10)
BEGIN = datetime(2026, 1, 31, 12, tzinfo=UTC)
ROLES = ("white", "black", "red")
NODES = 25  # of the quadrature over what chance does to a pair


@dataclass(frozen=True, slots=True)
class Scenario:
    """How an event is simulated; strengths, advantages and deviations in Elo points."""

    name: str
    players: int
    rounds: int
    spread: float = 150.0  # standard deviation of the strengths
    advantage: float = 0.0  # of the first role over the second
    draws: float = 0.0  # from 0 to 1: of the games that could go either way
    opening: float = 0.0  # deviation of the first role's advantage from pair to pair: pairs even out
    form: float = 0.0  # deviation of the difference in strength from pair to pair: pairs repeat
    takers: int = 2  # roles of the game
    in_pairs: bool = True  # every assignment of roles is played, as one group; else one assignment, alone


def strengths(scenario: Scenario, chance: np.random.Generator) -> NDArray[np.float64]:
    drawn = chance.standard_normal(scenario.players) * scenario.spread
    return np.asarray(drawn - drawn.mean())


def simulated(
    scenario: Scenario, elo: NDArray[np.float64], chance: np.random.Generator, game: str = "game"
) -> tuple[list[str], list[MatchResult]]:
    """The names of the players and the results of one event."""
    names = [f"p{number}" for number in range(scenario.players)]
    results = []
    for number, (group, takers, goals) in enumerate(_matches(scenario, elo, chance)):
        pairing = Pairing(
            id=f"r001-{game}-{number + 1:04}-x",
            round=0,
            game=game,
            players=tuple(names[taker] for taker in takers),
            seed=number,
            group=f"g{group}" if scenario.in_pairs else "",
        )
        results.append(result(pairing, goals, number))
    return names, results


def result(pairing: Pairing, goals: Sequence[int | None], number: int = 0) -> MatchResult:
    """A match that came to its end without faults."""
    count = len(goals)
    started = BEGIN + timedelta(minutes=number)
    return MatchResult(
        pairing=pairing,
        roles=ROLES[:count],
        goals=tuple(goals),
        ending="terminal",
        steps=10,
        seconds=(1.5,) * count,
        longest=(0.5,) * count,
        faults=({},) * count,
        started=started,
        finished=started + timedelta(seconds=30),
    )


def true_elo(scenario: Scenario, elo: NDArray[np.float64]) -> NDArray[np.float64]:
    """What ratings without roles estimate: the strengths that explain the expected results of all pairings.

    By the iteration of Hunter (2004), MM algorithms for generalized Bradley-Terry models, Annals of Statistics 32.
    """
    count = len(elo)
    expected = np.zeros((count, count))
    for one, other in permutations(range(count), 2):
        expected[one, other] = _expected(scenario, elo[one] - elo[other])
    odds = np.ones(count)
    for _ in range(20_000):
        following = expected.sum(axis=1) / ((1 - np.eye(count)) / (odds[:, None] + odds)).sum(axis=1)
        following /= np.exp(np.log(following).mean())
        if np.abs(np.log(following / odds)).max() < 1e-9:
            break
        odds = following
    return np.asarray(np.log(odds) * ELO)


def pair_distribution(scenario: Scenario, difference: float) -> NDArray[np.float64]:
    """(5,) how likely a pair of matches gives the stronger one 0, ½, 1, 1½ and 2 points."""
    total = np.zeros(5)
    for weight, strength, advantage in _chances(scenario, difference):
        one, other = (_outcomes(strength + sign * advantage, scenario.draws) for sign in (1, -1))
        total += weight * np.convolve(one, other)
    return total


def _matches(
    scenario: Scenario, elo: NDArray[np.float64], chance: np.random.Generator
) -> Iterator[tuple[int, tuple[int, ...], tuple[int, ...]]]:
    meetings = [*combinations(range(scenario.players), scenario.takers)] * scenario.rounds
    for group, members in enumerate(meetings):
        advantage = scenario.advantage + scenario.opening * chance.standard_normal()
        form = scenario.form * chance.standard_normal()
        turns = [*permutations(members)] if scenario.in_pairs else [members]
        for takers in turns:
            if scenario.takers == 2:
                sign = 1 if takers == members else -1
                difference = elo[takers[0]] - elo[takers[1]] + sign * form + advantage
                lost, drawn, _ = _outcomes(difference, scenario.draws)
                luck = chance.random()
                yield group, takers, (0, 100) if luck < lost else (50, 50) if luck < lost + drawn else (100, 0)
            else:
                yield group, takers, _ranked(elo[list(takers)], chance)


def _ranked(elo: NDArray[np.float64], chance: np.random.Generator) -> tuple[int, ...]:
    """Goal values by the model of Plackett and Luce, in which two players compare as in that of Bradley and Terry."""
    order = np.argsort(np.argsort(elo / ELO + chance.gumbel(size=len(elo))))
    return tuple((order * 100 // (len(elo) - 1)).tolist())


def _expected(scenario: Scenario, difference: float) -> float:
    return float(pair_distribution(scenario, difference) @ np.linspace(0, 1, 5))


def _chances(scenario: Scenario, difference: float) -> Iterator[tuple[float, float, float]]:
    """Weight, difference in strength and advantage of the first role, over what differs from pair to pair."""
    for form, one in _normal() if scenario.form else ((0.0, 1.0),):
        for opening, other in _normal() if scenario.opening else ((0.0, 1.0),):
            advantage = scenario.advantage + scenario.opening * opening
            yield one * other, difference + scenario.form * form, advantage


@cache
def _normal() -> tuple[tuple[float, float], ...]:
    """Nodes and weights over a normal variable."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    return tuple(zip(nodes.tolist(), (weights / weights.sum()).tolist(), strict=True))


def _outcomes(difference: float, draws: float) -> NDArray[np.float64]:
    """How likely the stronger one loses, draws and wins; the expectation is that of the Elo scale."""
    wins = 1 / (1 + 10 ** (-difference / 400))
    drawn = draws * 2 * min(wins, 1 - wins)
    return np.array([1 - wins - drawn / 2, drawn, wins - drawn / 2])

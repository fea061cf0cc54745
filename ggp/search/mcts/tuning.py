"""A game → the settings that suit it: variants play quick matches against the usual ones, as long as there is time.

What helps in one game hurts in another, and how well a variant's playouts do says little of how well it searches; so
only matches count. Their number is small: a variant has to win clearly before it is taken.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt
from random import Random
from time import perf_counter

from ggp.gdl.rulesheet import NATURE
from ggp.gdl.state_machine import Facts
from ggp.gdl.terms import Term
from ggp.search.mcts.search import Search
from ggp.search.mcts.settings import SearchSettings
from ggp.simulation.state_machine import CircuitMachine

OPENING = 2  # random steps, the same for each order of the roles
MOST_MATCHES = 60  # of a variant
_MEMORY_BYTES = 2**23
_FEWEST_VISITS, _MOST_VISITS = 500, 8000  # of each state
_QUICK_SECONDS = 0.1  # a match that takes less may take more visits
_MOST_STEPS = 400  # of a match; one that lasts longer is a draw
_PRIOR = 16.0  # matches that seem to have been drawn before any is played
_CERTAIN = 2.0  # standard errors above a draw at which a variant is taken
_HOPELESS = 1.0  # as many below it at which it is not tried again


@dataclass(slots=True)
class Variant:
    """SearchSettings, and what came of them."""

    settings: SearchSettings
    matches: int = 0
    points: float = 0.0

    @property
    def mean(self) -> float:
        return (self.points + _PRIOR / 2) / (self.matches + _PRIOR)

    @property
    def error(self) -> float:
        return 0.5 / sqrt(self.matches + _PRIOR)

    @property
    def is_open(self) -> bool:
        """Whether more matches could change what is thought of it."""
        return self.matches < MOST_MATCHES and self.mean + _HOPELESS * self.error > 0.5

    @property
    def is_better(self) -> bool:
        return self.mean - _CERTAIN * self.error > 0.5


def variants_of(settings: SearchSettings) -> tuple[SearchSettings, ...]:
    """What is worth trying in place of these settings."""
    return (
        replace(settings, grave_equivalence=20.0),
        replace(settings, mast_temperature=0.05),
        replace(settings, exploration=settings.exploration / 2),
        replace(settings, exploration=settings.exploration * 2),
    )


@dataclass(slots=True)
class Tuner:
    """Matches between variants and the usual settings, for a game of two roles or more."""

    machine: CircuitMachine
    usual: SearchSettings
    seed: int = 0
    seconds: float = 0.0  # that it has taken
    last_seconds: float = 0.0  # that the latest matches took, if they came to their end
    variants: list[Variant] = field(default_factory=list)
    can_guide: bool = False  # whether variants with guided playouts may be tried
    _visits: int = _FEWEST_VISITS
    _played: int = 0

    def __post_init__(self) -> None:
        self.variants = [Variant(settings) for settings in variants_of(self.usual)]

    @property
    def best(self) -> SearchSettings:
        """The variant that is clearly better than the usual settings, or these."""
        better = [variant for variant in self.variants if variant.is_better]
        return max(better, key=lambda variant: variant.mean).settings if better else self.usual

    @property
    def is_done(self) -> bool:
        return not any(variant.is_open for variant in self.variants)

    def prepare(self) -> None:
        """Makes what guided playouts need, which may take a second and cannot be stopped."""
        self.machine.simulator(preferences=True)
        self.can_guide = True

    def play(self, state: Facts, stop: Callable[[], bool]) -> bool:
        """One match from a state for each role that the variant takes; False when stopped before they were over."""
        began = perf_counter()
        finished = self._play(state, stop)
        seconds = perf_counter() - began
        self.seconds += seconds
        self.last_seconds = seconds if finished else max(seconds, self.last_seconds)
        return finished

    def _play(self, state: Facts, stop: Callable[[], bool]) -> bool:
        hopeful = [
            each for each in self.variants if each.is_open and (self.can_guide or not each.settings.mast_temperature)
        ]
        if not hopeful:
            return False
        variant = max(hopeful, key=lambda each: each.mean + 2 * each.error)
        self._played += 1
        rng = Random(f"{self.seed} {self._played}")  # noqa: S311 - nothing is kept secret by it
        start = self._opening(state, rng)
        roles = [role for role in self.machine.roles if role != NATURE]
        points = []
        for own in roles:
            began = perf_counter()
            result = self._match(start, own, variant.settings, rng, stop)
            if result is None:
                return False
            points.append(result)
            if perf_counter() - began < _QUICK_SECONDS and self._visits < _MOST_VISITS:
                self._visits *= 2
        variant.matches += len(points)
        variant.points += sum(points)
        return True

    def _opening(self, state: Facts, rng: Random) -> Facts:
        """The state after a few random steps, or the state itself where they would end the match."""
        found = state
        for _ in range(OPENING):
            joint = [self._random_move(found, role, rng) for role in self.machine.roles]
            if any(move is None for move in joint):
                return state
            found = self.machine.next_state(found, tuple(move for move in joint if move is not None))
            if self.machine.is_terminal(found):
                return state
        return found

    def _match(
        self, state: Facts, own: str, settings: SearchSettings, rng: Random, stop: Callable[[], bool]
    ) -> float | None:
        """1 when the variant got more than the others, 0.5 as much, 0 less; None when stopped."""
        machine = self.machine
        searches = {
            role: Search(machine, self._small(settings if role == own else self.usual), rng.getrandbits(31))
            for role in machine.roles
            if role != NATURE
        }
        for _ in range(_MOST_STEPS):
            if machine.is_terminal(state):
                break
            joint: list[Term] = []
            for role in machine.roles:
                moves = machine.legal_moves(state, role)
                if not moves:
                    return 0.5
                joint.append(moves[0] if len(moves) == 1 else self._choose(searches.get(role), state, role, rng, stop))
            if stop():
                return None
            state = machine.next_state(state, tuple(joint))
        return _points(machine, state, own)

    def _choose(self, search: Search | None, state: Facts, role: str, rng: Random, stop: Callable[[], bool]) -> Term:
        moves = self.machine.legal_moves(state, role)
        if search is None:
            return rng.choice(moves)
        search.go_to(state)
        search.run(stop, self._visits)
        best = search.result(role).best
        return moves[0] if best is None else best

    def _small(self, settings: SearchSettings) -> SearchSettings:
        return replace(settings, memory_bytes=min(settings.memory_bytes, _MEMORY_BYTES), threads=1)

    def _random_move(self, state: Facts, role: str, rng: Random) -> Term | None:
        moves: Sequence[Term] = self.machine.legal_moves(state, role)
        return rng.choice(moves) if moves else None


def _points(machine: CircuitMachine, state: Facts, own: str) -> float:
    goals = {role: machine.goal(state, role) for role in machine.roles if role != NATURE}
    mine = goals.pop(own)
    others = [goal for goal in goals.values() if goal is not None]
    if mine is None or not others or not machine.is_terminal(state):
        return 0.5
    usual = sum(others) / len(others)
    return 0.5 if mine == usual else float(mine > usual)

"""A game solved in slices: first its histories, then iterations, with a report at any time."""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from ggp.equilibrium.game_tree import Edge, Enumeration, GameTree, Roots, SequenceForm, Values
from ggp.equilibrium.policy import Policy
from ggp.equilibrium.regret import Regrets, back_up, iterate, make_regrets, normalise, realise, value_sequences
from ggp.equilibrium.settings import SolveSettings
from ggp.simulation.state_machine import CircuitMachine

Stop = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class SolveReport:
    """How far it is. Values are goal values, 0 to 100."""

    seconds: float  # of work
    histories: int
    information_sets: int
    iterations: int  # 0 while histories are still being found
    values: tuple[float, ...]  # of each role without nature, in the strategies found; empty without iterations
    gains: tuple[float, ...]  # how much more each role gets by a best response

    @property
    def nash_conv(self) -> float | None:
        """The sum of all gains, 0 in an equilibrium; None while there are no strategies."""
        return sum(self.gains) if self.gains else None


class EquilibriumSolver:
    """Averages of strategies that come ever closer to a Nash equilibrium, where two roles have opposed goals.

    With more roles, or with goals that are not opposed, regrets vanish all the same, but what is found need not be an
    equilibrium; NashConv tells. Run by one thread.
    """

    def __init__(
        self,
        machine: CircuitMachine,
        settings: SolveSettings = SolveSettings(),  # noqa: B008 - frozen
        memory_bytes: int = 2**30,
        roots: Roots | None = None,
        edge: Edge | None = None,
    ) -> None:
        """roots: of a subgame. Then it is solved as if what led there were sure (Ganzfried and Sandholm, 2015).

        edge: what states are worth to all roles; taken for what follows where histories are too many.
        """
        self.settings = settings
        self._enumeration = Enumeration(machine, settings.histories, memory_bytes, roots, edge)
        self._regrets: Regrets | None = None
        self.tree: GameTree | None = None  # once all histories are there
        self.iterations = 0
        self._seconds = 0.0

    def run(self, stop: Stop, iterations: int | None = None) -> None:
        """Until told to stop, or so many iterations more; `stop` is asked every few milliseconds in usual games.

        EquilibriumError for a game that is too large, or whose roles cannot know their moves.
        """
        began = perf_counter()
        try:
            self._enumerate(stop)
            last = None if iterations is None else self.iterations + iterations
            while self.tree is not None and self._regrets is not None and not stop() and self.iterations != last:
                self.iterations += 1
                iterate(self.tree.form, self._regrets, self.iterations, self.settings.algorithm == "pcfr+")
        finally:
            self._seconds += perf_counter() - began

    def report(self) -> SolveReport:
        """Takes about as long as two iterations."""
        found = self._enumeration
        if self.tree is None or self.iterations == 0:
            return SolveReport(self._seconds, found.histories, found.information_sets, 0, (), ())
        values, best = values_of(self.tree.form, self._strategy(self.tree.form))
        gains = tuple(float(most - value) for most, value in zip(best, values, strict=True))
        return SolveReport(
            self._seconds, found.histories, found.information_sets, self.iterations, tuple(values.tolist()), gains
        )

    def policy(self) -> Policy | None:
        """The average strategies of all roles; None before the first iteration."""
        if self.tree is None or self.iterations == 0:
            return None
        return Policy(self.tree, self._strategy(self.tree.form))

    def _enumerate(self, stop: Stop) -> None:
        while self.tree is None and not stop():
            self._enumeration.advance()
            if self._enumeration.is_complete:
                self.tree = self._enumeration.game_tree()
                self._regrets = make_regrets(self.tree.form)

    def _strategy(self, form: SequenceForm) -> Values:
        assert self._regrets is not None
        strategy = np.ones(len(self._regrets.average))
        normalise(form.first, self._regrets.average, strategy)
        return strategy


def values_of(form: SequenceForm, strategy: Values) -> tuple[Values, Values]:
    """(P,) what each role gets when all play the strategy, and by a best response to the others."""
    roles = len(form.first_set) - 1
    plan, worth = np.ones(len(strategy)), np.zeros(len(strategy))
    for role in range(roles):
        realise(form, role, strategy, plan)
    values, best = np.zeros(roles), np.zeros(roles)
    response = np.ones(len(strategy))
    for role in range(roles):
        value_sequences(form, role, plan, worth)
        before = worth.copy()
        values[role] = back_up(form, role, strategy, worth, False)
        best[role] = back_up(form, role, response, before, True)
    return values, best


def best_response(form: SequenceForm, role: int, strategy: Values) -> tuple[float, Values]:
    """What a role gets by its best response to the others' strategies, and all strategies with that response."""
    plan, worth, response = np.ones(len(strategy)), np.zeros(len(strategy)), strategy.copy()
    for other in range(len(form.first_set) - 1):
        realise(form, other, strategy, plan)
    value_sequences(form, role, plan, worth)
    return back_up(form, role, response, worth, True), response

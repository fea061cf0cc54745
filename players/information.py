"""The searches of a player who does not see the state: an equilibrium of a small game, else its information sets.

Both begin with what the role did and was told, never with a state that somebody guessed.
"""

import logging
from collections.abc import Sequence
from functools import partial
from random import Random
from time import perf_counter

from ggp.equilibrium.policy import Follower, Policy
from ggp.equilibrium.solving import EquilibriumSolver, SolveSettings
from ggp.errors import AmbiguousMovesError, EquilibriumError, EvaluationError
from ggp.gdl.state_machine import Facts
from ggp.gdl.terms import Term, to_text
from ggp.protocol.evaluation import Evaluation
from ggp.search.histories import HistorySearch
from ggp.search.ismcts import InformationSetSearch, MoveValue
from ggp.simulation.belief import Belief
from ggp.simulation.evaluate import unpack
from ggp.simulation.state_machine import CircuitMachine
from players.strategy import Heard, RoleTask, Thought, per_second

_SLICE_SECONDS = 0.05  # between two looks at the best move
_SMALL_NASH_CONV = 0.02  # goal points: nothing more is gained by further iterations
_LEAST_SHARE = 0.01  # of a move in an equilibrium's strategy: what is played less is there because time was short
_SOLVER_SHARE, _TREE_SHARE = 2, 4  # of the memory: one part in so many
_HISTORIES_SHARE = 4  # the same, of what clingo may take where a belief is lost
_HISTORIES = 64  # that clingo looks for
_SEEDS = 2**32

log = logging.getLogger(__name__)


class InformationSearch:
    """Plays the mixed strategies of an equilibrium once there is one, else what a search from the belief finds."""

    def __init__(self, machine: CircuitMachine, task: RoleTask) -> None:
        self._machine, self._role, self._warn = machine, task.role, task.warn
        self._number = machine.roles.index(task.role)
        memory, seed = task.settings.search_settings.memory_bytes, task.settings.seed % _SEEDS
        self._memory, self._seed = memory, seed
        self._rng = Random(f"mixed {seed}")  # noqa: S311 - not for secrets
        self._belief = Belief(machine, task.role, seed=seed)
        self._search = InformationSetSearch(machine, task.role, memory // _TREE_SHARE, seed)
        self._solver: EquilibriumSolver | None = EquilibriumSolver(machine, SolveSettings(), memory // _SOLVER_SHARE)
        self._has_tried = False  # to enumerate the histories in its own time; later only while nothing is asked
        self._iterations_seen = 0  # when NashConv was looked at last
        self._policy: Policy | None = None  # an equilibrium, when it is as good as it needs to be
        self._follower: Follower | None = None  # in the tree of the solver
        self._heard: list[Heard] = []

    def hear(self, heard: Sequence[Heard], thought: Thought) -> None:
        """All that the role did and was told since the start of the match. EvaluationError where no world agrees."""
        agrees = len(self._belief.weights) > 0
        for move, told in heard[len(self._heard) :]:
            self._heard.append((move, told))
            if move is None:
                raise EvaluationError("a step was not told")
            agrees = self._belief.advance(move, told, thought.stop, self._search.policies)
            if self._follower is not None:
                self._follower.advance(move, told)
        if not agrees and not self._find_history(thought):
            raise EvaluationError("no world was found that agrees with what was told")

    def _find_history(self, thought: Thought) -> bool:
        """Lets clingo look for what the belief has lost."""
        heard = [(move, told) for move, told in self._heard if move is not None]
        with HistorySearch(self._machine, self._role, self._memory // _HISTORIES_SHARE, self._seed) as search:
            found = search.find(heard, _HISTORIES, thought.stop)
        log.info("no world was left; clingo found %d histories", len(found))
        return len(found) > 0 and self._belief.take_up(found)

    def think(self, state: Facts, thought: Thought) -> None:  # noqa: ARG002 - a guess
        legal = self._legal()
        thought.offer(thought.move if thought.move in legal else legal[0])
        if len(legal) == 1:
            return
        half = thought.now()  # without all histories by then, the search has the rest
        if not self._has_tried:
            half = (half + thought.stop_at) / 2
            self._has_tried = True
        luck = self._rng.random()
        while self._may_solve(thought) and (self._is_enumerated or thought.now() < half):
            self._solve(thought)
            self._offer_mixed(legal, luck, thought)
        if not self._offer_mixed(legal, luck, thought):
            self._search_worlds(legal, thought)

    def ponder(self, state: Facts, move: Term | None, thought: Thought) -> None:  # noqa: ARG002 - a guess
        while self._may_solve(thought):
            self._solve(thought)
        if self._policy is None and move is None and len(self._belief.weights):
            self._search.run(self._belief, thought.stop)

    def advance(self, move: Term) -> None:
        """`hear` tells more."""

    def close(self) -> None:
        self._solver = None

    @property
    def _is_enumerated(self) -> bool:
        return self._solver is not None and self._solver.tree is not None

    def _may_solve(self, thought: Thought) -> bool:
        return self._solver is not None and self._policy is None and not thought.stop()

    def _legal(self) -> list[Term]:
        """Those of any world: a role knows its moves."""
        batches, moves = self._machine.batches, self._machine.compiled.moves[self._number]
        bits = unpack(batches.legal(self._belief.states[:1]), int(batches.first_move[-1]))
        flags = bits[0, batches.first_move[self._number] : batches.first_move[self._number + 1]]
        return [move for move, flag in zip(moves, flags, strict=True) if flag]

    def _solve(self, thought: Thought) -> None:
        """A slice of it."""
        solver = self._solver
        assert solver is not None
        end = perf_counter() + _SLICE_SECONDS
        try:
            solver.run(lambda: thought.stop() or perf_counter() >= end)
        except EquilibriumError as error:
            if isinstance(error, AmbiguousMovesError):
                self._warn(str(error))
            log.info("not solved: %s", error)
            self._solver = None
            return
        if solver.tree is not None and self._follower is None:
            self._follower = Follower(solver.tree, self._role)
            for move, told in self._heard:
                if move is not None:
                    self._follower.advance(move, told)
        if solver.iterations >= 2 * self._iterations_seen + 1:
            self._iterations_seen = solver.iterations
            nash_conv = solver.report().nash_conv
            if nash_conv is not None and nash_conv <= _SMALL_NASH_CONV:
                self._policy, self._solver = solver.policy(), None

    def _offer_mixed(self, legal: list[Term], luck: float, thought: Thought) -> bool:
        """A move drawn from the strategy that there is; whether there is one for what the role knows."""
        number = None if self._follower is None else self._follower.information_set
        policy = self._policy or (self._solver.policy() if self._solver is not None else None)
        if number is None or policy is None:
            return False
        moves = {move: share for move, share in policy.moves(number).items() if share >= _LEAST_SHARE}
        place = luck * sum(moves.values())
        for move, share in moves.items():
            place -= share
            if place <= 0 and move in legal:
                thought.offer(move, f"an equilibrium plays {to_text(move)} with {share:.1%}")
                return True
        return False

    def _search_worlds(self, legal: list[Term], thought: Thought) -> None:
        belief, search = self._belief, self._search
        before, began = search.descents, perf_counter()
        while not thought.stop():
            end = perf_counter() + _SLICE_SECONDS
            search.run(belief, lambda end=end: thought.stop() or perf_counter() >= end)  # type: ignore[misc]
            found = [each for each in search.result(belief) if each.move in legal]
            if not found:
                return
            made, seconds = search.descents - before, perf_counter() - began
            note = f"{made:,} descents from {len(belief.weights):,} worlds, value {100 * found[0].value:.1f}"
            thought.offer(found[0].move, note, partial(_evaluation, found[0], made, seconds))


def _evaluation(best: MoveValue, descents: int, seconds: float) -> Evaluation:
    return Evaluation(value=100 * best.value, visits=best.visits, playouts_per_second=per_second(descents, seconds))

"""The searches of a player who does not see the state: an equilibrium of a small game, else its information sets.

Both begin with what the role did and was told, never with a state that somebody guessed.
"""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from time import perf_counter

import numpy as np

from ggp.equilibrium.game_tree import Roots, Values
from ggp.equilibrium.settings import SolveSettings
from ggp.errors import AmbiguousMovesError, EquilibriumError, EvaluationError
from ggp.gdl.rulesheet import NATURE
from ggp.gdl.state_machine import Facts
from ggp.gdl.terms import Term, to_text
from ggp.kernel import LANES
from ggp.protocol.evaluation import Evaluation
from ggp.search.histories import HistorySearch
from ggp.search.ismcts import InformationSetSearch, MoveValue
from ggp.simulation.belief import Belief
from ggp.simulation.evaluate import Bits, unpack
from ggp.simulation.state_machine import CircuitMachine
from players.equilibria import Exact, Merged, Solving
from players.strategy import Heard, RoleTask, Thought, per_second

_SLICE_SECONDS = 0.05  # between two looks at the best move
_LEAST_SHARE = 0.01  # of a move in an equilibrium's strategy: what is played less is there because time was short
_SOLVER_SHARE, _TREE_SHARE = 2, 4  # of the memory: one part in so many
_HISTORIES_SHARE = 4  # the same, of what clingo may take where a belief is lost
_HISTORIES = 64  # that clingo looks for
_SEEDS = 2**32
_MOST_HISTORIES = 1_000_000  # that may follow a belief
_LEAST_HISTORIES, _HISTORIES_PER_SECOND = 1000, 300_000  # before an edge; the latter by the time for a move
_EDGE_STEPS, _LEAST_WORLDS = 2, 64  # before it: worlds are drawn for so many steps, but not fewer
_EDGE_PLAYOUTS = 8  # of each state there at most, one at least
_EDGE_PART = 2  # of the time for a move: one part in so many may be over after listing histories and playouts
_SUBGAME_PART = 4  # of the time for a move: one part in so many may go into listing histories

log = logging.getLogger(__name__)


class InformationSearch:
    """Plays the mixed strategies of an equilibrium once there is one, else what a search from the belief finds."""

    def __init__(self, machine: CircuitMachine, task: RoleTask) -> None:
        self._machine, self._role, self._warn = machine, task.role, task.warn
        self._number = machine.roles.index(task.role)
        memory, seed = task.settings.search_settings.memory_bytes, task.settings.seed % _SEEDS
        self._memory, self._seed = memory, seed
        self.solves_subgames = True  # where the whole game cannot be solved
        self._rng = Random(f"mixed {seed}")  # noqa: S311 - not for secrets
        self._belief = Belief(machine, task.role, seed=seed)
        self._search = InformationSetSearch(machine, task.role, memory // _TREE_SHARE, seed)
        self._solving: Solving | None = Exact(machine, task.role, memory // _SOLVER_SHARE)
        self._has_tried = False  # to enumerate the histories in its own time; later only while nothing is asked
        self._heard: list[Heard] = []

    def hear(self, heard: Sequence[Heard], thought: Thought) -> None:
        """All that the role did and was told since the start of the match.

        EvaluationError where no world agrees, and from a step on that was not told.
        """
        agrees = len(self._belief.weights) > 0
        for move, told in heard[len(self._heard) :]:
            if move is None:
                raise EvaluationError("a step was not told")
            self._heard.append((move, told))
            agrees = self._belief.advance(move, told, thought.stop, self._search.policies)
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
        luck = self._rng.random()
        if not self._has_tried or self._is_enumerated:  # without strategies by then, the search has the rest
            half = (thought.now() + thought.stop_at) / 2
            self._has_tried = True
            while self._may_solve(thought) and (self._offer_mixed(legal, luck, thought) or thought.now() < half):
                self._solve(thought)
        if not self._offer_mixed(legal, luck, thought) and not self._solve_subgame(legal, luck, thought):
            self._search_worlds(legal, thought)

    def ponder(self, state: Facts, move: Term | None, thought: Thought) -> None:  # noqa: ARG002 - a guess
        while self._may_solve(thought):
            self._solve(thought)
        if self._solving is None and move is None and len(self._belief.weights):
            self._search.run(self._belief, thought.stop)

    def advance(self, move: Term) -> None:
        """`hear` tells more."""

    def close(self) -> None:
        self._solving = None

    @property
    def _is_enumerated(self) -> bool:
        return self._solving is not None and self._solving.is_enumerated

    def _may_solve(self, thought: Thought) -> bool:
        return self._solving is not None and not self._solving.is_done and not thought.stop()

    def _legal(self) -> list[Term]:
        """Those of any world: a role knows its moves."""
        batches, moves = self._machine.batches, self._machine.compiled.moves[self._number]
        bits = unpack(batches.legal(self._belief.states[:1]), int(batches.first_move[-1]))
        flags = bits[0, batches.first_move[self._number] : batches.first_move[self._number + 1]]
        return [move for move, flag in zip(moves, flags, strict=True) if flag]

    def _solve(self, thought: Thought) -> None:
        """A slice of it."""
        solving = self._solving
        assert solving is not None
        end = perf_counter() + _SLICE_SECONDS
        try:
            solving.run(lambda: thought.stop() or perf_counter() >= end)
        except EquilibriumError as error:
            if isinstance(error, AmbiguousMovesError):
                self._warn(str(error))
            log.info("not solved: %s", error)
            self._solving = None
            if isinstance(solving, Exact) and not isinstance(error, AmbiguousMovesError):
                self._merge()

    def _merge(self) -> None:
        """Where there are too many histories."""
        try:
            self._solving = Merged(self._machine, self._role, self._memory // _SOLVER_SHARE)
        except EquilibriumError as error:
            log.info("not solved: %s", error)

    def _offer_mixed(self, legal: list[Term], luck: float, thought: Thought, found: Solving | None = None) -> bool:
        """A move drawn from the strategy that there is; whether there is one for what the role knows.

        found: of a subgame that begins now, in place of that of the game.
        """
        solving, heard = (self._solving, self._heard) if found is None else (found, [])
        strategy = {} if solving is None else solving.moves(heard)
        moves = {move: share for move, share in strategy.items() if share >= _LEAST_SHARE}
        place = luck * sum(moves.values())
        for move, share in moves.items():
            place -= share
            if place <= 0 and move in legal:
                thought.offer(move, f"an equilibrium plays {to_text(move)} with {share:.1%}")
                return True
        return False

    def _solve_subgame(self, legal: list[Term], luck: float, thought: Thought) -> bool:
        """What can follow the belief, as if all roles knew it; whether a move came of that."""
        if self._solving is not None or not self.solves_subgames:
            return False
        now, seconds = thought.now(), thought.stop_at - thought.now()
        subgame = self._subgame(seconds, lambda: thought.stop() or thought.now() >= now + seconds / _EDGE_PART)
        is_offered = False
        try:
            while not (thought.stop() or subgame.is_done):
                if not subgame.is_enumerated and thought.now() >= now + seconds / _SUBGAME_PART:
                    return False
                end = perf_counter() + _SLICE_SECONDS
                subgame.run(lambda end=end: thought.stop() or perf_counter() >= end)  # type: ignore[misc]
                if subgame.is_enumerated and not subgame.is_opposed:
                    return False
                is_offered = self._offer_mixed(legal, luck, thought, subgame)
        except EquilibriumError as error:
            log.info("no subgame: %s", error)
        return is_offered

    def _subgame(self, seconds: float, is_late: Callable[[], bool]) -> Exact:
        """From the belief to the ends. is_late: for playouts.

        Where several roles choose at once it may be cut off at an edge, and begin in worlds that are drawn, if that is
        needed for some steps; where roles choose in turn the search of the trees is the better one then.
        """
        batches, belief, most, edge = self._machine.batches, self._belief, _MOST_HISTORIES, None
        legal = unpack(batches.legal(belief.sample(LANES)[0]), int(batches.first_move[-1]))
        choices = np.add.reduceat(legal, batches.first_move[:-1], axis=1, dtype=np.float64)
        roots = Roots(belief.states, belief.keys, belief.weights)
        players = [role != NATURE for role in self._machine.roles]
        if ((choices[:, players] > 1).sum(axis=1) > 1).any():
            most = min(_LEAST_HISTORIES + int(seconds * _HISTORIES_PER_SECOND), most)
            worlds = int(most / choices.prod(axis=1).mean() ** _EDGE_STEPS)
            roots = Roots(*belief.sample(max(worlds, _LEAST_WORLDS)))
            edge = partial(self._play_out, is_late)
        settings, memory = SolveSettings(histories=most), self._memory // _SOLVER_SHARE
        return Exact(self._machine, self._role, memory, settings, roots, edge)

    def _play_out(self, is_late: Callable[[], bool], states: Bits) -> Values:
        """EquilibriumError where it is late before each state has had a playout."""
        total = self._machine.play_out(states, 1, self._seed, is_late)
        if is_late():
            raise EquilibriumError(f"playouts of {len(states):,} states take too long")
        playouts = 1
        while playouts < _EDGE_PLAYOUTS:
            more = self._machine.play_out(states, 1, self._seed + playouts, is_late)
            if is_late():
                break
            total, playouts = total + more, playouts + 1
        return total / playouts

    def _search_worlds(self, legal: list[Term], thought: Thought) -> None:
        belief, search = self._belief, self._search
        before, began = search.descents, perf_counter()
        while not thought.stop():
            search.run(belief, thought.stop, seconds=_SLICE_SECONDS)
            found = [each for each in search.result(belief) if each.move in legal]
            if not found:
                return
            made, seconds = search.descents - before, perf_counter() - began
            note = f"{made:,} descents from {len(belief.weights):,} worlds, value {100 * found[0].value:.1f}"
            thought.offer(found[0].move, note, partial(_evaluation, found[0], made, seconds))


def _evaluation(best: MoveValue, descents: int, seconds: float) -> Evaluation:
    return Evaluation(value=100 * best.value, visits=best.visits, playouts_per_second=per_second(descents, seconds))

"""What proves values in parallel with the tree: retrograde analysis where states are few, else proof-number search.

Both work in small steps, some for each visit of the root, and write what they prove into the tree. Once a tree has
grown for long, one more visit tells little, and the proof gets more work; a worker that is not the only one then does
nothing else.

Locking: the retrograde solver belongs to the first worker, the proof to the last one; `solution` and the notes of a
proof are written as a whole and read by other threads. The tree is written with STRUCTURE held (`tree.py`).
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ggp.gdl.rulesheet import NATURE
from ggp.kernel import Int, lean
from ggp.locks import lock as take
from ggp.locks import unlock
from ggp.search.mcts.settings import SearchSettings
from ggp.search.mcts.tree import (
    COUNT,
    END,
    FIRST,
    INNER,
    KIND,
    LEAF,
    LENGTH,
    LOCK,
    LONG,
    NODE_TOP,
    NONE,
    ROOT,
    VISITS,
    Parameters,
    Tree,
    collapse,
)
from ggp.search.proof.prover import Prover, RootMoves
from ggp.search.retrograde import RetrogradeSolver, StateValues
from ggp.simulation.expansion import OVER
from ggp.simulation.state_machine import CircuitMachine
from ggp.simulation.state_table import EMPTY, find_state

Values: TypeAlias = NDArray[np.float64]

_RETROGRADE_SHARE = 8  # of the memory: one part in so many is for all states
_MOST_RETROGRADE_BYTES = 2**27
_PROOF_SHARE = 4  # of the memory: one part in so many is for proofs, once it is known that states are many
_RETROGRADE_PER_VISIT = 16  # steps, or states that are looked at again
_PROOF_PER_VISIT, _MORE_PER_VISIT = 0.1, 4.0  # states that are expanded for each visit of the root, and for later ones
_FROM, _FULLY_FROM = 500_000, 1_500_000  # visits of the root between which the later ones begin
_AT_ONCE = 2048  # states between two looks at the clock, where another thread visits


class Solver:
    """The proofs of one search; `solution` is set once all states from some root on are solved."""

    def __init__(self, machine: CircuitMachine, settings: SearchSettings, parameters: Parameters) -> None:
        roles = machine.roles
        self.solution: RetrogradeSolver | None = None
        self.proof: BackgroundProof | None = None
        self._machine = machine
        self._memory_bytes = settings.memory_bytes
        self._parameters = parameters
        self._may_solve = settings.retrograde and len(roles) > 1
        self._may_prove = settings.proof and len(roles) == 2 and NATURE not in roles
        self._retrograde: RetrogradeSolver | None = None
        share = min(self._memory_bytes // _RETROGRADE_SHARE, _MOST_RETROGRADE_BYTES) if self._may_solve else 0
        share = max(share, self._memory_bytes // _PROOF_SHARE) if self._may_prove else share
        self.reserved_bytes = share  # of the search's memory: what the tree must not take

    @property
    def is_solving(self) -> bool:
        """Whether states may turn out to be few."""
        return self._may_solve

    def go_to_root(self, tree: Tree) -> None:
        """The tree has another root; what is known of it is written into the tree."""
        root = int(tree.numbers[ROOT])
        if self.solution is not None:
            write_exact_values(tree, root, self.solution.values)
        elif tree.nodes[root, KIND] == LEAF or _is_lost_unseen(tree, root):
            collapse(tree, root)
            tree.nodes[root, KIND] = LEAF
            _forget_bounds(tree, root)
        if self.proof is not None:
            self.proof.go_to_root(tree)

    def restart(self, tree: Tree) -> None:
        """The tree was emptied, since two roles are not opposed: the background proof ends for good."""
        self._may_prove, self.proof = False, None
        self.go_to_root(tree)

    def bounds(self, tree: Tree) -> tuple[Values, Values]:
        """(roles,) the least and the most that the root is worth to each role, 0 to 1."""
        lower, upper = _bounds(tree)
        proof = self.proof
        if proof is not None:
            least, most = proof.bounds
            lower, upper = np.maximum(lower, least), np.minimum(upper, most)
        return lower, upper

    def is_solved(self, tree: Tree) -> bool:
        """Whether the tree itself has the value of the root proven for all roles, and so the best move."""
        lower, upper = _bounds(tree)
        return bool((lower == upper).all())

    def is_decided(self, tree: Tree) -> bool:
        """Whether each role surely gets the least or the most; if not, it matters what others may concede."""
        lower, upper = _bounds(tree)
        return bool(((lower == 1) | (upper == 0)).all())

    def proven_lengths(self, lengths: list[int], role: int) -> list[int]:
        """How far from the end a role's moves are: those that the tree does not know, with those of the proof."""
        proof = self.proof
        return lengths if proof is None else proof.longer(lengths, role)

    def solve(self, tree: Tree, lock: AbstractContextManager[object], more: int = 0) -> None:
        """Some retrograde analysis, in proportion to the visits of the root, or so many steps more."""
        if not self._may_solve:
            return
        root = int(tree.numbers[ROOT])
        if self._retrograde is None:
            budget = min(self._memory_bytes // _RETROGRADE_SHARE, _MOST_RETROGRADE_BYTES)
            self._retrograde = RetrogradeSolver(self._machine, tree.table.states[root : root + 1], budget)
        found = self._retrograde
        wanted = found.work_done + more if more else 0
        enough = max(_RETROGRADE_PER_VISIT * int(tree.values[root, VISITS]), wanted)
        while not found.has_failed and found.work_done < enough:
            found.advance()
            if found.is_settled:
                with lock:
                    self.solution = found
                    write_all_exact_values(tree, found.values)
                break
        if found.has_failed or found.is_settled:
            self._may_solve, self._retrograde = False, None

    def prove(
        self, tree: Tree, lock: AbstractContextManager[object], stop: Callable[[], bool], *, is_alone: bool
    ) -> bool:
        """Some work on the proof, once states are many; is_alone: other threads visit.

        Whether there is more of it for a thread that does nothing else.
        """
        if self._may_solve or not self._may_prove or self.solution is not None or not self._parameters.zero_sum[0]:
            return False
        if self.proof is None:
            self.proof = BackgroundProof(self._machine, self._memory_bytes // _PROOF_SHARE)
            self.proof.go_to_root(tree)
        has_worked = self.proof.work(tree, lock, stop, is_alone=is_alone)
        if self.proof.prover.is_contradicted:
            self._parameters.zero_sum[0] = False
        if self.proof.has_failed:
            self._may_prove, self.proof = False, None
        return has_worked and is_alone


class BackgroundProof:
    """What is proven of the root of a tree by proof-number search; nothing as long as no work was done."""

    def __init__(self, machine: CircuitMachine, budget_bytes: int) -> None:
        self.prover = Prover(machine, budget_bytes)
        self._ahead = 0.0  # of the work that visits so far ask for
        self._is_at_root = False
        self._take_note()

    @property
    def has_failed(self) -> bool:
        """Whether the values of two roles do not add up to 1, or roles choose at once."""
        return self.prover.has_failed

    @property
    def bounds(self) -> tuple[Values, Values]:
        """(2,) the least and the most that the root is worth to each role."""
        return self._bounds

    def go_to_root(self, tree: Tree) -> None:
        """Start from the tree's root, which has changed."""
        root = int(tree.numbers[ROOT])
        self._is_at_root = tree.nodes[root, KIND] != END
        if self._is_at_root:
            self.prover.go_to(tree.table.states[root : root + 1], _mean(tree))
        self._ahead = self.prover.work_done - _wanted(tree)
        self._take_note()

    def work(
        self, tree: Tree, lock: AbstractContextManager[object], stop: Callable[[], bool], *, is_alone: bool
    ) -> bool:
        """Some of the work: as visits ask for or, by a thread that does nothing else, more; whether any was done.

        What is proven is written into the tree.
        """
        prover, visits = self.prover, float(tree.values[tree.numbers[ROOT], VISITS])
        enough, has_worked = self._ahead + _wanted(tree), False
        if is_alone and visits >= _FROM:
            enough = prover.work_done + _AT_ONCE
        while self._is_at_root and not prover.is_idle and prover.work_done < enough and not stop():
            prover.advance(_mean(tree), enough)
            has_worked = True
        if has_worked:
            self._take_note()
            known = self._root_moves
            if known is not None:
                with lock:
                    write_proof(tree, int(tree.numbers[ROOT]), known.chooser, known.low, known.high)
        return has_worked

    def longer(self, lengths: list[int], role: int) -> list[int]:
        """How far from the end a role's moves are: those that the tree does not know, with those of the proof."""
        known = self._root_moves
        if known is None or known.chooser != role or len(known.length) != len(lengths):
            return lengths
        return [mine if 0 < mine < LONG else other for mine, other in zip(lengths, known.length.tolist(), strict=True)]

    def _take_note(self) -> None:
        """Keeps what is known now for other threads, which must not look into work that is in progress."""
        at_root, prover = self._is_at_root, self.prover
        self._bounds = prover.bounds if at_root else (np.zeros(2), np.ones(2))
        self._root_moves: RootMoves | None = prover.root_moves if at_root else None


@lean
def write_proof(tree: Tree, node: Int, chooser: Int, low: NDArray[np.float64], high: NDArray[np.float64]) -> None:
    """Give a node, the root, the bounds that are known of the chooser's moves, and by these its own.

    low, high: (moves,) for the first role. Where the state is lost, what was said of the moves is taken back: the tree
    itself looks for those that are hardest to refute, or lose latest. Nodes below get none: they would be solved
    without a move of which that is known.
    """
    slot, values = np.int64(tree.nodes[node, FIRST]), tree.values
    if slot == NONE:
        return
    take(tree.nodes, node, LOCK)
    least, most = low[0], high[0]
    for move in range(1, len(low)):
        if chooser == 0:
            least, most = max(least, low[move]), max(most, high[move])
        else:
            least, most = min(least, low[move]), min(most, high[move])
    is_lost = most == 0.0 if chooser == 0 else least == 1.0
    if not is_lost:
        values[node, 2], values[node, 4] = max(values[node, 2], least), min(values[node, 4], most)
        values[node, 3], values[node, 5] = max(values[node, 3], 1.0 - most), min(values[node, 5], 1.0 - least)
    if chooser == 1:
        slot += tree.nodes[node, COUNT]
    for move in range(len(low)):  # both in the order of the moves
        least, most, child = low[move], high[move], tree.child[slot]
        if chooser == 1:
            least, most = 1.0 - most, 1.0 - least
        if not is_lost:
            tree.lower[slot] = max(tree.lower[slot], least)
            tree.upper[slot] = min(tree.upper[slot], most)
        elif child != NONE:
            tree.lower[slot], tree.upper[slot] = values[child, 2 + chooser], values[child, 4 + chooser]
        else:
            tree.lower[slot], tree.upper[slot] = 0.0, 1.0
        slot += 1
    unlock(tree.nodes, node, LOCK)


@lean
def write_exact_values(tree: Tree, node: Int, known: StateValues) -> None:
    """Give a node, and its slots, the bounds and the length that the graph of all states has for it."""
    number = find_state(known.graph.table, tree.table.states, node)
    if number == EMPTY:
        return
    take(tree.nodes, node, LOCK)
    roles = known.low.shape[1]
    for role in range(roles):
        low, high = roles + role, 2 * roles + role
        tree.values[node, low] = max(tree.values[node, low], known.low[number, role])
        tree.values[node, high] = min(tree.values[node, high], known.high[number, role])
    tree.nodes[node, LENGTH] = known.length[number]
    slot, chooser = np.int64(tree.nodes[node, FIRST]), known.chooser[number]
    if slot != NONE and chooser != OVER:
        for role in range(chooser):
            slot += tree.nodes[node, COUNT + role]
        for edge in range(known.graph.first[number], known.graph.first[number + 1]):  # both in the order of the moves
            target = known.graph.target[edge]
            tree.lower[slot] = max(tree.lower[slot], known.low[target, chooser])
            tree.upper[slot] = min(tree.upper[slot], known.high[target, chooser])
            slot += 1
    unlock(tree.nodes, node, LOCK)


@lean
def write_all_exact_values(tree: Tree, known: StateValues) -> None:
    """The same for all nodes whose states are known."""
    for node in range(tree.numbers[NODE_TOP]):
        kind = tree.nodes[node, KIND]
        if kind == LEAF or kind == INNER or kind == END:  # noqa: PLR1714, SIM109 - a kernel
            write_exact_values(tree, np.int64(node), known)


def _bounds(tree: Tree) -> tuple[Values, Values]:
    """(roles,) of the root, as the tree has them."""
    roles = tree.nodes.shape[1] - COUNT
    values = tree.values[int(tree.numbers[ROOT])]
    return values[roles : 2 * roles], values[2 * roles : 3 * roles]


def _is_lost_unseen(tree: Tree, node: int) -> bool:
    """Whether a node is proven to be lost for who chooses there, by moves that were never done among others."""
    counts = tree.nodes[node, COUNT:]
    if tree.nodes[node, KIND] != INNER or np.count_nonzero(counts > 1) != 1:
        return False
    role = int(counts.argmax())
    start = int(tree.nodes[node, FIRST] + counts[:role].sum())
    slots = slice(start, start + int(counts[role]))
    return not tree.upper[slots].any() and bool((tree.child[slots] == NONE).any())


def _forget_bounds(tree: Tree, node: int) -> None:
    """A proof whose moves had to make room says that the state is won, but not how."""
    roles = tree.nodes.shape[1] - COUNT
    tree.values[node, roles : 2 * roles] = 0.0
    tree.values[node, 2 * roles : 3 * roles] = 1.0


def _wanted(tree: Tree) -> float:
    """How many states the visits of the root ask for."""
    visits = float(tree.values[tree.numbers[ROOT], VISITS])
    growing, later = min(max(visits - _FROM, 0), _FULLY_FROM - _FROM), max(visits - _FULLY_FROM, 0)
    return _PROOF_PER_VISIT * visits + _MORE_PER_VISIT * (growing**2 / (2 * (_FULLY_FROM - _FROM)) + later)


def _mean(tree: Tree) -> float:
    """What the root seems to be worth to the first role."""
    root = int(tree.numbers[ROOT])
    return float(tree.values[root, 0]) / max(float(tree.values[root, VISITS]), 1.0)

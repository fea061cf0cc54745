"""All states that can follow a state, each met once, and the joint moves between them: breadth first, in batches.

What the states are worth is worked out on the graph: by retrograde analysis (`search.retrograde`), and as matrix games
(`equilibrium.backward_induction`). Where the game has symmetries, states that are images of one another may be met as
one: the least image stands for all of them.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import Ids
from ggp.kernel import LANES, Int, inner, lean, lowest
from ggp.simulation.evaluate import Bits, copy_state
from ggp.simulation.expansion import (
    OVER,
    SEVERAL,
    Expansion,
    count_legal,
    do_steps,
    first_joint_move,
    look,
    make_expansion,
    next_joint_move,
    next_legal,
    value_ends,
)
from ggp.simulation.state_machine import CircuitMachine
from ggp.simulation.state_table import EMPTY, StateTable, add_state, find_state, make_state_table

EXPANDED, EDGES, FULL, SIMULTANEOUS = range(4)  # of `StateGraph.counters`; the last two: no room; several roles choose
_MOST_AT_ONCE = 64
_TOO_MANY = 1 << 31  # more joint moves than there can be room for
_TABLE_BYTES = 16  # of a state, for its slots in the table and its first edge


class Images(NamedTuple):
    """G symmetries of a game with F facts and M moves, the identity first; under each the rules say the same."""

    facts: Ids  # (G, F) what each puts in place of a fact
    moves: Ids  # (G, M) of a move, numbered over the moves of all roles in a row


def no_images(facts: int, moves: int) -> Images:
    """The identity alone."""
    return Images(np.arange(facts, dtype=np.int32)[np.newaxis], np.arange(moves, dtype=np.int32)[np.newaxis])


def put_least_images(images: Images, states: Bits) -> Ids:
    """Put the least image in place of each state (n, words); (n,) which symmetry led there."""
    numbers = np.zeros(len(states), np.int32)
    take_least_images(images, states, len(states), numbers, np.zeros((2, states.shape[1]), np.uint64))
    return numbers


@lean
def take_least_images(images: Images, states: Bits, count: Int, numbers: Ids, scratch: Bits) -> None:
    """The same for the first states; images are compared word by word. scratch: (2, words)."""
    words = states.shape[1]
    for row in range(count):
        numbers[row] = 0
        copy_state(scratch, 0, states, np.int64(row))
        for number in range(1, len(images.facts)):
            scratch[1, :] = np.uint64(0)
            for word in range(words):
                left = states[row, word]
                while left:
                    fact = images.facts[number, 64 * word + lowest(left)]
                    scratch[1, fact >> 6] |= np.uint64(1) << np.uint64(fact & 63)
                    left &= left - np.uint64(1)
            if _is_less(scratch):
                numbers[row] = number
                copy_state(scratch, 0, scratch, 1)
        copy_state(states, np.int64(row), scratch, 0)


@inner
def _is_less(scratch: Bits) -> bool:
    """Whether the second state is less than the first one."""
    for word in range(scratch.shape[1]):
        if scratch[0, word] != scratch[1, word]:
            return bool(scratch[1, word] < scratch[0, word])
    return False


class StateGraph(NamedTuple):
    """S states at most, E edges at most, R roles.

    Locking: none. The thread that explores writes everything; others read once all states are explored.
    """

    table: StateTable  # numbers the states; the first one is 0
    first: Ids  # (S + 1,) the edges from state s are first[s]:first[s + 1], one for each joint move
    target: Ids  # (E,) the states after the joint moves, whose order `order` says
    legal: Ids  # (S, R) how many legal moves each role has; 0 at an end
    goal: NDArray[np.int16]  # (S, R) goal values of ends, -1 where the rules give none or several; 0 elsewhere
    images: Images  # that count as the same state; no role is exchanged for another
    image: Ids  # (512,) room for `take_least_images`
    scratch: Bits  # (2, words) likewise
    order: Ids  # (R,) the roles, from the one whose moves change slowest to the one whose moves change quickest
    joint: Ids  # (R,) the joint move that comes next
    counters: NDArray[np.int64]


def make_state_graph(
    state: Bits, order: Ids, images: Images, edges_per_state: int, budget_bytes: int, more_bytes: int
) -> StateGraph:
    """Room for as many states as fit, at least 64, where the caller keeps `more_bytes` for each. state: (1, words)."""
    words, roles = state.shape[1], len(order)
    bytes_per_state = 8 * words + _TABLE_BYTES + 6 * roles + 4 * edges_per_state + more_bytes
    states = max(budget_bytes // bytes_per_state, 64)
    edges = min(edges_per_state * states, 2**31 - 1)
    graph = StateGraph(
        make_state_table(words, states), np.zeros(states + 1, np.int32), np.empty(edges, np.int32),
        np.zeros((states, roles), np.int32), np.zeros((states, roles), np.int16), images, np.zeros(LANES, np.int32),
        np.zeros((2, words), np.uint64), order, np.zeros(roles, np.int32), np.zeros(4, np.int64),
    )  # fmt: skip
    first = state.copy()
    put_least_images(images, first)
    add_state(graph.table, first, 0)
    return graph


class StateExplorer:
    """All that can follow a state, found in small steps; what the states are worth is for its kinds to say."""

    def __init__(  # noqa: PLR0913, PLR0917 - as `make_state_graph`
        self,
        machine: CircuitMachine,
        state: Bits,
        order: Ids,
        edges_per_state: int,
        budget_bytes: int,
        more_bytes: int,
        images: Images | None = None,
    ) -> None:
        """As `make_state_graph`."""
        if images is None:
            images = no_images(len(machine.compiled.facts), int(machine.batches.first_move[-1]))
        self.graph = make_state_graph(state, order, images, edges_per_state, budget_bytes, more_bytes)
        self._expansion = make_expansion(machine.batches)

    @property
    def states(self) -> int:
        """How many states were met."""
        return int(self.graph.table.size[0])

    @property
    def steps_done(self) -> int:
        """How many joint moves were made."""
        return int(self.graph.counters[EDGES])

    @property
    def is_full(self) -> bool:
        """Whether there are too many states."""
        return bool(self.graph.counters[FULL])

    @property
    def is_explored(self) -> bool:
        """Whether it is known what follows every state that was met."""
        return bool(self.graph.counters[EXPANDED] == self.states)

    def find(self, state: Bits) -> int | None:
        """The number of a state (1, words); None for one that cannot follow. The first state has number 0."""
        found = self.find_image(state)
        return None if found is None else found[0]

    def find_image(self, state: Bits) -> tuple[int, int] | None:
        """The number that stands for a state, and the symmetry by which it does."""
        least = state.copy()
        image = put_least_images(self.graph.images, least)
        number = int(find_state(self.graph.table, least, 0))
        return None if number == EMPTY else (number, int(image[0]))

    def legal_moves(self, number: int, role: int) -> list[int]:
        """A role's legal moves in a state, numbered within it, in the order of the edges; for one thread at a time."""
        look(self._expansion, self.graph.table.states[number : number + 1], 1)
        moves: list[int] = []
        move = -1
        for _ in range(int(self.graph.legal[number, role])):
            move = int(next_legal(self._expansion, 0, role, move + 1))
            moves.append(move)
        return moves

    def _explore(self, steps: int) -> tuple[int, int]:
        """Find what follows the next states, as many as usually have so many joint moves; which (from, to)."""
        usual = steps * self.states // max(self.steps_done, 1)
        first = int(self.graph.counters[EXPANDED])
        explore(self.graph, self._expansion, min(max(usual, 1), _MOST_AT_ONCE))
        return first, int(self.graph.counters[EXPANDED])


@lean
def explore(graph: StateGraph, expansion: Expansion, states: Int) -> None:
    """Find what follows the next states, up to so many, at most 512."""
    counters = graph.counters
    start = counters[EXPANDED]
    count = min(np.int64(states), np.int64(LANES), graph.table.size[0] - start)
    looked_at = graph.table.states[start : start + count]
    look(expansion, looked_at, count)
    value_ends(expansion, looked_at, count)
    waiting: Int = np.int64(0)
    for row in range(count):
        state = start + row
        graph.first[state] = counters[EDGES]
        steps = _note_state(graph, expansion, np.int64(row), state)
        if counters[EDGES] + steps > len(graph.target):
            counters[FULL] = 1
            return
        if steps > 0:
            waiting = _list_joint_moves(graph, expansion, np.int64(row), state, waiting)
    _add_targets(graph, expansion, waiting)
    counters[EXPANDED] += count
    graph.first[counters[EXPANDED]] = counters[EDGES]


@inner
def _note_state(graph: StateGraph, expansion: Expansion, row: Int, state: Int) -> Int:
    """What the look at a state shows; how many joint moves there are."""
    chooser = expansion.chooser[row]
    if chooser == SEVERAL:
        graph.counters[SIMULTANEOUS] = 1
    steps: Int = np.int64(chooser != OVER)
    for role in range(graph.legal.shape[1]):
        if chooser == OVER:
            graph.goal[state, role] = expansion.goal[row, role]
        else:
            graph.legal[state, role] = count_legal(expansion, row, np.int64(role))
        steps = min(steps * graph.legal[state, role], np.int64(_TOO_MANY))
    return np.int64(steps)


@inner
def _list_joint_moves(graph: StateGraph, expansion: Expansion, row: Int, state: Int, before: Int) -> Int:
    """Put all joint moves behind the steps that wait, which are done when they are 512; how many wait now."""
    counters, roles = graph.counters, expansion.joint.shape[1]
    first_joint_move(expansion, row, graph.joint)
    waiting: Int = np.int64(before)
    is_more = True
    while is_more:
        copy_state(expansion.before, waiting, graph.table.states, state)
        for role in range(roles):
            expansion.joint[waiting, role] = graph.joint[role]
        expansion.owner[waiting] = counters[EDGES]
        counters[EDGES] += 1
        waiting += 1
        if waiting == LANES:
            _add_targets(graph, expansion, waiting)
            waiting = np.int64(0)
        is_more = next_joint_move(expansion, row, graph.joint, graph.order)
    return np.int64(waiting)


@lean
def _add_targets(graph: StateGraph, expansion: Expansion, count: Int) -> None:
    """Do the steps that wait."""
    if count == 0:
        return
    do_steps(expansion, expansion.joint, count)
    if len(graph.images.facts) > 1:
        take_least_images(graph.images, expansion.after, count, graph.image, graph.scratch)
    for row in range(count):
        number = add_state(graph.table, expansion.after, row)
        if number == EMPTY:
            graph.counters[FULL] = 1
            return
        graph.target[expansion.owner[row]] = number

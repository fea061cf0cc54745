"""A small game from one state on: every state that can follow, and what each is worth to each role.

States are met breadth first, each once; then values go back from the ends until nothing changes. A role takes what is
best for itself; where it has several such moves, the others can count on the worst of them only. Where several roles
choose at once there is no answer.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import Ids
from ggp.gdl.rulesheet import NATURE
from ggp.kernel import LANES, Int, aligned_words, inner, lean
from ggp.search.mcts.expansion import Rules
from ggp.search.mcts.tree import COUNT, END, FIRST, INNER, KIND, LEAF, LENGTH, NODE_TOP, NONE, Tree, hash_state
from ggp.simulation.evaluate import GOALS, LOOK, NEXT, Bits, copy_state, evaluate_rows, single_values
from ggp.simulation.leaves import UNKNOWN
from ggp.simulation.state_machine import CircuitMachine

SIZE, AT, EDGES, FULL, TOGETHER, HAND, CHANGED, PASSES = range(8)  # indices of Book.counters
LONG = 1 << 24  # a length that is not known
_END = -1  # who chooses where nobody does
_MOST_AT_ONCE, _STEPS_AT_ONCE, _SETTLED_AT_ONCE = 64, 1024, 10_000
_MOST_PASSES = 400  # where states repeat, values may go round for long; what is known by then is sound
TINY = 1e-9


class Book(NamedTuple):
    """S states at most, E steps at most, R roles."""

    states: Bits  # (S, words)
    table: Ids  # (power of 2,) states by hash, -1: free
    first: Ids  # (S + 1,) the steps from state s are first[s]:first[s + 1]
    target: Ids  # (E,)
    move: Ids  # (E,) of the role that chooses, numbered within it
    chooser: Ids  # (S,) the only role with a choice, else 0; -1 at an end
    low: NDArray[np.float64]  # (S, R) bounds of the values, 0 to 1
    high: NDArray[np.float64]
    hope: NDArray[np.float64]  # (S, R) the mean value where the role keeps what is sure and the others do anything
    length: Ids  # (S,) steps to the end where all play on for long when they lose, and win soon
    nature: NDArray[np.bool_]  # (R,)
    counters: NDArray[np.int64]


class Scratch(NamedTuple):
    """Room for a batch."""

    rules: Rules
    found: Bits
    goals: Bits
    goal_values: NDArray[np.int16]
    joint: Ids  # (512, R)
    steps: Ids  # (512,) which steps wait to be done
    before: Bits
    after: Bits
    lowest: NDArray[np.float64]  # (R,) the goal value that counts as 0
    span: NDArray[np.float64]


class Exhaustion:
    """All that can follow a state, worked out in small steps."""

    def __init__(self, machine: CircuitMachine, state: Bits, lowest_goal: NDArray[np.float64],
                 span: NDArray[np.float64], budget_bytes: int) -> None:  # fmt: skip
        roles = len(machine.roles)
        self._book = _make_book(state, [role == NATURE for role in machine.roles], budget_bytes)
        self._scratch = _make_scratch(machine, roles, lowest_goal, span)
        self._rows = machine.batches.rows
        self.is_settled = False

    @property
    def has_failed(self) -> bool:
        """Whether there are too many states, or several roles choose at once."""
        return bool(self._book.counters[FULL] or self._book.counters[TOGETHER])

    @property
    def states(self) -> int:
        return int(self._book.counters[SIZE])

    @property
    def steps_done(self) -> int:
        return int(self._book.counters[EDGES])

    @property
    def work_done(self) -> int:
        """Steps, and states looked at again."""
        counters = self._book.counters
        passed = counters[PASSES] * counters[SIZE] - counters[HAND] if counters[PASSES] else 0
        return int(counters[EDGES] + passed)

    def advance(self) -> None:
        """A few milliseconds of work."""
        book = self._book
        if self.has_failed or self.is_settled:
            return
        if book.counters[AT] < book.counters[SIZE]:
            usual = _STEPS_AT_ONCE * self.states // max(self.steps_done, 1)
            explore(book, self._scratch, min(max(usual, 1), _MOST_AT_ONCE))
        else:
            self.is_settled = settle(book, _SETTLED_AT_ONCE) or bool(book.counters[PASSES] == _MOST_PASSES)

    def find(self, state: Bits) -> int | None:
        """The number of a state; None for one that cannot follow."""
        number = int(find_state(self._book, state, 0))
        return None if number < 0 else number

    def bounds(self, number: int) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
        """(R,) the least and the most that a state is worth to each role, and its length."""
        book = self._book
        return book.low[number], book.high[number], int(book.length[number])

    def hope(self, number: int, role: int) -> float:
        """What a state is worth to a role that keeps what is sure, when the others do anything at random, 0 to 1."""
        return float(self._book.hope[number, role])

    def teach(self, tree: Tree, node: int | None = None) -> None:
        """Give a node, or all nodes, of a search tree what is known of their states."""
        if node is None:
            stamp_all(self._book, tree)
        else:
            stamp(self._book, tree, node)

    def best_choice(self, number: int) -> tuple[int, int] | None:
        """The role that chooses in a state, and its move that wins soonest, or ends latest; None at an end."""
        book = self._book
        chooser = int(book.chooser[number])
        if chooser == _END:
            return None
        after = self.choices(number, chooser)
        sure = max(float(book.low[target, chooser]) for target in after.values())
        best = [move for move, target in after.items() if book.low[target, chooser] >= sure - TINY]
        pick = min if sure > 1 - TINY else max
        return chooser, pick(best, key=lambda move: int(book.length[after[move]]))

    def choices(self, number: int, role: int) -> dict[int, int]:
        """Moves of a role → the state that follows, where it is the one that chooses."""
        book = self._book
        if book.chooser[number] != role:
            return {}
        part = slice(int(book.first[number]), int(book.first[number + 1]))
        return dict(zip(book.move[part].tolist(), book.target[part].tolist(), strict=True))


def _make_book(state: Bits, nature: list[bool], budget_bytes: int) -> Book:
    words, roles = state.shape[1], len(nature)
    states = max(int(budget_bytes // (8 * words + 24 * roles + 16 + 16 + 8 * 16)), 64)
    edges = 16 * states
    table = 1 << int(2 * states - 1).bit_length()
    book = Book(
        np.empty((states, words), np.uint64), np.full(table, -1, np.int32), np.zeros(states + 1, np.int32),
        np.empty(edges, np.int32), np.empty(edges, np.int32), np.empty(states, np.int32),
        np.empty((states, roles)), np.empty((states, roles)), np.empty((states, roles)), np.empty(states, np.int32),
        np.array(nature), np.zeros(8, np.int64),
    )  # fmt: skip
    keep_state(book, state, 0)
    return book


def _make_scratch(
    machine: CircuitMachine, roles: int, lowest_goal: NDArray[np.float64], span: NDArray[np.float64]
) -> Scratch:
    batches = machine.batches
    outputs = batches.rows.outputs.tolist()
    words = batches.initial.shape[1]
    return Scratch(
        Rules(batches.rows, aligned_words(batches.size), batches.first_goal, batches.goal_values),
        np.zeros((LANES, (int(batches.first_move[-1]) + 64) // 64), np.uint64),
        np.zeros((LANES, max(1, (outputs[GOALS] + 63) // 64)), np.uint64),
        np.zeros((LANES, roles), np.int16), np.zeros((LANES, roles), np.int32), np.zeros(LANES, np.int32),
        np.zeros((LANES, words), np.uint64), np.zeros((LANES, words), np.uint64),
        lowest_goal, span,
    )  # fmt: skip


@lean
def explore(book: Book, scratch: Scratch, states: Int) -> None:
    """Find what follows the next states, up to so many, at most 512."""
    counters, rows = book.counters, scratch.rules.rows
    roles = book.low.shape[1]
    start = counters[AT]
    count = min(np.int64(states), np.int64(LANES), counters[SIZE] - start)
    for at in range(count):
        copy_state(scratch.after, at, book.states, start + at)
    evaluate_rows(rows, scratch.rules.words, np.int64(LOOK), scratch.after, scratch.joint, scratch.found, count)
    evaluate_rows(rows, scratch.rules.words, np.int64(GOALS), scratch.after, scratch.joint, scratch.goals, count)
    single_values(scratch.goals[:count], scratch.rules.first_goal, scratch.rules.goal_values, scratch.goal_values)
    waiting, end = np.int64(0), np.int64(rows.first_move[roles])
    for at in range(count):
        state = start + at
        book.first[state] = counters[EDGES]
        chooser = _mark(book, scratch, at, state, end)
        book.chooser[state] = chooser
        if chooser == _END:
            continue
        first, last = rows.first_move[chooser], rows.first_move[chooser + 1]
        for move in range(first, last):
            if not _is_set(scratch.found, at, move):
                continue
            if counters[EDGES] == len(book.target):
                counters[FULL] = 1
                return
            for role in range(roles):
                scratch.joint[waiting, role] = _only_move(scratch.found, at, rows.first_move, role)
            copy_state(scratch.before, waiting, book.states, state)
            book.move[counters[EDGES]] = move - first
            scratch.joint[waiting, chooser] = move - first
            scratch.steps[waiting] = counters[EDGES]
            counters[EDGES] += 1
            waiting += 1
            if waiting == LANES:
                _follow(book, scratch, waiting)
                waiting = np.int64(0)
    _follow(book, scratch, waiting)
    counters[AT] += count
    book.first[counters[AT]] = counters[EDGES]


@inner
def _mark(book: Book, scratch: Scratch, at: Int, state: Int, end: Int) -> Int:
    """A state's chooser; at an end -1, and its values."""
    roles = book.low.shape[1]
    first_move = scratch.rules.rows.first_move
    over = _is_set(scratch.found, at, end)
    chooser, choosers = np.int64(0), 0
    for role in range(roles):
        count = 0
        for move in range(first_move[role], first_move[role + 1]):
            count += _is_set(scratch.found, at, move)
        if count == 0:
            over = True  # nobody can go on
        if count > 1:
            choosers += 1
            chooser = np.int64(role)
    book.length[state] = LONG
    for role in range(roles):
        book.low[state, role], book.high[state, role] = 0.0, 1.0
        book.hope[state, role] = UNKNOWN
    if over:
        book.length[state] = 0
        for role in range(roles):
            goal = scratch.goal_values[at, role]
            worth = (goal - scratch.lowest[role]) / scratch.span[role] if goal >= 0 else UNKNOWN
            book.low[state, role] = book.high[state, role] = book.hope[state, role] = worth
        return np.int64(_END)
    if choosers > 1:
        book.counters[TOGETHER] = 1
    return chooser


@inner
def _is_set(bits: Bits, row: Int, at: Int) -> bool:
    return bool((bits[row, at >> 6] >> np.uint64(at & 63)) & np.uint64(1) != np.uint64(0))


@inner
def _only_move(found: Bits, row: Int, first_move: Ids, role: Int) -> Int:
    """The first legal move of a role, numbered within it."""
    for move in range(first_move[role], first_move[role + 1]):
        if _is_set(found, row, move):
            return np.int64(move - first_move[role])
    return np.int64(0)


@lean
def _follow(book: Book, scratch: Scratch, count: Int) -> None:
    """Do the steps that wait."""
    if count == 0:
        return
    rules = scratch.rules
    evaluate_rows(rules.rows, rules.words, np.int64(NEXT), scratch.before, scratch.joint, scratch.after, count)
    for row in range(count):
        number = keep_state(book, scratch.after, row)
        if number < 0:
            return
        book.target[scratch.steps[row]] = number


@lean
def keep_state(book: Book, states: Bits, row: Int) -> Int:
    """The number of the state in a row, new or not; -1 when there is no room."""
    number = find_state(book, states, row)
    if number >= 0:
        return np.int64(number)
    new = book.counters[SIZE]
    if new == book.states.shape[0]:
        book.counters[FULL] = 1
        return np.int64(-1)
    book.table[-number - 2] = new
    copy_state(book.states, new, states, row)
    book.counters[SIZE] = new + 1
    return np.int64(new)


@lean
def find_state(book: Book, states: Bits, row: Int) -> Int:
    """The number of the state in a row; where it is not known -2 - the place in the table that it would take."""
    mask = len(book.table) - 1
    at = hash_state(states, row) & mask
    while book.table[at] >= 0:
        known = np.int64(book.table[at])
        same = True
        for word in range(states.shape[1]):
            same = same and book.states[known, word] == states[row, word]
        if same:
            return known
        at = (at + 1) & mask
    return np.int64(-2 - at)


@lean
def settle(book: Book, states: Int) -> bool:
    """Carry values back over so many states, the last ones first; whether a whole pass has changed nothing."""
    counters = book.counters
    for _ in range(states):
        if counters[HAND] == 0:
            if counters[PASSES] > 0 and counters[CHANGED] == 0:
                return True
            counters[HAND], counters[CHANGED] = counters[SIZE], 0
            counters[PASSES] += 1
        counters[HAND] -= 1
        state = counters[HAND]
        if book.chooser[state] != _END and _update(book, state):
            counters[CHANGED] = 1
    return False


@lean
def stamp(book: Book, tree: Tree, node: Int) -> None:
    """Give a node of a search tree, and its slots, the bounds and the length that the book has for it."""
    number = find_state(book, tree.states, node)
    if number < 0:
        return
    roles = book.low.shape[1]
    for role in range(roles):
        low, high = roles + role, 2 * roles + role
        tree.values[node, low] = max(tree.values[node, low], book.low[number, role])
        tree.values[node, high] = min(tree.values[node, high], book.high[number, role])
    tree.nodes[node, LENGTH] = book.length[number]
    slot, chooser = np.int64(tree.nodes[node, FIRST]), book.chooser[number]
    if slot == NONE or chooser == _END:
        return
    for role in range(chooser):
        slot += tree.nodes[node, COUNT + role]
    for step in range(book.first[number], book.first[number + 1]):  # both are in the order of the moves
        target = book.target[step]
        tree.low[slot] = max(tree.low[slot], book.low[target, chooser])
        tree.high[slot] = min(tree.high[slot], book.high[target, chooser])
        slot += 1


@lean
def stamp_all(book: Book, tree: Tree) -> None:
    """The same for all nodes whose states are known."""
    for node in range(tree.numbers[NODE_TOP]):
        kind = tree.nodes[node, KIND]
        if kind == LEAF or kind == INNER or kind == END:  # noqa: PLR1714, SIM109 - a kernel
            stamp(book, tree, np.int64(node))


@inner
def _update(book: Book, state: Int) -> bool:
    """A state's bounds from those of the states after it; whether they changed."""
    first, last, chooser = book.first[state], book.first[state + 1], book.chooser[state]
    sure = 0.0
    for step in range(first, last):
        sure = max(sure, book.low[book.target[step], chooser])
    changed = False
    by_chance = book.nature[chooser] and last - first > 1
    for role in range(book.low.shape[1]):
        low, high = (0.0, 0.0) if by_chance or role == chooser else (1.0, 0.0)
        for step in range(first, last):
            target = np.int64(book.target[step])
            if by_chance:
                low += book.low[target, role] / (last - first)
                high += book.high[target, role] / (last - first)
            elif role == chooser:
                low, high = max(low, book.low[target, role]), max(high, book.high[target, role])
            elif book.high[target, chooser] >= sure:
                low, high = min(low, book.low[target, role]), max(high, book.high[target, role])
        changed = changed or low > book.low[state, role] + TINY or high < book.high[state, role] - TINY
        book.low[state, role], book.high[state, role] = (
            max(low, book.low[state, role]),
            min(high, book.high[state, role]),
        )
    for role in range(book.low.shape[1]):
        hope = 0.0
        for step in range(first, last):
            target = np.int64(book.target[step])
            if role == chooser and not by_chance:
                hope = max(hope, book.hope[target, role]) if book.low[target, role] >= sure - TINY else hope
            else:
                hope += book.hope[target, role] / (last - first)
        changed = changed or abs(hope - book.hope[state, role]) > TINY
        book.hope[state, role] = hope
    return changed | _update_length(book, state, chooser, sure)


@inner
def _update_length(book: Book, state: Int, chooser: Int, sure: float) -> bool:
    """One more than after the moves that keep the value: the soonest of the best end, the latest of any other."""
    if book.low[state, chooser] < book.high[state, chooser] - TINY:
        return False
    soonest, latest = np.int64(LONG), np.int64(0)
    for step in range(book.first[state], book.first[state + 1]):
        target = np.int64(book.target[step])
        if book.low[target, chooser] >= sure - TINY:
            soonest, latest = min(soonest, np.int64(book.length[target])), max(latest, np.int64(book.length[target]))
    length = min((soonest if sure > 1.0 - TINY else latest) + 1, np.int64(LONG))
    changed = length != book.length[state]
    book.length[state] = length
    return bool(changed)

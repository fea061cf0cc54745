"""All histories of a game for two roles who forget in which order they did and were told what, merged.

Histories of the same length are one *node* where the state is the same and each role did the same moves with the same
percepts, in any order but that of the first steps: an abstraction with imperfect recall (Waugh et al., 2009). While
nodes are few nothing is forgotten; what a role knows there it forgets only with later steps.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import Ids
from ggp.equilibrium.game_tree import Values, hash_legal
from ggp.errors import EquilibriumError, NoGoalError
from ggp.gdl.rulesheet import NATURE
from ggp.kernel import LANES, Int, inner, lean
from ggp.simulation.evaluate import PERCEPTS, Bits, copy_state, evaluate_rows
from ggp.simulation.expansion import (
    OVER,
    Expansion,
    count_legal,
    do_steps,
    look,
    make_expansion,
    next_legal,
    part_between,
    value_ends,
)
from ggp.simulation.state_machine import CircuitMachine
from ggp.simulation.state_table import EMPTY, StateTable, add_state, fetch_state, find_state, make_state_table

NODES, EDGES, SETS, SEQUENCES, NEXT, LAST, FULL, AMBIGUOUS, NO_GOAL = range(9)  # of `_Work.counters`
_FIRST, _STEP, _RECALL, _ALL, _FEW = range(5)
"""Of `_Work.base`: the first node of the step after, and its number; until which step roles always remember order, and
until which one all order is remembered; the most nodes of a step after which it is.
"""
_EDGES_PER_NODE, _SEQUENCES_PER_SET = 40, 12  # there is room for
_BATCH = 64  # nodes between two looks at the clock
_FEW_SHARE = 128  # of the nodes that there is room for: after a step with one part in so many all order is remembered

Key = tuple[int, int]  # what a role knows, as hashes: without the order that it forgets, and with all; 0 for the latter


class MergedForm(NamedTuple):
    """N nodes, E edges, I information sets, S sequences (a move in a set), T transitions; as kernels read it."""

    first_edge: Ids  # (N + 1,) node n has the edges first_edge[n]:first_edge[n + 1], one for each joint move
    target: Ids  # (E,) the first role's moves the slowest, those of chance the quickest; targets come after their nodes
    sizes: Ids  # (N, 3) legal moves of the two roles and of chance; 0 at an end
    sets: Ids  # (N, 2) the information set of each role, EMPTY at an end
    payoffs: Values  # (N, 2) goal values at an end
    first: Ids  # (I + 1,) set i has the sequences first[i]:first[i + 1]
    role: Ids  # (I,) 0 or 1
    transitions: Ids  # (T, 2) a sequence, and an information set of the same role that can follow; sorted by the set


class _Work(NamedTuple):
    """What enumeration works on. Locking: none, one thread does it."""

    table: StateTable  # of the step after: states, each with the `Key` of both roles
    rows: Bits  # (N, words + 4) all nodes, by their number
    first_edge: Ids
    target: Ids
    sizes: Ids
    sets: Ids
    payoffs: Values
    known: StateTable  # numbers information sets by step, role and `Key`
    first: Ids
    role: Ids
    move: Ids  # (S,) numbered within the role
    legal: NDArray[np.uint64]  # (I,) a hash of what is legal
    node: Bits  # (512, words + 4)
    key: Bits  # (1, 4)
    told: Bits  # (512, ·)
    first_percept: Ids
    order: Ids  # (3,) the roles: first, second, chance (EMPTY if there is none)
    luck: Ids  # (64, ·) the moves of chance in the nodes that are being followed
    counters: NDArray[np.int64]
    base: NDArray[np.int64]  # (5,) `_FIRST` …


class MergedEnumeration:
    """Worked out in small steps: `advance` until `is_complete`."""

    def __init__(self, machine: CircuitMachine, recall: int, memory_bytes: int, few: int | None = None) -> None:
        """recall: first steps whose order roles remember; few: nodes of a step, after no more they remember all order.

        By default `few` is a small part of those that there is room for.
        EquilibriumError without two roles, without `sees`, or where the match is over when it begins.
        """
        self._name, self._roles = machine.rulesheet.source, machine.roles
        if len([role for role in machine.roles if role != NATURE]) != 2 or not machine.compiled.has_percepts:
            raise EquilibriumError(f"{self._name}: histories are merged for two roles with `sees` only")
        if machine.is_terminal(machine.initial_state):
            raise EquilibriumError(f"{self._name}: the match is over when it begins")
        self._expansion = make_expansion(machine.batches)
        self._work = _make_work(machine, recall, memory_bytes, few)
        self.steps = [0]  # the first node of each
        _begin(self._work, self._expansion, machine.batches.initial)

    @property
    def is_complete(self) -> bool:
        counters = self._work.counters
        return bool(counters[NEXT] == counters[NODES])

    @property
    def nodes(self) -> int:
        return int(self._work.counters[NODES])

    @property
    def information_sets(self) -> int:
        return int(self._work.counters[SETS])

    @property
    def is_full(self) -> bool:
        """Whether there was no room for all nodes."""
        return bool(self._work.counters[FULL])

    @property
    def moves(self) -> Ids:
        """(S,) the move of each sequence, numbered within its role."""
        return self._work.move

    def advance(self) -> None:
        """Some milliseconds of work. EquilibriumError where there is no room, or roles forget what is legal."""
        work, counters = self._work, self._work.counters
        if counters[NEXT] < counters[LAST]:
            _expand(work, self._expansion, _BATCH)
            if self.is_full or counters[AMBIGUOUS]:
                reason = "there is no room for all nodes" if self.is_full else "roles forget what is legal"
                raise EquilibriumError(f"{self._name}: {reason} ({self.nodes:,} so far)")
            if counters[NO_GOAL]:
                raise NoGoalError(self._name, self._roles[work.order[counters[NO_GOAL] - 1]])
        elif not self.is_complete:
            self.steps.append(int(counters[LAST]))
            _next_step(work)

    def key_after(self, place: int, steps: int, key: Key, move: int, told: Bits) -> Key:
        """What a role (0 or 1) knows after so many steps, from what it knew before the last of them; zeros at first.

        move: numbered within the role; told: (1, ·) bits over the percepts of all roles.
        """
        work, role = self._work, int(self._work.order[place])
        first, last = (int(bound) for bound in work.first_percept[role : role + 2])
        any_order, in_order = (
            (before + int(hash_told(told, 0, move, first, last, step))) % 2**64
            for before, step in zip(key, (steps if steps <= work.base[_RECALL] else 0, steps), strict=True)
        )
        return any_order, in_order if steps <= work.base[_ALL] else 0

    def information_set(self, place: int, steps: int, key: Key) -> int | None:
        """By what the role knows; None where no history leads there."""
        work = self._work
        work.key[0] = steps, place, *key
        number = int(find_state(work.known, work.key, 0))
        return None if number == EMPTY else number

    def form(self) -> MergedForm:
        """Of a complete enumeration."""
        return _form_of(self._work)


def _make_work(machine: CircuitMachine, recall: int, memory_bytes: int, few: int | None) -> _Work:
    batches = machine.batches
    words = batches.initial.shape[1] + 4
    nodes = max(memory_bytes // (2 * 8 * words + 16 + 4 * _EDGES_PER_NODE + 4 * 6 + 16 + 8 * 2), 1024)
    sets, edges = nodes, nodes * _EDGES_PER_NODE
    own = [number for number, role in enumerate(machine.roles) if role != NATURE]
    chance = machine.roles.index(NATURE) if NATURE in machine.roles else EMPTY
    told = max(1, (int(batches.first_percept[-1]) + 63) // 64)
    most = 1 if chance == EMPTY else len(machine.compiled.moves[chance])
    return _Work(
        make_state_table(words, nodes), np.empty((nodes, words), np.uint64), np.zeros(nodes + 1, np.int32),
        np.empty(edges, np.int32), np.zeros((nodes, 3), np.int32), np.full((nodes, 2), EMPTY, np.int32),
        np.zeros((nodes, 2)), make_state_table(4, sets), np.zeros(sets + 1, np.int32), np.zeros(sets, np.int32),
        np.zeros(_SEQUENCES_PER_SET * sets, np.int32), np.zeros(sets, np.uint64),
        np.zeros((LANES, words), np.uint64), np.zeros((1, 4), np.uint64), np.zeros((LANES, told), np.uint64),
        batches.first_percept, np.array([*own, chance], np.int32), np.zeros((_BATCH, most), np.int32),
        np.zeros(9, np.int64), np.array([0, 0, recall, 0, nodes // _FEW_SHARE if few is None else few]),
    )  # fmt: skip


def _form_of(work: _Work) -> MergedForm:
    counters = work.counters
    nodes, sets = int(counters[NODES]), int(counters[SETS])
    work.first_edge[nodes] = counters[EDGES]
    found = MergedForm(
        work.first_edge[: nodes + 1], work.target[: counters[EDGES]], work.sizes[:nodes], work.sets[:nodes],
        work.payoffs[:nodes], work.first[: sets + 1], work.role[:sets], np.zeros((0, 2), np.int32),
    )  # fmt: skip
    pairs = []
    for start in range(0, nodes, 1 << 14):  # each part has many of the same pairs
        size = _count_transitions(found, start, min(start + (1 << 14), nodes))
        part = np.zeros(size, np.int64)
        _list_transitions(found, start, min(start + (1 << 14), nodes), part)
        pairs.append(np.unique(part))
    every = np.setdiff1d(np.concatenate(pairs), [0])
    return found._replace(transitions=np.stack([every & 0xFFFFFFFF, every >> 32], axis=1).astype(np.int32))


@lean
def _begin(work: _Work, expansion: Expansion, initial: Bits) -> None:
    """The start as the only node of step 0."""
    words = initial.shape[1]
    for word in range(words):
        work.node[0, word] = initial[0, word]
        expansion.after[0, word] = initial[0, word]
    for word in range(words, words + 4):
        work.node[0, word] = 0
    look(expansion, expansion.after, np.int64(1))
    value_ends(expansion, expansion.after, np.int64(1))
    _note(work, expansion, np.int64(0))
    _next_step(work)


@lean
def _next_step(work: _Work) -> None:
    counters, base = work.counters, work.base
    counters[NEXT], counters[LAST] = counters[LAST], counters[NODES]
    if base[_ALL] == base[_STEP] and counters[LAST] - counters[NEXT] <= base[_FEW]:
        base[_ALL] += 1
    base[_FIRST] = counters[NODES]
    base[_STEP] += 1
    work.table.slots[:] = EMPTY
    work.table.size[0] = 0


@lean
def _expand(work: _Work, expansion: Expansion, count: Int) -> None:
    """Find what follows the next nodes, up to so many."""
    counters = work.counters
    start = counters[NEXT]
    count = min(np.int64(count), counters[LAST] - start)
    _list_luck(work, expansion, start, count)
    waiting: Int = np.int64(0)
    for row in range(count):
        node = start + row
        work.first_edge[node] = counters[EDGES]
        steps: Int = np.int64(work.sizes[node, 0]) * np.int64(work.sizes[node, 1]) * np.int64(work.sizes[node, 2])
        if steps == 0:
            continue
        if counters[EDGES] + steps > len(work.target):
            counters[FULL] = 1
            return
        waiting = _list_joint_moves(work, expansion, node, waiting)
    _do(work, expansion, waiting)
    counters[NEXT] += count


@lean
def _list_luck(work: _Work, expansion: Expansion, start: Int, count: Int) -> None:
    """The moves of chance in these nodes."""
    chance = np.int64(work.order[2])
    if chance == EMPTY:
        return
    for row in range(count):
        for word in range(expansion.after.shape[1]):
            expansion.after[row, word] = work.rows[start + row, word]
    look(expansion, expansion.after, count)
    for row in range(count):
        move = next_legal(expansion, np.int64(row), chance, np.int64(0))
        for at in range(work.sizes[start + row, 2]):
            work.luck[row, at] = move
            move = next_legal(expansion, np.int64(row), chance, move + 1)


@inner
def _move_of(work: _Work, node: Int, place: Int, rank: Int) -> Int:
    """The move of a role (0 or 1) with this number among the legal ones."""
    return np.int64(work.move[work.first[work.sets[node, place]] + rank])


@lean
def _list_joint_moves(work: _Work, expansion: Expansion, node: Int, before: Int) -> Int:
    """Put all joint moves behind the steps that wait, which are done when they are 512; how many wait now."""
    counters, words = work.counters, expansion.before.shape[1]
    waiting: Int = np.int64(before)
    chance = work.order[2]
    for first in range(work.sizes[node, 0]):
        for second in range(work.sizes[node, 1]):
            for luck in range(work.sizes[node, 2]):
                for word in range(words):
                    expansion.before[waiting, word] = work.rows[node, word]
                expansion.joint[waiting, work.order[0]] = _move_of(work, node, np.int64(0), np.int64(first))
                expansion.joint[waiting, work.order[1]] = _move_of(work, node, np.int64(1), np.int64(second))
                if chance != EMPTY:
                    expansion.joint[waiting, chance] = work.luck[node - counters[NEXT], luck]
                expansion.owner[waiting] = counters[EDGES]
                for word in range(words, words + 4):
                    work.node[waiting, word] = work.rows[node, word]
                counters[EDGES] += 1
                waiting += 1
                if waiting == LANES:
                    _do(work, expansion, waiting)
                    waiting = np.int64(0)
    return np.int64(waiting)


@lean
def _do(work: _Work, expansion: Expansion, count: Int) -> None:
    """Do the steps that wait."""
    if count == 0:
        return
    words = expansion.before.shape[1]
    joint = expansion.joint
    evaluate_rows(expansion.rows, expansion.words, np.int64(PERCEPTS), expansion.before, joint, work.told, count)
    do_steps(expansion, joint, count)
    look(expansion, expansion.after, count)
    value_ends(expansion, expansion.after, count)
    for row in range(count):
        is_over = expansion.chooser[row] == OVER
        for word in range(words):
            work.node[row, word] = expansion.after[row, word]
        for place in range(2):
            _add_step(work, expansion, np.int64(row), np.int64(place), bool(is_over))
        fetch_state(work.table, work.node, np.int64(row))
    for row in range(count):
        work.target[expansion.owner[row]] = _note(work, expansion, np.int64(row))


@lean
def hash_told(told: Bits, row: Int, move: Int, first: Int, last: Int, step: Int) -> np.uint64:
    """Of a step: a role's move and what it was told. Sums of these do not depend on the order of steps.

    told: percepts of all roles, of which first … last - 1 are the role's; step: 0 where order is forgotten.
    """
    mixed = (np.uint64(move) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= np.uint64(step) << np.uint64(48)
    for word in range(first >> 6, (last + 63) >> 6):
        bits = part_between(told[row, word], np.int64(word), first, last)
        mixed = (mixed ^ bits) * np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(29)
    mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0x94D049BB133111EB)
    return np.uint64(mixed ^ (mixed >> np.uint64(31)))


@inner
def _add_step(work: _Work, expansion: Expansion, row: Int, place: Int, is_over: bool) -> None:
    """Add what a role did and was told in the step of a row to its `Key` there, which is 0 at an end."""
    base, role, at = work.base, np.int64(work.order[place]), expansion.after.shape[1] + 2 * place
    first, last = np.int64(work.first_percept[role]), np.int64(work.first_percept[role + 1])
    move, step = np.int64(expansion.joint[row, role]), base[_STEP]
    any_order = hash_told(work.told, row, move, first, last, step if step <= base[_RECALL] else np.int64(0))
    in_order = hash_told(work.told, row, move, first, last, step)
    work.node[row, at] = np.uint64(0) if is_over else work.node[row, at] + any_order
    work.node[row, at + 1] = np.uint64(0) if is_over or step > base[_ALL] else work.node[row, at + 1] + in_order


@inner
def _note(work: _Work, expansion: Expansion, row: Int) -> Int:
    """The number of the node in a row, which was looked at."""
    counters = work.counters
    size = work.table.size[0]
    number = add_state(work.table, work.node, row)
    if number == EMPTY or work.base[_FIRST] + number >= len(work.rows):
        counters[FULL] = 1
        return np.int64(0)
    node = work.base[_FIRST] + number
    if number < size:
        return np.int64(node)
    copy_state(work.rows, node, work.node, row)
    counters[NODES] += 1
    is_over = expansion.chooser[row] == OVER
    for place in range(3):
        role = np.int64(work.order[place])
        legal = np.int64(1) if role == EMPTY else count_legal(expansion, row, role)
        work.sizes[node, place] = 0 if is_over else legal
    for place in range(2):
        role = np.int64(work.order[place])
        work.sets[node, place] = EMPTY
        if is_over:
            goal = expansion.lowest_goal[role] + expansion.value[row, role] * expansion.goal_span[role]
            work.payoffs[node, place] = goal
            if expansion.goal[row, role] < 0:
                counters[NO_GOAL] = place + 1
        else:
            work.sets[node, place] = _note_set(work, expansion, row, np.int64(place))
    return np.int64(node)


@inner
def _note_set(work: _Work, expansion: Expansion, row: Int, place: Int) -> Int:
    """The information set of a role."""
    counters, role = work.counters, np.int64(work.order[place])
    work.key[0, 0], work.key[0, 1] = np.uint64(work.base[_STEP]), np.uint64(place)
    for word in range(2):
        work.key[0, 2 + word] = work.node[row, expansion.after.shape[1] + 2 * place + word]
    first, last = np.int64(expansion.rows.first_move[role]), np.int64(expansion.rows.first_move[role + 1])
    legal = hash_legal(expansion, row, role)
    number = add_state(work.known, work.key, np.int64(0))
    if number == EMPTY:
        counters[FULL] = 1
        return np.int64(0)
    if number < counters[SETS]:
        if work.legal[number] != legal:
            counters[AMBIGUOUS] = 1
        return np.int64(number)
    counters[SETS] += 1
    work.legal[number], work.role[number] = legal, place
    if counters[SEQUENCES] + last - first > len(work.move):
        counters[FULL] = 1
        return np.int64(0)
    move = next_legal(expansion, row, role, np.int64(0))
    while move < last - first:
        work.move[counters[SEQUENCES]] = move
        counters[SEQUENCES] += 1
        move = next_legal(expansion, row, role, move + 1)
    work.first[number + 1] = counters[SEQUENCES]
    return np.int64(number)


@lean
def _count_transitions(form: MergedForm, start: Int, end: Int) -> Int:
    """Edges of these nodes that lead on, for both roles."""
    return np.int64(2 * (form.first_edge[end] - form.first_edge[start]))


@lean
def _list_transitions(form: MergedForm, start: Int, end: Int, pairs: NDArray[np.int64]) -> None:
    """Write set · 2³² + sequence of each of these edges; 0 where an end follows, which is not a pair of any set."""
    at = np.int64(0)
    for node in range(start, end):
        edge = np.int64(form.first_edge[node])
        for first in range(form.sizes[node, 0]):
            for second in range(form.sizes[node, 1]):
                for _ in range(form.sizes[node, 2]):
                    target = form.target[edge]
                    edge += 1
                    for place in range(2):
                        after = np.int64(form.sets[target, place])
                        rank = first if place == 0 else second
                        sequence = np.int64(form.first[form.sets[node, place]]) + rank
                        pairs[at] = np.int64(0) if after == EMPTY else (after << 32) + sequence
                        at += 1

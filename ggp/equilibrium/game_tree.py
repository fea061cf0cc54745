"""All histories of a game, breadth first in lanes, and the sequence form that they have (von Stengel, 1996).

A role knows its own moves and what it was told: by `sees`, else the joint moves. Histories that it cannot tell apart
are one information set. A sequence is what a role has chosen so far: an information set and a move in it, which is
preceded by one other sequence only, as roles forget nothing. Ends are all that is kept of the histories: the sequence
of each role that leads there, and its goal value times the probability that chance leads there. Roles that choose at
once do so in information sets of their own; chance is uniform over the legal moves of `random`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import Ids
from ggp.equilibrium.tree_size import estimate_histories
from ggp.errors import AmbiguousMovesError, EquilibriumError, NoGoalError
from ggp.gdl.rulesheet import NATURE
from ggp.gdl.terms import Term
from ggp.kernel import LANES, Int, inner, lean
from ggp.simulation.evaluate import PERCEPTS, Bits, copy_state, evaluate_rows
from ggp.simulation.expansion import (
    OVER,
    Expansion,
    count_legal,
    evaluate_steps,
    first_joint_move,
    legal_rank,
    look,
    make_expansion,
    next_joint_move,
    next_legal,
    part_between,
    value_ends,
)
from ggp.simulation.state_machine import CircuitMachine
from ggp.simulation.state_table import StateTable, add_state, keep_state, make_state_table

# of _Work.counters
NEXT, NOW, AFTER, LEAVES, INFORMATION_SETS, SEQUENCES, STEP, STARTED, AMBIGUOUS, NO_GOAL = range(10)
NONE = -1  # in place of an information set: no choice
BEFORE, ROLE, TOLD = range(3)
"""The words of an item of knowledge: what the role knew a step before (an item, in the lower 32 bits) with its move
since (in the upper ones); the role's number; and from here on what it was told: its bits of `Batches.percepts`, or
without `sees` a word for the move of each role."""
_BATCHES = 8  # of 512 steps, in a slice
_ROOM = 2 * _BATCHES * LANES  # rows at first
_SURE = 3.0  # standard errors
_MOST_STEPS = 1 << 31  # of a history; where there are more, it makes no difference

Values = NDArray[np.float64]
Array = TypeVar("Array", bound=NDArray[Any])
Edge: TypeAlias = Callable[[Bits], Values]  # states (n, words) → (n, R) goal values that they are worth


class SequenceForm(NamedTuple):
    """P roles without nature, I information sets, S sequences, L ends; as kernels read it.

    Sequences 0 … P - 1 are the empty ones of the roles; information sets and sequences are in the order of the roles,
    and what comes first in a match comes first.
    """

    first_set: Ids  # (P + 1,) role p has the information sets first_set[p]:first_set[p + 1]
    first: Ids  # (I + 1,) information set i has the sequences first[i]:first[i + 1], one for each legal move
    parent: Ids  # (I,) the sequence before
    end_sequences: Ids  # (L, P) the last sequence of each role
    payoffs: Values  # (L, P) goal value, 0 to 100, times the probability of chance


@dataclass(frozen=True, slots=True, eq=False)
class GameTree:
    """What is known of all histories. An item of knowledge is a row of `known[step]`; see `BEFORE`."""

    machine: CircuitMachine
    roles: tuple[str, ...]  # without nature
    form: SequenceForm
    moves: Ids  # (S,) the move that ends each sequence, numbered within its role; -1 for the empty ones
    step: Ids  # (I,) of each information set
    item: Ids  # (I,) its number in known[step]
    known: tuple[Bits, ...]  # for each step, what roles know by then
    set_of: tuple[Ids, ...]  # for each step, the information set of each item; NONE without a choice
    histories: int  # after whole steps, ends and the start included
    is_constant_sum: bool  # whether the goal values of all roles have the same sum at all ends


class _Histories(NamedTuple):
    """Room for N histories of one step that are no ends."""

    states: Bits
    legal: Bits  # as in `Expansion`
    item: Ids  # (N, R) of knowledge, of each role
    infoset: Ids  # (N, R) or NONE
    sequence: Ids  # (N, R)
    chance: Values  # (N,) the probability of all that nature did


class _Knowledge(NamedTuple):
    """Of one step."""

    table: StateTable  # numbers the items, whose words are `BEFORE`, `ROLE`, `TOLD` …
    infoset: Ids  # of each item, or NONE
    legal: NDArray[np.uint64]  # a hash of what the role can do; it has to follow from what it knows


class _Found(NamedTuple):
    """What grows from step to step; information sets are in the order in which they are met."""

    first: Ids
    parent: Ids
    role: Ids
    step: Ids
    item: Ids
    move: Ids
    end_sequences: Ids  # (·, R)
    payoffs: Values  # (·, R)
    sums: Values  # (2,) the least and the greatest sum of goal values at an end


class _Work(NamedTuple):
    """What the kernel works on. Locking: none, one thread does it."""

    now: _Histories
    after: _Histories
    knowledge: _Knowledge  # of the step after
    found: _Found
    told: Bits  # (512, ·) percepts
    key: Bits  # (1, ·)
    joint: Ids  # (R,) the joint move of history NEXT that comes next
    order: Ids  # (R,) the roles, as their moves change in joint moves: the last the quickest
    ranks: Ids  # (512, R) the number of each move among the legal ones, in the steps that are listed
    chance: Values  # (512,)
    nature: NDArray[np.bool_]  # (R,)
    first_percept: Ids  # (R + 1,)
    counters: NDArray[np.int64]


class Roots(NamedTuple):
    """N states in which a subgame begins, as one role takes them to be likely."""

    states: Bits  # (N, words) none of which is terminal
    keys: Bits  # (N, R) a hash of what each role knows there
    weights: Values  # (N,) probabilities


class Enumeration:
    """The histories of a game, worked out in small steps: `advance` until `is_complete`."""

    def __init__(
        self,
        machine: CircuitMachine,
        most_histories: int,
        memory_bytes: int,
        roots: Roots | None = None,
        edge: Edge | None = None,
    ) -> None:
        """roots: where histories begin; edge: ends them before they are too many, which is an error without it."""
        self._machine, self._edge = machine, edge
        self._roots = _start_of(machine) if roots is None else roots
        self._most, self._memory_bytes = most_histories, memory_bytes
        self._expansion = make_expansion(machine.batches)
        self._known: list[Bits] = []
        self._set_of: list[Ids] = []
        self._is_probed = edge is not None  # whether random matches have shown that there are not too many
        self._inner = 0  # histories of earlier steps that are no ends
        self.histories = 0  # that are followed, the start included
        self._work = _make_work(machine)
        self._begin()

    @property
    def is_complete(self) -> bool:
        return bool(self._work.counters[NOW] == 0)

    @property
    def ends(self) -> int:
        return int(self._work.counters[LEAVES])

    @property
    def step(self) -> int:
        """How many steps the histories have that are worked out."""
        return int(self._work.counters[STEP])

    @property
    def information_sets(self) -> int:
        return int(self._work.counters[INFORMATION_SETS])

    def advance(self) -> None:
        """Some milliseconds of work. EquilibriumError where there is too much, or roles cannot know their moves."""
        if self.is_complete:
            return
        if not self._is_probed:
            self._probe()
        self._make_room()
        work = self._work
        _expand(work, self._expansion, _BATCHES)
        self._check()
        if work.counters[NEXT] == work.counters[NOW]:
            self._next_step()
            if self._edge is not None and self._is_at_edge():
                self._end_here(self._edge)

    def game_tree(self) -> GameTree:
        """Of a complete enumeration."""
        return _game_tree(self._machine, self._work, tuple(self._known), self._set_of, self.histories)

    def _probe(self) -> None:
        self._is_probed = True
        mean, error = estimate_histories(self._machine, self._roots.states)
        if mean - _SURE * error > self._most:
            raise EquilibriumError(
                f"{self._machine.rulesheet.source}: there are more than {self._most:,} histories "
                f"(random matches show about {mean:.1e})"
            )

    def _begin(self) -> None:
        """Each root as what follows a history that nobody knows of but by the key."""
        roots, roles = self._roots, len(self._machine.roles)
        count = len(roots.states)
        now = self._work.now
        now = now._replace(
            item=_grown(now.item, count), sequence=_grown(now.sequence, count), infoset=_grown(now.infoset, count)
        )
        now.sequence[:count], now.infoset[:count] = np.arange(roles), NONE
        for role in range(roles):
            now.item[:count, role] = np.unique(roots.keys[:, role], return_inverse=True)[1]
        self._work = self._work._replace(now=now)
        self._work.counters[STEP] = -1
        expansion = self._expansion
        for start in range(0, count, LANES):
            self._make_room()
            states = roots.states[start : start + LANES]
            rows = len(states)
            expansion.after[:rows], expansion.owner[:rows] = states, np.arange(start, start + rows)
            look(expansion, expansion.after, rows)
            value_ends(expansion, expansion.after, rows)
            self._work.chance[:rows] = roots.weights[start : start + rows]
            _note(self._work, expansion, rows)
        self._next_step()

    def _next_step(self) -> None:
        """What came after becomes what is now."""
        work, table = self._work, self._work.knowledge.table
        items = int(table.size[0])
        self._known.append(table.states[:items].copy())
        self._set_of.append(work.knowledge.infoset[:items].copy())
        counters = work.counters
        self.histories = int(counters[LEAVES]) + self._inner + int(counters[AFTER])
        self._inner += int(counters[AFTER])
        counters[NOW], counters[AFTER], counters[NEXT] = counters[AFTER], 0, 0
        counters[STEP] += 1
        table.slots.fill(-1)
        table.size[0] = 0
        self._work = work._replace(now=work.after, after=work.now)

    def _is_at_edge(self) -> bool:
        """Whether there is no room for one more step of the histories of now."""
        now = int(self._work.counters[NOW])
        histories = self.histories + int(count_steps(self._work, self._expansion))
        needed_bytes = self._size_bytes() * histories / self.histories
        return now > 0 and (histories > self._most or needed_bytes > self._memory_bytes)

    def _end_here(self, edge: Edge) -> None:
        """Make ends of the histories of now; what roles would choose from after them is forgotten."""
        work, counters = self._work, self._work.counters
        now, ends, players = int(counters[NOW]), int(counters[LEAVES]), ~work.nature
        values = edge(work.now.states[:now])
        found, last = work.found, ends + now
        found = found._replace(end_sequences=_grown(found.end_sequences, last), payoffs=_grown(found.payoffs, last))
        found.end_sequences[ends:last] = work.now.sequence[:now]
        found.payoffs[ends:last] = values * work.now.chance[:now, np.newaxis]
        totals = values[:, players].sum(axis=1)
        found.sums[:] = min(found.sums[0], totals.min()), max(found.sums[1], totals.max())
        sets = int(np.count_nonzero(found.step[: counters[INFORMATION_SETS]] < counters[STEP]))
        counters[INFORMATION_SETS], counters[SEQUENCES] = sets, found.first[sets]
        self._set_of[-1][:] = NONE
        counters[LEAVES], counters[NOW], counters[NEXT] = last, 0, 0
        self._work = work._replace(found=found)

    def _make_room(self) -> None:
        """For one slice."""
        work, counters = self._work, self._work.counters
        batch, roles = _BATCHES * LANES, len(self._machine.roles)
        knowledge = _grown_knowledge(work.knowledge, batch * roles)
        sets = int(counters[INFORMATION_SETS]) + batch * roles
        found, sequences = work.found, int(counters[SEQUENCES]) + batch * int(self._machine.batches.first_move[-1])
        ends = int(counters[LEAVES]) + batch
        found = found._replace(
            first=_grown(found.first, sets + 1), parent=_grown(found.parent, sets), role=_grown(found.role, sets),
            step=_grown(found.step, sets), item=_grown(found.item, sets), move=_grown(found.move, sequences),
            end_sequences=_grown(found.end_sequences, ends), payoffs=_grown(found.payoffs, ends),
        )  # fmt: skip
        rows = int(counters[AFTER]) + batch
        after = _Histories(
            _grown(work.after.states, rows), _grown(work.after.legal, rows), _grown(work.after.item, rows),
            _grown(work.after.infoset, rows), _grown(work.after.sequence, rows), _grown(work.after.chance, rows),
        )  # fmt: skip
        self._work = work._replace(after=after, knowledge=knowledge, found=found)

    def _check(self) -> None:
        counters, name = self._work.counters, self._machine.rulesheet.source
        if counters[AMBIGUOUS]:
            when, role = f"after {self.step + 1} steps", self._machine.roles[counters[AMBIGUOUS] - 1]
            why = "two histories in which it did and was told the same differ in them"
            raise AmbiguousMovesError(f"{name}: {when} {role} cannot know its legal moves: {why}")
        if counters[NO_GOAL]:
            raise NoGoalError(name, self._machine.roles[counters[NO_GOAL] - 1])
        histories = int(counters[LEAVES]) + self._inner + int(counters[AFTER])
        if histories > self._most:
            steps = f"{self.step + 1} steps so far"
            raise EquilibriumError(f"{name}: there are more than {self._most:,} histories (of {steps})")
        if self._size_bytes() > self._memory_bytes:
            raise EquilibriumError(f"{name}: {histories:,} histories need more than {self._memory_bytes >> 20:,} MiB")

    def _size_bytes(self) -> int:
        work = self._work
        knowledge = (work.knowledge.table.states, work.knowledge.table.slots, work.knowledge.legal)
        parts: list[NDArray[Any]] = [*work.now, *work.after, *knowledge, *work.found, *self._known, *self._set_of]
        return sum(part.nbytes for part in parts)


def _start_of(machine: CircuitMachine) -> Roots:
    return Roots(machine.batches.initial[:1], np.zeros((1, len(machine.roles)), np.uint64), np.ones(1))


def _make_work(machine: CircuitMachine) -> _Work:
    batches = machine.batches
    roles = len(machine.roles)
    words, legal_words = batches.initial.shape[1], (int(batches.first_move[-1]) + 64) // 64
    told_words = max(1, (int(batches.first_percept[-1]) + 63) // 64)
    key_words = TOLD + (told_words if machine.compiled.has_percepts else roles)

    def histories() -> _Histories:
        return _Histories(
            np.zeros((_ROOM, words), np.uint64), np.zeros((_ROOM, legal_words), np.uint64),
            np.zeros((_ROOM, roles), np.int32), np.zeros((_ROOM, roles), np.int32), np.zeros((_ROOM, roles), np.int32),
            np.ones(_ROOM),
        )  # fmt: skip

    def ids() -> Ids:
        return np.zeros(_ROOM, np.int32)

    found = _Found(
        ids(), ids(), ids(), ids(), ids(), ids(), np.zeros((_ROOM, roles), np.int32), np.zeros((_ROOM, roles)),
        np.array([np.inf, -np.inf]),
    )  # fmt: skip
    found.first[0] = roles
    found.move[:roles] = -1
    counters = np.zeros(10, np.int64)
    counters[SEQUENCES] = roles
    few = 64  # it grows
    knowledge = _Knowledge(make_state_table(key_words, few), np.zeros(few, np.int32), np.zeros(few, np.uint64))
    return _Work(
        histories(), histories(), knowledge, found, np.zeros((LANES, told_words), np.uint64),
        np.zeros((1, key_words), np.uint64), np.zeros(roles, np.int32), np.arange(roles, dtype=np.int32),
        np.zeros((LANES, roles), np.int32), np.zeros(LANES), np.array([role == NATURE for role in machine.roles]),
        batches.first_percept if machine.compiled.has_percepts else np.zeros(0, np.int32), counters,
    )  # fmt: skip


def _grown(array: Array, rows: int) -> Array:
    """The array with so many rows at least."""
    if len(array) >= rows:
        return array
    larger = np.empty((max(rows, len(array) * 3 // 2), *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger  # type: ignore[return-value]


def _grown_knowledge(knowledge: _Knowledge, more: int) -> _Knowledge:
    table = knowledge.table
    size = int(table.size[0])
    if size + more <= len(table.states):
        return knowledge
    larger = make_state_table(table.states.shape[1], max(size + more, 2 * len(table.states)))
    larger.states[:size] = table.states[:size]
    larger.size[0] = size
    _keep_all(larger)
    rows = len(larger.states)
    return _Knowledge(larger, _grown(knowledge.infoset, rows), _grown(knowledge.legal, rows))


@lean
def _keep_all(table: StateTable) -> None:
    for number in range(table.size[0]):
        keep_state(table, np.int64(number))


@lean
def _expand(work: _Work, expansion: Expansion, batches: Int) -> None:
    """Do up to so many batches of steps from the histories of now."""
    counters = work.counters
    for _ in range(batches):
        rows: Int = np.int64(0)
        while rows < LANES and counters[NEXT] < counters[NOW]:
            rows = _list_steps(work, expansion, counters[NEXT], rows)
        if rows == 0:
            return
        if len(work.first_percept) > 0:
            joint = expansion.joint
            evaluate_rows(expansion.rows, expansion.words, np.int64(PERCEPTS), expansion.before, joint, work.told, rows)
        evaluate_steps(expansion, expansion.joint, rows)
        _note(work, expansion, rows)


@lean
def count_steps(work: _Work, expansion: Expansion) -> Int:
    """How many steps follow the histories of now."""
    total = np.int64(0)
    for history in range(work.counters[NOW]):
        copy_state(expansion.legal, 0, work.now.legal, np.int64(history))
        steps = np.int64(1)
        for role in range(len(work.nature)):
            steps = min(steps * count_legal(expansion, np.int64(0), np.int64(role)), np.int64(_MOST_STEPS))
        total += steps
    return np.int64(total)


@inner
def _list_steps(work: _Work, expansion: Expansion, history: Int, rows: Int) -> Int:
    """Put joint moves of a history behind `rows` that are listed, as there is room; how many rows there are now.

    The first row of `expansion.legal` serves for what is legal in the history.
    """
    counters, roles = work.counters, len(work.nature)
    copy_state(expansion.legal, 0, work.now.legal, history)
    if counters[STARTED] == 0:
        counters[STARTED] = 1
        first_joint_move(expansion, np.int64(0), work.joint)
    chance = work.now.chance[history]
    for role in range(roles):
        if work.nature[role]:
            chance /= count_legal(expansion, np.int64(0), np.int64(role))
    while rows < LANES and counters[STARTED] == 1:
        copy_state(expansion.before, rows, work.now.states, history)
        for role in range(roles):
            expansion.joint[rows, role] = work.joint[role]
            work.ranks[rows, role] = legal_rank(expansion, np.int64(0), np.int64(role), np.int64(work.joint[role]))
        expansion.owner[rows] = history
        work.chance[rows] = chance
        rows += 1
        if not next_joint_move(expansion, np.int64(0), work.joint, work.order):
            counters[STARTED] = 0
            counters[NEXT] += 1
    return np.int64(rows)


@lean
def _note(work: _Work, expansion: Expansion, rows: Int) -> None:
    """What the steps lead to: ends, or histories of the next step."""
    counters, now = work.counters, work.now
    for row in range(rows):
        history = np.int64(expansion.owner[row])
        is_end = expansion.chooser[row] == OVER
        at = counters[LEAVES] if is_end else counters[AFTER]
        sequences = work.found.end_sequences if is_end else work.after.sequence
        for role in range(len(work.nature)):
            infoset = now.infoset[history, role]
            if infoset == NONE:
                sequences[at, role] = now.sequence[history, role]
            else:
                sequences[at, role] = work.found.first[infoset] + work.ranks[row, role]
        if is_end:
            _note_end(work, expansion, np.int64(row), at)
            counters[LEAVES] += 1
        else:
            copy_state(work.after.states, at, expansion.after, np.int64(row))
            copy_state(work.after.legal, at, expansion.legal, np.int64(row))
            work.after.chance[at] = work.chance[row]
            for role in range(len(work.nature)):
                _note_knowledge(work, expansion, np.int64(row), at, np.int64(role))
            counters[AFTER] += 1


@inner
def _note_end(work: _Work, expansion: Expansion, row: Int, at: Int) -> None:
    total = 0.0
    for role in range(len(work.nature)):
        goal = expansion.lowest_goal[role] + expansion.value[row, role] * expansion.goal_span[role]
        work.found.payoffs[at, role] = work.chance[row] * goal
        if not work.nature[role]:
            total += goal
            if expansion.goal[row, role] < 0:
                work.counters[NO_GOAL] = role + 1
    work.found.sums[0] = min(work.found.sums[0], total)
    work.found.sums[1] = max(work.found.sums[1], total)


@inner
def _note_knowledge(work: _Work, expansion: Expansion, row: Int, at: Int, role: Int) -> None:
    """What a role knows after a step, and what it chooses from."""
    after = work.after
    after.item[at, role], after.infoset[at, role] = 0, NONE
    if work.nature[role]:
        return
    _write_key(work, expansion, row, role)
    legal = hash_legal(expansion, row, role)
    knowledge = work.knowledge
    size = knowledge.table.size[0]
    item = add_state(knowledge.table, work.key, np.int64(0))
    if item == size:
        knowledge.legal[item] = legal
        knowledge.infoset[item] = NONE
        if count_legal(expansion, row, role) > 1:
            knowledge.infoset[item] = _add_information_set(work, expansion, row, after.sequence[at, role], role)
            work.found.item[knowledge.infoset[item]] = item
    elif knowledge.legal[item] != legal:
        work.counters[AMBIGUOUS] = role + 1
    after.item[at, role], after.infoset[at, role] = item, knowledge.infoset[item]


@inner
def _write_key(work: _Work, expansion: Expansion, row: Int, role: Int) -> None:
    """As `BEFORE` says."""
    key = work.key
    history = expansion.owner[row]
    key[0, 0] = np.uint64(work.now.item[history, role]) | (np.uint64(expansion.joint[row, role]) << np.uint64(32))
    key[0, 1] = np.uint64(role)
    if len(work.first_percept) == 0:
        for other in range(len(work.nature)):
            key[0, 2 + other] = np.uint64(expansion.joint[row, other])
    else:
        first, last = np.int64(work.first_percept[role]), np.int64(work.first_percept[role + 1])
        for word in range(work.told.shape[1]):
            key[0, 2 + word] = 0
            if 64 * word < last and 64 * word + 64 > first:
                key[0, 2 + word] = part_between(work.told[row, word], np.int64(word), first, last)


@inner
def hash_legal(expansion: Expansion, row: Int, role: Int) -> np.uint64:
    """What a role can do in a state that was looked at."""
    first, last = np.int64(expansion.rows.first_move[role]), np.int64(expansion.rows.first_move[role + 1])
    mixed = np.uint64(0x9E3779B97F4A7C15)
    for word in range(first >> 6, (last + 63) >> 6):
        bits = part_between(expansion.legal[row, word], np.int64(word), first, last)
        mixed = (mixed ^ bits) * np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(29)
    return np.uint64(mixed)


@inner
def _add_information_set(work: _Work, expansion: Expansion, row: Int, parent: Int, role: Int) -> Int:
    counters, found = work.counters, work.found
    number = counters[INFORMATION_SETS]
    counters[INFORMATION_SETS] += 1
    found.parent[number], found.role[number], found.step[number] = parent, role, counters[STEP] + 1
    end = expansion.rows.first_move[role + 1] - expansion.rows.first_move[role]
    move = next_legal(expansion, row, role, np.int64(0))
    while move < end:
        found.move[counters[SEQUENCES]] = move
        counters[SEQUENCES] += 1
        move = next_legal(expansion, row, role, move + 1)
    found.first[number + 1] = counters[SEQUENCES]
    return np.int64(number)


def _game_tree(
    machine: CircuitMachine, work: _Work, known: tuple[Bits, ...], set_of: list[Ids], histories: int
) -> GameTree:
    """Puts information sets and sequences in the order of the roles."""
    found, counters = work.found, work.counters
    sets, ends, roles = int(counters[INFORMATION_SETS]), int(counters[LEAVES]), len(machine.roles)
    players = np.flatnonzero(~work.nature)
    order = np.argsort(found.role[:sets], kind="stable")
    counts = np.diff(found.first[: sets + 1])
    first = np.concatenate([[len(players)], len(players) + np.cumsum(counts[order])]).astype(np.int32)
    renumbered = np.zeros(sets + 1, np.int32)  # old number → new one; the last for NONE
    renumbered[order] = np.arange(sets)
    renumbered[NONE] = NONE
    owner = np.repeat(np.arange(sets), counts)  # of each sequence that is not empty
    sequence = np.zeros(int(counters[SEQUENCES]), np.int32)
    sequence[players] = np.arange(len(players))
    sequence[roles:] = first[renumbered[owner]] + np.arange(len(owner)) - (found.first[:sets] - roles)[owner]
    moves = np.full(len(players) + len(owner), -1, np.int32)
    moves[sequence[roles:]] = found.move[roles : roles + len(owner)]
    by_role = np.bincount(found.role[:sets], minlength=roles)[players]
    form = SequenceForm(
        np.concatenate([[0], np.cumsum(by_role)]).astype(np.int32),
        first,
        sequence[found.parent[:sets]][order],
        np.ascontiguousarray(sequence[found.end_sequences[:ends]][:, players]),
        np.ascontiguousarray(found.payoffs[:ends, players]),
    )
    return GameTree(
        machine, tuple(machine.roles[player] for player in players), form, moves,
        found.step[:sets][order], found.item[:sets][order], known, tuple(renumbered[part] for part in set_of),
        histories, bool(found.sums[1] - found.sums[0] < 1e-9),
    )  # fmt: skip


def told_in(machine: CircuitMachine, words: NDArray[np.uint64]) -> tuple[Term, ...]:
    """The words of a key that say what a role was told → its terms."""
    compiled = machine.compiled
    if not compiled.has_percepts:
        return tuple(moves[int(word)] for moves, word in zip(compiled.moves, words, strict=True))
    bits = np.unpackbits(np.ascontiguousarray(words, "<u8").view(np.uint8), bitorder="little")
    percepts = [percept for of_role in compiled.percepts for percept in of_role]
    return tuple(percepts[at] for at in np.flatnonzero(bits))

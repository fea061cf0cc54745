"""The memory of the abstract machine: terms, and tables of answers.

Terms are numbers, the same one for equal terms (hash consing). A *table* has the answers to a query for one key; both
are found by their hashes. All that is worked out lies in three *tiers*: what holds always, in a state, or for a joint
move; a tier is emptied at once, by another epoch. Everything is in arrays of fixed size; where one is full a kernel
says so, and the caller begins again with larger ones.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.interpreter.query_planner import MAX_DEPTH, MAX_NODES
from ggp.kernel import Int, inner, lean
from ggp.row_sums import get_integer, set_integer

Integers = NDArray[np.int32]
Longs = NDArray[np.int64]

# Of a query. Its first instruction is -1 where all rows are put in at once: static ones, or an index of facts.
TIER, ENTRY, KEYS, VALUES, REGISTERS = range(5)
ALL_FACTS, NO_INDEX = -1, -2  # in place of the functor of an index
TIERS, STATE_TIER, STEP_TIER = 3, 1, 2
LAST_EPOCH = 2**31 - 2

# A table begins with this, then its key; an answer with its table and the address of the next answer, then its values.
QUERY, LINK, LAST, COUNT, STATUS, INDEX, LOW, LOOPED, TABLE_SIZE = range(9)
ANSWER_SIZE = 2
NEW, EVALUATING, PROVISIONAL, COMPLETE = range(4)

# What `control` has: where the evaluation is, and how much is taken of each array.
(
    AT,
    FRAME,
    ANSWERS,  # that were given so far
    PENDING,  # tables that are not complete
    LEFT,  # instructions until the kernel returns
    WIDEST,  # arguments of a term or row
    ROOT,  # the frame of a question from outside; before it, `stack` has each term of the rules at its number
    TERMS,
    ARGUMENTS,
    STATE,  # the number of the present state in `marks`
    FACTS,
    PHASE,
    ROLE,
    STEPS,
    ENDED,  # 1 where the playout came to a terminal state
    TOP,
    _TOP_1,
    _TOP_2,
    EPOCH,
    _EPOCH_1,
    _EPOCH_2,
    USED,
    _USED_1,
    _USED_2,
    CONTROLS,
) = range(25)

# How kernels end, where the result is no number of something.
DONE, UNFINISHED, FULL_MEMORY, FULL_SLOTS, FULL_TERMS, FULL_STACK, TOO_DEEP, TOO_LONG, CYCLE, CALLED = range(0, -10, -1)

# Of a term.
FUNCTOR, FIRST, DEPTH, NODES, VALUE = range(5)  # VALUE is that of a number from 0 to 100, else -1
NO_GOAL = -1


class Machine(NamedTuple):
    """A program and what was worked out of it. Terms, functors and queries are numbers."""

    code: Integers  # (instructions, 5)
    operands: Integers  # lists of registers, and of the arguments of facts in the order in which an index has them
    queries: Integers  # (Q, 5)
    arities: Integers  # (functors,)
    indices: Integers  # (Q, 2) of those for facts: functor, list of arguments; else NO_INDEX
    indexed: Longs  # (Q,) the last state in which the facts were put in
    rows: Integers  # of static relations: query, then its key and values, one row after the other
    memory: Integers  # (3 M,) tables and answers, M for each tier
    slots: Longs  # (3 · a power of 2,) epoch << 32 | address of a table or answer; so many for each tier
    terms: Integers  # (T, 5)
    arguments: Integers
    term_slots: Integers  # (a power of 2,) number of a term + 1
    marks: Longs  # (T,) the last state in which the term is a fact
    facts: Integers  # of the present state
    joint: Integers  # (roles, 2) role, its move
    goals: Integers  # (roles,)
    found: Integers  # answers to a question
    stack: Integers
    pending: Integers  # addresses of tables
    control: Longs  # (CONTROLS,)


@inner
def value_of(m: Machine, registers: Int, operand: Int) -> np.int64:
    address = ~operand if operand < 0 else registers + operand  # without a branch
    return get_integer(m.stack, address)


@inner
def _listed(m: Machine, registers: Int, at: Int) -> np.int64:
    """The value of an operand of a list."""
    return value_of(m, registers, get_integer(m.operands, at))


@inner
def _hash(m: Machine, seed: Int, operands: Int, registers: Int, count: Int) -> np.int64:
    """Of the values of a list of so many operands."""
    mixed = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15)
    for place in range(count):
        mixed = (mixed ^ np.uint64(_listed(m, registers, operands + place))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(29)
    return np.int64(mixed >> np.uint64(20))


@inner
def _is_same(m: Machine, values: Integers, first: Int, operands: Int, registers: Int, count: Int) -> bool:
    """Whether values, from one of an array on, are those of a list."""
    place = 0
    while place < count and get_integer(values, first + place) == _listed(m, registers, operands + place):
        place += 1
    return place == count


@inner
def _copy(m: Machine, values: Integers, first: Int, operands: Int, registers: Int, count: Int) -> None:
    """Copies the values of a list into an array."""
    for place in range(count):
        set_integer(values, first + place, _listed(m, registers, operands + place))


@inner
def load_values(m: Machine, register: Int, values: Integers, first: Int, count: Int) -> None:
    """Copies values to registers."""
    for place in range(count):
        set_integer(m.stack, register + place, get_integer(values, first + place))


@inner
def build_term(m: Machine, functor: Int, operands: Int, registers: Int) -> np.int64:
    """The number of a term, which is made if it is new; below 0 where there is no room."""
    arity = np.int64(m.arities[functor])
    mask = len(m.term_slots) - 1
    at = _hash(m, functor, operands, registers, arity) & mask
    while True:
        term = get_integer(m.term_slots, at) - 1
        if term < 0:
            break
        if m.terms[term, FUNCTOR] == functor and _is_same(
            m, m.arguments, np.int64(m.terms[term, FIRST]), operands, registers, arity
        ):
            return term
        at = (at + 1) & mask
    term = m.control[TERMS]
    first = m.control[ARGUMENTS]
    if term >= len(m.terms) or first + arity > len(m.arguments):
        return np.int64(FULL_TERMS)
    _copy(m, m.arguments, first, operands, registers, arity)
    depth, nodes = np.int64(0), np.int64(2)
    for place in range(arity):
        argument = np.int64(m.arguments[first + place])
        depth = max(depth, np.int64(m.terms[argument, DEPTH]) + 1)
        nodes += np.int64(m.terms[argument, NODES])
    if depth > MAX_DEPTH:
        return np.int64(TOO_DEEP)
    if nodes > MAX_NODES:
        return np.int64(TOO_LONG)
    m.terms[term, FUNCTOR] = functor
    m.terms[term, FIRST] = first
    m.terms[term, DEPTH] = depth
    m.terms[term, NODES] = nodes
    m.terms[term, VALUE] = NO_GOAL
    m.marks[term] = 0
    m.control[TERMS] = term + 1
    m.control[ARGUMENTS] = first + arity
    m.term_slots[at] = term + 1
    return np.int64(term)


@inner
def _look_up(  # noqa: PLR0913, PLR0917 - a tuple of them would be made for each call
    m: Machine, tier: Int, owner: Int, start: Int, operands: Int, registers: Int, count: Int
) -> np.int64:
    """The address of an owner's table or answer with these values; ~ the slot that it would take if there is none."""
    size = len(m.slots) // TIERS
    first = tier * size
    at = _hash(m, owner, operands, registers, count) & (size - 1)
    epoch = m.control[EPOCH + tier]
    while True:
        slot = get_integer(m.slots, first + at)
        if slot >> 32 != epoch:
            return np.int64(~(first + at))
        address = slot & 0xFFFFFFFF
        if get_integer(m.memory, address) == owner and _is_same(
            m, m.memory, address + start, operands, registers, count
        ):
            return np.int64(address)
        at = (at + 1) & (size - 1)


@inner
def _take(m: Machine, tier: Int, size: Int, slot: Int) -> np.int64:
    """The address of free memory, which takes a slot unless that is below 0; below 0 where there is no room."""
    address = m.control[TOP + tier]
    if address + size > (tier + 1) * (len(m.memory) // TIERS):
        return np.int64(FULL_MEMORY)
    if slot >= 0:
        if 2 * m.control[USED + tier] > len(m.slots) // TIERS:
            return np.int64(FULL_SLOTS)
        m.control[USED + tier] += 1
        m.slots[slot] = m.control[EPOCH + tier] << 32 | address
    m.control[TOP + tier] = address + size
    return np.int64(address)


@inner
def find_table(m: Machine, query: Int, operands: Int, registers: Int) -> np.int64:
    """The address of the table of a query for a key; below 0, ~ the slot that it would take, where there is none."""
    keys = np.int64(m.queries[query, KEYS])
    return _look_up(m, np.int64(m.queries[query, TIER]), ~query, TABLE_SIZE, operands, registers, keys)


@inner
def make_table(m: Machine, query: Int, operands: Int, registers: Int, slot: Int) -> np.int64:
    """The address of a new table, which takes a slot; below 0 where there is no room."""
    keys = np.int64(m.queries[query, KEYS])
    table = _take(m, np.int64(m.queries[query, TIER]), TABLE_SIZE + keys, slot)
    if table > 0:
        m.memory[table + QUERY] = ~query
        m.memory[table + LINK] = 0
        m.memory[table + LAST] = table
        m.memory[table + COUNT] = 0
        m.memory[table + STATUS] = NEW
        _copy(m, m.memory, table + TABLE_SIZE, operands, registers, keys)
    return table


@inner
def append_answer(m: Machine, query: Int, table: Int, operands: Int, registers: Int, slot: Int) -> np.int64:
    """The address of a further answer of a query's table; below 0 where there is no room."""
    values = np.int64(m.queries[query, VALUES])
    answer = _take(m, np.int64(m.queries[query, TIER]), ANSWER_SIZE + values, slot)
    if answer > 0:
        m.memory[answer + QUERY] = table
        m.memory[answer + LINK] = 0
        _copy(m, m.memory, answer + ANSWER_SIZE, operands, registers, values)
        m.memory[m.memory[table + LAST] + LINK] = answer
        m.memory[table + LAST] = answer
        m.memory[table + COUNT] += 1
        m.control[ANSWERS] += 1
    return answer


@inner
def add_answer(m: Machine, query: Int, table: Int, operands: Int, registers: Int) -> np.int64:
    """Adds an answer to a query's table if it is a new one; below 0 where there is no room."""
    tier, values = np.int64(m.queries[query, TIER]), np.int64(m.queries[query, VALUES])
    found = _look_up(m, tier, table, ANSWER_SIZE, operands, registers, values)
    return found if found > 0 else append_answer(m, query, table, operands, registers, ~found)


@inner
def forget(m: Machine, tier: Int) -> None:
    """Drops what was worked out in a tier."""
    m.control[TOP + tier] = tier * (len(m.memory) // TIERS) + TABLE_SIZE
    m.control[USED + tier] = 0
    m.control[EPOCH + tier] += 1
    if m.control[EPOCH + tier] > LAST_EPOCH:
        size = len(m.slots) // TIERS
        m.slots[tier * size : (tier + 1) * size] = 0
        m.control[EPOCH + tier] = 1


@inner
def enter_state(m: Machine) -> None:
    """Makes the terms in `facts` the state."""
    forget(m, STATE_TIER)
    forget(m, STEP_TIER)
    m.control[STATE] += 1
    for number in range(m.control[FACTS]):
        m.marks[m.facts[number]] = m.control[STATE]


@inner
def index_facts(m: Machine, query: Int, free: Int) -> np.int64:
    """Puts the facts of the state in a query for them; `free` is where the stack is. Below 0 without room."""
    functor, operands = np.int64(m.indices[query, 0]), np.int64(m.indices[query, 1])
    m.indexed[query] = m.control[STATE]
    for number in range(m.control[FACTS]):
        fact = np.int64(m.facts[number])
        found = np.int64(0)
        if functor == ALL_FACTS:
            m.stack[free] = fact
            found = _put(m, query, operands, free)
        elif m.terms[fact, FUNCTOR] == functor:
            load_values(m, free, m.arguments, np.int64(m.terms[fact, FIRST]), np.int64(m.arities[functor]))
            found = _put(m, query, operands, free)
        if found < 0:
            return found
    return np.int64(DONE)


@inner
def _put(m: Machine, query: Int, operands: Int, registers: Int) -> np.int64:
    """Puts a row in a query whose rows are put in at once: the operands of a list, key first; below 0 without room."""
    table = find_table(m, query, operands, registers)
    if table < 0:
        table = make_table(m, query, operands, registers, ~table)
    if table < 0:
        return table
    m.memory[table + STATUS] = COMPLETE
    return append_answer(m, query, table, operands + m.queries[query, KEYS], registers, -1)


@lean
def put_rows(m: Machine, identity: Int) -> Int:
    """Drops everything, and puts the rows of static relations in; `identity` is the list 0, 1, 2 …"""
    for tier in range(TIERS):
        forget(m, tier)
    at, root = np.int64(0), m.control[ROOT]
    while at < len(m.rows):
        query = np.int64(m.rows[at])
        keys, values = np.int64(m.queries[query, KEYS]), np.int64(m.queries[query, VALUES])
        for place in range(keys):
            m.stack[root + place] = m.rows[at + 1 + place]
        for place in range(values):
            m.stack[root + keys + place] = m.rows[at + 1 + keys + place]
        found = _put(m, query, identity, root)
        if found < 0:
            return found
        at += 1 + keys + values
    return DONE


@lean
def build(m: Machine, functor: Int, identity: Int) -> Int:
    """The number of the term of a functor with the arguments at the root of the stack; below 0 without room."""
    return build_term(m, functor, identity, m.control[ROOT])


@lean
def set_state(m: Machine) -> None:
    """After `facts` and `control[FACTS]` were changed."""
    enter_state(m)

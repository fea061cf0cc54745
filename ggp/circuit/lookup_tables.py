"""Program → tables that a processor evaluates by one instruction each: of up to three values with AVX-512, else of two.

Technology mapping as for field-programmable gate arrays: for each gate a few *cuts* are kept (up to three values that
decide it, with its truth table), those with the least *area flow* first, and the outputs are covered by tables from the
last one to the first. Then each gate that got a table takes the cut that saves the most tables, counted exactly, while
all others keep theirs (Mishchenko, Cho, Chatterjee, Brayton: Combinational and sequential mapping with priority cuts,
2007). Gates shared by several tables may be evaluated in each of them.

Other processors have AND, OR, XOR and AND with the complement of one side; some values are kept as complements there.

Values are numbered: value r is what row r holds before the program, value `rows` + i what instruction or table i gives.
What reads values while they are in registers is evaluated first: list scheduling for few registers, after Goodman and
Hsu (Code scheduling and register allocation in large basic blocks, 1988).

A truth table is 8 bits: bit a + 2 · b + 4 · c is the result for the values a, b and c of the leaves.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import Ids
from ggp.circuit.schedule import Program
from ggp.kernel import Int, inner, kernel

KEPT = 6  # cuts of each gate, without the one that is the gate itself
ROUNDS = 3  # of covering; each but the first knows how often the one before it read a value
MOST_IN_CONE = 64  # tables that a cut is the only one to need, counted so far
LEAVES = 3
_READERS = 8  # of a value: so many are looked at when the next table is chosen
_GAIN_IN_ORDER, _GAIN_BY_LAST, _LOSS_BY_LOAD = 3.0, 3.0, 0.7  # in what a value in a register is worth
_NONE = -1
_VARIABLES = (0xAA, 0xCC, 0xF0)  # the truth tables of the leaves themselves
AND, AND_NOT, OR, XOR = 0x88, 0x44, 0xEE, 0x66  # of two leaves; AND_NOT: of the second and the first's complement
FALSE, NOT, COPY = 0x00, 0x55, 0xAA  # of none, and of one


class Cover(NamedTuple):
    """Tables in the order in which they are evaluated."""

    table_of: Ids  # (G,) the table whose result is that of the instruction, or -1 where none is
    leaves: Ids  # (T, 3) values, of earlier tables or of rows, -1 after the last one
    table: NDArray[np.uint8]  # (T,) the truth table
    segments: Ids  # (S, 4): tables from, to; feedback from, to
    feedback: Ids  # (K, 2) the row of a loop node; 2 · the value that it takes, + 1 for its complement


class Cuts(NamedTuple):
    """The cuts of each instruction, the best one first."""

    leaves: Ids  # (G, KEPT, 3) ascending, -1 after the last one
    table: NDArray[np.uint8]  # (G, KEPT)
    kept: Ids  # (G,) how many
    flow: NDArray[np.float32]  # (G,) tables that it takes, shared among those that read it


class _Values(NamedTuple):
    """The instructions, with values in place of rows."""

    rows: int
    left: Ids  # (G,) 2 · value, + 1 for the complement
    right: Ids  # (G,)
    is_xor: NDArray[np.bool_]  # (G,)
    first: Ids  # (G,) where the instruction's segment starts
    wanted: NDArray[np.bool_]  # (G,) outputs, and what loop nodes take
    feedback: Ids  # (K, 2) as in `Cover`


def cover_by_cuts(program: Program) -> tuple[Cover, Cover]:
    """Tables that leave the same in the program's outputs: by area flow, and then with tables counted exactly.

    The latter are fewer, the former at times easier to keep in registers.
    """
    values = _values_of(program)
    readers = found = _count_readers(values)
    for _ in range(ROUNDS):
        readers = (np.float32(0.5) * (readers + found)).astype(np.float32)
        cuts = _find_cuts(values, readers)
        by_flow = _cover(values, cuts)
        found = by_flow[-1]
    _recover_area(values, cuts)
    return _of_cuts(program, values, *by_flow[:3]), _of_cuts(program, values, *_cover(values, cuts)[:3])


def _of_cuts(program: Program, values: _Values, instruction: Ids, leaves: Ids, table: NDArray[np.uint8]) -> Cover:
    table_of = np.full(len(program.left), _NONE, np.int32)
    table_of[instruction] = np.arange(len(instruction))
    segments = program.segments.copy()
    segments[:, :2] = np.searchsorted(instruction, segments[:, :2])
    leaves = _of_tables(leaves, table_of, program.rows)
    return Cover(table_of, leaves, table, segments, _feedback_of_tables(values, table_of))


def cover_by_gates(program: Program) -> Cover:
    """The same with tables `AND`, `AND_NOT`, `OR`, `XOR`, `NOT`, `COPY`, `FALSE` and its complement only."""
    values = _values_of(program)
    table_of, leaves, table, segments = _place_gates(values, _find_gates(values), program.segments)
    return Cover(table_of, leaves, table, segments, _feedback_of_tables(values, table_of))


def schedule_tables(cover: Cover, rows: int, registers: int) -> Cover:
    """The same tables in an order for which values are loaded and put aside less often."""
    order = np.arange(len(cover.table))
    for start, end in cover.segments[:, :2].tolist():
        order[start:end] = _list_schedule(cover.leaves, rows, start, end, registers)
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order))
    feedback = cover.feedback.copy()
    feedback[:, 1] = 2 * _of_tables(feedback[:, 1] >> 1, place, rows) + (feedback[:, 1] & 1)
    return Cover(
        np.where(cover.table_of < 0, _NONE, place[cover.table_of]).astype(np.int32),
        _of_tables(cover.leaves[order], place, rows), cover.table[order], cover.segments, feedback,
    )  # fmt: skip


def _values_of(program: Program) -> _Values:
    return _Values(
        program.rows,
        *_number_values(
            program.left, program.right, program.out, program.segments, program.feedback, program.outputs, program.rows
        ),
    )


def _feedback_of_tables(values: _Values, table_of: Ids) -> Ids:
    row, literal = values.feedback.T
    found: Ids = np.stack([row, 2 * _of_tables(literal >> 1, table_of, values.rows) + (literal & 1)], axis=1)
    return found


def _of_tables(values: Ids, table_of: Ids, rows: int) -> Ids:
    """Values of instructions become those of their tables."""
    found: Ids = np.where(values >= rows, rows + table_of[np.maximum(values - rows, 0)], values).astype(np.int32)
    return found


class _Registers(NamedTuple):
    """Which values are in registers if that which was used longest ago makes room."""

    held: Ids  # (registers,) the value in each, or -1
    used: NDArray[np.int64]  # (registers,) when it was used last
    register: Ids  # (values,) that holds the value, or -1


@kernel
def _list_schedule(leaves: Ids, rows: Int, start: Int, end: Int, registers: Int) -> Ids:  # noqa: C901, PLR0912 - kernel
    """The tables from `start` to `end` in their new order.

    Each is that with the greatest gain among those that can be evaluated and read a value in a register, and the first
    of the old order that is left, whose gain is `_GAIN_IN_ORDER` more.
    """
    values = rows + leaves.shape[0]
    first_reader, readers = _list_readers(leaves, start, end, values)
    left = first_reader[1:] - first_reader[:-1]  # tables that still read the value
    waits = np.zeros(end - start, np.int32)  # for how many of its leaves a table waits
    for table in range(start, end):
        for leaf in leaves[table]:
            waits[table - start] += leaf >= rows + start
    state = _Registers(
        np.full(registers, _NONE, np.int32), np.zeros(registers, np.int64), np.full(values, _NONE, np.int32)
    )
    done = np.zeros(end - start, np.bool_)
    order = np.empty(end - start, np.int32)
    following = start
    for at in range(end - start):
        while done[following - start]:
            following += 1
        chosen, best = following, _gain(leaves[following], state, left) + _GAIN_IN_ORDER
        for value in state.held:
            if value == _NONE:
                continue
            for reader in readers[first_reader[value] : min(first_reader[value] + _READERS, first_reader[value + 1])]:
                if not done[reader - start] and waits[reader - start] == 0:
                    gain = _gain(leaves[reader], state, left)
                    if gain > best:
                        chosen, best = reader, gain
        done[chosen - start] = True
        order[at] = chosen
        for value in leaves[chosen]:
            if value == _NONE:
                continue
            left[value] -= 1
            if state.register[value] != _NONE:
                state.used[state.register[value]] = at
            if left[value] > 0:
                _put(state, value, at)
            elif state.register[value] != _NONE:
                state.held[state.register[value]] = _NONE
                state.register[value] = _NONE
            while first_reader[value] < first_reader[value + 1] and done[readers[first_reader[value]] - start]:
                first_reader[value] += 1
        value = rows + chosen
        for reader in readers[first_reader[value] : first_reader[value + 1]]:
            waits[reader - start] -= 1
        if left[value] > 0:
            _put(state, value, at)
    return order


@kernel
def _list_readers(leaves: Ids, start: Int, end: Int, values: Int) -> tuple[Ids, Ids]:
    """The tables from `start` to `end` by the value that they read: value v by readers[first[v]:first[v + 1]]."""
    first = np.zeros(values + 2, np.int32)
    for table in range(start, end):
        for value in leaves[table]:
            if value != _NONE:
                first[value + 2] += 1
    first = np.cumsum(first).astype(np.int32)
    readers = np.empty(first[-1], np.int32)
    for table in range(start, end):
        for value in leaves[table]:
            if value != _NONE:
                readers[first[value + 1]] = table
                first[value + 1] += 1
    return first[:-1], readers


@inner
def _gain(leaves: Ids, state: _Registers, left: Ids) -> float:
    """By how much it is better to evaluate a table now than later."""
    gain = -1.0  # for the register that it needs
    for value in leaves:
        if value == _NONE:
            continue
        if state.register[value] == _NONE:
            gain -= _LOSS_BY_LOAD
        else:
            gain += 1.0
            if left[value] == 1:  # its register becomes free
                gain += _GAIN_BY_LAST
    return gain


@inner
def _put(state: _Registers, value: Int, time: Int) -> None:
    """The value takes a register, unless it has one: a free one, or that which was used longest ago."""
    if state.register[value] != _NONE:
        return
    chosen = 0
    for register in range(state.held.shape[0]):
        if state.held[register] == _NONE:
            chosen = register
            break
        if state.used[register] < state.used[chosen]:
            chosen = register
    if state.held[chosen] != _NONE:
        state.register[state.held[chosen]] = _NONE
    state.held[chosen] = value
    state.register[value] = chosen
    state.used[chosen] = time


@kernel
def _number_values(  # noqa: PLR0913, PLR0917 - arrays of their own
    left: Ids, right: Ids, out: Ids, segments: Ids, feedback: Ids, outputs: Ids, rows: Int
) -> tuple[Ids, Ids, NDArray[np.bool_], Ids, NDArray[np.bool_], Ids]:
    """The fields of `_Values` but for the number of rows."""
    gates = left.shape[0]
    value_of = np.arange(rows).astype(np.int32)
    first_value, second_value = np.empty(gates, np.int32), np.empty(gates, np.int32)
    is_xor, wanted = np.zeros(gates, np.bool_), np.zeros(gates, np.bool_)
    first = np.zeros(gates, np.int32)
    taken = feedback.copy()
    for segment in range(segments.shape[0]):
        start, end, first_loop, last_loop = segments[segment]
        for at in range(start, end):
            first_value[at] = 2 * value_of[left[at] >> 1] + (left[at] & 1)
            second_value[at] = 2 * value_of[right[at] >> 1] + (right[at] & 1)
            is_xor[at] = out[at] < 0
            first[at] = start
            value_of[~out[at] if out[at] < 0 else out[at]] = rows + at
        for at in range(first_loop, last_loop):
            value = value_of[feedback[at, 1] >> 1]
            taken[at, 1] = 2 * value + (feedback[at, 1] & 1)
            if value >= rows:
                wanted[value - rows] = True
    for row in outputs:
        if value_of[row] >= rows:
            wanted[value_of[row] - rows] = True
    return first_value, second_value, is_xor, first, wanted, taken


@kernel
def _count_readers(values: _Values) -> NDArray[np.float32]:
    """How many instructions read each."""
    readers = np.zeros(values.left.shape[0], np.float32)
    for at in range(values.left.shape[0]):
        for literal in (values.left[at], values.right[at]):
            value = (literal >> 1) - values.rows
            if value >= 0:
                readers[value] += np.float32(1)
    return readers


@kernel
def _find_cuts(values: _Values, readers: NDArray[np.float32]) -> Cuts:
    """The cuts of each instruction with the least area flow."""
    gates = values.left.shape[0]
    cuts = Cuts(
        np.full((gates, KEPT, LEAVES), _NONE, np.int32),
        np.zeros((gates, KEPT), np.uint8),
        np.zeros(gates, np.int32),
        np.zeros(gates, np.float32),
    )
    sides = np.empty((2, KEPT + 1, LEAVES), np.int32)
    tables = np.empty((2, KEPT + 1), np.int64)
    counts = np.zeros(2, np.int64)
    merged = np.empty(LEAVES, np.int32)
    costs = np.zeros(KEPT, np.float32)
    for gate in range(gates):
        for side in range(2):
            literal = values.left[gate] if side == 0 else values.right[gate]
            counts[side] = _cuts_of_operand(values, cuts, gate, literal, sides[side], tables[side])
        count: Int = np.int64(0)
        for one in range(counts[0]):
            for other in range(counts[1]):
                size = _merge(sides[0, one], sides[1, other], merged)
                if size > LEAVES:
                    continue
                table_a = _spread(tables[0, one], sides[0, one], merged, size)
                table_b = _spread(tables[1, other], sides[1, other], merged, size)
                table = table_a ^ table_b if values.is_xor[gate] else table_a & table_b
                cost = np.float32(1)
                for leaf in range(size):
                    value = merged[leaf] - values.rows
                    cost += cuts.flow[value] if value >= 0 else np.float32(0.02)
                count = _keep(cuts, gate, count, costs, merged, size, table, cost)
        cuts.kept[gate] = count
        cuts.flow[gate] = costs[0] / max(np.float32(1), readers[gate])
    return cuts


@inner
def _cuts_of_operand(
    values: _Values, cuts: Cuts, gate: Int, literal: Int, leaves: Ids, tables: NDArray[np.int64]
) -> Int:
    """The cuts of what an instruction reads, itself first; how many."""
    value = literal >> 1
    inverted = np.int64(0xFF) * np.int64(literal & 1)
    leaves[0, :] = _NONE
    tables[0] = inverted
    if value == 0:
        return np.int64(1)
    leaves[0, 0] = value
    tables[0] = _VARIABLES[0] ^ inverted
    found: Int = np.int64(1)
    instruction = value - values.rows
    if instruction >= values.first[gate]:
        for at in range(cuts.kept[instruction]):
            for leaf in range(LEAVES):
                leaves[found, leaf] = cuts.leaves[instruction, at, leaf]
            tables[found] = np.int64(cuts.table[instruction, at]) ^ inverted
            found += 1
    return found


@inner
def _merge(one: Ids, other: Ids, merged: Ids) -> Int:
    """The union of ascending leaves; how many, or LEAVES + 1 for too many."""
    a, b = 0, 0
    size: Int = np.int64(0)
    while True:
        first = one[a] if a < LEAVES else _NONE
        second = other[b] if b < LEAVES else _NONE
        if first == _NONE and second == _NONE:
            break
        if size == LEAVES:
            return np.int64(LEAVES + 1)
        if second == _NONE or (first != _NONE and first <= second):
            merged[size] = first
            a += 1
            if first == second:
                b += 1
        else:
            merged[size] = second
            b += 1
        size += 1
    return size


@inner
def _spread(table: Int, leaves: Ids, merged: Ids, size: Int) -> Int:
    """The truth table over the merged leaves, of which the leaves are some."""
    places = np.int64(0)  # 2 bits for each leaf
    used, at = 0, 0
    for leaf in range(size):
        if at < LEAVES and leaves[at] == merged[leaf]:
            places |= np.int64(leaf) << (2 * at)
            at += 1
    used = at
    if places == 0b100100 or used == 0 or (used == 1 and places == 0) or (used == 2 and places == 0b0100):
        return table
    found = np.int64(0)
    for index in range(8):
        source = np.int64(0)
        for leaf in range(used):
            source |= ((index >> ((places >> (2 * leaf)) & 3)) & 1) << leaf
        found |= ((table >> source) & 1) << index
    return found


@inner
def _keep(  # noqa: PLR0913, PLR0917 - arrays in a tuple cost more
    cuts: Cuts,
    gate: Int,
    count: Int,
    costs: NDArray[np.float32],
    merged: Ids,
    size: Int,
    table: Int,
    cost: np.float32,
) -> Int:
    """Put a cut in its place among the best ones, unless its leaves are there already; how many there are then."""
    for at in range(count):
        same = True
        for leaf in range(LEAVES):
            if cuts.leaves[gate, at, leaf] != (merged[leaf] if leaf < size else _NONE):
                same = False
        if same:
            return count
    if count == KEPT and cost >= costs[count - 1]:
        return count
    place = min(count, KEPT - 1)
    while place > 0 and costs[place - 1] > cost:
        costs[place] = costs[place - 1]
        cuts.table[gate, place] = cuts.table[gate, place - 1]
        for leaf in range(LEAVES):
            cuts.leaves[gate, place, leaf] = cuts.leaves[gate, place - 1, leaf]
        place -= 1
    costs[place] = cost
    cuts.table[gate, place] = np.uint8(table)
    for leaf in range(LEAVES):
        cuts.leaves[gate, place, leaf] = merged[leaf] if leaf < size else _NONE
    return min(count + 1, KEPT)


@kernel
def _cover(values: _Values, cuts: Cuts) -> tuple[Ids, Ids, NDArray[np.uint8], NDArray[np.float32]]:
    """The instructions that are needed, their leaves and tables; and how many tables read each instruction."""
    gates = values.left.shape[0]
    readers = np.zeros(gates, np.float32)
    needed = values.wanted.copy()
    count = 0
    for gate in range(gates - 1, -1, -1):
        if not needed[gate]:
            continue
        count += 1
        for leaf in range(LEAVES):
            value = cuts.leaves[gate, 0, leaf] - values.rows
            if value >= 0:
                needed[value] = True
                readers[value] += np.float32(1)
    instruction = np.empty(count, np.int32)
    leaves = np.empty((count, LEAVES), np.int32)
    table = np.empty(count, np.uint8)
    at = 0
    for gate in range(gates):
        if needed[gate]:
            instruction[at] = gate
            table[at] = cuts.table[gate, 0]
            for leaf in range(LEAVES):
                leaves[at, leaf] = cuts.leaves[gate, 0, leaf]
            at += 1
    return instruction, leaves, table, readers


@kernel
def _recover_area(values: _Values, cuts: Cuts) -> None:
    """Make the first cut of each instruction that has a table the one with which there are fewest tables."""
    gates = values.left.shape[0]
    readers = values.wanted.astype(np.int32)  # tables that read an instruction, and whether it is wanted
    for gate in range(gates - 1, -1, -1):
        if readers[gate]:
            for leaf in range(LEAVES):
                value = cuts.leaves[gate, 0, leaf] - values.rows
                if value >= 0:
                    readers[value] += 1
    stack = np.empty(LEAVES * (MOST_IN_CONE + 1), np.int32)
    for gate in range(gates):
        if not readers[gate]:
            continue
        _change_readers(values, cuts, readers, stack, gate, 0, -1)
        best: Int = np.int64(0)
        fewest: Int = np.int64(gates)
        for at in range(cuts.kept[gate]):
            made = _change_readers(values, cuts, readers, stack, gate, at, 1)
            _change_readers(values, cuts, readers, stack, gate, at, -1)
            if made < fewest:
                best, fewest = at, made
        cuts.leaves[gate, 0] = cuts.leaves[gate, best]
        cuts.table[gate, 0] = cuts.table[gate, best]
        _change_readers(values, cuts, readers, stack, gate, 0, 1)


@inner
def _change_readers(values: _Values, cuts: Cuts, readers: Ids, stack: Ids, gate: Int, cut: Int, change: Int) -> Int:  # noqa: PLR0913, PLR0917 - kernel
    """Count the leaves of a cut as read once more (1) or less (-1), and those of what has a table for it alone.

    How many such tables there are, MOST_IN_CONE at most; -1 undoes 1.
    """
    made: Int = np.int64(0)
    waiting = 0
    while True:
        for leaf in range(LEAVES):
            value = cuts.leaves[gate, cut, leaf] - values.rows
            if value >= 0:
                readers[value] += min(change, 0)
                if readers[value] == 0:
                    stack[waiting] = value
                    waiting += 1
                readers[value] += max(change, 0)
        if waiting == 0 or made == MOST_IN_CONE:
            return made
        made += 1
        waiting -= 1
        gate, cut = np.int64(stack[waiting]), np.int64(0)


class _Gates(NamedTuple):
    """What is evaluated for each instruction, if it is needed."""

    kind: NDArray[np.uint8]  # (G,) the table
    leaves: Ids  # (G, 2) values of rows and instructions, -1 for none
    is_complement: NDArray[np.bool_]  # (G,) whether the table gives the complement of the instruction


@kernel
def _find_gates(values: _Values) -> _Gates:
    """Instructions that are wanted are kept as they are, others perhaps as their complement, or as another value."""
    rows, gates = values.rows, values.left.shape[0]
    literal_of = 2 * np.arange(rows + gates).astype(np.int32)  # of a value: 2 · what is kept, + 1 for its complement
    found = _Gates(np.zeros(gates, np.uint8), np.full((gates, 2), _NONE, np.int32), np.zeros(gates, np.bool_))
    for at in range(gates):
        a = literal_of[values.left[at] >> 1] ^ (values.left[at] & 1)
        b = literal_of[values.right[at] >> 1] ^ (values.right[at] & 1)
        known = _folded(a, b, values.is_xor[at])
        if known == _NONE:
            swaps = b & 1 and not a & 1
            found.leaves[at, 0], found.leaves[at, 1] = (b >> 1, a >> 1) if swaps else (a >> 1, b >> 1)
            if values.is_xor[at]:
                found.kind[at] = XOR
                found.is_complement[at] = (a ^ b) & 1
            else:
                found.kind[at] = OR if a & b & 1 else AND_NOT if (a | b) & 1 else AND
                found.is_complement[at] = a & b & 1
            literal_of[rows + at] ^= np.int32(found.is_complement[at] and not values.wanted[at])
        elif values.wanted[at]:
            found.kind[at] = COPY if known >> 1 else FALSE
            found.leaves[at, 0] = known >> 1 if known >> 1 else _NONE
            found.is_complement[at] = known & 1
        else:
            literal_of[rows + at] = known
    return found


@kernel
def _place_gates(values: _Values, gates: _Gates, segments: Ids) -> tuple[Ids, Ids, NDArray[np.uint8], Ids]:
    """`table_of`, `leaves`, `table` and `segments` of a cover; a complement of what is wanted takes a table more."""
    rows, needed = values.rows, values.wanted.copy()
    for at in range(len(needed) - 1, -1, -1):
        for leaf in gates.leaves[at]:
            if needed[at] and leaf >= rows:
                needed[leaf - rows] = True
    count = np.count_nonzero(needed) + np.count_nonzero(values.wanted & gates.is_complement)
    table_of = np.full(len(needed), _NONE, np.int32)
    leaves, table = np.full((count, LEAVES), _NONE, np.int32), np.empty(count, np.uint8)
    placed = segments.copy()
    made = 0
    for segment in range(segments.shape[0]):
        placed[segment, 0] = made
        for at in range(segments[segment, 0], segments[segment, 1]):
            if not needed[at]:
                continue
            for side in range(2):
                leaf = gates.leaves[at, side]
                leaves[made, side] = rows + table_of[leaf - rows] if leaf >= rows else leaf
            is_inverted = values.wanted[at] and gates.is_complement[at]
            table[made] = gates.kind[at]
            if is_inverted and gates.kind[at] in (COPY, FALSE):
                table[made] ^= np.uint8(0xFF)
            elif is_inverted:
                made += 1
                leaves[made, 0] = rows + made - 1
                table[made] = NOT
            table_of[at] = made
            made += 1
        placed[segment, 1] = made
    return table_of, leaves[:made], table[:made], placed


@inner
def _folded(a: Int, b: Int, is_xor: bool) -> Int:
    """The literal that an instruction of two literals gives without a gate, or -1."""
    low, high = min(a, b), max(a, b)
    if is_xor:
        return np.int64(low ^ high if low < 2 or low ^ high == 1 or low == high else _NONE)
    if low in (1, high):
        return np.int64(high)
    return np.int64(0 if low == 0 or low ^ 1 == high else _NONE)

"""Programs → machine code for processors with AVX-512 or AVX2, put together instruction by instruction.

It takes 1 to 5 µs a gate where LLVM takes 200. Gates become tables (`ggp.circuit.lookup_tables`), for each of which
there is an instruction: VPTERNLOGQ of three values with AVX-512, the plain ones of two with AVX2, whose code works on
half of the lanes and is run twice. Values stay in the vector registers, 32 or 16 of them; that which is read again last
makes room (Belady, 1966) and goes to a spare row. Encodings are those of the Intel 64 and IA-32 Architectures Software
Developer's Manual, volume 2.
"""

from itertools import product
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.lookup_tables import (
    AND,
    AND_NOT,
    COPY,
    LEAVES,
    OR,
    XOR,
    Cover,
    cover_by_cuts,
    cover_by_gates,
    schedule_tables,
)
from ggp.circuit.network import Ids
from ggp.circuit.schedule import SPARE_ROWS, Program
from ggp.kernel import Int, MachineCode, inner, kernel, lean, load_bytes

WIDE, NARROW = 512, 256  # bits of the vectors for which this writes code
_WIDE_REGISTERS = 32
_NARROW_REGISTERS = 15  # and one more:
_ONES = 15  # the register that is all ones
MOVING = 4  # registers for addresses that move
_ROW_BYTES = 64
_MOST_BYTES = 140  # of the code of one table, with all loads, stores and prefetches that it makes necessary
_MOST_LOOP_BYTES = 64  # for each loop node, at the beginning and end of its segment
_LEAST_SAVING = 0.03  # of the bytes, for which tables are put in another order
_SEGMENT_BYTES = _WIDE_REGISTERS * 12 + 64
_LINE_BYTES = 64  # of the cache
_LARGE = 150_000  # instructions of all programs, some 6 bytes of code each: more than the L2 cache has
_PREFETCH_DISTANCE = 4096  # bytes of code, in large games: the processor hardly prefetches instructions from memory
_NONE = -1
_NEVER = 1 << 30

# vector instructions: opcode and map (1: 0F, 2: 0F38, 3: 0F3A)
_AND, _AND_NOT, _OR, _XOR = 0xDB, 0xDF, 0xEB, 0xEF
_LOAD, _STORE, _TERNARY, _TEST, _NARROW_TEST, _EQUAL = 0x6F, 0x7F, 0x25, 0x27, 0x17, 0x76

# of how many values, its truth table with the first one as bit 1 and the second as bit 0, and the instruction for it
_PLAIN = ((1, COPY, _LOAD), (2, AND, _AND), (2, OR, _OR), (2, XOR, _XOR), (2, 0x22, _AND_NOT))

# registers that hold addresses
_CURRENT, _FOLLOWING, _REST, _SPILLED = 7, 6, 2, 0  # RDI, RSI, RDX; RAX: the 128th of the spare rows
_MOVING = 8  # R8 and the following: where rows have been read or written last; offsets up to 128 rows are short


class _Tables(NamedTuple):
    """What is to be written."""

    leaves: Ids  # (T, 3) values, -1 after the last one; value `rows` + t is that of table t
    table: NDArray[np.uint8]  # (T,)
    segments: Ids
    feedback: Ids
    rows: int
    facts: int  # rows 1 … F are the current state, F + 1 … 2 F the following one
    home: Ids  # (T,) the output row of a table, or -1
    spare: Ids  # rows that values may be put into; with AVX2 halves of rows, numbered from `rows` on
    first_spare: int  # the first of these rows
    next_use: Ids  # (T, 3) the table that reads the leaf next, _NEVER where none does
    first_use: Ids  # (rows + T,) the table that reads the value first
    is_wide: bool  # whether vectors have all 512 lanes
    prefetch: int  # how many bytes before they run instructions are prefetched into the L2 cache; 0: they are not


class _State(NamedTuple):
    """What is where, while the code is written."""

    code: NDArray[np.uint8]
    size: NDArray[np.int64]  # (1,) bytes written
    held: Ids  # (registers,) the value in each, or -1
    dirty: NDArray[np.bool_]  # (registers,) whether it is in no row
    locked: NDArray[np.bool_]  # (registers,) whether it is to stay for now
    turn: Ids  # (2,) the register after the one that was taken last; of those for addresses, too
    base: Ids  # (MOVING,) from which base each moving address is counted
    place: Ids  # (MOVING,) how many rows it is away from that
    far: Ids  # (8,) by base, the last row that was too far for a short offset
    register: Ids  # (rows + T,) that holds the value, or -1
    row: Ids  # (rows + T,) in which it is kept, spare ones as in `_Tables.spare`, or -1
    next_of: Ids  # (rows + T,) the table that reads it next
    free: Ids  # spare rows that are free, as a stack
    free_count: NDArray[np.int64]  # (1,)
    is_wide: bool


def assemble(named: dict[str, Program], facts: int, bits: int) -> MachineCode | None:
    """The programs as functions (current, following, rest), as `write_function` says; None where rows do not suffice.

    facts: how many rows, from row 1 on, each of the two states has; bits: `WIDE` for processors with AVX-512, `NARROW`
    for those with AVX2.
    """
    parts, starts, size = [], {}, 0
    prefetch = _PREFETCH_DISTANCE if sum(len(program.left) for program in named.values()) >= _LARGE else 0
    for name, program in named.items():
        code = _assemble(program, facts, bits, prefetch)
        if code is None:
            return None
        starts[name] = size
        parts.append(code)
        size += len(code)
    return load_bytes(b"".join(parts), starts)


def _assemble(program: Program, facts: int, bits: int, prefetch: int) -> bytes | None:
    """The code of one program, as long as a multiple of 64 bytes."""
    is_wide = bits == WIDE
    covers = cover_by_cuts(program) if is_wide else (cover_by_gates(program),)
    registers = _WIDE_REGISTERS if is_wide else _NARROW_REGISTERS
    found: bytes | None = None
    least = inf
    kept = registers - (LEAVES - 1)  # the others are for what a table loads
    for cover, other_order in product(covers, (False, True)):
        each = schedule_tables(cover, program.rows, kept) if other_order else cover
        tables = _prepare(program, each, facts, prefetch, is_wide=is_wide)
        capacity = _MOST_BYTES * len(tables.table) + _MOST_LOOP_BYTES * len(tables.feedback)
        capacity += _SEGMENT_BYTES * len(tables.segments)
        code, size = _write(tables, capacity)
        cost = float(size) / (1.0 - _LEAST_SAVING if other_order else 1.0)  # code is bound by what is fetched
        if 0 <= cost < least:
            found, least = code[:size].tobytes(), cost
    return found and found.ljust(-(-len(found) // 64) * 64, b"\xcc")


def _prepare(program: Program, cover: Cover, facts: int, prefetch: int, *, is_wide: bool) -> _Tables:
    written = np.where(program.out < 0, ~program.out, program.out)
    last = np.full(program.rows, _NONE)
    last[written] = np.arange(len(written))
    home = np.full(len(cover.table) + 1, _NONE, np.int32)
    home[np.append(cover.table_of, _NONE)[last[program.outputs]]] = program.outputs  # none for rows not written
    taken = np.concatenate([program.outputs, program.feedback[:, 0]])
    spare = np.union1d(np.setdiff1d(written, taken), np.arange(program.rows - SPARE_ROWS, program.rows))
    first_spare = int(spare[0])
    if not is_wide:
        # Halves of the last rows that are adjacent, but for one: the second run begins half a row further on.
        first_spare = int(spare[np.flatnonzero(np.diff(spare, prepend=-1) > 1)[-1]])
        spare = program.rows + np.arange(2 * (program.rows - first_spare) - 1)
    return _Tables(
        cover.leaves, cover.table, cover.segments, cover.feedback, program.rows, facts, home[:-1],
        spare.astype(np.int32), first_spare,
        *_find_uses(cover.leaves, cover.segments, cover.feedback, program.rows), is_wide, prefetch,
    )  # fmt: skip


@kernel
def _find_uses(leaves: Ids, segments: Ids, feedback: Ids, rows: Int) -> tuple[Ids, Ids]:
    """`next_use` and `first_use` of the tables."""
    next_use = np.full(leaves.shape, _NEVER, np.int32)
    seen = np.full(rows + leaves.shape[0], _NEVER, np.int32)
    for segment in range(segments.shape[0] - 1, -1, -1):
        start, end, first, last = segments[segment]
        for at in range(first, last):
            seen[feedback[at, 1] >> 1] = end
        for table in range(end - 1, start - 1, -1):
            for leaf in range(LEAVES):
                value = leaves[table, leaf]
                if value != _NONE:
                    next_use[table, leaf] = seen[value]
            for leaf in range(LEAVES):
                if leaves[table, leaf] != _NONE:
                    seen[leaves[table, leaf]] = table
    return next_use, seen


@kernel
def _write(tables: _Tables, capacity: Int) -> tuple[NDArray[np.uint8], Int]:
    """The code and its size; -1 for the size where rows do not suffice."""
    values = tables.rows + tables.leaves.shape[0]
    registers = _WIDE_REGISTERS if tables.is_wide else _NARROW_REGISTERS
    state = _State(
        code=np.empty(capacity, np.uint8),
        size=np.zeros(1, np.int64),
        held=np.full(registers, _NONE, np.int32),
        dirty=np.zeros(registers, np.bool_),
        locked=np.zeros(registers, np.bool_),
        turn=np.zeros(2, np.int32),
        base=np.full(MOVING, _NONE, np.int32),
        place=np.zeros(MOVING, np.int32),
        far=np.full(8, -_NEVER, np.int32),
        register=np.full(values, _NONE, np.int32),
        row=np.full(values, _NONE, np.int32),
        next_of=tables.first_use.copy(),
        free=tables.spare[::-1].copy(),
        free_count=np.full(1, tables.spare.shape[0], np.int64),
        is_wide=tables.is_wide,
    )
    for row in range(tables.rows):
        state.row[row] = row
    if not tables.is_wide:
        _bytes(state, 5, 17 - 5 << 8 | 0xE8)  # CALL to what follows these 17 bytes, which is run once more after them
        for register in (_CURRENT, _FOLLOWING, _REST):
            _bytes(state, 4, _ROW_BYTES // 2 << 24 | (0xC0 | register) << 16 | 0x8348)  # ADD register, 32
        _vector(state, _EQUAL, 1, _ONES, _ONES, _ONES)
    elif tables.spare.shape[0]:
        _bytes(state, 3, 0x828D48)  # LEA RAX, [RDX + …]
        _bytes(state, 4, _ROW_BYTES * (np.int64(tables.spare[0]) + 128))
    for segment in range(tables.segments.shape[0]):
        start, end, first, last = tables.segments[segment]
        if first != last:
            _vector(state, _XOR, 1, 0, 0, 0)
            for at in range(first, last):
                _at_row(tables, state, _STORE, 1, 0, 0, tables.feedback[at, 0])
        begin = state.size[0]
        line = begin // _LINE_BYTES
        state.base[:] = _NONE  # where a loop begins again they are elsewhere
        for table in range(start, end):
            line = _write_prefetches(tables, state, line)
            _write_table(tables, state, table, start if first != last else 0)
            if state.free_count[0] < 0:
                return state.code, np.int64(-1)
        _flush(tables, state)
        if first != last:
            _write_feedback(tables, state, first, last, begin)
        if state.free_count[0] < 0:
            return state.code, np.int64(-1)
    _bytes(state, 4, 0xC377F8C5)  # VZEROUPPER, RET
    return state.code, state.size[0]


@inner
def _write_prefetches(tables: _Tables, state: _State, line: Int) -> Int:
    """A prefetch for each line of code since `line`; the line that is written next."""
    while tables.prefetch and line < state.size[0] // _LINE_BYTES:
        _bytes(state, 3, 0x15180F)  # PREFETCHT1 [RIP + …]
        _bytes(state, 4, tables.prefetch)
        line += 1
    return line


@lean
def _write_table(tables: _Tables, state: _State, table: Int, first_table: Int) -> None:  # noqa: C901, PLR0912, PLR0915 - kernel: a call costs
    """Append the code of one table; rows of values from before `first_table` are not used again."""
    leaves = tables.leaves[table]
    count = 0
    while count < LEAVES and leaves[count] != _NONE:
        if state.register[leaves[count]] != _NONE:
            state.locked[state.register[leaves[count]]] = True
        count += 1
    target = _NONE  # the leaf whose register the result takes
    for leaf in range(count):
        if count == LEAVES and state.register[leaves[leaf]] != _NONE and tables.next_use[table, leaf] == _NEVER:
            target = leaf
    is_copied = count == LEAVES and target == _NONE
    if is_copied:
        target = 0  # that in memory which is read again last, else any
        latest = -1
        for leaf in range(count):
            if state.register[leaves[leaf]] == _NONE and tables.next_use[table, leaf] > latest:
                target, latest = leaf, tables.next_use[table, leaf]
    first, second = _NONE, _NONE  # the leaf that has to be in a register, and that which may be in memory
    for leaf in range(count):
        if leaf == target:
            continue
        if second == _NONE:
            second = leaf
        elif state.register[leaves[leaf]] != _NONE and state.register[leaves[second]] == _NONE:
            first = leaf
        elif state.register[leaves[leaf]] == _NONE and state.register[leaves[second]] != _NONE:  # noqa: SIM114 - as above
            first, second = second, leaf
        elif tables.next_use[table, leaf] > tables.next_use[table, second]:
            first, second = second, leaf
        else:
            first = leaf
    if not tables.is_wide and tables.table[table] == AND_NOT:
        first, second = 0, 1  # the first operand's complement is taken
    if first != _NONE and state.register[leaves[first]] == _NONE:
        loaded = _take_register(tables, state)
        _at_row(tables, state, _LOAD, 1, loaded, 0, state.row[leaves[first]])
        _hold(state, loaded, leaves[first])
        state.locked[loaded] = True
    first_register = state.register[leaves[first]] if first != _NONE else 0
    second_register = state.register[leaves[second]] if second != _NONE else 0
    second_row = state.row[leaves[second]] if second != _NONE else 0
    target_register = state.register[leaves[target]] if target != _NONE else 0
    target_row = state.row[leaves[target]] if target != _NONE else 0
    if not is_copied:
        for leaf in range(count):
            if state.register[leaves[leaf]] != _NONE:
                state.locked[state.register[leaves[leaf]]] = False
    for leaf in range(count):
        value = leaves[leaf]
        state.next_of[value] = tables.next_use[table, leaf]
        if tables.next_use[table, leaf] == _NEVER and state.register[value] != _NONE:
            state.held[state.register[value]] = _NONE
            state.register[value] = _NONE
    result = target_register
    if count < LEAVES or is_copied:
        result = first_register if first != _NONE else second_register if second != _NONE else _NONE
        if is_copied or result == _NONE or state.held[result] != _NONE:
            result = _take_register(tables, state)
    if is_copied:
        if target_register == _NONE:
            _at_row(tables, state, _LOAD, 1, result, 0, target_row)
        else:
            _vector(state, _LOAD, 1, result, 0, target_register)
        state.locked[:] = False
    _write_operation(
        tables, state, table, count, result, (target, first, second), first_register, second_register, second_row
    )
    for leaf in range(count):
        value = leaves[leaf]
        row = state.row[value]
        if (
            tables.next_use[table, leaf] == _NEVER
            and value >= tables.rows + first_table
            and row != _NONE
            and tables.home[value - tables.rows] == _NONE
        ):
            state.free[state.free_count[0]] = row
            state.free_count[0] += 1
            state.row[value] = _NONE
    value = tables.rows + table
    _hold(state, result, value)
    if tables.home[table] == _NONE:
        state.dirty[result] = True
    else:
        state.row[value] = tables.home[table]
        _at_row(tables, state, _STORE, 1, result, 0, tables.home[table])
        if state.next_of[value] == _NEVER:
            state.held[result] = _NONE
            state.register[value] = _NONE


@lean
def _write_operation(  # noqa: PLR0913, PLR0917 - kernel
    tables: _Tables,
    state: _State,
    table: Int,
    count: Int,
    result: Int,
    places: tuple[Int, Int, Int],
    first: Int,
    second: Int,
    second_row: Int,
) -> None:
    """The one instruction of a table; places: which leaves stand in the result, in `first` and in `second`."""
    truth = np.int64(tables.table[table])
    operation = _TERNARY
    immediate = np.int64(0)
    for index in range(8):
        source = np.int64(0)
        for place in range(3):
            if places[place] >= 0:
                source |= np.int64((index >> (2 - place)) & 1) << np.int64(places[place])
        immediate |= ((truth >> source) & 1) << index
    for plain in range(len(_PLAIN)):
        if count == _PLAIN[plain][0] and immediate == _PLAIN[plain][1]:
            operation = _PLAIN[plain][2]
    kind = 3 if operation == _TERNARY else 1
    other = 0 if operation == _LOAD else first if count >= 2 else result
    if operation == _TERNARY and not tables.is_wide:  # a complement, or all ones or zeros
        operation, kind, other = (_XOR, 1, _ONES) if count else (_EQUAL if truth else _XOR, 1, result)
    if count == 0:
        _vector(state, operation, kind, result, result, result)
    elif second == _NONE:
        _at_row(tables, state, operation, kind, result, other, second_row)
    else:
        _vector(state, operation, kind, result, other, second)
    if kind == 3:
        _bytes(state, 1, immediate)


@inner
def _hold(state: _State, register: Int, value: Int) -> None:
    state.held[register] = value
    state.register[value] = register
    state.dirty[register] = False


@lean
def _take_register(tables: _Tables, state: _State) -> int:
    """A register that holds nothing any more; what is in it is put into a row if need be."""
    chosen, latest = _NONE, -1
    for at in range(state.held.shape[0]):
        register = (state.turn[0] + at) % state.held.shape[0]
        if state.locked[register]:
            continue
        if state.held[register] == _NONE:
            chosen = register
            break
        if state.next_of[state.held[register]] > latest:
            chosen, latest = register, state.next_of[state.held[register]]
    state.turn[0] = (chosen + 1) % state.held.shape[0]
    if state.held[chosen] != _NONE:
        _keep(tables, state, chosen)
        state.register[state.held[chosen]] = _NONE
        state.held[chosen] = _NONE
    return chosen


@lean
def _keep(tables: _Tables, state: _State, register: Int) -> None:
    """Put the value of a register into a row, if it is in none."""
    value = state.held[register]
    if state.dirty[register]:
        state.free_count[0] -= 1
        if state.free_count[0] >= 0:
            row = state.free[state.free_count[0]]
            state.row[value] = row
            _at_row(tables, state, _STORE, 1, register, 0, row)
        state.dirty[register] = False


@lean
def _flush(tables: _Tables, state: _State) -> None:
    """Leave nothing in registers."""
    for register in range(state.held.shape[0]):
        if state.held[register] != _NONE:
            _keep(tables, state, register)
            state.register[state.held[register]] = _NONE
            state.held[register] = _NONE


@lean
def _write_feedback(tables: _Tables, state: _State, first: Int, last: Int, begin: Int) -> None:
    """Give the loop nodes their results, and go back to `begin` if any has changed."""
    _vector(state, _XOR, 1, 2, 2, 2)
    for at in range(first, last):
        row, literal = tables.feedback[at]
        if literal >> 1 == 0:
            _vector(state, _XOR, 1, 0, 0, 0)
        else:
            _at_row(tables, state, _LOAD, 1, 0, 0, state.row[literal >> 1])
        if literal & 1 and not tables.is_wide:
            _vector(state, _XOR, 1, 0, 0, _ONES)
        elif literal & 1:
            _vector(state, _TERNARY, 3, 0, 0, 0)
            _bytes(state, 1, 0x55)
        _at_row(tables, state, _XOR, 1, 1, 0, row)
        _vector(state, _OR, 1, 2, 2, 1)
        _at_row(tables, state, _STORE, 1, 0, 0, row)
    if tables.is_wide:
        _vector(state, _TEST, 2, 1, 2, 2)  # to the mask K1
        _bytes(state, 4, 0xC998F8C5)  # KORTESTW K1, K1
    else:
        _vector(state, _NARROW_TEST, 2, 2, 0, 2)
    _bytes(state, 2, 0x850F)  # JNZ
    _bytes(state, 4, begin - state.size[0] - 4)


@lean
def _at_row(  # noqa: PLR0913, PLR0917 - kernel: arrays in a tuple cost more
    tables: _Tables, state: _State, operation: Int, kind: Int, target: Int, other: Int, row: Int
) -> None:
    """A vector instruction whose last operand is a row."""
    if row >= tables.rows:  # half of a spare one
        _prefix(state, operation, kind, target, other, np.int64(_REST))
        _bytes(state, 1, 0x80 | (target & 7) << 3 | _REST)
        _bytes(state, 4, _ROW_BYTES * tables.first_spare + _ROW_BYTES // 2 * (row - tables.rows))
        return
    base: Int = np.int64(_REST)
    offset: Int = np.int64(row)
    middle = np.int64(tables.spare[0]) + 128 if tables.spare.shape[0] else np.int64(-1 << 20)
    if 1 <= row <= tables.facts:
        base, offset = _CURRENT, offset - 1
    elif tables.facts < row <= 2 * tables.facts:
        base, offset = _FOLLOWING, offset - 1 - tables.facts
    elif tables.is_wide and -128 <= offset - middle < 128:
        base, offset = _SPILLED, offset - middle
    if tables.is_wide and not -128 <= offset < 128:
        base, offset = _move_base(state, base, offset)
    _prefix(state, operation, kind, target, other, base)
    unit = 1 if tables.is_wide else _ROW_BYTES  # of short offsets
    is_short = -128 <= offset * unit < 128
    _bytes(state, 1, (0x40 if is_short else 0x80) | (target & 7) << 3 | (base & 7))
    if is_short:
        _bytes(state, 1, offset * unit)
    else:
        _bytes(state, 4, _ROW_BYTES * offset)


@lean
def _move_base(state: _State, base: Int, offset: Int) -> tuple[Int, Int]:
    """A base and offset for a row that is too far for a short one; a base goes where two such rows are near."""
    for at in range(MOVING):
        if state.base[at] == base and -128 <= offset - state.place[at] < 128:
            return np.int64(_MOVING + at), np.int64(offset - state.place[at])
    is_near = abs(offset - state.far[base]) < 128
    state.far[base] = offset
    if not is_near:
        return np.int64(base), np.int64(offset)
    moving = np.int64(state.turn[1])
    state.turn[1] = (moving + 1) & (MOVING - 1)
    state.base[moving] = base
    state.place[moving] = offset
    _bytes(state, 3, 0x808D4C | (moving << 3 | base) << 16)  # LEA R8 …, [base + …]
    _bytes(state, 4, _ROW_BYTES * offset)
    return np.int64(_MOVING + moving), np.int64(0)


@lean
def _vector(state: _State, operation: Int, kind: Int, target: Int, other: Int, last: Int) -> None:
    """A vector instruction of three registers."""
    _prefix(state, operation, kind, target, other, last)
    _bytes(state, 1, 0xC0 | (target & 7) << 3 | (last & 7))


@inner
def _prefix(state: _State, operation: Int, kind: Int, target: Int, other: Int, last: Int) -> None:
    """The EVEX prefix (512 bits, W1, 66, no mask) or the VEX prefix (256 bits, W0, 66), and the opcode."""
    if not state.is_wide:
        side = (~target >> 3 & 1) << 7
        if kind == 1 and last < 8:  # what has a short prefix
            _bytes(state, 2, (side | (~other & 15) << 3 | 5) << 8 | 0xC5)
        else:
            _bytes(state, 3, ((~other & 15) << 3 | 5) << 16 | (side | 0x40 | (~last >> 3 & 1) << 5 | kind) << 8 | 0xC4)
        _bytes(state, 1, operation)
        return
    high = (~target >> 3 & 1) << 7 | (~last >> 4 & 1) << 6 | (~last >> 3 & 1) << 5 | (~target >> 4 & 1) << 4
    _bytes(state, 1, 0x62)
    _bytes(state, 1, high | kind)
    _bytes(state, 1, 0x85 | (~other & 15) << 3)
    _bytes(state, 1, 0x40 | (~other >> 4 & 1) << 3)
    _bytes(state, 1, operation)


@inner
def _bytes(state: _State, count: Int, value: Int) -> None:
    """Append the lowest bytes of a number, the lowest first."""
    for at in range(count):
        state.code[state.size[0] + at] = np.uint8((value >> (8 * at)) & 0xFF)
    state.size[0] += count

"""Rows of words ⇄ rows of arrays: bits of lanes transposed 64 by 64, spread to octets, and numbers put into lanes.

A part of the door to LLVM that `ggp.kernel` is, and written in the same way: what is generated, and its plain twin.
"""

from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
from llvmlite import ir
from numba.core import types
from numpy.typing import NDArray

from ggp.kernel import VECTOR, WORD, Int, Words, cgutils, fast, load, row_pointer

Octets: TypeAlias = NDArray[np.uint8]  # (n,)

_HALVES = tuple(  # for transposition (Warren, Hacker's Delight, 7-3): a width, and the bits with no bit of it
    (width, sum(1 << bit for bit in range(64) if not bit & width)) for width in (32, 16, 8, 4, 2, 1)
)


def _transpose_lanes(typing_context: Any, words: Any, row: Any) -> Any:
    del typing_context, row

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, row = arguments
        places = [
            row_pointer(context, builder, array, signature.args[0], builder.add(row, ir.Constant(ir.IntType(64), at)))
            for at in range(64)
        ]
        block = [load(builder, place) for place in places]
        for width, mask in _HALVES:
            chosen, shift = (ir.Constant(VECTOR, [number] * WORD) for number in (mask, width))
            for first in (at for at in range(64) if not at & width):
                low, high = block[first], block[first + width]
                moved = builder.and_(builder.xor(builder.lshr(low, shift), high), chosen)
                block[first] = builder.xor(low, builder.shl(moved, shift))
                block[first + width] = builder.xor(high, moved)
        for place, value in zip(places, block, strict=True):
            builder.store(value, place, align=8)
        return context.get_dummy_value()

    return types.void(words, types.int64), generate


def _octets(builder: Any, bits: Any) -> tuple[Any, Any, Any]:
    """The bits of a uint64 as 64 truth values, and the types of 64 octets and of their pointer."""
    octets = ir.VectorType(ir.IntType(8), 64)
    return builder.bitcast(bits, ir.VectorType(ir.IntType(1), 64)), octets, octets.as_pointer()


def _deal(typing_context: Any, words: Any, row: Any, field: Any, target: Any) -> Any:
    del typing_context, row, field

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, row, field, target = arguments
        count, shift, mask, start, stride = cgutils.unpack_tuple(builder, field, 5)
        words = context.make_array(signature.args[0])(context, builder, array).data
        data = context.make_array(signature.args[3])(context, builder, target).data
        with _lanes(builder, count) as (lane, column, at):
            place = builder.add(builder.mul(builder.add(row, at), _number(WORD)), column)
            value = builder.and_(builder.lshr(builder.load(builder.gep(words, [place])), shift), mask)
            place = builder.gep(data, [builder.add(start, builder.mul(lane, stride))])
            if signature.args[3].dtype == types.uint8:
                flags, kind, pointer = _octets(builder, value)
                builder.store(builder.zext(flags, kind), builder.bitcast(place, pointer), align=1)
            else:
                builder.store(value, place)
        return context.get_dummy_value()

    same: Any = types.UniTuple
    return types.void(words, types.int64, same(types.int64, 5), target), generate


def _number(value: int) -> Any:
    return ir.Constant(ir.IntType(64), value)


@contextmanager
def _lanes(builder: Any, count: Any) -> Any:
    """A loop over so many lanes: the lane, its column, and its number within that."""
    with cgutils.for_range(builder, count) as loop:
        lane = loop.index
        yield lane, builder.lshr(lane, _number(6)), builder.and_(lane, _number(63))


def _collect(  # noqa: PLR0913, PLR0917 - as in plain_collect
    typing_context: Any, moves: Any, start: Any, role: Any, count: Any, words: Any, row: Any, shift: Any
) -> Any:
    del typing_context, start, role, count, row, shift

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        moves, start, role, count, array, row, shift = arguments
        given = context.make_array(signature.args[0])(context, builder, moves)
        words = context.make_array(signature.args[4])(context, builder, array).data
        roles = cgutils.unpack_tuple(builder, given.shape, 2)[1]
        total = cgutils.alloca_once_value(builder, _number(0))
        with _lanes(builder, count) as (lane, column, at):
            place = builder.add(builder.mul(builder.add(start, lane), roles), role)
            move = builder.load(builder.gep(given.data, [place]))
            wide = move if move.type.width == 64 else builder.sext(move, ir.IntType(64))
            number = builder.add(wide, _number(1))
            builder.store(builder.or_(builder.load(total), number), total)
            place = builder.gep(words, [builder.add(builder.mul(builder.add(row, at), _number(WORD)), column)])
            builder.store(builder.or_(builder.load(place), builder.shl(number, shift)), place)
        return builder.load(total)

    number = types.int64
    return types.uint64(moves, number, number, number, words, number, number), generate


def _mark(typing_context: Any, bits: Any, octets: Any, start: Any, value: Any) -> Any:
    del typing_context, bits, start, value

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bits, array, start, value = arguments
        data = context.make_array(signature.args[1])(context, builder, array).data
        flags, kind, pointer = _octets(builder, bits)
        place = builder.bitcast(builder.gep(data, [start]), pointer)
        octet = builder.trunc(value, ir.IntType(8))
        one = builder.insert_element(ir.Constant(kind, ir.Undefined), octet, ir.Constant(ir.IntType(32), 0))
        values = builder.shuffle_vector(
            one, ir.Constant(kind, ir.Undefined), ir.Constant(ir.VectorType(ir.IntType(32), 64), None)
        )
        builder.store(builder.select(flags, values, builder.load(place, align=1)), place, align=1)
        return context.get_dummy_value()

    return types.void(types.uint64, octets, types.int64, types.int64), generate


def plain_transpose_lanes(words: Words, row: Int) -> None:
    """Swap bit j of words[row + i, c] with bit i of words[row + j, c], for all i and j below 64 and all c."""
    for column in range(WORD):
        for i in range(64):
            for j in range(i):
                low, high = words[row + i, column], words[row + j, column]
                differ = ((low >> np.uint64(j)) ^ (high >> np.uint64(i))) & np.uint64(1)
                words[row + i, column] = low ^ (differ << np.uint64(j))
                words[row + j, column] = high ^ (differ << np.uint64(i))


def plain_deal(words: Words, row: Int, field: tuple[Int, Int, Int, Int, Int], target: Any) -> None:
    """Write bits of lanes that were transposed: those of lane l are in words[row + l % 64, l // 64].

    field: how many lanes; by how many bits they are shifted down; which of them are kept, as a mask; where those of
    lane 0 go, and how much further those of the next lane. target: (n,) uint64: as they are; or uint8: as 64 octets.
    """
    count, shift, mask, start, stride = field
    for lane in range(count):
        value = (words[row + (lane & 63), lane >> 6] >> np.uint64(shift)) & np.uint64(mask)
        if target.itemsize == 8:
            target[start + lane * stride] = value
        else:
            for at in range(64):
                target[start + lane * stride + at] = (value >> np.uint64(at)) & np.uint64(1)


def plain_collect(  # noqa: PLR0913, PLR0917 - kernel: arrays and their parts
    moves: NDArray[np.int64], start: Int, role: Int, count: Int, words: Words, row: Int, shift: Int
) -> np.uint64:
    """Put moves[start + l, role] + 1, shifted up, into words[row + l % 64, l // 64], for l below `count`.

    The result has the bits of all these numbers. moves: (n, R) int32 or int64.
    """
    total = np.uint64(0)
    for lane in range(count):
        number = np.uint64(np.int64(moves[start + lane, role]) + 1)
        total |= number
        words[row + (lane & 63), lane >> 6] |= number << np.uint64(shift)
    return total


def plain_mark(bits: np.uint64, octets: Octets, start: Int, value: Int) -> None:
    """octets[start + i] becomes the value, modulo 256, where bit i is set, for all i below 64."""
    for at in range(64):
        if (bits >> np.uint64(at)) & np.uint64(1):
            octets[start + at] = value & 255


transpose_lanes = fast(plain_transpose_lanes, _transpose_lanes)
deal = fast(plain_deal, _deal)
collect = fast(plain_collect, _collect)
mark = fast(plain_mark, _mark)

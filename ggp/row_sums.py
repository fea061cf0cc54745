"""Sums of rows of numbers, short lists within a kernel, and single numbers, also fetched before they are used.

A part of the door to LLVM that `ggp.kernel` is, and written in the same way: what is generated, and its plain twin.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array as untyped_populate_array
from numpy.typing import NDArray

from ggp.kernel import Int, cgutils, fast

populate_array: Any = untyped_populate_array

BLOCK = 128  # numbers of each row that are added in one pass over a list: their sums stay in registers
LISTED = 256  # numbers in a list of `make_list`
_PART = 16  # numbers that are added at a time
_FLOATS, _INTEGERS, _SHORT = ir.FloatType(), ir.IntType(32), ir.IntType(16)


def _data(context: Any, builder: Any, signature: Any, arguments: Any) -> list[Any]:
    """The arguments, pointers to their data in place of arrays."""
    return [
        context.make_array(kind)(context, builder, value).data if isinstance(kind, types.Array) else value
        for kind, value in zip(signature.args, arguments, strict=True)
    ]


@contextmanager
def _each_block(builder: Any, width: Any) -> Iterator[Any]:
    """A loop over the blocks of a row: where each begins."""
    size = ir.Constant(ir.IntType(64), BLOCK)
    with cgutils.for_range(builder, builder.udiv(width, size)) as loop:
        yield builder.mul(loop.index, size)


def _parts(builder: Any, data: Any, start: Any, kind: Any = _FLOATS) -> list[Any]:
    """Pointers to the parts of a block of numbers that begins there."""
    vector = ir.VectorType(kind, _PART).as_pointer()
    starts = [builder.add(start, ir.Constant(ir.IntType(64), at)) for at in range(0, BLOCK, _PART)]
    return [builder.bitcast(builder.gep(data, [start]), vector) for start in starts]


def _change_sums(
    builder: Any, width: Any, data: list[Any], kinds: tuple[Any, Any], change: Callable[[Any, Any, Any], Any]
) -> None:
    """Of the sums, which stay in registers, and each of the rows in turn: change(index in the list, row, sums).

    data: rows, places, count and sums; kinds: of the numbers in rows and sums.
    """
    rows, places, count, sums = data
    with _each_block(builder, width) as block:
        ends = _parts(builder, sums, block, kinds[1])
        held = [cgutils.alloca_once(builder, end.type.pointee) for end in ends]  # registers in the end
        for end, sum_ in zip(ends, held, strict=True):
            builder.store(builder.load(end, align=4), sum_)
        with _each_row(builder, (rows, places, count), width, block, kinds[0]) as (index, parts):
            for part, sum_ in zip(parts, held, strict=True):
                value = builder.load(part, align=2 if kinds[0] is _SHORT else 4)
                builder.store(change(index, value, builder.load(sum_)), sum_)
        for end, sum_ in zip(ends, held, strict=True):
            builder.store(builder.load(sum_), end, align=4)


def _change_rows(builder: Any, width: Any, data: list[Any], change: Callable[[Any, Any, Any], Any]) -> None:
    """Of each of the rows in turn and the numbers that are added: change(index in the list, row, numbers).

    data: rows, places, count and numbers.
    """
    rows, places, count, added = data
    with _each_block(builder, width) as block:
        held = [builder.load(part, align=4) for part in _parts(builder, added, block)]
        with _each_row(builder, (rows, places, count), width, block, _FLOATS) as (index, parts):
            for part, value in zip(parts, held, strict=True):
                builder.store(change(index, builder.load(part, align=4), value), part, align=4)


@contextmanager
def _each_row(
    builder: Any, listed: tuple[Any, Any, Any], width: Any, block: Any, kind: Any
) -> Iterator[tuple[Any, list[Any]]]:
    """A loop over a list (rows, places, count): the index in it, and pointers to the parts of the row's block."""
    rows, places, count = listed
    with cgutils.for_range(builder, count) as loop:
        row = builder.sext(builder.load(builder.gep(places, [loop.index])), ir.IntType(64))
        yield loop.index, _parts(builder, rows, builder.add(builder.mul(row, width), block), kind)


def _sums_of_rows(operation: str) -> Any:
    """Rows of int16 are added to sums of int32."""

    def typed(typing_context: Any, rows: Any, places: Any, count: Any, sums: Any, width: Any) -> Any:
        del typing_context, count, width
        kinds = (_SHORT, _INTEGERS) if rows.dtype == types.int16 else (_FLOATS, _FLOATS)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            change = getattr(builder, operation if kinds[0] is _SHORT else f"f{operation}")

            def changed(_: Any, value: Any, sum_: Any) -> Any:
                return change(sum_, builder.sext(value, sum_.type) if kinds[0] is _SHORT else value)

            *data, width = _data(context, builder, signature, arguments)
            _change_sums(builder, width, data, kinds, changed)
            return context.get_dummy_value()

        return types.void(rows, places, types.int64, sums, types.int64), generate

    return typed


def _add_to_rows(typing_context: Any, rows: Any, places: Any, count: Any, added: Any, width: Any) -> Any:
    del typing_context, count, width

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        *data, width = _data(context, builder, signature, arguments)
        _change_rows(builder, width, data, lambda _, row, value: builder.fadd(row, value))
        return context.get_dummy_value()

    return types.void(rows, places, types.int64, added, types.int64), generate


def _add_multiples(*, change_rows: bool) -> Any:
    """Of the rows to the sums; or of other numbers to the rows."""

    def typed(  # noqa: PLR0913, PLR0917
        typing_context: Any, rows: Any, places: Any, factors: Any, count: Any, others: Any, width: Any
    ) -> Any:
        del typing_context, count, width

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            rows, places, factors, *rest, width = _data(context, builder, signature, arguments)

            def sum_of(index: Any, value: Any, more: Any) -> Any:
                factor = _spread(builder, builder.load(builder.gep(factors, [index])))
                product = builder.fmul(value, factor, flags=("contract",))
                return builder.fadd(product, more, flags=("contract",))

            if change_rows:
                _change_rows(builder, width, [rows, places, *rest], lambda index, row, value: sum_of(index, value, row))
            else:
                _change_sums(builder, width, [rows, places, *rest], (_FLOATS, _FLOATS), sum_of)
            return context.get_dummy_value()

        return types.void(rows, places, factors, types.int64, others, types.int64), generate

    return typed


def _spread(builder: Any, value: Any) -> Any:
    """A vector of `_PART` times the value."""
    one = builder.insert_element(ir.Constant(ir.VectorType(value.type, _PART), ir.Undefined), value, _INTEGERS(0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(_INTEGERS, _PART), [0] * _PART))


def plain_rows(rows: NDArray[Any], places: NDArray[np.int32], count: Int, sums: NDArray[Any], width: Int) -> None:
    """Add so many rows, those at the first places, to the sums, in this order.

    rows: (n, width) of float32, to sums of the same; or of int16, to sums of int32; width: a multiple of `BLOCK`.
    """
    for at in range(count):
        for unit in range(width):
            sums[unit] += rows[places[at], unit]


def plain_differences(
    rows: NDArray[Any], places: NDArray[np.int32], count: Int, sums: NDArray[Any], width: Int
) -> None:
    """The same, subtracted."""
    for at in range(count):
        for unit in range(width):
            sums[unit] -= rows[places[at], unit]


def plain_additions(
    rows: NDArray[np.float32], places: NDArray[np.int32], count: Int, added: NDArray[np.float32], width: Int
) -> None:
    """Add the same to so many rows, those at the first places."""
    for at in range(count):
        for unit in range(width):
            rows[places[at], unit] += added[unit]


def plain_multiples(
    rows: NDArray[np.float32],
    places: NDArray[np.int32],
    factors: NDArray[np.float32],
    count: Int,
    sums: NDArray[np.float32],
    width: Int,
) -> None:
    """Add so many rows, those at the first places, each times its factor, to the sums, in this order."""
    for at in range(count):
        for unit in range(width):
            sums[unit] += factors[at] * rows[places[at], unit]


def plain_multiples_to_rows(
    rows: NDArray[np.float32],
    places: NDArray[np.int32],
    factors: NDArray[np.float32],
    count: Int,
    added: NDArray[np.float32],
    width: Int,
) -> None:
    """Add the same, times the factor of each, to so many rows, those at the first places."""
    for at in range(count):
        for unit in range(width):
            rows[places[at], unit] += factors[at] * added[unit]


def _prefetch(typing_context: Any, array: Any, row: Any) -> Any:
    del typing_context, row

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        made = context.make_array(signature.args[0])(context, builder, arguments[0])
        (stride, *_) = cgutils.unpack_tuple(builder, made.strides)
        place = builder.gep(builder.bitcast(made.data, cgutils.voidptr_t), [builder.mul(arguments[1], stride)])
        small = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, small, small, small])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [place, *(ir.Constant(small, value) for value in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


def plain_get(array: NDArray[Any], index: Int) -> np.int64:
    return np.int64(array[index])


def plain_set(array: NDArray[Any], index: Int, value: Int) -> None:
    array[index] = value


def _get(typing_context: Any, array: Any, index: Any) -> Any:
    del typing_context, index

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data, place = _data(context, builder, signature, arguments)
        return builder.sext(builder.load(builder.gep(data, [place])), ir.IntType(64))

    return types.int64(array, types.int64), generate


def _set(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    del typing_context, index, value

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data, place, value = _data(context, builder, signature, arguments)
        builder.store(builder.trunc(value, data.type.pointee), builder.gep(data, [place]))
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64), generate


def _make_list(typing_context: Any) -> Any:
    del typing_context
    kind = types.Array(types.int32, 1, "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del signature, arguments
        place = cgutils.alloca_once(builder, ir.ArrayType(ir.IntType(32), LISTED))
        size, width = (context.get_constant(types.intp, value) for value in (LISTED, 4))
        made = context.make_array(kind)(context, builder)
        populate_array(
            made,
            data=builder.bitcast(place, ir.IntType(32).as_pointer()),
            shape=[size],
            strides=[width],
            itemsize=width,
            meminfo=None,
        )
        return made._getvalue()

    return kind(), generate


add_rows = fast(plain_rows, _sums_of_rows("add"))
subtract_rows = fast(plain_differences, _sums_of_rows("sub"))
add_to_rows = fast(plain_additions, _add_to_rows)
add_multiples = fast(plain_multiples, _add_multiples(change_rows=False))
add_multiples_to_rows = fast(plain_multiples_to_rows, _add_multiples(change_rows=True))
make_list: Callable[[], NDArray[np.int32]] = cast("Any", intrinsic(_make_list))  # of LISTED, until the kernel is over
prefetch: Callable[[NDArray[Any], Int], None] = cast("Any", intrinsic(_prefetch))  # have array[row] fetched into caches
get_integer = fast(plain_get, _get)  # of an array of int32 or int64, with an index that is not below 0
set_integer = fast(plain_set, _set)

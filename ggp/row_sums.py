"""Sums of rows of floats, short lists within a kernel, and data fetched before it is used.

A part of the door to LLVM that `ggp.kernel` is, and written in the same way: what is generated, and its plain twin.
"""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array as untyped_populate_array
from numpy.typing import NDArray

from ggp.kernel import Int, cgutils, fast

populate_array: Any = untyped_populate_array

UNITS = 128  # floats in the rows that `add_rows` adds
LISTED = 256  # numbers in a list of `make_list`
_PART = 16  # floats that are added at a time


def _add_rows(typing_context: Any, rows: Any, places: Any, count: Any, sums: Any) -> Any:
    del typing_context, count

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        one, listed, _, total = (
            context.make_array(kind)(context, builder, value).data if isinstance(kind, types.Array) else value
            for kind, value in zip(signature.args, arguments, strict=True)
        )
        vector = ir.VectorType(ir.FloatType(), _PART)
        parts = range(UNITS // _PART)
        held = [cgutils.alloca_once(builder, vector) for _ in parts]  # registers in the end

        def part(data: Any, first: Any, number: int) -> Any:
            at = builder.add(first, ir.Constant(ir.IntType(64), number * _PART))
            return builder.bitcast(builder.gep(data, [at]), vector.as_pointer())

        start = ir.Constant(ir.IntType(64), 0)
        for number in parts:
            builder.store(builder.load(part(total, start, number), align=4), held[number])
        with cgutils.for_range(builder, arguments[2]) as loop:
            row = builder.sext(builder.load(builder.gep(listed, [loop.index])), ir.IntType(64))
            first = builder.mul(row, ir.Constant(ir.IntType(64), UNITS))
            for number in parts:
                more = builder.load(part(one, first, number), align=4)
                builder.store(builder.fadd(builder.load(held[number]), more), held[number])
        for number in parts:
            builder.store(builder.load(held[number]), part(total, start, number), align=4)
        return context.get_dummy_value()

    return types.void(rows, places, types.int64, sums), generate


def plain_rows(rows: NDArray[np.float32], places: NDArray[np.int32], count: Int, sums: NDArray[np.float32]) -> None:
    """Add so many rows, those at the first places, to the sums, in this order; rows: (n, UNITS)."""
    for at in range(count):
        for unit in range(UNITS):
            sums[unit] += rows[places[at], unit]


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


add_rows = fast(plain_rows, _add_rows)
make_list: Callable[[], NDArray[np.int32]] = cast("Any", intrinsic(_make_list))  # of LISTED, until the kernel is over
prefetch: Callable[[NDArray[Any], Int], None] = cast("Any", intrinsic(_prefetch))  # have array[row] fetched into caches

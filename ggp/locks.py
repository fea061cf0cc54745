"""Spin locks for kernels: elements of arrays of int32, 0 while they are free; by LLVM's atomic instructions.

Taking a lock has acquire semantics, releasing it release semantics: what a thread wrote before is visible to the next
holder. A thread that waits yields its processor now and then (`sched_yield`). The locks are not reentrant.
"""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from ggp.kernel import Int, cgutils, lean

Ids = NDArray[np.int32]

_PATIENCE = 64  # looks at a lock before others get the processor
_KIND = ir.IntType(32)


def _place_of(context: Any, builder: Any, array_type: Any, arguments: Any) -> Any:
    """A pointer to array[row, column], by the strides of the array."""
    array, row, column = arguments
    made = context.make_array(array_type)(context, builder, array)
    strides = cgutils.unpack_tuple(builder, made.strides)
    offset = builder.add(builder.mul(row, strides[0]), builder.mul(column, strides[1]))
    return builder.bitcast(builder.gep(builder.bitcast(made.data, cgutils.voidptr_t), [offset]), _KIND.as_pointer())


def _exchange(builder: Any, place: Any) -> Any:
    """Take the lock if it is free; whether it was."""
    before = builder.atomic_rmw("xchg", place, ir.Constant(_KIND, 1), "acquire")
    return builder.icmp_unsigned("==", before, ir.Constant(_KIND, 0))


def _lock(typing_context: Any, locks: Any, row: Any, column: Any) -> Any:
    del typing_context, row, column

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place_of(context, builder, signature.args[0], arguments)
        looks = cgutils.alloca_once(builder, _KIND)
        builder.store(ir.Constant(_KIND, 0), looks)
        attempt, wait, pause, taken = (
            builder.append_basic_block(name) for name in ("attempt", "wait", "pause", "taken")
        )
        builder.branch(attempt)
        builder.position_at_end(attempt)
        builder.cbranch(_exchange(builder, place), taken, wait)
        builder.position_at_end(wait)
        count = builder.add(builder.load(looks), ir.Constant(_KIND, 1))
        builder.store(count, looks)
        is_free = builder.icmp_unsigned("==", builder.load_atomic(place, "monotonic", 4), ir.Constant(_KIND, 0))
        is_patient = builder.icmp_unsigned("<", count, ir.Constant(_KIND, _PATIENCE))
        goes_on = builder.append_basic_block("goes_on")
        builder.cbranch(is_free, attempt, goes_on)
        builder.position_at_end(goes_on)
        builder.cbranch(is_patient, wait, pause)
        builder.position_at_end(pause)
        kind = ir.FunctionType(_KIND, [])
        builder.call(cgutils.get_or_insert_function(builder.module, kind, "sched_yield"), [])
        builder.store(ir.Constant(_KIND, 0), looks)
        builder.branch(wait)
        builder.position_at_end(taken)
        return context.get_dummy_value()

    return types.void(locks, types.int64, types.int64), generate


def _try_lock(typing_context: Any, locks: Any, row: Any, column: Any) -> Any:
    del typing_context, row, column

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _exchange(builder, _place_of(context, builder, signature.args[0], arguments))

    return types.boolean(locks, types.int64, types.int64), generate


def _unlock(typing_context: Any, locks: Any, row: Any, column: Any) -> Any:
    del typing_context, row, column

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place_of(context, builder, signature.args[0], arguments)
        builder.store_atomic(ir.Constant(_KIND, 0), place, "release", 4)
        return context.get_dummy_value()

    return types.void(locks, types.int64, types.int64), generate


lock: Callable[[Ids, Int, Int], None] = cast("Any", intrinsic(_lock))  # wait until locks[row, column] is ours
try_lock: Callable[[Ids, Int, Int], bool] = cast("Any", intrinsic(_try_lock))  # the same without waiting
unlock: Callable[[Ids, Int, Int], None] = cast("Any", intrinsic(_unlock))


class KernelLock:
    """Some of these locks as a context manager, taken in this order; the GIL is released while it waits."""

    def __init__(self, *places: tuple[Ids, int, int]) -> None:
        """places: arrays, each with a row and a column."""
        self._places = places

    def __enter__(self) -> None:
        for place in self._places:
            _take(*place)

    def __exit__(self, *exception: object) -> None:
        for place in reversed(self._places):
            _give(*place)


@lean
def _take(locks: Ids, row: Int, column: Int) -> None:
    lock(locks, row, column)


@lean
def _give(locks: Ids, row: Int, column: Int) -> None:
    unlock(locks, row, column)

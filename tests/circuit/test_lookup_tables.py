"""Lookup tables say what the instructions say that they stand for."""

from collections.abc import Callable
from random import Random

import numpy as np
import pytest

from ggp.circuit.assembly import Assembly
from ggp.circuit.lookup_tables import (
    AND,
    AND_NOT,
    COPY,
    NOT,
    OR,
    XOR,
    Cover,
    cover_by_cuts,
    cover_by_gates,
    schedule_tables,
)
from ggp.circuit.network import Loops, both, differ, either
from ggp.circuit.schedule import Program, make_program
from ggp.kernel import LANES
from tests.simulation.networks import ALL, Sketch, naive_outputs, random_sketch

pytestmark = pytest.mark.kernels

REGISTERS = 6  # for tables in another order


def scheduled(sketch: Sketch) -> Program:
    """Inputs are in rows 1 …, outputs in those after them."""
    rows = np.full(len(sketch.left), -1, np.int32)
    rows[1 : 1 + sketch.inputs] = 1 + np.arange(sketch.inputs)
    places = (1 + sketch.inputs + np.arange(len(sketch.outputs))).astype(np.int32)
    first_free = 1 + sketch.inputs + len(places)
    return make_program(sketch.left, sketch.right, sketch.loops, sketch.outputs, rows, places, first_free)


def naive_values(cover: Cover, inputs: list[int], rows: int) -> dict[int, int]:
    """What the tables give, by instruction, one lane after the other; inputs: the words of rows 1 …."""
    values = {0: 0} | dict(enumerate(inputs, 1))
    for number, (leaves, table) in enumerate(zip(cover.leaves.tolist(), cover.table.tolist(), strict=True)):
        result = 0
        for lane in range(LANES):
            index = sum((values[leaf] >> lane & 1) << at for at, leaf in enumerate(leaves) if leaf >= 0)
            result |= (table >> index & 1) << lane
        values[rows + number] = result
    return {at: values[rows + table] for at, table in enumerate(cover.table_of.tolist()) if table >= 0}


def by_flow(program: Program) -> Cover:
    return cover_by_cuts(program)[0]


def exact(program: Program) -> Cover:
    return cover_by_cuts(program)[1]


def in_registers(program: Program) -> Cover:
    return schedule_tables(exact(program), program.rows, REGISTERS)


def count_loads(cover: Cover, rows: int) -> int:
    """How often a value has to be loaded where as many are kept as were used last."""
    kept: list[int] = []
    loads = 0
    for number, leaves in enumerate(cover.leaves.tolist()):
        for leaf in (each for each in leaves if each >= 0):
            loads += leaf not in kept
            kept = [leaf, *(each for each in kept if each != leaf)][:REGISTERS]
        kept = [rows + number, *kept][:REGISTERS]
    return loads


@pytest.mark.parametrize("make", [by_flow, exact, cover_by_gates, in_registers])
def test_random_networks(make: Callable[[Program], Cover]) -> None:
    random = Random(7)
    for size in (1, 5, 20, 60, 200):
        for _ in range(8):
            sketch = random_sketch(random, 4, size)
            program = scheduled(sketch)
            cover = make(program)
            inputs = [random.randint(0, ALL) for _ in range(sketch.inputs)]
            found = naive_values(cover, inputs, program.rows)
            last = {int(out) if out >= 0 else ~int(out): at for at, out in enumerate(program.out)}
            assert [found[last[row]] for row in program.outputs.tolist()] == naive_outputs(sketch, inputs)
            assert len(cover.table) <= len(program.left) + np.count_nonzero(cover.table == NOT)
            if make is cover_by_gates:
                assert set(cover.table.tolist()) <= {AND, AND_NOT, OR, XOR, NOT, COPY, 0x00, 0xFF}


def test_values_are_loaded_less_often() -> None:
    random = Random(8)
    before, after = 0, 0
    for _ in range(4):
        program = scheduled(random_sketch(random, 24, 2000))
        cover, ordered = exact(program), in_registers(program)
        assert sorted(ordered.table.tolist()) == sorted(cover.table.tolist())
        before += count_loads(cover, program.rows)
        after += count_loads(ordered, program.rows)
    assert 0 < after < before


def test_a_full_adder_takes_two_tables() -> None:
    assembly = Assembly(100)
    a, b, c = assembly.inputs(3).tolist()
    half = differ(assembly.network, a, b)
    carry = either(assembly.network, both(assembly.network, a, b), both(assembly.network, half, c))
    outputs = np.array([differ(assembly.network, half, c), carry], np.int32)
    none = Loops(np.zeros(0, np.int32), np.zeros(0, np.int32))
    cover = exact(scheduled(Sketch(3, assembly.left, assembly.right, none, outputs)))
    assert sorted(cover.table.tolist()) == [0x96, 0xE8]


def test_counting_tables_exactly_never_takes_more() -> None:
    random = Random(10)
    flow = fewest = 0
    for _ in range(20):
        program = scheduled(random_sketch(random, 12, 400))
        flow += len(by_flow(program).table)
        fewest += len(exact(program).table)
        assert len(exact(program).table) <= len(by_flow(program).table)
    assert fewest < flow


@pytest.mark.parametrize("make", [by_flow, exact, cover_by_gates, in_registers])
def test_what_loops_take_is_kept(make: Callable[[Program], Cover]) -> None:
    random = Random(9)
    for _ in range(40):
        program = scheduled(random_sketch(random, 4, 30, 3))
        cover = make(program)
        assert (cover.feedback[:, 1] >> 1 < program.rows + len(cover.table)).all()
        for (start, end, *_), (first, last, *_) in zip(program.segments, cover.segments, strict=True):
            tables = cover.table_of[start:end]
            assert ((first <= tables) & (tables < last) | (tables < 0)).all()

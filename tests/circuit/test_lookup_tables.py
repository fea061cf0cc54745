"""Lookup tables say what the instructions say that they stand for."""

from random import Random

import numpy as np
import pytest

from ggp.circuit.assembly import Assembly
from ggp.circuit.lookup_tables import Cover, cover_program
from ggp.circuit.network import Loops, both, differ, either
from ggp.circuit.schedule import Program, make_program
from ggp.kernel import LANES
from tests.simulation.networks import ALL, Sketch, naive_outputs, random_sketch

pytestmark = pytest.mark.kernels


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
    tables = zip(cover.instruction.tolist(), cover.leaves.tolist(), cover.table.tolist(), strict=True)
    for instruction, leaves, table in tables:
        result = 0
        for lane in range(LANES):
            index = sum((values[leaf] >> lane & 1) << at for at, leaf in enumerate(leaves) if leaf >= 0)
            result |= (table >> index & 1) << lane
        values[rows + instruction] = result
    return {value - rows: word for value, word in values.items() if value >= rows}


def test_random_networks() -> None:
    random = Random(7)
    for size in (1, 5, 20, 60, 200):
        for _ in range(8):
            sketch = random_sketch(random, 4, size)
            program = scheduled(sketch)
            cover = cover_program(program)
            inputs = [random.randint(0, ALL) for _ in range(sketch.inputs)]
            found = naive_values(cover, inputs, program.rows)
            last = {int(out) if out >= 0 else ~int(out): at for at, out in enumerate(program.out)}
            assert [found[last[row]] for row in program.outputs.tolist()] == naive_outputs(sketch, inputs)
            assert len(cover.table) <= len(program.left)


def test_a_full_adder_takes_two_tables() -> None:
    assembly = Assembly(100)
    a, b, c = assembly.inputs(3).tolist()
    half = differ(assembly.network, a, b)
    carry = either(assembly.network, both(assembly.network, a, b), both(assembly.network, half, c))
    outputs = np.array([differ(assembly.network, half, c), carry], np.int32)
    none = Loops(np.zeros(0, np.int32), np.zeros(0, np.int32))
    cover = cover_program(scheduled(Sketch(3, assembly.left, assembly.right, none, outputs)))
    assert sorted(cover.table.tolist()) == [0x96, 0xE8]


def test_what_loops_take_is_kept() -> None:
    random = Random(9)
    for _ in range(40):
        program = scheduled(random_sketch(random, 4, 30, 3))
        cover = cover_program(program)
        known = {0, *range(program.rows), *(program.rows + cover.instruction).tolist()}
        assert {value >> 1 for value in cover.feedback[:, 1].tolist()} <= known
        for (start, end, *_), (first, last, *_) in zip(program.segments, cover.segments, strict=True):
            assert ((start <= cover.instruction[first:last]) & (cover.instruction[first:last] < end)).all()

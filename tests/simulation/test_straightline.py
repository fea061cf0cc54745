"""Machine code of a program, against the interpreted kernel on the same words."""

from random import Random

import numpy as np
import pytest

from ggp.circuit.schedule import Program, make_program
from ggp.kernel import LANES, Words, aligned_words, call, compile_object, load_object, vector_bits
from ggp.simulation import machine_code
from ggp.simulation.evaluate import join_programs, run_program
from ggp.simulation.machine_code import declarations, write_function
from ggp.simulation.steps import RowLayout, make_layout
from tests.simulation.networks import Sketch, naive_outputs, number_of, put_number, random_sketch

FACTS = 4
WIDTHS = sorted({128, 256, vector_bits()})


def scheduled(sketch: Sketch) -> tuple[Program, RowLayout]:
    """Inputs are the facts of the current state; outputs are the following state, then other rows."""
    layout = make_layout(FACTS, len(sketch.outputs), 0)
    row_of_input = np.full(len(sketch.left), -1, np.int32)
    row_of_input[1 : 1 + sketch.inputs] = layout.current + np.arange(sketch.inputs)
    rows = np.concatenate([layout.following + np.arange(FACTS), layout.over + np.arange(layout.goals)])
    outputs = sketch.outputs
    return make_program(
        sketch.left, sketch.right, sketch.loops, outputs, row_of_input, rows[: len(outputs)].astype(np.int32),
        layout.first_free,
    ), layout  # fmt: skip


def random_words(random: Random, rows: int) -> Words:
    words = aligned_words(rows)
    for row in range(1, rows):
        put_number(words, row, random.getrandbits(LANES))
    return words


def check(sketches: list[Sketch], random: Random, width: int) -> None:
    """All functions in one object; from one state to the other, and back."""
    programs = [scheduled(sketch) for sketch in sketches]
    names = tuple(f"f{number}" for number in range(len(programs)))
    texts = [write_function(name, program, FACTS, width) for name, (program, _) in zip(names, programs, strict=True)]
    code = load_object(compile_object(declarations(width) + "\n".join(texts)), names)
    for name, sketch, (program, layout) in zip(names, sketches, programs, strict=True):
        for swapped in (False, True):
            words = random_words(random, program.rows)
            before = words.copy()
            current, following = (layout.following, layout.current) if swapped else (layout.current, layout.following)
            expected = naive_outputs(sketch, [number_of(words[current + at]) for at in range(sketch.inputs)])
            own = program.moved(layout.swapped(program.rows)) if swapped else program
            call(code.addresses[name], words, current, following)
            assert [number_of(words[row]) for row in own.outputs.tolist()] == expected
            interpreted = before.copy()
            run_program(interpreted, join_programs((own,)), 0)
            assert np.array_equal(words[own.outputs], interpreted[own.outputs])
            kept = np.setdiff1d(np.arange(layout.first_free), own.outputs)
            assert np.array_equal(words[kept], before[kept])


@pytest.mark.parametrize("chunk", [1, 3, 7, 40_000])
@pytest.mark.parametrize("width", WIDTHS)
def test_random_networks(chunk: int, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "CHUNK", chunk)
    random = Random(chunk + width)
    check([random_sketch(random, FACTS, random.choice((1, 5, 20, 60))) for _ in range(20)], random, width)


@pytest.mark.parametrize("chunk", [1, 4, 40_000])
@pytest.mark.parametrize("width", WIDTHS)
def test_random_networks_with_loops(chunk: int, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "CHUNK", chunk)
    random = Random(chunk + width)
    sketches = [random_sketch(random, FACTS, random.choice((2, 6, 12)), random.randint(1, 4)) for _ in range(30)]
    check(sketches, random, width)


def test_a_program_without_instructions() -> None:
    sketch = random_sketch(Random(1), FACTS, 5)
    check([Sketch(FACTS, sketch.left, sketch.right, sketch.loops, np.zeros(0, np.int32))], Random(1), vector_bits())

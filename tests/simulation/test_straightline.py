"""Machine code of a program, against the interpreted kernel on the same words."""

from random import Random

import numpy as np
import pytest

from ggp.circuit.schedule import Program, make_program
from ggp.kernel import (
    LANES,
    MachineCode,
    Words,
    aligned_words,
    call,
    compile_object,
    load_bytes,
    load_object,
    vector_bits,
)
from ggp.simulation import assembler, machine_code
from ggp.simulation.assembler import NARROW, WIDE, assemble
from ggp.simulation.evaluate import join_programs, run_program
from ggp.simulation.machine_code import declarations, write_function
from ggp.simulation.steps import RowLayout, make_layout
from tests.simulation.networks import Sketch, naive_outputs, number_of, put_number, random_sketch

FACTS = 4
WIDTHS = sorted({128, 256, vector_bits()})
ASSEMBLED = [
    pytest.param(bits, marks=pytest.mark.skipif(vector_bits() < bits, reason=f"needs {name}"))
    for bits, name in ((NARROW, "AVX2"), (WIDE, "AVX-512"))
]


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


def check(sketches: list[Sketch], random: Random, width: int, *, assembled: bool = False) -> None:
    """All functions in one object for vectors of a width, by LLVM or assembled."""
    programs = [scheduled(sketch) for sketch in sketches]
    names = tuple(f"f{number}" for number in range(len(programs)))
    named = {name: program for name, (program, _) in zip(names, programs, strict=True)}
    if assembled:
        made = assemble(named, FACTS, width)
        assert made
        code = made
    else:
        texts = [write_function(name, program, FACTS, width) for name, program in named.items()]
        code = load_object(compile_object(declarations(width) + "\n".join(texts)), names)
    compare(sketches, programs, code, random)


def compare(
    sketches: list[Sketch], programs: list[tuple[Program, RowLayout]], code: MachineCode, random: Random
) -> None:
    """From one state to the other, and back."""
    names = [f"f{number}" for number in range(len(programs))]
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


@pytest.mark.parametrize("bits", ASSEMBLED)
def test_assembled_random_networks(bits: int) -> None:
    random = Random(1)
    check(
        [random_sketch(random, FACTS, random.choice((1, 5, 20, 60, 300))) for _ in range(120)],
        random,
        bits,
        assembled=True,
    )


@pytest.mark.parametrize("bits", ASSEMBLED)
def test_assembled_random_networks_with_loops(bits: int) -> None:
    random = Random(2)
    check(
        [random_sketch(random, FACTS, random.choice((2, 6, 12, 60)), random.randint(1, 4)) for _ in range(150)],
        random,
        bits,
        assembled=True,
    )


@pytest.mark.parametrize("bits", ASSEMBLED)
def test_assembled_values_that_do_not_fit_into_registers(bits: int) -> None:
    random = Random(3)
    sketches = [random_sketch(random, FACTS, 3000, components) for components in (0, 0, 3)]
    for sketch in sketches:
        sketch.outputs[:] = random.choices(range(2 * len(sketch.left)), k=len(sketch.outputs))
    check(sketches, random, bits, assembled=True)


@pytest.mark.parametrize("bits", ASSEMBLED)
@pytest.mark.parametrize("components", [0, 3])
def test_assembled_rows_far_apart(components: int, bits: int) -> None:
    random = Random(4 + components)
    sketches = [random_sketch(random, FACTS, 500, components) for _ in range(6)]
    spread = [random.choices(range(2 * len(sketch.left)), k=700) for sketch in sketches]
    sketches = [
        Sketch(FACTS, sketch.left, sketch.right, sketch.loops, np.array(outputs, np.int32))
        for sketch, outputs in zip(sketches, spread, strict=True)
    ]
    check(sketches, random, bits, assembled=True)


@pytest.mark.parametrize("bits", ASSEMBLED)
@pytest.mark.parametrize("components", [0, 3])
def test_assembled_code_with_prefetches(components: int, bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random, written = Random(5 + components), []

    def load(code: bytes, starts: dict[str, int]) -> MachineCode:
        written.append(code)
        return load_bytes(code, starts)

    monkeypatch.setattr(assembler, "_LARGE", 0)
    monkeypatch.setattr(assembler, "load_bytes", load)
    check([random_sketch(random, FACTS, 3000, components) for _ in range(4)], random, bits, assembled=True)
    (code,) = written
    prefetch = b"\x0f\x18\x15" + (4096).to_bytes(4, "little")
    assert len(code) // 80 < code.count(prefetch) <= len(code) // 64


@pytest.mark.parametrize("bits", ASSEMBLED)
def test_an_assembled_program_without_instructions(bits: int) -> None:
    sketch = random_sketch(Random(1), FACTS, 5)
    check(
        [Sketch(FACTS, sketch.left, sketch.right, sketch.loops, np.zeros(0, np.int32))], Random(1), bits, assembled=True
    )


@pytest.mark.parametrize("bits", ASSEMBLED)
def test_there_is_no_code_where_rows_do_not_suffice(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare = vars(assembler)["_prepare"]
    random = Random(3)
    sketch = random_sketch(random, FACTS, 3000)
    sketch.outputs[:] = random.choices(range(2 * len(sketch.left)), k=len(sketch.outputs))
    program, _ = scheduled(sketch)
    monkeypatch.setattr(
        assembler,
        "_prepare",
        lambda *arguments, **named: prepare(*arguments, **named)._replace(spare=np.zeros(0, np.int32)),
    )
    assert assemble({"f": program}, FACTS, bits) is None

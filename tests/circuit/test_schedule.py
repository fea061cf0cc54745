"""Networks as programs: the interpreted kernel, against every node evaluated on integers."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ggp.circuit.network import INPUT, LOOP, Loops
from ggp.circuit.schedule import SPARE_ROWS, Program, make_program, mark_needed
from ggp.kernel import LANES, Words, aligned_words
from ggp.simulation.evaluate import join_programs, run_program
from tests.simulation.networks import ALL, Sketch, naive_outputs, number_of, put_number, random_sketch

pytestmark = pytest.mark.kernels

NO_LOOPS = Loops(np.zeros(0, np.int32), np.zeros(0, np.int32))
FIRST_INPUT = 3  # row 0 is false, two rows are somebody else's


def scheduled(sketch: Sketch) -> Program:
    """Inputs, then outputs, then scratch."""
    row_of_input = np.full(len(sketch.left), -1, np.int32)
    row_of_input[1 : 1 + sketch.inputs] = FIRST_INPUT + np.arange(sketch.inputs)
    first_output = FIRST_INPUT + sketch.inputs
    rows = first_output + np.arange(len(sketch.outputs), dtype=np.int32)
    return make_program(
        sketch.left, sketch.right, sketch.loops, sketch.outputs, row_of_input, rows, first_output + len(rows)
    )


def filled(random: Random, sketch: Sketch, program: Program) -> tuple[Words, list[int]]:
    """Words with random inputs and rubbish everywhere else, and the inputs."""
    words = aligned_words(program.rows)
    for row in range(1, program.rows):
        put_number(words, row, random.getrandbits(LANES))
    return words, [number_of(words[FIRST_INPUT + at]) for at in range(sketch.inputs)]


def check(random: Random, sketch: Sketch) -> Program:
    program = scheduled(sketch)
    words, inputs = filled(random, sketch, program)
    before = words.copy()
    run_program(words, join_programs((program,)), 0)
    assert [number_of(words[row]) for row in program.outputs.tolist()] == naive_outputs(sketch, inputs)
    untouched = FIRST_INPUT + sketch.inputs
    assert np.array_equal(words[:untouched], before[:untouched])
    return program


@settings(max_examples=40)
@given(st.integers(0, 1 << 32))
def test_random_networks(seed: int) -> None:
    random = Random(seed)
    check(random, random_sketch(random, random.randint(1, 6), random.choice((1, 5, 20, 100))))


def test_what_a_recursion_reads_keeps_its_row() -> None:
    """The last gate of the repeated part is the last to read a gate before it; a second pass reads that again."""
    nodes = [(INPUT, INPUT), (INPUT, 0), (INPUT, 1), (LOOP, 0), (2, 4), (7, 9)]
    left, right = np.array(nodes, np.int32).T.copy()
    loops = Loops(np.array([11], np.int32), np.zeros(1, np.int32))
    check(Random(1), Sketch(2, left, right, loops, np.array([11], np.int32)))


@settings(max_examples=80)
@given(st.integers(0, 1 << 32))
def test_random_networks_with_loops(seed: int) -> None:
    random = Random(seed)
    sketch = random_sketch(random, random.randint(1, 5), random.choice((2, 6, 15)), random.randint(1, 4))
    program = check(random, sketch)
    needed = naive_needed(sketch)
    assert len(program.feedback) >= sum(loop in needed for loop in np.flatnonzero(sketch.left == LOOP).tolist())


def naive_needed(sketch: Sketch) -> set[int]:
    """The nodes that the outputs depend on."""
    work = [literal >> 1 for literal in sketch.outputs.tolist()]
    found: set[int] = set()
    while work:
        node = work.pop()
        if node in found:
            continue
        found.add(node)
        left, right = int(sketch.left[node]), int(sketch.right[node])
        if left == LOOP:
            work.append(int(sketch.loops.results[right]) >> 1)
        elif left != INPUT and node:
            work += [left >> 1, right >> 1]
    return found


@settings(max_examples=30)
@given(st.integers(0, 1 << 32))
def test_needed_nodes_are_marked(seed: int) -> None:
    random = Random(seed)
    sketch = random_sketch(random, 3, 20, random.randint(0, 3))
    marked = mark_needed(sketch.left, sketch.right, sketch.loops.results, sketch.outputs)
    assert set(np.flatnonzero(marked).tolist()) | {0} == naive_needed(sketch) | {0}


def reach(size: int) -> Sketch:
    """Reachability on a ring of doors, from place 0: place i + 1 is reached from i if door i is open."""
    nodes = [(INPUT, INPUT), *((INPUT, door) for door in range(size)), *((LOOP, place) for place in range(size))]
    first = 1 + size
    results = []
    for place in range(size):
        before, door = first + (place - 1) % size, 1 + (place - 1) % size
        nodes.append((2 * door, 2 * before))
        results.append(1 if place == 0 else 2 * (len(nodes) - 1))
    left, right = np.array(nodes, np.int32).T.copy()
    loops = Loops(np.array(results, np.int32), np.zeros(size, np.int32))
    return Sketch(size, left, right, loops, np.array([*results, results[-1] ^ 1], np.int32))


def test_a_recursion_takes_as_many_passes_as_it_needs() -> None:
    sketch = reach(30)
    program = scheduled(sketch)
    words = aligned_words(program.rows)
    for door in range(30):
        put_number(words, FIRST_INPUT + door, sum(1 << lane for lane in range(LANES) if lane % 31 != door))
    run_program(words, join_programs((program,)), 0)
    for place, row in enumerate(program.outputs[:30].tolist()):
        assert number_of(words[row]) == sum(1 << lane for lane in range(LANES) if lane % 31 >= place)
    assert number_of(words[program.outputs[30]]) == ALL ^ number_of(words[program.outputs[29]])


def test_what_only_reads_itself_is_false() -> None:
    left, right = np.array([(INPUT, INPUT), (INPUT, 0), (LOOP, 0), (2, 4)], np.int32).T.copy()
    loops = Loops(np.array([6], np.int32), np.zeros(1, np.int32))
    check(Random(1), Sketch(1, left, right, loops, np.array([4, 6, 7], np.int32)))


def test_rows_are_used_again() -> None:
    nodes = [(INPUT, INPUT), *((INPUT, number) for number in range(4))]
    last = 2
    for at in range(1000):
        nodes.append((2 + 2 * (1 + at % 3), last) if last > 8 else (last, 2 + 2 * (1 + at % 3)))
        last = 2 * (len(nodes) - 1) + at % 2
    left, right = np.array(nodes, np.int32).T.copy()
    sketch = Sketch(4, left, right, NO_LOOPS, np.array([last], np.int32))
    program = check(Random(2), sketch)
    assert len(program.left) >= 1000
    assert program.rows - SPARE_ROWS <= FIRST_INPUT + 4 + 1 + 3


def test_only_what_is_needed_is_evaluated() -> None:
    random = Random(3)
    for _ in range(20):
        sketch = random_sketch(random, 4, 50)
        gates = sum(1 for node in naive_needed(sketch) if node > sketch.inputs)
        program = scheduled(sketch)
        assert gates <= len(program.left) <= gates + len(sketch.outputs)


def test_no_outputs() -> None:
    sketch = random_sketch(Random(4), 3, 10)
    program = check(Random(4), Sketch(3, sketch.left, sketch.right, NO_LOOPS, np.zeros(0, np.int32)))
    assert len(program.left) == 0


@settings(max_examples=15)
@given(st.integers(0, 1 << 32))
def test_a_program_on_other_rows(seed: int) -> None:
    random = Random(seed)
    sketch = random_sketch(random, 4, 15, random.randint(0, 2))
    program = scheduled(sketch)
    row_of = np.array([0, *random.sample(range(1, program.rows), program.rows - 1)], np.int32)
    words, inputs = filled(random, sketch, program)
    moved = aligned_words(program.rows)
    moved[row_of] = words
    elsewhere = program.moved(row_of)
    run_program(moved, join_programs((elsewhere,)), 0)
    assert elsewhere.outputs.tolist() == row_of[program.outputs].tolist()
    assert [number_of(moved[row]) for row in elsewhere.outputs.tolist()] == naive_outputs(sketch, inputs)


def test_several_programs_in_one_code() -> None:
    random = Random(6)
    sketches = [random_sketch(random, 3, 12, number % 3) for number in range(7)]
    programs = [scheduled(sketch) for sketch in sketches]
    code = join_programs(tuple(programs))
    for at in (6, 0, 3, 1, 5, 2, 4):
        words, inputs = filled(random, sketches[at], programs[at])
        run_program(words, code, at)
        found = [number_of(words[row]) for row in programs[at].outputs.tolist()]
        assert found == naive_outputs(sketches[at], inputs)

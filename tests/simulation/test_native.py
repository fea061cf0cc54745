"""Machine code of a whole game: made once, kept, handed over when it is there."""

import logging
from pathlib import Path

import numpy as np
import pytest

from ggp.cache import Cache
from ggp.circuit.schedule import Program
from ggp.kernel import vector_bits
from ggp.simulation import machine_code
from ggp.simulation import steps as step_module
from ggp.simulation.assembler import NARROW
from ggp.simulation.evaluate import Batches, Single, pack
from ggp.simulation.machine_code import (
    assemble_programs,
    compile_in_background,
    compile_steps,
    functions,
    is_worthwhile,
)
from ggp.simulation.playout import Simulator
from tests.simulation.games import FATES, TURNS, rounds
from tests.simulation.lanes import Truth


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture
def by_llvm(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a processor without AVX2."""
    monkeypatch.setattr(machine_code, "vector_bits", lambda: 128)


def refuse(text: str) -> bytes:
    message = "LLVM is not to be asked"
    raise RuntimeError(message)


@pytest.mark.usefixtures("by_llvm")
def test_machine_code_is_kept(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    truth = Truth(TURNS)
    expected = truth.simulator().playouts(1500, seed=6)
    first = truth.simulator()
    first.use(compile_steps(first.steps, cache))
    assert first.playouts(1500, seed=6) == expected
    monkeypatch.setattr(machine_code, "compile_object", refuse)
    again = Truth(TURNS).simulator()
    again.use(compile_steps(again.steps, cache))
    assert again.plan.addresses[: again.plan.turns].all()
    assert again.playouts(1500, seed=6) == expected
    with pytest.raises(RuntimeError):
        compile_steps(Truth(FATES).steps, cache)
    with pytest.raises(RuntimeError):
        compile_steps(again.steps, Cache(None))


@pytest.mark.usefixtures("by_llvm")
def test_each_game_gets_its_own_code(cache: Cache) -> None:
    texts = [rounds(2, 2, 5), rounds(2, 2, 6), rounds(2, 3, 5), rounds(3, 2, 5)]
    for _ in range(2):
        for text in texts:
            simulator = Truth(text).simulator()
            expected = simulator.playouts(900, seed=1)
            simulator.use(compile_steps(simulator.steps, cache))
            assert simulator.playouts(900, seed=1) == expected


def wins_with(move: str, other: str) -> str:
    return f"""
    (role a) (legal a x) (legal a y) (<= (next (did ?m)) (does a ?m)) (<= terminal (true (did ?m)))
    (<= (goal a 100) (true (did {move}))) (<= (goal a 0) (true (did {other})))
    """


@pytest.mark.usefixtures("by_llvm")
def test_games_of_the_same_form_are_told_apart(cache: Cache) -> None:
    simulators = [Truth(wins_with(*moves)).simulator() for moves in ("xy", "yx")]
    shapes = [[len(program.left) for program in simulator.steps.phases] for simulator in simulators]
    assert shapes[0] == shapes[1]
    expected = [simulator.playouts(900, seed=1) for simulator in simulators]
    assert expected[0] != expected[1]
    for simulator, tally in zip(simulators, expected, strict=True):
        simulator.use(compile_steps(simulator.steps, cache))
        assert simulator.playouts(900, seed=1) == tally


@pytest.mark.parametrize(("gates", "names"), [(1_000_000, ["step_0", "step_1"]), (-1, ["goals", "step_0", "step_1"])])
def test_functions_have_names(gates: int, names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_module, "GOALS_AT_ONCE", gates)
    simulator = Truth(TURNS).simulator()
    assert sorted(functions(simulator.steps)) == names
    code = compile_steps(simulator.steps, Cache(None))
    assert sorted(code.addresses) == names
    assert all(code.addresses.values())
    assert len(set(code.addresses.values())) == len(names)
    expected = simulator.playouts(600, seed=5)
    simulator.use(code)
    assert simulator.playouts(600, seed=5) == expected


def test_code_is_made_beside(cache: Cache) -> None:
    simulator = Truth(TURNS).simulator()
    expected = simulator.playouts(2000, seed=1)
    thread = compile_in_background(simulator.steps, cache, simulator.use)
    during = simulator.playouts(2000, seed=1)
    thread.join()
    assert simulator.plan.addresses[0]
    assert during == expected == simulator.playouts(2000, seed=1)


@pytest.mark.usefixtures("by_llvm")
def test_trouble_leaves_the_circuit_interpreted(
    cache: Cache, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(machine_code, "compile_object", refuse)
    simulator = Simulator(Truth(TURNS).steps, Truth(TURNS).compiled.circuit.initial)
    with caplog.at_level(logging.WARNING):
        compile_in_background(simulator.steps, cache, simulator.use).join()
    assert "LLVM is not to be asked" in caplog.text
    assert not simulator.plan.addresses.any()
    assert simulator.playouts(600).playouts == 600


@pytest.mark.skipif(vector_bits() < NARROW, reason="needs AVX2")
def test_with_avx2_or_avx_512_llvm_is_not_asked(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "LEAST_ASSEMBLED", 0)
    monkeypatch.setattr(machine_code, "compile_object", refuse)
    simulator = Truth(TURNS).simulator()
    expected = simulator.playouts(1500, seed=6)
    simulator.use(compile_steps(simulator.steps, cache))
    assert simulator.playouts(1500, seed=6) == expected


@pytest.mark.parametrize("result", [None, PermissionError()])
def test_where_nothing_can_be_assembled_llvm_is_asked(
    cache: Cache, result: PermissionError | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def assemble(named: dict[str, Program], facts: int, bits: int) -> None:
        if result is not None:
            raise result

    monkeypatch.setattr(machine_code, "LEAST_ASSEMBLED", 0)
    monkeypatch.setattr(machine_code, "assemble", assemble)
    simulator = Truth(TURNS).simulator()
    expected = simulator.playouts(600, seed=6)
    simulator.use(compile_steps(simulator.steps, cache))
    assert simulator.playouts(600, seed=6) == expected


@pytest.mark.usefixtures("by_llvm")
def test_large_games_are_not_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Truth(TURNS).steps
    size = sum(len(program.left) for program in functions(steps).values())
    monkeypatch.setattr(machine_code, "MOST_GATES", size)
    assert is_worthwhile(steps)
    monkeypatch.setattr(machine_code, "MOST_GATES", size - 1)
    assert not is_worthwhile(steps)


@pytest.mark.skipif(vector_bits() < NARROW, reason="needs AVX2")
@pytest.mark.parametrize("text", [TURNS, FATES, rounds(2, 3, 5)])
def test_batches_give_the_same_by_machine_code(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "LEAST_ASSEMBLED", 0)
    compiled = Truth(text).compiled
    plain, batches = Batches(compiled), Batches(compiled)
    code = assemble_programs(batches.programs, batches.rows.facts)
    assert code is not None
    batches.use(code)
    states = np.random.default_rng(3).integers(0, 2, (600, len(compiled.facts)), np.uint8).astype(np.bool_)
    states[:, compiled.constants >= 0] = compiled.constants[compiled.constants >= 0]
    rows, moves = pack(states), np.zeros((600, len(compiled.roles)), np.int32)
    for number, role_moves in enumerate(compiled.circuit.moves):
        moves[:, number] = np.arange(600) % role_moves
    for found, expected in zip(batches.look(rows), plain.look(rows), strict=True):
        assert (found == expected).all()
    assert (batches.goal_bits(rows) == plain.goal_bits(rows)).all()
    assert (batches.next_states(rows, moves) == plain.next_states(rows, moves)).all()
    assert (batches.percepts(rows, moves) == plain.percepts(rows, moves)).all()
    state = np.flatnonzero(states[0]).astype(np.int32)
    assert Single(batches).look(state) == Single(plain).look(state)
    assert (Single(batches).next_state(state, moves[0]) == Single(plain).next_state(state, moves[0])).all()

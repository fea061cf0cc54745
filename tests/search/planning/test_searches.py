"""The parts of the search, each by itself, against all states looked at one by one."""

import itertools

import numpy as np
import pytest

from ggp.gdl.logic_program import make_logic_program
from ggp.grounding import Clingo, ground
from ggp.grounding.clingo import ClaspRun, GroundProgram
from ggp.search.planning.asp_planner import AspPlanner, PlanningTask
from ggp.search.planning.beam import Beam, BreadthFirst, expand, fuzzy_values, make_cone, make_visited
from ggp.search.planning.encodings import PlanQuery, StepEncoder, find_effects, order_free_text, read_moves
from ggp.search.planning.paths import Path, Sampling, arrange, follow
from ggp.search.planning.pattern_databases import Parts, PatternSearch, fill, find_parts, judge, make_databases
from ggp.simulation.evaluate import Batches, unpack
from ggp.simulation.expansion import make_expansion
from tests.search.planning.games import GAMES, all_states, best_value, machine_of, rulesheet_of, shortest, value_of

pytestmark = pytest.mark.kernels

BYTES = 1 << 24
SOLVER_BYTES = 1 << 30


def path_holds(name: str, path: Path | None) -> bool:
    machine = machine_of(name)
    assert path is not None
    moves = tuple(machine.compiled.moves[0][move] for move in path.moves)
    return value_of(name, machine.initial_state, moves) == path.value


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("states", [1, 7, 512])
def test_breadth_first_meets_every_state_once(name: str, states: int) -> None:
    machine = machine_of(name)
    visited, expansion = make_visited(machine.batches.initial, BYTES), make_expansion(machine.batches)
    while expand(expansion, visited, states):
        pass
    found = [machine.unpacked(visited.table.states[at : at + 1]) for at in range(visited.table.size[0])]
    assert len(found) == len(set(found))
    assert set(found) == all_states(machine)


@pytest.mark.parametrize("name", [name for name in GAMES if name != "endless"])
def test_breadth_first_finds_shortest_lines(name: str) -> None:
    machine = machine_of(name)
    breadth = BreadthFirst(make_expansion(machine.batches), machine.batches.initial, BYTES)
    while not breadth.is_complete:
        breadth.advance(64)
    assert path_holds(name, breadth.best)
    assert breadth.best is not None
    assert breadth.best.value == best_value(name)
    assert len(breadth.best.moves) == shortest(name)


def test_breadth_first_without_room_proves_nothing() -> None:
    machine = machine_of("slide")
    breadth = BreadthFirst(make_expansion(machine.batches), machine.batches.initial, 6000)
    for _ in range(100):
        breadth.advance(64)
    assert breadth.is_full
    assert not breadth.is_complete


@pytest.mark.parametrize("name", ["lights", "slide", "ladder", "latin", "stuck"])
def test_beams_find_the_best_line(name: str) -> None:
    machine = machine_of(name)
    beam = Beam(machine.batches, make_expansion(machine.batches), machine.batches.initial, BYTES, seed=1)
    for _ in range(3000):
        beam.advance(64)
        if beam.best is not None and beam.best.value == best_value(name):
            break
    assert path_holds(name, beam.best)
    assert beam.best is not None
    assert beam.best.value == best_value(name)


def test_fuzzy_values_rise_with_what_holds() -> None:
    machine = machine_of("latin")
    cone = make_cone(machine.compiled.circuit)
    moves = machine.compiled.moves[0]
    line = [("put", "1", "2", "1"), ("put", "1", "3", "3"), ("put", "2", "1", "1"), ("put", "2", "3", "2")]
    state, found = machine.batches.initial, []
    for move in line:
        value = np.zeros(1)
        fuzzy_values(cone, state, value)
        found.append(value[0])
        state = machine.batches.next_states(state, np.array([[moves.index(move)]], np.int32))
    assert found == sorted(set(found))


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("name", ["lights", "slide", "ladder", "latin", "ended", "stuck"])
def test_plans_in_steps(clingo: Clingo, name: str, ordered: bool) -> None:
    machine = machine_of(name)
    encoder = StepEncoder(ground(make_logic_program(rulesheet_of(name))))
    state = unpack(machine.batches.initial, len(machine.compiled.facts))[0]
    goals = frozenset({best_value(name) or 0})
    least = shortest(name)
    for horizon, solvable in ((least - 1, False), (least, True), (least + 2, True)):
        if horizon < 0:
            continue
        solver = ClaspRun(clingo, encoder.text(state, PlanQuery(horizon, goals, ordered)), SOLVER_BYTES)
        assert solver.wait(60)
        if not solvable:
            assert (solver.answer, solver.is_refuted) == (None, True)
        elif not (ordered and name == "slide"):  # its moves do not commute, so that an order may lose all plans
            assert solver.answer is not None
            path = follow(machine.batches, machine.batches.initial, read_moves(solver.answer))
            assert path_holds(name, path)
            assert path is not None
            assert path.value == best_value(name)
        solver.close()


def test_sets_of_moves(clingo: Clingo) -> None:
    machine = machine_of("latin")
    circuit = machine.compiled.circuit
    effects = find_effects(circuit)
    assert effects is not None
    assert effects.plain.all()
    state = unpack(machine.batches.initial, circuit.facts)[0]
    solver = ClaspRun(clingo, order_free_text(circuit, effects, state, np.array([1])), SOLVER_BYTES)
    assert solver.wait(60)
    assert solver.answer is not None
    moves = read_moves(solver.answer)
    assert len(moves) == 7
    path = arrange(machine.batches, machine.batches.initial, moves, np.random.default_rng(1))
    assert path_holds("latin", path)
    solver.close()


def test_effects_of_moves_by_hand() -> None:
    machine = machine_of("ladder")
    effects = find_effects(machine.compiled.circuit)
    assert effects is not None
    moves, facts = machine.compiled.moves[0], machine.compiled.facts
    assert [moves[at] for at in np.flatnonzero(effects.plain)] == ["stop"]
    stop = moves.index("stop")
    assert [facts[at] for at in np.flatnonzero(effects.makes[stop])] == ["over"]
    assert not effects.ends[stop].any()


def shown(batches: Batches) -> Sampling:
    sampling = Sampling(batches, batches.initial, np.random.default_rng(5))
    while not sampling.is_done:
        sampling.advance()
    return sampling


def test_moves_that_commute() -> None:
    commuting = {name: shown(machine_of(name).batches).sample.commuting for name in ("lights", "slide", "latin")}
    assert commuting["lights"] == 1.0
    assert commuting["slide"] < 0.2
    assert commuting["latin"] == 1.0


def test_lengths_of_playouts() -> None:
    sample = shown(machine_of("hopeless").batches).sample
    assert set(sample.lengths) == {3}
    assert path_holds("hopeless", sample.best)
    assert shown(machine_of("endless").batches).sample.lengths == ()
    assert shown(machine_of("ended").batches).sample.best == Path((), 50)


@pytest.mark.parametrize("name", ["lights", "slide", "latin", "ladder"])
def test_the_planner_by_itself(name: str) -> None:
    machine = machine_of(name)
    task = PlanningTask(machine.rulesheet, machine.batches, machine.batches.initial)
    empty = Sampling(machine.batches, machine.batches.initial, np.random.default_rng(0)).sample
    planner = AspPlanner(task, empty, SOLVER_BYTES, seed=1)
    planner.resume()
    while planner.best is None or planner.best.value < max(machine.compiled.goals[0]):
        assert planner.found.wait(60)
        planner.found.clear()
    planner.close()
    planner.join()
    assert planner.is_over
    assert path_holds(name, planner.best)


def test_lines_that_break_off() -> None:
    machine = machine_of("lights")
    batches, moves = machine.batches, machine.compiled.moves[0]
    presses = [moves.index(("press", lamp)) for lamp in "12345"]
    assert follow(batches, batches.initial, presses[:2]) is None
    end = follow(batches, batches.initial, [presses[0]] * 9)
    assert end == Path((presses[0],) * 5, 0)
    assert follow(machine_of("stuck").batches, machine_of("stuck").batches.initial, [0, 0]) is None


def test_a_solver_that_is_closed_has_no_answer(clingo: Clingo) -> None:
    """The pigeons of Haken's theorem: clasp would take years. The process starts anew for the next run."""
    count = 12
    program = GroundProgram()
    holes = [range(1 + pigeon * count, 1 + (pigeon + 1) * count) for pigeon in range(count + 1)]
    for atoms in holes:
        for atom in atoms:
            program.choice(atom)
        program.constraint(*(-atom for atom in atoms))
    for pigeons in zip(*holes, strict=True):
        program.at_most_one(pigeons)
    solver = ClaspRun(clingo, program.text(), SOLVER_BYTES)
    assert not solver.wait(0.2)
    clingo.pause()
    assert not solver.wait(0.05)
    solver.close()
    assert solver.wait(0)
    assert (solver.answer, solver.is_refuted) == (None, False)
    again = ClaspRun(clingo, GroundProgram().text(), SOLVER_BYTES)
    assert again.wait(60)
    assert again.answer == []


def parts_of(name: str) -> Parts | None:
    machine = machine_of(name)
    search = find_parts(machine.batches, machine.batches.initial)
    while True:
        try:
            next(search)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


def test_independent_parts_by_hand() -> None:
    """Two dials that turn together or apart, and a count of the steps that the goal does not read."""
    parts = parts_of("dials")
    assert parts is not None
    assert parts.sizes.tolist() == [5, 5]
    moves = machine_of("dials").compiled.moves[0]
    first = parts.following[0][:, moves.index(("turn", "a"))]
    assert sorted(first.tolist()) == [0, 1, 2, 3, 4]
    assert parts.wanted.sum(axis=1).tolist() == [1, 1]
    assert (parts.following[:, :, moves.index("hold")] == np.arange(5)).all()


def test_games_without_independent_parts() -> None:
    """The highest goal may always hold; or legality reads more than a part."""
    assert parts_of("ended") is None
    assert parts_of("latin") is None


def test_databases_have_the_least_steps() -> None:
    """The sum of the databases is 0 just where the goal may hold, and each is exact for its parts."""
    parts = parts_of("dials")
    assert parts is not None
    databases = make_databases(parts, np.random.default_rng(3))
    assert databases is not None
    for database in range(len(databases.first_pattern) - 1):
        for _ in fill(databases, database):
            pass
    wanted = parts.wanted.argmax(axis=1)
    assert judge(databases, wanted.astype(np.int64)) == 0
    distances = {tuple(wanted.tolist()): 0}
    for distance in range(1, 10):
        near = {key for key, known in distances.items() if known == distance - 1}
        for one, other in itertools.product(range(5), repeat=2):
            after = zip(parts.following[0, one].tolist(), parts.following[1, other].tolist(), strict=True)
            if near & set(after):
                distances.setdefault((one, other), distance)
    assert len(distances) == 25
    count = len(databases.first_pattern) - 1
    for (one, other), distance in distances.items():
        assert judge(databases, np.array([one, other], np.int64)) == distance * count


@pytest.mark.parametrize("name", ["dials", "lights"])
def test_beams_on_parts(name: str) -> None:
    machine = machine_of(name)
    patterns = PatternSearch(machine.batches, machine.batches.initial, 20, seed=1)
    while not patterns.is_over and patterns.best is None:
        patterns.advance()
    assert path_holds(name, patterns.best)
    assert patterns.best is not None
    assert patterns.best.value == 100


def test_what_takes_too_much_memory_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    module = "ggp.search.planning"
    parts = parts_of("dials")
    assert parts is not None
    monkeypatch.setattr(f"{module}.pattern_databases._MOST_BEFORE", parts.following.size - 1)
    assert make_databases(parts, np.random.default_rng(3)) is None
    assert parts_of("dials") is None
    monkeypatch.setattr(f"{module}.asp_planner._MOST_LITERALS", 1)
    machine = machine_of("slide")
    task = PlanningTask(machine.rulesheet, machine.batches, machine.batches.initial)
    empty = Sampling(machine.batches, machine.batches.initial, np.random.default_rng(0)).sample
    planner = AspPlanner(task, empty, SOLVER_BYTES, seed=1)
    planner.resume()
    planner.join()
    assert planner.best is None

"""Random playouts: quotas, caps and ends, and the values of random play that are known."""

from functools import cache
from itertools import product
from math import sqrt
from random import Random
from statistics import fmean, stdev

import numpy as np
import pytest

from ggp.cache import Cache
from ggp.errors import SettingsError
from ggp.kernel import LANES
from ggp.library import find_rulesheet
from ggp.simulation import steps as step_module
from ggp.simulation.evaluate import pack
from ggp.simulation.machine_code import compile_steps
from ggp.simulation.playout import (
    UNLIMITED,
    PlayoutTally,
    Simulator,
    drain_lanes,
    load_lanes,
    make_lanes,
    play,
    play_values,
    worth_of,
)
from ggp.simulation.steps import BIRTH_BITS
from tests.simulation.games import (
    ENDLESS,
    ENDLESS_WITHOUT_FACTS,
    FATES,
    GAMES,
    NO_FACTS,
    PAIRS,
    SINGLE_MOVES,
    STUCK_AT_FIRST,
    TERMINAL_AT_FIRST,
    rounds,
)
from tests.simulation.lanes import Truth, follow, packed

pytestmark = pytest.mark.kernels

ENDS = {"early": 0.0, "late": 10.0}  # of LATER_END


@cache
def truth_of(name: str) -> Truth:
    texts = GAMES | {"pairs": PAIRS}
    return Truth(texts[name] if name in texts else find_rulesheet(name).read_text(encoding="utf-8"))


@cache
def simulator_of(name: str) -> Simulator:
    return truth_of(name).simulator(50)


@pytest.fixture(params=ENDS)
def end(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """When the end of a playout is seen."""
    monkeypatch.setattr(step_module, "LATER_END", ENDS[request.param])
    return str(request.param)


@pytest.mark.parametrize("name", ["turns", "rounds of 3", "fates", "clashes"])
def test_quotas_are_reached_exactly(name: str) -> None:
    for count, quota in product((0, 1, 511, 512, 513, 3000), (200, 512, 1300)):
        tally = simulator_of(name).playouts(count, seed=count, quota=quota)
        assert tally.playouts + tally.capped + tally.stuck == count
        assert name == "fates" or tally.playouts == count


@pytest.mark.parametrize("name", GAMES)
def test_the_same_seed_gives_the_same_playouts(name: str) -> None:
    simulator = simulator_of(name)
    one = simulator.playouts(2000, seed=4, threads=1, quota=300)
    assert one == simulator.playouts(2000, seed=4, threads=2, quota=300)
    compiled = truth_of(name).simulator(50)
    compiled.use(compile_steps(compiled.steps, Cache(None)))
    assert compiled.plan.addresses[: compiled.plan.turns].all()
    assert one == compiled.playouts(2000, seed=4, threads=2, quota=300)


def test_another_seed_gives_other_playouts() -> None:
    tallies = {simulator_of("turns").playouts(2000, seed=seed).goals for seed in range(5)}
    assert len(tallies) > 1
    one, other = (simulator_of("turns").block(1, number, 10).random for number in (0, 1))
    assert not np.intersect1d(one, other).size


def test_machine_code_may_come_in_the_middle() -> None:
    truth = truth_of("tictactoe")
    whole = truth.simulator().playouts(2000, seed=9, quota=2000)
    simulator = truth.simulator()
    lanes = simulator.block(9, 0, 2000)
    assert play(simulator.plan, lanes, 11)
    simulator.use(compile_steps(simulator.steps, Cache(None)))
    while play(simulator.plan, lanes, 1):
        pass
    assert simulator.tally(lanes) == whole


def test_slices_of_any_size_give_the_same() -> None:
    simulator = simulator_of("rounds of 3")
    tallies = set()
    for size in (1, 2, 7, 1000):
        lanes = simulator.block(1, 2, 900)
        while play(simulator.plan, lanes, size):
            pass
        assert not play(simulator.plan, lanes, size)
        tallies.add(simulator.tally(lanes))
    assert len(tallies) == 1


@pytest.mark.parametrize("quota", [5000, UNLIMITED])
def test_playouts_may_be_withdrawn_and_more_be_given(quota: int) -> None:
    simulator = simulator_of("turns")
    lanes = simulator.block(1, 0, quota)
    states = np.repeat(pack(truth_of("turns").compiled.circuit.initial[np.newaxis]), LANES, axis=0)
    play(simulator.plan, lanes, 9)
    drain_lanes(simulator.plan, lanes)
    while play(simulator.plan, lanes, 10):
        pass
    finished = simulator.tally(lanes)
    assert LANES <= finished.playouts < 5000
    assert sum(finished.goals) == 2 * finished.playouts
    lanes.quota[:] = 0
    lanes.quota[100:133] = 1
    load_lanes(simulator.plan, lanes, states)
    while play(simulator.plan, lanes, 10):
        pass
    assert simulator.tally(lanes).playouts == finished.playouts + 33


def test_counters_of_lanes_do_not_overflow() -> None:
    """More ends than a lane's counters in the words can hold."""
    simulator = truth_of("rounds of 2").simulator()
    tally = simulator.playouts(600 * LANES, quota=600 * LANES)
    assert tally.playouts == 600 * LANES
    assert sum(tally.goals) == 2 * 600 * LANES


def test_games_that_never_end_are_given_up(end: str) -> None:
    for text in (ENDLESS, ENDLESS_WITHOUT_FACTS):
        truth = Truth(text)
        for cap in (1, 2, 7, 8, 64):
            tally = truth.simulator(cap).playouts(1500, seed=1, quota=700)
            assert tally == PlayoutTally(0, 1500, 0, 1500 * cap, tally.goals)
            assert not any(tally.goals)


def test_a_playout_of_the_length_of_the_cap(end: str) -> None:
    truth = Truth(SINGLE_MOVES)
    assert truth.simulator(4).playouts(600) == PlayoutTally(600, 0, 0, 1800, (600, 600))
    assert truth.simulator(3).playouts(600) == PlayoutTally(600, 0, 0, 1800, (600, 600))
    assert truth.simulator(2).playouts(600) == PlayoutTally(0, 600, 0, 1200, (0, 0))


def test_each_fate_has_its_own_count(end: str) -> None:
    truth = Truth(FATES)
    simulator = truth.simulator(60)
    lanes = simulator.block(8, 0, 3000)
    history = follow(truth, simulator, lanes)
    tally = simulator.tally(lanes)
    assert history.tally() == tally
    assert sum((tally.playouts, tally.capped, tally.stuck)) == 3000
    for found in (tally.playouts, tally.capped, tally.stuck):
        assert abs(found - 1000) < 4 * sqrt(3000 * 2 / 9)


def test_playouts_from_a_terminal_state() -> None:
    assert Truth(TERMINAL_AT_FIRST).simulator().playouts(700) == PlayoutTally(700, 0, 0, 0, (700, 0))
    assert Truth(NO_FACTS).simulator().playouts(700, quota=100) == PlayoutTally(700, 0, 0, 0, (700, 700))


def test_playouts_from_a_state_without_moves(end: str) -> None:
    assert Truth(STUCK_AT_FIRST).simulator().playouts(700) == PlayoutTally(0, 0, 700, 0, (0, 0))


@pytest.mark.parametrize("cap", [0, -1, (1 << (BIRTH_BITS - 1)) + 1])
def test_caps_have_bounds(cap: int) -> None:
    with pytest.raises(SettingsError, match="a playout may last"):
        truth_of("turns").simulator(cap)
    truth_of("turns").simulator(1 << (BIRTH_BITS - 1))


def test_lanes_may_start_in_states_of_their_own(end: str) -> None:
    truth = Truth(rounds(3, 2, 7))
    interpreter, facts = truth.interpreter, truth.compiled.facts
    starts, fringe = [interpreter.initial_state], [interpreter.initial_state]
    for _ in range(3):  # the starts have to be of phase 0
        fringe = [after for state in fringe if not truth.is_terminal(state) for after in truth.following(state)]
    starts += [state for state in dict.fromkeys(fringe) if not truth.is_terminal(state)]
    assert len(starts) > 4
    flags = np.array([[fact in starts[lane % len(starts)] for lane in range(LANES)] for fact in facts])
    simulator = truth.simulator()
    lanes = simulator.block(1, 0, 1700)
    start = simulator.steps.layout.start
    lanes.words[start : start + len(facts)] = packed(flags)
    history = follow(truth, simulator, lanes)
    assert set(starts) <= history.seen
    assert history.tally() == simulator.tally(lanes)
    assert set(history.lengths) == {1, 4, 7}


@pytest.mark.parametrize("phase", [1, 2])
def test_playouts_may_start_in_another_phase(phase: int, end: str) -> None:
    truth = Truth(rounds(3, 2, 7))
    states = {truth.interpreter.initial_state}
    for _ in range(phase):
        states = {after for state in states if not truth.is_terminal(state) for after in truth.following(state)}
    starts = sorted((state for state in states if not truth.is_terminal(state)), key=str)
    facts = truth.compiled.facts
    simulator = truth.simulator()
    lanes = simulator.block(1, 0, 1200)
    lanes.phase[:] = phase
    flags = np.array([[fact in starts[lane % len(starts)] for fact in facts] for lane in range(LANES)])
    load_lanes(simulator.plan, lanes, pack(flags))
    history = follow(truth, simulator, lanes)
    assert set(starts) <= history.seen
    assert history.tally() == simulator.tally(lanes)
    assert history.playouts == 1200


@pytest.mark.parametrize(
    "name", ["turns", "rounds of 4", "three at once", "fates", "clashes", "recursion", "tictactoe"]
)
def test_late_goals_are_those_at_once(name: str, end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tallies = []
    truth = truth_of(name)
    for gates in (-1, 1_000_000):
        monkeypatch.setattr(step_module, "GOALS_AT_ONCE", gates)
        steps = step_module.make_steps(truth.compiled.circuit, truth.compiled.phases)
        assert (steps.late_goals is None) == (gates > 0)
        simulator = Simulator(steps, truth.compiled.circuit.initial, 50)
        tallies.append(simulator.playouts(3000, seed=2))
    assert tallies[0] == tallies[1]


@pytest.mark.parametrize("name", ["turns", "rounds of 2", "two at once", "fates", "clashes", "tictactoe"])
def test_a_late_end_is_an_early_end(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    truth, count = truth_of(name), 20_000
    tallies = []
    for value in ENDS.values():
        monkeypatch.setattr(step_module, "LATER_END", value)
        steps = step_module.make_steps(truth.compiled.circuit, truth.compiled.phases)
        assert steps.late_end == (value > 1)
        tallies.append(Simulator(steps, truth.compiled.circuit.initial, 200).playouts(count, seed=3))
    one, other = tallies
    for early, late in zip(
        (one.playouts, one.stuck, *one.goals), (other.playouts, other.stuck, *other.goals), strict=True
    ):
        assert abs(early - late) <= 4 * sqrt(2 * count * 0.25)
    if name != "fates":
        assert abs(one.steps - other.steps) / count < 0.06


@pytest.mark.parametrize("name", ["recursion", "pairs", "draughts"])
def test_playouts_of_grouped_moves_are_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggp.circuit.grouped_choice.MOST_RESTS", 1)
    compiled = truth_of(name).compiled
    tallies, instructions = [], []
    for fewest in (0.01, 1_000_000):
        monkeypatch.setattr("ggp.circuit.grouped_choice.FEWEST", fewest)
        steps = step_module.make_steps(compiled.circuit, compiled.phases, compiled.moves)
        instructions.append([len(program.left) for program in steps.phases])
        tallies.append(Simulator(steps, compiled.circuit.initial, 50).playouts(3000, seed=2))
    assert instructions[0] != instructions[1]
    assert tallies[0] == tallies[1]


def mean(truth: Truth, tally: PlayoutTally, role: int) -> float:
    """The mean goal of a role, 0 to 1."""
    first = sum(len(values) for values in truth.compiled.goals[:role])
    values = truth.compiled.goals[role]
    return sum(v * n for v, n in zip(values, tally.goals[first:], strict=False)) / 100 / tally.playouts


@pytest.mark.parametrize(
    ("name", "value", "length", "spread"),
    [
        ("tictactoe", 0.648, 7.6, 1.5),
        ("connectfour", 0.557, None, 0.0),
        ("breakthrough", 0.509, 64.1, 16.0),
        ("reversi", 0.475, 60.4, 2.5),
    ],
)
def test_random_play_has_the_values_that_are_known(
    name: str, value: float, length: float | None, spread: float
) -> None:
    """Known to a digit after the point of a percentage and of a length; the spreads of lengths are upper bounds."""
    truth, count = truth_of(name), 10_000
    tally = truth.simulator().playouts(count, seed=1, threads=2)
    assert tally.playouts == count
    found = [mean(truth, tally, role) for role in (0, 1)]
    assert sum(found) == pytest.approx(1)
    assert abs(found[0] - value) < 0.0005 + 4 * 0.5 / sqrt(count)
    if length is not None:
        assert abs(tally.steps / count - length) < 0.05 + 4 * spread / sqrt(count)


def connect_four_by_hand(random: Random) -> int:
    """The number of discs in a random match."""
    columns: list[list[int]] = [[] for _ in range(7)]
    for disc in range(42):
        x = random.choice([column for column in range(7) if len(columns[column]) < 6])
        y = len(columns[x])
        columns[x].append(disc % 2)
        for dx, dy in ((1, 0), (0, 1), (1, 1), (1, -1)):
            line = 1
            for side in (1, -1):
                a, b = x + side * dx, y + side * dy
                while 0 <= a < 7 and 0 <= b < len(columns[a]) and columns[a][b] == disc % 2:
                    line, a, b = line + 1, a + side * dx, b + side * dy
            if line >= 4:
                return disc + 1
    return 42


def test_matches_of_connect_four_are_as_long_as_those_played_by_hand() -> None:
    random, count, more = Random(1), 4_000, 20_000
    expected = [connect_four_by_hand(random) for _ in range(count)]
    tally = truth_of("connectfour").simulator().playouts(more, seed=5)
    error = stdev(expected) * sqrt(1 / count + 1 / more)
    assert abs(tally.steps / more - fmean(expected)) < 4 * error


def test_a_lane_may_have_many_playouts() -> None:
    truth = truth_of("turns")
    simulator = truth.simulator()
    lanes = make_lanes(simulator.plan, simulator.steps.rows, len(truth.compiled.roles), 1)
    lanes.quota[7] = 70_000
    load_lanes(simulator.plan, lanes, np.repeat(pack(truth.compiled.circuit.initial[np.newaxis]), LANES, axis=0))
    while play_values(simulator.plan, lanes, worth_of(truth.compiled), 1000):
        pass
    assert lanes.done[7] == lanes.done.sum() == 70_000
    assert lanes.values[7].sum() == pytest.approx(70_000)

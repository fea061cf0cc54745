"""Step programs: every step that lanes take is one that the rules allow, and every legal move is as likely."""

from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest

from ggp.kernel import LANES, TALLY_BITS
from ggp.library import find_rulesheet
from ggp.simulation import steps as step_module
from ggp.simulation.playout import play
from ggp.simulation.steps import BIRTH_BITS, QUOTA_BITS
from tests.simulation.games import CLASHES, FATES, GAMES, NO_FACTS, PHASES, TERMINAL_AT_FIRST, TURNS, together
from tests.simulation.lanes import Flags, Truth, follow, unpacked

pytestmark = pytest.mark.kernels

CAP = 12
WITHOUT_GATES = ("no facts", "endless without facts", "stuck at first")
SURE = 3.719  # standard deviations: one time in 10,000


@cache
def truth_of(name: str) -> Truth:
    return Truth(GAMES[name] if name in GAMES else find_rulesheet(name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("later_end", [0.0, 10.0], ids=["end after the step", "end before the next"])
@pytest.mark.parametrize("at_once", [-1, 1_000_000], ids=["goals late", "goals at once"])
@pytest.mark.parametrize("name", GAMES)
def test_every_step_is_legal(name: str, at_once: int, later_end: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_module, "GOALS_AT_ONCE", at_once)
    monkeypatch.setattr(step_module, "LATER_END", later_end)
    truth = Truth(GAMES[name])
    simulator = truth.simulator(CAP if name in ("endless", "endless without facts", "fates") else 1000)
    if name not in WITHOUT_GATES:
        assert simulator.plan.late == (at_once < 0)
        assert simulator.steps.late_end == (later_end > 1 or name == "terminal at first")
    lanes = simulator.block(3, 1, 700)
    history = follow(truth, simulator, lanes)
    assert history.tally() == simulator.tally(lanes)
    assert history.playouts + history.capped + history.stuck == 700


@pytest.mark.parametrize("name", PHASES)
def test_games_have_the_phases_that_are_tested(name: str) -> None:
    assert len(truth_of(name).compiled.phases) == PHASES[name]


@pytest.mark.parametrize(("name", "watched"), [
    ("tictactoe", range(0, 512, 5)), ("connectfour", range(63, 66)), ("biddingtictactoe", range(0, 512, 100)),
    ("reversi", range(511, 512)),
])  # fmt: skip
def test_every_step_of_a_shipped_game_is_legal(name: str, watched: range) -> None:
    truth = truth_of(name)
    simulator = truth.simulator()
    lanes = simulator.block(5, 0, 600)
    history = follow(truth, simulator, lanes, watched)
    assert history.playouts >= len(watched)
    assert history.stuck == history.capped == 0
    assert simulator.tally(lanes).playouts == 600


def test_all_ways_are_gone() -> None:
    truth = truth_of("turns")
    simulator = truth.simulator()
    history = follow(truth, simulator, simulator.block(1, 0, 2000))
    reachable, work = set(), [truth.interpreter.initial_state]
    while work:
        state = work.pop()
        if state not in reachable and not truth.is_terminal(state):
            reachable.add(state)
            work += truth.following(state)
    assert history.seen == reachable


def after_one_step(truth: Truth, blocks: int, seed: int) -> Iterator[Flags]:
    """The states after the first step of each of some blocks, (facts, 512)."""
    simulator = truth.simulator()
    facts = len(truth.compiled.facts)
    for number in range(blocks):
        lanes = simulator.block(seed, number, LANES)
        play(simulator.plan, lanes, 1)
        yield unpacked(lanes.words[1 + facts : 1 + 2 * facts])


def fits(counts: list[int]) -> bool:
    """Whether counts look as likely as each other: chi-square, one in 10,000 fails (Wilson, Hilferty 1931)."""
    expected, freedom = sum(counts) / len(counts), len(counts) - 1
    found = sum((count - expected) ** 2 for count in counts) / expected
    return bool(found <= freedom * (1 - 2 / (9 * freedom) + SURE * (2 / (9 * freedom)) ** 0.5) ** 3)


def test_the_test_of_fit() -> None:
    assert fits([1000, 1010, 985, 1005])
    assert not fits([1000, 1200, 900, 900])


@pytest.mark.parametrize("moves", [*range(2, 18), 61, 155])
def test_moves_of_one_role_are_as_likely(moves: int) -> None:
    truth = Truth(together(1, moves))
    counts: Counter[object] = Counter()
    for states in after_one_step(truth, 20 + moves // 5, moves):
        assert (states.sum(axis=0) == 1).all()
        counts.update(dict(zip(truth.compiled.facts, states.sum(axis=1).tolist(), strict=True)))
    assert len(+counts) == moves
    assert fits([count for count in counts.values() if count])


@pytest.mark.parametrize(("roles", "moves"), [(2, 3), (3, 2), (2, 7), (6, 2)])
def test_roles_choose_independently(roles: int, moves: int) -> None:
    truth = Truth(together(roles, moves))
    names = [f"r{number}" for number in range(roles)]
    counts = dict.fromkeys(product(range(moves), repeat=roles), 0)
    place = {fact: at for at, fact in enumerate(truth.compiled.facts)}
    for states in after_one_step(truth, 30, 7):
        shown = np.stack(
            [np.argmax([states[place[("shown", name, str(move))]] for move in range(moves)], axis=0) for name in names]
        )
        for joint in map(tuple, shown.T.tolist()):
            counts[joint] += 1
    assert fits(list(counts.values()))


MEMORY = """
(role a) (role b) (init (turn a)) (init (tick 0)) (move 0) (move 1) (move 2) (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4)
(<= (legal ?r (put ?x)) (true (turn ?r)) (move ?x)) (<= (legal ?r wait) (role ?r) (not (true (turn ?r))))
(<= (next (turn b)) (true (turn a))) (<= (next (turn a)) (true (turn b))) (<= (next (put ?t ?x)) (true (put ?t ?x)))
(<= (next (put ?t ?x)) (true (tick ?t)) (does ?r (put ?x))) (<= (next (tick ?n)) (true (tick ?t)) (succ ?t ?n))
(<= terminal (true (tick 4))) (goal a 0) (goal b 0)
"""


def test_steps_and_lanes_choose_independently() -> None:
    truth = Truth(MEMORY)
    simulator = truth.simulator()
    facts = truth.compiled.facts
    rows = [[facts.index(("put", str(tick), str(move))) for move in range(3)] for tick in range(4)]
    by_steps, by_lanes = dict.fromkeys(product(range(3), repeat=4), 0), dict.fromkeys(product(range(3), repeat=2), 0)
    for number in range(60):
        lanes = simulator.block(11, number, LANES)
        play(simulator.plan, lanes, 4)
        states = unpacked(lanes.words[1 : 1 + len(facts)])
        chosen = [tuple(step) for step in np.argmax(states[np.array(rows)], axis=1).T.tolist()]
        for steps in chosen:
            by_steps[steps] += 1
        for one, other in pairwise(chosen):
            by_lanes[one[0], other[0]] += 1
    assert fits(list(by_steps.values()))
    assert fits(list(by_lanes.values()))


def test_where_choices_clash_they_are_made_apart() -> None:
    """After `edge` both roles have a choice: all nine pairs have to come, as often as each other."""
    truth = Truth(CLASHES)
    simulator = truth.simulator()
    counts: Counter[tuple[str, ...]] = Counter()
    both = frozenset({("busy", "a"), ("busy", "b"), ("tick", "1"), ("lay", "a", "edge")})
    place = {fact: at for at, fact in enumerate(truth.compiled.facts)}
    start = simulator.steps.layout.start
    for number in range(20):
        lanes = simulator.block(2, number, LANES)
        for fact, at in place.items():
            lanes.words[start + at] = np.uint64(0xFFFFFFFFFFFFFFFF if fact in both else 0)
        play(simulator.plan, lanes, 1)
        states = unpacked(lanes.words[1 + len(place) : 1 + 2 * len(place)])
        for column in states.T:
            state = truth.facts(column)
            counts[tuple(str(fact[2]) for role in "ab" for fact in state if fact[:2] == ("lay", role))] += 1
    assert set(counts) == set(product(("up", "down", "edge"), repeat=2))
    assert fits(list(counts.values()))


def test_rows_do_not_overlap() -> None:
    for text in (TURNS, FATES, NO_FACTS, TERMINAL_AT_FIRST):
        steps = Truth(text).steps
        layout = steps.layout
        starts = [layout.current, layout.following, layout.finished, layout.start]
        assert starts == [1 + at * layout.facts for at in range(4)]
        firsts = list(layout._asdict().values())[2:]
        assert sorted(firsts) == firsts
        marks = [layout.waiting, layout.over, layout.ended, layout.stuck, layout.clash, layout.first_goal]
        assert marks == list(range(marks[0], marks[0] + 6))
        assert layout.first_quota - layout.first_birth >= BIRTH_BITS
        assert layout.first_queue - layout.first_quota >= QUOTA_BITS
        assert layout.first_held - layout.first_queue == len(steps.phases)
        assert layout.first_tally - layout.first_held == layout.goals
        assert layout.first_random - layout.first_tally == layout.goals * TALLY_BITS
        assert layout.first_free <= steps.rows
        for program in (*steps.phases, *steps.apart):
            written = np.where(program.out < 0, ~program.out, program.out)
            kept = (written >= layout.first_free) | np.isin(written, program.outputs)
            assert kept.all()
            assert program.rows <= steps.rows

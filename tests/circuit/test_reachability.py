"""Facts that no match reaches, against all states of small games and against random matches of others."""

from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings

from ggp.circuit import reachability
from ggp.circuit.build import build_circuit
from ggp.circuit.compile import compile_game
from ggp.circuit.reachability import exclusive_groups, find_unreachable, play_randomly
from ggp.errors import GroundingError
from ggp.gdl.logic_program import make_logic_program
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.gdl.state_machine import Facts, StateMachine
from ggp.gdl.terms import Term, to_text
from ggp.grounding import Budget, Clingo, ground
from ggp.grounding.clingo import ClaspRun
from ggp.grounding.rules import restricted
from ggp.interpreter import Interpreter
from ggp.learning.symmetries import find_symmetries
from ggp.search.planning.encodings import PlanQuery, StepEncoder, read_moves
from tests.circuit.agreement import Sample, differences, make_pair
from tests.circuit.test_random_rulesheets import games

pytestmark = pytest.mark.kernels

# A walk on a board of 3 by 3, with numbers that go on to 12 for a counter of steps.
WALK = f"""(role a) (init (at 1 1)) (init (step 0)) {" ".join(f"(succ {n} {n + 1})" for n in range(12))}
    (on 1) (on 2) (on 3) (legal a stay)
    (<= (legal a east) (true (at ?x ?y)) (succ ?x ?n) (on ?n))
    (<= (legal a west) (true (at ?x ?y)) (succ ?n ?x) (on ?n))
    (<= (legal a north) (true (at ?x ?y)) (succ ?y ?n) (on ?n))
    (<= (legal a south) (true (at ?x ?y)) (succ ?n ?y) (on ?n))
    (<= (next (at ?n ?y)) (does a east) (true (at ?x ?y)) (succ ?x ?n))
    (<= (next (at ?n ?y)) (does a west) (true (at ?x ?y)) (succ ?n ?x))
    (<= (next (at ?x ?n)) (does a north) (true (at ?x ?y)) (succ ?y ?n))
    (<= (next (at ?x ?n)) (does a south) (true (at ?x ?y)) (succ ?n ?y))
    (<= (next (at ?x ?y)) (does a stay) (true (at ?x ?y)))
    (<= (next (step ?n)) (true (step ?s)) (succ ?s ?n)) (<= terminal (true (step 7)))
    (<= (goal a 100) (true (at 3 3))) (<= (goal a 0) (not (true (at 3 3))))"""


@pytest.fixture
def tried_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in circuits that are too small for it to pay."""
    monkeypatch.setattr(reachability, "_FEWEST_GATES", 0)
    monkeypatch.setattr(reachability, "_FEWEST", 1)
    monkeypatch.setattr(reachability, "_LEAST_SHARE", 0.0)


def reached(machine: StateMachine, most: int = 5_000) -> set[Facts] | None:
    """All states of all matches; None where these are too many."""
    found, waiting = {machine.initial_state}, [machine.initial_state]
    while waiting:
        state = waiting.pop()
        moves = [machine.legal_moves(state, role) for role in machine.roles]
        if machine.is_terminal(state) or not all(moves):
            continue
        for joint in product(*moves):
            after = machine.next_state(state, joint)
            if after not in found:
                found.add(after)
                waiting.append(after)
        if len(found) > most:
            return None
    return found


def texts(facts: set[Term]) -> set[str]:
    return set(map(to_text, facts))


@pytest.mark.usefixtures("tried_everywhere")
def test_a_piece_does_not_walk_off_the_board_nor_a_counter_go_on_after_the_end() -> None:
    rulesheet = parse_rulesheet(WALK)
    compiled = compile_game(rulesheet)
    states = reached(Interpreter(rulesheet))
    assert states is not None
    assert texts(set(compiled.facts)) == texts({fact for state in states for fact in state})
    assert compiled.report.unreachable == len(ground(make_logic_program(rulesheet)).facts) - len(compiled.facts) > 100
    pair = make_pair(rulesheet)
    for state in states:
        moves = [pair.interpreter.legal_moves(state, role) for role in pair.interpreter.roles]
        for joint in [None] if pair.interpreter.is_terminal(state) else product(*moves):
            assert list(differences(pair.circuit, pair.interpreter, Sample(state, joint))) == []
    off_board = frozenset({("at", "4", "1"), ("step", "0")})  # no state of the circuit: the interpreter answers
    assert "west" in pair.circuit.legal_moves(off_board, "a")
    end = next(state for state in states if ("step", "7") in state)
    assert ("step", "8") in pair.circuit.next_state(end, ("stay",))


@pytest.mark.usefixtures("tried_everywhere")
def test_moves_that_are_legal_off_the_board_only_are_left_out() -> None:
    rules = WALK + "(<= (legal a (shout ?x)) (true (at ?x 1)))"
    compiled = compile_game(parse_rulesheet(rules))
    shouts = [to_text(move) for move in compiled.moves[0] if move[0] == "shout"]
    assert shouts == ["(shout 1)", "(shout 2)", "(shout 3)"]
    assert compiled.circuit.moves == (len(compiled.moves[0]),)


@pytest.mark.usefixtures("tried_everywhere")
def test_rules_without_unreachable_facts_say_the_same() -> None:
    rulesheet = parse_rulesheet(WALK + "(<= (legal a (shout ?x)) (true (at ?x 1)))")
    compiled, rules = compile_game(rulesheet), ground(make_logic_program(rulesheet))
    own = restricted(rules, compiled.facts, compiled.moves)
    assert own is not None
    np.testing.assert_array_equal(play_randomly(build_circuit(own)), play_randomly(compiled.circuit))
    assert restricted(rules, (*compiled.facts, "other"), compiled.moves) is None
    assert restricted(rules, rules.facts, rules.moves) is rules


@pytest.mark.usefixtures("tried_everywhere")
def test_plans_and_symmetries_are_those_of_the_smaller_game() -> None:
    rulesheet = parse_rulesheet(WALK)
    machine = make_pair(rulesheet).circuit
    symmetries = find_symmetries(rulesheet, machine.batches)
    assert symmetries is not None
    assert len(symmetries.roles) == 2  # columns and rows exchanged
    with Clingo() as clingo:
        own = restricted(ground(make_logic_program(rulesheet)), machine.compiled.facts, machine.compiled.moves)
        assert own is not None
        text = StepEncoder(own).text(own.initial, PlanQuery(7, frozenset({100}), ordered=False))
        solver = ClaspRun(clingo, text, 1 << 30)
        assert solver.wait(20)
        assert solver.answer is not None
    state = machine.initial_state
    for move in read_moves(solver.answer):
        state = machine.next_state(state, (machine.compiled.moves[0][move],))
    assert machine.goal(state, "a") == 100


@pytest.mark.unchecked
@pytest.mark.usefixtures("tried_everywhere", "one_clingo")
@given(text=games())
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_fact_that_some_match_reaches_is_called_unreachable(text: str) -> None:
    rulesheet = parse_rulesheet(text)
    try:
        rules = ground(make_logic_program(rulesheet), Budget(seconds=5.0))
        circuit = build_circuit(rules)
    except GroundingError:
        reject()
    states = reached(Interpreter(rulesheet), 300)
    if states is None:
        reject()
    with Clingo() as clingo:
        unreachable = find_unreachable(rules, circuit, clingo, 10.0)
    seen = {fact for state in states for fact in state}
    assert not [to_text(fact) for fact, never in zip(rules.facts, unreachable, strict=True) if never and fact in seen]


def test_random_matches_stay_within_the_states_of_the_game() -> None:
    rulesheet = parse_rulesheet(WALK)
    rules = ground(make_logic_program(rulesheet))
    states = reached(Interpreter(rulesheet))
    assert states is not None
    words = play_randomly(build_circuit(rules))
    bits = (words[:40, :, np.newaxis] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    met = {
        frozenset(rules.facts[number] for number in np.flatnonzero(bits[step, :, lane]))
        for step in range(len(bits))
        for lane in range(64)
    }
    assert met <= states
    assert len(met) > 0.8 * len(states)


def test_groups_have_the_fewest_keys_that_do() -> None:
    facts: list[Term] = [("cell", x, colour) for colour in ("red", "blue") for x in "12"]
    facts += ["over", ("n", "1")]
    states = np.array([[1, 2, 2, 1, 0, 0], [4, 0, 8, 0, 4, 4]], np.uint64)
    # In each state at most one cell is red, and one blue; a cell has one colour.
    assert exclusive_groups(facts, states) == [[0, 2], [1, 3], [0, 1], [2, 3]]
    both = np.array([[1, 1, 0, 0, 0, 0], [0, 0, 2, 0, 0, 0]], np.uint64)  # two red cells
    assert exclusive_groups(facts, both) == [[0, 2], [1, 3]]


@pytest.mark.usefixtures("tried_everywhere")
def test_without_time_nothing_is_claimed() -> None:
    rules = ground(make_logic_program(parse_rulesheet(WALK)))
    with Clingo() as clingo:
        assert not find_unreachable(rules, build_circuit(rules), clingo, 0.0).any()
        assert find_unreachable(rules, build_circuit(rules), clingo, 10.0).any()

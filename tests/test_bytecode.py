"""Bytecode: random matches, room that is made as it is wanted, bounds, and what is left to the interpreter.

Its answers are compared with those of the interpreter in `test_interpreter`, `test_differential` and by `conformance`.
"""

from collections import Counter
from random import Random

import pytest

import ggp
from ggp.engines import make_faster
from ggp.errors import EvaluationError
from ggp.gdl.reader import read_term
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.gdl.state_machine import Playout
from ggp.gdl.terms import Term
from ggp.interpreter import Interpreter, answer_tables, bytecode_machine
from ggp.interpreter.bytecode_machine import BytecodeMachine
from ggp.search.uct import UCT

pytestmark = pytest.mark.kernels

DRAWN = """(role r) (role s) (init start) (value a 0) (value b 50) (value c 100)
(<= (legal ?p ?m) (role ?p) (value ?m ?v)) (<= (next (done ?m)) (does r ?m)) (<= terminal (true (done ?m)))
(<= (goal r ?v) (true (done ?m)) (value ?m ?v)) (goal s 7) (goal s word)"""
COUNTING = """(role r) (legal r on) (init (at 0)) (<= terminal (true (at 40))) (goal r 1)
(<= (next (at ?y)) (true (at ?x)) (s ?x ?y)) (<= (next (was ?x)) (true (at ?x))) (<= (next (was ?x)) (true (was ?x)))
(<= (path ?x ?y) (s ?x ?y)) (<= (path ?x ?z) (path ?x ?y) (s ?y ?z)) (<= (next (reach ?y)) (true (at ?x)) (path ?x ?y))
""" + "".join(f"(s {number} {number + 1})" for number in range(40))
WIDE = "(role r) (legal r on) (<= terminal (true end)) (goal r 1)" + "".join(f"(n {number})" for number in range(60))


def bytecode(rules: str) -> BytecodeMachine:
    return BytecodeMachine(Interpreter(parse_rulesheet(rules)))


def never() -> bool:
    return False


def facts(*texts: str) -> frozenset[Term]:
    return frozenset(map(read_term, texts))


def play(machine: BytecodeMachine | Interpreter, steps: int) -> list[frozenset[Term]]:
    """The states of a match in which the first role makes the first legal move."""
    states = [machine.initial_state]
    for _ in range(steps):
        move = machine.legal_moves(states[-1], machine.roles[0])[0]
        states.append(machine.next_state(states[-1], (move,) * len(machine.roles)))
    return states


def test_moves_of_matches_are_drawn_uniformly() -> None:
    machine, rng = bytecode(DRAWN), Random(3)
    ends = Counter(machine.play_match(machine.initial_state, rng, 9, never) for _ in range(3_000))
    assert {found and found.goals for found in ends} == {(0, 7), (50, 7), (100, 7)}
    assert all(found is not None and (found.steps, found.is_terminal) == (1, True) for found in ends)
    assert all(abs(count - 1_000) < 4 * 26 for count in ends.values())  # four standard deviations


def test_the_same_seed_gives_the_same_matches() -> None:
    machine = bytecode(ggp.load("connectfour", "interpreter").rulesheet.text)
    one, other = (
        [machine.play_match(machine.initial_state, rng, 99, never) for _ in range(9)] for rng in (Random(1), Random(1))
    )
    assert one == other
    assert len(set(one)) > 1


def test_a_match_ends_at_a_state_without_moves_and_at_the_most_steps() -> None:
    machine = bytecode(COUNTING)
    assert machine.play_match(machine.initial_state, Random(1), 99, never) == Playout((1,), 40, is_terminal=True)
    assert machine.play_match(machine.initial_state, Random(1), 7, never) == Playout((1,), 7, is_terminal=False)
    stuck = bytecode(
        "(role r) (init a) (<= (legal r x) (true a)) (<= terminal (true b)) (<= (goal r 3) (not (true a)))"
    )
    assert stuck.play_match(stuck.initial_state, Random(1), 99, never) == Playout((3,), 1, is_terminal=False)


def test_a_match_can_be_stopped_and_the_machine_goes_on() -> None:
    machine = bytecode(WIDE + "(<= (next ?x) (true ?x)) (init a)")
    answers = iter((False, False, True))
    assert machine.play_match(machine.initial_state, Random(1), 10**6, lambda: next(answers)) is None
    assert next(answers, None) is None
    assert machine.legal_moves(machine.initial_state, "r") == ("on",)
    assert machine.next_state(facts("a"), ("on",)) == facts("a")


def test_room_is_made_as_it_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = play(Interpreter(parse_rulesheet(COUNTING)), 40)
    for name in ("memory", "slots", "terms", "stack"):
        sizes = {"memory": 1 << 14, "slots": 1 << 14, "terms": 1 << 14, "stack": 1 << 14, name: 16}
        monkeypatch.setattr("ggp.interpreter.bytecode_machine._FIRST_SIZES", sizes)
        machine = bytecode(COUNTING)
        assert play(machine, 40) == expected
        assert machine.play_match(machine.initial_state, Random(1), 99, never) == Playout((1,), 40, is_terminal=True)


def test_what_takes_too_much_is_an_error_and_the_next_question_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = WIDE + "(<= (q ?a ?b ?c) (n ?a) (n ?b) (n ?c)) (<= (goal r 2) (true many) (q ?a ?b ?c) (distinct ?a ?a))"
    machine = bytecode(rules)
    monkeypatch.setattr(
        "ggp.interpreter.bytecode_machine._MOST", dict.fromkeys(("memory", "slots", "terms", "stack"), 1 << 14)
    )
    with pytest.raises(EvaluationError, match="too much memory"):
        machine.goal(facts("many"), "r")
    assert machine.goal(facts("few"), "r") == 1
    monkeypatch.setattr("ggp.interpreter.bytecode_machine._MAX_SLICES", 1)
    machine = bytecode(rules.replace("(q ?a ?b ?c) (distinct ?a ?a)", "(n ?a) (n ?b) (n ?c) (n ?d) (distinct ?d ?d)"))
    for _ in range(2):
        with pytest.raises(EvaluationError, match="does not end within"):
            machine.goal(facts("many"), "r")
    assert machine.goal(facts("few"), "r") == 1


def test_epochs_begin_again() -> None:
    machine = bytecode(COUNTING)
    expected = play(machine, 9)
    for tier in (answer_tables.STATE_TIER, answer_tables.STEP_TIER):
        machine._machine.control[answer_tables.EPOCH + tier] = answer_tables.LAST_EPOCH - 3
    assert play(machine, 9) == expected
    assert machine._machine.control[answer_tables.EPOCH + answer_tables.STATE_TIER] < 20


def test_terms_that_no_rule_has(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = (
        "(role r) (legal r on) (<= terminal (true end)) (goal r 1) (<= (next ?x) (true ?x)) (<= (next ?m) (does r ?m))"
    )
    machine = bytecode(rules)
    state = facts("(never (heard of) 1 2 3 4 5 6 7 8 9)", "100", "(of)")
    assert machine.next_state(state, (read_term("(this one)"),)) == state | facts("(this one)")
    monkeypatch.setattr("ggp.interpreter.bytecode_machine._KEPT_TERMS", 100)
    for number in range(300):  # more than are kept
        new = facts(f"(number {number})", f"{number}")
        assert machine.next_state(new, ("on",)) == new | {"on"}
    assert int(machine._machine.control[answer_tables.TERMS]) < 200


def test_a_relation_may_be_named_as_nothing_else_is() -> None:
    rules = "(role r) (legal r on) (<= terminal (true end)) (goal r 1) (at/2 a b) (at/2 a c) (go a)"
    rules += "(<= (next (one ?y)) (go ?x) (at/2 ?x ?y)) (<= (next (other ?y)) (go ?x) (true (at ?x ?y)))"
    assert bytecode(rules).next_state(facts("(at a d)"), ("on",)) == facts("(one b)", "(one c)", "(other d)")


def test_rules_with_a_term_that_is_too_long_are_left_to_the_interpreter() -> None:
    long = f"(f {'a ' * 10_000})"
    interpreter = Interpreter(
        parse_rulesheet(f"(role r) (legal r on) (init {long}) (<= terminal (true {long})) (goal r 1)")
    )
    with pytest.raises(EvaluationError, match="beyond 10,000 names"):
        BytecodeMachine(interpreter)
    assert make_faster(interpreter) is interpreter


def test_conditions_are_ordered_by_the_rows_of_static_relations() -> None:
    """Moves to one of two cells next to a piece are asked for, not all cells tried."""
    cells = "".join(f"(cell {number})" for number in range(50)) + "".join(f"(s {i} {i + 1})" for i in range(49))
    rules = (
        cells + "(role r) (init (at 7)) (<= (next (at ?y)) (does r (go ?y))) (<= (next (free ?x)) (cell ?x)) (goal r 1)"
    )
    rules += "(<= (near ?x ?y) (s ?x ?y)) (<= (near ?x ?y) (s ?y ?x)) (<= terminal (true (at 49)))"
    machine = bytecode(rules + "(<= (legal r (go ?y)) (true (at ?x)) (true (free ?y)) (near ?x ?y))")
    state = facts("(at 7)", *(f"(free {number})" for number in range(50)))
    assert machine.legal_moves(state, "r") == (read_term("(go 6)"), read_term("(go 8)"))
    assert bytecode_machine._SLICE - int(machine._machine.control[answer_tables.LEFT]) < 50  # instructions


def test_the_interpreter_answers_what_depends_on_its_own_negation() -> None:
    rules = (
        "(role r) (legal r on) (init x) (<= p (true x) (not q)) (<= q (not p)) (<= (goal r 1) q) (<= terminal (true y))"
    )
    machine = bytecode(rules + "(<= (next y) (true x)) (<= (goal r 2) (true y))")
    with pytest.raises(EvaluationError, match="'p' depends on its own negation"):
        machine.goal(machine.initial_state, "r")
    total = bytecode(
        "(role r) (legal r on) (<= terminal (true y)) (m a b) (m b c) (<= (win ?x) (m ?x ?y) (not (win ?y)))"
        "(m b a) (<= (goal r 9) (win b))"
    )  # a and b read each other, and c decides
    for _ in range(2):
        assert total.goal(frozenset(), "r") == 9


def test_the_reference_search_goes_on_step_by_step_where_a_match_cannot_be_played() -> None:
    rules = "(role r) (legal r a) (legal r b) (m a b) (m b a) (m b c) (<= (win ?x) (m ?x ?y) (not (win ?y)))"
    machine = bytecode(
        rules + "(<= (next ?x) (does r ?x)) (<= terminal (true a)) (<= terminal (win b) (true b))"
        "(<= (goal r 100) (true b)) (<= (goal r 0) (true a)) (init c)"
    )
    matches = (machine.play_match(machine.initial_state, Random(seed), 9, never) for seed in range(20))
    with pytest.raises(EvaluationError, match="depends on its own negation"):
        list(matches)  # one half of them come to b
    result = UCT(machine, "r", Random(1)).search(machine.initial_state, never, 30)
    assert (result.best, result.undecided) == ("b", 0)


def test_the_reference_search_has_whole_matches_played() -> None:
    machine = bytecode(ggp.load("tictactoe", "interpreter").rulesheet.text)
    state = facts(*(f"(cell {x} {y} {mark})" for x, y, mark in [(1, 1, "x"), (1, 2, "x"), (2, 1, "o"), (2, 2, "o")]))
    state |= facts("(control xplayer)", *(f"(cell {x} {y} b)" for x, y in [(1, 3), (2, 3), (3, 1), (3, 2), (3, 3)]))
    result = UCT(machine, "xplayer", Random(1)).search(state, never, 200)
    assert (result.best, result.playouts, result.undecided) == (read_term("(mark 1 3)"), 200, 0)

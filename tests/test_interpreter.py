"""The interpreter by hand-made rulesheets, one for each subtlety of GDL, with the expected results written out.

Bytecode has to give the same answers to all of them.
"""

import re
from typing import Any

import pytest

from ggp.engines import make_machine
from ggp.errors import EvaluationError, RulesheetError, UnknownRoleError
from ggp.gdl.logic_program import make_logic_program
from ggp.gdl.reader import read_term
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.gdl.state_machine import Facts, JointMove
from ggp.gdl.terms import Term, to_text
from ggp.interpreter import Interpreter, ask
from ggp.interpreter.bytecode_machine import BytecodeMachine
from ggp.interpreter.query_planner import MAX_DEPTH
from tests.bytecode_model import by_bytecode

pytestmark = pytest.mark.kernels

FRAME = "(role r) (legal r stay) (goal r 0) (<= terminal (true over))"


class WithBytecode(Interpreter):
    """An interpreter that has bytecode answer each question, too, and compares the answers."""

    def answer(self, state: Facts, query: int, role: str | None = None, joint_move: JointMove | None = None) -> Any:  # noqa: ANN401
        if not hasattr(self, "_bytecode"):
            self._bytecode = BytecodeMachine(Interpreter(self.program.rulesheet))
        try:
            found = super().answer(state, query, role, joint_move)
        except EvaluationError:
            with pytest.raises(EvaluationError):
                self._bytecode.answer(state, query, role, joint_move)
            raise
        other = self._bytecode.answer(state, query, role, joint_move)
        assert other == found if isinstance(found, bool) else sorted(map(to_text, other)) == sorted(map(to_text, found))
        return found


def interpreter(rules: str) -> Interpreter:
    return WithBytecode(parse_rulesheet(rules))


def facts(*texts: str) -> frozenset[Term]:
    return frozenset(map(read_term, texts))


def holds(rules: str, relation: str, arity: int, state: frozenset[Term] = frozenset()) -> list[str]:
    (rows,) = ask(make_logic_program(parse_rulesheet(rules)), [(relation, arity)], state)
    found = sorted(map(to_text, rows))
    assert sorted(map(to_text, by_bytecode(rules, [(relation, arity)], state))) == found
    return found


def play(machine: Interpreter, steps: int) -> None:
    """The first legal move, again and again."""
    state = machine.initial_state
    for _ in range(steps):
        state = machine.next_state(state, machine.legal_moves(state, "r")[:1])


def test_a_step_keeps_only_what_next_says() -> None:
    machine = interpreter(
        FRAME + "(init (on a)) (init (on b)) (init (off c))"
        "(<= (next (on ?x)) (true (on ?x)) (not (does r (hide ?x)))) (<= (legal r (hide ?x)) (true (on ?x)))"
    )
    assert machine.initial_state == facts("(on a)", "(on b)", "(off c)")
    assert machine.legal_moves(machine.initial_state, "r") == (("hide", "a"), ("hide", "b"), "stay")
    assert machine.next_state(machine.initial_state, (("hide", "a"),)) == facts("(on b)")
    assert machine.next_state(machine.initial_state, ("stay",)) == facts("(on a)", "(on b)")


def test_moves_of_several_roles_come_in_the_order_of_the_rulesheet() -> None:
    machine = interpreter(
        "(role second) (role first) (legal second a) (legal first b) (<= terminal (true x))"
        "(goal second 1) (goal first 2)"
        "(<= (next (did ?r ?m)) (does ?r ?m)) (<= (next same) (does ?r ?m) (does ?s ?m) (distinct ?r ?s))"
    )
    assert machine.roles == ("second", "first")
    assert machine.next_state(frozenset(), ("a", "b")) == facts("(did second a)", "(did first b)")
    assert machine.next_state(frozenset(), ("a", "a")) == facts("(did second a)", "(did first a)", "same")


def test_moves_and_facts_may_hold_functions() -> None:
    machine = interpreter(
        FRAME + "(init (at (pos 1 2)))"
        "(<= (legal r (go (pos ?x ?y) ?z)) (true (at (pos ?x ?y))) (or (distinct ?x 1) (distinct ?y 1)) (dir ?z))"
        "(dir n) (<= (next (at ?p)) (does r (go ?p n))) (<= (next (was ?y)) (does r (go (pos 1 ?y) ?d)))"
    )
    move = read_term("(go (pos 1 2) n)")
    assert machine.legal_moves(machine.initial_state, "r") == (move, "stay")
    assert machine.next_state(machine.initial_state, (move,)) == facts("(at (pos 1 2))", "(was 2)")
    assert machine.next_state(machine.initial_state, ("stay",)) == frozenset()


def test_a_whole_fact_can_be_a_variable() -> None:
    machine = interpreter(
        FRAME + "(init a) (init (p b)) (init (q c d)) (<= (next ?f) (true ?f) (not (gone ?f))) (gone a)"
    )
    assert machine.next_state(machine.initial_state, ("stay",)) == facts("(p b)", "(q c d)")


def test_init_and_role_may_be_given_by_rules() -> None:
    machine = interpreter(
        "(<= (role ?x) (player ?x)) (player b) (player a) (<= (init (has ?x ?n)) (role ?x) (n ?n) (not (true (no ?n))))"
        "(n 1) (n 2) (<= (legal ?x pass) (role ?x)) (<= (goal ?x 5) (role ?x)) (<= terminal (true end))"
    )
    assert machine.roles == ("a", "b")
    assert machine.initial_state == facts("(has a 1)", "(has a 2)", "(has b 1)", "(has b 2)")


def test_a_proposition_with_and_without_parentheses_is_the_same() -> None:
    machine = interpreter(FRAME + "(<= (open) (true (p a))) (<= (terminal) open) (<= (goal r 50) (not (open)))")
    assert machine.is_terminal(facts("(p a)"))
    assert not machine.is_terminal(frozenset())
    assert machine.goal_values(frozenset(), "r") == (0, 50)


def test_goals_none_one_or_several() -> None:
    machine = interpreter(
        "(role r) (role s) (legal r a) (legal s a) (<= terminal (true e))"
        "(<= (goal r 100) (true w)) (<= (goal r 7) (true v))"
    )
    assert machine.goal(facts("w"), "r") == 100
    assert machine.goal(facts("w", "v"), "r") is None
    assert machine.goal_values(facts("w", "v"), "r") == (7, 100)
    assert machine.goal(facts("w"), "s") is None
    with pytest.raises(UnknownRoleError, match="the roles are r, s"):
        machine.goal(facts("w"), "t")


def test_negation_reaches_through_every_connective() -> None:
    rules = (
        "(n a) (n b) (n c) (p a) (q a) (q b)"
        "(<= (t1 ?x) (n ?x) (not (and (p ?x) (q ?x)))) (<= (t2 ?x) (n ?x) (not (or (p ?x) (q ?x))))"
        "(<= (t3 ?x) (n ?x) (not (not (p ?x)))) (<= (t4 ?x) (n ?x) (not (distinct ?x b)))"
        "(<= (t5 ?x) (n ?x) (not (distinct ?x ?y)) (p ?y)) (<= (t6 ?x) (n ?x) (or)) (<= (t7 ?x) (n ?x) (or (p ?x)))"
        "(<= (t8 ?x) (n ?x) (or (and (p ?x) (q ?x)) (not (or (p ?x) (not (q ?x))))))"
    )
    expected = {"t1": "bc", "t2": "c", "t3": "a", "t4": "b", "t5": "a", "t6": "", "t7": "a", "t8": "ab"}
    for name, values in expected.items():
        assert holds(rules, name, 1) == [f"({name} {value})" for value in values]


def test_a_negated_condition_with_a_variable_of_its_own_means_there_is_none() -> None:
    rules = "(n a) (n b) (e a c) (e c c) (<= (lonely ?x) (n ?x) (not (e ?x ?y))) (<= empty (not (true (cell ?x ?y))))"
    assert holds(rules, "lonely", 1) == ["(lonely b)"]
    assert holds(rules, "empty", 0) == ["empty"]
    assert holds(rules, "empty", 0, facts("(cell 1 2)")) == []


def test_what_is_negated_as_a_whole() -> None:
    rules = "(p 1 a) (q 1 b) (p 2 a) (q 2 a) (n 1) (n 2) (n 3)"
    rules += "(<= (t1 ?z) (n ?z) (not (and (p ?z ?x) (q ?z ?x)))) (<= (t2 ?z) (n ?z) (not (or (p ?z ?x) (q ?z ?x))))"
    rules += "(<= (t3 ?z) (n ?z) (not (p ?z ?x)) (not (q ?y ?x) ))"
    rules += "(<= (t4 ?z) (n ?z) (not (and (p ?z ?x) (not (q ?z ?x))))) (<= (t5 ?z) (n ?z) (not (not (p ?z ?x))))"
    rules += "(<= (t6 ?z) (n ?z) (not (not (and (p ?z ?x) (q ?z ?x)))) (not (p ?z b)))"
    expected = {"t1": "13", "t2": "3", "t3": "", "t4": "23", "t5": "12", "t6": "2"}
    for name, values in expected.items():
        assert holds(rules, name, 1) == [f"({name} {value})" for value in values]


@pytest.mark.parametrize("outer", ["and", "not (or"])
def test_alternatives_inside_one_sentence_do_not_multiply(outer: str) -> None:
    kind = "or" if outer == "and" else "and"
    parts = " ".join(f"({kind} (true (p{i})) (true (q{i})))" for i in range(60))
    rules = f"(<= found ({outer} {parts}))" + (")" if "not" in outer else "")
    state = facts(*(f"p{i}" for i in range(60)))
    assert holds(rules, "found", 0, state) == ["found"]
    assert holds(rules, "found", 0, state - {"p7"} if outer == "and" else state | {"q7"}) == []


def test_names_of_our_own_collide_with_none_of_the_rulesheet() -> None:
    rules = "(p a) (<= (p ?x) (q ?x)) (q z) (p/facts b) (<= (got ?x) (p/facts ?x)) (or0 c)"
    assert holds(rules, "got", 1) == ["(got b)"]


def test_roles_keep_the_order_of_the_text() -> None:
    rules = "(role x) (role o) extra (<= (role a) extra) (legal x go)"
    assert interpreter(rules).roles == ("x", "o", "a")
    with pytest.raises(RulesheetError, match=r"a role is a constant, not \(pl 1\)"):
        interpreter("(role (pl 1))")


@pytest.mark.parametrize("value", ["101", "9" * 5000, "-1", "1.5", "high", "\u0663"])
def test_a_goal_value_is_a_number_up_to_100(value: str) -> None:
    machine = interpreter(FRAME.replace("(goal r 0)", f"(goal r {value})"))
    assert machine.goal_values(frozenset(), "r") == ()


def test_what_depends_on_moves_is_asked_before_there_are_any() -> None:
    machine = interpreter(FRAME + "(<= (init ?x) (does r ?x)) (init a) (<= (goal r 7) (does r stay))")
    assert machine.initial_state == facts("a")
    assert machine.goal(facts("a"), "r") == 0


def test_terms_that_share_their_parts_meet_a_bound() -> None:
    with pytest.raises(EvaluationError, match="beyond 10,000 names"):
        holds("(p a) (<= (p (f ?x ?x)) (p ?x))", "p", 1)
    chain = "".join(f"(<= (p{i + 1} (f ?x ?x)) (p{i} ?x))" for i in range(40))
    with pytest.raises(EvaluationError, match="beyond 10,000 names"):
        holds("(p0 a)" + chain, "p40", 1)
    machine = interpreter(FRAME + "(init a) (<= (next (f ?x ?x)) (true ?x))")
    with pytest.raises(EvaluationError, match="beyond 10,000 names"):
        play(machine, 40)


def test_growth_through_moves_meets_a_bound() -> None:
    machine = interpreter(FRAME + "(init a) (<= (legal r (m ?x)) (true ?x)) (<= (next ?x) (does r ?x))")
    with pytest.raises(EvaluationError, match=f"beyond {MAX_DEPTH} levels"):
        play(machine, MAX_DEPTH + 2)


def test_growth_under_a_negative_cycle_meets_a_bound() -> None:
    with pytest.raises(EvaluationError, match=f"beyond {MAX_DEPTH} levels"):
        holds("(p a) (<= (p (s ?x)) (p ?x)) (<= (p b) (not (p c)) (p b))", "p", 1)


def test_a_relation_that_holds_for_too_much_meets_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggp.interpreter.interpreter.MAX_ROWS", 1_000)
    monkeypatch.setattr("ggp.interpreter.compiler._MANY_ANSWERS", 1_000)
    rules = "".join(f"(n {i})" for i in range(20)) + "(<= (big ?a ?b ?c) (n ?a) (n ?b) (n ?c))"
    with pytest.raises(EvaluationError, match="'big' holds for more than 1,000"):
        holds(rules, "big", 3)
    alternatives = [f"(or (and (n ?a) (n ?b) (n ?c)) (m ?a ?b ?c {number}))" for number in range(7)]
    rules = rules.replace("(n ?a) (n ?b) (n ?c))", " ".join(alternatives)) + ")"
    with pytest.raises(EvaluationError, match=f"^{re.escape(alternatives[0])} holds for more than 1,000"):
        holds(rules, "big", 3)


SIXTY = "".join(f"(n {i})" for i in range(60))
JOINED = "(n ?a) (n ?b) (n ?c) (n ?d) (n ?e) (n ?f) (n ?g)"
NEVER = "(distinct (f ?a ?b ?c ?d ?e ?f ?g) (f ?a ?b ?c ?d ?e ?f ?g))"
ENDLESS = {
    "a join without answers": f"(<= p {JOINED} {NEVER})",
    "a join of facts": f"(<= p {JOINED.replace('(n ?', '(true (n ?').replace(')', '))')} {NEVER})",
    "questions that fail": f"(<= p {JOINED} (not (q ?a ?b ?c ?d ?e ?f ?g))) (<= (q ?a ?b ?c ?d ?e ?f ?g) {JOINED})",
    "a negated join": f"(<= p (n 1) (not (q 1))) (<= (q ?a) {JOINED} {NEVER})",
    "many loops": f"(<= p {' '.join(f'(n ?v{i})' for i in range(30))} (distinct (f ?v0 ?v29) (f ?v0 ?v29)))",
    "a recursion": "(<= (q ?a ?b ?c ?d ?e) (n ?a) (n ?b) (n ?c) (n ?d) (n ?e))"
    "(<= (q ?a ?b ?c ?d ?e) (q ?b ?a ?c ?e ?d)) (<= p (q ?a ?b ?c ?d ?e) (distinct (f ?a ?e) (f ?a ?e)))",
    "its own negation": f"(<= (q ?a) (n ?a) (not (q x))) (<= (q ?a) {JOINED} (q ?b) {NEVER}) (<= p (q x))",
    "whole facts": "(<= p (true ?a) (true ?b) (true ?c) (true ?d) (true ?e) (true ?f) (distinct (f ?a ?f) (f ?a ?f)))",
}


@pytest.mark.parametrize("rules", ENDLESS.values(), ids=ENDLESS)
def test_every_evaluation_has_a_bound_of_steps(rules: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggp.interpreter.interpreter.MAX_STEPS", 100_000)
    monkeypatch.setattr("ggp.interpreter.interpreter.MAX_ROWS", 100_000)
    with pytest.raises(EvaluationError, match=r"does not end within 100,000 steps|holds for more than"):
        holds(SIXTY + rules, "p", 0, facts(*(f"(n {number})" for number in range(60))))


@pytest.mark.slow
@pytest.mark.parametrize("rules", ENDLESS.values(), ids=ENDLESS)
def test_the_real_bounds_are_met_in_time_and_memory(rules: str) -> None:
    with pytest.raises(EvaluationError):
        holds(SIXTY + rules, "p", 0, facts(*(f"(n {number})" for number in range(60))))


def test_what_is_kept_has_a_bound_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggp.interpreter.interpreter.MAX_BLOCKS", 50_000)
    rules = "(<= p (q ?a ?b ?c ?d)) (<= (q ?a ?b ?c ?d) (n ?a) (n ?b) (n ?c) (n ?d))"
    with pytest.raises(EvaluationError, match="too much memory"):
        holds(SIXTY + rules, "p", 0)


def test_the_count_of_steps_starts_anew_with_each_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggp.interpreter.interpreter.MAX_STEPS", 100_000)
    joined = "(n ?a) (n ?b) (n ?c) (distinct (f ?a ?b ?c) (f ?a ?b ?c))"  # 13,500 of these steps
    rules = f"{SIXTY} (init (at 0)) (<= (next (at ?n)) (true (at ?n))) (<= (legal r x) {joined})"
    machine = interpreter(FRAME + rules)
    state = machine.initial_state
    for _ in range(20):
        assert machine.legal_moves(state, "r") == ("stay",)
        state = machine.next_state(state, ("stay",))


def test_an_evaluation_can_be_told_that_it_is_late() -> None:
    asked: list[bool] = []

    def is_late() -> bool:
        asked.append(True)
        return len(asked) > 2

    rulesheet = parse_rulesheet(f"{FRAME} {SIXTY} (init a) (<= (legal r x) {JOINED} {NEVER})")
    machine = Interpreter(rulesheet, is_late)
    with pytest.raises(EvaluationError, match="takes too long"):
        machine.legal_moves(machine.initial_state, "r")
    assert len(asked) == 3


def test_base_that_grows_meets_a_bound() -> None:
    growing = "(base (f a)) (<= (base (g ?f)) (base ?f))"
    with pytest.raises(EvaluationError, match=f"beyond {MAX_DEPTH} levels"):
        holds(growing, "base", 1)
    with pytest.raises(EvaluationError, match=f"beyond {MAX_DEPTH} levels"):
        interpreter(FRAME + growing + "(<= (init ?f) (base ?f))")


def test_patterns_of_any_depth() -> None:
    deep = "(s " * 98
    state = facts(deep + "b" + ")" * 98)
    rules = f"(<= (found ?x) (true {deep}?x{')' * 98})) (v {deep}a{')' * 98}) (<= hit (v {deep}a{')' * 98}))"
    assert holds(rules, "found", 1, state) == ["(found b)"]
    assert holds(rules, "hit", 0) == ["hit"]


def test_many_alternatives_mean_the_same_as_their_product() -> None:
    alternatives = " ".join(f"(or (p{i} ?x) (q{i} ?x) (r{i} ?x))" for i in range(6))
    rules = f"(n a) (n b) (n c) (<= (all ?x) (n ?x) {alternatives})"
    rules += "".join(f"(p{i} a) (q{i} b)" for i in range(6)) + "".join(f"(r{i} c)" for i in range(5))
    assert holds(rules, "all", 1) == ["(all a)", "(all b)"]


def test_bodies_with_more_conditions_than_python_has_nested_blocks() -> None:
    body = " ".join(f"(e ?x{i} ?x{i + 1})" for i in range(60))
    rules = f"(e a b) (e b a) (e c d) (<= (path ?x0 ?x60 ?x30) {body}) (<= some {body} (distinct ?x0 ?x59))"
    assert holds(rules, "path", 3) == ["(path a a a)", "(path b b b)"]
    assert holds(rules, "some", 0) == ["some"]


GRAPH = "(e a b) (e b c) (e c a) (e d d) (n a) (n b) (n c) (n d)"
REACH = ["(reach a a)", "(reach a b)", "(reach a c)", "(reach b a)", "(reach b b)", "(reach b c)"]


@pytest.mark.parametrize(
    "rules",
    [
        "(<= (reach ?x ?y) (e ?x ?y)) (<= (reach ?x ?z) (e ?x ?y) (reach ?y ?z))",
        "(<= (reach ?x ?y) (e ?x ?y)) (<= (reach ?x ?z) (reach ?x ?y) (e ?y ?z))",
        "(<= (reach ?x ?y) (e ?x ?y)) (<= (reach ?x ?z) (reach ?x ?y) (reach ?y ?z))",
        "(<= (reach ?x ?y) (e ?x ?y)) (<= (reach ?x ?y) (two ?x ?y)) (<= (two ?x ?z) (reach ?x ?y) (reach ?y ?z))",
    ],
)
def test_recursion_to_the_least_fixpoint(rules: str) -> None:
    assert holds(GRAPH + rules, "reach", 2)[:6] == REACH
    assert len(holds(GRAPH + rules, "reach", 2)) == 10
    assert holds(GRAPH + rules + "(<= (from_b ?x) (reach b ?x))", "from_b", 1) == [
        "(from_b a)",
        "(from_b b)",
        "(from_b c)",
    ]
    assert holds(GRAPH + rules + "(<= (far ?x) (n ?x) (not (reach ?x a)))", "far", 1) == ["(far d)"]


def test_long_recursions_and_long_chains_of_rules_overflow_no_stack() -> None:
    length = 5_000
    successors = "".join(f"(s {i} {i + 1})" for i in range(length))
    rules = successors + "(<= (up ?x) (s 0 ?x)) (<= (up ?y) (up ?x) (s ?x ?y)) (<= (last ?x) (up ?x) (not (s ?x ?x)))"
    rules += f"(<= (down 0)) (<= (down ?y) (s ?x ?y) (down ?x)) (<= found (down {length}))"
    assert len(holds(rules, "up", 1)) == length
    assert holds(rules, "found", 0) == ["found"]
    chain = "".join(f"(<= (p{i} ?x) (p{i + 1} ?x) (not (q{i} ?x)))(<= (q{i} ?x) (true (no ?x)))" for i in range(1_100))
    rules = chain + "(<= (p1100 ?x) (true (yes ?x)))"
    assert holds(rules, "p0", 1, facts("(yes a)", "(yes b)", "(no b)")) == ["(p0 a)"]


def test_arithmetic_by_recursion_computes_only_what_is_asked() -> None:
    rules = "".join(f"(s {i} {i + 1})" for i in range(3_000))
    rules += "(<= (add ?x 0 ?x) (number ?x)) (<= (number ?x) (s ?x ?y)) (number 3000)"
    rules += "(<= (add ?x ?y ?z) (s ?y1 ?y) (add ?x ?y1 ?z1) (s ?z1 ?z)) (<= (sum ?z) (add 1000 1500 ?z))"
    assert holds(rules, "sum", 1) == ["(sum 2500)"]


def test_terms_that_grow_without_end_meet_a_bound() -> None:
    with pytest.raises(EvaluationError, match=f"beyond {MAX_DEPTH} levels"):
        holds("(nat z) (<= (nat (s ?x)) (nat ?x))", "nat", 1)
    machine = interpreter(FRAME + "(init (count z)) (<= (next (count (s ?x))) (true (count ?x)))")
    state = machine.initial_state
    for _ in range(MAX_DEPTH - 1):
        state = machine.next_state(state, ("stay",))
    with pytest.raises(EvaluationError, match=f"beyond {MAX_DEPTH} levels"):
        machine.next_state(state, ("stay",))


def test_a_recursion_to_greater_terms_ends_where_other_conditions_bound_them() -> None:
    rules = "(e (f (f a)) x) (e (f a) x) (<= (in ?t) (e ?t ?u)) (q (f (f a)))"
    rules += "(<= (p ?x) (q ?x)) (<= (p ?x) (p (f ?x)) (in (f ?x)))"
    assert holds(rules + "(<= found (p a))", "found", 0) == ["found"]
    assert holds(rules + "(<= found (p b))", "found", 0) == []


def test_after_an_error_the_same_question_is_an_error_again() -> None:
    machine = interpreter(FRAME + "(nat z) (<= (nat (s ?x)) (nat ?x)) (<= (goal r 1) (true go) (nat ?x))")
    for _ in range(2):
        with pytest.raises(EvaluationError):
            machine.goal(facts("go"), "r")
    assert machine.goal(frozenset(), "r") == 0


def test_functions_that_end_are_no_problem() -> None:
    rules = "(<= (num ?x) (list ?x)) (list (cons a (cons b nil))) (<= (num ?t) (num (cons ?h ?t)))"
    assert holds(rules, "num", 1) == ["(num (cons a (cons b nil)))", "(num (cons b nil))", "(num nil)"]


def test_an_unbound_part_of_a_rule_is_named_by_its_text() -> None:
    part = "(and (p ?x) (or (distinct ?e b) (p ?e)))"
    with pytest.raises(RulesheetError, match=rf":1:\d+: no condition binds \?e in {re.escape(part)} \[safety\]"):
        interpreter(f"(role r) (legal r a) (p a) (<= (goal r 1) (not {part})) (<= terminal (true x))")


def test_rules_that_nothing_binds_are_refused_with_their_place() -> None:
    with pytest.raises(RulesheetError) as caught:
        interpreter("(role r)\n(legal r a)\n(<= (goal r ?x)\n (not (true (p ?x))))\n(<= terminal (true x))")
    assert str(caught.value) == "<rulesheet>:3:1: no condition binds ?x in a rule for 'goal' [safety]"


def test_a_rule_whose_role_nothing_binds_is_one_for_all_roles() -> None:
    rules = (
        "(role a) (role b) (<= (legal ?r wait) (not (true (out ?r)))) (<= (goal ?r 50) (true (half ?x)))"
        "(<= (sees ?r (moved ?m)) (does a ?m)) (<= (sees ?x ?x) (or (true (out ?x)) (true all)))"
        "(<= terminal (true all)) (base (out b)) (base (half c)) (base all) (init (out b)) (init (half c))"
        "(<= (next all) (true (half c)))"
    )
    sheet = parse_rulesheet(rules)
    state = facts("(out b)", "(half c)")
    for machine in (Interpreter(sheet), make_machine(sheet, "circuit")):
        assert [machine.legal_moves(state, role) for role in "ab"] == [("wait",), ()]
        assert [machine.goal(state, role) for role in "ab"] == [50, 50]
        told = [machine.percepts(state, ("wait", "wait"), role) for role in "ab"]
        assert [set(each) for each in told] == [{("moved", "wait")}, {("moved", "wait"), "b"}]
    assert holds(rules, "sees", 2, facts("all")) == ["(sees a a)", "(sees b b)"]
    assert holds(rules, "legal", 2) == ["(legal a wait)", "(legal b wait)"]


def test_a_rule_may_leave_a_variable_to_its_callers() -> None:
    rules = "(n a) (n b) (<= (same ?x ?x)) (<= (differ ?x ?y) (not (same ?x ?y)))"
    rules += "(<= (pair ?x ?y) (n ?x) (n ?y) (differ ?x ?y))"
    assert holds(rules, "pair", 2) == ["(pair a b)", "(pair b a)"]
    rules = "(n a) (<= (plus z ?y ?y)) (<= (left ?y) (n ?x) (plus z ?x ?y)) (<= (right ?y) (n ?x) (plus z ?y ?x))"
    assert holds(rules, "left", 1) == ["(left a)"]
    assert holds(rules, "right", 1) == ["(right a)"]
    rules = "(n 0) (n 1) (next_to 0 1) (<= (sum ?x 0 ?x)) (<= (most ?y ?x) (n ?k) (sum ?x ?k ?y))"
    rules += "(<= (sum ?x ?y ?z) (next_to ?v ?y) (next_to ?w ?z) (sum ?x ?v ?w))"
    assert holds(rules + "(<= (below ?x) (most 1 ?x))", "below", 1) == ["(below 0)", "(below 1)"]
    assert holds(rules + "(<= (above ?x) (most ?x 0))", "above", 1) == ["(above 0)", "(above 1)"]
    with pytest.raises(RulesheetError, match="no condition binds"):
        holds(rules + "(<= (both ?x) (most ?x ?y))", "both", 1)


def test_a_negative_cycle_that_no_atom_runs_through_has_a_meaning() -> None:
    machine = interpreter(FRAME.replace("(goal r 0)", "(<= (goal r 100) (true w)) (<= (goal r 0) (not (goal r 100)))"))
    assert machine.goal(facts("w"), "r") == 100
    assert machine.goal(frozenset(), "r") == 0
    rules = "(m a b) (m b c) (m d e) (<= (win ?x) (m ?x ?y) (not (win ?y)))"
    assert holds(rules, "win", 1) == ["(win b)", "(win d)"]


def test_a_true_paradox_is_an_error_of_that_state_only() -> None:
    machine = interpreter(FRAME + "(<= (win ?x) (true (m ?x ?y)) (not (win ?y))) (<= (goal r 9) (win a))")
    assert machine.goal_values(facts("(m a b)"), "r") == (0, 9)
    with pytest.raises(EvaluationError, match="depends on its own negation"):
        machine.goal_values(facts("(m a a)"), "r")


def test_one_name_may_have_several_arities() -> None:
    rules = "(p a) (p a b) p (<= (q ?x) (p ?x)) (<= (q ?y) (p ?x ?y)) (<= (q c) p)"
    rules += "(<= (r ?x) (true (f ?x))) (<= (r ?y) (true (f ?x ?y)))"
    assert holds(rules, "q", 1) == ["(q a)", "(q b)", "(q c)"]
    assert holds(rules, "r", 1, facts("(f 1)", "(f 2 3)", "f")) == ["(r 1)", "(r 3)"]


def test_percepts_follow_sees_or_are_the_joint_move() -> None:
    plain = interpreter(FRAME)
    assert plain.percepts(frozenset(), ("stay",), "r") == ("stay",)
    machine = interpreter(
        "(role r) (role random) (legal r a) (legal random b) (goal r 1) (goal random 1) (<= terminal (true x))"
        "(<= (sees r (heard ?m)) (does random ?m)) (<= (sees r mine) (does r a))"
    )
    assert machine.percepts(frozenset(), ("a", "b"), "r") == (("heard", "b"), "mine")
    assert machine.percepts(frozenset(), ("a", "b"), "random") == ()


def test_symbols_are_data_and_never_code() -> None:
    machine = interpreter(FRAME + """(init ('"]#{x}\\ __import__('os'.system))) (<= (next ?x) (true ?x))""")
    assert machine.next_state(machine.initial_state, ("stay",)) == machine.initial_state
    assert len(machine.initial_state) == 1


def test_a_rulesheet_without_roles_is_refused() -> None:
    with pytest.raises(RulesheetError, match="no role is named"):
        interpreter("(legal r a) (<= terminal (true x))")

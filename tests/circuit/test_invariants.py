"""Facts that do not depend on the moves, in games made by hand."""

from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

from ggp.circuit import invariants
from ggp.circuit.build import build_circuit
from ggp.circuit.invariants import LONGEST_PERIOD, UNKNOWN, KnownValues, find_phases, holds_at_first
from ggp.circuit.network import Circuit
from ggp.gdl.logic_program import make_logic_program
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.gdl.terms import Term, to_text
from ggp.grounding import GroundRules, ground
from ggp.interpreter import Interpreter
from tests.simulation.games import GAMES, rounds

pytestmark = pytest.mark.kernels

END = "(<= terminal (true over)) (goal a 0)"


def built(text: str) -> tuple[GroundRules, Circuit]:
    rules = ground(make_logic_program(parse_rulesheet(text)))
    return rules, build_circuit(rules)


def values(text: str) -> dict[str, list[int]]:
    """By the text of a fact its values in the phases."""
    rules, circuit = built(text)
    phases = find_phases(circuit)
    assert phases.dtype == np.int8
    return {to_text(fact): phases[:, at].tolist() for at, fact in enumerate(rules.facts)}


def ring(length: int) -> str:
    following = " ".join(f"(after {at} {(at + 1) % length})" for at in range(length))
    return (
        f"(role a) (init (at 0)) {following} (legal a x) (legal a y) (<= (next (at ?n)) (true (at ?m)) (after ?m ?n)) "
        f"(<= (next mark) (does a x)) (<= (next over) (true mark) (does a y)) {END}"
    )


def test_alternating_control() -> None:
    found = values(
        f"""(role a) (role b) (init (control a)) (legal a x) (legal a y) (legal b x) (legal b y)
        (<= (next (control a)) (true (control b))) (<= (next (control b)) (true (control a)))
        (<= (next over) (does a x) (does b x)) {END} (goal b 0)"""
    )
    assert found == {"(control a)": [1, 0], "(control b)": [0, 1], "over": [-1, -1]}


def test_control_that_the_rules_give_by_who_has_no_choice() -> None:
    found = values(
        f"""(role a) (role b) (init (control a)) (way x) (way y)
        (<= (legal ?r (go ?x)) (true (control ?r)) (way ?x)) (<= (legal ?r noop) (role ?r) (not (true (control ?r))))
        (<= (next (control ?r)) (does ?r noop)) (<= (next over) (does ?r (go x)) (true seen))
        (<= (next seen) (does ?r (go y))) {END} (goal b 0)"""
    )
    assert found == {"(control a)": [1, 0], "(control b)": [0, 1], "over": [-1, -1], "seen": [-1, -1]}


def test_three_roles() -> None:
    rules, circuit = built(rounds(3, 2, 20))
    phases = find_phases(circuit)
    turns = [[int(phases[phase, rules.facts.index(("turn", f"r{role}"))]) for phase in range(3)] for role in range(3)]
    assert turns == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert len(phases) == 3
    others = [at for at, fact in enumerate(rules.facts) if fact[0] != "turn"]
    assert (phases[:, others] == -1).any(axis=0).all()


def test_what_one_role_alone_changes_is_known_in_the_phases_of_others() -> None:
    """A mark that a makes, with the number of the step; only odd steps are a's, so even marks are never made."""
    steps = " ".join(f"(after {at} {at + 1})" for at in range(1, 6))
    found = values(
        f"""(role a) (role b) (init (control a)) (init (step 1)) {steps}
        (legal a x) (<= (legal a y) (true (control a))) (legal b x)
        (<= (next (control a)) (true (control b))) (<= (next (control b)) (true (control a)))
        (<= (next (step ?n)) (true (step ?m)) (after ?m ?n)) (<= (next fresh) (does a y))
        (<= (next (mark ?n)) (does a y) (true (step ?n))) (<= (next (mark ?n)) (true (mark ?n)))
        (<= terminal (true (mark 5))) (<= terminal (true fresh) (true (step 6))) (goal a 0) (goal b 0)"""
    )
    assert found["fresh"] == [0, -1]
    assert [found[f"(step {at})"] for at in range(1, 7)] == [[-1, 0], [0, -1]] * 3
    assert [found[f"(mark {at})"] for at in (1, 3, 5)] == [[-1, -1]] * 3
    assert [found[f"(mark {at})"] for at in (2, 4)] == [[0, 0]] * 2


def test_more_than_there_is_work_for_leaves_what_is_known_in_all_phases(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = invariants.prove

    def given_up(
        known: invariants.KnownValues, candidates: invariants.Values, *, in_all: bool = True
    ) -> invariants.Values:
        return plain(known, candidates) if in_all else np.full_like(candidates, UNKNOWN)

    text = ring(2).replace("(legal a y)", "(<= (legal a y) (true (at 0)))")
    _, circuit = built(text)
    more = find_phases(circuit)
    monkeypatch.setattr(invariants, "prove", given_up)
    fewer = find_phases(circuit)
    assert ((fewer == more) | (fewer == -1)).all()
    assert np.count_nonzero(fewer >= 0) == 4 < np.count_nonzero(more >= 0)


def test_control_that_depends_on_the_moves_is_no_phase() -> None:
    found = values(
        f"""(role a) (role b) (init (control a)) (legal a x) (legal a again) (legal b x)
        (<= (next (control b)) (true (control a)) (does a x)) (<= (next (control a)) (true (control a)) (does a again))
        (<= (next (control a)) (true (control b))) {END} (goal b 0)"""
    )
    assert found == {"(control a)": [-1], "(control b)": [-1]}


@pytest.mark.parametrize("length", [3, 8, 30, 100])
def test_a_counter_of_steps_is_no_phase(length: int) -> None:
    """Nor is the last number, which stays true after some steps, a constant."""
    steps = " ".join(f"(<= (next (step {at + 1})) (true (step {at})))" for at in range(length))
    last = f"(<= (next (step {length})) (true (step {length})))"
    found = values(f"(role a) (init (step 0)) (legal a x) (legal a y) {steps} {last} {END}")
    assert found == {f"(step {at})": [-1] for at in range(length + 1)}


@pytest.mark.parametrize("length", range(2, LONGEST_PERIOD + 3))
def test_periods(length: int) -> None:
    found = values(ring(length))
    for at in range(length):
        expected = [int(at == phase) for phase in range(length)] if length <= LONGEST_PERIOD else [-1]
        assert found[f"(at {at})"] == expected
    assert set(found["mark"]) == set(found["over"]) == {-1}


def test_constants() -> None:
    found = values(
        f"""(role a) (init stays) (init goes) (init once) (legal a x) (<= (legal a y) (true gone))
        (<= (next stays) (true stays)) (<= (next goes) (true goes) (not (does a x)))
        (<= (next gone) (true gone)) (<= (next gone) (does a y))
        (<= (next needs) (true stays) (true gone)) (<= (next always) (does a x)) {END}"""
    )
    assert found["stays"] == [1]
    assert found["once"] == found["goes"] == found["always"] == [-1]
    assert all(found[name] == [0] for name in ("gone", "needs") if name in found)


def test_constants_beside_phases() -> None:
    text = ring(2).replace("(legal a x)", "(legal a x) (init stays) (<= (next stays) (true stays))")
    found = values(text)
    assert found["stays"] == [1, 1]
    assert found["(at 0)"] == [1, 0]


def test_a_hypothesis_that_holds_for_long_is_not_believed() -> None:
    """The lamp stays on until the counter has gone 99 steps."""
    steps = " ".join(f"(<= (next (step {at + 1})) (true (step {at})))" for at in range(99))
    found = values(
        f"(role a) (init (step 0)) (init lamp) (legal a x) {steps} "
        f"(<= (next lamp) (true lamp) (not (true (step 99)))) (goal a 0) (<= terminal (not (true lamp)))"
    )
    assert found["lamp"] == [-1]


def slow_lamp() -> Circuit:
    """A fact that stays, and 99 that have to be given up one after the other, a round for each."""
    steps = " ".join(f"(<= (next (step {at + 1})) (true (step {at})))" for at in range(99))
    _, circuit = built(
        f"(role a) (init (step 0)) (init stays) (<= (next stays) (true stays)) (legal a x) {steps} (goal a 0) "
        "(<= terminal (true (step 99))) (<= terminal (not (true stays)))"
    )
    return circuit


@pytest.mark.parametrize(("budget", "proves"), [(0, False), (invariants.MOST_WORK, True)])
def test_a_proof_keeps_to_its_work(budget: int, proves: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds: list[int] = []
    plain = invariants.prove

    def counted(known: invariants.KnownValues, candidates: invariants.Values) -> invariants.Values:
        evaluated.clear()
        found = plain(known, candidates)
        rounds.append(len(evaluated) // len(candidates))
        return found

    evaluated: list[object] = []
    follow = invariants.KnownValues.following

    def noted(known: invariants.KnownValues, state: invariants.Values) -> invariants.Values:
        evaluated.append(state)
        return follow(known, state)

    monkeypatch.setattr(invariants, "MOST_WORK", budget)
    monkeypatch.setattr(invariants, "LEAST_ROUNDS", 5)
    monkeypatch.setattr(invariants, "prove", counted)
    monkeypatch.setattr(invariants.KnownValues, "following", noted)
    phases = find_phases(slow_lamp())
    assert (phases >= 0).any() == proves
    assert rounds[0] == 5 if not proves else rounds[0] > 30


@pytest.mark.parametrize("name", GAMES)
def test_what_has_not_changed_is_as_if_evaluated_anew(name: str) -> None:
    """Random states in turn, of which random facts are known."""
    _, circuit = built(GAMES[name])
    random = np.random.default_rng(1)
    known = KnownValues(circuit, circuit.initial.astype(np.int8))
    for _ in range(20):
        state = random.choice(np.array([0, 1, UNKNOWN], np.int8), circuit.facts, p=[0.6, 0.2, 0.2])
        twin, anew = known.copy(), KnownValues(circuit, state)
        found = known.following(state)
        assert np.array_equal(found, anew.following(state))
        assert np.array_equal(found, twin.following(state))
        assert known.work >= anew.work
        assert np.array_equal(found, known.following(state))


def test_recursion_within_a_state() -> None:
    text = ring(3) + "(<= (way ?x) (true (at ?x))) (<= (way ?y) (way ?x) (after ?x ?y)) (<= (next all) (way 0) (way 2))"
    assert values(text)["(at 1)"] == [0, 1, 0]


@pytest.mark.parametrize("name", GAMES)
def test_matches_keep_to_them(name: str) -> None:
    rules, circuit = built(GAMES[name])
    phases: NDArray[np.int8] = find_phases(circuit)
    machine, random = Interpreter(parse_rulesheet(GAMES[name])), Random(1)
    for _ in range(20):
        state = machine.initial_state
        for step in range(40):
            known = dict(zip(rules.facts, phases[step % len(phases)].tolist(), strict=True))
            assert all(value in (-1, int(fact in state)) for fact, value in known.items())
            legal: list[tuple[Term, ...]] = [machine.legal_moves(state, role) for role in machine.roles]
            if machine.is_terminal(state) or not all(legal):
                break
            state = machine.next_state(state, tuple(map(random.choice, legal)))


def test_what_holds_at_first() -> None:
    _, circuit = built("(role a) (init p) (legal a x) (<= (legal a y) (true q)) (<= (next q) (does a y)) (goal a 0)")
    assert [holds_at_first(circuit, int(literal)) for literal in circuit.legal] == [True, False][: len(circuit.legal)]
    assert holds_at_first(circuit, 1)
    assert not holds_at_first(circuit, 0)

"""Terms that hold terms: lists that rules take apart or build, by recursion or from state to state."""

import pytest

from ggp.errors import GroundingError
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.grounding import Budget, exploration, reach
from tests.grounding.agreement import assert_agree
from tests.grounding.test_by_hand import grounded

pytestmark = pytest.mark.usefixtures("one_clingo", "impatient")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first attempt, in which lists have no end, fails sooner."""
    monkeypatch.setattr(reach, "QUICK", Budget(seconds=1.0, rules=10_000))


# A word grows by a letter with each move. Every list can be reversed, so that only those that are asked for count.
WORDS = """
(role r) (letter a) (letter b) (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4)
(init (word nil)) (init (length 0))
(<= (legal r (add ?l)) (letter ?l))
(<= (next (word (cons ?l ?w))) (does r (add ?l)) (true (word ?w)))
(<= (next (length ?m)) (true (length ?n)) (succ ?n ?m))
(<= (append nil ?w ?w) (list ?w))
(<= (append (cons ?l ?v) ?w (cons ?l ?u)) (append ?v ?w ?u) (letter ?l))
(<= (reverse nil nil))
(<= (reverse (cons ?l ?v) ?w) (reverse ?v ?u) (append ?u (cons ?l nil) ?w))
(list nil)
(<= (list (cons ?l ?w)) (letter ?l) (list ?w))
(<= palindrome (true (word ?w)) (reverse ?w ?w))
(<= (goal r 100) palindrome)
(<= (goal r 0) (not palindrome))
(<= terminal (true (length 4)))
"""


def test_lists_are_made_for_what_is_asked() -> None:
    rules = grounded(WORDS)
    assert len(rules.facts) == 5 + 2**5 - 1
    assert assert_agree(parse_rulesheet(WORDS), rules, matches=12, steps=5) == 60


# A move takes the top of one stack and puts it on another. Each stack for itself could grow without end.
STACKS = """
(role r) (stack a) (stack b) (init (on a (cons x (cons y (cons x nil))))) (init (on b nil))
(<= (legal r (move ?d ?p ?q)) (true (on ?p (cons ?d ?rest))) (stack ?q) (distinct ?p ?q))
(<= (legal r wait) (not (true (on b nil))))
(<= (next (on ?p ?rest)) (does r (move ?d ?p ?q)) (true (on ?p (cons ?d ?rest))))
(<= (next (on ?q (cons ?d ?rest))) (does r (move ?d ?p ?q)) (true (on ?q ?rest)))
(<= (next (on ?s ?l)) (does r wait) (true (on ?s ?l)))
(<= terminal (true (on a nil)))
(<= (goal r 100) (true (on a nil)))
(<= (goal r 40) (not (true (on a nil))))
"""


def test_lists_that_only_each_state_bounds() -> None:
    rules = grounded(STACKS)
    assert len(rules.facts) == 4 + 4
    assert assert_agree(parse_rulesheet(STACKS), rules, matches=8, steps=12) > 20


def test_all_roles_move_and_some_rules_do_not_depend_on_the_state() -> None:
    text = STACKS + (
        "(role s) (legal s pass) (<= (legal s (turn ?p)) (stack ?p)) (next seen) (<= (goal s 7) (true seen))"
        "(<= (next (turned ?l)) (does s (turn ?p)) (not (does r wait)) (true (on ?p ?l)))"
    )
    rules = grounded(text)
    assert len(rules.facts) == 4 + 4 + 1 + 4
    assert assert_agree(parse_rulesheet(text), rules, matches=8, steps=12) > 20


def test_too_many_states_of_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exploration, "MAX_STATES", 3)
    with pytest.raises(GroundingError, match="terms can nest without limit"):
        grounded(STACKS, budget=Budget(seconds=5.0, rules=20_000))


def test_a_list_that_grows_for_ever() -> None:
    with pytest.raises(GroundingError, match="terms can nest without limit"):
        grounded(
            "(role r) (init (l nil)) (legal r go) (<= (next (l (s ?l))) (true (l ?l))) (goal r 50)",
            budget=Budget(seconds=2.0, rules=20_000),
        )

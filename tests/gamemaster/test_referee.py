"""Referee: answers in, judged steps out, with nothing but values."""

from time import thread_time

import pytest

import ggp
from gamemaster.faults import make_fault
from gamemaster.referee import REASON_SECONDS, MoveChoice, Outcome, Referee, replacement
from gamemaster.settings import MatchSettings, make_settings
from tests.gamemaster import games

TICTACTOE = ggp.load("tictactoe")


def referee(game: ggp.Game, **settings: object) -> Referee:
    return Referee(game.rulesheet, game.machine, make_settings(seed=3, **settings))


def choice(judge: Referee) -> MoveChoice:
    situation = judge.begin()
    assert isinstance(situation, MoveChoice)
    return situation


def test_legal_answers_are_executed() -> None:
    judge = referee(TICTACTOE)
    executed, following = judge.execute(choice(judge), {"xplayer": ("mark", "1", "1"), "oplayer": "noop"})
    assert executed.joint_move == (("mark", "1", "1"), "noop")
    assert executed.faults == {}
    assert isinstance(following, MoveChoice)
    assert following.step == 1
    assert ("cell", "1", "1", "x") in following.state


def test_an_illegal_answer_is_replaced_and_explained() -> None:
    judge = referee(TICTACTOE, replacement="first")
    executed, _ = judge.execute(choice(judge), {"xplayer": ("mark", "7", "1"), "oplayer": "noop"})
    assert executed.joint_move == (("mark", "1", "1"), "noop")
    fault = executed.faults["xplayer"]
    assert (fault.kind, fault.answer) == ("illegal", "(mark 7 1)")
    assert fault.detail == "(mark 7 1) is not a move of this game"
    assert executed.faults.keys() == {"xplayer"}


INDICES = " ".join(f"(index {number})" for number in range(26))
MANY_INPUTS = f"""
(role a) (role b) (role c) (role d) {INDICES} (init s) (next s) (<= (goal ?r 0) (role ?r)) (<= terminal (true t))
(<= (input ?r (move ?i ?j ?k ?l)) (role ?r) (index ?i) (index ?j) (index ?k) (index ?l))
(<= (legal ?r (move 1 1 1 1)) (role ?r) (true s))
"""  # 1.8 million moves


def test_the_reasons_of_illegal_answers_take_a_bounded_time() -> None:
    game = ggp.load_text(MANY_INPUTS, engine="interpreter")
    judge = referee(game)
    begin = choice(judge)
    began = thread_time()
    executed, following = judge.execute(begin, dict.fromkeys(game.roles, ("fly", "1")))
    assert thread_time() - began < 2 * REASON_SECONDS
    assert [fault.detail for fault in executed.faults.values()] == ["not among the legal moves"] * 4
    assert isinstance(following, MoveChoice)
    began = thread_time()
    executed, _ = judge.execute(following, dict.fromkeys(game.roles, ("fly", "1")))
    assert thread_time() - began < REASON_SECONDS / 10
    assert executed.faults["d"].detail == "(fly 1) is not a move of this game"


def test_a_fault_is_replaced_and_kept() -> None:
    judge = referee(TICTACTOE)
    late = make_fault("timeout", "late")
    begin = choice(judge)
    executed, _ = judge.execute(begin, {"xplayer": late, "oplayer": late})
    assert executed.faults == {"xplayer": late, "oplayer": late}
    assert executed.joint_move[0] in begin.legal["xplayer"]
    assert executed.joint_move[1] == "noop"


def test_random_replacements_follow_from_seed_step_and_role_alone() -> None:
    legal = tuple("abcdefgh")
    chosen = [replacement("random", seed, step, role, legal) for seed in range(9) for step in range(9) for role in "xy"]
    again = [replacement("random", seed, step, role, legal) for seed in range(9) for step in range(9) for role in "xy"]
    assert chosen == again
    assert set(chosen) == set(legal)
    # By hand, so that the rule never changes: SHA-256 of "3 move 5 x" begins with e2825356de511ebc, 4 modulo 8.
    assert replacement("random", 3, 5, "x", legal) == "e"


def test_the_first_replacement_is_the_first_by_text() -> None:
    assert replacement("first", 3, 0, "x", ("(a 1)", "(a 2)")) == "(a 1)"


def test_a_terminal_state_has_the_goals_of_all_roles() -> None:
    judge = referee(games.game(games.OVER))
    assert judge.begin() == Outcome("terminal", None, frozenset({"done"}), {"lonely": None})


def test_the_terminal_state_comes_before_the_step_limit() -> None:
    judge = referee(games.game(games.COUNTDOWN), max_steps=3)
    situation = judge.begin()
    for _ in range(3):
        assert isinstance(situation, MoveChoice)
        _, situation = judge.execute(situation, {"lonely": "tick"})
    assert isinstance(situation, Outcome)
    assert (situation.ending, situation.goals) == ("terminal", {"lonely": 100})


def test_percepts_are_given_only_where_the_rules_have_them() -> None:
    judge = referee(games.game(games.SECRET))
    executed, _ = judge.execute(choice(judge), {"asker": ("ask", "1"), "keeper": ("hide", "1")})
    assert executed.percepts == {"asker": ("warm",), "keeper": (("asked", "1"),)}
    plain = referee(TICTACTOE)
    executed, _ = plain.execute(choice(plain), {"xplayer": ("mark", "1", "1"), "oplayer": "noop"})
    assert executed.percepts == {}


@pytest.mark.parametrize(
    ("field", "value"), [("playclock", 0), ("startclock", -1), ("grace", float("nan")), ("seed", -1)]
)
def test_settings_out_of_range_are_refused_by_name(field: str, value: float) -> None:
    with pytest.raises(ggp.GgpError, match=f"^--{field}: .*, not {value}$"):
        make_settings(**{field: value})


def test_an_unknown_replacement_policy_is_refused_by_name() -> None:
    with pytest.raises(ggp.GgpError, match=r"^--replacement: input should be 'random' or 'first', not 'best'$"):
        make_settings(replacement="best")


def test_each_match_has_a_seed() -> None:
    assert MatchSettings().seed != MatchSettings().seed

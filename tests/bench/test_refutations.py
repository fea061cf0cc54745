"""The kept states are those of matches by the rules, and what is said to lose can be played there."""

import pytest

from ggp.gdl.terms import to_text
from ggp.interpreter import Interpreter
from tests.bench.bridge import read_rulesheet
from tests.bench.contenders import Limit, make_contender
from tests.bench.refutations import Refutation, avoided, machine_of, read_refutations, state_of

ONE_WINS = Refutation(  # x has two in a row; o has to fill it
    "tictactoe", ("(mark 1 1)\tnoop", "noop\t(mark 3 3)", "(mark 1 2)\tnoop"), "oplayer", "(mark 2 2)",
    ("(mark 2 1)", "(mark 2 2)", "(mark 2 3)", "(mark 3 1)", "(mark 3 2)"),
)  # fmt: skip


def test_kept_states_can_be_reached_and_leave_a_choice() -> None:
    kept = read_refutations()
    assert len({(each.game, each.steps) for each in kept}) == len(kept) >= 50
    for each in kept:
        machine = machine_of(each.game)
        legal = set(
            map(to_text, Interpreter(read_rulesheet(each.game)).legal_moves(state_of(machine, each), each.role))
        )
        assert each.played in each.losing
        assert set(each.losing) < legal


def test_a_move_that_is_not_legal_is_told() -> None:
    broken = Refutation("tictactoe", ("(mark 4 4)\tnoop",), "xplayer", "", ())
    with pytest.raises(ValueError, match="not legal"):
        state_of(machine_of("tictactoe"), broken)


def test_what_saves_the_match_counts() -> None:
    machine = machine_of("tictactoe")
    role = machine.roles[1]
    refutation = Refutation(ONE_WINS.game, ONE_WINS.steps, role, ONE_WINS.played, ONE_WINS.losing)
    player = make_contender("mcts", read_rulesheet("tictactoe"))
    assert avoided(player, refutation, Limit(visits=2000), 1)

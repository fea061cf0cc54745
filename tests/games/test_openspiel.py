"""Games that OpenSpiel has too: equal legal moves, ends and returns along random matches."""

from functools import partial

import pytest

from ggp.engines import make_machine
from ggp.gdl.state_machine import StateMachine
from tests.bench.bridge import Bridge, disagreements, line_move, read_rulesheet
from tests.bench.counting_bridges import KALAH, OWARE, ULTIMATE

BRIDGES = {
    "kalah": KALAH,
    "oware": OWARE,
    "ultimatetictactoe": ULTIMATE,
    "boxes2": Bridge("dots_and_boxes(num_rows=2,num_cols=2)", partial(line_move, 2)),
    "boxes3": Bridge("dots_and_boxes(num_rows=3,num_cols=3)", partial(line_move, 3)),
}

ENDS_OF_ITS_OWN = ("oware", "ultimatetictactoe")
"""OpenSpiel ends oware at a repetition, where we count steps; and its version 1.6 ends ultimate tic-tac-toe as a draw
as soon as a small board is won, so legal moves are compared up to there."""


def different(game: str, machine: StateMachine, seed: int) -> list[str]:
    found = list(disagreements(BRIDGES[game], machine, seed))
    return [what for what in found if game not in ENDS_OF_ITS_OWN or "only one is at its end" not in what]


@pytest.mark.slow
@pytest.mark.parametrize("game", sorted(BRIDGES))
def test_both_play_by_the_same_rules_in_many_matches(game: str) -> None:
    pytest.importorskip("pyspiel", reason="OpenSpiel is not installed: pip install open_spiel")
    machine = make_machine(read_rulesheet(game), "circuit")
    assert not [what for seed in range(1000) for what in different(game, machine, seed)]


@pytest.mark.parametrize("game", ["boxes2", "ultimatetictactoe"])
def test_both_play_by_the_same_rules(game: str) -> None:
    pytest.importorskip("pyspiel", reason="OpenSpiel is not installed: pip install open_spiel")
    machine = make_machine(read_rulesheet(game), "interpreter")
    assert not [what for seed in range(2) for what in different(game, machine, seed)]

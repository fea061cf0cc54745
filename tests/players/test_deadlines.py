"""Stage 9, services: answers leave in time. The long form is `python -m tests.bench.deadlines`."""

import os

from tests.bench.deadlines import busy, play, stops

MOVES = int(os.environ.get("GGP_DEADLINE_MOVES", "4"))
PLAYCLOCK = 1


def test_answers_leave_in_time_and_the_clock_is_used() -> None:
    with busy(2 if MOVES > 4 else 0):
        measured = play("breakthrough", MOVES, (6, PLAYCLOCK), "--memory", "64")
    assert len(measured.all) == MOVES
    assert max(measured.all) < PLAYCLOCK, measured
    assert all(seconds >= 0.8 * PLAYCLOCK for seconds in measured.unsettled), measured
    assert measured.unsettled


def test_search_stops_when_it_is_told_to() -> None:
    assert stops("tictactoe", 5)[-1] < PLAYCLOCK

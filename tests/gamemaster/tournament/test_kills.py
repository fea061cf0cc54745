"""A manager that is killed: the short form of `python -m tests.bench.chaos`."""

from pathlib import Path

import pytest

from tests.bench.chaos import Event, run_chaos


@pytest.mark.parametrize(("kills", "rounds"), [(2, 1), pytest.param(3, 2, marks=pytest.mark.slow)])
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc to find the processes that are left")
def test_nothing_is_lost_or_doubled_and_nobody_left_when_the_manager_is_killed(
    kills: int, rounds: int, tmp_path: Path
) -> None:
    # Starting bots is what takes time here: four of them play all matches, not one for each match.
    tally = run_chaos(tmp_path, kills=kills, event=Event(rounds=rounds, limits="{matches = 2}"), seed=1)
    assert tally.is_good, tally
    assert tally.kills == kills
    assert tally.results % (12 * rounds) == 0

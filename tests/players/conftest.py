"""What several tests of players need."""

from collections.abc import Iterator

import pytest

from tests.players.doubles import StuckNim, ThreadWorker


@pytest.fixture
def machines() -> Iterator[list[StuckNim]]:
    """Stuck machines: the end of the test releases them, and fails when only their patience had an end."""
    made: list[StuckNim] = []
    yield made
    for machine in made:
        machine.released.set()
    assert not any(machine.overslept for machine in made)


@pytest.fixture(autouse=True)
def workers() -> list[ThreadWorker]:
    """Those of the test, in the order in which they were made."""
    ThreadWorker.made = []
    return ThreadWorker.made

"""What several tests of players need."""

from collections.abc import Iterator

import pytest

from tests.players.doubles import PATIENCE, StuckNim, ThreadWorker


@pytest.fixture
def machines() -> Iterator[list[StuckNim]]:
    """Stuck machines: the end of the test releases them, and fails when only their patience had an end."""
    made: list[StuckNim] = []
    yield made
    for machine in made:
        machine.released.set()
    assert not any(machine.overslept for machine in made)


@pytest.fixture(autouse=True)
def workers() -> Iterator[list[ThreadWorker]]:
    """Those of the test, in the order in which they were made; all are ended, as on a clock that stands still one may
    think for ever, and every later test would share the processor with it.
    """
    made = ThreadWorker.made = list[ThreadWorker]()
    yield made
    for worker in made:
        worker.kill()
    assert all(worker.has_ended.wait(PATIENCE) for worker in made)

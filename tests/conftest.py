"""Settings of the whole suite, and what tests of several parts share."""

import os
import signal
from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from ggp.grounding import Clingo

# What a shell starts in the background ignores Ctrl-C, and so does all that it starts; programs under test must not.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples in every run, and no deadlines: a suite that fails by chance is not believed. To look for new ones:
# HYPOTHESIS_PROFILE=explore pytest tests/test_differential.py
settings.register_profile("fixed", max_examples=300, derandomize=True, deadline=None)
settings.register_profile("explore", max_examples=3_000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


# Files that take longest, by what they start: the later one of them begins, the longer it may be alone at the end.
_LONGEST = (
    "test_browser.py",
    "test_reading.py",
    "test_signals.py",
    "test_kills.py",
    "test_serve_command.py",
    "test_tournament_commands.py",
    "test_readme.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files begin first, in this order."""
    order = {name: number for number, name in enumerate(_LONGEST)}
    items.sort(key=lambda item: order.get(item.path.name, len(order)))


@pytest.fixture(scope="session")
def clingo() -> Iterator["Clingo"]:
    from ggp.grounding import Clingo  # noqa: PLC0415 - loads numba, which most tests do not need

    with Clingo() as running:
        yield running


@pytest.fixture(scope="module")
def one_clingo(clingo: "Clingo") -> Iterator[None]:
    """All groundings of the module share one process: loading clingo takes longer than grounding a small rulesheet."""
    with pytest.MonkeyPatch.context() as patch:
        for user in ("ggp.grounding.grounder", "ggp.circuit.compile"):
            patch.setattr(f"{user}.Clingo", lambda: nullcontext(clingo))
        yield

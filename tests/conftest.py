"""Settings of the whole suite, and what tests of several parts share."""

import asyncio
import gc
import os
import signal
from collections.abc import Generator, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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


@dataclass(frozen=True)
class Failures:
    """Prints each failure as it happens, so that a run that is killed has reported it."""

    terminal: pytest.TerminalReporter

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            texts = f"\nFAILED {report.nodeid} ({report.when})", report.longreprtext, *map("\n".join, report.sections)
            self.terminal.write_line("\n".join(texts))


@pytest.hookimpl(trylast=True)  # the terminal comes first
def pytest_configure(config: pytest.Config) -> None:
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None:  # there is none in a worker
        config.pluginmanager.register(Failures(terminal))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that took too long says where its coroutines wait: the stack shows the event loop only."""
    report = yield
    if call.excinfo is not None and "from pytest-timeout" in str(call.excinfo.value):
        tasks = [one for one in gc.get_objects() if isinstance(one, asyncio.Task) and not one.done()]
        report.sections.append(("coroutines", "\n".join(place for task in tasks for place in _places(task))))
    return report


def _places(task: "asyncio.Task[Any]") -> Iterator[str]:
    """What a task awaits, outermost first."""
    yield task.get_name()
    waiting: Any = task.get_coro()
    while waiting is not None:
        frame = getattr(waiting, "cr_frame", None) or getattr(waiting, "gi_frame", None)
        yield f"  {frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_name}" if frame else f"  {waiting!r}"
        waiting = getattr(waiting, "cr_await", None) or getattr(waiting, "gi_yieldfrom", None)


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

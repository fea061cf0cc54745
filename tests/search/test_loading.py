"""Stage 6: what `load_kernels` leaves out would be compiled within a match, where no answer can wait for it."""

import gc
import subprocess
import sys
import time
from dataclasses import replace

import pytest

import ggp
from ggp.learning.learner import Learner
from ggp.protocol.messages import Play, Start
from ggp.search.expert_iteration import ExpertMatches
from ggp.search.loading import load_kernels
from ggp.search.mcts.search import BatchedMcts, SearchSettings
from ggp.simulation.state_machine import CircuitMachine
from players.settings import PlayerSettings
from players.strategy import Thought
from players.thinker import Thinker, make_interpreter
from tests.simulation.games import PAIRS

SECONDS = 0.7  # of thought for each game
SHIPPED = ("tictactoe", "connectfour", "breakthrough", "biddingtictactoe", "dotsandboxes", "kuhnpoker", "darkhex")
SWITCHES = 24


def switches() -> str:
    """A puzzle that breadth-first search does not solve: all searches for one role have their turn."""
    numbers = range(SWITCHES)
    lines = [
        "(role r) (init (step 0))",
        *(f"(succ {number} {number + 1}) (legal r (flip {number}))" for number in numbers),
    ]
    lines += [f"(<= (next (on {n})) (does r (flip {n}))) (<= (next (on {n})) (true (on {n})))" for n in numbers]
    lines += ["(<= (next (step ?y)) (true (step ?x)) (succ ?x ?y))", f"(<= terminal (true (step {SWITCHES})))"]
    lines += [f"(<= (goal r 100) {' '.join(f'(true (on {number}))' for number in numbers)})"]
    lines += [f"(<= (goal r {number}) (not (true (on {number}))))" for number in (0, 1)]
    return "\n".join(lines)


def loaded_later() -> set[str]:
    """The kernels that matches need although `load_kernels` has not loaded them."""
    load_kernels()
    before = kernels()
    for rules in (switches(), PAIRS, *(ggp.load(name, "interpreter").rulesheet.text for name in SHIPPED)):
        role = ggp.load_text(rules, engine="interpreter").roles[0]
        settings = PlayerSettings("mcts", seed=1, memory=64)
        thinker = Thinker(Start("m", role, rules, 10, 10), settings, make_interpreter)
        thinker.ponder(thinker.state, None, Thought(time.monotonic, time.monotonic() + SECONDS))
        thought = Thought(time.monotonic, time.monotonic() + SECONDS, wants_evaluation=True)
        thinker.choose(Play("m", None), None, thought)
        thinker.forget()
    search_with_knowledge()
    learn_from_search()
    return kernels() - before


def search_with_knowledge() -> None:
    """By priors and values of a net, in a game where not all is proven at once."""
    machine = ggp.load("breakthrough", "circuit").machine
    assert isinstance(machine, CircuitMachine)
    net = Learner(machine.batches, memory_bytes=2**24).net
    for weight in (0.5, 1.0):  # of values: with playouts, and without
        search = BatchedMcts(machine, SearchSettings(memory_bytes=2**24))
        search.adopt(replace(search.settings, prior_weight=1.0, value_weight=weight), net)
        search.run(lambda: False, 256)
        search.close()


def learn_from_search() -> None:
    """Expert iteration."""
    machine = ggp.load("tictactoe", "circuit").machine
    assert isinstance(machine, CircuitMachine)
    learner = Learner(machine.batches, memory_bytes=2**22)
    samples = ExpertMatches(machine, 2**22).play(learner.net, 0, lambda: False)
    assert samples is not None
    learner.imitate(samples, 1024)


def kernels() -> set[str]:
    """All that are there as machine code, with what they take."""
    from numba.core.dispatcher import Dispatcher  # noqa: PLC0415 - only where this runs as a program

    found = [each for each in gc.get_objects() if isinstance(each, Dispatcher)]
    own = [each for each in found if each.py_func.__module__.startswith("ggp.")]
    return {f"{each.py_func.__module__}.{each.py_func.__name__}{taken}" for each in own for taken in each.signatures}


@pytest.mark.unchecked
@pytest.mark.kernels
def test_no_match_needs_a_kernel_that_was_not_loaded_before() -> None:
    command = [sys.executable, "-c", "from tests.search.test_loading import loaded_later; print(loaded_later())"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "set()\n", done.stdout + done.stderr

"""All kernels of the searches, used once on games that are as small as can be.

They come from the disk, or are compiled where they are not there, in two processes: `python -m ggp.search.loading` does
the second half. LLVM does one thing at a time in a process: while it makes machine code of a large game, which may take
minutes, no kernel can be loaded. So this goes first.
"""

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from random import Random
from threading import Lock, Thread

import numpy as np

from ggp.cache import Cache, is_warm, kernel_folder, mark_warm
from ggp.circuit.compile import compile_game
from ggp.circuit.reachability import play_randomly
from ggp.engines import make_machine
from ggp.equilibrium.backward_induction import BackwardInduction
from ggp.equilibrium.merged import MergedSolver
from ggp.equilibrium.solving import EquilibriumSolver
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.gdl.state_machine import SupportsPlayouts
from ggp.grounding.clingo import GroundProgram
from ggp.grounding.tables import Table
from ggp.kernel import vector_bits
from ggp.learning.contest import Contest
from ggp.learning.learner import Learner
from ggp.learning.symmetries import find_symmetries
from ggp.search.ismcts import InformationSetSearch
from ggp.search.mcts.concessions import expected_values
from ggp.search.mcts.search import BatchedMcts, SearchSettings
from ggp.search.mcts.solver import BackgroundProof
from ggp.search.mcts.tree import ROOT
from ggp.search.planning.beam import Beam, fuzzy_values, make_cone
from ggp.search.planning.hindsight import Hindsight
from ggp.search.planning.pattern_databases import PatternSearch
from ggp.search.planning.planner import Planner
from ggp.simulation.assembler import NARROW, assemble
from ggp.simulation.belief import Belief
from ggp.simulation.expansion import make_expansion
from ggp.simulation.machine_code import functions
from ggp.simulation.state_machine import CircuitMachine
from ggp.simulation.steps import make_steps

_ALONE = """
(role one) (init (step 0)) (succ 0 1) (succ 1 2) (legal one a) (legal one b)
(<= (next (step ?n)) (true (step ?m)) (succ ?m ?n)) (<= (next mark) (does one b)) (<= terminal (true (step 2)))
(<= (goal one 100) (true mark)) (<= (goal one 0) (not (true mark)))
"""
_TOGETHER = _ALONE + "(role two) (legal two a) (legal two b) (goal two 50)"
_IN_TURN = _ALONE + "(role two) (legal two a) (<= (goal two 0) (true mark)) (<= (goal two 100) (not (true mark)))"
_HIDDEN = _TOGETHER + "(<= (sees one told) (does two a))"
_GROUPED = """
(role one) (init (last 0)) (number 0) (number 1) (number 2) (number 3) (number 4) (number 5) (number 6) (number 7)
(<= (legal one (pick ?x ?y)) (number ?x) (number ?y) (not (true (last ?x))))
(<= (next (last ?x)) (does one (pick ?x ?y))) (<= terminal (true (last 1))) (goal one 100)
"""
_LEAST_BYTES = 2**20
_PROOF_BYTES = 2**22
_VISITS = 64
_ADVANCES = 8  # of a beam
_LONGEST = 4  # moves of a line
_VISITED = 256  # states of a run of a beam


@cache
def load_kernels() -> None:
    """Once in a process; after it, no search compiles anything but machine code of its game."""
    with _compiling():
        _write_out()
        _evaluate_bytecode()
        _search_together()
        _search_in_turn()
    _load_other_half()
    mark_warm()


def _load_other_half() -> None:
    _learn()
    _search_alone()
    _solve()


@contextmanager
def _compiling() -> Iterator[None]:
    """Where kernels have to be compiled, one process does it while others wait; a second one does half of it."""
    if is_warm():
        yield
        return
    with (kernel_folder() / "compiling").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # until the file is closed, and that is at the latest when this process ends
        if is_warm() or (os.cpu_count() or 1) == 1:
            yield
            return
        command = [sys.executable, "-P", "-m", "ggp.search.loading"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as second:  # noqa: S603 - ours
            try:
                yield
                second.wait()
            finally:
                second.kill()


def _write_out() -> None:
    """What only larger rulesheets need of grounding, planning and choices."""
    for order in ("C", "F"):
        Table(("x", "y"), np.zeros((2, 2), np.int64, order)).count(("x",))
    GroundProgram().text()
    grouped = _machine(_GROUPED).compiled
    make_steps(grouped.circuit, grouped.phases, grouped.moves)


def _evaluate_bytecode() -> None:
    """A question of each kind, and a playout."""
    machine = make_machine(parse_rulesheet(_HIDDEN, "kernels"), "bytecode")
    assert isinstance(machine, SupportsPlayouts)
    start = machine.initial_state
    machine.legal_moves(start, "one")
    machine.play_match(start, Random(0), 1, lambda: False)  # noqa: S311 - not for secrets


def _search_together() -> None:
    """A tree search where roles choose at once, with all that tuning may try."""
    machine = _machine(_TOGETHER, Cache(None))  # so that it is grounded
    play_randomly(machine.compiled.circuit)  # as circuits of some size are
    settings = SearchSettings(memory_bytes=_LEAST_BYTES)
    search = BatchedMcts(machine, settings)
    start = machine.initial_state
    search.run(lambda: False, _VISITS)
    search.go_to(machine.next_state(start, ("a", "a")))
    search.run(lambda: False, _VISITS)
    search.go_to(start)
    for role in machine.roles:
        search.result(role)
        search.principal_variation(role, None, 1)
        machine.goal(start, role)
        machine.percepts(start, ("a", "a"), role)
    simulator = machine.simulator()
    simulator.playouts(1)
    if vector_bits() >= NARROW:  # that of so small a game is left to LLVM
        assemble(functions(simulator.steps), simulator.steps.layout.facts, vector_bits())
    tried = BatchedMcts(machine, replace(settings, retrograde=False, threads=2))
    tried.run(lambda: False, _VISITS)
    for role in machine.roles:
        tried.variations(role, 1)
    tried.close()


def _search_in_turn() -> None:
    """A tree search of two opposed roles, and proofs: one by all states, one by proof numbers."""
    machine = _machine(_IN_TURN)
    start = machine.initial_state
    solved = BatchedMcts(machine, SearchSettings(memory_bytes=_LEAST_BYTES, proof=False))
    for state in (start, machine.next_state(start, ("a", "a")), start):
        solved.go_to(state)
        solved.run(lambda: False, _VISITS)
    in_turn = BatchedMcts(machine, SearchSettings(memory_bytes=_LEAST_BYTES, retrograde=False, proof=False))
    proof = BackgroundProof(machine, _PROOF_BYTES)
    proof.go_to_root(in_turn.tree)
    in_turn.run(lambda: False, _VISITS)
    expected_values(in_turn.tree, in_turn.parameters, 0, int(in_turn.tree.numbers[ROOT]))
    proof.work(in_turn.tree, Lock(), lambda: False, is_alone=False)


def _learn() -> None:
    """Self-play, fitting, matches between nets, and a search with what was learned."""
    for rules in (_TOGETHER, _IN_TURN):
        machine = _machine(rules)
        symmetries = find_symmetries(machine.rulesheet, machine.batches, cache=Cache(None))
        learner = Learner(machine.batches, memory_bytes=_LEAST_BYTES, symmetries=symmetries)
        while learner.progress().batches == 0:
            learner.run_slice(1)
        Contest(machine.batches).play(learner.net, learner.net, 0, lambda: False)
    settings = SearchSettings(memory_bytes=_LEAST_BYTES, retrograde=False, proof=False)
    # A root that has its moves gets priors at once, but so small a game is proven then; a new tree has leaves to value.
    for visits, value_weight in ((_VISITS, 0.5), (0, 1.0)):  # with playouts, and without
        search = BatchedMcts(machine, settings)
        search.run(lambda: False, visits)
        search.adopt(replace(settings, prior_weight=1.0, value_weight=value_weight), learner.net)
        search.run(lambda: False, _VISITS)


def _solve() -> None:
    """An equilibrium, where roles are told moves and where they are told percepts; a belief, and a search from it."""
    belief = Belief(_machine(_HIDDEN), "one")
    belief.advance("a", ())
    search = InformationSetSearch(_machine(_HIDDEN), "one", _LEAST_BYTES)
    search.run(belief, lambda: False, 1)
    search.result(belief)
    for rules in (_TOGETHER, _HIDDEN):
        solver = EquilibriumSolver(_machine(rules))
        solver.run(lambda: False, 1)
        solver.report()
    hidden = _machine(_HIDDEN)
    EquilibriumSolver(hidden, edge=lambda states: hidden.play_out(states, 1)).run(lambda: False, 1)
    merged = MergedSolver(_machine(_HIDDEN), memory_bytes=_LEAST_BYTES)
    while merged.iterations == 0:
        merged.advance()
    merged.values()
    merged.best_response("one")
    states = BackwardInduction(_machine(_IN_TURN), memory_bytes=_LEAST_BYTES)
    while not states.is_solved:
        states.advance()
    states.strategies(0)


def _search_alone() -> None:
    """All searches for one role: of the planner, the first one finds everything in a game so small."""
    machine = _machine(_ALONE)
    planner = Planner(machine, budget_bytes=_LEAST_BYTES, threads=1)
    planner.search(machine.initial_state, lambda: False)
    planner.close()
    root = machine.packed(machine.initial_state)
    assert root is not None
    beam = Beam(machine.batches, make_expansion(machine.batches), root, _LEAST_BYTES, 0)
    hindsight = Hindsight(len(machine.compiled.facts), root.shape[1], 0)
    states, parents = np.repeat(root, _VISITED, axis=0), np.arange(-1, _VISITED - 1, dtype=np.int32)
    hindsight.take(states, parents, np.arange(_VISITED))
    hindsight.advance()
    hindsight.add_values(states, np.zeros(_VISITED))
    patterns = PatternSearch(machine.batches, root, _LONGEST, 0)
    for _ in range(_ADVANCES):
        beam.advance(1)
    fuzzy_values(make_cone(machine.compiled.circuit), root, np.zeros(1))
    while not patterns.is_over:
        patterns.advance()


def _machine(rules: str, cache: Cache | None = None) -> CircuitMachine:
    rulesheet = parse_rulesheet(rules, "kernels")
    return CircuitMachine(rulesheet, compile_game(rulesheet, cache=cache))


def _end_with_parent() -> None:
    """The end of the process that waits for this one closes our standard input."""
    os.read(0, 1)
    os._exit(1)


if __name__ == "__main__":
    Thread(target=_end_with_parent, daemon=True).start()
    _load_other_half()

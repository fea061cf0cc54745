"""All kernels of the searches, used once on games that are as small as can be.

They come from the disk, or are compiled where they are not there. LLVM does one thing at a time: while it makes machine
code of a large game, which may take minutes, no kernel can be loaded. So this goes first.
"""

from functools import cache
from threading import Lock

from ggp.circuit.compile import compile_game
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.search.mcts.search import Search, SearchSettings
from ggp.search.mcts.solver import BackgroundProof
from ggp.search.planning.planner import Planner
from ggp.simulation.state_machine import CircuitMachine

_ALONE = """
(role one) (init (step 0)) (succ 0 1) (succ 1 2) (legal one a) (legal one b)
(<= (next (step ?n)) (true (step ?m)) (succ ?m ?n)) (<= (next mark) (does one b)) (<= terminal (true (step 2)))
(<= (goal one 100) (true mark)) (<= (goal one 0) (not (true mark)))
"""
_TOGETHER = _ALONE + "(role two) (legal two a) (legal two b) (goal two 50)"
_IN_TURN = _ALONE + "(role two) (legal two a) (<= (goal two 0) (true mark)) (<= (goal two 100) (not (true mark)))"
_LEAST_BYTES = 2**20
_PROOF_BYTES = 2**22
_VISITS = 64


@cache
def load_kernels() -> None:
    """Once in a process."""
    machine = _machine(_TOGETHER)
    search = Search(machine, SearchSettings(memory_bytes=_LEAST_BYTES))
    start = machine.initial_state
    search.run(lambda: False, _VISITS)
    search.go_to(machine.next_state(start, ("a", "a")))
    search.run(lambda: False, _VISITS)
    search.go_to(start)
    for role in machine.roles:
        search.result(role)
    in_turn = Search(_machine(_IN_TURN), SearchSettings(memory_bytes=_LEAST_BYTES, retrograde=False, proof=False))
    in_turn.run(lambda: False, 1)
    proof = BackgroundProof(in_turn.machine, _PROOF_BYTES)
    proof.go_to_root(in_turn.tree)
    proof.work(in_turn.tree, Lock(), lambda: False, is_alone=False)
    alone = _machine(_ALONE)
    planner = Planner(alone, budget_bytes=_LEAST_BYTES, threads=1)
    planner.search(alone.initial_state, lambda: False)
    planner.close()


def _machine(rules: str) -> CircuitMachine:
    rulesheet = parse_rulesheet(rules, "kernels")
    return CircuitMachine(rulesheet, compile_game(rulesheet))

"""What a role did and was told → histories that agree with it, found by clingo on the ground rules of all steps.

A belief of particles may lose all its worlds, above all where others choose among very many moves: what agrees with
everything is then too rare to be found by drawing. As a question to a solver it is one more constraint for each step.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ggp.errors import GroundingError
from ggp.gdl.logic_program import make_logic_program
from ggp.gdl.terms import Term
from ggp.grounding import Budget, Clingo, GroundRules, ground
from ggp.grounding.clingo import ClaspRun, GroundProgram, filled, make_template
from ggp.grounding.rules import NEVER, restricted
from ggp.simulation.state_machine import CircuitMachine

_MOST_LITERALS = 20_000_000  # of a program
_WAIT_SECONDS = 0.01
_RANDOM_SHARE = "0.5"  # of the solver's choices, so that histories differ

Told = tuple[Term, Sequence[Term]]
"""the role's move in a step, and what it was told after it"""


class HistorySearch:
    """For one role of a game with `sees`; used by one thread. It is a context manager, which ends the solver."""

    def __init__(self, machine: CircuitMachine, role: str, memory_bytes: int, seed: int = 0) -> None:
        self._machine, self._role = machine, machine.roles.index(role)
        self._memory_bytes, self._seed = memory_bytes, seed
        self._clingo = Clingo()
        self._encoder: _HistoryEncoder | None = None

    def __enter__(self) -> "HistorySearch":
        self._clingo.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self._clingo.close()

    def find(self, heard: Sequence[Told], count: int, stop: Callable[[], bool]) -> NDArray[np.int32]:
        """(n, T, R) the joint moves of up to `count` different histories, as numbers of moves of each role.

        n is 0 where there is none, where the rules are too large, or where `stop()` came first.
        """
        game = self._machine.compiled
        none = np.zeros((0, len(heard), len(game.roles)), np.int32)
        encoder = self._encoder or self._make_encoder()
        if stop() or encoder is None or encoder.literals * (len(heard) + 1) > _MOST_LITERALS:
            return none
        own, told = game.moves[self._role], game.percepts[self._role]
        if any(move not in own or not set(percepts) <= set(told) for move, percepts in heard):
            return none
        steps = [(own.index(move), {told.index(percept) for percept in percepts}) for move, percepts in heard]
        options = (f"--models={count}", "--project=show", "--restart-on-model", f"--seed={self._seed % 2**31}",
                   f"--rand-freq={_RANDOM_SHARE}")  # fmt: skip
        run = ClaspRun(self._clingo, encoder.text(steps), self._memory_bytes, options)
        while not run.wait(_WAIT_SECONDS) and not stop():
            pass
        run.close()
        found = np.zeros((len(run.answers), *none.shape[1:]), np.int32)
        for number, answer in enumerate(run.answers):
            for name in answer:
                step, role, move = map(int, name.split(":"))
                found[number, step, role] = move
        return found

    def _make_encoder(self) -> "_HistoryEncoder | None":
        """None where the rules cannot be written out again as they were."""
        game = self._machine.compiled
        try:
            program = make_logic_program(self._machine.rulesheet)
            rules = ground(program, Budget(memory=self._memory_bytes), clingo=self._clingo)
        except GroundingError:
            return None
        own = restricted(rules, game.facts, game.moves)
        if own is not None and own.percepts == game.percepts:
            self._encoder = _HistoryEncoder(own, self._role)
        return self._encoder


class _HistoryEncoder:
    """Programs for one role: the ground rules once for each step, and what the role did and was told."""

    def __init__(self, rules: GroundRules, role: int) -> None:
        self._rules, self._role = rules, role
        counts = [len(moves) for moves in rules.moves]
        self._first_move = np.cumsum([0, *counts])
        percepts = [len(told) for told in rules.percepts]
        first = sum(percepts[:role])
        self._percepts = rules.percept_atoms[first : first + percepts[role]]
        ends = np.array([rules.terminal])
        self._step = make_template(
            rules, np.concatenate([rules.next, rules.legal, self._percepts, ends]).astype(np.int64)
        )
        self._end = make_template(rules, ends.astype(np.int64))

    @property
    def literals(self) -> int:
        """About how many numbers a program has for each step."""
        return len(self._step.numbers) + 10 * int(self._first_move[-1])

    def text(self, steps: Sequence[tuple[int, set[int]]]) -> bytes:
        """The program; steps: the number of the role's move, and the percepts that it was told, all others not.

        Answers name the joint moves as `step:role:move`.
        """
        rules, program = self._rules, GroundProgram()
        facts, never, stride = len(rules.facts), 1, rules.atom_count
        atoms = np.arange(stride, dtype=np.int64) + 2  # 1 is an atom without rules
        program.rows(1, 0, 1, atoms[np.flatnonzero(rules.initial)], 0, 0)
        for step, (own, told) in enumerate(steps):
            program.statements(filled(self._step, atoms))
            if rules.terminal != NEVER:
                program.constraint(int(atoms[rules.terminal]))
            self._write_moves(program, step, own, atoms)
            for number, atom in enumerate(self._percepts.tolist()):
                program.constraint(int(atoms[atom]) if number not in told else -int(atoms[atom]))
            following = np.arange(stride, dtype=np.int64) + 2 + (step + 1) * stride
            following[:facts] = np.where(rules.next == NEVER, never, atoms[rules.next])
            atoms = following
        program.statements(filled(self._end, atoms))
        if rules.terminal != NEVER:
            program.constraint(int(atoms[rules.terminal]))
        return program.text()

    def _write_moves(self, program: GroundProgram, step: int, own: int, atoms: NDArray[np.int64]) -> None:
        """One legal move of each role, that of ours as it was."""
        first_move = self._first_move
        moves, legal = atoms[len(self._rules.facts) :], atoms[self._rules.legal]
        for role in range(len(first_move) - 1):
            chosen = range(int(first_move[role]), int(first_move[role + 1]))
            if role == self._role:
                chosen = range(chosen[own], chosen[own] + 1)
            for move in chosen:
                program.choice(int(moves[move]), int(legal[move]))
                program.show(f"{step}:{role}:{move - int(first_move[role])}", int(moves[move]))
            own_moves = [int(moves[move]) for move in chosen]
            program.at_most_one(own_moves)
            program.constraint(*(-move for move in own_moves))

"""A state → answer set programs whose models are moves that reach a goal: in steps, or as a set without an order.

`StepEncoder` writes the ground rules once for each step up to a horizon; a fact of a step is the atom of its `next` in
the step before.

`order_free_text` serves the many puzzles that are filled in rather than played: each move sets some facts and leaves
all others as they are, so what counts is which moves are made. A plan in steps repeats all rules at each of them, and
has each set of moves in all its orders; here the rules of the end are written once, and those of each move's legality
once, in the state in which all others are made. The caller has to find the order: that there is one, or that a move
changes nothing else, is not promised.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.assembly import Assembly
from ggp.circuit.network import INPUT, LOOP, Circuit
from ggp.circuit.schedule import mark_needed
from ggp.errors import GroundingError
from ggp.grounding.clingo import GroundProgram, filled, make_template
from ggp.grounding.rules import NEVER, GroundRules

_MOST_GATES = 5_000_000
_MOST_WORK = 300_000_000  # nodes read to find the effects


def read_moves(answer: Iterable[str]) -> list[int]:
    """The numbers of the moves that an answer set names as `step:move`, in the order of the steps."""
    named = (name.split(":") for name in answer)
    return [move for _, move in sorted((int(step), int(move)) for step, move in named)]


# Plans in steps.


@dataclass(frozen=True, slots=True)
class PlanQuery:
    """Which plans are asked for."""

    horizon: int  # steps at most
    goals: frozenset[int]  # values, one of which is to hold at the end
    ordered: bool  # whether a move that was legal before must not have a lower number than the move before it


class StepEncoder:
    """Programs for one game with one role."""

    def __init__(self, rules: GroundRules) -> None:
        self.rules = rules
        self._facts, self._moves = len(rules.facts), len(rules.moves[0])
        view = [*rules.legal.tolist(), rules.terminal, *rules.goal_atoms.tolist()]
        self._step = make_template(rules, np.array([*rules.next.tolist(), *view]))
        self._end = make_template(rules, np.array(view[self._moves :]))
        first_own = rules.atom_count + 1  # the numbers before it are atoms, from 1 on
        self._over, self._won, self._above = first_own, first_own + 1, first_own + 2
        self._stride = first_own + 2 + self._moves + 1
        self._never = 1  # an atom without rules

    @property
    def literals(self) -> int:
        """About how many numbers a program has for each step of its horizon."""
        return len(self._step.numbers) + 10 * self._moves

    def text(self, state: NDArray[np.bool_], query: PlanQuery) -> bytes:
        """The program; state: (F,) of the ground rules. Answers name the moves as `step:move`."""
        program = GroundProgram()
        atoms = np.arange(self.rules.atom_count, dtype=np.int64) + 1 + self._base(0)
        program.rows(1, 0, 1, atoms[np.flatnonzero(state)], 0, 0)
        for step in range(query.horizon + 1):
            last = step == query.horizon
            program.statements(filled(self._end if last else self._step, atoms))
            self._write_outcome(program, step, atoms, query)
            following = self._following(step, atoms)
            if not last:
                self._write_choice(program, step, atoms)
                if query.ordered and step + 1 < query.horizon:
                    self._write_order(program, step, atoms, following)
            atoms = following
        program.constraint(*(-(self._base(step) + self._won) for step in range(query.horizon + 1)))
        for step in range(query.horizon):
            for move in range(self._moves):
                program.show(f"{step}:{move}", self._base(step) + 1 + self._facts + move)
        return program.text()

    def _base(self, step: int) -> int:
        return self._never + step * self._stride

    def _following(self, step: int, atoms: NDArray[np.int64]) -> NDArray[np.int64]:
        """(atoms,) what each atom of the ground rules is called at the next step."""
        found = np.arange(self.rules.atom_count, dtype=np.int64) + 1 + self._base(step + 1)
        found[: self._facts] = np.where(self.rules.next == NEVER, self._never, atoms[self.rules.next])
        return found

    def _write_outcome(self, program: GroundProgram, step: int, atoms: NDArray[np.int64], query: PlanQuery) -> None:
        """Whether the match is over at a step, and was won there."""
        base = self._base(step)
        over, won = base + self._over, base + self._won
        if self.rules.terminal != NEVER:
            terminal = int(atoms[self.rules.terminal])
            program.rule(over, terminal)
            before = () if step == 0 else (-(over - self._stride),)
            for value, atom in zip(self.rules.goals[0], self.rules.goal_atoms.tolist(), strict=True):
                if value in query.goals:
                    program.rule(won, terminal, int(atoms[atom]), *before)
        if step:
            program.rule(over, over - self._stride)

    def _write_choice(self, program: GroundProgram, step: int, atoms: NDArray[np.int64]) -> None:
        """One legal move unless the match is over."""
        over = self._base(step) + self._over
        moves = atoms[self._facts : self._facts + self._moves]
        program.rows(1, 1, 1, moves, 0, 2, atoms[self.rules.legal], -over)
        program.at_most_one(moves.tolist())
        program.constraint(-over, *(-moves).tolist())

    def _write_order(
        self, program: GroundProgram, step: int, atoms: NDArray[np.int64], following: NDArray[np.int64]
    ) -> None:
        """No move after one that is numbered higher, if it was legal before, unless it ends the match."""
        above = self._base(step) + self._above + np.arange(self._moves)  # above[m]: a move from m on is done
        over = self._base(step + 2) + self._over
        moves = slice(self._facts, self._facts + self._moves)
        program.rows(1, 0, 1, above, 0, 1, atoms[moves])
        program.rows(1, 0, 1, above[:-1], 0, 1, above[1:])
        program.rows(1, 0, 0, 0, 4, following[moves][:-1], atoms[self.rules.legal][:-1], above[1:], -over)


# Plans without an order.


@dataclass(frozen=True, slots=True, eq=False)
class Effects:
    """What moves do: (M, F) whether move m makes fact f true, or false; facts that change of themselves are in none."""

    makes: NDArray[np.bool_]
    ends: NDArray[np.bool_]
    plain: NDArray[np.bool_]  # (M,) whether the move changes nothing else
    free: NDArray[np.bool_]  # (F,) facts that change whatever the move, as counters do


def find_effects(circuit: Circuit) -> Effects | None:
    """The effects of legal moves of the only role; None when the circuit is too large to say."""
    facts, moves = circuit.facts, sum(circuit.moves)
    if moves * len(circuit.left) > _MOST_WORK:
        return None
    assembly = Assembly(len(circuit.left) + min(_MOST_GATES, moves * len(circuit.left)) + 1024)
    inputs = assembly.inputs(facts)
    found = np.empty((moves, facts), np.int64)
    for move in range(moves):
        done = np.zeros(moves, np.int64)
        done[move] = 1
        try:
            found[move] = assembly.copy(circuit, np.concatenate([inputs, done]), circuit.next)
        except GroundingError:
            return None
    makes, ends, stays = found == 1, found == 0, found == inputs
    free = (found == found[:1]).all(axis=0) & ~stays.all(axis=0) & ~makes.all(axis=0) & ~ends.all(axis=0)
    plain = (makes | ends | stays | free).all(axis=1)
    return Effects(makes & ~free, ends & ~free, plain, free)


def order_free_text(circuit: Circuit, effects: Effects, state: NDArray[np.bool_], goals: NDArray[np.int64]) -> bytes:
    """The program; state: (F,); goals: indices of the goal values wanted. Answers name the moves as `0:move`.

    GroundingError when it would be too large.
    """
    facts, moves = circuit.facts, sum(circuit.moves)
    assembly = Assembly(len(circuit.left) + _MOST_GATES)
    finals = assembly.inputs(facts)
    nothing = np.zeros(moves, np.int64)
    ends = np.array([circuit.terminal, *circuit.goals[goals].tolist()], np.int32)
    outputs = assembly.copy(circuit, np.concatenate([finals, nothing]), ends)
    legal = np.zeros(moves, np.int64)
    usable = np.flatnonzero(effects.plain)
    for move in usable.tolist():
        touched = effects.makes[move] | effects.ends[move]
        before = np.where(touched, state.astype(np.int64), finals)
        cone = np.array([circuit.legal[move]], np.int32)
        legal[move] = assembly.copy(circuit, np.concatenate([before, nothing]), cone)[0]
    if len(assembly.loops.results):
        raise GroundingError("recursion within a state")
    usable = usable[legal[usable] != 0]
    atoms = {move: assembly.size + 1 + move for move in np.flatnonzero(legal).tolist()}
    program = GroundProgram()
    _write_gates(program, assembly)
    _write_facts(program, circuit, effects, state, atoms)
    for move, atom in atoms.items():
        program.choice(atom)
        program.show(f"0:{move}", atom)
        if legal[move] != 1:
            program.constraint(atom, -_literal(int(legal[move])))
    program.constraint(-_literal(int(outputs[0])))
    program.constraint(*(-_literal(int(goal)) for goal in outputs[1:]))
    return program.text()


def _literal(literal: int) -> int:
    """Node n is atom n + 1, so that no atom is 0; node 0 is false: it has no rule."""
    atom = (literal >> 1) + 1
    return -atom if literal & 1 else atom


def _write_gates(program: GroundProgram, assembly: Assembly) -> None:
    for node, (left, right) in enumerate(zip(assembly.left.tolist(), assembly.right.tolist(), strict=True)):
        if left in (INPUT, LOOP):
            continue
        a, b = _literal(left), _literal(right)
        if left < right:
            program.rule(node + 1, a, b)
        else:
            program.rule(node + 1, a, -b)
            program.rule(node + 1, -a, b)


def _write_facts(
    program: GroundProgram, circuit: Circuit, effects: Effects, state: NDArray[np.bool_], atoms: dict[int, int]
) -> None:
    """Which facts hold in the end (fact f is node 1 + f, so atom 2 + f), and which moves exclude each other."""
    for fact in np.flatnonzero(effects.free).tolist():
        program.choice(2 + fact)
    moves = np.array(list(atoms), np.int64)
    reads = _reads(circuit, moves)
    spare = max(atoms.values(), default=0) + sum(circuit.moves) + 1
    for fact in np.flatnonzero(~effects.free).tolist():
        made, ended = spare + 2 * fact, spare + 2 * fact + 1
        for move in moves[effects.makes[moves, fact]].tolist():
            program.rule(made, atoms[move])
        ending = moves[effects.ends[moves, fact]]
        for move in ending.tolist():
            program.rule(ended, atoms[move])
        program.rule(2 + fact, -ended if state[fact] else made)
        program.constraint(made, ended)
        consuming = [atoms[move] for move in ending[reads[np.isin(moves, ending), fact]].tolist()]
        if state[fact] and len(consuming) > 1:
            program.at_most_one(consuming)


def _reads(circuit: Circuit, moves: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(moves, F) whether the legality of each reads a fact."""
    found = np.empty((len(moves), circuit.facts), np.bool_)
    for row, move in enumerate(moves):
        cone = np.array([circuit.legal[move]], np.int32)
        needed = mark_needed(circuit.left, circuit.right, circuit.loops.results, cone)
        found[row] = needed[1 : 1 + circuit.facts]
    return found

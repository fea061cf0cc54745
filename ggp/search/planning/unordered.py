"""A state → an answer set program whose models are sets of moves that reach a goal whatever their order.

Many puzzles are filled in rather than played: each move sets some facts and leaves all others as they are, so what
counts is which moves are made. A plan in steps repeats all rules at each of them, and has each set of moves in all its
orders; here the rules of the end are written once, and those of each move's legality once, in the state in which all
others are made. The order is for the caller to find: that there is one, or that a move changes nothing else, is not
promised.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.assembly import Assembly
from ggp.circuit.circuit import Circuit
from ggp.circuit.network import INPUT, LOOP
from ggp.circuit.schedule import mark_needed
from ggp.errors import GroundingError

_MOST_GATES = 5_000_000
_MOST_WORK = 300_000_000  # nodes read to find the effects


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


def unordered_text(circuit: Circuit, effects: Effects, state: NDArray[np.bool_], goals: NDArray[np.int64]) -> bytes:
    """The program; state: (F,); goals: indices of the goal values wanted. Names are the numbers of moves, after 0:.

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
    lines = ["asp 1 0 0", *_gates(assembly), *_facts(circuit, effects, state, atoms)]
    for move, atom in atoms.items():
        lines += [f"1 1 1 {atom} 0 0", f"4 {len(str(move)) + 2} 0:{move} 1 {atom}"]
        if legal[move] != 1:
            lines.append(f"1 0 0 0 2 {atom} {-_literal(int(legal[move]))}")
    lines.append(f"1 0 0 0 1 {-_literal(int(outputs[0]))}")
    wanted = [str(-_literal(int(goal))) for goal in outputs[1:]]
    lines.append(f"1 0 0 0 {len(wanted)} {' '.join(wanted)}")
    return ("\n".join(lines) + "\n0\n").encode()


def _literal(literal: int) -> int:
    """Node n is atom n + 1, so that no atom is 0; node 0 is false: it has no rule."""
    atom = (literal >> 1) + 1
    return -atom if literal & 1 else atom


def _gates(assembly: Assembly) -> list[str]:
    lines = []
    for node, (left, right) in enumerate(zip(assembly.left.tolist(), assembly.right.tolist(), strict=True)):
        if left in (INPUT, LOOP):
            continue
        a, b = _literal(left), _literal(right)
        if left < right:
            lines.append(f"1 0 1 {node + 1} 0 2 {a} {b}")
        else:
            lines += [f"1 0 1 {node + 1} 0 2 {a} {-b}", f"1 0 1 {node + 1} 0 2 {-a} {b}"]
    return lines


def _facts(circuit: Circuit, effects: Effects, state: NDArray[np.bool_], atoms: dict[int, int]) -> list[str]:
    """Which facts hold in the end (fact f is node 1 + f, so atom 2 + f), and which moves exclude each other."""
    lines = [f"1 1 1 {2 + fact} 0 0" for fact in np.flatnonzero(effects.free)]
    moves = np.array(list(atoms), np.int64)
    reads = _reads(circuit, moves)
    spare = max(atoms.values(), default=0) + sum(circuit.moves) + 1
    for fact in np.flatnonzero(~effects.free).tolist():
        made, ended = spare + 2 * fact, spare + 2 * fact + 1
        lines += [f"1 0 1 {made} 0 1 {atoms[move]}" for move in moves[effects.makes[moves, fact]].tolist()]
        ending = moves[effects.ends[moves, fact]]
        lines += [f"1 0 1 {ended} 0 1 {atoms[move]}" for move in ending.tolist()]
        lines.append(f"1 0 1 {2 + fact} 0 1 {-ended if state[fact] else made}")
        lines.append(f"1 0 0 0 2 {made} {ended}")
        consuming = [atoms[move] for move in ending[reads[np.isin(moves, ending), fact]].tolist()]
        if state[fact] and len(consuming) > 1:
            weighted = " ".join(f"{atom} 1" for atom in consuming)
            lines.append(f"1 0 0 1 2 {len(consuming)} {weighted}")
    return lines


def _reads(circuit: Circuit, moves: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(moves, F) whether the legality of each reads a fact."""
    found = np.empty((len(moves), circuit.facts), np.bool_)
    for row, move in enumerate(moves):
        cone = np.array([circuit.legal[move]], np.int32)
        needed = mark_needed(circuit.left, circuit.right, circuit.loops.results, cone)
        found[row] = needed[1 : 1 + circuit.facts]
    return found

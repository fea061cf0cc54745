"""Decisive moves as gates: moves by which a role ends the match at once, at its highest goal value or at its lowest.

For each move the next state's `terminal` and goals are worked out with that move fixed, where no other role has a
choice: constants fold away, and what is left is shared with all other gates. Moves are looked at only where the match
is not over, so what would end it is false, and only where they are legal. Decisive moves in playouts: Teytaud and
Teytaud (2010).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.assembly import Assembly
from ggp.circuit.choice import ConditionalChoice, find_turn, possible_moves
from ggp.circuit.network import Circuit, Ids, Literals, both, either
from ggp.circuit.schedule import Program, make_program, mark_needed

MOST_WORK = 30_000_000  # gates that are copied for all moves of a phase; more takes seconds
QUICK_WORK = 5_000_000  # of all phases, where that is waited for
MOST_AHEAD_GATES = 20_000  # of a phase, for states that get their moves …
MOST_AHEAD_RATIO = 6.0  # … or so many for each one of the circuit
ALWAYS_ROOM = 300_000  # gates that may be made when moves are fixed; not all are needed in the end
MOST_GATES = 16  # likewise, for each one of the circuit

_NONE = -1


class Aims(NamedTuple):
    """For each role the goal value that it wants, and the one that it wants least."""

    best: tuple[int, ...]  # (roles,) the number of the goal value, counted over all roles; -1: it has no aim
    worst: tuple[int, ...]


def aims_of(goals: Sequence[Sequence[int]], nature: Sequence[bool]) -> Aims:
    """goals: the values of each role, ascending; nature: whether the role is played by chance."""
    best, worst, first = [], [], 0
    for values, is_chance in zip(goals, nature, strict=True):
        has_aim = len(values) > 1 and not is_chance
        best.append(first + len(values) - 1 if has_aim else _NONE)
        worst.append(first if has_aim else _NONE)
        first += len(values)
    return Aims(tuple(best), tuple(worst))


@dataclass(frozen=True, slots=True, eq=False)
class Endings:
    """A step as one network: facts and moves → what it comes to for each role."""

    circuit: Circuit  # only its nodes, inputs and loops are meant
    outputs: Ids  # (roles, outputs) literals; for `find_ends`: as the fields of `EndGates`
    room: int  # gates that may be made when moves are fixed in it
    work: int  # gates that may be copied for that


def find_endings(  # noqa: PLR0913 - a game, and what is looked for
    circuit: Circuit,
    phases: NDArray[np.int8],
    phase: int,
    aims: Aims,
    depth: int,
    work: int = MOST_WORK,
    *,
    opposed: bool = False,
) -> Endings:
    """Of a phase of the game; depth: 1 for ends, 2 for what others can do next, too; work: gates that may be copied.

    phases: (P, F) the constant that a fact is in each phase, or -1. opposed: only ends at which the other one of two
    roles has its lowest goal value or its highest. GroundingError when it is too large.
    """
    threats = None
    if depth > 1:
        threats = _find_threats(circuit, phases, (phase + 1) % len(phases), aims, work)
    assembly, state, after = _after(circuit, phases[(phase + 1) % len(phases)])
    network = assembly.network
    outputs = np.zeros((len(circuit.moves), 3), np.int32)
    replies = np.zeros(len(circuit.moves), np.int64)
    if threats is not None:
        replies = assembly.copy(threats.circuit, state, threats.outputs[:, 0])
    for role, (best, worst) in enumerate(zip(*aims, strict=True)):
        if best != _NONE:
            ends = [int(both(network, after.terminal, int(after.goals[goal]))) for goal in (best, worst)]
            if opposed and len(aims.best) == 2 and _NONE not in (*aims.best, *aims.worst):
                others = aims.worst[1 - role], aims.best[1 - role]
                ends = [int(both(network, end, int(after.goals[goal]))) for end, goal in zip(ends, others, strict=True)]
            outputs[role] = *ends, both(network, after.terminal ^ 1, int(replies[role]))
    return Endings(_nodes(circuit, assembly), outputs, _room(circuit), work)


class _After(NamedTuple):
    terminal: int
    goals: Literals


def _after(circuit: Circuit, following: NDArray[np.int8]) -> tuple[Assembly, Literals, _After]:
    """A network from facts and moves to the state after the step, (F,), its end and its goals."""
    assembly = Assembly(_capacity(circuit))
    inputs = assembly.inputs(circuit.inputs)
    state = following.astype(np.int64)
    varying = np.flatnonzero(following < 0)
    state[varying] = assembly.copy(circuit, inputs, circuit.next[varying])
    outputs = np.array([circuit.terminal, *circuit.goals], np.int32)
    found = assembly.copy(circuit, np.concatenate([state, np.zeros(sum(circuit.moves), np.int64)]), outputs)
    return assembly, state, _After(int(found[0]), found[1:])


def _room(circuit: Circuit) -> int:
    return max(MOST_GATES * len(circuit.left), ALWAYS_ROOM)


def _capacity(circuit: Circuit) -> int:
    return 6 * len(circuit.left) + 2 * _room(circuit) + 8 * sum(circuit.moves) + 1024


def _nodes(circuit: Circuit, assembly: Assembly) -> Circuit:
    return replace(circuit, left=assembly.left.copy(), right=assembly.right.copy(), loops=assembly.loops)


def _find_threats(circuit: Circuit, phases: NDArray[np.int8], phase: int, aims: Aims, work: int) -> Endings | None:
    """Facts of this phase → for each role whether another one can end the match at its best and that role's worst.

    None where that takes too many gates, or where it never is so.
    """
    roles = len(circuit.moves)
    step, _, after = _after(circuit, phases[(phase + 1) % len(phases)])
    harm = np.zeros((roles, roles), np.int32)
    for own, best in enumerate(aims.best):
        for other, worst in enumerate(aims.worst):
            if own != other and _NONE not in (best, worst):
                end = int(both(step.network, after.terminal, int(after.goals[best])))
                harm[own, other] = both(step.network, end, int(after.goals[worst]))
    assembly = Assembly(_capacity(circuit))
    facts = assembly.facts(phases[phase])
    before = look(assembly, circuit, facts)
    found = _cofactors(assembly, Endings(_nodes(circuit, step), harm, _room(circuit), work), before)
    if found is None:
        return None
    threats = [_any(assembly, [int(literal) for literal in found[role] if literal]) for role in range(roles)]
    if not any(threats):
        return None
    return Endings(_nodes(circuit, assembly), np.array(threats, np.int32)[:, np.newaxis], _room(circuit), work)


def _any(assembly: Assembly, literals: list[int]) -> int:
    """Their OR as a balanced tree, so that a change of one changes few gates."""
    while len(literals) > 1:
        pairs = [literals[at : at + 2] for at in range(0, len(literals), 2)]
        literals = [int(either(assembly.network, *pair)) if len(pair) == 2 else pair[0] for pair in pairs]
    return literals[0] if literals else 0


class Before(NamedTuple):
    """What is known before a step, as literals of the network under construction."""

    facts: Literals  # (F,)
    legal: Literals  # (M,)
    terminal: int
    turns: Sequence[ConditionalChoice | None]  # per role


def look(assembly: Assembly, circuit: Circuit, facts: Literals) -> Before:
    """What the circuit says of a state; facts: (F,) literals."""
    inputs = np.concatenate([facts, np.zeros(sum(circuit.moves), np.int64)])
    found = assembly.copy(circuit, inputs, np.array([circuit.terminal, *circuit.legal], np.int32))
    legal = found[1:]
    roles = possible_moves(circuit.moves, legal)
    turns = [find_turn(assembly.network, possible, legal) if len(possible) > 1 else None for possible in roles]
    return Before(facts, legal, int(found[0]), turns)


class EndGates(NamedTuple):
    """Literals of legal moves after which, where no other role has a choice, …"""

    best: Literals  # (M,) the match is over and its role has its highest goal value
    worst: Literals  # (M,) the match is over and its role has its lowest goal value
    allows: Literals  # (M,) another role can do the former, and its own role would have the latter


def find_ends(assembly: Assembly, endings: Endings, before: Before) -> EndGates | None:
    """None where that takes too many gates, or where there never is such a move."""
    found = _cofactors(assembly, endings, before)
    return EndGates(*found) if found is not None and found.any() else None


def end_programs(circuit: Circuit, phases: NDArray[np.int8], aims: Aims, *, opposed: bool) -> tuple[Program, ...]:
    """For each phase, facts → `EndGates`, field after field; without `allows` where that takes too many gates.

    phases: (P, F) the constant that a fact is in each phase, or -1. Facts are in the rows from 1 on, outputs follow.
    opposed: as for `find_endings`.
    None at all where there never is such a move, or where it takes too long to find out.
    """
    moves, inputs = sum(circuit.moves), np.arange(1, 1 + circuit.facts, dtype=np.int32)
    rows = 1 + circuit.facts + np.arange(3 * moves, dtype=np.int32)
    found, some = [], False
    for phase in range(len(phases)):
        assembly, ends = _end_gates(circuit, phases, phase, aims, opposed=opposed)
        some |= ends is not None
        outputs = np.zeros(3 * moves, np.int32) if ends is None else np.concatenate(ends).astype(np.int32)
        row_of_input = np.full(assembly.size, -1, np.int32)
        row_of_input[inputs] = inputs
        found.append(
            make_program(assembly.left, assembly.right, assembly.loops, outputs, row_of_input, rows, int(rows[-1]) + 1)
        )
    return tuple(found) if some else ()


def _end_gates(
    circuit: Circuit, phases: NDArray[np.int8], phase: int, aims: Aims, *, opposed: bool
) -> tuple[Assembly, EndGates | None]:
    """A network whose first inputs are facts, with what can be afforded of them in a phase."""
    affordable = max(MOST_AHEAD_GATES, MOST_AHEAD_RATIO * circuit.gates)
    for depth in (2, 1):
        endings = find_endings(circuit, phases, phase, aims, depth, QUICK_WORK // len(phases), opposed=opposed)
        assembly = Assembly(_capacity(circuit) + endings.room)
        facts = assembly.facts(phases[phase])
        ends = find_ends(assembly, endings, look(assembly, circuit, facts))
        if ends is not None and _count(assembly, ends) <= affordable:
            return assembly, ends
    return assembly, None


def _count(assembly: Assembly, ends: EndGates) -> int:
    """How many gates they take."""
    outputs = np.concatenate(ends).astype(np.int32)
    needed = mark_needed(assembly.left, assembly.right, assembly.loops.results, outputs)
    return int(np.count_nonzero(needed & (assembly.left >= 0)))


def _cofactors(assembly: Assembly, endings: Endings, before: Before) -> Literals | None:
    """(outputs, M) the outputs of each move's role with that move done; None where that takes too many gates."""
    moves, size = endings.circuit.moves, assembly.size
    first = np.cumsum([0, *moves])
    wanted = [
        (role, int(move))
        for role, possible in enumerate(possible_moves(moves, before.legal))
        for move in possible
        if len(possible) > 1 and endings.outputs[role].any()
    ]
    if len(wanted) * len(endings.circuit.left) > endings.work:
        return None
    found = np.zeros((endings.outputs.shape[1], first[-1]), np.int64)
    assumed = {role: _alone(assembly, before, first, role) for role in {role for role, _ in wanted}}
    over = _implied(assembly, before.terminal ^ 1)
    for role, move in wanted:
        if assembly.size - size + len(endings.circuit.left) > endings.room:
            return None
        alone, done, sure = assumed[role]
        done[first[role] : first[role + 1]] = 0
        done[move] = 1
        sure = [*over, *sure, *_implied(assembly, int(before.legal[move]))]
        literals = np.unique(np.array([literal for literal in sure if literal > 1], np.int64))
        inputs = np.concatenate([before.facts, done])
        reached = assembly.copy(endings.circuit, inputs, endings.outputs[role], literals)
        possible = int(both(assembly.network, int(before.legal[move]), alone))
        found[:, move] = [both(assembly.network, possible, int(end)) for end in reached]
    return found


def _alone(assembly: Assembly, before: Before, first: Literals, own: int) -> tuple[int, Literals, list[int]]:
    """Whether no other role has a choice, what the others do then, and literals that are true then."""
    network = assembly.network
    done, alone, sure = before.legal.copy(), 1, []
    for role, turn in enumerate(before.turns):
        if role == own:
            continue
        part = slice(first[role], first[role + 1])
        possible = first[role] + np.flatnonzero(before.legal[part])
        if turn is not None:
            done[part] = 0
            done[turn.other] = 1
            sure.append(turn.condition ^ 1)
            alone = int(both(network, alone, turn.condition ^ 1))
        elif len(possible) == 1:
            done[possible] = 1
        else:
            some = several = 0
            for move in possible:
                several = int(either(network, several, int(both(network, some, int(before.legal[move])))))
                some = int(either(network, some, int(before.legal[move])))
            alone = int(both(network, alone, several ^ 1))
    return alone, done, sure


def _implied(assembly: Assembly, literal: int) -> list[int]:
    """The literals that are true where this one is, as far as they are its conjuncts."""
    found, seen, at = [literal], {literal}, 0
    while at < len(found):
        left, right = (int(side[found[at] >> 1]) for side in (assembly.left, assembly.right))
        if found[at] & 1 == 0 and 0 <= left < right:
            for side in (left, right):
                if side not in seen:
                    seen.add(side)
                    found.append(side)
        at += 1
    return found

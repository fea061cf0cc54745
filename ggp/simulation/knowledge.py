"""What random matches show of a game with `sees`: whether roles know their legal moves, and that the match is over.

A belief that follows a role has the histories that look alike to it; where two of them differ in what is legal, the
percepts say too little. Evidence, not proof: where nothing was found, random play met nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from ggp.gdl.rulesheet import NATURE
from ggp.gdl.terms import Term, to_text
from ggp.simulation.belief import Belief
from ggp.simulation.evaluate import Bits, unpack
from ggp.simulation.state_machine import CircuitMachine

_WORLDS = 4096  # of a belief


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """Two histories that look alike to a role, though it has other moves in them."""

    role: str
    known: tuple[tuple[str, tuple[str, ...]], ...]  # for each step, its move and what it was told
    moves: tuple[str, ...]  # in one of them
    others: tuple[str, ...]  # in the other


@dataclass(frozen=True, slots=True)
class KnowledgeEvidence:
    """Of so many matches, those that were followed to their end or to the most steps."""

    matches: int
    ambiguity: Ambiguity | None  # the first one that was met
    unsure_ends: dict[str, int]  # role → matches after whose last step it could not tell that they were over


def gather_knowledge(
    machine: CircuitMachine, matches: int, max_steps: int, seed: int, is_late: Callable[[], bool] = lambda: False
) -> KnowledgeEvidence:
    """Plays random matches until one shows an ambiguity, or it is late."""
    random = Random(f"knowledge {seed}")  # noqa: S311 - a seed has to reproduce the matches
    unsure: dict[str, int] = {}
    for number in range(matches):
        found = _play(machine, random, max_steps, unsure, is_late)
        if found is not None or is_late():
            return KnowledgeEvidence(number, found, unsure)
    return KnowledgeEvidence(matches, None, unsure)


def _play(
    machine: CircuitMachine, random: Random, max_steps: int, unsure: dict[str, int], is_late: Callable[[], bool]
) -> Ambiguity | None:
    state = machine.initial_state
    roles = [role for role in machine.roles if role != NATURE]
    beliefs = {role: Belief(machine, role, _WORLDS, random.getrandbits(32)) for role in roles}
    known: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = dict.fromkeys(roles, ())
    for _ in range(max_steps):
        legal = [machine.legal_moves(state, role) for role in machine.roles]
        if machine.is_terminal(state) or not all(legal) or is_late():
            return None
        joint = tuple(map(random.choice, legal))
        told = {role: machine.percepts(state, joint, role) for role in roles}
        state = machine.next_state(state, joint)
        for role, belief in beliefs.items():
            move = joint[machine.roles.index(role)]
            known[role] = (*known[role], (to_text(move), tuple(map(to_text, told[role]))))
            belief.advance(move, told[role], is_late)
            if machine.is_terminal(state):
                unsure[role] = unsure.get(role, 0) + (len(belief.weights) > 0)
                continue
            moves = _different_moves(machine, belief.states, role)
            if moves is not None:
                return Ambiguity(role, known[role], *moves)
    return None


def _different_moves(
    machine: CircuitMachine, states: Bits, role: str
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """What is legal for a role in two of the states, if that is not the same in all."""
    if not len(states):
        return None
    batches, number = machine.batches, machine.roles.index(role)
    flags = unpack(batches.legal(states), int(batches.first_move[-1]))
    flags = flags[:, batches.first_move[number] : batches.first_move[number + 1]]
    odd = (flags != flags[0]).any(axis=1).nonzero()[0]
    if not len(odd):
        return None
    names: tuple[Term, ...] = machine.compiled.moves[number]

    def shown(row: int) -> tuple[str, ...]:
        return tuple(to_text(name) for name, flag in zip(names, flags[row], strict=True) if flag)

    return shown(0), shown(int(odd[0]))

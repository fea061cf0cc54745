"""Legal moves and random words → the moves that are done: one choice for each role, or one for all of them together.

In many games only one role at a time has a choice, the others have one move each. Where that shows (all moves of a role
but one need a condition, and that one needs its opposite), one choice serves all roles. A lane in which two have a
choice after all is a clash; its step has to be taken with separate choices.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ggp.circuit.assembly import Assembly, Literals
from ggp.circuit.building import top_conditions
from ggp.circuit.choice import choose_move, random_bits
from ggp.circuit.network import both, either


class Choices(NamedTuple):
    """Literals of what was chosen."""

    done: Literals  # (M,)
    able: int  # whether every role has a legal move
    clash: int  # whether the choice is not valid


class _Turn(NamedTuple):
    """A role that has a choice only while a condition holds."""

    condition: int
    moves: Literals  # numbers of the moves that need it
    other: int  # the number of the move that needs its opposite


def prefer(assembly: Assembly, moves: tuple[int, ...], legal: Literals, liked: Literals, guided: Literals) -> Literals:
    """The legal moves that are liked, in lanes where the role is guided and has any; else all legal ones.

    liked: (M,); guided: (roles,).
    """
    network, wanted = assembly.network, legal.copy()
    for role, possible in enumerate(_possible(moves, legal)):
        if len(possible) < 2:
            continue
        any_liked = 0
        for move in possible:
            any_liked = int(either(network, any_liked, int(both(network, int(legal[move]), int(liked[move])))))
        free = int(both(network, any_liked, int(guided[role]))) ^ 1
        for move in possible:
            wanted[move] = both(network, int(legal[move]), int(either(network, int(liked[move]), free)))
    return wanted


def choose_apart(assembly: Assembly, moves: tuple[int, ...], legal: Literals, random: Literals) -> Choices:
    """A choice for each role, with its own random words."""
    done, able, used = np.zeros(len(legal), np.int64), 1, 0
    for possible in _possible(moves, legal):
        bits = random_bits(len(possible))
        chosen, anything = _choose(assembly, legal[possible], random[used : used + bits])
        done[possible] = chosen
        able = int(both(assembly.network, able, anything))
        used += bits
    return Choices(done, able, 0)


def choose_together(
    assembly: Assembly, moves: tuple[int, ...], legal: Literals, wanted: Literals, random: Literals
) -> Choices | None:
    """One choice among the wanted moves for all roles that have one; None where fewer than two would share it.

    wanted: (M,) some of the legal moves of each role that has any.
    """
    network = assembly.network
    roles = _possible(moves, legal)
    turns = [_turn(assembly, possible, legal) if len(possible) > 1 else None for possible in roles]
    if sum(turn is not None for turn in turns) < 2:
        return None
    done, able, clash, someone = np.zeros(len(legal), np.int64), 1, 0, 0
    pool = np.zeros(max(len(turn.moves) for turn in turns if turn), np.int64)
    for sharing in filter(None, turns):
        for at, move in enumerate(sharing.moves):
            pool[at] = either(network, int(pool[at]), int(wanted[move]))
    shared = random_bits(len(pool))
    chosen, anything = _choose(assembly, pool, random[:shared])
    used = shared
    for possible, turn in zip(roles, turns, strict=True):
        if turn is None:
            bits = random_bits(len(possible))
            done[possible], has_move = _choose(assembly, wanted[possible], random[used : used + bits])
            able = int(both(network, able, has_move))
            used += bits
            continue
        for at, move in enumerate(turn.moves):
            done[move] = both(network, turn.condition, int(chosen[at]))
        done[turn.other] = turn.condition ^ 1
        able = int(both(network, able, either(network, turn.condition ^ 1, anything)))
        clash = int(either(network, clash, both(network, someone, turn.condition)))
        someone = int(either(network, someone, turn.condition))
    return Choices(done, able, clash)


def _possible(moves: tuple[int, ...], legal: Literals) -> list[Literals]:
    """For each role the numbers of the moves that may be legal."""
    found, first = [], 0
    for count in moves:
        found.append(first + np.flatnonzero(legal[first : first + count]))
        first += count
    return found


def _choose(assembly: Assembly, legal: Literals, random: Literals) -> tuple[Literals, int]:
    if len(legal) < 2:
        return np.ones(len(legal), np.int64), int(legal[0]) if len(legal) else 0
    chosen, anything = choose_move(assembly.network, legal, random)
    return chosen, int(anything)


def _turn(assembly: Assembly, possible: Literals, legal: Literals) -> _Turn | None:
    """The condition that all moves of a role but one need, if that one needs its opposite."""
    first, conditions = top_conditions(assembly.network, legal[possible].astype(np.int32))
    needed = [set(conditions[start:end].tolist()) for start, end in pairwise(first)]
    for other, literal in enumerate(legal[possible].tolist()):
        condition = int(literal) ^ 1
        if condition > 1 and all(condition in found for at, found in enumerate(needed) if at != other):
            return _Turn(condition, np.delete(possible, other), int(possible[other]))
    return None

"""Ground rules → circuit: every atom as the OR of its rules' bodies.

Exactly one move of each role is done, and it is legal. So a condition that legality implies is left out, and an OR over
most moves of a role becomes the complement of the OR over the others. Atoms are built in the order of their dependence
(`order_atoms`); those of a recursive component stand for each other as loop nodes.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import (
    Circuit,
    Ids,
    Loops,
    Network,
    add_input,
    add_loop,
    both,
    check_capacity,
    either,
    make_network,
)
from ggp.errors import GroundingError
from ggp.grounding.rules import NEVER, GroundRules, Offsets
from ggp.kernel import Int, kernel

MAX_GATES = 30_000_000
MAX_IMPLIED = 24  # conditions of a move that are looked at for what its legality implies
UNKNOWN = -1


class RuleIndex(NamedTuple):
    """The ground rules by their heads."""

    first_rule: Offsets  # (A + 1,) the rules of atom a are rules[first_rule[a]:first_rule[a + 1]]
    rules: Ids  # (R,)
    first_literal: Offsets  # (R + 1,)
    literals: Ids  # 2 * atom, + 1 if negated


class Order(NamedTuple):
    """Atoms in the order of their dependence."""

    atoms: Ids  # all that the roots need and that are no inputs; of a component, those first that others need first
    component: Ids  # (A,) the number of each atom's component, ascending in this order; -1: not reached
    recursive: Ids  # (A,) 1 for the atoms that depend on themselves


class Moves(NamedTuple):
    """Which atoms are moves, and whose."""

    facts: int
    role: Ids  # (M,)
    first: Ids  # (roles + 1,)


class Implied(NamedTuple):
    """What holds whenever a move is legal."""

    first: Offsets  # (M + 1,)
    literals: Ids


class Building(NamedTuple):
    """What is filled while a circuit is built."""

    network: Network
    literal_of: NDArray[np.int64]  # (A,) of each atom, UNKNOWN until it is built
    loop_of: Ids  # (A,) the loop node that stands for an atom needed before it is built; UNKNOWN: none
    loop_atoms: Ids  # (A,) the atoms of the loop nodes
    loops: Ids  # (1,) how many


def build_circuit(rules: GroundRules) -> Circuit:
    """The circuit of a game, not yet simplified; GroundingError for negation through recursion and too many gates."""
    inputs = len(rules.facts) + sum(map(len, rules.moves))
    index = index_rules(rules.atom_count, rules.heads, rules.first_literal, rules.literals)
    terminal = np.array([rules.terminal], np.int32)
    rest = np.concatenate([terminal, rules.next, rules.goal_atoms, rules.percept_atoms]).astype(np.int32)
    order = order_atoms(index, inputs, _known(np.concatenate([rules.legal, rest]).astype(np.int32)))
    _refuse_negative_cycles(rules, order)
    first = order_atoms(index, inputs, _known(rules.legal)).atoms
    building = _start(rules, inputs)
    moves = Moves(len(rules.facts), *_roles_of(tuple(map(len, rules.moves))))
    nothing = Implied(np.zeros(len(moves.role) + 1, np.int64), np.zeros(0, np.int32))
    _build_atoms(building, index, moves, first, nothing)
    check_capacity(building.network)
    legal = _literals(building, rules.legal)
    later = order.atoms[~np.isin(order.atoms, first)]
    _build_atoms(building, index, moves, later, _implied(building.network, legal))
    check_capacity(building.network)
    size, loops = int(building.network.size[0]), int(building.loops[0])
    atoms = building.loop_atoms[:loops]
    return Circuit(
        facts=len(rules.facts),
        moves=tuple(map(len, rules.moves)),
        left=building.network.left[:size].copy(),
        right=building.network.right[:size].copy(),
        loops=Loops(building.literal_of[atoms].astype(np.int32), order.component[atoms]),
        initial=rules.initial,
        next=_literals(building, rules.next),
        legal=legal,
        terminal=int(_literals(building, terminal)[0]),
        goals=_literals(building, rules.goal_atoms),
        percepts=_literals(building, rules.percept_atoms),
    )


def _known(atoms: Ids) -> Ids:
    found: Ids = atoms[atoms != NEVER]
    return found


def _roles_of(moves: tuple[int, ...]) -> tuple[Ids, Ids]:
    """The role of each move, and where each role's moves start."""
    role = np.repeat(np.arange(len(moves)), moves).astype(np.int32)
    return role, np.concatenate([[0], np.cumsum(moves)]).astype(np.int32)


def _refuse_negative_cycles(rules: GroundRules, order: Order) -> None:
    heads = np.repeat(rules.heads, np.diff(rules.first_literal))
    body = rules.literals >> 1
    within = (order.component[heads] == order.component[body]) & (order.component[heads] >= 0)
    if np.any(within & (rules.literals & 1 == 1)):
        raise GroundingError("a view depends on its own negation")


def _start(rules: GroundRules, inputs: int) -> Building:
    capacity = min(MAX_GATES, 4 * (len(rules.literals) + len(rules.heads)) + 8 * inputs + 10_000)
    literal_of = np.full(max(1, rules.atom_count), UNKNOWN, np.int64)
    network = make_network(capacity)
    for number in range(inputs):
        literal_of[number] = add_input(network, number)
    unknown = np.full(rules.atom_count, UNKNOWN, np.int32)
    return Building(network, literal_of, unknown, unknown.copy(), np.zeros(1, np.int32))


def _literals(building: Building, atoms: Ids) -> Ids:
    """The literals of atoms; false for those that never hold."""
    found: Ids = np.where(atoms == NEVER, 0, building.literal_of[np.maximum(atoms, 0)]).astype(np.int32)
    return found


def _implied(network: Network, legal: Ids) -> Implied:
    first, found = top_conditions(network, legal)
    return Implied(first, found)


@kernel
def top_conditions(network: Network, roots: Ids) -> tuple[Offsets, Ids]:
    """The literals whose AND each root is, as far as MAX_IMPLIED of them; every inner literal counts too."""
    first = np.zeros(roots.shape[0] + 1, np.int64)
    found = np.zeros(roots.shape[0] * MAX_IMPLIED, np.int32)
    count = 0
    for position in range(roots.shape[0]):
        start = count
        found[count] = roots[position]
        count += 1
        at = start
        while at < count and count + 2 <= start + MAX_IMPLIED:
            literal = found[at]
            left, right = network.left[literal >> 1], network.right[literal >> 1]
            if literal & 1 == 0 and 0 <= left < right:
                found[count] = left
                found[count + 1] = right
                count += 2
            at += 1
        first[position + 1] = count
    return first, found[:count]


@kernel
def _build_atoms(building: Building, index: RuleIndex, moves: Moves, atoms: Ids, implied: Implied) -> None:
    """Fill in the literals of the atoms, which come in the order of their dependence."""
    longest = 1
    for atom in atoms:
        longest = max(longest, index.first_rule[atom + 1] - index.first_rule[atom])
    keys = np.empty(longest, np.int64)
    done = np.empty(longest, np.int64)
    terms = np.empty(longest, np.int64)
    scratch = np.empty(moves.role.shape[0] + 1, np.int64)
    marks = np.zeros(moves.role.shape[0] + 1, np.int32)
    stamps = np.zeros(2 * building.network.left.shape[0], np.int32)
    stamp = 0
    for atom in atoms:
        count = 0
        for position in range(index.first_rule[atom], index.first_rule[atom + 1]):
            rule = index.rules[position]
            move = _move_of(index, moves, rule)
            if move >= 0:
                stamp += 1
                for at in range(implied.first[move], implied.first[move + 1]):
                    stamps[implied.literals[at]] = stamp
            rest = _body(building, index, rule, moves.facts + move if move >= 0 else -1, stamps, stamp)
            if rest != 0:
                role = moves.role[move] + 1 if move >= 0 else 0
                keys[count] = (np.int64(role) << 40) | rest
                done[count] = move
                count += 1
        literal = _disjunction(building.network, moves, keys, done, count, terms, scratch, marks)
        building.literal_of[atom] = literal


@kernel
def _move_of(index: RuleIndex, moves: Moves, rule: Int) -> Int:
    """The move that the rule's first positive `does` is about, or -1."""
    for at in range(index.first_literal[rule], index.first_literal[rule + 1]):
        literal = index.literals[at]
        move = (literal >> 1) - moves.facts
        if literal & 1 == 0 and 0 <= move < moves.role.shape[0]:
            return np.int64(move)
    return -1


@kernel
def _body(building: Building, index: RuleIndex, rule: Int, apart: Int, stamps: Ids, stamp: Int) -> Int:
    """The AND of a rule's literals, but for one atom, and for what a stamp says to be implied by that."""
    first, last = index.first_literal[rule], index.first_literal[rule + 1]
    literals = np.empty(last - first, np.int64)
    count = 0
    for at in range(first, last):
        atom = index.literals[at] >> 1
        if atom == apart:
            if index.literals[at] & 1:
                return 0
            continue
        if building.literal_of[atom] == UNKNOWN:
            number = building.loops[0]
            building.loops[0] += 1
            building.loop_atoms[number] = atom
            building.literal_of[atom] = add_loop(building.network, number)
        literal = building.literal_of[atom] ^ (index.literals[at] & 1)
        if apart >= 0 and stamps[literal] == stamp:
            continue
        if literal == 0 or (apart >= 0 and stamps[literal ^ 1] == stamp):
            return 0
        literals[count] = literal
        count += 1
    sort_pairs(literals, literals, count)
    result: Int = np.int64(1)
    for at in range(count):
        result = both(building.network, result, literals[at])
    return result


@kernel
def _disjunction(  # noqa: PLR0913, PLR0917 - arrays in a tuple cost more
    network: Network,
    moves: Moves,
    keys: NDArray[np.int64],
    done: NDArray[np.int64],
    count: Int,
    terms: NDArray[np.int64],
    scratch: NDArray[np.int64],
    marks: Ids,
) -> Int:
    """The OR of bodies: `keys` are role + 1 (0: no move) and the rest of the body; `done` the moves."""
    sort_pairs(keys, done, count)
    found, start = 0, 0
    while start < count:
        key = keys[start]
        end = start
        while end < count and keys[end] == key:
            end += 1
        rest = key & ((np.int64(1) << 40) - 1)
        if key >> 40:
            role = (key >> 40) - 1
            for at in range(start, end):
                marks[done[at]] = 1
            choice = _any_move(network, moves, moves.first[role], moves.first[role + 1], scratch, marks)
            rest = both(network, rest, choice)
        terms[found] = rest
        found += 1
        start = end
    sort_pairs(terms, terms, found)
    result: Int = np.int64(0)
    for at in range(found):
        result = either(network, result, terms[at])
    return result


@kernel
def _any_move(network: Network, moves: Moves, first: Int, last: Int, scratch: NDArray[np.int64], marks: Ids) -> Int:
    """The OR over the marked moves of one role, or the complement of the OR over the others; clears the marks."""
    marked = 0
    for move in range(first, last):
        marked += marks[move]
    wanted = 1 if 2 * marked <= last - first else 0
    count = 0
    for move in range(first, last):
        scratch[move - first] = 2 * np.int64(1 + moves.facts + move) if marks[move] == wanted else 0
        marks[move] = 0
    count = last - first
    while count > 1:
        for at in range((count + 1) // 2):
            other = scratch[2 * at + 1] if 2 * at + 1 < count else np.int64(0)
            scratch[at] = either(network, scratch[2 * at], other)
        count = (count + 1) // 2
    return np.int64(scratch[0] if wanted else scratch[0] ^ 1)


def index_rules(atom_count: int, heads: Ids, first_literal: Offsets, literals: Ids) -> RuleIndex:
    """The rules sorted by head; the order of the rules of one head is kept."""
    first = np.zeros(atom_count + 1, np.int64)
    np.cumsum(np.bincount(heads, minlength=atom_count), out=first[1:])
    return RuleIndex(first, np.argsort(heads, kind="stable").astype(np.int32), first_literal, literals)


@kernel
def order_atoms(index: RuleIndex, inputs: Int, roots: Ids) -> Order:  # noqa: C901, PLR0912, PLR0915 - kernel: a call costs
    """Tarjan's strongly connected components (1972), without recursion, from the roots in their order."""
    count = index.first_rule.shape[0] - 1
    number = np.zeros(count, np.int32)  # when first seen, from 1
    low = np.zeros(count, np.int32)
    component = np.full(count, -1, np.int32)
    recursive = np.zeros(count, np.int32)
    atoms = np.empty(count, np.int32)
    open_atoms = np.empty(count, np.int32)
    path = np.empty(count, np.int32)
    rule_at = np.zeros(count, np.int64)
    literal_at = np.zeros(count, np.int64)
    seen, written, opened, components = 0, 0, 0, 0
    for root in roots:
        if root < inputs or number[root]:
            continue
        path[0] = root
        depth = 1
        while depth:
            atom = path[depth - 1]
            if number[atom] == 0:
                seen += 1
                number[atom] = low[atom] = seen
                open_atoms[opened] = atom
                opened += 1
                rule_at[atom] = index.first_rule[atom]
                literal_at[atom] = -1
            down = -1
            while rule_at[atom] < index.first_rule[atom + 1]:
                rule = index.rules[rule_at[atom]]
                if literal_at[atom] < 0:
                    literal_at[atom] = index.first_literal[rule]
                while literal_at[atom] < index.first_literal[rule + 1]:
                    below = index.literals[literal_at[atom]] >> 1
                    literal_at[atom] += 1
                    if below < inputs:
                        continue
                    if below == atom:
                        recursive[atom] = 1
                    if number[below] == 0:
                        down = below
                        break
                    if component[below] < 0:
                        low[atom] = min(low[atom], number[below])
                if down >= 0:
                    break
                rule_at[atom] += 1
                literal_at[atom] = -1
            if down >= 0:
                path[depth] = down
                depth += 1
                continue
            depth -= 1
            if depth:
                above = path[depth - 1]
                low[above] = min(low[above], low[atom])
            if low[atom] == number[atom]:
                first = opened
                while True:
                    first -= 1
                    component[open_atoms[first]] = components
                    if open_atoms[first] == atom:
                        break
                for position in range(opened - 1, first - 1, -1):  # the last found are needed first
                    atoms[written] = open_atoms[position]
                    written += 1
                    if opened - first > 1:
                        recursive[open_atoms[position]] = 1
                opened = first
                components += 1
    return Order(atoms[:written], component, recursive)


@kernel
def sort_pairs(keys: NDArray[np.int64], values: NDArray[np.int64], count: Int) -> None:
    """Sort the first `count` keys in place, ascending, and the values with them (Shell 1959, gaps of Ciura 2001)."""
    gap: Int = np.int64(1)
    while gap < count:
        gap = gap * 9 // 4 + 1
    while gap > 0:
        for start in range(gap, count):
            key, value = keys[start], values[start]
            at: Int = start
            while at >= gap and keys[at - gap] > key:
                keys[at] = keys[at - gap]
                values[at] = values[at - gap]
                at -= gap
            keys[at] = key
            values[at] = value
        gap = 0 if gap == 1 else max(np.int64(1), gap * 4 // 9)

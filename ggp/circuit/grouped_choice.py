"""A uniform choice among moves that combine independent arguments, as (play X1 Y1 X2 Y2 X3 Y3).

Moves that agree in some arguments are a *group*; the other arguments are a move's *slot* in it. What all moves of a
group need is tested once for the group. What else a move needs, its *rest*, is the same in many groups: rests that
always come together are counted once for all of them, and a rest is selected by one gate for all groups that have it.
Whether one of some moves is done, as the next state asks, follows from groups and slots alone where these are complete.
Moves are as likely as by `choice.choose_move`; where they are in the order of their groups, the same one is done for
given random bits.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.build import sort_pairs
from ggp.circuit.choice import (
    add_numbers,
    add_up,
    choose_by_number,
    count_members,
    descend,
    number_nodes,
    scale,
)
from ggp.circuit.network import INPUT, Circuit, Ids, Literals, Network, any_of, both, either
from ggp.circuit.schedule import mark_needed
from ggp.gdl.terms import Term, to_text
from ggp.kernel import Int, kernel

FEWEST = 4.0  # moves for each group and slot; with fewer, a choice without groups takes fewer gates
MOST_RESTS = 1 / 8  # different ones, for each move; the same with more
_MANY = 16  # moves for each group and slot, with which twice as many rests pay
_MOST_SETS = 256  # of arguments: all of eight
_FEWEST_TRIALS, _MOST_TRIALS = 4, 24  # groupings that are tried: one for a thousand moves
_MOST_CONDITIONS = 64  # of a move


class Grouping(NamedTuple):
    """Where the moves of a role stand."""

    group: Ids  # (M,)
    slot: Ids  # (M,) different within a group


class Disjunctions(NamedTuple):
    """Nodes of a circuit that say that none of some moves is done."""

    nodes: Ids  # (D,)
    first: Literals  # (D + 1,)
    moves: Ids  # those of node d are moves[first[d] : first[d + 1]], counted over all roles


class Parts(NamedTuple):
    """Literals that the same groups have, once in each, as parts."""

    literals: Literals
    first: Ids  # (P + 1,) part p has the literals first[p] to first[p + 1]
    of_groups: Literals  # parts of the groups, ascending for each
    first_of: Ids  # (G + 1,) those of group g are of_groups[first_of[g] : first_of[g + 1]]


class GroupedChoice(NamedTuple):
    """Literals of which group and which slot are chosen, of those that some move has."""

    group: Literals  # (G,)
    slot: Literals  # (S,)
    moves: Grouping  # the possible ones


def find_groupings(moves: Sequence[Term]) -> list[Grouping]:
    """Those of few groups and slots: by more arguments first, and by the first arguments before others."""
    most = len(moves) / FEWEST
    if len(moves) < 2 or 2 * sqrt(len(moves)) > most:  # there are at least 2 √M groups and slots
        return []
    named = [(move,) if isinstance(move, str) else move for move in moves]
    length = max(map(len, named))
    columns = [_numbers([move[at : at + 1] for move in named]) for at in range(length)]
    places: dict[tuple[int, ...], Ids] = {(): columns[0]}  # by the arguments that are chosen, and by the name
    for count in range(1, length - 1):
        if len(places) > _MOST_SETS:
            return []
        for chosen in combinations(range(1, length), count):
            if all(fewer in places for fewer in combinations(chosen, count - 1)):
                one, other = places[chosen[:-1]], columns[chosen[-1]]
                numbers = np.unique(one * np.int64(other.max() + 1) + other, return_inverse=True)[1].astype(np.int32)
                if numbers.max() < most:
                    places[chosen] = numbers
    found = []
    for chosen in sorted(places, key=lambda chosen: (-len(chosen), chosen)):
        others = tuple(at for at in range(1, length) if at not in chosen)
        if chosen and others in places and places[chosen].max() + places[others].max() + 2 <= most:
            found.append(Grouping(places[chosen], places[others]))
    return found[: min(max(_FEWEST_TRIALS, len(moves) // 1000), _MOST_TRIALS)]


def _numbers(terms: Sequence[Term]) -> Ids:
    """Of each term, by its text."""
    number = {term: at for at, term in enumerate(sorted(set(terms), key=to_text))}
    return np.array([number[term] for term in terms], np.int32)


def choose_grouped(
    network: Network, legal: Literals, possible: Literals, groupings: Sequence[Grouping], random: Literals
) -> tuple[GroupedChoice, int] | None:
    """A choice among the possible moves of a role, and the literal of whether any of them is legal.

    legal: (M,) of the role's moves. Exactly one move is done where any is legal; in other lanes it may be several. None
    where no grouping leaves few enough rests.
    """
    for grouping in groupings:
        group, slot = (np.unique(each[possible], return_inverse=True)[1].astype(np.int32) for each in grouping)
        places = int(group.max() + slot.max() + 2)
        if FEWEST * places > len(possible):
            continue
        order = np.lexsort((slot, group))
        sizes = np.bincount(group)
        condition, rest = _split(network, legal[possible[order]], np.append(0, np.cumsum(sizes)))
        if len(np.unique(rest)) <= MOST_RESTS * len(possible) * (2 if len(possible) >= _MANY * places else 1):
            break
    else:
        return None
    chosen, number, any_legal = _choose_group(network, condition, _find_parts(rest, group[order]), sizes, random)
    by_slot = np.lexsort((group[order], rest, slot[order]))
    selected = _select(network, rest[by_slot], group[order][by_slot], slot[order][by_slot], chosen)
    chosen_slot, _ = choose_by_number(network, selected, number, np.zeros(0, np.int64))
    return GroupedChoice(chosen, chosen_slot, Grouping(group, slot)), int(any_legal)


def moves_done(network: Network, choice: GroupedChoice) -> Literals:
    """The literal of each possible move's being done."""
    return _both_of_each(network, choice.group[choice.moves.group], choice.slot[choice.moves.slot])


def any_done(network: Network, choice: GroupedChoice, moves: Literals) -> int:
    """The literal of whether one of these possible moves is done, where any is legal."""
    group, slot = choice.moves
    if 2 * len(moves) > len(group):
        return any_done(network, choice, np.delete(np.arange(len(group)), moves)) ^ 1
    own_group, own_slot = group[moves], slot[moves]
    by_group = _are_complete(group, own_group)[own_group]
    by_slot = _are_complete(slot, own_slot)[own_slot] & ~by_group
    rest = ~(by_group | by_slot)
    parts = (
        choice.group[np.unique(own_group[by_group])],
        choice.slot[np.unique(own_slot[by_slot])],
        _both_of_each(network, choice.group[own_group[rest]], choice.slot[own_slot[rest]]),
    )
    return int(any_of(network, np.concatenate(parts)))


def _are_complete(places: Ids, own: Ids) -> NDArray[np.bool_]:
    """Which places have no other moves than those whose own places are given."""
    count = np.bincount(places)
    complete: NDArray[np.bool_] = np.bincount(own, minlength=len(count)) == count
    return complete


def find_disjunctions(circuit: Circuit) -> Disjunctions:
    """The largest ones that the next state reads."""
    needed = mark_needed(circuit.left, circuit.right, circuit.loops.results, circuit.next)
    return Disjunctions(
        *_find_disjunctions(circuit.left, circuit.right, needed, circuit.next, circuit.facts, sum(circuit.moves))
    )


def ask_disjunctions(circuit: Circuit, asked: Disjunctions) -> Circuit:
    """The circuit with these nodes as further inputs, after those that it has."""
    left, right = circuit.left.copy(), circuit.right.copy()
    left[asked.nodes] = INPUT
    right[asked.nodes] = circuit.inputs + np.arange(len(asked.nodes))
    return replace(circuit, left=left, right=right)


def _find_parts(rest: Literals, group: Ids) -> Parts:
    """A rest that a group has several times is as many rests."""
    order = np.lexsort((rest, group))
    literals, groups = rest[order], group[order]
    is_first = np.append(True, (np.diff(literals) != 0) | (np.diff(groups) != 0))
    repeated = np.arange(len(order)) - np.flatnonzero(is_first)[np.cumsum(is_first) - 1]
    order = np.lexsort((groups, repeated, literals))
    literals, groups, repeated = literals[order], groups[order], repeated[order]
    cuts = np.flatnonzero((np.diff(literals) != 0) | (np.diff(repeated) != 0)) + 1
    parts: dict[tuple[int, ...], list[int]] = {}
    for start, having in zip([0, *cuts.tolist()], np.split(groups, cuts), strict=True):
        parts.setdefault(tuple(having.tolist()), []).append(int(literals[start]))
    of_group: list[list[int]] = [[] for _ in range(1 + int(group[-1]))]
    for number, part_groups in enumerate(sorted(parts)):
        for one in part_groups:
            of_group[one].append(number)
    return Parts(*_joined([parts[part_groups] for part_groups in sorted(parts)]), *_joined(of_group))


def _joined(lists: Sequence[Sequence[int]]) -> tuple[Literals, Ids]:
    """All in a row, and where each begins."""
    joined = np.array([number for one in lists for number in one], np.int64)
    return joined, np.cumsum([0, *map(len, lists)]).astype(np.int32)


@kernel
def _split(network: Network, legal: Literals, first: Literals) -> tuple[Literals, Literals]:
    """What all moves of a group need, for each group, and what else each move needs."""
    groups = first.shape[0] - 1
    condition, rest = np.ones(groups, np.int64), legal.copy()
    common, found = np.zeros(_MOST_CONDITIONS, np.int64), np.zeros(_MOST_CONDITIONS, np.int64)
    for group in range(groups):
        shared = _conditions(network, legal[first[group]], common)
        for move in range(first[group] + 1, first[group + 1]):
            count = _conditions(network, legal[move], found)
            kept: Int = np.int64(0)
            for at in range(shared):
                if _contains(found, count, common[at]):
                    common[kept] = common[at]
                    kept += 1
            shared = kept
        for at in range(shared):
            condition[group] = both(network, condition[group], common[at])
        for move in range(first[group], first[group + 1]):
            count = _conditions(network, legal[move], found)
            rest[move] = 1
            for at in range(count):
                if not _contains(common, shared, found[at]):
                    rest[move] = both(network, rest[move], found[at])
    return condition, rest


@kernel
def _conditions(network: Network, literal: Int, found: Literals) -> Int:
    """The literals, ascending, whose AND this one is, none of them an AND itself; this one if there are too many."""
    found[0] = literal
    count: Int = np.int64(1)
    at = 0
    while at < count:
        one = found[at]
        left, right = np.int64(network.left[one >> 1]), np.int64(network.right[one >> 1])
        if one & 1 or not 0 <= left < right:
            at += 1
        elif count == found.shape[0]:
            found[0] = literal
            return np.int64(1)
        else:
            found[at], found[count] = left, right
            count += 1
    sort_pairs(found, found, count)
    kept: Int = np.int64(0)
    for at in range(count):
        if at == 0 or found[at] != found[at - 1]:
            found[kept] = found[at]
            kept += 1
    return kept


@kernel
def _contains(literals: Literals, count: Int, literal: Int) -> bool:
    found = False
    for at in range(count):
        found |= literals[at] == literal
    return found


@kernel
def _choose_group(
    network: Network, condition: Literals, parts: Parts, sizes: Literals, random: Literals
) -> tuple[Literals, Literals, Int]:
    """Which group is chosen, the number of the move in it, lowest bit first, and whether any is legal."""
    groups, moves = condition.shape[0], sizes.sum()
    bits = 0
    while moves >> bits:
        bits += 1
    nodes = number_nodes(groups)
    sums, most = np.zeros((nodes[-1], bits), np.int64), np.zeros(nodes[-1], np.int64)
    most[:groups] = sizes
    _count_groups(network, condition, parts, sums)
    any_legal = add_up(network, nodes, sums, most)
    number, chosen = np.zeros(bits, np.int64), np.zeros(groups, np.int64)
    scale(network, sums[-1], moves, random, number)
    descend(network, nodes, sums, most, number, chosen)
    return chosen, number, any_legal


@kernel
def _count_groups(network: Network, condition: Literals, parts: Parts, sums: Literals) -> None:
    """How many moves of each group are legal, lowest bit first.

    Parts are added up in pairs by their numbers, so that groups which differ in one part share most of the sums.
    """
    bits = sums.shape[1]
    part_sums = np.zeros((parts.first.shape[0] - 1, bits), np.int64)
    for part in range(part_sums.shape[0]):
        count_members(network, parts.literals[parts.first[part] : parts.first[part + 1]], part_sums[part])
    for group in range(condition.shape[0]):
        numbers = parts.of_groups[parts.first_of[group] : parts.first_of[group + 1]].copy()
        own, most = np.zeros((numbers.shape[0], bits), np.int64), np.zeros(numbers.shape[0], np.int64)
        for at in range(numbers.shape[0]):
            own[at] = part_sums[numbers[at]]
            most[at] = parts.first[numbers[at] + 1] - parts.first[numbers[at]]
        count = numbers.shape[0]
        while count > 1:
            kept = 0
            at = 0
            while at < count:
                number = numbers[at] >> 1
                if at + 1 < count and numbers[at + 1] >> 1 == number:
                    total = most[at] + most[at + 1]
                    add_numbers(network, own[at].copy(), own[at + 1].copy(), total, own[kept])
                    at += 1
                else:
                    total = most[at]
                    own[kept] = own[at]
                numbers[kept], most[kept] = number, total
                kept += 1
                at += 1
            count = kept
        for bit in range(bits):
            sums[group, bit] = both(network, condition[group], own[0, bit])


@kernel
def _select(network: Network, rest: Literals, group: Ids, slot: Ids, chosen: Literals) -> Literals:
    """The rests of the chosen group by slot; moves come by slot, then by rest."""
    selected = np.zeros(slot[-1] + 1, np.int64)
    at = 0
    while at < rest.shape[0]:
        start = at
        any_chosen: Int = np.int64(0)
        while at < rest.shape[0] and rest[at] == rest[start] and slot[at] == slot[start]:
            any_chosen = either(network, any_chosen, chosen[group[at]])
            at += 1
        one = both(network, any_chosen, rest[start])
        selected[slot[start]] = either(network, selected[slot[start]], one)
    return selected


@kernel
def _both_of_each(network: Network, one: Literals, other: Literals) -> Literals:
    found = np.zeros(one.shape[0], np.int64)
    for at in range(one.shape[0]):
        found[at] = both(network, one[at], other[at])
    return found


@kernel
def _find_disjunctions(
    left: Ids, right: Ids, needed: "NDArray[np.bool_]", outputs: Ids, facts: Int, moves: Int
) -> tuple[Ids, Literals, Ids]:
    """The fields of `Disjunctions`."""
    size, gates = left.shape[0], 1 + facts + moves
    leaves = np.zeros(size, np.int64)  # moves below a node that says that none of them is done
    is_read = np.zeros(size, np.bool_)  # by anything else
    leaves[1 + facts : gates] = 1
    for node in range(gates, size):
        a, b = np.int64(left[node]), np.int64(right[node])
        if not needed[node] or a < 0:
            continue
        if a < b and _says_none(leaves, gates, a) and _says_none(leaves, gates, b):
            leaves[node] = leaves[a >> 1] + leaves[b >> 1]
        else:
            is_read[a >> 1] = is_read[b >> 1] = True
    for literal in outputs:
        is_read[literal >> 1] = True
    count: Int = np.int64(0)
    total: Int = np.int64(0)
    for node in range(gates, size):
        if is_read[node] and leaves[node]:
            count += 1
            total += leaves[node]
    nodes, first, found = np.empty(count, np.int32), np.zeros(count + 1, np.int64), np.empty(total, np.int32)
    stack = np.empty(size, np.int64)
    count, total = np.int64(0), np.int64(0)
    for node in range(gates, size):
        if not (is_read[node] and leaves[node]):
            continue
        nodes[count] = node
        stack[0] = node
        depth = 1
        while depth:
            depth -= 1
            at = stack[depth]
            if at < gates:
                found[total] = at - 1 - facts
                total += 1
            else:
                stack[depth], stack[depth + 1] = left[at] >> 1, right[at] >> 1
                depth += 2
        count += 1
        first[count] = total
    return nodes, first[: count + 1], found


@kernel
def _says_none(leaves: Literals, gates: Int, literal: Int) -> bool:
    """Whether a literal says that none of some moves is done."""
    return leaves[literal >> 1] > 0 and (literal & 1 == 1) == (literal >> 1 < gates)

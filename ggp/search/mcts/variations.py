"""A search → its best lines: joint moves from the state that it searches, and what is known of where they lead."""

from dataclasses import dataclass

import numpy as np

from ggp.gdl.state_machine import JointMove
from ggp.gdl.terms import Term
from ggp.search.mcts.search import Search
from ggp.search.mcts.tree import COUNT, FIRST, NODES, NONE, PAIRED, PAIRS, ROOT, SLOTS, VISITS

MOST_STEPS = 200  # of a line


@dataclass(frozen=True, slots=True)
class Line:
    """A line; values (0 to 1 for goal values of 0 to 100) and their proven bounds are by role.

    For the role that was asked for they are those of its first move, for the others of the state after the first step.
    """

    steps: tuple[JointMove, ...]
    choices: tuple[tuple[bool, ...], ...]  # for each step, which roles had more than one move
    visits: int  # of its first move
    values: tuple[float | None, ...]  # None where nothing is known yet
    low: tuple[float, ...]
    high: tuple[float, ...]


def best_lines(search: Search, role: str, count: int) -> tuple[Line, ...]:
    """The best line of each of the best moves of a role, best first; while the search does not run."""
    number = search.machine.roles.index(role)
    root = int(search.tree.numbers[ROOT])
    if search.tree.nodes[root, FIRST] == NONE:
        return ()
    names, best = search.machine.compiled.moves[number], search.result(role).best
    slots = sorted(_ranking(search, root, number), key=lambda slot: names[int(search.tree.move[slot])] != best)
    return tuple(_line(search, number, slot) for slot in slots[:count])


def expected_line(search: Search, role: int, move: Term | None, most_steps: int) -> tuple[JointMove, ...]:
    """The best line that begins with this move of the role, as far as the tree holds it; few steps take little work."""
    tree, names = search.tree, search.machine.compiled.moves[role]
    node = int(tree.numbers[ROOT])
    if tree.nodes[node, FIRST] == NONE:
        return ()
    firsts, slots = _first_slots(search, node), _best_slots(search, node)
    own = [slot for slot in range(firsts[role], firsts[role + 1]) if names[int(tree.move[slot])] == move]
    if not own:
        return ()
    slots[role] = own[0]
    steps = [_joint_move(search, slots)]
    while len(steps) < most_steps:
        node = _child(search, node, slots)
        if node == NONE or tree.nodes[node, FIRST] == NONE:
            break
        slots = _best_slots(search, node)
        steps.append(_joint_move(search, slots))
    return tuple(steps)


def tree_bytes(search: Search) -> int:
    """What nodes, slots and pairs in use take up."""
    tree = search.tree
    node = tree.states[0].nbytes + tree.nodes[0].nbytes + tree.values[0].nbytes + tree.table[0].nbytes
    slot = sum(array[0].nbytes for array in (tree.move, tree.tries, tree.aloft, tree.gain, tree.square, tree.low,
                                             tree.high, tree.child))  # fmt: skip
    pair = tree.code[0].nbytes + tree.target[0].nbytes + tree.onward[0].nbytes
    numbers = tree.numbers
    return int(numbers[NODES] * node + numbers[SLOTS] * slot + numbers[PAIRED] * pair)


def _line(search: Search, role: int, slot: int) -> Line:
    tree = search.tree
    node = int(tree.numbers[ROOT])
    slots = _best_slots(search, node)
    slots[role] = slot
    steps, choices, seen = [], [_choosers(search, node)], {node}
    first, visits = _child(search, node, slots), int(tree.tries[slot])
    node = first
    while True:
        steps.append(_joint_move(search, slots))
        if node == NONE or node in seen or tree.nodes[node, FIRST] == NONE or len(steps) == MOST_STEPS:
            break
        seen.add(node)
        slots = _best_slots(search, node)
        following = _child(search, node, slots)
        if following == NONE:
            break
        choices.append(_choosers(search, node))
        node = following
    _go_on(search, steps, choices)
    return Line(tuple(steps), tuple(choices), visits, *_worth(search, first, role, slot))


def _go_on(search: Search, steps: list[JointMove], choices: list[tuple[bool, ...]]) -> None:
    """Adds steps up to the end, where all states are known."""
    machine, solution = search.machine, search.solution
    if solution is None:
        return
    state = machine.unpacked(search.tree.states[int(search.tree.numbers[ROOT])][np.newaxis])
    for step in steps:
        state = machine.next_state(state, step)
    while len(steps) < MOST_STEPS:
        bits = machine.packed(state)
        number = None if bits is None else solution.find(bits)
        best = None if number is None else solution.best_choice(number)
        if best is None:
            break
        legal = [machine.legal_moves(state, role) for role in machine.roles]
        joint = [moves[0] for moves in legal]
        joint[best[0]] = machine.compiled.moves[best[0]][best[1]]
        steps.append(tuple(joint))
        choices.append(tuple(len(moves) > 1 for moves in legal))
        state = machine.next_state(state, tuple(joint))


def _worth(
    search: Search, node: int, role: int, slot: int
) -> tuple[tuple[float | None, ...], tuple[float, ...], tuple[float, ...]]:
    """Values and bounds of a node, but those of its own role from the slot, whatever the others reply."""
    tree, roles = search.tree, len(search.machine.roles)
    sums, low, high = np.zeros(roles), np.zeros(roles), np.ones(roles)
    visits = np.zeros(roles)
    if node != NONE:
        worth = tree.values[node]
        sums, low, high = worth[:roles].copy(), worth[roles : 2 * roles].copy(), worth[2 * roles :].copy()
        visits[:] = tree.nodes[node, VISITS]
    visits[role], sums[role] = tree.tries[slot], tree.gain[slot]
    low[role], high[role] = tree.low[slot], tree.high[slot]
    if search.is_proven and not search.is_solved:  # the tree does not know of a loss that was proven beside it
        least, most = search.bounds
        low, high = np.maximum(low, np.minimum(least, high)), high.copy()
        high[role] = max(min(high[role], most[role]), low[role])
    means = np.clip(sums / np.maximum(visits, 1), low, high)
    known = (visits > 0) | (low == high)
    return (
        tuple(_goal(search, at, means[at]) if known[at] else None for at in range(roles)),
        tuple(_goal(search, at, low[at]) for at in range(roles)),
        tuple(_goal(search, at, high[at]) for at in range(roles)),
    )


def _goal(search: Search, role: int, value: float) -> float:
    return float(search.parameters.lowest[role] + value * search.parameters.span[role]) / 100


def _first_slots(search: Search, node: int) -> list[int]:
    """Where the slots of each role begin, and where the last end."""
    nodes = search.tree.nodes
    counts = nodes[node, COUNT : COUNT + len(search.machine.roles)]
    return [int(nodes[node, FIRST]) + int(at) for at in np.concatenate(([0], np.cumsum(counts)))]


def _ranking(search: Search, node: int, role: int) -> list[int]:
    """The slots of a role, best first: much as `Search.result` chooses, but for the lengths of proven lines."""
    tree, firsts = search.tree, _first_slots(search, node)
    slots = np.arange(firsts[role], firsts[role + 1])
    tries, low, high = tree.tries[slots], tree.low[slots], tree.high[slots]
    means = np.clip(tree.gain[slots] / np.maximum(tries, 1), low, high)
    order = slots[np.lexsort((-means, -tries))]
    sure = slots[int(low.argmax())]
    by_visits = [int(slot) for slot in order]
    favourite = next((slot for slot in by_visits if tree.low[slot] < tree.high[slot]), None)
    if low.max() > 0 and (favourite is None or tree.low[sure] >= tree.gain[favourite] / max(tree.tries[favourite], 1)):
        favourite = int(sure)
    hopeless = [slot for slot in by_visits if tree.high[slot] <= 0]
    others = [slot for slot in by_visits if tree.high[slot] > 0 and slot != favourite]
    return [*([] if favourite is None or favourite in hopeless else [favourite]), *others, *hopeless]


def _choosers(search: Search, node: int) -> tuple[bool, ...]:
    return tuple(bool(count > 1) for count in np.diff(_first_slots(search, node)))


def _best_slots(search: Search, node: int) -> list[int]:
    """Of each role."""
    return [_ranking(search, node, role)[0] for role in range(len(search.machine.roles))]


def _child(search: Search, node: int, slots: list[int]) -> int:
    """The node below a joint move, or NONE."""
    tree, firsts = search.tree, _first_slots(search, node)
    counts = np.diff(firsts)
    choosers = np.flatnonzero(counts > 1)
    if len(choosers) < 2:
        return int(tree.child[slots[choosers[0]] if len(choosers) else firsts[0]])
    code = 0
    for role, slot in enumerate(slots):
        code = code * int(counts[role]) + slot - firsts[role]
    pair = int(tree.nodes[node, PAIRS])
    while pair != NONE and tree.code[pair] != code:
        pair = int(tree.onward[pair])
    return NONE if pair == NONE else int(tree.target[pair])


def _joint_move(search: Search, slots: list[int]) -> JointMove:
    moves, tree = search.machine.compiled.moves, search.tree
    return tuple(moves[role][int(tree.move[slot])] for role, slot in enumerate(slots))

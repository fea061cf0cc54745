"""A search tree compared with a state machine: every step in it is one of the rules, and what it claims is true."""

from collections.abc import Iterator, Sequence
from random import Random

import numpy as np

from ggp.gdl.state_machine import Facts, StateMachine
from ggp.gdl.terms import Term
from ggp.search.mcts.search import BatchedMcts
from ggp.search.mcts.tree import COUNT, END, INNER, NONE, PHASE, Tree
from ggp.simulation.evaluate import unpack
from tests.search.books import Node, nodes_of
from tests.search.truth import Vector, World

TINY = 1e-9


def state_of(search: BatchedMcts, number: int) -> Facts:
    return search.machine.unpacked(search.tree.table.states[number][np.newaxis])


def edges(tree: Tree, node: Node) -> Iterator[tuple[list[int], int]]:
    """One slot of each role, and the node below."""
    chooser = node.choosers[0] if node.choosers else 0
    for slot in node.slots_of(chooser) if node.first != NONE else ():
        if tree.child[slot] != NONE:
            places = [node.slots_of(role)[0] for role in range(len(node.counts))]
            places[chooser] = slot
            yield places, int(tree.child[slot])
    for code, target in node.edges.items():
        yield node.joint_slots(code), target


def check_replay(search: BatchedMcts, machine: StateMachine, most: int = 200, seed: int = 0) -> None:
    """States, moves, ends and phases of some nodes, and of those below them, are what the machine says."""
    tree, nodes = search.tree, nodes_of(search.tree)
    compiled = search.machine.compiled
    chosen = Random(seed).sample(sorted(nodes), min(most, len(nodes)))
    for number in chosen:
        node, state = nodes[number], state_of(search, number)
        known = compiled.phases[int(tree.nodes[number, PHASE])]
        flags = unpack(tree.table.states[number][np.newaxis], len(compiled.facts))[0]
        assert (flags == known)[known >= 0].all()
        legal = [machine.legal_moves(state, role) for role in machine.roles]
        assert (node.kind == END) == (machine.is_terminal(state) or not all(legal))
        if node.kind == INNER:
            for role, moves in enumerate(legal):
                assert _moves(search, node.slots_of(role), role) == moves
        for places, child in edges(tree, node):
            joint = tuple(_moves(search, [place], role)[0] for role, place in enumerate(places))
            assert state_of(search, child) == machine.next_state(state, joint)
            assert tree.nodes[child, PHASE] == (tree.nodes[number, PHASE] + 1) % len(compiled.phases)


def _moves(search: BatchedMcts, slots: Sequence[int], role: int) -> tuple[Term, ...]:
    return tuple(search.machine.compiled.moves[role][int(search.tree.move[slot])] for slot in slots)


def bounds_of(tree: Tree, number: int) -> tuple[Vector, Vector]:
    roles = tree.nodes.shape[1] - COUNT
    values = tree.values[number].tolist()
    return tuple(values[roles : 2 * roles]), tuple(values[2 * roles : 3 * roles])


def check_ends(search: BatchedMcts, world: World) -> None:
    """The nodes of ends have their values."""
    for number, node in nodes_of(search.tree).items():
        if node.kind == END:
            value = world.positions[state_of(search, number)].value
            assert value is not None
            assert np.allclose(bounds_of(search.tree, number)[0], value, atol=TINY)


def check_opposed(search: BatchedMcts, world: World) -> None:
    """Where the first two roles' values add up to 1: neither is said to get more than the other one can prevent."""
    sure = [world.assured(role) for role in (0, 1)]
    for number in nodes_of(search.tree):
        state, (low, high) = state_of(search, number), bounds_of(search.tree, number)
        for role in (0, 1):
            assert low[role] <= sure[role][state] + TINY
            assert high[role] >= 1 - sure[1 - role][state] - TINY


def check_alone(search: BatchedMcts, world: World) -> None:
    """Where there is one role: its bounds hold the best that can be reached."""
    sure = world.assured(0)
    for number in nodes_of(search.tree):
        low, high = bounds_of(search.tree, number)
        best = sure[state_of(search, number)]
        assert low[0] <= best + TINY
        assert high[0] >= best - TINY


def check_outcomes(search: BatchedMcts, world: World) -> int:
    """Some outcome of best choices lies within the bounds of each node; in how many nodes that could be seen."""
    outcomes, seen = world.outcomes(), 0
    for number in nodes_of(search.tree):
        vectors = outcomes[state_of(search, number)]
        if vectors is not None:
            low, high = bounds_of(search.tree, number)
            assert any(within(low, vector, high) for vector in vectors), (low, high, vectors)
            seen += 1
    return seen


def within(low: Vector, vector: Vector, high: Vector) -> bool:
    return all(a - TINY <= value <= b + TINY for a, value, b in zip(low, vector, high, strict=True))

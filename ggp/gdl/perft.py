"""Perft: how many paths of joint moves there are, the count by which engines and rulesheets are compared."""

from collections import Counter
from collections.abc import Iterator
from itertools import islice, product

from ggp.gdl.state_machine import Facts, StateMachine


def perft(machine: StateMachine, depth: int) -> tuple[int, ...]:
    """The number of paths of 1, 2 … `depth` joint moves from the initial state; a path stops in a terminal state."""
    return tuple(islice(layers(machine), depth))


def layers(machine: StateMachine) -> Iterator[int]:
    """The counts of `perft`, one after the other, without end; states that several paths reach are visited once."""
    paths: Counter[Facts] = Counter({machine.initial_state: 1})
    while True:
        after: Counter[Facts] = Counter()
        for state, count in paths.items():
            if not machine.is_terminal(state):
                for joint_move in product(*(machine.legal_moves(state, role) for role in machine.roles)):
                    after[machine.next_state(state, joint_move)] += count
        paths = after
        yield sum(paths.values())

"""Perft: how many paths of joint moves there are, the count by which engines and rulesheets are compared.

On the circuit all joint moves of many states are made at once; other machines make them one by one.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import islice, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ggp.gdl.state_machine import Facts, StateMachine
from ggp.simulation.evaluate import Batches, Bits, Indices, unpack
from ggp.simulation.state_graph import Images, put_least_images
from ggp.simulation.state_machine import CircuitMachine

STEPS_AT_ONCE = 1 << 18  # joint moves, or one state's if these are more
_LARGE = 2.0**60

Counts = NDArray[Any]  # int64, or Python's integers where that is too small


def perft(machine: StateMachine, depth: int) -> tuple[int, ...]:
    """The number of paths of 1, 2 … `depth` joint moves from the initial state; a path stops in a terminal state."""
    return tuple(islice(layers(machine), depth))


def layers(machine: StateMachine, images: Images | None = None) -> Iterator[int]:
    """The counts of `perft`, one after the other, without end; states that several paths reach are visited once.

    images: on the circuit, states that are images of one another by these are visited once, too. Roles may be
    exchanged. The counts stay the same where these are symmetries; that is what the counts can prove of them.
    """
    if isinstance(machine, CircuitMachine):
        return _layers_in_batches(machine.batches, images)
    return _layers_one_by_one(machine)


def _layers_one_by_one(machine: StateMachine) -> Iterator[int]:
    paths: Counter[Facts] = Counter({machine.initial_state: 1})
    while True:
        after: Counter[Facts] = Counter()
        for state, count in paths.items():
            if not machine.is_terminal(state):
                for joint_move in product(*(machine.legal_moves(state, role) for role in machine.roles)):
                    after[machine.next_state(state, joint_move)] += count
        paths = after
        yield sum(paths.values())


def _layers_in_batches(batches: Batches, images: Images | None) -> Iterator[int]:
    states = batches.initial
    paths: Counts = np.ones(1, np.int64)
    while True:
        parts = [(states[:0], paths[:0])]
        parts += [_merged(_least(images, found), count) for found, count in _followed(batches, states, paths)]
        counts = np.concatenate([count for _, count in parts])
        states, paths = _merged(np.concatenate([part for part, _ in parts]), counts)
        yield int(paths.sum())


def _followed(batches: Batches, states: Bits, paths: Counts) -> Iterator[tuple[Bits, Counts]]:
    """The states after all joint moves, with the paths that lead there."""
    legal, terminal = batches.look(states)
    states, paths, legal = states[~terminal], paths[~terminal], legal[~terminal]
    flags = unpack(legal, int(batches.first_move[-1]))
    firsts = batches.first_move
    choices = np.add.reduceat(
        np.hstack([flags, np.zeros((len(flags), 1), np.bool_)]), firsts[:-1], axis=1, dtype=np.int64
    )
    choices[:, np.diff(firsts) == 0] = 0
    joint = choices.prod(axis=1)
    ends = np.cumsum(joint)
    start = 0
    while start < len(states):
        before = int(ends[start - 1]) if start else 0
        end = max(start + 1, int(np.searchsorted(ends, before + STEPS_AT_ONCE, side="right")))
        part = slice(start, end)
        state, moves = _joint_moves(flags[part], firsts, choices[part], joint[part])
        following = batches.next_states(states[part][state], moves)
        yield following, paths[part][state]
        start = end


def _joint_moves(
    flags: NDArray[np.bool_], firsts: Indices, choices: NDArray[np.int64], joint: NDArray[np.int64]
) -> tuple[NDArray[np.int64], Indices]:
    """All joint moves of some states: the number of the state, and the moves by role."""
    state = np.repeat(np.arange(len(flags)), joint)
    rest = np.arange(len(state)) - np.repeat(np.cumsum(joint) - joint, joint)
    moves = np.empty((len(state), len(firsts) - 1), np.int32)
    for role in range(len(firsts) - 1):
        _, numbers = np.nonzero(flags[:, firsts[role] : firsts[role + 1]])
        first = np.cumsum(choices[:, role]) - choices[:, role]
        rest, pick = np.divmod(rest, choices[state, role])
        moves[:, role] = numbers[first[state] + pick]
    return state, moves


def _least(images: Images | None, states: Bits) -> Bits:
    if images is not None:
        put_least_images(images, states)
    return states


def _merged(states: Bits, paths: Counts) -> tuple[Bits, Counts]:
    """Each state once, with the sum of its paths."""
    if not len(states):
        return states, paths
    if paths.dtype != object and float(paths.astype(np.float64).sum()) > _LARGE:
        paths = paths.astype(object)
    keys = np.ascontiguousarray(states).view(np.dtype((np.void, states.shape[1] * 8)))[:, 0]
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    sums = np.zeros(len(first), paths.dtype)
    np.add.at(sums, place, paths)
    return states[first], sums

"""Expert iteration: matches of the tree search against itself, of which a net learns moves and values.

Anthony, Tian and Barber, 2017; AlphaZero (Silver et al., 2018) does the same without playouts. The net gives the priors
of the search, whose visits are better than they are; playouts see decisive moves. Matches go on side by side in one
tree, whose cycles have descents from the states of all of them. They begin with some random steps, and end as soon as
their value is proven.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.kernel import LANES
from ggp.learning.contest import random_states
from ggp.learning.fitting import MATCHES, MOVES, SAMPLES, Samples, make_samples
from ggp.learning.net import Floats, Net
from ggp.learning.self_play import SelfPlaySettings
from ggp.search.mcts.result import Values
from ggp.search.mcts.search import BatchedMcts, SearchSettings
from ggp.search.mcts.tree import COUNT, END, FIRST, KIND, NONE, VISITS
from ggp.simulation.evaluate import Bits
from ggp.simulation.expansion import look, make_expansion
from ggp.simulation.state_machine import CircuitMachine

SIDE_BY_SIDE = 64  # matches
_VISITS = 200  # of a state, before the move
_SHARPNESS = 2.0  # a move is drawn by this power of its visits
_RANDOM_SHARE = 0.01  # of the moves; what comes of one is no outcome of the states before it
_OUTCOME = 0.5  # share of the outcome in a sample's value; the rest is what the search says of the best move
_MOST_STEPS = SelfPlaySettings().cap
_PRIOR_WEIGHT = 0.5
_OPPOSED = 2  # roles


class _Example(NamedTuple):
    """A state, and what the search says of it."""

    state: Bits  # (words,)
    values: Values  # (roles,) 0 to 1
    moves: NDArray[np.int32]  # those that were visited, numbered over the moves of all roles in a row
    shares: Floats  # of the visits


@dataclass(slots=True)
class _Match:
    state: Bits  # (words,)
    steps: int = 0
    examples: list[_Example] = field(default_factory=list)  # since the last random move


class ExpertMatches:
    """Matches of one game; used by one thread. Equal nets and seeds give equal samples.

    Where several roles choose at once a match ends, so that games of only such states give no samples.
    """

    def __init__(self, machine: CircuitMachine, memory_bytes: int = 2**28) -> None:
        """memory_bytes: of the tree."""
        self._machine = machine
        self._settings = SearchSettings(
            prior_weight=_PRIOR_WEIGHT, decisive_moves=2, retrograde=False, proof=False, memory_bytes=memory_bytes
        )
        self._expansion = make_expansion(machine.batches)

    def play(self, net: Net, seed: int, stop: Callable[[], bool]) -> Samples | None:
        """Up to `SIDE_BY_SIDE` matches to their ends: a sample of each state with a choice; None when stopped."""
        search = BatchedMcts(self._machine, self._settings, seed)
        search.adopt(self._settings, net)
        search.run(stop, 1)  # how many playouts a leaf gets, and whether two roles are opposed
        random, examples = np.random.default_rng(seed), list[_Example]()
        openings = random_states(self._machine.batches, net, seed)[:SIDE_BY_SIDE]
        going = [_Match(state) for state in openings]
        while going:
            nodes = search.run_side_by_side(np.array([match.state for match in going]), _VISITS, stop)
            if nodes is None:
                return None
            steps = zip(going, nodes.tolist(), strict=True)
            going = [match for match, node in steps if _go_on(search, random, match, node, examples)]
        return self._samples(examples, len(openings), reads_moves=len(net.input_of_move) > 0)

    def _samples(self, examples: list[_Example], matches: int, *, reads_moves: bool) -> Samples:
        words, expansion = self._machine.batches.initial.shape[1], self._expansion
        legal_words = expansion.legal.shape[1] if reads_moves else 0
        counts = np.array([len(example.moves) for example in examples], np.int64)
        found = make_samples(words, legal_words, len(self._machine.roles), len(examples), int(counts.sum()))
        found.numbers[[SAMPLES, MOVES, MATCHES]] = len(examples), counts.sum(), matches
        if examples:
            found.states[:] = [example.state for example in examples]
            found.values[:] = [example.values for example in examples]
            found.moves[:] = np.concatenate([example.moves for example in examples])
            found.shares[:] = np.concatenate([example.shares for example in examples])
        found.is_complete[:], found.policy_count[:], found.policy_start[:] = True, counts, np.cumsum(counts) - counts
        for first in range(0, len(examples) if reads_moves else 0, LANES):
            part = found.states[first : first + LANES]
            expansion.before[: len(part)] = part
            look(expansion, expansion.before, np.int64(len(part)))
            found.legal[first : first + len(part)] = expansion.legal[: len(part)]
        return found


def _go_on(
    search: BatchedMcts, random: np.random.Generator, match: _Match, node: int, examples: list[_Example]
) -> bool:
    """The match goes on by a step; False at its end, where its examples are added to those that are whole."""
    tree, roles = search.tree, len(search.machine.roles)
    counts, first = tree.nodes[node, COUNT:], int(tree.nodes[node, FIRST])
    lower, upper = tree.values[node, roles : 2 * roles], tree.values[node, 2 * roles : 3 * roles]
    is_proven = bool((lower == upper).all())
    match.steps += 1
    choosers = np.flatnonzero(counts > 1)
    if is_proven and first == NONE:
        return _end(match, lower, examples)
    if len(choosers) > 1 or match.steps >= _MOST_STEPS:
        return _end(match, None, examples)
    chooser = int(choosers[0]) if len(choosers) else 0
    start = first + int(counts[:chooser].sum())
    slots = np.arange(start, start + int(counts[chooser]))
    reached = slots[tree.child[slots] != NONE]
    if not len(reached):  # what was below it had to make room: it is searched once more
        return True
    if search.parameters.nature[chooser]:
        slot = int(random.choice(reached))
    elif len(slots) == 1:
        slot = start
    else:
        example, shares = _example(search, node, chooser, slots)
        match.examples.append(example)
        if is_proven:
            return _end(match, lower, examples)
        if random.random() < _RANDOM_SHARE:
            _end(match, None, examples)
            slot = int(random.choice(reached))
        else:
            weights = np.where(tree.child[slots] != NONE, shares, 0.0) ** _SHARPNESS
            weights = weights if weights.any() else (slots == reached[0]).astype(np.float64)
            slot = int(random.choice(slots, p=weights / weights.sum()))
    child = int(tree.child[slot])
    if tree.nodes[child, KIND] == END:
        return _end(match, tree.values[child, roles : 2 * roles], examples)
    match.state = tree.table.states[child].copy()
    return True


def _example(search: BatchedMcts, node: int, chooser: int, slots: NDArray[np.int64]) -> tuple[_Example, Values]:
    """Of a state where one role chooses among the moves of these slots; and the share of each of them."""
    tree, roles = search.tree, len(search.machine.roles)
    visits, lower, upper = tree.visits[slots], tree.lower[slots], tree.upper[slots]
    is_best_proven = upper.max() <= lower.max()
    shares = (lower == lower.max()).astype(np.float64) if is_best_proven else visits * (upper >= lower.max())
    shares = shares if shares.any() else np.ones(len(slots))
    shares /= shares.sum()
    best = int(shares.argmax())
    mean = float(tree.value_sum[slots[best]]) / max(float(visits[best]), 1.0)
    values = tree.values[node, :roles] / max(float(tree.values[node, VISITS]), 1.0)
    values[chooser] = min(max(mean, lower[best]), upper[best])
    if roles == _OPPOSED and search.parameters.zero_sum[0]:
        values[1 - chooser] = 1.0 - values[chooser]
    move = search.parameters.first_move[chooser] + tree.move[slots]
    visited = shares > 0
    state = tree.table.states[node].copy()
    return _Example(state, values, move[visited].astype(np.int32), shares[visited].astype(np.float32)), shares


def _end(match: _Match, outcome: Values | None, examples: list[_Example]) -> bool:
    """The examples since the last random move are whole, with their share of the outcome if it is known; False."""
    for example in match.examples:
        known = example.values if outcome is None else example.values + _OUTCOME * (outcome - example.values)
        examples.append(example._replace(values=known))
    match.examples.clear()
    return False

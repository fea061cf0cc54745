"""Expert iteration: self-play of the tree search, from which a net learns policy and value.

Anthony, Tian and Barber, 2017; AlphaZero (Silver et al., 2018) does the same without playouts. The net gives the priors
of the search, and its policy learns the distribution of the visits; playouts see decisive moves. Matches run side by
side in one tree, with descents from the states of all of them in each cycle. They begin with some random steps, and end
as soon as their value is proven.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.kernel import LANES
from ggp.learning.contest import random_states
from ggp.learning.fitting import MATCHES, MOVES, SAMPLES, Samples, make_samples
from ggp.learning.net import Net
from ggp.learning.patterns import Floats
from ggp.learning.self_play import SelfPlaySettings
from ggp.search.mcts.result import Values
from ggp.search.mcts.search import BatchedMcts, SearchSettings
from ggp.search.mcts.tree import COUNT, END, FIRST, KIND, NONE, VISITS
from ggp.simulation.evaluate import Bits
from ggp.simulation.expansion import look, make_expansion
from ggp.simulation.state_machine import CircuitMachine

SIDE_BY_SIDE = 64  # matches
_VISITS = 200  # of a state, before the move
_TEMPERATURE = 0.5  # moves are drawn in proportion to visits ** (1 / temperature)
_RANDOM_SHARE = 0.01  # of the moves; what comes of one is no outcome of the states before it
_OUTCOME = 0.5  # share of the outcome in a sample's value; the rest is what the search says of the best move
_MOST_STEPS = SelfPlaySettings().cap
_PRIOR_WEIGHT = 0.5
_OPPOSED = 2  # roles


class _Sample(NamedTuple):
    """A state, and what the search says of it."""

    state: Bits  # (words,)
    values: Values  # (roles,) 0 to 1
    moves: NDArray[np.int32]  # those that were visited, numbered over the moves of all roles in a row
    shares: Floats  # of the visits


@dataclass(slots=True)
class _Match:
    state: Bits  # (words,)
    steps: int = 0
    samples: list[_Sample] = field(default_factory=list)  # since the last random move


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
        random, samples = np.random.default_rng(seed), list[_Sample]()
        openings = random_states(self._machine.batches, net, seed)[:SIDE_BY_SIDE]
        going = [_Match(state) for state in openings]
        while going:
            nodes = search.run_side_by_side(np.array([match.state for match in going]), _VISITS, stop)
            if nodes is None:
                return None
            steps = zip(going, nodes.tolist(), strict=True)
            going = [match for match, node in steps if _go_on(search, random, match, node, samples)]
        return self._packed(samples, len(openings), reads_moves=len(net.input_of_move) > 0)

    def _packed(self, samples: list[_Sample], matches: int, *, reads_moves: bool) -> Samples:
        """The samples as the learner reads them."""
        words, expansion = self._machine.batches.initial.shape[1], self._expansion
        legal_words = expansion.legal.shape[1] if reads_moves else 0
        counts = np.array([len(sample.moves) for sample in samples], np.int64)
        found = make_samples(words, legal_words, len(self._machine.roles), len(samples), int(counts.sum()))
        found.numbers[[SAMPLES, MOVES, MATCHES]] = len(samples), counts.sum(), matches
        if samples:
            found.states[:] = [sample.state for sample in samples]
            found.values[:] = [sample.values for sample in samples]
            found.moves[:] = np.concatenate([sample.moves for sample in samples])
            found.shares[:] = np.concatenate([sample.shares for sample in samples])
        found.is_complete[:], found.policy_count[:], found.policy_start[:] = True, counts, np.cumsum(counts) - counts
        for first in range(0, len(samples) if reads_moves else 0, LANES):
            part = found.states[first : first + LANES]
            expansion.before[: len(part)] = part
            look(expansion, expansion.before, np.int64(len(part)))
            found.legal[first : first + len(part)] = expansion.legal[: len(part)]
        return found


def _go_on(search: BatchedMcts, random: np.random.Generator, match: _Match, node: int, samples: list[_Sample]) -> bool:
    """The match goes on by a step; False at its end, where its samples are added to those that are complete."""
    tree, roles = search.tree, len(search.machine.roles)
    counts, first = tree.nodes[node, COUNT:], int(tree.nodes[node, FIRST])
    lower, upper = tree.values[node, roles : 2 * roles], tree.values[node, 2 * roles : 3 * roles]
    is_proven = bool((lower == upper).all())
    match.steps += 1
    choosers = np.flatnonzero(counts > 1)
    if is_proven and first == NONE:
        return _end(match, lower, samples)
    if len(choosers) > 1 or match.steps >= _MOST_STEPS:
        return _end(match, None, samples)
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
        sample, shares = _sample(search, node, chooser, slots)
        match.samples.append(sample)
        if is_proven:
            return _end(match, lower, samples)
        if random.random() < _RANDOM_SHARE:
            _end(match, None, samples)
            slot = int(random.choice(reached))
        else:
            weights = np.where(tree.child[slots] != NONE, shares, 0.0) ** (1.0 / _TEMPERATURE)
            weights = weights if weights.any() else (slots == reached[0]).astype(np.float64)
            slot = int(random.choice(slots, p=weights / weights.sum()))
    child = int(tree.child[slot])
    if tree.nodes[child, KIND] == END:
        return _end(match, tree.values[child, roles : 2 * roles], samples)
    match.state = tree.table.states[child].copy()
    return True


def _sample(search: BatchedMcts, node: int, chooser: int, slots: NDArray[np.int64]) -> tuple[_Sample, Values]:
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
    return _Sample(state, values, move[visited].astype(np.int32), shares[visited].astype(np.float32)), shares


def _end(match: _Match, outcome: Values | None, samples: list[_Sample]) -> bool:
    """The samples since the last random move are complete, with their share of the outcome if it is known; False."""
    for sample in match.samples:
        known = sample.values if outcome is None else sample.values + _OUTCOME * (outcome - sample.values)
        samples.append(sample._replace(values=known))
    match.samples.clear()
    return False

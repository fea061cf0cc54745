"""What a beam learns from its runs: which states led far.

A net values states by how far the longest path through them went, as a share of the longest path of its run. The net is
that of `ggp.learning`, with one value and no policy; it is fitted in slices of a batch.
"""

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import Ids
from ggp.kernel import kernel
from ggp.learning.fitting import SAMPLES, fit, make_fitting, make_samples
from ggp.learning.net import Activations, QuantizedNet, activate, make_net, quantize, role_value
from ggp.simulation.evaluate import Bits

_PLACES = 6000  # states of a run that are learned from
_LEAST_PLACES = 200
_BATCH, _RATE = 256, 2e-3
_PASSES = 2


class Hindsight:
    """The net of one beam. Locking: none, for one thread at a time."""

    def __init__(self, facts: int, words: int, seed: int) -> None:
        net = make_net(np.arange(facts, dtype=np.int32), 1, 0, seed)
        self._fitting = make_fitting(net)
        self._samples = make_samples(words, 0, 1, _PLACES, 1)
        self._samples.is_complete[:] = True
        self._rng = np.random.default_rng(seed)
        self._random = np.array([seed], np.uint64)
        self._left = 0

    @property
    def is_fitting(self) -> bool:
        """Whether there is more to learn from the last run."""
        return self._left > 0

    @property
    def is_fitted(self) -> bool:
        """Whether states can be valued."""
        return int(self._fitting.numbers[0]) > 0

    def take(self, states: Bits, parents: Ids, survivors: NDArray[np.intp]) -> None:
        """A run is over; parents: (n,) of its states, each after its parent; survivors: those that were expanded."""
        if len(survivors) < _LEAST_PLACES:
            return
        chosen = self._rng.choice(survivors, min(len(survivors), _PLACES), replace=False)
        count = len(chosen)
        self._samples.states[:count] = states[chosen]
        self._samples.values[:count, 0] = reached(parents)[chosen]
        self._samples.numbers[SAMPLES] = count
        self._left = _PASSES * count // _BATCH

    def advance(self) -> None:
        """A batch."""
        fit(self._fitting, self._samples, self._random, 1, _BATCH, _RATE)
        self._left -= 1

    def add_values(self, states: Bits, found: NDArray[np.float64]) -> None:
        """Adds what the net says of each state, 0 to 1."""
        add_values(quantize(self._fitting.net), states, self._fitting.activations, found)


@kernel
def reached(parents: Ids) -> NDArray[np.float32]:
    """(n,) the length of the longest path through each state, as a share of the longest of all."""
    count = len(parents)
    found = np.zeros(count, np.float32)
    longest = np.float32(1.0)
    for state in range(1, count):
        found[state] = found[parents[state]] + np.float32(1.0)
        longest = max(longest, found[state])
    for state in range(count - 1, 0, -1):
        found[parents[state]] = max(found[parents[state]], found[state])
    for state in range(count):
        found[state] /= longest
    return found


@kernel
def add_values(net: QuantizedNet, states: Bits, room: Activations, found: NDArray[np.float64]) -> None:
    """Adds the value of each state."""
    for row in range(len(states)):
        activate(net, states, np.int64(row), states, np.int64(row), room)
        found[row] += role_value(net, room, np.int64(0))

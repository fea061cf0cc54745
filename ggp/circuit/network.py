"""AND, XOR and inverters over numbered nodes, each gate only once: the form in which circuits are built and simplified.

Node 0 is the constant false, inputs and loop nodes are declared, gates come after what they read. A literal is
2 · node, + 1 for its complement; so 0 is false and 1 is true. An AND has left < right, an XOR left > right.

The circuit of a game is such a network as arrays: gates from facts and moves to legality, the next state, the end and
the goals.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.errors import GroundingError
from ggp.kernel import Int, inner, kernel

Ids = NDArray[np.int32]
Literals = NDArray[np.int64]
INPUT = -1  # left of an input; right is its number
LOOP = -2  # left of a loop node; right is its number
FALSE = 0
TRUE = 1

_FEWEST_SLOTS = 1 << 10


class Network(NamedTuple):
    """A network that grows in place."""

    left: Ids  # (capacity,) literal, INPUT or LOOP
    right: Ids  # (capacity,) literal, or the number of the input or loop node
    table: Ids  # (power of two,) gates by hash, in the part that is in use; 0: free
    size: Ids  # (2,) the number of nodes, and of the slots of the table in use: few fit the processor's cache


def make_network(capacity: int) -> Network:
    """An empty network; its memory is taken only as it fills."""
    slots = max(_FEWEST_SLOTS, 1 << int(2 * capacity - 1).bit_length())
    network = Network(
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int32),
        np.zeros(slots, np.int32),
        np.array([1, _FEWEST_SLOTS], np.int32),
    )
    network.left[0] = network.right[0] = INPUT
    return network


def check_capacity(network: Network) -> None:
    """GroundingError when the network has run full; what was built then is not to be used."""
    if network.size[0] >= network.left.shape[0] - 1:
        raise GroundingError(f"the circuit has more than {network.left.shape[0]:,} gates")


@kernel
def add_input(network: Network, number: Int) -> Int:
    return _append(network, INPUT, number)


@kernel
def add_loop(network: Network, number: Int) -> Int:
    return _append(network, LOOP, number)


@inner
def _append(network: Network, left: Int, right: Int) -> Int:
    """The positive literal of a new node; a full network stays full and gives wrong nodes (see check_capacity)."""
    node = network.size[0]
    if node >= network.left.shape[0] - 1:
        return 0
    network.left[node] = left
    network.right[node] = right
    network.size[0] = node + 1
    return 2 * np.int64(node)


@kernel
def both(network: Network, a: Int, b: Int) -> Int:  # noqa: C901 - kernel: a call costs
    """The literal of a AND b."""
    while True:
        if a > b:
            a, b = b, a
        if a == 0 or a ^ b == 1:
            return 0
        if a == 1 or a == b:  # noqa: PLR1714 - numba knows no sets
            return b
        again = False
        for _ in range(2):  # what one side implies about the other
            a, b = b, a
            left, right = np.int64(network.left[b >> 1]), np.int64(network.right[b >> 1])
            if not 0 <= left < right:
                continue
            if b & 1 == 0:
                if a in (left, right):
                    return b
                if a ^ 1 in (left, right):
                    return 0
            elif a ^ 1 in (left, right):
                return a
            elif a in (left, right):
                b = (right if a == left else left) ^ 1
                again = True
                break
        if not again:
            return _gate(network, min(a, b), max(a, b))


@inner
def either(network: Network, a: Int, b: Int) -> Int:
    """The literal of a OR b."""
    return both(network, a ^ 1, b ^ 1) ^ 1


@kernel
def any_of(network: Network, literals: Literals) -> Int:
    """The literal of whether any of them holds."""
    found: Int = np.int64(0)
    for literal in literals:
        found = either(network, found, literal)
    return found


@kernel
def differ(network: Network, a: Int, b: Int) -> Int:
    """The literal of a XOR b."""
    inverted = (a ^ b) & 1
    a, b = max(a & ~1, b & ~1), min(a & ~1, b & ~1)
    if b == 0 or a == b:  # noqa: PLR1714 - numba knows no sets
        return (a if b == 0 else 0) ^ inverted
    return _gate(network, a, b) ^ inverted


@kernel
def _gate(network: Network, left: Int, right: Int) -> Int:
    """The gate with these inputs, made if there is none."""
    mask = np.int64(network.size[1]) - 1
    slot = _hash(left, right) & mask
    while True:
        node = network.table[slot]
        if node == 0:
            made = _append(network, left, right)
            network.table[slot] = made >> 1
            if 2 * network.size[0] > network.size[1]:
                _enlarge(network)
            return made
        if network.left[node] == left and network.right[node] == right:
            return 2 * np.int64(node)
        slot = (slot + 1) & mask


@inner
def _hash(left: Int, right: Int) -> Int:
    return (left * 0x9E3779B1) ^ (right * 0x85EBCA77) ^ (left >> 7)


@kernel
def _enlarge(network: Network) -> None:
    """Takes more slots of the table into use, if there are more."""
    slots = min(4 * np.int64(network.size[1]), network.table.shape[0])
    if slots == network.size[1]:
        return
    network.size[1] = slots
    network.table[:slots] = 0
    for node in range(1, network.size[0]):
        if network.left[node] >= 0:
            slot = _hash(np.int64(network.left[node]), np.int64(network.right[node])) & (slots - 1)
            while network.table[slot]:
                slot = (slot + 1) & (slots - 1)
            network.table[slot] = node


class Loops(NamedTuple):
    """Recursion within a state: loop nodes start as false and take their results until nothing changes."""

    results: Ids  # (L,) the literal that loop node l takes; it does not fall as the loop nodes rise
    components: Ids  # (L,) loops of one component settle together; lower components do not read higher ones


@dataclass(frozen=True, slots=True, eq=False)
class Circuit:
    """Nodes and outputs; literals are 2 · node, + 1 for the complement (see `network`)."""

    facts: int  # F; fact f is node 1 + f
    moves: tuple[int, ...]  # of each role; M in all; move m, counted over all roles, is node 1 + F + m
    left: Ids  # (N,)
    right: Ids  # (N,)
    loops: Loops
    initial: NDArray[np.bool_]  # (F,)
    next: Ids  # (F,) reads facts and moves
    legal: Ids  # (M,) reads facts only, like the following
    terminal: int
    goals: Ids  # (goal values of all roles,)
    percepts: Ids  # reads facts and moves

    @property
    def inputs(self) -> int:
        return self.facts + sum(self.moves)

    @property
    def gates(self) -> int:
        return len(self.left) - 1 - self.inputs - len(self.loops.results)

    @property
    def outputs(self) -> Ids:
        """All outputs in a row: next, legal, terminal, goals, percepts."""
        terminal = np.array([self.terminal], np.int32)
        return np.concatenate([self.next, self.legal, terminal, self.goals, self.percepts]).astype(np.int32)

    def with_nodes(self, left: Ids, right: Ids, loops: Loops, outputs: Ids) -> "Circuit":
        """The same game with other gates; `outputs` in the order of the property."""
        cuts = np.cumsum([len(self.next), len(self.legal), 1, len(self.goals)])
        following, legal, terminal, goals, percepts = np.split(outputs.astype(np.int32), cuts)
        return replace(
            self, left=left, right=right, loops=loops, next=following, legal=legal, terminal=int(terminal[0]),
            goals=goals, percepts=percepts,
        )  # fmt: skip

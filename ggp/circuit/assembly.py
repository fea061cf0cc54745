"""Networks put together from cones of others: with inputs replaced, constants folded and dead gates left behind."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import (
    INPUT,
    LOOP,
    Circuit,
    Ids,
    Literals,
    Loops,
    Network,
    add_input,
    add_loop,
    both,
    check_capacity,
    differ,
    either,
    make_network,
)
from ggp.circuit.schedule import mark_needed
from ggp.kernel import Int, kernel

_MOST_COMMON = 8  # conditions that are taken out of an OR


class Assembly:
    """A network under construction, with its loops."""

    def __init__(self, capacity: int) -> None:
        self.network: Network = make_network(capacity)
        self._inputs = 0
        self._results: list[Ids] = [np.zeros(0, np.int32)]
        self._components: list[Ids] = [np.zeros(0, np.int32)]

    def inputs(self, count: int) -> Literals:
        """The literals of new inputs."""
        found = [add_input(self.network, self._inputs + at) for at in range(count)]
        self._inputs += count
        return np.array(found, np.int64)

    def facts(self, known: NDArray[np.int8]) -> Literals:
        """The literals of facts: constants where 0 or 1 is known, new inputs where -1; all count as inputs."""
        return np.where(known < 0, self.inputs(len(known)), known)

    def copy(
        self, circuit: Circuit, inputs: Literals, outputs: Ids, sure: Literals | None = None, *, factors: bool = False
    ) -> Literals:
        """The literals here of outputs of the circuit; inputs: (F + M,) what its inputs are here.

        sure: literals here that are true wherever the copy is used; it is folded by them. factors: whether a AND b OR
        a AND c becomes a AND (b OR c). GroundingError when the network runs full.
        """
        known = sum(map(len, self._results))
        needed = mark_needed(circuit.left, circuit.right, circuit.loops.results, outputs)
        values = np.full(0 if sure is None else self.size, -1, np.int8)
        if sure is not None:
            values[sure >> 1] = (sure & 1) ^ 1
        literal_of, loops = _copy_cone(
            self.network, circuit.left, circuit.right, needed, inputs.astype(np.int64), known, values, factors
        )
        check_capacity(self.network)
        if len(loops):
            results = circuit.loops.results[loops]
            self._results.append((literal_of[results >> 1] ^ (results & 1)).astype(np.int32))
            first = 1 + max(int(found.max(initial=-1)) for found in self._components)
            self._components.append((circuit.loops.components[loops] + first).astype(np.int32))
        copied: Literals = literal_of[outputs >> 1] ^ (outputs & 1)
        return copied

    @property
    def size(self) -> int:
        return int(self.network.size[0])

    @property
    def left(self) -> Ids:
        return self.network.left[: self.size]

    @property
    def right(self) -> Ids:
        return self.network.right[: self.size]

    @property
    def loops(self) -> Loops:
        return Loops(np.concatenate(self._results), np.concatenate(self._components))


def specialise(circuit: Circuit, known: NDArray[np.int8]) -> Circuit:
    """The circuit without dead gates; known: (F,) the constant 0 or 1 that a fact always is, else -1."""
    assembly = Assembly(len(circuit.left) + 1024)
    given = np.concatenate([assembly.facts(known), assembly.inputs(circuit.inputs - circuit.facts)])
    outputs = assembly.copy(circuit, given, circuit.outputs)
    folded = circuit.with_nodes(assembly.left.copy(), assembly.right.copy(), assembly.loops, outputs.astype(np.int32))
    return specialise(folded, np.full_like(known, -1)) if np.any(known >= 0) else folded


def count_gates(circuit: Circuit, known: NDArray[np.int8]) -> int:
    """Of what outputs need in states of which so much is known, as by `specialise`; illegal moves are not done."""
    assembly = Assembly(2 * len(circuit.left) + 1024)
    facts, moves = assembly.facts(known), assembly.inputs(sum(circuit.moves))
    legal = assembly.copy(circuit, np.concatenate([facts, np.zeros_like(moves)]), circuit.legal)
    outputs = assembly.copy(circuit, np.concatenate([facts, np.where(legal == 0, 0, moves)]), circuit.outputs)
    needed = mark_needed(assembly.left, assembly.right, assembly.loops.results, outputs.astype(np.int32))
    return int(np.count_nonzero(needed & (assembly.left >= 0)))


def without_facts(circuit: Circuit, false: NDArray[np.bool_]) -> tuple[Circuit, NDArray[np.bool_]]:
    """The circuit without facts that are always false, and without moves that are then never legal.

    false: (F,). Gives (M,) which moves are left, too.
    """
    assembly = Assembly(len(circuit.left) + 1024)
    facts = assembly.facts(np.where(false, 0, -1).astype(np.int8))
    left = assembly.copy(circuit, np.concatenate([facts, np.zeros(sum(circuit.moves), np.int64)]), circuit.legal) != 0
    assembly = Assembly(len(circuit.left) + 1024)
    inputs = np.zeros(circuit.inputs, np.int64)
    inputs[np.concatenate([~false, left])] = assembly.inputs(int(np.count_nonzero(~false) + np.count_nonzero(left)))
    parts = np.split(left, np.cumsum(circuit.moves)[:-1])
    smaller = replace(
        circuit, facts=int(np.count_nonzero(~false)), moves=tuple(int(np.count_nonzero(part)) for part in parts),
        initial=circuit.initial[~false], next=circuit.next[~false], legal=circuit.legal[left],
    )  # fmt: skip
    outputs = assembly.copy(circuit, inputs, smaller.outputs)
    nodes = assembly.left.copy(), assembly.right.copy(), assembly.loops
    return smaller.with_nodes(*nodes, outputs.astype(np.int32)), left


@kernel
def _either_factored(network: Network, a: Int, b: Int, common: Literals) -> Int:
    """The literal of a OR b; what ANDs have in common is taken out, and noted in `common` meanwhile."""
    found = 0
    while found < common.shape[0] and (a | b) & 1 == 0 and a != b:
        left, right = np.int64(network.left[a >> 1]), np.int64(network.right[a >> 1])
        first, second = np.int64(network.left[b >> 1]), np.int64(network.right[b >> 1])
        if not (0 <= left < right and 0 <= first < second):
            break
        if left in (first, second):
            common[found], a = left, right
        elif right in (first, second):
            common[found], a = right, left
        else:
            break
        b = second if common[found] == first else first
        found += 1
    result = either(network, a, b)
    while found:
        found -= 1
        result = both(network, common[found], result)
    return result


@kernel
def _copy_cone(  # noqa: PLR0913, PLR0917 - kernel: arrays of their own
    network: Network,
    left: Ids,
    right: Ids,
    needed: "NDArray[np.bool_]",
    inputs: Literals,
    first_loop: int,
    values: "NDArray[np.int8]",
    factors: bool,
) -> tuple[Literals, Ids]:
    """The literal of each needed node, and the loops that were copied, in order.

    values: what the first nodes of the network are taken to be, 0 or 1, or -1.
    """
    literal_of = np.zeros(left.shape[0], np.int64)
    loops = np.empty(left.shape[0], np.int32)
    common = np.empty(_MOST_COMMON, np.int64)
    copied = 0
    for node in range(1, left.shape[0]):
        if not needed[node]:
            continue
        first, second = np.int64(left[node]), np.int64(right[node])
        if first == INPUT:
            literal_of[node] = inputs[second]
        elif first == LOOP:
            literal_of[node] = add_loop(network, first_loop + copied)
            loops[copied] = second
            copied += 1
        else:
            a = literal_of[first >> 1] ^ (first & 1)
            b = literal_of[second >> 1] ^ (second & 1)
            if first > second:
                literal_of[node] = differ(network, a, b)
            elif factors and a & b & 1:
                literal_of[node] = _either_factored(network, a ^ 1, b ^ 1, common) ^ 1
            else:
                literal_of[node] = both(network, a, b)
        found = literal_of[node] >> 1
        if found < values.shape[0] and values[found] >= 0:
            literal_of[node] = np.int64(values[found]) ^ (literal_of[node] & 1)
    return literal_of, loops[:copied]

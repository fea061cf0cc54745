"""What a net reads of a state: facts, pairs of facts that hold together, and legal moves.

A small net is slow to find which facts matter together; the rules say it: those that a rule's body reads.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.compile import CompiledGame
from ggp.circuit.network import Ids
from ggp.learning.net import NO_INPUT, NO_PAIRS
from ggp.simulation.evaluate import Batches, Bits, pack, unpack

_MOST_INPUTS = 4096
_MOST_PAIRS = 4096
_MOST_GATES = 100_000  # of a circuit in which pairs are looked for
_LARGEST_BODY = 6  # facts that a gate may depend on to count as the body of a rule
MATCHES, STEPS = 16, 100  # random ones
_STATES = 512  # of random matches; a quarter as many ends
_MOST_PARTNERS = 48  # of a fact; those with more, such as whose turn it is, concern the whole state

_Support = frozenset[int] | None  # the facts that a literal depends on; None: too many, or moves


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a net reads besides single facts."""

    pairs: bool = False  # of facts
    moves: bool = False  # that are legal


def find_complemented(batches: Batches) -> Bits:
    """(words,) facts whose complement is the input: they hold in most of the states of some random matches."""
    states, _ = random_steps(batches, MATCHES, STEPS)
    shares = unpack(states, len(batches.game.facts)).mean(axis=0)
    found: Bits = pack(shares[np.newaxis] > 0.5)[0]
    return found


def random_steps(batches: Batches, matches: int, steps: int) -> tuple[Bits, Ids]:
    """(n, words) states of random matches, ends among them, and (n, roles) moves that are legal there.

    n: at most 640; steps: after which those matches end that are under way then.
    """
    random = np.random.default_rng(0)
    first = batches.first_move
    states, found = np.repeat(batches.initial, matches, axis=0), []
    for _ in range(steps):
        legal, terminal = batches.look(states)
        flags = unpack(legal, int(first[-1]))
        scores = flags * random.random(flags.shape)
        drawn = [scores[:, start:end].argmax(axis=1) for start, end in pairwise(first)]
        moves = np.stack(drawn, axis=1).astype(np.int32)
        found.append((states, moves, terminal))
        following = batches.next_states(states, moves)
        states = np.where(terminal[:, np.newaxis], batches.initial, following)
    every, moves, ends = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = random.permutation(len(every))
    chosen = np.concatenate([order[ends[order]][: _STATES // 4], order[~ends[order]][:_STATES]])
    return every[chosen], moves[chosen]


def can_read_moves(game: CompiledGame) -> bool:
    """Whether there are not too many of them."""
    return sum(map(len, game.moves)) <= _MOST_INPUTS


def find_inputs(game: CompiledGame) -> Ids:
    """(F,) the input of each fact, or NO_INPUT for one that never changes or that no part of the circuit reads."""
    read = _read_facts(game)
    found = np.full(game.circuit.facts, NO_INPUT, np.int32)
    chosen = np.flatnonzero(read)[:_MOST_INPUTS]
    found[chosen] = np.arange(len(chosen), dtype=np.int32)
    return found


def find_pairs(game: CompiledGame) -> Ids:
    """(P, 2) pairs of inputs that a small part of the circuit depends on; none where they would be too many.

    A move stands for what makes it legal.
    """
    if game.circuit.gates > _MOST_GATES:
        return NO_PAIRS
    found: set[tuple[int, int]] = set()
    partners: dict[int, set[int]] = {}
    for body in _bodies(game):
        found.update(combinations(sorted(body), 2))
    for one, other in found:
        partners.setdefault(one, set()).add(other)
        partners.setdefault(other, set()).add(one)
    kept = [pair for pair in sorted(found) if all(len(partners[fact]) <= _MOST_PARTNERS for fact in pair)]
    return np.array(kept, np.int32).reshape(-1, 2) if len(kept) <= _MOST_PAIRS else NO_PAIRS


def _bodies(game: CompiledGame) -> Iterator[frozenset[int]]:
    """The facts of each gate that depends on few: of those of the state alone first, then with moves."""
    circuit = game.circuit
    inputs = find_inputs(game)
    facts: list[_Support] = [frozenset([fact] if inputs[fact] != NO_INPUT else []) for fact in range(circuit.facts)]
    moves: list[_Support] = [None] * sum(circuit.moves)
    for _ in range(2):
        supports = _supports(game, [frozenset(), *facts, *moves])
        yield from (found for found in supports if found is not None and len(found) <= _LARGEST_BODY)
        moves = [supports[literal >> 1] for literal in circuit.legal.tolist()]


def _supports(game: CompiledGame, found: list[_Support]) -> list[_Support]:
    """Of all nodes, from those of the inputs."""
    circuit, first = game.circuit, len(found)
    for left, right in zip(circuit.left[first:].tolist(), circuit.right[first:].tolist(), strict=True):
        one, other = (found[left >> 1], found[right >> 1]) if left >= 0 else (None, None)
        joined = None if one is None or other is None else one | other
        found.append(joined if joined is not None and len(joined) <= 2 * _LARGEST_BODY else None)
    return found


def _read_facts(game: CompiledGame) -> NDArray[np.bool_]:
    """(F,) whether the circuit reads the fact, and it can be true and false."""
    circuit = game.circuit
    used = np.zeros(len(circuit.left), np.bool_)
    gates = np.flatnonzero(circuit.left >= 0)
    used[circuit.left[gates] >> 1] = True
    used[circuit.right[gates] >> 1] = True
    for outputs in (circuit.legal, circuit.goals, np.array([circuit.terminal])):
        used[np.asarray(outputs, np.int64) >> 1] = True
    facts: NDArray[np.bool_] = used[1 : 1 + circuit.facts] & (game.constants < 0)
    return facts

"""Circuit → the games that it is made of: parts that only the end and the goals bring together.

Facts belong together when the next value of one reads the other, when moves change them alike, or when conditions of
the end and the goals, smallest first, join them. Joining goes on until what remains above reads only a few signals of
each part: those of a cell in tic-tac-toe are as many as its facts, those of one of two boards are won, lost and full.
"""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.circuit import Circuit
from ggp.circuit.network import INPUT
from ggp.circuit.schedule import mark_needed

MOST_GATES = 50_000  # of a circuit that is looked at
MOST_PARTS = 8
FACTS_PER_SIGNAL = 2  # a part has so many times as many facts as signals, or it is none


def find_subgames(circuit: Circuit, known: NDArray[np.bool_]) -> tuple[tuple[int, ...], ...]:
    """The facts of each part that the end or the goals look at; none when the game is one, too large or recursive.

    known: (F,) facts that depend on the number of the step only, which belong to no part.
    """
    if circuit.gates > MOST_GATES or len(circuit.loops.results):
        return ()
    search = _Search(circuit, known)
    for is_strict in (True, False):
        found = search.parts(is_strict=is_strict)
        if found:
            return tuple(map(tuple, map(_members, found)))
    return ()


class _Search:
    """Sets of facts, of parts and of moves are the bits of whole numbers."""

    def __init__(self, circuit: Circuit, known: NDArray[np.bool_]) -> None:
        self._circuit = circuit
        self._left, self._right = circuit.left.tolist(), circuit.right.tolist()
        self._next = [int(literal) >> 1 for literal in circuit.next]
        self._read, self._moves, self._is_choice = self._supports()
        self._silent = self._unmoved(sum(1 << int(fact) for fact in np.flatnonzero(known)))
        self._live = [fact for fact in range(circuit.facts) if not self._silent >> fact & 1]
        self._chains = {fact: self._chains_of([self._next[fact]]) for fact in self._live}
        outcome = np.array([*circuit.goals.tolist(), circuit.terminal], np.int32)
        self._outcome = {int(literal) >> 1 for literal in outcome}
        needed = mark_needed(circuit.left, circuit.right, circuit.loops.results, outcome)
        self._conditions = [int(node) for node in np.flatnonzero(needed) if self._left[node] != INPUT and node]

    def parts(self, *, is_strict: bool) -> list[int] | None:
        """The facts of each part; two or more. Strict: what one condition of a move reads belongs together."""
        groups = _Groups(self._circuit.facts)
        for fact in self._live:
            groups.join(self._read[self._next[fact]] & ~self._silent | 1 << fact)
        for facts in self._changed_alike():
            groups.join(facts)
        for literal in self._circuit.legal.tolist():
            for node in [literal >> 1] if is_strict else self._conjuncts(literal):
                groups.join(self._read[node] & ~self._silent)
        conditions = sorted(
            {facts for node in self._conditions if (facts := self._read[node] & ~self._silent)}, key=int.bit_count
        )
        looked_at = 0
        for facts in conditions:
            looked_at |= facts
        sizes = [len({groups.root(fact) for fact in _members(facts)}) for facts in conditions]
        waiting = sorted(zip(sizes, range(len(sizes)), strict=True))
        at = 0
        while at < len(waiting):
            size = waiting[at][0]
            while at < len(waiting) and waiting[at][0] == size:
                groups.join(conditions[waiting[at][1]])
                at += 1
            count = len({groups.root(fact) for fact in _members(looked_at)})
            found = self._thinly_joined(groups.sets(self._live)) if 1 < count <= MOST_PARTS else None
            if found or count == 1:
                return found
        return None

    def _supports(self) -> tuple[list[int], list[int], list[bool]]:
        """Of each node the facts and the moves that it reads, and whether it only says that one of these was made."""
        left, right, facts = self._left, self._right, self._circuit.facts
        read, moves, is_choice = [0] * len(left), [0] * len(left), [False] * len(left)
        for node in range(1, len(left)):
            if left[node] == INPUT:
                read[node] = 1 << (node - 1) if node <= facts else 0
                moves[node] = 0 if node <= facts else 1 << (node - 1 - facts)
                is_choice[node] = node > facts
            else:
                first, second = left[node] >> 1, right[node] >> 1
                read[node] = read[first] | read[second]
                moves[node] = moves[first] | moves[second]
                is_choice[node] = left[node] < right[node] and all(
                    is_choice[below >> 1] and (below & 1) == (left[below >> 1] == INPUT)
                    for below in (left[node], right[node])
                )
        return read, moves, is_choice

    def _unmoved(self, known: int) -> int:
        """The facts that no move changes: these, and those that read none but each other."""
        rest = (1 << self._circuit.facts) - 1 & ~known
        while True:
            still = rest
            for fact in _members(rest):
                node = self._next[fact]
                if self._moves[node] or self._read[node] & ~rest & ~known:
                    still &= ~(1 << fact)
            if still == rest:
                return known | rest
            rest = still

    def _chains_of(self, nodes: list[int]) -> set[int]:
        """The largest choices below nodes: each says that one of some moves was made."""
        seen, chains, stack = set(nodes), set(), list(nodes)
        while stack:
            node = stack.pop()
            if self._is_choice[node]:
                chains.add(node)
            elif node and self._left[node] != INPUT:
                below = {self._left[node] >> 1, self._right[node] >> 1} - seen
                seen |= below
                stack.extend(below)
        return chains

    def _changed_alike(self) -> Iterator[int]:
        """Facts whose next values read the same choice, or one that is part of the other."""
        readers: dict[int, int] = {}
        for fact, chains in self._chains.items():
            for chain in chains:
                readers[chain] = readers.get(chain, 0) | 1 << fact
        by_move: dict[int, list[int]] = {}
        for chain in readers:
            for move in _members(self._moves[chain]):
                by_move.setdefault(move, []).append(chain)
        for chain, readers_of_it in readers.items():
            facts, moves = readers_of_it, self._moves[chain]
            lowest = (moves & -moves).bit_length() - 1
            for other in by_move[lowest]:
                if moves & ~self._moves[other] == 0:
                    facts |= readers[other]
            yield facts

    def _conjuncts(self, literal: int) -> Iterator[int]:
        stack = [literal]
        while stack:
            literal = stack.pop()
            node = literal >> 1
            if not literal & 1 and 0 <= self._left[node] < self._right[node]:
                stack += [self._left[node], self._right[node]]
            else:
                yield node

    def _thinly_joined(self, parts: list[int]) -> list[int] | None:
        """The parts that the end and the goals look at, if they are two or more and show few signals each."""
        of_fact = {fact: number for number, part in enumerate(parts) for fact in _members(part)}
        reads: dict[int, int] = {}  # node → the only part that it reads, -1: none, -2: several

        def single(node: int) -> int:
            if node not in reads:
                numbers = {of_fact[fact] for fact in _members(self._read[node] & ~self._silent)}
                reads[node] = -1 if not numbers else numbers.pop() if len(numbers) == 1 else -2
            return reads[node]

        signals: list[set[int]] = [set() for _ in parts]
        top = [node for node in self._conditions if single(node) == -2]
        seen = [*self._outcome, *(literal >> 1 for node in top for literal in (self._left[node], self._right[node]))]
        for node in seen:
            if single(node) >= 0:
                signals[single(node)].add(node)
        pairs = [(part, len(shown)) for part, shown in zip(parts, signals, strict=True) if shown]
        if not 2 <= len(pairs) <= MOST_PARTS:
            return None
        if any(part.bit_count() < FACTS_PER_SIGNAL * shown for part, shown in pairs):
            return None
        return [part for part, _ in pairs]


class _Groups:
    """Facts that belong together (union-find)."""

    def __init__(self, count: int) -> None:
        self._parent = list(range(count))

    def root(self, fact: int) -> int:
        parent = self._parent
        while parent[fact] != fact:
            parent[fact] = parent[parent[fact]]
            fact = parent[fact]
        return fact

    def join(self, facts: int) -> None:
        first = None
        for fact in _members(facts):
            if first is None:
                first = self.root(fact)
            else:
                self._parent[self.root(fact)] = first

    def sets(self, facts: Iterable[int]) -> list[int]:
        found: dict[int, int] = {}
        for fact in facts:
            root = self.root(fact)
            found[root] = found.get(root, 0) | 1 << fact
        return list(found.values())


def _members(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest

"""Beam search on strands, guided by pattern databases: for some strands at a time, the least steps to what is wanted.

The databases are those of Culberson and Schaeffer (1998), of random groups of strands. A state is judged by their sum,
which is no bound, but tells states apart far better than the most of them; beams with such databases as in Furcy and
Koenig (2005).
"""

from collections.abc import Generator, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import Ids
from ggp.kernel import Int, kernel
from ggp.search.planning.lines import Path, follow
from ggp.search.planning.strands import Flags, Strands, find_strands
from ggp.simulation.evaluate import Batches, Bits

_MOST_PATTERNS = 400_000  # of a database
_DATABASES = 12
_FAR = 255  # steps to what is wanted, if it can be reached at all
_FIRST_WIDTH = 4096
_MOST_CHILDREN = 1_500_000  # of a layer; choosing among them is one call
_SCANNED = 100_000  # patterns in one call of a kernel
_SPREAD = 1000
_CHILDREN = 3000  # in one call of a kernel
_END = object()  # of an iterator

Distances = NDArray[np.uint8]


class Guide(NamedTuple):
    """The strands, and the databases one after the other."""

    sizes: Ids
    following: Ids
    before: Ids  # (K, most values, moves, most) the values that lead to a value
    befores: Ids  # (K, most values, moves) how many these are
    wanted: Flags
    members: Ids  # the strands of all groups
    first_member: Ids  # (databases + 1,)
    distances: Distances
    first_pattern: NDArray[np.int64]  # (databases + 1,)


class Wave(NamedTuple):
    """A breadth-first search in one database."""

    queue: Ids  # (patterns,)
    counters: NDArray[np.int64]  # patterns that were taken from the queue; that were put in


class Layer(NamedTuple):
    """States of a beam and what follows them."""

    states: NDArray[np.int32]  # (width, strands)
    parents: Ids  # (children,)
    moves: Ids
    scores: NDArray[np.int64]  # the sum of the distances, then some random bits
    table: NDArray[np.uint64]  # (power of two,) what was met in this layer; 0: free
    counters: NDArray[np.int64]  # children; the one that has all that is wanted, or -1


class Patterns:
    """Searches from one state, wider each time, a few milliseconds at a time."""

    def __init__(self, batches: Batches, state: Bits, longest: int, seed: int) -> None:
        self._batches = batches
        self._state = state
        self._longest = longest  # steps of a line at most
        self._rng = np.random.default_rng(seed)
        self.best: Path | None = None
        self.is_over = False  # whether there is no more to be done
        self._steps = self._search()

    def advance(self) -> None:
        """Some milliseconds of work."""
        self.is_over = next(self._steps, _END) is _END

    def _search(self) -> Generator[None, None, None]:
        strands = yield from find_strands(self._batches, self._state)
        if strands is None:
            return
        guide = make_guide(strands, self._rng)
        for database in range(len(guide.first_pattern) - 1):
            yield from fill(guide, database)
        width = _FIRST_WIDTH
        while width * strands.following.shape[2] <= _MOST_CHILDREN:
            yield from self._descend(guide, width)
            width *= 2

    def _descend(self, guide: Guide, width: int) -> Iterator[None]:
        """One beam; what it finds is followed in the game itself, which knows when a match ends."""
        layer = make_layer(guide, width)
        keys = self._rng.integers(1, 1 << 63, guide.wanted.shape, np.uint64)
        links: list[tuple[Ids, Ids]] = []
        count = 1
        for _ in range(self._longest):
            layer.counters[:] = 0, -1
            layer.table[:] = 0
            step = max(1, _CHILDREN // guide.following.shape[2])
            for start in range(0, count, step):
                grow(guide, layer, keys, start, min(count, start + step))
                yield
            children, solved = layer.counters.tolist()
            if solved >= 0:
                path = follow(self._batches, self._state, _line(links, layer, solved))
                if path is not None and (self.best is None or path.value > self.best.value):
                    self.best = path
            if not children:
                return
            chosen = np.arange(children)
            if children > width:
                chosen = np.argpartition(layer.scores[:children], width)[:width]
            parents, moves = layer.parents[chosen], layer.moves[chosen]
            links.append((parents, moves))
            step_strands(guide, layer.states, layer.states[parents], moves)
            count = len(chosen)
            yield


def _line(links: list[tuple[Ids, Ids]], layer: Layer, child: int) -> list[int]:
    moves = [int(layer.moves[child])]
    at = int(layer.parents[child])
    for parents, done in reversed(links):
        moves.append(int(done[at]))
        at = int(parents[at])
    return moves[::-1]


def make_guide(strands: Strands, rng: np.random.Generator) -> Guide:
    """Random groups of strands, each as large as a database may be; their distances are still to be filled in."""
    groups: list[list[int]] = []
    sizes = strands.sizes.tolist()
    while len(groups) < _DATABASES:
        groups.append([])
        for strand in rng.permutation(len(sizes)).tolist():
            if groups[-1] and _patterns(sizes, [*groups[-1], strand]) > _MOST_PATTERNS:
                groups.append([])
            groups[-1].append(strand)
    groups = groups[:_DATABASES]
    counts = [_patterns(sizes, group) for group in groups]
    first_pattern = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Guide(
        strands.sizes,
        strands.following,
        *_reversed(strands),
        strands.wanted,
        np.array([strand for group in groups for strand in group], np.int32),
        np.concatenate([[0], np.cumsum([len(group) for group in groups])]).astype(np.int32),
        np.full(int(first_pattern[-1]), _FAR, np.uint8),
        first_pattern,
    )


def _reversed(strands: Strands) -> tuple[Ids, Ids]:
    """The values that lead to each by each move, and how many they are."""
    strand, value, move = np.nonzero(strands.following >= 0)
    target = strands.following[strand, value, move]
    place = np.ravel_multi_index((strand, target, move), strands.following.shape)
    order = np.argsort(place, kind="stable")
    place = place[order]
    rank = np.arange(len(place)) - np.searchsorted(place, place)
    before = np.zeros((strands.following.size, int(rank.max(initial=0)) + 1), np.int32)
    before[place, rank] = value[order]
    counts = np.bincount(place, minlength=strands.following.size).astype(np.int32)
    return before.reshape(*strands.following.shape, -1), counts.reshape(strands.following.shape)


def _patterns(sizes: list[int], group: list[int]) -> int:
    return int(np.prod([sizes[strand] for strand in group]))


def make_layer(guide: Guide, width: int) -> Layer:
    """A layer with the first state."""
    most = width * guide.following.shape[2]
    slots = 1 << (2 * most - 1).bit_length()
    return Layer(
        np.zeros((width, len(guide.sizes)), np.int32),
        np.empty(most, np.int32),
        np.empty(most, np.int32),
        np.empty(most, np.int64),
        np.zeros(slots, np.uint64),
        np.array([0, -1], np.int64),
    )


def fill(guide: Guide, database: int) -> Iterator[None]:
    """Find the distances of one database, backwards from what is wanted."""
    size = int(guide.first_pattern[database + 1] - guide.first_pattern[database])
    wave = Wave(np.empty(size, np.int32), np.zeros(2, np.int64))
    for start in range(0, size, _SCANNED):
        begin_wave(guide, wave, database, start, min(size, start + _SCANNED))
        yield
    while spread(guide, wave, database, _SPREAD):
        yield


@kernel
def begin_wave(guide: Guide, wave: Wave, database: Int, start: Int, end: Int) -> None:
    """Queue the patterns between start and end that have what is wanted."""
    first, last = guide.first_member[database], guide.first_member[database + 1]
    for pattern in range(start, end):
        code = np.int64(pattern)
        is_wanted = True
        for member in range(last - 1, first - 1, -1):
            strand = guide.members[member]
            is_wanted &= guide.wanted[strand, code % guide.sizes[strand]]
            code = np.int64(code // guide.sizes[strand])
        if is_wanted:
            guide.distances[guide.first_pattern[database] + pattern] = 0
            wave.queue[wave.counters[1]] = pattern
            wave.counters[1] += 1


@kernel
def spread(guide: Guide, wave: Wave, database: Int, patterns: Int) -> bool:
    """Take so many patterns from the queue, and queue those one step before them; whether any is left."""
    first = guide.first_member[database]
    count = guide.first_member[database + 1] - first
    origin = guide.first_pattern[database]
    values = np.empty(count, np.int64)
    for _ in range(patterns):
        if wave.counters[0] == wave.counters[1]:
            return False
        code = np.int64(wave.queue[wave.counters[0]])
        wave.counters[0] += 1
        distance = min(_FAR - 1, guide.distances[origin + code] + 1)
        for member in range(count - 1, -1, -1):
            size = guide.sizes[guide.members[first + member]]
            values[member] = code % size
            code = np.int64(code // size)
        for move in range(guide.following.shape[2]):
            combinations = 1
            for member in range(count):
                combinations *= guide.befores[guide.members[first + member], values[member], move]
            for combination in range(combinations):
                rest = combination
                code = np.int64(0)
                for member in range(count):
                    strand = guide.members[first + member]
                    choices = guide.befores[strand, values[member], move]
                    choice = 0
                    if choices > 1:
                        choice = rest % choices
                        rest //= choices
                    value = guide.before[strand, values[member], move, choice]
                    code = np.int64(code * guide.sizes[strand] + value)
                if guide.distances[origin + code] == _FAR:
                    guide.distances[origin + code] = distance
                    wave.queue[wave.counters[1]] = code
                    wave.counters[1] += 1
    return True


@kernel
def grow(guide: Guide, layer: Layer, keys: NDArray[np.uint64], start: Int, end: Int) -> None:
    """Add the children of states from start to end that are new in this layer, with their scores."""
    strands = guide.sizes.shape[0]
    mask = layer.table.shape[0] - 1
    values = np.empty(strands, np.int64)
    for at in range(start, end):
        for move in range(guide.following.shape[2]):
            mixed = np.uint64(0)
            is_legal, is_wanted = True, True
            for strand in range(strands):
                value = np.int64(guide.following[strand, layer.states[at, strand], move])
                if value < 0:
                    is_legal = False
                    break
                values[strand] = value
                mixed ^= keys[strand, value]
                is_wanted &= guide.wanted[strand, value]
            if not is_legal:
                continue
            slot = np.int64(mixed & np.uint64(mask))
            while layer.table[slot] != 0 and layer.table[slot] != mixed:
                slot = (slot + 1) & mask
            if layer.table[slot] != 0:
                continue
            layer.table[slot] = mixed
            score = judge(guide, values)
            if score < 0:
                continue
            child = layer.counters[0]
            layer.parents[child], layer.moves[child] = at, move
            layer.scores[child] = score * 1024 + np.int64(mixed >> np.uint64(54))
            layer.counters[0] = child + 1
            if is_wanted:
                layer.counters[1] = child


@kernel
def judge(guide: Guide, values: NDArray[np.int64]) -> int:
    """The sum of the distances; -1 where what is wanted cannot be reached."""
    total = np.int64(0)
    for database in range(guide.first_pattern.shape[0] - 1):
        code = np.int64(0)
        for at in range(guide.first_member[database], guide.first_member[database + 1]):
            strand = guide.members[at]
            code = code * guide.sizes[strand] + values[strand]
        distance = np.int64(guide.distances[guide.first_pattern[database] + code])
        if distance == _FAR:
            return -1
        total += distance
    return int(total)


@kernel
def step_strands(guide: Guide, states: "NDArray[np.int32]", before: "NDArray[np.int32]", moves: Ids) -> None:
    """states[i] becomes before[i] after moves[i]."""
    for at in range(moves.shape[0]):
        for strand in range(guide.sizes.shape[0]):
            states[at, strand] = guide.following[strand, before[at, strand], moves[at]]

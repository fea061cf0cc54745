"""Beam search guided by pattern databases: for some parts of the state at a time, the least steps to what is wanted.

A *part* is a set of facts that is closed under what their `next` reads: a piece with its place, a counter. Parts are
independent of each other: each needs only itself, and the move, to know its next value. Its values that can come up are
numbered, so that a state is a row of numbers, and a step is one look-up for each.

The databases are those of Culberson and Schaeffer (1998), of random groups of parts. A state is judged by their sum,
which is no bound, but orders states far better than their maximum; beams with such databases as in Furcy and Koenig
(2005).
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.assembly import Assembly
from ggp.circuit.network import Circuit, Ids
from ggp.circuit.schedule import mark_needed
from ggp.kernel import Int, kernel
from ggp.search.planning.paths import Path, follow
from ggp.simulation.evaluate import Batches, Bits, pack, unpack
from ggp.simulation.state_table import add_key

_MOST_PATTERNS = 400_000  # of a database
_DATABASES = 12
_FAR = 255  # steps to what is wanted, if it can be reached at all
_FIRST_WIDTH = 4096
_MOST_CHILDREN = 1_500_000  # of a layer; choosing among them is one call
_SCANNED = 100_000  # patterns in one call of a kernel
_SPREAD = 1000
_CHILDREN = 3000  # in one call of a kernel
_MOST_FACTS = 4000
_MOST_VALUES = 2000  # of a part
_MOST_BEFORE = 20_000_000  # of `Databases.before`
_STEPS = 2000  # of a part, that are looked up at once
_END = object()  # of an iterator

Flags = NDArray[np.bool_]
Distances = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """K parts that the highest goal reads; value 0 of each is that of the first state."""

    sizes: Ids  # (K,) how many values each has
    following: Ids  # (K, most values, moves) the next value; -1: the move is not legal
    wanted: Flags  # (K, most values) whether the highest goal may hold with that value


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    following: Ids  # (values, moves)
    wanted: Flags  # (values,)


class Databases(NamedTuple):
    """The parts, and the pattern databases one after the other. Locking: none, for one thread at a time."""

    sizes: Ids
    following: Ids
    before: Ids  # (K, most values, moves, most) the values that lead to a value
    befores: Ids  # (K, most values, moves) how many these are
    wanted: Flags
    members: Ids  # the parts of all groups
    first_member: Ids  # (databases + 1,)
    distances: Distances
    first_pattern: NDArray[np.int64]  # (databases + 1,)


class Wave(NamedTuple):
    """A breadth-first search in one database."""

    queue: Ids  # (patterns,)
    counters: NDArray[np.int64]  # patterns that were taken from the queue; that were put in


class Layer(NamedTuple):
    """States of a beam and what follows them."""

    states: NDArray[np.int32]  # (width, parts)
    parents: Ids  # (children,)
    moves: Ids
    scores: NDArray[np.int64]  # the sum of the distances, then some random bits
    met: NDArray[np.uint64]  # (a power of 2,) hashes of the states met in this layer, see `add_key`
    counters: NDArray[np.int64]  # children; the one that has all that is wanted, or -1


class PatternSearch:
    """Searches from one state, wider each time, a few milliseconds at a time."""

    def __init__(self, batches: Batches, state: Bits, longest: int, seed: int) -> None:
        self._batches = batches
        self._state = state
        self._longest = longest  # steps of a path at most
        self._rng = np.random.default_rng(seed)
        self.best: Path | None = None
        self.is_over = False  # whether there is no more to be done
        self._steps = self._search()

    def advance(self) -> None:
        """Some milliseconds of work."""
        self.is_over = next(self._steps, _END) is _END

    def _search(self) -> Generator[None, None, None]:
        parts = yield from find_parts(self._batches, self._state)
        if parts is None:
            return
        databases = make_databases(parts, self._rng)
        if databases is None:
            return
        for database in range(len(databases.first_pattern) - 1):
            yield from fill(databases, database)
        width = _FIRST_WIDTH
        while width * parts.following.shape[2] <= _MOST_CHILDREN:
            yield from self._descend(databases, width)
            width *= 2

    def _descend(self, databases: Databases, width: int) -> Iterator[None]:
        """One beam; what it finds is followed in the game itself, which knows when a match ends."""
        layer = make_layer(databases, width)
        keys = self._rng.integers(1, 1 << 63, databases.wanted.shape, np.uint64)
        links: list[tuple[Ids, Ids]] = []
        count = 1
        for _ in range(self._longest):
            layer.counters[:] = 0, -1
            layer.met[:] = 0
            step = max(1, _CHILDREN // databases.following.shape[2])
            for start in range(0, count, step):
                grow(databases, layer, keys, start, min(count, start + step))
                yield
            children, solved = layer.counters.tolist()
            if solved >= 0:
                path = follow(self._batches, self._state, _moves_to(links, layer, solved))
                if path is not None and (self.best is None or path.value > self.best.value):
                    self.best = path
            if not children:
                return
            chosen = np.arange(children)
            if children > width:
                chosen = np.argpartition(layer.scores[:children], width)[:width]
            parents, moves = layer.parents[chosen], layer.moves[chosen]
            links.append((parents, moves))
            step_parts(databases, layer.states, layer.states[parents], moves)
            count = len(chosen)
            yield


def _moves_to(links: list[tuple[Ids, Ids]], layer: Layer, child: int) -> list[int]:
    moves = [int(layer.moves[child])]
    at = int(layer.parents[child])
    for parents, done in reversed(links):
        moves.append(int(done[at]))
        at = int(parents[at])
    return moves[::-1]


def find_parts(batches: Batches, state: Bits) -> Generator[None, None, Parts | None]:
    """The parts, found some milliseconds at a time; None where they are large, or do not say what is legal."""
    circuit = batches.game.circuit
    if circuit.facts > _MOST_FACTS or not len(circuit.goals):
        return None
    reads = yield from _closed((yield from _reads(circuit, circuit.next)))
    by_legal = yield from _reads(circuit, circuit.legal)
    sets = _largest(reads)
    if not all((reading <= sets).all(axis=1).any() for reading in by_legal):
        return None
    first = unpack(state, circuit.facts)[0]
    found: list[_Part] = []
    for part in sets:
        judged = (by_legal <= part).all(axis=1)
        values = [first & part]
        numbers = {values[0].tobytes(): 0}
        rows: list[NDArray[np.int32]] = []
        while len(rows) < len(values):
            rows += _step(batches, part, judged, values, numbers, len(rows))
            if len(values) > _MOST_VALUES:
                return None
            yield
        wanted = yield from _may_win(circuit, part, values)
        if not wanted.all():
            found.append(_Part(np.array(rows), wanted))
    most = max((len(part.wanted) for part in found), default=0)
    return _joined(found) if 0 < len(found) * most * int(batches.first_move[1]) <= _MOST_BEFORE else None


def _step(
    batches: Batches, part: Flags, judged: Flags, values: list[Flags], numbers: dict[bytes, int], done: int
) -> list[NDArray[np.int32]]:
    """The next values of some that are not done; new values are appended."""
    moves = int(batches.first_move[1])
    given = pack(np.array(values[done : done + max(1, _STEPS // moves)]))
    legal = unpack(batches.legal(given), moves) | ~judged
    repeated = np.repeat(given, moves, axis=0)
    done_moves = np.tile(np.arange(moves, dtype=np.int32), len(given))[:, np.newaxis]
    after = unpack(batches.next_states(repeated, done_moves), len(part)) & part
    rows = np.full((len(given), moves), -1, np.int32)
    for row, move in zip(*np.nonzero(legal), strict=True):
        value = after[row * moves + move]
        number = numbers.setdefault(value.tobytes(), len(values))
        if number == len(values):
            values.append(value)
        rows[row, move] = number
    return list(rows)


def _reads(circuit: Circuit, outputs: Ids) -> Generator[None, None, Flags]:
    """(outputs, F) the facts that each depends on."""
    found = np.empty((len(outputs), circuit.facts), np.bool_)
    for row in range(len(outputs)):
        needed = mark_needed(circuit.left, circuit.right, circuit.loops.results, outputs[row : row + 1])
        found[row] = needed[1 : 1 + circuit.facts]
        yield
    return found


def _closed(reads: Flags) -> Generator[None, None, Flags]:
    """(F, F) each fact with all that it needs, however indirectly."""
    parts = reads | np.eye(len(reads), dtype=np.bool_)
    for fact in range(len(parts)):
        while (wider := reads[parts[fact]].any(axis=0) | parts[fact]).sum() > parts[fact].sum():
            parts[fact] = wider
        yield
    return parts


def _largest(parts: Flags) -> Flags:
    """Those that are in no other."""
    distinct = np.unique(parts, axis=0)
    inside = [(part <= distinct).all(axis=1).sum() > 1 for part in distinct]
    largest: Flags = distinct[~np.array(inside)]
    return largest


def _may_win(circuit: Circuit, part: Flags, values: list[Flags]) -> Generator[None, None, Flags]:
    """Whether the highest goal is not ruled out by each value of the part alone."""
    assembly = Assembly((1 + len(values)) * len(circuit.left) + 1024)
    unknown = assembly.inputs(circuit.facts)
    found = np.empty(len(values), np.bool_)
    for number, value in enumerate(values):
        facts = np.where(part, value.astype(np.int64), unknown)
        inputs = np.concatenate([facts, np.zeros(sum(circuit.moves), np.int64)])
        found[number] = assembly.copy(circuit, inputs, circuit.goals[-1:])[0] != 0
        yield
    return found


def _joined(found: list[_Part]) -> Parts:
    sizes = np.array([len(part.wanted) for part in found], np.int32)
    most, moves = int(sizes.max()), found[0].following.shape[1]
    following = np.full((len(found), most, moves), -1, np.int32)
    wanted = np.zeros((len(found), most), np.bool_)
    for part, size, rows, row in zip(found, sizes.tolist(), following, wanted, strict=True):
        rows[:size], row[:size] = part.following, part.wanted
    return Parts(sizes, following, wanted)


def make_databases(parts: Parts, rng: np.random.Generator) -> Databases | None:
    """Random groups of parts, each as large as a database may be; their distances are still to be filled in.

    None where they would take too much memory.
    """
    befores, most = _count_befores(parts)
    if befores.size * most > _MOST_BEFORE:
        return None
    groups: list[list[int]] = []
    sizes = parts.sizes.tolist()
    while len(groups) < _DATABASES:
        groups.append([])
        for part in rng.permutation(len(sizes)).tolist():
            if groups[-1] and _patterns(sizes, [*groups[-1], part]) > _MOST_PATTERNS:
                groups.append([])
            groups[-1].append(part)
    groups = groups[:_DATABASES]
    counts = [_patterns(sizes, group) for group in groups]
    first_pattern = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Databases(
        parts.sizes,
        parts.following,
        _befores(parts, most),
        befores,
        parts.wanted,
        np.array([part for group in groups for part in group], np.int32),
        np.concatenate([[0], np.cumsum([len(group) for group in groups])]).astype(np.int32),
        np.full(int(first_pattern[-1]), _FAR, np.uint8),
        first_pattern,
    )


def _count_befores(parts: Parts) -> tuple[Ids, int]:
    """How many values lead to each by each move, as `Databases.befores`, and the most of them."""
    part, value, move = np.nonzero(parts.following >= 0)
    counts = np.zeros(parts.following.shape, np.int32)
    np.add.at(counts, (part, parts.following[part, value, move], move), 1)
    return counts, int(counts.max(initial=1))


def _befores(parts: Parts, most: int) -> Ids:
    """As `Databases.before`."""
    part, value, move = np.nonzero(parts.following >= 0)
    target = parts.following[part, value, move]
    place = np.ravel_multi_index((part, target, move), parts.following.shape)
    order = np.argsort(place, kind="stable")
    place = place[order]
    rank = np.arange(len(place)) - np.searchsorted(place, place)
    before = np.zeros((parts.following.size, most), np.int32)
    before[place, rank] = value[order]
    return before.reshape(*parts.following.shape, most)


def _patterns(sizes: list[int], group: list[int]) -> int:
    return int(np.prod([sizes[part] for part in group]))


def make_layer(databases: Databases, width: int) -> Layer:
    """A layer with the first state."""
    most = width * databases.following.shape[2]
    slots = 1 << (2 * most - 1).bit_length()
    return Layer(
        np.zeros((width, len(databases.sizes)), np.int32),
        np.empty(most, np.int32),
        np.empty(most, np.int32),
        np.empty(most, np.int64),
        np.zeros(slots, np.uint64),
        np.array([0, -1], np.int64),
    )


def fill(databases: Databases, database: int) -> Iterator[None]:
    """Find the distances of one database, backwards from what is wanted."""
    size = int(databases.first_pattern[database + 1] - databases.first_pattern[database])
    wave = Wave(np.empty(size, np.int32), np.zeros(2, np.int64))
    for start in range(0, size, _SCANNED):
        begin_wave(databases, wave, database, start, min(size, start + _SCANNED))
        yield
    while spread(databases, wave, database, _SPREAD):
        yield


@kernel
def begin_wave(databases: Databases, wave: Wave, database: Int, start: Int, end: Int) -> None:
    """Queue the patterns between start and end that have what is wanted."""
    first, last = databases.first_member[database], databases.first_member[database + 1]
    for pattern in range(start, end):
        code = np.int64(pattern)
        is_wanted = True
        for member in range(last - 1, first - 1, -1):
            part = databases.members[member]
            is_wanted &= databases.wanted[part, code % databases.sizes[part]]
            code = np.int64(code // databases.sizes[part])
        if is_wanted:
            databases.distances[databases.first_pattern[database] + pattern] = 0
            wave.queue[wave.counters[1]] = pattern
            wave.counters[1] += 1


@kernel
def spread(databases: Databases, wave: Wave, database: Int, patterns: Int) -> bool:
    """Take so many patterns from the queue, and queue those one step before them; whether any is left."""
    first = databases.first_member[database]
    count = databases.first_member[database + 1] - first
    origin = databases.first_pattern[database]
    values = np.empty(count, np.int64)
    for _ in range(patterns):
        if wave.counters[0] == wave.counters[1]:
            return False
        code = np.int64(wave.queue[wave.counters[0]])
        wave.counters[0] += 1
        distance = min(_FAR - 1, databases.distances[origin + code] + 1)
        for member in range(count - 1, -1, -1):
            size = databases.sizes[databases.members[first + member]]
            values[member] = code % size
            code = np.int64(code // size)
        for move in range(databases.following.shape[2]):
            combinations = 1
            for member in range(count):
                combinations *= databases.befores[databases.members[first + member], values[member], move]
            for combination in range(combinations):
                rest = combination
                code = np.int64(0)
                for member in range(count):
                    part = databases.members[first + member]
                    choices = databases.befores[part, values[member], move]
                    choice = 0
                    if choices > 1:
                        choice = rest % choices
                        rest //= choices
                    value = databases.before[part, values[member], move, choice]
                    code = np.int64(code * databases.sizes[part] + value)
                if databases.distances[origin + code] == _FAR:
                    databases.distances[origin + code] = distance
                    wave.queue[wave.counters[1]] = code
                    wave.counters[1] += 1
    return True


@kernel
def grow(databases: Databases, layer: Layer, keys: NDArray[np.uint64], start: Int, end: Int) -> None:
    """Add the children of states from start to end that are new in this layer, with their scores."""
    parts = databases.sizes.shape[0]
    values = np.empty(parts, np.int64)
    for at in range(start, end):
        for move in range(databases.following.shape[2]):
            mixed = np.uint64(0)
            is_legal, is_wanted = True, True
            for part in range(parts):
                value = np.int64(databases.following[part, layer.states[at, part], move])
                if value < 0:
                    is_legal = False
                    break
                values[part] = value
                mixed ^= keys[part, value]
                is_wanted &= databases.wanted[part, value]
            if not is_legal or not add_key(layer.met, mixed):
                continue
            score = judge(databases, values)
            if score < 0:
                continue
            child = layer.counters[0]
            layer.parents[child], layer.moves[child] = at, move
            layer.scores[child] = score * 1024 + np.int64(mixed >> np.uint64(54))
            layer.counters[0] = child + 1
            if is_wanted:
                layer.counters[1] = child


@kernel
def judge(databases: Databases, values: NDArray[np.int64]) -> int:
    """The sum of the distances; -1 where what is wanted cannot be reached."""
    total = np.int64(0)
    for database in range(databases.first_pattern.shape[0] - 1):
        code = np.int64(0)
        for at in range(databases.first_member[database], databases.first_member[database + 1]):
            part = databases.members[at]
            code = code * databases.sizes[part] + values[part]
        distance = np.int64(databases.distances[databases.first_pattern[database] + code])
        if distance == _FAR:
            return -1
        total += distance
    return int(total)


@kernel
def step_parts(databases: Databases, states: Ids, before: Ids, moves: Ids) -> None:
    """states[i] becomes before[i] after moves[i]."""
    for at in range(moves.shape[0]):
        for part in range(databases.sizes.shape[0]):
            states[at, part] = databases.following[part, before[at, part], moves[at]]

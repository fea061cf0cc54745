"""Ground rules → exchanges of facts, moves and roles under which they say the same.

They are automorphisms of a graph whose vertices are atoms, rules and roles (rule graphs: Schiffel, "Symmetry detection
in general game playing", 2010), found by colour refinement and, where colours leave a choice, by individualising one
vertex after the other (McKay, "Practical graph isomorphism", 1981). The initial state does not count.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.gdl.rulesheet import NATURE
from ggp.grounding.rules import NEVER, GroundRules, Ids, needed_atoms
from ggp.kernel import inner, kernel

MOST = 16  # automorphisms that are looked for, the identity among them
_WORK = 80_000_000  # edges that refinement may go over, of all rounds together
_MOST_CHOICES = 100  # vertices that are individualised one after the other
_ATOM, _FACT, _MOVE, _RULE, _NEXT, _LEGAL, _TERMINAL, _ROLE, _NATURE = range(9)  # colours at first
_LITERALS, _GOALS = 100, 200  # likewise: + 1 if negated; + the goal value

Colours = NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class Automorphisms:
    """G exchanges: what each puts in place of a fact, a move or a role."""

    facts: Ids  # (G, F)
    moves: Ids  # (G, M) numbered over the moves of all roles in a row
    roles: Ids  # (G, R)


def find_automorphisms(
    rules: GroundRules, stop: Callable[[], bool], *, with_goals: bool = True, with_terminal: bool = True
) -> Automorphisms | None:
    """All of them if they are few, else some; fewer where looking for them takes too long. None when stopped.

    Goals and ends may be left out, since rules often count in an order that a mirror does not keep; then others have
    to look whether these agree. What is found depends on the rules only, not on time.
    """
    facts, moves, roles = len(rules.facts), len(rules.legal), len(rules.roles)
    goals = rules.goal_atoms if with_goals else rules.goal_atoms[:0]
    terminal = np.array([rules.terminal] if with_terminal else [], np.int32)
    graph = _make_graph(rules, goals, terminal)
    shown = np.concatenate([np.arange(facts + moves), graph.first_role + np.arange(roles)])
    search = _Search(graph, shown, stop)
    found = [images[shown] for images in search.all()]
    if stop():
        return None
    images = np.array(found, np.int32).reshape(-1, len(shown))
    return Automorphisms(
        images[:, :facts],
        images[:, facts : facts + moves] - np.int32(facts),
        images[:, facts + moves :] - np.int32(graph.first_role),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Graph:
    """Vertices with colours, and neighbours in both directions."""

    colours: Colours  # (V,)
    first: NDArray[np.int64]  # (V + 1,) vertex v has neighbours[first[v]:first[v + 1]]
    neighbours: NDArray[np.int64]
    first_role: int


def _make_graph(rules: GroundRules, goals: Ids, terminal: Ids) -> _Graph:
    """A vertex for each atom, literal, rule, output and role.

    What an atom is defined by is joined to the atom itself; what reads it, to its literals. goals, terminal: the atoms
    of these outputs, none where they do not count; rules that only they need are left out.
    """
    facts, moves, atoms = len(rules.facts), len(rules.legal), rules.atom_count
    outputs = np.concatenate([rules.next, rules.legal, goals, terminal]).astype(np.int64)
    bodies = np.repeat(np.arange(len(rules.heads)), np.diff(rules.first_literal))
    atoms_read, wanted = (rules.literals >> 1).astype(np.int32), outputs[outputs != NEVER]
    needed = needed_atoms(rules.heads.astype(np.int64), rules.first_literal, atoms_read, wanted, atoms)[rules.heads]
    kept = needed[bodies]
    read = np.unique(np.concatenate([rules.literals[kept], 2 * outputs[outputs != NEVER]]))
    literal = atoms  # the first vertex of each kind
    rule = literal + len(read)
    after = rule + len(rules.heads)
    legal = after + facts
    role = legal + moves
    goal = role + len(rules.roles)
    end = goal + len(goals)
    used = np.flatnonzero(needed)
    owners = np.repeat(np.arange(len(rules.roles)), [len(each) for each in rules.moves])
    goal_owners = np.repeat(np.arange(len(rules.roles)), [len(each) for each in rules.goals])[: len(goals)]

    def reading(outputs: Ids, first: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        known = np.flatnonzero(outputs != NEVER)
        return first + known, literal + np.searchsorted(read, 2 * outputs[known])

    pairs = [
        (literal + np.arange(len(read)), read >> 1),
        (rule + used, rules.heads[used].astype(np.int64)),
        (rule + bodies[kept], literal + np.searchsorted(read, rules.literals[kept])),
        (after + np.arange(facts), np.arange(facts)),
        reading(rules.next, after),
        (legal + np.arange(moves), facts + np.arange(moves)),
        (legal + np.arange(moves), role + owners),
        reading(rules.legal, legal),
        (goal + np.arange(len(goals)), role + goal_owners),
        reading(goals, goal),
        reading(terminal, end),
    ]
    colours = np.full(end + len(terminal), _ATOM, np.uint64)
    for first, colour in ((rule, _RULE), (after, _NEXT), (legal, _LEGAL), (end, _TERMINAL)):
        colours[first:] = colour
    colours[:facts], colours[facts : facts + moves] = _FACT, _MOVE
    colours[literal:rule] = _LITERALS + (read & 1)
    colours[role:goal] = [_NATURE if name == NATURE else _ROLE for name in rules.roles]
    colours[goal:end] = [_GOALS + value for values in rules.goals for value in values][: len(goals)]
    one, other = (np.concatenate([pair[at] for pair in pairs]) for at in (0, 1))
    ends, neighbours = np.concatenate([one, other]), np.concatenate([other, one])
    order = np.argsort(ends, kind="stable")
    offsets = np.searchsorted(ends[order], np.arange(len(colours) + 1)).astype(np.int64)
    return _Graph(colours, offsets, neighbours[order].astype(np.int64), role)


class Partition(NamedTuple):
    """Vertices in classes of one colour each; colour refinement splits these until the partition is equitable."""

    members: Ids  # (V,) the class of each vertex
    sizes: Ids  # (V,) of each class
    colours: Colours  # (V,) of each class: the same in all graphs that are alike
    around: Colours  # (V,) the sum of its neighbours' colours, for each vertex: the same within a class
    numbers: NDArray[np.int64]  # (1,) how many classes there are

    @property
    def of_vertices(self) -> Colours:
        return self.colours[self.members]


def copied(partition: Partition) -> Partition:
    """A deep copy."""
    members, sizes, colours, around, numbers = partition
    return Partition(members.copy(), sizes.copy(), colours.copy(), around.copy(), numbers.copy())


@dataclass(frozen=True, slots=True, eq=False)
class _Refined:
    """An equitable partition, in which vertices of one class have alike neighbours, and how it came about."""

    partition: Partition
    trace: tuple[int, ...]  # a sum over each round: equal for what is alike (McKay and Piperno, 2014)


class _Search:
    """Automorphisms of a graph; those with the same images of the shown vertices count once.

    Vertices are individualised in one order; then each as one after the other of those that may be its image.
    """

    def __init__(self, graph: _Graph, shown: NDArray[np.int64], stop: Callable[[], bool]) -> None:
        self._graph = graph
        self._shown = shown
        self._stop = stop
        self._work = _WORK
        self._found = 0

    def all(self) -> Iterator[NDArray[np.int64]]:
        """(V,) the image of each vertex; up to MOST of them."""
        refined = self._refined(*self._whole())
        if refined is not None:
            yield from self._complete(refined.partition, refined.partition, 0, is_shown=True)

    def _whole(self) -> tuple[Partition, NDArray[np.int64]]:
        """The classes of the graph's colours, and all vertices."""
        count = len(self._graph.colours)
        colours, members, sizes = np.unique(self._graph.colours, return_inverse=True, return_counts=True)
        whole = Partition(
            members.astype(np.int32),
            np.zeros(count, np.int32),
            np.zeros(count, np.uint64),
            np.zeros(count, np.uint64),
            np.array([len(colours)]),
        )
        whole.sizes[: len(sizes)], whole.colours[: len(sizes)] = sizes, mixed(colours)
        return whole, np.arange(count)

    def _complete(
        self, own: Partition, images: Partition, depth: int, *, is_shown: bool
    ) -> Iterator[NDArray[np.int64]]:
        """All ways to go on from equal colours of the vertices and of their images; one where only others differ."""
        choice = self._choice(own, self._shown if is_shown else np.arange(len(own.members)))
        if choice is None or not is_shown:  # those that are alike may be exchanged in any way, nearly always
            found = np.empty(len(own.members), np.int64)
            found[np.argsort(own.of_vertices, kind="stable")] = np.argsort(images.of_vertices, kind="stable")
            if self._is_automorphism(found):
                self._found += 1
                yield found
                return
            if choice is None and is_shown:
                yield from self._complete(own, images, depth + 1, is_shown=False)
            if choice is None:
                return
        refined = self._refined(*self._individualised(own, choice)) if depth < _MOST_CHOICES else None
        if refined is None:
            return
        before, colour = self._found, own.colours[own.members[choice]]
        for image in np.flatnonzero(images.of_vertices == colour):
            if images is own and image == choice:
                like: _Refined | None = refined
            else:
                like = self._refined(*self._individualised(images, int(image)), refined.trace)
            if like is not None:
                yield from self._complete(refined.partition, like.partition, depth + 1, is_shown=is_shown)
            if self._is_over or (not is_shown and self._found > before):
                return

    @property
    def _is_over(self) -> bool:
        return self._found >= MOST or self._work < 0 or self._stop()

    @staticmethod
    def _choice(partition: Partition, vertices: NDArray[np.int64]) -> int | None:
        """The first of these vertices whose colour another one has, too; of the rarest such colour."""
        _, numbers, counts = np.unique(partition.of_vertices[vertices], return_inverse=True, return_counts=True)
        shared = np.flatnonzero(counts[numbers] > 1)
        return int(vertices[shared[np.argmin(counts[numbers[shared]])]]) if len(shared) else None

    def _individualised(self, partition: Partition, vertex: int) -> tuple[Partition, NDArray[np.int64]]:
        """With a colour that only this vertex has; and the vertices around it."""
        found, before = copied(partition), partition.members[vertex]
        number = int(found.numbers[0])
        found.numbers[0] += 1
        found.members[vertex], found.sizes[number] = number, 1
        found.sizes[before] -= 1
        found.colours[number] = mixed(~found.colours[before : before + 1] + np.uint64(number))[0]
        first = self._graph.first
        return found, np.unique(self._graph.neighbours[first[vertex] : first[vertex + 1]])

    def _refined(
        self, partition: Partition, seen: NDArray[np.int64], expected: tuple[int, ...] | None = None
    ) -> _Refined | None:
        """In rounds, which begin with vertices whose neighbours have changed; the partition is changed in place.

        expected: the trace of what it is to be like. None where it is not, or where that takes too long.
        """
        graph = self._graph
        trace: list[int] = []
        self._work -= len(partition.members)  # as long takes a copy of the partition
        changed, total = np.empty(len(partition.members), np.int64), np.zeros(1, np.uint64)
        while len(seen):
            self._work -= int(look_around(partition, graph.first, graph.neighbours, seen))
            order = seen[np.lexsort((partition.around[seen], partition.members[seen]))]
            count = split(partition, order, changed, total)
            is_alike = expected is None or int(total[0]) in expected[len(trace) : len(trace) + 1]
            if self._is_over or not is_alike:
                return None
            trace.append(int(total[0]))
            seen = neighbours_of(graph.first, graph.neighbours, changed[:count])
        return _Refined(partition, tuple(trace)) if expected is None or len(trace) == len(expected) else None

    def _is_automorphism(self, images: NDArray[np.int64]) -> bool:
        """Whether colours stay, and every vertex gets the neighbours of its image, by sums of well mixed numbers."""
        graph = self._graph
        self._work -= len(graph.neighbours)
        numbers = mixed(np.arange(len(images), dtype=np.uint64))
        is_alike = keeps_neighbours(graph.first, graph.neighbours, images, numbers)
        return bool(is_alike and (graph.colours[images] == graph.colours).all())


@kernel
def look_around(
    partition: Partition, first: NDArray[np.int64], neighbours: NDArray[np.int64], seen: NDArray[np.int64]
) -> int:
    """Writes `around` of the vertices that are seen; how many neighbours they have."""
    work = 0
    for vertex in seen:
        total = np.uint64(0)
        for at in range(first[vertex], first[vertex + 1]):
            total += partition.colours[partition.members[neighbours[at]]]
        partition.around[vertex] = total
        work += first[vertex + 1] - first[vertex] + 1
    return work


@kernel
def split(partition: Partition, order: NDArray[np.int64], changed: NDArray[np.int64], total: NDArray[np.uint64]) -> int:
    """Classes with vertices that now have other neighbours: those of one class, and among them alike ones, in a row.

    A class whose vertices all stay alike keeps its colour. Returns how many vertices changed; `total` gets the trace.
    """
    members, sizes, colours, around = partition.members, partition.sizes, partition.colours, partition.around
    count, start, seen = 0, 0, np.uint64(0)
    stage = np.uint64(partition.numbers[0])  # a class that shrinks keeps its colour, so what comes of it later differs
    while start < len(order):
        own, end = members[order[start]], start
        while end < len(order) and members[order[end]] == own:
            seen += mix(around[order[end]] ^ colours[own])
            end += 1
        is_whole = end - start == sizes[own]
        before, at = colours[own], start
        if is_whole and around[order[start]] == around[order[end - 1]]:
            start = end
            continue
        while at < end:
            alike = at
            number = partition.numbers[0]
            colour = mix(before + mix(around[order[at]] + stage))
            while alike < end and around[order[alike]] == around[order[at]]:
                alike += 1
            if is_whole and alike == end:
                number = np.int64(own)
            else:
                partition.numbers[0] += 1
                sizes[own] -= alike - at
            sizes[number], colours[number] = alike - at, colour
            for place in range(at, alike):
                members[order[place]] = number
                changed[count] = order[place]
                count += 1
            at = alike
        start = end
    total[0] = seen
    return count


@kernel
def neighbours_of(
    first: NDArray[np.int64], neighbours: NDArray[np.int64], vertices: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Each once."""
    is_seen = np.zeros(len(first) - 1, np.bool_)
    found, count = np.empty(len(first) - 1, np.int64), 0
    for vertex in vertices:
        for at in range(first[vertex], first[vertex + 1]):
            neighbour = neighbours[at]
            if not is_seen[neighbour]:
                is_seen[neighbour] = True
                found[count] = neighbour
                count += 1
    return found[:count].copy()


@kernel
def keeps_neighbours(
    first: NDArray[np.int64], neighbours: NDArray[np.int64], images: NDArray[np.int64], numbers: Colours
) -> bool:
    """Whether each vertex's neighbours become those of its image; numbers: well mixed ones of all vertices."""
    for vertex in range(len(images)):
        image, own, other = images[vertex], np.uint64(0), np.uint64(0)
        if first[vertex + 1] - first[vertex] != first[image + 1] - first[image]:
            return False
        for at in range(first[vertex], first[vertex + 1]):
            own += numbers[images[neighbours[at]]]
        for at in range(first[image], first[image + 1]):
            other += numbers[neighbours[at]]
        if own != other:
            return False
    return True


@kernel
def mixed(numbers: Colours) -> Colours:
    """`mix` of each number."""
    found = np.empty_like(numbers)
    for at in range(len(numbers)):
        found[at] = mix(numbers[at])
    return found


@inner
def mix(number: np.uint64) -> np.uint64:
    """Well mixed bits (the finaliser of SplitMix64: Steele, Lea and Flood, 2014)."""
    found = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9) + np.uint64(0x9E3779B97F4A7C15)
    found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.uint64(found ^ (found >> np.uint64(31)))

"""Ground rules → exchanges of facts, moves and roles under which they say the same.

They are automorphisms of a graph whose vertices are atoms, rules and roles (rule graphs: Schiffel, "Symmetry detection
in general game playing", 2010), found by colour refinement and, where colours leave a choice, by individualising one
vertex after the other (McKay, "Practical graph isomorphism", 1981). The initial state does not count.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ggp.gdl.rulesheet import NATURE
from ggp.grounding.rules import NEVER, GroundRules, Ids, needed_atoms
from ggp.kernel import kernel

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


@dataclass(frozen=True, slots=True, eq=False)
class _Refined:
    """Colours that say all that neighbours' colours say."""

    colours: Colours  # (V,)
    sums: tuple[int, ...]  # of the colours after each round: equal for what is alike


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
        refined = self._refined(self._graph.colours)
        if refined is not None:
            yield from self._complete(refined.colours, refined.colours, 0, is_shown=True)

    def _complete(self, own: Colours, images: Colours, depth: int, *, is_shown: bool) -> Iterator[NDArray[np.int64]]:
        """All ways to go on from equal colours of the vertices and of their images; one where only others differ."""
        choice = self._choice(own, self._shown if is_shown else np.arange(len(own)))
        if choice is None or not is_shown:  # those that are alike may be exchanged in any way, nearly always
            found = np.empty(len(own), np.int64)
            found[np.argsort(own, kind="stable")] = np.argsort(images, kind="stable")
            if self._is_automorphism(found):
                self._found += 1
                yield found
                return
            if choice is None and is_shown:
                yield from self._complete(own, images, depth + 1, is_shown=False)
            if choice is None:
                return
        refined = self._refined(_individualised(own, choice)) if depth < _MOST_CHOICES else None
        if refined is None:
            return
        before = self._found
        for image in np.flatnonzero(images == own[choice]):
            like = self._refined_like(_individualised(images, int(image)), refined)
            if like is not None:
                yield from self._complete(refined.colours, like, depth + 1, is_shown=is_shown)
            if self._is_over or (not is_shown and self._found > before):
                return

    @property
    def _is_over(self) -> bool:
        return self._found >= MOST or self._work < 0 or self._stop()

    @staticmethod
    def _choice(colours: Colours, vertices: NDArray[np.int64]) -> int | None:
        """The first of these vertices whose colour another one has, too; of the rarest such colour."""
        _, numbers, counts = np.unique(colours[vertices], return_inverse=True, return_counts=True)
        shared = np.flatnonzero(counts[numbers] > 1)
        return int(vertices[shared[np.argmin(counts[numbers[shared]])]]) if len(shared) else None

    def _refined(self, colours: Colours) -> _Refined | None:
        """In rounds, as long as there come to be more colours; None where that takes too long."""
        count, sums = 0, []
        while (now := _count_different(colours)) > count:
            count = now
            colours, total = self._recoloured(colours)
            sums.append(total)
            if self._is_over:
                return None
        return _Refined(colours, tuple(sums))

    def _refined_like(self, colours: Colours, other: _Refined) -> Colours | None:
        """The same for the images; None where they are not alike."""
        for expected in other.sums:
            colours, total = self._recoloured(colours)
            if total != expected or self._is_over:
                return None
        return colours

    def _recoloured(self, colours: Colours) -> tuple[Colours, int]:
        """A new colour of each vertex, from its own and the multiset of its neighbours'; and a sum of all."""
        graph, found = self._graph, np.empty_like(colours)
        self._work -= len(graph.neighbours)
        return found, int(recolour(_mixed(colours), graph.first, graph.neighbours, found))

    def _is_automorphism(self, images: NDArray[np.int64]) -> bool:
        """Whether every edge becomes an edge, and colours stay."""
        graph, count = self._graph, len(images)
        ends = np.repeat(np.arange(count), np.diff(graph.first))
        edges = np.sort(ends * count + graph.neighbours)
        mapped = np.sort(images[ends] * count + images[graph.neighbours])
        return bool((edges == mapped).all() and (graph.colours[images] == graph.colours).all())


def _count_different(colours: Colours) -> int:
    ordered = np.sort(colours)
    return 1 + int(np.count_nonzero(ordered[1:] != ordered[:-1]))


def _individualised(colours: Colours, vertex: int) -> Colours:
    """With a colour that only this vertex has."""
    found = colours.copy()
    found[vertex] = ~found[vertex]
    return found


@kernel
def recolour(mixed: Colours, first: NDArray[np.int64], neighbours: NDArray[np.int64], found: Colours) -> np.uint64:
    """Writes a new colour of each vertex to `found`; their sum. mixed: the colours so far."""
    total = np.uint64(0)
    for vertex in range(len(found)):
        around = np.uint64(0)
        for at in range(first[vertex], first[vertex + 1]):
            around += mixed[neighbours[at]]
        around = (around ^ (around >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
        found[vertex] = (around ^ (around >> np.uint64(29))) + np.uint64(3) * mixed[vertex]
        total += found[vertex] ^ (found[vertex] >> np.uint64(32))
    return total


def _mixed(numbers: Colours) -> Colours:
    """Well mixed bits of each number (the finaliser of SplitMix64: Steele, Lea and Flood, 2014)."""
    mixed = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)), np.uint64)

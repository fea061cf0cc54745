"""Who meets whom, when some may not meet: the first of all ways to pair everybody that obeys the preferences."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import TypeAlias

# Those left, the highest first → whom that one should meet, from the best to the worst.
Opponents: TypeAlias = Callable[[Sequence[str]], Iterable[str]]
Barred: TypeAlias = Mapping[str, Set[str]]  # player → those whom it may not meet, and who may not meet it

_NOBODY = -1


def pair_up(players: Sequence[str], opponents: Opponents, barred: Barred) -> list[tuple[str, str]] | None:
    """Pairs of all players, of whom there is an even number; None when there is no way to pair them.

    The first player gets the first opponent with whom everybody else can still be paired, then the next player, and so
    on: what backtracking would find first, but in polynomial time.
    """
    pairs = _greedy(players, opponents, barred)
    if 2 * len(pairs) == len(players):
        return pairs
    numbers = {name: number for number, name in enumerate(players)}
    matching = _Matching([{numbers[other] for other in barred[name] if other in numbers} for name in players])
    for one, other in pairs:
        matching.join(numbers[one], numbers[other])
    if not matching.complete():
        return None
    pairs = []
    left = list(players)
    while left:
        first = left[0]
        wanted = (numbers[other] for other in opponents(left) if other not in barred[first])
        found = players[matching.fix(numbers[first], wanted)]
        pairs.append((first, found))
        left.remove(first)
        left.remove(found)
    return pairs


def _greedy(players: Sequence[str], opponents: Opponents, barred: Barred) -> list[tuple[str, str]]:
    """Everybody with the first one who is left; some may be left over."""
    left = list(players)
    pairs: list[tuple[str, str]] = []
    while left:
        found = next((other for other in opponents(left) if other not in barred[left[0]]), None)
        first = left.pop(0)
        if found is not None:
            pairs.append((first, found))
            left.remove(found)
    return pairs


class _Matching:
    """A matching of the vertices of a graph, grown along alternating paths through blossoms (Edmonds, 1965).

    The graph has every edge that is not barred, so nearly always a path of one or three edges will do.
    """

    def __init__(self, barred: Sequence[Set[int]]) -> None:
        self._barred = barred
        self._mate = [_NOBODY] * len(barred)
        self._left = set(range(len(barred)))  # those who were not fixed
        self._free = set(self._left)  # those of them who have no mate

    def join(self, one: int, other: int) -> None:
        self._mate[one], self._mate[other] = other, one
        self._free -= {one, other}

    def complete(self) -> bool:
        """Makes the matching perfect; False when the graph has no such matching."""
        return all(self._grow(vertex) for vertex in sorted(self._free) if vertex in self._free)

    def fix(self, one: int, wanted: Iterable[int]) -> int:
        """Pairs a vertex of a perfect matching for good with the first one that leaves a perfect matching of the rest.

        Without the vertex its mate is free. Whoever an even path leads to from there can be free instead.
        """
        free = self._mate[one]
        self._mate[free] = _NOBODY
        self._left.remove(one)
        search: _Search | None = None
        for other in wanted:
            if other == free or (search is None and self._freed_shortly(free, other)):
                break
            search = search or self._search(free)
            if search.is_outer(other):
                search.flip(self._mate[other])
                break
        else:
            raise AssertionError("the mate itself leaves a perfect matching")
        self._left.discard(other)
        return other

    def _freed_shortly(self, free: int, other: int) -> bool:
        """Takes a vertex out and matches its mate in another way, if there is a short one."""
        mate = self._mate[other]
        self._mate[mate] = _NOBODY
        self._left.remove(other)
        self._free = {free, mate}
        if self._grow_shortly(free):
            return True
        self._left.add(other)
        self.join(mate, other)
        return False

    def _grow(self, root: int) -> bool:
        """Matches one free vertex more, and another one with it; False when no path from it leads to another one."""
        if self._grow_shortly(root):
            return True
        search = self._search(root)
        if search.end == _NOBODY:
            return False
        search.flip(search.end)
        self._free -= {root, search.end}
        return True

    def _grow_shortly(self, root: int) -> bool:
        """By a path of one or of three edges."""
        ends = self._free - self._barred[root] - {root}
        if ends:
            self.join(root, min(ends))
            return True
        for near in sorted(self._left - self._barred[root] - {root}):
            mate = self._mate[near]
            ends = self._free - self._barred[mate] - {root}
            if ends:
                self.join(root, near)
                self.join(mate, min(ends))
                return True
        return False

    def _search(self, root: int) -> "_Search":
        """A search that has come to another free vertex, or to whatever there is."""
        search = _Search(root, self._mate)
        while search.queue:
            vertex = search.queue.popleft()
            for other in sorted(self._left - self._barred[vertex] - {vertex}):
                if not search.leads_on(vertex, other):
                    continue
                if search.is_outer(other):
                    search.contract(vertex, other)
                elif search.parent[other] == _NOBODY:
                    search.parent[other] = vertex
                    if self._mate[other] == _NOBODY:
                        search.end = other
                        return search
                    search.reach(self._mate[other])
        return search


class _Search:
    """A search for alternating paths from a vertex that is not matched."""

    def __init__(self, root: int, mate: list[int]) -> None:
        self.end = _NOBODY  # a free vertex at odd distance
        self.parent = [_NOBODY] * len(mate)  # of a vertex at odd distance: the one before it
        self.queue = deque([root])
        self._root = root
        self._mate = mate
        self._base = list(range(len(mate)))  # of the blossom that a vertex is in
        self._is_reached = [vertex == root for vertex in range(len(mate))]  # at even distance

    def leads_on(self, vertex: int, other: int) -> bool:
        return self._base[vertex] != self._base[other] and self._mate[vertex] != other

    def is_outer(self, vertex: int) -> bool:
        """Whether it is at even distance, so that an edge to it closes an odd cycle."""
        mate = self._mate[vertex]
        return vertex == self._root or (mate != _NOBODY and self.parent[mate] != _NOBODY)

    def reach(self, vertex: int) -> None:
        if not self._is_reached[vertex]:
            self._is_reached[vertex] = True
            self.queue.append(vertex)

    def contract(self, one: int, other: int) -> None:
        """Makes the odd cycle that an edge closes one vertex."""
        base = self._common_base(one, other)
        inside: set[int] = set()
        self._walk(one, base, other, inside)
        self._walk(other, base, one, inside)
        for vertex in range(len(self._base)):
            if self._base[vertex] in inside:
                self._base[vertex] = base
                self.reach(vertex)

    def flip(self, vertex: int) -> None:
        """Matches along the path that ends here."""
        while vertex != _NOBODY:
            before = self.parent[vertex]
            following = self._mate[before]
            self._mate[vertex], self._mate[before] = before, vertex
            vertex = following

    def _common_base(self, one: int, other: int) -> int:
        passed = set()
        vertex = self._base[one]
        while True:
            passed.add(vertex)
            if self._mate[vertex] == _NOBODY:  # the root
                break
            vertex = self._base[self.parent[self._mate[vertex]]]
        vertex = self._base[other]
        while vertex not in passed:
            vertex = self._base[self.parent[self._mate[vertex]]]
        return vertex

    def _walk(self, vertex: int, base: int, child: int, inside: set[int]) -> None:
        while self._base[vertex] != base:
            mate = self._mate[vertex]
            inside |= {self._base[vertex], self._base[mate]}
            self.parent[vertex] = child
            child = mate
            vertex = self.parent[mate]

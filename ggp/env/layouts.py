"""Compiled game → how an environment's observation and mask are laid out: which row of the region stands where."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ggp.boards.layout import BoardLayout, Layout, Placement
from ggp.circuit.compile import CompiledGame
from ggp.circuit.network import Ids
from ggp.env.perspective import Renaming
from ggp.errors import SettingsError
from ggp.gdl.rulesheet import NATURE, name_and_arity
from ggp.gdl.terms import Term, to_text
from ggp.simulation.environment import Region

NOTHING = -1
_WORD_BITS = 64

Rows = NDArray[np.int64]  # rows of a region, or NOTHING


@dataclass(frozen=True, slots=True, eq=False)
class ArrayLayout:
    """What an array holds of each environment."""

    shape: tuple[int, ...]  # without the axis of the environments
    dtype: np.dtype[np.generic]  # uint64: bit i of a row is entry i; bool: one byte each, 0 or 1
    names: tuple[str, ...]  # of the entries of the last axis, or of the planes; of percepts those of all roles in a row
    rows: Ids  # of the region, as in View
    words: Ids | None
    turned: Ids  # (t, 3) as in View


@dataclass(frozen=True, slots=True)
class Perspective:
    """Who sees an observation: nobody in particular, or the role that is to move."""

    compiled: CompiledGame
    given: tuple[int, ...]  # the roles whose moves are given
    renaming: Renaming | None = None  # None: facts stand where they are, whoever moves

    def places(self) -> list[int]:
        """For each given role how many places after the first player it comes; 0 for `random`."""
        if self.renaming is None:
            return [0] * len(self.given)
        players = [at for at, role in enumerate(self.compiled.roles) if role != NATURE]
        return [players.index(role) if role in players else 0 for role in self.given]

    def names_mover(self) -> bool:
        """Whether who moves is told apart: unless the same observation means the same to each role that may move."""
        if self.renaming is None or len(self.given) < 2:
            return False
        compiled = self.compiled
        moves = [own for role, own in zip(compiled.roles, compiled.moves, strict=True) if role != NATURE]
        same = all([*map(self.renaming.rename, one)] == [*other] for one, other in pairwise(moves))
        return not (self.renaming.is_symmetry and same)

    def all_views(self, terms: Iterable[Term]) -> list[Term]:
        """Terms, then what they become for other roles."""
        if self.renaming is None:
            return list(terms)
        terms = list(terms)
        places = range(self.renaming.players)
        return list(dict.fromkeys(self.renaming.rename(term, place) for place in places for term in terms))


def lay_out_facts(region: Region, perspective: Perspective, *, packed: bool) -> ArrayLayout:
    """All facts; of games with percepts the percepts of each given role, in rows as long as the longest."""
    compiled = perspective.compiled
    if compiled.has_percepts:
        return _lay_out_percepts(region, perspective, packed=packed)
    facts = perspective.all_views(compiled.facts)
    rows, turned = _views(perspective, facts, np.arange(len(facts)))
    names = [*map(to_text, facts)]
    if perspective.names_mover():
        rows = np.append(rows, _mover_rows(region, perspective))
        names += _mover_names(perspective)
    return _lay_out([rows], tuple(names), packed=packed, is_single=True, turned=turned)


def _lay_out_percepts(region: Region, seen: Perspective, *, packed: bool) -> ArrayLayout:
    """Seen by their roles, all rows have the same names."""
    compiled = seen.compiled
    first = region.percepts + np.concatenate([[0], np.cumsum(list(map(len, compiled.percepts)))])
    if seen.renaming is None:
        rows = [np.arange(first[role], first[role + 1]) for role in seen.given]
        names = [percept for role in seen.given for percept in compiled.percepts[role]]
    else:
        renaming, places = seen.renaming, seen.places()
        names = sorted(
            {
                renaming.rename(percept, -place)
                for role, place in zip(seen.given, places, strict=True)
                for percept in compiled.percepts[role]
            },
            key=to_text,
        )
        rows = []
        for role, place in zip(seen.given, places, strict=True):
            row = {percept: int(first[role]) + at for at, percept in enumerate(compiled.percepts[role])}
            rows.append(np.array([row.get(renaming.rename(name, place), NOTHING) for name in names], np.int64))
    return _lay_out(rows, tuple(map(to_text, names)), packed=packed, is_single=False)


def _views(seen: Perspective, facts: list[Term], entries: Rows) -> tuple[Rows, Ids]:
    """The rows of entries, which are numbers of facts or NOTHING, and what other movers see in their place."""
    row = {fact: number for number, fact in enumerate(seen.compiled.facts)}
    own = np.array([*(row.get(fact, NOTHING) for fact in facts), NOTHING])[entries]
    turned = [np.zeros((0, 3), np.int64)]
    for at, place in enumerate(seen.places()):
        if seen.renaming is not None and place:
            others = [row.get(seen.renaming.rename(fact, place), NOTHING) for fact in facts]
            rows = np.array([*others, NOTHING])[entries]
            moved = np.flatnonzero(rows != own)
            turned.append(np.stack([moved, np.full(len(moved), at), rows[moved]], axis=1))
    return own, np.concatenate(turned).astype(np.int32)


def _mover_rows(region: Region, seen: Perspective) -> Rows:
    return region.mover + np.arange(len(seen.given))


def _mover_names(seen: Perspective) -> list[str]:
    return [f"mover {seen.compiled.roles[role]}" for role in seen.given]


def lay_out_mask(compiled: CompiledGame, region: Region, given: tuple[int, ...], *, packed: bool) -> ArrayLayout:
    """The legal moves of each given role, in rows as long as the longest."""
    first = region.legal + np.concatenate([[0], np.cumsum(list(map(len, compiled.moves)))])
    rows = [np.arange(first[role], first[role + 1]) for role in given]
    return _lay_out(rows, (), packed=packed, is_single=False)


_STILL: Ids = np.zeros((0, 3), np.int32)


def _lay_out(
    parts: list[Rows], names: tuple[str, ...], *, packed: bool, is_single: bool, turned: Ids = _STILL
) -> ArrayLayout:
    longest = max(1, *map(len, parts))
    if packed:
        words = -(-longest // _WORD_BITS)
        counts = [max(0, min(_WORD_BITS, len(part) - _WORD_BITS * word)) for part in parts for word in range(words)]
        shape = (words,) if is_single else (len(parts), words)
        rows = np.concatenate(parts).astype(np.int32)
        return ArrayLayout(shape, np.dtype(np.uint64), names, rows, np.array(counts, np.int32), turned)
    padded = np.full((len(parts), longest), NOTHING, np.int32)
    for part, row in zip(parts, padded, strict=True):
        row[: len(part)] = part
    return ArrayLayout(
        (longest,) if is_single else padded.shape, np.dtype(np.bool_), names, padded.ravel(), None, turned
    )


def lay_out_planes(region: Region, perspective: Perspective, layout: Layout) -> ArrayLayout:
    """A plane for each thing that can be on the cells of a board, and one, all alike, for each fact beside the boards.

    Facts that never change are left out. SettingsError where no board is found, or roles do not see the state.
    """
    compiled = perspective.compiled
    if compiled.has_percepts:
        raise SettingsError("planes show the state, and the rules of this game hide it: take bits or bytes")
    if not layout.boards:
        raise SettingsError("no board is found in the rules of this game: take bits or bytes")
    grids = {board.name: _Grid(board) for board in layout.boards}
    height = max(grid.height for grid in grids.values())
    width = max(grid.width for grid in grids.values())
    planes: dict[tuple[str, ...], Rows] = {}
    loose: list[int] = []
    changing = (fact for fact, constant in zip(compiled.facts, compiled.constants, strict=True) if constant < 0)
    facts = perspective.all_views(changing)
    for number, fact in enumerate(facts):
        places = [
            (key, place)
            for board in layout.boards
            for key, place in grids[board.name].find(fact)
        ]  # fmt: skip
        for key, (down, across) in places:
            plane = planes.setdefault(key, np.full((height, width), NOTHING, np.int64))
            plane[down, across] = number
        if not places:
            loose.append(number)
    names = [" ".join(filter(None, key)) for key in planes] + [to_text(facts[number]) for number in loose]
    stacked = [*planes.values(), *(np.full((height, width), number, np.int64) for number in loose)]
    rows, turned = _views(perspective, facts, np.concatenate([plane.ravel() for plane in stacked]))
    if perspective.names_mover():
        rows = np.concatenate([rows, np.repeat(_mover_rows(region, perspective), height * width)])
        names += _mover_names(perspective)
    return ArrayLayout(
        (len(names), height, width), np.dtype(np.bool_), tuple(names), rows.astype(np.int32), None, turned
    )


class _Grid:
    """The cells of one board as rows and columns of a plane."""

    def __init__(self, board: BoardLayout) -> None:
        self._board = board
        self._downs = sorted({down for down, _ in board.places.values()})
        self._acrosses = sorted({across for _, across in board.places.values()})
        self.height, self.width = max(1, len(self._downs)), max(1, len(self._acrosses))

    def find(self, fact: Term) -> list[tuple[tuple[str, ...], tuple[int, int]]]:
        """The planes that show the fact, and where."""
        relation = name_and_arity(fact)
        words = () if isinstance(fact, str) else tuple(map(to_text, fact[1:]))
        found = []
        for placement in self._board.placements:
            if placement.relation != relation or not all(words[at] == constant for at, constant in placement.fixed):
                continue
            point = self._board.places.get(tuple(words[at] for at in placement.place))
            if point is not None:
                place = self._downs.index(point[0]), self._acrosses.index(point[1])
                found.append((self._key(placement, words), place))
        return found

    def _key(self, placement: Placement, words: tuple[str, ...]) -> tuple[str, ...]:
        others = [word for at, word in enumerate(words) if at not in placement.place]
        return (self._board.name, placement.relation[0], *others)

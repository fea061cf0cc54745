"""Compiled game → how an environment's observation and mask are laid out: which row of the region stands where."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ggp.boards.layout import BoardLayout, Layout, Placement
from ggp.circuit.compile import CompiledGame
from ggp.circuit.network import Ids
from ggp.errors import SettingsError
from ggp.gdl.rulesheet import name_and_arity
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


def lay_out_facts(compiled: CompiledGame, region: Region, given: tuple[int, ...], *, packed: bool) -> ArrayLayout:
    """All facts; of games with percepts the percepts of each given role, in rows as long as the longest."""
    if not compiled.has_percepts:
        names = tuple(map(to_text, compiled.facts))
        return _lay_out([np.arange(region.facts)], names, packed=packed, is_single=True)
    first = region.percepts + np.concatenate([[0], np.cumsum(list(map(len, compiled.percepts)))])
    rows = [np.arange(first[role], first[role + 1]) for role in given]
    names = tuple(to_text(percept) for role in given for percept in compiled.percepts[role])
    return _lay_out(rows, names, packed=packed, is_single=False)


def lay_out_mask(compiled: CompiledGame, region: Region, given: tuple[int, ...], *, packed: bool) -> ArrayLayout:
    """The legal moves of each given role, in rows as long as the longest."""
    first = region.legal + np.concatenate([[0], np.cumsum(list(map(len, compiled.moves)))])
    rows = [np.arange(first[role], first[role + 1]) for role in given]
    return _lay_out(rows, (), packed=packed, is_single=False)


def _lay_out(parts: list[Rows], names: tuple[str, ...], *, packed: bool, is_single: bool) -> ArrayLayout:
    longest = max(1, *map(len, parts))
    if packed:
        words = -(-longest // _WORD_BITS)
        counts = [max(0, min(_WORD_BITS, len(part) - _WORD_BITS * word)) for part in parts for word in range(words)]
        shape = (words,) if is_single else (len(parts), words)
        rows = np.concatenate(parts).astype(np.int32)
        return ArrayLayout(shape, np.dtype(np.uint64), names, rows, np.array(counts, np.int32))
    padded = np.full((len(parts), longest), NOTHING, np.int32)
    for part, row in zip(parts, padded, strict=True):
        row[: len(part)] = part
    return ArrayLayout((longest,) if is_single else padded.shape, np.dtype(np.bool_), names, padded.ravel(), None)


def lay_out_planes(compiled: CompiledGame, layout: Layout) -> ArrayLayout:
    """A plane for each thing that can be on the cells of a board, and one, all alike, for each fact beside the boards.

    Facts that never change are left out. SettingsError where no board is found, or roles do not see the state.
    """
    if compiled.has_percepts:
        raise SettingsError("planes show the state, and the rules of this game hide it: take bits or bytes")
    if not layout.boards:
        raise SettingsError("no board is found in the rules of this game: take bits or bytes")
    grids = {board.name: _Grid(board) for board in layout.boards}
    height = max(grid.height for grid in grids.values())
    width = max(grid.width for grid in grids.values())
    planes: dict[tuple[str, ...], Rows] = {}
    loose: list[int] = []
    for number, fact in enumerate(compiled.facts):
        if compiled.constants[number] >= 0:
            continue
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
    names = [" ".join(filter(None, key)) for key in planes] + [to_text(compiled.facts[number]) for number in loose]
    stacked = [*planes.values(), *(np.full((height, width), number, np.int64) for number in loose)]
    rows = np.concatenate([plane.ravel() for plane in stacked])
    shape = (len(stacked), height, width)
    return ArrayLayout(shape, np.dtype(np.bool_), tuple(names), rows.astype(np.int32), None)


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

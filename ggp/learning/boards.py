"""The board that facts describe, found by their names → the patterns that a net reads of it.

Apart from `inputs`, since this imports `ggp.boards`, whose sources are no part of the version of what the cache keeps.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import TypeAlias

import numpy as np

from ggp.boards.profiles import find_order, find_points
from ggp.circuit.compile import CompiledGame
from ggp.circuit.network import Ids
from ggp.gdl.terms import Term
from ggp.learning.inputs import MATCHES, STEPS, find_inputs, random_steps
from ggp.learning.net import NO_INPUT
from ggp.learning.patterns import MOST_PATTERNS, MOST_TURNS, NO_PATTERN, Patterns, no_patterns
from ggp.simulation.evaluate import Batches, unpack

_ROLES, _MOST_CONTENTS = 2, 2  # of a game with patterns, and of its cells
_CONTENTS, _OUTSIDE = 4, 3  # digits of an index: what a cell contains, by one bit each, or that it is not on the board
_LEAST_SIZE = 3  # of a board in each direction
_PLACED = 0.95  # of the steps, which put a piece on the board, where patterns are used
_MOST_CELLS, _MOST_TABLES = 2, 8  # that a move names, and of all moves

_Cell: TypeAlias = tuple[int, int]  # row and column
_Name: TypeAlias = tuple[Term, ...]
_LINES = [[(down * at, across * at) for at in range(-3, 4)] for down, across in ((0, 1), (1, 0), (1, 1), (1, -1))]
_SHAPES: list[list[_Cell]] = [[(row, column) for row in (-1, 0, 1) for column in (-1, 0, 1)], *_LINES]


@dataclass(frozen=True, slots=True)
class _Board:
    """Cells, by row and column, and the facts about what they contain."""

    cells: Mapping[_Name, _Cell]
    size: tuple[int, int]
    facts: Mapping[int, tuple[_Cell, int]]  # fact → its cell, and which of its contents

    @property
    def contents(self) -> int:
        return len({content for _, content in self.facts.values()})

    def cells_in(self, move: Term) -> list[_Cell]:
        """Those that a move names, each by one argument or by two in a row."""
        arguments = move[1:] if isinstance(move, tuple) else ()
        width = len(next(iter(self.cells)))
        found, at = list[_Cell](), 0
        while at + width <= len(arguments):
            cell = self.cells.get(arguments[at : at + width])
            found += [] if cell is None else [cell]
            at += 1 if cell is None else width
        return found


def find_patterns(game: CompiledGame) -> Patterns:
    """A square of 3 × 3 cells around each cell of a board, and lines of 7 cells through it in 4 directions.

    A cell outside the board has another content than those on it. `no_patterns` for games of other than two roles or
    with hidden information, and where facts describe no board whose cells have one or two contents besides being empty.
    """
    facts, moves = len(game.facts), sum(map(len, game.moves))
    board = _find_board(game) if len(game.roles) == _ROLES and not game.has_percepts else None
    if board is None or board.size[0] * board.size[1] * len(_SHAPES) > MOST_PATTERNS:
        return no_patterns(facts, moves)
    rows, columns = board.size
    offsets = np.cumsum([0, *(_CONTENTS ** len(shape) for shape in _SHAPES)])
    starts = np.tile(offsets[:-1], (rows, columns, 1))
    uses: dict[_Cell, list[tuple[int, int]]] = {cell: [] for cell in product(range(rows), range(columns))}
    for (row, column), (number, shape) in product(uses, enumerate(_SHAPES)):
        for digit, (down, across) in enumerate(shape):
            if (cell := (row + down, column + across)) in uses:
                uses[cell].append(((row * columns + column) * len(_SHAPES) + number, _CONTENTS**digit))
            else:
                starts[row, column, number] += _OUTSIDE * _CONTENTS**digit
    listed = list[list[tuple[int, int]]]()
    for fact in range(facts):
        read = board.facts.get(fact)
        listed.append([(pattern, unit << read[1]) for pattern, unit in uses[read[0]]] if read else [])
    turns, weights = _find_turns(game), int(offsets[-1])
    of_move, tables = _patterns_of_moves(game, board, weights)
    return Patterns(
        starts.ravel().astype(np.int32),
        np.cumsum([0, *map(len, listed)]).astype(np.int32),
        np.array([use for each in listed for use in each], np.int32).reshape(-1, 2),
        turns,
        of_move,
        np.zeros(max(len(turns), 1) * weights, np.float32),
        np.zeros(tables * weights, np.float32),
    )


def can_use_patterns(batches: Batches, patterns: Patterns) -> bool:
    """Whether steps put one piece on the board and take none away, as far as random matches show.

    Patterns gained in most such games, and lost where pieces move or are turned over (docs/experiments.md).
    """
    if not len(patterns.starts):
        return False
    states, moves = random_steps(batches, MATCHES, STEPS)
    _, terminal = batches.look(states)
    following = batches.next_states(states, moves)
    facts, is_read = len(batches.game.facts), np.diff(patterns.first_use) > 0
    gone, come = (
        (unpack(changed[~terminal], facts) & is_read).sum(axis=1)
        for changed in (states & ~following, following & ~states)
    )
    return bool(np.count_nonzero((gone == 0) & (come == 1)) >= _PLACED * np.count_nonzero(~terminal))


def _find_board(game: CompiledGame) -> _Board | None:
    """The board with most cells among relations of facts with two coordinates, or one name of a point."""
    inputs = find_inputs(game)
    relations: dict[tuple[object, int], list[int]] = {}
    for number, fact in enumerate(game.facts):
        if isinstance(fact, tuple) and inputs[number] != NO_INPUT:
            relations.setdefault((fact[0], len(fact)), []).append(number)
    found = [
        _read_board(game, facts, place)
        for (_, length), facts in relations.items()
        for place in [*((at,) for at in range(1, length)), *combinations(range(1, length), 2)]
    ]
    boards = sorted((board for board in found if board), key=lambda board: len(board.cells), reverse=True)
    pieces = [board for board in boards if board.cells == boards[0].cells and board.contents == 1]
    if len(pieces) == _MOST_CONTENTS and boards[0].contents == 1:  # a relation for each role's pieces
        own = {fact: (cell, number) for number, board in enumerate(pieces) for fact, (cell, _) in board.facts.items()}
        return replace(boards[0], facts=own)
    return boards[0] if boards else None


def _read_board(game: CompiledGame, facts: Sequence[int], place: tuple[int, ...]) -> _Board | None:
    """The board of these facts of one relation, if their arguments at this place name cells."""
    names: dict[int, _Name] = {}
    kinds: dict[_Name, list[int]] = {}  # by all that a fact says besides its cell
    for fact in facts:
        arguments = game.facts[fact]
        names[fact] = tuple(arguments[at] for at in place)
        kinds.setdefault(tuple(each for at, each in enumerate(arguments) if at not in place), []).append(fact)
    cells = _find_cells(set(names.values()), game.roles)
    if cells is None:
        return None
    initial = {kind: int(game.circuit.initial[numbers].sum()) for kind, numbers in kinds.items()}
    if sum(initial.values()) == len(cells) and len(kinds) > 1:  # all have one: most are empty at first
        del kinds[max(initial, key=lambda kind: initial[kind])]
    size = max(row for row, _ in cells.values()) + 1, max(column for _, column in cells.values()) + 1
    if len(kinds) > _MOST_CONTENTS or min(size) < _LEAST_SIZE:
        return None
    contents = {fact: number for number, numbers in enumerate(kinds.values()) for fact in numbers}
    return _Board(cells, size, {fact: (cells[names[fact]], content) for fact, content in contents.items()})


def _find_cells(names: Collection[_Name], roles: Collection[str]) -> dict[_Name, _Cell] | None:
    """The cells that these names stand for; None where they name none, or few of those of a board."""
    texts = {name: [each for each in name if isinstance(each, str)] for name in names}
    if any(len(each) < len(name) for name, each in texts.items()):
        return None
    if len(next(iter(names))) == 1:
        points = find_points({text for (text,) in texts.values()})
        if points is None:
            return None
        texts = {name: list(points[text]) for name, (text,) in texts.items()}
    axes = [set(axis) for axis in zip(*texts.values(), strict=True)]
    rows, columns = (None if axis <= set(roles) else find_order(axis, ()) for axis in axes)
    if rows is None or columns is None or 2 * len(names) < len(rows) * len(columns):
        return None
    return {name: (rows.index(row), columns.index(column)) for name, (row, column) in texts.items()}


def _find_turns(game: CompiledGame) -> Ids:
    """Facts of one relation that name all roles, of which one holds at first: whose turn it is. Empty without them."""
    relations: dict[object, list[int]] = {}
    for number, fact in enumerate(game.facts):
        if isinstance(fact, tuple):
            relations.setdefault(fact[0], []).append(number)
    for numbers in relations.values():
        named = {role for number in numbers for role in game.roles if role in game.facts[number]}
        is_one = game.circuit.initial[numbers].sum() == 1
        if len(named) == len(game.roles) and len(numbers) <= MOST_TURNS and is_one:
            return np.array(numbers, np.int32)
    return np.zeros(0, np.int32)


def _patterns_of_moves(game: CompiledGame, board: _Board, weights: int) -> tuple[Ids, int]:
    """(M, K, 2) as in `Patterns`, and how many tables: one for each role, name of a move, and cell that it names."""
    found = list[list[tuple[int, int]]]()
    tables: dict[tuple[int, Term, int], int] = {}
    for role, moves in enumerate(game.moves):
        for move in moves:
            found.append([])
            for slot, (row, column) in enumerate(board.cells_in(move)[:_MOST_CELLS]):
                first = (row * board.size[1] + column) * len(_SHAPES)
                table = tables.setdefault((role, move[0], slot), len(tables))
                found[-1] += [(first + shape, table * weights) for shape in range(len(_SHAPES))]
    width = max(map(len, found), default=0) if len(tables) <= _MOST_TABLES else 0
    padded = [[*listed, *[(NO_PATTERN, 0)] * width][:width] for listed in found]
    return np.array(padded, np.int32).reshape(len(found), width, 2), len(tables) if width else 0

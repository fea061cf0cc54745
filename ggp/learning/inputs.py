"""What a net reads of a state: facts, pairs of facts that hold together, and legal moves.

A small net is slow to find which facts matter together; the rules say it: those that a rule's body reads.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise, product
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ggp.boards.profiles import find_order, find_points
from ggp.circuit.compile import CompiledGame
from ggp.circuit.network import Ids
from ggp.gdl.terms import Term
from ggp.learning.net import NO_INPUT, NO_PAIRS
from ggp.learning.patterns import MOST_PATTERNS, MOST_TURNS, NO_PATTERN, Patterns, no_patterns
from ggp.simulation.evaluate import Batches, Bits, pack, unpack

_MOST_INPUTS = 4096
_MOST_PAIRS = 4096
_MOST_GATES = 100_000  # of a circuit in which pairs are looked for
_LARGEST_BODY = 6  # facts that a gate may depend on to count as the body of a rule
_MATCHES, _STEPS = 16, 100  # random ones
_STATES = 512  # of random matches; a quarter as many ends
_MOST_PARTNERS = 48  # of a fact; those with more, such as whose turn it is, concern the whole state

_ROLES, _MOST_CONTENTS = 2, 2  # of a game with patterns, and of its cells
_CONTENTS, _OUTSIDE = 4, 3  # digits of an index: what a cell contains, by one bit each, or that it is not on the board
_LEAST_SIZE = 3  # of a board in each direction
_PLACED = 0.95  # of the steps, which put a piece on the board, where patterns are used
_MOST_CELLS, _MOST_TABLES = 2, 8  # that a move names, and of all moves

_Cell: TypeAlias = tuple[int, int]  # row and column
_Name: TypeAlias = tuple[Term, ...]
_LINES = [[(down * at, across * at) for at in range(-3, 4)] for down, across in ((0, 1), (1, 0), (1, 1), (1, -1))]
_SHAPES: list[list[_Cell]] = [[(row, column) for row in (-1, 0, 1) for column in (-1, 0, 1)], *_LINES]
_Support = frozenset[int] | None  # the facts that a literal depends on; None: too many, or moves


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a net reads besides single facts."""

    pairs: bool = False  # of facts
    moves: bool = False  # that are legal


def find_complemented(batches: Batches) -> Bits:
    """(words,) facts whose complement is the input: they hold in most of the states of some random matches."""
    states, _ = random_steps(batches, _MATCHES, _STEPS)
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

    What is not on the board is a content of its own. There are no patterns for games of other than two roles or with
    hidden information, and where facts describe no board whose cells have one or two contents besides being empty.
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

    Patterns gain there, and lose where pieces move or are turned over (docs/experiments.md).
    """
    if not len(patterns.starts):
        return False
    states, moves = random_steps(batches, _MATCHES, _STEPS)
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

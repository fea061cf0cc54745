"""Naive models of games, written from the prose and not from the rulesheets: states are tuples, moves are text.

They give perft numbers and shortest solutions that do not come from the code under test.
"""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

Cell = tuple[int, int]
State = Any

_STEPS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}


class Model(NamedTuple):
    """A game whose legal moves all belong to the role on turn; a state that is over has no moves."""

    start: State
    moves: Callable[[State], Iterator[tuple[str, State]]]
    is_solved: Callable[[State], bool] = lambda _: False


def count_paths(model: Model, depth: int) -> list[int]:
    """The numbers of paths of 1, 2, … moves."""
    layer = {model.start: 1}
    found = []
    for _ in range(depth):
        following: dict[State, int] = {}
        for state, paths in layer.items():
            if not model.is_solved(state):
                for _, after in model.moves(state):
                    following[after] = following.get(after, 0) + paths
        layer = following
        found.append(sum(layer.values()))
    return found


def shortest(model: Model) -> int | None:
    """The least number of moves to a solved state, by breadth-first search."""
    steps = {model.start: 0}
    waiting = deque([model.start])
    while waiting:
        state = waiting.popleft()
        if model.is_solved(state):
            return steps[state]
        for _, after in model.moves(state):
            if after not in steps:
                steps[after] = steps[state] + 1
                waiting.append(after)
    return None


def _signs(level: str) -> dict[Cell, str]:
    return {(x, y): sign for y, row in enumerate(level.split("/"), 1) for x, sign in enumerate(row, 1)}


def sokoban(level: str, limit: int) -> Model:
    signs = _signs(level)
    (person,) = (cell for cell, sign in signs.items() if sign in "@+")
    crates = frozenset(cell for cell, sign in signs.items() if sign in "$*")
    targets = frozenset(cell for cell, sign in signs.items() if sign in ".*+")

    def moves(state: State) -> Iterator[tuple[str, State]]:
        (x, y), crates = state
        for name, (dx, dy) in _STEPS.items():
            here, behind = (x + dx, y + dy), (x + 2 * dx, y + 2 * dy)
            if signs[here] == "#":
                continue
            if here not in crates:
                yield f"(go {name})", (here, crates)
            elif signs[behind] != "#" and behind not in crates:
                yield f"(go {name})", (here, crates - {here} | {behind})

    return Model((person, crates), moves, lambda state: targets <= state[1])


def maze(level: str, limit: int) -> Model:
    signs = _signs(level)
    (entrance,) = (cell for cell, sign in signs.items() if sign == "@")

    def moves(state: State) -> Iterator[tuple[str, State]]:
        for name, (dx, dy) in _STEPS.items():
            cell = (state[0] + dx, state[1] + dy)
            if signs.get(cell, "#") != "#":
                yield f"(go {name})", cell

    return Model(entrance, moves, lambda state: signs[state] == "!")


def rush_hour(level: str, limit: int) -> Model:
    """A state has for each car its cells, from the left or from the top."""
    signs = _signs(level)
    cars = sorted(set(signs.values()) - {"-"})
    start = tuple(tuple(cell for cell in sorted(signs) if signs[cell] == car) for car in cars)
    width = max(x for x, _ in signs)

    def moves(state: State) -> Iterator[tuple[str, State]]:
        taken = {cell for cells in state for cell in cells}
        for number, (car, cells) in enumerate(zip(cars, state, strict=True)):
            is_level = cells[0][1] == cells[1][1]
            for name in ("left", "right") if is_level else ("up", "down"):
                dx, dy = _STEPS[name]
                after = tuple((x + dx, y + dy) for x, y in cells)
                if all(cell in signs and (cell in cells or cell not in taken) for cell in after):
                    yield f"(drive {car} {name})", (*state[:number], after, *state[number + 1 :])

    return Model(start, moves, lambda state: state[cars.index("x")][-1][0] == width)


def sliding_tiles(columns: int, rows: int, start: str, limit: int) -> Model:
    def moves(state: State) -> Iterator[tuple[str, State]]:
        blank = state.index(0)
        for at in range(columns * rows):
            if abs(at % columns - blank % columns) + abs(at // columns - blank // columns) == 1:
                after = list(state)
                after[at], after[blank] = after[blank], after[at]
                yield f"(slide {at % columns + 1} {at // columns + 1})", tuple(after)

    order = tuple(map(int, start.split(",")))
    return Model(order, moves, lambda state: state == (*range(1, columns * rows), 0))


def pancakes(start: str, limit: int) -> Model:
    def moves(state: State) -> Iterator[tuple[str, State]]:
        for many in range(2, len(state) + 1):
            yield f"(flip {many})", (*reversed(state[:many]), *state[many:])

    return Model(tuple(map(int, start.split(","))), moves, lambda state: list(state) == sorted(state))


def hanoi(disks: int) -> Model:
    """A state has the peg of each disk, the smallest first."""

    def moves(state: State) -> Iterator[tuple[str, State]]:
        tops = {peg: state.index(peg) if peg in state else disks for peg in "abc"}
        for start in "abc":
            for end in "abc":
                if tops[start] < tops[end]:
                    disk = tops[start]
                    yield f"(move {start} {end})", (*state[:disk], end, *state[disk + 1 :])

    return Model(("a",) * disks, moves, lambda state: set(state) == {"c"})


def lights_out(size: int, start: str, limit: int) -> Model:
    cells = [(x, y) for y in range(1, size + 1) for x in range(1, size + 1)]
    lit = frozenset(cells if start == "all" else (cell for cell, sign in _signs(start).items() if sign == "*"))

    def moves(state: State) -> Iterator[tuple[str, State]]:
        for x, y in cells:
            near = {(u, v) for u, v in cells if abs(u - x) + abs(v - y) <= 1}
            yield f"(press {x} {y})", state ^ near

    return Model(lit, moves, lambda state: not state)


def queens(size: int) -> Model:
    def moves(state: State) -> Iterator[tuple[str, State]]:
        row = len(state)
        for column in range(1, size + 1):
            if row < size and all(column != x and abs(column - x) != row - y for y, x in enumerate(state)):
                yield f"(place {column})", (*state, column)

    return Model((), moves)


def knights_tour(columns: int, rows: int) -> Model:
    def moves(state: State) -> Iterator[tuple[str, State]]:
        (x, y), visited = state
        for dx in (-2, -1, 1, 2):
            for dy in (3 - abs(dx), abs(dx) - 3):
                cell = (x + dx, y + dy)
                if 1 <= cell[0] <= columns and 1 <= cell[1] <= rows and cell not in visited:
                    yield f"(leap {cell[0]} {cell[1]})", (cell, visited | {cell})

    return Model(((1, 1), frozenset([(1, 1)])), moves, lambda state: len(state[1]) == columns * rows)


def peg_solitaire(board: str) -> Model:
    signs = _signs(board)

    def moves(state: State) -> Iterator[tuple[str, State]]:
        for x, y in state:
            for dx, dy in _STEPS.values():
                over, to = (x + dx, y + dy), (x + 2 * dx, y + 2 * dy)
                if over in state and signs.get(to, "-") != "-" and to not in state:
                    yield f"(jump {x} {y} {to[0]} {to[1]})", state - {(x, y), over} | {to}

    return Model(frozenset(cell for cell, sign in signs.items() if sign == "*"), moves)


def sudoku(givens: str) -> Model:
    size = round(len(givens) ** 0.5)
    box = round(size**0.5)

    def fits(state: str, at: int, number: str) -> bool:
        x, y = at % size, at // size
        return not any(
            sign == number
            and (
                other % size == x
                or other // size == y
                or (other % size // box, other // size // box) == (x // box, y // box)
            )
            for other, sign in enumerate(state)
        )

    def moves(state: State) -> Iterator[tuple[str, State]]:
        for at, sign in enumerate(state):
            for number in "123456789"[:size] if sign == "0" else "":
                if fits(state, at, number):
                    yield f"(fill {at % size + 1} {at // size + 1} {number})", state[:at] + number + state[at + 1 :]

    return Model(givens, moves)


def nonogram(picture: str) -> Model:
    cells = sorted(_signs(picture))
    total = picture.count("*")

    def moves(state: State) -> Iterator[tuple[str, State]]:
        for cell in cells:
            if len(state) < total and cell not in state:
                yield f"(blacken {cell[0]} {cell[1]})", state | {cell}

    return Model(frozenset(), moves)


def nim(heaps: str) -> Model:
    def moves(state: State) -> Iterator[tuple[str, State]]:
        for heap, size in enumerate(state):
            for rest in range(size):
                yield f"(reduce {heap + 1} {rest})", (*state[:heap], rest, *state[heap + 1 :])

    return Model(tuple(map(int, heaps.split(","))), moves)


MODELS: dict[str, Callable[..., Model]] = {
    "hanoi": hanoi,
    "knightstour": knights_tour,
    "lightsout": lights_out,
    "maze": maze,
    "nim": nim,
    "nonogram": nonogram,
    "pancakes": pancakes,
    "pegsolitaire": peg_solitaire,
    "queens": queens,
    "rushhour": rush_hour,
    "slidingtiles": sliding_tiles,
    "sokoban": sokoban,
    "sudoku": sudoku,
}  # by family

"""Plain models of whole games, written from the prose: all facts of a state, the moves of each role, end and goals.

Coordinates are pairs of numbers that count from 0; only facts and moves as text name them
as the rulesheet does.
"""

from collections.abc import Callable, Iterable, Iterator, Set
from itertools import product, takewhile
from typing import Any, ClassVar, Protocol

State = Any
Cell = tuple[int, int]
Placed = frozenset[tuple[Cell, str, str]]  # where, whose, and what
Moves = dict[str, set[str]]  # role → what it may do
Outcome = tuple[bool, dict[str, int]]  # whether the match is over, and the goals
Board = tuple[dict[str, set[Cell]], dict[str, set[Cell]], set[Cell], tuple[Cell, ...]]

LETTERS = "abcdefghijklmno"
STRAIGHT = ((1, 0), (-1, 0), (0, 1), (0, -1))
AROUND = tuple((x, y) for x in (-1, 0, 1) for y in (-1, 0, 1) if (x, y) != (0, 0))


class PlainGame(Protocol):
    """Goals are those of every state; the moves of a state that is over do not count."""

    start: State

    def legal(self, state: State) -> Moves: ...

    def after(self, state: State, moves: dict[str, str]) -> State: ...

    def facts(self, state: State) -> set[str]: ...

    def outcome(self, state: State) -> Outcome: ...


def name(cell: Cell) -> str:
    return f"{LETTERS[cell[0]]} {cell[1] + 1}"


def cells_of(move: str) -> list[Cell]:
    """The cells that a move names, one after the other."""
    words = move.strip("()").split()[1:]
    return [(LETTERS.index(column), int(row) - 1) for column, row in zip(words[::2], words[1::2], strict=True)]


def beyond(cell: Cell, over: Cell) -> Cell:
    """The cell behind another one."""
    return 2 * over[0] - cell[0], 2 * over[1] - cell[1]


def count_paths(game: PlainGame, depth: int) -> list[int]:
    """The numbers of paths of 1, 2, … joint moves."""
    layer = {game.start: 1}
    found = []
    for _ in range(depth):
        following: dict[State, int] = {}
        for state, paths in layer.items():
            if not game.outcome(state)[0]:
                legal = game.legal(state)
                for joint in product(*legal.values()):
                    after = game.after(state, dict(zip(legal, joint, strict=True)))
                    following[after] = following.get(after, 0) + paths
        layer = following
        found.append(sum(layer.values()))
    return found


class FoxAndGeese:
    """A state: the fox, the geese, who moves, whether the fox has jumped in this turn, and the steps without a jump."""

    def __init__(self) -> None:
        self.points = {(x, y) for x in range(7) for y in range(7) if 2 <= x <= 4 or 2 <= y <= 4}
        self.start = ((3, 3), frozenset(cell for cell in self.points if cell[1] >= 4), "geese", False, 0)

    def near(self, cell: Cell) -> set[Cell]:
        steps = AROUND if sum(cell) % 2 == 0 else STRAIGHT
        return {(cell[0] + dx, cell[1] + dy) for dx, dy in steps} & self.points

    def jumps(self, fox: Cell, geese: frozenset[Cell]) -> set[Cell]:
        return {beyond(fox, over) for over in self.near(fox) & geese} & self.points - geese

    def walks(self, state: State, pieces: Iterable[Cell]) -> set[str]:
        taken = state[1] | {state[0]}
        return {f"(move {name(cell)} {name(to)})" for cell in pieces for to in self.near(cell) - taken}

    def legal(self, state: State) -> Moves:
        fox, geese, mover, has_jumped, _ = state
        if mover == "geese":
            return {"geese": self.walks(state, geese), "fox": {"noop"}}
        leaps = {f"(jump {name(fox)} {name(to)})" for to in self.jumps(fox, geese)}
        return {"geese": {"noop"}, "fox": leaps | ({"stop"} if has_jumped else self.walks(state, [fox]))}

    def after(self, state: State, moves: dict[str, str]) -> State:
        fox, geese, mover, _, quiet = state
        move = moves[mover]
        if move == "stop":
            return fox, geese, "geese", False, quiet + 1
        start, to = cells_of(move)
        if mover == "geese":
            return fox, geese - {start} | {to}, "fox", False, quiet + 1
        if "jump" not in move:
            return to, geese, "geese", False, quiet + 1
        left = geese - {((start[0] + to[0]) // 2, (start[1] + to[1]) // 2)}
        return (to, left, "fox", True, 0) if self.jumps(to, left) else (to, left, "geese", False, 0)

    def facts(self, state: State) -> set[str]:
        fox, geese, mover, has_jumped, quiet = state
        found = {f"(cell {name(cell)} goose)" for cell in geese} | {f"(cell {name(fox)} fox)", f"(control {mover})"}
        found |= {f"(left {len(geese)})", f"(quiet {quiet})"}
        return found | {f"(jumping {name(fox)})"} if has_jumped else found

    def outcome(self, state: State) -> Outcome:
        _, geese, mover, _, quiet = state
        if len(geese) == 3:
            return True, {"geese": 0, "fox": 100}
        if mover == "fox" and not self.legal(state)["fox"]:
            return True, {"geese": 100, "fox": 0}
        return quiet == 100, {"geese": 50, "fox": 50}


def halma_board() -> Board:
    """Where each role starts and where it goes, all cells, and the directions."""
    places = {(x, y) for x in range(8) for y in range(8)}
    low = {(x, y) for x, y in places if x + y <= 3}
    high = {(x, y) for x, y in places if x + y >= 11}
    return {"white": low, "black": high}, {"white": high, "black": low}, places, AROUND


def star_board(roles: int) -> Board:
    """The star is two large triangles, one on the other; its points are what only one of them covers."""
    steps = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, -1), (-1, 1))
    plane = {(x, y) for x in range(13) for y in range(13)}
    upright = {(x, y) for x, y in plane if x <= 9 and y <= 9 and x + y >= 9}
    inverted = {(x, y) for x, y in plane if x >= 3 and y >= 3 and x + y <= 15}
    tips = {
        "top": {cell for cell in upright if cell[1] < 3},
        "bottom": {cell for cell in inverted if cell[1] > 9},
        "upper right": {cell for cell in inverted if cell[0] > 9},
        "lower left": {cell for cell in upright if cell[0] < 3},
        "upper left": {cell for cell in inverted if sum(cell) < 9},
        "lower right": {cell for cell in upright if sum(cell) > 15},
    }
    around = ["bottom", "lower left", "upper left", "top", "upper right", "lower right"]
    opposite = dict(zip(around, around[3:] + around[:3], strict=True))
    colours = ["red", "blue", "green", "yellow", "purple", "orange"][:roles]
    own = dict(zip(colours, around[:: 6 // roles], strict=True))
    homes = {role: tips[tip] for role, tip in own.items()}
    return homes, {role: tips[opposite[tip]] for role, tip in own.items()}, upright | inverted, steps


class Halma:
    """A state: pieces as pairs of cell and role, who moves, where its piece has been in this turn, and the turns."""

    def __init__(self, board: Board, limit: int) -> None:
        homes, self.ends, self.places, self.steps = board
        self.limit, self.roles = limit, [*homes]
        pieces = frozenset((cell, role) for role, cells in homes.items() for cell in cells)
        self.start = (pieces, self.roles[0], (), 0)

    def kept(self, role: str, cell: Cell, to: set[Cell]) -> set[Cell]:
        return to & self.ends[role] if cell in self.ends[role] else to

    def near(self, cell: Cell) -> set[Cell]:
        return {(cell[0] + dx, cell[1] + dy) for dx, dy in self.steps} & self.places

    def hops(self, pieces: State, role: str, cell: Cell, been: tuple[Cell, ...]) -> set[Cell]:
        taken = {place for place, _ in pieces}
        free = {beyond(cell, over) for over in self.near(cell) & taken} & self.places - taken - {*been}
        return self.kept(role, cell, free)

    def legal(self, state: State) -> Moves:
        pieces, mover, been, _ = state
        own = [been[-1]] if been else [cell for cell, role in pieces if role == mover]
        moves = {f"(hop {name(cell)} {name(to)})" for cell in own for to in self.hops(pieces, mover, cell, been)}
        if been:
            moves.add("stop")
        else:
            taken = {place for place, _ in pieces}
            walks = {cell: self.kept(mover, cell, self.near(cell) - taken) for cell in own}
            moves |= {f"(move {name(cell)} {name(to)})" for cell, ends in walks.items() for to in ends}
        return {role: (moves or {"pass"}) if role == mover else {"noop"} for role in self.roles}

    def after(self, state: State, moves: dict[str, str]) -> State:
        pieces, mover, been, turns = state
        following = self.roles[(self.roles.index(mover) + 1) % len(self.roles)]
        move = moves[mover]
        if move in ("stop", "pass"):
            return pieces, following, (), turns + 1
        start, to = cells_of(move)
        pieces = pieces - {(start, mover)} | {(to, mover)}
        been = (*(been or (start,)), to)
        if "hop" in move and self.hops(pieces, mover, to, been):
            return pieces, mover, been, turns
        return pieces, following, (), turns + 1

    def facts(self, state: State) -> set[str]:
        pieces, mover, been, turns = state
        found = {f"(cell {name(cell)} {role})" for cell, role in pieces} | {f"(control {mover})", f"(turns {turns})"}
        found |= {f"(visited {name(cell)})" for cell in been[:-1]}
        return found | {f"(hopping {name(cell)})" for cell in been[-1:]}

    def outcome(self, state: State) -> Outcome:
        pieces, _, _, turns = state
        owner = dict(pieces)
        inside = {role: [owner.get(cell) for cell in self.ends[role]].count(role) for role in self.roles}
        full = [role for role in self.roles if all(cell in owner for cell in self.ends[role])]
        winners = [role for role in full if 2 * inside[role] > len(self.ends[role])]
        if not winners and turns < self.limit:
            return False, dict.fromkeys(self.roles, 50)
        best = winners or [role for role in self.roles if inside[role] == max(inside.values())]
        return True, {role: (100 if len(best) == 1 else 50) if role in best else 0 for role in self.roles}


class Tron:
    """A state: the cells of walls by role, where the cycles are, and who has crashed."""

    roles = ("red", "blue")
    ways: ClassVar = {"up": (0, 1), "down": (0, -1), "left": (-1, 0), "right": (1, 0)}
    start = (frozenset[Any](), ((1, 4), (8, 5)), frozenset[Any]())

    def ahead(self, state: State, role: str) -> dict[str, Cell]:
        walls, at, _ = state
        blocked = {cell for cell, _ in walls} | {*at}
        x, y = at[self.roles.index(role)]
        found = {f"(go {way})": (x + dx, y + dy) for way, (dx, dy) in self.ways.items()}
        return {move: to for move, to in found.items() if to not in blocked and min(to) >= 0 and max(to) <= 9}

    def legal(self, state: State) -> Moves:
        return {role: {*self.ahead(state, role)} or {"crash"} for role in self.roles}

    def after(self, state: State, moves: dict[str, str]) -> State:
        walls, at, _ = state
        here = dict(zip(self.roles, at, strict=True))
        to = tuple(self.ahead(state, role).get(moves[role], here[role]) for role in self.roles)
        left = {(here[role], role) for role in self.roles if moves[role] != "crash"}
        crashed = self.roles if to[0] == to[1] else [role for role in self.roles if moves[role] == "crash"]
        return walls | left, to, frozenset(crashed)

    def facts(self, state: State) -> set[str]:
        walls, at, crashed = state
        found = {f"(cell {x + 1} {y + 1} {role}_wall)" for (x, y), role in walls}
        found |= {f"(cell {x + 1} {y + 1} {role})" for role, (x, y) in zip(self.roles, at, strict=True)}
        return found | {f"(crashed {role})" for role in crashed}

    def outcome(self, state: State) -> Outcome:
        crashed = state[2]
        if len(crashed) == 1:
            return True, {role: 0 if role in crashed else 100 for role in self.roles}
        return bool(crashed), dict.fromkeys(self.roles, 50)


FORWARD = ((0, -1), (1, -1), (-1, -1))  # as black sees it: rank a is 0
GOLD = (*FORWARD, (1, 0), (-1, 0), (0, 1))
DIAGONAL = ((1, 1), (1, -1), (-1, 1), (-1, -1))
STEPS = {
    "king": AROUND, "gold": GOLD, "narisilver": GOLD, "tokin": GOLD, "silver": (*DIAGONAL, (0, -1)), "pawn": ((0, -1),),
    "rook": (), "bishop": (), "dragon": DIAGONAL, "horse": STRAIGHT,
}  # fmt: skip
SLIDES = {"rook": STRAIGHT, "dragon": STRAIGHT, "bishop": DIAGONAL, "horse": DIAGONAL}
PROMOTIONS = {"rook": "dragon", "bishop": "horse", "silver": "narisilver", "pawn": "tokin"}
BEFORE = {promoted: kind for kind, promoted in PROMOTIONS.items()}
Pieces = dict[Cell, tuple[str, str]]  # cell → role and kind


class Minishogi:
    """A state: the pieces as pairs, the kinds in the hands as pairs with the role, who moves, and the turns.

    Files count from 1 at the right, as players do; a move is legal if the own king cannot be taken after it.
    """

    other: ClassVar = {"black": "white", "white": "black"}
    last: ClassVar = {"black": 0, "white": 4}

    def __init__(self) -> None:
        order = ("king", "gold", "silver", "bishop", "rook")
        pieces = {(5 - at, 4): ("black", kind) for at, kind in enumerate(order)}
        pieces |= {(1 + at, 0): ("white", kind) for at, kind in enumerate(order)}
        pieces |= {(5, 3): ("black", "pawn"), (1, 1): ("white", "pawn")}
        self.start = (frozenset(pieces.items()), (), "black", 0)

    @staticmethod
    def name(cell: Cell) -> str:
        return f"{cell[0]} {LETTERS[cell[1]]}"

    @staticmethod
    def targets(pieces: Pieces, cell: Cell) -> Iterator[Cell]:
        """Where a piece could go, whatever becomes of its king."""
        role, kind = pieces[cell]
        sign = 1 if role == "black" else -1
        ways = [(step, 1) for step in STEPS[kind]] + [(step, 4) for step in SLIDES.get(kind, ())]
        for (dx, dy), most in ways:
            for many in range(1, most + 1):
                to = (cell[0] + sign * dx * many, cell[1] + sign * dy * many)
                if not (1 <= to[0] <= 5 and 0 <= to[1] <= 4) or pieces.get(to, ("", ""))[0] == role:
                    break
                yield to
                if to in pieces:
                    break

    def is_check(self, pieces: Pieces, role: str) -> bool:
        king = next(cell for cell, piece in pieces.items() if piece == (role, "king"))
        return any(king in self.targets(pieces, cell) for cell, piece in pieces.items() if piece[0] != role)

    def board_moves(self, pieces: Pieces, role: str) -> Iterator[tuple[str, Pieces]]:
        for cell, (owner, kind) in pieces.items():
            for to in self.targets(pieces, cell) if owner == role else ():
                rest = {place: piece for place, piece in pieces.items() if place != cell}
                words = f"{self.name(cell)} {self.name(to)}"
                is_last = self.last[role] in (cell[1], to[1])
                if not (is_last and kind == "pawn"):
                    yield f"(move {words})", rest | {to: (role, kind)}
                if is_last and kind in PROMOTIONS:
                    yield f"(promote {words})", rest | {to: (role, PROMOTIONS[kind])}

    def drops(self, pieces: Pieces, role: str, kinds: set[str]) -> Iterator[tuple[str, Pieces]]:
        for kind, cell in product(kinds, product(range(1, 6), range(5))):
            file = [piece for place, piece in pieces.items() if place[0] == cell[0]]
            is_wrong = kind == "pawn" and (cell[1] == self.last[role] or (role, "pawn") in file)
            if cell not in pieces and not is_wrong:
                yield f"(drop {kind} {self.name(cell)})", pieces | {cell: (role, kind)}

    def plays(self, state: State) -> dict[str, Pieces]:
        """The legal moves and the board after each. No drop is an answer to a pawn that gives check."""
        pieces, hands, role, _ = state
        found: dict[str, Pieces] = {}
        kinds = {kind for owner, kind in hands if owner == role}
        for source in (self.board_moves(dict(pieces), role), self.drops(dict(pieces), role, kinds)):
            for move, after in source:
                if self.is_check(after, role):
                    continue
                is_pawn_check = "drop pawn" in move and self.is_check(after, self.other[role])
                if not is_pawn_check or self.plays((after.items(), (), self.other[role], 0)):
                    found[move] = after
        return found

    def legal(self, state: State) -> Moves:
        return {role: {*self.plays(state)} if role == state[2] else {"noop"} for role in ("black", "white")}

    def after(self, state: State, moves: dict[str, str]) -> State:
        before, hands, role, turns = state
        move = moves[role]
        pieces, held = self.plays(state)[move], list(hands)
        if "drop" in move:
            held.remove((role, move.split()[1]))
        held += [
            (role, BEFORE.get(kind, kind))
            for cell, (owner, kind) in dict(before).items()
            if owner != role and pieces.get(cell, ("", ""))[0] == role
        ]
        return frozenset(pieces.items()), tuple(sorted(held)), self.other[role], turns + 1

    def facts(self, state: State) -> set[str]:
        pieces, hands, role, turns = state
        found = {f"(cell {self.name(cell)} {owner}_{kind})" for cell, (owner, kind) in pieces}
        found |= {f"(hand {owner} {kind} {hands.count((owner, kind))})" for owner, kind in hands}
        return found | {f"(control {role})", f"(turns {turns})"}

    def outcome(self, state: State) -> Outcome:
        role = state[2]
        if not self.plays(state):
            return True, {role: 0, self.other[role]: 100}
        return state[3] == 200, {"black": 50, "white": 50}


class Renju:
    """A state: the black stones, the white ones, and who moves. Fours and threes are found by trying further stones."""

    axes = ((1, 0), (0, 1), (1, 1), (1, -1))
    points: ClassVar = {(x, y) for x in range(15) for y in range(15)}
    start = (frozenset[Cell](), frozenset[Cell](), "black")

    @staticmethod
    def run(stones: Set[Cell], cell: Cell, axis: Cell) -> list[Cell]:
        """The stones without a gap on both sides of a stone, with it, in their order."""
        found = [cell]
        for sign in (1, -1):
            while (to := (found[-1][0] + sign * axis[0], found[-1][1] + sign * axis[1])) in stones:
                found.append(to)
            found.reverse()
        return found

    def ends(self, run: list[Cell], axis: Cell) -> list[Cell]:
        (x, y), (u, v) = max(run), min(run)
        if axis == (1, -1):
            return [(x + 1, y - 1), (u - 1, v + 1)]
        return [(x + axis[0], y + axis[1]), (u - axis[0], v - axis[1])]

    def shapes(self, black: Set[Cell], white: Set[Cell], cell: Cell, axis: Cell) -> tuple[set[Any], set[Any]]:
        """The fours and threes of the black stone on this cell, each as its stones."""
        fours: set[Any] = set()
        threes: set[Any] = set()
        near = [(cell[0] + n * axis[0], cell[1] + n * axis[1]) for n in range(-4, 5)]
        if sum(place in black for place in near) < 3:
            return fours, threes
        for extra in near:
            if extra not in self.points or extra in black or extra in white:
                continue
            more = black | {extra}
            run = self.run(more, extra, axis)
            if cell in run and len(run) == 5:
                fours.add(frozenset(run) - {extra})
            if cell in run and len(run) == 4 and all(
                end in self.points and end not in white and len(self.run(more | {end}, end, axis)) == 5
                for end in self.ends(run, axis)
            ):  # fmt: skip
                threes.add(frozenset(run) - {extra})
        return fours, threes

    def is_allowed(self, black: Set[Cell], white: Set[Cell], cell: Cell) -> bool:
        after = black | {cell}
        lengths = [len(self.run(after, cell, axis)) for axis in self.axes]
        if 5 in lengths or max(lengths) > 5:
            return 5 in lengths
        found = [self.shapes(after, white, cell, axis) for axis in self.axes]
        return all(sum(len(shapes[kind]) for shapes in found) < 2 for kind in (0, 1))

    def legal(self, state: State) -> Moves:
        black, white, mover = state
        free = self.points - black - white
        allowed = free if mover == "white" else {cell for cell in free if self.is_allowed(black, white, cell)}
        moves = {f"(place {name(cell)})" for cell in allowed}
        return {role: moves if role == mover else {"noop"} for role in ("black", "white")}

    def after(self, state: State, moves: dict[str, str]) -> State:
        black, white, mover = state
        stone = {*cells_of(moves[mover])}
        return (black | stone, white, "white") if mover == "black" else (black, white | stone, "black")

    def facts(self, state: State) -> set[str]:
        black, white, mover = state
        found = {f"(cell {name(cell)} black)" for cell in black} | {f"(cell {name(cell)} white)" for cell in white}
        return found | {f"(control {mover})"}

    def outcome(self, state: State) -> Outcome:
        black, white, mover = state
        if any(len(self.run(black, cell, axis)) == 5 for cell in black for axis in self.axes):
            return True, {"black": 100, "white": 0}
        if any(len(self.run(white, cell, axis)) >= 5 for cell in white for axis in self.axes):
            return True, {"black": 0, "white": 100}
        return not self.legal(state)[mover], {"black": 50, "white": 50}


class InternationalDraughts:
    """A state: men and kings of both roles, who moves, the piece that has to go on, what it has taken, quiet steps.

    How many pieces a turn can take is found by trying all of its jumps to their ends.
    """

    aslant = ((1, 1), (1, -1), (-1, 1), (-1, -1))
    dark: ClassVar = {(x, y) for x in range(10) for y in range(10) if (x + y) % 2 == 0}
    forward: ClassVar = {"white": 1, "black": -1}
    limit = 50
    start = (
        frozenset((cell, "white", "man") for cell in dark if cell[1] < 4)
        | frozenset((cell, "black", "man") for cell in dark if cell[1] > 5),
        "white",
        None,
        frozenset[Cell](),
        0,
    )

    def ray(self, cell: Cell, way: Cell) -> Iterator[Cell]:
        x, y = cell
        while (x := x + way[0], y := y + way[1]) in self.dark:
            yield x, y

    def jumps(self, pieces: Placed, origin: Cell, taken: Set[Cell]) -> Iterator[tuple[Cell, Cell]]:
        """What a piece can take, with where it can land."""
        board = {cell: (role, kind) for cell, role, kind in pieces}
        role, kind = board[origin]
        for way in self.aslant:
            victim = None
            for distance, cell in enumerate(self.ray(origin, way), 1):
                if kind == "man" and distance > 2:
                    break
                if cell not in board:
                    if victim is not None:
                        yield victim, cell
                elif (
                    victim is None
                    and board[cell][0] != role
                    and cell not in taken
                    and (kind == "king" or distance == 1)
                ):
                    victim = cell
                else:
                    break

    def longest(self, pieces: Placed, origin: Cell, taken: Set[Cell]) -> int:
        """The most pieces that it can take in what is left of its turn."""
        (piece,) = (piece for piece in pieces if piece[0] == origin)
        return max(
            (
                1 + self.longest((pieces - {piece}) | {(to, *piece[1:])}, to, taken | {victim})
                for victim, to in self.jumps(pieces, origin, taken)
            ),
            default=0,
        )

    def legal(self, state: State) -> Moves:
        pieces, mover, jumping, taken, _ = state
        board = {cell for cell, _, _ in pieces}
        worth: dict[str, int] = {}
        steps = set()
        for cell, role, kind in pieces:
            if role != mover or jumping not in (None, cell):
                continue
            for victim, to in self.jumps(pieces, cell, taken):
                after = (pieces - {(cell, role, kind)}) | {(to, role, kind)}
                worth[f"(jump {name(cell)} {name(to)})"] = min(3, 1 + self.longest(after, to, taken | {victim}))
            for way in self.aslant:
                if kind == "king" or way[1] == self.forward[mover]:
                    free = list(takewhile(lambda to: to not in board, self.ray(cell, way)))
                    steps |= {f"(move {name(cell)} {name(to)})" for to in free[: None if kind == "king" else 1]}
        moves = {move for move, pieces in worth.items() if pieces == max(worth.values())} or steps
        return {role: moves if role == mover else {"noop"} for role in ("white", "black")}

    def after(self, state: State, moves: dict[str, str]) -> State:
        pieces, mover, _, taken, quiet = state
        other = "black" if mover == "white" else "white"
        origin, to = cells_of(moves[mover])
        ((_, _, kind),) = (piece for piece in pieces if piece[0] == origin)
        is_jump = "jump" in moves[mover]
        victims = [victim for victim, landing in self.jumps(pieces, origin, taken) if landing == to] if is_jump else []
        moved = (pieces - {(origin, mover, kind)}) | {(to, mover, kind)}
        taken = taken | set(victims)
        quiet = 0 if is_jump or kind == "man" else quiet + 1
        if is_jump and any(self.jumps(moved, to, taken)):
            return moved, mover, to, taken, quiet
        left = frozenset(piece for piece in moved if piece[0] not in taken)
        if kind == "man" and to[1] == (9 if mover == "white" else 0):
            left = (left - {(to, mover, "man")}) | {(to, mover, "king")}
        return left, other, None, frozenset[Cell](), quiet

    def facts(self, state: State) -> set[str]:
        pieces, mover, jumping, taken, quiet = state
        found = {f"(cell {name(cell)} {role}_{kind})" for cell, role, kind in pieces}
        found |= {f"(taken {name(cell)})" for cell in taken} | {f"(control {mover})", f"(quiet {quiet})"}
        return found | ({f"(jumping {name(jumping)})"} if jumping else set())

    def outcome(self, state: State) -> Outcome:
        _, mover, _, _, quiet = state
        if not self.legal(state)[mover]:
            return True, {role: 0 if role == mover else 100 for role in ("white", "black")}
        return quiet == self.limit, {"white": 50, "black": 50}


class Backgammon:
    """A state: checkers on points 1 to 24 (white's above 0, black's below), on the bar and off, who moves, dice, rolls.

    The dice that are left are numbers in order; None when they are to be rolled.
    """

    limit = 400
    sides: ClassVar = {"white": 1, "black": -1}
    start = (
        tuple({24: 2, 13: 5, 8: 3, 6: 5, 1: -2, 12: -5, 17: -3, 19: -5}.get(point, 0) for point in range(1, 25)),
        (("white", 0), ("black", 0)),
        (("white", 0), ("black", 0)),
        "white",
        None,
        0,
    )

    @staticmethod
    def target(role: str, origin: int | None, die: int) -> int:
        """The point that a die leads to, from a point or the bar; below 1 or above 24 when it leads off the board."""
        if role == "white":
            return (25 if origin is None else origin) - die
        return (0 if origin is None else origin) + die

    def moves(self, state: State) -> set[tuple[int | None, int]]:
        board, bar, _, mover, dice, _ = state
        side, far = self.sides[mover], self.target
        own = [point for point in range(1, 25) if board[point - 1] * side > 0]
        pips = {point: point if mover == "white" else 25 - point for point in own}
        is_home = all(pip <= 6 for pip in pips.values())
        found: set[tuple[int | None, int]] = set()
        for origin in [None] if dict(bar)[mover] else own:
            for die in set(dice):
                to = far(mover, origin, die)
                if 1 <= to <= 24:
                    if board[to - 1] * side >= -1:
                        found.add((origin, die))
                elif origin is not None and is_home and (pips[origin] == die or pips[origin] == max(pips.values())):
                    found.add((origin, die))
        return found

    def legal(self, state: State) -> Moves:
        mover, dice = state[3], state[4]
        if dice is None:
            rolls = {f"(roll {one} {other})" for one in range(1, 7) for other in range(1, 7)}
            return {"white": {"noop"}, "black": {"noop"}, "random": rolls}
        own = {f"(move {'bar' if origin is None else origin} {die})" for origin, die in self.moves(state)} or {"pass"}
        return {role: own if role == mover else {"noop"} for role in ("white", "black", "random")}

    def after(self, state: State, moves: dict[str, str]) -> State:
        board, bar, off, mover, dice, rolls = state
        if dice is None:
            one, other = map(int, moves["random"].strip("()").split()[1:])
            return board, bar, off, mover, (one,) * 4 if one == other else tuple(sorted((one, other))), rolls + 1
        other_role = "black" if mover == "white" else "white"
        if moves[mover] == "pass":
            return board, bar, off, other_role, None, rolls
        _, origin_text, die_text = moves[mover].strip("()").split()
        origin, die, side = None if origin_text == "bar" else int(origin_text), int(die_text), self.sides[mover]
        stacks, waiting, gone = list(board), dict(bar), dict(off)
        if origin is None:
            waiting[mover] -= 1
        else:
            stacks[origin - 1] -= side
        to = self.target(mover, origin, die)
        if not 1 <= to <= 24:
            gone[mover] += 1
        elif stacks[to - 1] == -side:
            stacks[to - 1] = side
            waiting[other_role] += 1
        else:
            stacks[to - 1] += side
        left = list(dice)
        left.remove(die)
        turn = (mover, tuple(left)) if left else (other_role, None)
        return tuple(stacks), tuple(waiting.items()), tuple(gone.items()), *turn, rolls

    def facts(self, state: State) -> set[str]:
        board, bar, off, mover, dice, rolls = state
        found = {
            f"(stack {at} {'w' if number > 0 else 'b'}{abs(number)})" for at, number in enumerate(board, 1) if number
        }
        found |= {f"(on_bar {role} {number})" for role, number in bar if number}
        found |= {f"(off {role} {number})" for role, number in off if number}
        found |= {f"(left {die} {dice.count(die)})" for die in set(dice)} if dice is not None else {"rolling"}
        return found | {f"(turn {mover})", f"(rolls {rolls})"}

    def outcome(self, state: State) -> Outcome:
        _, _, off, _, dice, rolls = state
        winner = next((role for role, number in off if number == 15), None)
        if winner is not None:
            return True, {"random": 0} | {role: 100 if role == winner else 0 for role in ("white", "black")}
        return dice is None and rolls == self.limit, {"white": 50, "black": 50, "random": 0}


# A corner of the cube in order: the colours of its stickers, that of the upper or lower face first, then clockwise.
CORNERS = {
    "urf": "white red green", "ufl": "white green orange", "ulb": "white orange blue", "ubr": "white blue red",
    "dfr": "yellow green red", "dlf": "yellow orange green", "dbl": "yellow blue orange", "drb": "yellow red blue",
}  # fmt: skip
STICKERS = {
    "urf": "4 2,5 3,4 3", "ufl": "3 2,3 3,2 3", "ulb": "3 1,1 3,8 3", "ubr": "4 1,7 3,6 3",
    "dfr": "4 5,4 4,5 4", "dlf": "3 5,2 4,3 4", "dbl": "3 6,8 4,1 4", "drb": "4 6,6 4,7 4",
}  # column and row in the same order  # fmt: skip
CYCLES = {
    "right": ("urf", "ubr", "drb", "dfr"),
    "up": ("urf", "ufl", "ulb", "ubr"),
    "front": ("urf", "dfr", "dlf", "ufl"),
}
TWISTS = {
    "right": (1, 2, 1, 2),
    "up": (0, 0, 0, 0),
    "front": (2, 1, 2, 1),
}  # added to the corner that leaves each place
WAYS = {"clockwise": 1, "half": 2, "counterclockwise": 3}


def turned(cube: State, face: str, quarters: int) -> State:
    """A cube is, for each place, the corner there and how often it is twisted clockwise."""
    found = dict(cube)
    for _ in range(quarters):
        before = dict(found)
        cycle = CYCLES[face]
        for at, place in enumerate(cycle):
            corner, twist = before[place]
            found[cycle[(at + 1) % 4]] = (corner, (twist + TWISTS[face][at]) % 3)
    return tuple(sorted(found.items()))


class Rubik2:
    """A state: a cube and the number of the step. A twisted corner shows its first colour so many stickers further."""

    solved = tuple(sorted((place, (place, 0)) for place in CORNERS))
    turns: ClassVar = {f"(turn {face} {way})": (face, many) for face, (way, many) in product(CYCLES, WAYS.items())}

    def __init__(self, turns: str, limit: int) -> None:
        cube: State = self.solved
        for turn in turns.split():
            face = {"R": "right", "U": "up", "F": "front"}[turn[0]]
            cube = turned(cube, face, {"": 1, "2": 2, "'": 3}[turn[1:]])
        self.start, self.limit = (cube, 0), limit

    def legal(self, _: State) -> Moves:
        return {"solver": {*self.turns}}

    def after(self, state: State, moves: dict[str, str]) -> State:
        return turned(state[0], *self.turns[moves["solver"]]), state[1] + 1

    def facts(self, state: State) -> set[str]:
        found = {f"(step {state[1]})"}
        for place, (corner, twist) in state[0]:
            colours = CORNERS[corner].split()
            for at, where in enumerate(STICKERS[place].split(",")):
                found.add(f"(sticker {where} {colours[(at - twist) % 3]})")
        return found

    def outcome(self, state: State) -> Outcome:
        is_solved = state[0] == self.solved
        return is_solved or state[1] == self.limit, {"solver": 100 if is_solved else 0}


def neighbours(cube: State) -> Iterator[State]:
    for face, many in product(CYCLES, WAYS.values()):
        yield turned(cube, face, many)


def spheres(cube: State, radius: int) -> list[set[State]]:
    """The cubes that 0, 1, 2, … turns lead to, each at its shortest distance."""
    found = [{cube}]
    known = {cube}
    for _ in range(radius):
        found.append({after for before in found[-1] for after in neighbours(before)} - known)
        known |= found[-1]
    return found


PLAIN_GAMES: dict[str, Callable[[], PlainGame]] = {
    "backgammon": Backgammon,
    "chinesecheckers2": lambda: Halma(star_board(2), 200),
    "chinesecheckers3": lambda: Halma(star_board(3), 300),
    "chinesecheckers6": lambda: Halma(star_board(6), 360),
    "draughts10": InternationalDraughts,
    "foxandgeese": FoxAndGeese,
    "halma": lambda: Halma(halma_board(), 200),
    "minishogi": Minishogi,
    "renju": Renju,
    "rubik2": lambda: Rubik2("U R U F' U2 R F' U2 R2 F R'", 20),
    "tron": Tron,
}

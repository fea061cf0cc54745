"""Alpha-beta, iterative deepening, a transposition table and evaluations made by hand: opponents of another style.

For breakthrough (material, advance, threats), reversi (mobility, corners) and English draughts (material, advance) as
this project writes their rules. Boards are bits, seen by the role on turn: cell (column, row) is bit 8 · row + column,
counted from 0, and where pieces have a direction they go to higher rows: the board is turned for one of the roles.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ggp.errors import SettingsError
from ggp.game import State
from ggp.gdl.state_machine import Facts, JointMove, StateMachine
from ggp.gdl.terms import Term, to_text
from ggp.kernel import kernel
from players.custom import Clock, Task

OWN, OTHER, KINGS, MORE = 0, 1, 2, 3  # words of a board; MORE: the cell that has to go on jumping + 1, and SAME
SAME, LOUD = (
    1 << 8,
    1 << 9,
)  # in a successor: the role that has moved is on turn again; something was taken because it had to
LOST, DRAWN, WON = -1, -2, -3  # in place of a number of successors: the match is over, as the role on turn sees it
WIN = 1_000_000  # value; less one for each step until then
_CERTAIN = WIN - 1_000
_FAR = 1 << 30
_MOST_MOVES, _MOST_PLIES = 128, 128
_ENTRIES = 1 << 21  # of the transposition table
_DONE = -_FAR
_NODES = 20_000  # between two looks at the clock
_EXACT, _AT_LEAST, _AT_MOST = 0, 1, 2

Words = NDArray[np.uint64]
Numbers = NDArray[np.int64]
Kernel = Callable[..., int]
Function = TypeVar("Function", bound=Callable[..., Any])

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_LEFT = np.uint64(0x0101010101010101)  # column 0
_RIGHT = np.uint64(0x8080808080808080)
_FIRST = np.uint64(0xFF)  # row 0
_ONE, _ZERO = np.uint64(1), np.uint64(0)
_SAME, _LOUD = np.uint64(SAME), np.uint64(LOUD)


@kernel
def _count(bits: np.uint64) -> int:
    found = 0
    while bits:
        bits &= bits - _ONE
        found += 1
    return found


@kernel
def _lowest(bits: np.uint64) -> int:
    return _count((bits & (~bits + _ONE)) - _ONE)


@kernel
def _turned(bits: np.uint64) -> np.uint64:
    """The board turned by half."""
    for mask, shift in (
        (np.uint64(0x5555555555555555), np.uint64(1)),
        (np.uint64(0x3333333333333333), np.uint64(2)),
        (np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(4)),
        (np.uint64(0x00FF00FF00FF00FF), np.uint64(8)),
        (np.uint64(0x0000FFFF0000FFFF), np.uint64(16)),
        (np.uint64(0x00000000FFFFFFFF), np.uint64(32)),
    ):
        bits = ((bits >> shift) & mask) | ((bits & mask) << shift)
    return bits


@kernel
def _expand_breakthrough(board: Words, found: Words) -> int:
    own, other = board[0], board[1]
    if other & _FIRST or not own:
        return LOST
    number = 0
    for way in range(3):
        if way == 0:
            targets = (own << np.uint64(8)) & ~(own | other)
            back = np.uint64(8)
        elif way == 1:
            targets = ((own & ~_LEFT) << np.uint64(7)) & ~own
            back = np.uint64(7)
        else:
            targets = ((own & ~_RIGHT) << np.uint64(9)) & ~own
            back = np.uint64(9)
        while targets:
            target = targets & (~targets + _ONE)
            targets ^= target
            found[number, 0] = _turned(other & ~target)
            found[number, 1] = _turned((own ^ (target >> back)) | target)
            found[number, 2] = found[number, 3] = _ZERO
            number += 1
    return number


@kernel
def _value_breakthrough(board: Words) -> int:
    own, other = board[0], board[1]
    value = 100 * (_count(own) - _count(other)) + 10
    reached = other  # where pieces of the other could get to
    for row in range(8):
        shift = np.uint64(8 * row)
        advanced = 2 * row * row + (12 if row == 0 else 0)
        turned = 2 * (7 - row) * (7 - row) + (12 if row == 7 else 0)
        value += advanced * _count((own >> shift) & _FIRST) - turned * _count((other >> shift) & _FIRST)
        reached |= (reached >> np.uint64(8)) | ((reached & ~_LEFT) >> np.uint64(9))
        reached |= (reached & ~_RIGHT) >> np.uint64(7)
    beats = ((own & ~_LEFT) << np.uint64(7)) | ((own & ~_RIGHT) << np.uint64(9))
    beaten = ((other & ~_LEFT) >> np.uint64(9)) | ((other & ~_RIGHT) >> np.uint64(7))
    value += 40 * (_count(other & beats & ~beaten) > 0) - 20 * _count(own & beaten & ~beats)
    free = own & ~reached
    while free:
        value += 20 * (_lowest(free) >> 3)
        free &= free - _ONE
    return value


@kernel
def _shifted(bits: np.uint64, way: int) -> np.uint64:  # noqa: PLR0911 - one of eight neighbours
    if way == 0:
        return (bits & ~_RIGHT) << _ONE
    if way == 1:
        return (bits & ~_LEFT) >> _ONE
    if way == 2:
        return bits << np.uint64(8)
    if way == 3:
        return bits >> np.uint64(8)
    if way == 4:
        return (bits & ~_RIGHT) << np.uint64(9)
    if way == 5:
        return (bits & ~_LEFT) >> np.uint64(9)
    if way == 6:
        return (bits & ~_LEFT) << np.uint64(7)
    return (bits & ~_RIGHT) >> np.uint64(7)


@kernel
def _placeable(own: np.uint64, other: np.uint64) -> np.uint64:
    """Cells on which a disc flanks some of the other's."""
    found = _ZERO
    for way in range(8):
        run = _shifted(own, way) & other
        for _ in range(5):
            run |= _shifted(run, way) & other
        found |= _shifted(run, way)
    return found & ~(own | other)


@kernel
def _expand_reversi(board: Words, found: Words) -> int:
    own, other = board[0], board[1]
    targets = _placeable(own, other)
    if not targets:
        if not _placeable(other, own):
            lead = _count(own) - _count(other)
            return WON if lead > 0 else LOST if lead < 0 else DRAWN
        found[0, 0], found[0, 1] = other, own
        found[0, 2] = found[0, 3] = _ZERO
        return 1
    number = 0
    while targets:
        target = targets & (~targets + _ONE)
        targets ^= target
        flipped = _ZERO
        for way in range(8):
            run, end = _ZERO, _shifted(target, way)
            while end & other:
                run |= end
                end = _shifted(end, way)
            if end & own:
                flipped |= run
        found[number, 0], found[number, 1] = other & ~flipped, own | flipped | target
        found[number, 2] = found[number, 3] = _ZERO
        number += 1
    return number


@kernel
def _value_reversi(board: Words) -> int:
    own, other = board[0], board[1]
    empty = ~(own | other)
    value = 8 * (_count(_placeable(own, other)) - _count(_placeable(other, own)))
    edge = _ZERO  # next to an empty cell: few such discs are good
    for way in range(8):
        edge |= _shifted(empty, way)
    value -= 3 * (_count(own & edge) - _count(other & edge))
    for cell, aslant in ((0, 9), (7, 14), (56, 49), (63, 54)):
        corner = _ONE << np.uint64(cell)
        near = _ONE << np.uint64(aslant)
        if own & corner:
            value += 80
        elif other & corner:
            value -= 80
        elif own & near:
            value -= 30
        elif other & near:
            value += 30
    return value


@kernel
def _can_jump(piece: np.uint64, is_king: bool, other: np.uint64, empty: np.uint64) -> bool:
    for way in range(4, 8):
        if (is_king or way in (4, 6)) and _shifted(_shifted(piece, way) & other, way) & empty:
            return True
    return False


@kernel
def _leave_cell(board: Words, piece: np.uint64, target: np.uint64, taken: np.uint64, found: Words) -> None:
    """The board after a move of draughts."""
    own, other, kings = (board[OWN] ^ piece) | target, board[OTHER] & ~taken, board[KINGS] & ~taken
    is_king = (kings & piece) != _ZERO
    is_last = (target >> np.uint64(56)) != _ZERO
    if is_king:
        kings ^= piece
    if is_king or is_last:
        kings |= target
    goes_on = taken and (is_king or not is_last) and _can_jump(target, is_king, other, ~(own | other))
    if goes_on:
        found[OWN], found[OTHER], found[KINGS] = own, other, kings
        found[MORE] = _SAME | np.uint64(_lowest(target) + 1)
    else:
        found[OWN], found[OTHER], found[KINGS] = _turned(other), _turned(own), _turned(kings)
        found[MORE] = _ZERO
    if taken:
        found[MORE] |= _LOUD


@kernel
def _expand_draughts(board: Words, found: Words) -> int:
    own, other, bound = board[OWN], board[OTHER], board[MORE] & _FIRST
    empty = ~(own | other)
    number = 0
    for is_jump in (True, False):
        pieces = _ONE << (bound - _ONE) if bound else own
        while pieces:
            piece = pieces & (~pieces + _ONE)
            pieces ^= piece
            for way in range(4, 8):
                if way in (5, 7) and not board[KINGS] & piece:
                    continue
                over = _shifted(piece, way)
                taken = over & other if is_jump else _ZERO
                target = (_shifted(taken, way) if is_jump else over) & empty
                if target:
                    _leave_cell(board, piece, target, taken, found[number])
                    number += 1
        if number:
            return number
    return LOST


@kernel
def _value_draughts(board: Words) -> int:
    own, other, kings = board[0], board[1], board[2]
    value = 100 * (_count(own) - _count(other)) + 45 * (_count(own & kings) - _count(other & kings)) + 2
    for row in range(8):
        shift = np.uint64(8 * row)
        advanced, turned = 3 * row + (9 if row == 0 else 0), 3 * (7 - row) + (9 if row == 7 else 0)
        value += advanced * _count(((own & ~kings) >> shift) & _FIRST)
        value -= turned * _count(((other & ~kings) >> shift) & _FIRST)
    lead = _count(own) - _count(other)
    return value + lead * (24 - _count(own | other))  # exchanges are good for who leads


def _taking_kernels(function: Function) -> Function:
    """A kernel that is not kept in files, because these do not know what kernels it is given."""
    return cast("Function", njit(nogil=True)(function))


class Plies(NamedTuple):
    """The line that is being searched: one entry for each ply, the root's first."""

    boards: Words  # [ply, successor, word]
    keys: Words
    state: Numbers  # the current ply; nodes
    order: Numbers  # [ply, successor]: higher comes first; _DONE once it was searched
    counts: Numbers  # successors
    current: Numbers  # the successor that is being searched
    depth: Numbers
    alpha: Numbers
    beta: Numbers
    first_alpha: Numbers
    best: Numbers
    best_at: Numbers


class Table(NamedTuple):
    """Values of boards that were searched before."""

    keys: Words
    values: Numbers  # each row: value, depth, bound, and the successor that was best


@kernel
def _key(board: Words) -> np.uint64:
    found = np.uint64(0x9E3779B97F4A7C15)
    for word in board:
        found = (found ^ word) * np.uint64(0xD6E8FEB86659FD93)
        found ^= found >> np.uint64(32)
    return found


@kernel
def _nearer(value: int) -> int:
    """A value one step earlier: what is certain gets less so."""
    return value - 1 if value > _CERTAIN else value + 1 if value < -_CERTAIN else value


@kernel
def _for_mover(board: Words, value: int) -> int:
    """The value of a successor for the role that moved there."""
    return value if board[MORE] & _SAME else -value


@kernel
def _next(plies: Plies, ply: int) -> int:
    """The most promising successor that is left, or -1."""
    found = -1
    if plies.alpha[ply] < plies.beta[ply]:
        for at in range(plies.counts[ply]):
            if plies.order[ply, at] > _DONE and (found < 0 or plies.order[ply, at] > plies.order[ply, found]):
                found = at
    return found


@kernel
def _stored(table: Table, key: np.uint64, depth: int, alpha: int, beta: int) -> tuple[bool, int, int]:
    """Whether the value is known well enough; it, and the successor that was best or -1."""
    entry = np.int64(key & np.uint64(_ENTRIES - 1))
    if table.keys[entry] != key:
        return False, 0, -1
    value, stored_depth, bound, best = table.values[entry]
    is_enough = (
        bound == _EXACT or (bound == _AT_LEAST and value >= beta) or (bound == _AT_MOST and value <= alpha)
    ) and stored_depth >= depth
    return is_enough, value, best


@kernel
def _leave(plies: Plies, table: Table, ply: int) -> int:
    """Keeps what was found of a ply; its value."""
    value = plies.best[ply]
    entry = np.int64(plies.keys[ply] & np.uint64(_ENTRIES - 1))
    bound = _EXACT
    if value >= plies.beta[ply]:
        bound = _AT_LEAST
    elif value <= plies.first_alpha[ply]:
        bound = _AT_MOST
    table.keys[entry] = plies.keys[ply]
    table.values[entry, 0], table.values[entry, 1] = value, plies.depth[ply]
    table.values[entry, 2], table.values[entry, 3] = bound, plies.best_at[ply]
    return int(value)


@_taking_kernels
def _enter(plies: Plies, ply: int, evaluate: Kernel, hint: int) -> None:
    """Puts the successors of a ply in order, the one that was best before first."""
    plies.first_alpha[ply] = plies.alpha[ply]
    plies.best[ply], plies.best_at[ply] = -_FAR, 0
    for at in range(plies.counts[ply]):
        board = plies.boards[ply, at]
        plies.order[ply, at] = _for_mover(board, evaluate(board)) if plies.depth[ply] > 1 else 0
        if at == hint:
            plies.order[ply, at] = WIN


@_taking_kernels
def _descend(plies: Plies, table: Table, ply: int, at: int, expand: Kernel, evaluate: Kernel) -> tuple[bool, int]:
    """Looks at a successor: whether its value is known, and it; otherwise the next ply is its."""
    board, below = plies.boards[ply, at], plies.boards[ply + 1]
    alpha, beta = plies.alpha[ply], plies.beta[ply]
    if not board[MORE] & _SAME:
        alpha, beta = -beta, -alpha
    depth, key = plies.depth[ply] - 1, _key(board)
    is_known, value, hint = _stored(table, key, depth, alpha, beta)
    if is_known:
        return True, value
    count = expand(board, below)
    if count < 0:
        return True, WIN if count == WON else -WIN if count == LOST else 0
    if (depth <= 0 and not below[0, MORE] & _LOUD) or ply + 2 >= _MOST_PLIES:
        return True, evaluate(board)
    plies.counts[ply + 1], plies.depth[ply + 1], plies.keys[ply + 1] = count, depth, key
    plies.alpha[ply + 1], plies.beta[ply + 1] = alpha, beta
    _enter(plies, ply + 1, evaluate, hint)
    return False, 0


@_taking_kernels
def _search(plies: Plies, table: Table, nodes: int, expand: Kernel, evaluate: Kernel) -> bool:
    """Goes on for so many nodes; whether the root is done."""
    ply, is_done = plies.state[0], False
    for _ in range(nodes):
        at = _next(plies, ply)
        if at >= 0:
            plies.current[ply], plies.order[ply, at] = at, _DONE
            is_known, value = _descend(plies, table, ply, at, expand, evaluate)
            if not is_known:
                ply += 1
                continue
        elif ply == 0:
            is_done = True
            break
        else:
            value = _leave(plies, table, ply)
            ply -= 1
            at = plies.current[ply]
        value = _nearer(_for_mover(plies.boards[ply, at], value))
        if value > plies.best[ply]:
            plies.best[ply], plies.best_at[ply] = value, at
            plies.alpha[ply] = max(plies.alpha[ply], value)
    plies.state[0] = ply
    plies.state[1] += nodes
    return is_done


@dataclass(frozen=True, slots=True)
class Game:
    """What the search has to know of a game."""

    columns: str
    upward: str  # the role whose board is not turned; empty where none is
    pieces: dict[Term, tuple[str, bool]]  # the last argument of a cell: whose, and whether a king
    expand: Kernel  # a board and where its successors are written → how many there are, or how the match ended
    evaluate: Kernel  # a board → its value for the role on turn

    def board(self, state: Facts, before: str = "") -> Words:
        """As the role on turn sees it; `before`: the role that was on turn in the state before."""
        on_turn = role_on_turn(state)
        found = [0, 0, 0, SAME if on_turn == before else 0]
        for fact in state:
            if not isinstance(fact, tuple) or fact[0] not in ("cell", "jumping"):
                continue
            column, row = self.columns.index(str(fact[1])), int(str(fact[2])) - 1
            cell = 8 * row + column if self.upward in (on_turn, "") else 63 - 8 * row - column
            if fact[0] == "jumping":
                found[MORE] += cell + 1
                continue
            whose, is_king = self.pieces[fact[3]]
            found[OWN if whose == on_turn else OTHER] |= 1 << cell
            found[KINGS] |= is_king << cell
        return np.array(found, np.uint64)


def role_on_turn(state: Facts) -> str:
    return next(str(fact[1]) for fact in state if isinstance(fact, tuple) and fact[0] == "control")


_COLOURS: dict[Term, tuple[str, bool]] = {"white": ("white", False), "black": ("black", False)}
_PIECES: dict[Term, tuple[str, bool]] = {
    f"{role}_{kind}": (role, kind == "king") for role in ("white", "black") for kind in ("man", "king")
}
GAMES = {
    "breakthrough": Game("12345678", "white", _COLOURS, _expand_breakthrough, _value_breakthrough),
    "reversi": Game("12345678", "", _COLOURS, _expand_reversi, _value_reversi),
    "draughts": Game("abcdefgh", "white", _PIECES, _expand_draughts, _value_draughts),
}


def successors(game: Game, board: Words) -> list[tuple[int, ...]] | int:
    """Sorted, without what marks captures; or how the match ended."""
    found = np.zeros((_MOST_MOVES, 4), np.uint64)
    count = game.expand(board, found)
    found[:, MORE] &= np.uint64(SAME | 0xFF)
    return count if count < 0 else sorted(map(tuple, found[:count].tolist()))


def find_game(machine: StateMachine) -> Game:
    """The one whose first boards are those of the machine; SettingsError when there is none."""
    for game in GAMES.values():
        try:
            following = sorted(map(tuple, (board.tolist() for board in next_boards(game, machine).values())))
            if following == successors(game, game.board(machine.initial_state)):
                return game
        except (KeyError, ValueError, IndexError, StopIteration):
            continue  # other facts
    raise SettingsError(f"alpha-beta has evaluations for {', '.join(GAMES)} only")


def next_boards(game: Game, machine: StateMachine, state: Facts | None = None) -> dict[Term, Words]:
    """Each move of the role on turn → the board after it."""
    state = machine.initial_state if state is None else state
    on_turn = role_on_turn(state)
    found: dict[Term, Words] = {}
    for move in machine.legal_moves(state, on_turn):
        found[move] = game.board(machine.next_state(state, joint_move(machine, state, move)), on_turn)
    return found


def joint_move(machine: StateMachine, state: Facts, move: Term) -> JointMove:
    """With the only moves of the roles that are not on turn."""
    on_turn = role_on_turn(state)
    return tuple(move if role == on_turn else machine.legal_moves(state, role)[0] for role in machine.roles)


class AlphaBeta:
    """Searches one depth after the other."""

    def __init__(self, machine: StateMachine) -> None:
        self._machine = machine
        self._game = find_game(machine)
        self._plies = Plies(
            np.zeros((_MOST_PLIES, _MOST_MOVES, 4), np.uint64),
            np.zeros(_MOST_PLIES, np.uint64),
            np.zeros(2, np.int64),
            np.zeros((_MOST_PLIES, _MOST_MOVES), np.int64),
            *(np.zeros(_MOST_PLIES, np.int64) for _ in range(8)),
        )
        self._table = Table(np.zeros(_ENTRIES, np.uint64), np.zeros((_ENTRIES, 4), np.int64))

    @property
    def nodes(self) -> int:
        """Of the last search."""
        return int(self._plies.state[1])

    def forget(self) -> None:
        self._table.keys[:] = 0

    def best(self, state: Facts, stop: Callable[[], bool], most_depth: int = _MOST_PLIES - 2) -> tuple[Term, int]:
        """The best move as far as was searched, and how deep that was."""
        moves = next_boards(self._game, self._machine, state)
        names, plies, count = list(moves), self._plies, len(moves)
        plies.boards[0, :count] = list(moves.values())
        order = list(range(count))
        plies.state[1] = 0
        best, reached = 0, 0
        for depth in range(1, most_depth + 1):
            plies.state[0], plies.counts[0], plies.depth[0] = 0, count, depth
            plies.alpha[0], plies.beta[0], plies.first_alpha[0] = -_FAR, _FAR, -_FAR
            plies.best[0], plies.best_at[0] = -_FAR, best
            for place, at in enumerate(order):
                plies.order[0, at] = count - place
            is_done = False
            while not is_done and not stop():
                is_done = _search(plies, self._table, _NODES, self._game.expand, self._game.evaluate)
            best = int(plies.best_at[0])  # of those that were searched; the best one so far is the first of them
            order.remove(best)
            order.insert(0, best)
            if not is_done:
                break
            reached = depth
            if abs(int(plies.best[0])) > _CERTAIN:
                break
        return names[best], reached


class Bot:
    """For `ggp match` and tournaments, as `tests.bench.alphabeta:Bot`; it searches on while the other role thinks."""

    def __init__(self, task: Task) -> None:
        self._search, self._role = AlphaBeta(task.game.machine), task.role
        self._search.best(task.game.initial_state.terms, lambda: False, most_depth=1)  # the kernels are compiled

    @property
    def nodes(self) -> int:
        """Of the last search."""
        return self._search.nodes

    def choose(self, state: State, clock: Clock) -> str:
        return to_text(self._search.best(state.terms, lambda: clock.is_over)[0])

    def ponder(self, state: State, move: str | None, clock: Clock) -> None:
        if move is not None and role_on_turn(state.terms) == self._role:
            state = state.play({self._role: move})
        if not state.is_terminal:
            self._search.best(state.terms, lambda: clock.is_over)

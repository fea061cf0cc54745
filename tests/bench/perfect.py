"""Perfect play: connect four solved, and the last lines of dots and boxes."""

import numpy as np
from numpy.typing import NDArray

from ggp.errors import SettingsError
from ggp.gdl.state_machine import Facts, StateMachine
from ggp.gdl.terms import Term, to_text
from ggp.kernel import count_ones, kernel
from ggp.search.mcts.search import BatchedMcts, SearchSettings
from ggp.simulation.state_machine import CircuitMachine
from tests.bench.alphabeta import joint_move, role_on_turn

LINES_LEFT = 24  # of dots and boxes: the value of each subset of them is worked out

COLUMNS, ROWS = 7, 6
_HEIGHT = ROWS + 1  # bits of a column: a row that stays empty is above it
_BOTTOM = sum(1 << _HEIGHT * column for column in range(COLUMNS))
_BOARD = _BOTTOM * ((1 << ROWS) - 1)
_WIN, _DRAW = 2, 1
_UNKNOWN, _NO, _YES = 0, 1, 2
_ENTRIES, _EARLY_ENTRIES = 1 << 25, 1 << 24  # of the transposition table, 8 bytes each; the latter for early states
_EARLY = 16  # discs of an early state at most; it shares its entry with its mirror image
_NODES = 2_000_000  # of a call, between which Ctrl-C is heard
REPLY_VISITS, _SEARCH_BYTES = 100_000, 2**26  # of the search that tells equal moves apart

_ONE, _ZERO = np.uint64(1), np.uint64(0)
_BOTTOM_BITS, _BOARD_BITS = np.uint64(_BOTTOM), np.uint64(_BOARD)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_PLACE_SHIFT, _EARLY_SHIFT = np.uint64(64 - 25), np.uint64(64 - 24)
_COLUMN_BITS = np.uint64((1 << _HEIGHT) - 1)
_PLIES = COLUMNS * ROWS + 1

Words = NDArray[np.uint64]
Numbers = NDArray[np.int64]


@kernel
def _completing(own: np.uint64, taken: np.uint64) -> np.uint64:
    """Empty cells that would complete four of these discs."""
    found = (own << np.uint64(1)) & (own << np.uint64(2)) & (own << np.uint64(3))
    for shift in (np.uint64(_HEIGHT - 1), np.uint64(_HEIGHT), np.uint64(_HEIGHT + 1)):
        twice, thrice = shift + shift, shift + shift + shift
        pair = (own << shift) & (own << twice)
        found |= pair & (own << thrice)
        found |= pair & (own >> shift)
        pair = (own >> shift) & (own >> twice)
        found |= pair & (own << shift)
        found |= pair & (own >> thrice)
    return found & (_BOARD_BITS ^ taken)


@kernel
def _has_four(cells: np.uint64) -> bool:
    for shift in (np.uint64(1), np.uint64(_HEIGHT - 1), np.uint64(_HEIGHT), np.uint64(_HEIGHT + 1)):
        pair = cells & (cells >> shift)
        if pair & (pair >> (shift + shift)):
            return True
    return False


@kernel
def _identify(own: np.uint64, taken: np.uint64) -> tuple[np.uint64, np.int64]:
    """The key of a state, and its place in the table."""
    key = own + taken + _BOTTOM_BITS
    if count_ones(taken) > _EARLY:
        return key, np.int64((key * _SPREAD) >> _PLACE_SHIFT)
    mirrored = _ZERO
    for column in range(COLUMNS):
        bits = (key >> np.uint64(_HEIGHT * column)) & _COLUMN_BITS
        mirrored |= bits << np.uint64(_HEIGHT * (COLUMNS - 1 - column))
    key = min(key, mirrored)
    return key, np.int64(_ENTRIES) + np.int64((key * _SPREAD) >> _EARLY_SHIFT)


@kernel
def _enter(  # noqa: PLR0911 - one way after the other to know at once
    ply: int, boards: Words, moves: Words, numbers: Numbers, weights: Numbers, table: Words
) -> int:
    """Whether the role on turn reaches its goal, where that shows at once; otherwise its moves are listed, best last.

    boards: (_PLIES, 2), discs of the role on turn and of both; numbers: (_PLIES, 2), the goal and the moves left.
    """
    own, taken, goal = boards[ply, 0], boards[ply, 1], numbers[ply, 0]
    other, empty = own ^ taken, _BOARD_BITS ^ taken
    reachable = (taken + _BOTTOM_BITS) & _BOARD_BITS
    if reachable & _completing(own, taken):
        return _YES
    if not reachable:
        return _YES if goal == _DRAW else _NO
    if goal == _WIN and not _has_four(own | empty):
        return _NO
    if goal == _DRAW and not _has_four(other | empty):
        return _YES
    threats = _completing(other, taken)
    forced = reachable & threats
    if forced:
        if forced & (forced - _ONE):
            return _NO
        reachable = forced
    reachable &= ~(threats >> _ONE)
    if not reachable:
        return _NO
    key, place = _identify(own, taken)
    entry = table[place]
    if entry >> np.uint64(2) == key and np.int64(entry & _ONE) == goal - 1:
        return _YES if entry & np.uint64(2) else _NO
    number = 0
    for column in range(COLUMNS):
        move = reachable & (np.uint64((1 << ROWS) - 1) << np.uint64(_HEIGHT * column))
        if not move:
            continue
        weight = 16 * count_ones(_completing(own | move, taken | move)) - abs(2 * column - COLUMNS + 1)
        at = number
        while at and weights[at - 1] > weight:
            weights[at], moves[ply, at] = weights[at - 1], moves[ply, at - 1]
            at -= 1
        weights[at], moves[ply, at] = weight, move
        number += 1
    numbers[ply, 1] = number
    return _UNKNOWN


@kernel
def _prove(state: Numbers, boards: Words, moves: Words, numbers: Numbers, weights: Numbers, table: Words) -> int:
    """Goes on with a proof; state: (3), the ply, nodes, and whether that ply has been entered."""
    ply, nodes, entered = state[0], state[1], state[2]
    end = nodes + _NODES
    result = _UNKNOWN
    while entered or nodes < end:
        if not entered:
            nodes += 1
            result = _enter(ply, boards, moves, numbers, weights, table)
            entered = 1
        if result == _UNKNOWN and numbers[ply, 1] == 0:
            result = _NO
        if result == _UNKNOWN:
            numbers[ply, 1] -= 1
            move = moves[ply, numbers[ply, 1]]
            own, taken = boards[ply, 0], boards[ply, 1]
            boards[ply + 1, 0], boards[ply + 1, 1] = own ^ taken, taken | move
            numbers[ply + 1, 0] = 3 - numbers[ply, 0]
            ply, entered = ply + 1, 0
            continue
        key, place = _identify(boards[ply, 0], boards[ply, 1])
        kept = (key << np.uint64(2)) | (np.uint64(2) if result == _YES else _ZERO) | np.uint64(numbers[ply, 0] - 1)
        table[place] = kept
        if ply == 0:
            state[1] = nodes
            return result
        ply -= 1
        result = _YES if result == _NO else _UNKNOWN  # that of the role before, or its next move
    state[0], state[1], state[2] = ply, nodes, entered
    return _UNKNOWN


class ConnectFour:
    """Solves states by proofs of "wins" and "does not lose", which share a transposition table."""

    def __init__(self, machine: StateMachine) -> None:
        moves = [to_text(move) for move in machine.legal_moves(machine.initial_state, machine.roles[0])]
        if sorted(moves) != [f"(drop {column + 1})" for column in range(COLUMNS)]:
            raise SettingsError("perfect play is known in connect four only")
        self._machine = machine
        self._state = np.zeros(3, np.int64)
        self._boards, self._moves = np.zeros((_PLIES, 2), np.uint64), np.zeros((_PLIES, COLUMNS), np.uint64)
        self._numbers, self._weights = np.zeros((_PLIES, 2), np.int64), np.zeros(COLUMNS, np.int64)
        self._known: dict[Facts, dict[Term, float]] = {}
        self._table = np.zeros(_ENTRIES + _EARLY_ENTRIES, np.uint64)

    def value(self, own: int, taken: int) -> float:
        """Of a state that is no end: 1 where the role on turn wins, 0 for a draw, or -1."""
        if self._proves(own, taken, _WIN):
            return 1.0
        return 0.0 if self._proves(own, taken, _DRAW) else -1.0

    def values(self, state: Facts) -> dict[Term, float]:
        """Each move: 1 where the role on turn wins by it, 0 for a draw, or -1."""
        if state in self._known:
            return self._known[state]
        machine, on_turn = self._machine, role_on_turn(state)
        found: dict[Term, float] = {}
        for move in machine.legal_moves(state, on_turn):
            after = machine.next_state(state, joint_move(machine, state, move))
            if machine.is_terminal(after):
                found[move] = ((machine.goal(after, on_turn) or 0) - 50) / 50
                continue
            found[move] = -self.value(*_board(after))
        self._known[state] = found
        return found

    def _proves(self, own: int, taken: int, goal: int) -> bool:
        self._state[:] = 0
        self._boards[0] = own, taken
        self._numbers[0] = goal, 0
        while True:
            result = _prove(self._state, self._boards, self._moves, self._numbers, self._weights, self._table)
            if result != _UNKNOWN:
                return result == _YES


def _board(state: Facts) -> tuple[int, int]:
    """Discs of the role on turn, and of both."""
    on_turn, own, taken = role_on_turn(state), 0, 0
    for fact in state:
        if isinstance(fact, tuple) and fact[0] == "cell":
            bit = 1 << _HEIGHT * (int(str(fact[1])) - 1) + int(str(fact[2])) - 1
            taken |= bit
            own |= bit if fact[3] == on_turn else 0
    return own, taken


@kernel
def _solve_ending(boxes: Numbers, lines: int) -> NDArray[np.int8]:
    """(2 ** lines): the boxes that the role on turn gets more than the other, for each set of lines left.

    boxes: the lines left of each box that has any, as bits.
    """
    found = np.zeros(1 << lines, np.int8)
    for left in range(1, 1 << lines):
        best = -127
        for line in range(lines):
            bit = 1 << line
            if left & bit:
                gain = 0
                for box in boxes:
                    gain += box & left == bit
                value = gain + found[left ^ bit] if gain else -found[left ^ bit]
                best = max(best, value)
        found[left] = best
    return found


class DotsAndBoxes:
    """Works out all orders of the last lines."""

    def __init__(self, machine: StateMachine) -> None:
        self._machine = machine
        self._bits: dict[Term, int] = {}  # of the lines left in the last ending
        self._boxes: list[int] = []  # by the bits of their lines
        self._found = np.zeros(1, np.int8)
        moves = machine.legal_moves(machine.initial_state, machine.roles[0])
        if not all(_is_line(move) for move in moves):
            raise SettingsError("perfect endings are known in dots and boxes only")
        self._dots = max(int(str(move[3])) for move in moves if isinstance(move, tuple))  # of a row

    def values(self, state: Facts) -> dict[Term, float]:
        """Each move → the lead in boxes at the end; ValueError where too many lines are left."""
        on_turn = role_on_turn(state)
        lines = self._machine.legal_moves(state, on_turn)
        if not self._bits.keys() >= set(lines):
            self._solve(lines)
        left, lead = sum(self._bits[line] for line in lines), _lead(state, on_turn)
        found: dict[Term, float] = {}
        for line in lines:
            bit = self._bits[line]
            gain = sum(box & left == bit for box in self._boxes)
            after = int(self._found[left ^ bit])
            found[line] = lead + gain + after if gain else lead - after
        return found

    def _solve(self, lines: tuple[Term, ...]) -> None:
        if len(lines) > LINES_LEFT:
            raise ValueError(f"{len(lines)} lines are left, and {LINES_LEFT} at most can be worked out")
        self._bits = {line: 1 << number for number, line in enumerate(lines)}
        boxes: dict[tuple[int, int], int] = {}  # by their lowest dot
        for line, bit in self._bits.items():
            assert isinstance(line, tuple)
            x, y, x2, _ = (int(str(each)) for each in line[1:])
            for dot in ((x, y), (x, y - 1) if x2 > x else (x - 1, y)):
                if min(dot) >= 1 and max(dot) < self._dots:
                    boxes[dot] = boxes.get(dot, 0) | bit
        self._boxes = list(boxes.values())
        self._found = _solve_ending(np.array(self._boxes, np.int64), len(lines))


def _is_line(move: Term) -> bool:
    return isinstance(move, tuple) and move[0] == "draw" and len(move) == 5


def _lead(state: Facts, role: str) -> int:
    """How many boxes more than the other role it owns."""
    owners = [fact[3] for fact in state if isinstance(fact, tuple) and fact[0] == "box"]
    return sum(1 if owner == role else -1 for owner in owners)


class PerfectPlay:
    """Does what a solver holds for best; of equal moves, the one that a search likes most."""

    def __init__(self, machine: CircuitMachine, solver: ConnectFour | DotsAndBoxes, seed: int) -> None:
        self._solver = solver
        settings = SearchSettings(memory_bytes=_SEARCH_BYTES, retrograde=False, proof=False)
        self._search = BatchedMcts(machine, settings, seed)

    def best(self, state: Facts) -> list[Term]:
        """All equal moves of the role on turn; ValueError as by the solver."""
        values = self._solver.values(state)
        return [move for move in values if values[move] == max(values.values())]

    def choose(self, state: Facts) -> Term:
        moves = self.best(state)
        if len(moves) == 1:
            return moves[0]
        self._search.go_to(state)
        self._search.run(lambda: False, REPLY_VISITS)
        found = self._search.result(role_on_turn(state))
        visits = {report.move: report.visits for report in found.moves}
        return found.best if found.best and found.best in moves else max(moves, key=visits.__getitem__)

"""Two opposed roles who see everything, and may choose at once: all states, solved from the ends to the start.

A state with its joint moves is a matrix game (Shapley, 1953), whose entries are the values of the states after them,
averaged over the moves of chance. Its equilibrium is found by the simplex method (Dantzig, 1951), so that both roles'
strategies and the value are exact but for rounding. States are met once each, however many histories lead there; where
states can come again there is no order in which to solve them, and no answer. A single role takes the best.
"""

from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import Ids
from ggp.equilibrium.game_tree import Values
from ggp.errors import EquilibriumError, NoGoalError
from ggp.gdl.rulesheet import NATURE
from ggp.gdl.state_machine import JointMove
from ggp.gdl.terms import Term
from ggp.kernel import Int, inner, lean
from ggp.simulation.evaluate import Bits
from ggp.simulation.state_graph import Images, StateExplorer, StateGraph
from ggp.simulation.state_machine import CircuitMachine

NOT_OPPOSED, REPEATS, STACK, SOLVED, NO_GOAL = range(5)  # of `_Games.counters`
_EDGES_PER_STATE = 24  # there is room for
_BYTES_PER_GAME = 45  # of the arrays of `_Games`
_STEPS_AT_ONCE, _SOLVED_AT_ONCE = 4096, 2000
_MOST_TABLEAU_BYTES = 1 << 26
_STEEPEST = 200  # pivots by the greatest gain; from then on by Bland's rule, which never goes round
_PROBE_BYTES = 2**20
_NOBODY = -1  # in place of a role
_TINY = 1e-12
_NEW, _OPEN, _DONE = range(3)  # of `_Games.mark`


class Tableau(NamedTuple):
    """Room to solve matrix games of up to M rows and N columns."""

    payoffs: Values  # (M, N) what the row player gets
    cells: Values  # (M + 1, N + M + 1)
    basis: Ids  # (M,)
    row: Values  # (M,) the strategy of the row player
    column: Values  # (N,)


class _Games(NamedTuple):
    """The matrix games of the S states of a graph. Locking: none, one thread does all the work; others read once it
    is solved.
    """

    graph: StateGraph  # the first role's moves change slowest, those of chance quickest
    sizes: Ids  # (S, 3) legal moves of the two roles and of chance, 1 where there is no such role; 0 at an end
    value: Values  # (S,) of the first role, a goal value
    low: Values  # (S,) what the first role gets by its strategy, if the other plays a best response to it
    high: Values  # (S,) what it gets by a best response to the other's strategy
    mark: NDArray[np.int8]  # (S,)
    child: Ids  # (S,) the next edge to follow
    stack: Ids  # (S,) states whose ends are being looked for
    places: Ids  # (3,) the roles: first, second (_NOBODY if there is none), chance (likewise)
    sums: Values  # (2,) the least and the greatest sum of goal values at an end
    counters: NDArray[np.int64]


class BackwardInduction(StateExplorer):
    """All that can follow a state, worked out in small steps; `why_failed` says why there is no answer."""

    def __init__(
        self,
        machine: CircuitMachine,
        state: Bits | None = None,
        memory_bytes: int = 2**30,
        images: Images | None = None,
    ) -> None:
        """state: (1, words), by default the initial one; images: that are the same state, with the same roles.

        EquilibriumError where the game is not of this kind.
        """
        self.machine = machine
        self.roles = tuple(role for role in machine.roles if role != NATURE)
        if reason := why_unsuitable(machine):
            raise EquilibriumError(f"{machine.rulesheet.source}: {reason}")
        own = [machine.roles.index(role) for role in self.roles]
        chance = machine.roles.index(NATURE) if NATURE in machine.roles else _NOBODY
        places = np.array([own[0], own[1] if len(own) > 1 else _NOBODY, chance], np.int32)
        first = machine.batches.initial if state is None else state
        order = places[places != _NOBODY]
        super().__init__(machine, first, order, _EDGES_PER_STATE, memory_bytes, _BYTES_PER_GAME, images)
        self._games = _make_games(self.graph, places)
        self._noted = 0  # states whose ends are in `_games`
        self._tableau = _make_tableau(*(len(machine.compiled.moves[role]) for role in own))

    @property
    def why_failed(self) -> str:
        counters = self._games.counters
        if self.is_full:
            return f"there is no room for more than {self.states:,} states"
        if counters[NO_GOAL]:
            return f"at an end {NoGoalError('', self.roles[counters[NO_GOAL] - 1]).reason}"
        if counters[NOT_OPPOSED]:
            return "the goal values of the roles are not opposed"
        return "states can come again" if counters[REPEATS] else ""

    @property
    def is_solved(self) -> bool:
        return bool(self._games.mark[0] == _DONE)

    @property
    def chooses_together(self) -> bool:
        """Whether two roles choose at once in a state that was met; chance does not count."""
        return bool((self._games.sizes[: self._noted, :2] > 1).all(axis=1).any())

    def advance(self) -> None:
        """A few milliseconds of work."""
        games = self._games
        if self.is_solved or self.why_failed:
            return
        if not self.is_explored:
            first, self._noted = self._explore(_STEPS_AT_ONCE)
            _note_states(games, first, self._noted)
        else:
            _solve_states(games, self._tableau, _SOLVED_AT_ONCE)

    def values(self, number: int) -> tuple[float, ...]:
        """Of each role without nature, goal values 0 to 100."""
        value = float(self._games.value[number])
        return (value, float(self._games.sums[0]) - value)[: len(self.roles)]

    def gains(self, number: int) -> tuple[float, ...]:
        """How much more each role gets by a best response to the strategies found: 0 but for rounding."""
        value, low, high = (float(part[number]) for part in (self._games.value, self._games.low, self._games.high))
        return (max(high - value, 0.0), max(value - low, 0.0))[: len(self.roles)]

    def strategies(self, number: int, image: int = 0) -> tuple[dict[Term, float], ...]:
        """Of each role without nature, its legal moves with their probabilities; empty at an end.

        image: as `find_image` tells it of the state that is asked for.
        """
        games, tableau = self._games, self._tableau
        if games.sizes[number, 0] == 0:
            return tuple({} for _ in self.roles)
        _fill_payoffs(games, tableau.payoffs, games.value, number)
        solve_matrix(tableau, int(games.sizes[number, 0]), int(games.sizes[number, 1]))
        own = self._moves(number, image)[: len(self.roles)]
        return tuple(
            {move: float(share) for move, share in zip(moves, shares, strict=False)}
            for moves, shares in zip(own, (tableau.row, tableau.column), strict=False)
        )

    def can_choose(self, number: int, role: str) -> bool:
        """False where every move is worth the least that the role can get: then the strategy says nothing of use."""
        games = self._games
        _fill_payoffs(games, self._tableau.payoffs, games.value, number)
        part = self._tableau.payoffs[: games.sizes[number, 0], : games.sizes[number, 1]]
        own = part if role == self.roles[0] else games.sums[0] - part
        value = self.values(number)[self.roles.index(role)]
        return bool(part.size and own.max() > own.min() and value > own.min() + 1e-9)

    def likely_joint_moves(self, number: int, image: int = 0, least: float = 1e-6) -> list[JointMove]:
        """Those that can be made, roles in the order of the rulesheet; image: as for `strategies`."""
        places, chosen = self._games.places.tolist(), self.strategies(number, image)
        likely = [[move for move, share in moves.items() if share > least] for moves in chosen]
        if len(likely) == 1:
            likely.append(["none"])
        found = []
        for done in product(*likely, self._moves(number, image)[2]):
            by_role = dict(zip(places, done, strict=True))
            found.append(tuple(by_role[role] for role in range(len(self.machine.roles))))
        return found

    def _moves(self, number: int, image: int) -> tuple[list[Term], list[Term], list[Term]]:
        """The legal moves of both roles and of chance, in the state whose image is the one with the number."""
        first, images = self.machine.batches.first_move, self.graph.images.moves[image]
        found: list[list[Term]] = []
        for role in self._games.places.tolist():
            moves = self.machine.compiled.moves[role] if role != _NOBODY else ()
            own = images[first[role] : first[role + 1]] - first[role] if moves else images[:0]
            legal = self.legal_moves(number, role) if moves else []
            found.append([moves[np.flatnonzero(own == move)[0]] for move in legal] or ["none"])
        return found[0], found[1], found[2]


def choose_together(machine: CircuitMachine) -> bool:
    """Whether two roles who see everything choose at once in one of the first states; some milliseconds."""
    if why_unsuitable(machine) or len(machine.roles) < 2:
        return False
    probe = BackwardInduction(machine, memory_bytes=_PROBE_BYTES)
    while not (probe.is_explored or probe.why_failed or probe.chooses_together):
        probe.advance()
    return probe.chooses_together


def why_unsuitable(machine: CircuitMachine) -> str:
    """Why a game has no states that can be solved so; empty where it may have."""
    if machine.compiled.has_percepts:
        return "roles do not see the state"
    roles = [role for role in machine.roles if role != NATURE]
    if len(roles) not in (1, 2):
        return "there are not one or two roles"
    most = max(len(machine.compiled.moves[machine.roles.index(role)]) for role in roles)
    return "" if 16 * (most + 1) ** 2 <= _MOST_TABLEAU_BYTES else "the roles have too many moves"


def _make_games(graph: StateGraph, places: Ids) -> _Games:
    states = len(graph.legal)
    games = _Games(
        graph, np.zeros((states, 3), np.int32), np.empty(states), np.empty(states), np.empty(states),
        np.zeros(states, np.int8), np.zeros(states, np.int32), np.empty(states, np.int32), places,
        np.array([np.inf, -np.inf]), np.zeros(5, np.int64),
    )  # fmt: skip
    games.counters[STACK] = 1
    games.stack[0] = 0
    return games


def _make_tableau(rows: int, columns: int = 1) -> Tableau:
    return Tableau(
        np.zeros((rows, columns)), np.zeros((rows + 1, rows + columns + 1)), np.zeros(rows, np.int32), np.zeros(rows),
        np.zeros(columns),
    )  # fmt: skip


@lean
def _note_states(games: _Games, first: Int, last: Int) -> None:
    """Of the states from `first` to before `last`: the sizes and, at an end, the value."""
    graph = games.graph
    for state in range(first, last):
        is_over = graph.legal[state, 0] == 0
        for place in range(3):
            role = np.int64(games.places[place])
            legal = np.int64(1) if role == _NOBODY else np.int64(graph.legal[state, role])
            games.sizes[state, place] = 0 if is_over else legal
        if is_over:
            _note_end(games, state)


@inner
def _note_end(games: _Games, state: Int) -> None:
    goal = games.graph.goal[state, games.places[0]]
    if goal < 0:
        games.counters[NO_GOAL] = 1
    if games.places[1] != _NOBODY:
        other = games.graph.goal[state, games.places[1]]
        if other < 0:
            games.counters[NO_GOAL] = 2
        total = float(goal) + float(other)
        games.sums[0], games.sums[1] = min(games.sums[0], total), max(games.sums[1], total)
        if games.sums[0] != games.sums[1]:
            games.counters[NOT_OPPOSED] = 1
    games.value[state] = games.low[state] = games.high[state] = float(goal)


@lean
def _solve_states(games: _Games, tableau: Tableau, count: Int) -> None:
    """Go on depth first, a state being solved after all that follow it, until so many more are solved."""
    counters, mark, graph = games.counters, games.mark, games.graph
    last = counters[SOLVED] + count
    while counters[STACK] > 0 and counters[SOLVED] < last:
        state = np.int64(games.stack[counters[STACK] - 1])
        if mark[state] == _NEW:
            mark[state] = _OPEN
            games.child[state] = graph.first[state]
        edge, end = np.int64(games.child[state]), np.int64(graph.first[state + 1])
        while edge < end and mark[graph.target[edge]] == _DONE:
            edge += 1
        games.child[state] = edge
        if edge < end:
            target = graph.target[edge]
            if mark[target] == _OPEN:
                counters[REPEATS] = 1
                return
            games.stack[counters[STACK]] = target
            counters[STACK] += 1
            continue
        if games.sizes[state, 0] > 0:
            _solve_state(games, tableau, state)
        mark[state] = _DONE
        counters[STACK] -= 1
        counters[SOLVED] += 1


@lean
def _solve_state(games: _Games, tableau: Tableau, state: Int) -> None:
    """Its value, and what a best response gets against each of its strategies."""
    rows, columns = np.int64(games.sizes[state, 0]), np.int64(games.sizes[state, 1])
    payoffs = tableau.payoffs
    _fill_payoffs(games, payoffs, games.value, state)
    games.value[state] = solve_matrix(tableau, rows, columns)
    _fill_payoffs(games, payoffs, games.low, state)
    low = np.inf
    for column in range(columns):
        total = 0.0
        for row in range(rows):
            total += tableau.row[row] * payoffs[row, column]
        low = min(low, total)
    games.low[state] = low
    _fill_payoffs(games, payoffs, games.high, state)
    high = -np.inf
    for row in range(rows):
        total = 0.0
        for column in range(columns):
            total += tableau.column[column] * payoffs[row, column]
        high = max(high, total)
    games.high[state] = high


@lean
def _fill_payoffs(games: _Games, payoffs: Values, worth: Values, state: Int) -> None:
    """The matrix game of a state, with `worth` of the states after it."""
    graph = games.graph
    edge, chance = np.int64(graph.first[state]), games.sizes[state, 2]
    for row in range(games.sizes[state, 0]):
        for column in range(games.sizes[state, 1]):
            total = 0.0
            for _ in range(chance):
                total += worth[graph.target[edge]]
                edge += 1
            payoffs[row, column] = total / chance


@lean
def solve_matrix(tableau: Tableau, rows: Int, columns: Int) -> float:
    """Write both strategies of the matrix game in `payoffs`; its value to the row player."""
    payoffs, row_share, column_share = tableau.payoffs, tableau.row, tableau.column
    lowest = highest = payoffs[0, 0]
    surest, least_loss = -np.inf, np.inf
    best_row, best_column = np.int64(0), np.int64(0)
    for row in range(rows):
        row_share[row] = 0.0
        worst = np.inf
        for column in range(columns):
            worst, highest = min(worst, payoffs[row, column]), max(highest, payoffs[row, column])
        lowest = min(lowest, worst)
        if worst > surest:
            surest, best_row = worst, np.int64(row)
    for column in range(columns):
        column_share[column] = 0.0
        most = -np.inf
        for row in range(rows):
            most = max(most, payoffs[row, column])
        if most < least_loss:
            least_loss, best_column = most, np.int64(column)
    if surest >= least_loss:
        row_share[best_row] = column_share[best_column] = 1.0
        return float(surest)
    return _simplex(tableau, np.int64(rows), np.int64(columns), lowest, highest - lowest)


@lean
def _simplex(tableau: Tableau, rows: Int, columns: Int, lowest: float, span: float) -> float:
    """Payoffs are taken from 1 to 2: the column player's plan y has the greatest sum of those with payoffs · y ≤ 1."""
    cells, basis, last = tableau.cells, tableau.basis, rows + columns
    for row in range(rows):
        for column in range(columns):
            cells[row, column] = 1.0 + (tableau.payoffs[row, column] - lowest) / span
        for slack in range(rows):
            cells[row, columns + slack] = 1.0 if slack == row else 0.0
        cells[row, last] = 1.0
        basis[row] = columns + row
    for at in range(last + 1):
        cells[rows, at] = -1.0 if at < columns else 0.0
    pivots = 0
    enter = _entering(cells, rows, last, pivots)
    while enter >= 0:
        leave = _leaving(cells, basis, rows, last, enter)
        if leave < 0:
            break
        _pivot(cells, rows, last, leave, enter)
        basis[leave] = enter
        pivots += 1
        enter = _entering(cells, rows, last, pivots)
    value = 1.0 / cells[rows, last]
    for row in range(rows):
        tableau.row[row] = max(cells[rows, columns + row], 0.0) * value
        if basis[row] < columns:
            tableau.column[basis[row]] = max(cells[row, last], 0.0) * value
    return float(lowest + (value - 1.0) * span)


@inner
def _entering(cells: Values, rows: Int, last: Int, pivots: Int) -> Int:
    """The column to take up: the steepest one, or the first one that gains; -1 at the optimum."""
    enter, least = np.int64(-1), -_TINY
    for at in range(last):
        if cells[rows, at] < least and (enter < 0 or pivots < _STEEPEST):
            enter, least = np.int64(at), cells[rows, at]
    return np.int64(enter)


@inner
def _leaving(cells: Values, basis: Ids, rows: Int, last: Int, enter: Int) -> Int:
    """The row whose variable is the first to become 0; the lowest variable of several."""
    leave, ratio = np.int64(-1), np.inf
    for row in range(rows):
        if cells[row, enter] > _TINY:
            found = cells[row, last] / cells[row, enter]
            if found < ratio or (found == ratio and basis[row] < basis[leave]):
                leave, ratio = np.int64(row), found
    return np.int64(leave)


@inner
def _pivot(cells: Values, rows: Int, last: Int, leave: Int, enter: Int) -> None:
    scale = 1.0 / cells[leave, enter]
    for at in range(last + 1):
        cells[leave, at] *= scale
    for row in range(rows + 1):
        factor = cells[row, enter]
        if row != leave and factor != 0.0:
            for at in range(last + 1):
                cells[row, at] -= factor * cells[leave, at]

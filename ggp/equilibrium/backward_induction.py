"""Two opposed roles who see everything, and may choose at once: all states, solved from the ends to the start.

A state with its joint moves is a matrix game (Shapley, 1953), whose entries are the values of the states after them,
averaged over the moves of chance. Its equilibrium is found by the simplex method (Dantzig, 1951), so that both roles'
strategies and the value are exact but for rounding. States are met once each, however many histories lead there; where
states can come again there is no order in which to solve them, and no answer. A single role takes the best.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import Ids
from ggp.equilibrium.game_tree import Values
from ggp.errors import EquilibriumError
from ggp.gdl.rulesheet import NATURE
from ggp.gdl.state_machine import JointMove
from ggp.gdl.terms import Term
from ggp.kernel import LANES, Int, inner, lean
from ggp.simulation.evaluate import Bits, copy_state
from ggp.simulation.expansion import (
    OVER,
    Expansion,
    count_legal,
    do_steps,
    look,
    make_expansion,
    next_legal,
    value_ends,
)
from ggp.simulation.state_machine import CircuitMachine
from ggp.simulation.state_table import EMPTY, StateTable, add_state, find_state, make_state_table

EXPANDED, EDGES, FULL, NOT_OPPOSED, REPEATS, STACK, SOLVED, TOGETHER = range(8)  # of `_States.counters`
_EDGES_PER_STATE = 24  # there is room for
_MOST_AT_ONCE, _STEPS_AT_ONCE, _SOLVED_AT_ONCE = 64, 4096, 2000
_MOST_TABLEAU_BYTES = 1 << 26
_STEEPEST = 200  # pivots by the greatest gain; from then on by Bland's rule, which never goes round
_PROBE_BYTES = 2**20
_TINY = 1e-12
_NEW, _OPEN, _DONE = range(3)  # of `_States.mark`


class Tableau(NamedTuple):
    """Room to solve matrix games of up to M rows and N columns."""

    payoffs: Values  # (M, N) what the row player gets
    cells: Values  # (M + 1, N + M + 1)
    basis: Ids  # (M,)
    row: Values  # (M,) the strategy of the row player
    column: Values  # (N,)


class _States(NamedTuple):
    """S states at most, E edges. Locking: none, one thread does all the work; others read once it is solved."""

    table: StateTable  # numbers the states
    first: Ids  # (S + 1,) the edges from state s are first[s]:first[s + 1], one for each joint move
    target: Ids  # (E,) states after the joint moves, the first role's moves the slowest, those of chance the quickest
    sizes: Ids  # (S, 3) legal moves of the two roles and of chance; 0 at an end
    value: Values  # (S,) of the first role, a goal value
    low: Values  # (S,) what the first role gets by its strategy, if the other plays a best response to it
    high: Values  # (S,) what it gets by a best response to the other's strategy
    mark: NDArray[np.int8]  # (S,)
    child: Ids  # (S,) the next edge to follow
    stack: Ids  # (S,) states whose ends are being looked for
    order: Ids  # (3,) the roles: first, second (EMPTY if there is none), chance (likewise)
    joint: Ids  # (R,) the joint move that comes next
    sums: Values  # (2,) the least and the greatest sum of goal values at an end
    counters: NDArray[np.int64]


class BackwardInduction:
    """All that can follow a state, worked out in small steps; `why_failed` says why there is no answer."""

    def __init__(self, machine: CircuitMachine, state: Bits | None = None, memory_bytes: int = 2**30) -> None:
        """state: (1, words), by default the initial one. EquilibriumError where the game is not of this kind."""
        self._machine = machine
        self.roles = tuple(role for role in machine.roles if role != NATURE)
        if reason := why_unsuitable(machine):
            raise EquilibriumError(f"{machine.rulesheet.source}: {reason}")
        own = [machine.roles.index(role) for role in self.roles]
        chance = machine.roles.index(NATURE) if NATURE in machine.roles else EMPTY
        self._states = _make_states(
            machine.batches.initial if state is None else state,
            np.array([own[0], own[1] if len(own) > 1 else EMPTY, chance], np.int32), len(machine.roles), memory_bytes,
        )  # fmt: skip
        self._tableau = _make_tableau(*(len(machine.compiled.moves[role]) for role in own))
        self._expansion = make_expansion(machine.batches)

    @property
    def why_failed(self) -> str:
        counters = self._states.counters
        if counters[FULL]:
            return f"there is no room for more than {self.states:,} states"
        if counters[NOT_OPPOSED]:
            return "the goal values of the roles are not opposed"
        return "states can come again" if counters[REPEATS] else ""

    @property
    def is_solved(self) -> bool:
        return bool(self._states.mark[0] == _DONE)

    @property
    def is_full(self) -> bool:
        """Whether there are too many states."""
        return bool(self._states.counters[FULL])

    @property
    def is_explored(self) -> bool:
        """Whether all states have been met."""
        return bool(self._states.counters[EXPANDED] == self.states)

    @property
    def chooses_together(self) -> bool:
        """Whether two roles choose at once in a state that was met."""
        return bool(self._states.counters[TOGETHER])

    @property
    def states(self) -> int:
        return int(self._states.table.size[0])

    @property
    def steps_done(self) -> int:
        """How many joint moves were made."""
        return int(self._states.counters[EDGES])

    def advance(self) -> None:
        """A few milliseconds of work."""
        states = self._states
        if self.is_solved or self.why_failed:
            return
        if not self.is_explored:
            usual = _STEPS_AT_ONCE * self.states // max(self.steps_done, 1)
            _explore(states, self._expansion, min(max(usual, 1), _MOST_AT_ONCE))
        else:
            _solve_states(states, self._tableau, _SOLVED_AT_ONCE)

    def find(self, state: Bits) -> int | None:
        """The number of a state (1, words); None for one that cannot follow. The first state has number 0."""
        number = int(find_state(self._states.table, state, 0))
        return None if number == EMPTY else number

    def values(self, number: int) -> tuple[float, ...]:
        """Of each role without nature, goal values 0 to 100."""
        value = float(self._states.value[number])
        return (value, float(self._states.sums[0]) - value)[: len(self.roles)]

    def gains(self, number: int) -> tuple[float, ...]:
        """How much more each role gets by a best response to the strategies found: 0 but for rounding."""
        value, low, high = (float(part[number]) for part in (self._states.value, self._states.low, self._states.high))
        return (max(high - value, 0.0), max(value - low, 0.0))[: len(self.roles)]

    def strategies(self, number: int) -> tuple[dict[Term, float], ...]:
        """Of each role without nature, its legal moves with their probabilities; empty at an end."""
        states, tableau = self._states, self._tableau
        if states.sizes[number, 0] == 0:
            return tuple({} for _ in self.roles)
        _fill_payoffs(states, tableau.payoffs, states.value, number)
        solve_matrix(tableau, int(states.sizes[number, 0]), int(states.sizes[number, 1]))
        found = zip(self._moves(number), (tableau.row, tableau.column), strict=False)
        return tuple(
            {move: float(share) for move, share in zip(moves, shares, strict=False)} for moves, shares in found
        )

    def can_choose(self, number: int, role: str) -> bool:
        """False where every move is worth the least that the role can get: then the strategy says nothing of use."""
        states = self._states
        _fill_payoffs(states, self._tableau.payoffs, states.value, number)
        part = self._tableau.payoffs[: states.sizes[number, 0], : states.sizes[number, 1]]
        own = part if role == self.roles[0] else states.sums[0] - part
        value = self.values(number)[self.roles.index(role)]
        return bool(part.size and own.max() > own.min() and value > own.min() + 1e-9)

    def likely_successors(self, number: int, least: float = 1e-6) -> list[tuple[JointMove, int]]:
        """Joint moves, roles in the order of the rulesheet, that can be made, and the states after them."""
        states, chosen = self._states, self.strategies(number)
        if not chosen[0]:
            return []
        moves = self._moves(number)
        found, edge = [], int(states.first[number])
        for one in moves[0]:
            for two in moves[1] if len(self.roles) > 1 else (None,):
                share = chosen[0][one] * (chosen[1][two] if two is not None else 1.0)
                for three in moves[2]:
                    if share > least:
                        done = dict(zip(states.order.tolist(), (one, two, three), strict=True))
                        joint = tuple(done[role] for role in range(len(self._machine.roles)))
                        found.append((joint, int(states.target[edge])))
                    edge += 1
        return found

    def _moves(self, number: int) -> tuple[list[Term], list[Term], list[Term]]:
        """The legal moves of both roles and of chance."""
        states, machine = self._states, self._machine
        look(self._expansion, states.table.states[number : number + 1], 1)
        found: list[list[Term]] = []
        for role in states.order.tolist():
            legal: list[Term] = []
            moves = machine.compiled.moves[role] if role != EMPTY else ()
            at = int(next_legal(self._expansion, 0, role, 0)) if moves else 0
            while at < len(moves):
                legal.append(moves[at])
                at = int(next_legal(self._expansion, 0, role, at + 1))
            found.append(legal or ["none"])
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


def _make_states(state: Bits, order: Ids, roles: int, memory_bytes: int) -> _States:
    words = state.shape[1]
    states = max(int(memory_bytes // (8 * words + 8 + 4 + 12 + 24 + 1 + 8 + 4 * _EDGES_PER_STATE)), 64)
    edges = min(_EDGES_PER_STATE * states, 2**31 - 1)
    found = _States(
        make_state_table(words, states), np.zeros(states + 1, np.int32), np.empty(edges, np.int32),
        np.empty((states, 3), np.int32), np.empty(states), np.empty(states), np.empty(states),
        np.zeros(states, np.int8), np.zeros(states, np.int32), np.empty(states, np.int32), order,
        np.zeros(roles, np.int32), np.array([np.inf, -np.inf]), np.zeros(8, np.int64),
    )  # fmt: skip
    add_state(found.table, state, 0)
    found.counters[STACK] = 1
    found.stack[0] = 0
    return found


def _make_tableau(rows: int, columns: int = 1) -> Tableau:
    return Tableau(
        np.zeros((rows, columns)), np.zeros((rows + 1, rows + columns + 1)), np.zeros(rows, np.int32), np.zeros(rows),
        np.zeros(columns),
    )  # fmt: skip


@lean
def _explore(states: _States, expansion: Expansion, count: Int) -> None:
    """Find what follows the next states, up to so many, at most 512."""
    counters = states.counters
    start = counters[EXPANDED]
    count = min(np.int64(count), np.int64(LANES), states.table.size[0] - start)
    looked_at = states.table.states[start : start + count]
    look(expansion, looked_at, count)
    value_ends(expansion, looked_at, count)
    waiting: Int = np.int64(0)
    for row in range(count):
        state = start + row
        states.first[state] = counters[EDGES]
        is_over = expansion.chooser[row] == OVER
        steps: Int = np.int64(1)
        for place in range(3):
            role = np.int64(states.order[place])
            legal = np.int64(1) if role == EMPTY else count_legal(expansion, np.int64(row), role)
            states.sizes[state, place] = 0 if is_over else legal
            steps *= legal
        if is_over:
            _note_end(states, expansion, np.int64(row), state)
            continue
        if states.sizes[state, 0] > 1 and states.sizes[state, 1] > 1:
            counters[TOGETHER] = 1
        if counters[EDGES] + steps > len(states.target):
            counters[FULL] = 1
            return
        waiting = _list_joint_moves(states, expansion, np.int64(row), state, waiting)
    _add_targets(states, expansion, waiting)
    counters[EXPANDED] += count
    states.first[counters[EXPANDED]] = counters[EDGES]


@inner
def _note_end(states: _States, expansion: Expansion, row: Int, state: Int) -> None:
    goal = expansion.goal[row, states.order[0]]
    total = float(goal)
    if states.order[1] != EMPTY:
        other = expansion.goal[row, states.order[1]]
        total = total + float(other) if other >= 0 and goal >= 0 else -1.0
        states.sums[0], states.sums[1] = min(states.sums[0], total), max(states.sums[1], total)
        if states.sums[0] < 0 or states.sums[0] != states.sums[1]:
            states.counters[NOT_OPPOSED] = 1
    elif goal < 0:
        states.counters[NOT_OPPOSED] = 1
    states.value[state] = states.low[state] = states.high[state] = float(goal)


@lean
def _list_joint_moves(states: _States, expansion: Expansion, row: Int, state: Int, before: Int) -> Int:
    """Put all joint moves behind the steps that wait, which are done when they are 512; how many wait now."""
    counters, roles = states.counters, expansion.joint.shape[1]
    for role in range(roles):
        states.joint[role] = next_legal(expansion, row, np.int64(role), np.int64(0))
    waiting: Int = np.int64(before)
    is_more = True
    while is_more:
        copy_state(expansion.before, waiting, states.table.states, state)
        for role in range(roles):
            expansion.joint[waiting, role] = states.joint[role]
        expansion.owner[waiting] = counters[EDGES]
        counters[EDGES] += 1
        waiting += 1
        if waiting == LANES:
            _add_targets(states, expansion, waiting)
            waiting = np.int64(0)
        is_more = False
        for back in range(3):
            chooser = np.int64(states.order[2 - back])
            if chooser != EMPTY and not is_more:
                end = np.int64(expansion.rows.first_move[chooser + 1] - expansion.rows.first_move[chooser])
                move = next_legal(expansion, row, chooser, np.int64(states.joint[chooser]) + 1)
                is_more = bool(move < end)
                states.joint[chooser] = move if is_more else next_legal(expansion, row, chooser, np.int64(0))
    return np.int64(waiting)


@lean
def _add_targets(states: _States, expansion: Expansion, count: Int) -> None:
    """Do the steps that wait."""
    if count == 0:
        return
    do_steps(expansion, expansion.joint, count)
    for row in range(count):
        number = add_state(states.table, expansion.after, row)
        if number == EMPTY:
            states.counters[FULL] = 1
            return
        states.target[expansion.owner[row]] = number


@lean
def _solve_states(states: _States, tableau: Tableau, count: Int) -> None:
    """Go on depth first, a state being solved after all that follow it, until so many more are solved."""
    counters, mark = states.counters, states.mark
    last = counters[SOLVED] + count
    while counters[STACK] > 0 and counters[SOLVED] < last:
        state = np.int64(states.stack[counters[STACK] - 1])
        if mark[state] == _NEW:
            mark[state] = _OPEN
            states.child[state] = states.first[state]
        edge, end = np.int64(states.child[state]), np.int64(states.first[state + 1])
        while edge < end and mark[states.target[edge]] == _DONE:
            edge += 1
        states.child[state] = edge
        if edge < end:
            target = states.target[edge]
            if mark[target] == _OPEN:
                counters[REPEATS] = 1
                return
            states.stack[counters[STACK]] = target
            counters[STACK] += 1
            continue
        if states.sizes[state, 0] > 0:
            _solve_state(states, tableau, state)
        mark[state] = _DONE
        counters[STACK] -= 1
        counters[SOLVED] += 1


@lean
def _solve_state(states: _States, tableau: Tableau, state: Int) -> None:
    """Its value, and what a best response gets against each of its strategies."""
    rows, columns = np.int64(states.sizes[state, 0]), np.int64(states.sizes[state, 1])
    payoffs = tableau.payoffs
    _fill_payoffs(states, payoffs, states.value, state)
    states.value[state] = solve_matrix(tableau, rows, columns)
    _fill_payoffs(states, payoffs, states.low, state)
    low = np.inf
    for column in range(columns):
        total = 0.0
        for row in range(rows):
            total += tableau.row[row] * payoffs[row, column]
        low = min(low, total)
    states.low[state] = low
    _fill_payoffs(states, payoffs, states.high, state)
    high = -np.inf
    for row in range(rows):
        total = 0.0
        for column in range(columns):
            total += tableau.column[column] * payoffs[row, column]
        high = max(high, total)
    states.high[state] = high


@lean
def _fill_payoffs(states: _States, payoffs: Values, worth: Values, state: Int) -> None:
    """The matrix game of a state, with `worth` of the states after it."""
    edge, chance = np.int64(states.first[state]), states.sizes[state, 2]
    for row in range(states.sizes[state, 0]):
        for column in range(states.sizes[state, 1]):
            total = 0.0
            for _ in range(chance):
                total += worth[states.target[edge]]
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

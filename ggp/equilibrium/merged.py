"""Merged histories → policies: CFR+ with imperfect recall, and best responses of a role that forgets nothing.

The sequence form does not hold where roles forget. So an iteration goes through all nodes: once from the start, for the
probability with which the other role and chance lead there, and once from the ends, for the values. What is found is a
policy of the game itself. How far it is from an equilibrium no theory bounds, but best responses tell.

With a *tremble* each role takes the other one to make so large a share of its moves at random (after Selten, 1975):
then a policy also knows what to do where only errors lead, and of moves that are worth the same it prefers those that
gain by errors.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.equilibrium.game_tree import Values
from ggp.equilibrium.merged_tree import MergedEnumeration, MergedForm
from ggp.equilibrium.regret import normalise
from ggp.gdl.rulesheet import NATURE
from ggp.gdl.terms import Term
from ggp.kernel import Int, inner, lean
from ggp.simulation.belief import heard_of
from ggp.simulation.state_machine import CircuitMachine

_COUNT, _AFTER, _RANK, _PLACE, _IS_TRIED = range(5)  # of `_Response.numbers`
_RESPONSES_AT_ONCE = 200  # moves and what follows them, between two looks at the clock


class MergedRegrets(NamedTuple):
    """(S,) where nothing else is said. Locking: none."""

    regret: Values
    last: Values  # regrets of this iteration
    strategy: Values
    played: Values  # the strategy with trembles, as the other role sees it
    average: Values
    reach: Values  # (N,) the probability with which the others and chance lead there
    value: Values  # (N,)
    own: Values  # (I,) the probability with which the role itself leads there


class _Response(NamedTuple):
    """Room for a best response: D steps, W nodes of a step at most."""

    weight: Values  # (N,) of nodes that are being listed; else 0
    node: NDArray[np.int32]  # (D, 2, W) those that agree with what the role knows, and those after its move
    share: NDArray[np.float64]  # (D, 2, W) their weights; 0 for what was looked at
    numbers: NDArray[np.int64]  # (D, 5) `_COUNT` … of each step
    worth: Values  # (D, 2) of the move that is being tried, and of the best one
    step: NDArray[np.int64]  # (1,) where it is, -1 at the end


class MergedSolver:
    """Nodes first, then iterations; run by one thread."""

    def __init__(
        self,
        machine: CircuitMachine,
        recall: int = 1,
        memory_bytes: int = 2**30,
        few: int | None = None,
        tremble: float = 0.0,
    ) -> None:
        """As `MergedEnumeration`; tremble: the share of its moves that the other role makes at random."""
        self._machine, self._tremble = machine, tremble
        self.roles = tuple(role for role in machine.roles if role != NATURE)
        self.enumeration = MergedEnumeration(machine, recall, memory_bytes, few)
        self.form: MergedForm | None = None
        self._regrets: MergedRegrets | None = None
        self.iterations = 0

    @property
    def nodes(self) -> int:
        return self.enumeration.nodes

    @property
    def information_sets(self) -> int:
        return self.enumeration.information_sets

    @property
    def is_constant_sum(self) -> bool:
        """Whether the goal values of both roles have the same sum at all ends; once there are iterations."""
        assert self.form is not None
        sums = self.form.payoffs[self.form.sizes[:, 0] == 0].sum(axis=1)
        return bool(np.ptp(sums) < 1e-9)

    def advance(self) -> None:
        """Some milliseconds of enumeration, or an iteration. EquilibriumError where it cannot be done."""
        if self.form is not None and self._regrets is not None:
            self.iterations += 1
            for role in range(2):
                _iterate(self.form, self._regrets, role, self.iterations, self._tremble)
        elif self.enumeration.is_complete:
            self.form = self.enumeration.form()
            self._regrets = _make_regrets(self.form)
        else:
            self.enumeration.advance()

    def average(self) -> Values:
        """(S,) the average strategy; uniform where nothing led."""
        assert self.form is not None
        assert self._regrets is not None
        average = self._regrets.average.copy()
        normalise(self.form.first, average, average)
        return average

    def values(self) -> tuple[float, float]:
        """Of both roles by their average strategies, goal values."""
        form, found = self.form, np.zeros(2)
        assert form is not None
        average, value = self.average(), np.zeros(len(form.sets))
        for role in range(2):
            value_nodes(form, role, average, value)
            found[role] = value[0]
        return float(found[0]), float(found[1])

    def best_response(self, role: str, stop: Callable[[], bool] = lambda: False) -> float | None:
        """What a role gets, as a goal value, that forgets nothing, by a best response to the other's average strategy.

        All that it can do and be told is gone through: seconds to minutes. None where `stop()` came first.
        """
        form, number = self.form, self.roles.index(role)
        assert form is not None
        nodes, steps, average = len(form.sets), len(self.enumeration.steps) + 1, self.average()
        widest = int(np.diff([*self.enumeration.steps, nodes]).max())
        room = _Response(
            np.zeros(nodes), np.zeros((steps, 2, widest), np.int32), np.zeros((steps, 2, widest)),
            np.zeros((steps, 5), np.int64), np.zeros((steps, 2)), np.zeros(1, np.int64),
        )  # fmt: skip
        room.share[0, 0, 0] = room.numbers[0, _COUNT] = 1
        room.worth[0, 1] = -np.inf
        while room.step[0] >= 0:
            if stop():
                return None
            _respond(form, number, average, room, _RESPONSES_AT_ONCE)
        return float(room.worth[0, 1])

    def first_moves(self, role: str) -> dict[Term, float]:
        """At the start, by the average strategy; none before the first iteration."""
        assert self.form is not None
        return self.moves(int(self.form.sets[0, self.roles.index(role)]))

    def moves(self, number: int) -> dict[Term, float]:
        """By the average strategy in an information set, with probabilities; none where that never led there."""
        form, regrets = self.form, self._regrets
        assert form is not None
        assert regrets is not None
        moves = self._machine.compiled.moves[self._machine.roles.index(self.roles[form.role[number]])]
        sequences = range(int(form.first[number]), int(form.first[number + 1]))
        total = sum(float(regrets.average[at]) for at in sequences)
        if total <= 0.0:
            return {}
        return {moves[self.enumeration.moves[at]]: float(regrets.average[at]) / total for at in sequences}


class MergedFollower:
    """The information set that a role is in, step by step."""

    def __init__(self, machine: CircuitMachine, solver: MergedSolver, role: str) -> None:
        self._machine, self._enumeration = machine, solver.enumeration
        self._role, self._place = machine.roles.index(role), solver.roles.index(role)
        self._steps, self._key = 0, (0, 0)
        self._is_lost = False  # by something that no role is told

    @property
    def information_set(self) -> int | None:
        """Its number; None where what happened is not in the tree."""
        return None if self._is_lost else self._enumeration.information_set(self._place, self._steps, self._key)

    def advance(self, move: Term, told: tuple[Term, ...]) -> None:
        """One step: the role's move and what it was told, as `StateMachine.percepts`."""
        number, bits = heard_of(self._machine, self._role, move, told)
        self._is_lost |= number < 0
        self._steps += 1
        if not self._is_lost:
            self._key = self._enumeration.key_after(self._place, self._steps, self._key, number, bits)


def _make_regrets(form: MergedForm) -> MergedRegrets:
    size, nodes, sets = int(form.first[-1]), len(form.sets), len(form.role)
    strategy = np.repeat(1.0 / np.diff(form.first), np.diff(form.first))
    return MergedRegrets(
        np.zeros(size), np.zeros(size), strategy, np.zeros(size), np.zeros(size), np.zeros(nodes), np.zeros(nodes),
        np.zeros(sets),
    )  # fmt: skip


@lean
def _iterate(form: MergedForm, regrets: MergedRegrets, role: Int, iteration: Int, tremble: float) -> None:
    """CFR+ with a prediction, for one role; iterations count from 1."""
    for number in range(len(form.role)):
        uniform = tremble / (form.first[number + 1] - form.first[number])
        for sequence in range(form.first[number], form.first[number + 1]):
            regrets.played[sequence] = (1.0 - tremble) * regrets.strategy[sequence] + uniform
    _reach_nodes(form, np.int64(role), regrets.played, regrets.reach)
    regrets.last[:] = 0.0
    _regret(form, np.int64(role), regrets)
    weight = float(iteration) * float(iteration)
    regrets.own[:] = 0.0
    regrets.own[form.sets[0, role]] = 1.0
    at = np.int64(0)
    for number in range(len(form.role)):
        while at < len(form.transitions) and form.transitions[at, 1] < number:
            at += 1
        if form.role[number] != role:
            continue
        while at < len(form.transitions) and form.transitions[at, 1] == number:
            before = _set_of(form, np.int64(form.transitions[at, 0]))
            regrets.own[number] += regrets.own[before] * regrets.played[form.transitions[at, 0]]
            at += 1
        for sequence in range(form.first[number], form.first[number + 1]):
            regrets.average[sequence] += weight * regrets.own[number] * regrets.strategy[sequence]
    for number in range(len(form.role)):
        if form.role[number] == role:
            _update(form, np.int64(number), regrets)


@inner
def _set_of(form: MergedForm, sequence: Int) -> Int:
    """The information set of a sequence."""
    low, high = np.int64(0), np.int64(len(form.role))
    while high - low > 1:
        middle = (low + high) >> 1
        if form.first[middle] <= sequence:
            low = middle
        else:
            high = middle
    return np.int64(low)


@lean
def _update(form: MergedForm, number: Int, regrets: MergedRegrets) -> None:
    """Regrets and the new strategy of a set."""
    start, end = form.first[number], form.first[number + 1]
    mean = 0.0
    for at in range(start, end):
        mean += regrets.strategy[at] * regrets.last[at]
    total = 0.0
    for at in range(start, end):
        gained = regrets.last[at] - mean
        regrets.regret[at] = max(regrets.regret[at] + gained, 0.0)
        regrets.strategy[at] = max(regrets.regret[at] + gained, 0.0)
        total += regrets.strategy[at]
    for at in range(start, end):
        regrets.strategy[at] = regrets.strategy[at] / total if total > 0.0 else 1.0 / (end - start)


@lean
def _reach_nodes(form: MergedForm, role: Int, strategy: Values, reach: Values) -> None:
    """Write the probability with which the other role and chance lead to each node, where the role does all it can."""
    reach[:] = 0.0
    reach[0] = 1.0
    for node in range(len(form.sets)):
        rows, columns, luck = form.sizes[node, 0], form.sizes[node, 1], form.sizes[node, 2]
        if rows == 0 or reach[node] == 0.0:
            continue
        here = reach[node] / luck
        other = form.first[form.sets[node, 1 - role]]
        edge = np.int64(form.first_edge[node])
        for first in range(rows):
            for second in range(columns):
                share = here * strategy[other + (second if role == 0 else first)]
                for _ in range(luck):
                    reach[form.target[edge]] += share
                    edge += 1


@lean
def _regret(form: MergedForm, role: Int, regrets: MergedRegrets) -> None:
    """Write what each sequence of the role is worth, from the ends to the start, and all values."""
    value, strategy, played = regrets.value, regrets.strategy, regrets.played
    for back in range(len(form.sets)):
        node = len(form.sets) - 1 - back
        rows, columns, luck = form.sizes[node, 0], form.sizes[node, 1], form.sizes[node, 2]
        if rows == 0:
            value[node] = form.payoffs[node, role]
            continue
        own, other = form.first[form.sets[node, role]], form.first[form.sets[node, 1 - role]]
        edge = np.int64(form.first_edge[node])
        total = 0.0
        for first in range(rows):
            for second in range(columns):
                found = 0.0
                for _ in range(luck):
                    found += value[form.target[edge]]
                    edge += 1
                found /= luck
                mine, theirs = (first, second) if role == 0 else (second, first)
                found *= played[other + theirs]
                regrets.last[own + mine] += regrets.reach[node] * found
                total += strategy[own + mine] * found
        value[node] = total


@lean
def value_nodes(form: MergedForm, role: Int, strategy: Values, value: Values) -> None:
    """Write what each node is worth to a role when both keep to the strategy."""
    for back in range(len(form.sets)):
        node = len(form.sets) - 1 - back
        rows, columns, luck = form.sizes[node, 0], form.sizes[node, 1], form.sizes[node, 2]
        value[node] = form.payoffs[node, role] if rows == 0 else 0.0
        edge = np.int64(form.first_edge[node])
        for first in range(rows):
            for second in range(columns):
                share = strategy[form.first[form.sets[node, 0]] + first]
                share *= strategy[form.first[form.sets[node, 1]] + second] / luck
                for _ in range(luck):
                    value[node] += share * value[form.target[edge]]
                    edge += 1


@lean
def _respond(form: MergedForm, role: Int, strategy: Values, room: _Response, count: Int) -> None:
    """Go on depth first through all that the role can do and be told."""
    numbers, worth = room.numbers, room.worth
    for _ in range(count):
        step = room.step[0]
        if step < 0:
            return
        if numbers[step, _IS_TRIED] == 0:
            _try_move(form, np.int64(role), strategy, room, step)
        elif _gather(form, np.int64(role), room, step):
            room.step[0] += 1
            _enter(numbers, worth, step + 1)
        else:
            worth[step, 1] = max(worth[step, 1], worth[step, 0])
            numbers[step, _RANK] += 1
            numbers[step, _IS_TRIED] = 0
            if numbers[step, _RANK] == form.sizes[room.node[step, 0, 0], role]:
                room.step[0] -= 1
                if step > 0:
                    worth[step - 1, 0] += worth[step, 1]


@inner
def _enter(numbers: NDArray[np.int64], worth: Values, step: Int) -> None:
    numbers[step, _RANK] = numbers[step, _IS_TRIED] = 0
    worth[step, 1] = -np.inf


@lean
def _try_move(form: MergedForm, role: Int, strategy: Values, room: _Response, step: Int) -> None:
    """List the nodes after the role's next move."""
    numbers, weight = room.numbers, room.weight
    rank, listed = numbers[step, _RANK], np.int64(0)
    room.worth[step, 0] = 0.0
    for at in range(numbers[step, _COUNT]):
        node = np.int64(room.node[step, 0, at])
        columns, luck = np.int64(form.sizes[node, 1]), np.int64(form.sizes[node, 2])
        other = form.first[form.sets[node, 1 - role]]
        here = room.share[step, 0, at] / luck
        for move in range(form.sizes[node, 1 - role]):
            share = here * strategy[other + move]
            first, second = (rank, np.int64(move)) if role == 0 else (np.int64(move), rank)
            edge = np.int64(form.first_edge[node]) + (first * columns + second) * luck
            for _ in range(luck if share > 0.0 else 0):
                target = form.target[edge]
                edge += 1
                if form.sizes[target, 0] == 0:
                    room.worth[step, 0] += share * form.payoffs[target, role]
                    continue
                if weight[target] == 0.0:
                    room.node[step, 1, listed] = target
                    listed += 1
                weight[target] += share
    for at in range(listed):
        room.share[step, 1, at] = weight[room.node[step, 1, at]]
        weight[room.node[step, 1, at]] = 0.0
    numbers[step, _AFTER], numbers[step, _PLACE], numbers[step, _IS_TRIED] = listed, 0, 1


@lean
def _gather(form: MergedForm, role: Int, room: _Response, step: Int) -> bool:
    """Put the next nodes that look alike to the role into the next step; whether there are any."""
    numbers, node, share = room.numbers, room.node, room.share
    at, last = numbers[step, _PLACE], numbers[step, _AFTER]
    while at < last and share[step, 1, at] == 0.0:
        at += 1
    numbers[step, _PLACE] = at
    if at == last:
        return False
    number, count = form.sets[node[step, 1, at], role], np.int64(0)
    for other in range(at, last):
        if share[step, 1, other] > 0.0 and form.sets[node[step, 1, other], role] == number:
            node[step + 1, 0, count] = node[step, 1, other]
            share[step + 1, 0, count] = share[step, 1, other]
            share[step, 1, other] = 0.0
            count += 1
    numbers[step + 1, _COUNT] = count
    return True

"""Sequence form → strategies that come ever closer to an equilibrium, by counterfactual regret minimisation.

CFR+ (Tammelin, 2014) and its predictive form (Farina, Kroer, Sandholm, 2021), roles in turn. A *plan* has, for each
sequence, the probability with which its role plays all of it, if it can; a *strategy* that of its last move alone.
"""

from typing import NamedTuple

import numpy as np

from ggp.circuit.network import Ids
from ggp.equilibrium.game_tree import SequenceForm, Values
from ggp.kernel import Int, lean


class Regrets(NamedTuple):
    """All (S,). Locking: none, one thread works on them."""

    regret: Values  # sum of regrets, not below 0
    strategy: Values  # of now
    plan: Values
    average: Values  # sum of plans, each with the weight of its iteration
    worth: Values  # goal values that the role's sequences lead to, times the probability of the others' part


def make_regrets(form: SequenceForm) -> Regrets:
    """All strategies uniform."""
    size = int(form.first[-1])
    regrets = Regrets(np.zeros(size), np.ones(size), np.ones(size), np.zeros(size), np.zeros(size))
    regrets.strategy[:] = uniform(form)
    for role in range(len(form.first_set) - 1):
        realise(form, role, regrets.strategy, regrets.plan)
    return regrets


def uniform(form: SequenceForm) -> Values:
    """(S,) the strategy that plays all moves with the same probability."""
    counts = np.diff(form.first)
    return np.concatenate([np.ones(int(form.first[0])), np.repeat(1.0 / counts, counts)])


@lean
def iterate(form: SequenceForm, regrets: Regrets, iteration: Int, is_predictive: bool) -> None:
    """One update of each role in turn; iterations count from 1. The average weighs them by t, t² if predictive."""
    weight = float(iteration) * (float(iteration) if is_predictive else 1.0)
    for role in range(len(form.first_set) - 1):
        value_sequences(form, role, regrets.plan, regrets.worth)
        _update(form, role, regrets, is_predictive)
        realise(form, role, regrets.strategy, regrets.plan)
        for at in range(form.first[form.first_set[role]], form.first[form.first_set[role + 1]]):
            regrets.average[at] += weight * regrets.plan[at]


@lean
def value_sequences(form: SequenceForm, role: Int, plan: Values, worth: Values) -> None:
    """Write what the ends right after each sequence of the role are worth to it, when the others play their plans."""
    roles = form.end_sequences.shape[1]
    for at in range(form.first[form.first_set[role]], form.first[form.first_set[role + 1]]):
        worth[at] = 0.0
    worth[role] = 0.0
    for end in range(form.end_sequences.shape[0]):
        value = form.payoffs[end, role]
        for other in range(roles):
            if other != role:
                value *= plan[form.end_sequences[end, other]]
        worth[form.end_sequences[end, role]] += value


@lean
def _update(form: SequenceForm, role: Int, regrets: Regrets, is_predictive: bool) -> None:
    """The role's regrets and new strategy, the last information sets first; adds values to sequences before them."""
    worth, strategy = regrets.worth, regrets.strategy
    for number in range(form.first_set[role + 1] - 1, form.first_set[role] - 1, -1):
        start, end = form.first[number], form.first[number + 1]
        value = 0.0
        for at in range(start, end):
            value += strategy[at] * worth[at]
        worth[form.parent[number]] += value
        total = 0.0
        for at in range(start, end):
            regret = worth[at] - value
            regrets.regret[at] = max(regrets.regret[at] + regret, 0.0)
            strategy[at] = max(regrets.regret[at] + regret, 0.0) if is_predictive else regrets.regret[at]
            total += strategy[at]
        for at in range(start, end):
            strategy[at] = strategy[at] / total if total > 0.0 else 1.0 / (end - start)


@lean
def realise(form: SequenceForm, role: Int, strategy: Values, plan: Values) -> None:
    """Write the plan of a role's strategy."""
    for number in range(form.first_set[role], form.first_set[role + 1]):
        before = plan[form.parent[number]]
        for at in range(form.first[number], form.first[number + 1]):
            plan[at] = before * strategy[at]


@lean
def normalise(first: Ids, sums: Values, strategy: Values) -> None:
    """Write the strategy that sums of plans have; uniform where there are none. first: as in the form."""
    for number in range(len(first) - 1):
        start, end = first[number], first[number + 1]
        total = 0.0
        for at in range(start, end):
            total += sums[at]
        for at in range(start, end):
            strategy[at] = sums[at] / total if total > 0.0 else 1.0 / (end - start)


@lean
def back_up(form: SequenceForm, role: Int, strategy: Values, worth: Values, is_best: bool) -> float:
    """What the game is worth to a role by its strategy, or by its best response, which is written there.

    `worth` is what `value_sequences` wrote; it is changed.
    """
    for number in range(form.first_set[role + 1] - 1, form.first_set[role] - 1, -1):
        start, end = form.first[number], form.first[number + 1]
        best = start
        value = 0.0
        for at in range(start, end):
            best = at if worth[at] > worth[best] else best
            value += strategy[at] * worth[at]
        if is_best:
            value = worth[best]
            for at in range(start, end):
                strategy[at] = 1.0 if at == best else 0.0
        worth[form.parent[number]] += value
    return float(worth[role])

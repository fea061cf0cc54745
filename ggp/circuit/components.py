"""Ground rules → the atoms in an order in which each comes after what it depends on, recursive ones together."""

from typing import NamedTuple

import numpy as np

from ggp.circuit.network import Ids
from ggp.grounding.rules import Offsets
from ggp.kernel import Int, kernel


class RuleIndex(NamedTuple):
    """The ground rules by their heads."""

    first_rule: Offsets  # (A + 1,) the rules of atom a are rules[first_rule[a]:first_rule[a + 1]]
    rules: Ids  # (R,)
    first_literal: Offsets  # (R + 1,)
    literals: Ids  # 2 * atom, + 1 if negated


class Order(NamedTuple):
    """Atoms in the order of their dependence."""

    atoms: Ids  # all that the roots need and that are no inputs; of a component, those first that others need first
    component: Ids  # (A,) the number of each atom's component, ascending in this order; -1: not reached
    recursive: Ids  # (A,) 1 for the atoms that depend on themselves


def index_rules(atom_count: int, heads: Ids, first_literal: Offsets, literals: Ids) -> RuleIndex:
    """The rules sorted by head; the order of the rules of one head is kept."""
    first = np.zeros(atom_count + 1, np.int64)
    np.cumsum(np.bincount(heads, minlength=atom_count), out=first[1:])
    return RuleIndex(first, np.argsort(heads, kind="stable").astype(np.int32), first_literal, literals)


@kernel
def order_atoms(index: RuleIndex, inputs: Int, roots: Ids) -> Order:
    """Tarjan's strongly connected components (1972), without recursion, from the roots in their order."""
    count = index.first_rule.shape[0] - 1
    number = np.zeros(count, np.int32)  # when first seen, from 1
    low = np.zeros(count, np.int32)
    component = np.full(count, -1, np.int32)
    recursive = np.zeros(count, np.int32)
    atoms = np.empty(count, np.int32)
    open_atoms = np.empty(count, np.int32)
    path = np.empty(count, np.int32)
    rule_at = np.zeros(count, np.int64)
    literal_at = np.zeros(count, np.int64)
    seen, written, opened, components = 0, 0, 0, 0
    for root in roots:
        if root < inputs or number[root]:
            continue
        path[0] = root
        depth = 1
        while depth:
            atom = path[depth - 1]
            if number[atom] == 0:
                seen += 1
                number[atom] = low[atom] = seen
                open_atoms[opened] = atom
                opened += 1
                rule_at[atom] = index.first_rule[atom]
                literal_at[atom] = -1
            down = -1
            while rule_at[atom] < index.first_rule[atom + 1]:
                rule = index.rules[rule_at[atom]]
                if literal_at[atom] < 0:
                    literal_at[atom] = index.first_literal[rule]
                while literal_at[atom] < index.first_literal[rule + 1]:
                    below = index.literals[literal_at[atom]] >> 1
                    literal_at[atom] += 1
                    if below < inputs:
                        continue
                    if below == atom:
                        recursive[atom] = 1
                    if number[below] == 0:
                        down = below
                        break
                    if component[below] < 0:
                        low[atom] = min(low[atom], number[below])
                if down >= 0:
                    break
                rule_at[atom] += 1
                literal_at[atom] = -1
            if down >= 0:
                path[depth] = down
                depth += 1
                continue
            depth -= 1
            if depth:
                above = path[depth - 1]
                low[above] = min(low[above], low[atom])
            if low[atom] == number[atom]:
                first = opened
                while True:
                    first -= 1
                    component[open_atoms[first]] = components
                    if open_atoms[first] == atom:
                        break
                for position in range(opened - 1, first - 1, -1):  # the last found are needed first
                    atoms[written] = open_atoms[position]
                    written += 1
                    if opened - first > 1:
                        recursive[open_atoms[position]] = 1
                opened = first
                components += 1
    return Order(atoms[:written], component, recursive)

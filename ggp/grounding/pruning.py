"""Which ground rules can matter: those from which some output can be reached."""

import numpy as np
from numpy.typing import NDArray

from ggp.grounding.rules import Ids, Offsets
from ggp.kernel import kernel

Atoms = NDArray[np.int64]


def needed_atoms(heads: Atoms, first_literal: Offsets, literals: Ids, outputs: Atoms, bound: int) -> NDArray[np.bool_]:
    """Of all atoms below the bound, those that are outputs or are read by rules of such atoms; signs do not count."""
    order = np.argsort(heads, kind="stable")
    first_rule = np.searchsorted(heads[order], np.arange(bound + 1))
    return _needed(order, first_rule, first_literal, literals, outputs, bound)


@kernel
def _needed(
    order: Atoms, first_rule: Atoms, first_literal: Offsets, literals: Ids, outputs: Atoms, bound: int
) -> NDArray[np.bool_]:
    needed = np.zeros(bound, np.bool_)
    waiting = np.empty(bound, np.int64)
    count = 0
    for atom in outputs:
        if not needed[atom]:
            needed[atom] = True
            waiting[count] = atom
            count += 1
    while count:
        count -= 1
        atom = waiting[count]
        for place in range(first_rule[atom], first_rule[atom + 1]):
            rule = order[place]
            for index in range(first_literal[rule], first_literal[rule + 1]):
                other = abs(literals[index])
                if not needed[other]:
                    needed[other] = True
                    waiting[count] = other
                    count += 1
    return needed

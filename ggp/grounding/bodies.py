"""The conditions of a clause → parts with their extents; parts → all values that their variables can have together."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ggp.gdl.logic_program import DISTINCT, DOES, Literal
from ggp.gdl.terms import is_variable, variables
from ggp.grounding.extents import Extents
from ggp.grounding.joins import Table, join, make_table
from ggp.grounding.parts import Part
from ggp.grounding.preparation import Prepared


class Bodies:
    """What is known of the relations that bodies read."""

    def __init__(self, prepared: Prepared, extents: Extents) -> None:
        self._prepared = prepared
        self.extents = extents

    def part(self, literal: Literal) -> Part:
        names = frozenset(variables(literal.atom))
        if literal.relation == DISTINCT:
            return Part(literal, names, 0, None)
        if self._prepared.is_static(literal.relation):
            return Part(literal, names, 0, self.extents.table(literal))
        if not literal.positive:
            return Part(literal, names, 1, None)
        key = frozenset(variables(literal.arguments[0])) if literal.relation == DOES else None
        return Part(literal, names, 1, self.extents.table(literal), key)

    def weighed(self, parts: tuple[Part, ...], rows: Table) -> tuple[Part, ...]:
        """With the weights of negative conditions: where the atom can never hold, they leave no trace."""
        return tuple(
            replace(part, weight=1 - len(rows.without(self.extents.table(part.literal))) / max(1, len(rows)))
            if part.weight and not part.literal.positive
            else part
            for part in parts
        )

    def joined(self, parts: Sequence[Part], limit: int) -> Table | None:
        """All values that the variables of the parts can have together; None when a join has more rows."""
        waiting = [part for part in parts if part.binds]
        tests = [part for part in parts if not part.binds]
        result = make_table((), np.zeros((0, 1), np.int64))
        while waiting:
            known = set(result.names)
            best = min(waiting, key=lambda part: (_growth(part, known), len(part.table or ())))
            waiting.remove(best)
            assert best.table is not None
            joined = join(result, best.table, limit)
            if joined is None:
                return None
            result = joined
            for test in [test for test in tests if test.names <= set(result.names)]:
                tests.remove(test)
                result = self._tested(result, test)
        return result

    def _tested(self, table: Table, test: Part) -> Table:
        """Without the rows that a condition rules out whatever the state is."""
        if test.literal.relation != DISTINCT:
            return table if test.table is None else table.without(test.table)
        left, right = test.literal.arguments
        if isinstance(left, tuple) or isinstance(right, tuple):
            return table
        values = [
            table.columns([side])[0] if is_variable(side) else np.full(len(table), self.extents.number(side))
            for side in (left, right)
        ]
        return table.where(values[0] != values[1])


def _growth(part: Part, known: set[str]) -> float:
    """About how many rows of a part go with each row that is known."""
    table = part.table
    assert table is not None
    return len(table) / max(1, table.count([name for name in table.names if name in known]))

"""Are the cells of a grid hexagons? The rules say so by a relation of neighbours that has six of them."""

from itertools import pairwise, product

from ggp.boards.grouping import Axes
from ggp.boards.orientation import Orientation
from ggp.gdl.logic_program import Clause, LogicProgram
from ggp.gdl.terms import Term

Step = tuple[int, int]
_SIDEWAYS = frozenset(((0, 1), (0, -1), (1, 0), (-1, 0)))
_SHIFT = 0.5  # cells


def hexagon_shift(program: LogicProgram, axes: Axes, orientation: Orientation) -> float:
    """How far each row stands right of the one above it, in cells; 0.0 where the cells are squares."""
    for (name, arity), clauses in program.clauses.items():
        if arity == 4 and name not in ("true", "next"):
            steps = {step for clause in clauses for step in _steps(clause, program, axes)}
            diagonal = steps - _SIDEWAYS
            if len(steps) == 6 and steps >= _SIDEWAYS and all((-i, -j) in diagonal for i, j in diagonal):
                i, j = min(diagonal)
                down, across = (j, i) if orientation.across == 0 else (i, j)
                is_falling = (down * across > 0) != orientation.is_upward
                return -_SHIFT if is_falling else _SHIFT
    return 0.0


def _steps(clause: Clause, program: LogicProgram, axes: Axes) -> set[Step]:
    """The steps along both coordinates that a rule about two cells allows; none where it is not of that kind."""
    first, second, third, fourth = clause.arguments
    choices = (_distances(first, third, clause, program, axes[0]), _distances(second, fourth, clause, program, axes[1]))
    return {(i, j) for i, j in product(*choices) if (i, j) != (0, 0)}


def _distances(start: Term, end: Term, clause: Clause, program: LogicProgram, axis: tuple[str, ...]) -> set[int]:
    """How much further the end is along the axis: 0 for the same variable, 1 or -1 for a successor."""
    if start == end:
        return {0}
    found = set()
    for literal in clause.body:
        if literal.positive and len(literal.arguments) == 2 and set(literal.arguments) == {start, end}:
            rows = set(program.tables.get(literal.relation, ()))
            step = 1 if literal.arguments == (start, end) else -1
            if rows and all(pair in rows for pair in pairwise(axis)):
                found.add(step)
            elif rows and all(pair in rows for pair in pairwise(axis[::-1])):
                found.add(-step)
    return found

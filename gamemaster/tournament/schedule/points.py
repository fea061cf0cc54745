"""Result → points, for the formats whose schedule depends on them."""

from gamemaster.tournament.results import Result

WIN = 2
DRAW = 1


def points(result: Result) -> tuple[int, int]:
    """Of both players of a match: WIN for the greater goal value, DRAW each where they are equal.

    A goal value that the rules do not give, as in a match that broke off, counts as 0.
    """
    one, other = values(result)
    if one == other:
        return DRAW, DRAW
    return (WIN, 0) if one > other else (0, WIN)


def values(result: Result) -> tuple[int, int]:
    """The goal values of both players of a match."""
    one, other = (goal or 0 for goal in result.goals)
    return one, other

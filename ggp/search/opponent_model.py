"""What others who may err are expected to give away: where a value is proven, what is still worth choosing for.

Opponent-model search (Iida, Uiterwijk, van den Herik and Herschberg, 1993; Carmel and Markovitch, 1993). Another role
finds a move that keeps its value the more likely the closer its win is; else it chooses by what its moves seem to be
worth.
"""

from ggp.kernel import Int, inner

_AT_ONCE = 0.95  # how likely it is that a win in one step is found
_HALVED = 4.0  # steps more make a win half as likely to be found
SPREAD = 0.4  # a move that seems to be worth so much less, 0 to 1, is e times less likely to be chosen


@inner
def awareness(length: Int) -> float:
    """How likely it is that a role finds its win, so many steps from the end."""
    return float(_AT_ONCE * 0.5 ** ((length - 1) / _HALVED))

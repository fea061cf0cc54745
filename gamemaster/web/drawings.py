"""A state of a game → what a page shows of it: the one place that knows how pictures are made."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ggp.boards import Layout, Picture, Spot, find_layout, make_picture, move_cells
from ggp.boards.drawing import draw_state
from ggp.boards.pictures import board_svg
from ggp.game import Game
from ggp.gdl.state_machine import Facts
from ggp.gdl.terms import Term

Cell = tuple[str, str]  # the board, and the constants of the coordinates with blanks between, as in the picture


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture, and the same for those who read text."""

    svg: str
    text: str


class Artist:
    """Draws the states of one game; what they look like is found out once."""

    def __init__(self, game: Game) -> None:
        self._game = game
        self._layout: Layout = find_layout(game.rulesheet, game.machine, game.metadata.drawing)

    def draw(self, state: Facts, before: Facts | None = None, moves: Sequence[Term] = ()) -> Drawing:
        """How the state looks; what the moves that led to it from the state before have touched is marked."""
        picture = make_picture(self._layout, state)
        marked: frozenset[Spot] = frozenset()
        if before is not None:
            earlier = make_picture(self._layout, before)
            marked = frozenset(spot for move in moves for spot in self._touched(move, earlier, picture))
        svg = board_svg(picture, marked=marked, has_style=False)
        return Drawing(svg, draw_state(state, self._game.metadata.drawing))

    def image(self, state: Facts) -> str:
        """As a file of its own, with its colours."""
        return board_svg(make_picture(self._layout, state), self._game.metadata.title or self._game.name)

    def clicks(self, move: Term) -> tuple[tuple[Cell, ...], ...]:
        """The clicks that make a move, each on one of some cells; none where clicks do not say it."""
        found = move_cells(self._layout, move)
        return tuple(tuple((spot.board, " ".join(spot.place)) for spot in spots) for spots in found)

    def _touched(self, move: Term, earlier: Picture, later: Picture) -> Iterator[Spot]:
        """The cells that a move names; where it could be one of several, those that have changed."""
        for spots in move_cells(self._layout, move):
            if len(spots) == 1:
                yield spots[0]
            else:
                yield from (spot for spot in spots if earlier.cell(spot) != later.cell(spot))

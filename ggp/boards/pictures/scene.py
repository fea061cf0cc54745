"""Picture → shapes: boards beside each other, and under them labelled values and the facts that nothing else shows."""

from collections.abc import Collection

from ggp.boards import Board, Picture, Spot
from ggp.boards.drawing import list_facts
from ggp.boards.pictures.panel import value_groups
from ggp.boards.pictures.plans import plan_board
from ggp.boards.pictures.shapes import Drawing, Group, Text

_EDGE = 12.0  # around everything
_GAP = 28.0  # between boards
_TITLE = 22.0  # height of the title of a board
_LEAST = 260.0  # width of the panel
_LINE = 17.0  # of listed facts
_SMALL = 12.0
_MOST_LINES = 30


def make_drawing(
    picture: Picture, title: str = "", marked: Collection[Spot] = (), *, has_values: bool = True
) -> Drawing:
    """The picture as shapes; `marked` cells are highlighted, as those of the last move."""
    plans = [plan_board(board, marked) for board in picture.boards]
    groups: list[Group] = []
    width, y = _EDGE, _EDGE
    rows = sorted({board.down for board in picture.boards})
    for row in rows:
        members = [(b, p) for b, p in zip(picture.boards, plans, strict=True) if b.down == row]
        x, height = _EDGE, 0.0
        for board, plan in sorted(members, key=lambda member: member[0].across):
            above = _TITLE if board.title else 0.0
            if board.title:
                groups.append(Group((Text(x + plan.middle, y + above / 2, board.title, 14.0, "dim", is_bold=True),)))
            groups += plan.placed(x, y + above)
            x += plan.width + _gap(board)
            height = max(height, plan.height + above)
            width = max(width, x - _gap(board))
        y += height + (_gap(members[0][0]) / 2 if row != rows[-1] else 0.0)
    width = max(width, _EDGE + _LEAST)
    if has_values:
        shown, y = value_groups(picture.values, _EDGE, y + (10.0 if plans else 0.0), width)
        groups += shown
        rest, y, widest = _rest(picture, y)
        groups += rest
        width = max(width, widest)
    return Drawing(width + _EDGE, y + _EDGE, tuple(groups), title)


def _gap(board: Board) -> float:
    """Beside a board; one without a title belongs to the next one."""
    return _GAP if board.title else _GAP / 2


def _rest(picture: Picture, y: float) -> tuple[list[Group], float, float]:
    """Facts as text, where the lines end, and how far to the right they go."""
    if not picture.rest:
        return [], y, 0.0
    lines = list_facts(picture.rest, 64)
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], f"… and {len(lines) - _MOST_LINES + 1} more lines"]
    y += 6.0
    texts = tuple(Text(_EDGE, y + _LINE * (n + 0.5), line, _SMALL, "dim", "start") for n, line in enumerate(lines))
    widest = max(0.56 * _SMALL * len(line) for line in lines)
    return [Group(texts, kind="rest")], y + _LINE * len(lines), _EDGE + widest

"""Picture → lines of text: boards of letters, lines between dots, and below them the facts that no board shows.

Each line is made of spans with styles, so that a terminal can colour them; nothing depends on the colours.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from textwrap import wrap
from typing import Literal, TypeAlias

from ggp.boards.marks import Board, Cell, Colour, Picture, Value
from ggp.boards.profiles import natural_key
from ggp.gdl.rulesheet import name_and_arity
from ggp.gdl.terms import Term, to_text

Style: TypeAlias = Colour | Literal["", "dim", "title"]

WIDTH = 100  # characters of a line
EMPTY = "."

_BETWEEN_BOARDS = 4  # characters between two boards
_MARGIN = "  "  # between the names of rows and the cells
_DOTS_APART = 4  # characters between two dots of a row
_NO_BREAK = "\N{NO-BREAK SPACE}"  # keeps the arguments of a fact on one line


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a line in one style."""

    text: str
    style: Style = ""


TextLine: TypeAlias = tuple[Span, ...]


def picture_lines(picture: Picture, width: int = WIDTH) -> tuple[TextLine, ...]:
    """The picture as lines: boards, side by side where there is room, and below them what they do not show, as
    labelled values where there are some (`To move: Red`), else as facts (`control red`).
    """
    lines = _side_by_side([_block(board) for board in _in_order(picture.boards)], width)
    below = _list_values(picture.values, width) + list_facts(picture.rest, width)
    return tuple(lines) + tuple((Span(line),) for line in below)


def plain_text(lines: Iterable[TextLine]) -> str:
    """Lines without their styles."""
    return "\n".join("".join(span.text for span in line) for line in lines)


def list_facts(facts: Iterable[Term], width: int = WIDTH) -> list[str]:
    """Facts grouped by name and arity: `control xplayer`, `coins: o 10, x 10`."""
    groups: dict[tuple[str, int], list[str]] = {}
    for fact in sorted(facts, key=lambda fact: natural_key(to_text(fact))):
        name, arity = name_and_arity(fact)
        arguments = " ".join(map(to_text, fact[1:])) if arity else ""
        groups.setdefault((name, arity), []).append(arguments)
    lines: list[str] = []
    for (name, _), members in groups.items():
        text = f"{name} {members[0]}".rstrip() if len(members) == 1 else f"{name}: {_joined(members)}"
        lines += _folded(text, width)
    return lines


def _list_values(values: Iterable[Value], width: int) -> list[str]:
    lines: list[str] = []
    for value in values:
        entries = [f"{entry.key} {entry.value}".strip() for entry in value.entries]
        lines += _folded(f"{value.label}: {_joined(entries)}" if entries else value.label, width)
    return lines


def _folded(text: str, width: int) -> list[str]:
    folded = wrap(text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return [line.replace(_NO_BREAK, " ") for line in folded]


def _joined(members: list[str]) -> str:
    return ", ".join(member.replace(" ", _NO_BREAK) for member in members)


class _Canvas:
    """Characters with styles, put anywhere."""

    def __init__(self) -> None:
        self._rows: list[list[tuple[str, Style]]] = []

    def put(self, row: int, column: int, text: str, style: Style = "") -> None:
        while len(self._rows) <= row:
            self._rows.append([])
        line = self._rows[row]
        line += [(" ", "")] * (column + len(text) - len(line))
        line[column : column + len(text)] = [(letter, style) for letter in text]

    def lines(self) -> list[TextLine]:
        return [_trimmed(_spans(row)) for row in self._rows]


def _spans(letters: Sequence[tuple[str, Style]]) -> list[Span]:
    spans: list[Span] = []
    for letter, style in letters:
        if spans and spans[-1].style == style:
            spans[-1] = Span(spans[-1].text + letter, style)
        else:
            spans.append(Span(letter, style))
    return spans


def _trimmed(spans: list[Span]) -> TextLine:
    """Without white space at the end."""
    kept = list(spans)
    while kept and not kept[-1].text.strip():
        kept.pop()
    if kept:
        kept[-1] = Span(kept[-1].text.rstrip(), kept[-1].style)
    return tuple(kept)


def _in_order(boards: Sequence[Board]) -> list[list[Board]]:
    """The boards in rows."""
    rows = sorted({board.down for board in boards})
    return [sorted((b for b in boards if b.down == row), key=lambda board: board.across) for row in rows]


def _block(boards: Sequence[Board]) -> list[tuple[str, list[TextLine]]]:
    return [(board.title, _draw(board)) for board in boards]


def _side_by_side(rows: Sequence[Sequence[tuple[str, list[TextLine]]]], width: int) -> list[TextLine]:
    lines: list[TextLine] = []
    for row in rows:
        waiting: list[tuple[str, list[TextLine]]] = []
        for title, block in row:
            if (
                waiting
                and sum(_wide(*item) + _BETWEEN_BOARDS for item in (*waiting, (title, block))) - _BETWEEN_BOARDS > width
            ):
                lines += [*_joined_blocks(waiting), ()]
                waiting = []
            waiting.append((title, block))
        lines += _joined_blocks(waiting)
        if len(rows) > 1 and row is not rows[-1]:
            lines.append(())
    return lines


def _wide(title: str, block: Sequence[TextLine]) -> int:
    return max([len(title), *(sum(len(span.text) for span in line) for line in block)])


def _joined_blocks(blocks: Sequence[tuple[str, list[TextLine]]]) -> list[TextLine]:
    if len(blocks) == 1 and not blocks[0][0]:
        return blocks[0][1]
    canvas = _Canvas()
    column = 0
    for title, block in blocks:
        canvas.put(0, column, title, "title")
        for row, line in enumerate(block):
            at = column
            for span in line:
                canvas.put(row + 1, at, span.text, span.style)
                at += len(span.text)
        column += _wide(title, block) + _BETWEEN_BOARDS
    return canvas.lines()


@dataclass(frozen=True, slots=True)
class _Scale:
    """Characters from one cell to the next."""

    down: int
    across: int
    width: int  # of what stands on a cell

    def at(self, down: float, across: float) -> tuple[int, int]:
        return round(down * self.down), round(across * self.across)


def _draw(board: Board) -> list[TextLine]:
    if board.shape == "stacks":
        return _draw_stacks(board)
    if board.shape == "row":
        return _draw_row(board)
    scale = _scale(board)
    margin = max((len(label.term or label.text) for label in board.rows), default=0)
    left = margin + len(_MARGIN) if board.rows else 0
    top = (1 if board.columns else 0) + (1 if board.walls else 0)
    canvas = _Canvas()
    for label in board.columns:
        canvas.put(0, left + scale.at(0, label.at)[1], label.term or label.text, "dim")
    for label in board.rows:
        canvas.put(top + scale.at(label.at, 0)[0], 0, f"{label.term or label.text:>{margin}}", "dim")
    for start, end in board.guides:
        _put_guide(canvas, scale.at(*start), scale.at(*end), (top, left))
    for cell in board.cells:
        down, across = scale.at(cell.down, cell.across)
        if board.shape == "dots":
            canvas.put(top + down, left + across, "+", "dim")
        else:
            _put_cell(canvas, top + down, left + across, cell)
    _put_lines(canvas, board, scale, (top, left))
    _put_walls(canvas, board, scale, (top, left))
    return canvas.lines()


def _scale(board: Board) -> _Scale:
    width = max(
        [_cell_width(cell) for cell in board.cells] + [len(label.term or label.text) for label in board.columns],
        default=1,
    )
    match board.shape:
        case "dots":
            return _Scale(2, max(_DOTS_APART, width + 1), 1)
        case "points":
            return _Scale(2, 2 * ceil((width + 2) / 2), width)
        case "hexagons":
            return _Scale(1, 2 * ceil((width + 1) / 2), width)
        case _:
            return _Scale(2, width + 3, width) if board.walls else _Scale(1, width + 1, width)


def _texts(cell: Cell) -> list[Span]:
    """What stands on a cell."""
    spans: list[Span] = []
    for piece in cell.pieces:
        if spans and (piece.mark.symbol == "text" or len(piece.mark.letters) > 1):
            spans.append(Span("/", "dim"))
        spans.append(Span(piece.mark.letters, piece.mark.colour if piece.mark.symbol != "text" else ""))
    spans = spans or [Span(EMPTY, "dim")]
    return [*spans, Span("'", "title")] if cell.notes else spans


def _cell_width(cell: Cell) -> int:
    return sum(len(span.text) for span in _texts(cell))


def _put_cell(canvas: _Canvas, row: int, column: int, cell: Cell) -> None:
    for span in _texts(cell):
        canvas.put(row, column, span.text, span.style)
        column += len(span.text)


def _put_guide(canvas: _Canvas, start: tuple[int, int], end: tuple[int, int], corner: tuple[int, int]) -> None:
    (row, column), (to_row, to_column) = sorted((start, end))
    if row == to_row:
        canvas.put(corner[0] + row, corner[1] + column, "-" * (to_column - column), "dim")
    elif column == to_column:
        for between in range(row + 1, to_row):
            canvas.put(corner[0] + between, corner[1] + column, "|", "dim")


def _put_lines(canvas: _Canvas, board: Board, scale: _Scale, corner: tuple[int, int]) -> None:
    top, left = corner
    for line in board.lines:
        if line.is_drawn:
            down, across = scale.at((line.from_down + line.to_down) / 2, (line.from_across + line.to_across) / 2)
            style: Style = line.owner.mark.colour if line.owner else ""
            if line.from_down == line.to_down:
                length = scale.across - 1
                canvas.put(top + down, left + across - length // 2, "-" * length, style)
            else:
                canvas.put(top + down, left + across, "|", style)
    for box in board.boxes:
        down, across = scale.at(box.down, box.across)
        texts = _texts(box)
        text = "".join(span.text for span in texts)[: scale.across - 1]
        canvas.put(top + down, left + across - len(text) // 2, text, texts[0].style)


def _put_walls(canvas: _Canvas, board: Board, scale: _Scale, corner: tuple[int, int]) -> None:
    top, left = corner
    for wall in board.walls:
        row, column = scale.at(wall.down, wall.across)
        if wall.side in ("left", "right"):
            column += scale.width + 1 if wall.side == "right" else -2
            canvas.put(top + row, max(0, left + column), wall.sign or "|")
        else:
            row += 1 if wall.side == "bottom" else -1
            sign = wall.sign or "-" * (scale.width + 2)
            canvas.put(max(0, top + row), left + column - (0 if wall.sign else 1), sign)


def _draw_row(board: Board) -> list[TextLine]:
    """The names of the cells, and below them what they hold."""
    width = max([_cell_width(cell) for cell in board.cells] + [len(_name(cell)) for cell in board.cells], default=1)
    canvas = _Canvas()
    for cell in board.cells:
        row, column = 2 * round(cell.down), round(cell.across) * (width + 2)
        canvas.put(row, column, _name(cell), "dim")
        _put_cell(canvas, row + 1, column, cell)
    return canvas.lines()


def _draw_stacks(board: Board) -> list[TextLine]:
    """Columns of names."""
    width = max((len(_name(cell)) for cell in board.cells), default=1)
    canvas = _Canvas()
    for cell in board.cells:
        style = cell.pieces[0].mark.colour if cell.pieces else ""
        canvas.put(round(cell.down), round(cell.across) * (width + 2), _name(cell), style)
    return canvas.lines()


def _name(cell: Cell) -> str:
    return " ".join(cell.spot.place)

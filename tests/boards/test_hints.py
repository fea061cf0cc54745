"""Hints that only people can give: maps, edges, heaps, more facts on a board, what no fact tells."""

from typing import Any

from ggp.boards import Layout, Picture, make_picture, picture_svg
from ggp.boards.hints import hinted_boards
from ggp.boards.marks import make_marks
from ggp.gdl.reader import read


def picture_of(hints: dict[str, Any], facts: str) -> Picture:
    boards, wishes = hinted_boards(hints, {"cell": 4})
    marks = make_marks([*wishes], [], wishes)
    return make_picture(Layout(boards, marks), frozenset(node.term for node in read(facts)))


def pieces(picture: Picture) -> dict[str, list[str]]:
    cells = (cell for board in picture.boards for cell in board.cells)
    return {" ".join(cell.spot.place): [piece.name for piece in cell.pieces] for cell in cells if cell.pieces}


def test_a_map_places_names_anywhere() -> None:
    table = {"fact": "at", "place": [1], "piece": 2, "at": {"a": [0, 0], "b": [1.5, 2]}, "guides": [["a", "b"]]}
    picture = picture_of({"map": table}, "(at b cop) (at c cop)")
    (board,) = picture.boards
    assert pieces(picture) == {"b": ["cop"]}
    assert (board.height, board.width, board.guides) == (2.5, 3.0, (((0, 0), (1.5, 2)),))
    assert len(picture.listed) == 1


def test_maps_can_show_the_facts_of_one_role_and_stand_in_lines() -> None:
    own = {"fact": "has", "place": [2], "piece": 2, "at": {"1": [0, 0], "2": [0, 1]}, "shape": "free"}
    tables = [{**own, "where": {"1": "left"}}, {**own, "where": {"1": "right"}, "down": 1}]
    picture = picture_of({"map": tables}, "(has left 1) (has left 2) (has right 2)")
    assert [board.down for board in picture.boards] == [0, 1]
    assert [[len(cell.pieces) for cell in board.cells] for board in picture.boards] == [[1, 1], [0, 1]]
    assert not picture.listed
    assert [board.down for board in picture_of({"map": {**own, "down": "x"}}, "").boards] == [0]


def test_edges_join_any_two_places() -> None:
    table = {"fact": "edge", "from": [1], "to": [2], "owner": 3, "at": {"1": [0, 0], "2": [1, 2], "3": [3, 1]}}
    pairs = [["1", "2"], ["2", "3"]]
    picture = picture_of({"edges": {**table, "pairs": pairs}}, "(edge 1 2 red) (edge 1 3 red)")
    (board,) = picture.boards
    assert [(str(line.start), str(line.end), line.is_drawn) for line in board.lines] == [
        ("edges 1", "edges 2", True),
        ("edges 2", "edges 3", False),
    ]
    assert [str(fact) for fact in picture.listed] == ["('edge', '1', '3', 'red')"]


def test_a_heap_is_a_row_of_pieces() -> None:
    table = {"fact": "heap", "heap": 1, "count": 2, "heaps": ["1", "2"], "most": 3, "piece": "stone"}
    picture = picture_of({"heaps": table}, "(heap 1 0) (heap 2 2)")
    assert pieces(picture) == {"2 1": ["stone"], "2 2": ["stone"]}
    assert not picture.listed


def test_more_facts_on_a_board_and_what_no_fact_tells() -> None:
    table = {
        "fact": "cell", "row": 1, "column": 2, "piece": 3, "rows": ["1", "2"], "columns": ["1", "2"],
        "also": [{"fact": "person", "row": 1, "column": 2}, {"fact": "broken"}], "static": {"wall": ["1 2", "9 9"]},
        "where": {"4": "low"}, "bands": 1, "joined": True, "row_labels": ["", "x"],
        "marks": {"stone": {"symbol": "block"}, "wall": {"symbol": "block", "joins": "left"}},
    }  # fmt: skip
    picture = picture_of({"board": table}, "(cell 2 1 stone low) (cell 2 2 stone low) (cell 1 1 x high) (person 1 2)")
    (board,) = picture.boards
    assert pieces(picture) == {"1 2": ["wall", "person"], "2 1": ["stone"], "2 2": ["stone"]}
    assert [label.text for label in board.rows] == ["", "x"]
    assert [str(fact) for fact in picture.listed] == ["('cell', '1', '1', 'x', 'high')"]
    cells = picture_svg(picture).split('class="cell"')
    assert [cell.count("<rect") for cell in cells[1:5]] == [1, 4, 3, 3]  # squares, blocks, what joins them, a badge


def test_symbols_of_things() -> None:
    wishes: dict[str, Any] = {
        "five": {"symbol": "seeds", "letters": "5"}, "box": {"symbol": "crate"}, "you": {"symbol": "person"},
        "flat": {"symbol": "bar", "size": 0.5}, "open": {"symbol": "frame"},
    }  # fmt: skip
    marks = make_marks([*wishes], [], wishes)
    assert {name: mark.symbol for name, mark in marks.items()} == {k: w["symbol"] for k, w in wishes.items()}
    table = {"fact": "at", "row": 1, "column": 1, "piece": 2, "rows": ["1"], "columns": ["1"]}
    boards, _ = hinted_boards({"board": table}, {})
    for name, circles in (("five", 5), ("box", 0), ("you", 1), ("flat", 0), ("open", 0)):
        facts = frozenset(node.term for node in read(f"(at 1 {name})"))
        assert picture_svg(make_picture(Layout(boards, marks), facts)).count("<circle") == circles


def test_hints_of_a_wrong_form_are_ignored() -> None:
    wrong: list[dict[str, Any]] = [
        {"map": {"fact": "at", "place": ["x"], "at": {"a": [0, 0]}}},
        {"map": {"fact": "at", "place": [1], "at": {"a": "here"}}},
        {"edges": {"fact": "e", "from": [1], "to": [0], "at": {"a": [0, 0]}, "pairs": [["a", "b"]]}},
        {"heaps": {"fact": "h", "heap": 1, "count": "x", "heaps": ["1"], "most": 2}},
        {"board": {"fact": "c", "row": 1, "column": 2, "piece": "x", "rows": ["1"], "columns": ["1"]}},
    ]
    for hints in wrong:
        assert hinted_boards(hints, {})[0] == ()

"""Rulesheets in colours: nothing is lost, and each word has its kind."""

from hypothesis import given
from hypothesis import strategies as st

from gamemaster.web.html.games import Word, highlighted


@given(st.text(alphabet=st.characters(codec="utf-8")) | st.text(alphabet="() ;\n\r\t?ax1<=\u2028\x0b"))
def test_the_lines_are_the_text(text: str) -> None:
    text = text.lstrip("\ufeff")
    lines = ["".join(word.text for word in line) for line in highlighted(text)]
    assert "\n".join(lines) == text.replace("\r\n", "\n").replace("\r", "\n")


def test_kinds_of_words() -> None:
    (line,) = highlighted("(<= (Legal ?p (mark 12 b)) (true control)) ; why")
    found = [(word.text, word.kind) for word in line if word.kind not in ("blank", "open", "close")]
    assert found == [
        ("<=", "keyword"),
        ("Legal", "keyword"),
        ("?p", "variable"),
        ("mark", "name"),
        ("12", "number"),
        ("b", "constant"),
        ("true", "keyword"),
        ("control", "constant"),
        ("; why", "comment"),
    ]


def test_parentheses_know_how_deep_they_are() -> None:
    (line,) = highlighted("(a (b))")
    assert [word for word in line if word.kind in ("open", "close")] == [
        Word("(", "open", 0),
        Word("(", "open", 1),
        Word(")", "close", 1),
        Word(")", "close", 0),
    ]
    assert highlighted(")))(")[0][-1] == Word("(", "open", 0)

"""Text → nodes and terms, and back; every bad text has its line and column."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ggp.errors import GgpError, ReadError
from ggp.game import load_text
from ggp.gdl.reader import decode, place_in, read, read_node, read_term
from ggp.gdl.terms import MAX_NESTING, Term, depth, is_ground, match, substitute, subterms, to_text, variables

symbols = st.text(st.characters(codec="utf-8", exclude_characters="();"), min_size=1, max_size=6).filter(
    lambda text: not any(character.isspace() for character in text) and text.lower() == text and text != "\ufeff"
)
terms = st.recursive(symbols, lambda inner: st.tuples(symbols, inner, inner) | st.tuples(symbols, inner), max_leaves=30)


@given(terms)
def test_printing_a_term_gives_text_that_reads_back(term: Term) -> None:
    assert read_term(" " + to_text(term)) == term


@given(terms)
def test_case_does_not_matter_within_ascii(term: Term) -> None:
    text = to_text(term)
    shouted = "".join(letter.upper() if letter.isascii() else letter for letter in text)
    assert read_term(" " + shouted) == term


def test_comments_white_space_and_a_byte_order_mark_are_skipped() -> None:
    nodes = read("\ufeff; first (\n (A ;; b)\n\t B) c;d\n")
    assert [node.term for node in nodes] == [("a", "b"), "c"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_kind_of_line_end_counts_once(end: str) -> None:
    text = f"\ufeff\ufeff(a) ; b{end}{end}  (c"
    assert [node.term for node in read(text + ")")] == ["a", "c"]
    with pytest.raises(ReadError, match=r"^f\.kif:3:3: '\(' is never closed$"):
        read(text, "f.kif")
    with pytest.raises(ReadError, match=r"^f\.kif:3:5: byte 0xff is not UTF-8$"):
        decode(text.encode() + b"\xff", "f.kif")


def test_line_ends_of_several_kinds_are_counted_one_by_one() -> None:
    place = place_in("a\r\nb\rc\n\rd", "f.kif")
    assert [(place(offset).line, place(offset).column) for offset in (0, 3, 5, 7, 8)] == [
        (1, 1),
        (2, 1),
        (3, 1),
        (4, 1),
        (5, 1),
    ]


def test_byte_order_marks_do_not_count_as_columns() -> None:
    with pytest.raises(ReadError, match=r"^f\.kif:1:2: byte 0xff is not UTF-8$"):
        decode("\ufeff\ufeffa".encode() + b"\xff", "f.kif")


def test_one_name_in_parentheses_is_the_name() -> None:
    assert read_term("(terminal)") == "terminal"
    assert read_term("(p (q))") == ("p", "q")


def test_an_atom_has_its_spelling_and_a_term() -> None:
    node = read_node("(Start Match.7)")
    assert [item.text for item in node.items] == ["Start", "Match.7"]


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("(a\n  (b c)", "f.kif:1:1", "'(' is never closed"),
        ("(a)\n (b (c)", "f.kif:2:2", "'(' is never closed"),
        ("(a)\n  )", "f.kif:2:3", "unexpected ')'"),
        ("", "f.kif:1:1", "nothing to read"),
        ("a\n b", "f.kif:2:2", "more than one expression"),
        ("(a ())", "f.kif:1:4", "a term starts with a name"),
        ("((a b) c)", "f.kif:1:1", "a term starts with a name"),
    ],
)
def test_bad_text_has_its_place(text: str, place: str, message: str) -> None:
    with pytest.raises(ReadError) as caught:
        read_term(text, "f.kif")
    assert str(caught.value) == f"{place}: {message}"


@pytest.mark.parametrize("text", ["(" * 100_000, "(f " * 100_000 + "a" + ")" * 100_000, ")" * 100_000])
def test_no_nesting_overflows_a_stack(text: str) -> None:
    with pytest.raises(ReadError):
        read(text)


def test_the_deepest_term_works_everywhere() -> None:
    text = "(f " * MAX_NESTING + "?x" + ")" * MAX_NESTING
    term = read_term(text)
    assert depth(term) == MAX_NESTING
    assert variables(term) == ("?x",)
    assert not is_ground(term)
    ground = substitute(term, {"?x": "a"})
    assert match(term, ground, {}) == {"?x": "a"}
    assert sum(1 for _ in subterms(ground)) == MAX_NESTING + 1
    assert hash(ground) == hash(read_term(to_text(ground)))
    with pytest.raises(ReadError, match=f"nested deeper than {MAX_NESTING} levels"):
        read(f"(f {text})")


def test_half_a_character_is_no_text() -> None:
    with pytest.raises(ReadError, match=r"^game:2:4: U\+D800 is half a character$"):
        read("(a)\n(b \ud800)", "game")
    with pytest.raises(GgpError, match="half a character"):
        load_text("(role \udfff)")


def test_bytes_that_are_not_utf_8_have_their_place() -> None:
    with pytest.raises(ReadError, match=r"^f\.kif:2:3: byte 0xff is not UTF-8$"):
        decode("(a)\n(ä".encode() + b"\xff)", "f.kif")


def test_matching_binds_each_variable_once() -> None:
    assert match(("p", "?x", "?x"), ("p", "a", "a"), {}) == {"?x": "a"}
    assert match(("p", "?x", "?x"), ("p", "a", "b"), {}) is None
    assert match(("p", "?x"), ("p", ("f", "a")), {}) == {"?x": ("f", "a")}
    assert match(("p", ("f", "?x")), ("p", "a"), {}) is None
    assert match(("p", "?x"), ("p", "a"), {"?x": "b"}) is None

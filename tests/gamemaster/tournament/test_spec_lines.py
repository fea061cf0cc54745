"""Lines of what a text in TOML says; the texts say as numbers on which line they stand."""

import tomllib
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamemaster.tournament.spec_files import Place, key_lines, line_of

TEXT = r'''a = 1  # a comment = 2
"b c" = 2
'd.e'.f . "g" = 3

[table]
h = [  # [
  7, [7, 7],
  { x = 8, y.z = [8, { w = 8 }] },
]
text = "]#\""
several = """
# = 5 ]
\""" and "quoted"""""
literal = @@@
[[no]]
''@@@
i = 17
[ table . "sub table" ]
j = 19
k = 2020-01-01T00:00:00Z
'l' = 21
[[array]]
m = 23
[array.inner]
n = 25
[[array.deep]]
o = 27
[[array.deep]]
o = 29
[array.deep.under]
p = 31
[[array]]
m = 33
inner.n = 34
[[array.deep]]
o = 36
[[ "array" . 'deep' ]]
o = 38
q = {}
r = [
]
s = 42'''.replace("@@@", "'''")


def numbers(value: object, path: Place = ()) -> Iterator[tuple[Place, int]]:
    match value:
        case int():
            yield path, value
        case dict():
            for key, each in value.items():
                yield from numbers(each, (*path, key))
        case list():
            for index, each in enumerate(value):
                yield from numbers(each, (*path, index))


@pytest.mark.parametrize("text", [TEXT, TEXT.replace("\n", "\r\n")])
def test_every_value_is_on_its_line(text: str) -> None:
    lines = key_lines(text)
    found = list(numbers(tomllib.loads(text)))
    assert len(found) == 22
    assert [(path, lines[path]) for path, _ in found] == found


def test_tables_begin_at_their_headers() -> None:
    lines = key_lines(TEXT)
    assert lines["table",] == 5
    assert lines["table", "sub table"] == 18
    assert lines["array",] == lines["array", 0] == 22
    assert [lines["array", 0, "deep", number] for number in range(2)] == [26, 28]
    assert lines["array", 0, "deep", 1, "under"] == 30
    assert lines["array", 1] == 32


def test_what_is_not_there_is_at_its_table() -> None:
    assert line_of(TEXT, ("array", 1, "inner", "absent")) == 34
    assert line_of(TEXT, ("array", 1, "absent", "absent")) == 32
    assert line_of(TEXT, ("array", 9)) == 22
    assert line_of(TEXT, ("absent",)) == 1
    assert line_of("", ()) == 1
    assert line_of("a = [", ("a",)) is None
    assert line_of("a = " + "[" * 100_000, ("a",)) is None


KEYS = st.sampled_from(["a", "b-c", '"d e"', "'f.g'", '"\\u0041#="', '"]"'])
STRINGS = st.sampled_from(
    ['"x"', "'\\'", '"\\"#"', '"""\n[a]\n"""', "'''\n'''", '""', "''", '"""x\\\n  y"""', '"""a""b"""']
)


@st.composite
def values(draw: st.DrawFn, depth: int = 2) -> str:
    """A value with @ for the number of its line."""
    kind = draw(st.integers(0, 3 if depth else 1))
    if kind == 0:
        return "@"
    if kind == 1:
        return draw(STRINGS)
    items = draw(st.lists(values(depth - 1), max_size=3))
    if kind == 2:
        blank = draw(st.sampled_from(["", " ", "\n", " # ]\n"]))
        return f"[{blank}" + "".join(f"{item} {blank}, {blank}" for item in items) + "]"
    keys = draw(st.lists(KEYS, min_size=len(items), max_size=len(items), unique=True))
    return "{" + ", ".join(f"{key} = {item}" for key, item in zip(keys, items, strict=True)) + "}"


@given(st.lists(st.tuples(KEYS, values()), max_size=6), st.lists(st.sampled_from(["\n", "# x = [\n", ""]), min_size=6))
def test_every_value_of_any_text_is_on_its_line(pairs: list[tuple[str, str]], between: list[str]) -> None:
    text = "".join(
        f"{gap}[[{'x.y' if number % 2 else 'x'}]]\n{key} = {value}\n"
        for number, ((key, value), gap) in enumerate(zip(pairs, between, strict=False))
    )
    text = "\n".join(line.replace("@", str(number)) for number, line in enumerate(text.split("\n"), 1))
    lines = key_lines(text)
    for path, number in numbers(tomllib.loads(text)):
        assert lines[path] == number, text

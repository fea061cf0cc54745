"""What gringo writes, read back."""

import pytest

from ggp.errors import GroundingError
from ggp.grounding.aspif import parse_aspif, parse_names
from ggp.grounding.gringo import Budget, OverBudgetError, run_gringo

TEXT = b"""asp 1 0 0
1 1 1 1 0 0
1 0 1 2 0 2 1 -3
1 0 1 3 0 0
1 1 1 14 0 1 2
1 0 1 105 0 1 14
4 1 a 1 14
4 6 b(c,d) 0
4 1 c 1 105
0
"""


def test_rules_and_names() -> None:
    aspif = parse_aspif(TEXT)
    assert aspif.heads.tolist() == [2, 3, 105]
    assert aspif.first_literal.tolist() == [0, 2, 2, 3]
    assert aspif.literals.tolist() == [1, -3, 14]
    assert aspif.names == (b"a", b"b(c,d)", b"c")
    assert aspif.named.tolist() == [14, 0, 105]
    assert parse_names(TEXT) == [b"a", b"b(c,d)", b"c"]


def test_an_output_that_breaks_off() -> None:
    with pytest.raises(ValueError, match="breaks off"):
        parse_aspif(TEXT[:-4])


def test_gringo_writes_that() -> None:
    aspif = parse_aspif(run_gringo(b"{a}. b :- a, not c. {c} :- a. #show b/0.", Budget()))
    (b,) = aspif.named.tolist()
    assert aspif.names == (b"b",)
    assert aspif.heads.tolist() == [b]
    assert sorted(literal < 0 for literal in aspif.literals) == [False, True]


def test_gringo_ends_before_it_has_read_everything() -> None:
    with pytest.raises(OverBudgetError, match="ran out of time"):
        run_gringo(b"a." * 1_000_000, Budget(seconds=0.0))


def test_gringo_refuses_what_is_no_program() -> None:
    with pytest.raises(GroundingError, match=r"gringo failed .* syntax error"):
        run_gringo(b"a :- :-.", Budget())

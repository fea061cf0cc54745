"""A player's own evaluation as text: what is said is read again, and nothing else is."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ggp.errors import MessageError
from ggp.gdl.terms import Term, to_text
from ggp.protocol.evaluation import (
    MOST_CHARACTERS,
    MOST_STEPS,
    Evaluation,
    format_evaluation,
    parse_evaluation,
    rounded,
)

VARIATION = (("(mark 1 1)", "noop"), ("noop", "(mark 2 2)"))


def test_all_of_it_as_text() -> None:
    evaluation = Evaluation(
        value=53.234,
        lower=12.5,
        upper=100,
        visits=1234,
        prior=0.123456,
        playouts_per_second=51_234.6,
        seconds=1.98765,
        trained_seconds=1_200.04,
        principal_variation=VARIATION,
    )
    text = format_evaluation(evaluation)
    assert text == (
        '{"value":53.23,"lower":12.5,"upper":100.0,"visits":1234,"prior":0.1235,"playouts_per_second":51235.0,'
        '"seconds":1.988,"trained_seconds":1200.0,"principal_variation":"((mark 1 1) noop) (noop (mark 2 2))"}'
    )
    assert parse_evaluation(text) == rounded(evaluation)


def test_what_is_not_known_is_not_said() -> None:
    assert format_evaluation(Evaluation(value=0.0)) == '{"value":0.0}'
    assert format_evaluation(Evaluation(principal_variation=(("up",), ("(move a)",)))) == (
        '{"principal_variation":"(up) ((move a))"}'
    )


def test_the_names_of_0_1_are_read() -> None:
    """Of bots that run elsewhere, and of records."""
    found = parse_evaluation('{"low":10,"high":20,"line":"(up) ((move a))"}')
    assert found == Evaluation(lower=10, upper=20, principal_variation=(("up",), ("(move a)",)))
    assert Evaluation.model_validate_json('{"low":10,"high":20,"line":[["up"],["(move a)"]]}') == found


words = st.sampled_from(["a", "noop", "é", "17", "{", '"', "\\"])
terms = st.recursive(
    words, lambda part: st.tuples(st.just("f"), part) | st.tuples(st.just("f"), part, part), max_leaves=8
)


@given(
    st.lists(st.floats(0, 100), min_size=3, max_size=3).map(sorted),
    st.integers(0, 2**40),
    st.floats(0, 1e6),
    st.floats(0, 60),
    st.lists(st.tuples(terms, terms), max_size=MOST_STEPS),
)
def test_what_is_said_is_read_again(
    bounds: list[float], visits: int, rate: float, seconds: float, steps: list[tuple[Term, Term]]
) -> None:
    lower, value, upper = bounds
    variation = tuple(tuple(map(to_text, step)) for step in steps)
    evaluation = Evaluation(
        value=value, lower=lower, upper=upper, visits=visits, playouts_per_second=rate, seconds=seconds,
        principal_variation=variation,
    )  # fmt: skip
    text = format_evaluation(evaluation)
    found = parse_evaluation(text)
    assert text.isascii()
    assert found == rounded(evaluation) or len(found.principal_variation) < len(variation)


def test_the_end_of_a_long_line_is_left_out() -> None:
    step = (f"(long {'x' * 400})",)
    text = format_evaluation(Evaluation(value=50.0, principal_variation=(step,) * MOST_STEPS))
    assert len(text) <= MOST_CHARACTERS
    assert parse_evaluation(text) == Evaluation(value=50.0, principal_variation=(step,) * 4)
    assert (
        format_evaluation(Evaluation(value=50.0, principal_variation=((f"(long {'é' * 400})",),))) == '{"value":50.0}'
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[50]", "not a JSON object"),
        ("null", "not a JSON object"),
        ("{}", "nothing is said"),
        ('{"visits":5}', "nothing is said"),
        ('{"value":null}', "nothing is said"),
        ('{"value":"50"}', "value: Input should be a valid number"),
        ('{"value":true}', "value: Input should be a valid number"),
        ('{"value":-1}', "value: Input should be greater than or equal to 0"),
        ('{"value":100.5}', "value: Input should be less than or equal to 100"),
        ('{"value":NaN}', "not JSON"),
        ('{"value":Infinity}', "not JSON"),
        ('{"value":1e999}', "value: Input should be a finite number"),
        (f'{{"value":{"9" * 1000}}}', "value: Input should be"),
        ('{"value":50,"lower":10}', "lower and upper belong together"),
        ('{"lower":60,"upper":40}', "the value is not between lower and upper"),
        ('{"value":50,"lower":60,"upper":70}', "the value is not between lower and upper"),
        ('{"value":50,"visits":1.5}', "visits: Input should be a valid integer"),
        ('{"value":50,"visits":-1}', "visits: Input should be greater"),
        ('{"value":50,"playouts_per_second":1e300}', "playouts_per_second: Input should be less"),
        ('{"value":50,"seconds":-0.1}', "seconds: Input should be greater"),
        ('{"value":50,"colour":"red"}', "no field is called 'colour'"),
        ('{"value":50,"principal_variation":["(a)"]}', "the variation is not printable text"),
        ('{"value":50,"principal_variation":"(a\\u001b[31m)"}', "the variation is not printable text"),
        ('{"value":50,"principal_variation":"(a \\ud800)"}', "the variation is not printable text"),
        ('{"value":50,"principal_variation":"(a"}', "'(' is never closed"),
        ('{"value":50,"principal_variation":"a b"}', "a step of the variation is no list of moves"),
        ('{"value":50,"principal_variation":"()"}', "a step of the variation is no list of moves"),
        ('{"value":50,"principal_variation":"(((a) b))"}', "a term starts with a name"),
        (f'{{"value":50,"principal_variation":"{"(a) " * 9}"}}', "should have at most 8 items"),
        (f'{{"value":50,"principal_variation":"{"(" * 900}{")" * 900}"}}', "nested deeper than"),
        ("[" * 1900, "not JSON"),
        ('{"value":50,"principal_variation":"(é)"}', "not ASCII"),
        (f'{{"value":50,"principal_variation":"({"x" * 2000})"}}', "more than 2000 characters"),
    ],
)
def test_anything_else_is_refused(text: str, reason: str) -> None:
    with pytest.raises(MessageError) as caught:
        parse_evaluation(text)
    assert reason in str(caught.value)


@pytest.mark.parametrize("text", [json.dumps({"value": 50, "principal_variation": ""}), ' {"value": 50} '])
def test_spaces_and_an_empty_line_do_no_harm(text: str) -> None:
    assert parse_evaluation(text) == Evaluation(value=50)

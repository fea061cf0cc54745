"""A player's own evaluation as text: what is said is read again, and nothing else is."""

import json
from random import Random

import pytest

from ggp.errors import MessageError
from ggp.gdl.terms import Term
from ggp.protocol.evaluation import (
    MOST_CHARACTERS,
    MOST_STEPS,
    Evaluation,
    format_evaluation,
    parse_evaluation,
    rounded,
)

LINE = ((("mark", "1", "1"), "noop"), ("noop", ("mark", "2", "2")))


def test_all_of_it_as_text() -> None:
    evaluation = Evaluation(53.234, 12.5, 100, 1234, 51_234.6, 1.98765, LINE)
    text = format_evaluation(evaluation)
    assert text == (
        '{"value":53.23,"low":12.5,"high":100,"visits":1234,"playouts_per_second":51235.0,"seconds":1.988,'
        '"line":"((mark 1 1) noop) (noop (mark 2 2))"}'
    )
    assert parse_evaluation(text) == rounded(evaluation)


def test_what_is_not_known_is_not_said() -> None:
    assert format_evaluation(Evaluation(0.0)) == '{"value":0.0}'
    assert format_evaluation(Evaluation(line=(("up",), (("move", "a"),)))) == '{"line":"(up) ((move a))"}'
    assert parse_evaluation('{"line":"(up) ((move a))"}').line == (("up",), (("move", "a"),))


@pytest.mark.parametrize("seed", range(50))
def test_what_is_said_is_read_again(seed: int) -> None:
    rng = Random(seed)
    low, value, high = sorted(rng.uniform(0, 100) for _ in range(3))

    def term(depth: int = 0) -> Term:
        if depth == 3 or rng.random() < 0.5:
            return rng.choice(["a", "noop", "é", "17", "{", '"', "\\"])
        return ("f", *(term(depth + 1) for _ in range(rng.randint(1, 3))))

    line = tuple((term(), term()) for _ in range(rng.randrange(MOST_STEPS + 1)))
    evaluation = Evaluation(value, low, high, rng.randrange(2**40), rng.uniform(0, 1e6), rng.uniform(0, 60), line)
    text = format_evaluation(evaluation)
    found = parse_evaluation(text)
    assert text.isascii()
    assert found == rounded(evaluation) or len(found.line) < len(line)


def test_the_end_of_a_long_line_is_left_out() -> None:
    step = (("long", "x" * 400),)
    text = format_evaluation(Evaluation(50.0, line=(step,) * MOST_STEPS))
    assert len(text) <= MOST_CHARACTERS
    assert parse_evaluation(text) == Evaluation(50.0, line=(step,) * 4)
    assert format_evaluation(Evaluation(50.0, line=((("long", "é" * 400),),))) == '{"value":50.0}'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[50]", "not a JSON object"),
        ("null", "not a JSON object"),
        ("{}", "nothing is said"),
        ('{"visits":5}', "nothing is said"),
        ('{"value":"50"}', "value is no number"),
        ('{"value":true}', "value is no number"),
        ('{"value":null}', "value is no number"),
        ('{"value":-1}', "value is not between 0 and 100"),
        ('{"value":100.5}', "value is not between 0 and 100"),
        ('{"value":NaN}', "not JSON"),
        ('{"value":Infinity}', "not JSON"),
        ('{"value":1e999}', "value is not between 0 and 100"),
        (f'{{"value":{"9" * 1000}}}', "value is not between 0 and 100"),
        ('{"value":50,"low":10}', "low and high belong together"),
        ('{"low":60,"high":40}', "the value is not between low and high"),
        ('{"value":50,"low":60,"high":70}', "the value is not between low and high"),
        ('{"value":50,"visits":1.5}', "visits is no whole number"),
        ('{"value":50,"visits":-1}', "visits is not between"),
        ('{"value":50,"playouts_per_second":1e300}', "playouts_per_second is not between"),
        ('{"value":50,"seconds":-0.1}', "seconds is not between"),
        ('{"value":50,"colour":"red"}', "no field is called 'colour'"),
        ('{"value":50,"line":["(a)"]}', "the line is not printable text"),
        ('{"value":50,"line":"(a\\u001b[31m)"}', "the line is not printable text"),
        ('{"value":50,"line":"(a \\ud800)"}', "the line is not printable text"),
        ('{"value":50,"line":"(a"}', "'(' is never closed"),
        ('{"value":50,"line":"a b"}', "a step of the line is no list of moves"),
        ('{"value":50,"line":"()"}', "a step of the line is no list of moves"),
        ('{"value":50,"line":"(((a) b))"}', "a term starts with a name"),
        (f'{{"value":50,"line":"{"(a) " * 9}"}}', "a line of more than 8 steps"),
        (f'{{"value":50,"line":"{"(" * 900}{")" * 900}"}}', "nested deeper than"),
        ("[" * 1900, "not JSON"),
        ('{"value":50,"line":"(é)"}', "not ASCII"),
        (f'{{"value":50,"line":"({"x" * 2000})"}}', "more than 2000 characters"),
    ],
)
def test_anything_else_is_refused(text: str, reason: str) -> None:
    with pytest.raises(MessageError) as caught:
        parse_evaluation(text)
    assert reason in str(caught.value)


@pytest.mark.parametrize("text", [json.dumps({"value": 50, "line": ""}), ' {"value": 50} '])
def test_spaces_and_an_empty_line_do_no_harm(text: str) -> None:
    assert parse_evaluation(text) == Evaluation(50)

"""Stage 7, protocol: dialogues from text files, both directions."""

import pytest

from ggp.errors import MessageError
from ggp.gdl.terms import to_text
from ggp.protocol.messages import (
    InfoReply,
    format_info,
    format_message,
    parse_info,
    parse_message,
    parse_move,
    parse_word,
)
from tests.protocol.dialogues import Exchange, exchanges, message_of, terms

EXCHANGES = exchanges()


@pytest.mark.parametrize("exchange", EXCHANGES, ids=lambda exchange: exchange.request[:40])
def test_request_means_what_the_dialogue_says(exchange: Exchange) -> None:
    assert parse_message(exchange.request) == message_of(exchange.meaning)


@pytest.mark.parametrize("exchange", [e for e in EXCHANGES if e.is_written], ids=lambda exchange: exchange.request[:40])
def test_meaning_is_written_as_the_dialogue_says(exchange: Exchange) -> None:
    assert format_message(message_of(exchange.meaning), exchange.dialect) == exchange.request


@pytest.mark.parametrize("exchange", EXCHANGES, ids=lambda exchange: exchange.answer[:40])
def test_answer_means_what_the_dialogue_says(exchange: Exchange) -> None:
    match exchange.answer_meaning:
        case {"move": move}:
            assert parse_move(exchange.answer) == terms(move)[0]
        case {"word": word}:
            assert parse_word(exchange.answer) == word
        case {"name": name, "status": status, "species": species}:
            assert parse_info(exchange.answer) == InfoReply(name, status, species)
        case other:
            pytest.fail(f"no meaning: {other}")


def test_info_is_written_as_the_dialogue_says() -> None:
    answers = [e.answer for e in EXCHANGES if e.is_written and "name" in e.answer_meaning]
    assert answers
    for answer in answers:
        assert format_info(parse_info(answer)) == answer


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "nothing to read"),
        ("; only a comment", "nothing to read"),
        ("( INFO", "message:1:1: '(' is never closed"),
        ("(INFO))", "message:1:7: unexpected ')'"),
        ("(INFO) (INFO)", "more than one expression"),
        ("()", "starts with a word"),
        ("((START) m)", "starts with a word"),
        ("GET / HTTP/1.1", "more than one expression"),
        ("(jump m)", "called 'jump'"),
        ("(START m white ((role white)) 5)", "START has 4 arguments but needs 5"),
        ("(START m white rules 5 5)", "rules are a list"),
        ("(START m white ((role white)) five 5)", "the startclock is a whole number, not five"),
        ("(START m white ((role white)) 5 -5)", "the playclock is a whole number"),
        ("(START m white ((role white)) 5 9999999999)", "a whole number of at most 9 digits, not 9999999999"),
        (
            f"(START m white ((role white)) 1{'0' * 50} 5)",
            f"the startclock is a whole number of at most 9 digits, not 1{'0' * 39}…",
        ),
        ("(START (m) white ((role white)) 5 5)", "the name of a match is one word"),
        ("(PLAY m)", "PLAY has 2 arguments or, in GDL-II, 4, not 1"),
        ("(PLAY m 1 noop)", "not 3"),
        ("(PLAY m (()))", "a term starts with a name"),
        ("(PLAY m (((a) b)))", "a term starts with a name"),
        ("(PLAY m one noop ())", "the turn is a whole number, not one"),
        ("(STOP m 1 noop (((a b) c)))", "a term starts with a name"),
        ("(ABORT)", "ABORT has 0 arguments but needs 1"),
        ("(" * 100_000, "nested deeper"),
    ],
)
def test_what_is_no_message_is_refused_with_one_clear_line(text: str, why: str) -> None:
    with pytest.raises(MessageError) as caught:
        parse_message(text)
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "noop noop", "(mark 1 1", "()", "((a b) c)", "(explanation x) (mark 1 1)", "\x00("]
)
def test_what_is_no_move_is_refused(text: str) -> None:
    with pytest.raises(MessageError):
        parse_move(text)


def test_remark_that_could_be_an_argument_stays() -> None:
    assert to_text(parse_move("(say (taunt 1))")) == "(say (taunt 1))"


@pytest.mark.parametrize("text", ["", "ready steady", "(ready steady)", "()"])
def test_what_is_no_word_is_refused(text: str) -> None:
    with pytest.raises(MessageError):
        parse_word(text)


@pytest.mark.parametrize("text", ["", "((mood fine))", "free beer", "(() ())"])
def test_what_is_no_info_is_refused(text: str) -> None:
    with pytest.raises(MessageError):
        parse_info(text)


def test_names_become_one_word_in_info() -> None:
    assert parse_info(format_info(InfoReply("my (own) bot; 1", "available", "alien"))).name == "my_own_bot_1"

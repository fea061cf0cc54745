"""Stage 7, protocol: what is written reads back to the same message, in both dialects."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ggp.errors import MessageError
from ggp.gdl.rulesheet import kif, parse_rulesheet
from ggp.gdl.terms import Term, to_text
from ggp.protocol.messages import (
    Abort,
    Dialect,
    Info,
    Message,
    Ping,
    Play,
    PlayPercepts,
    Preview,
    Start,
    Stop,
    StopPercepts,
    format_message,
    parse_message,
    parse_move,
    same_match,
    unread_start,
)
from ggp.protocol.scramble import plain_rules

WORDS = st.text("abcxyz0123456789_-+?.ßı€", min_size=1, max_size=6).filter(lambda word: word == word.lower())
TERMS: st.SearchStrategy[Term] = st.recursive(
    WORDS,
    lambda inner: st.builds(lambda name, rest: (name, *rest), WORDS, st.lists(inner, min_size=1, max_size=3)),
    max_leaves=8,
)
MATCHES = st.text("aZ09._-", min_size=1, max_size=8)
MOVES = st.none() | st.lists(TERMS, max_size=4).map(tuple)
NUMBERS = st.integers(0, 10**8)
RULES = st.lists(TERMS, min_size=1, max_size=5).map(lambda rules: "\n".join(map(to_text, rules)))
LAST = st.none() | TERMS.filter(lambda term: term != "nil")
PERCEPTS = st.lists(TERMS, max_size=4).map(tuple)
MESSAGES: st.SearchStrategy[Message] = st.one_of(
    st.just(Info()),
    st.just(Ping()),
    st.builds(Preview, RULES, NUMBERS),
    st.builds(Start, MATCHES, WORDS, RULES, NUMBERS, NUMBERS),
    st.builds(Play, MATCHES, MOVES),
    st.builds(Stop, MATCHES, MOVES),
    st.builds(PlayPercepts, MATCHES, NUMBERS, LAST, PERCEPTS),
    st.builds(StopPercepts, MATCHES, NUMBERS, LAST, PERCEPTS),
    st.builds(Abort, MATCHES),
)


@settings(deadline=None)
@given(MESSAGES, st.sampled_from(Dialect))
def test_message_reads_back(message: Message, dialect: Dialect) -> None:
    text = format_message(message, dialect)
    assert "\n" not in text
    assert parse_message(text) == message


@settings(deadline=None)
@given(TERMS)
def test_move_reads_back(move: Term) -> None:
    assert parse_move(to_text(move)) == move
    assert parse_move(f"{to_text(move)} (taunt so there)") == move


@settings(deadline=None)
@given(st.text(max_size=60) | st.text("() ;aplystor1\n", max_size=60))
def test_any_text_is_a_message_or_a_message_error(text: str) -> None:
    with contextlib.suppress(MessageError):
        parse_message(text)


def test_rules_come_out_as_kif_prints_them() -> None:
    rulesheet = parse_rulesheet("(ROLE a) ; who\n(<= terminal (or) (not (true (p ?X))))\n(init (p 1))")
    message = Start("m", "a", plain_rules(rulesheet), 1, 1)
    for dialect in Dialect:
        read = parse_message(format_message(message, dialect))
        assert isinstance(read, Start)
        assert tuple(read.rules.splitlines()) == kif(rulesheet)


@settings(deadline=None)
@given(st.builds(Start, MATCHES, WORDS, RULES, NUMBERS, NUMBERS), st.sampled_from(Dialect))
def test_start_is_understood_before_its_rules_are_read(message: Start, dialect: Dialect) -> None:
    found = unread_start(format_message(message, dialect))
    assert found is not None
    again = parse_message(format_message(found))
    assert again == message


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("\ufeff ( start m A ; who\n ((role a)) 1 2 )", None),
        ("\ufeff ( start m A((role a) ; (\n(Role b))1 2 extra )\n", "(role a) ; (\n(Role b)"),
        ("(START m a ((role a)) 1 2 (extra))", None),
        ("(START m a rules 1 2)", None),
        ("(START m a) 1 2)", None),
        ("(PREVIEW ((role a)) 1 2)", None),
        ("(START m a ((role a)) one 2)", None),
    ],
)
def test_odd_start_is_left_to_the_parser(text: str, rules: str | None) -> None:
    assert unread_start(text) == (None if rules is None else Start("m", "a", rules, 1, 2))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(STOP m)", Stop("m", None)),
        ("(STOP m (a b) 7)", Stop("m", ("a", "b"))),
        ("(PLAY m (a b) extra)", Play("m", ("a", "b"))),
        ("(PLAY m NIL extra (more) 3)", Play("m", None)),
        ("(PLAY m () a b)", Play("m", ())),
        ("(PLAY m 1 a (p) extra)", PlayPercepts("m", 1, "a", ("p",))),
        ("(STOP m 1 NIL NIL extra)", StopPercepts("m", 1, None, ())),
    ],
)
def test_missing_and_extra_parts_are_understood(text: str, message: Message) -> None:
    assert parse_message(text) == message


def test_dresden_is_in_upper_case_but_for_the_match() -> None:
    text = format_message(Start("m.a", "white", "(role white)", 5, 5), Dialect.DRESDEN)
    assert text == "(START m.a WHITE ((ROLE WHITE)) 5 5)"
    assert format_message(Play("m", (("é", "ασ"),)), Dialect.DRESDEN) == "(PLAY m ((É ασ)))"


@pytest.mark.parametrize("word", ["ασ", "ας", "σ", "ασα", "straße", "ılık", "ǆ", "éa"])
def test_dresdens_upper_case_comes_back(word: str) -> None:
    play = Play("m", ((word, "1"), word))
    assert parse_message(format_message(play, Dialect.DRESDEN)) == play


@pytest.mark.parametrize("name", ["", "two words", "(list)", "a;b"])
def test_a_name_of_several_words_is_refused(name: str) -> None:
    with pytest.raises(MessageError, match="is not one word"):
        format_message(Abort(name))


def test_matches_are_compared_without_case() -> None:
    assert same_match("Match.A", "mATCH.a")
    assert not same_match("Match.A", "Match.B")

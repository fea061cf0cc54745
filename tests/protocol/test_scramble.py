"""Stage 7, protocol: scrambled rules are the same rules, and every term finds its way back."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ggp.gdl.reader import read_term
from ggp.gdl.rulesheet import KEYWORDS, parse_rulesheet, rule_term
from ggp.gdl.terms import Term, to_text, variables
from ggp.protocol.scramble import Scrambler

TEXT = """
(role white) (role random)
(base (cell 1 2 empty)) (input white (put ?x)) (sees white (cell 1 2 empty))
(init (cell 1 2 empty)) (init (babe 10))
(<= (legal ?r (put ?cell)) (role ?r) (true (cell 1 ?cell ?what)) (or (not open) (distinct ?cell 2)))
(<= (next (cell 1 2 ?r)) (does ?r (put 2)) (and open (true (babe ?y))))
(<= terminal (true (cell 1 2 random)))
(<= open (or))
(goal white 100)
"""
RULESHEET = parse_rulesheet(TEXT)
FREE = {"cell", "empty", "white", "put", "babe", "open", "?r", "?x", "?y", "?cell", "?what"}


def shape(term: Term, names: dict[Term, int]) -> object:
    """The term with each word replaced by the order of its first appearance, keywords and integers kept."""
    if isinstance(term, tuple):
        return [shape(part, names) for part in term]
    if term in KEYWORDS or term.isdigit():
        return term
    return (term.startswith("?"), names.setdefault(term, len(names)))


@settings(deadline=None)
@given(st.integers())
def test_scrambled_rules_differ_only_in_words(seed: int) -> None:
    scrambled = parse_rulesheet(Scrambler(RULESHEET, seed).rules)
    old_names: dict[Term, int] = {}
    new_names: dict[Term, int] = {}
    old = [shape(rule_term(rule), old_names) for rule in RULESHEET.rules]
    assert [shape(rule_term(rule), new_names) for rule in scrambled.rules] == old
    assert set(old_names) == FREE
    assert not set(new_names) & (FREE | {word.lstrip("?") for word in FREE} | KEYWORDS)
    assert all(re.fullmatch(r"\??[a-z]+", str(word)) for word in new_names)


@settings(deadline=None)
@given(st.integers())
def test_terms_come_back(seed: int) -> None:
    scrambler = Scrambler(RULESHEET, seed)
    for rule in RULESHEET.rules:
        term = rule_term(rule)
        hidden = scrambler.hide(term)
        assert scrambler.reveal(hidden) == term
        assert len(variables(hidden)) == len(variables(term))


@pytest.mark.parametrize("text", ["(tile 3 a)", "nil", "?other", "-7", "(does random 5)"])
def test_unknown_words_keywords_and_integers_pass_both_ways(text: str) -> None:
    scrambler = Scrambler(RULESHEET, 1)
    assert to_text(scrambler.hide(read_term(text))) == text
    assert to_text(scrambler.reveal(read_term(text))) == text


def test_same_seed_same_words_other_seed_other_words() -> None:
    assert Scrambler(RULESHEET, 5).rules == Scrambler(RULESHEET, 5).rules
    assert Scrambler(RULESHEET, 5).rules != Scrambler(RULESHEET, 6).rules


def test_rules_are_one_a_line() -> None:
    assert len(Scrambler(RULESHEET, 5).rules.splitlines()) == len(RULESHEET.rules)


def test_rulesheet_that_uses_up_all_short_words() -> None:
    syllables = [consonant + vowel for consonant in "bdfghjklmnprstvwz" for vowel in "aeiou"]
    old = sorted({first + second for first in syllables for second in syllables} - KEYWORDS)
    new = Scrambler(parse_rulesheet("\n".join(old)), 0).rules.splitlines()
    assert len(set(new)) == len(old)
    assert not set(new) & set(old)

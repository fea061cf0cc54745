"""Rulesheet → the same rules in words that mean nothing, and terms both ways."""

import re
from collections.abc import Iterator, Mapping
from random import Random

from ggp.gdl.rulesheet import KEYWORDS, Rulesheet, kif, rule_term
from ggp.gdl.terms import Term, to_text

_INTEGER = re.compile(r"[+-]?[0-9]+")
_PROTOCOL_WORDS = frozenset({"nil", "info", "preview", "start", "play", "stop", "abort", "explanation", "taunt"})
_CONSONANTS = "bdfghjklmnprstvwz"
_VOWELS = "aeiou"


class Scrambler:
    """Replaces constants, functions, relations and variables; keywords, integers and unknown words stay."""

    def __init__(self, rulesheet: Rulesheet, seed: int) -> None:
        words = dict.fromkeys(word for rule in rulesheet.rules for word in _words(rule_term(rule)))
        self._hidden = _replacements(tuple(words), Random(seed))  # noqa: S311 - not for secrets
        self._revealed = {new: old for old, new in self._hidden.items()}
        self.rules = "\n".join(to_text(self.hide(rule_term(rule))) for rule in rulesheet.rules)

    def hide(self, term: Term) -> Term:
        """The term as the player is told it."""
        return _replace(term, self._hidden)

    def reveal(self, term: Term) -> Term:
        """The term that the player means."""
        return _replace(term, self._revealed)


def plain_rules(rulesheet: Rulesheet) -> str:
    """The rules as START carries them when nothing is scrambled: one a line."""
    return "\n".join(kif(rulesheet))


def _words(term: Term) -> Iterator[str]:
    """All words of a term, names of functions included, in the order of the text."""
    stack = [term]
    while stack:
        part = stack.pop()
        if isinstance(part, str):
            yield part
        else:
            stack.extend(reversed(part))


def _replacements(words: tuple[str, ...], rng: Random) -> dict[str, str]:
    taken = {word.lstrip("?") for word in words} | KEYWORDS | _PROTOCOL_WORDS
    hidden: dict[str, str] = {}
    for word in words:
        if word in KEYWORDS or _INTEGER.fullmatch(word):
            continue
        new = _new_word(rng, taken)
        taken.add(new)
        hidden[word] = f"?{new}" if word.startswith("?") else new
    return hidden


def _new_word(rng: Random, taken: set[str]) -> str:
    syllables = 2
    while True:
        for _ in range(20):
            word = "".join(rng.choice(_CONSONANTS) + rng.choice(_VOWELS) for _ in range(syllables))
            if word not in taken:
                return word
        syllables += 1


def _replace(term: Term, words: Mapping[str, str]) -> Term:
    if isinstance(term, str):
        return words.get(term, term)
    return tuple(_replace(part, words) for part in term)

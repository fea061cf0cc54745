"""What a person types → the moves that it may mean."""

import re
from collections.abc import Callable, Sequence

from ggp.errors import ReadError
from ggp.gdl.reader import read_term
from ggp.gdl.terms import to_text

_WORD = re.compile(r"[^\s(),]+")


def find_moves(text: str, legal: Sequence[str]) -> tuple[str, ...]:
    """The legal moves that a text may mean: one where it is clear, none where there is no such move.

    The text is a move, its number in the list (from 1), or a part of it: its arguments, some of its words, beginnings
    of its words, or any letters in it; the first of these that fits some move counts. A number that is also an argument
    means both.
    """
    whole = _as_move(text)
    if whole in legal:
        return (whole,)
    words = _words(text)
    if not words:
        return ()
    numbered = (legal[int(text) - 1],) if text.strip().isdecimal() and 0 < int(text) <= len(legal) else ()
    ways: tuple[Callable[[list[str]], bool], ...] = (
        lambda move: words in (move, move[1:]),
        lambda move: _has_run(move, words),
        lambda move: _has_beginnings(move, words),
    )
    found: tuple[str, ...] = ()
    for way in ways[: 1 if numbered else None]:
        found = tuple(move for move in legal if way(_words(move)))
        if found:
            break
    if not found and not numbered:
        found = tuple(move for move in legal if text.strip().lower() in move)
    return tuple(dict.fromkeys((*numbered, *found)))


def meant_move(text: str, legal: Sequence[str]) -> str:
    """The whole move of which a text may be the arguments, though it is not legal; else the text."""
    words = _words(text)
    forms = {(move[0], len(move)) for move in map(_words, legal) if len(move) > 1}
    fitting = sorted(name for name, length in forms if length == len(words) + 1)
    if text.strip().startswith("(") or len(fitting) != 1 or any(word in dict(forms) for word in words):
        return f"({text.strip()})" if words and words[0] in dict(forms) and not text.strip().startswith("(") else text
    return f"({fitting[0]} {' '.join(words)})"


def _as_move(text: str) -> str:
    """In the spelling of the rules, where it is a term."""
    try:
        return to_text(read_term(text, "move"))
    except ReadError:
        return text


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _has_run(move: Sequence[str], words: Sequence[str]) -> bool:
    return any(list(move[at : at + len(words)]) == list(words) for at in range(len(move) - len(words) + 1))


def _has_beginnings(move: Sequence[str], words: Sequence[str]) -> bool:
    """Whether words of the move begin so, in this order."""
    rest = iter(move)
    return all(any(word.startswith(begun) for word in rest) for begun in words)

"""Rulesheet text → lines of words with their kinds, for a page to colour; broken texts too."""

import re
from dataclasses import dataclass
from typing import Literal

from ggp.gdl.rulesheet import KEYWORDS

Kind = Literal["blank", "comment", "open", "close", "keyword", "variable", "number", "name", "constant"]

_PARTS = re.compile(
    r"[()]|;[^\r\n]*|[^\s();]+|\r\n?|\n|[^\S\r\n]+"
)  # as `ggp.gdl.reader` divides a text, and what is between
_LEVELS = 6  # colours of parentheses


@dataclass(frozen=True, slots=True)
class Word:
    """A piece of a line; `level` counts parentheses around it, and starts again after the last colour."""

    text: str
    kind: Kind
    level: int = 0


def highlighted(text: str) -> list[list[Word]]:
    """The lines of the text; joined with line ends they are the text."""
    lines: list[list[Word]] = [[]]
    depth = 0
    follows_open = False
    for part in _PARTS.findall(text.lstrip("\ufeff")):
        if part[0] in "\r\n":
            lines.append([])
            continue
        if part == "(":
            lines[-1].append(Word(part, "open", depth % _LEVELS))
            depth += 1
        elif part == ")":
            depth = max(depth - 1, 0)
            lines[-1].append(Word(part, "close", depth % _LEVELS))
        else:
            lines[-1].append(Word(part, _kind(part, follows_open=follows_open)))
        if not part.isspace():
            follows_open = part == "("
    return lines


def _kind(part: str, *, follows_open: bool) -> Kind:
    if part.isspace():
        return "blank"
    if part[0] == ";":
        return "comment"
    if part[0] == "?":
        return "variable"
    if part.lower() in KEYWORDS:
        return "keyword"
    if part.lstrip("+-").isdecimal():
        return "number"
    return "name" if follows_open else "constant"

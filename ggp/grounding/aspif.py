"""The text that gringo writes (aspif, the ASP intermediate format) → arrays."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ggp.grounding.rules import Ids, Offsets
from ggp.kernel import kernel

_END = b"\n0\n"
_NEWLINE, _SPACE, _MINUS, _ZERO = 10, 32, 45, 48


@dataclass(frozen=True, slots=True, eq=False)
class Aspif:
    """Rules and names as they were written; atoms count from 1. Choice rules are left out."""

    heads: Ids  # (R,)
    first_literal: Offsets  # (R + 1,)
    literals: Ids  # an atom, or minus an atom
    names: tuple[bytes, ...]
    named: Ids  # the atom that each name stands for; 0: it always holds


def parse_aspif(data: bytes) -> Aspif:
    """The arrays of an output; ValueError when it breaks off."""
    if not data.endswith(_END):
        raise ValueError("the output breaks off")
    text = np.frombuffer(data, np.uint8)
    rule_bound, literal_bound = _count(text)
    heads = np.empty(rule_bound, np.int32)
    first_literal = np.empty(rule_bound + 1, np.int64)
    literals = np.empty(literal_bound, np.int32)
    names = np.empty((rule_bound, 3), np.int64)
    rules, used, shown = _parse(text, heads, first_literal, literals, names)
    spans = names[:shown]
    return Aspif(
        heads[:rules].copy(),
        first_literal[: rules + 1].copy(),
        literals[:used].copy(),
        tuple(data[start:end] for start, end in spans[:, :2].tolist()),
        spans[:, 2].astype(np.int32),
    )


def parse_names(data: bytes) -> list[bytes]:
    """The names of all atoms in an output."""
    at = data.find(b"\n4 ")
    lines = data[at + 1 :].split(b"\n") if at >= 0 else []
    return [line.split(b" ", 3)[2] for line in lines if line.startswith(b"4 ")]


@kernel
def _count(text: NDArray[np.uint8]) -> tuple[int, int]:
    """Lines and spaces: no fewer than the rules and literals."""
    lines = 0
    spaces = 0
    for byte in text:
        lines += byte == _NEWLINE
        spaces += byte == _SPACE
    return lines, spaces


@kernel
def _number(text: NDArray[np.uint8], at: int) -> tuple[int, int]:
    """The number that starts here, and the place behind it and the byte that ends it."""
    sign = 1
    if text[at] == _MINUS:
        sign = -1
        at += 1
    value = 0
    while text[at] >= _ZERO:
        value = 10 * value + text[at] - _ZERO
        at += 1
    return sign * value, at + 1


@kernel
def _parse(
    text: NDArray[np.uint8], heads: Ids, first_literal: Offsets, literals: Ids, names: Offsets
) -> tuple[int, int, int]:
    """Fills the arrays; gives the numbers of rules, literals and names."""
    rules = 0
    used = 0
    shown = 0
    first_literal[0] = 0
    at = 0
    size = len(text)
    while at < size:
        if text[at] == _ZERO + 1:
            choice, at = _number(text, at + 2)
            head_count, at = _number(text, at)
            head = 0
            for _ in range(head_count):
                head, at = _number(text, at)
            _, at = _number(text, at)
            count, at = _number(text, at)
            if choice == 0:
                heads[rules] = head
                for _ in range(count):
                    literal, at = _number(text, at)
                    literals[used] = literal
                    used += 1
                rules += 1
                first_literal[rules] = used
        elif text[at] == _ZERO + 4:
            length, at = _number(text, at + 2)
            names[shown, 0] = at
            names[shown, 1] = at + length
            count, at = _number(text, at + length + 1)
            names[shown, 2] = 0
            for _ in range(count):
                names[shown, 2], at = _number(text, at)
            shown += 1
        else:
            at += 1
        while text[at - 1] != _NEWLINE:
            at += 1
    return rules, used, shown

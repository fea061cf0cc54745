"""Which coordinate runs across, and which way the other one goes: by votes of names and moves, and by customs.

Names vote first, those of variables and of relations that stand for one coordinate: ?row, ?x, (nextfile …). Then moves
that name one coordinate only: a piece that is dropped into a column lands at the low end of the other coordinate, so
that is height. Letters beside numbers are columns, as on a chess board, and numbers then count upwards, as y does too.
Without any of these the first coordinate is the row, counted downwards, and the second the column.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ggp.gdl.logic_program import Clause, Literal, LogicProgram, Relation
from ggp.gdl.rulesheet import name_and_arity
from ggp.gdl.terms import Term

_ACROSS = frozenset(("x", "col", "column", "file", "across", "horizontal"))
_DOWN = frozenset(("row", "down"))
_UP = frozenset(("y", "rank", "height", "level", "vertical"))
_FACTS = frozenset(("true", "next", "init", "base"))
_WORDS = re.compile(r"(next|succ|prev|new|old|my|to|from|adj|cell|plus|minus|any)?_?(row|col|column|file|rank)s?")


@dataclass(frozen=True, slots=True)
class Orientation:
    """How two coordinates, first and second, are drawn."""

    across: int  # which of them is the column: 0 or 1
    is_upward: bool  # the lowest constant of the other stands at the bottom


@dataclass(frozen=True, slots=True)
class Usage:
    """Where a board's coordinates stand: the relation of its facts, and the places of the arguments."""

    relation: Relation
    place: tuple[int, int]


def find_orientation(
    program: LogicProgram,
    usages: Sequence[Usage],
    axes: tuple[tuple[str, ...], tuple[str, ...]],
    columns: Sequence[int],
) -> Orientation:
    """The orientation of a board.

    axes: the constants of both coordinates; columns: coordinates (0 or 1) that moves name without the other one.
    """
    votes = (_votes(program, usages, 0), _votes(program, usages, 1))
    lean = _lean(votes[0]) - _lean(votes[1])
    letters = tuple(all(len(constant) == 1 and constant.isalpha() for constant in axis) for axis in axes)
    if lean:
        across = 0 if lean > 0 else 1
    elif len(set(columns)) == 1:
        across = columns[0]
    elif letters[0] != letters[1]:
        across = 0 if letters[0] else 1
    else:
        across = 1
    down = votes[1 - across]
    if len(set(columns)) == 1:
        return Orientation(across, is_upward=columns[0] == across)
    rows, heights = sum(down[word] for word in _DOWN), sum(down[word] for word in _UP)
    if rows != heights:
        return Orientation(across, is_upward=heights > rows)
    return Orientation(across, is_upward=letters[across] and not letters[1 - across])


def _lean(votes: Counter[str]) -> int:
    """How much more the names speak of a column than of a row."""
    across = sum(votes[word] for word in _ACROSS)
    down = sum(votes[word] for word in _DOWN | _UP)
    return (across > down) - (across < down)


def _votes(program: LogicProgram, usages: Sequence[Usage], coordinate: int) -> Counter[str]:
    """The words that name a coordinate, each once for each rule."""
    votes: Counter[str] = Counter()
    for clauses in program.clauses.values():
        for clause in clauses:
            names = _variables(clause, usages, coordinate)
            if names:
                words = {word for name in names for word in _words(name.lstrip("?"))}
                words |= {
                    word
                    for literal in clause.body
                    if _speaks_of(literal, names)
                    for word in _words(literal.relation[0])
                }
                votes.update(words)
    return votes


def _variables(clause: Clause, usages: Sequence[Usage], coordinate: int) -> set[str]:
    """The variables that stand for the coordinate in a rule."""
    found: set[str] = set()
    for atom in (clause.head, *(literal.atom for literal in clause.body)):
        if not isinstance(atom, str) and name_and_arity(atom)[0] in _FACTS:
            fact = atom[1]
            for usage in usages:
                if name_and_arity(fact) == usage.relation:
                    term: Term = fact[1:][usage.place[coordinate]]
                    if isinstance(term, str) and term.startswith("?"):
                        found.add(term)
    return found


def _speaks_of(literal: Literal, names: set[str]) -> bool:
    """Whether the condition is about these variables and no others."""
    others = {argument for argument in literal.arguments if argument not in names}
    return literal.relation[0] not in _FACTS and len(literal.arguments) <= 2 and len(others) < len(literal.arguments)


def _words(name: str) -> set[str]:
    found = set()
    for part in re.split(r"[_\-+0-9/ ]+", name.lower()):
        match = _WORDS.fullmatch(part)
        word = match[2] if match else part
        if word in _ACROSS | _DOWN | _UP:
            found.add(word)
    return found

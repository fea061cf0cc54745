"""Ground rules, a state and a horizon → an answer set program whose models are lines of moves with the goals wanted.

The rules are written once for each step; a fact of a step is the atom of its `next` in the step before. Text in aspif,
the format that clingo reads (Kaminski, Schaub, Wanko: A Tutorial on Hybrid Answer Set Solving with clingo, 2017).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.grounding import GroundRules
from ggp.grounding.rules import NEVER
from ggp.kernel import kernel

Stream = NDArray[np.int64]  # numbers to be written; NEWLINE ends a line

NEWLINE = np.iinfo(np.int64).min
_HEAD = b"asp 1 0 0\n"


@dataclass(frozen=True, slots=True)
class Wish:
    """What a line is to look like."""

    horizon: int  # steps at most
    goals: frozenset[int]  # values, one of which is to hold at the end
    ordered: bool  # whether a move that was legal before is numbered higher than the move before it


class _Template(NamedTuple):
    """Rules as they are written at any step."""

    numbers: Stream
    atoms: NDArray[np.int64]  # (n,) the atom that stands there, -1 where the number does
    signs: NDArray[np.int64]  # (n,)


class Encoder:
    """Programs for one game with one role."""

    def __init__(self, rules: GroundRules) -> None:
        self.rules = rules
        self._facts, self._moves = len(rules.facts), len(rules.moves[0])
        view = [*rules.legal.tolist(), rules.terminal, *rules.goal_atoms.tolist()]
        self._step = _template(rules, np.array([*rules.next.tolist(), *view]))
        self._end = _template(rules, np.array(view[self._moves :]))
        first_own = rules.atom_count + 1  # the numbers before it are atoms, from 1 on
        self._over, self._won, self._above = first_own, first_own + 1, first_own + 2
        self._stride = first_own + 2 + self._moves + 1
        self._never = 1  # an atom without rules

    @property
    def literals(self) -> int:
        """About how many numbers a program has for each step of its horizon."""
        return len(self._step.numbers) + 10 * self._moves

    def text(self, state: NDArray[np.bool_], wish: Wish) -> bytes:
        """The program; state: (F,) of the ground rules. Output names are the step and the move's number."""
        parts: list[Stream] = []
        atoms = self._first_atoms()
        parts.append(_rows(atoms[np.flatnonzero(state)], [1, 0, 1], [0, 0]))
        for step in range(wish.horizon + 1):
            last = step == wish.horizon
            template = self._end if last else self._step
            known = template.atoms >= 0
            numbers = template.numbers.copy()
            numbers[known] = template.signs[known] * atoms[template.atoms[known]]
            parts += [numbers, self._outcome(step, atoms, wish)]
            following = self._following(step, atoms)
            if not last:
                parts.append(self._choice(step, atoms))
                if wish.ordered and step + 1 < wish.horizon:
                    parts.append(self._order(step, atoms, following))
            atoms = following
        won = [-(self._base(step) + self._won) for step in range(wish.horizon + 1)]
        parts.append(np.array([1, 0, 0, 0, len(won), *won, NEWLINE], np.int64))
        return b"".join([_HEAD, *map(_written, parts), self._names(wish.horizon), b"0\n"])

    def _base(self, step: int) -> int:
        return self._never + step * self._stride

    def _first_atoms(self) -> NDArray[np.int64]:
        """(atoms,) what each atom of the ground rules is called at the first step."""
        return np.arange(self.rules.atom_count, dtype=np.int64) + 1 + self._base(0)

    def _following(self, step: int, atoms: NDArray[np.int64]) -> NDArray[np.int64]:
        found = np.arange(self.rules.atom_count, dtype=np.int64) + 1 + self._base(step + 1)
        found[: self._facts] = np.where(self.rules.next == NEVER, self._never, atoms[self.rules.next])
        return found

    def _outcome(self, step: int, atoms: NDArray[np.int64], wish: Wish) -> Stream:
        """Whether the match is over at a step, and was won there."""
        base = self._base(step)
        over, won = base + self._over, base + self._won
        rows: list[int] = []
        if self.rules.terminal != NEVER:
            terminal = int(atoms[self.rules.terminal])
            rows += [1, 0, 1, over, 0, 1, terminal, NEWLINE]
            before = [] if step == 0 else [-(over - self._stride)]
            for value, atom in zip(self.rules.goals[0], self.rules.goal_atoms.tolist(), strict=True):
                if value in wish.goals:
                    rows += [1, 0, 1, won, 0, 2 + len(before), terminal, int(atoms[atom]), *before, NEWLINE]
        if step:
            rows += [1, 0, 1, over, 0, 1, over - self._stride, NEWLINE]
        return np.array(rows, np.int64)

    def _choice(self, step: int, atoms: NDArray[np.int64]) -> Stream:
        """One legal move unless the match is over."""
        over = self._base(step) + self._over
        moves = atoms[self._facts : self._facts + self._moves]
        legal = atoms[self.rules.legal]
        choices = np.empty((self._moves, 9), np.int64)
        choices[:] = [1, 1, 1, 0, 0, 2, 0, -over, NEWLINE]
        choices[:, 3], choices[:, 6] = moves, legal
        weighted = np.stack([moves, np.ones_like(moves)], axis=1).ravel()
        most = [np.array([1, 0, 0, 1, 2, self._moves]), weighted, np.array([NEWLINE])]
        least = [np.array([1, 0, 0, 0, self._moves + 1, -over]), -moves, np.array([NEWLINE])]
        return np.concatenate([choices.ravel(), *most, *least]).astype(np.int64)

    def _order(self, step: int, atoms: NDArray[np.int64], following: NDArray[np.int64]) -> Stream:
        """No move after one that is numbered higher, if it was legal before, unless it ends the match."""
        above = self._base(step) + self._above + np.arange(self._moves + 1)  # above[m]: a move from m on is done
        moves = slice(self._facts, self._facts + self._moves)
        count = self._moves
        rows = np.empty((2 * count - 1, 8), np.int64)
        rows[:] = [1, 0, 1, 0, 0, 1, 0, NEWLINE]
        rows[:count, 3], rows[:count, 6] = above[:count], atoms[moves]
        rows[count:, 3], rows[count:, 6] = above[: count - 1], above[1:count]
        bans = np.empty((count - 1, 10), np.int64)
        bans[:] = [1, 0, 0, 0, 4, 0, 0, 0, -(self._base(step + 2) + self._over), NEWLINE]
        bans[:, 5], bans[:, 6] = following[moves][:-1], atoms[self.rules.legal][:-1]
        bans[:, 7] = above[1:count]
        return np.concatenate([rows.ravel(), bans.ravel()])

    def _names(self, horizon: int) -> bytes:
        lines = []
        for step in range(horizon):
            first = self._base(step) + 1 + self._facts
            for move in range(self._moves):
                name = f"{step}:{move}"
                lines.append(f"4 {len(name)} {name} 1 {first + move}\n")
        return "".join(lines).encode()


def read_line(answer: bytes) -> list[int]:
    """The numbers of the moves that an answer set names, in their order."""
    named = (name.split(b":") for name in answer.split())
    return [move for _, move in sorted((int(step), int(move)) for step, move in named)]


def _template(rules: GroundRules, outputs: NDArray[np.int64]) -> _Template:
    """The rules that the outputs need."""
    sizes = np.diff(rules.first_literal)
    needed = _needed(rules, outputs[outputs != NEVER])
    kept = np.flatnonzero(needed[rules.heads])
    sizes = sizes[kept]
    starts = np.concatenate([[0], np.cumsum(sizes + 7)])
    total = int(starts[-1])
    numbers = np.zeros(total, np.int64)
    atoms = np.full(total, -1, np.int64)
    signs = np.ones(total, np.int64)
    starts = starts[:-1]
    numbers[starts] = numbers[starts + 2] = 1
    atoms[starts + 3] = rules.heads[kept]
    numbers[starts + 5] = sizes
    numbers[starts + 6 + sizes] = NEWLINE
    inner = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    places = np.repeat(starts + 6, sizes) + inner
    literals = rules.literals[np.repeat(rules.first_literal[kept], sizes) + inner]
    atoms[places] = literals >> 1
    signs[places] = 1 - 2 * (literals & 1)
    return _Template(numbers, atoms, signs)


def _needed(rules: GroundRules, outputs: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(atoms,) which of them the outputs depend on."""
    needed = np.zeros(rules.atom_count, np.bool_)
    needed[outputs] = True
    sizes = np.diff(rules.first_literal)
    count = 0
    while count != (count := int(np.count_nonzero(needed))):
        read = np.repeat(needed[rules.heads], sizes)
        needed[rules.literals[read] >> 1] = True
    return needed


def _rows(values: NDArray[np.int64], before: Sequence[int], after: Sequence[int]) -> Stream:
    """A line for each value."""
    rows = np.empty((len(values), len(before) + len(after) + 2), np.int64)
    rows[:] = [*before, 0, *after, NEWLINE]
    rows[:, len(before)] = values
    return rows.ravel()


def _written(stream: Stream) -> bytes:
    room = np.empty(21 * len(stream), np.uint8)
    return room[: _write(stream, room)].tobytes()


@kernel
def _write(stream: Stream, room: NDArray[np.uint8]) -> int:
    """The numbers as text; how many bytes."""
    at = 0
    digits = np.empty(20, np.uint8)
    for value in stream:
        if value == NEWLINE:
            room[at - 1] = 10
            continue
        if value < 0:
            room[at] = 45
            at += 1
            value = -value  # noqa: PLW2901
        count = 0
        while True:
            digits[count] = 48 + value % 10
            value //= 10  # noqa: PLW2901
            count += 1
            if value == 0:
                break
        while count:
            count -= 1
            room[at] = digits[count]
            at += 1
        room[at] = 32
        at += 1
    return at

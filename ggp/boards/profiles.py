"""Rules, and states of random matches → a profile of each relation: the constants of its arguments, and its facts.

The matches use fixed seeds and legal moves in sorted order, so every engine and every run gives the same samples. Rules
that are too slow are interrupted, and known by fewer samples.
"""

import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from random import Random

from ggp.boards.marks import Side
from ggp.errors import GgpError
from ggp.gdl.domains import Domains
from ggp.gdl.logic_program import LogicProgram, Relation
from ggp.gdl.rulesheet import Rulesheet, name_and_arity
from ggp.gdl.state_machine import Facts, StateMachine
from ggp.gdl.terms import Term, to_text
from ggp.interpreter import Interpreter

_INTEGER = re.compile(r"[+-]?\d+")
_NUMBERED = re.compile(r"([a-z_]*?[a-z_]|)_?(\d+)")
_POINT = re.compile(r"([a-z])(\d+)")
_SPECIAL = frozenset(("init", "true", "next", "legal", "does", "goal", "base", "input", "sees", "role"))
_COMPASS = {
    "n": (-1, 0), "ne": (-1, 1), "e": (0, 1), "se": (1, 1), "s": (1, 0), "sw": (1, -1), "w": (0, -1), "nw": (-1, -1),
    "north": (-1, 0), "northeast": (-1, 1), "east": (0, 1), "southeast": (1, 1), "south": (1, 0),
    "southwest": (1, -1), "west": (0, -1), "northwest": (-1, -1),
    "up": (-1, 0), "right": (0, 1), "down": (1, 0), "left": (0, -1),
}  # fmt: skip
_SIDES: dict[str, Side] = {
    "north": "top", "top": "top", "up": "top", "above": "top", "upper": "top", "east": "right", "right": "right",
    "south": "bottom", "bottom": "bottom", "down": "bottom", "below": "bottom", "lower": "bottom", "west": "left",
    "left": "left",
}  # fmt: skip


def find_chains(program: LogicProgram) -> tuple[tuple[str, ...], ...]:
    """The orders given by successor relations: static relations of two arguments whose facts form one chain."""
    found = []
    for (name, arity), rows in program.tables.items():
        if arity == 2 and name.partition("/")[0] not in _SPECIAL:
            pairs = [(low, high) for low, high in rows if isinstance(low, str) and isinstance(high, str)]
            chain = _chain(pairs) if len(pairs) == len(rows) else None
            if chain is not None:
                found.append(chain)
    return tuple(found)


def _chain(pairs: Collection[tuple[str, str]]) -> tuple[str, ...] | None:
    """The constants from first to last if the pairs form one chain through all of them, else None."""
    after = dict(pairs)
    starts = after.keys() - set(after.values())
    if len(after) != len(pairs) or len(set(after.values())) != len(pairs) or len(starts) != 1:
        return None
    chain = [*starts]
    while chain[-1] in after:
        chain.append(after[chain[-1]])
    return tuple(chain) if len(chain) == len(pairs) + 1 else None


def find_order(constants: Collection[str], chains: Sequence[tuple[str, ...]]) -> tuple[str, ...] | None:
    """The constants in ascending order; None if they have none, or if there is only one."""
    if len(constants) < 2:
        return None
    if all(map(_INTEGER.fullmatch, constants)):
        return tuple(sorted(constants, key=int))
    for chain in chains:
        if set(constants) <= set(chain):
            return tuple(constant for constant in chain if constant in constants)
    if all(re.fullmatch("[a-z]", constant) for constant in constants):
        letters = sorted(constants)
        return tuple(letters) if ord(letters[-1]) - ord(letters[0]) == len(letters) - 1 else None
    matches = [_NUMBERED.fullmatch(constant) for constant in constants]
    if all(matches) and len({match[1] for match in matches if match}) == 1:
        return tuple(sorted(constants, key=lambda constant: int(_digits(constant))))
    return None


def natural(constants: Collection[str]) -> list[str]:
    """Sorted so that p9 comes before p10."""
    return sorted(constants, key=natural_key)


def natural_key(text: str) -> tuple[list[tuple[int, str]], str]:
    """A natural sort key: 9 comes before 10."""
    parts = re.findall(r"0*([0-9]+)|([^0-9]+)", text.strip("()"))
    return [(len(digits), digits or other) for digits, other in parts], text


def find_points(constants: Collection[str]) -> dict[str, tuple[str, str]] | None:
    """Names of points such as a1 or c7 → their row and column; None unless all constants are such names, on a grid."""
    points = {constant: (match[1], match[2]) for constant in constants if (match := _POINT.fullmatch(constant))}
    rows = Counter(row for row, _ in points.values())
    columns = Counter(column for _, column in points.values())
    if len(points) < len(constants) or len(points) < 6 or len(rows) < 2 or len(columns) < 2:
        return None
    return points


def compass(constants: Collection[str]) -> Mapping[str, tuple[int, int]] | None:
    """Directions → steps (down, across); None unless all constants are compass directions."""
    if len(constants) >= 4 and all(constant in _COMPASS for constant in constants):
        return {constant: _COMPASS[constant] for constant in constants}
    return None


def side_of(word: str) -> Side | None:
    return _SIDES.get(word)


def side_in(name: str) -> Side | None:
    """The side that the name of a relation contains: blockednorth, wall_right."""
    parts = re.split(r"[_\-]", name)
    for part in parts:
        if part in _SIDES:
            return _SIDES[part]
    ends = [word for word in ("north", "east", "south", "west") if parts[-1].endswith(word)]
    return _SIDES[ends[0]] if ends else None


def _digits(text: str) -> str:
    match = re.search(r"\d+", text)
    return match[0] if match else "0"


_BASE: Relation = ("base", 1)
_TRUE: Relation = ("true", 1)
_MATCHES = 3
_STEPS = 40  # of each
_SECONDS = 3.0  # of processor time for all matches; most rules take 0.1 s
_MOST_CONSTANTS = 26  # of an argument; if the rules allow more, those that were seen count
_NUMBER = re.compile(r"[+-]?[0-9]{1,9}")
_SLACK = 2  # an argument may have this many times as many constants as were seen


@dataclass(frozen=True, slots=True)
class StateSamples:
    """States of random matches, and the moves that were legal in them."""

    states: tuple[Facts, ...]
    moves: frozenset[Term]


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known about the facts of one relation; arguments are counted from 0."""

    relation: Relation
    constants: tuple[tuple[str, ...], ...]  # of each argument; compound terms as text
    orders: tuple[tuple[str, ...] | None, ...]  # the same constants in ascending order, if they have an order
    guessed: tuple[bool, ...]  # whether there may be more constants than those
    rows: tuple[frozenset[tuple[str, ...]], ...]  # for each state, the arguments of the facts

    @property
    def arity(self) -> int:
        return self.relation[1]

    @property
    def seen(self) -> frozenset[tuple[str, ...]]:
        return frozenset[tuple[str, ...]]().union(*self.rows)

    @property
    def changes(self) -> bool:
        return len(set(self.rows)) > 1

    def determines(self, key: Sequence[int], argument: int) -> bool:
        """Whether the arguments of the key determine this argument in every state."""
        for rows in self.rows:
            values: dict[tuple[str, ...], str] = {}
            for row in rows:
                if values.setdefault(tuple(row[place] for place in key), row[argument]) != row[argument]:
                    return False
        return True

    def is_total(self, key: Sequence[int]) -> bool:
        """Whether every state had exactly one fact for each value of the key that was ever seen."""
        keys = {tuple(row[place] for place in key) for row in self.seen}
        return bool(keys) and all(
            len(rows) == len(keys) == len({tuple(row[place] for place in key) for row in rows}) for rows in self.rows
        )


def take_samples(rulesheet: Rulesheet, machine: StateMachine) -> StateSamples:
    """The states of a few random matches; fewer if the rules fail or are slow.

    The limit is processor time of this thread, so that a busy computer does not change the result. A step of the
    circuit is quick; one of the interpreter may not be, so that this uses an interpreter that looks at the time.
    """
    until = time.thread_time() + _SECONDS

    def is_late() -> bool:
        return time.thread_time() > until

    states: dict[Facts, None] = {}
    moves: dict[Term, None] = {}
    with suppress(GgpError):
        _play(machine if machine.engine == "circuit" else Interpreter(rulesheet, is_late), states, moves, is_late)
    return StateSamples(tuple(states), frozenset(moves))


def _play(
    machine: StateMachine, states: dict[Facts, None], moves: dict[Term, None], is_late: Callable[[], bool]
) -> None:
    """Plays random matches; adds each state and its moves as soon as it is known."""
    for seed in range(_MATCHES):
        rng = Random(seed)  # noqa: S311 - a sample, and the same one every time
        try:
            state = machine.initial_state
            states[state] = None
            for _ in range(_STEPS):
                if is_late() or machine.is_terminal(state):
                    break
                legal = [machine.legal_moves(state, role) for role in machine.roles]
                if not all(legal):
                    break
                moves.update((move, None) for found in legal for move in found)
                state = machine.next_state(state, tuple(map(rng.choice, legal)))
                states[state] = None
        except GgpError:
            continue


def find_profiles(
    program: LogicProgram, domains: Domains, samples: StateSamples, chains: Sequence[tuple[str, ...]]
) -> dict[Relation, Profile]:
    """The profile of each kind of fact that has arguments, in the order in which the rules name them."""
    listed = _listed(program, domains)
    found: dict[Relation, Profile] = {}
    seen = {relation: None for state in samples.states for relation in sorted({name_and_arity(f) for f in state})}
    possible = [value for value in domains.of(_TRUE, 0) if isinstance(value, tuple)]
    for relation in dict.fromkeys([*possible, *seen]):
        if not relation[1]:
            continue
        rows = tuple(frozenset(_rows(state, relation)) for state in samples.states)
        pairs = [
            _constants(values, {row[place] for found_rows in rows for row in found_rows}, listed.get((relation, place)))
            for place, values in enumerate(domains.inside(_TRUE, 0, relation))
        ]
        constants, guessed = tuple(values for values, _ in pairs), tuple(is_guess for _, is_guess in pairs)
        orders = tuple(find_order(values, chains) for values in constants)
        found[relation] = Profile(relation, constants, orders, guessed, rows)
    return found


def _rows(state: Facts, relation: Relation) -> Iterable[tuple[str, ...]]:
    for fact in state:
        if not isinstance(fact, str) and name_and_arity(fact) == relation:
            yield tuple(map(to_text, fact[1:]))


def _constants(
    possible: Collection[object], seen: set[str], listed: frozenset[str] | None
) -> tuple[tuple[str, ...], bool]:
    """The constants of an argument, and whether they are a guess.

    They are those that `base` lists, if all states agree with it, or else those that the rules can give; if these are
    far more than were seen, those that were seen.
    """
    if any(isinstance(value, tuple) for value in possible):
        return tuple(sorted(seen)), True
    values = {value for value in possible if isinstance(value, str)} | seen
    if listed and seen <= listed <= values:
        values = set(listed)
    if seen and len(values) > max(_MOST_CONSTANTS, _SLACK * len(seen)):
        return tuple(sorted(_between(seen, values))), True
    return tuple(sorted(values)), False


def _between(seen: set[str], values: set[str]) -> set[str]:
    """The constants that were seen, and the numbers between them."""
    numbers = {value: int(value) for value in values if _NUMBER.fullmatch(value)}
    known = [numbers[value] for value in seen if value in numbers]
    between = {value for value, number in numbers.items() if known and min(known) <= number <= max(known)}
    return seen | between


def _listed(program: LogicProgram, domains: Domains) -> dict[tuple[Relation, int], frozenset[str]]:
    """The constants that `base` lists for each argument of each kind of fact."""
    found: dict[tuple[Relation, int], set[str]] = {}
    for head in (row[0] for row in program.tables.get(_BASE, ())):
        if isinstance(head, tuple):
            for place, term in enumerate(head[1:]):
                found.setdefault((name_and_arity(head), place), set()).add(to_text(term))
    for clause in program.clauses.get(_BASE, ()):
        head = clause.arguments[0]
        if isinstance(head, str):
            continue
        for place, term in enumerate(head[1:]):
            values = {to_text(term)}
            if isinstance(term, str) and term.startswith("?"):
                places = [
                    {value for value in domains.of(literal.relation, index) if isinstance(value, str)}
                    for literal in clause.body
                    if literal.positive and literal.relation[0] != "distinct"
                    for index, argument in enumerate(literal.arguments)
                    if argument == term
                ]
                values = set.intersection(*places) if places else set()
            found.setdefault((name_and_arity(head), place), set()).update(values)
    return {key: frozenset(values) for key, values in found.items()}

"""Rules, and states of random matches → a profile of each relation: the constants of its arguments, and its facts.

The matches use fixed seeds and legal moves in sorted order, so every engine and every run gives the same samples. Rules
that are too slow are interrupted, and known by fewer samples.
"""

import re
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from random import Random

from ggp.boards.orders import find_order
from ggp.errors import GgpError
from ggp.gdl.domains import Domains
from ggp.gdl.logic_program import LogicProgram, Relation
from ggp.gdl.rulesheet import Rulesheet, name_and_arity
from ggp.gdl.state_machine import Facts, StateMachine
from ggp.gdl.terms import Term, to_text
from ggp.interpreter import Interpreter

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
        _play(Interpreter(rulesheet, is_late) if machine.engine == "interpreter" else machine, states, moves, is_late)
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

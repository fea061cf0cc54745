"""A rulesheet and a state → the rulesheet of the same game that begins there, and says where it comes from.

Also the belief of a role: its moves and percepts → the states that agree with them.
"""

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product, zip_longest
from math import prod
from random import Random

from ggp.gdl.rulesheet import RULE, Rule, Rulesheet, atoms, name_and_arity, parse_rulesheet, rule_term
from ggp.gdl.state_machine import Facts, JointMove, StateMachine
from ggp.gdl.terms import Term, subterms, to_text

_INIT = "init"
_AROUND = (RULE, "not", "and", "or")  # what holds sentences
_ORIGIN = re.compile(r"; goes on from match ([A-Za-z0-9][A-Za-z0-9._~-]{0,199}) after ([0-9]{1,7}) steps\n")


@dataclass(frozen=True, slots=True)
class RulesheetOrigin:
    """The match and the state in it from which another goes on."""

    match: str
    step: int  # how many steps had been executed


def derived_rulesheet(rulesheet: Rulesheet, facts: Facts, origin: RulesheetOrigin | None = None) -> Rulesheet:
    """The same game from this state on.

    What other rules read of `init` stays as it was: the first state keeps its facts under another name.
    """
    kept = [rule for rule in rulesheet.rules if not _begins(rule)]
    old = _fresh(rulesheet) if any(_reads_init(rule) for rule in kept) else None
    lines = [f"(init {to_text(fact)})" for fact in sorted(facts, key=to_text)]
    if old is None:
        lines += [to_text(rule_term(rule)) for rule in kept]
    else:
        lines += [to_text(_renamed(rule_term(rule), old)) for rule in rulesheet.rules]
    heading = [] if origin is None else [f"; goes on from match {origin.match} after {origin.step} steps"]
    return parse_rulesheet("\n".join([*heading, *lines]) + "\n", rulesheet.source)


def origin_of(text: str) -> RulesheetOrigin | None:
    """What the first line of a derived rulesheet says."""
    found = _ORIGIN.match(text)
    return RulesheetOrigin(found[1], int(found[2])) if found else None


def _begins(rule: Rule) -> bool:
    return name_and_arity(rule.head)[0] == _INIT


def _reads_init(rule: Rule) -> bool:
    return any(name_and_arity(atom.term)[0] == _INIT for part in rule.body for atom, _ in atoms(part))


def _fresh(rulesheet: Rulesheet) -> str:
    """A name that the rules do not use."""
    terms = [part for rule in rulesheet.rules for part in subterms(rule_term(rule))]
    used = {part if isinstance(part, str) else part[0] for part in terms}
    name = "begun"
    while name in used:
        name += "_"
    return name


def _renamed(sentence: Term, name: str) -> Term:
    """A rule or a part of one with another name for the relation `init`; functions keep theirs."""
    if isinstance(sentence, str) or not sentence:
        return sentence
    if sentence[0] in _AROUND:
        return (sentence[0], *(_renamed(part, name) for part in sentence[1:]))
    return (name, *sentence[1:]) if sentence[0] == _INIT else sentence


MOST = 200  # states that are kept in mind

_TRIES = 20_000  # joint moves
_SECONDS = 2.0


def following(
    machine: StateMachine, states: Sequence[Facts], role: str, move: Term | None, percepts: Sequence[Term]
) -> tuple[list[Facts], bool]:
    """The states after a step in which the role made this move (None: any) and was told this; whether these are all.

    Never both no states and all: then what was told, or what was believed before, does not agree with the rules.
    """
    wanted = sorted(map(to_text, percepts))
    until = time.monotonic() + _SECONDS
    found: dict[Facts, None] = {}
    most = _TRIES // max(1, len(states))
    steps = _alternating([_steps(machine, state, role, move, most) for state in states])
    for tried, (state, joint_move) in enumerate(steps):
        if tried >= _TRIES or len(found) >= MOST or time.monotonic() > until:
            return list(found), False
        if sorted(map(to_text, machine.percepts(state, joint_move, role))) == wanted:
            found[machine.next_state(state, joint_move)] = None
    return list(found), bool(found)


def going_on(machine: StateMachine, states: Sequence[Facts], *, is_over: bool) -> list[Facts]:
    """Those in which the match is over, or is not."""
    return [state for state in states if machine.is_terminal(state) == is_over]


def choices(machine: StateMachine, states: Sequence[Facts], role: str) -> list[Term]:
    """The moves that the role has in any of the states."""
    found = {move: None for state in states for move in machine.legal_moves(state, role)}
    return sorted(found, key=to_text)


def agreed_goal(machine: StateMachine, states: Sequence[Facts], role: str) -> int | None:
    """The goal value that the role has in all of the states; None where there is none such."""
    values = {machine.goal(state, role) for state in states}
    return values.pop() if len(values) == 1 else None


def _steps(
    machine: StateMachine, state: Facts, role: str, move: Term | None, most: int
) -> Iterator[tuple[Facts, JointMove]]:
    """Each joint move from a state with this move of the role; by chance, and without an end, where they are many."""
    legal = {name: machine.legal_moves(state, name) for name in machine.roles}
    if machine.is_terminal(state) or (move is not None and move not in legal[role]):
        return
    if move is not None:
        legal[role] = (move,)
    moves = list(legal.values())
    if prod(map(len, moves)) <= most:
        every = list(product(*moves))
        Random(0).shuffle(every)  # noqa: S311 - not for secrets
        yield from ((state, joint_move) for joint_move in every)
        return
    rng = Random(0)  # noqa: S311
    while True:
        yield state, tuple(map(rng.choice, moves))


def _alternating(
    steps: Sequence[Iterator[tuple[Facts, JointMove]]],
) -> Iterator[tuple[Facts, JointMove]]:
    """One step from each state, then another one, so that all have their turn."""
    for several in zip_longest(*steps):
        yield from (one for one in several if one is not None)

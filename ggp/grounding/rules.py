"""The value that grounding gives, all rules without variables as arrays, and two questions about such rules."""

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ggp.gdl.dependencies import strong_components
from ggp.gdl.terms import Term
from ggp.kernel import kernel

Ids: TypeAlias = NDArray[np.int32]
Offsets: TypeAlias = NDArray[np.int64]
Atoms: TypeAlias = NDArray[np.int64]

NEVER = -1  # in place of an atom that no rule can derive


@dataclass(frozen=True, slots=True)
class GroundingReport:
    """How the ground rules were made."""

    seconds: float  # from program to ground rules
    rewritings: tuple[tuple[str, int], ...]  # the name of each and how often it was applied


@dataclass(frozen=True, slots=True, eq=False)
class GroundRules:
    """A game as rules over numbered atoms: F facts, then the M moves of all roles, then everything else."""

    roles: tuple[str, ...]
    facts: tuple[Term, ...]  # all that can be true, sorted by text; fact f is atom f
    moves: tuple[tuple[Term, ...], ...]  # per role, sorted by text: all that can be legal; atoms F, F + 1, …
    initial: NDArray[np.bool_]  # (F,)
    next: Ids  # (F,) the atom that holds if the fact does in the next state, or NEVER
    legal: Ids  # (M,) the atom that holds if the move is legal
    goals: tuple[tuple[int, ...], ...]  # per role, ascending: the values 0 to 100 that some rule may give
    goal_atoms: Ids  # of all goals, role by role
    percepts: tuple[tuple[Term, ...], ...]  # per role, sorted by text; empty where no rule has `sees`
    percept_atoms: Ids  # of all percepts, role by role
    terminal: int  # an atom, or NEVER
    atom_count: int
    heads: Ids  # (R,) heads[r] holds if all of literals[first_literal[r]:first_literal[r + 1]] do
    first_literal: Offsets  # (R + 1,)
    literals: Ids  # 2 * atom, + 1 if negated; no head is a fact or a move
    report: GroundingReport
    exclusive: tuple[tuple[int, ...], ...] = ()  # facts of which at most one holds in each state, as the rules suppose


def restricted(rules: GroundRules, facts: tuple[Term, ...], moves: tuple[tuple[Term, ...], ...]) -> GroundRules | None:
    """The rules where only these facts are ever true and only these moves are done; None unless all are of the rules.

    Facts and moves are in the order of the rules, as those of a compiled game are.
    """
    if (rules.facts, rules.moves) == (facts, moves):
        return rules
    if len(rules.moves) != len(moves):
        return None
    known = [set(facts), *map(set, moves)]
    given = [rules.facts, *rules.moves]
    kept = [np.array([term in own for term in terms], np.bool_) for own, terms in zip(known, given, strict=True)]
    if [int(np.count_nonzero(part)) for part in kept] != list(map(len, (facts, *moves))):
        return None
    stays = np.ones(rules.atom_count, np.bool_)
    stays[: sum(map(len, kept))] = np.concatenate(kept)
    number = np.where(stays, np.cumsum(stays) - 1, NEVER).astype(np.int32)
    sizes = np.diff(rules.first_literal)
    missing = ~stays[rules.literals >> 1]
    rule_of = np.repeat(np.arange(len(rules.heads)), sizes)
    holds = np.ones(len(rules.heads), np.bool_)
    holds[rule_of[missing & (rules.literals & 1 == 0)]] = False
    read = ~missing & holds[rule_of]
    left = np.bincount(rule_of[read], minlength=len(rules.heads))[holds]
    literals = rules.literals[read]
    return replace(
        rules,
        facts=facts,
        moves=moves,
        initial=rules.initial[kept[0]],
        next=_renumbered(rules.next[kept[0]], number),
        legal=_renumbered(rules.legal[np.concatenate(kept[1:])], number),
        goal_atoms=_renumbered(rules.goal_atoms, number),
        percept_atoms=_renumbered(rules.percept_atoms, number),
        terminal=int(_renumbered(np.array([rules.terminal], np.int32), number)[0]),
        atom_count=int(np.count_nonzero(stays)),
        heads=number[rules.heads[holds]],
        first_literal=np.concatenate([[0], np.cumsum(left)]).astype(np.int64),
        literals=2 * number[literals >> 1] + (literals & 1),
    )


def _renumbered(atoms: Ids, number: Ids) -> Ids:
    found: Ids = np.where(atoms == NEVER, NEVER, number[atoms]).astype(np.int32)
    return found


def needed_atoms(heads: Atoms, first_literal: Offsets, literals: Ids, outputs: Atoms, bound: int) -> NDArray[np.bool_]:
    """Of all atoms below the bound, those that are outputs or are read by rules of such atoms; signs do not count."""
    order = np.argsort(heads, kind="stable")
    first_rule = np.searchsorted(heads[order], np.arange(bound + 1))
    return _needed(order, first_rule, first_literal, literals, outputs, bound)


@kernel
def _needed(
    order: Atoms, first_rule: Atoms, first_literal: Offsets, literals: Ids, outputs: Atoms, bound: int
) -> NDArray[np.bool_]:
    needed = np.zeros(bound, np.bool_)
    waiting = np.empty(bound, np.int64)
    count = 0
    for atom in outputs:
        if not needed[atom]:
            needed[atom] = True
            waiting[count] = atom
            count += 1
    while count:
        count -= 1
        atom = waiting[count]
        for place in range(first_rule[atom], first_rule[atom + 1]):
            rule = order[place]
            for index in range(first_literal[rule], first_literal[rule + 1]):
                other = abs(literals[index])
                if not needed[other]:
                    needed[other] = True
                    waiting[count] = other
                    count += 1
    return needed


def is_stratified(rules: GroundRules) -> bool:
    """Whether no atom depends on its own negation, so that the rules have a meaning.

    Relations may do so where their atoms do not, as in `(<= (goal ?r 0) (not (goal ?r 100)))`.
    """
    bounds = rules.first_literal.tolist()
    literals = rules.literals.tolist()
    reads: dict[int, dict[int, None]] = {atom: {} for atom in range(rules.atom_count)}
    negative: list[tuple[int, int]] = []
    for rule, head in enumerate(rules.heads.tolist()):
        for literal in literals[bounds[rule] : bounds[rule + 1]]:
            reads[head][literal >> 1] = None
            if literal & 1:
                negative.append((head, literal >> 1))
    component = {atom: number for number, members in enumerate(strong_components(reads)) for atom in members}
    return all(component[head] != component[atom] for head, atom in negative)

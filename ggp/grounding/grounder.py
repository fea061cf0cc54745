"""Logic program → ground rules: preparation, what can be reached, rewriting, gringo, numbering.

Atoms are numbered facts first, then moves, then all others."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from time import perf_counter
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ggp.errors import GroundingError
from ggp.gdl.logic_program import LogicProgram
from ggp.gdl.rulesheet import Rulesheet, name_and_arity
from ggp.gdl.terms import Term, is_ground, match, to_text
from ggp.grounding.clingo import Aspif, Budget, Clingo, OverBudgetError, ProcessorTime, ground_text, parse_aspif
from ggp.grounding.diagnosis import explanation
from ggp.grounding.prepare import Translation, prepare
from ggp.grounding.reach import QUICK, find_extents, reaching
from ggp.grounding.rewrite import Rewritten, split_clauses
from ggp.grounding.rules import NEVER, GroundingReport, GroundRules, Ids, is_stratified, needed_atoms

_SHARE = 0.6  # of the time, after which no more clauses are rewritten
_Row: TypeAlias = tuple[Term, int]  # a term and gringo's atom for it
_GOAL_VALUE = re.compile(r"[0-9]{1,2}|100")
_ALWAYS = 0  # the atom of what holds in every state; gringo's own atoms count from 1


def ground(
    program: LogicProgram,
    budget: Budget = Budget(),  # noqa: B008 - frozen
    *,
    rewrite: bool = True,
    supposes: bool = False,
    clingo: Clingo | None = None,
) -> GroundRules:
    """All rules of a game without variables; GroundingError when that cannot be, or not within the budget.

    Without `rewrite`, clauses are grounded as they stand: many more rules that say the same. `supposes`: the rules may
    be right only as long as at most one fact of each group in `exclusive` holds. A `clingo` that is given saves the
    time to load it, and stays open.
    """
    start = perf_counter()
    with nullcontext(clingo) if clingo else Clingo() as running:
        prepared = prepare(program)
        translation = Translation()
        rewritten = Rewritten(prepared.clauses, prepared.tables, ())
        text = b""
        is_hurried = False  # so that there are more rules than on a quicker computer
        time = ProcessorTime(running)
        try:
            if rewrite:
                prepared, extents = find_extents(prepared, translation, running, budget, supposes=supposes)
                is_hurried = time.spent() > QUICK.seconds
                rewritten = split_clauses(prepared, extents, lambda: time.spent() > _SHARE * budget.seconds)
                is_hurried |= time.spent() > _SHARE * budget.seconds
            left = replace(budget, seconds=budget.seconds - time.spent())
            text = translation.text(rewritten.clauses, rewritten.tables)
            output = ground_text(running, text, left)
        except OverBudgetError as error:
            if not text:
                clauses = reaching(prepared, prepared.clauses)
                text = translation.reached_text(clauses, prepared.tables, ())
            else:
                clauses = list(rewritten.clauses)
            message = explanation(error, prepared, clauses, text, running, translation)
            raise GroundingError(message, is_lasting=error.is_lasting and not is_hurried) from None
    rules = _number_rules(parse_aspif(output), translation, program.rulesheet)
    cycles = [clause for clause in prepared.clauses if clause.relation in prepared.dependencies.negative_cycles]
    if cycles and not is_stratified(rules):
        place = program.rulesheet.place(cycles[0].offset)
        raise GroundingError(f"{place}: {program.in_words(cycles[0].relation)} depends on its own negation")
    groups = (
        [n for n, fact in enumerate(rules.facts) if match(one, fact, {}) is not None] for one in prepared.exclusive
    )
    report = GroundingReport(perf_counter() - start, rewritten.rewritings)
    return replace(rules, exclusive=tuple(map(tuple, groups)), report=report)


# Numbering.


def _number_rules(aspif: Aspif, translation: Translation, rulesheet: Rulesheet) -> GroundRules:
    """The ground rules; their report is still empty."""
    named = _named(aspif, translation)
    roles = _roles(rulesheet, [arguments[0] for arguments, _ in named["role"]])
    facts = sorted(((term, atom) for (term,), atom in named["true"]), key=_text)
    moves = _by_role(roles, named["does"])
    percepts = _by_role(roles, named["sees"])
    numbering = _Numbering(aspif, [atom for rows in (facts, *moves) for _, atom in rows])
    goals = [_values(rows, numbering) for rows in _by_role(roles, named["goal"])]
    next_atoms = {term: atom for (term,), atom in named["next"]}
    legal_atoms = dict(named["legal"])
    initial = {term for (term,), _ in named["init"]}
    outputs = {
        "next": [next_atoms.get(term, NEVER) for term, _ in facts],
        "legal": [legal_atoms[role, move] for role, rows in zip(roles, moves, strict=True) for move, _ in rows],
        "goals": [atom for rows in goals for _, atom in rows],
        "percepts": [atom for rows in percepts for _, atom in rows],
        "terminal": [atom for _, atom in named["terminal"]] or [NEVER],
    }
    numbers = numbering.finish([atom for atoms in outputs.values() for atom in atoms])
    found = {name: numbers[np.array(atoms, np.int64)] for name, atoms in outputs.items()}
    return GroundRules(
        roles=roles,
        facts=tuple(term for term, _ in facts),
        moves=tuple(tuple(move for move, _ in rows) for rows in moves),
        initial=np.array([term in initial for term, _ in facts], np.bool_),
        next=found["next"],
        legal=found["legal"],
        goals=tuple(tuple(value for value, _ in rows) for rows in goals),
        goal_atoms=found["goals"],
        percepts=tuple(tuple(percept for percept, _ in rows) for rows in percepts),
        percept_atoms=found["percepts"],
        terminal=int(found["terminal"][0]),
        atom_count=int(numbers.max()) + 1,
        heads=numbers[numbering.heads],
        first_literal=numbering.first_literal,
        literals=2 * numbers[np.abs(numbering.literals)] + (numbering.literals < 0).astype(np.int32),
        report=GroundingReport(0.0, ()),
    )


def _named(aspif: Aspif, translation: Translation) -> defaultdict[str, list[tuple[tuple[Term, ...], int]]]:
    """By the name of the relation, its arguments and atoms."""
    named: defaultdict[str, list[tuple[tuple[Term, ...], int]]] = defaultdict(list)
    for name, atom in zip(aspif.names, aspif.named.tolist(), strict=True):
        relation, arguments = translation.atom(name)
        named[relation].append((arguments, atom))
    return named


def _text(row: _Row) -> str:
    return to_text(row[0])


def _by_role(roles: Sequence[str], found: Iterable[tuple[tuple[Term, ...], int]]) -> list[list[_Row]]:
    """For each role, the second arguments with their atoms, sorted by text."""
    rows: dict[Term, list[_Row]] = {role: [] for role in roles}
    for (role, term), atom in found:
        if role in rows:
            rows[role].append((term, atom))
    return [sorted(part, key=_text) for part in rows.values()]


def _roles(rulesheet: Rulesheet, found: Iterable[Term]) -> tuple[str, ...]:
    """Those that the text names in its order, then those that only rules give, sorted."""
    written = (rule.head for rule in rulesheet.rules if not rule.body and is_ground(rule.head))
    named = dict.fromkeys(head[1] for head in written if name_and_arity(head) == ("role", 1))
    roles = [*named, *sorted(set(found) - named.keys(), key=to_text)]
    if not roles or not all(isinstance(role, str) for role in roles):
        raise GroundingError(f"{rulesheet.source}: a role is a constant, and there is at least one")
    return tuple(map(to_text, roles))


def _values(rows: list[_Row], numbering: "_Numbering") -> list[tuple[int, int]]:
    """The goal values among the terms, ascending; one atom for each, also where a value is written in two ways."""
    found: defaultdict[int, list[int]] = defaultdict(list)
    for term, atom in rows:
        if isinstance(term, str) and _GOAL_VALUE.fullmatch(term):
            found[int(term)].append(atom)
    return [(value, numbering.either(atoms)) for value, atoms in sorted(found.items())]


class _Numbering:
    """The rules with gringo's atoms, and the numbers that those atoms get."""

    def __init__(self, aspif: Aspif, inputs: list[int]) -> None:
        largest = (int(np.abs(part).max(initial=0)) for part in (aspif.heads, aspif.literals, aspif.named))
        self._bound = 1 + max(largest)
        self._inputs = np.array(inputs, np.int64)
        self._more: list[tuple[int, list[int]]] = []  # further rules
        read = np.zeros(self._bound, np.bool_)
        read[np.abs(aspif.literals)] = True
        sizes = np.diff(aspif.first_literal)
        kept = (sizes > 0) | read[aspif.heads]  # the other rules are facts that are simplified away already
        self.heads: NDArray[np.int64] = aspif.heads[kept].astype(np.int64)
        self.first_literal = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes[kept])))
        self.literals: Ids = aspif.literals

    def either(self, atoms: list[int]) -> int:
        """An atom that holds where one of the atoms does."""
        if len(atoms) == 1 or _ALWAYS in atoms:
            return min(atoms)
        self._bound += 1
        self._more += [(self._bound - 1, [atom]) for atom in atoms]
        return self._bound - 1

    def finish(self, outputs: list[int]) -> Ids:
        """The number of each of gringo's atoms, and NEVER at the end: at the index NEVER."""
        if _ALWAYS in outputs:
            self._more.append((_ALWAYS, []))
        more = [atom for _, body in self._more for atom in body]
        ends = np.cumsum([len(body) for _, body in self._more], dtype=np.int64)
        self.heads = np.concatenate((self.heads, np.array([head for head, _ in self._more], np.int64)))
        self.first_literal = np.concatenate((self.first_literal, self.first_literal[-1] + ends))
        self.literals = np.concatenate((self.literals, np.array(more, np.int32)))
        self._prune(np.array(sorted({atom for atom in outputs if atom != NEVER}), np.int64))
        used = np.zeros(self._bound, np.bool_)
        for part in (self.heads, np.abs(self.literals), np.array([a for a in outputs if a != NEVER], np.int64)):
            used[part] = True
        used[self._inputs] = False
        numbers = np.full(self._bound + 1, NEVER, np.int32)
        numbers[self._inputs] = np.arange(len(self._inputs), dtype=np.int32)
        numbers[:-1][used] = len(self._inputs) + np.arange(int(used.sum()), dtype=np.int32)
        return numbers

    def _prune(self, outputs: NDArray[np.int64]) -> None:
        """Drops the rules that no output needs."""
        needed = needed_atoms(self.heads, self.first_literal, self.literals, outputs, self._bound)
        kept = needed[self.heads]
        sizes = np.diff(self.first_literal)
        self.literals = self.literals[np.repeat(kept, sizes)]
        self.heads = self.heads[kept]
        self.first_literal = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes[kept])))

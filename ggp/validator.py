"""Rulesheet → what is wrong with it, and what is dubious, each with its place and the name of the check.

Errors break a rule of GDL; warnings are habits of published rulesheets that have a meaning all the same. Whether an
error keeps a rulesheet from being played is another matter: `ggp.load` refuses only what has no meaning.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal as OneOf

from ggp.dependencies import Dependencies, Tier, find_dependencies
from ggp.errors import Place, ReadError, RulesheetError
from ggp.program import DISTINCT, DOES, TRUE, Clause, Literal, Program, Relation, make_program
from ggp.reader import Node, read
from ggp.rulesheet import (
    ARITIES,
    CONNECTIVES,
    KEYWORDS,
    NATURE,
    RULE,
    And,
    Atom,
    Distinct,
    Not,
    Or,
    Rule,
    Rulesheet,
    Sentence,
    atoms,
    name_and_arity,
    rulesheet_of,
    sentence_term,
)
from ggp.terms import Term, is_ground, subterms, variables

Severity = OneOf["error", "warning"]

_USUAL_NAME = re.compile(r"\??[a-z0-9_+*/=<>!&%$@^~.:-]+")
_REQUIRED = ("role", "terminal", "goal", "legal")
_CONSTANT = ("init", "base", "input")
_HEADS_ONLY = ("init", "next", "base", "input")
_READ_BY_GDL = frozenset(("role", "init", "next", "legal", "goal", "terminal", "base", "input", "sees"))


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check found."""

    severity: Severity
    check: str
    message: str
    place: Place

    def __str__(self) -> str:
        return f"{self.place}: {self.severity}: {self.message} [{self.check}]"


@dataclass(frozen=True, slots=True)
class _Raw:
    """A finding before its place is known."""

    severity: Severity
    check: str
    message: str
    offset: int


def validate(text: str, source: str = "<rulesheet>") -> tuple[Finding, ...]:
    """All findings in the order of the text; when the text has no meaning at all, only the errors that say so."""
    try:
        nodes = read(text, source)
    except ReadError as error:
        return (Finding("error", "syntax", error.message, error.place),)
    broken = tuple(_meaningless(nodes, text, source))
    if broken:
        return broken
    rulesheet = rulesheet_of(nodes, text, source)
    raw = [*_check_text(rulesheet), *_check_program(rulesheet)]
    unique = sorted(dict.fromkeys(raw), key=lambda finding: finding.offset)
    return tuple(Finding(f.severity, f.check, f.message, rulesheet.place(f.offset)) for f in unique)


def _meaningless(nodes: tuple[Node, ...], text: str, source: str) -> Iterator[Finding]:
    for node in nodes:
        try:
            rulesheet_of((node,), text, source)
        except RulesheetError as error:
            yield Finding("error", error.check, error.message.removesuffix(f" [{error.check}]"), error.place)


# What the text alone shows.


def _check_text(rulesheet: Rulesheet) -> Iterator[_Raw]:
    present = {name_and_arity(rule.head)[0] for rule in rulesheet.rules}
    for name in _REQUIRED:
        if name not in present:
            yield _Raw("error", f"has-{name}", f"no rule or fact for '{name}'", 0)
    for rule in rulesheet.rules:
        yield from _check_rule(rule)
    yield from _check_names(rulesheet)
    yield from _check_use(rulesheet)


def _check_rule(rule: Rule) -> Iterator[_Raw]:
    name, _ = name_and_arity(rule.head)
    if name in ("true", "does") or (name == "role" and not rule.is_fact):
        yield _Raw("error", "keyword-head", f"'{name}' may head no rule", rule.offset)
    if rule.is_fact and not is_ground(rule.head):
        message = f"a fact holds the variable {variables(rule.head)[0]}"
        yield _Raw("error", "variable-in-fact", message, rule.offset)
    if not rule.is_fact and not rule.body:
        yield _Raw("warning", "empty-body", "a rule without a body; write it as a fact", rule.offset)
    yield from _check_terms(rule.head, rule.offset)
    for sentence in rule.body:
        yield from _check_sentence(sentence)


def _check_sentence(sentence: Sentence) -> Iterator[_Raw]:
    match sentence:
        case Atom(term, offset):
            name, _ = name_and_arity(term)
            if name in _HEADS_ONLY:
                yield _Raw("error", "head-only", f"'{name}' may not be read in a body", offset)
            yield from _check_terms(term, offset)
        case Distinct(left, right, offset):
            for side in (left, right):
                yield from _check_objects(side, offset)
        case Not(part, offset):
            if not isinstance(part, Atom):
                yield _Raw("warning", "not-over-sentence", f"'not' over '{_label(part)}'", offset)
            yield from _check_sentence(part)
        case And(parts, offset) | Or(parts, offset):
            if isinstance(sentence, Or) and len(parts) < 2:
                yield _Raw("warning", "short-or", f"'or' with {len(parts)} alternatives", offset)
            for part in parts:
                if isinstance(part, Or):
                    yield _Raw("warning", "nested-or", "'or' inside of another sentence", part.offset)
                yield from _check_sentence(part)


def _label(sentence: Sentence) -> str:
    term = sentence_term(sentence)
    return str(term[0] if isinstance(term, tuple) else term)


def _check_terms(atom: Term, offset: int) -> Iterator[_Raw]:
    if isinstance(atom, tuple):
        for argument in atom[1:]:
            yield from _check_objects(argument, offset)


def _check_objects(argument: Term, offset: int) -> Iterator[_Raw]:
    """Keywords where an object is expected."""
    for term in subterms(argument):
        name, arity = name_and_arity(term)
        if arity and name in KEYWORDS - {NATURE}:
            yield _Raw("error", "keyword-function", f"the keyword '{name}' names a function", offset)
        elif not arity and name in CONNECTIVES | {RULE}:
            yield _Raw("error", "keyword-constant", f"'{name}' stands as a constant", offset)
        elif not arity and name in ARITIES:
            yield _Raw("warning", "keyword-object", f"the keyword '{name}' stands as an object", offset)


def _occurrences(rulesheet: Rulesheet) -> Iterator[tuple[Term, int]]:
    """All atoms, heads included, with their offsets."""
    for rule in rulesheet.rules:
        yield rule.head, rule.offset
        for sentence in rule.body:
            for atom, _ in atoms(sentence):
                yield atom.term, atom.offset


def _check_names(rulesheet: Rulesheet) -> Iterator[_Raw]:
    relations: dict[str, set[int]] = {}
    functions: dict[str, set[int]] = {}
    for term, offset in _occurrences(rulesheet):
        name, arity = name_and_arity(term)
        known = relations.setdefault(name, set())
        if known and arity not in known:
            message = f"the relation '{name}' has {arity} arguments here and {min(known)} elsewhere"
            yield _Raw("warning", "varying-arity", message, offset)
        known.add(arity)
        for inner in subterms(term):
            inner_name, inner_arity = name_and_arity(inner)
            if not _USUAL_NAME.fullmatch(inner_name):
                yield _Raw("warning", "unusual-characters", f"unusual characters in '{inner_name}'", offset)
            if inner_arity and inner is not term:
                seen = functions.setdefault(inner_name, set())
                if seen and inner_arity not in seen:
                    message = f"the function '{inner_name}' has {inner_arity} arguments here and {min(seen)} elsewhere"
                    yield _Raw("warning", "varying-arity", message, offset)
                if inner_name in relations and inner_name not in KEYWORDS and not seen:
                    yield _Raw("warning", "shared-name", f"'{inner_name}' is a relation and a function", offset)
                seen.add(inner_arity)


def _check_use(rulesheet: Rulesheet) -> Iterator[_Raw]:
    produced = {name_and_arity(rule.head) for rule in rulesheet.rules}
    used: set[Relation] = set()
    for rule in rulesheet.rules:
        for sentence in rule.body:
            for atom, _ in atoms(sentence):
                relation = name_and_arity(atom.term)
                if relation not in produced | used and relation[0] not in ("true", "does"):
                    yield _Raw("warning", "never-produced", f"nothing ever produces '{relation[0]}'", atom.offset)
                used.add(relation)
    for rule in rulesheet.rules:
        relation = name_and_arity(rule.head)
        if relation not in used and relation[0] not in _READ_BY_GDL:
            used.add(relation)
            yield _Raw("warning", "never-used", f"nothing ever reads '{relation[0]}'", rule.offset)


# What the relations between the rules show.


def _check_program(rulesheet: Rulesheet) -> Iterator[_Raw]:
    program = make_program(rulesheet)
    dependencies = find_dependencies(program)
    yield from _check_tiers(program, dependencies)
    for clause in (clause for clauses in program.clauses.values() for clause in clauses):
        yield from _check_cycles(clause, dependencies)
        yield from _check_safety(clause)


def _check_tiers(program: Program, dependencies: Dependencies) -> Iterator[_Raw]:
    for name in (*_CONSTANT, "terminal", "legal", "goal"):
        relation = (name, ARITIES[name])
        highest = Tier.STATIC if name in _CONSTANT else Tier.STATE
        for clause in program.clauses.get(relation, ()):
            if any(_tier(literal.relation, dependencies) > highest for literal in clause.body):
                if name in _CONSTANT:
                    yield _Raw("error", "constant", f"'{name}' depends on 'true' or 'does'", clause.offset)
                else:
                    yield _Raw("error", "does-before-move", f"'{name}' depends on 'does'", clause.offset)


def _tier(relation: Relation, dependencies: Dependencies) -> Tier:
    return {TRUE: Tier.STATE, DOES: Tier.STEP}.get(relation) or dependencies.tiers.get(relation, Tier.STATIC)


def _check_cycles(clause: Clause, dependencies: Dependencies) -> Iterator[_Raw]:
    component = dependencies.component[clause.relation]
    name = clause.relation[0]
    inside = [literal for literal in clause.body if dependencies.component.get(literal.relation) == component]
    if any(not literal.positive for literal in inside):
        yield _Raw("error", "stratification", f"'{name}' depends on its own negation", clause.offset)
    outside = [lit for lit in clause.body if lit.positive and lit.relation != DISTINCT and lit not in inside]
    given = {argument for argument in clause.arguments if isinstance(argument, str)}
    given.update(argument for literal in outside for argument in literal.arguments if isinstance(argument, str))
    for literal in inside:
        loose = [argument for argument in literal.arguments if not is_ground(argument) and argument not in given]
        if loose and literal.positive:
            message = f"'{name}' reads itself with an argument that neither its head nor another condition holds"
            yield _Raw("error", "recursion-restriction", message, clause.offset)


def _check_safety(clause: Clause) -> Iterator[_Raw]:
    bound = _bound_by(clause.body)
    wanted = Counter(variables(clause.head))
    for literal in clause.body:
        if not literal.positive or literal.relation == DISTINCT:
            wanted.update(variables(literal.atom))
    loose = [name for name in wanted if name not in bound]
    if loose and clause.body:
        message = f"{', '.join(loose)} in a rule for '{clause.relation[0]}' stands in no positive condition"
        yield _Raw("error", "safety", message, clause.offset)


def _bound_by(body: Iterable[Literal]) -> set[str]:
    return {name for lit in body if lit.positive and lit.relation != DISTINCT for name in variables(lit.atom)}

"""Rulesheet → program: flat clauses whose bodies are plain conjunctions of literals.

`or` becomes several clauses, `not` moves inward to the atoms. A rule whose alternatives would multiply beyond
`MAX_CLAUSES` gets helper relations instead.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count, product
from math import prod
from typing import TypeAlias

from ggp.rulesheet import And, Atom, Distinct, Not, Or, Rule, Rulesheet, Sentence, name_and_arity, sentence_term
from ggp.terms import Term, is_ground, variables

Relation: TypeAlias = tuple[str, int]  # name and arity

DISTINCT: Relation = ("distinct", 2)  # negated: the two terms are equal
TRUE: Relation = ("true", 1)
DOES: Relation = ("does", 2)
NEXT: Relation = ("next", 1)
MAX_CLAUSES = 64  # that one rule may become before helper relations are used
FACTS_SUFFIX = "/facts"  # no symbol of a rulesheet can name these: the reader folds case
OR_PREFIX = "OR"


@dataclass(frozen=True, slots=True)
class Literal:
    """An atom, or its negation as failure."""

    atom: Term
    positive: bool

    @property
    def relation(self) -> Relation:
        return name_and_arity(self.atom)

    @property
    def arguments(self) -> tuple[Term, ...]:
        return () if isinstance(self.atom, str) else self.atom[1:]


@dataclass(frozen=True, slots=True)
class Clause:
    """A head that holds when every literal of the body does."""

    head: Term
    body: tuple[Literal, ...]
    offset: int  # of the rule in the text of the rulesheet

    @property
    def relation(self) -> Relation:
        return name_and_arity(self.head)

    @property
    def arguments(self) -> tuple[Term, ...]:
        return () if isinstance(self.head, str) else self.head[1:]


@dataclass(frozen=True, slots=True)
class Program:
    """The clauses of a game by relation; ground facts apart, as tables."""

    clauses: dict[Relation, tuple[Clause, ...]]
    tables: dict[Relation, tuple[tuple[Term, ...], ...]]  # the arguments of each ground fact, in the order of the text
    rulesheet: Rulesheet


def make_program(rulesheet: Rulesheet) -> Program:
    """The program of a rulesheet."""
    flattener = _Flattener()
    clauses: dict[Relation, list[Clause]] = {}
    tables: dict[Relation, dict[tuple[Term, ...], None]] = {}
    for rule in rulesheet.rules:
        for clause in flattener.clauses(rule):
            if not clause.body and is_ground(clause.head):
                tables.setdefault(clause.relation, {})[clause.arguments] = None
            else:
                clauses.setdefault(clause.relation, []).append(clause)
    for relation in clauses.keys() & tables.keys():
        clauses[relation].insert(0, _facts_clause(relation))
        tables[_facts_relation(relation)] = tables.pop(relation)
    return Program(
        {relation: tuple(found) for relation, found in clauses.items()},
        {relation: tuple(rows) for relation, rows in tables.items()},
        rulesheet,
    )


def _facts_relation(relation: Relation) -> Relation:
    return relation[0] + FACTS_SUFFIX, relation[1]


def _facts_clause(relation: Relation) -> Clause:
    """`relation` holds for what its table of facts holds for."""
    name, arity = relation
    arguments = tuple(f"?{index}" for index in range(arity))
    head: Term = (name, *arguments) if arity else name
    body: Term = (name + FACTS_SUFFIX, *arguments) if arity else name + FACTS_SUFFIX
    return Clause(head, (Literal(body, positive=True),), 0)


class _Flattener:
    """Turns rules into clauses; numbers the helper relations."""

    def __init__(self) -> None:
        self._numbers = count()

    def clauses(self, rule: Rule) -> Iterable[Clause]:
        alternatives = [self._alternatives(part, positive=True) for part in rule.body]
        extra: list[Clause] = []
        if prod(map(len, alternatives)) > MAX_CLAUSES:
            for index, part in enumerate(rule.body):
                if len(alternatives[index]) > 1:
                    head = self._helper_head(rule, index, part)
                    extra += [Clause(head, body, rule.offset) for body in alternatives[index]]
                    alternatives[index] = [(Literal(head, positive=True),)]
        for bodies in product(*alternatives):
            yield Clause(rule.head, tuple(dict.fromkeys(literal for body in bodies for literal in body)), rule.offset)
        yield from extra

    def _helper_head(self, rule: Rule, index: int, part: Sentence) -> Term:
        others = {name for place, other in enumerate(rule.body) if place != index for name in _variables(other)}
        shared = [name for name in _variables(part) if name in others or name in variables(rule.head)]
        name = f"{OR_PREFIX}{next(self._numbers)}"
        return (name, *shared) if shared else name

    def _alternatives(self, sentence: Sentence, *, positive: bool) -> list[tuple[Literal, ...]]:
        """The sentence, or its negation, as a disjunction of conjunctions."""
        match sentence:
            case Atom(term):
                return [(Literal(term, positive),)]
            case Distinct(left, right):
                return [(Literal(("distinct", left, right), positive),)]
            case Not(part):
                return self._alternatives(part, positive=not positive)
            case And(parts) | Or(parts):
                inner = [self._alternatives(part, positive=positive) for part in parts]
                if isinstance(sentence, Or) == positive:
                    return [body for bodies in inner for body in bodies]
                return [tuple(literal for body in bodies for literal in body) for bodies in product(*inner)]


def _variables(sentence: Sentence) -> tuple[str, ...]:
    return variables(sentence_term(sentence))

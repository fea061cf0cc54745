"""Rulesheet → program: flat clauses whose bodies are plain conjunctions of literals.

`or` becomes several clauses, `not` moves inward to the atoms. Helper relations replace alternatives that would
multiply beyond `_MAX_CLAUSES`, and sentences negated as a whole: `(not (and (p ?x) (q ?x)))` with an ?x of its own.
A rule for what is of a role, such as `(<= (sees ?r (time ?t)) (true (time ?t)))`, is one for all roles where no
condition binds its role: published rulesheets have such rules.
"""

from dataclasses import dataclass
from itertools import count, product
from math import prod
from typing import TypeAlias

from ggp.gdl.rulesheet import And, Atom, Distinct, Not, Or, Rule, Rulesheet, Sentence, name_and_arity, sentence_term
from ggp.gdl.terms import Term, is_ground, is_variable, substitute, to_text, variables

Relation: TypeAlias = tuple[str, int]  # name and arity

DISTINCT: Relation = ("distinct", 2)  # negated: the two terms are equal
TRUE: Relation = ("true", 1)
DOES: Relation = ("does", 2)
OF_ROLES = frozenset((("legal", 2), ("goal", 2), ("sees", 2), ("input", 2)))  # their first argument is a role
_MAX_CLAUSES = 64  # that one rule may become before helper relations are used
FACTS_SUFFIX = "/FACTS"  # no symbol of a rulesheet has capitals: the reader folds case
_OR_PREFIX = "OR"


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


_Body: TypeAlias = tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Helper:
    """A relation that replaces a part of a rule, and that part as it was written."""

    head: Term
    meaning: Term


@dataclass(frozen=True, slots=True)
class LogicProgram:
    """The clauses of a game by relation; ground facts apart, as tables."""

    clauses: dict[Relation, tuple[Clause, ...]]
    tables: dict[Relation, tuple[tuple[Term, ...], ...]]  # the arguments of each ground fact, in the order of the text
    helpers: dict[str, Helper]  # by the name of the relation, which no rulesheet can have
    rulesheet: Rulesheet

    def in_words(self, relation: Relation) -> str:
        """What the text has for a relation: its name, or the part of a rule that a helper replaces."""
        name = relation[0]
        helper = self.helpers.get(name)
        if helper is None:
            return f"'{name.removesuffix(FACTS_SUFFIX)}'"
        return to_text(substitute(helper.meaning, {own: as_written(own) for own in variables(helper.meaning)}))

    def place_in_words(self, relation: Relation) -> str:
        """Where the text has a clause of a relation: in a rule of its name, or in the part that a helper replaces."""
        words = self.in_words(relation)
        return words if relation[0] in self.helpers else f"a rule for {words}"


def make_logic_program(rulesheet: Rulesheet) -> LogicProgram:
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
    return LogicProgram(
        {relation: tuple(found) for relation, found in clauses.items()},
        {relation: tuple(rows) for relation, rows in tables.items()},
        flattener.helpers,
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
    """Turns rules into clauses; numbers the helper relations.

    `outer` are the variables that a rule binds outside of its negations. The others are in a negation only, where they
    are existential: `(not (p ?x))` holds if there is no x with p. Each negation has its own.
    """

    def __init__(self) -> None:
        self.helpers: dict[str, Helper] = {}
        self._numbers = count()
        self._extra: list[Clause] = []
        self._offset = 0

    def clauses(self, rule: Rule) -> list[Clause]:
        self._extra = []
        self._offset = rule.offset
        whole = And(rule.body, rule.offset)
        alternatives = self._alternatives(whole, frozenset((*variables(rule.head), *_bound_by(whole))), positive=True)
        found = [_for_all_roles(rule.head, tuple(dict.fromkeys(alternative))) for alternative in alternatives]
        return [Clause(rule.head, body, rule.offset) for body in found] + self._extra

    def _alternatives(self, sentence: Sentence, outer: frozenset[str], *, positive: bool) -> list[_Body]:
        """The sentence, or its negation, as a disjunction of conjunctions."""
        match sentence:
            case Atom(term):
                return [(Literal(term if positive else self._renamed(term, outer), positive),)]
            case Distinct(left, right):
                return [(Literal(("distinct", left, right), positive),)]
            case Not(part):
                return self._negated(part, outer, positive=positive)
            case And(parts) if not positive and not outer.issuperset(_variables(sentence)):
                return [(self._helper(sentence, parts, outer),)]
            case And(parts) | Or(parts):
                inner = [(part, self._alternatives(part, outer, positive=positive)) for part in parts]
                if isinstance(sentence, Or) == positive:
                    return [body for _, bodies in inner for body in bodies]
                return self._product(inner, outer, positive=positive)

    def _negated(self, part: Sentence, outer: frozenset[str], *, positive: bool) -> list[_Body]:
        if positive:
            return self._alternatives(part, outer, positive=False)
        loose = [name for name in _variables(part) if name not in outer]
        if loose and not isinstance(part, Distinct):  # existential: a relation of its own
            return [(Literal(self._helper(part, (part,), outer).atom, positive=True),)]
        return self._alternatives(part, outer, positive=True)

    def _product(
        self, inner: list[tuple[Sentence, list[_Body]]], outer: frozenset[str], *, positive: bool
    ) -> list[_Body]:
        """All combinations; where they are too many, those with several alternatives become helper relations."""
        found = [bodies for _, bodies in inner]
        if prod(map(len, found)) > _MAX_CLAUSES:
            found = [
                bodies if len(bodies) == 1 else [(self._relation(part, bodies, outer, positive=positive),)]
                for part, bodies in inner
            ]
        return [tuple(literal for body in bodies for literal in body) for bodies in product(*found)]

    def _helper(self, sentence: Sentence, parts: tuple[Sentence, ...], outer: frozenset[str]) -> Literal:
        """The negation of a relation that holds where all of the parts do."""
        own = outer.union(*map(_bound_by, parts))
        bodies = self._alternatives(And(parts, self._offset), own, positive=True)
        shared = frozenset(name for name in _variables(sentence) if name in outer)
        return Literal(self._relation(sentence, bodies, shared, positive=True).atom, positive=False)

    def _relation(self, sentence: Sentence, bodies: list[_Body], outer: frozenset[str], *, positive: bool) -> Literal:
        """A new relation that holds where one of the bodies does."""
        name = f"{_OR_PREFIX}{next(self._numbers)}"
        shared = [variable for variable in _variables(sentence) if variable in outer]
        head: Term = (name, *shared) if shared else name
        self._extra += [Clause(head, body, self._offset) for body in bodies]
        meaning = sentence_term(sentence)
        self.helpers[name] = Helper(head, meaning if positive else ("not", meaning))
        return Literal(head, positive=True)

    def _renamed(self, atom: Term, outer: frozenset[str]) -> Term:
        """With new names for existential variables, so that each negation has its own; no text can use these names."""
        loose = [name for name in variables(atom) if name not in outer]
        return substitute(atom, {name: f"{name} {next(self._numbers)}" for name in loose}) if loose else atom


def as_written(variable: str) -> str:
    """A variable without the number that tells those of different negations apart."""
    return variable.partition(" ")[0]


def role_variable(head: Term) -> str | None:
    """The variable that stands for a role in a head that is of one."""
    role = head[1] if name_and_arity(head) in OF_ROLES else None
    return role if isinstance(role, str) and is_variable(role) else None


def _for_all_roles(head: Term, body: _Body) -> _Body:
    """With a condition that binds the role of the head, where there is none."""
    role = role_variable(head)
    bound = {
        name
        for literal in body
        if literal.positive and literal.relation != DISTINCT
        for name in variables(literal.atom)
    }
    return body if role is None or role in bound else (Literal(("role", role), positive=True), *body)


def _variables(sentence: Sentence) -> tuple[str, ...]:
    return variables(sentence_term(sentence))


def _bound_by(sentence: Sentence) -> frozenset[str]:
    """The variables of the atoms outside of all negations."""
    match sentence:
        case Atom(term):
            return frozenset(variables(term))
        case Distinct() | Not():
            return frozenset()
        case And(parts) | Or(parts):
            return frozenset().union(*map(_bound_by, parts))

"""Rulesheet → what is wrong with it, and what is dubious, each with its place and the name of the check.

Errors break a rule of GDL; warnings are habits of published rulesheets that have a meaning all the same. Whether an
error keeps a rulesheet from being played is another matter: `ggp.load` refuses only what has no meaning.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal as OneOf

from ggp.errors import Place, ReadError
from ggp.gdl.dependencies import Dependencies, Tier, find_dependencies, find_ground_cycles
from ggp.gdl.logic_program import DOES, OF_ROLES, TRUE, LogicProgram, Relation, make_logic_program, role_variable
from ggp.gdl.reader import Node, place_in, read
from ggp.gdl.rulesheet import (
    ARITIES,
    CONNECTIVES,
    HINTS,
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
    build_rulesheet,
    name_and_arity,
    sentence_term,
)
from ggp.gdl.terms import Term, is_ground, is_variable, subterms, to_text, variables

Severity = OneOf["error", "warning"]

STRATIFICATION = "stratification"  # the check that finds relations which read their own negation
SAFETY = "safety"  # that which finds variables without a value

_GOAL_VALUE = re.compile(r"[0-9]{1,2}|100")
_OF_ROLES = tuple(name for name, _ in OF_ROLES)
_USUAL_NAME = re.compile(r"\??[a-z0-9_+*/=<>!&%$@^~.:-]+")
_REQUIRED = ("role", "terminal", "goal", "legal")
_CONSTANT = ("init", "base", "input")
_HEADS_ONLY = ("init", "next", "base", "input")
_NO_COMPONENT = -1  # of a relation without rules
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
    """All findings in the order of the text; only the errors of reading, if it has any."""
    try:
        nodes = read(text, source)
    except ReadError as error:
        return (Finding("error", "syntax", error.message, error.place),)
    rulesheet, errors = build_rulesheet(nodes, text, source)
    if errors:
        return tuple(
            Finding("error", error.check, error.message.removesuffix(f" [{error.check}]"), error.place)
            for error in errors
        )
    raw = [*_check_spelling(nodes), *_check_text(rulesheet), *_check_program(rulesheet)]
    unique = sorted(dict.fromkeys(raw), key=lambda finding: finding.offset)
    place = place_in(text, source)
    return tuple(Finding(f.severity, f.check, f.message, place(f.offset)) for f in unique)


# Checks of single rules and of names.


def _check_spelling(nodes: Iterable[Node]) -> Iterator[_Raw]:
    """Names without arguments that stand in parentheses here and without them there: some programs tell these apart."""
    bare: set[str] = set()
    enclosed: dict[str, int] = {}
    stack = list(reversed(list(nodes)))
    while stack:
        node = stack.pop()
        if node.text is not None:
            bare.add(node.text.lower())
        elif len(node.items) == 1 and node.items[0].text is not None:
            enclosed.setdefault(node.items[0].text.lower(), node.offset)
        else:
            names_something = bool(node.items) and not node.items[0].is_list
            stack.extend(reversed(node.items[1:] if names_something else node.items))
    for name, offset in enclosed.items():
        if name in bare:
            yield _Raw("warning", "varying-arity", f"'({name})' here and '{name}' elsewhere: they are the same", offset)


def _check_text(rulesheet: Rulesheet) -> Iterator[_Raw]:
    present = {name_and_arity(rule.head)[0] for rule in rulesheet.rules}
    for name in _REQUIRED:
        if name not in present:
            yield _Raw("error", f"has-{name}", f"no rule or fact for '{name}'", 0)
    for rule in rulesheet.rules:
        yield from _check_rule(rule)
    yield from _check_names(rulesheet)
    yield from _check_use(rulesheet)
    yield from _check_values(rulesheet)


def _check_rule(rule: Rule) -> Iterator[_Raw]:
    name, arity = name_and_arity(rule.head)
    if name in ("true", "does") or (name == "role" and not rule.is_fact):
        yield _Raw("error", "keyword-head", f"'{name}' cannot be the head of a rule", rule.offset)
    if rule.is_fact and not is_ground(rule.head):
        message = f"a fact has the variable {variables(rule.head)[0]}"
        yield _Raw("error", "variable-in-fact", message, rule.offset)
    if not rule.is_fact and not rule.body:
        yield _Raw("warning", "empty-body", "a rule without a body: write it as a fact", rule.offset)
    if arity != ARITIES.get(name, arity):
        message = f"'{name}' has {_argument_count(arity)} here and {ARITIES[name]} in GDL: it is another relation"
        yield _Raw("warning", "keyword-arity", message, rule.offset)
    yield from _check_terms(rule.head, rule.offset)
    for sentence in rule.body:
        yield from _check_sentence(sentence, name)


def _check_sentence(sentence: Sentence, head: str) -> Iterator[_Raw]:
    """A condition of a rule; head: the relation of which that is."""
    match sentence:
        case Atom(term, offset):
            name, arity = name_and_arity(term)
            if (head, name) == ("sees", "next"):
                yield _Raw("warning", "head-only", "'next' as a condition: other systems may refuse it", offset)
            elif name in _HEADS_ONLY and arity == ARITIES[name]:
                yield _Raw("error", "head-only", f"'{name}' cannot be a condition", offset)
            yield from _check_terms(term, offset)
        case Distinct(left, right, offset):
            for side in (left, right):
                yield from _check_objects(side, offset)
        case Not(part, offset):
            if not isinstance(part, Atom):
                yield _Raw("warning", "not-over-sentence", f"'not' over '{_label(part)}'", offset)
            yield from _check_sentence(part, head)
        case And(parts, offset) | Or(parts, offset):
            if isinstance(sentence, Or) and len(parts) < 2:
                yield _Raw("warning", "short-or", f"'or' with {len(parts)} alternatives", offset)
            for part in parts:
                if isinstance(part, Or):
                    yield _Raw("warning", "nested-or", "'or' inside of another sentence", part.offset)
                yield from _check_sentence(part, head)


def _label(sentence: Sentence) -> str:
    term = sentence_term(sentence)
    return str(term[0] if isinstance(term, tuple) else term)


def _check_terms(atom: Term, offset: int) -> Iterator[_Raw]:
    if isinstance(atom, tuple):
        for argument in atom[1:]:
            yield from _check_objects(argument, offset, is_percept=atom[0] == "sees")


def _check_objects(argument: Term, offset: int, *, is_percept: bool = False) -> Iterator[_Raw]:
    """Keywords where an object is expected; published rulesheets have `(does ROLE MOVE)` as a percept."""
    for term in subterms(argument):
        name, arity = name_and_arity(term)
        if is_percept and (name, arity) == DOES:
            continue
        if arity and name in KEYWORDS - {NATURE}:
            yield _Raw("error", "keyword-function", f"the keyword '{name}' is used as a function", offset)
        elif not arity and name in CONNECTIVES | {RULE}:
            yield _Raw("error", "keyword-constant", f"the connective '{name}' is used as a constant", offset)
        elif not arity and name in ARITIES:
            yield _Raw("warning", "keyword-object", f"the keyword '{name}' is used as an object", offset)


def _occurrences(rulesheet: Rulesheet) -> Iterator[tuple[Term, int]]:
    """All atoms, heads and `distinct` included, with their offsets; not the hints that are none of GDL."""
    for rule in rulesheet.rules:
        name, arity = name_and_arity(rule.head)
        if name not in HINTS or arity == ARITIES[name]:
            yield rule.head, rule.offset
        for leaf in _Bindings(rule, variables).leaves():
            yield leaf.term, leaf.sentence.offset


def _check_names(rulesheet: Rulesheet) -> Iterator[_Raw]:
    heard = {name_and_arity(term)[0] for term, _ in _occurrences(rulesheet)} - KEYWORDS
    relations: dict[str, set[int]] = {}
    functions: dict[str, set[int]] = {}
    constants = {
        inner
        for term, _ in _occurrences(rulesheet)
        for inner in subterms(term)
        if isinstance(inner, str) and inner is not term
    }
    for term, offset in _occurrences(rulesheet):
        name, arity = name_and_arity(term)
        known = relations.setdefault(name, set())
        if known and arity not in known:
            message = f"the relation '{name}' has {_argument_count(arity)} here and {min(known)} elsewhere"
            yield _Raw("warning", "varying-arity", message, offset)
        known.add(arity)
        for inner in subterms(term):
            inner_name, inner_arity = name_and_arity(inner)
            if not _USUAL_NAME.fullmatch(inner_name):
                yield _Raw("warning", "unusual-characters", f"unusual characters in '{inner_name}'", offset)
            if inner_arity and inner is not term:
                seen = functions.setdefault(inner_name, set())
                if seen and inner_arity not in seen:
                    message = (
                        f"the function '{inner_name}' has {_argument_count(inner_arity)} here and {min(seen)} elsewhere"
                    )
                    yield _Raw("warning", "varying-arity", message, offset)
                elif inner_name in constants and not seen:
                    message = f"the function '{inner_name}' has {_argument_count(inner_arity)} here and none elsewhere"
                    yield _Raw("warning", "varying-arity", message, offset)
                if inner_name in heard and not seen:
                    yield _Raw("warning", "shared-name", f"'{inner_name}' is a relation and a function", offset)
                seen.add(inner_arity)


def _argument_count(arity: int) -> str:
    """A number of arguments in words."""
    return "1 argument" if arity == 1 else f"{arity} arguments"


def _check_use(rulesheet: Rulesheet) -> Iterator[_Raw]:
    produced = {name_and_arity(rule.head) for rule in rulesheet.rules}
    used: set[Relation] = set()
    for rule in rulesheet.rules:
        for sentence in rule.body:
            for atom, _ in atoms(sentence):
                relation = name_and_arity(atom.term)
                if relation not in produced and relation not in used and relation[0] not in ("true", "does"):
                    yield _Raw("warning", "never-produced", f"nothing ever produces '{relation[0]}'", atom.offset)
                used.add(relation)
    for rule in rulesheet.rules:
        relation = name_and_arity(rule.head)
        if relation not in used and relation[0] not in _READ_BY_GDL:
            used.add(relation)
            yield _Raw("warning", "never-used", f"nothing ever reads '{relation[0]}'", rule.offset)


def _check_values(rulesheet: Rulesheet) -> Iterator[_Raw]:
    """Roles and goal values in the heads of rules, and roles where facts name them."""
    roles = {rule.head[1] for rule in rulesheet.rules if name_and_arity(rule.head) == ("role", 1)}
    for rule in rulesheet.rules:
        name, arity = name_and_arity(rule.head)
        if (name, arity) == ("role", 1) and not isinstance(rule.head[1], str):
            yield _Raw("error", "role", f"a role is a constant, not {to_text(rule.head[1])}", rule.offset)
        if name in _OF_ROLES and arity == ARITIES[name]:
            role, value = rule.head[1], rule.head[-1]
            if roles and is_ground(role) and role not in roles:
                yield _Raw("warning", "unknown-role", f"'{name}' of {to_text(role)}, which is no role", rule.offset)
            if name == "goal" and is_ground(value) and not (isinstance(value, str) and _GOAL_VALUE.fullmatch(value)):
                message = f"the goal value {to_text(value)} is no number from 0 to 100"
                yield _Raw("error", "goal-value", message, rule.offset)
    named = _facts_of_roles(rulesheet)
    for rule in rulesheet.rules:
        fact = rule.head[1] if name_and_arity(rule.head) in (("init", 1), ("next", 1)) else ""
        if name_and_arity(fact) in named and is_ground(fact[1]) and fact[1] not in roles and roles:
            message = f"'{rule.head[0]}' names {to_text(fact[1])}, which is no role, where rules expect one"
            yield _Raw("warning", "unknown-role", message, rule.offset)


def _facts_of_roles(rulesheet: Rulesheet) -> set[Relation]:
    """Facts with one argument, such as `(control ?r)`, that a rule reads as the role that it is about."""
    found: set[Relation] = set()
    for rule in rulesheet.rules:
        read = [atom.term for sentence in rule.body for atom, _ in atoms(sentence)]
        about = [term for term in (rule.head, *read) if name_and_arity(term)[0] in ("role", "does", *_OF_ROLES)]
        names = {term[1] for term in about if isinstance(term, tuple) and is_variable(term[1])}
        facts = [term[1] for term in read if name_and_arity(term) == TRUE]
        found.update(name_and_arity(fact) for fact in facts if len(fact) == 2 and fact[1] in names)
    return found


# Checks of the relations between rules.


def _check_program(rulesheet: Rulesheet) -> Iterator[_Raw]:
    program = make_logic_program(rulesheet)
    dependencies = find_dependencies(program)
    yield from _check_tiers(program, dependencies)
    in_cycles = find_ground_cycles(program, dependencies)
    for rule in rulesheet.rules:
        yield from _check_cycles(rule, dependencies, in_cycles)
        yield from _check_safety(rule)


def _check_tiers(program: LogicProgram, dependencies: Dependencies) -> Iterator[_Raw]:
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


def _check_cycles(rule: Rule, dependencies: Dependencies, in_cycles: frozenset[int]) -> Iterator[_Raw]:
    """`in_cycles` are the offsets of rules by which an atom may depend on its own negation."""
    name, _ = name_and_arity(rule.head)
    component = dependencies.component.get(name_and_arity(rule.head), _NO_COMPONENT)

    def is_inside(atom: Term) -> bool:
        return dependencies.component.get(name_and_arity(atom)) == component

    def bind(atom: Term) -> Iterable[Term]:
        return () if is_inside(atom) else subterms(atom)

    for leaf in _Bindings(rule, bind).leaves():
        if not is_inside(leaf.term):
            continue
        if not leaf.positive and rule.offset in in_cycles:
            yield _Raw("error", STRATIFICATION, f"'{name}' depends on its own negation", rule.offset)
        elif not leaf.positive:
            message = f"'{name}' reads its own negation, though only for other arguments"
            yield _Raw("warning", STRATIFICATION, message, rule.offset)
        elif any(
            not is_ground(argument) and argument not in _arguments(rule.head) and argument not in leaf.bound
            for argument in _arguments(leaf.term)
        ):
            message = f"'{name}' reads itself with an argument that is neither in its head nor in another condition"
            yield _Raw("error", "recursion-restriction", message, rule.offset)


def _arguments(atom: Term) -> tuple[Term, ...]:
    return () if isinstance(atom, str) else atom[1:]


def _check_safety(rule: Rule) -> Iterator[_Raw]:
    if rule.is_fact:
        return
    bindings = _Bindings(rule, variables)
    loose = [name for name in variables(rule.head) if name not in bindings.of(bindings.body)]
    for leaf in bindings.leaves():
        if not leaf.positive or isinstance(leaf.sentence, Distinct):
            loose += [name for name in variables(leaf.term) if name not in leaf.bound]
    role = role_variable(rule.head)
    if role in loose:
        loose = [name for name in loose if name != role]
        message = f"nothing binds the role {role} of '{name_and_arity(rule.head)[0]}': it holds for all roles"
        yield _Raw("warning", "all-roles", message, rule.offset)
    if loose:
        names = ", ".join(dict.fromkeys(loose))
        message = f"{names} in a rule for '{name_and_arity(rule.head)[0]}' is not in a positive condition"
        yield _Raw("error", SAFETY, message, rule.offset)


@dataclass(frozen=True, slots=True)
class _Leaf:
    """An atom or `distinct` of a body, and what is bound wherever it counts."""

    sentence: Atom | Distinct
    positive: bool
    bound: frozenset[Term]

    @property
    def term(self) -> Term:
        return sentence_term(self.sentence)


class _Bindings:
    """Which terms of a rule its positive conditions bind; of alternatives, only what each of them binds.

    `bind` gives the terms that an atom binds.
    """

    def __init__(self, rule: Rule, bind: Callable[[Term], Iterable[Term]]) -> None:
        self.body = And(rule.body, rule.offset)
        self._bind = bind
        self._all = frozenset((*subterms(rule.head), *subterms(sentence_term(self.body))))

    def of(self, sentence: Sentence, *, positive: bool = True) -> frozenset[Term]:
        """What the sentence, or its negation, binds."""
        match sentence:
            case Atom(term):
                return frozenset(self._bind(term)) if positive else frozenset()
            case Distinct() | Not():  # also two negations bind nothing, as when rules are evaluated
                return frozenset()
            case And(parts) | Or(parts):
                found = [self.of(part, positive=positive) for part in parts]
                if isinstance(sentence, And) == positive:
                    return frozenset().union(*found)
                return self._all.intersection(*found)

    def leaves(self) -> Iterator[_Leaf]:
        return self._leaves(self.body, frozenset(), positive=True)

    def _leaves(self, sentence: Sentence, around: frozenset[Term], *, positive: bool) -> Iterator[_Leaf]:
        bound = around | self.of(sentence, positive=positive)
        match sentence:
            case Atom() | Distinct():
                yield _Leaf(sentence, positive, bound)
            case Not(part):
                yield from self._leaves(part, bound, positive=not positive)
            case And(parts) | Or(parts):
                for part in parts:
                    yield from self._leaves(part, bound, positive=positive)

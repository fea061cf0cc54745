"""Whether all are connected: reachability between all pairs → reachability from one node.

The transitive closure of a symmetric static relation among nodes that meet some conditions, such as neighbouring cells
with pieces of one role, is an equivalence. Where rules ask only whether any two nodes are not connected, it is enough
to ask whether any is not reached from the first: a row for each node in place of one for each pair.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import prod

from ggp.gdl.logic_program import DISTINCT, Clause, Literal, Relation
from ggp.gdl.rulesheet import name_and_arity
from ggp.gdl.terms import Term, is_variable, substitute, variables
from ggp.grounding.clingo import OverBudgetError
from ggp.grounding.narrow import Evaluate
from ggp.grounding.prepare import Prepared

_REACHED_PREFIX = "REACHED"  # no symbol of a rulesheet has capitals: the reader folds case
_EARLIER_PREFIX = "EARLIER"
_BEFORE_PREFIX = "BEFORE"
_EDGE = "EDGE"
_MOST_NODES = 4_096

_Literals = frozenset[Literal]


@dataclass(frozen=True, slots=True)
class _Closure:
    """Its literals are about the variables ?p0 … (what all nodes share), ?a0 … and ?b0 … (two nodes)."""

    relation: Relation
    shared: tuple[int, ...]  # arguments
    one: tuple[int, ...]  # arguments: a node
    other: tuple[int, ...]  # arguments: another node
    edges: _Literals  # between ?a and ?b
    conditions: _Literals  # of the node ?b
    is_reflexive: bool

    def names(self, arguments: Sequence[Term]) -> tuple[list[str], list[str], list[str]]:
        """The variables of what is shared, and of both nodes."""
        parts = ([str(arguments[place]) for place in places] for places in (self.shared, self.one, self.other))
        shared, one, other = parts
        return shared, one, other


class _NoMatchError(Exception):
    """The clauses have another form."""


def reached_from_one(prepared: Prepared, evaluate: Evaluate) -> tuple[Prepared, int]:
    """The same game with reachability from one node, and for how many relations; evaluate: for static relations."""
    count = 0
    for relation in sorted(prepared.dependencies.recursive - prepared.dependencies.negative_cycles):
        try:
            closure = _closure(relation, prepared)
            clauses = list(_replaced(closure, prepared, count))
            nodes = _nodes(closure, prepared)
            if not _is_symmetric(closure, prepared, evaluate):
                continue
        except (_NoMatchError, OverBudgetError):
            continue
        before = f"{_BEFORE_PREFIX}{count}", 2 * len(closure.other)
        tables = {**prepared.tables, before: tuple(one + other for one, other in pairwise(nodes))}
        prepared = prepared.with_clauses((*clauses, *_reaching(closure, count)), tables)
        count += 1
    return prepared, count


# What is a closure.


def _closure(relation: Relation, prepared: Prepared) -> _Closure:
    """What a relation is, if it has a clause that begins and one that goes on; else _NoMatchError."""
    clauses = [clause for clause in prepared.clauses if clause.relation == relation]
    recursive = [clause for clause in clauses if any(literal.relation == relation for literal in clause.body)]
    bases = [clause for clause in clauses if clause not in recursive]
    if len(recursive) != 1 or len(bases) != 1:
        raise _NoMatchError
    step, base = recursive[0], bases[0]
    inner = [literal for literal in step.body if literal.relation == relation]
    rest = [literal for literal in step.body if literal.relation != relation]
    if len(inner) != 1 or not inner[0].positive:
        raise _NoMatchError
    head, before = _distinct_variables(step.arguments), _distinct_variables(inner[0].arguments)
    used = {name for literal in rest for name in variables(literal.atom)}
    other = tuple(place for place, name in enumerate(head) if before[place] != name)
    kept = [place for place in range(len(head)) if place not in other]
    one = tuple(place for place in kept if head[place] not in used)
    shared = tuple(place for place in kept if head[place] in used)
    if not other or len(one) != len(other) or any(before[place] in head for place in other):
        raise _NoMatchError
    found = _Closure(relation, shared, one, other, frozenset(), frozenset(), is_reflexive=False)
    renaming = _renaming(found.names(head)[0], [before[place] for place in other], found.names(head)[2])
    edges, of_one, conditions = _sorted_out(rest, renaming, prepared)
    if not edges or not of_one <= conditions:
        raise _NoMatchError
    names = found.names(base.arguments)
    is_reflexive = names[1] == names[2]
    _distinct_variables([*names[0], *names[1], *(() if is_reflexive else names[2])])
    first = _sorted_out(base.body, _renaming(*names), prepared)
    wanted = (frozenset(), frozenset(), conditions) if is_reflexive else (edges, conditions, conditions)
    if first != wanted:
        raise _NoMatchError
    return _Closure(relation, shared, one, other, edges, conditions, is_reflexive)


def _distinct_variables(arguments: Sequence[Term]) -> list[str]:
    found = [str(argument) for argument in arguments if is_variable(argument)]
    if len(set(found)) != len(arguments):
        raise _NoMatchError
    return found


def _renaming(shared: Iterable[str], one: Iterable[str], other: Iterable[str]) -> dict[str, Term]:
    """Where both nodes are the same, ?b."""
    return {
        name: f"?{letter}{place}"
        for letter, names in (("p", shared), ("a", one), ("b", other))
        for place, name in enumerate(names)
    }


def _sorted_out(
    body: Iterable[Literal], renaming: dict[str, Term], prepared: Prepared
) -> tuple[_Literals, _Literals, _Literals]:
    """Static conditions on both nodes, and those on either one, as on ?b."""
    found: tuple[set[Literal], ...] = (set(), set(), set())
    for literal in body:
        letters = _letters(literal, renaming)
        renamed = Literal(substitute(literal.atom, renaming), literal.positive)
        if letters == {"a", "b"} and (literal.relation == DISTINCT or prepared.is_static(literal.relation)):
            found[0].add(renamed)
        elif "b" in letters and "a" not in letters:
            found[2].add(renamed)
        elif "a" in letters and "b" not in letters:
            found[1].add(_at(renamed, "a", "b"))
        else:
            raise _NoMatchError
    edges, of_one, of_other = map(frozenset, found)
    return edges, of_one, of_other


def _letters(literal: Literal, renaming: dict[str, Term]) -> set[str]:
    """Of the new names of a literal's variables; _NoMatchError where one has none."""
    names = variables(literal.atom)
    if not renaming.keys() >= set(names):
        raise _NoMatchError
    return {str(renaming[name])[1] for name in names}


def _at(literal: Literal, old: str, new: str) -> Literal:
    """The same of another node."""
    names: dict[str, Term] = {name: f"?{new}{name[2:]}" for name in variables(literal.atom) if name[1] == old}
    return Literal(substitute(literal.atom, names), literal.positive)


# Who asks for it.


def _replaced(closure: _Closure, prepared: Prepared, number: int) -> Iterator[Clause]:
    """All other clauses, those that read the closure by others; _NoMatchError where they ask something else."""
    groups: defaultdict[tuple[object, ...], list[Collection[int]]] = defaultdict(list)
    first: dict[tuple[object, ...], Clause] = {}
    for clause in prepared.clauses:
        if clause.relation == closure.relation:
            continue
        asked = [literal for literal in clause.body if literal.relation == closure.relation]
        if not asked:
            yield clause
            continue
        key, places, found = _question(closure, clause, asked, number)
        groups[key].append(places)
        first.setdefault(key, found)
    if not groups:
        raise _NoMatchError
    for key, alternatives in groups.items():
        singles = {place for places in alternatives if len(places) == 1 for place in places}
        is_every_pair = len(singles) == len(closure.other) or not all(alternatives)
        if not is_every_pair or not (closure.is_reflexive or all(alternatives)):
            raise _NoMatchError
        yield first[key]


def _question(
    closure: _Closure, clause: Clause, asked: Sequence[Literal], number: int
) -> tuple[tuple[object, ...], Collection[int], Clause]:
    """What else a clause asks, in which places its two nodes have to differ, and the clause that takes its place."""
    if len(asked) != 1 or asked[0].positive:
        raise _NoMatchError
    names = closure.names(_distinct_variables(asked[0].arguments))
    shared, one, other = names
    renaming = _renaming(*names)
    nodes = {*one, *other}
    if nodes & set(variables(clause.head)):
        raise _NoMatchError
    places: set[int] = set()
    of_both: tuple[set[Literal], set[Literal]] = (set(), set())
    rest: list[Literal] = []
    for literal in clause.body:
        own = set(variables(literal.atom))
        if literal is asked[0]:
            continue
        if not own & nodes:
            rest.append(literal)
        elif literal.relation == DISTINCT:
            pairs = [{left, right} for left, right in zip(one, other, strict=True)]
            if not literal.positive or own not in pairs or set(literal.arguments) != own:
                raise _NoMatchError
            places.add(pairs.index(own))
        else:
            letters = _letters(literal, renaming)
            if {"a", "b"} <= letters:
                raise _NoMatchError
            renamed = Literal(substitute(literal.atom, renaming), literal.positive)
            of_both["a" not in letters].add(_at(renamed, "a", "b"))
    if not of_both[0] == of_both[1] == closure.conditions:
        raise _NoMatchError
    back: dict[str, Term] = {
        **{f"?p{place}": name for place, name in enumerate(shared)},
        **{f"?b{place}": name for place, name in enumerate(other)},
    }
    conditions = [Literal(substitute(lit.atom, back), lit.positive) for lit in sorted(closure.conditions, key=str)]
    reached = Literal((f"{_REACHED_PREFIX}{number}", *shared, *other), positive=False)
    return (
        (clause.head, frozenset(rest), *shared),
        places,
        Clause(clause.head, (*rest, *conditions, reached), clause.offset),
    )


# What takes its place.


def _nodes(closure: _Closure, prepared: Prepared) -> list[tuple[Term, ...]]:
    """All that can meet the conditions, in any order, and perhaps others."""
    values = [_values(f"?b{place}", closure, prepared) for place in range(len(closure.other))]
    for place in range(len(closure.shared)):
        _values(f"?p{place}", closure, prepared)
    if prod(map(len, values)) > _MOST_NODES:
        raise _NoMatchError
    return list(product(*values))


def _values(name: str, closure: _Closure, prepared: Prepared) -> list[Term]:
    """Those that a variable of the conditions can have, as far as one that binds it tells."""
    for literal in sorted(closure.conditions, key=str):
        if not literal.positive or literal.relation == DISTINCT:
            continue
        for place, argument in enumerate(literal.arguments):
            if argument == name:
                found = [prepared.domains.of(literal.relation, place)]
            elif isinstance(argument, tuple) and name in argument[1:]:
                inside = prepared.domains.inside(literal.relation, place, name_and_arity(argument))
                found = [inside[argument[1:].index(name)]]
            else:
                continue
            if all(isinstance(value, str) for value in found[0]):
                return [str(value) for value in found[0]]
    raise _NoMatchError


def _is_symmetric(closure: _Closure, prepared: Prepared, evaluate: Evaluate) -> bool:
    """Whether each edge goes both ways."""
    width = len(closure.other)
    names = [f"?{letter}{place}" for letter in "ab" for place in range(width)]
    head: Term = (_EDGE, *names)
    edges = Clause(head, tuple(sorted(closure.edges, key=str)), 0)
    clauses = [edges]
    for clause in clauses:
        read = {literal.relation for literal in clause.body}
        clauses += [one for one in prepared.clauses if one.relation in read and one not in clauses]
    rows = set(evaluate(clauses, [edges.relation]).terms(edges.relation))
    return all((*row[width:], *row[:width]) in rows for row in rows)


def _reaching(closure: _Closure, number: int) -> Iterator[Clause]:
    """The first node is reached, and what edges lead to."""
    shared: list[Term] = [f"?p{place}" for place in range(len(closure.shared))]
    one: list[Term] = [f"?a{place}" for place in range(len(closure.other))]
    other: list[Term] = [f"?b{place}" for place in range(len(closure.other))]
    before = Literal((f"{_BEFORE_PREFIX}{number}", *one, *other), positive=True)
    earlier: tuple[Term, ...] = (f"{_EARLIER_PREFIX}{number}", *shared)
    reached: tuple[Term, ...] = (f"{_REACHED_PREFIX}{number}", *shared)
    conditions = sorted(closure.conditions, key=str)
    yield Clause((*earlier, *other), (before, *(_at(literal, "b", "a") for literal in conditions)), 0)
    yield Clause((*earlier, *other), (before, Literal((*earlier, *one), positive=True)), 0)
    yield Clause((*reached, *other), (*conditions, Literal((*earlier, *other), positive=False)), 0)
    edges = sorted(closure.edges, key=str)
    yield Clause((*reached, *other), (Literal((*reached, *one), positive=True), *edges, *conditions), 0)

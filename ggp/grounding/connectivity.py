"""Whether all are connected: reachability between all pairs → reachability from one node.

The transitive closure of a symmetric static relation among nodes that meet some conditions, such as neighbouring cells
with pieces of one role, is an equivalence. Where rules ask only whether any two nodes are not connected, it is enough
to ask whether any is not reached from the first: a row for each node in place of one for each pair.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from math import prod

from ggp.gdl.domains import variable_positions
from ggp.gdl.logic_program import DISTINCT, Clause, Literal, Relation
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
    places: tuple[Sequence[int], Sequence[int], Sequence[int]]  # arguments: what is shared, a node, another node
    edges: _Literals  # between ?a and ?b
    conditions: _Literals  # of the node ?b
    is_reflexive: bool

    @property
    def width(self) -> int:
        """Arguments of a node."""
        return len(self.places[2])


class _NoMatchError(Exception):
    """The clauses have another form."""


def reached_from_one(prepared: Prepared, evaluate: Evaluate) -> Prepared:
    """The same game with reachability from one node; evaluate: for static relations."""
    for relation in sorted(prepared.dependencies.recursive - prepared.dependencies.negative_cycles):
        number = prepared.connected
        try:
            closure = _closure(relation, prepared)
            clauses = list(_replaced(closure, prepared, number))
            nodes = _nodes(closure, prepared)
            if not _is_symmetric(closure, prepared, evaluate):
                continue
        except (_NoMatchError, OverBudgetError):
            continue
        before = f"{_BEFORE_PREFIX}{number}", 2 * closure.width
        tables = {**prepared.tables, before: tuple(one + other for one, other in pairwise(nodes))}
        prepared = prepared.with_clauses((*clauses, *_reaching(closure, number)), tables)
        prepared = replace(prepared, connected=number + 1)
    return prepared


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
    other = [place for place, name in enumerate(head) if before[place] != name]
    kept = [place for place in range(len(head)) if place not in other]
    one = [place for place in kept if head[place] not in used]
    places = [place for place in kept if head[place] in used], one, other
    if not other or len(one) != len(other) or any(before[place] in head for place in other):
        raise _NoMatchError
    shared, _, after = _names(head, places)
    renaming = _renaming(shared, [before[place] for place in other], after)
    edges, of_one, conditions = _sorted_out(rest, renaming, prepared)
    if not edges or not of_one <= conditions:
        raise _NoMatchError
    names = _names(base.arguments, places)
    is_reflexive = names[1] == names[2]
    _distinct_variables([*names[0], *names[1], *(() if is_reflexive else names[2])])
    wanted = (frozenset(), frozenset(), conditions) if is_reflexive else (edges, conditions, conditions)
    if _sorted_out(base.body, _renaming(*names), prepared) != wanted:
        raise _NoMatchError
    return _Closure(relation, places, edges, conditions, is_reflexive)


def _names(arguments: Sequence[Term], places: Sequence[Sequence[int]]) -> tuple[list[str], list[str], list[str]]:
    """The variables of what is shared, and of both nodes."""
    shared, one, other = ([str(arguments[place]) for place in part] for part in places)
    return shared, one, other


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
        key, places, found = _question(closure, clause, asked, prepared, number)
        groups[key].append(places)
        first.setdefault(key, found)
    if not groups:
        raise _NoMatchError
    for key, alternatives in groups.items():
        singles = {place for places in alternatives if len(places) == 1 for place in places}
        is_every_pair = len(singles) == closure.width or not all(alternatives)
        if not is_every_pair or not (closure.is_reflexive or all(alternatives)):
            raise _NoMatchError
        yield first[key]


def _question(
    closure: _Closure, clause: Clause, asked: Sequence[Literal], prepared: Prepared, number: int
) -> tuple[tuple[object, ...], Collection[int], Clause]:
    """What else a clause asks, in which places its two nodes have to differ, and the clause that takes its place."""
    if len(asked) != 1 or asked[0].positive:
        raise _NoMatchError
    shared, one, other = _names(_distinct_variables(asked[0].arguments), closure.places)
    renaming = _renaming(shared, one, other)
    nodes = {*one, *other}
    if nodes & set(variables(clause.head)):
        raise _NoMatchError
    rest = [literal for literal in clause.body if not nodes & set(variables(literal.atom))]
    own = [literal for literal in clause.body if literal is not asked[0] and literal not in rest]
    differences, *of_both = _sorted_out(own, renaming, prepared)
    if of_both != [closure.conditions, closure.conditions]:
        raise _NoMatchError
    pairs: list[set[Term]] = [{f"?a{place}", f"?b{place}"} for place in range(closure.width)]
    if any(lit.relation != DISTINCT or not lit.positive or set(lit.arguments) not in pairs for lit in differences):
        raise _NoMatchError
    places = {pairs.index(set(literal.arguments)) for literal in differences}
    back: dict[str, Term] = {str(new): old for old, new in renaming.items()}
    conditions = [Literal(substitute(lit.atom, back), lit.positive) for lit in sorted(closure.conditions, key=str)]
    reached = Literal((f"{_REACHED_PREFIX}{number}", *shared, *other), positive=False)
    found = Clause(clause.head, (*rest, *conditions, reached), clause.offset)
    return (clause.head, frozenset(rest), *shared), places, found


# What takes its place.


def _nodes(closure: _Closure, prepared: Prepared) -> list[tuple[str, ...]]:
    """All that can meet the conditions, in any order, and perhaps others."""
    for place in range(len(closure.places[0])):
        _values(f"?p{place}", closure, prepared)
    values = [_values(f"?b{place}", closure, prepared) for place in range(closure.width)]
    if prod(map(len, values)) > _MOST_NODES:
        raise _NoMatchError
    return list(product(*values))


def _values(name: str, closure: _Closure, prepared: Prepared) -> list[str]:
    """Those that a variable can have, by a condition that binds it; _NoMatchError where none does."""
    for literal in sorted(closure.conditions, key=str):
        if literal.positive and literal.relation != DISTINCT:
            for position, variable in variable_positions(literal.atom):
                values = prepared.domains.values.get(position, {})
                constants = [value for value in values if isinstance(value, str)]
                if variable == name and len(constants) == len(values):
                    return constants
    raise _NoMatchError


def _is_symmetric(closure: _Closure, prepared: Prepared, evaluate: Evaluate) -> bool:
    """Whether each edge goes both ways."""
    width = closure.width
    head: Term = (_EDGE, *(f"?{letter}{place}" for letter in "ab" for place in range(width)))
    edges = Clause(head, tuple(sorted(closure.edges, key=str)), 0)
    rows = set(evaluate(prepared.with_definitions([edges]), [edges.relation]).terms(edges.relation))
    return all((*row[width:], *row[:width]) in rows for row in rows)


def _reaching(closure: _Closure, number: int) -> Iterator[Clause]:
    """The first node is reached, and what edges lead to."""
    shared: list[Term] = [f"?p{place}" for place in range(len(closure.places[0]))]
    one: list[Term] = [f"?a{place}" for place in range(closure.width)]
    other: list[Term] = [f"?b{place}" for place in range(closure.width)]
    before = Literal((f"{_BEFORE_PREFIX}{number}", *one, *other), positive=True)
    earlier: tuple[Term, ...] = (f"{_EARLIER_PREFIX}{number}", *shared)
    reached: tuple[Term, ...] = (f"{_REACHED_PREFIX}{number}", *shared)
    conditions = sorted(closure.conditions, key=str)
    yield Clause((*earlier, *other), (before, *(_at(literal, "b", "a") for literal in conditions)), 0)
    yield Clause((*earlier, *other), (before, Literal((*earlier, *one), positive=True)), 0)
    yield Clause((*reached, *other), (*conditions, Literal((*earlier, *other), positive=False)), 0)
    edges = sorted(closure.edges, key=str)
    yield Clause((*reached, *other), (Literal((*reached, *one), positive=True), *edges, *conditions), 0)

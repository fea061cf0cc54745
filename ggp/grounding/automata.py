"""Clauses that test many values by wide static relations → chains of clauses that carry the state of an automaton.

A static relation of ten arguments may hold for billions of rows, of which few clauses ask anything. Its definition is
a disjunction of conjunctions over small relations; reading the values of its arguments one condition after the other,
what remains of it is the state (the derivatives of Brzozowski 1964, with atoms in place of letters). Equal remainders
are one state, so that the states are few where the relation counts or compares, and all wide conditions of a clause
share them.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from ggp.gdl.logic_program import DISTINCT, Clause, Literal, Relation
from ggp.gdl.terms import Term, is_ground, is_variable, substitute, variables
from ggp.grounding.tables import Extents

_CHAIN_PREFIX = "CHAIN"  # no symbol of a rulesheet has capitals: the reader folds case
_STEP_PREFIX = "STEP"
_STATE_PREFIX = "STATE"
_FROM, _TO = "?FROM", "?TO"
_MAX_BODIES = 1_000  # of a wide relation that is written out
_MAX_STEPS = 200_000  # rows of all steps of a clause

_Body = frozenset[Literal]
_Remainder = frozenset[_Body]  # one of these bodies must hold
_State = frozenset[_Remainder]  # all of these must hold
_Rows = tuple[tuple[Term, ...], ...]


class _UnsuitableError(Exception):
    """A clause that cannot become a chain."""


@dataclass(frozen=True, slots=True)
class WideClause:
    """A clause without its conditions on wide relations, and these written out."""

    clause: Clause
    state: _State


def written_out(
    clauses: Sequence[Clause], tables: Mapping[Relation, _Rows], wide: Collection[Relation]
) -> tuple[list[Clause], list[WideClause]] | None:
    """The clauses that neither define nor read wide static relations, and those that read them.

    None where one of them cannot become a chain: a wide relation is recursive, negated or has local variables, or reads
    what no other condition binds.
    """
    plain: list[Clause] = []
    reading: list[WideClause] = []
    try:
        for clause in clauses:
            if clause.relation in wide:
                continue
            asked = [literal for literal in clause.body if literal.relation in wide]
            if asked:
                rest = replace(clause, body=tuple(literal for literal in clause.body if literal not in asked))
                bound = {
                    v for lit in rest.body if lit.positive and lit.relation != DISTINCT for v in variables(lit.atom)
                }
                if not bound.issuperset(
                    v for part in (clause.head, *(lit.atom for lit in asked)) for v in variables(part)
                ):
                    raise _UnsuitableError
                state = frozenset(frozenset(_bodies(literal, clauses, tables, wide, ())) for literal in asked)
                reading.append(WideClause(rest, state))
            else:
                plain.append(clause)
    except _UnsuitableError:
        return None
    return plain, reading


def _bodies(
    literal: Literal,
    clauses: Sequence[Clause],
    tables: Mapping[Relation, _Rows],
    wide: Collection[Relation],
    outer: tuple[Relation, ...],
) -> list[_Body]:
    """The conjunctions of which one must hold."""
    if not literal.positive or literal.relation in outer:
        raise _UnsuitableError
    found: list[_Body] = []
    own = [clause for clause in clauses if clause.relation == literal.relation]
    own += [Clause((literal.relation[0], *row), (), 0) for row in tables.get(literal.relation, ())]
    for clause in own:
        bodies: list[_Body] = [frozenset()]
        for condition in _conditions(clause, literal):
            if condition.relation in wide:
                more = _bodies(condition, clauses, tables, wide, (*outer, literal.relation))
            else:
                more = [frozenset((condition,))]
            bodies = [one | other for one in bodies for other in more]
            if len(bodies) > _MAX_BODIES:
                raise _UnsuitableError
        found += bodies
    return found


def _conditions(clause: Clause, literal: Literal) -> Iterator[Literal]:
    """What the clause says of the arguments of a literal."""
    bindings: dict[str, Term] = {}
    equations: list[tuple[Term, Term]] = []
    for parameter, argument in zip(clause.arguments, literal.arguments, strict=True):
        if isinstance(parameter, str) and is_variable(parameter) and parameter not in bindings:
            bindings[parameter] = argument
        else:
            equations.append((parameter, argument))
    names = {name for part in (clause.head, *(lit.atom for lit in clause.body)) for name in variables(part)}
    if not names <= bindings.keys():
        raise _UnsuitableError
    for parameter, argument in equations:
        yield Literal((DISTINCT[0], substitute(parameter, bindings), argument), positive=False)
    for condition in clause.body:
        yield Literal(substitute(condition.atom, bindings), condition.positive)


def small_relations(reading: Sequence[WideClause]) -> tuple[Relation, ...]:
    """Those that the written out conditions read."""
    found = (lit.relation for one in reading for part in one.state for body in part for lit in body)
    return tuple(sorted({relation for relation in found if relation != DISTINCT}))


@dataclass(slots=True)
class Chains:
    """The clauses and tables that replace clauses with wide conditions; `extents` is of what the clauses can read."""

    extents: Extents
    clauses: list[Clause] = field(default_factory=list)
    tables: dict[Relation, _Rows] = field(default_factory=dict)
    relations: list[Relation] = field(default_factory=list)  # of which state an automaton is in
    _known: dict[Relation, frozenset[tuple[Term, ...]]] = field(default_factory=dict)
    _names: dict[_State, str] = field(default_factory=dict)
    _derived: dict[tuple[_Remainder, tuple[tuple[str, Term], ...]], _Remainder] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=count)

    def add(self, wide: WideClause) -> bool:
        """Whether the clause became a chain; not if it would have too many states."""
        groups, rest = _groups(wide)
        start = self._after(wide.state, ())
        if start is None:  # what has no variables does not hold
            return True
        steps = self._steps(start, groups)
        if steps is None:
            return False
        state: Term = self._name(start)
        before: tuple[Literal, ...] = ()
        for at, ((literals, names), rows) in enumerate(zip(groups, steps, strict=True)):
            number = next(self._numbers)
            relation = (f"{_STEP_PREFIX}{number}", len(names) + 2)
            self.tables[relation] = rows
            step = Literal((relation[0], state, *names, _TO), positive=True)
            later = [lit for group, _ in groups[at + 1 :] for lit in group] + rest
            outside = {name for atom in (wide.clause.head, *(lit.atom for lit in later)) for name in variables(atom)}
            body = (*before, *literals, step)
            live = dict.fromkeys(name for lit in body for name in variables(lit.atom) if name in outside)
            chain = f"{_CHAIN_PREFIX}{number}"
            self.relations.append((chain, len(live) + 1))
            self.clauses.append(Clause((chain, _TO, *live), body, wide.clause.offset))
            state = _FROM
            before = (Literal((chain, _FROM, *live), positive=True),)
        final = tuple(Literal(substitute(lit.atom, {_FROM: self._name(frozenset())}), positive=True) for lit in before)
        self.clauses.append(replace(wide.clause, body=(*final, *rest)))
        return True

    def _steps(self, start: _State, groups: Sequence[tuple[list[Literal], list[str]]]) -> list[_Rows] | None:
        """For each group the rows (state, values, next state) that lead to the end; None if there are too many."""
        layers: list[list[tuple[_State, tuple[Term, ...], _State]]] = []
        states = {start}
        total = 0
        for literals, names in groups:
            table = self.extents.table(literals[-1]).project(names)
            values = [tuple(map(self.extents.term, row)) for row in table.columns(names).T.tolist()]
            layer = []
            for state in states:
                for row in values:
                    after = self._after(state, tuple(zip(names, row, strict=True)))
                    if after is not None:
                        layer.append((state, row, after))
                if total + len(layer) > _MAX_STEPS:
                    return None
            total += len(layer)
            layers.append(layer)
            states = {after for _, _, after in layer}
        alive: set[_State] = {frozenset()}
        found: list[_Rows] = []
        for layer in reversed(layers):
            kept = [row for row in layer if row[2] in alive]
            alive = {state for state, _, _ in kept}
            found.append(tuple((self._name(state), *row, self._name(after)) for state, row, after in kept))
        return found[::-1]

    def _name(self, state: _State) -> str:
        return self._names.setdefault(state, f"{_STATE_PREFIX}{len(self._names)}")

    def _after(self, state: _State, bindings: tuple[tuple[str, Term], ...]) -> _State | None:
        """What remains to be shown; None when it cannot hold any more."""
        found = []
        for part in state:
            key = (part, bindings)
            if key not in self._derived:
                self._derived[key] = self._derivative(part, dict(bindings))
            remainder = self._derived[key]
            if not remainder:
                return None
            if frozenset() not in remainder:
                found.append(remainder)
        return frozenset(found)

    def _derivative(self, remainder: _Remainder, bindings: dict[str, Term]) -> _Remainder:
        found = set()
        for body in remainder:
            literals = [Literal(substitute(lit.atom, bindings), lit.positive) for lit in body]
            if all(self._holds(lit) for lit in literals if is_ground(lit.atom)):
                found.add(frozenset(lit for lit in literals if not is_ground(lit.atom)))
        return frozenset(found)

    def _holds(self, literal: Literal) -> bool:
        if literal.relation == DISTINCT:
            return (literal.arguments[0] != literal.arguments[1]) == literal.positive
        if literal.relation not in self._known:
            self._known[literal.relation] = frozenset(self.extents.terms(literal.relation))
        return (literal.arguments in self._known[literal.relation]) == literal.positive


def _groups(wide: WideClause) -> tuple[list[tuple[list[Literal], list[str]]], list[Literal]]:
    """Conditions up to one that binds further arguments of wide relations, and these; and all other conditions."""
    wanted = {name for part in wide.state for body in part for lit in body for name in variables(lit.atom)}
    groups: list[tuple[list[Literal], list[str]]] = []
    waiting: list[Literal] = []
    tests: list[Literal] = []
    for literal in wide.clause.body:
        if not literal.positive or literal.relation == DISTINCT:
            tests.append(literal)
            continue
        waiting.append(literal)
        names = [name for name in variables(literal.atom) if name in wanted]
        if names:
            wanted.difference_update(names)
            groups.append((waiting, names))
            waiting = []
    return groups, [*waiting, *tests]

"""Clauses → all facts and moves that there can be, by following every state from the start, for small state spaces.

Elsewhere the arguments of relations are bounded as if any two facts could be true in one state. A list to which moves
add elements is then unbounded, even where the lists of each reachable state together never hold more than those of the
initial state. Following reachable states bounds them.

gringo evaluates all states of a level in one run: each relation that depends on the state gets one more argument, its
*context*, which is a state, or a state with a joint move.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import TypeAlias

from ggp.gdl.logic_program import DISTINCT, DOES, TRUE, Clause, Literal, Relation
from ggp.gdl.terms import Term, depth
from ggp.grounding.clingo import parse_names
from ggp.grounding.prepare import Prepared, Rows, Translation
from ggp.grounding.tables import Extents

MAX_STATES = 20_000
_MAX_STEPS = 200_000  # joint moves of all states
_MAX_DEPTH = 150  # of terms, as in the interpreter
_CONTEXT_PREFIX = "CONTEXT"  # no symbol of a rulesheet has capitals: the reader folds case
_IN_PREFIX = "IN"
_FACT: Relation = ("FOLLOWS", 1)
_MOVE: Relation = ("FOLLOWS", 2)
_INIT, _ROLE, _NEXT, _LEGAL = ("init", 1), ("role", 1), ("next", 1), ("legal", 2)
_TERMINAL: Relation = ("terminal", 0)
_OUTPUTS = (_NEXT, _LEGAL, _TERMINAL)
_ANY: Relation = (_CONTEXT_PREFIX, 1)
_CONTEXT = f"?{_CONTEXT_PREFIX}"

_Facts: TypeAlias = frozenset[Term]
_JointMove: TypeAlias = tuple[Term, ...]
Ground: TypeAlias = Callable[[bytes], bytearray]  # a program for gringo → its output in aspif
Nests: TypeAlias = Callable[[bytes], bool]  # a program → whether terms nest without end in it


class UnboundedError(Exception):
    """There are too many states, their rules do not give each of them one meaning, or a static relation has no end."""


def bounded(prepared: Prepared, evaluated: Prepared, ground: Ground, nests: Nests) -> Prepared:
    """The same game with its facts and moves bounded to those that can follow; UnboundedError where that is not known.

    Nothing is said of what would follow an end.
    `evaluated` has clauses that say the same, and that hold for finitely many arguments in each state.
    """
    facts, moves = _Explorer(evaluated, ground, nests).explore()

    def guarded(clause: Clause) -> Clause:
        relation = {_NEXT: _FACT, _LEGAL: _MOVE}.get(clause.relation)
        if relation is None:
            return clause
        return replace(clause, body=(Literal((relation[0], *clause.arguments), positive=True), *clause.body))

    tables = {**prepared.tables, _FACT: tuple((fact,) for fact in facts), _MOVE: tuple(moves)}
    tables |= {
        relation: tuple(row for row in prepared.tables[relation] if row in known)
        for relation, known in ((_NEXT, {(fact,) for fact in facts}), (_LEGAL, set(moves)))
        if relation in prepared.tables
    }
    return prepared.with_clauses([guarded(clause) for clause in prepared.clauses], tables)


@dataclass(slots=True)
class _Explorer:
    prepared: Prepared
    ground: Ground
    nests: Nests

    def explore(self) -> tuple[dict[Term, None], dict[tuple[Term, Term], None]]:
        """All facts, and all moves with their roles."""
        static = [clause for clause in self.prepared.clauses if self._is_static(clause.relation)]
        if self.nests(self._text(static, {}, (), Translation())):
            raise UnboundedError
        start = self._extents(static, {}, (_INIT, _ROLE))
        roles = [role for (role,) in start.terms(_ROLE)]
        level = [frozenset(fact for (fact,) in start.terms(_INIT))]
        known: dict[_Facts, None] = dict.fromkeys(level)
        moves: dict[tuple[Term, Term], None] = {}
        steps = 0
        while level:
            waiting: list[tuple[_Facts, _JointMove]] = []
            for state, (legal, is_end) in zip(level, self._legal(level), strict=True):
                moves.update(dict.fromkeys(legal))
                by_role = [[move for role, move in legal if role == name and not is_end] for name in roles]
                steps += prod(map(len, by_role))
                if steps > _MAX_STEPS:
                    raise UnboundedError
                waiting += ((state, joint) for joint in product(*by_role))
            found = dict.fromkeys(self._next(waiting, roles))
            level = [state for state in found if state not in known]
            known.update(dict.fromkeys(level))
            if len(known) > MAX_STATES or any(depth(fact) > _MAX_DEPTH for state in level for fact in state):
                raise UnboundedError
        return {fact: None for state in known for fact in state}, moves

    def _legal(self, states: Sequence[_Facts]) -> list[tuple[list[tuple[Term, Term]], bool]]:
        """The moves of each state with their roles, and whether it is an end."""
        clauses = self._in_context((_LEGAL, _TERMINAL))
        extents = self._extents(clauses, _told(states, ()), (_relation_inside(_LEGAL), _relation_inside(_TERMINAL)))
        found: list[list[tuple[Term, Term]]] = [[] for _ in states]
        for context, role, move in extents.terms(_relation_inside(_LEGAL)):
            found[_number(context)].append((role, move))
        ends = {_number(context) for (context,) in extents.terms(_relation_inside(_TERMINAL))}
        return [(legal, number in ends) for number, legal in enumerate(found)]

    def _next(self, steps: Sequence[tuple[_Facts, _JointMove]], roles: Sequence[Term]) -> list[_Facts]:
        """The state that follows each step."""
        told = _told([state for state, _ in steps], [zip(roles, joint, strict=True) for _, joint in steps])
        extents = self._extents(self._in_context((_NEXT,)), told, (_relation_inside(_NEXT),))
        found: list[set[Term]] = [set() for _ in steps]
        for context, fact in extents.terms(_relation_inside(_NEXT)):
            found[_number(context)].add(fact)
        return list(map(frozenset, found))

    def _in_context(self, outputs: Sequence[Relation]) -> list[Clause]:
        """The clauses and rows that outputs need, each in every context where it depends on the state."""
        needed = dict.fromkeys(outputs)
        found: list[Clause] = []
        waiting = list(outputs)
        while waiting:
            relation = waiting.pop()
            clauses = [clause for clause in self.prepared.clauses if clause.relation == relation]
            waiting += dict.fromkeys(lit.relation for one in clauses for lit in one.body if lit.relation not in needed)
            needed |= dict.fromkeys(waiting)
            if self._is_static(relation):
                found += clauses
            else:
                clauses += (Clause((relation[0], *row), (), 0) for row in self.prepared.tables.get(relation, ()))
                found += map(self._inside, clauses)
        return found

    def _is_static(self, relation: Relation) -> bool:
        return relation not in _OUTPUTS and (relation == DISTINCT or self.prepared.is_static(relation))

    def _inside(self, clause: Clause) -> Clause:
        body = (
            literal if self._is_static(literal.relation) else Literal(_inside(literal.atom), literal.positive)
            for literal in clause.body
        )
        return Clause(_inside(clause.head), (Literal((_ANY[0], _CONTEXT), positive=True), *body), clause.offset)

    def _extents(self, clauses: Sequence[Clause], told: Mapping[Relation, Rows], shown: Sequence[Relation]) -> Extents:
        translation = Translation()
        output = self.ground(self._text(clauses, told, shown, translation))
        if any(line.startswith(b"4 ") and not line.endswith(b" 0") for line in output.split(b"\n")):
            raise UnboundedError
        return Extents(translation, parse_names(output))

    def _text(
        self,
        clauses: Sequence[Clause],
        told: Mapping[Relation, Rows],
        shown: Sequence[Relation],
        translation: Translation,
    ) -> bytes:
        tables = {relation: rows for relation, rows in self.prepared.tables.items() if self._is_static(relation)}
        return translation.facts_text(clauses, {**tables, **told}, shown)


def _inside(atom: Term) -> Term:
    """The atom in a context."""
    return (_IN_PREFIX + atom, _CONTEXT) if isinstance(atom, str) else (f"{_IN_PREFIX}{atom[0]}", _CONTEXT, *atom[1:])


def _relation_inside(relation: Relation) -> Relation:
    return _IN_PREFIX + relation[0], relation[1] + 1


def _told(states: Sequence[_Facts], moves: Sequence[Iterable[tuple[Term, Term]]]) -> dict[Relation, Rows]:
    """Contexts with their facts and moves."""
    names = [f"{_CONTEXT_PREFIX}{number}" for number in range(len(states))]
    return {
        _ANY: tuple((name,) for name in names),
        _relation_inside(TRUE): tuple(
            (name, fact) for name, state in zip(names, states, strict=True) for fact in state
        ),
        _relation_inside(DOES): tuple((name, *one) for name, joint in zip(names, moves, strict=False) for one in joint),
    }


def _number(context: Term) -> int:
    return int(str(context).removeprefix(_CONTEXT_PREFIX))

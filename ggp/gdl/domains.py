"""Which values each argument can have: a cheap over-approximation of what the rules can derive.

Every argument of a relation, and every argument of a function inside it, is a position. Values flow from the positions
of a rule's body to those of its head until nothing changes; joins are ignored, except that a variable takes only the
values that all its positions share. The query planner reads sizes from this, and
`ggp.interpreter.legality` learns from it that a move does not exist in a game.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from ggp.gdl.logic_program import Clause, LogicProgram, Relation
from ggp.gdl.rulesheet import name_and_arity
from ggp.gdl.terms import Term, is_variable

Position: TypeAlias = tuple[str, int, int]  # a symbol under its root, its arity, the index of the argument
Value: TypeAlias = str | Relation  # a constant, or the name and arity of a function

ROOTS = {
    ("true", 1): ("fact",),
    ("init", 1): ("fact",),
    ("next", 1): ("fact",),
    ("does", 2): ("role", "move"),
    ("legal", 2): ("role", "move"),
}  # positions that several relations share; base and input are hints and may be wrong
_HINTS = (("base", 1), ("input", 2))


@dataclass(slots=True)
class Domains:
    """The values of every position."""

    values: dict[Position, dict[Value, None]] = field(default_factory=dict)  # dictionaries, to keep an order

    def of(self, relation: Relation, index: int) -> dict[Value, None]:
        """The values that an argument of a relation can have."""
        return self.values.get(_root_position(relation, index), {})

    def inside(self, relation: Relation, index: int, function: Relation) -> tuple[dict[Value, None], ...]:
        """For each argument of a function inside an argument of a relation, its values."""
        outer = _root_position(relation, index)
        return tuple(self.values.get(_inner(outer, function, place), {}) for place in range(function[1]))

    @property
    def can_nest(self) -> bool:
        """Whether some function term can hold another: only then can terms grow."""
        return any(
            "(" in name and any(isinstance(v, tuple) for v in found) for (name, _, _), found in self.values.items()
        )

    def admits(self, relation: Relation, index: int, term: Term) -> bool:
        """Whether an argument can have a ground term as its value, as far as its parts tell, each for itself."""
        return all(value in self.values.get(position, {}) for position, value in _parts(term, relation, index))


def _root_position(relation: Relation, index: int) -> Position:
    shared = ROOTS.get(relation)
    return (shared[index], 0, 0) if shared else (relation[0], relation[1], index)


def find_domains(program: LogicProgram) -> Domains:
    """The domains of a program."""
    flow = _Flow(program)
    flow.run()
    return Domains(flow.values)


def variable_positions(atom: Term) -> Iterator[tuple[Position, str]]:
    """Each variable of an atom with its position, as often as it stands there."""
    relation = name_and_arity(atom)
    for index, term in enumerate(() if isinstance(atom, str) else atom[1:]):
        for position, value in _parts(term, relation, index):
            if isinstance(value, str) and is_variable(value):
                yield position, value


def _inner(outer: Position, function: Relation, place: int) -> Position:
    """The position of a function's argument: one for each function under a root, whatever the nesting."""
    root = outer[0] if "(" in outer[0] else f"{outer[0]}/{outer[1]}/{outer[2]}("
    return (f"{root[: root.index('(')]}({function[0]}", function[1], place)


def _parts(term: Term, relation: Relation, index: int) -> Iterator[tuple[Position, Value]]:
    """Each part of a term with its position; variables too."""
    stack = [(_root_position(relation, index), term)]
    while stack:
        position, part = stack.pop()
        if isinstance(part, str):
            yield position, part
        else:
            function = (str(part[0]), len(part) - 1)
            yield position, function
            stack.extend((_inner(position, function, place), inner) for place, inner in enumerate(part[1:]))


@dataclass(frozen=True, slots=True)
class _Links:
    """A clause as positions."""

    fixed: tuple[tuple[Position, Value], ...]  # of the head: values that it adds as soon as the clause can hold
    heads: tuple[tuple[Position, str], ...]  # of the head: variables
    bodies: dict[str, tuple[Position, ...]]  # of each variable, in positive literals
    required: tuple[tuple[Position, Value], ...]  # values that positive literals demand


class _Flow:
    """Runs values along the clauses until nothing changes."""

    def __init__(self, program: LogicProgram) -> None:
        self.values: dict[Position, dict[Value, None]] = {}
        self._readers: dict[Position, set[int]] = {}
        self._queue: deque[int] = deque()
        self._queued: set[int] = set()
        unread = _unread_hints(program)
        for relation, rows in program.tables.items():
            if relation not in unread:
                for row in rows:
                    for index, term in enumerate(row):
                        for position, value in _parts(term, relation, index):
                            self.values.setdefault(position, {})[value] = None
        clauses = (c for relation, found in program.clauses.items() if relation not in unread for c in found)
        self._links = [_links(clause) for clause in clauses]
        for number, links in enumerate(self._links):
            for position in {p for places in links.bodies.values() for p in places} | {p for p, _ in links.required}:
                self._readers.setdefault(position, set()).add(number)
            self._wake(number)

    def run(self) -> None:
        while self._queue:
            number = self._queue.popleft()
            self._queued.discard(number)
            self._fire(self._links[number])

    def _fire(self, links: _Links) -> None:
        if any(value not in self.values.get(position, {}) for position, value in links.required):
            return
        domains = {name: self._shared(positions) for name, positions in links.bodies.items()}
        if not all(domains.values()):
            return
        for position, value in links.fixed:
            self._add(position, (value,))
        for position, name in links.heads:
            self._add(position, domains.get(name, ()))
            if name in links.bodies:
                self._copy_inside(links.bodies[name][0], position, domains[name])

    def _shared(self, positions: tuple[Position, ...]) -> list[Value]:
        """The values that all positions have."""
        first, *others = (self.values.get(position, {}) for position in positions)
        return [value for value in first if all(value in other for other in others)]

    def _copy_inside(self, source: Position, target: Position, values: Iterable[Value]) -> None:
        """Where functions flow, their arguments flow too."""
        stack = [(source, target, value) for value in values if isinstance(value, tuple)]
        seen: set[tuple[Position, Position]] = set()
        while stack:
            outer, into, function = stack.pop()
            for place in range(function[1]):
                pair = (_inner(outer, function, place), _inner(into, function, place))
                if pair not in seen:
                    seen.add(pair)
                    found = list(self.values.get(pair[0], {}))
                    self._add(pair[1], found)
                    stack.extend((*pair, value) for value in found if isinstance(value, tuple))

    def _add(self, position: Position, values: Iterable[Value]) -> None:
        known = self.values.setdefault(position, {})
        before = len(known)
        known.update(dict.fromkeys(values))
        if len(known) > before:
            for number in self._readers.get(position, ()):
                self._wake(number)

    def _wake(self, number: int) -> None:
        if number not in self._queued:
            self._queued.add(number)
            self._queue.append(number)


def _unread_hints(program: LogicProgram) -> frozenset[Relation]:
    """`base` and `input`, unless some rule reads them, which GDL forbids: they only repeat what other rules say."""
    read = {literal.relation for clauses in program.clauses.values() for clause in clauses for literal in clause.body}
    return frozenset(_HINTS) - read


def _links(clause: Clause) -> _Links:
    bodies: dict[str, list[Position]] = {}
    required: list[tuple[Position, Value]] = []
    for literal in clause.body:
        if literal.positive and literal.relation[0] != "distinct":
            for index, term in enumerate(literal.arguments):
                for position, value in _parts(term, literal.relation, index):
                    if isinstance(value, str) and value.startswith("?"):
                        bodies.setdefault(value, []).append(position)
                    else:
                        required.append((position, value))
    fixed: list[tuple[Position, Value]] = []
    heads: list[tuple[Position, str]] = []
    for index, term in enumerate(clause.arguments):
        for position, value in _parts(term, clause.relation, index):
            if isinstance(value, str) and value.startswith("?"):
                heads.append((position, value))
            else:
                fixed.append((position, value))
    return _Links(tuple(fixed), tuple(heads), {name: tuple(places) for name, places in bodies.items()}, tuple(required))

"""Relations that read their own negation: their well-founded model, by alternating fixpoints (Van Gelder 1989).

GDL forbids such rules, yet published rulesheets have some whose atoms never really depend on their own negation, such
as `(<= (goal ?r 0) (not (goal ?r 100)))`. For these the model is total and is what everybody means. An EvaluationError
says so where it is not. Each relation is evaluated as a whole; speed does not matter here.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from ggp.gdl.dependencies import Dependencies
from ggp.gdl.logic_program import Clause, Literal, LogicProgram, Relation
from ggp.gdl.terms import variables
from ggp.interpreter.bodies import Access, BodyWriter, Names, Rest
from ggp.interpreter.source import Source, expression, pack

ASSUMED_SUFFIX = "/ASSUMED"  # marks a relation that is read from the assumption instead of from what is derived


class Scope(Protocol):
    """What this needs from the compiler around it."""

    program: LogicProgram
    dependencies: Dependencies
    can_grow: bool

    def number(self, relation: Relation, bound: tuple[int, ...]) -> int: ...
    def emit(self, lines: Sequence[str]) -> None: ...
    def ordered(self, clause: Clause, bound: tuple[int, ...]) -> tuple[Literal, ...]: ...


class WellFounded:
    """Writes the functions of one component whose relations read their own negation."""

    def __init__(self, scope: Scope, bodies: BodyWriter) -> None:
        self._scope = scope
        self._bodies = bodies
        self._written: set[int] = set()
        self._members: dict[Relation, str] = {}  # of the component being written, and where their rows are

    def compile(self, relation: Relation) -> None:
        """Writes the component of a relation, unless that is done; its functions are those without bound arguments."""
        component = self._scope.dependencies.component[relation]
        if component in self._written:
            return
        self._written.add(component)
        members = self._scope.dependencies.components[component]
        for place, (name, arity) in enumerate(members):
            self._members[name, arity] = f"derived{component}[{place}]"
            self._members[name + ASSUMED_SUFFIX, arity] = f"assumed{component}[{place}]"
        calls = [
            self._clause(clause, place, f"y{component}_{place}_{index}", component)
            for place, member in enumerate(members)
            for index, clause in enumerate(self._scope.program.clauses[member])
        ]
        self._scope.emit(self._fixpoint(component, members, calls))
        self._members = {}

    def access(self, relation: Relation, bound: tuple[int, ...]) -> Access | None:
        """How to ask a relation of the component that is being written; None for any other."""
        rows = self._members.get(relation)
        if rows is None:
            return None
        arity = relation[1]
        return Access(rows=lambda key: f"pick({rows}, {arity}, {bound}, {key})", test=lambda key: f"({key} in {rows})")

    def _clause(self, clause: Clause, place: int, name: str, component: int) -> str:
        """Writes the function that derives all that a clause gives; returns its name."""
        body = tuple(self._assuming(literal) for literal in clause.body)
        ordered = self._scope.ordered(Clause(clause.head, body, clause.offset), ())

        def emit(source: Source, names: Names) -> None:
            value = pack(expression(argument, names) for argument in clause.arguments)
            source.line(f"derived{component}[{place}].add({f'bounded({value})' if self._scope.can_grow else value})")

        source = Source(f"def {name}():")
        source.line("pass")
        self._bodies.write(source, Names(), Rest(ordered, variables(clause.head), emit, once=False))
        self._scope.emit(source.lines)
        return name

    def _assuming(self, literal: Literal) -> Literal:
        if literal.positive or literal.relation not in self._members:
            return literal
        name = literal.relation[0] + ASSUMED_SUFFIX
        return Literal((name, *literal.arguments) if literal.arguments else name, positive=False)

    def _fixpoint(self, component: int, members: Sequence[Relation], calls: Sequence[str]) -> list[str]:
        number: Callable[[Relation], int] = lambda member: self._scope.number(member, ())  # noqa: E731
        count = len(members)
        lines = [
            f"derived{component} = []",
            f"assumed{component} = []",
            f"def least{component}(assumption):",
            f"    assumed{component}[:] = assumption",
            f"    derived{component}[:] = [set() for _ in range({count})]",
            "    before = -1",
            f"    while (size := sum(map(len, derived{component}))) != before:",
            "        before = size",
            "        if size > MAX_ROWS:",
            f"            too_many({members[0][0]!r})",
            *(f"        {call}()" for call in calls),
            f"    return list(derived{component})",
            f"def alternate{component}():",
            f"    model, under = None, [set() for _ in range({count})]",
            "    while model != under:",
            "        model = under",
            f"        over = least{component}(under)",
            f"        under = least{component}(over)",
            "    if over != under:",
            f"        undefined({members[0][0]!r})",
        ]
        for place, member in enumerate(members):
            value = f"list(under[{place}])" if member[1] else f"bool(under[{place}])"
            lines.append(f"    m{number(member)}[()] = {value}")
        for member in members:
            lines += [
                f"m{number(member)} = {{}}",
                f"def f{number(member)}(k):",
                f"    alternate{component}()",
                f"    return m{number(member)}[()]",
            ]
        return lines

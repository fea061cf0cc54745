"""Relations that read themselves: evaluation with tables; for those that read their own negation, well-founded models.

Tables are those of SLG resolution (Chen and Warren 1996): each question is answered once, and a rule that needs the
answers is suspended and resumed for each of them. A list of work drives this instead of calls, so that no recursion of
rules is a recursion of Python, and only what is asked for is computed. All relations that read each other share one
list of work. For each of their functions `n` the scope holds:

    a{n}  key → answers, a dictionary used as an ordered set
    c{n}  key → suspended rules: pairs of a function and the values that it goes on with
    w{n}  asks for a key on behalf of a suspended rule
    g{n}  gives an answer for a key
    d{n}  evaluates the clauses for a key that is asked for the first time
    m{n}  key → the complete answers, for all other readers

Well-founded models are found by alternating fixpoints (Van Gelder 1989). GDL forbids relations that read their own
negation, yet published rulesheets have some whose atoms never depend on their own negation, such as
`(<= (goal ?r 0) (not (goal ?r 100)))`. For these the model is total and is what their authors mean; where it is not
total, there is an EvaluationError. Each relation is evaluated as a whole; speed does not matter here.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from ggp.gdl.dependencies import Dependencies
from ggp.gdl.logic_program import Clause, Literal, LogicProgram, Relation
from ggp.gdl.terms import Term, is_variable, variables
from ggp.interpreter.bodies import Access, BodyWriter, FunctionSource, Names, Rest, expression, pack, unpack_key

_KEY = "? key"  # stands among the variables of a clause for the key that its answers belong to; no variable has a blank
_ASSUMED_SUFFIX = "/ASSUMED"  # marks a relation that is read from the assumption instead of from what is derived


class _Scope(Protocol):
    """What this needs from the compiler around it."""

    program: LogicProgram
    dependencies: Dependencies
    can_grow: bool

    def number(self, relation: Relation, bound: tuple[int, ...]) -> int: ...
    def emit(self, lines: Sequence[str]) -> None: ...
    def ordered(self, clause: Clause, bound: tuple[int, ...]) -> tuple[Literal, ...]: ...
    def open_head(self, source: FunctionSource, clause: Clause, bound: tuple[int, ...]) -> Names: ...


class Tabling:
    """Writes the functions of recursive relations."""

    def __init__(self, scope: _Scope, bodies: BodyWriter) -> None:
        self._scope = scope
        self._bodies = bodies
        self._started: set[int] = set()  # components whose list of work is in its scope
        self._component: int | None = None  # of the relation that is being compiled
        self._continuations = 0

    def suspends(self, literal: Literal) -> bool:
        """Whether the literal waits for a table of the component that is being compiled."""
        component = self._scope.dependencies.component.get(literal.relation)
        return literal.positive and component is not None and component == self._component

    def compile(self, relation: Relation, bound: tuple[int, ...], number: int) -> None:
        """Writes all functions of a relation asked with these arguments bound."""
        dependencies = self._scope.dependencies
        self._component = component = dependencies.component[relation]
        if component not in self._started:
            self._started.add(component)
            self._scope.emit(_work_lines(component))
        self._scope.emit(_table_lines(number, component, is_test=len(bound) == relation[1]))
        source = FunctionSource(f"def d{number}(k):")
        source.line("pass")
        unpack_key(source, len(bound))
        for clause in self._scope.program.clauses[relation]:
            mark = source.mark()
            names = self._scope.open_head(source, clause, bound)
            names[_KEY] = "k"
            self._bodies.write(source, names, self._rest(clause, bound, number))
            source.close(mark)
        self._scope.emit(source.lines)
        self._component = None

    def suspend(self, source: FunctionSource, literal: Literal, names: Names, rest: Rest) -> None:
        """Asks the literal's table, to go on with the rest of the clause for each of its answers."""
        arguments = literal.arguments
        bound = tuple(i for i, argument in enumerate(arguments) if all(name in names for name in variables(argument)))
        free = [argument for index, argument in enumerate(arguments) if index not in bound]
        number = self._scope.number(literal.relation, bound)
        wanted = dict.fromkeys((*rest.live(names), *(v for argument in free for v in variables(argument))))
        live = [name for name in wanted if name in names]
        label = f"s{number}_{self._continuations}"
        self._continuations += 1
        key = pack(self._checked(arguments[index], names) for index in bound)
        source.line(f"w{number}({key}, {label}, ({''.join(f'{names[name]}, ' for name in live)}))")
        self._scope.emit(self._continuation(label, live, free, rest))

    def _continuation(self, label: str, live: list[str], free: list[Term], rest: Rest) -> list[str]:
        source = FunctionSource(f"def {label}(e, a):")
        names = Names({name: f"e{index}" for index, name in enumerate(live)})
        if live:
            source.line(f"({''.join(f'{name}, ' for name in names.values())}) = e")
        if not free:
            source.test("a")
        targets = [f"b{index}" for index in range(len(free))]
        if free:
            source.line(f"{', '.join(targets)} = a")
        later: list[tuple[Term, str]] = []
        for pattern, target in zip(free, targets, strict=True):
            if isinstance(pattern, str) and is_variable(pattern) and pattern not in names:
                names[pattern] = target
            else:
                later.append((pattern, target))
        for pattern, target in later:
            self._bodies.unify(source, pattern, target, names)
        self._bodies.write(source, names, rest)
        return source.lines

    def _rest(self, clause: Clause, bound: tuple[int, ...], number: int) -> Rest:
        values = [argument for index, argument in enumerate(clause.arguments) if index not in bound]
        needs = tuple(dict.fromkeys((_KEY, *(name for value in values for name in variables(value)))))

        def emit(source: FunctionSource, names: Names) -> None:
            answer = pack(self._checked(value, names) for value in values) if values else "True"
            source.line(f"g{number}({names[_KEY]}, {answer})")

        return Rest(self._scope.ordered(clause, bound), needs, emit, once=False)

    def _checked(self, term: Term, names: Names) -> str:
        """The expression for a term; one that can grow in a recursion is bounded."""
        written = expression(term, names)
        grows = self._scope.can_grow and isinstance(term, tuple) and variables(term)
        return f"bounded({written})" if grows else written


def _work_lines(component: int) -> list[str]:
    """The list of work of a component, and the function that does it all."""
    return f"""\
work{component} = []
new{component} = []
def run{component}():
    try:
        while work{component}:
            item = work{component}.pop()
            item[0](*item[1:])
            next(ticks)
    except BaseException:
        for memo, answers, waiting, key, is_test in new{component}:
            del answers[key], waiting[key]
        work{component}.clear()
        new{component}.clear()
        raise
    for memo, answers, waiting, key, is_test in new{component}:
        memo[key] = bool(answers[key]) if is_test else list(answers[key])
        waiting[key] = None
    new{component}.clear()""".splitlines()


def _table_lines(number: int, component: int, *, is_test: bool) -> list[str]:
    """The tables of one function, and how to ask and answer."""
    return f"""\
m{number} = {{}}
a{number} = {{}}
c{number} = {{}}
def f{number}(k):
    if k not in a{number}:
        a{number}[k] = {{}}
        c{number}[k] = []
        new{component}.append((m{number}, a{number}, c{number}, k, {is_test}))
        work{component}.append((d{number}, k))
        run{component}()
    return m{number}[k]
def w{number}(k, then, e):
    answers = a{number}.get(k)
    if answers is None:
        a{number}[k] = {{}}
        c{number}[k] = [(then, e)]
        new{component}.append((m{number}, a{number}, c{number}, k, {is_test}))
        work{component}.append((d{number}, k))
        return
    waiting = c{number}[k]
    if waiting is not None:
        waiting.append((then, e))
    for a in answers:
        work{component}.append((then, e, a))
def g{number}(k, a):
    answers = a{number}[k]
    if a not in answers:
        answers[a] = None
        for then, e in c{number}[k]:
            work{component}.append((then, e, a))""".splitlines()


class WellFounded:
    """Writes the functions of one component whose relations read their own negation."""

    def __init__(self, scope: _Scope, bodies: BodyWriter) -> None:
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
            self._members[name + _ASSUMED_SUFFIX, arity] = f"assumed{component}[{place}]"
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

        def emit(source: FunctionSource, names: Names) -> None:
            value = pack(expression(argument, names) for argument in clause.arguments)
            source.line(f"derived{component}[{place}].add({f'bounded({value})' if self._scope.can_grow else value})")

        source = FunctionSource(f"def {name}():")
        source.line("pass")
        self._bodies.write(source, Names(), Rest(ordered, variables(clause.head), emit, once=False))
        self._scope.emit(source.lines)
        return name

    def _assuming(self, literal: Literal) -> Literal:
        if literal.positive or literal.relation not in self._members:
            return literal
        name = literal.relation[0] + _ASSUMED_SUFFIX
        return Literal((name, *literal.arguments) if literal.arguments else name, positive=False)

    def _fixpoint(self, component: int, members: Sequence[Relation], calls: Sequence[str]) -> list[str]:
        number: Callable[[Relation], int] = lambda member: self._scope.number(member, ())  # noqa: E731
        count = len(members)
        words = self._scope.program.in_words(members[0])
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
            f"            too_many({words!r})",
            *(f"        {call}()" for call in calls),
            f"    return list(derived{component})",
            f"def alternate{component}():",
            f"    model, under = None, [set() for _ in range({count})]",
            "    while model != under:",
            "        model = under",
            f"        over = least{component}(under)",
            f"        under = least{component}(over)",
            "    if over != under:",
            f"        undefined({words!r})",
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

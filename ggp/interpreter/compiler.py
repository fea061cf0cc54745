"""Logic program → Python source that evaluates it: one function for each way in which a relation is asked.

A relation is asked with some arguments bound; the answer, the values of the others, is kept. Functions are in the
scope of their tier: static ones in the module, those that depend on the state in `at(state)`, those that depend on
the moves in `step(joint)` inside it, so that an answer is kept as long as what it depends on. Relations that read
themselves are evaluated with tables (see `ggp.interpreter.tabling`), so that no recursion of rules is one of Python.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from ggp.gdl.dependencies import Dependencies, Tier
from ggp.gdl.logic_program import Clause, Literal, LogicProgram, Relation
from ggp.gdl.terms import Term, is_ground, variables
from ggp.interpreter.bodies import (
    Access,
    BodyWriter,
    FunctionSource,
    Names,
    Rest,
    expression,
    pack,
    unpack_key,
)
from ggp.interpreter.query_planner import Query, QueryPlanner
from ggp.interpreter.tabling import Tabling, WellFounded

_SHOWN = ("next", "init", "legal", "sees")  # whose terms leave the rules, and come back in the next state
_MANY_ANSWERS = 1_000_000  # that there can be, from which on they are counted while they are made
_FEW_KEYS = 10_000  # for so many questions to a relation it is not counted how many were asked
_MAX_CALLS = 40  # levels of relations that call each other before one is evaluated as a whole beforehand


@dataclass(frozen=True, slots=True)
class Compiled:
    """FunctionSource and the tables that it reads."""

    source: str
    tables: dict[str, Any]  # by the names that the source uses
    tiers: tuple[Tier, ...]  # of each query


@dataclass
class Compiler:
    """Compiles what its queries need of a program."""

    program: LogicProgram
    dependencies: Dependencies
    planner: QueryPlanner

    def __post_init__(self) -> None:
        self._tables: dict[str, Any] = {}
        self._scopes: dict[Tier, list[str]] = {tier: [] for tier in Tier}
        self._numbers: dict[tuple[Relation, tuple[int, ...]], int] = {}
        self._pending: list[tuple[Relation, tuple[int, ...], int]] = []
        self._fact_rows: dict[tuple[Relation, tuple[int, ...]], str] = {}
        self._table_names: dict[tuple[Relation, tuple[int, ...]], str] = {}
        self._helpers = 0
        self._tier = Tier.STATIC
        self._bodies = BodyWriter(self)
        self._tabling = Tabling(self, self._bodies)
        self._well_founded = WellFounded(self, self._bodies)
        self.can_grow = self.planner.domains.can_nest or self.planner.builds_unseen
        self._whole = _wholes(self.program, self.dependencies, self.planner)

    def compile(self, queries: Sequence[Query]) -> Compiled:
        """The source for the queries; RulesheetError where a rule that they need cannot be evaluated."""
        for number, query in enumerate(queries):
            self._root(number, query)
        while self._pending:
            relation, bound, number = self._pending.pop()
            self._tier = self.tier(relation)
            if bound and relation in self._whole | self.dependencies.negative_cycles:
                self._index_of_whole(relation, bound, number)
            elif relation in self.dependencies.negative_cycles:
                self._well_founded.compile(relation)
            elif relation in self.dependencies.recursive:
                self._tabling.compile(relation, bound, number)
            else:
                self._function(relation, bound, number)
        tiers = tuple(self.tier(query.relation) for query in queries)
        return Compiled(_assemble(self._scopes, tiers), self._tables, tiers)

    # What bodies ask for.

    def access(self, relation: Relation, bound: tuple[int, ...]) -> Access:
        """How to ask a relation from the function that is being written."""
        own = self._well_founded.access(relation, bound)
        if own is not None:
            return own
        if relation in self.program.tables:
            return self._table(relation, bound)
        if relation not in self.program.clauses:
            return Access(rows=lambda _: "()", test=lambda _: "False")
        number = self.number(relation, bound)

        def ask(key: str) -> str:
            if _is_plain(key):
                return f"(f{number}({key}) if (r := m{number}.get({key})) is None else r)"
            return f"(f{number}(q) if (r := m{number}.get(q := {key})) is None else r)"

        return Access(rows=ask, test=ask)

    def number(self, relation: Relation, bound: tuple[int, ...]) -> int:
        """Of the function that answers this; it is compiled later when it is new."""
        if not self.planner.can_ask(relation, bound):
            raise self.planner.unsafe(relation, bound)
        key = (relation, bound)
        if key not in self._numbers:
            self._numbers[key] = len(self._numbers)
            self._pending.append((relation, bound, self._numbers[key]))
        return self._numbers[key]

    def fact_rows(self, function: Relation, bound: tuple[int, ...], key: str) -> str:
        """The expression for the facts of one function: whole when none of its arguments is bound."""
        name = self._fact_rows.get((function, ()))
        state = self._scopes[Tier.STATE]
        if name is None:
            name = self._fact_rows[function, ()] = f"T{len(self._fact_rows)}"
            state.append(f"{name} = facts.get(({function[0]!r}, {function[1] + 1}), ())")
        if not bound:
            return name
        index = self._fact_rows.get((function, bound))
        if index is None:
            index = self._fact_rows[function, bound] = f"i{len(self._fact_rows)}"
            state.extend(_index_lines(index, name, function[1], bound))
        return f"({index} or x{index}()).get({key}, ())"

    def most_rows(self, literal: Literal, known: Collection[str]) -> float:
        return self.planner.most_rows(literal, known)

    def helper(self, parameters: Sequence[str], write: Callable[[FunctionSource], None], reach: float) -> str:
        """The name of a new function in the scope of the one that is being written."""
        name = f"h_{self._helpers}"
        self._helpers += 1
        source = FunctionSource(f"def {name}({', '.join(parameters)}):", reach)
        write(source)
        self._scopes[self._tier].extend(source.lines)
        return name

    def suspends(self, literal: Literal) -> bool:
        return self._tabling.suspends(literal)

    def suspend(self, source: FunctionSource, literal: Literal, names: Names, rest: Rest) -> None:
        self._tabling.suspend(source, literal, names, rest)

    # What tabling asks for.

    def tier(self, relation: Relation) -> Tier:
        return self.dependencies.tiers.get(relation, Tier.STATIC)

    def emit(self, lines: Sequence[str]) -> None:
        """Adds lines to the scope of the function that is being written."""
        self._scopes[self._tier].extend(lines)

    def ordered(self, clause: Clause, bound: tuple[int, ...]) -> tuple[Literal, ...]:
        return self.planner.ordered(clause, bound)

    def open_head(self, source: FunctionSource, clause: Clause, bound: tuple[int, ...]) -> Names:
        """Matches the bound arguments of a head with the parameters `p0`, `p1` …"""
        names = Names()
        later: list[tuple[Term, str]] = []
        for place, index in enumerate(bound):
            argument = clause.arguments[index]
            if isinstance(argument, str) and argument.startswith("?") and argument not in names:
                names[argument] = f"p{place}"
            else:
                later.append((argument, f"p{place}"))
        for argument, name in later:
            self._bodies.unify(source, argument, name, names)
        return names

    # Functions.

    def _function(self, relation: Relation, bound: tuple[int, ...], number: int) -> None:
        source = FunctionSource(f"def f{number}(k):")
        if self.planner.most_keys(len(bound)) > _FEW_KEYS:
            source.line("next(ticks)")
        unpack_key(source, len(bound))
        free = [index for index in range(relation[1]) if index not in bound]
        if free:
            source.line("out = {}")
        for clause in self.program.clauses[relation]:
            mark = source.mark()
            names = self.open_head(source, clause, bound)
            rest = self._rest(clause, bound, free, number)
            self._bodies.write(source, names, rest)
            source.close(mark)
        source.line(f"m{number}[k] = r = {'list(out)' if free else 'False'}")
        source.line("return r")
        self.emit([f"m{number} = {{}}", *source.lines])

    def _rest(self, clause: Clause, bound: tuple[int, ...], free: list[int], number: int) -> Rest:
        body = self.ordered(clause, bound)
        values = [clause.arguments[index] for index in free]
        needs = tuple(dict.fromkeys(name for value in values for name in variables(value)))
        words = self.program.in_words(clause.relation)
        is_bounded = self.can_grow and (clause.relation[0] in _SHOWN or any(map(_builds, values)))

        def emit(source: FunctionSource, names: Names) -> None:
            if free:
                value = pack(expression(value, names) for value in values)
                source.line(f"out[{f'bounded({value})' if is_bounded else value}] = None")
                if source.reach > _MANY_ANSWERS:
                    source.line("if len(out) > MAX_ROWS:")
                    source.line(f"    too_many({words!r})")
            else:
                source.line(f"m{number}[k] = True")
                source.line("return True")

        return Rest(body, needs, emit, once=not free)

    def _index_of_whole(self, relation: Relation, bound: tuple[int, ...], number: int) -> None:
        """Answers from the whole relation, all keys at once."""
        names = [f"a{index}" for index in range(relation[1])]
        free = [name for index, name in enumerate(names) if index not in bound]
        key = pack(names[index] for index in bound)
        keep = f"setdefault({key}, []).append({pack(free)})" if free else f"__setitem__({key}, True)"
        source = FunctionSource(f"def f{number}(k):")
        source.line(f"if not m{number}:")
        source.line(f"    for {', '.join(names)} in {self.access(relation, ()).rows('()')}:")
        source.line(f"        m{number}.{keep}")
        source.line(f"return m{number}.setdefault(k, {'()' if free else 'False'})")
        self.emit([f"m{number} = {{}}", *source.lines])

    def _table(self, relation: Relation, bound: tuple[int, ...]) -> Access:
        rows = self.program.tables[relation]
        if not relation[1]:
            return Access(rows=lambda _: "((),)", test=lambda _: "True")
        free = [index for index in range(relation[1]) if index not in bound]
        name = f"E_{relation[1]}_{len(self._tables)}"
        name = self._table_names.setdefault((relation, bound), name)
        if name not in self._tables:
            self._tables[name] = _table_index(rows, bound, free)
        if not bound:
            return Access(rows=lambda _: name, test=lambda _: "True")
        return Access(rows=lambda key: f"{name}.get({key}, ())", test=lambda key: f"({key} in {name})")

    def _root(self, number: int, query: Query) -> None:
        """The function that is called from outside, after it made sure of the relations evaluated as a whole."""
        self._tier = self.tier(query.relation)
        source = FunctionSource(f"def q{number}(k):")
        for relation in self._whole_below(query.relation):
            source.line(self.access(relation, ()).rows("()"))
        source.line(f"return {self.access(query.relation, query.bound).rows('k')}")
        self.emit(source.lines)

    def _whole_below(self, relation: Relation) -> list[Relation]:
        """The relations to evaluate as a whole that this one reads, in the order of their dependencies."""
        below = {relation}
        stack = [relation]
        while stack:
            for clause in self.program.clauses.get(stack.pop(), ()):
                new = {literal.relation for literal in clause.body} - below
                below |= new
                stack.extend(new)
        return sorted(self._whole & below, key=lambda member: self.dependencies.component[member])


def _is_plain(expression: str) -> bool:
    """Whether an expression costs nothing to be written twice."""
    return expression.isidentifier() or expression == "()"


def _table_index(rows: tuple[tuple[Term, ...], ...], bound: tuple[int, ...], free: list[int]) -> Any:  # noqa: ANN401
    """The rows by the values of their bound arguments; a list when none is bound."""
    if not bound:
        return [_packed(row, free) for row in rows]
    index: dict[Any, list[Any]] = {}
    for row in rows:
        index.setdefault(_packed(row, bound), []).append(_packed(row, free))
    return index


def _packed(row: tuple[Term, ...], places: Sequence[int]) -> Any:  # noqa: ANN401
    return row[places[0]] if len(places) == 1 else tuple(row[place] for place in places)


def _index_lines(index: str, rows: str, arity: int, bound: tuple[int, ...]) -> list[str]:
    """An index of facts that is made when it is first used."""
    names = [f"a{place}" for place in range(arity)]
    value = pack(name for place, name in enumerate(names) if place not in bound)
    return [
        f"{index} = None",
        f"def x{index}():",
        f"    nonlocal {index}",
        f"    {index} = {{}}",
        f"    for _, {', '.join(names)} in {rows}:",
        f"        k = {pack(names[place] for place in bound)}",
        f"        if k in {index}:",
        f"            {index}[k].append({value})",
        "        else:",
        f"            {index}[k] = [{value}]",
        f"    return {index}",
    ]


def _builds(term: Term) -> bool:
    """Whether a term of a head puts a variable into a function."""
    return isinstance(term, tuple) and not is_ground(term)


def _wholes(program: LogicProgram, dependencies: Dependencies, planner: QueryPlanner) -> frozenset[Relation]:
    """The relations to evaluate as a whole, so that no chain of calls gets longer than _MAX_CALLS."""
    found: set[Relation] = set()
    heights: dict[Relation, int] = {}
    for members in dependencies.components:
        read = {lit.relation for member in members for clause in program.clauses.get(member, ()) for lit in clause.body}
        height = 1 + max((heights.get(relation, 0) for relation in read), default=0)
        if height >= _MAX_CALLS and not any(planner.required.get(member) for member in members):
            found.update(members)
            height = 0
        heights.update(dict.fromkeys(members, height))
    return frozenset(found)


def _assemble(scopes: dict[Tier, list[str]], tiers: tuple[Tier, ...]) -> str:
    """The module: static functions, `at(state)`, and `step(joint)` in it; both return the queries of their tiers."""

    def queries(wanted: Callable[[Tier], bool]) -> str:
        return f"({''.join(f'q{n}, ' if wanted(tier) else 'None, ' for n, tier in enumerate(tiers))})"

    lines = [
        *scopes[Tier.STATIC],
        "def at(state):",
        "    facts = group(state)",
        *(f"    {line}" for line in scopes[Tier.STATE]),
        "    def step(joint):",
        *(f"        {line}" for line in scopes[Tier.STEP]),
        f"        return {queries(lambda tier: tier == Tier.STEP)}",
        f"    return step, {queries(lambda tier: tier != Tier.STEP)}",
    ]
    return "\n".join(lines)

"""Logic program → bytecode for the abstract machine: one query for each way in which a relation is asked."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

from ggp.gdl.dependencies import Dependencies, Tier
from ggp.gdl.logic_program import DISTINCT, DOES, TRUE, Clause, Literal, LogicProgram, Relation
from ggp.gdl.rulesheet import name_and_arity
from ggp.gdl.terms import Term, is_ground, is_variable, may_be_same, variables
from ggp.interpreter import abstract_machine as am
from ggp.interpreter import answer_tables as tables
from ggp.interpreter.query_planner import Query, QueryPlanner

_Operands: TypeAlias = tuple[int, ...]
_NEGATED_PREFIX = "NOT"  # of relations for negations with variables of their own; no symbol of a rulesheet has capitals


class Symbols:
    """Terms and functors by number, as the rules and the caller name them."""

    def __init__(self) -> None:
        self.terms: dict[Term, int] = {}
        self.functors: dict[Relation, int] = {}

    def term(self, term: Term) -> int:
        """The number of a ground term; those of its arguments are smaller."""
        number = self.terms.get(term)
        if number is None:
            if isinstance(term, tuple):
                self.functor(name_and_arity(term))
                for argument in term[1:]:
                    self.term(argument)
            number = self.terms[term] = len(self.terms)
        return number

    def functor(self, functor: Relation) -> int:
        return self.functors.setdefault(functor, len(self.functors))


@dataclass(frozen=True, slots=True)
class Bytecode:
    """A program as the abstract machine takes it: see `answer_tables.Machine` for the shapes."""

    code: list[tuple[int, int, int, int, int]]
    operands: list[int]
    queries: list[tuple[int, int, int, int, int]]
    indices: dict[int, tuple[int, int]]  # of queries for facts
    rows: list[int]
    symbols: Symbols
    entries: tuple[int, ...]  # of the questions from outside


class _Label:
    """A place in the code that is not known yet."""

    at = -1


class BytecodeCompiler:
    """Compiles what questions from outside need of a program.

    RulesheetError where a rule that they need cannot be evaluated.
    """

    def __init__(self, program: LogicProgram, dependencies: Dependencies, planner: QueryPlanner) -> None:
        self._program, self._dependencies, self._planner = program, dependencies, planner
        self._symbols = Symbols()
        self._code: list[tuple[int, int, int, int, _Label | int]] = []
        self._operands: list[int] = []
        self._lists: dict[_Operands, int] = {}
        self._numbers: dict[tuple[Relation, _Operands], int] = {}
        self._queries: list[list[int]] = []
        self._pending: list[tuple[Relation, _Operands, int]] = []
        self._fact_numbers: dict[tuple[Relation | None, _Operands], int] = {}  # by functor; None: all facts
        self._indices: dict[int, tuple[int, int]] = {}
        self._rows: list[int] = []
        self._negated: dict[Relation, Clause] = {}
        self.functional: set[int] = set()  # queries that have one answer at most

    def compile(self, questions: Sequence[Query]) -> Bytecode:
        """The bytecode for questions from outside, each with one argument at most that is bound."""
        entries = [self._entry(question) for question in questions]
        while self._pending:
            self._query(*self._pending.pop())
        code = [(op, a, b, c, label if isinstance(label, int) else label.at) for op, a, b, c, label in self._code]
        return Bytecode(
            code,
            self._operands,
            [(query[0], query[1], query[2], query[3], query[4]) for query in self._queries],
            self._indices,
            self._rows,
            self._symbols,
            tuple(entries),
        )

    # What clauses ask for.

    @property
    def symbols(self) -> Symbols:
        return self._symbols

    @property
    def size(self) -> int:
        """How many instructions there are."""
        return len(self._code)

    def emit(self, operation: int, a: int, b: int, c: int, fail: "_Label | int") -> int:
        """Adds an instruction; its place."""
        self._code.append((operation, a, b, c, fail))
        return len(self._code) - 1

    def operand_list(self, registers: Iterable[int]) -> int:
        """Where a list of registers, or of places, is among the operands."""
        wanted = tuple(registers)
        if wanted not in self._lists:
            self._lists[wanted] = len(self._operands)
            self._operands += wanted
        return self._lists[wanted]

    def ask(self, relation: Relation, bound: _Operands) -> int | None:
        """The number of the query that asks a relation with these arguments bound; None where it never holds."""
        if relation not in self._program.tables and relation not in self._program.clauses:
            return None
        if not self._planner.can_ask(relation, bound):
            raise self._planner.unsafe(relation, bound)
        number = self._numbers.get((relation, bound))
        if number is None:
            number = self._numbers[relation, bound] = self._new_query(bound, self._tier(relation), relation[1])
            if relation in self._program.tables:
                self._put_rows(relation, bound, number)
            else:
                self._pending.append((relation, bound, number))
        return number

    def fact_index(self, functor: Relation | None, bound: _Operands) -> int:
        """The number of the query for facts of a functor by some of their arguments; None: for all facts."""
        number = self._fact_numbers.get((functor, bound))
        if number is None:
            arity = functor[1] if functor else 1
            number = self._fact_numbers[functor, bound] = self._new_query(bound, Tier.STATE, arity)
            order = self.operand_list([*bound, *(place for place in range(arity) if place not in bound)])
            key = self._symbols.functor(functor) if functor else tables.ALL_FACTS
            self._indices[number] = (key, order)
        return number

    def negation(self, literal: Literal, bound: Sequence[str]) -> int:
        """The query whether an atom holds for any values of its other variables."""
        name = f"{_NEGATED_PREFIX}{len(self._negated)}"
        head: Term = (name, *bound) if bound else name
        relation = (name, len(bound))
        self._negated[relation] = Clause(head, (Literal(literal.atom, positive=True),), 0)
        places = tuple(range(len(bound)))
        number = self._new_query(places, self._tier(literal.relation), len(bound))
        self._pending.append((relation, places, number))
        return number

    # Queries.

    def _new_query(self, bound: _Operands, tier: Tier, arity: int) -> int:
        self._queries.append([int(tier), -1, len(bound), arity - len(bound), 0])
        return len(self._queries) - 1

    def _tier(self, relation: Relation) -> Tier:
        if relation == TRUE:
            return Tier.STATE
        if relation == DOES:
            return Tier.STEP
        return self._dependencies.tiers.get(relation, Tier.STATIC)

    def _put_rows(self, relation: Relation, bound: _Operands, number: int) -> None:
        order = (*bound, *(place for place in range(relation[1]) if place not in bound))
        rows = self._program.tables[relation]
        if len({tuple(row[place] for place in bound) for row in rows}) == len(rows):
            self.functional.add(number)
        for row in rows:
            self._rows.append(number)
            self._rows.extend(self._symbols.term(row[place]) for place in order)

    def _entry(self, question: Query) -> int:
        number = self.ask(question.relation, question.bound)
        at = len(self._code)
        if number is None:
            self.emit(am.COPY, am.ROOT_ITERATOR, ~0, 0, 0)
        else:
            self.emit(am.ASK, number, self.operand_list(range(len(question.bound))), am.ROOT_ITERATOR, 0)
        self.emit(am.HALT, 0, 0, 0, 0)
        return at

    def _query(self, relation: Relation, bound: _Operands, number: int) -> None:
        negated = self._negated.get(relation)
        self._queries[number][tables.ENTRY] = len(self._code)
        end, registers = _Label(), len(bound)
        clauses = self._program.clauses[relation] if negated is None else (negated,)
        are_apart = relation not in self._dependencies.recursive and (
            len(bound) == relation[1]
            or not any(may_be_same(one.head, other.head) for one, other in combinations(clauses, 2))
        )
        for clause in clauses:
            body = clause.body if negated else self._planner.ordered(clause, bound)
            writer = _ClauseWriter(self, clause, body, bound, end, are_apart=are_apart)
            registers = max(registers, writer.registers)
        end.at = self.emit(am.END, 0, 0, 0, 0)
        self._queries[number][tables.REGISTERS] = registers


class _ClauseWriter:
    """Writes one clause of a query."""

    def __init__(
        self,
        compiler: BytecodeCompiler,
        clause: Clause,
        body: Sequence[Literal],
        bound: _Operands,
        end: _Label,
        *,
        are_apart: bool,  # no other clause of the query gives the same answers
    ) -> None:
        self._compiler = compiler
        self._code: list[tuple[int, int, int, int, _Label, _Label | None]] = []  # the last: a label of this place
        self._names: dict[str, int] = {}  # registers of variables
        self._fail = following = _Label()
        self.registers = len(bound)
        for place, index in enumerate(bound):
            self._unify(clause.arguments[index], place)
        values = [argument for index, argument in enumerate(clause.arguments) if index not in bound]
        needs = {name for value in values for name in variables(value)}
        told = needs | self._names.keys()  # variables of which each binding is another answer
        after = None if values else end  # where it goes on after an answer
        for literal in body:
            before, known = self._fail, frozenset(self._names)
            self._literal(literal)
            if self._fail is not before and after is None:
                if needs <= known:  # one way in which the rest holds is enough
                    after = before
                else:
                    are_apart = are_apart and told >= self._names.keys() - known
        operands = compiler.operand_list([self._value(value) for value in values])
        self._emit(am.ADD if are_apart else am.ANSWER, operands, fail=after)
        for operation, a, b, c, fail, label in self._code:
            at = compiler.emit(operation, a, b, c, fail)
            if label is not None:
                label.at = at
        following.at = compiler.size

    def _emit(self, operation: int, a: int = 0, b: int = 0, c: int = 0, fail: _Label | None = None) -> None:
        self._code.append((operation, a, b, c, fail or self._fail, None))

    def _emit_loop(self, operation: int, a: int, b: int, c: int) -> None:
        """An instruction to which all that come after it go back where they fail."""
        label = _Label()
        self._code.append((operation, a, b, c, self._fail, label))
        self._fail = label

    def _fresh(self, count: int = 1) -> int:
        self.registers += count
        return self.registers - count

    def _is_bound(self, term: Term) -> bool:
        return all(name in self._names for name in variables(term))

    def _value(self, term: Term) -> int:
        """The operand for the value of a term whose variables are bound."""
        if isinstance(term, str) and is_variable(term):
            return self._names[term]
        if is_ground(term):
            return ~self._compiler.symbols.term(term)
        parts = [self._value(part) for part in term[1:]]
        register = self._fresh()
        functor = self._compiler.symbols.functor(name_and_arity(term))
        self._emit(am.BUILD, register, functor, self._compiler.operand_list(parts))
        return register

    def _unify(self, pattern: Term, register: int) -> None:
        """Binds the free variables of a pattern to parts of a value; fails where the rest is not the same."""
        if self._is_bound(pattern):
            self._emit(am.SAME, register, self._value(pattern))
        elif isinstance(pattern, str):
            self._names[pattern] = register
        else:
            first = self._fresh(len(pattern) - 1)
            self._emit(am.MATCH, register, self._compiler.symbols.functor(name_and_arity(pattern)), first)
            for place, part in enumerate(pattern[1:]):
                self._unify(part, first + place)

    def _literal(self, literal: Literal) -> None:
        relation, arguments = literal.relation, literal.arguments
        if relation == DISTINCT:
            self._distinct(literal)
        elif not literal.positive:
            self._negation(literal)
        elif relation == TRUE:
            self._fact(arguments[0])
        elif relation == DOES:
            self._done(*arguments)
        else:
            self._relation(relation, arguments)

    def _distinct(self, literal: Literal) -> None:
        left, right = literal.arguments
        if literal.positive:
            self._emit(am.DIFFERENT, self._value(left), self._value(right))
        elif self._is_bound(left):
            self._unify(right, self._value(left))
        else:
            self._unify(left, self._value(right))

    def _negation(self, literal: Literal) -> None:
        relation, arguments = literal.relation, literal.arguments
        if not self._is_bound(literal.atom):
            bound = [name for name in variables(literal.atom) if name in self._names]
            query = self._compiler.negation(literal, bound)
            operands = self._compiler.operand_list([self._names[name] for name in bound])
            self._emit(am.HOLDS_NOT, query, operands)
        elif relation == TRUE:
            self._emit(am.NO_FACT, self._value(arguments[0]))
        elif relation == DOES:
            self._emit(am.DOES_NOT, self._value(arguments[0]), self._value(arguments[1]))
        else:
            self._relation(relation, arguments, am.HOLDS_NOT)

    def _fact(self, pattern: Term) -> None:
        if self._is_bound(pattern):
            self._emit(am.FACT, self._value(pattern))
        elif isinstance(pattern, str):
            self._loop(self._compiler.fact_index(None, ()), (), (pattern,))
        else:
            functor, arguments = name_and_arity(pattern), pattern[1:]
            bound = self._bound(arguments)
            self._loop(self._compiler.fact_index(functor, bound), bound, arguments)

    def _done(self, role: Term, move: Term) -> None:
        if not self._is_bound(role):
            iterator, values = self._fresh(), self._fresh(2)
            self._emit(am.EACH_ROLE, iterator)
            self._emit_loop(am.NEXT_ROLE, iterator, values, values + 1)
            self._unify(role, values)
            self._unify(move, values + 1)
        elif self._is_bound(move):
            self._emit(am.DOES, self._value(role), self._value(move))
        else:
            done = self._fresh()
            self._emit(am.MOVE_OF, self._value(role), done)
            self._unify(move, done)

    def _relation(self, relation: Relation, arguments: Sequence[Term], test: int = am.HOLDS) -> None:
        bound = self._bound(arguments)
        query = self._compiler.ask(relation, bound)
        if query is None:
            if test == am.HOLDS:
                self._emit(am.FAIL)
                for name in (name for argument in arguments for name in variables(argument)):
                    self._names.setdefault(name, self._fresh())  # for what is written, and never run, after it
        elif len(bound) == len(arguments):
            operands = self._compiler.operand_list([self._value(argument) for argument in arguments])
            self._emit(test, query, operands)
        else:
            self._loop(query, bound, arguments)

    def _bound(self, arguments: Sequence[Term]) -> _Operands:
        return tuple(place for place, argument in enumerate(arguments) if self._is_bound(argument))

    def _loop(self, query: int, bound: _Operands, arguments: Sequence[Term]) -> None:
        operands = self._compiler.operand_list([self._value(arguments[place]) for place in bound])
        iterator, values = self._fresh(), self._fresh(len(arguments) - len(bound))
        if query in self._compiler.functional:
            self._emit(am.GET, query, operands, values)
        else:
            self._emit(am.ASK, query, operands, iterator)
            self._emit_loop(am.NEXT, iterator, values, len(arguments) - len(bound))
        free = (argument for place, argument in enumerate(arguments) if place not in bound)
        for place, argument in enumerate(free):
            self._unify(argument, values + place)

"""A rulesheet → a state machine that evaluates its rules by bytecode, outside of the GIL."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, repeat
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ggp.errors import EvaluationError
from ggp.gdl.dependencies import Tier
from ggp.gdl.logic_program import Relation
from ggp.gdl.rulesheet import name_and_arity
from ggp.gdl.state_machine import Facts, JointMove, Playout
from ggp.gdl.terms import Term
from ggp.interpreter import abstract_machine as am
from ggp.interpreter import answer_tables as tables
from ggp.interpreter.bytecode import BytecodeCompiler
from ggp.interpreter.interpreter import PLAY_QUERIES, Interpreter, RuleMachine, goal_number
from ggp.interpreter.query_planner import MAX_DEPTH, MAX_NODES, Query, make_query_planner
from ggp.kernel import Int

_SLICE = 200_000  # instructions between two looks at the clock, some milliseconds
_MAX_SLICES = 5_000  # of one evaluation: some ten seconds
_KEPT_TERMS = 1 << 20  # terms that no rule names, from which on all of them are forgotten between two questions
_FIRST_SIZES = {"memory": 1 << 14, "slots": 1 << 12, "terms": 1 << 12, "stack": 1 << 12}
_MOST = {"memory": 1 << 25, "slots": 1 << 23, "terms": 1 << 21, "stack": 1 << 23}
_ERRORS = {
    tables.TOO_DEEP: f"a term grows beyond {MAX_DEPTH} levels",
    tables.TOO_LONG: f"a term grows beyond {MAX_NODES:,} names",
    tables.CYCLE: "what happens in a playout depends on its own negation",
}
_ROOM = {
    tables.FULL_MEMORY: "memory",
    tables.FULL_SLOTS: "slots",
    tables.FULL_TERMS: "terms",
    tables.FULL_STACK: "stack",
}


class _StoppedError(Exception):
    """Ends a playout when `stop` says so."""


class BytecodeMachine(RuleMachine):
    """The rules of an interpreter as bytecode: the same answers, sooner.

    Every evaluation ends, by EvaluationError if need be. The interpreter answers what depends on its own negation.
    Rules that name terms beyond the bounds of states are an EvaluationError at once.
    """

    engine = "bytecode"

    def __init__(self, interpreter: Interpreter) -> None:
        program, dependencies = interpreter.program, interpreter.dependencies
        super().__init__(has_percepts=program.rulesheet.has_percepts)
        self.roles, self.initial_state = interpreter.roles, interpreter.initial_state
        self._interpreter = interpreter
        self._sizes = dict(_FIRST_SIZES)
        self._state: Facts | None = None
        self._joint: JointMove | None = None
        planner = make_query_planner(program, dependencies, interpreter.domains, interpreter.fact_counts)
        static = [
            relation
            for relation in program.clauses
            if dependencies.tiers[relation] == Tier.STATIC and planner.can_ask(relation, ())
        ]
        self._bytecode = BytecodeCompiler(program, dependencies, planner).compile([Query(name, ()) for name in static])
        self._make()
        planner = replace(planner, row_counts=dict(self._count_rows(static)))
        self._bytecode = BytecodeCompiler(program, dependencies, planner).compile(PLAY_QUERIES)
        self._make()

    def _count_rows(self, static: Sequence[Relation]) -> Iterator[tuple[Relation, int]]:
        """For how much static relations hold, as far as that is soon known: the order of conditions depends on it."""
        for relation, entry in zip(static, self._bytecode.entries, strict=True):
            self._machine.control[tables.LEFT] = _SLICE
            count = int(am.ask(self._machine, entry, 0, False))
            if count >= 0:
                yield relation, max(1, count)
            else:
                self._forget()

    def answer(self, state: Facts, query: int, role: str | None = None, joint_move: JointMove | None = None) -> Any:  # noqa: ANN401
        with self._lock:
            self._tidy()
            while True:
                count = self._evaluate(state, query, role, joint_move)
                if 0 <= count <= len(self._machine.found):
                    break
                if count == tables.CYCLE:
                    self._forget()
                    return self._interpreter.answer(state, query, role, joint_move)
                self._make_room(count if count < 0 else tables.FULL_TERMS)
            if PLAY_QUERIES[query].relation[1] == 0:
                return count > 0
            return list(map(self._term, self._machine.found[:count].tolist()))

    def play_match(self, state: Facts, rng: Random, max_steps: int, stop: Callable[[], bool]) -> Playout | None:
        """See `SupportsPlayouts`."""
        with self._lock:
            self._tidy()
            seed = rng.getrandbits(64) | 1
            while True:
                try:
                    status = self._play(state, np.array([seed], np.uint64), max_steps, stop)
                except _StoppedError:
                    return None
                if status == tables.DONE:
                    goals = tuple(None if goal < 0 else goal for goal in self._machine.goals.tolist())
                    steps, ended = self._machine.control[[tables.STEPS, tables.ENDED]].tolist()
                    return Playout(goals, steps, bool(ended))
                self._make_room(status)

    def _play(self, state: Facts, random: NDArray[np.uint64], max_steps: int, stop: Callable[[], bool]) -> int:
        """A playout from its first step on; not DONE where something is full."""
        status = self._enter(state)
        machine = self._machine
        if status != tables.DONE:
            return status
        self._state = None  # no longer, from here on
        machine.control[tables.PHASE], machine.control[tables.STEPS] = am.BEGIN, 0
        entries = np.array(self._bytecode.entries, np.int32)
        return self._run(lambda: am.play_out(machine, entries, random, max_steps), stop)

    def _evaluate(self, state: Facts, query: int, role: str | None, joint_move: JointMove | None) -> int:
        """The number of answers; below 0 where something is full."""
        if state is not self._state and (status := self._enter(state)) != tables.DONE:
            return status
        machine = self._machine
        moves = joint_move != self._joint
        if moves:
            numbers = [-1] * len(self.roles) if joint_move is None else list(map(self._number, joint_move))
            if joint_move is not None and min(numbers) < 0:
                return min(numbers)
            machine.joint[:, 1] = numbers
            self._joint = joint_move
        first, argument = self._bytecode.entries[query], 0 if role is None else self._numbers[role]
        entries = chain((first,), repeat(-1))
        return self._run(lambda: am.ask(machine, next(entries), argument, moves))

    def _run(self, evaluate: Callable[[], Int], stop: Callable[[], bool] | None = None) -> int:
        """Calls a kernel until it is done, or full."""
        for _ in range(_MAX_SLICES):
            self._machine.control[tables.LEFT] = _SLICE
            status = int(evaluate())
            if status != tables.UNFINISHED:
                return status
            if stop and stop():
                self._make()
                raise _StoppedError
        self._make()
        raise EvaluationError(f"the evaluation of the rules does not end within {_MAX_SLICES * _SLICE:,} instructions")

    def _enter(self, state: Facts) -> int:
        """Makes a state the present one; not DONE where there is no room."""
        machine = self._machine
        if len(state) > len(machine.facts):
            return tables.FULL_TERMS
        for place, fact in enumerate(state):
            machine.facts[place] = number = self._number(fact)
            if number < 0:
                return number
        machine.control[tables.FACTS] = len(state)
        machine.joint[:, 1] = -1
        self._joint = None
        tables.set_state(machine)
        self._state = state
        return tables.DONE

    # Terms.

    def _number(self, term: Term) -> int:
        """The number of a term; below 0 where there is no room for it."""
        known = self._numbers.get(term)
        if known is not None:
            return known
        machine = self._machine
        if isinstance(term, str):
            number = int(machine.control[tables.TERMS])
            if number >= len(machine.terms):
                return tables.FULL_TERMS
            self._put_constant(term, number)
            machine.control[tables.TERMS] = number + 1
        else:
            functor = self._bytecode.symbols.functor(name_and_arity(term))
            if functor >= len(self._functors):  # the machine knows no functor that came after it was made
                return tables.FULL_TERMS
            arguments = [self._number(argument) for argument in term[1:]]
            if min(arguments, default=0) < 0:
                return min(arguments)
            root = int(machine.control[tables.ROOT])
            machine.stack[root : root + len(arguments)] = arguments
            number = int(tables.build(machine, functor, self._identity))
            if number < 0:
                return number
        self._numbers[term] = number
        self._terms[number] = term
        return number

    def _term(self, number: int) -> Term:
        term = self._terms.get(number)
        if term is None:
            machine = self._machine
            functor, first = machine.terms[number, : tables.DEPTH].tolist()
            name, arity = self._functors[functor]
            arguments = machine.arguments[first : first + arity].tolist()
            term = self._terms[number] = (name, *map(self._term, arguments))
            self._numbers[term] = number
        return term

    def _put_constant(self, term: str, number: int) -> None:
        value = goal_number(term)
        self._machine.terms[number] = (-1, 0, 0, 1, -1 if value is None else value)
        self._machine.marks[number] = 0

    # Room.

    def _tidy(self) -> None:
        """Forgets all terms where there are too many."""
        if int(self._machine.control[tables.TERMS]) > len(self._bytecode.symbols.terms) + _KEPT_TERMS:
            self._make()

    def _make_room(self, status: int) -> None:
        """Makes larger what a kernel found full; EvaluationError where it is as large as it may be."""
        if status in _ERRORS:
            self._make()
            raise EvaluationError(_ERRORS[status])
        name = _ROOM[status]
        try:
            if self._sizes[name] < _MOST[name]:
                self._sizes[name] *= 2
                self._make()
                return
        except MemoryError:
            self._sizes[name] //= 2
        self._make()
        raise EvaluationError("the evaluation of the rules takes too much memory")

    def _make(self) -> None:
        """A machine with nothing in it but the static relations."""
        bytecode, sizes = self._bytecode, self._sizes
        symbols = bytecode.symbols
        sizes["terms"] = max(sizes["terms"], 1 << (2 * len(symbols.terms)).bit_length())
        terms, slots = sizes["terms"], sizes["slots"]
        self._functors = list(symbols.functors)
        rows = (keys + values for _, _, keys, values, _ in bytecode.queries)
        widest = max((1, *rows, *(arity for _, arity in self._functors)))
        self._identity = len(bytecode.operands)
        root = len(symbols.terms)
        sizes["stack"] = max(sizes["stack"], 1 << (2 * (root + widest)).bit_length())
        self._machine = machine = tables.Machine(
            code=_integers(bytecode.code, 5),
            operands=_integers([*bytecode.operands, *range(widest)]),
            queries=_integers(bytecode.queries, 5),
            arities=_integers([arity for _, arity in symbols.functors]),
            indices=_integers([bytecode.indices.get(i, (tables.NO_INDEX, 0)) for i in range(len(bytecode.queries))], 2),
            indexed=np.zeros(len(bytecode.queries), np.int64),
            rows=_integers(bytecode.rows),
            memory=np.zeros(tables.TIERS * sizes["memory"], np.int32),
            slots=np.zeros(tables.TIERS * slots, np.int64),
            terms=np.zeros((terms, 5), np.int32),
            arguments=np.zeros(4 * terms, np.int32),
            term_slots=np.zeros(2 * terms, np.int32),
            marks=np.zeros(terms, np.int64),
            facts=np.zeros(terms, np.int32),
            joint=np.full((len(self.roles), 2), -1, np.int32),
            goals=np.zeros(len(self.roles), np.int32),
            found=np.zeros(terms, np.int32),
            stack=np.zeros(sizes["stack"], np.int32),
            pending=np.zeros(sizes["stack"], np.int32),
            control=np.zeros(tables.CONTROLS, np.int64),
        )
        machine.control[tables.WIDEST], machine.control[tables.ROOT] = widest, root
        machine.stack[:root] = range(root)
        self._numbers: dict[Term, int] = {}
        self._terms: dict[int, Term] = {}
        for term in symbols.terms:  # arguments come before the terms that they are in, so numbers are those of the code
            if (number := self._number(term)) < 0:
                raise EvaluationError(_ERRORS[number])
        machine.joint[:, 0] = [self._number(role) for role in self.roles]
        self._forget()

    def _forget(self) -> None:
        """Drops all answers, also those that were not worked out to the end."""
        self._state = self._joint = None
        status = int(tables.put_rows(self._machine, self._identity))
        if status != tables.DONE:
            self._make_room(status)


def _integers(values: Sequence[object], width: int = 0) -> tables.Integers:
    found = np.array(values, np.int32)
    return found.reshape(-1, width) if width else found

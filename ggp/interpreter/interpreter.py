"""The interpreter: a rulesheet → a state machine that follows GDL to the letter, by compiled Python."""

import re
import sys
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain, islice, repeat
from threading import RLock
from typing import Any, NoReturn, TypeAlias

from ggp.errors import EvaluationError, RulesheetError, UnknownRoleError
from ggp.gdl.dependencies import Dependencies, find_dependencies
from ggp.gdl.domains import Domains, find_domains
from ggp.gdl.logic_program import LogicProgram, Relation, make_logic_program
from ggp.gdl.rulesheet import Rulesheet, name_and_arity
from ggp.gdl.state_machine import Facts, JointMove
from ggp.gdl.terms import Term, is_ground, to_text
from ggp.interpreter.compiler import Compiled, Compiler
from ggp.interpreter.query_planner import MAX_DEPTH, MAX_NODES, Query, make_query_planner

MAX_ROWS = 2_000_000  # answers to one question
MAX_STEPS = 10_000_000  # of the evaluation of a state, or of a joint move: questions to relations, and rows of loops
MAX_BLOCKS = 10_000_000  # objects that an evaluation may make, some 100 bytes each

_ROWS_OF_STEP = 16  # rows that a loop goes through while a question to a relation is answered
_CHUNK = 1 << 14  # steps between two looks at memory and time

_START = (Query(("role", 1), ()), Query(("init", 1), ()))
_LEGAL, _TERMINAL, _GOAL, _NEXT, _SEES = range(5)
PLAY_QUERIES = (
    Query(("legal", 2), (0,)),
    Query(("terminal", 0), ()),
    Query(("goal", 2), (0,)),
    Query(("next", 1), ()),
    Query(("sees", 2), (0,)),
)
_NO_KEY = ()
IsLate: TypeAlias = Callable[[], bool]  # whether an evaluation takes too long; asked every few milliseconds
_GOAL_VALUE = re.compile(r"[0-9]{1,2}|100")


def never_late() -> bool:
    return False


class RuleMachine(ABC):
    """A state machine whose answers are those of the queries `PLAY_QUERIES`."""

    roles: tuple[str, ...]
    initial_state: Facts

    def __init__(self, *, has_percepts: bool) -> None:
        self._has_percepts = has_percepts
        self._lock = RLock()  # for all that an evaluation keeps
        self._texts = _Texts()

    @abstractmethod
    def answer(self, state: Facts, query: int, role: str | None = None, joint_move: JointMove | None = None) -> Any:  # noqa: ANN401
        """The answer to a query by its place in `PLAY_QUERIES`: a list of terms, or a truth value."""

    def legal_moves(self, state: Facts, role: str) -> tuple[Term, ...]:
        with self._lock:
            return tuple(sorted(self.answer(state, _LEGAL, self._known(role)), key=self._texts.__getitem__))

    def next_state(self, state: Facts, joint_move: JointMove) -> Facts:
        with self._lock:
            return frozenset(self.answer(state, _NEXT, None, joint_move))

    def is_terminal(self, state: Facts) -> bool:
        with self._lock:
            return bool(self.answer(state, _TERMINAL))

    def goal_values(self, state: Facts, role: str) -> tuple[int, ...]:
        with self._lock:
            found = map(goal_number, self.answer(state, _GOAL, self._known(role)))
            return tuple(sorted(number for number in found if number is not None))

    def goal(self, state: Facts, role: str) -> int | None:
        values = self.goal_values(state, role)
        return values[0] if len(values) == 1 else None

    def percepts(self, state: Facts, joint_move: JointMove, role: str) -> tuple[Term, ...]:
        if not self._has_percepts:
            return joint_move
        with self._lock:
            found = self.answer(state, _SEES, self._known(role), joint_move)
            return tuple(sorted(found, key=self._texts.__getitem__))

    def _known(self, role: str) -> str:
        if role not in self.roles:
            raise UnknownRoleError(f"no role is called {role!r}; the roles are {', '.join(self.roles)}")
        return role


class Interpreter(RuleMachine):
    """A state machine that evaluates the rules for each state anew, and keeps the latest state's answers.

    Every evaluation ends: with EvaluationError where it takes more steps or objects than a bound, or when `is_late`,
    which is asked every few milliseconds, says so.
    """

    engine = "interpreter"

    def __init__(self, rulesheet: Rulesheet, is_late: IsLate = never_late) -> None:
        super().__init__(has_percepts=rulesheet.has_percepts)
        self.program = program = make_logic_program(rulesheet)
        self.dependencies, self.domains = analysis = _analysed(program)
        start = _load(_compile(program, analysis, _START, {}), is_late)
        self.roles = _roles(rulesheet, _queried(start, 0))
        self.initial_state = frozenset(_queried(start, 1))
        self.fact_counts: dict[Relation, int] = {}
        for fact in self.initial_state:
            function = name_and_arity(fact)
            self.fact_counts[function] = self.fact_counts.get(function, 0) + 1
        self._at = _load(_compile(program, analysis, PLAY_QUERIES, self.fact_counts), is_late)
        self._state: Facts | None = None
        self._answers: Any = None

    def answer(self, state: Facts, query: int, role: str | None = None, joint_move: JointMove | None = None) -> Any:  # noqa: ANN401
        with self._lock:
            if state is not self._state:
                if self._at.has_spent:
                    self._at.restart()
                self._answers = self._at(state)
                self._state = state
            step, queries = self._answers
            if queries[query] is None:  # depends on the moves; when GDL forbids it to, it is asked before there are any
                if self._at.has_spent:
                    self._at.restart()
                queries = step({} if joint_move is None else dict(zip(self.roles, joint_move, strict=True)))
            return queries[query](_NO_KEY if role is None else role)


def goal_number(term: Term) -> int | None:
    """The number that a term is as a goal value; None where it is none from 0 to 100."""
    return int(term) if isinstance(term, str) and _GOAL_VALUE.fullmatch(term) else None


def ask(
    program: LogicProgram,
    relations: Sequence[Relation],
    state: Facts = frozenset(),
    is_late: IsLate = never_late,
) -> tuple[frozenset[Term], ...]:
    """All that some relations hold for in a state, each as terms: the arguments behind the relation's name.

    Compiles anew at each call: for checks and explanations, not for play. EvaluationError as from an `Interpreter`.
    """
    queries = tuple(Query(relation, ()) for relation in relations)
    at = _load(_compile(program, _analysed(program), queries, {}), is_late)
    answers = (_queried(at, query, state) for query in range(len(relations)))
    return tuple(map(_terms, relations, answers))


def _terms(relation: Relation, answers: Any) -> frozenset[Term]:  # noqa: ANN401
    """What a query without bound arguments gave, as terms."""
    name, arity = relation
    if arity == 0:
        return frozenset((name,)) if answers else frozenset()
    return frozenset((name, answer) if arity == 1 else (name, *answer) for answer in answers)


def _queried(at: "_Rules", query: int, state: Facts = frozenset()) -> Any:  # noqa: ANN401
    """The answers of a query without bound arguments, before any move."""
    at.restart()
    step, queries = at(state)
    return (queries[query] or step({})[query])(_NO_KEY)


def _roles(rulesheet: Rulesheet, found: Iterable[Term]) -> tuple[str, ...]:
    """Those that the text names in its order, then those that only rules give, sorted."""
    named: dict[Term, int] = {}
    for rule in rulesheet.rules:
        if name_and_arity(rule.head) == ("role", 1) and is_ground(rule.head) and not rule.body:
            named.setdefault(rule.head[1], rule.offset)
    roles = [*named, *sorted(set(found) - named.keys(), key=to_text)]
    if not roles:
        raise RulesheetError("no role is named", rulesheet.place(0), "role")
    for role in roles:
        if not isinstance(role, str):
            place = rulesheet.place(named.get(role, 0))
            raise RulesheetError(f"a role is a constant, not {to_text(role)}", place, "role")
    return tuple(role for role in roles if isinstance(role, str))


def _analysed(program: LogicProgram) -> tuple[Dependencies, Domains]:
    return find_dependencies(program), find_domains(program)


def _compile(
    program: LogicProgram,
    analysis: tuple[Dependencies, Domains],
    queries: tuple[Query, ...],
    counts: dict[Relation, int],
) -> Compiled:
    dependencies, domains = analysis
    planner = make_query_planner(program, dependencies, domains, counts)
    return Compiler(program, dependencies, planner).compile(queries)


class _Texts(dict[Term, str]):
    """Terms → their texts, kept because the same moves are sorted again and again."""

    def __missing__(self, term: Term) -> str:
        if len(self) > 100_000:
            self.clear()
        text = self[term] = to_text(term)
        return text


class _Rules:
    """The functions of a compiled program, and the count of their steps, which starts anew for each evaluation."""

    def __init__(self, scope: dict[str, Any], is_late: IsLate) -> None:
        self.has_spent = False  # more than a few steps
        self._scope = scope
        self._is_late = is_late
        scope["spend"] = self._spend
        scope["pick"] = self._pick
        self.restart()

    def __call__(self, state: Facts) -> Any:  # noqa: ANN401
        return self._scope["at"](state)

    def restart(self) -> None:
        self.has_spent = False
        self._scope["ticks"] = chain.from_iterable(self._chunks())

    def _spend(self, rows: int) -> int:
        """Counts rows that loops went through; gives the number of those that are not counted then: none."""
        deque(islice(self._scope["ticks"], rows // _ROWS_OF_STEP), 0)
        return 0

    def _pick(self, rows: Collection[Any], arity: int, bound: tuple[int, ...], key: Any) -> list[Any]:  # noqa: ANN401
        self._spend(len(rows))
        return _pick(rows, arity, bound, key)

    def _chunks(self) -> Iterator[Iterable[None]]:
        """The steps of an evaluation: EvaluationError where it has had its bound of them, of objects or of time."""
        yield repeat(None, _CHUNK)
        self.has_spent = True
        before = sys.getallocatedblocks()
        for _ in range(MAX_STEPS // _CHUNK):
            if self._is_late():
                raise EvaluationError("the evaluation of the rules takes too long")
            if sys.getallocatedblocks() - before > MAX_BLOCKS:
                raise EvaluationError("the evaluation of the rules takes too much memory")
            yield repeat(None, _CHUNK)
        raise EvaluationError(f"the evaluation of the rules does not end within {MAX_STEPS:,} steps")


def _load(compiled: Compiled, is_late: IsLate = never_late) -> _Rules:
    """Runs the compiled source; its names are ours, and symbols of the rulesheet occur in it as literals only."""
    scope: dict[str, Any] = {
        **compiled.tables,
        "group": _group,
        "bounded": _bounded,
        "too_many": _too_many,
        "undefined": _undefined,
        "MAX_ROWS": MAX_ROWS,
    }
    rules = _Rules(scope, is_late)
    exec(compile(compiled.source, "<rules>", "exec"), scope)  # noqa: S102
    return rules


def _group(state: Iterable[Term]) -> dict[tuple[Term, int], list[Term]]:
    """The facts with arguments by name and length."""
    groups: dict[tuple[Term, int], list[Term]] = {}
    for fact in state:
        if type(fact) is tuple:
            key = (fact[0], len(fact))
            if key in groups:
                groups[key].append(fact)
            else:
                groups[key] = [fact]
    return groups


def _bounded(value: Any) -> Any:  # noqa: ANN401 - a term, or a tuple of terms
    """The value itself, when neither too deep nor too large."""
    stack = [(value, 0)]
    count = 0
    while stack:
        part, level = stack.pop()
        count += 1
        if count > MAX_NODES or level > MAX_DEPTH:
            bound = f"{MAX_DEPTH} levels" if level > MAX_DEPTH else f"{MAX_NODES:,} names"
            raise EvaluationError(f"a term grows beyond {bound}")
        if isinstance(part, tuple):
            stack.extend([(inner, level + 1) for inner in part])
    return value


def _too_many(words: str) -> NoReturn:
    raise EvaluationError(f"{words} holds for more than {MAX_ROWS:,} different arguments")


def _undefined(words: str) -> NoReturn:
    raise EvaluationError(f"{words} depends on its own negation, so the rules have no meaning in this state")


def _pick(rows: Iterable[Any], arity: int, bound: tuple[int, ...], key: Any) -> list[Any]:  # noqa: ANN401
    """The free arguments of the rows whose bound ones equal the key; the slow way."""
    places = [place for place in range(arity) if place not in bound]

    def packed(row: Any, wanted: Sequence[int]) -> Any:  # noqa: ANN401
        parts = row if arity > 1 else (row,)
        return parts[wanted[0]] if len(wanted) == 1 else tuple(parts[place] for place in wanted)

    return [packed(row, places) for row in rows if packed(row, bound) == key]

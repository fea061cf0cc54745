"""The interpreter: a rulesheet → a state machine that follows GDL to the letter, by compiled Python."""

from collections.abc import Callable, Iterable, Sequence
from threading import RLock
from typing import Any, NoReturn

from ggp.dependencies import find_dependencies
from ggp.domains import find_domains
from ggp.errors import EvaluationError, RulesheetError, UnknownRoleError
from ggp.interpreter.compiler import Compiled, Compiler, Query
from ggp.interpreter.plan import make_planner
from ggp.machine import Facts, JointMove
from ggp.program import Program, Relation, make_program
from ggp.rulesheet import Rulesheet, name_and_arity
from ggp.terms import Term, depth, to_text

MAX_DEPTH = 150  # levels of function terms in a fact, or in a relation that reads itself
MAX_WORK = 20_000_000  # answers passed on by one recursion in one state, before it is called endless

_START = (Query(("role", 1), ()), Query(("init", 1), ()))
_LEGAL, _TERMINAL, _GOAL, _NEXT, _SEES = range(5)
_PLAY = (
    Query(("legal", 2), (0,)),
    Query(("terminal", 0), ()),
    Query(("goal", 2), (0,)),
    Query(("next", 1), ()),
    Query(("sees", 2), (0,)),
)
_NO_KEY = ()


class Interpreter:
    """A state machine that evaluates the rules for each state anew, and keeps the latest state's answers."""

    engine = "interpreter"

    def __init__(self, rulesheet: Rulesheet) -> None:
        self._program = program = make_program(rulesheet)
        self._lock = RLock()
        self._texts = _Texts()
        start = _load(_compile(program, _START, {}))
        roles, initial = start(frozenset())[1]
        named = [role for (role,) in program.tables.get(("role", 1), ())]
        self.roles: tuple[str, ...] = tuple(map(to_text, named or sorted(roles(_NO_KEY), key=to_text)))
        if not self.roles:
            raise RulesheetError("no role is named", rulesheet.place(0), "role")
        self.initial_state: Facts = frozenset(initial(_NO_KEY))
        counts: dict[Relation, int] = {}
        for fact in self.initial_state:
            counts[name_and_arity(fact)] = counts.get(name_and_arity(fact), 0) + 1
        self._at = _load(_compile(program, _PLAY, counts))
        self._state: Facts | None = None
        self._answers: Any = None

    def legal_moves(self, state: Facts, role: str) -> tuple[Term, ...]:
        with self._lock:
            found = self._ask(state, _LEGAL, self._known(role))
            return tuple(sorted(found, key=self._texts.__getitem__))

    def next_state(self, state: Facts, joint_move: JointMove) -> Facts:
        with self._lock:
            return frozenset(self._ask(state, _NEXT, _NO_KEY, joint_move))

    def is_terminal(self, state: Facts) -> bool:
        with self._lock:
            return bool(self._ask(state, _TERMINAL, _NO_KEY))

    def goal_values(self, state: Facts, role: str) -> tuple[int, ...]:
        with self._lock:
            found = self._ask(state, _GOAL, self._known(role))
            return tuple(sorted(int(value) for value in found if isinstance(value, str) and value.isdecimal()))

    def goal(self, state: Facts, role: str) -> int | None:
        values = self.goal_values(state, role)
        return values[0] if len(values) == 1 else None

    def percepts(self, state: Facts, joint_move: JointMove, role: str) -> tuple[Term, ...]:
        if ("sees", 2) not in self._program.clauses and ("sees", 2) not in self._program.tables:
            return joint_move
        with self._lock:
            found = self._ask(state, _SEES, self._known(role), joint_move)
            return tuple(sorted(found, key=self._texts.__getitem__))

    def _known(self, role: str) -> str:
        if role not in self.roles:
            raise UnknownRoleError(f"no role is called {role!r}; the roles are {', '.join(self.roles)}")
        return role

    def _ask(self, state: Facts, query: int, key: Any, joint_move: JointMove | None = None) -> Any:  # noqa: ANN401
        """The answer of a compiled query: a list of terms, or a truth value."""
        if state is not self._state:
            self._answers = self._at(state)
            self._state = state
        step, queries = self._answers
        if queries[query] is None:  # it depends on the moves; when GDL forbids it to, it is asked before there are any
            queries = step({} if joint_move is None else dict(zip(self.roles, joint_move, strict=True)))
        return queries[query](key)


def ask(program: Program, relations: Sequence[Relation], state: Facts = frozenset()) -> tuple[frozenset[Term], ...]:
    """All that some relations hold for in a state, each as terms: the arguments behind the relation's name.

    Compiles anew at each call: for checks and explanations, not for play.
    """
    queries = tuple(Query(relation, ()) for relation in relations)
    step, at_once = _load(_compile(program, queries, {}))(state)
    later = step({})
    found: list[frozenset[Term]] = []
    for (name, arity), early, late in zip(relations, at_once, later, strict=True):
        answers = (early or late)(_NO_KEY)
        if arity == 0:
            found.append(frozenset((name,)) if answers else frozenset())
        else:
            found.append(frozenset((name, answer) if arity == 1 else (name, *answer) for answer in answers))
    return tuple(found)


def _compile(program: Program, queries: tuple[Query, ...], counts: dict[Relation, int]) -> Compiled:
    dependencies = find_dependencies(program)
    planner = make_planner(program, dependencies, find_domains(program), counts)
    return Compiler(program, dependencies, planner).compile(queries)


class _Texts(dict[Term, str]):
    """Terms → their texts, kept because the same moves are sorted again and again."""

    def __missing__(self, term: Term) -> str:
        if len(self) > 100_000:
            self.clear()
        text = self[term] = to_text(term)
        return text


def _load(compiled: Compiled) -> Callable[[Facts], Any]:
    """Runs the compiled source; its names are ours, and symbols of the rulesheet occur in it as literals only."""
    scope: dict[str, Any] = {
        **compiled.tables,
        "group": _group,
        "bounded": _bounded,
        "pick": _pick,
        "too_much": _too_much,
        "undefined": _undefined,
        "MAX_WORK": MAX_WORK,
    }
    exec(compile(compiled.source, "<rules>", "exec"), scope)  # noqa: S102
    at: Callable[[Facts], Any] = scope["at"]
    return at


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


def _bounded(term: Term) -> Term:
    if depth(term) > MAX_DEPTH:
        raise EvaluationError(f"a term grows beyond {MAX_DEPTH} levels: {to_text(term)[:60]}…")
    return term


def _too_much() -> NoReturn:
    raise EvaluationError(f"a recursion does not end within {MAX_WORK:,} steps")


def _undefined(name: str) -> NoReturn:
    raise EvaluationError(f"'{name}' depends on its own negation, so the rules have no meaning in this state")


def _pick(rows: Iterable[Any], arity: int, bound: tuple[int, ...], key: Any) -> list[Any]:  # noqa: ANN401
    """The free arguments of the rows whose bound ones equal the key; the slow way."""
    places = [place for place in range(arity) if place not in bound]

    def packed(row: Any, wanted: Sequence[int]) -> Any:  # noqa: ANN401
        parts = row if arity > 1 else (row,)
        return parts[wanted[0]] if len(wanted) == 1 else tuple(parts[place] for place in wanted)

    return [packed(row, places) for row in rows if packed(row, bound) == key]

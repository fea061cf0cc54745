"""Why a move is not legal: a move as text and a state → a reason in the words of the rulesheet."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal as OneOf

from ggp.errors import EvaluationError, GgpError, ReadError
from ggp.gdl.domains import Domains, find_domains
from ggp.gdl.logic_program import (
    DISTINCT,
    DOES,
    FACTS_SUFFIX,
    Clause,
    Literal,
    LogicProgram,
    Relation,
    make_logic_program,
)
from ggp.gdl.reader import read_term
from ggp.gdl.rulesheet import Rulesheet
from ggp.gdl.state_machine import Facts, StateMachine
from ggp.gdl.terms import Term, is_ground, match, substitute, to_text, variables
from ggp.interpreter import IsLate, ask, never_late

Kind = OneOf["unreadable", "unknown", "over", "turn", "condition"]

_LEGAL: Relation = ("legal", 2)
_INPUT: Relation = ("input", 2)
_MOST_LISTED = 500_000  # moves of `input` that are kept, some 100 MB


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a move was refused."""

    kind: Kind
    reason: str


def refusal(rulesheet: Rulesheet, machine: StateMachine, state: Facts, role: str, text: str) -> Refusal | None:
    """As `Refusals.of`, for a single move."""
    return Refusals(rulesheet, machine).of(state, role, text)


class Refusals:
    """Says why moves of one game are not legal; what no state changes is worked out once."""

    def __init__(self, rulesheet: Rulesheet, machine: StateMachine) -> None:
        self._rulesheet = rulesheet
        self._machine = machine
        self._program: LogicProgram | None = None
        self._domains: Domains | None = None
        self._listed: frozenset[Term] | None = None  # what `input` lists
        self._moves: frozenset[Term] = frozenset()  # the moves among it

    def of(self, state: Facts, role: str, text: str, is_late: IsLate = never_late) -> Refusal | None:
        """None for a legal move; else why not: it is unreadable, not a move of this game, the match is over, it is not
        the role's turn, or the first condition that fails of the `legal` rule that comes closest.

        EvaluationError where `is_late` says that the reason takes too long.
        """
        try:
            move = read_term(text, "move")
        except ReadError as error:
            return Refusal("unreadable", error.message)
        if not is_ground(move):
            return Refusal("unreadable", "a move has no variables")
        is_over = self._machine.is_terminal(state)
        if not is_over and move in self._machine.legal_moves(state, role):
            return None
        return self._why(state, role, move, is_late, is_over=is_over)

    def _why(self, state: Facts, role: str, move: Term, is_late: IsLate, *, is_over: bool) -> Refusal:
        if self._program is None:
            self._program = make_logic_program(self._rulesheet)
        program = self._program
        if self._listed is None:
            self._listed = _listed_moves(program, is_late)
            self._moves = frozenset(entry[2] for entry in self._listed if isinstance(entry, tuple))
        _check(is_late)
        legal = {each: self._machine.legal_moves(state, each) for each in self._machine.roles}
        listed = self._listed if _lists_all(self._listed, legal) else frozenset()
        if move not in self._moves if listed else not self._admits(program, move):
            return Refusal("unknown", f"{to_text(move)} is not a move of this game")
        if is_over:
            return Refusal("over", "the match is over")
        if _waits(legal, role) and _has_in_other_states(program, listed, role, move):
            only = to_text(legal[role][0])
            return Refusal("turn", f"it is not the turn of {role}, whose only move now is {only}")
        _check(is_late)
        try:
            return Refusal("condition", _failing_condition(program, state, role, move, is_late))
        except GgpError as error:
            _check(is_late)
            return Refusal("condition", f"no rule gives {role} the move {to_text(move)} now ({error})")

    def _admits(self, program: LogicProgram, move: Term) -> bool:
        """Whether some role may have the move in some state, as far as the rules tell."""
        if self._domains is None:
            self._domains = find_domains(program)
        return self._domains.admits(DOES, 1, move)


def _check(is_late: IsLate) -> None:
    if is_late():
        raise EvaluationError("the reason takes too long")


def _waits(legal: Mapping[str, tuple[Term, ...]], role: str) -> bool:
    """Whether a role has nothing to choose because others move: its only move is a bare name.

    A role whose turn it is and that has one move left, such as the last cell of a board, has a move with arguments.
    """
    return len(legal) > 1 and len(legal[role]) == 1 and isinstance(legal[role][0], str)


def _has_in_other_states(program: LogicProgram, listed: frozenset[Term], role: str, move: Term) -> bool:
    """Whether the role can have the move in other states, as far as the rules tell."""
    if listed:
        return ("input", role, move) in listed
    heads = [clause.head for clause in program.clauses.get(_LEGAL, ()) if not _only_facts(clause)]
    return any(match(head, ("legal", role, move), {}) is not None for head in heads)


def _only_facts(clause: Clause) -> bool:
    """Whether the clause only reads the facts of its relation."""
    return any(literal.relation[0].endswith(FACTS_SUFFIX) for literal in clause.body)


def _listed_moves(program: LogicProgram, is_late: IsLate) -> frozenset[Term]:
    """What `input` lists; nothing where that is too much."""
    if _INPUT not in program.tables and _INPUT not in program.clauses:
        return frozenset()
    try:
        (listed,) = ask(program, [_INPUT], is_late=is_late)
    except GgpError:  # it is a hint only: the game is played without it
        return frozenset()
    return listed if len(listed) <= _MOST_LISTED else frozenset()


def _lists_all(listed: frozenset[Term], legal: Mapping[str, tuple[Term, ...]]) -> bool:
    """A move that is legal now may show that the list is wrong."""
    return all(("input", role, move) in listed for role, moves in legal.items() for move in moves)


def _failing_condition(program: LogicProgram, state: Facts, role: str, move: Term, is_late: IsLate) -> str:
    """The first condition that fails, of the rule with the most conditions that hold."""
    candidates = [
        conditions
        for clause in program.clauses.get(_LEGAL, ())
        if not _only_facts(clause) and (conditions := _conditions(clause, role, move))
    ]
    if not candidates:
        return f"no rule can give {role} the move {to_text(move)}"
    clauses = [clause for number, conditions in enumerate(candidates) for clause in _prefixes(number, conditions)]
    relations = [clause.relation for clause in clauses]
    extended = LogicProgram(
        {**program.clauses, **{clause.relation: (clause,) for clause in clauses}},
        program.tables,
        program.helpers,
        program.rulesheet,
    )
    rows = dict(zip(relations, ask(extended, relations, state, is_late), strict=True))
    best = ""
    furthest = -1
    for number, conditions in enumerate(candidates):
        held, literal = _first_failure([rows[clause.relation] for clause in _prefixes(number, conditions)], conditions)
        if held > furthest:
            best, furthest = _as_text(literal, program), held
    return best


def _conditions(clause: Clause, role: str, move: Term) -> tuple[Literal, ...]:
    """The body of a `legal` clause for this role and move, each literal once its variables can have values."""
    bindings = match(clause.head, ("legal", role, move), {})
    if bindings is None:
        return ()
    rest = [Literal(substitute(literal.atom, bindings), literal.positive) for literal in clause.body]
    bound: set[str] = set()
    ordered: list[Literal] = []
    while rest:
        literal = next((lit for lit in rest if _binds(lit) or bound.issuperset(variables(lit.atom))), rest[0])
        rest.remove(literal)
        ordered.append(literal)
        bound.update(variables(literal.atom))
    return tuple(ordered)


def _binds(literal: Literal) -> bool:
    return literal.positive and literal.relation != DISTINCT


def _prefixes(number: int, conditions: tuple[Literal, ...]) -> Iterator[Clause]:
    """A relation for each condition: it holds, for the variables so far, where all up to there hold."""
    for index in range(len(conditions)):
        body = conditions[: index + 1]
        names = dict.fromkeys(name for literal in body if _binds(literal) for name in variables(literal.atom))
        label = f"WHY{number}.{index}"  # no symbol of a rulesheet can name these: the reader folds case
        yield Clause((label, *names) if names else label, body, 0)


def _first_failure(rows: list[frozenset[Term]], conditions: tuple[Literal, ...]) -> tuple[int, Literal]:
    """How many conditions hold, and the next one, with the values that its variables must have."""
    held = next((index for index, found in enumerate(rows) if not found), len(conditions) - 1)
    literal = conditions[held]
    bindings: dict[str, Term] = {}
    if held and len(rows[held - 1]) == 1:
        (row,) = rows[held - 1]
        names = dict.fromkeys(v for lit in conditions[:held] if _binds(lit) for v in variables(lit.atom))
        bindings = dict(zip(names, row[1:] if isinstance(row, tuple) else (), strict=True))
    return held, Literal(substitute(literal.atom, bindings), literal.positive)


def _as_text(literal: Literal, program: LogicProgram) -> str:
    """A condition that fails, as it was written."""
    atom = literal.atom
    helper = program.helpers.get(literal.relation[0])
    if helper is not None:
        bindings = match(helper.head, atom, {}) if is_ground(atom) else None
        atom = substitute(helper.meaning, bindings or {})
    own = {name: name.partition(" ")[0] for name in variables(atom)}  # the names in the text, without our numbers
    return f"{to_text(substitute(atom, dict(own)))} {'does not hold' if literal.positive else 'holds'}"

"""What evaluates rules for pages: a `gamemaster.rule_server` that also draws, searches, checks and verifies.

Run as `python -m gamemaster.web.evaluators.process MEMORY NICENESS FACTS TERM STATE`; `StateBounds` has the last three.
A state is asked for by the moves that lead to it: `match`, a name for them, and `steps`.
"""

import sys
import time
from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from random import Random
from typing import Any

from gamemaster.rule_server import Request, RuleServer, Tell, serve
from gamemaster.web.evaluators.derivation import (
    RulesheetOrigin,
    agreed_goal,
    choices,
    derived_rulesheet,
    following,
    going_on,
)
from ggp.boards import (
    Layout,
    Picture,
    Spot,
    find_layout,
    make_picture,
    move_cells,
    picture_lines,
    picture_svg,
    plain_text,
    thumbnail_svg,
)
from ggp.errors import EvaluationError, GgpError, ReadError
from ggp.game import Game, State, load_text
from ggp.gdl.reader import read_term
from ggp.gdl.state_machine import Facts, JointMove, StateMachine
from ggp.gdl.terms import Term, to_text
from ggp.gdl.validator import validate
from ggp.interpreter.legality import refusal
from ggp.simulation.evidence import gather_evidence

Cell = tuple[str, str]  # the board, and the constants of the coordinates with blanks between, as in the picture
_EVIDENCE = {"matches": 5, "max_steps": 200}
_MOST_LINES = 10
_EVERY = 16  # steps of a match, whose states are kept while a later one is worked out
_MOST_REACHED = 200  # states that are kept
_MOST_CLICKED = 3000  # moves of a role in a state; half a millisecond each is needed for what clicks make them
_LOOK = 48  # steps of the match whose middle shows what a game looks like, at most
_LOOK_SECONDS = 1.0  # of processor time for it
_PICTURE = 2  # bytes of a picture for each that the facts of a state may have


@dataclass(frozen=True, slots=True)
class DrawnState:
    """A picture, and the same for those who read text."""

    svg: str
    text: str


class StateDrawer:
    """Draws the states of one game; what they look like is found out once."""

    def __init__(self, game: Game) -> None:
        self._game = game
        self._layout: Layout = find_layout(game.rulesheet, game.machine, game.metadata.drawing)

    def draw(self, state: Facts, before: Facts | None = None, moves: Sequence[Term] = ()) -> DrawnState:
        """How the state looks; what the moves that led to it from the state before have touched is marked."""
        picture = make_picture(self._layout, state)
        marked: frozenset[Spot] = frozenset()
        if before is not None:
            earlier = make_picture(self._layout, before)
            marked = frozenset(spot for move in moves for spot in self._touched(move, earlier, picture))
        svg = picture_svg(picture, marked=marked, has_style=False)
        return DrawnState(svg, plain_text(picture_lines(picture)))

    def image(self, state: Facts) -> str:
        """As a file of its own, with its colours."""
        title = self._game.metadata.title or self._game.name
        return thumbnail_svg(make_picture(self._layout, state), title)

    def clicks(self, move: Term) -> tuple[tuple[Cell, ...], ...]:
        """The clicks that make a move, each on one of some cells; none where clicks do not say it."""
        found = move_cells(self._layout, move)
        return tuple(tuple((spot.board, " ".join(spot.place)) for spot in spots) for spots in found)

    def _touched(self, move: Term, earlier: Picture, later: Picture) -> Iterator[Spot]:
        """The cells that a move names; where it could be one of several, those that have changed."""
        for spots in move_cells(self._layout, move):
            if len(spots) == 1:
                yield spots[0]
            else:
                yield from (spot for spot in spots if earlier.cell(spot) != later.cell(spot))


def characteristic_state(machine: StateMachine) -> Facts:
    """The middle of a random match, always the same one: many games begin with an empty board, which says nothing.

    Rules that fail or take long give the middle of what was played so far. EvaluationError if there is no first state.
    """
    states, until = [machine.initial_state], time.thread_time() + _LOOK_SECONDS
    rng = Random(0)  # noqa: S311 - the same picture every time
    with suppress(GgpError):
        while len(states) <= _LOOK and time.thread_time() < until and not machine.is_terminal(states[-1]):
            legal = [sorted(machine.legal_moves(states[-1], role), key=to_text) for role in machine.roles]
            if not all(legal):
                break
            states.append(machine.next_state(states[-1], tuple(map(rng.choice, legal))))
    return states[(len(states) - 1) // 2]


@dataclass(frozen=True, slots=True)
class StateBounds:
    """How large a state may be that leaves the process."""

    facts: int
    term_bytes: int  # of a fact or a move
    state_bytes: int  # of all facts, or of all moves of a role


@dataclass(frozen=True, slots=True)
class BoundedMachine:
    """A state machine that has only states and moves within bounds; EvaluationError for others."""

    machine: StateMachine
    bounds: StateBounds

    @property
    def engine(self) -> str:
        return self.machine.engine

    @property
    def roles(self) -> tuple[str, ...]:
        return self.machine.roles

    @property
    def initial_state(self) -> Facts:
        return self._checked(self.machine.initial_state)

    def legal_moves(self, state: Facts, role: str) -> tuple[Term, ...]:
        moves = self.machine.legal_moves(state, role)
        self._check("move", moves)
        return moves

    def next_state(self, state: Facts, joint_move: JointMove) -> Facts:
        return self._checked(self.machine.next_state(state, joint_move))

    def is_terminal(self, state: Facts) -> bool:
        return self.machine.is_terminal(state)

    def goal_values(self, state: Facts, role: str) -> tuple[int, ...]:
        return self.machine.goal_values(state, role)

    def goal(self, state: Facts, role: str) -> int | None:
        return self.machine.goal(state, role)

    def percepts(self, state: Facts, joint_move: JointMove, role: str) -> tuple[Term, ...]:
        percepts = self.machine.percepts(state, joint_move, role)
        self._check("percept", percepts)
        return percepts

    def _checked(self, state: Facts) -> Facts:
        if len(state) > self.bounds.facts:
            raise EvaluationError(f"a state of {len(state):,} facts; the limit here is {self.bounds.facts:,}")
        self._check("fact", state)
        return state

    def _check(self, what: str, terms: Collection[Term]) -> None:
        bounds, sizes = self.bounds, [len(to_text(term)) for term in terms]
        if max(sizes, default=0) > bounds.term_bytes:
            raise EvaluationError(f"a {what} of {max(sizes):,} letters; the limit here is {bounds.term_bytes:,}")
        if sum(sizes) > bounds.state_bytes:
            raise EvaluationError(
                f"{len(terms):,} {what}s of {sum(sizes):,} letters together; the limit here is {bounds.state_bytes:,}"
            )


class PageServer(RuleServer):
    """Does what pages ask for."""

    def __init__(self, bounds: StateBounds) -> None:
        super().__init__()
        self._bounds = bounds
        self._reached: OrderedDict[tuple[str, str, int], Facts] = OrderedDict()  # game, match, step → state
        self._drawers: dict[str, tuple[Game, StateDrawer]] = {}
        self._tasks |= {
            "after": self._after,
            "believe": self._believe,
            "draw": self._drawn_state,
            "image": self._image,
            "look": self._look,
            "refusal": self._refusal,
            "derive": self._derive,
            "check": self._check,
            "verify": _verify,
            "export": self._export,
            "measure": _measure,
            "analyse": self._analyse,
        }

    def _load(self, request: Request, tell: Tell) -> object:
        """Only the interpreter is bounded: the circuit has as many facts as there are."""
        loaded = super()._load(request, tell)
        game = self.game_of(request)
        if request["engine"] == "interpreter":
            self._games[request["game"]] = replace(game, machine=BoundedMachine(game.machine, self._bounds))
        return loaded

    def _after(self, request: Request, _: Tell) -> object:
        """The state after some steps, of which the goal values are told if the match is over there."""
        game, state = self.game_of(request), self._state(request)
        is_over = game.machine.is_terminal(state)
        goals = {role: game.machine.goal(state, role) for role in game.roles} if is_over else {}
        return {"facts": _texts(state), "goals": goals}

    def _believe(self, request: Request, _: Tell) -> object:
        """The states that agree with what a role did and was `told` in a step, and its choices there; as texts."""
        machine, role = self.game_of(request).machine, request["role"]
        states, is_complete = list(map(_read_facts, request["states"])), request["is_complete"]
        told, is_over = request["told"], request["is_over"]
        if told is not None:
            move = None if told["move"] is None else read_term(told["move"])
            states, all_found = following(machine, states, role, move, list(map(read_term, told["percepts"])))
            is_complete = is_complete and all_found
        states = going_on(machine, states, is_over=is_over)
        is_complete = is_complete and bool(states)
        return {
            "states": list(map(_texts, states)),
            "is_complete": is_complete,
            "legal": [] if is_over else list(map(to_text, choices(machine, states, role))),
            "goal": agreed_goal(machine, states, role) if is_over and is_complete else None,
        }

    def _drawer(self, request: Request) -> StateDrawer:
        game = self.game_of(request)
        known = self._drawers.get(request["game"])
        if known is None or known[0] is not game:
            self._drawers = {key: each for key, each in self._drawers.items() if key in self._games}
            known = self._drawers[request["game"]] = game, StateDrawer(game)
        return known[1]

    def _drawn_state(self, request: Request, _: Tell) -> object:
        """Of a state; what the last moves have touched is marked."""
        steps = request["steps"]
        before = self._state(request, len(steps) - 1) if steps else None
        moves = tuple(map(read_term, steps[-1])) if steps else ()
        return _drawn_state(
            self.game_of(request), self._drawer(request), self._state(request), self._bounds, before, moves
        )

    def _image(self, request: Request, _: Tell) -> object:
        return self._drawer(request).image(self._state(request))

    def _look(self, request: Request, _: Tell) -> object:
        """The image that stands for the game."""
        return self._drawer(request).image(characteristic_state(self.game_of(request).machine))

    def _derive(self, request: Request, _: Tell) -> object:
        """The rulesheet that begins in this state."""
        rulesheet = self.game_of(request).rulesheet
        origin = RulesheetOrigin(request["origin"], len(request["steps"]))
        text = derived_rulesheet(rulesheet, self._state(request), origin).text
        return {"text": text, "has_percepts": rulesheet.has_percepts}

    def _state(self, request: Request, step: int | None = None) -> Facts:
        """The state after the `steps` of a match, or after the first ones; those on the way are kept at intervals."""
        machine, steps = self.game_of(request).machine, request["steps"][:step]
        key = request["game"], request["match"]
        known = next((number for number in range(len(steps), 0, -1) if (*key, number) in self._reached), 0)
        state = self._reached[*key, known] if known else machine.initial_state
        for number in range(known, len(steps)):
            if len(steps[number]) != len(machine.roles):
                raise EvaluationError(f"{len(steps[number])} moves for {len(machine.roles)} roles")
            state = machine.next_state(state, tuple(map(read_term, steps[number])))
            if (number + 1) % _EVERY == 0 or number + 1 >= len(steps) - 1:
                self._reached[*key, number + 1] = state
        while len(self._reached) > _MOST_REACHED:
            self._reached.popitem(last=False)
        return state

    def _refusal(self, request: Request, _: Tell) -> object:
        game = self.game_of(request)
        state = self._state(request)
        refused = refusal(game.rulesheet, game.machine, state, request["role"], request["move"])
        return None if refused is None else refused.reason

    def _export(self, request: Request, _: Tell) -> object:
        from gamemaster.record import MatchRecord  # noqa: PLC0415
        from gamemaster.replay import Replayed, exported  # noqa: PLC0415 - pydantic takes a while to load

        record = MatchRecord.model_validate_json(request["record"])
        states = [self._state(request, step) for step in range(len(record.steps) + 1)]
        return exported(record, list(map(Replayed, states, (None, *record.steps))))

    def _analyse(self, request: Request, tell: Tell) -> object:
        from ggp.analysis import analyses  # noqa: PLC0415 - here and below: numba takes half a second to load
        from ggp.search.mcts.search import SearchSettings  # noqa: PLC0415

        game = self.game_of(request)
        state = State(game, self._state(request))
        analysis = None
        for analysis in analyses(
            state,
            seconds=request["seconds"],
            settings=SearchSettings(memory_bytes=request["memory"]),
            role=request["role"],
            lines=min(request["lines"], _MOST_LINES),
            every=0.4,
        ):
            tell(_with_texts(analysis.as_dict(), [line.text for line in analysis.lines]))
        assert analysis is not None
        return _with_texts(analysis.as_dict(), [line.text for line in analysis.lines])

    def _check(self, request: Request, _: Tell) -> object:
        """What is wrong with a text, and, where it can be played, what it looks like and what random matches show."""
        text = request["text"]
        findings = [
            {
                "severity": finding.severity,
                "check": finding.check,
                "message": finding.message,
                "line": finding.place.line,
                "column": finding.place.column,
            }
            for finding in validate(text, "rulesheet")
        ]
        answer: dict[str, Any] = {"findings": findings, "roles": [], "start": None, "evidence": None, "problem": None}
        try:
            game = load_text(text, "rulesheet", "interpreter")
            game = replace(game, machine=BoundedMachine(game.machine, self._bounds))
            answer["roles"] = game.roles
            answer["start"] = _drawn_state(game, StateDrawer(game), game.machine.initial_state, self._bounds)
            if request["evidence"]:
                answer["evidence"] = asdict(gather_evidence(game.machine, **_EVIDENCE))
        except ReadError as error:
            known = {(finding["line"], finding["column"]) for finding in findings}
            if (error.place.line, error.place.column) not in known:
                place = {"line": error.place.line, "column": error.place.column}
                findings.append({"severity": "error", "check": "meaning", "message": error.message, **place})
            answer["problem"] = error.message
        except GgpError as error:
            answer["problem"] = str(error)
        return answer


def _with_texts(analysis: dict[str, Any], texts: list[str]) -> dict[str, Any]:
    """Each line also as text."""
    lines = [line | {"text": text} for line, text in zip(analysis["lines"], texts, strict=True)]
    return analysis | {"lines": lines}


def _verify(request: Request, __: Tell) -> object:
    """The first thing that does not hold of a record; None where everything does."""
    from gamemaster.record import MatchRecord  # noqa: PLC0415
    from gamemaster.replay import replay  # noqa: PLC0415

    try:
        for _ in replay(MatchRecord.model_validate_json(request["record"])):
            pass
    except GgpError as error:
        return str(error)
    return None


def _measure(request: Request, _: Tell) -> object:
    from ggp.bench.measure import BenchSettings, measure  # noqa: PLC0415 - numba takes half a second to load

    found = measure(request["text"], "rulesheet", BenchSettings(seconds=request["seconds"], uses_cache=True))
    return asdict(found)


def _drawn_state(
    game: Game,
    drawer: StateDrawer,
    state: Facts,
    bounds: StateBounds,
    before: Facts | None = None,
    moves: tuple[Term, ...] = (),
) -> dict[str, Any]:
    """All that a page shows of a state."""
    machine = game.machine
    drawing = drawer.draw(state, before, moves)
    if len(drawing.svg) > _PICTURE * bounds.state_bytes:
        drawing = DrawnState("", "the picture of this state is too large to be shown")
    look: dict[str, Any] = {"facts": _texts(state), "svg": drawing.svg, "text": drawing.text}
    look |= {"terminal": False, "goals": {}, "legal": {}, "problem": None}
    try:
        look["terminal"] = machine.is_terminal(state)
        look["goals"] = {role: machine.goal(state, role) for role in game.roles}
        if not look["terminal"]:
            legal = {role: machine.legal_moves(state, role) for role in game.roles}
            look["legal"] = {role: _moves(drawer, found) for role, found in legal.items()}
    except EvaluationError as error:
        look["problem"] = str(error)
    return look


def _moves(drawer: StateDrawer, moves: tuple[Term, ...]) -> list[dict[str, Any]]:
    if len(moves) > _MOST_CLICKED:
        return [{"move": to_text(move), "clicks": ()} for move in moves]
    return [{"move": to_text(move), "clicks": drawer.clicks(move)} for move in moves]


def _texts(state: Facts) -> list[str]:
    return sorted(map(to_text, state))


def _read_facts(texts: list[str]) -> Facts:
    return frozenset(map(read_term, texts))


if __name__ == "__main__":
    serve(PageServer(StateBounds(*map(int, sys.argv[3:]))))

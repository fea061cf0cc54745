"""A process that evaluates rules for the service, bounded in memory, which can be ended at any moment.

Run as `python -m gamemaster.web.evaluators.process MEMORY NICENESS`. Requests come on standard input and answers go to
standard output, one after the other, each as JSON after its length in 4 bytes, big-endian. It ends when its input does.
"""

import ctypes
import json
import os
import resource
import signal
import struct
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import IO, Any, TypeAlias

from gamemaster.web.evaluators.beliefs import agreed_goal, choices, following, going_on
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
)
from ggp.errors import EvaluationError, GgpError, ReadError
from ggp.game import Game, State, load_text
from ggp.gdl.reader import read_term
from ggp.gdl.state_machine import Facts, JointMove
from ggp.gdl.terms import Term, to_text
from ggp.gdl.validator import validate
from ggp.interpreter.legality import refusal
from ggp.library import Metadata
from ggp.simulation.evidence import gather_evidence

LENGTH = struct.Struct(">I")  # of what follows, in bytes
Request: TypeAlias = Mapping[str, Any]
Tell: TypeAlias = Callable[[object], None]  # reports while something long is being done
KEPT = 12  # games
UNKNOWN_GAME = "unknown game"  # the answer to a request for a game that is not, or no longer, kept
Cell = tuple[str, str]  # the board, and the constants of the coordinates with blanks between, as in the picture
_EVIDENCE = {"matches": 5, "max_steps": 200}
_MOST_LINES = 10


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture, and the same for those who read text."""

    svg: str
    text: str


class StateDrawer:
    """Draws the states of one game; what they look like is found out once."""

    def __init__(self, game: Game) -> None:
        self._game = game
        self._layout: Layout = find_layout(game.rulesheet, game.machine, game.metadata.drawing)

    def draw(self, state: Facts, before: Facts | None = None, moves: Sequence[Term] = ()) -> Drawing:
        """How the state looks; what the moves that led to it from the state before have touched is marked."""
        picture = make_picture(self._layout, state)
        marked: frozenset[Spot] = frozenset()
        if before is not None:
            earlier = make_picture(self._layout, before)
            marked = frozenset(spot for move in moves for spot in self._touched(move, earlier, picture))
        svg = picture_svg(picture, marked=marked, has_style=False)
        return Drawing(svg, plain_text(picture_lines(picture)))

    def image(self, state: Facts) -> str:
        """As a file of its own, with its colours."""
        return picture_svg(make_picture(self._layout, state), self._game.metadata.title or self._game.name)

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


class RuleServer:
    """Does what is asked for; used by one thread."""

    def __init__(self) -> None:
        self._games: dict[str, Game] = {}
        self._drawers: dict[str, StateDrawer] = {}
        self._tasks: dict[str, Callable[[Request], object]] = {
            "load": self._load,
            "situation": self._situation,
            "next": self._next,
            "goals": self._goals,
            "percepts": self._percepts,
            "believe": self._believe,
            "draw": self._drawn_state,
            "image": self._image,
            "refusal": self._refusal,
            "states": self._states,
            "check": _check,
            "verify": _verify,
            "export": self._export,
            "measure": _measure,
        }

    def do(self, request: Request, tell: Tell) -> object:
        """The answer; GgpError for what the rules, or those who ask, do wrong."""
        name = request["do"]
        if request.get("game") is not None and request["game"] not in self._games and name != "load":
            return UNKNOWN_GAME
        return self._analyse(request, tell) if name == "analyse" else self._tasks[name](request)

    def _load(self, request: Request) -> object:
        game = load_text(request["text"], request["name"], request["engine"])
        game = replace(game, metadata=Metadata(drawing=request["drawing"]))
        self._games.pop(request["game"], None)
        self._games[request["game"]] = game
        while len(self._games) > KEPT:
            self._games.pop(next(iter(self._games)))
        self._drawers = {key: drawer for key, drawer in self._drawers.items() if key in self._games}
        return {"roles": game.roles, "engine": game.engine, "fallback": game.fallback}

    def _game(self, request: Request) -> Game:
        return self._games[request["game"]]

    def _situation(self, request: Request) -> object:
        """Of a state; of the initial one where none is given."""
        game = self._game(request)
        given = request["state"]
        return _situation(game, game.machine.initial_state if given is None else _facts(given))

    def _next(self, request: Request) -> object:
        game = self._game(request)
        joint_move: JointMove = tuple(map(_term, request["moves"]))
        return _situation(game, game.machine.next_state(_facts(request["state"]), joint_move))

    def _goals(self, request: Request) -> object:
        game = self._game(request)
        state = _facts(request["state"])
        return {"goals": {role: game.machine.goal_values(state, role) for role in game.roles}}

    def _percepts(self, request: Request) -> object:
        joint_move: JointMove = tuple(map(_term, request["moves"]))
        return self._game(request).machine.percepts(_facts(request["state"]), joint_move, request["role"])

    def _believe(self, request: Request) -> object:
        """The states that agree with what a role did and was `told` in a step, and its choices there; as texts."""
        machine, role = self._game(request).machine, request["role"]
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
        if request["game"] not in self._drawers:
            self._drawers[request["game"]] = StateDrawer(self._game(request))
        return self._drawers[request["game"]]

    def _drawn_state(self, request: Request) -> object:
        """At a state; at the initial one where none is given. `before` and `moves` say how it came about."""
        game = self._game(request)
        given, before = request["state"], request.get("before")
        state = game.machine.initial_state if given is None else _read_facts(given)
        moves = tuple(map(read_term, request.get("moves", ())))
        return _drawn_state(game, self._drawer(request), state, None if before is None else _read_facts(before), moves)

    def _image(self, request: Request) -> object:
        return self._drawer(request).image(_read_facts(request["state"]))

    def _refusal(self, request: Request) -> object:
        game = self._game(request)
        state = _read_facts(request["state"])
        refused = refusal(game.rulesheet, game.machine, state, request["role"], request["move"])
        return None if refused is None else refused.reason

    def _states(self, request: Request) -> object:
        """The facts of each state that the joint moves lead to, and why there are no more, where that is so."""
        machine = self._game(request).machine
        found: list[list[str]] = []
        try:
            state = machine.initial_state
            found.append(_texts(state))
            for moves in request["steps"]:
                if len(moves) != len(machine.roles):
                    raise EvaluationError(f"{len(moves)} moves for {len(machine.roles)} roles")
                state = machine.next_state(state, tuple(map(read_term, moves)))
                found.append(_texts(state))
        except GgpError as error:
            return {"states": found, "problem": f"after {len(found)} states: {error}"}
        return {"states": found, "problem": None}

    def _export(self, request: Request) -> object:
        from gamemaster.record import MatchRecord  # noqa: PLC0415
        from gamemaster.replay import Replayed, exported  # noqa: PLC0415 - pydantic takes a while to load

        record = MatchRecord.model_validate_json(request["record"])
        states = [_read_facts(facts) for facts in request["states"]]
        return exported(record, list(map(Replayed, states, (None, *record.steps))))

    def _analyse(self, request: Request, tell: Tell) -> object:
        from ggp.analysis import analyses  # noqa: PLC0415 - here and below: numba takes half a second to load
        from ggp.search.mcts.search import SearchSettings  # noqa: PLC0415

        game = self._game(request)
        state = State(game, _read_facts(request["state"]))
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


def _with_texts(analysis: dict[str, Any], texts: list[str]) -> dict[str, Any]:
    """Each line also as text."""
    lines = [line | {"text": text} for line, text in zip(analysis["lines"], texts, strict=True)]
    return analysis | {"lines": lines}


def _check(request: Request) -> object:
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
        answer["roles"] = game.roles
        answer["start"] = _drawn_state(game, StateDrawer(game), game.machine.initial_state)
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


def _verify(request: Request) -> object:
    """The first thing that does not hold of a record; None where everything does."""
    from gamemaster.record import MatchRecord  # noqa: PLC0415
    from gamemaster.replay import replay  # noqa: PLC0415

    try:
        for _ in replay(MatchRecord.model_validate_json(request["record"])):
            pass
    except GgpError as error:
        return str(error)
    return None


def _measure(request: Request) -> object:
    from ggp.bench.measure import BenchSettings, measure  # noqa: PLC0415 - numba takes half a second to load

    found = measure(request["text"], "rulesheet", BenchSettings(seconds=request["seconds"], uses_cache=True))
    return asdict(found)


def _drawn_state(
    game: Game, drawer: StateDrawer, state: Facts, before: Facts | None = None, moves: tuple[Term, ...] = ()
) -> dict[str, Any]:
    """All that a page shows of a state."""
    machine = game.machine
    drawing = drawer.draw(state, before, moves)
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
    return [{"move": to_text(move), "clicks": drawer.clicks(move)} for move in moves]


def _situation(game: Game, state: Facts) -> dict[str, Any]:
    """What a referee wants to know of a state; terms as nested lists."""
    machine = game.machine
    situation: dict[str, Any] = {"state": sorted(state, key=to_text), "terminal": machine.is_terminal(state)}
    if situation["terminal"]:
        situation["goals"] = {role: machine.goal_values(state, role) for role in game.roles}
    else:
        situation["legal"] = {role: machine.legal_moves(state, role) for role in game.roles}
    return situation


def _texts(state: Facts) -> list[str]:
    return sorted(map(to_text, state))


def _read_facts(texts: list[str]) -> Facts:
    return frozenset(map(read_term, texts))


def _facts(terms: list[Any]) -> Facts:
    return frozenset(map(_term, terms))


def _term(value: Any) -> Term:  # noqa: ANN401 - a string, or a list of the same
    return value if isinstance(value, str) else tuple(map(_term, value))


def main() -> None:
    """Answers until there are no more requests."""
    _bound(int(sys.argv[1]), int(sys.argv[2]))
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anything prints must not stand between the answers
    server = RuleServer()
    while (request := _read(sys.stdin.buffer)) is not None:
        _write(output, _answer(server, request, output))


def _bound(memory_bytes: int, niceness: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # ends with the service, also in the middle of something
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(niceness)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the service, which ends us in order


def _answer(server: RuleServer, request: Mapping[str, Any], output: IO[bytes]) -> dict[str, Any]:
    try:
        return {"done": server.do(request, lambda report: _write(output, {"report": report}))}
    except GgpError as error:
        return {"error": type(error).__name__, "detail": str(error)}
    except (RecursionError, MemoryError) as error:
        detail = f"the rules need too much: {type(error).__name__}"
        return {"error": "EvaluationError", "detail": detail, "is_worn": True}  # what is left may be too little


def _read(stream: IO[bytes]) -> Any:  # noqa: ANN401 - any JSON
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    return json.loads(stream.read(LENGTH.unpack(head)[0]))


def _write(stream: IO[bytes], value: object) -> None:
    data = json.dumps(value, separators=(",", ":")).encode()
    stream.write(LENGTH.pack(len(data)) + data)
    stream.flush()


if __name__ == "__main__":
    main()

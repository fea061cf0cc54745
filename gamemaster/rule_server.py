"""A process that evaluates rules for the game master, bounded in memory, which can be ended at any moment.

Run as `python -m gamemaster.rule_server MEMORY NICENESS`. Requests come on standard input and answers go to standard
output, one after the other, each as JSON after its length in 4 bytes, big-endian. It ends when its input does.
`gamemaster.evaluator` is the other side.
"""

import ctypes
import json
import os
import resource
import signal
import struct
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from gamemaster.faults import Fault
from gamemaster.referee import Executed, MoveChoice, Opening, Referee, Situation, Verdict
from gamemaster.settings import MatchSettings
from ggp.errors import EvaluationError, GgpError
from ggp.game import Game, load_text, read_steps
from ggp.gdl.rulesheet import name_and_arity, rule_term
from ggp.gdl.state_machine import Facts
from ggp.gdl.terms import Term, to_text
from ggp.library import Metadata

if TYPE_CHECKING:
    from ggp.boards import Layout

LENGTH = struct.Struct(">I")  # of what follows, in bytes
KEPT = 12  # games
UNKNOWN_GAME = "unknown game"  # the answer to a request for a game that is not, or no longer, kept
_FORGOTTEN = "the process that knew the match was ended"

Request: TypeAlias = Mapping[str, Any]
Tell: TypeAlias = Callable[[object], None]  # reports while something long is being done
Task: TypeAlias = Callable[[Request, Tell], object]


class RuleServer:
    """Loads games, and is the referee of one match at a time; used by one thread. Others add tasks to it."""

    def __init__(self) -> None:
        self._games: dict[str, Game] = {}
        self._layouts: dict[str, tuple[Layout, int]] = {}  # with the characters that a line has room for
        self._tasks: dict[str, Task] = {
            "load": self._load,
            "layout": self._layout,
            "begin": self._begin,
            "execute": self._execute,
            "conclude": self._conclude,
        }
        self._referee: Referee | None = None  # of the match that was begun last
        self._choice: MoveChoice | None = None  # that is open in it
        self._present: Facts | None = None  # of the match now

    def do(self, request: Request, tell: Tell) -> object:
        """The answer; GgpError for what the rules, or those who ask, do wrong."""
        name = request["do"]
        if request.get("game") is not None and request["game"] not in self._games and name != "load":
            return UNKNOWN_GAME
        return self._tasks[name](request, tell)

    def game_of(self, request: Request) -> Game:
        return self._games[request["game"]]

    def _load(self, request: Request, _: Tell) -> object:
        game = load_text(request["text"], request["name"], request["engine"])
        opening: Opening = ()
        if request["opening"]:
            game, opening = _opened(game, request["opening"])
        game = replace(game, metadata=Metadata(drawing=request["drawing"]))
        self._games.pop(request["game"], None)
        self._games[request["game"]] = game
        while len(self._games) > KEPT:
            self._games.pop(next(iter(self._games)))
        text = game.rulesheet.text if request["opening"] else None
        about = {"roles": game.roles, "engine": game.engine, "fallback": game.fallback}
        return about | {"text": text, "opening": opening}

    def _layout(self, request: Request, _: Tell) -> object:
        """Finds out what the states of a game look like; from then on situations have a picture."""
        from ggp.boards import find_layout  # noqa: PLC0415 - here and below: most referees draw nothing

        game = self.game_of(request)
        self._layouts = {key: layout for key, layout in self._layouts.items() if key in self._games}
        layout = find_layout(game.rulesheet, game.machine, game.metadata.drawing)
        self._layouts[request["game"]] = layout, request["width"]
        return None

    def _begin(self, request: Request, _: Tell) -> object:
        game = self.game_of(request)
        self._referee = Referee(game.rulesheet, game.machine, MatchSettings(**request["settings"]))
        return {"situation": self._told(request, self._referee.begin())}

    def _execute(self, request: Request, _: Tell) -> object:
        if self._referee is None or self._choice is None:
            raise EvaluationError(_FORGOTTEN)
        answers = {role: answer_of(answer) for role, answer in request["answers"].items()}
        executed, following = self._referee.execute(self._choice, answers)
        return {"executed": _executed(executed), "situation": self._told(request, following)}

    def _conclude(self, request: Request, _: Tell) -> object:
        if self._referee is None or self._present is None:
            raise EvaluationError(_FORGOTTEN)
        verdict = Verdict(request["ending"], request["reason"], tuple(request["lost"]))
        return {"situation": self._told(request, self._referee.conclude(self._present, verdict))}

    def _told(self, request: Request, situation: Situation) -> dict[str, Any]:
        """A situation as JSON, with those parts of its state that are wanted."""
        self._choice = situation if isinstance(situation, MoveChoice) else None
        self._present = state = situation.state
        told: dict[str, Any] = {"state": list(state) if request["wants_state"] and state is not None else None}
        if isinstance(situation, MoveChoice):
            told |= {"step": situation.step}
        else:
            told |= {"ending": situation.ending, "reason": situation.reason, "goals": situation.goals}
        layout = self._layouts.get(request["game"])
        return told | {"picture": None if layout is None or state is None else _picture(*layout, state)}


def _opened(game: Game, moves: str) -> tuple[Game, Opening]:
    """The same game, beginning in the state after some moves, and these; GgpError where they cannot be played."""
    if game.rulesheet.has_percepts:
        raise EvaluationError("an opening would tell all roles what they cannot know in a game with `sees`")
    steps = read_steps(game.initial_state, moves, "opening")
    state = steps[-1][1] if steps else game.initial_state
    if state.is_terminal:
        raise EvaluationError("the match is over after the opening")
    rules = [rule_term(rule) for rule in game.rulesheet.rules if name_and_arity(rule.head)[0] != "init"]
    text = "\n".join([*map(to_text, rules), *(f"(init {fact})" for fact in state.facts)])
    return load_text(text, game.name, game.engine), tuple(tuple(map(to_text, joint_move)) for joint_move, _ in steps)


def serve(server: RuleServer) -> None:
    """Answers until there are no more requests, within the bounds that stand in the command line."""
    _bound(int(sys.argv[1]), int(sys.argv[2]))
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anything prints must not stand between the answers
    while (request := _read(sys.stdin.buffer)) is not None:
        _write(output, _answer(server, request, output))


def facts_of(terms: list[Any]) -> Facts:
    """A state from JSON."""
    return frozenset(map(term_of, terms))


def term_of(value: Any) -> Term:  # noqa: ANN401 - a string, or a list of the same
    """A term from JSON."""
    return value if isinstance(value, str) else tuple(map(term_of, value))


def answer_of(answer: Any) -> Term | Fault:  # noqa: ANN401 - as `gamemaster.evaluator` sends it
    """What a player answered, from JSON."""
    return Fault(**answer) if isinstance(answer, dict) else term_of(answer)


def executed_of(executed: Mapping[str, Any]) -> Executed:
    """A step, from JSON."""
    return Executed(
        tuple(map(term_of, executed["joint_move"])),
        {role: Fault(**fault) for role, fault in executed["faults"].items()},
        {role: tuple(map(term_of, percepts)) for role, percepts in executed["percepts"].items()},
    )


def _executed(executed: Executed) -> dict[str, Any]:
    faults = {role: asdict(fault) for role, fault in executed.faults.items()}
    return {"joint_move": executed.joint_move, "faults": faults, "percepts": dict(executed.percepts)}


def _picture(layout: "Layout", width: int, state: Facts) -> list[list[tuple[str, str]]]:
    from ggp.boards import make_picture, picture_lines  # noqa: PLC0415

    return [[(span.text, span.style) for span in line] for line in picture_lines(make_picture(layout, state), width)]


def _bound(memory_bytes: int, niceness: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # ends with its parent, also in the middle of something
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(niceness)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends us in order


def _answer(server: RuleServer, request: Request, output: IO[bytes]) -> dict[str, Any]:
    try:
        return {"done": server.do(request, lambda report: _write(output, {"report": report}))}
    except GgpError as error:
        return {"error": type(error).__name__, "detail": str(error)}
    except (RecursionError, MemoryError) as error:
        detail = f"the rules need too much: {type(error).__name__}"
        return {"error": EvaluationError.__name__, "detail": detail, "is_worn": True}  # what is left may be too little


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
    serve(RuleServer())

"""A bounded process that evaluates rules, as coroutines ask it; one that takes too long is ended.

`Evaluator` is one process; `RemoteRules` are the rules of one match, with their referee in such a process.
"""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from math import inf
from time import clock_gettime
from typing import TYPE_CHECKING, Any, Literal

import ggp.errors
from gamemaster.faults import Fault
from gamemaster.referee import Answer, Executed, GoesOn, Outcome, RefereedGame, Verdict
from gamemaster.rule_server import LENGTH, UNKNOWN_GAME, executed_of, facts_of
from gamemaster.settings import MatchSettings
from ggp.errors import EvaluationError, GgpError
from ggp.gdl.reader import decode
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.library import find_rulesheet, read_bytes, read_metadata

if TYPE_CHECKING:
    from ggp.boards import TextLine

Report = Callable[[Any], None]
SERVER = "gamemaster.rule_server"  # what runs in the process
LOAD_WAIT = 60.0  # seconds for the rules of a game to be read and made ready
RULES_BYTES = 2**32  # of memory for the rules of a match
LONGEST_ANSWER = 2**26  # bytes of JSON
_PATIENCE = 4.0  # times as long is waited for a process that others keep from its processor
_TICK = 0.01  # seconds; less is not worth waiting for
_PROCESSOR_CLOCK = 2  # with the number of a process it names the clock of its processor time, as clock_getcpuclockid(3)
_LONG = 100_000  # bytes of JSON that are read in a thread, so that the loop is not held
_MANY = 500  # facts, moves or letters, likewise


@dataclass(frozen=True, slots=True)
class RulesheetSource:
    """A rulesheet as text, with the hints for drawing its states."""

    name: str
    text: str = field(repr=False)
    drawing: Mapping[str, Any] = field(default_factory=dict, repr=False)
    engine: Literal["interpreter", "circuit"] = "interpreter"
    place: str = field(default="rulesheet", compare=False)  # where it comes from, for messages
    opening: str = ""  # moves after which matches begin, as `ggp.game.read_steps` reads them
    key: str = field(init=False, repr=False)  # the same for the same text, engine, name and opening

    def __post_init__(self) -> None:
        words = "\0".join((self.engine, self.name, self.text, self.opening))
        object.__setattr__(self, "key", sha256(words.encode(errors="replace")).hexdigest())

    def as_request(self) -> dict[str, Any]:
        """For the process that loads it."""
        return {
            "game": self.key,
            "name": self.name,
            "text": self.text,
            "drawing": dict(self.drawing),
            "engine": self.engine,
            "opening": self.opening,
        }


class Evaluator:
    """One process; it is started when it is first asked, and again after it was ended."""

    def __init__(self, memory_bytes: int, niceness: int = 0, server: str = SERVER, bounds: Sequence[int] = ()) -> None:
        """`server` is the module that runs in the process: a `gamemaster.rule_server.RuleServer`, perhaps with more.

        `bounds` are for that module.
        """
        self._command = ("-m", server, *map(str, (memory_bytes, niceness, *bounds)))
        self._process: Process | None = None
        self._lock = asyncio.Lock()
        self._is_closed = False
        self.known: set[str] = set()  # keys of games that it was given

    @property
    def is_free(self) -> bool:
        return not self._lock.locked()

    async def prepare(self) -> None:
        """Starts the process, so that nobody waits for it later."""
        async with self._lock:
            if self._process is None:
                self._process = await self._start()

    async def ask(
        self, source: RulesheetSource | None, request: Mapping[str, Any], seconds: float, tell: Report | None = None
    ) -> Any:  # noqa: ANN401 - any JSON
        """The answer, about a game if one is given; EvaluationError when there is none in time.

        Other kinds of GgpError as the process has them. One that is cancelled ends the process. A process that others
        kept from its processor has the `seconds` that it lacks, up to `_PATIENCE` times as many by the clock.
        """
        async with self._lock:
            try:
                async with self._timeout(seconds):
                    return await self._ask(source, request, tell)
            except TimeoutError:
                await self._end()
                raise EvaluationError(f"no answer within {seconds:g} s") from None
            except (OSError, asyncio.IncompleteReadError):
                await self._end()
                raise EvaluationError("the rules need more than they may: their process ended") from None
            except asyncio.CancelledError:
                await self._end()
                raise

    async def load(self, source: RulesheetSource, seconds: float) -> Mapping[str, Any]:
        """A game's `roles`, its `engine`, and its `fallback`: why that is not a faster one. Errors as by `ask`."""
        loaded: Mapping[str, Any] = await self.ask(None, {"do": "load", **source.as_request()}, seconds)
        self.known.add(source.key)
        return loaded

    async def close(self) -> None:
        """Ends the process for good, even while it is being started; waiting and later calls raise EvaluationError."""
        self._is_closed = True
        await self._end()
        async with self._lock:  # the one who has it notices, and ends what it has started meanwhile
            await self._end()

    @asynccontextmanager
    async def _timeout(self, seconds: float) -> AsyncIterator[None]:
        """TimeoutError once the process has worked for so long, or was waited for much longer."""
        loop = asyncio.get_running_loop()
        begun = self._worked()
        handle: asyncio.TimerHandle

        def check() -> None:
            nonlocal handle
            left = seconds - (self._worked() - begun)  # not a number where none is known
            if not left >= _TICK:
                limit.reschedule(loop.time())
            else:
                handle = loop.call_later(left, check)

        async with asyncio.timeout(_PATIENCE * seconds) as limit:
            handle = loop.call_later(seconds, check)
            try:
                yield
            finally:
                handle.cancel()

    def _worked(self) -> float:
        """Seconds of the processor that the process has had."""
        return 0.0 if self._process is None else _processor_seconds(self._process.pid)

    async def _ask(self, source: RulesheetSource | None, request: Mapping[str, Any], tell: Report | None) -> Any:  # noqa: ANN401
        if source is None:
            return await self._exchange(request, tell)
        if source.key not in self.known:
            await self._load(source)
        answer = await self._exchange({**request, "game": source.key}, tell)
        if answer == UNKNOWN_GAME:
            await self._load(source)
            answer = await self._exchange({**request, "game": source.key}, tell)
        return answer

    async def _load(self, source: RulesheetSource) -> None:
        await self._exchange({"do": "load", **source.as_request()}, None)
        self.known.add(source.key)

    async def _exchange(self, request: Mapping[str, Any], tell: Report | None) -> Any:  # noqa: ANN401
        if self._process is None:
            self._process = await self._start()
        process = self._process
        assert process.stdin is not None
        data = await asyncio.to_thread(_encoded, request) if _is_long(request) else _encoded(request)
        process.stdin.write(LENGTH.pack(len(data)) + data)
        await process.stdin.drain()
        while True:
            answer = await _read(process)
            if "report" not in answer:
                break
            if tell is not None:
                tell(answer["report"])
        if "error" in answer:
            if answer.get("is_worn"):
                await self._end()
            raise _error(answer["error"], answer["detail"])
        return answer["done"]

    async def _start(self) -> Process:
        if self._is_closed:
            raise EvaluationError("nothing is evaluated any more")
        self.known.clear()
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", *self._command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, start_new_session=True
        )
        if self._is_closed:  # meanwhile
            await _stop(process)
            raise EvaluationError("nothing is evaluated any more")
        return process

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            await _stop(process)


class RemoteRules:
    """The rules of one match, in a process: as `gamemaster.referee.Rules`."""

    def __init__(self, evaluator: Evaluator, source: RulesheetSource, game: RefereedGame) -> None:
        self._evaluator = evaluator
        self._source = source
        self._settings = MatchSettings()
        self.game = game
        self.wants_states = False  # as facts
        self.width = 0  # characters of a line of the pictures that are wanted; 0: none are

    async def begin(self, settings: MatchSettings) -> GoesOn | Outcome:
        """As by `Rules`; the time that loading takes counts apart."""
        self._settings = settings
        when = "at the beginning"
        try:
            if self._source.key not in self._evaluator.known:
                await self._evaluator.load(self._source, LOAD_WAIT)
            if self.width:
                await self._find_layout()
            answer = await self._ask({"do": "begin", "settings": asdict(settings)})
        except EvaluationError as error:
            return _exhausted(when, error)
        return await _situation_of(answer["situation"])

    async def execute(self, answers: Mapping[str, Answer]) -> tuple[Executed | None, GoesOn | Outcome]:
        """As by `Rules`."""
        sent = {role: asdict(answer) if isinstance(answer, Fault) else answer for role, answer in answers.items()}
        try:
            answer = await self._ask({"do": "execute", "answers": sent})
        except EvaluationError as error:
            return None, _exhausted("for a step", error)
        return executed_of(answer["executed"]), await _situation_of(answer["situation"])

    async def conclude(self, verdict: Verdict) -> Outcome:
        """As by `Rules`."""
        try:
            answer = await self._ask({"do": "conclude", **asdict(verdict)})
        except EvaluationError as error:
            return _exhausted("for the goal values", error)
        found = await _situation_of(answer["situation"])
        assert isinstance(found, Outcome)
        return found

    async def _find_layout(self) -> None:
        """Without one there are no pictures, and the match goes on."""
        with suppress(EvaluationError):
            await self._ask({"do": "layout", "width": self.width})

    async def _ask(self, request: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any JSON
        wanted = {**request, "wants_state": self.wants_states}
        return await self._evaluator.ask(self._source, wanted, self._settings.rules_wait)


async def load_rules(evaluator: Evaluator, source: RulesheetSource, seconds: float = LOAD_WAIT) -> RemoteRules:
    """The rules of a match; GgpError when they cannot be loaded in so many seconds."""
    rulesheet = await asyncio.to_thread(parse_rulesheet, source.text, source.place)
    loaded = await evaluator.load(source, seconds)
    if loaded["text"] is not None:
        rulesheet = await asyncio.to_thread(parse_rulesheet, loaded["text"], source.place)
    roles, opening = tuple(loaded["roles"]), tuple(map(tuple, loaded["opening"]))
    game = RefereedGame(source.name, rulesheet, roles, loaded["engine"], loaded["fallback"], opening)
    return RemoteRules(evaluator, source, game)


def find_source(game: str) -> RulesheetSource:
    """A shipped game by its name, or a rulesheet by the path of its file; UnknownGameError, ReadError as `ggp.load`."""
    path = find_rulesheet(game)
    text = decode(read_bytes(path), str(path))
    return RulesheetSource(path.stem, text, read_metadata(path).drawing, place=str(path))


def _exhausted(when: str, error: EvaluationError) -> Outcome:
    return Outcome("broken", f"the rules give no answer {when}: {error}", None, None, is_exhausted=True)


async def _situation_of(told: Mapping[str, Any]) -> GoesOn | Outcome:
    """A situation from JSON; a large state is read in a thread."""
    facts = told["state"]
    many = facts is not None and len(facts) > _MANY
    state = None if facts is None else await asyncio.to_thread(facts_of, facts) if many else facts_of(facts)
    picture = None if told["picture"] is None else _lines_of(told["picture"])
    if "step" in told:
        return GoesOn(told["step"], state, picture)
    return Outcome(told["ending"], told["reason"], state, told["goals"], picture=picture)


def _lines_of(lines: Sequence[Sequence[Sequence[Any]]]) -> "tuple[TextLine, ...]":
    from ggp.boards import Span  # noqa: PLC0415 - few matches are drawn

    return tuple(tuple(Span(*span) for span in line) for line in lines)


def _encoded(request: Mapping[str, Any]) -> bytes:
    return json.dumps(request).encode()


def _is_long(request: Mapping[str, Any]) -> bool:
    """Whether it may take long to write: a large state, many moves, a long text."""
    return any(len(value) > _MANY for value in request.values() if isinstance(value, str | list | tuple))


def _processor_seconds(pid: int) -> float:
    """That a process has had; infinite where that is unknown."""
    if sys.platform != "linux":
        return inf
    try:
        return clock_gettime((~pid << 3) | _PROCESSOR_CLOCK)
    except OSError:  # it has ended
        return inf


async def _stop(process: Process) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)  # with what it may have started itself
    await process.wait()


async def _read(process: Process) -> dict[str, Any]:
    assert process.stdout is not None
    (length,) = LENGTH.unpack(await process.stdout.readexactly(LENGTH.size))
    if length > LONGEST_ANSWER:
        raise OSError(f"an answer of {length} bytes")  # the caller ends the process
    data = await process.stdout.readexactly(length)
    answer = json.loads(data) if length < _LONG else await asyncio.to_thread(json.loads, data)
    assert isinstance(answer, dict)
    return answer


def _error(kind: str, detail: str) -> GgpError:
    """The error that the process had; those with more than a text become the plain one."""
    found = getattr(ggp.errors, kind, GgpError)
    plain = (ggp.errors.EvaluationError, ggp.errors.GroundingError, ggp.errors.UnknownRoleError)
    return found(detail) if found in plain else GgpError(detail)

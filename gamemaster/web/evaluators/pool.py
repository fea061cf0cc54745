"""The processes that evaluate rules, as coroutines ask them; one that takes too long is ended."""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal

import ggp.errors
from gamemaster.web.evaluators.process import LENGTH, UNKNOWN_GAME
from gamemaster.web.models import Check, Evidence, Finding, Move, State
from gamemaster.web.problems import busy
from ggp.errors import EvaluationError, GgpError

Report = Callable[[Any], None]
_LONG = 100_000  # bytes of JSON that are read in a thread, so that the loop is not held


@dataclass(frozen=True, slots=True)
class Source:
    """A rulesheet as text, with the hints for drawing its states."""

    name: str
    text: str = field(repr=False)
    drawing: Mapping[str, Any] = field(default_factory=dict, repr=False)
    engine: Literal["interpreter", "circuit"] = "interpreter"
    key: str = field(init=False, repr=False)  # the same for the same text, engine and name

    def __post_init__(self) -> None:
        words = "\0".join((self.engine, self.name, self.text))
        object.__setattr__(self, "key", sha256(words.encode(errors="replace")).hexdigest())

    def as_request(self) -> dict[str, Any]:
        """For the process that loads it."""
        return {
            "game": self.key,
            "name": self.name,
            "text": self.text,
            "drawing": dict(self.drawing),
            "engine": self.engine,
        }


class Evaluator:
    """One process; it is started when it is first asked, and again after it was ended."""

    def __init__(self, memory_bytes: int, niceness: int = 0) -> None:
        self._arguments = (str(memory_bytes), str(niceness))
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
        self, source: Source | None, request: Mapping[str, Any], seconds: float, tell: Report | None = None
    ) -> Any:  # noqa: ANN401 - any JSON
        """The answer, about a game if one is given; EvaluationError when there is none in time.

        Other kinds of GgpError as the process has them. One that is cancelled ends the process.
        """
        async with self._lock:
            try:
                async with asyncio.timeout(seconds):
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

    async def close(self) -> None:
        """Ends the process for good; whoever waits for it, or asks later, gets an EvaluationError."""
        self._is_closed = True
        await self._end()

    async def _ask(self, source: Source | None, request: Mapping[str, Any], tell: Report | None) -> Any:  # noqa: ANN401
        if source is None:
            return await self._exchange(request, tell)
        if source.key not in self.known:
            await self._load(source)
        answer = await self._exchange({**request, "game": source.key}, tell)
        if answer == UNKNOWN_GAME:
            await self._load(source)
            answer = await self._exchange({**request, "game": source.key}, tell)
        return answer

    async def _load(self, source: Source) -> None:
        await self._exchange({"do": "load", **source.as_request()}, None)
        self.known.add(source.key)

    async def _exchange(self, request: Mapping[str, Any], tell: Report | None) -> Any:  # noqa: ANN401
        if self._process is None:
            self._process = await self._start()
        process = self._process
        assert process.stdin is not None
        data = json.dumps(request).encode()
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
        command = (sys.executable, "-P", "-m", "gamemaster.web.evaluators.process", *self._arguments)
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, start_new_session=True
        )
        if self._is_closed:  # meanwhile
            await _stop(process)
            raise EvaluationError("nothing is evaluated any more")
        return process

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            await _stop(process)


class Pool:
    """Several processes; whoever asks waits for a free one, if possible for one that knows the game."""

    def __init__(self, size: int, memory_bytes: int, waiting: int, niceness: int = 2) -> None:
        self._evaluators = [Evaluator(memory_bytes, niceness) for _ in range(size)]
        self._free = asyncio.Semaphore(size)
        self._waiting = 0
        self._most_waiting = waiting

    async def prepare(self) -> None:
        async with asyncio.TaskGroup() as group:
            for evaluator in self._evaluators:
                group.create_task(evaluator.prepare())

    async def ask(
        self, source: Source | None, request: Mapping[str, Any], seconds: float, tell: Report | None = None
    ) -> Any:  # noqa: ANN401 - any JSON
        """As `Evaluator.ask`; a Problem when too many wait already."""
        async with self._taken(source) as evaluator:
            return await evaluator.ask(source, request, seconds, tell)

    async def close(self) -> None:
        for evaluator in self._evaluators:
            await evaluator.close()

    @asynccontextmanager
    async def _taken(self, source: Source | None) -> AsyncIterator[Evaluator]:
        if self._waiting >= self._most_waiting:
            raise busy("too much is being worked out already; try again in a moment")
        self._waiting += 1
        try:
            await self._free.acquire()
        finally:
            self._waiting -= 1
        try:
            yield self._choice(source)
        finally:
            self._free.release()

    def _choice(self, source: Source | None) -> Evaluator:
        free = [evaluator for evaluator in self._evaluators if evaluator.is_free]
        return next((one for one in free if source is not None and source.key in one.known), free[0])


async def _stop(process: Process) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)  # with what it may have started itself
    await process.wait()


async def _read(process: Process) -> dict[str, Any]:
    assert process.stdout is not None
    (length,) = LENGTH.unpack(await process.stdout.readexactly(LENGTH.size))
    data = await process.stdout.readexactly(length)
    answer = json.loads(data) if length < _LONG else await asyncio.to_thread(json.loads, data)
    assert isinstance(answer, dict)
    return answer


def _error(kind: str, detail: str) -> GgpError:
    """The error that the process had; those with more than a text become the plain one."""
    found = getattr(ggp.errors, kind, GgpError)
    plain = (ggp.errors.EvaluationError, ggp.errors.GroundingError, ggp.errors.UnknownRoleError)
    return found(detail) if found in plain else GgpError(detail)


def state_of(look: Mapping[str, Any], step: int) -> State:
    """From what a worker sees in a state."""
    legal = {role: tuple(Move.model_validate(move) for move in moves) for role, moves in look["legal"].items()}
    return State(
        step=step,
        facts=tuple(look["facts"]),
        terminal=look["terminal"],
        goals=look["goals"],
        legal=legal,
        svg=look["svg"],
        text=look["text"],
        problem=look["problem"],
    )


def check_of(answer: Mapping[str, Any]) -> Check:
    """From what a worker says about a rulesheet."""
    evidence = answer["evidence"]
    look = answer["start"]
    return Check(
        findings=tuple(Finding(**finding) for finding in answer["findings"]),
        is_playable=answer["problem"] is None,
        problem=answer["problem"],
        roles=tuple(answer["roles"]),
        start=None if look is None else state_of(look, 0),
        evidence=None if evidence is None else _evidence_of(evidence),
    )


def _evidence_of(evidence: Mapping[str, Any]) -> Evidence:
    notes = [f"{role} had no legal move in {count} of them" for role, count in evidence["stuck"].items()]
    notes += [f"{role} had no clear goal value in {count} of them" for role, count in evidence["unclear_goals"].items()]
    notes += [evidence["error"]] if evidence["error"] else []
    return Evidence(
        matches=evidence["matches"], ended=evidence["ended"], longest=evidence["longest"], notes=tuple(notes)
    )

"""The pool of processes that evaluate rules for pages, and what their answers mean."""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol
from weakref import WeakValueDictionary

from gamemaster.evaluator import Evaluator, Report, RulesheetSource
from gamemaster.web.models import Check, Evidence, Finding, Move, State
from gamemaster.web.settings import Limits, busy, not_found

PAGES = "gamemaster.web.evaluators.process"  # what runs in the processes
_MANY = 500  # facts and moves of a state


def evaluator_of(limits: Limits, niceness: int = 0, memory_bytes: int | None = None) -> Evaluator:
    """A process that does what pages ask for."""
    bounds = limits.facts, limits.term_bytes, limits.state_bytes
    return Evaluator(limits.memory_bytes if memory_bytes is None else memory_bytes, niceness, PAGES, bounds)


class Evaluates(Protocol):
    """One process that evaluates rules, or several."""

    async def ask(self, source: RulesheetSource | None, request: Mapping[str, Any], seconds: float) -> Any: ...  # noqa: ANN401 - any JSON


class Pool:
    """Several processes; a request waits for a free one, if possible for one that knows the game."""

    def __init__(
        self, size: int, limits: Limits, waiting: int, niceness: int = 2, memory_bytes: int | None = None
    ) -> None:
        self._evaluators = [evaluator_of(limits, niceness, memory_bytes) for _ in range(size)]
        self.limits = limits
        self._free = asyncio.Semaphore(size)
        self._turns: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()  # visitor → see `_turn`
        self._waiting: Counter[str] = Counter()  # visitor → requests
        self._most_waiting = waiting
        self._most_of_visitor = min(limits.visitor_waiting, max(1, waiting // 2))

    async def prepare(self) -> None:
        async with asyncio.TaskGroup() as group:
            for evaluator in self._evaluators:
                group.create_task(evaluator.prepare())

    async def ask(
        self,
        source: RulesheetSource | None,
        request: Mapping[str, Any],
        seconds: float,
        tell: Report | None = None,
        visitor: str = "",
    ) -> Any:  # noqa: ANN401 - any JSON
        """As `Evaluator.ask`, from the share of a visitor, if one is named; a Problem when too many wait already."""
        async with self._turn(visitor):
            return await self._choice(source).ask(source, request, seconds, tell)

    async def ask_for(
        self, visitor: str, source: RulesheetSource | None, request: Mapping[str, Any], seconds: float
    ) -> Any:  # noqa: ANN401 - any JSON
        """As `ask`, from the share of a visitor; the operator, for whom it is empty, has none.

        A request that is cancelled waits no longer; one that is worked on is finished, so that no process ends.
        """

        async def work(turn: AsyncExitStack) -> Any:  # noqa: ANN401
            async with turn:
                return await self._choice(source).ask(source, request, seconds)

        async with AsyncExitStack() as turn:
            await turn.enter_async_context(self._turn(visitor))
            working = asyncio.create_task(work(turn.pop_all()))
        return await asyncio.shield(working)

    def of(self, visitor: str) -> "VisitorPool":
        return VisitorPool(self, visitor)

    async def close(self) -> None:
        for evaluator in self._evaluators:
            await evaluator.close()

    @asynccontextmanager
    async def _turn(self, visitor: str) -> AsyncIterator[None]:
        """Begins when a process is free; where there are two or more, a visitor leaves one to others.

        No more of a visitor's requests than it may have processes wait among those of others, so that these come next.
        """
        size = len(self._evaluators)
        own = self._turns.setdefault(visitor, asyncio.Semaphore(max(1, size - 1) if visitor else size))
        async with AsyncExitStack() as turn:
            with self._counted(visitor):
                await turn.enter_async_context(own)
                await turn.enter_async_context(self._free)
            yield

    @contextmanager
    def _counted(self, visitor: str) -> Iterator[None]:
        """A request that waits; a Problem where as many do as may."""
        if self._waiting.total() >= self._most_waiting:
            raise busy("too much is being worked out already; try again in a moment")
        if visitor and self._waiting[visitor] >= self._most_of_visitor:
            raise busy(f"{self._waiting[visitor]} requests of yours wait already, as many as may be; try again later")
        self._waiting[visitor] += 1
        try:
            yield
        finally:
            self._waiting -= Counter((visitor,))

    def _choice(self, source: RulesheetSource | None) -> Evaluator:
        free = [evaluator for evaluator in self._evaluators if evaluator.is_free]
        return next((one for one in free if source is not None and source.key in one.known), free[0])


@dataclass(frozen=True, slots=True)
class VisitorPool:
    """The pool as it is there for one visitor."""

    pool: Pool
    visitor: str

    async def ask(self, source: RulesheetSource | None, request: Mapping[str, Any], seconds: float) -> Any:  # noqa: ANN401 - any JSON
        return await self.pool.ask_for(self.visitor, source, request, seconds)


@dataclass(frozen=True, slots=True)
class Course:
    """A match as far as it has gone: any of its states follows from the moves."""

    name: str  # of these moves and no others
    source: RulesheetSource
    steps: Sequence[tuple[str, ...]]  # joint moves

    def at(self, step: int) -> dict[str, object]:
        """The part of a request that says which state is meant; a Problem where there is none."""
        if not 0 <= step <= len(self.steps):
            raise not_found(f"the match has no state {step}")
        return {"match": self.name, "steps": self.steps[:step]}


START: Mapping[str, object] = {"match": "", "steps": ()}  # the first state of a game


class DrawnStates:
    """States of matches with their pictures, worked out when they are first asked for; used in the event loop.

    The last ones are at hand, as many as fit; the others can be worked out again.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._drawn: OrderedDict[tuple[str, int], DrawnText] = OrderedDict()
        self._pictures: OrderedDict[tuple[str, int], str] = OrderedDict()  # as files, an eighth as much
        self._picture_bytes = 0

    def known(self, course: Course, step: int) -> State | None:
        """The state, if it is at hand."""
        found = self._drawn.get((course.name, step))
        return None if found is None else found.state

    async def draw(self, evaluator: Evaluates, course: Course, step: int, seconds: float) -> State:
        """A Problem where there is no such state, GgpError where the rules fail."""
        return (await self.drawn(evaluator, course, step, seconds)).state

    async def picture(self, evaluator: Evaluates, course: Course, step: int, seconds: float) -> str:
        """A state as an SVG file of its own, as by `draw`."""
        key = course.name, step
        if key not in self._pictures:
            found = str(await evaluator.ask(course.source, {"do": "image", **course.at(step)}, seconds))
            self._picture_bytes += len(found) if key not in self._pictures else 0
            self._pictures[key] = found
            while self._picture_bytes > self._most_bytes // 8 and len(self._pictures) > 1:
                self._picture_bytes -= len(self._pictures.popitem(last=False)[1])
        self._pictures.move_to_end(key)
        return self._pictures[key]

    async def drawn(self, evaluator: Evaluates, course: Course, step: int, seconds: float) -> "DrawnText":
        """As `draw`, with its text."""
        key = course.name, step
        if key not in self._drawn:
            look = await evaluator.ask(course.source, {"do": "draw", **course.at(step)}, seconds)
            self._keep(key, await asyncio.to_thread(_drawn, look, step) if _is_large(look) else _drawn(look, step))
        self._drawn.move_to_end(key)
        return self._drawn[key]

    def _keep(self, key: tuple[str, int], found: "DrawnText") -> None:
        before = self._drawn.pop(key, None)  # somebody else was faster
        self._bytes += len(found.text) - (0 if before is None else len(before.text))
        self._drawn[key] = found
        while self._bytes > self._most_bytes and len(self._drawn) > 1:
            self._bytes -= len(self._drawn.popitem(last=False)[1].text)


@dataclass(frozen=True, slots=True)
class DrawnText:
    """A state, and the same as JSON."""

    state: State
    text: str


def _drawn(look: Mapping[str, Any], step: int) -> DrawnText:
    state = state_of(look, step)
    return DrawnText(state, state.model_dump_json())


def _is_large(look: Mapping[str, Any]) -> bool:
    """Whether it is not to be read in the event loop."""
    return len(look["facts"]) + sum(map(len, look["legal"].values())) > _MANY


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
    notes += [f"{evidence['cut_off']} of them were cut off when the time was up"] if evidence["cut_off"] else []
    notes += [evidence["error"]] if evidence["error"] else []
    return Evidence(
        matches=evidence["matches"], ended=evidence["ended"], longest=evidence["longest"], notes=tuple(notes)
    )

"""Searches on request: a few at a time, each for so many seconds, in processes of their own."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from gamemaster.evaluator import RulesheetSource
from gamemaster.web.evaluators.pool import Pool
from gamemaster.web.models import Analysis, Engine, Line
from gamemaster.web.settings import Limits, refused
from ggp.errors import GgpError, GroundingError

_MEASURED_SECONDS = 1.0
_MOST_MEASURED = 400  # games whose figures are kept
_MOST_BYTES = 2**34  # of addresses, not of memory: machine code and the arrays of a search take many that stay empty
_MOST_WAITING = 6


class Analyses:
    """Used in the event loop."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._pool = Pool(limits.analyses, limits, _MOST_WAITING, niceness=10, memory_bytes=_MOST_BYTES)
        self._engines: dict[str, asyncio.Future[Engine]] = {}

    async def analyse(
        self,
        source: RulesheetSource,
        request: Mapping[str, Any],
        visitor: str,
        tell: Callable[[Analysis], None] | None = None,
    ) -> Analysis:
        """What a search finds; `request` has the state, the role, the seconds and the number of lines.

        A Problem where the game cannot be searched, or too many searches wait already, of the visitor or of all.
        """
        given = {**request, "do": "analyse", "memory": self._limits.search_bytes}
        given["seconds"] = min(request["seconds"], self._limits.analysis_seconds)
        circuit = RulesheetSource(source.name, source.text, source.drawing, "circuit")

        def report(found: Any) -> None:  # noqa: ANN401 - any JSON
            if tell is not None:
                tell(analysis_of(found, is_final=False))

        most = given["seconds"] + self._limits.compile_seconds
        try:
            return analysis_of(await self._pool.ask(circuit, given, most, report, visitor), is_final=True)
        except GroundingError as error:
            raise refused(f"this game cannot be searched: {error}") from None
        except GgpError as error:
            raise refused(f"this state cannot be searched: {error}") from None

    def measured(self, source: RulesheetSource) -> Engine | None:
        """What is known already."""
        found = self._engines.get(source.key)
        return found.result() if found is not None and found.done() and found.exception() is None else None

    async def measure(self, source: RulesheetSource, visitor: str) -> Engine:
        """What the engine makes of a game; worked out once, from the share of the visitor who asks first."""
        if source.key not in self._engines:
            while len(self._engines) >= _MOST_MEASURED:
                self._engines.pop(next(iter(self._engines)))
            self._engines[source.key] = asyncio.ensure_future(self._measure(source, visitor))
        task = self._engines[source.key]
        try:
            return await asyncio.shield(task)
        except Exception:
            self._engines.pop(source.key, None)
            raise

    async def close(self) -> None:
        for task in self._engines.values():
            task.cancel()
        await self._pool.close()

    async def _measure(self, source: RulesheetSource, visitor: str) -> Engine:
        request = {"do": "measure", "text": source.text, "seconds": _MEASURED_SECONDS}
        try:
            found = await self._pool.ask(None, request, self._limits.compile_seconds, visitor=visitor)
        except GgpError as error:
            raise refused(f"this game cannot be measured: {error}") from None
        sizes = found["sizes"] or {}
        return Engine(
            engine=found["engine"],
            fallback=found["fallback"],
            facts=sizes.get("facts"),
            moves=sizes.get("moves"),
            gates=sizes.get("gates"),
            phases=sizes.get("phases"),
            playouts_per_second=found["playouts_per_second"],
            mean_length=found["outcomes"]["mean_length"],
            mean_goals=found["outcomes"]["mean_goals"],
            seconds=found["start"]["first_playout_seconds"] or 0.0,
        )


def analysis_of(report: Mapping[str, Any], *, is_final: bool) -> Analysis:
    return Analysis(
        role=report["role"],
        best=report["best"],
        is_solved=report["solved"],
        is_final=is_final,
        seconds=report["seconds"],
        visits=report["visits"],
        playouts=report["playouts"],
        playouts_per_second=report["playouts_per_second"],
        depth=report["depth"],
        lines=tuple(
            Line(
                moves=tuple(line["steps"]),
                text=line["text"],
                visits=line["visits"],
                goals=line["goals"],
                bounds={role: (low, high) for role, (low, high) in line["bounds"].items()},
            )
            for line in report["lines"]
        ),
    )

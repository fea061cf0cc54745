"""Findings → what is told of them, to people and to programs."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import typer

from gamemaster.check.dialogue import transcript
from gamemaster.check.findings import VERDICTS, Finding, Verdict
from gamemaster.check.visit import Visit
from gamemaster.faults import shown

_COLOURS: dict[Verdict, str | None] = {
    "good": typer.colors.GREEN,
    "could be better": typer.colors.YELLOW,
    "bad": typer.colors.RED,
    "not tried": None,
}
_VERDICT_WIDTH = max(map(len, VERDICTS))
_NAME_WIDTH = 25
_INDENT = " " * (_VERDICT_WIDTH + 2)


def lines_of(finding: Finding, *, verbose: bool) -> Iterator[str]:
    """A finding as lines, coloured; with its reason where it is not good, and all that was said if `verbose`."""
    verdict = finding.judgement.verdict
    label = typer.style(f"{verdict:{_VERDICT_WIDTH}}", fg=_COLOURS[verdict])
    yield f"{label}  {finding.check.name:{_NAME_WIDTH}} {finding.judgement.seen}"
    if verbose or verdict in ("could be better", "bad"):
        yield f"{_INDENT}{'':{_NAME_WIDTH}} {finding.check.why}"
    if verbose:
        for exchange in finding.exchanges:
            yield from (f"    {line}" for line in transcript(exchange))
        yield ""


def summary(findings: Sequence[Finding]) -> str:
    """How many checks came out how."""
    counts = _counts(findings)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])


def as_json(visit: Visit, url: str, findings: Sequence[Finding], *, verbose: bool) -> dict[str, Any]:
    """The whole for programs."""
    settings = visit.settings
    return {
        "player": url,
        "name": shown(visit.info.name) if visit.info else None,
        "game": visit.game.name,
        "startclock": settings.startclock,
        "playclock": settings.playclock,
        "seed": settings.seed,
        "verdicts": {verdict: _counts(findings)[verdict] for verdict in VERDICTS},
        "checks": [_finding(finding, verbose=verbose) for finding in findings],
    }


def dialogue_of(visit: Visit) -> str:
    """Everything that was said, in its order."""
    return "\n".join("\n".join((*transcript(exchange), "")) for exchange in visit.exchanges)


def _counts(findings: Sequence[Finding]) -> Counter[Verdict]:
    return Counter(finding.judgement.verdict for finding in findings)


def _finding(finding: Finding, *, verbose: bool) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "check": finding.check.name,
        "verdict": finding.judgement.verdict,
        "why": finding.check.why,
        "seen": finding.judgement.seen,
    }
    if verbose:
        fields["dialogue"] = [list(transcript(exchange)) for exchange in finding.exchanges]
    return fields

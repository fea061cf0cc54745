"""What `ggp player check` does: an address in, findings on the terminal, in JSON and in files."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import typer

from gamemaster.check.checks import all_parts, examine
from gamemaster.check.exchange import address_of, transcript
from gamemaster.check.matches import refuse_unplayable
from gamemaster.check.session import VERDICTS, CheckResult, CheckSession, CheckSettings, Verdict, not_tried
from gamemaster.concurrency import until_signal
from gamemaster.faults import shown
from gamemaster.player import parse_player
from gamemaster.settings import make_settings
from ggp.commands.shared import load_argument
from ggp.errors import SettingsError
from ggp.protocol.messages import Dialect

EXIT_BAD = 1
BOTH = "both"


def check(
    player: str, game_name: str, settings: CheckSettings, *, dialogue: Path | None, in_json: bool, verbose: bool
) -> int:
    """Checks a player as the command describes it; the exit code."""
    url = _url(player)
    clocks = make_settings(startclock=settings.startclock, playclock=settings.playclock)
    game = load_argument(game_name, "interpreter")  # no circuit: it is not worth the time here
    refuse_unplayable(game, clocks)
    session = CheckSession(address_of(url), game, settings)
    if dialogue is not None:
        _write(dialogue, "")  # what cannot be written is said before the player is asked anything

    findings: list[CheckResult] = []

    def listen(finding: CheckResult) -> None:
        findings.append(finding)
        is_one_of_many = finding.judgement == not_tried(session.lost)
        if not in_json and not is_one_of_many:
            typer.echo("\n".join(lines_of(finding, verbose=verbose)))

    if not in_json:
        typer.echo(f"{url}, {game.name}, clocks {clocks.startclock} s and {clocks.playclock} s, seed {settings.seed}")
    code = asyncio.run(until_signal(examine(session, all_parts(), listen)))
    if dialogue is not None:
        _write(dialogue, dialogue_of(session))
    if in_json:
        typer.echo(json.dumps(as_json(session, url, findings, verbose=verbose), indent=2))
    else:
        typer.echo(summary(findings))
        if session.lost:
            typer.echo(f"what was not tried at the end: {session.lost}")
    return code or (EXIT_BAD if any(finding.judgement.verdict == "bad" for finding in findings) else 0)


def dialects_of(name: str) -> tuple[Dialect, ...]:
    """From the option `--dialect`; SettingsError for any other word."""
    if name == BOTH:
        return tuple(Dialect)
    try:
        return (Dialect(name),)
    except ValueError:
        names = ", ".join(dialect.value for dialect in Dialect)
        raise SettingsError(f"--dialect: no dialect is called {name!r}; there are {names} and {BOTH}") from None


def _url(player: str) -> str:
    address = parse_player(player)
    if address.is_bot:
        raise SettingsError(f"player {player!r}: no address; run it first (ggp player {player}), then check host:port")
    return address.place


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror or error}") from None


_COLOURS: dict[Verdict, str | None] = {
    "good": typer.colors.GREEN,
    "could be better": typer.colors.YELLOW,
    "bad": typer.colors.RED,
    "not tried": None,
}
_VERDICT_WIDTH = max(map(len, VERDICTS))
_NAME_WIDTH = 25
_INDENT = " " * (_VERDICT_WIDTH + 2)


def lines_of(finding: CheckResult, *, verbose: bool) -> Iterator[str]:
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


def summary(findings: Sequence[CheckResult]) -> str:
    """How many checks came out how."""
    counts = _counts(findings)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])


def as_json(session: CheckSession, url: str, findings: Sequence[CheckResult], *, verbose: bool) -> dict[str, Any]:
    """The whole for programs."""
    settings = session.settings
    return {
        "player": url,
        "name": shown(session.info.name) if session.info else None,
        "game": session.game.name,
        "startclock": settings.startclock,
        "playclock": settings.playclock,
        "seed": settings.seed,
        "verdicts": {verdict: _counts(findings)[verdict] for verdict in VERDICTS},
        "checks": [_finding(finding, verbose=verbose) for finding in findings],
    }


def dialogue_of(session: CheckSession) -> str:
    """Everything that was said, in its order."""
    return "\n".join("\n".join((*transcript(exchange), "")) for exchange in session.exchanges)


def _counts(findings: Sequence[CheckResult]) -> Counter[Verdict]:
    return Counter(finding.judgement.verdict for finding in findings)


def _finding(finding: CheckResult, *, verbose: bool) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "check": finding.check.name,
        "verdict": finding.judgement.verdict,
        "why": finding.check.why,
        "seen": finding.judgement.seen,
    }
    if verbose:
        fields["dialogue"] = [list(transcript(exchange)) for exchange in finding.exchanges]
    return fields

"""What `ggp player check` does: a player's address in, findings on the terminal, in JSON and in files."""

import asyncio
import json
from pathlib import Path

import typer

from gamemaster.check.checks import all_parts, examine
from gamemaster.check.dialogue import address_of
from gamemaster.check.findings import Finding, not_tried
from gamemaster.check.report import as_json, dialogue_of, lines_of, summary
from gamemaster.check.trial import refuse_unplayable
from gamemaster.check.visit import CheckSettings, Visit
from gamemaster.concurrency import until_signal
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
    visit = Visit(address_of(url), game, settings)
    if dialogue is not None:
        _write(dialogue, "")  # what cannot be written is said before the player is asked anything

    findings: list[Finding] = []

    def listen(finding: Finding) -> None:
        findings.append(finding)
        is_one_of_many = finding.judgement == not_tried(visit.lost)
        if not in_json and not is_one_of_many:
            typer.echo("\n".join(lines_of(finding, verbose=verbose)))

    if not in_json:
        typer.echo(f"{url}, {game.name}, clocks {clocks.startclock} s and {clocks.playclock} s, seed {settings.seed}")
    code = asyncio.run(until_signal(examine(visit, all_parts(), listen)))
    if dialogue is not None:
        _write(dialogue, dialogue_of(visit))
    if in_json:
        typer.echo(json.dumps(as_json(visit, url, findings, verbose=verbose), indent=2))
    else:
        typer.echo(summary(findings))
        if visit.lost:
            typer.echo(f"what was not tried at the end: {visit.lost}")
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

"""The sub-commands that need the library only: games, validate, perft."""

import json
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

from ggp.commands.arguments import EXIT_MISTAKE, STDIN, GameArgument, JsonOption, load_argument, read_stdin
from ggp.engines import make_machine
from ggp.errors import GgpError, ReadError
from ggp.gdl.evidence import Evidence, gather_evidence
from ggp.gdl.reader import decode
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.gdl.validator import Finding, validate
from ggp.library import find_rulesheet, game_names, read_bytes, read_metadata

EXIT_FOUND_ERRORS = 1


def add_commands(app: typer.Typer) -> None:
    """Adds the sub-commands to the application."""
    app.command("games")(show_games)
    app.command("validate")(show_validation)
    app.command("perft")(show_perft)


def show_games(as_json: JsonOption = False) -> None:
    """List the shipped games."""
    found = {name: read_metadata(find_rulesheet(name)) for name in game_names()}
    if as_json:
        print_json([{"name": name, **asdict(metadata)} for name, metadata in found.items()])
        return
    console = Console(highlight=False)
    for name, metadata in found.items():
        console.print(f"[bold]{name}[/]  {escape(metadata.title)} ({escape(', '.join(metadata.roles))})")
        console.print(Padding(escape(metadata.description), (0, 0, 1, 4)))


def show_validation(
    files: Annotated[list[str], typer.Argument(metavar="FILE…", help="Rulesheets: files, shipped games, or -.")],
    matches: Annotated[int, typer.Option(min=0, help="Random matches to play for evidence; 0 for none.")] = 20,
    max_steps: Annotated[int, typer.Option(min=1, help="Steps after which a random match counts as endless.")] = 500,
    seed: Annotated[int, typer.Option(help="Of the random matches.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Check rulesheets against GDL, and show what random matches say of them.

    Errors break a rule of GDL, warnings are dubious; both name their place and their check. Random matches add evidence
    for what no text shows: does every match end, has every role always a move, has each exactly one goal value at the
    end, can each win. Exit code 1 when there are errors, as there are in a file that is no text; 2 when a file is not
    there or may not be read.
    """
    reports: list[dict[str, Any]] = []
    exit_code = 0
    for file in files:
        try:
            reports.append(_report(file, matches, max_steps, seed))
        except GgpError as error:
            typer.echo(f"ggp: {error}", err=True)
            exit_code = EXIT_MISTAKE
            continue
        if not as_json:
            _print_report(reports[-1])
        if any(finding["severity"] == "error" for finding in reports[-1]["findings"]):
            exit_code = max(exit_code, EXIT_FOUND_ERRORS)
    if as_json:
        print_json(reports)
    raise typer.Exit(exit_code)


def _report(file: str, matches: int, max_steps: int, seed: int) -> dict[str, Any]:
    """Findings and evidence for one rulesheet, as JSON would have them."""
    source = "<stdin>" if file == STDIN else str(find_rulesheet(file))
    data = read_stdin() if file == STDIN else read_bytes(Path(source))
    try:
        text = decode(data, source)
    except ReadError as error:
        return _unreadable(source, error)
    findings = validate(text, source)
    evidence: Evidence | None = None
    unplayable = ""
    if matches:
        try:
            evidence = gather_evidence(make_machine(parse_rulesheet(text, source)), matches, max_steps, seed)
        except GgpError as error:
            unplayable = str(error)
    return {
        "source": source,
        "findings": [_finding(finding) for finding in findings],
        "evidence": asdict(evidence) if evidence else None,
        "unplayable": unplayable or None,
    }


def _unreadable(source: str, error: ReadError) -> dict[str, Any]:
    """The report on bytes that are no text."""
    finding = _finding(Finding("error", "encoding", error.message, error.place))
    return {"source": source, "findings": [finding], "evidence": None, "unplayable": str(error)}


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "severity": finding.severity,
        "check": finding.check,
        "message": finding.message,
        "line": finding.place.line,
        "column": finding.place.column,
    }


def _print_report(report: dict[str, Any]) -> None:
    console = Console(highlight=False, soft_wrap=True)
    source = report["source"]
    for finding in report["findings"]:
        colour = "red" if finding["severity"] == "error" else "yellow"
        place = f"{source}:{finding['line']}:{finding['column']}"
        console.print(f"{place}: ", end="", markup=False)
        console.print(f"[{colour}]{finding['severity']}[/]: ", end="")
        console.print(f"{finding['message']} [{finding['check']}]", markup=False)
    errors = sum(finding["severity"] == "error" for finding in report["findings"])
    warnings = len(report["findings"]) - errors
    console.print(f"{source}: {_count(errors, 'error')}, {_count(warnings, 'warning')}", markup=False)
    if report["unplayable"] and not errors:
        console.print(f"{source}: cannot be played: {report['unplayable']}", markup=False)
    if report["evidence"]:
        for line in _evidence_lines(Evidence(**report["evidence"])):
            console.print(f"  {line}", markup=False)


def _evidence_lines(evidence: Evidence) -> list[str]:
    """What the matches show, in words."""
    played = f"{_count(evidence.matches, 'random match', 'random matches')} (seed {evidence.seed})"
    if evidence.error:
        return [f"{played}: evaluation failed: {evidence.error}"]
    mean = evidence.steps / evidence.matches
    lines = [f"{played}: {mean:.1f} steps on average, {evidence.longest} at most"]
    lines.append(f"ends: {evidence.ended} of {evidence.matches} within {evidence.max_steps} steps")
    stuck = ", ".join(f"{role} had none in {_count(n, 'match', 'matches')}" for role, n in evidence.stuck.items())
    lines.append(f"moves: {stuck or 'every role always had one'}")
    unclear = ", ".join(f"{role} in {n}" for role, n in evidence.unclear_goals.items())
    lines.append(f"goals: {'not exactly one value for ' + unclear if unclear else 'exactly one for every role'}")
    lines.append("wins: " + ", ".join(f"{role} {wins}" for role, wins in evidence.wins.items()))
    return lines


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def show_perft(
    game: GameArgument,
    depth: Annotated[int, typer.Option(min=1, help="How many joint moves deep.")] = 4,
    engine: Annotated[
        str | None, typer.Option(help="The engine, `circuit` or `interpreter`; else the fastest.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Count the paths of 1, 2 … DEPTH joint moves from the initial state.

    A path stops where the match is over, and the counts stop at 0. Two engines, or two rulesheets of one game, that
    agree on these numbers hardly differ anywhere.
    """
    from ggp.simulation.perft import layers  # noqa: PLC0415 - numba takes half a second to load

    machine = load_argument(game, engine).machine
    began = perf_counter()
    counts: list[int] = []
    for number, count in zip(range(1, depth + 1), layers(machine), strict=False):
        counts.append(count)
        if not as_json:
            typer.echo(f"{number:3}  {count:15,}  {perf_counter() - began:8.2f} s")
        if not count:
            break
    if as_json:
        print_json({"game": game, "engine": machine.engine, "perft": counts})


def print_json(value: Any) -> None:  # noqa: ANN401 - whatever JSON can hold
    """Indented JSON on standard output."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))

"""The sub-command bench: how fast games start and how fast random matches run."""

import math
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer

from ggp.bench.suite import (
    MEASURED,
    Row,
    SuiteSettings,
    append_row,
    find_rulesheets,
    measure_timed,
    read_rows,
    run_suite,
)
from ggp.commands.shared import STDIN, EngineOption, JsonOption, Shown, print_json, read_stdin, seed_option
from ggp.errors import SettingsError
from ggp.gdl.reader import decode
from ggp.library import find_rulesheet, read_bytes
from ggp.signals import EXIT_INTERRUPTED, interrupting

LIMIT_SECONDS = 120.0
LIMIT_GIB = 4.0

_GIBIBYTE = 1 << 30
_MEBIBYTE = 1 << 20


def add_commands(app: typer.Typer) -> None:
    """Adds the sub-command to the application."""
    app.command("bench")(run_bench)


def run_bench(  # noqa: PLR0913, PLR0917 - each is an option
    game: Annotated[str | None, typer.Argument(metavar="GAME", help="A shipped game, a rulesheet file, or -.")] = None,
    seconds: Annotated[float, typer.Option(help="Of the main measuring; starting the game comes on top.")] = 2.0,
    threads: Annotated[int, typer.Option(help="That play side by side.")] = 1,
    seed: Annotated[int, seed_option("Seed of the random moves.")] = 0,
    cap: Annotated[int | None, typer.Option(help="Steps after which a playout is given up.")] = None,
    engine: EngineOption = None,
    use_cache: Annotated[bool, typer.Option("--use-cache", help="Start from what earlier runs have kept.")] = False,
    suite: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Measure all rulesheets in a folder.")] = None,
    limit: Annotated[
        float | None, typer.Option(help=f"In a suite: seconds for each game in all; {LIMIT_SECONDS:g} unless given.")
    ] = None,
    memory: Annotated[
        float | None, typer.Option(help=f"In a suite: GiB for each game; {LIMIT_GIB:g} unless given.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="In a suite: add a line of JSON per game; known ones are kept.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure how fast a game starts, and how fast random matches of it run.

    Times are of this process: from the text of the rules to the end of the first playout, without the imports, which
    are named apart. Nothing that earlier runs have kept is used, unless that is asked for, but for the machine code of
    our own functions (it says so where some of these had to be compiled). Speed is the median of five slices, by
    machine code of the game where it is made; playouts that have begun are finished, so that the means are of all.
    """
    if suite is None:
        if game is None:
            raise SettingsError("a GAME or --suite FOLDER must be given")
        if (limit, memory, output) != (None, None, None):
            raise SettingsError("--limit, --memory and --output are for a suite")
        source, text = read_argument(game)
        found = measure_timed(
            text, source, engine=engine, seconds=seconds, threads=threads, seed=seed, cap=cap, uses_cache=use_cache
        )
        print_json({"game": game, **found}) if as_json else typer.echo("\n".join(_lines(game, found)))
        return
    if game is not None:
        raise SettingsError("either a GAME or --suite FOLDER is measured, not both")
    limit = LIMIT_SECONDS if limit is None else limit
    memory = LIMIT_GIB if memory is None else memory
    if not 0 < limit < math.inf or not 0 < memory < math.inf:
        raise SettingsError("--limit and --memory must be more than 0")
    settings = SuiteSettings(engine, seconds, threads, seed, cap, use_cache, limit, int(memory * _GIBIBYTE))
    raise typer.Exit(_run(suite, settings, output, as_json=as_json))


def read_argument(game: str) -> tuple[str, str]:
    """The source and the text of the rulesheet that a GAME argument names."""
    if game == STDIN:
        return "<stdin>", decode(read_stdin(), "<stdin>")
    path = find_rulesheet(game)
    return str(path), decode(read_bytes(path), str(path))


def _run(folder: Path, settings: SuiteSettings, output: Path | None, *, as_json: bool) -> int:
    """Measures and shows a suite; the exit code."""
    paths = find_rulesheets(folder)
    known = [] if output is None else read_rows(output)
    rows: list[Row] = []
    skipped = 0
    exit_code = 0
    with Shown(len(paths)) as shown, interrupting():
        try:
            for row, was_known in run_suite(paths, settings, known, lambda path: shown.describe(path.stem)):
                rows.append(row)
                skipped += was_known
                if output is not None and not was_known:
                    append_row(output, row)
                shown.advance(len(rows))
                if not was_known:
                    shown.say(f"{row['game']}: {_outcome(row)}")
        except KeyboardInterrupt:
            exit_code = EXIT_INTERRUPTED
            shown.say(f"interrupted after {len(rows)} of {len(paths)} games")
    if skipped:
        shown.say(f"{skipped} of {len(rows)} games were measured in earlier runs with the same settings ({output})")
    if as_json:
        print_json({"rows": rows, "summary": summary(rows)})
    else:
        typer.echo("\n".join([*_table(rows), "", *_summary_lines(summary(rows))]))
    return exit_code


def _outcome(row: Row) -> str:
    """In a line: how fast it was, or why there is no measurement."""
    found = row["measurement"]
    if found is None:
        return f"{row['outcome']}: {row['message']}"
    return f"{found['engine']}, {_million(found['steps_per_second']['median'])} M steps/s"


def _table(rows: Iterable[Row]) -> list[str]:
    """A line for each game, numbers to the right."""
    head = ("game", "engine", "gates", "ground s", "start s", "M steps/s", "playouts/s", "length", "MiB")
    cells = [head, *(_cells(row) for row in rows)]
    widths = [
        max(len(line[at]) for line in cells if at < len(line) and len(line) == len(head)) for at in range(len(head))
    ]
    widths[0] = max(len(line[0]) for line in cells)
    lines = []
    for line in cells:
        start = line[0].ljust(widths[0])
        if len(line) < len(head):
            lines.append(f"{start}  {line[1]}")
        else:
            numbers = (text.rjust(width) for text, width in zip(line[2:], widths[2:], strict=True))
            lines.append("  ".join([start, line[1].ljust(widths[1]), *numbers]))
    return lines


def _cells(row: Row) -> tuple[str, ...]:
    found = row["measurement"]
    if found is None:
        return row["game"], f"{row['outcome']}: {row['message']}"
    start, sizes, outcomes = found["start"], found["sizes"], found["outcomes"]
    return (
        row["game"],
        found["engine"],
        "" if sizes is None else f"{sizes['gates']:,}",
        _number(start["grounding_seconds"], ".2f"),
        _number(start["first_playout_seconds"], ".2f"),
        _million(found["steps_per_second"]["median"]),
        f"{found['playouts_per_second']:,.0f}",
        _number(outcomes["mean_length"], ",.1f"),
        f"{found['peak_memory_bytes'] / _MEBIBYTE:,.0f}",
    )


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _million(value: float) -> str:
    """With about three digits that matter."""
    value /= 1e6
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}" if value >= 0.001 else f"{value:.6f}"


def summary(rows: Iterable[Row]) -> dict[str, Any]:
    """How many games had which outcome and engine, and how their speed and their start are distributed."""
    counts: dict[str, int] = {}
    for row in rows:
        name = row["measurement"]["engine"] if row["outcome"] == MEASURED else row["outcome"]
        counts[name] = counts.get(name, 0) + 1
    measured = [row["measurement"] for row in rows if row["outcome"] == MEASURED]
    starts = [found["start"]["first_playout_seconds"] for found in measured]
    return {
        "games": counts,
        "steps_per_second": _spread([found["steps_per_second"]["median"] for found in measured]),
        "first_playout_seconds": _spread([start for start in starts if start is not None]),
    }


def _spread(values: list[float]) -> dict[str, float] | None:
    """Median and the 5th and 95th percentile, by nearest rank; None of nothing."""
    if not values:
        return None
    ranked = sorted(values)
    p5, p95 = (ranked[max(0, math.ceil(part * len(ranked)) - 1)] for part in (0.05, 0.95))
    return {"median": median(ranked), "p5": p5, "p95": p95}


def _summary_lines(found: dict[str, Any]) -> list[str]:
    lines = ["games: " + ", ".join(f"{count} {name}" for name, count in found["games"].items())]
    if (speed := found["steps_per_second"]) is not None:
        shown = {name: _million(value) for name, value in speed.items()}
        lines.append(f"M steps/s: median {shown['median']}, p5 {shown['p5']}, p95 {shown['p95']}")
    if (start := found["first_playout_seconds"]) is not None:
        lines.append(f"start: median {start['median']:.2f} s, p5 {start['p5']:.2f} s, p95 {start['p95']:.2f} s")
    return lines


def _lines(game: str, found: dict[str, Any]) -> list[str]:
    """What there is to say of one game."""
    computer, speed, sizes = found["computer"], found["steps_per_second"], found["sizes"]
    threads = "1 thread" if found["threads"] == 1 else f"{found['threads']} threads"
    lines = [
        f"{game}: {found['kernel'] or found['engine']}, {threads}",
        f"  computer: {computer['processor']}, {computer['cores']} cores, vectors of {computer['vector_bits']} bits",
    ]
    if found["fallback"] is not None:
        lines.append(f"  not by a circuit: {found['fallback']}")
    lines += _start_lines(found)
    if sizes is not None:
        lines += _size_lines(sizes)
    spread = f"{_million(speed['lowest'])} to {_million(speed['highest'])}"
    lines.append(
        f"  speed: {_million(speed['median'])} M steps/s ({spread}), {found['playouts_per_second']:,.0f} playouts/s"
    )
    if found["interpreted_steps_per_second"] is not None:
        before = f"  before: {_million(found['interpreted_steps_per_second'])} M steps/s, the circuit interpreted"
        made = found["machine_code_seconds"]
        lines.append(before + ("; no machine code" if made is None else f"; machine code took {made:.2f} s"))
    return [*lines, *_outcome_lines(found["outcomes"]), f"  memory: {found['peak_memory_bytes'] / _MEBIBYTE:,.0f} MiB"]


def _start_lines(found: dict[str, Any]) -> list[str]:
    start = found["start"]
    first = start["first_playout_seconds"]
    text = "no playout ended in time" if first is None else f"{first:.3f} s from the text to the first playout"
    lines = [f"  start: {text}, after {found['import_seconds']:.2f} s of imports"]
    if start["grounding_seconds"] is not None:
        stages = (
            ("grounding", "grounding_seconds"),
            ("building", "building_seconds"),
            ("programs", "programs_seconds"),
        )
        shown = ", ".join(f"{name} {start[field]:.3f} s" for name, field in stages)
        lines.append(
            f"    {shown}" + (" (grounding and building were in an earlier run)" if start["is_cached"] else "")
        )
    if start["kernels_compiled"]:
        lines.append(f"    this includes the compiling of {start['kernels_compiled']} functions of ours, once only")
    return lines


def _size_lines(sizes: dict[str, Any]) -> list[str]:
    steps = " and ".join(f"{count:,}" for count in sizes["step_instructions"])
    late = sizes["late_goals_instructions"]
    return [
        f"  size: {sizes['facts']:,} facts, {sizes['moves']:,} moves, {sizes['phases']} phases",
        f"  gates: {sizes['gates']:,} (legal and terminal {sizes['legal_and_terminal_gates']:,}, "
        f"goals {sizes['goals_gates']:,}, next {sizes['next_gates']:,})",
        f"  instructions: {steps} in a step" + ("" if late is None else f", {late:,} for goals now and then"),
    ]


def _outcome_lines(outcomes: dict[str, Any]) -> list[str]:
    length = _number(outcomes["mean_length"], ",.2f") or "-"
    lines = [f"  playouts: {outcomes['playouts']:,}, mean length {length}"]
    others = [f"{outcomes[name]:,} {name}" for name in ("capped", "stuck", "unfinished") if outcomes[name]]
    if others:
        lines.append(f"    besides: {', '.join(others)}")
    goals = outcomes["mean_goals"].items()
    lines.append("  mean goals: " + ", ".join(f"{role} {_number(value, '.2f') or '-'}" for role, value in goals))
    return lines

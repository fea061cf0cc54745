"""The sub-commands games, validate, perft and generate."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.status import Status

from ggp.commands.shared import (
    EXIT_MISTAKE,
    STDIN,
    EngineOption,
    GameArgument,
    JsonOption,
    load_argument,
    print_json,
    print_line,
    read_stdin,
    seed_option,
)
from ggp.engines import make_machine
from ggp.errors import GgpError, GroundingError, ReadError, SettingsError, did_you_mean
from ggp.families import Sheet, family_names, find_family, generate
from ggp.game import Game
from ggp.gdl.logic_program import make_logic_program
from ggp.gdl.reader import decode
from ggp.gdl.rulesheet import Rulesheet, parse_rulesheet
from ggp.gdl.state_machine import StateMachine
from ggp.gdl.validator import SAFETY, STRATIFICATION, Finding, validate
from ggp.library import SUFFIX, TAGS, find_rulesheet, is_match, read_bytes, read_metadata, shipped_rulesheets
from ggp.simulation.evidence import SECONDS, Evidence, gather_evidence

if TYPE_CHECKING:
    from ggp.simulation.state_graph import Images

EXIT_FOUND_ERRORS = 1
_FOUND_BY_GROUNDING = {
    STRATIFICATION: "no atom that the game needs does",
    SAFETY: "each gets its values from the rules that read this one",
}  # why rules that these checks refuse can be grounded all the same


def add_commands(app: typer.Typer) -> None:
    """Adds the sub-commands to the application."""
    app.command("games")(show_games)
    app.command("validate")(show_validation)
    app.command("perft")(show_perft)
    app.command("generate", context_settings=OTHER_OPTIONS)(write_game)


def show_games(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="WORD", help="Words that are in its name, description, roles or tags.")
    ] = None,
    tags: Annotated[
        list[str] | None, typer.Option("--tag", metavar="TAG", help="A kind of games; more than once: all of them.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the shipped games, or those that have all the words and tags.

    For example: ggp games --tag puzzle, or: ggp games pieces --tag two-roles
    """
    _check_tags(tags or ())
    found = {name: read_metadata(path) for name, path in shipped_rulesheets().items()}
    found = {n: one for n, one in found.items() if is_match(words or (), tags or (), n, one.roles, one)}
    if as_json:
        print_json([{"name": name, **asdict(metadata)} for name, metadata in found.items()])
        return
    console = Console(highlight=False)
    for name, metadata in found.items():
        console.print(f"[bold]{name}[/]  {escape(metadata.title)} ({escape(', '.join(metadata.roles))})")
        text = f"{escape(metadata.description.strip())} [dim]{escape(', '.join(metadata.tags))}[/]"
        console.print(Padding(text, (0, 0, 1, 4)))
    if not found:
        typer.echo("no game has all of these words and tags", err=True)


def _check_tags(tags: Iterable[str]) -> None:
    for tag in tags:
        if tag not in TAGS:
            raise SettingsError(
                f"--tag: no tag is called {tag}{did_you_mean(tag, TAGS)}; the tags are {', '.join(TAGS)}"
            )


def show_validation(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE", help="Rulesheet files, shipped games, or - for standard input.")
    ],
    matches: Annotated[int, typer.Option(min=0, help="Number of random matches to play; 0 for none.")] = 20,
    max_steps: Annotated[int, typer.Option(min=1, help="Steps after which a random match is stopped.")] = 500,
    seed: Annotated[int, seed_option("Seed of the random matches.")] = 0,
    seconds: Annotated[float, typer.Option(min=0, help="For the random matches of a rulesheet, at most.")] = SECONDS,
    as_json: JsonOption = False,
) -> None:
    """Check rulesheets against the rules of GDL, and play random matches with them.

    Errors break a rule of GDL, warnings are suspicious; both have a line, a column and the name of the check. Random
    matches show what the text cannot: whether every match ends, every role always has a move and at the end exactly one
    goal value, and every role can win. The exit code is 1 if there are errors (or a file is not UTF-8 text), also where
    its rules cannot be evaluated, and 2 if a file does not exist or cannot be read.
    """
    reports: list[dict[str, Any]] = []
    exit_code = 0
    shown = Console(stderr=True, highlight=False)
    for file in files:
        try:
            with shown.status(f"{escape(file)}: the text") as status:
                reports.append(_report(file, matches, max_steps, seed, seconds, status))
        except GgpError as error:
            typer.echo(f"ggp: {error}", err=True)
            exit_code = EXIT_MISTAKE
            continue
        if not as_json:
            _print_report(reports[-1])
        if _has_errors(reports[-1]):
            exit_code = max(exit_code, EXIT_FOUND_ERRORS)
    if as_json:
        print_json(reports)
    raise typer.Exit(exit_code)


def _has_errors(report: dict[str, Any]) -> bool:
    """Whether rules of GDL are broken, or no match can be played, or one could not be played to its end."""
    evidence = report["evidence"]
    is_broken = any(finding["severity"] == "error" for finding in report["findings"])
    return is_broken or report["unplayable"] is not None or (evidence is not None and bool(evidence["error"]))


def _report(file: str, matches: int, max_steps: int, seed: int, seconds: float, status: Status) -> dict[str, Any]:
    """Findings and evidence for one rulesheet, as JSON values; on a terminal the status says what is being done."""
    source = "<stdin>" if file == STDIN else str(find_rulesheet(file))
    data = read_stdin() if file == STDIN else read_bytes(Path(source))
    try:
        text = decode(data, source)
    except ReadError as error:
        return _unreadable(source, error)
    findings = validate(text, source)
    evidence: Evidence | None = None
    knowledge: dict[str, Any] | None = None
    unplayable = ""
    if matches:
        try:
            rulesheet = parse_rulesheet(text, source)
            status.update(f"{escape(file)}: grounding, for up to a minute")
            machine = make_machine(rulesheet)
            status.update(f"{escape(file)}: random matches, for up to {seconds:g} s")
            findings = _as_grounded(findings, rulesheet, machine)
            evidence = gather_evidence(machine, matches, max_steps, seed, seconds)
            knowledge = _knowledge(machine, matches, max_steps, seed, seconds)
        except GgpError as error:
            unplayable = str(error)
    return {
        "source": source,
        "findings": [_finding(finding) for finding in findings],
        "evidence": asdict(evidence) if evidence else None,
        "knowledge": knowledge,
        "unplayable": unplayable or None,
    }


def _knowledge(machine: StateMachine, matches: int, max_steps: int, seed: int, seconds: float) -> dict[str, Any] | None:
    """What random matches show of percepts; None in a game without, or without a circuit."""
    if machine.engine != "circuit":
        return None
    from ggp.simulation.knowledge import gather_knowledge  # noqa: PLC0415 - here and below: numba is slow to load
    from ggp.simulation.state_machine import CircuitMachine  # noqa: PLC0415

    assert isinstance(machine, CircuitMachine)
    if not machine.compiled.has_percepts:
        return None
    until = perf_counter() + seconds
    return asdict(gather_knowledge(machine, matches, max_steps, seed, lambda: perf_counter() > until))


def _as_grounded(findings: Sequence[Finding], rulesheet: Rulesheet, machine: StateMachine) -> tuple[Finding, ...]:
    """Rules can only be grounded where no atom depends on its own negation, and all variables that matter get values:
    then that is no error.
    """
    doubtful = [one for one in findings if one.check in _FOUND_BY_GROUNDING and one.severity == "error"]
    if not doubtful or not (machine.engine == "circuit" or _can_be_grounded(rulesheet)):
        return tuple(findings)
    return tuple(
        replace(one, severity="warning", message=f"{one.message}, though {_FOUND_BY_GROUNDING[one.check]}")
        if one in doubtful
        else one
        for one in findings
    )


def _can_be_grounded(rulesheet: Rulesheet) -> bool:
    """Asked where there is no circuit, perhaps only because no kernel is compiled yet."""
    from ggp.grounding import ground  # noqa: PLC0415 - as above

    try:
        ground(make_logic_program(rulesheet))
    except GroundingError:
        return False
    return True


def _unreadable(source: str, error: ReadError) -> dict[str, Any]:
    """The report on a file that is not text."""
    finding = _finding(Finding("error", "encoding", error.message, error.place))
    return {"source": source, "findings": [finding], "evidence": None, "knowledge": None, "unplayable": str(error)}


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
    if report["unplayable"] and not any(_is_same(finding, report) for finding in report["findings"]):
        console.print(f"{source}: cannot be played: {report['unplayable']}", markup=False)
    if report["evidence"]:
        for line in _evidence_lines(Evidence(**report["evidence"])):
            console.print(f"  {line}", markup=False)
    for line in _knowledge_lines(report["knowledge"]) if report["knowledge"] else ():
        console.print(f"  {line}", markup=False)


def _is_same(finding: dict[str, Any], report: dict[str, Any]) -> bool:
    """Whether a finding already says why the rulesheet cannot be played: many errors do not keep it from that."""
    text = f"{report['source']}:{finding['line']}:{finding['column']}: {finding['message']}"
    return text == str(report["unplayable"]).removesuffix(f" [{finding['check']}]")


def _knowledge_lines(knowledge: dict[str, Any]) -> list[str]:
    """What the random matches showed of percepts, as text."""
    found = knowledge["ambiguity"]
    if found is not None:
        past = "; ".join(f"{move}, told {' '.join(told) or 'nothing'}" for move, told in found["known"])
        moves = f"({', '.join(found['moves'])}) or ({', '.join(found['others'])})"
        return [f"percepts: {found['role']} cannot know its legal moves after {past}: {moves}"]
    followed = _count(knowledge["matches"], "match", "matches")
    lines = [f"percepts: in {followed} every role knew its legal moves"] if knowledge["matches"] else []
    unsure = [f"{role} in {number}" for role, number in knowledge["unsure_ends"].items() if number]
    return lines + ([f"percepts did not tell that the match was over: {', '.join(unsure)}"] if unsure else [])


def _evidence_lines(evidence: Evidence) -> list[str]:
    """What the random matches showed, as text."""
    played = f"{_count(evidence.matches, 'random match', 'random matches')} (seed {evidence.seed})"
    if evidence.error:
        return [f"{played}: evaluation failed: {evidence.error}"]
    mean = evidence.steps / evidence.matches
    lines = [f"{played}: {mean:.1f} steps on average, {evidence.longest} at most"]
    cut_off = f"; {evidence.cut_off} were cut off when the time was up" if evidence.cut_off else ""
    lines.append(f"ends: {evidence.ended} of {evidence.matches} within {evidence.max_steps} steps{cut_off}")
    stuck = ", ".join(f"{role} had none in {_count(n, 'match', 'matches')}" for role, n in evidence.stuck.items())
    lines.append(f"moves: {stuck or ('every role always had one' if evidence.steps else 'not seen')}")
    if not evidence.ended:
        return [*lines, "goals and wins: not seen, since no match came to an end"]
    unclear = ", ".join(f"{role} in {n}" for role, n in evidence.unclear_goals.items())
    seen = (
        "" if evidence.ended == evidence.matches else f" in the {_count(evidence.ended, 'match', 'matches')} that ended"
    )
    lines.append(f"goals: {'not exactly one value for ' + unclear if unclear else 'exactly one for every role' + seen}")
    lines.append("wins: " + ", ".join(f"{role} {wins}" for role, wins in evidence.wins.items()))
    return lines


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def show_perft(
    game: GameArgument,
    depth: Annotated[int, typer.Option(min=1, help="Number of joint moves.")] = 4,
    engine: EngineOption = None,
    symmetries: Annotated[
        bool,
        typer.Option("--symmetries", help="Visit states once that are mirrored or turned, or with roles exchanged."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Count the sequences of 1, 2 … DEPTH joint moves from the initial state (perft).

    A sequence ends at a terminal state, and the counts stop at 0. If two engines, or two rulesheets of one game, give
    the same counts, they are very likely equivalent. With --symmetries the counts must be the same, and are found
    sooner: it is a test of the symmetries that learning and solving use.
    """
    from ggp.simulation.perft import layers  # noqa: PLC0415 - numba takes half a second to load

    loaded = load_argument(game, engine)
    machine = loaded.machine
    images = _images(loaded) if symmetries else None
    began = perf_counter()
    counts: list[int] = []
    for number, count in zip(range(1, depth + 1), layers(machine, images), strict=False):
        counts.append(count)
        if not as_json:
            typer.echo(f"{number:3}  {count:15,}  {perf_counter() - began:8.2f} s")
        if not count:
            break
    if as_json:
        print_json({"game": game, "engine": machine.engine, "perft": counts})


def _images(game: Game) -> "Images | None":
    """None where there is no circuit, without which they are of no use."""
    from ggp.learning.symmetries import find_symmetries, images_of  # noqa: PLC0415
    from ggp.simulation.state_machine import CircuitMachine  # noqa: PLC0415

    if not isinstance(game.machine, CircuitMachine):
        return None
    found = find_symmetries(game.rulesheet, game.machine.batches, exact=True)
    return None if found is None else images_of(found, same_roles=False)


OTHER_OPTIONS = {"allow_extra_args": True, "ignore_unknown_options": True}  # those of the family


def write_game(
    context: typer.Context,
    family: Annotated[str | None, typer.Argument(metavar="FAMILY", help="None: list the families.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="FILE.kif; its metadata are written to FILE.toml."),
    ] = None,
) -> None:
    """Write the rulesheet of a game of a family: a size of a board, a number of heaps, a level.

    Each parameter of the family is an option of this command; without FAMILY all are listed.

    For example: ggp generate nim --heaps 2,3,4 -o nim234.kif
    """
    if family is None:
        for name in family_names():
            _show(name)
        return
    sheet = generate(family, _read_options(context.args))
    if output is None:
        typer.echo(sheet.rules, nl=False)
    else:
        _write(sheet, output)


def _show(name: str) -> None:
    family = find_family(name)
    print_line(f"{name}  {family.summary}")
    for parameter, one in family.parameters.items():
        allowed = "" if isinstance(one.default, str) else f", {one.least} to {one.most}"
        print_line(f"    --{parameter}  {one.meaning}{allowed} (usually {one.default})")


def _read_options(arguments: Sequence[str]) -> dict[str, str]:
    """`--size 9` and `--size=9` as parameters."""
    found: dict[str, str] = {}
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if not name.startswith("--") or len(name) < 3:
            raise SettingsError(f"{argument!r} is no parameter; parameters are given as --NAME VALUE")
        text = value if equals else next(rest, None)
        if text is None:
            raise SettingsError(f"{name} needs a value")
        found[name.removeprefix("--")] = text
    return found


def _write(sheet: Sheet, output: Path) -> None:
    if output.suffix != SUFFIX:
        raise SettingsError(f"--output: {output} must end in {SUFFIX}")
    import tomlkit  # noqa: PLC0415 - it is slow to load

    try:
        output.write_text(sheet.rules, encoding="utf-8")
        output.with_suffix(".toml").write_text(tomlkit.dumps(sheet.metadata), encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"--output: {output}: {error.strerror or error}") from None

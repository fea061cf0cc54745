"""The sub-command inspect: what a rulesheet was made into on its way to a circuit."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Annotated, Any

import typer

from ggp.commands.bench import read_argument
from ggp.commands.shared import GameArgument, JsonOption, print_json, print_line
from ggp.errors import GroundingError
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.interpreter import Interpreter

_SHOWN = 12  # facts of a kind in the text for people


def add_commands(app: typer.Typer) -> None:
    """Adds the sub-command to the application."""
    app.command("inspect")(show_inspection)


def show_inspection(
    game: GameArgument,
    as_json: JsonOption = False,
    dot: Annotated[bool, typer.Option("--dot", help="Print a small circuit in Graphviz's language.")] = False,
) -> None:
    """Show what a rulesheet is made into: its ground rules, its circuit, the programs of its playouts.

    Where the rules cannot be made a circuit, and are played by bytecode, it says why.
    """
    from ggp.circuit.compile import compile_game  # noqa: PLC0415 - here and below: numba takes half a second to load
    from ggp.simulation.inspection import draw, inspect_game  # noqa: PLC0415

    source, text = read_argument(game)
    rulesheet = parse_rulesheet(text, source)
    try:
        compiled = compile_game(rulesheet)
        found: dict[str, Any] = asdict(inspect_game(compiled))
    except GroundingError as error:
        if dot:
            raise
        _print_fallback(game, Interpreter(rulesheet).roles, str(error), as_json=as_json)
        return
    if dot:
        typer.echo(draw(compiled))
    elif as_json:
        print_json({"game": game, "engine": "circuit", "fallback": None, **found})
    else:
        for line in _lines(game, found):
            print_line(line)


def _print_fallback(game: str, roles: tuple[str, ...], reason: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"game": game, "engine": "bytecode", "fallback": reason, "roles": roles})
    else:
        typer.echo(f"{game}: bytecode\n  roles: {', '.join(roles)}\n  not by a circuit: {reason}")


def _lines(game: str, found: dict[str, Any]) -> list[str]:
    compilation, programs, recursion = found["compilation"], found["programs"], found["recursion"]
    moves = ", ".join(f"{role} {count:,}" for role, count in found["moves"].items())
    applied = ", ".join(f"{name} {count:,}" for name, count in compilation["rewritings"] if count)
    steps = " and ".join(f"{count:,}" for count in programs["phases"])
    late, unreachable = programs["late_goals"], compilation["unreachable"]
    run = " (in an earlier run)" if compilation["cached"] else ""
    return [
        f"{game}: circuit",
        f"  moves: {moves}",
        *(f"  goals of {role}: {', '.join(map(str, values))}" for role, values in found["goals"].items()),
        f"  percepts: {'by sees' if found['has_percepts'] else 'the joint move'}",
        f"  ground rules: {compilation['rules']:,} with {compilation['literals']:,} literals, "
        f"in {compilation['grounding_seconds']:.2f} s{run}",
        f"  rewritings: {applied or 'none'}",
        f"  facts: {found['facts']:,}, {len(found['constants']):,} of them constant"
        + (f"; {unreachable:,} more that no match reaches were left out" if unreachable else ""),
        *_some(f"{fact} is {'true' if value else 'false'}" for fact, value in found["constants"].items()),
        f"  phases: {found['period']}, {len(found['phases']):,} facts come round",
        *_some(f"{fact} {' '.join(map(str, values))}" for fact, values in found["phases"].items()),
        f"  gates: {compilation['built']:,} when built, {compilation['gates']:,} with constants folded, "
        f"in {compilation['building_seconds']:.2f} s{run}",
        *(_cone_line(name.replace("_", " "), cone) for name, cone in found["cones"].items()),
        f"  recursion: {recursion['loops']:,} loops in {len(recursion['components']):,} components",
        f"  instructions: {steps} in a step" + ("" if late is None else f", {late:,} for goals now and then"),
        _parts_line("parts without the end and the goals", found["parts"]),
    ]


def _some(items: Iterable[str]) -> list[str]:
    listed = list(items)
    left = len(listed) - _SHOWN
    return [f"    {item}" for item in listed[:_SHOWN]] + ([f"    and {left:,} more"] if left > 0 else [])


def _cone_line(name: str, cone: dict[str, int]) -> str:
    return f"    {name}: {cone['gates']:,} ({cone['ands']:,} AND, {cone['xors']:,} XOR), depth {cone['depth']:,}"


def _parts_line(title: str, sizes: tuple[int, ...]) -> str:
    shown = ", ".join(f"{size:,}" for size in sizes[:_SHOWN]) + (", …" if len(sizes) > _SHOWN else "")
    return f"  {title}: {len(sizes):,}" + (f" ({shown} facts)" if sizes else "")

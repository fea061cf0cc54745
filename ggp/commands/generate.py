"""The sub-command generate: games of a family, such as one for each size of a board."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import tomlkit
import typer

from ggp.errors import SettingsError
from ggp.families import Sheet, family_names, find_family, generate
from ggp.library import SUFFIX

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
    typer.echo(f"{name}  {family.summary}")
    for parameter, one in family.parameters.items():
        allowed = "" if isinstance(one.default, str) else f", {one.least} to {one.most}"
        typer.echo(f"    --{parameter}  {one.meaning}{allowed} (usually {one.default})")


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
    try:
        output.write_text(sheet.rules, encoding="utf-8")
        output.with_suffix(".toml").write_text(tomlkit.dumps(sheet.metadata), encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"--output: {output}: {error.strerror or error}") from None

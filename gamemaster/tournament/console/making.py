"""Specifications from the command line."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gamemaster.settings import make_settings
from gamemaster.tournament.spec import TournamentSpec, check_spec, new_spec, parse_sprt, spec_text
from ggp.errors import SettingsError

FOLDER = Path("tournaments")  # where a tournament goes that has no file
ROUNDS_OF_SPRT = 5000  # at most, where nothing is said; it is to end long before


def write_new(file: Path, games: str, players: str, fields: Mapping[str, Any]) -> None:
    """Writes a specification with remarks; SettingsError when the file exists."""
    if file.exists():
        raise SettingsError(f"{file}: it exists already")
    given = {"name": file.stem, **_with_format(fields)}
    spec = new_spec(_parts(games), _parts(players), file.absolute().parent, **given)
    check_spec(spec)
    write(file, spec_text(spec, file.absolute().parent, commented=True))


def spec_of_line(
    games: str | None, players: str | None, fields: Mapping[str, Any], sprt: str | None, folder: Path | None
) -> tuple[TournamentSpec, Path]:
    """The specification that a command line is, and the file that it was written to."""
    if games is None or players is None:
        raise SettingsError("either a FILE is needed, or both --games and --players")
    base = folder or FOLDER
    given = _with_format(fields)
    clocks = {clock: given.pop(clock) for clock in ("startclock", "playclock") if clock in given}
    make_settings(**clocks)  # to name the option that is wrong
    given |= {"match": clocks}
    if sprt is not None:
        given = {"rounds": ROUNDS_OF_SPRT, **given, "sprt": parse_sprt(sprt)}
    name = given.pop("name", None)
    spec = new_spec(_parts(games), _parts(players), base, **given, **({"name": name} if name else {}))
    if name is None:
        spec = new_spec(_parts(games), _parts(players), base, **{**given, "seed": spec.seed, "name": _free(spec, base)})
    spec = spec.model_copy(
        update={"results": spec.results.model_copy(update={"folder": str(base.absolute() / spec.name)})}
    )
    check_spec(spec)
    make_folder(base)
    file = base / f"{spec.name}.toml"
    if not file.exists():
        write(file, spec_text(spec, base))
    return spec, file


def make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror or error}") from None


def write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"{file}: {error.strerror or error}") from None


def _with_format(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The same with a format that is spelt as in a specification; on a command line blanks are a nuisance."""
    spelling = {"round-robin": "round robin", "roundrobin": "round robin", "knockout": "knock-out"}
    return {name: spelling.get(value, value) if name == "format" else value for name, value in fields.items()}


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _free(spec: TournamentSpec, base: Path) -> str:
    """The name, with -2, -3, … where there was such a tournament in the folder already."""
    name, number = spec.name, 1
    while any((base / f"{name}{suffix}").exists() for suffix in (".toml", ".sqlite", "")):
        number += 1
        name = f"{spec.name[:54]}-{number}"
    return name

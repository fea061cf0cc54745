"""A specification from the options of a command line."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gamemaster.player import LONGEST_NAME, PlayerAddress, host_of, parse_player
from gamemaster.settings import draw_seed, make_settings
from gamemaster.tournament.spec import SprtSpec, TournamentSpec, game_name
from gamemaster.tournament.spec_files import Place, check_spec, field_text, first_mistake, placed, spec_text
from ggp.errors import SettingsError
from ggp.plugins import parse_plugin

FOLDER = Path("tournaments")  # where a tournament goes that has no file
ROUNDS_OF_SPRT = 5000  # at most, where nothing is said; it is to end long before


def write_new(file: Path, games: str, players: str, fields: Mapping[str, Any]) -> None:
    """Writes a specification with remarks; SettingsError when the file exists."""
    if file.exists():
        raise SettingsError(f"{file}: it exists already")
    given = {"name": file.stem, **_with_format(fields)}
    try:
        spec = new_spec(_parts(games), _parts(players), file.absolute().parent, **given)
    except SettingsError as error:
        if "name" in fields or not str(error).startswith("--name: "):
            raise
        raise SettingsError(f"{file}: the tournament is called after the file, so --name is needed: {error}") from None
    check_spec(spec, option="--games")
    write(file, spec_text(spec, file.absolute().parent, commented=True))


def spec_of_line(
    games: str | None, players: str | None, fields: Mapping[str, Any], sprt: str | None, folder: Path | None
) -> tuple[TournamentSpec, Path, Path | None]:
    """The specification that a command line is, and the file that it was written to.

    The last is the file of the tournament that had the same name, where this one got another for that reason.
    """
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
    earlier: Path | None = None
    spec = new_spec(_parts(games), _parts(players), base, **given, **({"name": name} if name else {}))
    if name is None:
        free = _free(spec, base)
        earlier = base / f"{_before(spec, free)}.toml" if free != spec.name else None
        spec = new_spec(_parts(games), _parts(players), base, **{**given, "seed": spec.seed, "name": free})
    spec = spec.model_copy(
        update={"results": spec.results.model_copy(update={"folder": str(base.absolute() / spec.name)})}
    )
    check_spec(spec, option="--games")
    make_folder(base)
    file = base / f"{spec.name}.toml"
    if not file.exists():
        write(file, spec_text(spec, base))
    return spec, file, earlier if earlier is not None and earlier.exists() else None


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


def _before(spec: TournamentSpec, free: str) -> str:
    """The name that was given before a free one."""
    number = int(free.rpartition("-")[2])
    return spec.name if number == 2 else f"{spec.name[:54]}-{number - 1}"


def option(place: Place) -> str:
    """`--players` for everything that is wrong with a player, `--playclock` for that of the matches."""
    names = [str(part) for part in place if isinstance(part, str)]
    if names[:1] in (["games"], ["players"]):
        del names[1:]
    return "--" + "-".join(names[1:] if names[:1] == ["match"] and names[1:] else names).replace("_", "-")


def new_spec(
    games: Sequence[str],
    players: Sequence[str],
    base: Path,
    *,
    called: Callable[[Place], str] = option,
    **fields: Any,  # noqa: ANN401 - judged by the specification
) -> TournamentSpec:
    """A specification from shipped games or rulesheet files, and from players as `parse_player` reads them.

    Rulesheets are relative to the current folder, everything else to `base`. Names that are not given are made
    unique; the tournament is called after its games and its seed is drawn, unless they are among the other fields of
    the specification. Where a field is wrong, SettingsError names it as it is `called` by the user.
    """
    rules = [text.strip() for text in games]
    chosen = [
        {"rules": text, "name": name} for text, name in zip(rules, _unique([*map(game_name, rules)]), strict=True)
    ]
    addresses = [parse_player(text.strip()) for text in players]
    names = _names(addresses)
    given = {
        "name": "-".join(dict.fromkeys(map(game_name, rules)))[:LONGEST_NAME] or "tournament",
        "seed": draw_seed(),
        **fields,
        "games": chosen,
        "players": [_player(address, name) for address, name in zip(addresses, names, strict=True)],
    }
    try:
        spec = TournamentSpec.model_validate(given)
    except ValidationError as error:
        place, message = first_mistake(error)
        raise SettingsError(f"{called(place)}: {message}") from None
    return placed(spec, base, rules_base=Path.cwd())


def parse_sprt(text: str) -> SprtSpec:
    """`elo0=0,elo1=20`, perhaps with alpha and beta."""
    fields: dict[str, float] = {}
    for part in text.split(","):
        name, _, number = part.partition("=")
        try:
            fields[name.strip()] = float(number)
        except ValueError:
            raise SettingsError(f"--sprt {text}: {part!r} is no NAME=NUMBER") from None
    try:
        return SprtSpec.model_validate(fields)
    except ValidationError as error:
        place, message = first_mistake(error)
        if place[:1] not in [(name,) for name in SprtSpec.model_fields]:
            message = f"there is no such field; the fields are {', '.join(SprtSpec.model_fields)}"
        raise SettingsError(f"--sprt {text}: {field_text(place)}: {message}") from None


def _player(address: PlayerAddress, name: str) -> dict[str, Any]:
    if address.is_bot:
        return {"name": name, "bot": address.place}
    return {"name": name, "url": address.place, "dialect": address.dialect}


def _names(addresses: Sequence[PlayerAddress]) -> list[str]:
    """Those that were given as they are; the others made unique."""
    given = [address.name[:LONGEST_NAME].strip() if _has_own_name(address) else "" for address in addresses]
    others = [_default_name(address) for address, own in zip(addresses, given, strict=True) if not own]
    unique = iter(_unique(others, given))
    return [own or next(unique) for own in given]


def _has_own_name(address: PlayerAddress) -> bool:
    return address.name not in ("", _default_name(address))


def _default_name(address: PlayerAddress) -> str:
    plugin = parse_plugin(address.place) if address.is_bot else None
    name = plugin.name if plugin is not None else address.place if address.is_bot else host_of(address.place)
    return name[:LONGEST_NAME].strip()


def _unique(names: Sequence[str], others: Sequence[str] = ()) -> list[str]:
    """The same with -2, -3, … appended where a name is taken; the numbered ones differ from the others, too."""
    unique: list[str] = []
    taken = {*names, *others}
    for name in names:
        number, new = 1, name
        while new in unique or (number > 1 and new in taken):
            number += 1
            new = f"{name[: LONGEST_NAME - 5]}-{number}"
        unique.append(new)
    return unique

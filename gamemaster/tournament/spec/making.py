"""What a command line says → a specification."""

import re
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gamemaster.player import PlayerAddress, parse_player
from gamemaster.tournament.spec.models import LONGEST_NAME, SprtSpec, TournamentSpec, game_name
from gamemaster.tournament.spec.reading import field_text, first_mistake, placed
from ggp.errors import SettingsError


def new_spec(games: Sequence[str], players: Sequence[str], base: Path, **fields: Any) -> TournamentSpec:  # noqa: ANN401
    """A specification from shipped games or rulesheet files, and from players as `parse_player` reads them.

    Rulesheets are relative to the current folder, everything else to `base`. Names are made unique; the tournament is
    called after its games and its seed is drawn, unless they are among the other fields of the specification. Where a
    field is wrong, SettingsError names it as an option.
    """
    rules = [text.strip() for text in games]
    chosen = [
        {"rules": text, "name": name} for text, name in zip(rules, _unique([*map(game_name, rules)]), strict=True)
    ]
    addresses = [parse_player(text.strip()) for text in players]
    names = _unique([_name(address) for address in addresses])
    given = {
        "name": "-".join(dict.fromkeys(map(game_name, rules)))[:LONGEST_NAME] or "tournament",
        "seed": secrets.randbits(32),
        **fields,
        "games": chosen,
        "players": [_player(address, name) for address, name in zip(addresses, names, strict=True)],
    }
    try:
        spec = TournamentSpec.model_validate(given)
    except ValidationError as error:
        place, message = first_mistake(error)
        raise SettingsError(f"{_option(place)}: {message}") from None
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


def _name(address: PlayerAddress) -> str:
    name = address.name or re.sub(r"^http://|/$", "", address.place)
    return name[:LONGEST_NAME].strip()


def _unique(names: Sequence[str]) -> list[str]:
    """The same with -2, -3, … appended where a name is taken."""
    unique: list[str] = []
    taken = set(names)
    for name in names:
        number, new = 1, name
        while new in unique or (number > 1 and new in taken):
            number += 1
            new = f"{name[: LONGEST_NAME - 5]}-{number}"
        unique.append(new)
    return unique


def _option(place: tuple[str | int, ...]) -> str:
    """`--players` for whatever is wrong with a player, `--playclock` for that of the matches."""
    names = [str(part) for part in place if isinstance(part, str)]
    if names[:1] in (["games"], ["players"]):
        del names[1:]
    return "--" + "-".join(names[1:] if names[:1] == ["match"] and names[1:] else names).replace("_", "-")

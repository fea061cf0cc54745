"""Small tournaments for tests: their specifications, and rulesheets in files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from gamemaster.tournament.spec import TournamentSpec
from tests.gamemaster import games

Given: TypeAlias = str | Mapping[str, Any]  # a player

CLOCKS = {"startclock": 5, "playclock": 5, "grace": 1.0}
RULES = {"countdown": games.COUNTDOWN, "guessing": games.GUESSING, "dice": games.DICE, "stuck": games.STUCK}
RULES |= {f"unanswered-{when.replace(' ', '-')}": text for when, text in games.UNANSWERED.items()}


def spec(
    folder: Path,
    game_names: Sequence[str],
    players: Sequence[Given],
    **fields: Any,  # noqa: ANN401
) -> TournamentSpec:
    """Bots are given by their names, and `a=legal` is one that is called a; all paths are below the folder."""
    fields = {"name": "event", "seed": 7, "match": CLOCKS, **fields}
    fields["results"] = {"store": str(folder / "event.sqlite"), **fields.get("results", {})}
    return TournamentSpec.model_validate(
        {
            **fields,
            "games": [{"rules": rules(folder, name), "name": name} for name in game_names],
            "players": [_player(player) for player in players],
        }
    )


def rules(folder: Path, name: str) -> str:
    """A shipped game, or the path of a small rulesheet."""
    if name not in RULES:
        return name
    path = folder / f"{name}.kif"
    path.write_text(RULES[name], encoding="utf-8")
    return str(path)


def _player(player: Given) -> Mapping[str, Any]:
    if not isinstance(player, str):
        return player
    name, _, bot = player.rpartition("=")
    return {"name": name or bot, "bot": bot}

"""Matches between scripted players in virtual time, with their records in files."""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from gamemaster.match import Event, run_match
from gamemaster.player import Player
from gamemaster.record import MatchRecord, RecordWriter, read_record
from gamemaster.replay import replay
from gamemaster.settings import make_settings
from ggp.game import Game
from ggp.protocol.messages import Dialect
from tests.gamemaster.scripted import ScriptedPlayer
from tests.gamemaster.virtual_time import run

DEFAULTS: dict[str, Any] = {"startclock": 10, "playclock": 5, "grace": 1.0, "seed": 7}


async def play(
    game: Game,
    players: Mapping[str, ScriptedPlayer],
    folder: Path,
    *,
    events: list[Event] | None = None,
    dialect: Dialect = Dialect.GGP_BASE,
    **settings: object,
) -> MatchRecord:
    """The record of a match between listening players; the file is checked to say the same."""
    writer = RecordWriter(folder / "record.json")
    takers = {role: Player(role, f"player of {role}", player.url, dialect=dialect) for role, player in players.items()}
    listen = (events if events is not None else []).append
    record = await run_match(game, takers, make_settings(**DEFAULTS | settings), "match-1", writer.write, listen)
    assert read_record(writer.path) == record
    return record


def play_match(
    game: Game,
    players: Mapping[str, ScriptedPlayer],
    folder: Path,
    *,
    events: list[Event] | None = None,
    dialect: Dialect = Dialect.GGP_BASE,
    **settings: object,
) -> MatchRecord:
    """A whole match in virtual time, its record replayed."""

    async def whole() -> MatchRecord:
        async with AsyncExitStack() as stack:
            for player in players.values():
                await stack.enter_async_context(player)
            return await play(game, players, folder, events=events, dialect=dialect, **settings)

    record = run(whole())
    states = tuple(replay(record))
    assert len(states) == len(record.steps) + 1
    return record

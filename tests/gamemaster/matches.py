"""Matches between scripted players in virtual time, with their records in files."""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from gamemaster.concurrency import in_daemon_thread
from gamemaster.match import Event, run_match
from gamemaster.player import Player
from gamemaster.record import MatchRecord, RecordWriter, read_record
from gamemaster.referee import (
    Answer,
    Executed,
    GoesOn,
    MoveChoice,
    Outcome,
    Referee,
    RefereedGame,
    Situation,
    Verdict,
)
from gamemaster.replay import replay
from gamemaster.settings import MatchSettings, make_settings
from ggp.game import Game
from ggp.gdl.state_machine import Facts
from ggp.protocol.messages import Dialect
from tests.gamemaster.scripted import ScriptedPlayer
from tests.gamemaster.virtual_time import run

DEFAULTS: dict[str, Any] = {"startclock": 10, "playclock": 5, "grace": 1.0, "seed": 7}


class ThreadRules:
    """Rules in a thread of this process: virtual time stands still while it works, and would not for a process."""

    def __init__(self, game: Game) -> None:
        self.game = RefereedGame(game.name, game.rulesheet, game.roles, game.engine, game.fallback)
        self._machine = game.machine
        self._referee = Referee(game.rulesheet, game.machine, MatchSettings())
        self._choice: MoveChoice | None = None
        self._state: Facts | None = None

    async def begin(self, settings: MatchSettings) -> GoesOn | Outcome:
        self._referee = Referee(self.game.rulesheet, self._machine, settings)
        return self._told(await in_daemon_thread(self._referee.begin))

    async def execute(self, answers: Mapping[str, Answer]) -> tuple[Executed | None, GoesOn | Outcome]:
        choice = self._choice
        assert choice is not None
        executed, following = await in_daemon_thread(lambda: self._referee.execute(choice, answers))
        return executed, self._told(following)

    async def conclude(self, verdict: Verdict) -> Outcome:
        assert self._state is not None
        return self._referee.conclude(self._state, verdict)

    def _told(self, situation: Situation) -> GoesOn | Outcome:
        self._choice = situation if isinstance(situation, MoveChoice) else None
        self._state = situation.state
        return GoesOn(situation.step, situation.state) if isinstance(situation, MoveChoice) else situation


async def play(
    game: Game,
    players: Mapping[str, ScriptedPlayer],
    folder: Path,
    *,
    events: list[Event] | None = None,
    dialect: Dialect = Dialect.GGP_BASE,
    increments: Mapping[str, int] | None = None,
    **settings: object,
) -> MatchRecord:
    """The record of a match between listening players; the file is checked to say the same."""
    writer = RecordWriter(folder / "record.json")
    takers = {
        role: Player(role, f"player of {role}", player.url, dialect=dialect, increment=(increments or {}).get(role))
        for role, player in players.items()
    }
    listen = (events if events is not None else []).append
    record = await run_match(
        ThreadRules(game), takers, make_settings(**DEFAULTS | settings), "match-1", writer.write, listen
    )
    assert read_record(writer.path) == record
    return record


def play_match(
    game: Game,
    players: Mapping[str, ScriptedPlayer],
    folder: Path,
    *,
    events: list[Event] | None = None,
    dialect: Dialect = Dialect.GGP_BASE,
    increments: Mapping[str, int] | None = None,
    **settings: object,
) -> MatchRecord:
    """A whole match in virtual time, its record replayed."""

    async def whole() -> MatchRecord:
        async with AsyncExitStack() as stack:
            for player in players.values():
                await stack.enter_async_context(player)
            return await play(game, players, folder, events=events, dialect=dialect, increments=increments, **settings)

    record = run(whole())
    states = tuple(replay(record))
    assert len(states) == len(record.steps) + 1
    return record

"""A specification tried out before it runs: its games, its bots, and the players elsewhere."""

import asyncio
import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from gamemaster.bots import start_bot
from gamemaster.faults import Fault
from gamemaster.settings import MatchSettings
from gamemaster.tournament.schedule import Schedule
from gamemaster.tournament.spec import PlayerSpec, TournamentSpec, check_spec, read_spec
from gamemaster.tournament.workshop import Workshop, settings_of
from gamemaster.transport import Question, ask_all, open_session
from ggp.errors import SettingsError
from ggp.protocol.messages import Info, format_message

EXIT_BAD = 1


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of a player."""

    player: str
    place: str  # the URL or the name of the bot
    is_good: bool
    what: str


def check(file: Path, *, as_json: bool) -> int:
    """Checks as `ggp tournament check` describes; the exit code."""
    spec = read_spec(file)
    schedule = Schedule(spec, check_spec(spec, file))
    tried = asyncio.run(_try_all(spec))
    remarks = _remarks(spec)
    if as_json:
        facts = {"name": spec.name, "matches": schedule.expected, "remarks": remarks}
        sys.stdout.write(json.dumps({**facts, "players": [asdict(each) for each in tried]}, indent=2) + "\n")
    else:
        games = ", ".join(game.name for game in spec.games)
        lines = [f"{spec.name}: {spec.format}, {len(spec.players)} players, {schedule.expected} matches of {games}"]
        lines += [f"  {each.player}: {each.place}: {each.what}" for each in tried]
        sys.stdout.write("\n".join([*lines, *remarks]) + "\n")
    return 0 if all(each.is_good for each in tried) else EXIT_BAD


async def _try_all(spec: TournamentSpec) -> list[Tried]:
    """Bots one after the other, so that each has the processors for itself."""
    tried = {player.name: await _try_bot(player) for player in spec.players if player.bot is not None}
    settings = MatchSettings()
    questions = {
        player.name: Question(
            player.address.place,
            player.name,
            format_message(Info(), player.dialect),
            settings.info_wait,
            settings.max_answer_bytes,
        )
        for player in spec.players
        if player.url is not None
    }
    async with open_session() as session:
        replies = await ask_all(session, questions)
    for name, reply in replies.items():
        is_there = not isinstance(reply.answer, Fault) or reply.answer.kind != "unreachable"
        what = reply.answer.detail if isinstance(reply.answer, Fault) else f"answers within {reply.seconds:.2f} s"
        tried[name] = Tried(name, questions[name].url, is_there, what if is_there else f"does not answer: {what}")
    return [tried[player.name] for player in spec.players]


async def _try_bot(player: PlayerSpec) -> Tried:
    """SettingsError for one that cannot be started."""
    assert player.bot is not None
    began = time.monotonic()
    try:
        bot = await start_bot(player.bot, 0, settings_of(player))
    except SettingsError as error:
        raise SettingsError(f"{player.name}: {error}") from None
    seconds = time.monotonic() - began
    await bot.stop()
    return Tried(player.name, player.bot, is_good=True, what=f"starts within {seconds:.1f} s")


def _remarks(spec: TournamentSpec) -> list[str]:
    """What the user may not expect of the processors."""
    threads = sum(player.threads for player in spec.players if player.bot is not None)
    room = Workshop(spec, lambda _: None)
    most = max((player.threads for player in spec.players if player.bot is not None), default=0)
    if most > room.processors:
        return [f"a bot needs {most} processors and there are {room.processors}: it gets less time than the clock says"]
    if threads > room.processors == 1:
        return ["there is one processor: bots of one match share it"]
    return []

"""Those who play against people, or each other: bots that the service starts, and players that run elsewhere."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

from gamemaster.bots import Bot as Process
from gamemaster.bots import all_players, start_bot, stop_all
from gamemaster.player import Player, parse_player
from gamemaster.settings import derived
from gamemaster.web.live import Order
from gamemaster.web.models import Bot, Remote
from gamemaster.web.seats import Hurried
from ggp.errors import SettingsError

_MEMORY = 256  # MiB of a bot that searches


@asynccontextmanager
async def opponents(order: Order, seed: int) -> AsyncIterator[dict[str, Player]]:
    """Role → player, with all bots listening; they are stopped again however the block ends.

    SettingsError when one does not start. Bots that play against people do not think while these do: that may be long.
    """
    processes: list[Process] = []
    settings = {"memory": _MEMORY, "ponder": not order.has_people}
    try:
        yield await all_players(
            {
                role: _player(role, taker, derived(seed, "bot", role), settings, processes)
                for role, taker in order.players.items()
                if isinstance(taker, Bot | Remote)
            }
        )
    finally:
        await stop_all(processes)


async def _player(
    role: str, taker: Bot | Remote, seed: int, settings: Mapping[str, object], processes: list[Process]
) -> Player | SettingsError:
    if isinstance(taker, Remote):
        place = parse_player(taker.url)
        return Player(role, taker.name, place.place, dialect=place.dialect)
    try:
        process = await start_bot(taker.bot, seed, settings)
    except SettingsError as error:
        return error
    processes.append(process)
    return Player(role, taker.name or taker.bot, process.url, taker.bot, seed)


def hurried(order: Order, players: Mapping[str, Player]) -> dict[str, Hurried]:
    """The bots that are told another clock than the match has."""
    if order.think is None or not order.has_people or order.think >= order.playclock:
        return {}
    return {
        role: Hurried(player.url, min(order.startclock, order.think), order.think)
        for role, player in players.items()
        if player.bot is not None
    }


def at_urls(players: Mapping[str, Player], urls: Mapping[str, str]) -> dict[str, Player]:
    """The players at other URLs, where they have some."""
    return {role: replace(player, url=urls.get(role, player.url)) for role, player in players.items()}

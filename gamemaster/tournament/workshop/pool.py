"""The bots of a tournament: started when they are needed, kept for the next match, watched, and all stopped at last."""

import asyncio
from collections.abc import Callable, Collection
from typing import TypeAlias

from gamemaster.bots import Bot, start_bot
from gamemaster.tournament.spec import PlayerSpec
from ggp.errors import SettingsError

Tell: TypeAlias = Callable[[str], None]  # what a person may want to know, in a line

MOST_IDLE = 32  # bots that are kept though no match needs them now
DEATH_WAIT = 0.5  # seconds in which we hear of a bot that has just ended, before it is stopped


class Pool:
    """Processes of bots by the names of their players; a player has as many as it plays matches at a time."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._idle: list[tuple[str, Bot]] = []  # the one that was used last at the end
        self._watches: dict[Bot, asyncio.Task[None]] = {}  # of every bot that was started and not stopped
        self._stops: set[asyncio.Task[None]] = set()

    @property
    def bots(self) -> tuple[Bot, ...]:
        """Those that were started and not stopped."""
        return tuple(self._watches)

    async def take(self, player: PlayerSpec, seed: int, processors: Collection[int] | None) -> Bot:
        """A bot that will play its next match by this seed, on these processors only where some are given.

        SettingsError when none can be started.
        """
        assert player.bot is not None
        while (bot := self._take_idle(player.name)) is not None:
            if processors is not None:
                bot.pin(processors)
            if await self._reseed(bot, seed):
                return bot
            self._stop(bot, DEATH_WAIT)
        try:
            bot = await start_bot(player.bot, seed, settings_of(player), processors)
        except SettingsError as error:
            raise SettingsError(f"{player.name}: {error}") from None
        self._watches[bot] = asyncio.create_task(self._watch(player.name, bot))
        return bot

    def give_back(self, player: PlayerSpec, bot: Bot, *, is_sound: bool) -> None:
        """Keeps a bot for another match; one that is not sound is stopped."""
        if not is_sound or not bot.is_alive:
            self._stop(bot, DEATH_WAIT)
            return
        bot.forget_log()
        self._idle.append((player.name, bot))
        while len(self._idle) > MOST_IDLE:
            self._stop(self._idle.pop(0)[1])

    async def close(self) -> None:
        """Stops all bots."""
        for bot in self.bots:
            self._stop(bot)
        self._idle.clear()
        await asyncio.gather(*self._stops)

    def _take_idle(self, name: str) -> Bot | None:
        for index in reversed(range(len(self._idle))):
            if self._idle[index][0] == name:
                return self._idle.pop(index)[1]
        return None

    async def _reseed(self, bot: Bot, seed: int) -> bool:
        try:
            return await bot.reseed(seed)
        except asyncio.CancelledError:
            self._stop(bot)
            raise

    async def _watch(self, name: str, bot: Bot) -> None:
        """Says when a bot ends by itself; whoever needs one then gets another."""
        why = await bot.ended()
        self._idle = [(other, idle) for other, idle in self._idle if idle is not bot]
        self._tell(f"the bot of {name} {why}; it is started again when it is needed")

    def _stop(self, bot: Bot, wait: float = 0.0) -> None:
        """Stops a bot, when it has not ended by itself after so many seconds."""
        watch = self._watches.pop(bot, None)
        if watch is None:
            return
        task = asyncio.create_task(_stopped(bot, watch, wait))
        self._stops.add(task)
        task.add_done_callback(self._stops.discard)


async def _stopped(bot: Bot, watch: asyncio.Task[None], wait: float) -> None:
    try:
        if wait:
            await asyncio.wait([watch], timeout=wait)
    finally:
        watch.cancel()
        await bot.stop()


def settings_of(player: PlayerSpec) -> dict[str, object]:
    """The settings file of a bot."""
    return {"name": player.name, "threads": player.threads, **player.settings}

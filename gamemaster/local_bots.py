"""Bots of matches that run within one program, such as the web service: players within the process of the game master.

They speak the protocol by the in-process transport. Each thinks in a process of its own, which a fork server makes; a
function or class that exists only here thinks in threads. This is the only module of the game master that imports
`players`.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from gamemaster.player import Player
from gamemaster.settings import derived
from ggp.errors import SettingsError
from ggp.settings import check
from players.custom import check_shape, make_custom
from players.player import GamePlayer, MonotonicClock
from players.settings import PlayerSettings, is_custom
from players.threads import in_threads
from players.worker import ForkServer, Hear, Lost, MakeWorker, MatchWorker

BEGIN_WAIT = 30.0  # seconds for the module of a user's strategy to be imported
_MEMORY = 256  # MiB of the tree of a bot that searches
_WITH_KERNELS = "mcts"  # the strategy that needs them
_WITHOUT = "legal"  # one of those that do not


@dataclass(frozen=True, slots=True)
class LocalBot:
    """A bot that plays a role here."""

    strategy: str  # its name, or `FILE.py:NAME`
    name: str = ""  # of the player; that of the bot where it is empty
    label: str = ""  # what records call the bot; the strategy where it is empty
    made: object | None = None  # a function or class in place of the strategy, which then only names it
    memory: int = _MEMORY  # MiB

    def __post_init__(self) -> None:
        check(PlayerSettings, {"memory": self.memory})
        if self.made is not None:
            check_shape(self.made, self.strategy)


class Bots:
    """Makes the players of all matches here; used in the event loop.

    Two fork servers make the processes in which they think, each from its first match to the end of the service. One
    has loaded the kernels. The other one has not: it is there within a second, and takes the place of the first until
    that is ready. A search that begins there plays by the interpreter while it loads the kernels itself, or another
    process compiles them, so no match waits for them. Each user's strategy has a fork server that has imported it.
    """

    def __init__(self) -> None:
        self._plain = ForkServer(_WITHOUT)
        self._loaded = ForkServer(_WITH_KERNELS)
        self._custom: dict[str, ForkServer] = {}  # by strategy
        self._is_closed = False

    def start(self, *, kernels: bool = False) -> None:
        """Starts one fork server, or both where kernels are wanted; SettingsError where that cannot be."""
        if self._is_closed:
            raise SettingsError("the service is being stopped")
        try:
            self._plain.start()
            if kernels:
                self._loaded.start()
        except OSError as error:
            raise SettingsError(f"no process for bots can be started: {error.strerror or error}") from None

    async def prepare(self, strategy: str) -> None:
        """Imports a user's strategy, once; SettingsError with the reason where it cannot be used."""
        server = self._custom.setdefault(strategy, ForkServer(strategy))
        try:
            async with asyncio.timeout(BEGIN_WAIT):
                await server.prepare()
        except TimeoutError:
            server.close()
            raise SettingsError(f"{strategy} was not imported within {BEGIN_WAIT:g} s") from None
        except OSError as error:
            raise SettingsError(f"no process for bots can be started: {error.strerror or error}") from None

    @asynccontextmanager
    async def playing(
        self,
        wanted: Mapping[str, LocalBot],
        seed: int,
        *,
        clocks: tuple[int, int] | None = None,
        ponder: bool = True,
        waits: bool = False,
    ) -> AsyncIterator[dict[str, Player]]:
        """Role → player, which takes START at once; they forget the match however the block ends.

        clocks: startclock and playclock that they keep, where not those of the match; waits: for kernels, which may
        have to be compiled. SettingsError when no process can be started, or a user's strategy cannot be used.
        """
        needs_kernels = any(bot.strategy == _WITH_KERNELS for bot in wanted.values())
        self.start(kernels=needs_kernels)
        if needs_kernels and waits:
            await self._loaded.prepare()
        await self._plain.prepare()
        made: list[GamePlayer] = []
        players: dict[str, Player] = {}
        move_time = 0.0 if clocks is None else float(clocks[1])
        try:
            for role, bot in wanted.items():
                bot_seed = derived(seed, "bot", role)
                settings = PlayerSettings(
                    bot.strategy, "", bot_seed, move_time=move_time, ponder=ponder, memory=bot.memory
                )
                player = GamePlayer(settings, MonotonicClock(), await self._maker(bot))
                made.append(player)
                label = bot.label or bot.strategy
                players[role] = Player(
                    role, bot.name or label, bot=label, bot_seed=bot_seed, local=player, clocks=clocks
                )
            yield players
        finally:
            for player in made:
                player.close()

    def close(self) -> None:
        """Ends all processes at once; none is started any more."""
        self._is_closed = True
        for server in (self._plain, self._loaded, *self._custom.values()):
            server.close()

    async def _maker(self, bot: LocalBot) -> MakeWorker:
        if bot.made is not None:
            return in_threads(make_custom(bot.made, bot.strategy))
        if is_custom(bot.strategy):
            await self.prepare(bot.strategy)
            return self._custom[bot.strategy].worker
        return self._worker_with_kernels if bot.strategy == _WITH_KERNELS else self._plain.worker

    def _worker_with_kernels(self, hear: Hear, lost: Lost) -> MatchWorker:
        self._loaded.start()  # again, where it has ended
        return (self._loaded if self._loaded.is_ready else self._plain).worker(hear, lost)

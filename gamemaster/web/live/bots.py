"""The bots of pages: players of this process, which think in processes of their own and are called without HTTP.

Nothing else in the game master imports `players`.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from gamemaster.player import Player
from gamemaster.settings import derived
from gamemaster.web.models import Bot
from ggp.errors import SettingsError
from players.player import GamePlayer, MonotonicClock
from players.settings import PlayerSettings
from players.worker import ForkServer, Hear, Lost, Worker

_MEMORY = 256  # MiB of the tree of a bot that searches
_WITH_KERNELS = "mcts"  # the strategy that needs them
_WITHOUT = "legal"  # one of those that do not


class Bots:
    """Makes the players of all matches here; used in the event loop.

    Two fork servers make the processes in which they think, each from its first match to the end of the service. One
    has loaded the kernels. The other one has not: it is there within a second, and takes the place of the first until
    that is ready. A search that begins there plays by the interpreter while it loads the kernels itself, or another
    process compiles them, so no match waits for them.
    """

    def __init__(self) -> None:
        self._plain = ForkServer(_WITHOUT)
        self._loaded = ForkServer(_WITH_KERNELS)
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

    @asynccontextmanager
    async def playing(
        self, wanted: Mapping[str, Bot], seed: int, *, clocks: tuple[int, int] | None, ponder: bool
    ) -> AsyncIterator[dict[str, Player]]:
        """Role → player, which takes START at once; they forget the match however the block ends.

        clocks: startclock and playclock that they keep, where not those of the match. SettingsError when no process can
        be started.
        """
        self.start(kernels=any(bot.bot == _WITH_KERNELS for bot in wanted.values()))
        await self._plain.prepare()
        made: list[GamePlayer] = []
        players: dict[str, Player] = {}
        try:
            for role, bot in wanted.items():
                bot_seed, move_time = derived(seed, "bot", role), 0.0 if clocks is None else float(clocks[1])
                settings = PlayerSettings(bot.bot, "", bot_seed, move_time=move_time, ponder=ponder, memory=_MEMORY)
                make_worker = self._worker_with_kernels if bot.bot == _WITH_KERNELS else self._plain.worker
                player = GamePlayer(settings, MonotonicClock(), make_worker)
                made.append(player)
                name = bot.name or bot.bot
                players[role] = Player(role, name, bot=bot.bot, bot_seed=bot_seed, local=player, clocks=clocks)
            yield players
        finally:
            for player in made:
                player.close()

    def close(self) -> None:
        """Ends all processes at once; none is started any more."""
        self._is_closed = True
        self._plain.close()
        self._loaded.close()

    def _worker_with_kernels(self, hear: Hear, lost: Lost) -> Worker:
        self._loaded.start()  # again, where it has ended
        return (self._loaded if self._loaded.is_ready else self._plain).worker(hear, lost)

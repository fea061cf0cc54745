"""Bots of `ggp match` and of tournaments: players that are started as subprocesses on free ports of this computer.

Those of pages are players within the service (`gamemaster.local_bots`).
"""

import asyncio
import json
import os
import re
import signal
import sys
import tempfile
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TypeAlias

from gamemaster.concurrency import all_of
from gamemaster.faults import shown
from gamemaster.player import Player, PlayerAddress
from gamemaster.settings import derived
from ggp.errors import SettingsError
from ggp.plugins import parse_plugin

Tell: TypeAlias = Callable[[str], None]  # takes a line that a person may want to read

HOST = "127.0.0.1"
THOUGHTLESS = frozenset({"legal", "random"})  # bots that need no processor to themselves
START_WAIT = 30.0  # seconds for a bot to listen, or to say on standard error how far it has come
LOOK_EVERY = 0.5  # seconds between two looks at what it says
SEED_WAIT = 5.0  # seconds for a bot to take a seed
STOP_WAIT = 2.0  # seconds for a bot to end when told to, before it is killed
MOST_LINES = 20  # of what a user's strategy wrote in a match that are shown to its author
LONGEST_LOG = 2**20  # bytes of what a bot wrote to its standard error, beyond which it is thrown away


class Bot:
    """A bot that listens, until it is told to stop. It also ends by itself when the game master dies."""

    def __init__(self, process: Process, port: int, errors: IO[bytes]) -> None:
        self._process = process
        self._errors = errors
        self._read = os.fstat(errors.fileno()).st_size  # bytes of its log that were shown, or are not worth it
        self.pid = process.pid
        self.url = f"http://{HOST}:{port}/"

    @property
    def is_alive(self) -> bool:
        return self._process.returncode is None

    async def reseed(self, seed: int) -> bool:
        """Gives it the seed of its next match; false when it does not take it, so that it is of no use any more."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(SEED_WAIT):
                self._process.stdin.write(f'{{"seed": {seed}}}\n'.encode())
                await self._process.stdin.drain()
                return bool(json.loads(await self._process.stdout.readline()) == {"seed": seed})
        except (OSError, TimeoutError, ValueError):
            return False

    def pin(self, processors: Collection[int]) -> None:
        """Lets it run on these processors only, where the system can do that; in vain when it has just ended."""
        pin_process(self.pid, processors)

    async def ended(self) -> str:
        """Waits until it ends by itself; why it did, in its own words where it said something."""
        code = await self._process.wait()
        how = f"ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        said = _last_line(self._errors)
        return f"{how}: {said}" if said else how

    def news(self) -> list[str]:
        """What a bot with a user's strategy has written since it was asked before: some lines, without line ends."""
        data = os.pread(self._errors.fileno(), LONGEST_LOG, self._read)
        self._read += len(data)
        lines = [shown(line) for line in data.decode(errors="replace").split("\n") if line.strip()]
        more = len(lines) - MOST_LINES
        return [*lines[:MOST_LINES], *([f"and {more} lines more"] if more > 0 else [])]

    def forget_log(self) -> None:
        """Throws away what it wrote to standard error, when that has become long."""
        if os.fstat(self._errors.fileno()).st_size > LONGEST_LOG:
            self._errors.seek(0)  # also where the bot goes on to write
            self._errors.truncate()
            self._read = 0

    async def stop(self) -> None:
        try:
            await _stop(self._process)
        finally:
            self._errors.close()


async def start_bot(
    strategy: str,
    seed: int,
    settings: Mapping[str, object] | None = None,
    processors: Collection[int] | None = None,
    tell: Tell = lambda _: None,
) -> Bot:
    """A bot that listens; SettingsError with what it said when it does not start.

    `settings` are those of a player's settings file. It runs on the processors only, if some are given. `tell` hears
    how far it has come: the first time that it runs on a computer, a bot that searches compiles for minutes.
    """
    errors = tempfile.TemporaryFile()  # noqa: SIM115 - the bot's as long as it lives
    process: Process | None = None
    try:
        with _settings_file(settings or {}) as (options, files):
            command = [*_command(strategy, seed), *options]
            process = await asyncio.create_subprocess_exec(
                *command, stdin=PIPE, stdout=PIPE, stderr=errors, start_new_session=True, pass_fds=files
            )
        if processors is not None:
            pin_process(process.pid, processors)
        port = await _announced_port(process, _Preparation(errors, tell))
        if port is None:
            raise SettingsError(f"player {strategy!r} did not start: {_complaint(errors, options)}")
    except BaseException as error:
        if process is not None:
            await _stop(process)
        errors.close()
        if isinstance(error, OSError):
            raise SettingsError(f"player {strategy!r} did not start: {error.strerror or error}") from None
        raise
    return Bot(process, port, errors)


@asynccontextmanager
async def players_at(
    addresses: Mapping[str, PlayerAddress], seed: int, tell: Tell = lambda _: None, warn: Tell = lambda _: None
) -> AsyncIterator[dict[str, Player]]:
    """Role → player, with all bots listening; they are stopped again however the block ends.

    SettingsError with what the bot said when one does not start; `tell` as for `start_bot`. `warn` hears at the end
    what users' strategies have said. A bot also ends by itself when the game master dies: its standard input ends then.
    """
    bots: dict[str, Bot] = {}  # by their roles
    try:
        yield await _all_players({
            role: _player(role, address, derived(seed, "bot", role), bots, tell) for role, address in addresses.items()
        })  # fmt: skip
    finally:
        for role, bot in bots.items():
            if is_custom(addresses[role].place):
                tell_news(bot, addresses[role].name, warn)
        await _stop_all(bots.values())


async def _all_players(made: Mapping[str, Coroutine[Any, Any, Player | SettingsError]]) -> dict[str, Player]:
    """Role → player, made at the same time; SettingsError when one could not be, after all have been tried."""
    players: dict[str, Player] = {}
    for role, player in (await all_of(made)).items():
        if isinstance(player, SettingsError):
            raise player
        players[role] = player
    return players


async def _stop_all(bots: Collection[Bot]) -> None:
    """Stops them all at once."""
    async with asyncio.TaskGroup() as group:
        for bot in bots:
            group.create_task(bot.stop())


def pin_process(pid: int, processors: Collection[int]) -> None:
    """Lets a process and its children, with all threads, run on these processors only, where the system can do that."""
    if not hasattr(os, "sched_setaffinity"):
        return
    pinned: set[int] = set()
    with suppress(OSError):  # it has ended, or the system does not let us
        while remaining := _threads(pid) - pinned:  # one that was born meanwhile may not have heard of it
            for thread in remaining:
                with suppress(ProcessLookupError):
                    os.sched_setaffinity(thread, processors)
            pinned |= remaining


def _threads(pid: int) -> set[int]:
    """Of a process and of all that descend from it."""
    folder = Path(f"/proc/{pid}/task")
    found = {pid}
    with suppress(OSError):  # it has ended meanwhile
        for task in folder.iterdir():
            found.add(int(task.name))
            for child in (task / "children").read_text(encoding="ascii").split():
                found |= _threads(int(child))
    return found


def is_custom(bot: str) -> bool:
    """Whether a bot plays by a user's own strategy, such as `my_bot.py:Cautious`."""
    return parse_plugin(bot) is not None


def tell_news(bot: Bot, name: str, tell: Tell) -> None:
    """Tells what a user's strategy has said, by the name of its player: its author wants to see it."""
    for line in bot.news():
        tell(f"{name}: {line}")


async def _player(
    role: str, address: PlayerAddress, seed: int, bots: dict[str, Bot], tell: Tell
) -> Player | SettingsError:
    if not address.is_bot:
        return Player(role, address.name, address.place, dialect=address.dialect)
    try:
        bot = await start_bot(address.place, seed, tell=lambda said: tell(f"{address.name}: {said}"))
    except SettingsError as error:
        return error
    bots[role] = bot
    return Player(role, address.name, bot.url, address.place, seed, address.dialect)


def _command(bot: str, seed: int) -> list[str]:
    # -P: a file `players.py` or `random.py` in the current folder must not stand in for ours.
    command = [sys.executable, "-P", "-m", "players", bot, "--host", HOST, "--port", "0"]
    return [*command, "--announce", "--seed", str(seed)]


@contextmanager
def _settings_file(settings: Mapping[str, object]) -> Iterator[tuple[list[str], tuple[int, ...]]]:
    """Options that name a settings file, and its descriptor; it has no name in a folder, so that nothing is left."""
    if not settings:
        yield [], ()
        return
    lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in settings.items()]
    with tempfile.TemporaryFile() as file:
        file.write("".join(lines).replace("\x7f", "\\u007f").encode())
        file.seek(0)
        yield ["--settings", f"/dev/fd/{file.fileno()}"], (file.fileno(),)


class _Preparation:
    """What a bot writes to its standard error until it listens."""

    def __init__(self, errors: IO[bytes], tell: Tell) -> None:
        self._errors = errors
        self._tell = tell
        self._size = 0
        self._heard = time.monotonic()

    def goes_on(self) -> bool:
        """Whether it has begun, or has said something, not too long ago."""
        size = os.fstat(self._errors.fileno()).st_size
        if size != self._size:
            self._size, self._heard = size, time.monotonic()
            self._tell(_last_line(self._errors))
        return time.monotonic() < self._heard + START_WAIT


async def _announced_port(process: Process, preparation: _Preparation) -> int | None:
    """From the line `{"port": N}`; None when the bot ends or says something else, or nothing in time."""
    assert process.stdout is not None
    line = asyncio.ensure_future(process.stdout.readline())
    try:
        while not line.done() and preparation.goes_on():
            await asyncio.wait([line], timeout=LOOK_EVERY)
        announced = json.loads(line.result()) if line.done() else None
    except ValueError:
        return None
    finally:
        line.cancel()
    port = announced.get("port") if isinstance(announced, dict) else None
    return port if isinstance(port, int) else None


def _complaint(errors: IO[bytes], options: list[str]) -> str:
    """Why a bot did not start. The settings file was written here, so its name and lines mean nothing to the user."""
    said = _last_line(errors) or f"neither a port nor a word within {START_WAIT:g} s"
    return re.sub(rf"{re.escape(options[-1])}(, line \d+)?: ", "setting ", said) if options else said


def _last_line(errors: IO[bytes]) -> str:
    """The last line that a bot wrote to its standard error; empty when there is none."""
    data = os.pread(errors.fileno(), LONGEST_LOG, max(0, os.fstat(errors.fileno()).st_size - LONGEST_LOG))
    said = [shown(line) for line in data.decode(errors="replace").split("\n") if line.strip()]
    return re.sub(r"^(ggp|players): ", "", said[-1]) if said else ""


async def _stop(process: Process) -> None:
    assert process.stdin is not None
    process.stdin.close()
    _signal(process, signal.SIGTERM)
    try:
        async with asyncio.timeout(STOP_WAIT):
            await process.wait()
    except TimeoutError:
        pass
    finally:
        _signal(process, signal.SIGKILL)  # whatever is left of its group
    await process.wait()


def _signal(process: Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)

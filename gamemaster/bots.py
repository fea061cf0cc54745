"""Bots: players that the game master starts as subprocesses on free ports of this computer, and stops again."""

import asyncio
import json
import os
import re
import signal
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import IO

from gamemaster.faults import shown
from gamemaster.player import Player, PlayerAddress
from gamemaster.settings import derived
from ggp.errors import SettingsError

HOST = "127.0.0.1"
START_WAIT = 30.0  # seconds for a bot to listen
STOP_WAIT = 2.0  # seconds for a bot to end when told to, before it is killed


@asynccontextmanager
async def players_at(addresses: Mapping[str, PlayerAddress], seed: int) -> AsyncIterator[dict[str, Player]]:
    """Role → player, with all bots listening; they are stopped again however the block ends.

    SettingsError with what the bot said when one does not start. A bot also ends by itself when the game master dies,
    because its standard input ends.
    """
    processes: list[Process] = []
    try:
        async with asyncio.TaskGroup() as group:
            tasks = {
                role: group.create_task(_player(role, address, derived(seed, "bot", role), processes))
                for role, address in addresses.items()
            }
        players: dict[str, Player] = {}
        for role, task in tasks.items():
            player = task.result()
            if isinstance(player, SettingsError):
                raise player
            players[role] = player
        yield players
    finally:
        await _stop_all(processes)


async def _player(role: str, address: PlayerAddress, seed: int, processes: list[Process]) -> Player | SettingsError:
    if not address.is_bot:
        return Player(role, address.name, address.place, dialect=address.dialect)
    with tempfile.TemporaryFile() as errors:
        process = await asyncio.create_subprocess_exec(
            *_command(address.place, seed), stdin=PIPE, stdout=PIPE, stderr=errors, start_new_session=True
        )
        processes.append(process)
        port = await _announced_port(process)
        if port is None:
            return SettingsError(f"player {address.place!r} did not start: {await _complaint(process, errors)}")
    return Player(role, address.name, f"http://{HOST}:{port}/", address.place, seed, address.dialect)


def _command(bot: str, seed: int) -> list[str]:
    # -P: a file `players.py` or `random.py` in the current folder must not stand in for ours.
    command = [sys.executable, "-P", "-m", "players", bot, "--host", HOST, "--port", "0"]
    return [*command, "--announce", "--seed", str(seed)]


async def _announced_port(process: Process) -> int | None:
    """From the line `{"port": N}`; None when the bot ends or says something else, or nothing in time."""
    assert process.stdout is not None
    try:
        async with asyncio.timeout(START_WAIT):
            announced = json.loads(await process.stdout.readline())
    except (TimeoutError, ValueError):
        return None
    port = announced.get("port") if isinstance(announced, dict) else None
    return port if isinstance(port, int) else None


async def _complaint(process: Process, errors: IO[bytes]) -> str:
    """The last line that a bot wrote to its standard error."""
    await _stop(process)
    errors.seek(0)
    lines = errors.read().decode(errors="replace").split("\n")
    said = [shown(line) for line in lines if line.strip()]
    return re.sub(r"^(ggp|players): ", "", said[-1]) if said else f"no port announced within {START_WAIT:g} s"


async def _stop_all(processes: list[Process]) -> None:
    async with asyncio.TaskGroup() as group:
        for process in processes:
            group.create_task(_stop(process))


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

"""Runs the service of a player until it is told to stop."""

import asyncio
import gc
import json
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from threading import Thread

from aiohttp import web

from ggp.errors import SettingsError
from players.service import PLAYER, make_app
from players.settings import PlayerSettings
from players.tolerant import tolerant

SWITCH_INTERVAL = 0.001  # seconds for which a thinking thread may keep the event loop waiting each time
_KEEPALIVE = 60.0  # seconds after which a connection that asks nothing is closed

log = logging.getLogger(__name__)


@asynccontextmanager
async def listening(app: web.Application, host: str, port: int, max_bytes: int) -> AsyncIterator[int]:
    """Serves the application, tolerantly; yields the port. SettingsError when the address cannot be had."""
    runner = web.AppRunner(
        app, access_log=None, keepalive_timeout=_KEEPALIVE, shutdown_timeout=1.0, max_line_size=max_bytes
    )
    await runner.setup()
    make_protocol = runner.server
    assert make_protocol is not None
    try:
        loop = asyncio.get_running_loop()
        try:
            server = await loop.create_server(lambda: tolerant(make_protocol(), max_bytes), host, port)
        except OSError as error:
            reason = (error.strerror or str(error)).rpartition(": ")[2]  # asyncio says the address once more
            raise SettingsError(f"cannot listen on {host}, port {port}: {reason}") from None
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()
    finally:
        await runner.cleanup()


async def serve(settings: PlayerSettings, host: str, port: int, *, announce: bool) -> None:
    """Until SIGTERM or SIGINT or, with `announce`, until standard input ends.

    With `announce`, a line `{"seed": N}` on standard input is the seed of the matches that start after it; the line is
    repeated on standard output as soon as that holds.
    """
    sys.setswitchinterval(SWITCH_INTERVAL)
    gc.set_threshold(700, 10, 1000)  # a full collection of a large tree holds every thread for tenths of a second
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    app = make_app(settings)
    async with listening(app, host, port, settings.max_message_bytes) as actual_port:
        log.info("%s listens on %s, port %d", settings.name or settings.strategy, host, actual_port)
        if announce:
            _announce({"port": actual_port})
            Thread(target=_hear_parent, args=(loop, app, stop), daemon=True).start()
        await stop.wait()
    log.info("stopped")


def _hear_parent(loop: asyncio.AbstractEventLoop, app: web.Application, stop: asyncio.Event) -> None:
    """Obeys the lines of standard input until it ends, and stops the service then."""
    heard = b""
    with suppress(OSError, RuntimeError):  # RuntimeError: the loop is closed already
        while data := os.read(0, 4096):  # not `sys.stdin.read`, whose lock would disturb the exit
            *lines, heard = (heard[-4096:] + data).split(b"\n")
            for line in lines:
                seed = _seed_in(line)
                if seed is not None:
                    loop.call_soon_threadsafe(_reseed, app, seed)
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(stop.set)


def _seed_in(line: bytes) -> int | None:
    """N of `{"seed": N}`; None for any other line, which means nothing to us."""
    try:
        said = json.loads(line)
    except ValueError:
        return None
    seed = said.get("seed") if isinstance(said, dict) else None
    return seed if isinstance(seed, int) and seed >= 0 else None


def _reseed(app: web.Application, seed: int) -> None:
    player = app[PLAYER]
    player.settings = replace(player.settings, seed=seed)
    _announce({"seed": seed})


def _announce(said: dict[str, int]) -> None:
    with suppress(OSError):  # the parent is gone, and we shall be soon
        print(json.dumps(said), flush=True)  # noqa: T201 - what the parent reads

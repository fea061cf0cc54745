"""Runs the service until it is told to stop."""

import asyncio
import logging
import signal

import typer
from aiohttp import web

from gamemaster.web.application import make_app
from gamemaster.web.settings import ServeSettings
from ggp.errors import SettingsError

MOST_LINE_BYTES = 16_384  # of the first line of a request: the longest query that the API describes has 7,300

_SHUTDOWN_SECONDS = 2.0  # for open requests

log = logging.getLogger(__name__)


def run(settings: ServeSettings) -> None:
    """Until SIGTERM, SIGINT or SIGHUP; the matches under way are given up in order."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)  # whatever is no HTTP; ours is told by ourselves
    asyncio.run(_serve(settings))


async def _serve(settings: ServeSettings) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    app = make_app(settings)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=_SHUTDOWN_SECONDS, max_line_size=MOST_LINE_BYTES)
    await runner.setup()
    try:
        site = web.TCPSite(runner, settings.host, settings.port)
        try:
            await site.start()
        except OSError as error:
            reason = (error.strerror or str(error)).rpartition(": ")[2]  # asyncio says the address once more
            raise SettingsError(f"cannot listen on {settings.host}, port {settings.port}: {reason}") from None
        typer.echo(f"serving at {_address(runner.addresses[0])}")
        await stop.wait()
    finally:
        await runner.cleanup()


def _address(address: object) -> str:
    assert isinstance(address, tuple)
    host, port = address[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"

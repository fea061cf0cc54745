"""A player as an HTTP service: requests → messages, replies → responses; it runs until it is told to stop.

What the search thinks goes with a move in a header, for a game master that asks for it (`ggp.protocol.evaluation`).
"""

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
from urllib.parse import unquote_plus

from aiohttp import web

from ggp.errors import GgpError, MessageError, SettingsError
from ggp.protocol.evaluation import HEADER, WANTED, Evaluation, format_evaluation
from ggp.protocol.messages import CONTENT_TYPE, CORS, Info, Message, Ping, Preview, Start, parse_message, unread_start
from players.player import Clock, MonotonicClock, Player
from players.settings import PlayerSettings
from players.thinker import MakeMachine, make_interpreter
from players.tolerant import TolerantProtocol, tolerant

PLAYER = web.AppKey("PLAYER", Player)
SWITCH_INTERVAL = 0.001  # seconds for which a thinking thread may keep the event loop waiting each time

_KEEPALIVE = 60.0  # seconds after which a connection that asks nothing is closed
_LONG = 20_000  # characters of a message that is read in a thread, so that the loop is not held

log = logging.getLogger(__name__)


def make_app(
    settings: PlayerSettings, clock: Clock | None = None, make: MakeMachine = make_interpreter
) -> web.Application:
    """The service of one player; needs no running event loop yet."""
    app = web.Application(client_max_size=settings.max_message_bytes)
    app[PLAYER] = Player(settings, clock or MonotonicClock(), make)
    app.router.add_route("*", "/{path:.*}", _handle)
    app.on_shutdown.append(_stop)  # before open requests are waited for, so that they get their replies
    return app


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


async def _stop(app: web.Application) -> None:
    app[PLAYER].close()


async def _handle(request: web.Request) -> web.Response:
    player = request.app[PLAYER]
    received = player.clock.now() - _age(request)
    if request.method == "OPTIONS":
        return _response("")
    try:
        message = await _message(request)
    except web.HTTPRequestEntityTooLarge:
        log.warning("a message of over %d bytes was refused", player.settings.max_message_bytes)
        return _response("the message is too long", 413)
    except MessageError as error:
        log.warning("not a message: %s", error)
        return _response(str(error), 400)
    evaluations: list[Evaluation] = []
    wants = request.headers.get(HEADER, "").strip() == WANTED
    reply = await player.answer(message, received, evaluations.append if wants else None)
    log.info("%s: %s in %.2f s", _summary(message), reply, player.clock.now() - received)
    response = _response(reply)
    for evaluation in evaluations:
        _add_evaluation(response, evaluation)
    return response


def _age(request: web.Request) -> float:
    """Seconds since the request began to come, when somebody has measured that."""
    protocol = request.transport.get_protocol() if request.transport is not None else None
    return protocol.age if isinstance(protocol, TolerantProtocol) else 0.0


async def _message(request: web.Request) -> Message:
    if request.method in ("GET", "HEAD"):
        text = unquote_plus(request.raw_path.lstrip("/"))
        if not text:
            return Info()  # a look from a browser or a health check
    else:
        text = _text(await request.read())
    if len(text) <= _LONG:
        return parse_message(text)
    start = unread_start(text)  # its deadline is known before its rules
    return start if start is not None else await asyncio.to_thread(parse_message, text)


def _text(body: bytes) -> str:
    """Never fails: old managers send whatever the encoding of their machine was."""
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return body.decode("latin-1")


def _response(text: str, status: int = 200) -> web.Response:
    response = web.Response(body=text.encode(), status=status, headers={**CORS, "Content-Type": CONTENT_TYPE})
    response.force_close()
    return response


def _add_evaluation(response: web.Response, evaluation: Evaluation) -> None:
    """A failure costs the evaluation, never the move."""
    try:
        response.headers[HEADER] = format_evaluation(evaluation)
    except (GgpError, TypeError, ValueError) as error:
        log.error("no evaluation, by a fault of this program: %s: %s", type(error).__name__, error)


def _summary(message: Message) -> str:
    word = type(message).__name__.removesuffix("Percepts").upper()
    match message:
        case Info() | Ping() | Preview():
            return word
        case Start(name, role, _, startclock, playclock):
            return f"{word} {name} as {role}, {startclock} s and {playclock} s"
        case _:
            return f"{word} {message.match}"


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

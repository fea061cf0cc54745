"""A player as an HTTP service: requests → messages, replies → responses; it runs until it is told to stop.

What the search thinks goes with a move in a header, for a game master that asks for it (`ggp.protocol.evaluation`).
"""

import asyncio
import json
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from threading import Thread
from urllib.parse import unquote_plus

from aiohttp import web

from ggp.errors import GgpError, MessageError, cannot_listen
from ggp.protocol.evaluation import HEADER, WANTED, Evaluation, format_evaluation
from ggp.protocol.messages import (
    CONTENT_TYPE,
    LONGEST_OTHER,
    Info,
    Message,
    Ping,
    Preview,
    Start,
    is_too_long,
    parse_message,
    read_message,
)
from players.player import GamePlayer, MonotonicClock, TimeSource
from players.settings import PlayerSettings, is_custom
from players.tolerant import Door, TolerantProtocol, tolerant
from players.worker import ForkedServer, ForkServer, MakeWorker

PLAYER = web.AppKey("PLAYER", GamePlayer)
ORIGINS = web.AppKey("ORIGINS", frozenset[str])
ALL_ORIGINS = "*"

_KEEPALIVE = 60.0  # seconds after which a connection that asks nothing is closed
_MOST_CONNECTIONS = 100
_MOST_AT_ONCE = 2  # times the longest message: what all connections together may hold
_END_SECONDS = 1.5  # in which the service ends when it is told to, however it is
_SHUTDOWN_SECONDS = 0.5  # of that, for replies that are still to be sent
_FROM_US = frozenset({"none", "same-origin"})  # Sec-Fetch-Site, where no other page is behind a request
_PAGES_REFUSED = "a web page may talk to this player only if --allow-origin names it"

log = logging.getLogger(__name__)


def make_app(
    settings: PlayerSettings,
    clock: TimeSource | None = None,
    make_worker: MakeWorker | None = None,
    origins: Collection[str] = (),
    forked: ForkedServer | None = None,
) -> web.Application:
    """The service of one player; needs no running event loop yet. `origins`: of web pages that may talk to it.

    forked: its fork server, where that is there already.
    """
    app = web.Application(client_max_size=settings.max_message_bytes)
    if make_worker is None:
        server = ForkServer(settings.strategy, forked)
        app.cleanup_ctx.append(server.running)
        make_worker = server.worker
    app[PLAYER] = GamePlayer(settings, clock or MonotonicClock(), make_worker)
    app[ORIGINS] = frozenset(origins)
    app.router.add_route("*", "/{path:.*}", _handle)
    app.on_shutdown.append(_stop)  # before open requests are waited for, so that they get their replies
    return app


@asynccontextmanager
async def listening(app: web.Application, host: str, port: int, max_bytes: int) -> AsyncIterator[int]:
    """Serves the application, tolerantly; yields the port. SettingsError when the address cannot be had."""
    runner = web.AppRunner(
        app, access_log=None, keepalive_timeout=_KEEPALIVE, shutdown_timeout=_SHUTDOWN_SECONDS, max_line_size=max_bytes
    )
    try:
        await runner.setup()
        make_protocol = runner.server
        assert make_protocol is not None
        door = Door(_MOST_CONNECTIONS, _MOST_AT_ONCE * max_bytes)
        loop = asyncio.get_running_loop()
        try:
            server = await loop.create_server(lambda: tolerant(make_protocol(), max_bytes, door), host, port)
        except OSError as error:
            raise cannot_listen(host, port, error) from None
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()
    finally:
        await runner.cleanup()


async def serve(
    settings: PlayerSettings,
    host: str,
    port: int,
    *,
    announce: bool,
    origins: Collection[str] = (),
    forked: ForkedServer | None = None,
) -> None:
    """Until SIGTERM or SIGINT or, with `announce`, until standard input ends; at most two seconds longer.

    With `announce`, `{"port": N}` is written to standard output when it listens. A line `{"seed": N}` on standard input
    is the seed of the matches that start after it; the line is repeated on standard output as soon as that holds.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    stopping: list[asyncio.TimerHandle] = []

    def stop() -> None:
        if not stopping:
            stopping.append(loop.call_later(_END_SECONDS, os._exit, 0))
            task.cancel()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    app = make_app(settings, origins=origins, forked=forked)
    if announce:
        Thread(target=_hear_parent, args=(loop, app, stop), daemon=True).start()
    try:
        async with listening(app, host, port, settings.max_message_bytes) as actual_port:
            if announce:  # and not in the log: what the parent reads there before the port counts as preparation
                _announce({"port": actual_port})
                if is_custom(settings.strategy):
                    logging.getLogger().setLevel(logging.WARNING)  # the parent shows the rest to its author
            else:
                log.info("%s listens on %s, port %d", settings.name or settings.strategy, host, actual_port)
            await asyncio.Event().wait()
    except asyncio.CancelledError:
        log.info("stopped")


async def _stop(app: web.Application) -> None:
    app[PLAYER].close(at_once=True)


async def _handle(request: web.Request) -> web.Response:
    player = request.app[PLAYER]
    received = player.clock.now() - _age(request)
    if _is_of_foreign_page(request):
        log.warning("refused: %s", _PAGES_REFUSED)
        return _response(request, _PAGES_REFUSED, 403)
    if request.method == "OPTIONS":
        return _response(request, "")
    try:
        message = await _message(request)
    except web.HTTPRequestEntityTooLarge:
        log.warning("a message of over %d bytes was refused", player.settings.max_message_bytes)
        return _response(request, "the message is too long", 413)
    except MessageError as error:
        log.warning("not a message: %s", error)
        return _response(request, str(error), 400)
    if request.method == "GET" and not isinstance(message, Info) and _is_unmarked_browser(request):
        return _response(request, "a browser may only ask for INFO by GET", 403)
    evaluations: list[Evaluation] = []
    wants = request.headers.get(HEADER, "").strip() == WANTED
    reply = await player.answer(message, received, evaluations.append if wants else None)
    log.info("%s: %s in %.2f s", _summary(message), reply, player.clock.now() - received)
    response = _response(request, reply)
    for evaluation in evaluations:
        _add_evaluation(response, evaluation)
    return response


def _is_of_foreign_page(request: web.Request) -> bool:
    """Whether a web page has made a browser send this that no option names."""
    origins = request.app[ORIGINS]
    origin = request.headers.get("Origin")
    if ALL_ORIGINS in origins or (origin is not None and origin in origins):
        return False
    return origin is not None or request.headers.get("Sec-Fetch-Site", "none").strip().lower() not in _FROM_US


def _is_unmarked_browser(request: web.Request) -> bool:
    """Whether this is a browser that does not say which page is behind it: most do only for addresses of this host."""
    is_browser = request.headers.get("User-Agent", "").startswith("Mozilla/")
    return is_browser and "Sec-Fetch-Site" not in request.headers and ALL_ORIGINS not in request.app[ORIGINS]


def _age(request: web.Request) -> float:
    """Seconds since the request began to come, when somebody has measured that."""
    protocol = request.transport.get_protocol() if request.transport is not None else None
    return protocol.age if isinstance(protocol, TolerantProtocol) else 0.0


async def _message(request: web.Request) -> Message:
    if request.method in ("GET", "HEAD"):
        text = unquote_plus(request.raw_path.lstrip("/"))
        return parse_message(text) if text else Info()  # a look from a browser or a health check
    body = await request.read()
    if is_too_long(body):
        raise web.HTTPRequestEntityTooLarge(LONGEST_OTHER, len(body))
    return read_message(body)


def _response(request: web.Request, text: str, status: int = 200) -> web.Response:
    """Only pages that an option names get to read it."""
    response = web.Response(body=text.encode(), status=status, headers={"Content-Type": CONTENT_TYPE})
    origin = request.headers.get("Origin")
    if origin is not None and status != 403:
        is_for_all = ALL_ORIGINS in request.app[ORIGINS]
        response.headers["Access-Control-Allow-Origin"] = ALL_ORIGINS if is_for_all else origin
        response.headers["Access-Control-Allow-Methods"] = "POST, GET, OPTIONS"
        response.headers["Access-Control-Allow-Headers"] = "Content-Type"
        response.headers["Vary"] = "Origin"
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


def _hear_parent(loop: asyncio.AbstractEventLoop, app: web.Application, stop: Callable[[], None]) -> None:
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
        loop.call_soon_threadsafe(stop)


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

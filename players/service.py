"""A player as an aiohttp application: HTTP requests → messages, replies → responses.

What the search thinks goes beside a move in a header, for a game master that asks for it (`ggp.protocol.evaluation`).
"""

import asyncio
import logging
from urllib.parse import unquote_plus

from aiohttp import web

from ggp.errors import GgpError, MessageError
from ggp.protocol.evaluation import HEADER, WANTED, Evaluation, format_evaluation
from ggp.protocol.messages import CONTENT_TYPE, CORS, Info, Message, Ping, Preview, Start, parse_message, unread_start
from players.clock import Clock, MonotonicClock
from players.player import Player
from players.settings import PlayerSettings
from players.thinker import MakeMachine, make_interpreter
from players.tolerant import TolerantProtocol

PLAYER = web.AppKey("PLAYER", Player)

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

"""The messages of a match for one player, what its answers mean, and how the player is reached.

A transport takes a message and gives its answer or a fault, and the seconds that it took.
There are two ways, over HTTP and within this process; a match cannot tell them apart.
"""

import asyncio
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Protocol, TypeAlias

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection

from gamemaster.concurrency import within
from gamemaster.faults import LONGEST_TEXT, Fault, make_fault, shown
from gamemaster.player import LocalPlayer, Player
from ggp.errors import MessageError
from ggp.gdl.reader import read_term
from ggp.gdl.rulesheet import Rulesheet
from ggp.gdl.state_machine import JointMove
from ggp.gdl.terms import Term, to_text
from ggp.protocol.evaluation import HEADER, WANTED, Evaluation, parse_evaluation, rounded
from ggp.protocol.messages import (
    CONTENT_TYPE,
    Abort,
    Dialect,
    Message,
    Play,
    PlayPercepts,
    Start,
    Stop,
    StopPercepts,
    format_message,
    parse_move,
    request_headers,
)
from ggp.protocol.scramble import Scrambler, plain_rules

Session: TypeAlias = aiohttp.ClientSession

_HEAD_BYTES = 65_536  # of all that a player sends before its answer begins
_RAW_BYTES = 8  # of all that it sends then, chunks and what frames them, for each byte that an answer may have
_INTERIM = re.compile(rb"HTTP/[0-9.]+ +1(?!01)[0-9]{2}\b")
_LONGEST_LENGTH = 15  # digits of a Content-Length


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a message."""

    answer: str | Fault
    seconds: float
    evaluation: str | Evaluation | None = None  # what a header says is not parsed yet
    lag: float = 0.0  # seconds in which our own event loop was held up meanwhile, which are not in the others


class Transport(Protocol):
    """Carries the messages of a match to one player."""

    async def ask(
        self, message: Message, allowed: float, *, retry: float | None = None, wants_evaluation: bool = False
    ) -> Reply:
        """The player's answer. Everything that goes wrong is a fault; only cancellation is raised.

        allowed: seconds until the answer must be complete. retry: seconds between attempts while there is no
        connection, and with START until there is an answer; None for one attempt. wants_evaluation: whether the player
        may add what it thinks.
        """


class InProcessTransport:
    """Calls a player in this process."""

    def __init__(self, player: LocalPlayer, max_bytes: int) -> None:
        self._player = player
        self._max_bytes = max_bytes

    async def ask(
        self, message: Message, allowed: float, *, retry: float | None = None, wants_evaluation: bool = False
    ) -> Reply:
        """`retry` has no meaning here."""
        del retry
        told: list[Evaluation] = []
        timed = await within(allowed, self._player.answer(message, tell=told.append if wants_evaluation else None))
        answer: str | Fault = _timeout(allowed) if timed.result is None else timed.result
        if isinstance(answer, str) and len(answer.encode()) > self._max_bytes:
            answer = _too_long(self._max_bytes, answer)
        evaluation = told[-1] if told and isinstance(answer, str) else None
        return Reply(answer, timed.seconds, evaluation, timed.lag)


class HttpTransport:
    """Sends each message in an HTTP request of its own; an answer has `max_bytes` at most."""

    def __init__(self, session: Session, url: str, receiver: str, dialect: Dialect, max_bytes: int) -> None:
        self._session = session
        self._url = url
        self._receiver = receiver
        self._dialect = dialect
        self._max_bytes = max_bytes

    async def ask(
        self, message: Message, allowed: float, *, retry: float | None = None, wants_evaluation: bool = False
    ) -> Reply:
        """The clock starts with the first attempt to connect and stops with the last byte of the answer."""
        progress = _Progress(wants_evaluation, is_repeatable=isinstance(message, Start))
        timed = await within(allowed, self._outcome(message, retry, progress))
        answer = _too_late(allowed, progress) if timed.result is None else timed.result
        evaluation = None if isinstance(answer, Fault) else progress.evaluation
        return Reply(answer, timed.seconds, evaluation, timed.lag)

    async def _outcome(self, message: Message, retry: float | None, progress: "_Progress") -> str | Fault:
        """The answer, or what went wrong."""
        try:
            return await self._exchange(format_message(message, self._dialect).encode(), retry, progress)
        except aiohttp.ClientResponseError as error:
            return make_fault("malformed", f"the answer is not HTTP: {_first_line(error.message)}")
        except (OSError, aiohttp.ClientError) as error:
            return _unreachable(error)
        except UnicodeError:  # a host name that the resolver cannot spell
            return make_fault("unreachable", "no connection: the host name is not valid")

    async def _exchange(self, body: bytes, retry: float | None, progress: "_Progress") -> str | Fault:
        while True:
            try:
                return await self._post(body, progress)
            except aiohttp.ClientResponseError:
                raise  # it was answered, though not in HTTP
            except (OSError, aiohttp.ClientError) as error:
                was_heard = not isinstance(error, aiohttp.ClientConnectorError)
                if retry is None or (was_heard and not progress.is_repeatable):
                    raise
                progress.was_heard |= progress.connected
                progress.obstacle, progress.connected = error, False
            await asyncio.sleep(retry)

    async def _post(self, data: bytes, progress: "_Progress") -> str | Fault:
        headers = request_headers(_header_value(self._receiver)) | {"Content-Type": CONTENT_TYPE}
        async with self._session.post(
            self._url,
            data=data,
            headers=headers | ({HEADER: WANTED} if progress.wants_evaluation else {}),
            allow_redirects=False,
            trace_request_ctx=progress,
        ) as response:
            if response.status != 200:
                return make_fault("malformed", f"HTTP status {response.status} {response.reason or ''}")
            assert isinstance(response, _Response)
            body = await self._body(response)
            if isinstance(body, Fault):
                return body
            if progress.wants_evaluation:
                progress.evaluation = response.headers.get(HEADER)
        try:
            return body.decode()
        except UnicodeDecodeError as error:
            detail = f"byte {error.start} of the answer, 0x{body[error.start]:02x}, is not UTF-8"
            return make_fault("malformed", detail, body.decode(errors="replace"))

    async def _body(self, response: "_Response") -> bytes | Fault:
        """Bytes beyond the length that the answer states are dropped, or belong to it where characters were counted."""
        length = response.stated_length()
        body = bytearray()
        try:
            response.bound(_RAW_BYTES * self._max_bytes + _HEAD_BYTES)
            async for chunk in response.content.iter_any():
                body += chunk
                whole = None if length is None else whole_body(bytes(body), length)
                if whole is not None and len(whole) <= self._max_bytes:
                    response.close()
                    return whole
                if len(body) > self._max_bytes:
                    response.close()  # at once, so that nothing more is received
                    return _too_long(self._max_bytes, body[:LONGEST_TEXT].decode(errors="replace"))
        except aiohttp.ClientError:
            if response.is_too_long:
                return _too_long(self._max_bytes, body[:LONGEST_TEXT].decode(errors="replace"))
            raise
        if length is not None and len(body) < length:
            raise aiohttp.ClientPayloadError
        return bytes(body)


def whole_body(received: bytes, length: int) -> bytes | None:
    """The body of a message that states its length, perhaps in characters; None while more of it may follow.

    Where all of so many bytes make sense, these are meant, but for a bare word, of which a part makes sense, too.
    """
    if len(received) < length:
        return None
    exact = received[:length]
    if exact.isascii():
        return exact
    try:
        exact.decode()
        is_balanced = exact.count(b"(") == exact.count(b")")
    except UnicodeDecodeError:
        is_balanced = False
    if is_balanced and b"(" in exact:
        return exact
    characters = received.decode(errors="surrogateescape")
    if len(characters) >= length:
        return characters[:length].encode(errors="surrogateescape")
    return exact if is_balanced else None


def make_transport(session: Session, player: Player, max_bytes: int) -> Transport:
    """The way to a player of a match."""
    if player.local is not None:
        return InProcessTransport(player.local, max_bytes)
    return HttpTransport(session, player.url, player.name or "player", player.dialect, max_bytes)


@asynccontextmanager
async def open_session() -> AsyncIterator[Session]:
    """For `HttpTransport`: HTTP/1.0, one connection for each message, no timeout of its own."""
    trace = aiohttp.TraceConfig()
    trace.on_request_headers_sent.append(_note_connection)
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(force_close=True, limit=0),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None),
        response_class=_Response,
        version=aiohttp.HttpVersion10,
        auto_decompress=False,
        skip_auto_headers=("User-Agent", "Accept-Encoding"),
        trace_configs=[trace],
    ) as session:
        yield session


class _Response(aiohttp.ClientResponse):
    """One whose player cannot send without end, and may be wrong in the length that it states."""

    _raw: "_RawAnswer | None" = None

    @property
    def is_too_long(self) -> bool:
        return self._raw is not None and self._raw.is_too_long

    def stated_length(self) -> int | None:
        """Bytes or characters of the body; ClientResponseError where what is stated is no length."""
        if self._raw is None or "Transfer-Encoding" in self.headers:
            return None
        stated = {part.strip() for value in self._raw.lengths for part in value.split(",")}
        if not stated:
            return None
        (first, *others) = sorted(stated)
        if others or not (first.isascii() and first.isdigit() and len(first) <= _LONGEST_LENGTH):
            raise self._refused(f"Content-Length: {', '.join(self._raw.lengths)}")
        return int(first)

    def bound(self, most: int) -> None:
        """Ends the connection once more bytes have come behind the headers."""
        if self._raw is not None:
            self._raw.bound(most)

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        """ClientResponseError where more than `_HEAD_BYTES` come before the answer.

        Interim responses (HTTP status 1xx) could come without end, and reading them would hold up the event loop.
        """
        handler, transport = connection.protocol, connection.transport
        if handler is None or not isinstance(transport, asyncio.Transport):
            return await super().start(connection)
        self._raw = _RawAnswer(handler, transport)
        transport.set_protocol(self._raw)
        try:
            return await super().start(connection)
        except aiohttp.ClientError:
            if self.is_too_long:
                raise self._refused(f"it does not begin within {_HEAD_BYTES} bytes") from None
            raise

    def _refused(self, message: str) -> aiohttp.ClientResponseError:
        return aiohttp.ClientResponseError(self.request_info, self.history, message=message)


class _RawAnswer(asyncio.Protocol):
    """Between a connection and the handler of its response: counts bytes, and keeps each Content-Length to itself.

    Without it the handler takes all that comes as the body.
    """

    def __init__(self, handler: ResponseHandler, transport: asyncio.Transport) -> None:
        self.is_too_long = False
        self.lengths: list[str] = []  # values of Content-Length
        self._handler = handler
        self._transport = transport
        self._line = b""  # of the headers, that has begun
        self._status = b""  # the first line of these headers
        self._is_head = True
        self._received = 0  # bytes of headers, or behind them
        self._most: int | None = _HEAD_BYTES  # of these; None while it is not known

    def bound(self, most: int) -> None:
        self._most = most
        self._check()

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        self._handler.data_received(self._read_head(data) if self._is_head else data)
        self._check()

    def eof_received(self) -> None:
        self._flush()
        self._handler.eof_received()

    def connection_lost(self, error: Exception | None) -> None:
        self._flush()
        self._handler.connection_lost(error)

    def pause_writing(self) -> None:
        self._handler.pause_writing()

    def resume_writing(self) -> None:
        self._handler.resume_writing()

    def _check(self) -> None:
        if self._most is not None and self._received > self._most:
            self.is_too_long = True
            self._transport.abort()

    def _flush(self) -> None:
        if self._line:
            self._handler.data_received(self._line)
            self._line = b""

    def _read_head(self, data: bytes) -> bytes:
        """What of it is for the handler."""
        data = self._line + data
        passed: list[bytes] = []
        at = 0
        while self._is_head and (end := data.find(b"\n", at) + 1):
            line, at = data[at:end], end
            if self._takes(line):
                passed.append(line)
        self._line = data[at:]
        if not self._is_head:
            self._received, self._most = len(self._line), None
        if not self._is_head or len(self._line) > _HEAD_BYTES // 2:  # longer than any line that the handler reads
            passed.append(self._line)
            self._line = b""
        return b"".join(passed)

    def _takes(self, line: bytes) -> bool:
        """Whether the handler gets a line of the headers."""
        text = line.strip()
        if not self._status:
            self._status = text
            self._is_head = not text or text.startswith(b"HTTP/")
        elif not text:
            self._is_head = _INTERIM.match(self._status) is not None
            self._status = b""
        else:
            name, _, value = text.partition(b":")
            if name.strip().lower() == b"content-length" and not _INTERIM.match(self._status):
                self.lengths.append(value.strip().decode("latin-1"))
                return False
        return True


@dataclass(slots=True)
class _Progress:
    """How far a request has come when its time is over."""

    wants_evaluation: bool
    is_repeatable: bool  # whether it may be sent again though the player may have heard it
    connected: bool = False
    was_heard: bool = False  # whether it was sent on a connection that broke
    obstacle: OSError | aiohttp.ClientError | None = None  # why the last attempt failed
    evaluation: str | None = None  # as it was sent


async def _note_connection(_: Session, context: SimpleNamespace, __: aiohttp.TraceRequestHeadersSentParams) -> None:
    progress = context.trace_request_ctx
    assert isinstance(progress, _Progress)
    progress.connected = True


def _too_late(allowed: float, progress: _Progress) -> Fault:
    if progress.connected:
        return _timeout(allowed)
    if progress.was_heard and progress.obstacle is not None:
        return make_fault("timeout", f"no answer within {allowed:g} s: {_unreachable(progress.obstacle).detail}")
    if progress.obstacle is not None:
        return make_fault("unreachable", f"no connection within {allowed:g} s: {_plain(progress.obstacle)}")
    return make_fault("unreachable", f"no connection within {allowed:g} s")


def _timeout(allowed: float) -> Fault:
    return make_fault("timeout", f"no complete answer within {allowed:g} s")


def _too_long(max_bytes: int, answer: str) -> Fault:
    return make_fault("malformed", f"an answer of more than {max_bytes} bytes", answer[:LONGEST_TEXT])


def _unreachable(error: OSError | aiohttp.ClientError) -> Fault:
    match error:
        case aiohttp.ClientConnectorError():
            return make_fault("unreachable", f"no connection: {_plain(error)}")
        case aiohttp.ClientPayloadError():
            return make_fault("unreachable", "the connection ended before the answer was complete")
        case aiohttp.ServerDisconnectedError():
            return make_fault("unreachable", "the connection ended before an answer")
    return make_fault("unreachable", f"the connection broke: {_plain(error)}")


def _plain(error: Exception) -> str:
    """The text of the operating system, without what the libraries add to it."""
    if isinstance(error, aiohttp.ClientConnectorError):
        error = error.os_error
    if isinstance(error, OSError) and error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return str(getattr(error, "strerror", None) or error) or type(error).__name__


def _first_line(text: str) -> str:
    return text.partition("\n")[0].rstrip(" :")


def _header_value(name: str) -> str:
    return shown(name).encode("ascii", "replace").decode() or "player"


@dataclass(frozen=True, slots=True)
class LastStep:
    """What there is to tell a role of the step before; the codec takes what the rulesheet lets it know."""

    joint_move: JointMove
    own_move: Term
    percepts: tuple[Term, ...]  # empty where the rulesheet has none


@dataclass(frozen=True, slots=True)
class MessageCodec:
    """Speaks to one role of one match, scrambled if wished. Terms given and returned are the rulesheet's own."""

    match: str
    role: str
    has_percepts: bool
    scrambler: Scrambler | None = None

    def start(self, rulesheet: Rulesheet, startclock: int, playclock: int) -> Start:
        rules = self.scrambler.rules if self.scrambler else plain_rules(rulesheet)
        return Start(self.match, to_text(self._hide(self.role)), rules, startclock, playclock)

    def play(self, step: int, last: LastStep | None) -> Play | PlayPercepts:
        if self.has_percepts:
            return PlayPercepts(self.match, step, *self._perceived(last))
        return Play(self.match, self._joint_move(last))

    def stop(self, step: int, last: LastStep | None) -> Stop | StopPercepts:
        if self.has_percepts:
            return StopPercepts(self.match, step, *self._perceived(last))
        return Stop(self.match, self._joint_move(last))

    def abort(self) -> Abort:
        return Abort(self.match)

    def move(self, answer: str | Fault) -> Term | Fault:
        """The move that an answer to PLAY means; a word that the player was never told stays as it is."""
        if isinstance(answer, Fault):
            return answer
        try:
            move = parse_move(answer)
        except MessageError as error:
            return make_fault("malformed", str(error), answer)
        return self._reveal(move)

    def evaluation(self, said: str | Evaluation, roles: int) -> Evaluation:
        """What a player says that it thinks; MessageError for what cannot be read."""
        found = rounded(parse_evaluation(said) if isinstance(said, str) else said)
        if any(len(step) != roles for step in found.principal_variation):
            raise MessageError(f"a step of the variation has not {roles} moves")
        steps = tuple(
            tuple(to_text(self._reveal(read_term(move))) for move in step) for step in found.principal_variation
        )
        return found.model_copy(update={"principal_variation": steps})

    def _joint_move(self, last: LastStep | None) -> JointMove | None:
        return None if last is None else tuple(map(self._hide, last.joint_move))

    def _perceived(self, last: LastStep | None) -> tuple[Term | None, tuple[Term, ...]]:
        if last is None:
            return None, ()
        return self._hide(last.own_move), tuple(map(self._hide, last.percepts))

    def _hide(self, term: Term) -> Term:
        return self.scrambler.hide(term) if self.scrambler else term

    def _reveal(self, term: Term) -> Term:
        return self.scrambler.reveal(term) if self.scrambler else term

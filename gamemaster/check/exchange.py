"""One request to a player as bytes on its own connection, and what came back, byte by byte.

Requests are written as game masters and their HTTP libraries send them; answers are read tolerantly.
"""

import asyncio
import os
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

from gamemaster.faults import LONGEST_TEXT, Fault, make_fault
from ggp.protocol.messages import CONTENT_TYPE, Dialect, request_headers

_END_OF_HEAD = re.compile(rb"\r?\n\r?\n")
_STATUS = re.compile(r"HTTP/[0-9.]+ +([0-9]{3})\b *(.*)")
_START = b"HTTP/"
_CONTINUE = 100  # a status that only says: go on
_LONGEST_LENGTH = 15  # digits of a Content-Length


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as far as it came."""

    status: int  # 0 when it is not HTTP
    reason: str
    fields: Mapping[str, str]  # headers, by their names in lower case
    body: bytes  # no more than was announced
    surplus: int  # bytes that came after the announced end
    missing: int  # bytes that were announced and did not come

    @property
    def has_length(self) -> bool:
        """Whether it says itself where it ends."""
        return "content-length" in self.fields or _is_chunked(self.fields)


def read_answer(data: bytes, *, ended: bool) -> Answer | None:
    """The answer in what came so far; None while more of it must follow. `ended`: nothing more will come."""
    if not data.startswith(_START[: len(data)]):
        return Answer(0, "", {}, data, 0, 0) if ended else None
    end = _END_OF_HEAD.search(data)
    if end is None:
        return Answer(0, "", {}, data, 0, 0) if ended and data else None
    status, reason, fields = _head(data[: end.start()].decode("latin-1"))
    rest = data[end.end() :]
    if status == _CONTINUE:
        return read_answer(rest, ended=ended)
    if _is_chunked(fields):
        return _chunked(status, reason, fields, rest, ended=ended)
    length = _length(fields)
    if length is None:
        return Answer(status, reason, fields, rest, 0, 0) if ended else None
    if len(rest) < length and not ended:
        return None
    surplus, missing = max(0, len(rest) - length), max(0, length - len(rest))
    return Answer(status, reason, fields, rest[:length], surplus, missing)


def _head(text: str) -> tuple[int, str, dict[str, str]]:
    first, *lines = re.split(r"\r?\n", text)
    status = _STATUS.fullmatch(first.strip())
    pairs = (line.partition(":") for line in lines)
    fields = {name.strip().lower(): value.strip() for name, _, value in pairs}
    return (int(status[1]), status[2], fields) if status else (0, "", fields)


def _length(fields: Mapping[str, str]) -> int | None:
    text = fields.get("content-length", "")
    return int(text) if re.fullmatch(rf"[0-9]{{1,{_LONGEST_LENGTH}}}", text) else None


def _is_chunked(fields: Mapping[str, str]) -> bool:
    return fields.get("transfer-encoding", "").lower() == "chunked"


def _chunked(status: int, reason: str, fields: Mapping[str, str], rest: bytes, *, ended: bool) -> Answer | None:
    """Pieces, each after a line with its length in hexadecimal; the last one is empty."""
    body = b""
    while True:
        line, newline, after = rest.partition(b"\n")
        size = re.match(rb"\s*([0-9a-fA-F]{1,8})\s*(;.*)?$", line) if newline else None
        if size is None:
            return Answer(status, reason, fields, body, 0, 1) if ended or newline else None
        count = int(size[1], 16)
        if count == 0:
            return Answer(status, reason, fields, body, 0, 0)
        if len(after) < count:
            return Answer(status, reason, fields, body + after, 0, count - len(after)) if ended else None
        body += after[:count]
        rest = after[count:].lstrip(b"\r").removeprefix(b"\n")


CONNECT_WAIT = 5.0  # seconds for one attempt to connect
RETRY = 0.1  # seconds between two attempts
LONGEST_ANSWER = 65_536  # bytes
LONGEST_LINE = 10_000  # characters of a line of a dialogue

End = Literal["answered", "silent", "closed", "refused", "flooded"]
Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True, slots=True)
class Address:
    """Where a player listens."""

    host: str
    port: int
    target: str  # what the first line of a request asks for

    @property
    def authority(self) -> str:
        """Host and port, as in the header `Host`."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent, and how long an answer is waited for; durations in seconds."""

    what: str  # for a person
    pieces: tuple[bytes, ...]  # sent one by one
    allowed: float  # from the connection to the last byte of the answer
    patience: float = 0.0  # how long to try again while no connection can be made
    linger: float = 0.0  # how long after its answer the player may take to close the connection


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and what came of it."""

    request: Request
    received: bytes
    end: End
    detail: str  # why there was no connection; else empty
    waited: float  # seconds until the connection was made
    seconds: float  # from then to the last byte of the answer, or until it was clear that there is none
    is_closed: bool  # whether the player had closed the connection when nobody listened to it any more

    @property
    def answer(self) -> Answer | None:
        """What came, as far as it is one; None when nothing did."""
        return read_answer(self.received, ended=True)

    @property
    def no_head(self) -> str:
        """Why what came has no head of HTTP; empty where it has one."""
        if self.answer is not None and self.answer.status > 0:
            return ""
        is_cut_off = self.received.startswith(_START) and _END_OF_HEAD.search(self.received) is None
        return "no end of the head" if is_cut_off else "not HTTP"

    @property
    def words(self) -> str | Fault:
        """What was answered, or why nothing could be read, as in a match."""
        answer = self.answer
        if self.end != "answered":
            return self._failure
        if answer is None or answer.status == 0:
            return make_fault("malformed", "the answer is not HTTP", self._start)
        if answer.status != 200:
            text = answer.body[:LONGEST_TEXT].decode(errors="replace")
            return make_fault("malformed", f"HTTP status {answer.status} {answer.reason}".rstrip(), text)
        try:
            return answer.body.decode()
        except UnicodeDecodeError as error:
            detail = f"byte {error.start} of the answer, 0x{answer.body[error.start]:02x}, is not UTF-8"
            return make_fault("malformed", detail, answer.body.decode(errors="replace"))

    @property
    def _failure(self) -> Fault:
        match self.end:
            case "refused":
                return make_fault("unreachable", self.detail)
            case "silent":
                return make_fault("timeout", f"no complete answer within {self.request.allowed:g} s")
            case "flooded":
                return make_fault("malformed", f"an answer of more than {LONGEST_ANSWER} bytes", self._start)
        part = "the answer was complete" if self.received else "an answer"
        return make_fault("unreachable", f"the connection ended before {part}")

    @property
    def _start(self) -> str:
        return self.received[:LONGEST_TEXT].decode(errors="replace")


def address_of(url: str) -> Address:
    """From a URL as `gamemaster.player` makes it."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    target = parts.path or "/"
    return Address(parts.hostname, parts.port, f"{target}?{parts.query}" if parts.query else target)


async def converse(address: Address, request: Request) -> Exchange:
    """Sends one request and reads its answer; whatever goes wrong is in the exchange, never an exception."""
    clock = asyncio.get_running_loop().time
    began = clock()
    streams = await _connect(address, request.patience)
    connected = clock()
    if isinstance(streams, str):
        return Exchange(request, b"", "refused", streams, connected - began, 0.0, is_closed=True)
    received = bytearray()
    end: End = "silent"
    is_closed = False
    seconds = request.allowed
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout_at(connected + request.allowed):
                end = await _exchange(streams, request, received)
        seconds = clock() - connected
        is_closed = end == "closed" or (end == "answered" and await _closes(streams[0], request.linger, received))
    finally:
        await _hang_up(streams[1])
    return Exchange(request, bytes(received), end, "", connected - began, seconds, is_closed)


@asynccontextmanager
async def held_open(address: Address, data: bytes) -> AsyncIterator[bool]:
    """A connection on which no more than this is said; whether there is one."""
    streams = await _connect(address, 0.0)
    if isinstance(streams, str):
        yield False
        return
    try:
        streams[1].write(data)
        yield True
    finally:
        await _hang_up(streams[1])


def transcript(exchange: Exchange) -> Iterator[str]:
    """The raw dialogue as lines: `>` what was sent, `<` what came, `#` remarks; nothing in it that a terminal obeys."""
    request = exchange.request
    yield f"# {request.what}"
    yield from _lines("> ", b"".join(request.pieces))
    if exchange.received:
        yield from _lines("< ", exchange.received)
    words = {
        "answered": "answered",
        "silent": "no complete answer",
        "closed": "the connection ended",
        "refused": f"no connection: {exchange.detail}",
        "flooded": "too long an answer",
    }
    delay = f", connected after {exchange.waited:.3f} s" if exchange.waited >= RETRY else ""
    yield f"# {words[exchange.end]} after {exchange.seconds:.3f} s{delay}"


async def _connect(address: Address, patience: float) -> Streams | str:
    """A connection, or why there is none."""
    clock = asyncio.get_running_loop().time
    until = clock() + patience
    while True:
        try:
            async with asyncio.timeout(CONNECT_WAIT):
                return await asyncio.open_connection(address.host, address.port)
        except TimeoutError:
            return f"no connection within {CONNECT_WAIT:g} s"
        except UnicodeError:
            return "the host name is not valid"
        except OSError as error:
            if clock() + RETRY > until:
                return _plain(error)
        await asyncio.sleep(RETRY)


async def _exchange(streams: Streams, request: Request, received: bytearray) -> End:
    """Reads while it writes: a player may answer before it has heard everything."""
    reader, writer = streams
    async with asyncio.TaskGroup() as group:
        writing = group.create_task(_write(writer, request.pieces))
        try:
            return await _read(reader, received)
        finally:
            writing.cancel()


async def _write(writer: asyncio.StreamWriter, pieces: tuple[bytes, ...]) -> None:
    with suppress(OSError):  # who reads will see that the connection is gone
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)


async def _read(reader: asyncio.StreamReader, received: bytearray) -> End:
    while True:
        try:
            data = await reader.read(LONGEST_ANSWER)
        except OSError:
            data = b""
        received += data
        if len(received) > LONGEST_ANSWER:
            return "flooded"
        answer = read_answer(bytes(received), ended=not data)
        if answer is not None:
            return "closed" if answer.missing else "answered"
        if not data:
            return "closed"


async def _closes(reader: asyncio.StreamReader, linger: float, received: bytearray) -> bool:
    """Whether the connection ends within so many seconds."""
    if not linger:
        return reader.at_eof()
    try:
        async with asyncio.timeout(linger):
            while len(received) <= LONGEST_ANSWER and (data := await reader.read(LONGEST_ANSWER)):
                received += data
    except TimeoutError:
        return False
    except OSError:
        return True
    return reader.at_eof()


async def _hang_up(writer: asyncio.StreamWriter) -> None:
    """At once, also when the player does not take what was written."""
    writer.transport.abort()
    with suppress(OSError):
        await writer.wait_closed()


def _plain(error: OSError) -> str:
    """The operating system's words; asyncio's own where several addresses of a host failed."""
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return (error.strerror or str(error) or type(error).__name__).partition("\n")[0]


def _lines(mark: str, data: bytes) -> Iterator[str]:
    for line in data.decode(errors="backslashreplace").split("\n"):
        kept = line.removesuffix("\r")[:LONGEST_LINE]
        text = "".join(letter if letter.isprintable() else _escape(letter) for letter in kept)
        more = f"… ({len(line)} characters)" if len(line) > LONGEST_LINE + 1 else ""
        yield f"{mark}{text}{more}".rstrip()


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")


_SENDERS = {Dialect.GGP_BASE: "GAMESERVER", Dialect.DRESDEN: "Gamecontroller"}


def ordinary(address: Address, text: str, dialect: Dialect, receiver: str) -> bytes:
    """As the game masters that speak this dialect send it, but with the header `Host`, for proxies."""
    headers = request_headers(receiver) | {"Sender": _SENDERS[dialect], "Content-Type": CONTENT_TYPE}
    return request(address, text.encode(), headers)


def request(
    address: Address, body: bytes, headers: Mapping[str, str], *, version: str = "1.0", length: int | None = None
) -> bytes:
    """Any body with any headers; `length` where the body is to be announced with another than its own."""
    fields = {"Host": address.authority, **headers, "Content-Length": str(len(body) if length is None else length)}
    return head(address, fields, version) + body


def chunked(address: Address, body: bytes) -> bytes:
    """In HTTP/1.1, in two chunks."""
    fields = {"Host": address.authority, "Content-Type": CONTENT_TYPE, "Transfer-Encoding": "chunked"}
    half = len(body) // 2
    chunks = [b"%x\r\n%b\r\n" % (len(piece), piece) for piece in (body[:half], body[half:], b"")]
    return head(address, fields | {"Connection": "close"}, "1.1") + b"".join(chunks)


def head(address: Address, fields: Mapping[str, str], version: str = "1.0") -> bytes:
    """The lines before a body."""
    lines = [f"POST {address.target} HTTP/{version}", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
    return "\r\n".join(lines).encode()

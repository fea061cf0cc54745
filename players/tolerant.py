"""What game masters send as HTTP → requests that an HTTP library reads.

The library refuses a POST whose Content-Length is missing, and cuts a body whose length was counted in characters.
Here the end of a message is found first: by its length in bytes or characters, by its chunks, by its parentheses, or
because the sender falls silent. A connection carries one message; what follows is ignored. What is too long, too much
at once or no message at all never reaches the library.
"""

import asyncio
import logging
import re
import time
from http import HTTPStatus
from typing import cast
from urllib.parse import quote

from ggp.protocol.evaluation import HEADER, WANTED
from ggp.protocol.messages import CONTENT_TYPE, LONGEST_OTHER, is_too_long

_END_OF_HEAD = re.compile(rb"\r?\n\r?\n")
_VERSIONS = frozenset({"1.0", "1.1"})
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))
_COMMENT = re.compile(rb";[^\n]*")
_CONTINUATIONS = bytes(range(0x80, 0xC0))  # bytes of UTF-8 that begin no character
_BODILESS = frozenset({"GET", "HEAD", "OPTIONS"})
_PASSED_ON = ("origin", "sec-fetch-site", "user-agent")  # headers that say whether a web page has sent it
_MOST_PASSED_ON = 200  # characters of each
_MAX_HEAD_BYTES = 2**16  # what has no end by then is no head, but a message that is none
_CHUNK = re.compile(rb"[ \t]*([0-9a-fA-F]{1,8})[ \t]*(?:;[^\n]*)?\r?\n")
_LONGEST_CHUNK_LINE = 1000  # bytes
_GO_AHEAD = b"HTTP/1.1 100 Continue\r\n\r\n"

SILENCES = (0.1, 10.0)  # seconds to wait for more of a message that looks whole, and of one that does not
WHOLE_SECONDS = 10.0  # in which a request has to be there
_LINGER_SECONDS = 0.5  # for which a sender that was refused may go on, so that it gets to read why

log = logging.getLogger(__name__)


class RequestRefusedError(Exception):
    """A request that is not read to its end; says why, with a status of HTTP."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class RequestReader:
    """Collects bytes until they are one message; knows nothing of sockets."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._head: bytes | None = None  # None until it has been seen whole
        self._request = ("POST", "/", "1.0")  # method, target and version
        self._body = bytearray()  # everything, as long as there is no head
        self._length: int | None = None
        self._depth = 0
        self._has_lists = False
        self._in_comment = False
        self._characters = 0
        self._passed_on: list[str] = []
        self._chunks: bytearray | None = None  # what was not read of them yet; None where the body has none
        self._is_last_chunk = False
        self.wants_go_ahead = False  # whether the sender waits for a word before its body

    @property
    def size(self) -> int:
        """Bytes that are kept."""
        return len(self._body) + len(self._chunks or b"")

    @property
    def looks_whole(self) -> bool:
        return self._has_lists and self._depth <= 0

    def feed(self, data: bytes) -> bytes | None:
        """The whole request in sound HTTP, as soon as there is one. RequestRefusedError for what nobody should send."""
        if self._head is None:
            self._body += data
            if not self._find_head(len(data)):
                return self.rest() if len(self._body) > min(_MAX_HEAD_BYTES, self._max_bytes) else None
            data = bytes(self._body)
            if self._chunks is not None:
                self._body.clear()
                data = self._unchunked(data)
        elif self._chunks is not None:
            data = self._unchunked(data)
        else:
            self._body += data
        self._refuse_too_long()
        self._scan(data)
        return self.rest() if self._is_whole() else None

    def rest(self) -> bytes | None:
        """What there is as a request, when no more will come; None when there is nothing."""
        if self._head is None and not self._body:
            return None
        method, target, version = self._request
        lines = [f"{method} {target} HTTP/{version}", "Host: player", "Connection: close", *self._passed_on]
        body = b"" if method in _BODILESS else self._body
        if method not in _BODILESS:
            lines.append(f"Content-Length: {len(body)}")
        return "\r\n".join([*lines, "", ""]).encode("ascii") + body

    def forget(self) -> None:
        """Frees what it has kept."""
        self._body = bytearray()
        self._chunks = None

    def _find_head(self, new_bytes: int) -> bool:
        if self._body[:1].isspace():
            self._body = self._body.lstrip() or bytearray(b" ")
        if self._body[:1] == b"(":  # no HTTP at all: a bare message
            self._head = b""
            return True
        end = _END_OF_HEAD.search(self._body, max(0, len(self._body) - new_bytes - 3))
        if end is None or end.start() > _MAX_HEAD_BYTES:
            return False
        self._head = bytes(self._body[: end.start()])
        del self._body[: end.end()]
        lines = self._head.split(b"\n")
        self._request = _parse_request(lines[0])
        for line in lines[1:]:
            name, _, value = line.decode("latin-1").partition(":")
            self._take_field(name.strip().lower(), value.strip())
        return True

    def _take_field(self, name: str, value: str) -> None:
        if name == "content-length" and re.fullmatch(r"[0-9]{1,15}", value):
            self._length = int(value)
        elif name == HEADER.lower() and value == WANTED:
            self._passed_on.append(f"{HEADER}: {WANTED}")
        elif name in _PASSED_ON:
            self._passed_on.append(f"{name}: {_plain(value[:_MOST_PASSED_ON])}")
        elif name == "transfer-encoding" and value.lower() == "chunked":
            self._chunks = bytearray()
        elif name in ("transfer-encoding", "content-encoding") and value.lower() != "identity":
            raise RequestRefusedError(400, f"a message is sent as it is, not with {name} {_plain(value[:40])}")
        self.wants_go_ahead |= name == "expect" and value.lower() == "100-continue"

    def _refuse_too_long(self) -> None:
        size = max(len(self._body), self._length or 0 if self._request[0] not in _BODILESS else 0)
        if size > self._max_bytes:
            raise RequestRefusedError(413, f"a message of over {self._max_bytes} bytes")
        if is_too_long(self._body):
            raise RequestRefusedError(413, f"a message of over {LONGEST_OTHER} bytes that is no START")

    def _unchunked(self, data: bytes) -> bytes:
        """Takes whole chunks from what came; their contents."""
        assert self._chunks is not None
        self._chunks += data
        before = len(self._body)
        while not self._is_last_chunk:
            line = _CHUNK.match(self._chunks)
            if line is None:
                if b"\n" in self._chunks[:_LONGEST_CHUNK_LINE] or len(self._chunks) > _LONGEST_CHUNK_LINE:
                    raise RequestRefusedError(400, "a chunk without its length")
                break
            size = int(line[1], 16)
            if size > self._max_bytes:
                raise RequestRefusedError(413, f"a message of over {self._max_bytes} bytes")
            end = self._chunks.find(b"\n", line.end() + size) if size else line.end() - 1
            if end < 0:
                break
            self._body += self._chunks[line.end() : line.end() + size]
            del self._chunks[: end + 1]
            self._is_last_chunk = not size
        return bytes(self._body[before:])

    def _scan(self, data: bytes) -> None:
        self._characters += len(data.translate(None, _CONTINUATIONS))
        if self._in_comment:
            _, newline, data = data.partition(b"\n")
            self._in_comment = not newline
        if b";" in data:
            self._in_comment = b";" in data.rpartition(b"\n")[2]
            data = _COMMENT.sub(b"", data)
        opened = data.count(b"(")
        self._has_lists |= bool(opened)
        self._depth += opened - data.count(b")")

    def _is_whole(self) -> bool:
        if self._request[0] in _BODILESS or self._is_last_chunk:
            return True
        if self._chunks is not None:
            return False
        if self._length is None:
            return self.looks_whole
        if len(self._body) < self._length:
            return False
        return self._depth <= 0 or self._characters >= self._length


def _parse_request(line: bytes) -> tuple[str, str, str]:
    """Method, target and version of a request line; where it is none, those of a POST."""
    method, target = [*line.split(None, 1), b"", b""][:2]
    path, last = [*target.rsplit(None, 1), b"", b""][:2]
    is_version = last[:5].upper() == b"HTTP/"
    version = last[5:8].decode("latin-1") if is_version else ""
    version = version if version in _VERSIONS else "1.0"
    word = method.decode("latin-1").upper()
    if word not in _BODILESS or not target:
        return "POST", "/", version
    path = path if is_version else target.rstrip()
    if not path.startswith(b"/") and b"://" in path:
        path = path.partition(b"://")[2].partition(b"/")[2]
    return word, "/" + quote(path.lstrip(b"/"), safe=_PRINTABLE), version


def _plain(text: str) -> str:
    """In printable ASCII."""
    return "".join(letter if " " <= letter <= "~" else "?" for letter in text)


class Door:
    """Which connections are open and what they hold. Where they are too many or too much, one of them has to go.

    Who has sent a whole request stays: a game master does that in no time.
    """

    def __init__(self, most_connections: int, most_bytes: int) -> None:
        self._most_connections = most_connections
        self._most_bytes = most_bytes
        self._inside: dict[TolerantProtocol, int] = {}  # in the order of their coming → bytes that they hold

    def enter(self, connection: "TolerantProtocol") -> None:
        """The connection that is open longest without a whole request goes for another one."""
        self._inside[connection] = 0
        if len(self._inside) > self._most_connections:
            waiting = next((each for each in self._inside if not each.is_whole), connection)
            waiting.refuse(503, "too many connections", lingers=False)
            self._inside.pop(waiting, None)

    def hold(self, connection: "TolerantProtocol", size_bytes: int) -> None:
        """The connection holds so many bytes now; the largest without a whole request goes where that is too much."""
        if connection not in self._inside:
            return
        self._inside[connection] = size_bytes
        while sum(self._inside.values()) > self._most_bytes:
            waiting = [each for each in self._inside if not each.is_whole]
            if not waiting:
                return
            largest = max(waiting, key=self._inside.__getitem__)
            largest.refuse(503, "too much is being sent at once", lingers=False)
            self._inside.pop(largest, None)

    def leave(self, connection: "TolerantProtocol") -> None:
        self._inside.pop(connection, None)


class TolerantProtocol(asyncio.Protocol):
    """Stands between a connection and the HTTP library's own protocol."""

    def __init__(
        self,
        inner: asyncio.Protocol,
        max_bytes: int,
        door: Door | None = None,
        silences: tuple[float, float] = SILENCES,
        whole_seconds: float = WHOLE_SECONDS,
    ) -> None:
        self._inner = inner
        self._reader = RequestReader(max_bytes)
        self._door = door or Door(1, max_bytes)
        self._silences = silences
        self._whole_seconds = whole_seconds
        self._silence: asyncio.TimerHandle | None = None
        self._limit: asyncio.TimerHandle | None = None
        self._is_refused = False
        self._was_told_to_go_ahead = False
        self._transport: asyncio.Transport | None = None
        self._began: float | None = None  # when the first byte came
        self.is_whole = False  # whether the request has been passed on

    @property
    def age(self) -> float:
        """Seconds since the first byte of the request, which count against its clock."""
        return 0.0 if self._began is None else time.monotonic() - self._began

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._inner.connection_made(transport)
        self._listen_on(self._silences[1])
        self._limit = asyncio.get_running_loop().call_later(self._whole_seconds, self._end_by_silence)
        self._door.enter(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._door.leave(self)
        self._stop_waiting()
        self._inner.connection_lost(exc)

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()

    def data_received(self, data: bytes) -> None:
        if self.is_whole or self._is_refused:
            return
        if self._began is None:
            self._began = time.monotonic()
        try:
            request = self._reader.feed(data)
        except RequestRefusedError as error:
            self.refuse(error.status, str(error), lingers=error.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return
        self._door.hold(self, self._reader.size)
        if request is not None and not self._is_refused:
            self._pass_on(request)
        elif not self._is_refused:
            self._listen_on(self._silences[0] if self._reader.looks_whole else self._silences[1])
            self._go_ahead()

    def eof_received(self) -> bool:
        """Keeps the connection open for the reply, when there was a message."""
        self._take_rest()
        return self.is_whole

    def refuse(self, status: int, reason: str, *, lingers: bool = True) -> None:
        """Answers without a look at the rest, which is read and dropped for a moment if it lingers."""
        log.warning("refused: %s", reason)
        self._is_refused = True
        self._stop_waiting()
        self._reader.forget()
        self._door.hold(self, 0)
        if self._transport is None:
            return
        head = f"HTTP/1.0 {status} {HTTPStatus(status).phrase}\r\nContent-Type: {CONTENT_TYPE}\r\n"
        body = reason.encode()
        self._transport.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
        if lingers:
            self._listen_on(_LINGER_SECONDS)
        else:
            self._transport.close()

    def _go_ahead(self) -> None:
        if self._reader.wants_go_ahead and not self._was_told_to_go_ahead and self._transport is not None:
            self._was_told_to_go_ahead = True
            self._transport.write(_GO_AHEAD)

    def _take_rest(self) -> None:
        rest = None if self.is_whole or self._is_refused else self._reader.rest()
        if rest is not None:
            self._pass_on(rest)

    def _end_by_silence(self) -> None:
        self._take_rest()
        if not self.is_whole and self._transport is not None:
            self._transport.close()

    def _pass_on(self, request: bytes) -> None:
        self.is_whole = True
        self._stop_waiting()
        self._reader.forget()
        self._inner.data_received(request)

    def _stop_waiting(self) -> None:
        self._listen_on(None)
        if self._limit is not None:
            self._limit.cancel()

    def _listen_on(self, seconds: float | None) -> None:
        if self._silence is not None:
            self._silence.cancel()
        self._silence = None
        if seconds is not None:
            self._silence = asyncio.get_running_loop().call_later(seconds, self._end_by_silence)


def tolerant(inner: asyncio.BaseProtocol, max_bytes: int, door: Door) -> TolerantProtocol:
    """In front of a protocol that the HTTP library made for one connection."""
    return TolerantProtocol(cast(asyncio.Protocol, inner), max_bytes, door)

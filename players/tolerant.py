"""What game masters send as HTTP → requests that an HTTP library reads.

The library refuses a POST whose Content-Length is missing, and cuts a body whose length was counted in characters.
Here the end of a message is found first: by its length in bytes or characters, or by its parentheses, or because the
sender falls silent. A connection carries one message; what follows is ignored.
"""

import asyncio
import re
import time
from typing import cast
from urllib.parse import quote

from ggp.protocol.evaluation import HEADER, WANTED

_END_OF_HEAD = re.compile(rb"\r?\n\r?\n")
_VERSIONS = frozenset({"1.0", "1.1"})
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))
_COMMENT = re.compile(rb";[^\n]*")
_CONTINUATIONS = bytes(range(0x80, 0xC0))  # bytes of UTF-8 that begin no character
_BODILESS = frozenset({"GET", "HEAD", "OPTIONS"})
_LEFT_TO_LIBRARY = frozenset({"transfer-encoding", "content-encoding", "expect"})
_MAX_HEAD_BYTES = 2**16  # what has no end by then is no head, but a message that is none

SILENCES = (0.1, 10.0)  # seconds to wait for more of a message that looks whole, and of one that does not


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
        self._wants_evaluation = False
        self.is_for_library = False  # the request is sound but uses more of HTTP than is known here

    @property
    def looks_whole(self) -> bool:
        return self._has_lists and self._depth <= 0

    def feed(self, data: bytes) -> bytes | None:
        """The whole request in sound HTTP, as soon as there is one."""
        self._body += data
        if self._head is None:
            if not self._find_head(len(data)):
                return self.rest() if len(self._body) > min(_MAX_HEAD_BYTES, self._max_bytes) else None
            data = bytes(self._body)
        if self.is_for_library or len(self._body) > self._max_bytes:
            return self.rest()
        self._scan(data)
        return self.rest() if self._is_whole() else None

    def rest(self) -> bytes | None:
        """What there is as a request, when no more will come; None when there is nothing."""
        if self._head is None and not self._body:
            return None
        if self.is_for_library:
            return (self._head or b"") + b"\r\n\r\n" + bytes(self._body)
        method, target, version = self._request
        lines = [f"{method} {target} HTTP/{version}", "Host: player", "Connection: close"]
        if self._wants_evaluation:
            lines.append(f"{HEADER}: {WANTED}")
        body = b"" if method in _BODILESS else bytes(self._body)
        if method not in _BODILESS:
            lines.append(f"Content-Length: {len(body)}")
        return "\r\n".join([*lines, "", ""]).encode("ascii") + body

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
            name = name.strip().lower()
            if name == "content-length" and re.fullmatch(r"\s*[0-9]{1,15}\s*", value):
                self._length = int(value)
            self._wants_evaluation |= name == HEADER.lower() and value.strip() == WANTED
            self.is_for_library |= name in _LEFT_TO_LIBRARY and value.strip().lower() != "identity"
        return True

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
        if self._request[0] in _BODILESS:
            return True
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


class TolerantProtocol(asyncio.Protocol):
    """Stands between a connection and the HTTP library's own protocol."""

    def __init__(self, inner: asyncio.Protocol, max_bytes: int, silences: tuple[float, float] = SILENCES) -> None:
        self._inner = inner
        self._reader = RequestReader(max_bytes)
        self._silences = silences
        self._silence: asyncio.TimerHandle | None = None
        self._is_passed_on = False
        self._transport: asyncio.BaseTransport | None = None
        self._began: float | None = None  # when the first byte came

    @property
    def age(self) -> float:
        """Seconds since the first byte of the request, which count against its clock."""
        return 0.0 if self._began is None else time.monotonic() - self._began

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._inner.connection_made(transport)
        self._listen_on(self._silences[1])

    def connection_lost(self, exc: Exception | None) -> None:
        self._listen_on(None)
        self._inner.connection_lost(exc)

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()

    def data_received(self, data: bytes) -> None:
        if self._is_passed_on:
            if self._reader.is_for_library:
                self._inner.data_received(data)
            return
        if self._began is None:
            self._began = time.monotonic()
        request = self._reader.feed(data)
        if request is not None:
            self._pass_on(request)
        else:
            self._listen_on(self._silences[0] if self._reader.looks_whole else self._silences[1])

    def eof_received(self) -> bool:
        """Keeps the connection open for the reply, when there was a message."""
        self._take_rest()
        return self._is_passed_on

    def _take_rest(self) -> None:
        rest = None if self._is_passed_on else self._reader.rest()
        if rest is not None:
            self._pass_on(rest)

    def _end_by_silence(self) -> None:
        self._take_rest()
        if not self._is_passed_on and self._transport is not None:
            self._transport.close()

    def _pass_on(self, request: bytes) -> None:
        self._is_passed_on = True
        self._listen_on(None)
        self._inner.data_received(request)

    def _listen_on(self, seconds: float | None) -> None:
        if self._silence is not None:
            self._silence.cancel()
        self._silence = None
        if seconds is not None:
            self._silence = asyncio.get_running_loop().call_later(seconds, self._end_by_silence)


def tolerant(inner: asyncio.BaseProtocol, max_bytes: int) -> TolerantProtocol:
    """In front of a protocol that the HTTP library made for one connection."""
    return TolerantProtocol(cast(asyncio.Protocol, inner), max_bytes)

"""Events of a match or a list → server-sent events; a slow listener never holds anything up."""

import asyncio
import json
import secrets
from collections import deque
from collections.abc import Iterator, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from aiohttp import web

from gamemaster.web.settings import busy

KEPT_BYTES = 2_000_000  # of events, for those who come back after a break
QUEUE = 64  # events that a listener may be behind
RESYNC = b"event: resync\ndata: {}\n\n"  # what was missed has to be fetched
MEDIA_TYPE = "text/event-stream"
PATIENCE = 30.0  # seconds for which a client may take nothing of what it is sent
_RETRY = b"retry: 1000\n\n"  # milliseconds after which a browser comes back
_ALIVE = b": still here\n\n"
_LOOK = 1.0  # seconds between two looks whether the listener is still there
_SILENCE = 15.0  # seconds after which something is sent, so that a dead connection is found out


@dataclass(frozen=True, slots=True)
class _Event:
    number: int
    data: bytes  # as server-sent events are written


class Listener:
    """One stream of events. A listener that is too far behind loses what came in between and is told so."""

    def __init__(self) -> None:
        self._events: deque[bytes] = deque()
        self._news = asyncio.Event()
        self.is_over = False

    def put(self, data: bytes) -> None:
        if len(self._events) >= QUEUE:
            self._events.clear()
            data = RESYNC
        self._events.append(data)
        self._news.set()

    def end(self) -> None:
        """Nothing more will come."""
        self.is_over = True
        self._news.set()

    async def get(self) -> bytes:
        """All that has come since the last call, at least something; empty when it is over."""
        while not self._events and not self.is_over:
            self._news.clear()
            await self._news.wait()
        data = b"".join(self._events)
        self._events.clear()
        return data


class Feed:
    """A stream of events; a number of an event holds for the process that gave it."""

    def __init__(self) -> None:
        self._epoch = secrets.token_hex(4)
        self._number = 0
        self._kept: deque[_Event] = deque()
        self._kept_bytes = 0
        self._listeners: set[Listener] = set()
        self._is_over = False

    @property
    def listeners(self) -> Set[Listener]:
        return self._listeners

    def publish(self, kind: str, data: object, **texts: str) -> None:
        """Tells everybody; returns at once. `texts` are members of the data as JSON, next to those of a mapping."""
        self._number += 1
        text = json.dumps(data, separators=(",", ":"))
        if texts:
            text = ",".join([text[:-1], *(f'"{name}":{value}' for name, value in texts.items())]) + "}"
        event = _Event(self._number, f"id: {self._epoch}-{self._number}\nevent: {kind}\ndata: {text}\n\n".encode())
        self._kept.append(event)
        self._kept_bytes += len(event.data)
        while self._kept_bytes > KEPT_BYTES and len(self._kept) > 1:
            self._kept_bytes -= len(self._kept.popleft().data)
        for listener in self._listeners:
            listener.put(event.data)

    def end(self) -> None:
        """Nothing more will happen."""
        self._is_over = True
        for listener in self._listeners:
            listener.end()

    @contextmanager
    def listening(self, last: str = "") -> Iterator[Listener]:
        """A listener that first gets what came after the event `last`, where that is known, else RESYNC."""
        listener = Listener()
        for data in self._since(last):
            listener.put(data)
        if self._is_over:
            listener.end()
        self._listeners.add(listener)
        try:
            yield listener
        finally:
            self._listeners.discard(listener)

    def _since(self, last: str) -> list[bytes]:
        """Nothing for those who come for the first time: they have just fetched everything, or will."""
        if not last:
            return []
        epoch, _, number = last.rpartition("-")
        if epoch != self._epoch or not number.isdecimal() or len(number) > 12:
            return [RESYNC]
        seen = int(number)
        first = self._kept[0].number if self._kept else self._number + 1
        if seen > self._number or seen < first - 1:
            return [RESYNC]
        missed = [event.data for event in self._kept if event.number > seen]
        return missed if len(missed) < QUEUE else [RESYNC]


class Streams:
    """All that are open."""

    def __init__(self, most: int, most_of_visitor: int) -> None:
        self._most = most
        self._most_of_visitor = most_of_visitor
        self._open: dict[Listener, str] = {}  # listener → visitor
        self._turn = asyncio.Lock()
        self._is_closed = False

    async def serve(self, request: web.Request, feed: Feed, visitor: str) -> web.StreamResponse:
        """The events of a feed, until it ends or the listener goes; `visitor` is nobody where it is the operator."""
        own = sum(one == visitor for one in self._open.values()) if visitor else 0
        if len(self._open) >= self._most or own >= self._most_of_visitor or self._is_closed:
            raise busy("too many are listening already", 10.0)
        last = request.headers.get("Last-Event-ID") or request.query.get("last", "")
        response = web.StreamResponse(headers={"Content-Type": MEDIA_TYPE, "X-Accel-Buffering": "no"})
        with feed.listening(last) as listener:
            self._open[listener] = visitor
            try:
                await response.prepare(request)
                with suppress(ConnectionError, TimeoutError):
                    await self._send(request, response, listener)
            finally:
                del self._open[listener]
        return response

    def close(self) -> None:
        """Ends them all."""
        self._is_closed = True
        for listener in self._open:
            listener.end()

    async def _send(self, request: web.Request, response: web.StreamResponse, listener: Listener) -> None:
        data = _RETRY
        silence = 0.0
        while data or not listener.is_over:
            if data:
                silence = 0.0
                async with self._turn:  # one after the other, so that the game master gets its turn between them
                    await asyncio.sleep(0)
                async with asyncio.timeout(PATIENCE):
                    await response.write(data)
            data = b""
            try:
                async with asyncio.timeout(_LOOK):
                    data = await listener.get()
            except TimeoutError:
                silence += _LOOK
                if request.transport is None or request.transport.is_closing():
                    return  # the listener has gone
                data = _ALIVE if silence >= _SILENCE else b""

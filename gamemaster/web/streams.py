"""Feeds → server-sent events over HTTP; whoever reads slowly, or not at all, is let go."""

import asyncio
from contextlib import suppress

from aiohttp import web

from gamemaster.web.feed import Feed, Listener
from gamemaster.web.problems import busy

MEDIA_TYPE = "text/event-stream"

_RETRY = b"retry: 1000\n\n"  # milliseconds after which a browser comes back
_ALIVE = b": still here\n\n"
_LOOK = 1.0  # seconds between two looks whether the listener is still there
_SILENCE = 15.0  # seconds after which something is sent, so that a dead connection is found out
_PATIENCE = 30.0  # seconds for which a listener may take nothing


class Streams:
    """All that are open."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: set[Listener] = set()
        self._turn = asyncio.Lock()
        self._is_closed = False

    async def serve(self, request: web.Request, feed: Feed) -> web.StreamResponse:
        """The events of a feed, until it ends or the listener goes."""
        if len(self._open) >= self._most or self._is_closed:
            raise busy("too many are listening already", 10.0)
        last = request.headers.get("Last-Event-ID") or request.query.get("last", "")
        response = web.StreamResponse(headers={"Content-Type": MEDIA_TYPE, "X-Accel-Buffering": "no"})
        with feed.listening(last) as listener:
            self._open.add(listener)
            try:
                await response.prepare(request)
                with suppress(ConnectionError, TimeoutError):
                    await self._send(request, response, listener)
            finally:
                self._open.discard(listener)
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
                async with asyncio.timeout(_PATIENCE):
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

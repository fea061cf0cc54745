"""A player on a real socket that plays honestly, but for the troubles that its script prescribes."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, Self, TypeAlias

import ggp
from ggp.gdl.terms import to_text
from ggp.protocol.messages import Abort, Info, Message, Play, PlayPercepts, Start, parse_message

HOST = "127.0.0.1"
CHUNK = b"x" * 65_536


@dataclass
class Exchange:
    """One request, the honest answer to it, and the connection that waits for it."""

    player: "ScriptedPlayer"
    answer: str
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()


Trouble: TypeAlias = Callable[[Exchange], Awaitable[None]]
When: TypeAlias = int | Literal["info", "start", "stop", "abort"]  # a number is a step


@dataclass
class ScriptedPlayer:
    """Answers the last of its legal moves; `moves` and `troubles` say when it does something else."""

    troubles: Mapping[When, Trouble] = field(default_factory=dict)
    moves: Mapping[int, str] = field(default_factory=dict)
    heard: list[tuple[float, Message]] = field(default_factory=list)  # (seconds, message)
    raw: list[bytes] = field(default_factory=list)  # the head of each request
    sent_bytes: int = 0  # by `flood`
    port: int = 0
    step: int = 0
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}/"

    def told(self, kind: type[Message]) -> list[Message]:
        """The messages of one kind, in order."""
        return [message for _, message in self.heard if isinstance(message, kind)]

    async def __aenter__(self) -> Self:
        await self.listen()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.refuse()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def listen(self) -> None:
        """Begins to accept connections, again on the same port when it did before."""
        self._server = await asyncio.start_server(self._serve, HOST, self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    def refuse(self) -> None:
        """New connections are refused from now on."""
        self._server.close()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Does something next to the answers."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                await self._converse(reader, writer)
        finally:
            self._tasks.discard(task)
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.raw.append(head)
        fields = dict(line.split(": ", 1) for line in head.decode().lower().split("\r\n")[1:] if line)
        body = await reader.readexactly(int(fields["content-length"]))
        message = parse_message(body.decode())
        self.heard.append((asyncio.get_running_loop().time(), message))
        when, answer = self._understand(message)
        trouble = self.troubles.get(when, honest)
        await trouble(Exchange(self, answer, reader, writer))

    def _understand(self, message: Message) -> tuple[When, str]:
        match message:
            case Info():
                return "info", "( ( name scripted ) ( status available ) )"
            case Start():
                self._game = ggp.load_text(message.rules, engine="interpreter")
                self._role = message.role
                self._state = self._game.machine.initial_state
                self.step = -1
                return "start", "ready"
            case Play():
                if message.moves is not None:
                    self._state = self._game.machine.next_state(self._state, message.moves)
                self.step += 1
                legal = self._game.machine.legal_moves(self._state, self._role)
                return self.step, self.moves.get(self.step, to_text(legal[-1]) if legal else "nil")
            case PlayPercepts():
                return message.turn, self.moves[message.turn]
            case Abort():
                return "abort", "aborted"
        return "stop", "done"


def response(body: bytes, status: str = "200 OK", length: int | None = None) -> bytes:
    head = f"HTTP/1.0 {status}\r\nContent-Type: text/acl\r\nContent-Length: {len(body) if length is None else length}"
    return head.encode() + b"\r\n\r\n" + body


async def honest(exchange: Exchange) -> None:
    await exchange.send(response(exchange.answer.encode()))


def late(seconds: float) -> Trouble:
    async def trouble(exchange: Exchange) -> None:
        await asyncio.sleep(seconds)
        await honest(exchange)

    return trouble


def held_until(event: asyncio.Event) -> Trouble:
    async def trouble(exchange: Exchange) -> None:
        await event.wait()
        await honest(exchange)

    return trouble


async def silent(exchange: Exchange) -> None:
    """Accepts the request and never answers, until the other side hangs up."""
    await exchange.reader.read()


async def hangs_up(_: Exchange) -> None:
    """Closes the connection without a word."""


async def breaks_off(exchange: Exchange) -> None:
    """Closes the connection in the middle of an answer."""
    await exchange.send(response(exchange.answer.encode(), length=len(exchange.answer) + 10))


def drip(interval: float) -> Trouble:
    """The honest answer, a byte every so many seconds."""

    async def trouble(exchange: Exchange) -> None:
        for byte in response(exchange.answer.encode()):
            await exchange.send(bytes([byte]))
            await asyncio.sleep(interval)

    return trouble


def flood(size_bytes: int, head: bytes = b"HTTP/1.0 200 OK\r\n\r\n", chunk: bytes = CHUNK) -> Trouble:
    """As much as it is let, up to the size."""

    async def trouble(exchange: Exchange) -> None:
        await exchange.send(head)
        while exchange.player.sent_bytes < size_bytes:
            await exchange.send(chunk)
            exchange.player.sent_bytes += len(chunk)

    return trouble


def raw(data: bytes) -> Trouble:
    """Any bytes in place of a response."""

    async def trouble(exchange: Exchange) -> None:
        await exchange.send(data)

    return trouble


def thinks(text: str, answer: str = "") -> Trouble:
    """The honest answer, or another one, with a header beside it that says what the player thinks."""

    async def trouble(exchange: Exchange) -> None:
        await exchange.send(response((answer or exchange.answer).encode(), f"200 OK\r\nGGP-Evaluation: {text}"))

    return trouble


def says(body: bytes | str, status: str = "200 OK") -> Trouble:
    return raw(response(body.encode() if isinstance(body, str) else body, status))


async def dies(exchange: Exchange) -> None:
    """Closes the connection and never accepts another."""
    exchange.player.refuse()

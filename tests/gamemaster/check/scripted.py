"""A player in few lines that does nothing wrong, to be spoilt by the tests: most of them change one thing in it."""

import asyncio
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Self

import ggp
from gamemaster.check.checks import CheckGroup, all_parts, examine
from gamemaster.check.exchange import Address
from gamemaster.check.session import CheckResult, CheckSession, CheckSettings
from ggp.engines import make_machine
from ggp.errors import GgpError
from ggp.game import Game
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.gdl.terms import to_text
from ggp.protocol.messages import (
    Abort,
    Info,
    Message,
    Ping,
    Play,
    PlayPercepts,
    Preview,
    Start,
    parse_message,
    same_match,
)
from tests.gamemaster.virtual_time import run

HOST = "127.0.0.1"
TAKES_TURNS = """
(role left) (role right)
(init (heap 6)) (init (mover left))
(other left right) (other right left)
(minus 6 1 5) (minus 5 1 4) (minus 4 1 3) (minus 3 1 2) (minus 2 1 1) (minus 1 1 0)
(minus 6 2 4) (minus 5 2 3) (minus 4 2 2) (minus 3 2 1) (minus 2 2 0)
(<= (legal ?r (take ?n)) (true (mover ?r)) (true (heap ?h)) (minus ?h ?n ?rest))
(<= (legal ?r wait) (true (mover ?o)) (other ?o ?r))
(<= (next (heap ?rest)) (does ?r (take ?n)) (true (heap ?h)) (minus ?h ?n ?rest))
(<= (next (mover ?r)) (true (mover ?o)) (other ?o ?r))
(<= terminal (true (heap 0)))
(<= (goal ?r 0) (true (mover ?r)))
(<= (goal ?r 100) (true (mover ?o)) (other ?o ?r))
"""  # the same joint move is never legal twice in a row


class Drop(Exception):  # noqa: N818 - a signal, no mistake
    """The connection is to be closed without an answer."""


class Silence(Exception):  # noqa: N818 - likewise
    """Nothing is to be answered as long as the other side waits."""


class SoundPlayer:
    """One match at a time, any number of connections; plays its last legal move, counts length in bytes only."""

    port = 0
    longest = 100_000  # characters of a message that is read at all

    def __init__(self) -> None:
        self.name = ""  # of the match, empty while there is none
        self.heard: list[str] = []
        self._tasks: set[asyncio.Task[None]] = set()

    # what tests change

    async def answer(self, text: str) -> str | bytes:
        """A reply as text, or the whole response as bytes."""
        try:
            message = parse_message(text)
        except GgpError as error:
            return self.response(str(error), "400 Bad Request")
        return await self.reply(message)

    async def reply(self, message: Message) -> str | bytes:
        match message:
            case Info():
                return f"( ( name sound ) ( status {'busy' if self.name else 'available'} ) )"
            case Preview() | Ping():
                return "busy" if self.name else "ready"
            case Start():
                return await self.start(message)
        if not same_match(message.match, self.name):
            return "busy"
        if isinstance(message, Play | PlayPercepts):
            return await self.play(message)
        self.name = ""
        return "aborted" if isinstance(message, Abort) else "done"

    async def start(self, message: Start) -> str | bytes:
        if self.name:
            return "ready" if same_match(self.name, message.match) else "busy"
        try:
            rulesheet = parse_rulesheet(message.rules, allow_control=True)
            self.game = Game("game", rulesheet, make_machine(rulesheet, "interpreter"))
        except GgpError:
            return "busy"
        if message.role not in self.game.roles:
            return "busy"
        self.role = message.role
        self.state = self.game.machine.initial_state
        self.told: Play | PlayPercepts | None = None
        self.name = message.match
        return "ready"

    async def play(self, message: Play | PlayPercepts) -> str | bytes:
        if message != self.told:
            self.follow(message)
        return self.move()

    def follow(self, message: Play | PlayPercepts) -> None:
        if isinstance(message, Play) and message.moves is not None:
            self.state = self.game.machine.next_state(self.state, message.moves)
        self.told = message

    def move(self) -> str:
        legal = self.game.machine.legal_moves(self.state, self.role)
        return to_text(legal[-1]) if legal else "nil"

    def response(self, body: str, status: str = "200 OK") -> bytes:
        data = body.encode()
        return f"HTTP/1.0 {status}\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data

    # the network

    @property
    def address(self) -> Address:
        return Address(HOST, self.port, "/")

    async def __aenter__(self) -> Self:
        await self._listen()
        return self

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, HOST, self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    def come_back(self) -> None:
        """Listens again on the same port."""
        task = asyncio.get_running_loop().create_task(self._listen())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def __aexit__(self, *_: object) -> None:
        self.die()
        await asyncio.gather(*self._tasks)

    def die(self) -> None:
        """New connections are refused from now on."""
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with suppress(Drop, ConnectionError, asyncio.IncompleteReadError):
                try:
                    await self.converse(reader, writer)
                except Silence:
                    await reader.read()
        finally:
            self._tasks.discard(task)
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request and its response."""
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
        body = await (reader.readexactly(int(length[1])) if length else reader.read())
        text = body.decode(errors="replace")
        self.heard.append(text)
        reply = await self.answer(text if len(text) <= self.longest else "")
        writer.write(reply if isinstance(reply, bytes) else self.response(reply))
        await writer.drain()


def parts(*names: str) -> list[CheckGroup]:
    """The parts that have checks of these names, and those before which nothing can be tried."""
    needed = {"connection", "START, ggp-base", *names}
    found = [part for part in all_parts() if needed & {check.name for check in part.checks}]
    assert needed <= {check.name for part in found for check in part.checks}
    return found


def game(rules: str = TAKES_TURNS) -> Game:
    return ggp.load_text(rules, "small", "interpreter")


def findings_of(
    player: SoundPlayer, chosen: Sequence[CheckGroup], settings: CheckSettings | None = None, rules: str = TAKES_TURNS
) -> tuple[CheckSession, dict[str, CheckResult]]:
    """What the checks find in virtual time, by their names."""

    async def whole() -> tuple[CheckSession, tuple[CheckResult, ...]]:
        async with player:
            session = CheckSession(player.address, game(rules), settings or CheckSettings(seed=1))
            return session, await examine(session, chosen, lambda _: None)

    session, findings = run(whole())
    return session, {finding.check.name: finding for finding in findings}

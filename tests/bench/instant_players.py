"""Players over HTTP that need no time, in a process of their own: `python -m tests.bench.instant_players 2`.

They know one line of tic-tac-toe by heart, nine moves that end in a draw, so that what a match takes is what the game
master takes. The process prints its ports and ends with its standard input.
"""

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

HOST = "127.0.0.1"
CELLS = ("1 1", "2 2", "1 3", "1 2", "3 2", "3 1", "2 1", "2 3", "3 3")  # a draw; even steps are xplayer's
STEPS = len(CELLS)


class Instant(asyncio.Protocol):
    """One connection: a request in, its answer out, and the connection is closed, as HTTP/1.0 has it."""

    def __init__(self, player: "Player") -> None:
        self._player = player
        self._received = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        began = perf_counter()
        self._received += data
        head, separator, body = self._received.partition(b"\r\n\r\n")
        if not separator or len(body) < _length(head) or self._transport is None:
            return
        answer = self._player.answer(body.decode())
        self._transport.write(f"HTTP/1.0 200 OK\r\nContent-Length: {len(answer)}\r\n\r\n{answer}".encode())
        self._transport.close()
        self._player.seconds += perf_counter() - began


class Player:
    """Answers the n-th PLAY with the n-th move of its role."""

    def __init__(self) -> None:
        self._even = True
        self._step = 0
        self.seconds = 0.0  # spent on answers

    def answer(self, message: str) -> str:
        words = message.lower().replace("(", " ").split(maxsplit=3)
        match words[0]:
            case "start":
                self._even, self._step = words[2] == "xplayer", 0
                return "ready"
            case "play":
                move = f"(mark {CELLS[self._step]})" if (self._step % 2 == 0) == self._even else "noop"
                self._step += 1
                return move
        return "done"


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0


async def serve(count: int) -> None:
    """So many players, until standard input ends."""
    loop = asyncio.get_running_loop()
    servers = []
    for _ in range(count):
        player = Player()
        servers.append(await loop.create_server(lambda player=player: Instant(player), HOST, 0))  # type: ignore[misc]
    print(json.dumps([server.sockets[0].getsockname()[1] for server in servers]), flush=True)
    ended = asyncio.Event()

    def wait_for_end() -> None:
        sys.stdin.buffer.read()
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=wait_for_end, daemon=True).start()
    await ended.wait()


@contextmanager
def instant_players(count: int) -> Iterator[list[str]]:
    """The URLs of so many players in another process."""
    command = [sys.executable, "-m", "tests.bench.instant_players", str(count)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield [f"http://{HOST}:{port}/" for port in json.loads(process.stdout.readline())]
        process.communicate()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))

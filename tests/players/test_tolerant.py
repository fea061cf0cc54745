"""Stage 9, services: what game masters in the wild send as HTTP, byte by byte."""

import asyncio
import logging
import re
import socket
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from random import Random

import pytest

from players.service import listening
from players.settings import PlayerSettings
from players.tolerant import SILENCES, Door, RequestReader, RequestRefusedError, TolerantProtocol
from tests.players.doubles import FakeClock, app_with
from tests.search.machines import Nim

MAX_BYTES = 50_000
INFO = b"( ( name legal ) ( status available ) ( species alien ) )"


def body(text: str, *headers: str) -> bytes:
    return "\r\n".join(["POST / HTTP/1.0", *headers, "", text]).encode()


WHOLE = {
    "as ggp-base sends it": body(
        "( INFO )",
        "Accept: text/delim",
        "Sender: GAMESERVER",
        "Receiver: legal",
        "Content-Type: text/acl",
        "Content-Length: 8",
    ),
    "without any header": body("( INFO )"),
    "with a header that is none": body("( INFO )", "this is no header", "Näme: ü", "Content-Length: 8"),
    "with a length that is none": body("( INFO )", "Content-Length: eight"),
    "with two lengths": body("( INFO )", "Content-Length: 4", "Content-Length: 8"),
    "with newlines only": b"POST / HTTP/1.0\nContent-Length: 8\n\n( INFO )",
    "in lower case": b"post / http/1.0\r\ncontent-length: 8\r\n\r\n(info  )",
    "in HTTP/1.1": b"POST / HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\nContent-Length: 8\r\n\r\n( INFO )",
    "without a version": b"POST /\r\nContent-Length: 8\r\n\r\n( INFO )",
    "to a whole address": b"POST http://localhost:9147/ HTTP/1.0\r\nContent-Length: 8\r\n\r\n( INFO )",
    "with a method of its own": b"SEND / HTTP/1.0\r\nContent-Length: 8\r\n\r\n( INFO )",
    "with a comment": body("( INFO ; (who are you?\n)"),
    "with a line feed behind": body("( INFO )\r\n", "Content-Length: 8"),
    "without HTTP": b"( INFO )",
    "by GET": b"GET /%28%20INFO+) HTTP/1.0\r\n\r\n",
    "by GET, not encoded": b"GET /( INFO ) HTTP/1.0\r\n\r\n",
    "by GET, to a whole address": b"GET http://localhost:9147/(INFO) HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "by GET, of HTTP/0.9": b"GET /(INFO)\r\n\r\n",
    "by GET, without a message": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "with an upgrade": body("( INFO )", "Upgrade: h2c", "Content-Encoding: identity"),
    "in chunks on a connection that is kept": b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"8\r\n( INFO )\r\n0\r\n\r\n",
    "in chunks": b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    b"5\r\n( INF\r\n3\r\nO )\r\n0\r\n\r\n",
}
WITH_UMLAUT = "(PREVIEW ((role weiß) (init (größe ä))) 5)"


@pytest.fixture
async def port() -> AsyncIterator[int]:
    app = app_with(PlayerSettings("legal", max_message_bytes=MAX_BYTES), FakeClock(), Nim(5), ["http://page"])
    async with listening(app, "127.0.0.1", 0, MAX_BYTES) as actual_port:
        yield actual_port


async def exchange(port: int, *pieces: bytes, closes: bool = False) -> bytes:
    """Sends the pieces one by one; everything that comes until the other side hangs up, perhaps before it has read all.

    Streams of asyncio forget what has come when a connection is reset.
    """
    loop, received = asyncio.get_running_loop(), b""
    with socket.socket() as client:
        client.setblocking(False)
        await loop.sock_connect(client, ("127.0.0.1", port))
        with suppress(ConnectionError):
            for piece in pieces:
                await loop.sock_sendall(client, piece)
                await asyncio.sleep(0)
        if closes:
            client.shutdown(socket.SHUT_WR)
        async with asyncio.timeout(5):
            with suppress(ConnectionError):
                while data := await loop.sock_recv(client, 1 << 16):
                    received += data
    return received


@pytest.mark.parametrize("request_bytes", WHOLE.values(), ids=WHOLE.keys())
async def test_message_is_answered_and_the_connection_closed(port: int, request_bytes: bytes) -> None:
    assert (await exchange(port, request_bytes)).endswith(b"\r\n\r\n" + INFO)


@pytest.mark.parametrize("request_bytes", WHOLE.values(), ids=WHOLE.keys())
async def test_message_is_answered_when_it_comes_byte_by_byte(port: int, request_bytes: bytes) -> None:
    assert INFO in await exchange(port, *(request_bytes[i : i + 1] for i in range(len(request_bytes))))


async def test_reply_is_in_the_version_of_the_request(port: int) -> None:
    assert (await exchange(port, WHOLE["without any header"])).startswith(b"HTTP/1.0 200 OK\r\n")
    assert (await exchange(port, WHOLE["in HTTP/1.1"])).startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
@pytest.mark.parametrize("length", [len(WITH_UMLAUT), len(WITH_UMLAUT.encode())], ids=["characters", "bytes"])
async def test_length_may_count_characters(port: int, encoding: str, length: int) -> None:
    head = f"POST / HTTP/1.0\r\nContent-Length: {length}\r\n\r\n".encode()
    data = WITH_UMLAUT.encode(encoding)
    closes = len(data) < length  # the length in bytes of another encoding: only the end tells
    for cut in range(len(data) - 6, len(data)):
        assert (await exchange(port, head, data[:cut], data[cut:], closes=closes)).endswith(b"\r\n\r\nready")


async def test_options(port: int) -> None:
    reply = await exchange(port, b"OPTIONS / HTTP/1.1\r\nHost: x\r\nOrigin: http://page\r\n\r\n")
    assert reply.startswith(b"HTTP/1.1 200 OK")
    assert b"\r\nAccess-Control-Allow-Methods: POST, GET, OPTIONS\r\n" in reply
    assert reply.endswith(b"\r\n\r\n")


async def test_sender_that_closes_its_side_gets_its_reply(port: int) -> None:
    assert (await exchange(port, b"POST / HTTP/1.0\r\n\r\ninfo", closes=True)).endswith(INFO)


async def test_expectation_of_a_go_ahead_is_met(port: int) -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: 8\r\n\r\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head)
    async with asyncio.timeout(60):
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"( INFO )")
        assert (await reader.read()).endswith(INFO)
    writer.close()


@pytest.mark.parametrize(
    "garbage", [b"\x16\x03\x01\x02\x00\x01", b"hello\r\n\r\n", b"POST", b"\r\n\r\n", b"GET\r\n\r\n"]
)
async def test_garbage_gets_a_refusal_and_leaves_no_traceback(
    port: int, garbage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    assert b" 400 Bad Request\r\n" in await exchange(port, garbage, closes=True)
    assert all(not record.exc_info for record in caplog.records)
    assert INFO in await exchange(port, WHOLE["without any header"])


async def test_connection_that_says_nothing_is_closed_quietly(port: int, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        assert await exchange(port, closes=True) == b""
    assert caplog.messages == []


async def test_endless_message_is_cut_off(port: int) -> None:
    for head in (b"POST / HTTP/1.0\r\nContent-Length: 100000000\r\n\r\n", b"POST / HTTP/1.0\r\n\r\n", b"", b"("):
        assert b" 413 " in await exchange(port, head, *[b"x" * 10_000] * 6)


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        (b"Content-Encoding: gzip\r\nContent-Length: 8", b"a message is sent as it is, not with content-encoding gzip"),
        (b"Content-Encoding: x\xffy", b"a message is sent as it is, not with content-encoding x?y"),
        (b"Transfer-Encoding: gzip, chunked", b"a message is sent as it is, not with transfer-encoding gzip, chunked"),
    ],
)
async def test_what_is_not_sent_as_it_is_gets_one_line(
    port: int, head: bytes, reason: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    for garbage in (b"\x1f\x8b\x08\x00garbage", b"( INFO )", b""):
        reply = await exchange(port, b"POST / HTTP/1.1\r\nHost: x\r\n" + head + b"\r\n\r\n" + garbage)
        assert reply.startswith(b"HTTP/1.0 400 Bad Request\r\n")
        assert reply.endswith(b"\r\n\r\n" + reason)
    assert all(not record.exc_info for record in caplog.records)
    assert len(caplog.messages) == 3


@pytest.mark.parametrize("chunks", [b"x\r\n", b"-1\r\n", b"5" * 2000, b"\r\n\r\n", b"3\r\nabc\r\n\xff\r\n"])
async def test_chunks_without_a_length_get_one_line(port: int, chunks: bytes, caplog: pytest.LogCaptureFixture) -> None:
    reply = await exchange(port, b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)
    assert reply.startswith(b"HTTP/1.0 400 Bad Request\r\n")
    assert caplog.messages == ["refused: a chunk without its length"]


async def test_random_bytes_never_fail(port: int, caplog: pytest.LogCaptureFixture) -> None:
    """A message or none: an answer, or a line that says why not, and never a traceback."""
    rng = Random(1)
    words = [*WHOLE.values(), b"\r\n", b"\r\n\r\n", b"( START m a ((role a)) 1 1)", b"HTTP/1.1", b"%00", b"Expect: x"]
    for _ in range(150):
        garbage = bytearray(b"".join(rng.choices(words, k=rng.randint(1, 3))))
        for _ in range(rng.randint(0, 12)):
            garbage[rng.randrange(len(garbage))] = rng.randrange(256)
        reply = await exchange(port, bytes(garbage), closes=True)
        assert reply == b"" or re.match(rb"HTTP/1\.[01] (100|200|400|403|413) ", reply), (garbage, reply)
    assert all(not record.exc_info for record in caplog.records)


async def test_only_a_start_may_be_long() -> None:
    limit = 10**6
    head = b"POST / HTTP/1.0\r\n\r\n"
    for body in (b"( START m a (", b"(PREVIEW (", b"\xef\xbb\xbf (start m a ("):
        assert RequestReader(limit).feed(head + body + b"x " * 2**17) is None
    for body in (b"( PLAY m (", b"(INFO", b"x", b"(STARTS m a (", b"( STOP m ("):
        with pytest.raises(RequestRefusedError) as caught:
            RequestReader(limit).feed(head + body + b"x " * 2**17)
        assert caught.value.status == 413


async def held(door: Door, size: int, count: int) -> list["Held"]:
    """Connections that came one after the other, each with so many bytes of a START."""
    connections = [Held(door) for _ in range(count)]
    for connection in connections:
        connection.data_received(b"POST / HTTP/1.0\r\n\r\n(START " + b"x" * size)
    return connections


class Held(TolerantProtocol):
    """A connection that is open."""

    def __init__(self, door: Door) -> None:
        super().__init__(Inner(), 10**6, door)
        self.said = b""
        self.connection_made(Sink(self))


class Sink(asyncio.Transport):
    def __init__(self, connection: Held) -> None:
        super().__init__()
        self._connection = connection

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._connection.said += data

    def close(self) -> None:
        self._connection.connection_lost(None)


async def test_all_connections_together_hold_a_bounded_number_of_bytes() -> None:
    connections = await held(Door(100, 10_000), 1000, 20)
    refused = [each for each in connections if each.said.startswith(b"HTTP/1.0 503 ")]
    assert len(refused) == 11  # with the head of the message, each holds a little more than a thousand
    assert sum(each._reader.size for each in connections) <= 10_000


async def test_the_largest_goes_where_it_is_too_much() -> None:
    door = Door(100, 10_000)
    [small, large] = [*await held(door, 100, 1), *await held(door, 9_000, 1)]
    small.data_received(b"x" * 2000)
    assert large.said.endswith(b"too much is being sent at once")
    assert small.said == b""


async def test_there_is_always_room_for_another_connection() -> None:
    """The one goes that is open longest without a whole request."""
    door = Door(3, 10**6)
    whole, *waiting = [Held(door) for _ in range(3)]
    whole.data_received(b"( INFO )")
    newcomers = [Held(door) for _ in range(2)]
    assert all(each.said.startswith(b"HTTP/1.0 503 ") for each in waiting)
    assert [each.said for each in (whole, *newcomers)] == [b"", b"", b""]
    for each in newcomers:
        each.data_received(b"( INFO )")
    assert Held(door).said.endswith(b"too many connections")


async def test_a_request_that_comes_in_drops_is_ended() -> None:
    protocol = TolerantProtocol(Inner(), MAX_BYTES, silences=(1000.0, 1000.0), whole_seconds=0.0)
    closed = asyncio.Event()

    class Transport(asyncio.Transport):
        def close(self) -> None:
            closed.set()

    protocol.connection_made(Transport())
    await asyncio.wait_for(closed.wait(), 2)


def test_length_in_characters_ends_even_garbage() -> None:
    head = b"POST / HTTP/1.0\r\nContent-Length: 3\r\n\r\n"
    assert RequestReader(MAX_BYTES).feed(head + "(é(".encode()) is not None
    assert RequestReader(MAX_BYTES).feed(head + "(éé".encode()[:-1]) is not None
    assert RequestReader(MAX_BYTES).feed(head + "(é".encode()) is None


@pytest.mark.parametrize(
    "start",
    [
        b"POST /" + b" " * 12_000 + b"x",
        b"GET /" + b" " * 60_000 + b"x",
        b"GET " + b"a" * 60_000,
        b"GET " + b"\t" * 60_000 + b"HTTP/1.0",
        b"POST / HTTP/1.0\r\n\r\n" + b";" * 500_000,
        b" " * 200_000,
    ],
    ids=["blanks", "GET", "letters", "tabs", "semicolons", "nothing"],
)
def test_odd_requests_cost_no_time(start: bytes) -> None:
    began = time.process_time()
    reader = RequestReader(10**6)
    with suppress(RequestRefusedError):
        reader.feed(start)
        reader.feed(b"\r\n\r\n")
        for _ in range(1000):
            reader.feed(b"x")
    assert time.process_time() - began < 0.5


def test_head_of_more_than_64_kb_is_none() -> None:
    for head in (b"GET /" + b"x" * 2**16, b"GET / HTTP/1.0\r\n" + b"X: y\r\n" * 11_000 + b"\r\n"):
        request = RequestReader(10**6).feed(head)
        assert request is not None
        assert request.startswith(b"POST / HTTP/1.0\r\n")
        assert request.endswith(head)


def test_two_messages_are_one_too_many() -> None:
    reader = RequestReader(MAX_BYTES)
    assert reader.feed(b"POST / HTTP/1.0\r\n\r\n(INFO)(PING)") is not None


@pytest.mark.parametrize(
    ("pieces", "looks_whole"),
    [
        ([b"POST / HTTP/1.0\r\nContent-Length: 20\r\n\r\n", b"( INFO )"], True),  # the length counts too much
        ([b"POST / HTTP/1.0\r\nContent-Length: 20\r\n\r\n", b"( INFO ; )"], False),
        ([b"POST / HTTP/1.0\r\nContent-Length: 30\r\n\r\n", b"( INFO ;", b" (", b" ((\n", b")"], True),
        ([b"POST / HTTP/1.0\r\nContent-Length: 20\r\n\r\n"], False),
        ([b"POST / HTTP/1.0\r\n\r\n", b"info"], False),
        ([b"POST / HT"], False),
    ],
)
def test_part_of_a_message_is_waited_for(pieces: list[bytes], looks_whole: bool) -> None:
    reader = RequestReader(MAX_BYTES)
    assert [reader.feed(piece) for piece in pieces] == [None] * len(pieces)
    assert reader.looks_whole == looks_whole


class Inner(asyncio.Protocol):
    """Keeps what it is given."""

    def __init__(self) -> None:
        self.received = asyncio.Queue[bytes]()

    def data_received(self, data: bytes) -> None:
        self.received.put_nowait(data)


async def test_silent_connection_is_closed() -> None:
    class Transport(asyncio.Transport):
        def close(self) -> None:
            closed.set()

    closed = asyncio.Event()
    protocol = TolerantProtocol(Inner(), MAX_BYTES, silences=(1000.0, 0.0))
    protocol.connection_made(Transport())
    await asyncio.wait_for(closed.wait(), 2)


def test_waiting_for_more_is_short_when_parentheses_balance() -> None:
    assert SILENCES[0] <= 0.1


async def test_time_counts_from_the_first_byte(port: int, caplog: pytest.LogCaptureFixture) -> None:
    """The length is too large by one: the silence that ends the message is part of the time it took."""
    with caplog.at_level(logging.INFO, "players"):
        assert INFO in await exchange(port, body("( INFO )", "Content-Length: 9"))
    assert caplog.messages[-1].startswith("INFO: ")
    assert float(caplog.messages[-1].split()[-2]) >= SILENCES[0]


async def test_silence_ends_a_message() -> None:
    inner = Inner()
    protocol = TolerantProtocol(inner, MAX_BYTES, silences=(0.0, 1000.0))
    protocol.data_received(b"POST / HTTP/1.0\r\nContent-Length: 20\r\n\r\n( INF")
    await asyncio.sleep(0)
    assert inner.received.empty()
    protocol.data_received(b"O )")
    request = await asyncio.wait_for(inner.received.get(), 5)
    assert request.endswith(b"Content-Length: 8\r\n\r\n( INFO )")
    protocol.data_received(b"more")
    protocol.connection_lost(None)
    assert inner.received.empty()

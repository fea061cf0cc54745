"""Stage 9, services: a player over HTTP, and the event loop that thinking never holds."""

import asyncio
import logging
import sys
from threading import Event
from typing import NoReturn
from urllib.parse import quote

import pytest
from aiohttp.test_utils import TestClient
from aiohttp.web import Application, Request
from pytest_aiohttp.plugin import AiohttpClient

from ggp.errors import MessageError
from ggp.protocol.messages import format_message
from players.service import SWITCH_INTERVAL, make_app
from players.settings import PlayerSettings
from players.strategies import STRATEGIES
from tests.players.doubles import PATIENCE, FakeClock, SpinningNim, StuckNim, maker, play, seen, start
from tests.search.machines import Nim

Client = TestClient[Request, Application]
START = format_message(start())


@pytest.fixture
async def client(aiohttp_client: AiohttpClient) -> Client:
    settings = PlayerSettings("legal", max_message_bytes=30_000)
    return await aiohttp_client(make_app(settings, FakeClock(), maker(Nim(5))))


async def say(client: Client, message: str) -> str:
    async with asyncio.timeout(PATIENCE), client.post("/", data=message.encode()) as response:
        assert response.status == 200
        return await response.text()


async def test_a_match(client: Client) -> None:
    assert await say(client, START) == "ready"
    assert await say(client, "( PLAY m NIL )") == "(take 1)"
    assert await say(client, "(PLAY M ((TAKE 1) WAIT))") == "wait"
    assert await say(client, "( STOP m (wait (take 3)) )") == "done"


async def test_headers_of_a_reply(client: Client) -> None:
    async with client.post("/", data=b"( INFO )") as response:
        assert response.headers["Content-Type"] == "text/acl"
        assert response.headers["Access-Control-Allow-Origin"] == "*"
        assert response.headers["Access-Control-Allow-Methods"] == "POST, GET, OPTIONS"
        assert response.headers["Access-Control-Allow-Headers"] == "Content-Type"


async def test_options_is_answered_with_nothing_but_headers(client: Client) -> None:
    async with client.options("/") as response:
        assert response.status == 200
        assert await response.text() == ""
        assert response.headers["Access-Control-Allow-Origin"] == "*"


@pytest.mark.parametrize("path", ["/" + quote(START), "/" + START.replace(" ", "+").replace("(", "%28")])
async def test_get_carries_a_message_in_its_path(client: Client, path: str) -> None:
    async with client.get(path) as response:
        assert await response.text() == "ready"


async def test_bare_get_is_a_question_for_info(client: Client) -> None:
    async with client.get("/") as response:
        assert await response.text() == "( ( name legal ) ( status available ) ( species alien ) )"


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (b"", "message:1:1: nothing to read"),
        (b"( INFO", "message:1:1: '(' is never closed"),
        (b"(DANCE m)", "no message of the protocol is called 'DANCE'"),
        (b"\xff\xfe(", "message:1:3: '(' is never closed"),
        (b"(START m \xe9 rules 1 1)", "the rules are a list"),
    ],
)
async def test_what_is_no_message_gets_one_line_and_leaves_no_traceback(
    client: Client, body: bytes, line: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with client.post("/", data=body) as response:
        assert response.status == 400
        assert await response.text() == line
        assert response.headers["Access-Control-Allow-Origin"] == "*"
    assert caplog.messages == [f"not a message: {line}"]
    assert not caplog.records[0].exc_info


async def test_too_long_messages_are_refused(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    async with client.post("/", data=b"(" * 40_000) as response:
        assert response.status == 413
    assert caplog.messages == ["a message of over 30000 bytes was refused"]
    assert await say(client, START) == "ready"


async def test_long_rules_do_not_hold_the_loop(aiohttp_client: AiohttpClient, caplog: pytest.LogCaptureFixture) -> None:
    loop = asyncio.get_running_loop()
    client = await aiohttp_client(make_app(PlayerSettings("legal"), FakeClock(), maker(Nim(5))))
    message = format_message(start(rules="\n".join(f"(p {number} {number})" for number in range(15_000))))
    loop.set_debug(True)
    loop.slow_callback_duration = 0.1
    with caplog.at_level(logging.WARNING, "asyncio"):
        assert await say(client, message) == "ready"
    loop.set_debug(False)
    assert [message for message in caplog.messages if message.startswith("Executing")] == []


async def test_ready_leaves_in_time_while_long_rules_are_read(
    aiohttp_client: AiohttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_read, released = Event(), Event()

    def read_slowly(*_: object) -> NoReturn:
        is_read.set()
        released.wait(PATIENCE)
        raise MessageError

    for reader in ("players.service.parse_message", "players.thinker.parse_rulesheet"):
        monkeypatch.setattr(reader, read_slowly)
    clock = FakeClock()
    client = await aiohttp_client(make_app(PlayerSettings("legal"), clock, maker(Nim(5))))
    message = format_message(start(rules="(role left) " * 5000, startclock=20))
    asking = asyncio.create_task(say(client, message))
    await seen(is_read)
    clock.advance(20)
    done, _ = await asyncio.wait([asking], timeout=2)
    released.set()
    assert done
    assert await asking == "ready"


async def test_each_message_is_one_short_line_in_the_log(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "players"):
        for message in (START, "( PLAY m NIL )", "(STOP m 1 x ())", "(ABORT other)", "(ping)"):
            await say(client, message)
    assert caplog.messages == [
        "START m as left, 20 s and 10 s: ready in 0.00 s",
        "PLAY m: (take 1) in 0.00 s",
        "STOP m: done in 0.00 s",
        "ABORT other: busy in 0.00 s",
        "PING: ready in 0.00 s",
    ]


async def test_thinking_never_holds_the_loop(aiohttp_client: AiohttpClient, request: pytest.FixtureRequest) -> None:
    """While a thread makes 20 steps of 10 ms each in pure Python, the loop has its turns, and answers others."""
    before = sys.getswitchinterval()
    request.addfinalizer(lambda: sys.setswitchinterval(before))
    sys.setswitchinterval(SWITCH_INTERVAL)  # as the service does
    loop, clock, enough = asyncio.get_running_loop(), FakeClock(), asyncio.Event()
    turns: list[None] = []
    marks: list[int] = []  # turns of the loop, as the thinking thread saw them

    def mark() -> None:
        marks.append(len(turns))
        if len(marks) == 2:
            loop.call_soon_threadsafe(enough.set)

    client = await aiohttp_client(
        make_app(PlayerSettings("montecarlo"), clock, maker(SpinningNim(1000, {20: mark, 40: mark})))
    )
    await say(client, START)
    ticking = asyncio.create_task(tick(turns))
    thinking = asyncio.create_task(say(client, format_message(play())))
    await enough.wait()
    ticking.cancel()
    assert "busy" in await say(client, "( INFO )")
    assert not thinking.done()
    clock.advance(10)
    assert await thinking in {"(take 1)", "(take 2)", "(take 3)"}
    assert marks[1] - marks[0] >= 5


async def tick(turns: list[None]) -> None:
    """Counts the turns of the loop."""
    while True:
        await asyncio.sleep(0.001)
        turns.append(None)


async def test_stopping_the_service_ends_the_thinking(aiohttp_client: AiohttpClient, machines: list[StuckNim]) -> None:
    machine = StuckNim(5, "next_state")
    machines.append(machine)
    client = await aiohttp_client(make_app(PlayerSettings("montecarlo"), FakeClock(), maker(machine)))
    await say(client, START)
    thinking = asyncio.create_task(say(client, format_message(play())))
    await seen(machine.is_stuck)
    await client.app.shutdown()
    assert await thinking == "(take 1)"


def test_players_are_the_ones_that_are_documented() -> None:
    assert list(STRATEGIES) == ["mcts", "legal", "random", "montecarlo"]

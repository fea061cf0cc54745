"""Stage 9, services: a player over HTTP, and the event loop that thinking never holds."""

import asyncio
import logging
from threading import Event
from typing import NoReturn
from urllib.parse import quote

import pytest
from aiohttp.test_utils import TestClient
from aiohttp.web import Application, Request
from pytest_aiohttp.plugin import AiohttpClient

from ggp.errors import MessageError
from ggp.protocol.messages import format_message
from players.service import make_app
from players.settings import PlayerSettings
from players.strategies import STRATEGIES
from tests.players.doubles import NIM, PATIENCE, FakeClock, StuckNim, app_with, play, seen, start
from tests.search.machines import Nim

Client = TestClient[Request, Application]
START = format_message(start())


@pytest.fixture
async def client(aiohttp_client: AiohttpClient) -> Client:
    settings = PlayerSettings("legal", max_message_bytes=30_000)
    return await aiohttp_client(app_with(settings, FakeClock(), Nim(5)))


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
        assert not [name for name in response.headers if name.startswith("Access-Control")]


async def test_options_is_answered_with_nothing(client: Client) -> None:
    async with client.options("/") as response:
        assert response.status == 200
        assert await response.text() == ""


PAGE = "https://ggp.example"


@pytest.mark.parametrize(
    ("origins", "headers", "status", "allowed"),
    [
        ((), {"Origin": PAGE}, 403, None),
        ((), {"Origin": "null"}, 403, None),
        ((), {"Origin": "http://127.0.0.1:9147"}, 403, None),  # a page whose name leads here now
        ((), {"Sec-Fetch-Site": "cross-site"}, 403, None),  # a picture on a page
        ((), {"Sec-Fetch-Site": "same-site"}, 403, None),  # another port of this host
        ((), {"Sec-Fetch-Site": "none"}, 200, None),  # typed by a person
        ((PAGE,), {"Origin": PAGE, "Sec-Fetch-Site": "cross-site"}, 200, PAGE),
        ((PAGE,), {"Origin": "https://other.example"}, 403, None),
        ((PAGE,), {"Origin": PAGE + ".evil.example"}, 403, None),
        ((PAGE,), {"Sec-Fetch-Site": "cross-site"}, 403, None),
        (("*",), {"Origin": PAGE}, 200, "*"),
        (("*",), {"Sec-Fetch-Site": "cross-site"}, 200, None),
    ],
)
@pytest.mark.parametrize("method", ["POST", "GET", "OPTIONS"])
async def test_only_web_pages_that_are_named_may_talk_to_it(
    aiohttp_client: AiohttpClient,
    method: str,
    origins: tuple[str, ...],
    headers: dict[str, str],
    status: int,
    allowed: str | None,
) -> None:
    client = await aiohttp_client(app_with(PlayerSettings("legal"), FakeClock(), Nim(5), origins))
    path = "/" + quote(START) if method == "GET" else "/"
    data = START if method == "POST" else None
    async with client.request(method, path, data=data, headers=headers) as response:
        assert response.status == status
        assert response.headers.get("Access-Control-Allow-Origin") == allowed
    assert ("busy" in await say(client, "( INFO )")) == (status == 200 and method != "OPTIONS")


async def test_a_browser_that_does_not_say_which_page_is_behind_it_may_only_look(client: Client) -> None:
    """It says so for addresses of this host; a name that leads there, or another host, has no such header."""
    browser = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"}
    async with client.get("/" + quote(START), headers=browser) as response:
        assert response.status == 403
    async with client.get("/", headers=browser) as response:
        assert await response.text() == "( ( name legal ) ( status available ) ( species alien ) )"


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
    assert caplog.messages == [f"not a message: {line}"]
    assert not caplog.records[0].exc_info


async def test_too_long_messages_are_refused(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    async with client.post("/", data=b"(" * 40_000) as response:
        assert response.status == 413
    assert caplog.messages == ["a message of over 30000 bytes was refused"]
    assert await say(client, START) == "ready"


async def test_long_rules_do_not_hold_the_loop(aiohttp_client: AiohttpClient, caplog: pytest.LogCaptureFixture) -> None:
    loop = asyncio.get_running_loop()
    client = await aiohttp_client(make_app(PlayerSettings("legal")))
    facts = "\n".join(f"(p {number} {number})" for number in range(15_000))
    message = format_message(start(rules=f"{facts}\n{NIM.format(heap=5)}"))
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

    def read_slowly(*_: object, **_options: object) -> NoReturn:
        is_read.set()
        released.wait(PATIENCE)
        raise MessageError

    monkeypatch.setattr("players.thinker.parse_rulesheet", read_slowly)
    clock = FakeClock()
    client = await aiohttp_client(app_with(PlayerSettings("legal"), clock, Nim(5)))
    message = format_message(start(rules="(role left) " * 5000, startclock=20))
    asking = asyncio.create_task(say(client, message))
    await seen(is_read)
    clock.advance(20)
    done, _ = await asyncio.wait([asking], timeout=PATIENCE / 2)  # while the rules are still being read
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


async def test_stopping_the_service_ends_the_thinking(aiohttp_client: AiohttpClient, machines: list[StuckNim]) -> None:
    machine = StuckNim(5, "next_state")
    machines.append(machine)
    client = await aiohttp_client(app_with(PlayerSettings("montecarlo"), FakeClock(), machine))
    await say(client, START)
    thinking = asyncio.create_task(say(client, format_message(play())))
    await seen(machine.is_stuck)
    await client.app.shutdown()
    assert await thinking == "(take 1)"


def test_players_are_the_ones_that_are_documented() -> None:
    assert list(STRATEGIES) == ["mcts", "legal", "random", "montecarlo"]

"""Bots: started on free ports, all at once, and never left behind."""

import asyncio
import os
import re
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from gamemaster import bots
from gamemaster.bots import Bot, players_at, start_bot
from gamemaster.player import PlayerAddress, parse_player
from gamemaster.transport import HttpTransport, open_session
from ggp.errors import SettingsError
from ggp.protocol.messages import Dialect, parse_message
from tests.gamemaster.lifeline import Lifeline

LEGAL = PlayerAddress("legal", "legal", is_bot=True)


def processes() -> set[int]:
    """Those that this process has started and not yet buried."""
    return set(map(int, Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="utf-8").split()))


async def test_bots_listen_inside_the_block_and_are_gone_after_it() -> None:
    before = processes()
    addresses = {"one": LEGAL, "two": parse_player("192.0.2.7:80"), "three": parse_player("bob=legal")}
    async with players_at(addresses, seed=1) as players:
        assert list(players) == ["one", "two", "three"]
        assert (players["one"].bot, players["one"].name, players["one"].role) == ("legal", "legal", "one")
        assert players["three"].name == "bob"
        assert (players["two"].bot, players["two"].url) == (None, "http://192.0.2.7:80/")
        assert players["one"].url != players["three"].url
        assert players["one"].bot_seed != players["three"].bot_seed
        assert len(processes() - before) == 2
        one, three = await Lifeline.to(players["one"].url), await Lifeline.to(players["three"].url)
    await one.has_ended()
    await three.has_ended()
    assert processes() == before


async def test_bots_are_stopped_when_the_block_fails() -> None:
    before = processes()
    with pytest.raises(asyncio.CancelledError):
        async with players_at({"one": LEGAL}, seed=1):
            raise asyncio.CancelledError
    assert processes() == before


async def test_an_unknown_bot_is_refused_in_its_own_words_and_the_others_are_stopped() -> None:
    before = processes()
    addresses = {"one": LEGAL, "two": PlayerAddress("nosuch", "nosuch", is_bot=True)}
    with pytest.raises(SettingsError, match=r"^player 'nosuch' did not start: no player is called 'nosuch'; .*legal"):
        async with players_at(addresses, seed=1):
            pytest.fail("the block must not be entered")
    assert processes() == before


async def test_cancelling_the_start_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    before = processes()
    started = asyncio.Event()

    async def announces_nothing(*_: object) -> int | None:
        started.set()
        await asyncio.Event().wait()
        return None

    async def start() -> None:
        async with players_at({"one": LEGAL}, seed=1):
            pytest.fail("the block must not be entered")

    monkeypatch.setattr(bots, "_announced_port", announces_nothing)
    task = asyncio.create_task(start())
    await started.wait()
    assert len(processes() - before) == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert processes() == before


PREPARES = """
import json, sys, time
for number in range(10):
    print(f"12:00:00 kernel {number} of 10", file=sys.stderr, flush=True)
    time.sleep(0.1)
print(json.dumps({"port": 9}), flush=True)
sys.stdin.read()
"""


async def test_a_bot_that_says_how_far_it_is_gets_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(bots, "time", SimpleNamespace(monotonic=lambda: 0.9 * bots.START_WAIT * len(said)))
    monkeypatch.setattr(bots, "LOOK_EVERY", 0.01)
    monkeypatch.setattr(bots, "_command", lambda *_: [sys.executable, "-c", PREPARES])
    async with players_at({"one": LEGAL}, 1, said.append) as players:
        assert players["one"].url == "http://127.0.0.1:9/"
    assert len(said) > 1  # after twice nine tenths of the time without a port
    assert said[0].startswith("legal: 12:00:00 kernel ")


async def test_a_bot_that_says_nothing_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    before = processes()
    monkeypatch.setattr(bots, "START_WAIT", 0.2)
    monkeypatch.setattr(bots, "_command", lambda *_: [sys.executable, "-c", "import sys; sys.stdin.read()"])
    with pytest.raises(SettingsError, match="neither a port nor a word within"):
        await start_bot("legal", 1)
    assert processes() == before


async def test_a_bot_plays_each_match_by_the_seed_that_it_is_given() -> None:
    bot = await start_bot("random", 1)
    try:
        assert await bot.reseed(5)
        first = await moves(bot, "one")
        assert await bot.reseed(6)
        other = await moves(bot, "two")
        assert await bot.reseed(5)
        assert await moves(bot, "three") == first
        assert bot._process.stdin is not None
        bot._process.stdin.write(b'nonsense\n{"seed": "x"}\n{"seed": -1}\n[1]\n\n')  # means nothing to it
        assert await bot.reseed(8)
        assert other != first
    finally:
        await bot.stop()
    assert not bot.is_alive
    assert not await bot.reseed(7)


async def test_settings_reach_the_bot_and_leave_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    bot = await start_bot("legal", 1, {"name": 'a "b" \\ ü\x7f', "margin": 0.5, "ponder": False})
    try:
        assert names_in(tmp_path) == set()
        assert '( name a_"b"_\\_ü\x7f )' in await say(bot, "(INFO)")
    finally:
        await bot.stop()


async def test_a_bot_refuses_settings_in_its_own_words() -> None:
    before = processes()
    with pytest.raises(SettingsError, match=r"^player 'legal' did not start: setting nosuch: there is no such setting"):
        await start_bot("legal", 1, {"nosuch": 1})
    assert processes() == before


async def test_a_bot_that_ends_by_itself_says_why() -> None:
    bot = await start_bot("legal", 1)
    assert "legal" in await say(bot, "(INFO)")  # the last that it logs
    os.kill(bot.pid, signal.SIGKILL)
    assert re.match("ended by signal 9: .*INFO", await bot.ended())
    assert not bot.is_alive
    assert not await bot.reseed(1)
    await bot.stop()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system does not pin processes")
async def test_a_bot_is_pinned_with_all_its_threads_and_processes() -> None:
    processor = max(os.sched_getaffinity(0))
    bot = await start_bot("legal", 1)
    try:
        assert await bot.reseed(1)  # a thread of its own has heard that
        bot.pin({processor})
        threads = set(map(int, names_in(Path(f"/proc/{bot.pid}/task"))))
        assert len(threads) > 1
        thinking = children_of(bot.pid)
        assert thinking  # in processes of its own
        threads |= thinking
        assert {frozenset(os.sched_getaffinity(thread)) for thread in threads} == {frozenset({processor})}
    finally:
        await bot.stop()
    bot.pin({processor})  # in vain


RULES = " ".join(
    ["(role r) (init a) (next a) (goal r 0) (<= terminal (true z))", *(f"(legal r {n})" for n in range(999))]
)


def children_of(pid: int) -> set[int]:
    return set(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()))


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


async def moves(bot: Bot, match: str) -> list[str]:
    """What it answers in the first steps of a match."""
    assert await say(bot, f"(START {match} r ({RULES}) 60 60)") == "ready"
    answers = [await say(bot, f"(PLAY {match} NIL)")]
    answers += [await say(bot, f"(PLAY {match} ({answers[0]}))")]
    assert await say(bot, f"(STOP {match} ({answers[1]}))") == "done"
    return answers


async def say(bot: Bot, message: str) -> str:
    async with open_session() as session:
        transport = HttpTransport(session, bot.url, "bot", Dialect.GGP_BASE, 1000)
        reply = await transport.ask(parse_message(message), 60.0)
    assert isinstance(reply.answer, str)
    return reply.answer

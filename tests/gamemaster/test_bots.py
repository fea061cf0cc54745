"""Bots: started on free ports, all at once, and never left behind."""

import asyncio
import os
from asyncio.subprocess import Process
from pathlib import Path

import pytest

from gamemaster import bots
from gamemaster.bots import players_at
from gamemaster.player import PlayerAddress, parse_player
from ggp.errors import SettingsError
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

    async def announces_nothing(_: Process) -> int | None:
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

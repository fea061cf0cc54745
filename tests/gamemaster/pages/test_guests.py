"""People who play for other game masters: the protocol at an address of their own, match after match."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

import ggp
from gamemaster.match import run_match
from gamemaster.pages.settings import Limits
from gamemaster.player import Player
from gamemaster.record import MatchRecord
from gamemaster.settings import make_settings
from ggp.protocol.scramble import plain_rules
from tests.gamemaster import games
from tests.gamemaster.pages.conftest import Serve
from tests.gamemaster.pages.visitors import PATIENCE, Json, Visitor
from tests.gamemaster.scripted import ScriptedPlayer

TICTACTOE = ggp.load("tictactoe", "interpreter")


@pytest.fixture
async def opponent() -> AsyncIterator[ScriptedPlayer]:
    async with ScriptedPlayer() as player:
        yield player


async def seat_of(visitor: Visitor, guest: Json) -> str:
    """The link to the seat in the match that has begun, or is about to."""
    link = guest["url"].rpartition("/")[2]
    found = visitor.services.guests.get(link)
    assert found is not None
    async with asyncio.timeout(PATIENCE):
        while not found.is_busy:
            with found.feed.listening() as listener:
                await listener.get()
    seat: str = (await visitor.get(guest["url"]))["seat"]
    return seat


def run(guest: Json, opponent: ScriptedPlayer, name: str = "m-1", **settings: object) -> "asyncio.Task[MatchRecord]":
    """A match of another game master, with the guest as the first role."""
    players = {
        "xplayer": Player("xplayer", "Ann", guest["address"]),
        "oplayer": Player("oplayer", "other", opponent.url),
    }
    chosen = make_settings(startclock=10, playclock=10, seed=3, **settings)
    return asyncio.create_task(run_match(TICTACTOE, players, chosen, name, lambda _: None, lambda _: None))


async def test_a_person_plays_for_another_game_master(visitor: Visitor, opponent: ScriptedPlayer) -> None:
    guest = await visitor.post("/guests", {"name": "Ann"}, 201)
    assert guest["seat"] is None
    task = run(guest, opponent)
    link = await seat_of(visitor, guest)
    for move in ("(mark 1 1)", "(mark 2 1)", "(mark 3 1)"):
        seat = await visitor.asked(link)
        assert seat["is_guest"]
        assert not seat["may_hint"]
        assert not seat["may_undo"]
        assert seat["match"]["game"] == "tictactoe"  # known by its rules
        await visitor.post(f"{link}/move", {"move": move, "step": seat["asked"]})
    record = await task
    assert record.goals == {"xplayer": 100, "oplayer": 0}
    assert record.faults == ()
    seat = await visitor.asked(link)
    assert seat["match"]["status"] == "terminal"
    assert seat["match"]["goals"] == {"xplayer": 100, "oplayer": 0}
    assert [step["moves"]["xplayer"] for step in seat["match"]["joint_moves"]][::2] == [
        "(mark 1 1)",
        "(mark 2 1)",
        "(mark 3 1)",
    ]
    await visitor.post(f"{link}/again", status=409)


async def test_one_match_follows_the_other(visitor: Visitor, opponent: ScriptedPlayer) -> None:
    guest = await visitor.post("/guests", {}, 201)
    first = run(guest, opponent, "m-1", scramble=True)
    link = await seat_of(visitor, guest)
    assert (await visitor.asked(link))["match"]["game"] == "game"  # in other words
    rules = " ".join(plain_rules(TICTACTOE.rulesheet).split())
    assert await tell(guest, f"( START m-2 xplayer ({rules}) 10 10 )") == "busy"
    first.cancel()
    await asyncio.wait([first])
    seat = await visitor.asked(link)
    assert (seat["match"]["status"], seat["match"]["reason"]) == ("aborted", "the game master gave the match up")
    second = run(guest, opponent, "m-2")
    following = await seat_of(visitor, guest)
    assert (await visitor.get(link))["next"] == following
    assert (await visitor.asked(following))["asked"] == 0
    await visitor.post(f"{following}/resign")
    second.cancel()
    await asyncio.wait([second])


async def tell(guest: Json, message: str) -> str:
    async with aiohttp.ClientSession() as session, session.post(guest["address"], data=message.encode()) as response:
        return await response.text()


async def test_what_is_no_match_of_the_guest_is_answered_at_once(visitor: Visitor) -> None:
    guest = await visitor.post("/guests", {"name": "Ann B"}, 201)
    assert await tell(guest, "( INFO )") == "( ( name Ann_B ) ( status available ) ( species human ) )"
    assert await tell(guest, "( PREVIEW ((role a)) 5 )") == "ready"
    assert await tell(guest, "( PLAY m NIL )") == "busy"
    assert await tell(guest, "( STOP m NIL )") == "done"
    assert await tell(guest, "( ABORT m )") == "busy"
    assert "never closed" in await tell(guest, "( START m a ((role a) 5 5 )")
    assert await tell(guest, "( START m nobody ((role a) (init x) (legal a go) (goal a 0)) 5 5 )") == "busy"
    secret = " ".join(games.SECRET.split())
    assert await tell(guest, f"( START m asker ({secret}) 5 5 )") == "busy"
    assert await tell(guest, "( PLAY m 0 NIL NIL )") == "nil"
    assert (await visitor.get(guest["url"]))["seat"] is None


async def test_guests_have_a_limit_and_their_links_are_secret(serve: Serve, tmp_path: Path) -> None:
    visitor = await serve(Limits(workers=1, guests=1))
    guest = await visitor.post("/guests", {"name": "Ann"}, 201)
    await visitor.post("/guests", {"name": "Bob"}, 422)
    await visitor.get("/guests/guess", 404)
    line = guest["address"].rstrip("/").rpartition("/")[2]
    await visitor.get(f"/guests/{line}", 404)
    assert guest["url"].rpartition("/")[2] not in guest["address"]
    assert "Waiting for a match" in await visitor.page(guest["url"])

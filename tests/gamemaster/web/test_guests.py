"""People who play for other game masters: the protocol at an address of their own, match after match."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

import ggp
from gamemaster.match import run_match
from gamemaster.player import Player
from gamemaster.record import MatchRecord
from gamemaster.settings import make_settings
from gamemaster.web.settings import Limits
from ggp.protocol.scramble import plain_rules
from tests.gamemaster import games
from tests.gamemaster.scripted import ScriptedPlayer
from tests.gamemaster.web.conftest import Serve
from tests.gamemaster.web.visitors import PATIENCE, Json, Visitor

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
    assert await tell(guest, "( PLAY m 0 NIL NIL )") == "busy"
    assert await tell(guest, "( STOP m 1 NIL NIL )") == "done"
    assert (await visitor.get(guest["url"]))["seat"] is None


async def test_a_guest_is_told_percepts_only(visitor: Visitor) -> None:
    guest = await visitor.post("/guests", {"name": "Ann"}, 201)
    async with ScriptedPlayer(moves={0: "(hide 1)", 1: "(hide 2)"}) as keeper:
        players = {"asker": Player("asker", "Ann", guest["address"]), "keeper": Player("keeper", "K", keeper.url)}
        game = ggp.load_text(games.SECRET, "secret", "interpreter")
        settings = make_settings(startclock=10, playclock=10, seed=3, scramble=False)
        task = asyncio.create_task(run_match(game, players, settings, "m-1", lambda _: None, lambda _: None))
        link = await seat_of(visitor, guest)
        seat = await visitor.asked(link)
        assert seat["state"] is None
        assert [one["move"] for one in seat["legal"]] == ["(ask 1)", "(ask 2)"]
        assert "not shown the state" in await visitor.page(link)
        problem = await visitor.post(f"{link}/move", {"move": "(ask 3)", "step": 0}, 422)
        assert problem["detail"] == "(ask 3) is not legal in any state that agrees with what you were told"
        assert "never closed" in (await visitor.post(f"{link}/move", {"move": "(ask", "step": 0}, 422))["detail"]
        await visitor.post(f"{link}/move", {"move": "(ask 1)", "step": 0})
        seat = await visitor.asked(link)
        assert (seat["asked"], seat["own_moves"], seat["percepts"]) == (1, ["(ask 1)"], [["warm"]])
        assert '<td class="mono small">warm</td>' in await visitor.page(link)
        await visitor.post(f"{link}/move", {"move": "(ask 1)", "step": 1})
        record = await task
    assert (record.status, record.faults) == ("terminal", ())
    seat = await visitor.asked(link)
    assert seat["percepts"] == [["warm"], []]
    assert seat["match"]["goals"] == {"asker": 50, "keeper": None}  # the own in each state that can be
    match = seat["match"]["id"]
    assert (await visitor.get(f"/matches/{match}"))["joint_moves"] == []
    for path in ("states/0", "states/2", "record", "tiltyard", "verdict"):  # nobody here knows them
        await visitor.get(f"/matches/{match}/{path}", 403)
    assert "are not shown." in await visitor.page(f"/matches/{match}")


async def test_messages_of_2011_have_no_turns(visitor: Visitor) -> None:
    guest = await visitor.post("/guests", {"name": "Ann"}, 201)
    secret = " ".join(games.SECRET.split())
    link = await seated(visitor, guest, f"( START m asker ({secret}) 10 10 )")
    for step, message in enumerate(("( PLAY m NIL )", "( PLAY m (warm) )")):
        answer = asyncio.create_task(tell(guest, message))
        seat = await visitor.asked(link)
        assert seat["asked"] == step
        await visitor.post(f"{link}/move", {"move": "(ask 2)", "step": step})
        assert await answer == "(ask 2)"
    assert await tell(guest, "( STOP m NIL )") == "done"
    seat = await visitor.asked(link)
    assert seat["own_moves"] == ["(ask 2)", "(ask 2)"]
    assert seat["percepts"] == [["warm"], []]
    assert seat["match"]["goals"] == {"asker": 50, "keeper": None}


async def test_messages_that_are_told_twice_or_never(visitor: Visitor) -> None:
    guest = await visitor.post("/guests", {"name": "Ann"}, 201)
    secret = " ".join(games.SECRET.split()).replace("(succ 1 2)", " ".join(f"(succ {n} {n + 1})" for n in range(1, 9)))
    secret = secret.replace("(true (turn 2))", "(true (turn 8))")
    link = await seated(visitor, guest, f"( START m asker ({secret}) 10 10 )")
    known = []
    for step, message in (
        (0, "( PLAY m 0 NIL NIL )"),
        (1, "( PLAY m 1 (ask 1) (warm) )"),
        (1, "( PLAY m 1 (ask 1) (warm) )"),
        (3, "( PLAY m 3 (ask 2) NIL )"),  # one step was never told
    ):
        answer = asyncio.create_task(tell(guest, message))
        seat = await visitor.asked(link)
        assert seat["asked"] == step
        known.append([one["move"] for one in seat["legal"]])
        await visitor.post(f"{link}/move", {"move": "(ask 1)", "step": step})
        assert await answer == "(ask 1)"
    assert known == [["(ask 1)", "(ask 2)"]] * 3 + [[]]  # any move can be typed
    assert seat["own_moves"] == ["(ask 1)", "", "(ask 2)"]
    assert seat["percepts"] == [["warm"], [], []]
    assert await tell(guest, "( PLAY m 900000000 (ask 1) NIL )") == "busy"
    assert await tell(guest, "( STOP m 4 (ask 1) NIL )") == "done"
    assert (await visitor.asked(link))["match"]["goals"] is None


@pytest.mark.parametrize(
    "told", ["((mark 1 1) noop)", "((does oplayer noop) (does xplayer (mark 1 1)))"], ids=["moves", "does"]
)
@pytest.mark.parametrize("head", ["( PLAY m", "( PLAY m 1 (mark 1 1)"], ids=["moves", "percepts"])
async def test_all_moves_are_told_in_other_words(visitor: Visitor, head: str, told: str) -> None:
    guest = await visitor.post("/guests", {"name": "Ann"}, 201)
    rules = " ".join(plain_rules(TICTACTOE.rulesheet).split())
    link = await seated(visitor, guest, f"( START m xplayer ({rules}) 10 10 )")
    answer = asyncio.create_task(tell(guest, "( PLAY m NIL )"))
    assert (await visitor.asked(link))["asked"] == 0
    await visitor.post(f"{link}/move", {"move": "(mark 1 1)", "step": 0})
    assert await answer == "(mark 1 1)"
    assert await tell(guest, f"{head} {told} )") == "noop"  # there is nothing to choose
    seat = await visitor.get(link)
    assert "(cell 1 1 x)" in seat["state"]["facts"]
    assert "(control oplayer)" in seat["state"]["facts"]


async def seated(visitor: Visitor, guest: Json, start: str) -> str:
    """The link to the seat, after a START that was answered."""
    answer = asyncio.create_task(tell(guest, start))
    link = await seat_of(visitor, guest)
    found = visitor.services.hall.seat(link.rpartition("/")[2])
    assert found is not None
    found[1].arrived.set()
    assert await answer == "ready"
    return link


async def test_guests_have_a_limit_and_their_links_are_secret(serve: Serve, tmp_path: Path) -> None:
    visitor = await serve(Limits(workers=1, guests=1))
    guest = await visitor.post("/guests", {"name": "Ann"}, 201)
    await visitor.post("/guests", {"name": "Bob"}, 422)
    await visitor.get("/guests/guess", 404)
    line = guest["address"].rstrip("/").rpartition("/")[2]
    await visitor.get(f"/guests/{line}", 404)
    assert guest["url"].rpartition("/")[2] not in guest["address"]
    assert "Waiting for a match" in await visitor.page(guest["url"])

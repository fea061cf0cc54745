"""People who play for other game masters: the protocol at an address of their own, match after match."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urljoin

import aiohttp
import pytest

import ggp
from gamemaster.match import run_match
from gamemaster.player import Player
from gamemaster.record import MatchRecord
from gamemaster.settings import make_settings
from gamemaster.web.live.external import ExternalMatch
from gamemaster.web.settings import Limits
from ggp.gdl.rulesheet import Rulesheet
from ggp.protocol.scramble import plain_rules
from tests.gamemaster import games
from tests.gamemaster.matches import ThreadRules
from tests.gamemaster.scripted import ScriptedPlayer
from tests.gamemaster.web.api_client import PATIENCE, ApiClient, Json
from tests.gamemaster.web.conftest import Serve

TICTACTOE = ggp.load("tictactoe", "interpreter")


@pytest.fixture
async def opponent() -> AsyncIterator[ScriptedPlayer]:
    async with ScriptedPlayer() as player:
        yield player


async def link_of(client: ApiClient, endpoint: Json) -> str:
    """The link to the human in the match that has begun, or is about to."""
    link = endpoint["url"].rpartition("/")[2]
    found = client.services.endpoints.get(link)
    assert found is not None
    async with asyncio.timeout(PATIENCE):
        while not found.is_busy:
            with found.feed.listening() as listener:
                await listener.get()
    human: str = (await client.get(endpoint["url"]))["link"]
    return human


def run(endpoint: Json, opponent: ScriptedPlayer, name: str = "m-1", **settings: object) -> "asyncio.Task[MatchRecord]":
    """A match of another game master, with the endpoint as the first role."""
    players = {
        "xplayer": Player("xplayer", "Ann", endpoint["address"]),
        "oplayer": Player("oplayer", "other", opponent.url),
    }
    chosen = make_settings(startclock=10, playclock=10, seed=3, **settings)
    return asyncio.create_task(run_match(ThreadRules(TICTACTOE), players, chosen, name, lambda _: None, lambda _: None))


async def test_a_person_plays_for_another_game_master(client: ApiClient, opponent: ScriptedPlayer) -> None:
    endpoint = await client.post("/endpoints", {"name": "Ann"}, 201)
    assert endpoint["link"] is None
    task = run(endpoint, opponent)
    link = await link_of(client, endpoint)
    for move in ("(mark 1 1)", "(mark 2 1)", "(mark 3 1)"):
        human = await client.asked(link)
        assert human["is_external"]
        assert not human["may_hint"]
        assert not human["may_undo"]
        assert human["match"]["game"] == "tictactoe"  # known by its rules
        await client.post(f"{link}/move", {"move": move, "step": human["asked"]})
    record = await task
    assert record.goals == {"xplayer": 100, "oplayer": 0}
    assert record.faults == ()
    human = await client.asked(link)
    assert human["match"]["status"] == "terminal"
    assert human["match"]["goals"] == {"xplayer": 100, "oplayer": 0}
    assert [step["moves"]["xplayer"] for step in human["match"]["joint_moves"]][::2] == [
        "(mark 1 1)",
        "(mark 2 1)",
        "(mark 3 1)",
    ]
    await client.post(f"{link}/again", status=409)


async def test_one_match_follows_the_other(client: ApiClient, opponent: ScriptedPlayer) -> None:
    endpoint = await client.post("/endpoints", {}, 201)
    first = run(endpoint, opponent, "m-1", scramble=True)
    link = await link_of(client, endpoint)
    assert (await client.asked(link))["match"]["game"] == "game"  # in other words
    rules = " ".join(plain_rules(TICTACTOE.rulesheet).split())
    assert await tell(endpoint, f"( START m-2 xplayer ({rules}) 10 10 )") == "busy"
    first.cancel()
    await asyncio.wait([first])
    human = await client.asked(link)
    assert (human["match"]["status"], human["match"]["reason"]) == ("aborted", "the game master gave the match up")
    second = run(endpoint, opponent, "m-2")
    following = await link_of(client, endpoint)
    assert (await client.get(link))["next"] == following
    assert (await client.asked(following))["asked"] == 0
    await client.post(f"{following}/resign")
    second.cancel()
    await asyncio.wait([second])


async def tell(endpoint: Json, message: str) -> str:
    async with aiohttp.ClientSession() as session, session.post(endpoint["address"], data=message.encode()) as response:
        return await response.text()


async def test_of_two_matches_at_once_one_begins(client: ApiClient) -> None:
    endpoint = await client.post("/endpoints", {"name": "Ann"}, 201)
    rules = " ".join(plain_rules(TICTACTOE.rulesheet).split())
    told = {name: asyncio.create_task(tell(endpoint, f"( START {name} xplayer ({rules}) 60 60 )")) for name in "ab"}
    async with asyncio.timeout(PATIENCE):
        done, _ = await asyncio.wait(told.values(), return_when=asyncio.FIRST_COMPLETED)
    assert [task.result() for task in done] == ["busy"]
    (begun,) = [name for name, task in told.items() if not task.done()]
    assert await tell(endpoint, f"( ABORT {begun} )") == "aborted"
    told[begun].cancel()  # no page is open
    await asyncio.wait([told[begun]])
    assert [live.is_over for live in client.services.live_matches.all()] == [True]


@pytest.mark.parametrize(("word", "answer"), [("ABORT m", "aborted"), ("STOP m NIL", "done")])
async def test_a_match_ends_while_its_start_is_worked_on(
    client: ApiClient, monkeypatch: pytest.MonkeyPatch, word: str, answer: str
) -> None:
    endpoint = await client.post("/endpoints", {"name": "Ann"}, 201)
    begin, reached, goes_on = ExternalMatch.begin, asyncio.Event(), asyncio.Event()

    async def begin_late(match: ExternalMatch, rulesheet: Rulesheet) -> None:
        reached.set()
        await goes_on.wait()
        await begin(match, rulesheet)

    monkeypatch.setattr(ExternalMatch, "begin", begin_late)
    rules = " ".join(plain_rules(TICTACTOE.rulesheet).split())
    start = asyncio.create_task(tell(endpoint, f"( START m xplayer ({rules}) 60 60 )"))
    await reached.wait()
    assert await tell(endpoint, "( ABORT other )") == "busy"
    assert await tell(endpoint, f"( {word} )") == answer
    goes_on.set()
    assert await start == "busy"
    assert "available" in await tell(endpoint, "( INFO )")
    assert (await client.get(endpoint["url"]))["link"] is None


async def test_what_is_no_match_of_the_endpoint_is_answered_at_once(client: ApiClient) -> None:
    endpoint = await client.post("/endpoints", {"name": "Ann B"}, 201)
    assert await tell(endpoint, "( INFO )") == "( ( name Ann_B ) ( status available ) ( species human ) )"
    assert await tell(endpoint, "( PREVIEW ((role a)) 5 )") == "ready"
    assert await tell(endpoint, "( PLAY m NIL )") == "busy"
    assert await tell(endpoint, "( STOP m NIL )") == "done"
    assert await tell(endpoint, "( ABORT m )") == "busy"
    assert "never closed" in await tell(endpoint, "( START m a ((role a) 5 5 )")
    assert await tell(endpoint, "( START m nobody ((role a) (init x) (legal a go) (goal a 0)) 5 5 )") == "busy"
    assert await tell(endpoint, "( PLAY m 0 NIL NIL )") == "busy"
    assert await tell(endpoint, "( STOP m 1 NIL NIL )") == "done"
    assert (await client.get(endpoint["url"]))["link"] is None


async def test_odd_messages_of_game_masters_are_refused(client: ApiClient) -> None:
    endpoint = await client.post("/endpoints", {"name": "Ann"}, 201)
    unknown = urljoin(endpoint["address"], "/%C3%A9/")
    odd: list[tuple[str, bytes, dict[str, str], int, str]] = [
        (endpoint["address"], b"( PLAY m (" + b"(a b) " * 30_000 + b"))", {}, 413, "the message is too long"),
        (endpoint["address"], b"( INFO )", {"Content-Type": "text/acl; charset=foo"}, 200, "( ( name Ann )"),
        (endpoint["address"], b"\1\2\3garbage", {"Content-Encoding": "deflate"}, 400, "Can not decode"),
        (endpoint["address"], b"(\xe9)", {}, 400, "no message of the protocol"),
        (unknown, b"( INFO )", {}, 404, "no such player"),
    ]
    async with aiohttp.ClientSession() as session:
        for url, body, headers, status, answer in odd:
            async with session.post(url, data=body, headers=headers) as response:
                assert (response.status, answer in await response.text()) == (status, True)


async def test_a_human_of_another_match_is_told_percepts_only(client: ApiClient) -> None:
    endpoint = await client.post("/endpoints", {"name": "Ann"}, 201)
    async with ScriptedPlayer(moves={0: "(hide 1)", 1: "(hide 2)"}) as keeper:
        players = {"asker": Player("asker", "Ann", endpoint["address"]), "keeper": Player("keeper", "K", keeper.url)}
        game = ggp.load_text(games.SECRET, "secret", "interpreter")
        settings = make_settings(startclock=10, playclock=10, seed=3, scramble=False)
        task = asyncio.create_task(
            run_match(ThreadRules(game), players, settings, "m-1", lambda _: None, lambda _: None)
        )
        link = await link_of(client, endpoint)
        human = await client.asked(link)
        assert human["state"] is None
        assert [one["move"] for one in human["legal"]] == ["(ask 1)", "(ask 2)"]
        assert "not shown the state" in await client.page(link)
        problem = await client.post(f"{link}/move", {"move": "(ask 3)", "step": 0}, 422)
        assert problem["detail"] == "(ask 3) is not legal in any state that agrees with what you were told"
        assert "never closed" in (await client.post(f"{link}/move", {"move": "(ask", "step": 0}, 422))["detail"]
        await client.post(f"{link}/move", {"move": "(ask 1)", "step": 0})
        human = await client.asked(link)
        assert (human["asked"], human["own_moves"], human["percepts"]) == (1, ["(ask 1)"], [["warm"]])
        assert '<td class="mono small">warm</td>' in await client.page(link)
        await client.post(f"{link}/move", {"move": "(ask 1)", "step": 1})
        record = await task
    assert (record.status, record.faults) == ("terminal", ())
    human = await client.asked(link)
    assert human["percepts"] == [["warm"], []]
    assert human["match"]["goals"] == {"asker": 50, "keeper": None}  # the own in each state that can be
    match = human["match"]["id"]
    assert (await client.get(f"/matches/{match}"))["joint_moves"] == []
    for path in ("states/0", "states/2", "record", "tiltyard", "verdict"):  # nobody here knows them
        await client.get(f"/matches/{match}/{path}", 403)
    assert "are not shown." in await client.page(f"/matches/{match}")


async def test_messages_of_2011_have_no_turns(client: ApiClient) -> None:
    endpoint = await client.post("/endpoints", {"name": "Ann"}, 201)
    secret = " ".join(games.SECRET.split())
    link = await started(client, endpoint, f"( START m asker ({secret}) 10 10 )")
    for step, message in enumerate(("( PLAY m NIL )", "( PLAY m (warm) )")):
        answer = asyncio.create_task(tell(endpoint, message))
        human = await client.asked(link)
        assert human["asked"] == step
        await client.post(f"{link}/move", {"move": "(ask 2)", "step": step})
        assert await answer == "(ask 2)"
    assert await tell(endpoint, "( STOP m NIL )") == "done"
    human = await client.asked(link)
    assert human["own_moves"] == ["(ask 2)", "(ask 2)"]
    assert human["percepts"] == [["warm"], []]
    assert human["match"]["goals"] == {"asker": 50, "keeper": None}


async def test_messages_that_are_told_twice_or_never(client: ApiClient) -> None:
    endpoint = await client.post("/endpoints", {"name": "Ann"}, 201)
    secret = " ".join(games.SECRET.split()).replace("(succ 1 2)", " ".join(f"(succ {n} {n + 1})" for n in range(1, 9)))
    secret = secret.replace("(true (turn 2))", "(true (turn 8))")
    link = await started(client, endpoint, f"( START m asker ({secret}) 10 10 )")
    known = []
    for step, message in (
        (0, "( PLAY m 0 NIL NIL )"),
        (1, "( PLAY m 1 (ask 1) (warm) )"),
        (1, "( PLAY m 1 (ask 1) (warm) )"),
        (3, "( PLAY m 3 (ask 2) NIL )"),  # one step was never told
    ):
        answer = asyncio.create_task(tell(endpoint, message))
        human = await client.asked(link)
        assert human["asked"] == step
        known.append([one["move"] for one in human["legal"]])
        await client.post(f"{link}/move", {"move": "(ask 1)", "step": step})
        assert await answer == "(ask 1)"
    assert known == [["(ask 1)", "(ask 2)"]] * 3 + [[]]  # any move can be typed
    assert human["own_moves"] == ["(ask 1)", "", "(ask 2)"]
    assert human["percepts"] == [["warm"], [], []]
    assert await tell(endpoint, "( PLAY m 900000000 (ask 1) NIL )") == "busy"
    assert await tell(endpoint, "( STOP m 4 (ask 1) NIL )") == "done"
    assert (await client.asked(link))["match"]["goals"] is None


@pytest.mark.parametrize(
    "told", ["((mark 1 1) noop)", "((does oplayer noop) (does xplayer (mark 1 1)))"], ids=["moves", "does"]
)
@pytest.mark.parametrize("head", ["( PLAY m", "( PLAY m 1 (mark 1 1)"], ids=["moves", "percepts"])
async def test_all_moves_are_told_in_other_words(client: ApiClient, head: str, told: str) -> None:
    endpoint = await client.post("/endpoints", {"name": "Ann"}, 201)
    rules = " ".join(plain_rules(TICTACTOE.rulesheet).split())
    link = await started(client, endpoint, f"( START m xplayer ({rules}) 10 10 )")
    answer = asyncio.create_task(tell(endpoint, "( PLAY m NIL )"))
    assert (await client.asked(link))["asked"] == 0
    await client.post(f"{link}/move", {"move": "(mark 1 1)", "step": 0})
    assert await answer == "(mark 1 1)"
    assert await tell(endpoint, f"{head} {told} )") == "noop"  # there is nothing to choose
    human = await client.get(link)
    assert "(cell 1 1 x)" in human["state"]["facts"]
    assert "(control oplayer)" in human["state"]["facts"]


async def started(client: ApiClient, endpoint: Json, start: str) -> str:
    """The link to the human, after a START that was answered."""
    answer = asyncio.create_task(tell(endpoint, start))
    link = await link_of(client, endpoint)
    found = client.services.live_matches.human(link.rpartition("/")[2])
    assert found is not None
    found[1].arrived.set()
    assert await answer == "ready"
    return link


async def test_endpoints_have_a_limit_and_their_links_are_secret(serve: Serve, tmp_path: Path) -> None:
    client = await serve(Limits(workers=1, endpoints=1))
    endpoint = await client.post("/endpoints", {"name": "Ann"}, 201)
    problem = await client.post("/endpoints", {"name": "Bob"}, 503)
    assert problem["detail"] == "1 endpoints are in use, as many as may be; try again later"
    await client.get("/endpoints/guess", 404)
    secret = endpoint["address"].rstrip("/").rpartition("/")[2]
    await client.get(f"/endpoints/{secret}", 404)
    assert endpoint["url"].rpartition("/")[2] not in endpoint["address"]
    assert "Waiting for a match" in await client.page(endpoint["url"])


async def test_an_unused_endpoint_makes_room_for_a_new_one(serve: Serve) -> None:
    client = await serve(Limits(workers=1, endpoints=2, endpoint_seconds=0.0))
    first = await client.post("/endpoints", {"name": "Ann"}, 201)
    async with client.events(f"{first['url']}/events"):  # its page is open
        second = await client.post("/endpoints", {"name": "Bob"}, 201)
        third = await client.post("/endpoints", {"name": "Eve"}, 201)
        await client.get(first["url"])
        await client.get(second["url"], 404)
        assert await tell(second, "( INFO )") == "no such player"
    await client.get(third["url"])  # used after the first
    await client.post("/endpoints", {"name": "Joe"}, 201)
    await client.get(first["url"], 404)
    await client.get(third["url"])

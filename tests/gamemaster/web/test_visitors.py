"""Who may do what, and how much: rights to matches, shares of visitors, and who a visitor is behind a proxy."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import aiohttp
import pytest
from aiohttp.test_utils import make_mocked_request
from multidict import CIMultiDict

from gamemaster.record import MatchRecord, RecordWriter, now, read_record
from gamemaster.tournament.store import Store
from gamemaster.web.html import pages
from gamemaster.web.repository import _StoreWriter
from gamemaster.web.safety import Guard
from gamemaster.web.settings import Limits, ServeSettings, check_settings, network
from ggp.errors import SettingsError
from ggp.protocol.messages import Abort, Play
from tests.gamemaster import games
from tests.gamemaster.processes import until
from tests.gamemaster.scripted import Exchange, ScriptedPlayer, silent
from tests.gamemaster.web.api_client import PATIENCE, ApiClient
from tests.gamemaster.web.conftest import Players, Serve
from tests.gamemaster.web.test_evaluators import SLOW
from tests.gamemaster.web.tournaments import a_finished_match, growing

ANN = {"kind": "human", "name": "Ann"}
HUMANS = {"xplayer": ANN, "oplayer": ANN | {"name": "Bob"}}
OPERATOR = "correct-horse-operator"
BOTS = {role: {"kind": "bot", "bot": "mcts"} for role in ("xplayer", "oplayer")}


def guard(*proxies: str) -> Guard:
    return Guard(ServeSettings(trusted_proxies=tuple(map(network, proxies))))


def asked_by(remote: str, *forwarded: str, proxies: tuple[str, ...] = ("10.0.0.0/8", "::1")) -> str:
    headers = CIMultiDict([("Host", "localhost"), *(("X-Forwarded-For", line) for line in forwarded)])
    request = make_mocked_request("GET", "/", headers=headers).clone(remote=remote)
    return guard(*proxies).visitor(request)


@pytest.mark.parametrize(
    ("remote", "forwarded", "visitor"),
    [
        ("192.0.2.1", (), "192.0.2.1"),
        ("192.0.2.1", ("198.51.100.7",), "192.0.2.1"),  # not a proxy of ours
        ("10.1.2.3", ("198.51.100.7",), "198.51.100.7"),
        ("10.1.2.3", ("198.51.100.7, 203.0.113.9",), "203.0.113.9"),  # the left one says who likes to be somebody else
        ("10.1.2.3", ("198.51.100.7", "203.0.113.9", "10.9.9.9"), "203.0.113.9"),
        ("10.1.2.3", ("203.0.113.9:4711",), "203.0.113.9"),
        ("::1", ("[2001:db8::7]:4711",), "2001:db8::/64"),
        ("::1", ("2001:db8::8",), "2001:db8::/64"),
        ("::ffff:192.0.2.1", (), "192.0.2.1"),
        ("10.1.2.3", ("nonsense",), "10.1.2.3"),
        ("10.1.2.3", ("198.51.100.7, \xff",), "10.1.2.3"),
        ("10.1.2.3", ("",), "10.1.2.3"),
        ("", (), ""),
    ],
)
def test_a_visitor_is_an_address(remote: str, forwarded: tuple[str, ...], visitor: str) -> None:
    assert asked_by(remote, *forwarded) == visitor


def test_what_is_no_network_is_told() -> None:
    with pytest.raises(SettingsError, match="--trusted-proxy: an address or a network"):
        network("proxy.example")
    with pytest.raises(SettingsError, match="--operator-token: between 8 and 200"):
        check_settings(ServeSettings(operator_token="short"))


async def test_rates_are_those_of_visitors_behind_a_proxy(serve: Serve) -> None:
    limits = Limits(workers=1, reads=0.01, reads_at_once=2)
    client = await serve(limits, trusted_proxies=(network("127.0.0.0/8"),))
    for address in ("198.51.100.1", "198.51.100.2"):
        for status in (200, 200, 429):
            async with client.http.get("/api/v1/games", headers={"X-Forwarded-For": address}) as response:
                assert response.status == status
    other = await serve(limits)
    for status in (200, 200, 429):  # who is no proxy cannot be many visitors
        async with other.http.get("/api/v1/games", headers={"X-Forwarded-For": f"198.51.100.{status}"}) as response:
            assert response.status == status


async def posted(client: ApiClient, path: str, body: object, headers: Mapping[str, str] | None = None) -> int:
    """The status of the answer to somebody without cookies."""
    url = client.http.make_url(f"/api/v1{path}")
    async with (
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session,
        session.post(url, json=body, headers=headers) as response,
    ):
        return response.status


async def test_only_who_began_a_match_or_the_operator_ends_it(serve: Serve) -> None:
    client = await serve(operator_token=OPERATOR)
    by_key, by_operator, by_cookie = [await client.begin("tictactoe", HUMANS) for _ in range(3)]
    for headers in ({}, {"Authorization": "Bearer guess"}, {"Authorization": f"Bearer {by_operator['key']}"}):
        assert await posted(client, f"/matches/{by_key['match']}/end", {}, headers) == 403
    cookie = {"Cookie": f"ggp-began-{by_key['match']}={by_operator['key']}"}
    assert await posted(client, f"/matches/{by_key['match']}/end", {}, cookie) == 403
    for begun, key in ((by_key, by_key["key"]), (by_operator, OPERATOR)):
        assert await posted(client, f"/matches/{begun['match']}/end", {}, {"Authorization": f"Bearer {key}"}) == 200
    await client.post(f"/matches/{by_cookie['match']}/end")  # the browser that began it


async def test_a_browser_keeps_cookies_of_matches_that_go_on(client: ApiClient) -> None:
    for _ in range(3):
        begun = await client.begin("tictactoe", HUMANS)
        async with client.http.get(begun["links"]["xplayer"]) as response:
            assert response.status == 200
        going_on = client.http.session.cookie_jar.filter_cookies(client.http.make_url("/"))
        assert sorted(going_on) == [f"ggp-{what}-{begun['match']}" for what in ("began", "human")]
        await client.post(f"/matches/{begun['match']}/end")


async def test_only_who_may_end_a_match_is_shown_how(client: ApiClient) -> None:
    begun = await client.begin("tictactoe", HUMANS)
    assert "end" in (await client.get(f"/matches/{begun['match']}"))["links"]
    url = client.http.make_url(f"/api/v1/matches/{begun['match']}")
    async with (
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as stranger,
        stranger.get(url) as response,
    ):
        assert "end" not in (await response.json())["links"]
    assert begun["key"] not in str(await client.get(f"/matches/{begun['match']}"))
    await client.post(f"/matches/{begun['match']}/end")


async def test_a_visitor_has_a_share_of_the_matches(serve: Serve) -> None:
    client = await serve(
        Limits(workers=1, matches=3, visitor_matches=2),
        trusted_proxies=(network("127.0.0.1"),),
        operator_token=OPERATOR,
    )
    order = {"game": "tictactoe", "players": HUMANS}
    statuses = [
        await posted(client, "/matches", order, {"X-Forwarded-For": address})
        for address in ("198.51.100.1", "198.51.100.1", "198.51.100.1", "198.51.100.2", "198.51.100.3")
    ]
    assert statuses == [201, 201, 503, 201, 503]
    live = client.services.live_matches.all()
    await client.services.live_matches.end(live[-1], "enough")
    operator = {"X-Forwarded-For": "198.51.100.2", "Authorization": f"Bearer {OPERATOR}"}
    assert await posted(client, "/matches", order, operator) == 201


async def test_bots_have_a_share_of_the_memory(serve: Serve) -> None:
    client = await serve(Limits(workers=1, bots_bytes=2**31, visitor_bots_bytes=2**30))
    order = {"game": "tictactoe", "players": BOTS, "startclock": 20}
    assert [await posted(client, "/matches", order) for _ in range(2)] == [201, 503]
    for live in client.services.live_matches.all():
        await client.services.live_matches.end(live, "enough")


async def test_the_operators_token_opens_the_page_for_it(serve: Serve) -> None:
    client = await serve(operator_token=OPERATOR)
    assert "This browser has the token" not in await client.page("/token")
    async with client.http.post("/token", data={"token": OPERATOR}, allow_redirects=False) as response:
        assert response.status == 303
    assert "This browser has the token" in await client.page("/token")


async def test_a_match_that_somebody_left_ends(serve: Serve) -> None:
    """Eight of them would lock the service for hours. Who has the page open is there, however long it takes."""
    client = await serve(Limits(workers=1, absent=0.2))
    clocks = {"startclock": 86_400, "playclock": 86_400}
    never_came, left, stays = [await client.begin("tictactoe", HUMANS, **clocks) for _ in range(3)]
    for begun in (left, stays):
        found = client.services.live_matches.get(begun["match"])
        assert found is not None
        for human in found.humans.values():
            human.arrived.set()
    async with client.events(stays["links"]["xplayer"] + "/events"):
        for begun, absent in ((never_came, "xplayer"), (left, "xplayer")):
            match = await client.ended(begun["match"])
            assert (match["status"], match["reason"]) == ("aborted", f"{absent} was away for 0.2 s")
        assert (await client.get(f"/matches/{stays['match']}"))["status"] == "running"
    assert (await client.ended(stays["match"]))["status"] == "aborted"


async def test_no_match_goes_on_for_ever(serve: Serve, players: Players) -> None:
    client = await serve(Limits(workers=1, match_seconds=0.2, absent=0.4))
    wanted = await players("oplayer", xplayer=ScriptedPlayer({0: silent}))
    begun = await client.begin("tictactoe", wanted, playclock=86_400)
    match = await client.ended(begun["match"])
    assert match["status"] in ("aborted", "failed")  # the second one where the machine was too busy to begin it
    assert match["reason"] == "the match took longer than 0.2 s, the limit here"


async def test_a_record_has_a_limit(serve: Serve, players: Players) -> None:
    client = await serve(Limits(workers=1, record_bytes=1000, absent=0.4))
    wanted = await players("oplayer", xplayer=ScriptedPlayer({3: silent}))
    begun = await client.begin("tictactoe", wanted)
    match = await client.ended(begun["match"])
    assert (match["status"], match["reason"]) == ("aborted", "a record of more than 1,000 bytes, the limit here")


async def test_what_is_recorded_has_a_limit_for_all_and_for_each(serve: Serve, players: Players) -> None:
    client = await serve(
        Limits(workers=1, visitor_records_bytes=1000, records_bytes=10_000), trusted_proxies=(network("127.0.0.1"),)
    )
    order = {"game": "tictactoe", "players": await players("xplayer", "oplayer"), "startclock": 5, "playclock": 5}
    ledger = client.services.live_matches.ledger
    one, other = ({"X_Forwarded_For": f"198.51.100.{number}"} for number in (1, 2))
    begun = await client.post("/matches", order, 201, **one)
    await client.ended(begun["match"])
    assert 1000 < ledger.total_bytes < 10_000
    assert "your matches" in (await client.post("/matches", order, 507, **one))["detail"]
    begun = await client.post("/matches", order, 201, **other)
    await client.ended(begun["match"])
    ledger.total_bytes += 10_000  # as if there were more in the folder
    assert "no room" in (await client.post("/matches", order, 507, **other))["detail"]


async def test_a_visitor_has_a_share_of_rulesheets_and_listeners(serve: Serve) -> None:
    client = await serve(Limits(workers=1, visitor_rulesheets=1, visitor_listeners=1))
    await client.post("/games", {"name": "one", "rulesheet": games.GUESSING}, 201)
    problem = await client.post("/games", {"name": "two", "rulesheet": games.GUESSING}, 422)
    assert problem["detail"] == "you have pasted 1 rulesheets, as many as may be"
    async with client.events("/events"), client.http.get("/api/v1/events") as response:
        assert response.status == 503


LONG = "(role r) (init (at 0)) (legal r go) (goal r 0) (<= (next (at ?y)) (true (at ?x)) (succ ?x ?y))"
LONG += "(<= terminal (true (at 150)))" + "".join(f"(succ {step} {step + 1})" for step in range(150))


async def test_a_long_match_counts_as_several_requests(serve: Serve) -> None:
    client = await serve(Limits(workers=1, reads=0.001, reads_at_once=9))
    game = await client.post("/games", {"name": "long", "rulesheet": LONG}, 201)
    begun = await client.begin(game["id"], {"r": {"kind": "bot", "bot": "legal"}})
    match = await client.ended(begun["match"])  # counts as 3
    assert match["steps"] == 150
    await client.get(f"/matches/{match['id']}?first=50")  # as 1
    await client.get(f"/matches/{match['id']}/record")  # as 3
    await client.page(f"/matches/{match['id']}")  # as 7, more than are left
    problem = await client.get("/games", 429)
    assert problem["detail"] == "too many requests; slow down"


async def test_a_short_match_counts_as_one_request(serve: Serve, players: Players) -> None:
    client = await serve(Limits(workers=1, reads=0.001, reads_at_once=3))
    begun = await client.begin("tictactoe", await players("xplayer", "oplayer"))
    match = await client.ended(begun["match"])
    for _ in range(2):
        await client.get(f"/matches/{match['id']}")
    await client.get(f"/matches/{match['id']}", 429)


async def test_a_visitor_has_a_share_of_endpoints(serve: Serve) -> None:
    client = await serve(Limits(workers=1, visitor_endpoints=1), trusted_proxies=(network("127.0.0.1"),))
    one, other = ({"X_Forwarded_For": f"198.51.100.{number}"} for number in (1, 2))
    await client.post("/endpoints", {"name": "Ann"}, 201, **one)
    problem = await client.post("/endpoints", {"name": "Ann"}, 503, **one)
    assert problem["detail"] == "1 endpoints that you asked for are in use, as many as may be; try again later"
    await client.post("/endpoints", {"name": "Bob"}, 201, **other)


async def test_a_move_that_may_not_be_taken_back_ends_no_match(serve: Serve) -> None:
    client = await serve(Limits(workers=1, visitor_matches=1), trusted_proxies=(network("127.0.0.1"),))
    players = {"xplayer": ANN, "oplayer": {"kind": "bot", "bot": "legal"}}
    order = {"game": "tictactoe", "players": players, "startclock": 60, "playclock": 600}
    one, other = ({"X_Forwarded_For": f"198.51.100.{number}"} for number in (1, 2))
    begun = await client.post("/matches", order, 201, **one)
    link = await moved(client, begun["links"]["xplayer"])
    own = await client.post("/matches", order, 201, **other)
    problem = await client.post(f"{link}/undo", {}, 503, **other)
    assert problem["detail"] == "1 matches that you began are being played, as many as may be; end one"
    human = await client.asked(link)
    assert (human["match"]["status"], human["next"], human["asked"]) == ("running", None, 2)
    await client.post(f"{own['links']['xplayer']}/resign")
    again = await client.post(f"{link}/undo", {}, 201, **other)
    assert (await client.get(f"/matches/{begun['match']}"))["status"] == "aborted"
    again = await client.post(f"{await moved(client, again['links']['xplayer'])}/undo", {}, 201, **other)
    await client.post(f"{again['links']['xplayer']}/resign")


async def moved(client: ApiClient, link: str) -> str:
    """The link, once its human has made a move and is asked for the next one."""
    human = await client.asked(link)
    await client.post(f"{link}/move", {"move": "(mark 1 1)", "step": human["asked"]})
    await client.asked(link)
    return link


async def test_a_visitor_has_a_share_of_what_is_worked_out(serve: Serve, players: Players) -> None:
    client = await serve(Limits(workers=1, visitor_waiting=1))
    begun = await client.begin("tictactoe", await players("xplayer", "oplayer"))
    await client.ended(begun["match"])
    match = f"/matches/{begun['match']}"
    reads = ["/games/chess/start", "/games/chess/picture", f"{match}/states/2/picture"]
    checks = [f"{match}/tiltyard", f"{match}/verdict"]
    for pool, paths in ((client.services.pool, reads), (client.services.checks, checks)):
        with pool._counted("127.0.0.1"):
            for path in paths:
                assert "requests of yours wait" in (await client.get(path, 503))["detail"]
    with client.services.pool._counted("127.0.0.1"):
        assert "requests of yours wait" in await client.page("/games/chess")
    with client.services.checks._counted("127.0.0.1"):
        await client.post("/rulesheets/check", {"name": "mine", "rulesheet": games.GUESSING}, 503)
    with client.services.analyses._pool._counted("127.0.0.1"):
        for problem in (
            await client.get("/games/chess/engine", 503),
            await client.post(f"{match}/states/2/analysis", {"seconds": 1.0}, 503),
        ):
            assert "requests of yours wait" in problem["detail"]
    for path in (*reads, *checks):
        async with client.http.get(f"/api/v1{path}") as response:
            assert response.status == 200


async def test_readers_do_not_wait_for_rulesheets_that_are_checked(serve: Serve) -> None:
    client = await serve(Limits(workers=1, check_seconds=3))
    pasted = {"name": "slow", "rulesheet": SLOW}
    checking = [asyncio.create_task(client.post("/rulesheets/check", pasted)) for _ in range(3)]
    await until(lambda: not client.services.checks._evaluators[0].is_free)
    assert (await client.get("/games/tictactoe/start"))["step"] == 0
    assert not any(task.done() for task in checking)
    for task in checking:
        task.cancel()
    await asyncio.gather(*checking, return_exceptions=True)


async def test_the_first_page_does_not_wait_long_for_a_picture(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "_DRAWING_SECONDS", 0.2)
    client = await serve(Limits(workers=1))
    async with client.services.pool._turn("somebody"), ScriptedPlayer({0: silent}) as held:
        external = {"kind": "external", "url": held.url, "name": "slow"}
        begun = await client.begin("tictactoe", {"xplayer": external, "oplayer": external})
        await until(lambda: held.told(Play) != [])
        async with asyncio.timeout(PATIENCE):
            shown = await client.page("/")
        assert begun["match"] in shown
        assert 'id="watched"' not in shown
        await client.post(f"/matches/{begun['match']}/end")


async def test_matches_of_a_killed_service_are_ended_and_their_players_freed(serve: Serve, tmp_path: Path) -> None:
    freed = asyncio.Event()

    async def hears(_: Exchange) -> None:
        freed.set()

    async with ScriptedPlayer({"abort": hears}) as guest, ScriptedPlayer() as stranger:
        running = growing(await a_finished_match(), 2)
        urls = dict(zip(running.players, (guest.url, stranger.url.replace("127.0.0.1", "localhost")), strict=True))
        players = {role: player.model_copy(update={"url": urls[role]}) for role, player in running.players.items()}
        killed, alive = (RecordWriter(tmp_path / f"{name}.json") for name in ("killed", "alive"))
        killed.write(running.model_copy(update={"players": players, "started": now()}))
        killed.close()
        alive.write(running.model_copy(update={"started": now()}))
        client = await serve()
        for name, status in (("killed", "aborted"), ("alive", "running")):
            assert (await client.get(f"/matches/{name}"))["status"] == status
        record = read_record(killed.path)
        assert (len(record.steps), record.reason) == (2, "the game master ended in the middle of the match")
        async with asyncio.timeout(PATIENCE):
            await freed.wait()
        assert guest.told(Abort) == [Abort(running.match)]
        assert stranger.heard == []  # nobody is called whom the operator has not allowed


async def test_a_store_is_not_told_of_every_step_of_a_long_match() -> None:
    record = await a_finished_match()
    told: list[int] = []

    class Counting(Store):
        def __init__(self) -> None:
            """Without a database."""

        def keep_single(self, record: MatchRecord) -> str:
            told.append(len(record.steps))
            return ""

    step = record.steps[0].model_copy(update={"moves": ("x" * 1000, "y")})
    writer = _StoreWriter(Counting())
    for steps in range(1001):
        writer.write(growing(record, 0).model_copy(update={"steps": (step,) * steps}))
    writer.write(record.model_copy(update={"steps": (step,) * 1000}))
    assert told[:40] == list(range(40))  # a short one is written as it grows
    assert told[-1] == 1000
    assert len(told) < 120

"""Tournaments of the store, complete or under way: standings, matches, what others play while one looks."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gamemaster.record import MatchRecord, RecordWriter, now
from gamemaster.tournament.spec import PlayerSpec
from gamemaster.tournament.store import Store, open_store
from gamemaster.web import repository
from gamemaster.web.settings import Limits
from ggp.protocol.messages import Abort, Start
from tests.gamemaster import games
from tests.gamemaster.processes import until
from tests.gamemaster.scripted import ScriptedPlayer, silent
from tests.gamemaster.web.api_client import PATIENCE, ApiClient, Json
from tests.gamemaster.web.conftest import Players, Serve
from tests.gamemaster.web.tournaments import (
    NAME,
    a_finished_match,
    a_tournament,
    finish,
    growing,
    pairings_of,
    renamed,
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "events.sqlite")) as opened:
        yield opened


@pytest.fixture
async def record() -> MatchRecord:
    return await a_finished_match()


async def test_there_may_be_no_tournaments(client: ApiClient) -> None:
    assert await client.get("/tournaments") == {"tournaments": []}
    await client.get("/tournaments/cup", 404)
    assert "There are no tournaments" in await client.page("/tournaments")


async def test_standings(serve: Serve, store: Store, record: MatchRecord) -> None:
    spec = a_tournament()
    store.create(spec)
    pairings = pairings_of(spec)
    with store.manage(NAME) as manager:
        for pairing in pairings[:6]:
            finish(manager, record, pairing)
    client = await serve(store=store)
    event = await client.get(f"/tournaments/{NAME}")
    assert (event["status"], event["finished"], event["total"]) == ("interrupted", 6, 12)
    assert event["format"] == "round robin"
    assert sum(line["points"] for line in event["lines"]) == 6
    for line in event["lines"]:
        assert line["rating"]["low"] < line["rating"]["value"] < line["rating"]["high"]
    assert {(role["role"], role["wins"], role["losses"]) for role in event["roles"]} == {
        ("xplayer", 6, 0),
        ("oplayer", 0, 6),
    }
    assert all(meeting["planned"] == 4 for meeting in event["meetings"])
    assert (await client.get("/tournaments"))["tournaments"][0]["total"] == 12
    await client.get("/tournaments/other", 404)
    page = await client.page(f"/tournaments/{NAME}")
    assert "6 of 12 matches" in page
    assert "<title>Ratings with their 95 % intervals</title>" in page


async def test_matches_of_a_tournament(serve: Serve, store: Store, record: MatchRecord) -> None:
    spec = a_tournament()
    store.create(spec)
    pairings = pairings_of(spec)
    with store.manage(NAME) as manager:
        for pairing in pairings[:3]:
            finish(manager, record, pairing)
    client = await serve(store=store)
    found = await client.get(f"/matches?tournament={NAME}&limit=2")
    assert found["total"] == 3
    assert [match["id"] for match in found["matches"]] == [f"{NAME}~{pairing.id}" for pairing in pairings[2:0:-1]]
    head = found["matches"][0]
    assert head["players"]["xplayer"]["name"] == pairings[2].players[0]
    assert head["goals"] == {"xplayer": 100, "oplayer": 0}
    match = await client.get(f"/matches/{head['id']}")
    assert match["tournament"] == NAME
    assert match["status"] == "terminal"
    last = await client.get(f"/matches/{head['id']}/states/{match['steps']}")
    assert last["terminal"]
    await asyncio.to_thread(client.services.repository.measure_move_times)
    statistics = (await client.get("/games/tictactoe"))["statistics"]
    assert statistics["matches"] == 3
    assert statistics["fastest"] in ("ann", "bob", "cyd")
    page = await client.page(head["url"])
    assert f'<a href="/tournaments/{NAME}">{NAME}</a>' in page
    await client.get("/matches/cup~nothing", 404)
    await client.get("/matches/nothing~nothing", 404)


async def test_the_report_leads_to_the_matches_and_back(serve: Serve, store: Store, record: MatchRecord) -> None:
    spec = a_tournament()
    store.create(spec)
    first, second, *_ = pairings_of(spec)
    client = await serve(store=store)
    with store.manage(NAME) as manager:
        finish(manager, record, first)
        report = await client.page(f"/tournaments/{NAME}/report")
        assert f"/matches/{NAME}~{second.id}" not in report
        finish(manager, record, second)
    report = await client.page(f"/tournaments/{NAME}/report")
    tournament = await client.page(f"/tournaments/{NAME}")
    assert f'<a href="/tournaments/{NAME}/report">' in tournament
    assert f'<a href="/tournaments/{NAME}">' in report
    for pairing in (first, second):
        url = f"/matches/{NAME}~{pairing.id}"
        assert f'<a href="{url}">{pairing.id}</a>' in report
        match = await client.page(url)
        assert f'<a href="/tournaments/{NAME}">' in match
        assert f"{len(record.steps)} of {len(record.steps)}" in match  # it opens at its end
    await client.page("/tournaments/other/report", 404)


async def test_the_report_on_pages_keeps_secrets(serve: Serve, store: Store) -> None:
    elsewhere = PlayerSpec(name="eve", url="http://127.0.0.1:9200/secret/")
    players = (elsewhere, *a_tournament().players)
    spec = a_tournament().model_copy(update={"seed": 987654321, "players": players})
    store.create(spec)
    page = await (await serve(store=store)).page(f"/tournaments/{NAME}/report")
    assert "an external player" in page
    assert "9200" not in page
    assert "987654321" not in page


def count_calls(monkeypatch: pytest.MonkeyPatch, owner: object, name: str) -> list[object]:
    """Grows with every call of a function of a module or an object."""
    made: list[object] = []
    original = getattr(owner, name)

    def counting(*given: object, **named: object) -> object:
        made.append(given)
        return original(*given, **named)

    monkeypatch.setattr(owner, name, counting)
    return made


async def test_a_match_that_another_process_plays_is_watched(
    serve: Serve, store: Store, record: MatchRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = a_tournament()
    store.create(spec)
    pairing = pairings_of(spec)[0]
    own = renamed(record, pairing).model_copy(update={"started": now()})
    with store.manage(NAME) as manager:
        manager.begin(pairing)
        manager.keep(pairing, growing(own, 0))
        client = await serve(store=store)
        match = await client.get(f"/matches/{NAME}~{pairing.id}")
        assert (match["status"], match["is_live"], match["steps"]) == ("running", True, 0)
        assert "end" not in match["links"]
        counted = count_calls(monkeypatch, store, "record")
        found = []
        async with client.events(f"/matches/{NAME}~{pairing.id}/events") as events, asyncio.timeout(PATIENCE):
            manager.keep(pairing, growing(own, 2))
            async for event in events:
                found.append(event)
                if event.kind == "step" and event.data["number"] == 2:
                    manager.finish(pairing, own)
                if event.kind == "end":
                    break
    assert len(counted) <= 2  # the record grew twice
    later = await client.get(f"/matches/{NAME}~{pairing.id}?first=2")
    assert [step["number"] for step in later["joint_moves"]] == list(range(2, len(own.steps)))
    numbers = [event.data["number"] for event in found if event.kind == "step"]
    assert numbers == list(range(1, len(own.steps) + 1))
    assert found[-1].data["match"]["goals"] == {"xplayer": 100, "oplayer": 0}


async def test_a_file_is_parsed_once_for_each_change(
    serve: Serve, record: MatchRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = tmp_path / "records"
    records.mkdir()
    writer = RecordWriter(records / "grows.json")
    own = record.model_copy(update={"started": now()})
    counted = count_calls(monkeypatch, repository, "read_record")
    client = await serve(records=records)
    for steps in (1, 2):
        writer.write(growing(own, steps))
        for _ in range(3):
            assert (await client.get("/matches/grows"))["steps"] == steps
    assert len(counted) == 2


CRASHING = """
import os, sys
from gamemaster.record import MatchRecord
from gamemaster.tournament.store import open_store
open_store(sys.argv[1]).keep_single(MatchRecord.model_validate_json(sys.stdin.read()))
os._exit(1)
"""  # a service that is killed while it plays a match


async def test_a_match_of_a_service_that_crashed_is_over(serve: Serve, record: MatchRecord, tmp_path: Path) -> None:
    path = str(tmp_path / "crashed.sqlite")
    async with ScriptedPlayer() as guest:
        role = record.roles[0]
        external = record.players[role].model_copy(update={"kind": "external", "url": guest.url})
        players = {**record.players, role: external}
        running = growing(record, 1).model_copy(update={"started": now(), "match": "m-1", "players": players})
        command = (sys.executable, "-c", CRASHING, path)
        process = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.PIPE)
        await process.communicate(running.model_dump_json().encode())
        client = await serve(store=path)
        assert (await client.get("/matches/m-1"))["status"] == "given up"
        async with asyncio.timeout(PATIENCE):
            while not guest.told(Abort):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    (listed,) = (await client.get("/matches"))["matches"]
    assert listed["status"] == "given up"
    assert (await client.get("/matches?status=running"))["total"] == 0


async def test_lists_are_told_of_what_others_do(serve: Serve, store: Store, record: MatchRecord) -> None:
    spec = a_tournament()
    store.create(spec)
    client = await serve(store=store)
    async with client.events("/events") as events, asyncio.timeout(PATIENCE):
        assert (await client.get(f"/tournaments/{NAME}"))["finished"] == 0
        with store.manage(NAME) as manager:
            finish(manager, record, pairings_of(spec)[0])
        async for event in events:
            assert event.kind == "changed"
            if (await client.get(f"/tournaments/{NAME}"))["finished"] == 1:
                break


async def test_matches_played_here_are_kept_in_the_store(
    serve: Serve, store: Store, players: Players, tmp_path: Path
) -> None:
    records = tmp_path / "none"
    client = await serve(store=store, records=records)
    begun = await client.begin("tictactoe", await players("xplayer", "oplayer"))
    match = await client.ended(begun["match"])
    other = await serve(store=store, records=records)
    assert (await other.get(f"/matches/{begun['match']}"))["joint_moves"] == match["joint_moves"]
    assert (await other.get("/matches"))["total"] == 1
    assert not list(records.glob("*.json"))
    assert store.record("", begun["match"]).goals == match["goals"]


async def test_a_store_that_does_not_answer_is_a_problem(
    serve: Serve, store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    client = await serve(Limits(workers=1), store=store)
    store.close()
    (tmp_path / "events.sqlite").unlink()
    for path in (
        "/tournaments",
        "/matches",
        f"/matches?tournament={NAME}",
        f"/matches/{NAME}~1",
        f"/tournaments/{NAME}",
    ):
        problem = await client.get(path, 503)
        assert problem["detail"] == "the store cannot be read; the log of the service says more"
        assert "events.sqlite" in caplog.records[-1].getMessage()


# Begun here.

LEGAL = {"kind": "bot", "bot": "legal"}
CUP: dict[str, Any] = {"name": "cup", "games": ["tictactoe"], "players": [LEGAL, {"kind": "bot", "bot": "random"}]}


async def ended(client: ApiClient, name: str = "cup") -> Json:
    """The tournament when nothing goes on."""
    async with asyncio.timeout(PATIENCE):
        while (event := await client.get(f"/tournaments/{name}"))["status"] == "running":  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    return event


async def test_a_tournament_whose_files_cannot_be_written_is_begun_later(
    serve: Serve, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    client = await serve(store=str(tmp_path / "events.sqlite"))
    (tmp_path / "tournaments").write_text("a file in place of the folder")
    problem = await client.post("/tournaments", CUP, 503)
    assert problem["detail"] == "a tournament cannot be begun; the log of the service says more"
    (said,) = [record for record in caplog.records if record.name == "gamemaster.web.tournaments"]
    assert str(tmp_path / "tournaments") in said.getMessage()
    assert said.exc_info is None
    (tmp_path / "tournaments").unlink()
    await client.post("/tournaments", CUP, 201)
    assert (await ended(client))["status"] == "complete"


async def test_a_tournament_is_begun_and_plays_to_its_end(serve: Serve, tmp_path: Path) -> None:
    client = await serve(store=str(tmp_path / "events.sqlite"))
    pasted = await client.post("/games", {"name": "mine", "rulesheet": games.GUESSING}, 201)
    wanted = {**CUP, "games": ["tictactoe", pasted["id"]], "rounds": 2, "seed": 3}
    begun = await client.post("/tournaments", wanted, 201)
    assert (begun["name"], begun["url"], begun["total"]) == ("cup", "/tournaments/cup", 8)
    event = await ended(client)
    assert (event["status"], event["finished"]) == ("complete", 8)
    assert [match["status"] for match in (await client.get("/matches?tournament=cup"))["matches"]] == ["terminal"] * 8
    assert (await client.post("/tournaments", wanted, 409))["detail"] == "there is a tournament cup already"
    assert "no tournament cup that was begun here is running" in str(
        await client.post("/tournaments/cup/end", None, 409)
    )
    assert "End the tournament" not in await client.page("/tournaments/cup")


async def test_of_two_tournaments_of_one_name_at_once_one_begins(serve: Serve, tmp_path: Path) -> None:
    client = await serve(store=str(tmp_path / "events.sqlite"))
    url = "/api/v1/tournaments"
    answers = await asyncio.gather(*(client.http.post(url, json=CUP) for _ in range(2)))
    assert sorted(answer.status for answer in answers) == [201, 409]
    assert (await ended(client))["status"] == "complete"


async def test_a_tournament_is_ended(serve: Serve, tmp_path: Path) -> None:
    client = await serve(store=str(tmp_path / "events.sqlite"))
    async with ScriptedPlayer({0: silent}) as player:
        players = [{"kind": "bot", "bot": "legal"}, {"kind": "external", "url": player.url, "name": "silent"}]
        await client.post("/tournaments", {**CUP, "players": players, "startclock": 1, "playclock": 3600}, 201)
        assert "End the tournament" in await client.page("/tournaments/cup")
        await until(lambda: bool(player.told(Start)))
        event = await client.post("/tournaments/cup/end")
    assert (event["status"], event["finished"]) == ("interrupted", 0)


async def test_tournaments_end_with_the_service(serve: Serve, tmp_path: Path) -> None:
    client = await serve(store=str(tmp_path / "events.sqlite"))
    async with ScriptedPlayer({0: silent}) as player:
        players = [{"kind": "bot", "bot": "legal"}, {"kind": "external", "url": player.url, "name": "silent"}]
        await client.post("/tournaments", {**CUP, "players": players, "startclock": 1, "playclock": 3600}, 201)
        [process] = client.services.processes._running.values()
        await until(lambda: bool(player.told(Start)))
        await client.services.processes.close()
        assert process.returncode is not None
    with open_store(str(tmp_path / "events.sqlite")) as store:
        assert store.tournament("cup").status == "interrupted"


@pytest.mark.parametrize(
    ("change", "status", "reason"),
    [
        ({"name": "a b"}, 422, "name: a name is one word"),
        ({"games": ["nosuch"]}, 422, "there is no game nosuch"),
        ({"games": ["connectfour3"]}, 422, "games[0].rules: the game takes 3 players, and there are 2"),
        ({"players": [{"kind": "bot", "bot": "nosuch"}] * 2}, 422, "no bot is called 'nosuch'"),
        ({"players": [LEGAL, LEGAL]}, 422, "legal"),
        ({"players": [{"kind": "external", "url": "http://192.0.2.1:9147"}]}, 403, "has not allowed players"),
        ({"format": "knock-out", "rounds": 2}, 422, "rounds: a knock-out has as many as it takes"),
    ],
)
async def test_what_cannot_be_played_is_refused(
    serve: Serve, tmp_path: Path, change: dict[str, object], status: int, reason: str
) -> None:
    client = await serve(store=str(tmp_path / "events.sqlite"))
    detail = (await client.post("/tournaments", CUP | change, status))["detail"]
    assert reason in detail
    assert str(tmp_path) not in detail
    assert (await client.get("/tournaments"))["tournaments"] == []


async def test_only_the_operator_begins_and_ends_tournaments(serve: Serve, tmp_path: Path) -> None:
    tokens = {"token": "for-writing-1", "operator_token": "for-operating-1"}
    client = await serve(store=str(tmp_path / "events.sqlite"), **tokens)
    writer = {"Authorization": f"Bearer {tokens['token']}"}
    assert "only the operator" in (await client.post("/tournaments", CUP, 403, **writer))["detail"]
    assert "only the operator" in (await client.post("/tournaments/cup/end", None, 403, **writer))["detail"]
    await client.page("/new-tournament", 403)
    assert "New tournament" not in await client.page("/tournaments")
    operator = {"Authorization": f"Bearer {tokens['operator_token']}"}
    await client.post("/tournaments", CUP, 201, **operator)
    await ended(client)


async def test_without_a_store_there_is_no_tournament(client: ApiClient) -> None:
    assert "there is no store for the results" in (await client.post("/tournaments", CUP, 409))["detail"]
    assert "There is no store for the results" in await client.page("/new-tournament")

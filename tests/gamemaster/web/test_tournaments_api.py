"""Tournaments of the store, complete or under way: standings, matches, what others play while one looks."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gamemaster.record import MatchRecord, RecordWriter, now
from gamemaster.tournament.store import Store, open_store
from gamemaster.web import repository
from gamemaster.web.settings import Limits
from ggp.protocol.messages import Abort
from tests.gamemaster.scripted import ScriptedPlayer
from tests.gamemaster.web.api_client import PATIENCE, ApiClient
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


async def test_a_store_that_does_not_answer_is_a_problem(serve: Serve, store: Store, tmp_path: Path) -> None:
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
        assert "events.sqlite" in problem["detail"]

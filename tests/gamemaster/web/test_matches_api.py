"""The API of matches: played, watched, kept, replayed, gone on from."""

import asyncio
import gc
import json
import time
from pathlib import Path

import pytest

import ggp
from gamemaster.faults import Fault
from gamemaster.record import RecordWriter, read_record
from gamemaster.replay import replay
from gamemaster.web.settings import Limits
from tests.gamemaster import games
from tests.gamemaster.processes import until
from tests.gamemaster.scripted import ScriptedPlayer, held_until, says, silent
from tests.gamemaster.web.api_client import ApiClient
from tests.gamemaster.web.conftest import Players, Serve
from tests.gamemaster.web.tournaments import a_finished_match
from tests.games.helpers import FIRST_GAMES

ROLES = ("xplayer", "oplayer")
OPERATOR = "correct-horse-operator"


async def test_a_match_from_order_to_record(serve: Serve, players: Players, tmp_path: Path) -> None:
    client = await serve(operator_token=OPERATOR)
    begun = await client.begin("tictactoe", await players(*ROLES), OPERATOR, seed=5)
    assert begun["links"] == {}
    match = await client.ended(begun["match"])
    assert match["status"] == "terminal"
    assert match["goals"] == {"xplayer": 100, "oplayer": 0}
    assert [step["number"] for step in match["joint_moves"]] == list(range(match["steps"]))
    assert match["joint_moves"][0]["moves"] == {"xplayer": "(mark 3 3)", "oplayer": "noop"}
    record = read_record(tmp_path / f"{begun['match']}.json")
    assert record.settings.seed == 5
    assert len(list(replay(record))) == match["steps"] + 1
    assert (await client.get(f"/matches/{begun['match']}/record"))["token"] == record.token
    assert (await client.get(f"/matches/{begun['match']}/verdict")) == {"holds": True, "problem": None}
    tiltyard = await client.get(f"/matches/{begun['match']}/tiltyard")
    assert tiltyard["goalValues"] == [100, 0]
    assert len(tiltyard["states"]) == match["steps"] + 1


async def test_a_record_is_verified_once(client: ApiClient, players: Players, tmp_path: Path) -> None:
    begun = await client.begin("tictactoe", await players(*ROLES))
    await client.ended(begun["match"])
    record = read_record(tmp_path / f"{begun['match']}.json")
    verdict = await client.get(f"/matches/{begun['match']}/verdict")
    RecordWriter(tmp_path / "other.json").write(record.model_copy(update={"goals": {"xplayer": 0, "oplayer": 100}}))
    assert not (await client.get("/matches/other/verdict"))["holds"]
    await client.services.checks.close()  # what is not known now cannot be found out any more
    assert await client.get(f"/matches/{begun['match']}/verdict") == verdict
    assert not (await client.get("/matches/other/verdict"))["holds"]


async def test_each_step_is_told_once_and_drawn(client: ApiClient, players: Players) -> None:
    is_heard, clock_is_seen = asyncio.Event(), asyncio.Event()
    held = ScriptedPlayer({"start": held_until(is_heard), 0: held_until(clock_is_seen)})
    begun = await client.begin("tictactoe", await players("xplayer", oplayer=held))
    path = f"/matches/{begun['match']}/events"
    async with client.events(path) as events:
        is_heard.set()
        seen = await anext(events)
    found, clocks = [], []
    async with client.events(path, seen.id.rpartition("-")[0] + "-0") as events:  # from the first event on
        async for event in events:
            found.append(event)
            clock = event.data["clock"]
            if clock and clock["phase"] == "step":
                clocks.append(clock)
                clock_is_seen.set()
            if event.kind == "end":
                break
    steps = [event.data for event in found if event.kind == "step"]
    assert [step["number"] for step in steps] == list(range(len(steps)))
    assert steps[1]["step"]["moves"] == {"xplayer": "(mark 3 3)", "oplayer": "noop"}
    assert steps[1]["state"]["svg"].startswith("<svg")
    assert steps[0]["step"] is None
    assert 0 < clocks[0]["remaining"] <= clocks[0]["total"] == 600
    over = [step["clock"]["phase"] for step in steps if step["clock"] and step["match"]["status"] == "terminal"]
    assert set(over) <= {"over"}  # no clock runs when it has ended, though players are still being stopped
    assert found[-1].data["match"]["goals"] == {"xplayer": 100, "oplayer": 0}


async def test_states_of_a_match_that_is_kept(serve: Serve, players: Players) -> None:
    first = await serve()
    begun = await first.begin("tictactoe", await players(*ROLES))
    match = await first.ended(begun["match"])
    live = await first.get(f"/matches/{begun['match']}/states/2")
    second = await serve()  # knows the record only
    kept = await second.get(f"/matches/{begun['match']}/states/2")
    assert kept == live
    assert (await second.get(f"/matches/{begun['match']}/states/{match['steps']}"))["terminal"]
    assert (await second.get(f"/matches/{begun['match']}"))["joint_moves"] == match["joint_moves"]
    problem = await second.get(f"/matches/{begun['match']}/states/{match['steps'] + 1}", 404)
    assert "no state" in problem["detail"]
    await second.get(f"/matches/{begun['match']}/states/x", 422)
    async with second.http.get(f"/api/v1/matches/{begun['match']}/events") as response:
        assert response.status == 204


async def test_faults_are_told(client: ApiClient, players: Players) -> None:
    troubled = ScriptedPlayer({1: says("(mark 9 9)"), "start": says("<script>alert(1)</script>")})
    begun = await client.begin("tictactoe", await players("xplayer", oplayer=troubled))
    match = await client.ended(begun["match"])
    fault = match["joint_moves"][1]["faults"]["oplayer"]
    assert fault["kind"] == "illegal"
    assert fault["answer"] == "(mark 9 9)"
    assert match["faults"] == 1


async def test_who_forfeited_is_shown(client: ApiClient, players: Players) -> None:
    dumb = ScriptedPlayer(dict.fromkeys(range(9), says("busy")))
    begun = await client.begin("tictactoe", await players("xplayer", oplayer=dumb))
    match = await client.ended(begun["match"])
    assert (match["status"], match["forfeited"]) == ("forfeit", ["oplayer"])
    assert '<span class="forfeited">' in await client.page(f"/matches/{begun['match']}")


async def test_a_fault_of_the_game_master_is_shown_as_such(serve: Serve, tmp_path: Path) -> None:
    record = await a_finished_match()
    role = record.roles[0]
    held_up = record.steps[0].model_copy(update={"faults": {role: Fault("timeout", "late", cause="game master")}})
    RecordWriter(tmp_path / "one.json").write(record.model_copy(update={"steps": (held_up, *record.steps[1:])}))
    client = await serve()
    assert (await client.get("/matches/one"))["joint_moves"][0]["faults"][role]["cause"] == "game master"
    assert "timeout, held up by the game master: late" in await client.page("/matches/one")


async def test_lists_of_matches(serve: Serve, players: Players) -> None:
    client = await serve()
    names = []
    for game, roles in (("tictactoe", ROLES), ("connectfour", ("red", "yellow")), ("tictactoe", ROLES)):
        begun = await client.begin(game, await players(*roles))
        await client.ended(begun["match"])
        names.append(begun["match"])
    again = await serve()
    for service in (client, again):
        found = await service.get("/matches")
        assert [match["id"] for match in found["matches"]] == names[::-1]
        assert found["total"] == 3
        found = await service.get("/matches?game=tictactoe&limit=1&offset=1")
        assert [match["id"] for match in found["matches"]] == names[:1]
        assert found["total"] == 2
        assert (await service.get("/matches?player=player+of+red"))["total"] == 1
        assert (await service.get("/matches?status=running"))["total"] == 0
        assert (await service.get("/matches?tournament=none"))["total"] == 0
    game = await again.get("/games/tictactoe")
    assert game["statistics"]["matches"] == 2
    assert game["statistics"]["roles"] == [
        {"role": "xplayer", "matches": 2, "mean_goal": 100.0},
        {"role": "oplayer", "matches": 2, "mean_goal": 0.0},
    ]
    assert game["statistics"]["fastest"] in ("player of xplayer", "player of oplayer")


async def test_a_match_goes_on_from_a_state(client: ApiClient, players: Players) -> None:
    wanted = await players(*ROLES)
    first = await client.begin("tictactoe", wanted)
    await client.ended(first["match"])
    state = await client.get(f"/matches/{first['match']}/states/3")
    branch = {"step": 3, "players": wanted, "startclock": 5, "playclock": 5}
    second = await client.post(f"/matches/{first['match']}/branches", branch, 201)
    match = await client.ended(second["match"])
    assert match["origin"] == {"match": first["match"], "step": 3}
    assert (await client.get(f"/matches/{second['match']}/states/0"))["facts"] == state["facts"]
    assert match["goals"] == {"xplayer": 100, "oplayer": 0}
    assert (await client.get(f"/matches/{second['match']}/verdict"))["holds"]
    third = await client.post(f"/matches/{second['match']}/branches", branch | {"step": 1}, 201)
    assert (await client.ended(third["match"]))["origin"]["match"] == second["match"]


async def nothing_is_played(client: ApiClient) -> None:
    """Waits until the players of matches that are over have been told so."""
    await until(lambda: not client.services.live_matches._tasks)


async def test_who_may_not_go_on_is_told_before_anything_is_worked_out(serve: Serve, players: Players) -> None:
    client = await serve(Limits(workers=1, visitor_matches=1))
    wanted = await players(*ROLES)
    first = await client.begin("tictactoe", wanted)
    await client.ended(first["match"])
    await nothing_is_played(client)
    await client.services.people.close()  # which is for people only
    path, branch = f"/matches/{first['match']}/branches", {"step": 1, "players": wanted}
    second = await client.post(path, branch, 201)
    await client.ended(second["match"])
    await nothing_is_played(client)
    await client.services.pool.close()
    assert "players must be" in (await client.post(path, {"step": 1, "players": {}}, 422))["detail"]
    held = await client.begin("tictactoe", {role: {"kind": "human"} for role in ROLES})
    assert "you began" in (await client.post(path, branch, 503))["detail"]
    await client.post(f"/matches/{held['match']}/end", Authorization=f"Bearer {held['key']}")
    assert "cannot be read" in (await client.post(path, branch, 409))["detail"]


async def test_a_match_is_ended_by_a_user(client: ApiClient, players: Players, tmp_path: Path) -> None:
    slow = ScriptedPlayer({1: silent})
    begun = await client.begin("tictactoe", await players("xplayer", oplayer=slow))
    async with client.events(f"/matches/{begun['match']}/events") as events:
        async for event in events:
            if event.kind == "step" and event.data["number"] == 1:
                break
    await client.post(f"/matches/{begun['match']}/end")
    match = await client.get(f"/matches/{begun['match']}")
    assert (match["status"], match["reason"], match["goals"]) == ("aborted", "ended by a user", None)
    assert read_record(tmp_path / f"{begun['match']}.json").reason == "ended by a user"
    await client.post(f"/matches/{begun['match']}/end", status=409)


async def test_running_matches_are_given_up_when_the_service_stops(
    serve: Serve, players: Players, tmp_path: Path
) -> None:
    client = await serve()
    begun = await client.begin("tictactoe", await players("xplayer", oplayer=ScriptedPlayer({0: silent})))
    async with client.events(f"/matches/{begun['match']}/events") as events:
        async for event in events:
            if event.kind == "start":
                break
    await client.http.close()
    record = read_record(tmp_path / f"{begun['match']}.json")
    assert (record.status, record.reason) == ("aborted", "the service was stopped")
    assert (await (await serve()).get(f"/matches/{begun['match']}"))["reason"] == "the service was stopped"


async def test_where_a_record_cannot_be_kept_is_told_to_nobody(
    serve: Serve, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    client = await serve(records=tmp_path / "records")
    (tmp_path / "records").rmdir()
    (tmp_path / "records").touch()
    begun = await client.begin("tictactoe", {role: {"kind": "bot", "bot": "legal"} for role in ROLES})
    live = client.services.live_matches.get(begun["match"])
    assert live is not None
    await until(lambda: live.is_over)
    assert live.head.reason == "its record cannot be kept; the log of the service says more"
    assert str(tmp_path) in caplog.text


async def test_as_many_matches_as_may_be(serve: Serve, players: Players) -> None:
    client = await serve(Limits(workers=1, matches=1))
    wanted = await players("xplayer", oplayer=ScriptedPlayer({0: silent}))
    await client.begin("tictactoe", wanted)
    order = {"game": "tictactoe", "players": wanted}
    async with client.http.post("/api/v1/matches", json=order) as response:
        assert response.status == 503
        assert int(response.headers["Retry-After"]) > 0


async def test_what_is_wrong_with_an_order_is_told(client: ApiClient, players: Players) -> None:
    wanted = await players(*ROLES)
    problem = await client.post("/matches", {"game": "nochess", "players": wanted}, 404)
    assert problem["detail"] == "there is no game nochess"
    problem = await client.post("/matches", {"game": "tictactoe", "players": {"xplayer": wanted["xplayer"]}}, 422)
    assert "oplayer" in problem["detail"]
    problem = await client.post("/matches", {"game": "tictactoe", "players": wanted, "playclock": 0}, 422)
    assert problem["errors"][0]["field"] == "playclock"
    problem = await client.post("/matches", {"game": "tictactoe", "players": wanted, "clocks": 1}, 422)
    assert "clocks" in problem["detail"]
    external = {"kind": "external", "url": "127.0.0.1:9", "name": "legal"}
    twice = {"xplayer": {"kind": "bot", "bot": "legal"}, "oplayer": external}
    problem = await client.post("/matches", {"game": "tictactoe", "players": twice}, 422)
    assert problem["detail"] == "players.oplayer.name: a bot of the match is called 'legal' already"
    assert problem["errors"][0]["field"] == "players.oplayer.name"


async def test_a_bot_that_is_none_fails_the_match_in_one_line(client: ApiClient) -> None:
    bots = {role: {"kind": "bot", "bot": "random"} for role in ROLES}
    begun = await client.begin("tictactoe", bots)
    match = await client.ended(begun["match"])
    assert match["status"] == "terminal"
    assert match["players"]["xplayer"] == {"name": "random", "kind": "bot", "bot": "random"}
    bots = {role: {"kind": "bot", "bot": "--help"} for role in ROLES}
    await client.post("/matches", {"game": "tictactoe", "players": bots}, 422)


async def test_a_state_is_analysed(client: ApiClient, players: Players) -> None:
    begun = await client.begin("tictactoe", await players(*ROLES))
    await client.ended(begun["match"])
    path = f"/matches/{begun['match']}/states/4/analysis"
    found = await client.post(path, {"seconds": 1, "role": "xplayer", "lines": 2})
    assert found["is_solved"]
    assert found["is_final"]
    assert found["lines"][0]["goals"]["xplayer"] == 100
    async with client.http.post(f"/api/v1{path}", json={"seconds": 1, "stream": True}) as response:
        lines = [json.loads(line) async for line in response.content]
    assert lines[-1]["is_final"]
    assert lines[-1]["lines"][0]["goals"]["xplayer"] == 100
    problem = await client.post(path, {"role": "nobody"}, 422)
    assert "nobody" in problem["detail"]


async def test_hidden_moves_are_hidden_until_the_end(client: ApiClient, players: Players) -> None:
    game = await client.post("/games", {"name": "secret", "rulesheet": games.SECRET}, 201)
    keeper = ScriptedPlayer(moves={0: "(hide 1)", 1: "(hide 2)"})
    wanted = await players(keeper=keeper) | {"asker": {"kind": "human"}}
    begun = await client.begin(game["id"], wanted)
    human = await client.asked(begun["links"]["asker"])
    assert human["state"] is None
    assert [move["move"] for move in human["legal"]] == ["(ask 1)", "(ask 2)"]
    assert not any(move["clicks"] for move in human["legal"])
    link = begun["links"]["asker"]
    problem = await client.post(f"{link}/move", {"move": "(ask 3)", "step": 0}, 422)
    assert problem["detail"] == "(ask 3) is not legal; the reason might tell what you may not know"
    assert "never closed" in (await client.post(f"{link}/move", {"move": "(ask", "step": 0}, 422))["detail"]
    await client.post(f"{link}/move", {"move": "(ask 1)", "step": 0})
    human = await client.asked(link)
    assert human["percepts"] == [["warm"]]
    assert human["own_moves"] == ["(ask 1)"]
    assert set(human["match"]["clock"]["waiting"]) == {"asker", "keeper"}
    match = await client.get(f"/matches/{begun['match']}")
    assert match["is_hidden"]
    assert match["joint_moves"] == []
    assert match["seed"] is None  # what chance will do follows from it
    for path in ("states/0", "states/0/picture", "record", "tiltyard", "verdict"):
        await client.get(f"/matches/{begun['match']}/{path}", 403)
    await client.post(f"{link}/hint", status=409)
    await client.post(f"/matches/{begun['match']}/branches", {"step": 0, "players": wanted}, 403)
    await client.post(f"{link}/move", {"move": "(ask 1)", "step": 1})
    match = await client.ended(begun["match"])
    assert match["status"] == "terminal"
    assert len(match["joint_moves"]) == 2
    assert match["seed"] is not None
    assert "warm" not in str(match)


async def test_chance_takes_a_role_of_its_own(client: ApiClient, players: Players) -> None:
    game = await client.post("/games", {"name": "dice", "rulesheet": games.DICE}, 201)
    begun = await client.begin(game["id"], await players("gambler"))
    match = await client.ended(begun["match"])
    assert match["players"]["random"] == {"name": "chance", "kind": "chance", "bot": None}
    assert match["joint_moves"][0]["moves"]["random"].startswith("(roll ")
    for path in (begun["url"], "/matches"):
        assert "player of gambler" in await client.page(path)
    assert "[&#34;gambler&#34;]" in await client.page(f"/play?match={begun['match']}&step=0")  # nobody plays `random`


WIDE = f"""
(role left) (role right) (init (step 0)) {" ".join(f"(n {number})" for number in range(17))}
(<= (init (held ?x ?y ?z)) (n ?x) (n ?y) (n ?z))
(<= (next (held ?x ?y ?z)) (true (held ?x ?y ?z)))
(<= (legal left (take ?x ?y ?z)) (true (held ?x ?y ?z)) (true (step 0))) (legal right wait) (legal left wait)
(<= (next (step 1)) (true (step 0))) (<= (next (step 2)) (true (step 1)))
(<= terminal (true (step 2))) (goal left 100) (goal right 0)
"""  # 4,914 facts, and as many moves in the first step


async def test_a_large_state_does_not_hold_the_event_loop(
    client: ApiClient, players: Players, request: pytest.FixtureRequest
) -> None:
    """Processor time of its thread in one turn, which other work on the machine does not change.

    What other tests left behind is kept from the garbage collector, which would go through all of it in one turn.
    """
    turns: list[float] = []

    async def turn() -> None:
        before = time.thread_time()
        while True:
            await asyncio.sleep(0)
            after = time.thread_time()
            turns.append(after - before)
            before = after

    game = await client.post("/games", {"name": "wide", "rulesheet": WIDE}, 201)
    wanted = {"left": {"kind": "human"}, **await players("right")}
    gc.collect()
    gc.freeze()
    request.addfinalizer(gc.unfreeze)
    counting = asyncio.create_task(turn())
    begun = await client.begin(game["id"], wanted, playclock=60)
    human = await client.asked(begun["links"]["left"])
    assert len(human["legal"]) == 17**3 + 1
    for path in ("states/0", "states/0/picture", "tiltyard"):
        async with client.http.get(f"/api/v1/matches/{begun['match']}/{path}") as response:
            assert response.status == 200
    await client.post(f"{begun['links']['left']}/move", {"move": "(take 3 4 5)", "step": 0})
    await client.asked(begun["links"]["left"])
    await client.page(begun["url"])
    await client.ended(begun["match"])
    counting.cancel()
    assert max(turns) < 0.1


async def test_people_cannot_tell_from_the_seed_what_chance_will_do(client: ApiClient) -> None:
    game = await client.post("/games", {"name": "dice", "rulesheet": games.DICE}, 201)
    begun = await client.begin(game["id"], {"gambler": {"kind": "human"}})
    link = begun["links"]["gambler"]
    await client.asked(link)
    match = await client.get(f"/matches/{begun['match']}")
    assert (match["is_hidden"], match["seed"]) == (False, None)
    record = await client.get(f"/matches/{begun['match']}/record")
    assert "seed" not in record["settings"]
    await client.post(f"{link}/resign", {})
    match = await client.ended(begun["match"])
    assert match["seed"] is not None
    record = await client.get(f"/matches/{begun['match']}/record")
    assert record["settings"]["seed"] == match["seed"]


async def test_only_the_operator_chooses_the_seed_of_a_match_with_others_than_bots(
    serve: Serve, players: Players
) -> None:
    client = await serve(operator_token=OPERATOR)
    game = (await client.post("/games", {"name": "dice", "rulesheet": games.DICE}, 201))["id"]
    external = (await players("gambler"))["gambler"]
    for player in ({"kind": "human"}, external):
        order = {"game": game, "players": {"gambler": player}, "seed": 5}
        problem = await client.post("/matches", order, 422)
        assert problem["detail"] == "seed: in matches of humans and external players only the operator may choose it"
        assert problem["errors"][0]["field"] == "seed"
        begun = await client.begin(game, {"gambler": player}, OPERATOR, seed=5)
        live = client.services.live_matches.get(begun["match"])
        assert live is not None
        assert live.order.seed == 5
    begun = await client.begin(game, {"gambler": {"kind": "bot", "bot": "legal"}}, seed=5)
    assert (await client.ended(begun["match"]))["seed"] == 5


async def test_a_match_that_is_over_at_once(client: ApiClient, players: Players) -> None:
    game = await client.post("/games", {"name": "over", "rulesheet": games.OVER}, 201)
    begun = await client.begin(game["id"], await players("lonely"))
    match = await client.ended(begun["match"])
    assert (match["status"], match["steps"], match["goals"]) == ("terminal", 0, {"lonely": None})
    assert (await client.get(f"/matches/{begun['match']}/states/0"))["facts"] == ["done"]
    assert "0 of 0" in await client.page(begun["url"])


async def test_rules_that_break_off_end_the_match(client: ApiClient, players: Players) -> None:
    game = await client.post("/games", {"name": "stuck", "rulesheet": games.STUCK}, 201)
    begun = await client.begin(game["id"], await players("left", "right"))
    match = await client.ended(begun["match"])
    assert (match["status"], match["reason"]) == ("broken", "the rules give right no move in step 1")
    assert match["reason"] in await client.page(begun["url"])


async def test_all_games_can_be_begun(client: ApiClient) -> None:
    for name in FIRST_GAMES:
        game = await client.get(f"/games/{name}")
        assert game["roles"] == list(ggp.load(name, "interpreter").roles)

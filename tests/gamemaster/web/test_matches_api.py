"""The API of matches: played, watched, kept, replayed, gone on from."""

import json
from pathlib import Path

import ggp
from gamemaster.record import read_record
from gamemaster.replay import replay
from gamemaster.web.settings import Limits
from tests.gamemaster import games
from tests.gamemaster.scripted import ScriptedPlayer, late, says
from tests.gamemaster.web.conftest import Players, Serve
from tests.gamemaster.web.visitors import Visitor

ROLES = ("xplayer", "oplayer")


async def test_a_match_from_order_to_record(visitor: Visitor, players: Players, tmp_path: Path) -> None:
    begun = await visitor.begin("tictactoe", await players(*ROLES), seed=5)
    assert begun["seats"] == {}
    match = await visitor.ended(begun["match"])
    assert match["status"] == "terminal"
    assert match["goals"] == {"xplayer": 100, "oplayer": 0}
    assert [step["number"] for step in match["joint_moves"]] == list(range(match["steps"]))
    assert match["joint_moves"][0]["moves"] == {"xplayer": "(mark 3 3)", "oplayer": "noop"}
    record = read_record(tmp_path / f"{begun['match']}.json")
    assert record.settings.seed == 5
    assert len(list(replay(record))) == match["steps"] + 1
    assert (await visitor.get(f"/matches/{begun['match']}/record"))["token"] == record.token
    assert (await visitor.get(f"/matches/{begun['match']}/verdict")) == {"holds": True, "problem": None}
    tiltyard = await visitor.get(f"/matches/{begun['match']}/tiltyard")
    assert tiltyard["goalValues"] == [100, 0]
    assert len(tiltyard["states"]) == match["steps"] + 1


async def test_each_step_is_told_once_and_drawn(visitor: Visitor, players: Players) -> None:
    begun = await visitor.begin("tictactoe", await players("xplayer", oplayer=ScriptedPlayer({0: late(0.3)})))
    found = []
    async with visitor.events(f"/matches/{begun['match']}/events") as events:
        async for event in events:
            found.append(event)
            if event.kind == "end":
                break
    steps = [event.data for event in found if event.kind == "step"]
    assert [step["number"] for step in steps] == list(range(len(steps)))
    assert steps[1]["step"]["moves"] == {"xplayer": "(mark 3 3)", "oplayer": "noop"}
    assert steps[1]["state"]["svg"].startswith("<svg")
    assert steps[0]["step"] is None
    clock = next(step["clock"] for step in steps if step["clock"] and step["clock"]["phase"] == "step")
    assert 0 < clock["remaining"] <= clock["total"] == 30
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
    async with second.client.get(f"/api/v1/matches/{begun['match']}/events") as response:
        assert response.status == 204


async def test_faults_are_told(visitor: Visitor, players: Players) -> None:
    troubled = ScriptedPlayer({1: says("(mark 9 9)"), "start": says("<script>alert(1)</script>")})
    begun = await visitor.begin("tictactoe", await players("xplayer", oplayer=troubled))
    match = await visitor.ended(begun["match"])
    fault = match["joint_moves"][1]["faults"]["oplayer"]
    assert fault["kind"] == "illegal"
    assert fault["answer"] == "(mark 9 9)"
    assert match["faults"] == 1


async def test_lists_of_matches(serve: Serve, players: Players) -> None:
    visitor = await serve()
    names = []
    for game, roles in (("tictactoe", ROLES), ("connectfour", ("red", "yellow")), ("tictactoe", ROLES)):
        begun = await visitor.begin(game, await players(*roles))
        await visitor.ended(begun["match"])
        names.append(begun["match"])
    again = await serve()
    for service in (visitor, again):
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


async def test_a_match_goes_on_from_a_state(visitor: Visitor, players: Players) -> None:
    takers = await players(*ROLES)
    first = await visitor.begin("tictactoe", takers)
    await visitor.ended(first["match"])
    state = await visitor.get(f"/matches/{first['match']}/states/3")
    branch = {"step": 3, "players": takers, "startclock": 5, "playclock": 5}
    second = await visitor.post(f"/matches/{first['match']}/branches", branch, 201)
    match = await visitor.ended(second["match"])
    assert match["origin"] == {"match": first["match"], "step": 3}
    assert (await visitor.get(f"/matches/{second['match']}/states/0"))["facts"] == state["facts"]
    assert match["goals"] == {"xplayer": 100, "oplayer": 0}
    assert (await visitor.get(f"/matches/{second['match']}/verdict"))["holds"]
    third = await visitor.post(f"/matches/{second['match']}/branches", branch | {"step": 1}, 201)
    assert (await visitor.ended(third["match"]))["origin"]["match"] == second["match"]


async def test_a_match_is_ended_by_a_visitor(visitor: Visitor, players: Players, tmp_path: Path) -> None:
    slow = ScriptedPlayer({1: late(20)})
    begun = await visitor.begin("tictactoe", await players("xplayer", oplayer=slow))
    async with visitor.events(f"/matches/{begun['match']}/events") as events:
        async for event in events:
            if event.kind == "step" and event.data["number"] == 1:
                break
    await visitor.post(f"/matches/{begun['match']}/end")
    match = await visitor.get(f"/matches/{begun['match']}")
    assert (match["status"], match["reason"], match["goals"]) == ("aborted", "ended by a visitor", None)
    assert read_record(tmp_path / f"{begun['match']}.json").reason == "ended by a visitor"
    await visitor.post(f"/matches/{begun['match']}/end", status=409)


async def test_running_matches_are_given_up_when_the_service_stops(
    serve: Serve, players: Players, tmp_path: Path
) -> None:
    visitor = await serve()
    begun = await visitor.begin("tictactoe", await players("xplayer", oplayer=ScriptedPlayer({0: late(20)})))
    async with visitor.events(f"/matches/{begun['match']}/events") as events:
        async for event in events:
            if event.kind == "start":
                break
    await visitor.client.close()
    record = read_record(tmp_path / f"{begun['match']}.json")
    assert (record.status, record.reason) == ("aborted", "the service was stopped")
    assert (await (await serve()).get(f"/matches/{begun['match']}"))["reason"] == "the service was stopped"


async def test_as_many_matches_as_may_be(serve: Serve, players: Players) -> None:
    visitor = await serve(Limits(workers=1, matches=1))
    takers = await players("xplayer", oplayer=ScriptedPlayer({0: late(20)}))
    await visitor.begin("tictactoe", takers)
    order = {"game": "tictactoe", "players": takers}
    async with visitor.client.post("/api/v1/matches", json=order) as response:
        assert response.status == 503
        assert int(response.headers["Retry-After"]) > 0


async def test_what_is_wrong_with_an_order_is_told(visitor: Visitor, players: Players) -> None:
    takers = await players(*ROLES)
    problem = await visitor.post("/matches", {"game": "nochess", "players": takers}, 404)
    assert problem["detail"] == "there is no game nochess"
    problem = await visitor.post("/matches", {"game": "tictactoe", "players": {"xplayer": takers["xplayer"]}}, 422)
    assert "oplayer" in problem["detail"]
    problem = await visitor.post("/matches", {"game": "tictactoe", "players": takers, "playclock": 0}, 422)
    assert problem["errors"][0]["field"] == "playclock"
    problem = await visitor.post("/matches", {"game": "tictactoe", "players": takers, "clocks": 1}, 422)
    assert "clocks" in problem["detail"]


async def test_a_bot_that_is_none_fails_the_match_in_one_line(visitor: Visitor) -> None:
    bots = {role: {"kind": "bot", "bot": "random"} for role in ROLES}
    begun = await visitor.begin("tictactoe", bots)
    match = await visitor.ended(begun["match"])
    assert match["status"] == "terminal"
    assert match["players"]["xplayer"] == {"name": "random", "kind": "bot", "bot": "random"}
    bots = {role: {"kind": "bot", "bot": "--help"} for role in ROLES}
    await visitor.post("/matches", {"game": "tictactoe", "players": bots}, 422)


async def test_a_state_is_analysed(visitor: Visitor, players: Players) -> None:
    begun = await visitor.begin("tictactoe", await players(*ROLES))
    await visitor.ended(begun["match"])
    path = f"/matches/{begun['match']}/states/4/analysis"
    found = await visitor.post(path, {"seconds": 1, "role": "xplayer", "lines": 2})
    assert found["is_solved"]
    assert found["is_final"]
    assert found["lines"][0]["goals"]["xplayer"] == 100
    async with visitor.client.post(f"/api/v1{path}", json={"seconds": 1, "stream": True}) as response:
        lines = [json.loads(line) async for line in response.content]
    assert lines[-1]["is_final"]
    assert lines[-1]["lines"][0]["goals"]["xplayer"] == 100
    problem = await visitor.post(path, {"role": "nobody"}, 422)
    assert "nobody" in problem["detail"]


async def test_hidden_moves_are_hidden_until_the_end(visitor: Visitor, players: Players) -> None:
    game = await visitor.post("/games", {"name": "secret", "rulesheet": games.SECRET}, 201)
    keeper = ScriptedPlayer(moves={0: "(hide 1)", 1: "(hide 2)"})
    takers = await players(keeper=keeper) | {"asker": {"kind": "person"}}
    begun = await visitor.begin(game["id"], takers)
    seat = await visitor.asked(begun["seats"]["asker"])
    assert seat["state"] is None
    assert [move["move"] for move in seat["legal"]] == ["(ask 1)", "(ask 2)"]
    assert not any(move["clicks"] for move in seat["legal"])
    link = begun["seats"]["asker"]
    problem = await visitor.post(f"{link}/move", {"move": "(ask 3)", "step": 0}, 422)
    assert problem["detail"] == "(ask 3) is not legal; the reason might tell what you may not know"
    assert "never closed" in (await visitor.post(f"{link}/move", {"move": "(ask", "step": 0}, 422))["detail"]
    await visitor.post(f"{link}/move", {"move": "(ask 1)", "step": 0})
    seat = await visitor.asked(link)
    assert seat["percepts"] == [["warm"]]
    assert seat["own_moves"] == ["(ask 1)"]
    assert set(seat["match"]["clock"]["waiting"]) == {"asker", "keeper"}
    match = await visitor.get(f"/matches/{begun['match']}")
    assert match["is_hidden"]
    assert match["joint_moves"] == []
    assert match["seed"] is None  # what chance will do follows from it
    for path in ("states/0", "states/0/picture", "record", "tiltyard", "verdict"):
        await visitor.get(f"/matches/{begun['match']}/{path}", 403)
    await visitor.post(f"{link}/hint", status=409)
    await visitor.post(f"/matches/{begun['match']}/branches", {"step": 0, "players": takers}, 403)
    await visitor.post(f"{link}/move", {"move": "(ask 1)", "step": 1})
    match = await visitor.ended(begun["match"])
    assert match["status"] == "terminal"
    assert len(match["joint_moves"]) == 2
    assert match["seed"] is not None
    assert "warm" not in str(match)


async def test_chance_takes_a_role_of_its_own(visitor: Visitor, players: Players) -> None:
    game = await visitor.post("/games", {"name": "dice", "rulesheet": games.DICE}, 201)
    begun = await visitor.begin(game["id"], await players("gambler"))
    match = await visitor.ended(begun["match"])
    assert match["players"]["random"] == {"name": "chance", "kind": "chance", "bot": None}
    assert match["joint_moves"][0]["moves"]["random"].startswith("(roll ")
    for path in (begun["url"], "/matches"):
        assert "player of gambler" in await visitor.page(path)
    assert "[&#34;gambler&#34;]" in await visitor.page(f"/play?match={begun['match']}&step=0")  # nobody plays `random`


async def test_people_cannot_tell_from_the_seed_what_chance_will_do(visitor: Visitor) -> None:
    game = await visitor.post("/games", {"name": "dice", "rulesheet": games.DICE}, 201)
    begun = await visitor.begin(game["id"], {"gambler": {"kind": "person"}})
    link = begun["seats"]["gambler"]
    await visitor.asked(link)
    match = await visitor.get(f"/matches/{begun['match']}")
    assert (match["is_hidden"], match["seed"]) == (False, None)
    problem = await visitor.get(f"/matches/{begun['match']}/record", 403)
    assert "chance" in problem["detail"]
    await visitor.post(f"{link}/resign", {})
    match = await visitor.ended(begun["match"])
    assert match["seed"] is not None
    record = await visitor.get(f"/matches/{begun['match']}/record")
    assert record["settings"]["seed"] == match["seed"]


async def test_a_match_that_is_over_at_once(visitor: Visitor, players: Players) -> None:
    game = await visitor.post("/games", {"name": "over", "rulesheet": games.OVER}, 201)
    begun = await visitor.begin(game["id"], await players("lonely"))
    match = await visitor.ended(begun["match"])
    assert (match["status"], match["steps"], match["goals"]) == ("terminal", 0, {"lonely": None})
    assert (await visitor.get(f"/matches/{begun['match']}/states/0"))["facts"] == ["done"]
    assert "0 of 0" in await visitor.page(begun["url"])


async def test_rules_that_break_off_end_the_match(visitor: Visitor, players: Players) -> None:
    game = await visitor.post("/games", {"name": "stuck", "rulesheet": games.STUCK}, 201)
    begun = await visitor.begin(game["id"], await players("left", "right"))
    match = await visitor.ended(begun["match"])
    assert (match["status"], match["reason"]) == ("broken", "the rules give right no move in step 1")
    assert match["reason"] in await visitor.page(begun["url"])


async def test_all_games_can_be_begun(visitor: Visitor) -> None:
    for name in ggp.games():
        game = await visitor.get(f"/games/{name}")
        assert game["roles"] == list(ggp.load(name, "interpreter").roles)

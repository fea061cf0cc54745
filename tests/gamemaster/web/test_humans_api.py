"""Humans who play, alone or together; undo, resigning, hints; what the protocol makes of it."""

import asyncio
from typing import Any

import pytest

from gamemaster.evaluator import Evaluator
from gamemaster.web.settings import Limits
from ggp.errors import EvaluationError
from tests.gamemaster import games
from tests.gamemaster.scripted import ScriptedPlayer, held_until
from tests.gamemaster.web.api_client import ApiClient, Json
from tests.gamemaster.web.conftest import Players, Serve

ANN = {"kind": "human", "name": "Ann"}
BOB = {"kind": "human", "name": "Bob"}


async def move(client: ApiClient, link: str, text: str) -> Json:
    """Makes a move as soon as one is wanted; what is seen before it."""
    human = await client.asked(link)
    await client.post(f"{link}/move", {"move": text, "step": human["asked"]})
    return human


async def test_a_person_plays_a_whole_match(client: ApiClient, players: Players) -> None:
    begun = await client.begin("tictactoe", {"xplayer": ANN, **await players("oplayer")})
    link = begun["links"]["xplayer"]
    first = await move(client, link, "(mark 1 1)")
    assert first["role"] == "xplayer"
    assert len(first["legal"]) == 9
    assert first["match"]["players"]["xplayer"] == {"name": "Ann", "kind": "human", "bot": None}
    second = await move(client, link, "(mark 2 1)")
    assert second["asked"] == 2  # the step without a choice was answered for her
    assert second["match"]["joint_moves"][0]["moves"]["xplayer"] == "(mark 1 1)"
    await move(client, link, "(mark 3 1)")
    human = await client.asked(link)
    assert human["asked"] is None
    assert human["match"]["goals"] == {"xplayer": 100, "oplayer": 0}
    assert human["match"]["faults"] == 0


async def test_a_person_has_one_clock_for_all_moves(client: ApiClient, players: Players) -> None:
    begun = await client.begin("tictactoe", {"xplayer": ANN, **await players("oplayer")}, playclock=100, increment=1000)
    link = begun["links"]["xplayer"]
    first = await move(client, link, "(mark 1 1)")
    assert first["match"]["increment"] == 1000
    assert first["match"]["clock"]["left"].keys() == {"xplayer"}
    assert 0 < first["match"]["clock"]["left"]["xplayer"] <= 100
    second = await client.asked(link)
    assert 1000 < second["match"]["clock"]["left"]["xplayer"] <= 1100
    await client.post(f"{link}/resign")
    await client.ended(begun["match"])
    again = await client.post(f"{link}/again", {}, 201)
    assert (await client.asked(again["links"]["xplayer"]))["match"]["increment"] == 1000


async def test_who_has_no_time_left_has_lost(client: ApiClient, players: Players) -> None:
    begun = await client.begin("tictactoe", {"xplayer": ANN, **await players("oplayer")}, playclock=1, increment=0)
    assert (await client.asked(begun["links"]["xplayer"]))["asked"] == 0
    match = await client.ended(begun["match"])
    assert (match["status"], match["forfeited"], len(match["joint_moves"])) == ("forfeit", ["xplayer"], 1)
    assert match["reason"] == "the time of xplayer is over"
    assert match["goals"] == {"xplayer": 0, "oplayer": 100}


async def test_a_state_that_is_known_is_not_told_again(client: ApiClient, players: Players) -> None:
    begun = await client.begin("tictactoe", {"xplayer": ANN, **await players("oplayer")})
    link = begun["links"]["xplayer"]
    step = (await client.asked(link))["state"]["step"]
    again = await client.get(f"{link}?known={step}")
    assert again["state"] is None
    assert again["legal"]
    await move(client, link, "(mark 1 1)")
    later = await client.asked(link)
    assert later["match"]["steps"] > step
    assert (await client.get(f"{link}?known={step}"))["state"]["step"] == later["match"]["steps"]


async def test_an_illegal_move_is_refused_with_the_reason(client: ApiClient, players: Players) -> None:
    begun = await client.begin("tictactoe", {"xplayer": ANN, **await players("oplayer")})
    link = begun["links"]["xplayer"]
    await move(client, link, "(mark 1 1)")
    human = await client.asked(link)
    problem = await client.post(f"{link}/move", {"move": "(mark 1 1)", "step": human["asked"]}, 422)
    assert problem["detail"] == "(mark 1 1) is not legal: (true (cell 1 1 b)) does not hold"
    problem = await client.post(f"{link}/move", {"move": "(mark", "step": human["asked"]}, 422)
    assert "never closed" in problem["detail"]
    await client.post(f"{link}/move", {"move": "(mark 2 2)", "step": human["asked"] + 1}, 409)
    await client.post(f"{link}/move", {"move": "(mark 2 2)", "step": human["asked"]})
    await client.post(f"{link}/move", {"move": "(mark 2 2)", "step": human["asked"]}, 409)


async def test_two_people_each_with_a_link(client: ApiClient) -> None:
    begun = await client.begin("tictactoe", {"xplayer": ANN, "oplayer": BOB}, startclock=20)
    ann, bob = begun["links"]["xplayer"], begun["links"]["oplayer"]
    assert ann != bob
    live = client.services.live_matches.get(begun["match"])
    assert live is not None
    live.humans["xplayer"].arrived.set()  # one of them alone does not begin
    await asyncio.sleep(0)
    assert live.step == 0
    live.humans["oplayer"].arrived.set()
    for link, text in ((ann, "1 1"), (bob, "2 2"), (ann, "1 2"), (bob, "3 3"), (ann, "1 3")):
        await move(client, link, f"(mark {text})")
    match = await client.ended(begun["match"])
    assert match["goals"] == {"xplayer": 100, "oplayer": 0}
    for link in (ann, bob):
        assert not (await client.get(link))["may_undo"]
        await client.post(f"{link}/hint", status=409)
        await client.post(f"{link}/undo", status=409)


async def test_people_move_at_the_same_time_without_seeing_each_other(client: ApiClient) -> None:
    game = await client.post("/games", {"name": "guessing", "rulesheet": games.GUESSING}, 201)
    begun = await client.begin(game["id"], {"left": ANN, "right": BOB}, startclock=20)
    live = client.services.live_matches.get(begun["match"])
    assert live is not None
    for human in live.humans.values():
        human.arrived.set()
    await move(client, begun["links"]["left"], "(show 3)")
    waiting = await client.asked(begun["links"]["right"])
    assert waiting["asked"] == 0
    assert "show 3" not in str(waiting["match"])
    assert waiting["match"]["clock"]["waiting"] == ["right"]
    await move(client, begun["links"]["right"], "(show 3)")
    for link in begun["links"].values():
        await move(client, link, "(show 1)")
    assert (await client.ended(begun["match"]))["goals"] == {"left": 100, "right": 100}


ROLLING = """
(role guesser) (role random)
(n 1) (n 2) (init (turn 0)) (succ 0 1) (succ 1 2)
(<= (legal guesser (guess ?n)) (n ?n))
(<= (legal random (roll ?n)) (n ?n))
(<= (next (turn ?m)) (true (turn ?n)) (succ ?n ?m))
(<= (next (rolled ?n)) (does random (roll ?n)))
(<= (sees guesser right) (does guesser (guess ?n)) (does random (roll ?n)))
(<= (sees guesser (not ?n)) (does guesser (guess ?n)) (does random (roll ?m)) (distinct ?n ?m))
(<= terminal (true (turn 2)))
(goal guesser 50)
(goal random 0)
"""  # GDL-II with chance


async def test_a_person_hears_of_chance_what_the_rules_tell(client: ApiClient) -> None:
    game = await client.post("/games", {"name": "guess", "rulesheet": ROLLING}, 201)
    begun = await client.begin(game["id"], {"guesser": ANN})
    link = begun["links"]["guesser"]
    for _ in range(2):
        human = await move(client, link, "(guess 1)")
        assert human["state"] is None
        assert "roll" not in str(human)
    match = await client.ended(begun["match"])
    told = {"(roll 1)": ["right"], "(roll 2)": ["(not 1)"]}
    rolled = [step["moves"]["random"] for step in match["joint_moves"]]
    assert (await client.get(link))["percepts"] == [told[one] for one in rolled]
    assert match["faults"] == 0


@pytest.mark.parametrize("name", ["A\u202eB", "A\0B", "A\nB", "A" + 60 * "\u0301", "A" * 61])
async def test_a_human_has_a_name_that_can_be_shown(client: ApiClient, name: str) -> None:
    players = {"xplayer": ANN, "oplayer": {"kind": "human", "name": name}}
    problem = await client.post("/matches", {"game": "tictactoe", "players": players}, 422)
    assert problem["errors"][0]["field"] == "players.oplayer.human.name"
    await client.post("/endpoints", {"name": name}, 422)


async def test_a_human_of_a_blank_name_is_you(client: ApiClient) -> None:
    begun = await client.begin("tictactoe", {"xplayer": ANN, "oplayer": {"kind": "human", "name": "  "}})
    assert (await client.get(f"/matches/{begun['match']}"))["players"]["oplayer"]["name"] == "you"
    await client.post(f"/matches/{begun['match']}/end")


async def test_a_move_is_taken_back(client: ApiClient) -> None:
    bot = {"kind": "bot", "bot": "legal"}
    begun = await client.begin("tictactoe", {"xplayer": ANN, "oplayer": bot})
    link = begun["links"]["xplayer"]
    assert not (await client.asked(link))["may_undo"]
    await client.post(f"{link}/undo", status=409)
    await move(client, link, "(mark 2 2)")
    before = await move(client, link, "(mark 3 3)")
    after = await client.asked(link)
    assert after["may_undo"]
    await client.services.pool.close()  # taking back does not need it
    await client.services.people.close()
    again = await client.post(f"{link}/undo", status=201)
    assert (await client.get(link))["next"] == again["links"]["xplayer"]
    human = await client.asked(again["links"]["xplayer"])
    assert human["state"]["facts"] == before["state"]["facts"]
    assert human["match"]["origin"] == {"match": begun["match"], "step": 2}
    assert human["match"]["players"]["oplayer"]["name"] == "legal"
    old = await client.get(f"/matches/{begun['match']}")
    assert (old["status"], old["reason"]) == ("aborted", "xplayer took a move back")
    await client.post(f"{again['links']['xplayer']}/resign")


async def test_who_resigns_ends_the_match(client: ApiClient, players: Players) -> None:
    begun = await client.begin("tictactoe", {"xplayer": ANN, **await players("oplayer")})
    link = begun["links"]["xplayer"]
    await client.asked(link)
    head = await client.post(f"{link}/resign")
    assert (head["status"], head["reason"]) == ("aborted", "xplayer resigned")
    await client.post(f"{link}/resign", status=409)
    problem = await client.post(f"{link}/move", {"move": "(mark 1 1)", "step": 0}, 409)
    assert "no move is wanted" in problem["detail"]
    again = await client.post(f"{link}/again", status=201)
    assert (await client.asked(again["links"]["xplayer"]))["asked"] == 0
    await client.post(f"{again['links']['xplayer']}/resign")


async def test_a_match_is_played_again_in_the_other_role(client: ApiClient, players: Players) -> None:
    begun = await client.begin("tictactoe", {"xplayer": ANN, **await players("oplayer")})
    link = begun["links"]["xplayer"]
    await client.asked(link)
    await client.post(f"{link}/again", {"swap": True}, 409)
    await client.post(f"{link}/resign")
    again = await client.post(f"{link}/again", {"swap": True}, 201)
    assert set(again["links"]) == {"oplayer"}
    following = await client.get(again["links"]["oplayer"])
    assert (following["role"], following["match"]["roles"]) == ("oplayer", ["xplayer", "oplayer"])
    assert following["match"]["players"]["oplayer"]["name"] == ANN["name"]
    assert (await client.get(link))["next"] == again["links"]["oplayer"]
    await client.post(f"{again['links']['oplayer']}/resign")


async def test_one_match_follows_and_each_human_is_told_their_own_link(client: ApiClient) -> None:
    begun = await client.begin("tictactoe", {"xplayer": ANN, "oplayer": BOB})
    ann, bob = begun["links"]["xplayer"], begun["links"]["oplayer"]
    await client.post(f"{ann}/resign")
    again = await client.post(f"{ann}/again", {"swap": True}, 201)
    assert again["links"] == {"oplayer": (await client.get(ann))["next"]}
    problem = await client.post(f"{bob}/again", {}, 409)
    assert problem["detail"] == "the next match has begun already"
    following = await client.get((await client.get(bob))["next"])
    assert (following["role"], following["match"]["id"]) == ("xplayer", again["match"])
    await client.post(f"{again['links']['oplayer']}/resign")


async def test_a_move_is_taken_back_once(client: ApiClient) -> None:
    begun = await client.begin("tictactoe", {"xplayer": ANN, "oplayer": {"kind": "bot", "bot": "legal"}})
    link = begun["links"]["xplayer"]
    await client.asked(link)
    await move(client, link, "(mark 2 2)")
    await client.asked(link)
    answers = await asyncio.gather(*(client.post(f"{link}/undo", {}, 201) for _ in range(3)), return_exceptions=True)
    again = [one for one in answers if not isinstance(one, BaseException)]
    assert sum("begun already" in str(one) for one in answers) == 2
    assert len(again) == 1
    assert (await client.post(f"{link}/undo", {}, 409))["detail"] == "the next match has begun already"
    assert [match["id"] for match in (await client.get("/matches?status=running"))["matches"]] == [again[0]["match"]]
    await client.post(f"{again[0]['links']['xplayer']}/resign")


async def test_a_move_is_taken_back_while_the_match_ends(client: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = await client.begin("tictactoe", {"xplayer": ANN, "oplayer": {"kind": "bot", "bot": "legal"}})
    link = begun["links"]["xplayer"]
    await client.asked(link)
    await move(client, link, "(mark 2 2)")
    await client.asked(link)
    ask = Evaluator.ask
    refused: list[str] = []

    async def ask_after_the_end(self: Evaluator, source: Any, request: Any, *others: Any) -> Any:  # noqa: ANN401
        if request["do"] == "derive" and not refused:
            await client.post(f"/matches/{begun['match']}/end")
        try:
            return await ask(self, source, request, *others)
        except EvaluationError as error:
            refused.append(str(error))
            raise

    monkeypatch.setattr(Evaluator, "ask", ask_after_the_end)
    again = await client.post(f"{link}/undo", {}, 201)
    assert refused == ["nothing is evaluated any more"]  # the match has ended; other processes are asked
    assert (await client.asked(again["links"]["xplayer"]))["asked"] == 0
    await client.post(f"{again['links']['xplayer']}/resign")


async def test_a_person_who_does_not_move_in_time_has_a_fault(client: ApiClient, players: Players) -> None:
    begun = await client.begin("tictactoe", {"xplayer": ANN, **await players("oplayer")}, playclock=1)
    human = await client.asked(begun["links"]["xplayer"])
    assert human["asked"] == 0
    async with client.events(f"/matches/{begun['match']}/events") as events:
        async for event in events:
            if event.kind == "step" and event.data["number"] == 1:
                break
    assert event.data["step"]["faults"]["xplayer"]["kind"] == "timeout"
    await client.post(f"/matches/{begun['match']}/end")


async def test_hints_are_for_those_who_play_against_programs(client: ApiClient, players: Players) -> None:
    begun = await client.begin("tictactoe", {"xplayer": ANN, **await players("oplayer")})
    link = begun["links"]["xplayer"]
    human = await client.asked(link)
    assert human["may_hint"]
    hint = await client.post(f"{link}/hint", {"seconds": 0.5})
    assert hint["role"] == "xplayer"
    assert hint["best"] in [one["move"] for one in human["legal"]]
    await client.post(f"{link}/resign")


async def test_a_bot_thinks_for_less_time_than_a_human(client: ApiClient) -> None:
    bot = {"kind": "bot", "bot": "montecarlo"}  # uses all of its clock
    begun = await client.begin("tictactoe", {"xplayer": ANN, "oplayer": bot}, playclock=60, think=1)
    link = begun["links"]["xplayer"]
    await move(client, link, "(mark 2 2)")
    human = await client.asked(link)
    assert human["match"]["joint_moves"][1]["seconds"]["oplayer"] < 5
    assert human["match"]["faults"] == 0
    await client.post(f"{link}/resign")


async def test_an_unknown_link(client: ApiClient) -> None:
    for path in ("/humans/nothing", "/humans/nothing/events"):
        await client.get(path, 404)
    for path in ("move", "resign", "undo", "again", "hint"):
        await client.post(f"/humans/nothing/{path}", status=404)
    assert "this link is not known" in await client.page("/play/nothing", 404)


async def test_the_events_of_a_human_say_when_to_read_anew(client: ApiClient, players: Players) -> None:
    is_heard = asyncio.Event()
    held = ScriptedPlayer({"start": held_until(is_heard)})
    begun = await client.begin("tictactoe", {"xplayer": ANN, **await players(oplayer=held)})
    link = begun["links"]["xplayer"]
    async with client.events(f"{link}/events") as events:
        is_heard.set()
        async for event in events:
            assert event.kind == "changed"
            human = await client.http.get(f"/api/v1{link.replace('/play/', '/humans/')}")
            if human.status == 200 and (await human.json())["asked"] == 0:
                break
    await client.post(f"{link}/resign")


async def test_links_of_long_ago_are_forgotten(serve: Serve, players: Players) -> None:
    client = await serve(Limits(workers=1, kept=0))
    begun = await client.begin("tictactoe", {"xplayer": ANN, **await players("oplayer")})
    await client.asked(begun["links"]["xplayer"])
    await client.post(f"{begun['links']['xplayer']}/resign")
    other = await client.begin("tictactoe", await players("xplayer", "oplayer"))
    await client.get(begun["links"]["xplayer"], 404)
    assert (await client.get(f"/matches/{begun['match']}"))["reason"] == "xplayer resigned"  # the record stays
    await client.ended(other["match"])

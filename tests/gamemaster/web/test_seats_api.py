"""Seats: people who play, alone or together; undo, resigning, hints; what the protocol makes of it."""

import asyncio

from gamemaster.web.settings import Limits
from tests.gamemaster import games
from tests.gamemaster.scripted import ScriptedPlayer, late
from tests.gamemaster.web.conftest import Players, Serve
from tests.gamemaster.web.visitors import Json, Visitor

ANN = {"kind": "person", "name": "Ann"}
BOB = {"kind": "person", "name": "Bob"}


async def move(visitor: Visitor, link: str, text: str) -> Json:
    """Makes a move as soon as one is wanted; what is seen before it."""
    seat = await visitor.asked(link)
    await visitor.post(f"{link}/move", {"move": text, "step": seat["asked"]})
    return seat


async def test_a_person_plays_a_whole_match(visitor: Visitor, players: Players) -> None:
    begun = await visitor.begin("tictactoe", {"xplayer": ANN, **await players("oplayer")})
    link = begun["seats"]["xplayer"]
    first = await move(visitor, link, "(mark 1 1)")
    assert first["role"] == "xplayer"
    assert len(first["legal"]) == 9
    assert first["match"]["players"]["xplayer"] == {"name": "Ann", "kind": "person", "bot": None}
    second = await move(visitor, link, "(mark 2 1)")
    assert second["asked"] == 2  # the step without a choice was answered for her
    assert second["match"]["joint_moves"][0]["moves"]["xplayer"] == "(mark 1 1)"
    await move(visitor, link, "(mark 3 1)")
    seat = await visitor.asked(link)
    assert seat["asked"] is None
    assert seat["match"]["goals"] == {"xplayer": 100, "oplayer": 0}
    assert seat["match"]["faults"] == 0


async def test_an_illegal_move_is_refused_with_the_reason(visitor: Visitor, players: Players) -> None:
    begun = await visitor.begin("tictactoe", {"xplayer": ANN, **await players("oplayer")})
    link = begun["seats"]["xplayer"]
    await move(visitor, link, "(mark 1 1)")
    seat = await visitor.asked(link)
    problem = await visitor.post(f"{link}/move", {"move": "(mark 1 1)", "step": seat["asked"]}, 422)
    assert problem["detail"] == "(mark 1 1) is not legal: (true (cell 1 1 b)) does not hold"
    problem = await visitor.post(f"{link}/move", {"move": "(mark", "step": seat["asked"]}, 422)
    assert "never closed" in problem["detail"]
    await visitor.post(f"{link}/move", {"move": "(mark 2 2)", "step": seat["asked"] + 1}, 409)
    await visitor.post(f"{link}/move", {"move": "(mark 2 2)", "step": seat["asked"]})
    await visitor.post(f"{link}/move", {"move": "(mark 2 2)", "step": seat["asked"]}, 409)


async def test_two_people_each_with_a_link(visitor: Visitor) -> None:
    begun = await visitor.begin("tictactoe", {"xplayer": ANN, "oplayer": BOB}, startclock=20)
    ann, bob = begun["seats"]["xplayer"], begun["seats"]["oplayer"]
    assert ann != bob
    live = visitor.services.hall.get(begun["match"])
    assert live is not None
    live.seats["xplayer"].arrived.set()  # one of them alone does not begin
    await asyncio.sleep(0)
    assert live.step == 0
    live.seats["oplayer"].arrived.set()
    for link, text in ((ann, "1 1"), (bob, "2 2"), (ann, "1 2"), (bob, "3 3"), (ann, "1 3")):
        await move(visitor, link, f"(mark {text})")
    match = await visitor.ended(begun["match"])
    assert match["goals"] == {"xplayer": 100, "oplayer": 0}
    for link in (ann, bob):
        assert not (await visitor.get(link))["may_undo"]
        await visitor.post(f"{link}/hint", status=409)
        await visitor.post(f"{link}/undo", status=409)


async def test_people_move_at_the_same_time_without_seeing_each_other(visitor: Visitor) -> None:
    game = await visitor.post("/games", {"name": "guessing", "rulesheet": games.GUESSING}, 201)
    begun = await visitor.begin(game["id"], {"left": ANN, "right": BOB}, startclock=20)
    live = visitor.services.hall.get(begun["match"])
    assert live is not None
    for seat in live.seats.values():
        seat.arrived.set()
    await move(visitor, begun["seats"]["left"], "(show 3)")
    waiting = await visitor.asked(begun["seats"]["right"])
    assert waiting["asked"] == 0
    assert "show 3" not in str(waiting["match"])
    assert waiting["match"]["clock"]["waiting"] == ["right"]
    await move(visitor, begun["seats"]["right"], "(show 3)")
    for link in begun["seats"].values():
        await move(visitor, link, "(show 1)")
    assert (await visitor.ended(begun["match"]))["goals"] == {"left": 100, "right": 100}


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


async def test_a_person_hears_of_chance_what_the_rules_tell(visitor: Visitor) -> None:
    game = await visitor.post("/games", {"name": "guess", "rulesheet": ROLLING}, 201)
    begun = await visitor.begin(game["id"], {"guesser": ANN})
    link = begun["seats"]["guesser"]
    for _ in range(2):
        seat = await move(visitor, link, "(guess 1)")
        assert seat["state"] is None
        assert "roll" not in str(seat)
    match = await visitor.ended(begun["match"])
    told = {"(roll 1)": ["right"], "(roll 2)": ["(not 1)"]}
    rolled = [step["moves"]["random"] for step in match["joint_moves"]]
    assert (await visitor.get(link))["percepts"] == [told[one] for one in rolled]
    assert match["faults"] == 0


async def test_a_move_is_taken_back(visitor: Visitor) -> None:
    bot = {"kind": "bot", "bot": "legal"}
    begun = await visitor.begin("tictactoe", {"xplayer": ANN, "oplayer": bot}, seed=11)
    link = begun["seats"]["xplayer"]
    assert not (await visitor.asked(link))["may_undo"]
    await visitor.post(f"{link}/undo", status=409)
    await move(visitor, link, "(mark 2 2)")
    before = await move(visitor, link, "(mark 3 3)")
    after = await visitor.asked(link)
    assert after["may_undo"]
    again = await visitor.post(f"{link}/undo", status=201)
    assert (await visitor.get(link))["next"] == again["seats"]["xplayer"]
    seat = await visitor.asked(again["seats"]["xplayer"])
    assert seat["state"]["facts"] == before["state"]["facts"]
    assert seat["match"]["origin"] == {"match": begun["match"], "step": 2}
    assert seat["match"]["players"]["oplayer"]["name"] == "legal"
    old = await visitor.get(f"/matches/{begun['match']}")
    assert (old["status"], old["reason"]) == ("aborted", "xplayer took a move back")
    await visitor.post(f"{again['seats']['xplayer']}/resign")


async def test_who_resigns_ends_the_match(visitor: Visitor, players: Players) -> None:
    begun = await visitor.begin("tictactoe", {"xplayer": ANN, **await players("oplayer")})
    link = begun["seats"]["xplayer"]
    await visitor.asked(link)
    head = await visitor.post(f"{link}/resign")
    assert (head["status"], head["reason"]) == ("aborted", "xplayer resigned")
    await visitor.post(f"{link}/resign", status=409)
    problem = await visitor.post(f"{link}/move", {"move": "(mark 1 1)", "step": 0}, 409)
    assert "no move is wanted" in problem["detail"]
    again = await visitor.post(f"{link}/again", status=201)
    assert (await visitor.asked(again["seats"]["xplayer"]))["asked"] == 0
    await visitor.post(f"{again['seats']['xplayer']}/resign")


async def test_a_person_who_does_not_move_in_time_has_a_fault(visitor: Visitor, players: Players) -> None:
    begun = await visitor.begin("tictactoe", {"xplayer": ANN, **await players("oplayer")}, playclock=1)
    seat = await visitor.asked(begun["seats"]["xplayer"])
    assert seat["asked"] == 0
    async with visitor.events(f"/matches/{begun['match']}/events") as events:
        async for event in events:
            if event.kind == "step" and event.data["number"] == 1:
                break
    assert event.data["step"]["faults"]["xplayer"]["kind"] == "timeout"
    await visitor.post(f"/matches/{begun['match']}/end")


async def test_hints_are_for_those_who_play_against_programs(visitor: Visitor, players: Players) -> None:
    begun = await visitor.begin("tictactoe", {"xplayer": ANN, **await players("oplayer")})
    link = begun["seats"]["xplayer"]
    seat = await visitor.asked(link)
    assert seat["may_hint"]
    hint = await visitor.post(f"{link}/hint", {"seconds": 0.5})
    assert hint["role"] == "xplayer"
    assert hint["best"] in [one["move"] for one in seat["legal"]]
    await visitor.post(f"{link}/resign")


async def test_a_bot_thinks_for_less_than_a_person(visitor: Visitor) -> None:
    bot = {"kind": "bot", "bot": "montecarlo"}  # uses all of its clock
    begun = await visitor.begin("tictactoe", {"xplayer": ANN, "oplayer": bot}, playclock=60, think=1)
    link = begun["seats"]["xplayer"]
    await move(visitor, link, "(mark 2 2)")
    seat = await visitor.asked(link)
    assert seat["match"]["joint_moves"][1]["seconds"]["oplayer"] < 5
    assert seat["match"]["faults"] == 0
    await visitor.post(f"{link}/resign")


async def test_a_seat_that_is_none(visitor: Visitor) -> None:
    for path in ("/seats/nothing", "/seats/nothing/events"):
        await visitor.get(path, 404)
    for path in ("move", "resign", "undo", "again", "hint"):
        await visitor.post(f"/seats/nothing/{path}", status=404)
    assert "leads to no seat" in await visitor.page("/seats/nothing", 404)


async def test_the_events_of_a_seat_say_when_to_look(visitor: Visitor, players: Players) -> None:
    slow = ScriptedPlayer({0: late(0.5)})
    begun = await visitor.begin("tictactoe", {"xplayer": ANN, **await players(oplayer=slow)})
    link = begun["seats"]["xplayer"]
    async with visitor.events(f"{link}/events") as events:
        async for event in events:
            assert event.kind == "changed"
            seat = await visitor.client.get(f"/api/v1{link}")
            if seat.status == 200 and (await seat.json())["asked"] == 0:
                break
    await visitor.post(f"{link}/resign")


async def test_seats_of_long_ago_are_forgotten(serve: Serve, players: Players) -> None:
    visitor = await serve(Limits(workers=1, kept=0))
    begun = await visitor.begin("tictactoe", {"xplayer": ANN, **await players("oplayer")})
    await visitor.asked(begun["seats"]["xplayer"])
    await visitor.post(f"{begun['seats']['xplayer']}/resign")
    other = await visitor.begin("tictactoe", await players("xplayer", "oplayer"))
    await visitor.get(begun["seats"]["xplayer"], 404)
    assert (await visitor.get(f"/matches/{begun['match']}"))["reason"] == "xplayer resigned"  # the record stays
    await visitor.ended(other["match"])

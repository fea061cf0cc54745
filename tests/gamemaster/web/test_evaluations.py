"""What players think, as visitors see it: live, kept, in the API; and not by those who take part in the match."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from gamemaster.record import now
from gamemaster.web.html.rendering import expected, went
from gamemaster.web.views import evaluation_of
from ggp.protocol.evaluation import Evaluation
from tests.gamemaster.scripted import ScriptedPlayer, thinks
from tests.gamemaster.web.api_client import ApiClient
from tests.gamemaster.web.conftest import Players, Serve

ANN = {"kind": "human", "name": "Ann"}
OPEN = (
    '{"value":61.5,"low":50,"high":100,"visits":1234,"playouts_per_second":50000,"seconds":1.5,'
    '"line":"((mark 3 3) noop) (noop (mark 1 1))"}'
)
PROVEN = '{"value":100,"low":100,"high":100}'
TOLD = {
    "value": 61.5,
    "lower": 50,
    "upper": 100,
    "visits": 1234,
    "prior": None,
    "playouts_per_second": 50000,
    "seconds": 1.5,
    "trained_seconds": None,
    "principal_variation": [["(mark 3 3)", "noop"], ["noop", "(mark 1 1)"]],
    "text": "(mark 3 3), (mark 1 1)",
}


def thinker() -> ScriptedPlayer:
    """Thinks about the states 0 and 4."""
    return ScriptedPlayer({0: thinks(OPEN), 4: thinks(PROVEN)})


async def test_the_api_has_what_was_said(serve: Serve, players: Players) -> None:
    first = await serve()
    begun = await first.begin("tictactoe", await players("oplayer", xplayer=thinker()))
    live = await first.ended(begun["match"])
    second = await serve()  # knows the record only
    for match in (live, await second.get(f"/matches/{begun['match']}")):
        said = [step["evaluations"] for step in match["joint_moves"]]
        assert said[0] == {"xplayer": TOLD}
        assert said[1:4] == [{}, {}, {}]
        assert said[4]["xplayer"]["lower"] == 100
    record = await second.get(f"/matches/{begun['match']}/record")
    assert record["steps"][0]["evaluations"]["xplayer"]["value"] == 61.5
    assert (await second.get(f"/matches/{begun['match']}/verdict"))["holds"]
    tiltyard = await second.get(f"/matches/{begun['match']}/tiltyard")
    assert tiltyard["ggp"]["steps"][0]["evaluations"]["xplayer"]["visits"] == 1234


async def test_it_is_told_with_the_step(client: ApiClient, players: Players) -> None:
    begun = await client.begin("tictactoe", await players("oplayer", xplayer=thinker()))
    async with client.events(f"/matches/{begun['match']}/events") as events:
        async for event in events:
            if event.kind == "step" and event.data["number"] == 1:
                assert event.data["step"]["evaluations"] == {"xplayer": TOLD}
                break


class Card(HTMLParser):
    """The words of the part of a page that says what players think."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words = ""
        self.labels: list[str] = []
        self.is_hidden: bool | None = None  # None where it is not there
        self._is_inside = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("id") == "thoughts":
            self._is_inside, self.is_hidden = True, "hidden" in given
        if self._is_inside and given.get("aria-label"):
            self.labels.append(given["aria-label"] or "")

    def handle_endtag(self, tag: str) -> None:
        self._is_inside &= tag != "section"

    def handle_data(self, data: str) -> None:
        self.words += data if self._is_inside else ""


async def test_the_page_shows_it_without_scripts(client: ApiClient, players: Players) -> None:
    begun = await client.begin("tictactoe", await players("oplayer", xplayer=thinker()))
    await client.ended(begun["match"])
    page = await client.page(f"{begun['url']}?step=2")
    card = Card(page)
    assert card.is_hidden is False
    assert card.labels[0] == (
        "Goal values that players expect: X 62 in state 0, 100 in state 4, all from 62 to 100. "
        "All of them are in the list of moves."
    )
    words = " ".join(card.words.split())
    assert "X62 expected" in words
    assert "in state 0, proven from 50 to 100, 1,234 visits, 50,000 random matches a second, 1.50 s" in words
    assert "(mark 3 3), (mark 1 1)" in words
    assert re.search(r"expects </span>62</span>", page)
    assert re.search(r"expects </span>=100</span>", page)
    later = " ".join(Card(await client.page(f"{begun['url']}?step=4")).words.split())
    assert "X100 proven in state 4" in later


async def test_a_match_of_silent_players_has_no_such_card(client: ApiClient, players: Players) -> None:
    begun = await client.begin("tictactoe", await players("xplayer", "oplayer"))
    await client.ended(begun["match"])
    card = Card(await client.page(begun["url"]))
    assert card.is_hidden is True
    assert card.words.split() == ["What", "the", "players", "think"]


async def moved(client: ApiClient, link: str, cell: str) -> Any:  # noqa: ANN401 - JSON
    """What the person sees when the next move is wanted."""
    seen = await client.asked(link)
    await client.post(f"{link}/move", {"move": f"(mark {cell})", "step": seen["asked"]})
    live = client.services.live_matches.human(link.rpartition("/")[2])
    assert live is not None
    return await client.asked(link)


def all_said(match: dict[str, Any]) -> list[dict[str, Any]]:
    return [step["evaluations"] for step in match["joint_moves"] if step["evaluations"]]


async def test_those_who_take_part_are_told_when_it_is_over(serve: Serve, players: Players, tmp_path: Path) -> None:
    player = await serve()
    wanted = await players(oplayer=ScriptedPlayer({1: thinks('{"value":40}')})) | {"xplayer": ANN}
    begun = await player.begin("tictactoe", wanted)
    link = begun["links"]["xplayer"]
    await player.page(link)  # a cookie says that this browser has a human
    async with player.events(f"/matches/{begun['match']}/events") as events:
        await moved(player, link, "1 1")
        seen = (
            await moved(player, link, "1 2") if (await player.asked(link))["asked"] == 1 else await player.asked(link)
        )
        assert seen["asked"] == 2
        assert all_said(seen["match"]) == []
        async for event in events:
            if event.kind == "step" and event.data["number"] == 2:
                assert event.data["step"]["evaluations"] == {}
                break
    match = await player.get(f"/matches/{begun['match']}")
    assert match["steps"] == 2
    assert all_said(match) == []
    assert "evaluations" not in (await player.get(f"/matches/{begun['match']}/record"))["steps"][1]
    assert "evaluations" not in (await player.get(f"/matches/{begun['match']}/tiltyard"))["ggp"]["steps"][1]
    page = await player.page(begun["url"])
    assert Card(page).is_hidden is True
    assert "what other players think is shown when it is over" in page

    player.http.session.cookie_jar.clear()  # somebody else looks on
    assert all_said(await player.get(f"/matches/{begun['match']}")) == [
        {"oplayer": {**dict.fromkeys(TOLD), "value": 40, "principal_variation": [], "text": ""}}
    ]
    assert Card(await player.page(begun["url"])).is_hidden is False
    assert (await player.get(f"/matches/{begun['match']}/record"))["steps"][1]["evaluations"]
    assert all_said((await player.get(link))["match"]) == []

    await player.page(link)
    await player.post(f"{link}/resign")
    assert all_said(await player.get(f"/matches/{begun['match']}"))
    assert all_said((await player.get(link))["match"])


async def test_people_in_matches_that_are_played_elsewhere(serve: Serve, players: Players, tmp_path: Path) -> None:
    """Nobody here knows who looks on and who takes part."""
    client = await serve()
    begun = await client.begin("tictactoe", await players("oplayer", xplayer=thinker()))
    await client.ended(begun["match"])
    data = json.loads((tmp_path / f"{begun['match']}.json").read_text(encoding="utf-8"))
    data |= {"status": "running", "finished": None, "goals": None, "started": now().isoformat()}
    data["steps"] = [step | {"time": now().isoformat()} for step in data["steps"][:3]]
    for match, kind, is_told in (("bots", "bot", True), ("humans", "human", False)):
        data["players"]["oplayer"]["kind"] = kind
        (tmp_path / f"{match}.json").write_text(json.dumps(data | {"match": match}), encoding="utf-8")
        found = await client.get(f"/matches/{match}")
        assert (found["status"], bool(all_said(found))) == ("running", is_told)
        assert ("61.5" in json.dumps(await client.get(f"/matches/{match}/record"))) is is_told


@pytest.mark.parametrize(
    ("record", "short", "text"),
    [
        (Evaluation(value=61.5), "62", "in state 3"),
        (Evaluation(value=0, lower=0, upper=0, seconds=0.05), "=0", "in state 3, 50 ms"),
        (Evaluation(value=50, visits=7, prior=0.123, seconds=2), "50", "in state 3, 7 visits, prior 12 %, 2.00 s"),
        (Evaluation(value=50, trained_seconds=600), "50", "in state 3, learned before for 600 s"),
        (Evaluation(value=50, trained_seconds=0), "50", "in state 3"),
        (Evaluation(value=5, lower=0, upper=50), "5", "in state 3, proven from 0 to 50"),
    ],
)
def test_in_words(record: Evaluation, short: str, text: str) -> None:
    said = evaluation_of(record)
    assert (expected(said), went(said, 3)) == (short, text)


def test_moves_without_arguments_are_left_out_of_a_line_beside_others() -> None:
    line = (("(mark 1 1)", "noop"), ("wait", "wait"), ("(a)", "(b c)"))
    said = evaluation_of(Evaluation(principal_variation=line))
    assert said.text == "(mark 1 1), wait / wait, (a) / (b c)"
    assert said.principal_variation == line

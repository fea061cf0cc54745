"""The pages as HTML: what can be read without JavaScript."""

import re
import threading

import pytest

from gamemaster.web.html import games as games_pages
from tests.gamemaster import games
from tests.gamemaster.scripted import ScriptedPlayer, says, silent
from tests.gamemaster.web.api_client import ApiClient
from tests.gamemaster.web.conftest import Players, Serve

ROLES = ("xplayer", "oplayer")


async def test_the_list_of_games(client: ApiClient) -> None:
    page = await client.page("/games")
    assert page.count('class="card game-card"') == (await client.get("/games"))["total"]
    assert 'src="/api/v1/games/tictactoe/picture"' in page
    assert "No game has all of these words" in await client.page("/games?search=nosuchword")


async def test_a_game_with_its_rules(client: ApiClient) -> None:
    page = await client.page("/games/tictactoe")
    assert "<h1>Tic-tac-toe</h1>" in page
    assert "plays x and moves first" in page
    assert '<svg xmlns="http://www.w3.org/2000/svg" class="ggp-board"' in page
    assert '<li id="L1">' in page
    assert '<span class="k">role</span>' in page


async def test_a_match_step_by_step(client: ApiClient, players: Players) -> None:
    begun = await client.begin("tictactoe", await players("xplayer", oplayer=ScriptedPlayer({1: says("(mark 3 3)")})))
    match = await client.ended(begun["match"])
    start = await client.page(f"{begun['url']}?step=0")
    assert 'aria-label="Next state" rel="next"' in start
    assert re.search(r'data-go="next" href="\?step=1"', start)
    assert "illegal (mark 3 3): (true (cell 3 3 b)) does not hold" in start
    second = await client.page(f"{begun['url']}?step=2")
    assert '<tr data-step="2" aria-current="step">' in second
    assert second != start
    last = await client.page(f"{begun['url']}?step=999")
    assert f"{match['steps']} of {match['steps']}" in last
    for nonsense in ("x", "-1", "1e9", "9" * 30):
        assert f"{match['steps']} of" in await client.page(f"{begun['url']}?step={nonsense}")
    for place in ("/", "/matches", "/matches?game=tictactoe&player=player+of+xplayer&status=finished"):
        assert f'href="{begun["url"]}"' in await client.page(place)


async def test_a_match_that_is_being_played(client: ApiClient, players: Players) -> None:
    begun = await client.begin("tictactoe", await players("xplayer", oplayer=ScriptedPlayer({0: silent})))
    page = await client.page(begun["url"])
    assert "The players are being started" in page or 'chip live">live' in page
    assert "Being played now" in await client.page("/")
    await client.services.live_matches.close()
    page = await client.page(begun["url"])
    assert "the service was stopped" in page


async def test_pages_of_lists(serve: Serve, players: Players) -> None:
    client = await serve()
    wanted = await players(*ROLES)
    for _ in range(3):
        await client.ended((await client.begin("tictactoe", wanted))["match"])
    first = await client.page("/matches?limit=2")
    assert "1 to 2 of 3" in first
    assert 'rel="next" href="?limit=2&amp;offset=2"' in first
    second = await client.page("/matches?limit=2&offset=2")
    assert "3 to 3 of 3" in second
    assert 'rel="prev"' in second


async def test_a_rulesheet_is_checked_by_a_form(client: ApiClient) -> None:
    form = {"name": "mine", "rulesheet": "(role a)\r\n(<= terminal (true ?x)\r\n", "do": "check"}
    async with client.http.post("/games/new", data=form) as response:
        page = await response.text()
    assert '<a class="where" href="#L2" data-line="2" data-column="1">2:1</a>' in page
    assert '<li id="L2" class="error">' in page


async def test_colours_are_found_in_threads_and_not_for_long_texts(
    client: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    coloured: list[tuple[int, bool]] = []
    highlighted = games_pages.highlighted

    def watched(text: str) -> list[list[games_pages.Word]]:
        coloured.append((len(text), threading.current_thread() is threading.main_thread()))
        return highlighted(text)

    monkeypatch.setattr(games_pages, "highlighted", watched)
    for text in ("(role", 200_000 * "("):
        async with client.http.post("/games/new", data={"name": "mine", "rulesheet": text, "do": "check"}) as response:
            assert ('<li id="L1"' in await response.text()) == (text == "(role")
    words = games.GUESSING + f"; {1000 * 'long '}"
    kept = await client.post("/games", {"name": "mine", "rulesheet": words}, 201)
    assert '<li id="L1">' in await client.page(kept["url"])
    assert coloured == [(5, False), (len(words), False)]
    kept = await client.post("/games", {"name": "mine", "rulesheet": games.GUESSING + f"; {200_000 * 'x'}"}, 201)
    assert '<pre class="kif plain">' in await client.page(kept["url"])


async def test_a_rulesheet_is_kept_by_a_form(client: ApiClient) -> None:
    form = {"name": "mine", "rulesheet": games.GUESSING, "do": "keep"}
    async with client.http.post("/games/new", data=form, allow_redirects=False) as response:
        assert response.status == 303
        url = response.headers["Location"]
    assert "<h1>mine</h1>" in await client.page(url)


async def test_the_form_to_go_on_from_a_state(client: ApiClient, players: Players) -> None:
    begun = await client.begin("tictactoe", await players(*ROLES))
    await client.ended(begun["match"])
    page = await client.page(f"/play?match={begun['match']}&step=2")
    assert "<h1>Play on</h1>" in page
    assert f'data-match="{begun["match"]}" data-step="2"' in page


async def test_what_is_not_there_has_a_page(client: ApiClient) -> None:
    for path in ("/nothing", "/games/nothing", "/matches/nothing", "/tournaments/nothing", "/play?match=nothing"):
        page = await client.page(path, 404)
        assert "<h1>Not Found</h1>" in page
        assert "To the beginning" in page
    assert "<h1>Method Not Allowed</h1>" in await (await client.http.delete("/games")).text()


async def test_a_query_that_is_nonsense_has_a_page(client: ApiClient) -> None:
    assert "limit" in await client.page("/matches?limit=x", 422)

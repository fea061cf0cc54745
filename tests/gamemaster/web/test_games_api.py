"""The API of games: lists, single games, and rulesheets of one's own."""

from pathlib import Path

import ggp
from gamemaster.web.settings import Limits
from tests.gamemaster import games
from tests.gamemaster.web.api_client import ApiClient
from tests.gamemaster.web.conftest import Players, Serve
from tests.gamemaster.web.test_evaluators import SLOW


async def test_all_shipped_games_are_listed(client: ApiClient) -> None:
    found = await client.get("/games")
    assert {game["id"] for game in found["games"]} == set(ggp.games())
    assert found["total"] == len(ggp.games())


async def test_games_are_found_by_words(client: ApiClient) -> None:
    found = await client.get("/games?search=columns+DISCS+7")
    assert [game["id"] for game in found["games"]] == ["connectfour"]
    assert (await client.get("/games?search=nosuchword"))["total"] == 0


async def test_a_game_in_words_and_as_text(client: ApiClient) -> None:
    game = await client.get("/games/tictactoe")
    assert game["title"] == "Tic-tac-toe"
    assert game["role_descriptions"]["xplayer"] == "plays x and moves first"
    assert game["statistics"] == {
        "matches": 0,
        "mean_steps": None,
        "roles": [],
        "fastest": None,
        "fastest_seconds": None,
    }
    assert await client.page("/api/v1/games/tictactoe/rulesheet") == game["rulesheet"]


async def test_the_start_is_drawn(client: ApiClient) -> None:
    start = await client.get("/games/connectfour/start")
    assert start["step"] == 0
    assert len(start["legal"]["red"]) == 7
    assert start["legal"]["red"][0]["clicks"][0][0] == ["", "1 6"]  # any cell of the column
    async with client.http.get("/api/v1/games/connectfour/picture") as response:
        assert response.headers["Content-Type"] == "image/svg+xml; charset=utf-8"
        assert "default-src 'none'" in response.headers["Content-Security-Policy"]
        picture = await response.text()
    assert "<style>" in picture
    assert picture.count("<circle") > start["svg"].count("<circle")  # from the middle of a match: discs have dropped


async def test_what_there_is_no_game_for(client: ApiClient) -> None:
    problem = await client.get("/games/chesslike", 404)
    assert problem["detail"] == "there is no game chesslike"
    assert problem["instance"] == "/api/v1/games/chesslike"


async def test_mistakes_have_their_places(client: ApiClient) -> None:
    found = await client.post("/rulesheets/check", {"rulesheet": "(role a)\n(<= terminal\n   (true ?x) (foo ?y)"})
    assert not found["is_playable"]
    (finding,) = found["findings"]
    assert (finding["severity"], finding["line"], finding["column"]) == ("error", 2, 1)
    assert "never closed" in finding["message"]
    assert found["start"] is None


async def test_a_sound_rulesheet_is_drawn_and_tried_out(client: ApiClient) -> None:
    found = await client.post("/rulesheets/check", {"rulesheet": games.GUESSING})
    assert found["is_playable"]
    assert found["roles"] == ["left", "right"]
    assert found["start"]["facts"] == ["(round 0)"]
    assert found["evidence"]["ended"] == found["evidence"]["matches"] > 0


async def test_rules_without_end_are_given_up(serve: Serve) -> None:
    client = await serve(Limits(workers=1, check_seconds=1.0))
    found = await client.post("/rulesheets/check", {"rulesheet": SLOW})
    assert not found["is_playable"]
    assert found["problem"] == "no answer within 1 s"
    assert (await client.get("/games/tictactoe/start"))["step"] == 0  # the next one is served


async def test_a_pasted_game_stays_and_is_playable(client: ApiClient, players: Players, tmp_path: Path) -> None:
    game = await client.post("/games", {"name": "Guess!", "rulesheet": games.GUESSING}, 201)
    assert game["title"] == "Guess!"
    assert not game["is_shipped"]
    assert game["id"] in {one["id"] for one in (await client.get("/games"))["games"]}
    again = await client.post("/games", {"name": "Guess!", "rulesheet": games.GUESSING}, 201)
    assert again["id"] == game["id"]
    begun = await client.begin(game["id"], await players("left", "right"))
    match = await client.ended(begun["match"])
    assert match["goals"] == {"left": 100, "right": 100}
    files = sorted(path.name for path in (tmp_path / "rulesheets").iterdir())
    assert files == [f"{game['id']}.kif", f"{game['id']}.toml"]


async def test_a_pasted_game_is_there_after_a_restart(serve: Serve) -> None:
    first = await serve()
    game = await first.post("/games", {"name": 'A "name"\\ 😀', "rulesheet": games.COUNTDOWN}, 201)
    second = await serve()
    assert (await second.get(f"/games/{game['id']}"))["title"] == 'A "name"\\ 😀'


async def test_what_cannot_be_played_is_not_kept(client: ApiClient) -> None:
    problem = await client.post("/games", {"name": "x", "rulesheet": "(role a"}, 422)
    assert problem["findings"][0]["line"] == 1
    problem = await client.post("/games", {"name": "x", "rulesheet": "(legal a go) (init x)"}, 422)
    assert "cannot be played" in problem["detail"]
    ruled = games.COUNTDOWN.replace("(role lonely)", "(one lonely) (<= (role ?r) (one ?r))")
    problem = await client.post("/games", {"name": "x", "rulesheet": ruled}, 422)
    assert "its roles have to be facts" in problem["detail"]
    assert problem["findings"][0]["line"] == 2
    many = "".join(f"(role r{number})" for number in range(65)) + "(<= (legal ?r go) (role ?r)) (init x)"
    many += "(<= terminal (not (true x))) (<= (goal ?r 50) (role ?r))"
    problem = await client.post("/games", {"name": "x", "rulesheet": many}, 422)
    assert "it has 65 roles, and a match here at most 64" in problem["detail"]
    assert (await client.get("/games"))["total"] == len(ggp.games())


async def test_rulesheets_have_a_limit_in_number(serve: Serve) -> None:
    client = await serve(Limits(workers=1, rulesheets=1))
    await client.post("/games", {"name": "one", "rulesheet": games.COUNTDOWN}, 201)
    problem = await client.post("/games", {"name": "two", "rulesheet": games.GUESSING}, 422)
    assert "as many as are kept" in problem["detail"]


async def test_tags_filter_games_in_the_api_and_on_the_page(client: ApiClient) -> None:
    found = await client.get("/games?tags=line,classic&search=discs")
    assert [game["id"] for game in found["games"]] == ["connectfour"]
    assert "line" in found["games"][0]["tags"]
    page = await client.page("/games?tags=line&search=discs")
    assert 'href="/games?search=discs" aria-current="true">line' in page
    assert 'href="/games?search=discs&amp;tags=line%2Cclassic"' in page
    assert "breakthrough" not in page
    assert (await client.get("/games?tags=nosuchtag"))["total"] == 0

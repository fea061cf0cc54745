"""The pages in a real browser for everybody: without scripts, by keyboard, on a phone, in the dark; and what moves."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from gamemaster.record import MatchRecord, RecordWriter
from gamemaster.tournament.pairings import Pairing
from gamemaster.tournament.store import Manager, Store, open_store
from tests.gamemaster import games
from tests.gamemaster.scripted import ScriptedPlayer
from tests.gamemaster.web.browsing import (
    LOW_CONTRAST,
    OBSTACLES,
    PHONE,
    Server,
    a_browser,
    a_page,
    listening,
    said,
    what_is_missing,
)
from tests.gamemaster.web.tournaments import NAME, a_finished_match, a_tournament, finish, pairings_of

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

pytestmark = [
    pytest.mark.skipif(bool(what_is_missing()), reason=what_is_missing()),
    pytest.mark.asyncio(loop_scope="module"),
]

ANN = {"kind": "human", "name": "Ann"}

# Words and numbers of what a selector finds that go on in another line.
BROKEN_WORDS = """(selector) => {
  const found = [];
  for (const cell of document.querySelectorAll(selector)) {
    const nodes = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), range = document.createRange();
    while (nodes.nextNode()) {
      for (const word of nodes.currentNode.data.matchAll(/[^\\s-]+/g)) {
        range.setStart(nodes.currentNode, word.index);
        range.setEnd(nodes.currentNode, word.index + word[0].length);
        if (range.getClientRects().length > 1) found.push(word[0]);
      }
    }
  }
  return found;
}"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> "AsyncIterator[Browser]":
    async with a_browser() as opened:
        yield opened


@dataclass
class Cup:
    """A tournament that is played one match after the other."""

    store: Store
    manager: Manager
    pairings: list[Pairing]
    record: MatchRecord

    def play_on(self) -> None:
        finish(self.manager, self.record, self.pairings.pop(0))


@pytest_asyncio.fixture(loop_scope="module")
async def cup(tmp_path: Path) -> AsyncIterator[Cup]:
    """Two matches are over."""
    with open_store(str(tmp_path / "store.sqlite")) as store:
        spec = a_tournament()
        store.create(spec)
        record = await a_finished_match()
        with store.manage(NAME) as manager:
            made = Cup(store, manager, list(pairings_of(spec)), record)
            made.play_on()
            made.play_on()
            yield made


@pytest_asyncio.fixture(loop_scope="module")
async def server(cup: Cup, tmp_path: Path) -> AsyncIterator[Server]:
    async with Server(tmp_path / "records", store=cup.store) as started:
        yield started


async def ordered(page: "Page", server: Server, game: str, players: dict[str, object]) -> dict[str, dict[str, str]]:
    """What the API says of a match that begins."""
    order = {"game": game, "players": players, "startclock": 30, "playclock": 300}
    response = await page.request.post(f"{server.url}/api/v1/matches", data=order)
    begun: dict[str, dict[str, str]] = await response.json()
    return begun


async def pasted(page: "Page", server: Server, text: str) -> str:
    response = await page.request.post(f"{server.url}/api/v1/games", data={"name": "mine", "rulesheet": text})
    return str((await response.json())["id"])


async def test_reading_needs_no_scripts(browser: "Browser", server: Server) -> None:
    async with a_page(browser, has_scripts=False) as page:
        await page.goto(server.url)
        await page.get_by_role("link", name="Games", exact=True).click()
        await page.locator("#search").fill("flanked")
        await page.locator("#search").press("Enter")
        assert await page.locator("#cards a").count() == 0
        await page.locator("#search").fill("discs")
        await page.locator("#search").press("Enter")
        await page.locator("#cards a", has_text="Reversi").click()
        assert await page.locator(".board g.cell").count() == 64
        assert await page.locator(".kif li").count() > 50
        await page.get_by_role("link", name="Tournaments", exact=True).click()
        await page.get_by_role("link", name=NAME).first.click()
        assert await page.locator(".matrix td").count() == 9
        await page.locator("#latest").scroll_into_view_if_needed()
        await page.locator("tbody a", has_text="Tic-tac-toe").first.click()
        last = await page.locator("#moves tbody tr").count() - 1
        await page.get_by_role("link", name="First state").click()
        assert await page.locator("#at").inner_text() == f"0 of {last}"
        await page.get_by_role("link", name="Last state").click()
        assert await page.locator("#at").inner_text() == f"{last} of {last}"
        assert await page.locator("#board g.cell[aria-label$=' x']").count() > 2
        await page.goto(f"{server.url}/games/new")
        await page.locator("#rulesheet").fill("(role a)\n(<= terminal (true ?x)\n")
        await page.get_by_role("button", name="Check").click()
        assert await page.locator("#findings .where").first.inner_text() == "2:1"
        for path in ("/play", "/api", "/matches"):
            await page.goto(server.url + path)
            assert await page.locator("h1").count() == 1


async def test_long_names_fit_on_a_phone(browser: "Browser", server: Server, tmp_path: Path) -> None:
    record = await a_finished_match()
    players = {role: player.model_copy(update={"name": 200 * role[0]}) for role, player in record.players.items()}
    (tmp_path / "records").mkdir(exist_ok=True)
    RecordWriter(tmp_path / "records" / "long.json").write(record.model_copy(update={"players": players}))
    async with a_page(browser, phone=True) as page:
        game = await pasted(page, server, games.OVER.replace("lonely", 100 * "r"))
        for path in ("/", "/matches", "/matches/long", f"/games/{game}"):
            await page.goto(server.url + path)
            assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE[0], path
        for value in await page.locator("dl.facts dd").all():
            box = await value.bounding_box()
            assert box is not None
            assert box["width"] > 120


async def test_words_and_numbers_of_tables_are_whole_on_a_phone(browser: "Browser", tmp_path: Path) -> None:
    names = tuple(" ".join([name] * 15) for name in ("ann", "bob", "cyd", "dan", "eve"))
    spec, record = a_tournament(6, names), await a_finished_match()
    players = {role: player.model_copy(update={"name": 60 * "n"}) for role, player in record.players.items()}
    (tmp_path / "records").mkdir()
    RecordWriter(tmp_path / "records" / "one.json").write(
        record.model_copy(update={"game": "battleship", "players": players})
    )
    with open_store(str(tmp_path / "store.sqlite")) as store:
        store.create(spec)
        with store.manage(NAME) as manager:
            drawn = record.model_copy(update={"goals": dict.fromkeys(record.roles, 50)})
            for number, pairing in enumerate(pairings_of(spec)):
                finish(manager, record if number % 7 else drawn, pairing)
        async with Server(tmp_path / "records", store=store) as started, a_page(browser, phone=True) as page:
            await page.goto(f"{started.url}/tournaments/{NAME}")
            assert await page.locator(".matrix td .done", has_text="12 of 12").count() == 20
            assert await page.evaluate(BROKEN_WORDS, ".matrix td") == []
            assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
            await page.goto(f"{started.url}/matches?game=battleship")
            assert await page.evaluate(BROKEN_WORDS, "td:first-child") == []
            assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]


async def test_the_token_is_given_once(browser: "Browser", tmp_path: Path) -> None:
    token = "correct-horse-battery"
    async with Server(tmp_path, token=token) as server, a_page(browser, allowed=("status of 403",)) as page:
        await page.goto(f"{server.url}/play")
        await page.get_by_role("link", name="give the operator's token").click()
        for given in ("a-wrong-one", token):
            await page.locator("input[type=password]").fill(given)
            await page.locator("main button").click()
        await page.wait_for_url(f"{server.url}/")
        await page.goto(f"{server.url}/play")
        assert await page.get_by_text("You are looking on").count() == 0
        async with listening(oplayer=ScriptedPlayer()) as urls:
            await page.goto(f"{server.url}/play?game=tictactoe")
            await page.locator("select[data-role='oplayer']").select_option("external")
            await page.get_by_label("Address of oplayer").fill(urls["oplayer"])
            await page.locator("#begin").click()
            await page.locator("#say", has_text="Your move").wait_for()


@pytest.mark.parametrize(("phone", "dark"), [(False, False), (True, True)])
async def test_nobody_stumbles(browser: "Browser", server: Server, phone: bool, dark: bool) -> None:
    keeper = ScriptedPlayer(moves={0: "(hide 1)", 1: "(hide 2)"})
    async with (
        listening(oplayer=ScriptedPlayer(), keeper=keeper) as urls,
        a_page(browser, phone=phone, dark=dark, allowed=("status of 404", "status of 403")) as page,
    ):
        others = {role: {"kind": "external", "url": url} for role, url in urls.items()}
        human = await ordered(page, server, "tictactoe", {"xplayer": ANN, "oplayer": others["oplayer"]})
        game = await pasted(page, server, games.SECRET)
        hidden = await ordered(page, server, game, {"asker": ANN, "keeper": others["keeper"]})
        endpoint = await (await page.request.post(f"{server.url}/api/v1/endpoints", data={})).json()
        await page.goto(server.url + hidden["links"]["asker"])
        await page.locator("#choices button", has_text="ask 1").click()
        await page.locator("#percepts td", has_text="warm").wait_for()
        pages = [
            "/",
            "/games",
            "/games/reversi",
            "/games/new?example=1",
            "/matches",
            "/play",
            "/tournaments",
            "/new-tournament",
            "/token",
        ]
        pages += [f"/tournaments/{NAME}", "/api", "/nothing", endpoint["url"], str(hidden["url"]), str(human["url"])]
        for path in (*pages, hidden["links"]["asker"], human["links"]["xplayer"]):
            await page.goto(server.url + path)
            await page.wait_for_load_state("load")
            if path == human["links"]["xplayer"]:
                await page.locator("#board g.cell[data-can]").first.wait_for()
            assert await page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0, path
            assert await page.evaluate(LOW_CONTRAST) == [], path
            assert await page.evaluate(OBSTACLES) == [], path


async def test_the_policy_stops_what_would_get_in(browser: "Browser", server: Server) -> None:
    """As if some text had not been escaped."""
    elsewhere = ScriptedPlayer()
    async with elsewhere, a_page(browser, allowed=("Content Security Policy", "status of 404")) as page:
        await page.goto(f"{server.url}/games/reversi")
        await page.evaluate(
            """(elsewhere) => {
              const box = document.createElement("div");
              box.innerHTML = `<img src="/nothing" onerror="window.got = 1"><img src="${elsewhere}pixel">
                <p id="red" style="color: rgb(255, 0, 0)">x</p><a id="link" href="javascript:window.got = 2">y</a>`;
              const script = document.createElement("script");
              script.textContent = "window.got = 3";
              const other = document.createElement("script");
              other.src = `${elsewhere}script.js`;
              document.body.append(box, script, other);
            }""",
            elsewhere.url,
        )
        await page.locator("#link").click()
        await page.wait_for_load_state("networkidle")
        assert await page.evaluate("window.got") is None
        assert await page.evaluate("getComputedStyle(document.getElementById('red')).color") != "rgb(255, 0, 0)"
        assert elsewhere.raw == []


async def test_a_match_is_played_by_the_keyboard_alone(browser: "Browser", server: Server) -> None:
    async with listening(oplayer=ScriptedPlayer()) as urls, a_page(browser) as page:
        await page.goto(f"{server.url}/play?game=tictactoe")
        await page.locator("select[data-role='oplayer']").select_option("external")
        await page.get_by_label("Address of oplayer").fill(urls["oplayer"])
        await page.locator("#begin").press("Enter")
        for cell in ("1 1", "2 1", "3 1"):
            await page.locator(f"#board g.cell[data-cell='{cell}'][data-can]").wait_for()
            await tab_to(page, f"g.cell[data-cell='{cell}']")
            await page.keyboard.press("Enter")
            await page.locator("#moves .move", has_text=said(cell)).wait_for()
        await page.locator("#say", has_text=re.compile("You win, 100 to 0")).wait_for()


async def tab_to(page: "Page", selector: str) -> None:
    """Goes on to an element with the key Tab."""
    await page.evaluate("document.getElementById('main').focus()")
    for _ in range(60):
        await page.keyboard.press("Tab")
        if await page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            return
    pytest.fail(f"the key Tab does not lead to {selector}")


async def test_a_person_is_told_percepts_only(browser: "Browser", server: Server) -> None:
    keeper = ScriptedPlayer(moves={0: "(hide 1)", 1: "(hide 2)"})
    async with (
        listening(keeper=keeper) as urls,
        a_page(browser, allowed=("status of 403", "status of 422")) as page,
        a_page(browser, allowed=("status of 403",)) as looker,
    ):
        game = await pasted(page, server, games.SECRET)
        keeper_there = {"kind": "external", "url": urls["keeper"]}
        begun = await ordered(page, server, game, {"asker": ANN, "keeper": keeper_there})
        await page.goto(server.url + begun["links"]["asker"])
        await page.locator("#board", has_text="not shown the state").wait_for()
        await page.locator("#say", has_text=re.compile("^Your move.$")).wait_for()  # there is nothing to click on
        await page.locator("#filter").fill("ask 3")
        await page.locator("#filter").press("Enter")
        await page.locator("#refused", has_text="might tell what you may not know").wait_for()
        await page.locator("#filter").fill("")
        await page.locator("#choices button", has_text="ask 1").click()
        await page.locator("#percepts tr", has_text="warm").wait_for()
        assert await page.locator("#percepts td").all_inner_texts() == ["1", "ask 1", "warm"]
        await looker.goto(f"{server.url}{begun['url']}")
        await looker.locator("#board", has_text="hidden until it is over").wait_for()
        assert await looker.locator("#verify:visible, #branch:visible, details:visible").count() == 0
        await page.locator("#choices button", has_text="ask 1").click()
        await looker.locator("#moves .move", has_text="hide 2").wait_for()  # by itself, when it is over
        await page.locator("#moves .move", has_text="hide 2").wait_for()


async def test_who_plays_against_chance_reaches_a_goal_value(browser: "Browser", server: Server) -> None:
    async with a_page(browser) as page:
        game = await pasted(page, server, games.DICE)
        begun = await ordered(page, server, game, {"gambler": ANN})
        await page.goto(server.url + begun["links"]["gambler"])
        await page.locator("#choices button", has_text="bet 1").click()
        await page.locator("#result", has_text=re.compile(r"^You reached (0|100) of 100\.$")).wait_for(timeout=10_000)
        await page.goto(f"{server.url}{begun['url']}")
        assert not await page.locator("#outcome").is_visible()


async def test_a_tournament_moves_while_one_looks(browser: "Browser", server: Server, cup: Cup) -> None:
    async with a_page(browser) as page:
        await page.goto(f"{server.url}/tournaments/{NAME}")
        progress = page.locator("section[aria-label='Progress'] b").first
        assert await progress.inner_text() == "2 of 12 matches"
        ratings = await page.locator(".standings .interval").all_inner_texts()
        cup.play_on()
        await page.locator("section[aria-label='Progress'] b", has_text="3 of 12 matches").wait_for()
        assert await page.locator(".standings .interval").all_inner_texts() != ratings


async def test_a_match_is_gone_through_by_a_slider(browser: "Browser", server: Server) -> None:
    async with a_page(browser) as page:
        await page.goto(f"{server.url}/matches")
        await page.locator("tbody a", has_text="Tic-tac-toe").first.click()
        await page.locator("#at", has_text=re.compile(r"^(\d+) of \1")).wait_for()  # the script shows the end first
        await page.locator("#slider").fill("2")
        await page.locator("#at", has_text=re.compile("^2 of ")).wait_for()
        await page.locator("#moves tr[data-step='2'][aria-current]").wait_for()
        await page.wait_for_url("**?step=2")

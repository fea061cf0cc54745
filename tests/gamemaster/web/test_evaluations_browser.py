"""What players think, in a real browser: while they play, and in the replay."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.gamemaster.scripted import ScriptedPlayer, silent, thinks
from tests.gamemaster.web.browsing import GONE, Server, a_browser, a_page, listening, what_is_missing
from tests.gamemaster.web.test_browser import begin

if TYPE_CHECKING:
    from playwright.async_api import Browser

pytestmark = [
    pytest.mark.skipif(bool(what_is_missing()), reason=what_is_missing()),
    pytest.mark.asyncio(loop_scope="module"),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> "AsyncIterator[Browser]":
    async with a_browser() as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    async with Server(tmp_path) as started:
        yield started


async def test_a_page_follows_what_players_think(browser: "Browser", server: Server) -> None:
    """Step 6 is thought about for as long as the page is looked at."""
    red = ScriptedPlayer({
        0: thinks('{"value":55,"line":"((drop 1) noop) (noop (drop 2))"}'),
        2: thinks('{"value":70,"low":50,"high":100,"playouts_per_second":51234,"line":"((drop 3) noop)"}'),
        4: thinks('{"value":100,"low":100,"high":100}'),
        6: silent,
    })  # fmt: skip
    yellow = ScriptedPlayer({3: thinks('{"value":20}')})
    async with listening(red=red, yellow=yellow) as urls, a_page(browser) as page:
        await begin(
            page, server, "connectfour", {"red": ("external", urls["red"]), "yellow": ("external", urls["yellow"])}
        )
        await page.locator("#moves tr[data-step='6']").wait_for()
        card = page.locator("#thoughts")
        await card.locator("li", has_text="100 proven").wait_for()
        assert await card.locator("svg .point").count() == 4
        assert await card.locator("svg .curve").count() == 2
        label = await card.locator("svg").get_attribute("aria-label") or ""
        assert "Red 55 in state 0, 100 in state 4, all from 55 to 100; Yellow 20 in state 3" in label
        assert await page.locator("#moves .worth").all_text_contents() == [
            "expects 55", "expects 70", "expects 20", "expects =100",
        ]  # fmt: skip

        await page.locator("#moves a[href='?step=2']").click()
        await card.locator("li", has_text="70 expected").wait_for()
        text = await card.locator("#thought-list").inner_text()
        assert "in state 2, proven from 50 to 100, 51,234 random matches a second" in text
        assert "column 3" in text
        assert "Yellow" not in text  # it had not said anything by then

        shown = await card.inner_html()
        await page.reload()
        await card.locator("li", has_text="70 expected").wait_for()
        assert (await card.inner_html()).count("<circle") == shown.count("<circle")
        await page.locator("#end").click()
        await page.locator("#status .chip", has_text="given up").wait_for()


async def test_a_replay_shows_what_players_thought(browser: "Browser", server: Server) -> None:
    thinker = ScriptedPlayer({0: thinks('{"value":30}'), 2: thinks('{"value":80}')})
    players = {"xplayer": thinker, "oplayer": ScriptedPlayer()}
    async with listening(**players) as urls, a_page(browser, phone=True, allowed=GONE) as page:
        await begin(page, server, "tictactoe", {role: ("external", url) for role, url in urls.items()})
        await page.locator("#status .chip", has_text="ended").wait_for()
        await server.stop()  # the browser may still ask for the icon, in its own time
        await server.start()  # and only the record is left
        await page.goto(f"{page.url.partition('?')[0]}?step=1")
        card = page.locator("#thoughts li")
        await card.filter(has_text="30 expected").wait_for()
        await page.keyboard.press("ArrowRight")
        await card.filter(has_text="80 expected").wait_for()
        await page.locator("#thoughts svg").click(position={"x": 40, "y": 60})  # at the left is the start
        await page.locator("#at", has_text="0 of").wait_for()
        await card.filter(has_text="30 expected").wait_for()
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")


async def test_a_person_who_takes_part_sees_it_when_it_is_over(browser: "Browser", server: Server) -> None:
    thinker = ScriptedPlayer({1: thinks('{"value":40,"line":"(noop (mark 3 3))"}')})
    async with listening(oplayer=thinker) as urls, a_page(browser) as own, a_page(browser) as other:
        players = {"xplayer": ("human", "Ann"), "oplayer": ("external", urls["oplayer"])}
        await begin(own, server, "tictactoe", players)
        await own.locator("#choices button", has_text="row 2, column 2").click()
        await own.locator("#moves tr[data-step='2']").wait_for(state="attached")
        assert await own.locator("#moves .worth").count() == 0
        await own.get_by_role("link", name="the match as others see it").click()
        await own.locator("#takes-part").wait_for()
        await other.goto(own.url)
        await other.locator("#thoughts li", has_text="40 expected").wait_for()
        assert await own.locator("#thoughts").is_hidden()
        assert await own.locator(".worth").count() == 0
        assert await other.locator("#end").count() == 0  # only who began a match ends it
        await own.locator("#end").click()
        await own.locator("#thoughts li", has_text="40 expected").wait_for()
        assert await own.locator("#takes-part").is_hidden()

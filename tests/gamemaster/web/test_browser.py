"""The pages in a real browser: playing by clicking, watching, replaying, pasting, and a restart under an open page."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.gamemaster.processes import until
from tests.gamemaster.scripted import ScriptedPlayer, held_until, silent
from tests.gamemaster.web.browsing import (
    GONE,
    LOW_CONTRAST,
    Server,
    a_browser,
    a_page,
    listening,
    said,
    what_is_missing,
)

if TYPE_CHECKING:
    from playwright.async_api import Browser, Locator, Page, Route

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


async def begin(page: "Page", server: Server, game: str, players: dict[str, tuple[str, str]]) -> None:
    """Fills in the form: role → what takes it, and its name or address."""
    await page.goto(f"{server.url}/play?game={game}")
    for role, (kind, text) in players.items():
        await page.locator(f"select[data-role='{role}']").select_option(kind)
        line = page.locator(".player-choice", has=page.locator(f"select[data-role='{role}']"))
        await line.locator("input").fill(text)
    await page.locator("#begin").click()


async def say(page: "Page", words: str) -> None:
    """Waits until the status says so."""
    await page.locator("#say", has_text=re.compile(words)).wait_for()


async def click(page: "Page", cell: str) -> None:
    """Clicks on a cell as soon as that means something."""
    await page.locator(f"#board g.cell[data-cell='{cell}'][data-can]").click()


async def mark(page: "Page", cell: str) -> None:
    """Clicks on a cell to mark it, and waits until that has happened: what is clicked meanwhile does not count."""
    await click(page, cell)
    await page.locator("#moves .move", has_text=said(cell)).wait_for()


async def test_tictactoe_is_played_by_clicking(browser: "Browser", server: Server) -> None:
    async with listening(oplayer=ScriptedPlayer()) as urls, a_page(browser) as page:
        await begin(page, server, "tictactoe", {"xplayer": ("human", "Ann"), "oplayer": ("external", urls["oplayer"])})
        await say(page, "Your move")
        assert await page.locator("#choices button").count() == 9
        for cell in ("1 1", "2 1", "3 1"):
            await mark(page, cell)
        await say(page, "You win, 100 to 0")
        assert await page.locator("#players .goal").all_inner_texts() == ["100", "0"]
        await page.locator("#replay").click()
        await page.locator("#at", has_text=re.compile(r"^\d of 5$|^5 of 5$")).wait_for()
        assert await page.locator("h1").inner_text() == "Ann vs scripted"
        await page.go_back()
        await page.locator("#swap").click()
        await page.locator(".chip [data-role-name='oplayer']").wait_for()


async def test_connect_four_is_played_by_clicking_on_columns(browser: "Browser", server: Server) -> None:
    async with listening(yellow=ScriptedPlayer()) as urls, a_page(browser, dark=True) as page:
        await begin(page, server, "connectfour", {"red": ("human", ""), "yellow": ("external", urls["yellow"])})
        for number, row in enumerate(("6", "3", "5", "4")):  # any cell of a column will do
            await click(page, f"2 {row}")
            await page.locator("#moves .move", has_text="column 2").nth(number).wait_for()
        await say(page, "You win, 100 to 0")


async def test_dots_and_boxes_is_played_by_clicking_on_lines(browser: "Browser", server: Server) -> None:
    async with listening(oplayer=ScriptedPlayer()) as urls, a_page(browser) as page:
        await begin(page, server, "dotsandboxes", {"xplayer": ("human", ""), "oplayer": ("external", urls["oplayer"])})
        for start, end in (("1 1", "1 2"), ("2 1", "2 2"), ("3 3", "4 3")):
            line = f"#board g.line[data-from='{start}'][data-to='{end}']"
            await page.locator(f"{line}[data-can]").click()
            await page.locator(f"{line}[data-drawn='yes']").wait_for(state="attached")
        drawn = await page.locator("#moves td:nth-child(2) .move").all_inner_texts()
        assert [move for move in drawn if move != "–"] == ["a1–a2", "b1–b2", "c3–d3"]


# As an attribute of the board: that a piece has begun to slide to another cell.
NOTE_SLIDES = """() => {
  const board = document.getElementById("board");
  new MutationObserver((changes) => {
    const added = changes.flatMap((change) => [...change.addedNodes]);
    if (added.some((node) => node.classList?.contains("sliding"))) board.dataset.slid = "";
  }).observe(board, { childList: true, subtree: true });
}"""


async def place_of(element: "Locator") -> tuple[int, int]:
    """Where it is in its picture, in whole pixels."""
    left, top = await element.evaluate(
        "(one) => { const box = one.getBoundingClientRect(), picture = one.ownerSVGElement.getBoundingClientRect();"
        " return [box.x - picture.x, box.y - picture.y]; }"
    )
    return round(left), round(top)


async def test_a_piece_is_moved_from_and_to(browser: "Browser", server: Server) -> None:
    async with listening(black=ScriptedPlayer()) as urls, a_page(browser) as page:
        await begin(page, server, "breakthrough", {"white": ("human", ""), "black": ("external", urls["black"])})
        corners = [page.locator(f"#board g.cell[data-cell='{name}']") for name in ("1 1", "8 8")]
        lower_left, upper_right = [await place_of(corner) for corner in corners]
        await page.locator("#turn").click()
        assert [await place_of(corner) for corner in corners] == [upper_right, lower_left]
        assert await page.locator("#board .labels text").first.text_content() == "8"  # of the row that is now the last
        await click(page, "3 2")
        assert await page.locator("#board g.cell[data-chosen]").count() == 1
        assert await page.locator("#choices button").count() == 3  # straight, and aslant to both sides
        sound = page.locator("#sound")
        assert await sound.get_attribute("aria-pressed") == "false"
        await sound.click()
        assert await sound.get_attribute("aria-pressed") == "true"
        await page.evaluate(NOTE_SLIDES)
        await click(page, "4 3")
        await page.locator("#moves .move", has_text="c2–d3").wait_for()
        await page.locator("#board[data-slid]").wait_for()
        await page.locator("#board .sliding").wait_for(state="detached")
        await page.locator("#board .arrow.last").wait_for()
        await page.locator("#hint").click()
        await page.locator("#board .arrow.hint").wait_for()


async def test_moves_are_typed_and_refused(browser: "Browser", server: Server) -> None:
    async with (
        listening(oplayer=ScriptedPlayer()) as urls,
        a_page(browser, allowed=("status of 422",)) as page,
    ):
        await begin(page, server, "tictactoe", {"xplayer": ("human", ""), "oplayer": ("external", urls["oplayer"])})
        await say(page, "Your move")
        await page.locator("#filter").fill("3 3")
        assert await page.locator("#choices button").all_inner_texts() == [said("3 3")]
        await page.locator("#filter").press("Enter")
        await page.locator("#moves .move", has_text=said("3 3")).wait_for()
        await say(page, "Your move")
        await page.locator("#filter").fill("mark 3 3")
        await page.locator("#filter").press("Enter")
        await page.locator("#refused", has_text="(true (cell 3 3 b)) does not hold").wait_for()
        await page.locator("#board g.cell[data-cell='1 2'][data-can]").press("Enter")  # by the keyboard
        await page.locator("#moves .move", has_text=said("1 2")).wait_for()


async def test_two_people_in_two_browsers(browser: "Browser", server: Server) -> None:
    async with a_page(browser) as ann, a_page(browser, phone=True) as bob:
        await begin(ann, server, "tictactoe", {"xplayer": ("human", "Ann"), "oplayer": ("human", "Bob")})
        links = [await ann.get_by_label(f"Link for {role}").input_value() for role in ("xplayer", "oplayer")]
        await bob.goto(links[1])
        await say(bob, "Waiting for everybody")
        await ann.goto(links[0])
        for number, cell in enumerate(("1 1", "2 2", "1 2", "3 3", "1 3")):
            await mark(bob if number % 2 else ann, cell)
        await say(ann, "You win, 100 to 0")
        await say(bob, "You lose, 0 to 100")
        assert await bob.locator("#players .name").all_inner_texts() == ["Ann", "Bob"]


async def test_a_move_is_taken_back_and_the_match_resigned(browser: "Browser", server: Server) -> None:
    async with a_page(browser) as page:
        await begin(page, server, "tictactoe", {"xplayer": ("human", ""), "oplayer": ("legal", "")})
        await mark(page, "2 2")
        await say(page, "Your move")
        first = page.url
        await page.locator("#undo:not([disabled])").click()
        await page.wait_for_url(lambda url: "/play/" in url and url != first)
        await say(page, "Your move")
        assert await page.locator("#choices button").count() == 9
        await page.locator("#resign").click()
        await page.locator("#resign", has_text="Really").click()
        await say(page, "xplayer resigned")


async def test_a_page_goes_to_the_next_match_once(browser: "Browser", server: Server) -> None:
    """An event and the answer to the click both name it; a second navigation would abort the first one."""
    places: list[str] = []
    is_answered = asyncio.Event()

    def goes(place: str) -> None:
        places.append(place)

    async def answer(route: "Route") -> None:
        response = await route.fetch()
        await until(lambda: bool(places))  # the event has come
        async with page.expect_event("requestfinished", lambda request: request.url.endswith("/undo")):
            await route.fulfill(response=response)
        is_answered.set()

    async def show(route: "Route") -> None:
        await is_answered.wait()
        await route.continue_()

    async with a_page(browser) as page:
        await page.add_init_script(
            "navigation.addEventListener('navigate', ({ destination }) => goes(destination.url));"
        )
        await page.expose_function("goes", goes)
        await begin(page, server, "tictactoe", {"xplayer": ("human", ""), "oplayer": ("legal", "")})
        await mark(page, "2 2")
        await say(page, "Your move")
        places.clear()
        await page.route("**/undo", answer)
        await page.route("**/play/*", show)
        await page.locator("#undo:not([disabled])").click()
        await page.locator("#moves:not(:has(.move))").wait_for(state="attached")
        assert len(places) == 1
        assert page.url == places[0]


async def test_a_match_is_watched_to_its_end(browser: "Browser", server: Server) -> None:
    is_watched = asyncio.Event()
    held = ScriptedPlayer({4: held_until(is_watched)})
    async with listening(red=held, yellow=ScriptedPlayer()) as urls, a_page(browser) as page:
        await begin(
            page, server, "connectfour", {"red": ("external", urls["red"]), "yellow": ("external", urls["yellow"])}
        )
        await page.locator("#status .chip.live").wait_for()
        await page.locator("#moves tr[data-step='4'][aria-current]").wait_for()
        await page.locator("#clock", has_text=re.compile(r"\d")).wait_for()  # once the answer is under way
        is_watched.set()
        await page.locator("#verify").wait_for()  # when all steps are there
        await page.locator("#status .chip", has_text="ended").wait_for()
        steps = await page.locator("#moves tbody tr").count() - 1
        assert await page.locator("#at").inner_text() == f"{steps} of {steps}"
        assert await page.locator("#players .goal").all_inner_texts() != ["", ""]


@pytest.mark.parametrize("late", ["/events*", "?first=*"])
async def test_a_match_is_watched_when_answers_come_late(browser: "Browser", server: Server, late: str) -> None:
    """The connection for events comes last, or the events do."""
    is_asked, is_watched = asyncio.Event(), asyncio.Event()
    held = ScriptedPlayer({"start": held_until(is_asked), 4: held_until(is_watched)})
    async with listening(red=held, yellow=ScriptedPlayer()) as urls, a_page(browser) as page:

        async def wait(route: "Route") -> None:
            (match,) = server.live_matches.all()
            await until(lambda: late == "/events*" or is_asked.is_set() or bool(match.feeds.spectators.listeners))
            is_asked.set()
            await until(lambda: match.step >= 4)
            await route.continue_()

        await page.route(f"**/api/v1/matches/*{late}", wait)
        await page.add_init_script(
            """const listen = EventSource.prototype.addEventListener;
            EventSource.prototype.addEventListener = function (name, handler) {
              const isThere = () => document.querySelector("#moves tr[data-step='4'][aria-current]");
              const later = (event) => (isThere() ? handler(event) : setTimeout(() => later(event), 20));
              return listen.call(this, name, name === "step" ? later : handler);
            };"""
        )
        await begin(
            page, server, "connectfour", {"red": ("external", urls["red"]), "yellow": ("external", urls["yellow"])}
        )
        await page.locator("#moves tr[data-step='4'][aria-current]").wait_for()
        is_watched.set()
        await page.locator("#verify").wait_for()  # when all steps are there
        steps = await page.locator("#moves tbody tr").count() - 1
        assert await page.locator("#at").inner_text() == f"{steps} of {steps}"


async def test_a_match_is_replayed_by_keyboard(browser: "Browser", server: Server) -> None:
    async with listening(xplayer=ScriptedPlayer(), oplayer=ScriptedPlayer()) as urls, a_page(browser) as page:
        players = {role: ("external", url) for role, url in urls.items()}
        await begin(page, server, "tictactoe", players)
        await page.locator("#verify").wait_for()  # when all steps are there
        last = await page.locator("#moves tbody tr").count() - 1
        keys = (
            ("Home", 0),
            ("ArrowRight", 1),
            ("ArrowRight", 2),
            ("ArrowLeft", 1),
            ("End", last),
            ("ArrowRight", last),
        )
        for key, step in keys:
            await page.keyboard.press(key)
            await page.locator("#at", has_text=f"{step} of {last}").wait_for()
            await page.locator(f"#moves tr[data-step='{step}'][aria-current]").wait_for()
            assert page.url.endswith(f"?step={step}")
        await page.locator("#moves a[href='?step=3']").click()
        await page.locator("#at", has_text=f"3 of {last}").wait_for()
        await page.reload()  # the address is one of the step
        assert await page.locator("#at").inner_text() == f"3 of {last}"
        marks = await page.locator("#board g.cell[aria-label$=' x']").count()
        assert marks == 2


async def test_a_broken_rulesheet_is_told_at_its_line(browser: "Browser", server: Server) -> None:
    async with a_page(browser) as page:
        await page.goto(f"{server.url}/games/new")
        await page.locator("#rulesheet").fill("(role a)\n(role b)\n(<= (legal a go)\n   (true (left ?n))\n")
        await page.locator("#findings .where", has_text="3:1").click()
        selected = await page.evaluate("document.activeElement.value.slice(0, document.activeElement.selectionStart)")
        assert selected == "(role a)\n(role b)\n"
        await page.goto(f"{server.url}/games/new?example=1")
        await page.locator("#findings .note.good").wait_for()
        assert await page.locator("#board g.cell").count() == 9
        await page.locator("#keep").click()
        await page.wait_for_url("**/play?game=a-game-*")


async def test_a_match_page_outlives_the_service(browser: "Browser", server: Server) -> None:
    slow = ScriptedPlayer({2: silent})
    async with listening(xplayer=slow, oplayer=ScriptedPlayer()) as urls, a_page(browser, allowed=GONE) as page:
        async with page.expect_response(re.compile(r"/events(\?|$)")):  # from then on it is told what happens
            await begin(page, server, "tictactoe", {role: ("external", url) for role, url in urls.items()})
        await page.locator("#at", has_text="2 of 2").wait_for()
        await server.stop()
        await page.locator("#status .chip", has_text="given up").wait_for()
        await server.start()
        await page.locator("#reason", has_text="the service was stopped").wait_for()
        await page.keyboard.press("Home")
        await page.locator("#at", has_text="0 of 2").wait_for()
        assert await page.locator("#board g.cell[aria-label$=' x']").count() == 0


async def test_the_service_is_restarted_under_an_open_page(browser: "Browser", server: Server) -> None:
    async with (
        listening(xplayer=ScriptedPlayer(), oplayer=ScriptedPlayer()) as urls,
        a_page(browser) as player,
        a_page(browser, allowed=GONE) as looker,
    ):
        await looker.goto(f"{server.url}/matches")
        await server.stop()
        await looker.locator("#lost:not([hidden])").wait_for()
        await server.start()
        await looker.locator("#lost").wait_for(state="hidden")
        await begin(player, server, "tictactoe", {role: ("external", url) for role, url in urls.items()})
        await looker.locator("tbody tr .chip", has_text="ended").wait_for()


@pytest.mark.parametrize("dark", [False, True])
async def test_pages_fit_on_a_phone(browser: "Browser", server: Server, dark: bool) -> None:
    paths = ("/", "/games", "/games/reversi", "/play", "/matches")
    async with (
        listening(xplayer=ScriptedPlayer(), oplayer=ScriptedPlayer()) as urls,
        a_page(browser, phone=True, dark=dark) as page,
    ):
        await begin(page, server, "tictactoe", {role: ("external", url) for role, url in urls.items()})
        await page.locator("#status .chip", has_text="ended").wait_for()
        for url in (page.url, *(f"{server.url}{path}" for path in paths)):
            await page.goto(url)
            wide = await page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
            assert wide <= 0, url
            assert await page.evaluate(LOW_CONTRAST) == [], url


async def test_the_first_page_has_what_is_being_played(browser: "Browser", server: Server) -> None:
    may_answer = asyncio.Event()
    async with (
        listening(oplayer=ScriptedPlayer({1: held_until(may_answer)})) as urls,
        a_page(browser, allowed=("ERR_FAILED",)) as page,
        a_page(browser, allowed=("ERR_FAILED",)) as looker,
    ):
        for each in (page, looker):  # drawing the games for the first time takes all connections of a browser for long
            await each.route("**/games/*/picture", lambda route: route.abort())
        await begin(page, server, "tictactoe", {"xplayer": ("human", "Ann"), "oplayer": ("external", urls["oplayer"])})
        await say(page, "Your move")
        await looker.goto(server.url)
        await looker.locator("#watched g.cell[data-cell='1 1'][aria-label='1 1: empty']").wait_for()
        assert await looker.locator("#own").is_hidden()
        await mark(page, "1 1")
        await looker.locator("#watched g.cell[data-cell='1 1'][aria-label='1 1: x']").wait_for()
        await page.goto(server.url)
        await page.locator("#own a").wait_for()
        assert await page.locator("#own .chip").count() == 0
        may_answer.set()
        await page.locator("#own li", has_text="your move").wait_for()
        await page.locator("#own a").click()
        await say(page, "Your move")


async def test_a_tournament_is_set_up_and_watched(browser: "Browser", tmp_path: Path) -> None:
    async with (
        Server(tmp_path / "records", str(tmp_path / "event.sqlite")) as server,
        a_page(browser, allowed=("status of 409",)) as page,
    ):
        await page.goto(f"{server.url}/tournaments")
        await page.locator("a", has_text="New tournament").click()
        await page.locator("#name").fill("cup")
        await page.locator("[name=bot][value=mcts]").uncheck()
        await page.locator("[name=bot][value=legal]").check()
        await page.locator("#begin").click()
        await page.locator("h1", has_text="cup").wait_for()
        await page.locator(".chip", has_text="complete").wait_for()
        assert await page.locator(".standings").first.locator("tbody tr").count() == 2
        await page.goto(f"{server.url}/new-tournament")
        await page.locator("#name").fill("cup")
        await page.locator("#begin").click()
        await page.locator("#refused", has_text="there is a tournament cup already").wait_for()

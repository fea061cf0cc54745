"""Pictures of every kind of page, and of every game: `python -m tests.bench.screenshots FOLDER`.

A service of its own, with a tournament that was played for the purpose, is looked at with chromium.
"""

import argparse
import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from html import escape
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from PIL import Image

import ggp
from gamemaster.tournament.store import open_store
from ggp.boards import find_layout, make_picture, picture_svg
from tests.bench.boards_survey import some_steps_on
from tests.gamemaster.web.browsing import Server, a_browser, a_page, what_is_missing
from tests.gamemaster.web.tournaments import NAME, a_tournament, finish, growing, pairings_of, played, renamed

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

COLOURS = 96  # of a picture, so that it is small
BROKEN = """(role white)
(role black)
(init (cell 1 b)) (init (control white))
(<= (legal ?player (mark ?x))
    (true (cell ?x b))
    (true (control ?player))
(<= terminal (true (cell 1 x)))
"""
CONTACT_SHEET = "boards"
BOT = {"kind": "bot", "bot": "random"}
PAGES = {
    "home": "/",
    "games": "/games",
    "play": "/play?game=reversi",
    "api": "/api",
    "tournaments": "/tournaments",
    "new-tournament": "/new-tournament",
    "token": "/token",
    "problem": "/games/nothing",
}

Save: TypeAlias = Callable[["Page", str], Awaitable[None]]


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    assert not what_is_missing(), what_is_missing()
    with tempfile.TemporaryDirectory() as place, open_store(str(Path(place) / "store.sqlite")) as store:
        spec = a_tournament(4, ("ann", "bob", "cyd", "dan"))
        store.create(spec)
        with store.manage(NAME) as manager:
            *over, under_way = pairings_of(spec)[:34]
            for number, pairing in enumerate(over):
                finish(manager, await played(number), pairing)
            manager.begin(under_way)
            manager.keep(under_way, growing(renamed(await played(99), under_way), 3))
            async with Server(Path(place) / "records", store=store) as server, a_browser() as browser:
                await asyncio.sleep(8)  # the games are drawn meanwhile
                for dark in (False, True):
                    await picture_all(browser, server, folder, dark=dark)


async def picture_all(browser: "Browser", server: Server, folder: Path, *, dark: bool) -> None:
    async def save(page: "Page", name: str) -> None:
        await page.evaluate("window.scrollTo(0, 0)")
        await page.wait_for_timeout(600)
        image = Image.open(BytesIO(await page.screenshot(full_page=name == CONTACT_SHEET))).convert("RGB")
        path = folder / f"{name}{'-dark' if dark else ''}.png"
        image.quantize(COLOURS).save(path, optimize=True)
        print(path.name)

    await picture_standing(browser, server, save, dark=dark)
    await picture_moving(browser, server, save, dark=dark)


async def picture_standing(browser: "Browser", server: Server, save: Save, *, dark: bool) -> None:
    """What stays as it is."""
    async with a_page(browser, dark=dark) as page:
        await page.set_content(boards(dark=dark))
        await save(page, CONTACT_SHEET)
    async with a_page(browser, dark=dark, allowed=("status of 404",)) as page:
        for name, path in PAGES.items():
            await page.goto(server.url + path)
            await save(page, name)
        endpoint = await page.request.post(f"{server.url}/api/v1/endpoints", data={"name": "Ann"})
        await page.goto(server.url + (await endpoint.json())["url"])
        await save(page, "endpoint")


async def picture_moving(browser: "Browser", server: Server, save: Save, *, dark: bool) -> None:
    """What has to be waited for."""
    async with a_page(browser, dark=dark) as page:
        await page.goto(f"{server.url}/tournaments/{NAME}")
        await save(page, "tournament")
        await page.goto(f"{server.url}/games/breakthrough")
        await page.locator("#engine dl").wait_for()
        await save(page, "game")
        await page.goto(f"{server.url}/games/new")
        await page.locator("#rulesheet").fill(BROKEN)
        await page.locator("#findings li").first.wait_for()
        await save(page, "paste")
        thinkers = {role: {"kind": "bot", "bot": bot} for role, bot in (("red", "mcts"), ("yellow", "montecarlo"))}
        await page.goto(f"{server.url}{await begin(page, server, 'connectfour', thinkers, playclock=1)}")
        await page.locator("#status .chip", has_text="ended").wait_for(timeout=120_000)
        await page.locator("#moves tr:nth-last-child(8) a").click()
        await save(page, "match")
        await page.goto(f"{server.url}/matches")
        await save(page, "matches")
    async with a_page(browser, dark=dark, phone=True) as page:
        human = {"kind": "human", "name": "Ann"}
        legal = {"kind": "bot", "bot": "legal"}
        await page.goto(server.url)
        await save(page, "home-phone")
        await page.goto(f"{server.url}{await begin(page, server, 'breakthrough', {'white': human, 'black': legal})}")
        await page.locator("#board g.cell[data-cell='4 2'][data-can]").click()
        await save(page, "human-phone")
    async with a_page(browser, dark=dark) as page:
        await page.goto(f"{server.url}{await begin(page, server, 'dotsandboxes', {'xplayer': human, 'oplayer': BOT})}")
        for line in ("1 1|1 2", "3 3|3 4", "4 3|4 4"):
            start, _, end = line.partition("|")
            own = f"#board g.line[data-from='{start}'][data-to='{end}']"
            await page.locator(f"{own}[data-can]").click()
            await page.locator(f"{own}[data-drawn='yes']").wait_for(state="attached")
            await page.locator("#status[data-mood='yours']").wait_for()
        await page.locator("#hint").click()
        await page.locator("#hint:not([disabled])").wait_for(timeout=120_000)
        await save(page, "human")


def boards(*, dark: bool) -> str:
    """A page with a state of every game that is shipped."""
    drawn = []
    for name in ggp.games():
        game = ggp.load(name, "interpreter")
        layout = find_layout(game.rulesheet, game.machine, game.metadata.drawing)
        title = game.metadata.title or name
        picture = picture_svg(make_picture(layout, some_steps_on(game.initial_state).terms), title)
        drawn.append(f"<figure>{picture}<figcaption>{escape(title)}</figcaption></figure>")
    ground, ink = ("#16181d", "#e8e6e1") if dark else ("#f6f5f1", "#1c2024")
    return f"""<!doctype html><style>
      body {{ margin: 0; padding: 16px; background: {ground}; color: {ink}; font: 600 13px sans-serif;
        text-align: center; display: grid;
        grid-template-columns: repeat(7, minmax(0, 1fr)); gap: 16px; align-items: end; }}
      svg {{ width: 100%; height: 150px; }}
      figure {{ margin: 0; }}
    </style><body>{"".join(drawn)}</body>"""


async def begin(
    page: "Page", server: Server, game: str, players: dict[str, dict[str, str]], playclock: int = 300
) -> str:
    """A match, and the page to look at."""
    order = {"game": game, "players": players, "startclock": 10, "playclock": playclock, "think": 1, "seed": 4}
    answer = await page.request.post(f"{server.url}/api/v1/matches", data=order)
    begun = await answer.json()
    return str(next(iter(begun["links"].values()), begun["url"]))


if __name__ == "__main__":
    asyncio.run(main())

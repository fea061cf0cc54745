"""How fast pages come: `python -m tests.bench.page_loading [--matches 10000]`.

A store is filled with so many matches of one tournament, and each kind of page is asked for on loopback, one after the
other: the first time, and the median of more. With `--browser` each is loaded in chromium with an empty cache, on a
screen and on a phone, light and dark: bytes with all that it loads, milliseconds until it is loaded (the fastest of
three visits), how far which parts of the page are shifted (the layout shift of Web Vitals, 0 for none), and texts of
too little contrast for WCAG AA. The exit code is 1 where a page is beyond a bound.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp

from gamemaster.tournament.store import open_store
from tests.bench.spectators import served, session
from tests.gamemaster.web.browsing import LOW_CONTRAST, PHONE, a_browser, what_is_missing
from tests.gamemaster.web.tournaments import NAME, a_finished_match, a_tournament, finish, pairings_of

if TYPE_CHECKING:
    from playwright.async_api import Browser

TIMES = 15
SETTLED = 1500  # milliseconds, after which a page has drawn what it asks for
VISITS = 3
MOST_BYTES, MOST_SECONDS, MOST_SHIFT = 100_000, 0.3, 0.0  # of a page
NOTE_SHIFTS = """
  window.shifts = [];
  new PerformanceObserver((list) => {
    for (const one of list.getEntries()) {
      const parts = one.sources.map(({ node }) => node?.id || node?.className || node?.nodeName);
      if (!one.hadRecentInput) shifts.push([one.value, parts.join(" ")]);
    }
  }).observe({ type: "layout-shift", buffered: true });
"""
OTHER_PAGES = ("/games/chess", "/games/new?example=1", "/new-tournament", "/token", "/api", "/nothing")
PLAYERS = tuple(f"player{number}" for number in range(10))


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--matches", type=int, default=10_000)
    parser.add_argument("--browser", action="store_true")
    arguments = parser.parse_args()
    if arguments.browser and (missing := what_is_missing()):
        parser.error(missing)
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store.sqlite"
        last = await fill(store, arguments.matches)
        async with served(Path(folder) / "records", "--store", str(store)) as url, session() as client:
            await asyncio.sleep(10)  # the service works out what the first visitors would wait for
            paths = ("/", "/games", "/games/tictactoe", "/matches", "/matches?offset=5000", "/matches?player=player3")
            match = f"/matches/{NAME}~{last}"
            more = (match, f"{match}?step=3", f"/tournaments/{NAME}", "/tournaments", "/play", f"/api/v1{match}")
            if arguments.browser:
                report = f"/tournaments/{NAME}/report"
                all_paths = (*paths, *more[:-1], report, *OTHER_PAGES, *await played(client, url))
                raise SystemExit(not await look(all_paths, url))
            for path in (*paths, *more):
                first, *others = [await seconds(client, url + path) for _ in range(1 + TIMES)]
                print(f"{path[:50]:50} first {1000 * first:7.1f} ms, median {1000 * statistics.median(others):7.1f} ms")


@dataclass(frozen=True)
class Visit:
    """What came of opening a page once, with an empty cache."""

    size_bytes: int  # with all that it loads
    seconds: float  # until it is loaded
    shifts: list[tuple[float, str]]  # layout shifts without a user action: score, elements
    pale: list[str]  # texts of too little contrast

    @property
    def faults(self) -> list[str]:
        shifted = [f"{value:.4f} {what}" for value, what in self.shifts if value > MOST_SHIFT]
        return [*(["too many bytes"] if self.size_bytes > MOST_BYTES else []), *shifted, *self.pale]


async def look(paths: Sequence[str], url: str) -> bool:
    """Whether all is within the bounds."""
    is_good = True
    async with a_browser() as browser:
        for path in paths:
            for phone, dark in product((False, True), repeat=2):
                visits = [await visit(browser, url + path, phone=phone, dark=dark) for _ in range(VISITS)]
                seconds = min(one.seconds for one in visits)
                faults = sorted({fault for one in visits for fault in one.faults})
                faults += ["too slow"] if seconds > MOST_SECONDS else []
                is_good = is_good and not faults
                kind = f"{'phone' if phone else 'screen'} {'dark' if dark else 'light'}"
                size, shift = (
                    max(one.size_bytes for one in visits),
                    max(sum(far for far, _ in one.shifts) for one in visits),
                )
                print(
                    f"{path[:40]:40} {kind:12} {size / 1000:6.1f} kB {1000 * seconds:5.0f} ms  shift {shift:.4f}",
                    *faults,
                )
    return is_good


async def visit(browser: "Browser", url: str, *, phone: bool, dark: bool) -> Visit:
    width, height = PHONE if phone else (1280, 860)
    context = await browser.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
    )
    page = await context.new_page()
    sizes: list[int] = []
    network = await context.new_cdp_session(page)
    network.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    await network.send("Network.enable")
    await page.add_init_script(NOTE_SHIFTS)
    await page.goto(url)
    await page.wait_for_timeout(SETTLED)
    loaded, shifts = await page.evaluate("() => [performance.getEntriesByType('navigation')[0].loadEventEnd, shifts]")
    found = Visit(
        sum(sizes), loaded / 1000, [(value, what) for value, what in shifts], await page.evaluate(LOW_CONTRAST)
    )
    await context.close()
    return found


async def played(client: aiohttp.ClientSession, url: str) -> tuple[str, str]:
    """A match of breakthrough that waits for a human: its page, and that of the human."""
    players = {"white": {"kind": "human", "name": "Ann"}, "black": {"kind": "bot", "bot": "random"}}
    order = {"game": "breakthrough", "players": players, "startclock": 10, "playclock": 3600}
    async with client.post(f"{url}/api/v1/matches", json=order) as response:
        assert response.status == 201, await response.text()
        begun = await response.json()
    return begun["url"], begun["links"]["white"]


async def fill(path: Path, matches: int) -> str:
    """A tournament with so many finished matches; the name of the last one."""
    record = await a_finished_match()
    pairings = len(pairings_of(a_tournament(1, PLAYERS)))
    spec = a_tournament(-(-matches // pairings), PLAYERS)
    with open_store(str(path)) as store:
        store.create(spec)
        with store.manage(NAME) as manager:
            for pairing in pairings_of(spec)[:matches]:
                finish(manager, record, pairing)
    return pairing.id


async def seconds(client: aiohttp.ClientSession, url: str) -> float:
    began = time.perf_counter()
    async with client.get(url) as response:
        await response.read()
        assert response.status == 200, (url, response.status)
    return time.perf_counter() - began


if __name__ == "__main__":
    asyncio.run(main())

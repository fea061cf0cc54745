"""The service on a port of its own, and a browser that looks at it."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self
from unittest.mock import patch

from aiohttp import web

from gamemaster.tournament.store import Store
from gamemaster.web.api.operations import SERVICES
from gamemaster.web.application import make_app
from gamemaster.web.live.runner import LiveMatches
from gamemaster.web.settings import Limits, ServeSettings
from tests.gamemaster.scripted import ScriptedPlayer

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page, Response

HOST = "127.0.0.1"
PATIENCE = 120_000  # milliseconds, on a machine that is busy with other things
NETWORK_CHANGED = "ERR_NETWORK_CHANGED"  # containers of other tests come and go; the page asks again
ERROR_PAGE = "chrome-error:"  # which it then shows for a moment
RETRIES = 5
# of a server that ends
GONE = ("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE")
PHONE = (390, 844)

# Texts whose contrast with what is behind them is below that of WCAG AA; pictures and what is disabled do not count.
LOW_CONTRAST = """() => {
  const parse = (colour) => {
    const numbers = (colour.match(/[\\d.]+/g) || []).map(Number);
    const scale = colour.startsWith("color(") ? 255 : 1;
    return { rgb: numbers.slice(0, 3).map((number) => number * scale), alpha: numbers.length > 3 ? numbers[3] : 1 };
  };
  const over = (top, below) => top.rgb.map((value, at) => value * top.alpha + below[at] * (1 - top.alpha));
  const light = (rgb) => {
    const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = rgb.map((value) => linear(value / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    const layers = [];
    for (let one = element; one; one = one.parentElement) layers.push(parse(getComputedStyle(one).backgroundColor));
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const text = [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data.trim()).join("");
    const style = getComputedStyle(element);
    if (!text || !element.getClientRects().length) continue;
    if (element.closest("svg, [hidden], :disabled, .visually-hidden, .skip, option")) continue;
    const back = behind(element), front = over(parse(style.color), back);
    const [high, low] = [light(front), light(back)].sort((one, other) => other - one);
    const ratio = (high + 0.05) / (low + 0.05);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    if (ratio < (isLarge ? 3 : 4.5) && style.opacity === "1") found.push(`${text.slice(0, 30)}: ${ratio.toFixed(2)}`);
  }
  return found;
}"""

# What a person who cannot see, or uses the keyboard, or has large fingers, would stumble over.
OBSTACLES = """() => {
  const found = [];
  const seen = (selector) => [...document.querySelectorAll(selector)].filter((one) => one.getClientRects().length);
  const tell = (what, one) => found.push(`${what}: ${one.outerHTML.slice(0, 90)}`);
  const labelled = (one) => (one.getAttribute("aria-labelledby") || "").split(" ")
    .map((id) => document.getElementById(id)?.textContent || "").join("").trim();
  const name = (one) => one.getAttribute("aria-label") || labelled(one) || one.textContent.trim() || one.title;
  const named = seen("a[href], button, summary, [role=button], [role=region]");
  for (const one of named) if (!name(one)) tell("no name", one);
  for (const one of seen("input:not([type=hidden]), select, textarea")) {
    if (!one.labels.length && !one.getAttribute("aria-label") && !labelled(one)) tell("no label", one);
  }
  for (const one of document.querySelectorAll("img:not([alt])")) tell("no alt", one);
  for (const one of document.querySelectorAll("th:not([scope])")) tell("no scope", one);
  const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
  for (const id of new Set(ids)) if (ids.filter((other) => other === id).length > 1) found.push(`twice: #${id}`);
  const heads = seen("h1, h2, h3, h4").map((one) => Number(one.tagName[1]));
  if (heads.filter((level) => level === 1).length !== 1) found.push(`headings: ${heads}`);
  if (heads.some((level, at) => at && level > heads[at - 1] + 1)) found.push(`headings: ${heads}`);
  if (!document.documentElement.lang || seen("main").length !== 1) found.push("no language or no main part");
  for (const one of seen("button, select, a.button, input:not([type=range])")) {
    const { width, height } = one.getBoundingClientRect();
    if (width < 24 || height < 24) tell("small", one);
  }
  for (const one of seen("a[href], button, input, select, textarea, summary, [tabindex='0']")) {
    if (one.disabled) continue;
    one.focus({ focusVisible: true });
    const style = getComputedStyle(one), ring = getComputedStyle(one.querySelector(".hit") || one);
    const shows = style.outlineStyle !== "none" || style.boxShadow !== "none" || ring.stroke !== "none";
    if (document.activeElement === one && !shows) tell("no sign of focus", one);
  }
  return found;
}"""


def said(cell: str) -> str:
    """How pages tell the move that marks a cell of tic-tac-toe."""
    row, column = cell.split()
    return f"row {row}, column {column}"


def what_is_missing() -> str:
    """Why there is no browser; empty where there is one."""
    try:
        import playwright.async_api  # noqa: F401, PLC0415
    except ImportError:
        return "no browser: playwright is not installed (pip install '.[browser]')"
    return "" if chromium() else "no browser: chromium is not installed (apt-get install chromium)"


def chromium() -> str:
    """Where Debian's chromium is; empty where it is not."""
    return shutil.which("chromium") or ""


class Server:
    """The service on a real port, which it takes again after a restart."""

    def __init__(self, records: Path, store: Store | str | None = None, **settings: object) -> None:
        """store: one that is open, or the place of one."""
        given = {"records": records, "warm": store is not None, "allowed_players": frozenset({HOST})}
        self._settings = given | ({"store": store} if isinstance(store, str) else {}) | settings
        self._store = None if isinstance(store, str) else store
        self._port = 0

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self._port}"

    @property
    def live_matches(self) -> LiveMatches:
        return self._app[SERVICES].live_matches

    async def start(self) -> None:
        settings = ServeSettings(**self._settings, limits=Limits(workers=1))  # type: ignore[arg-type]
        self._app = make_app(settings, self._store)
        self._web_runner = web.AppRunner(self._app, access_log=None, shutdown_timeout=1.0)
        await self._web_runner.setup()
        await web.TCPSite(self._web_runner, HOST, self._port, reuse_address=True).start()
        self._port = self._web_runner.addresses[0][1]

    async def stop(self) -> None:
        await self._web_runner.cleanup()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()


@asynccontextmanager
async def a_browser() -> AsyncIterator["Browser"]:
    from playwright.async_api import async_playwright  # noqa: PLC0415 - may not be installed

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        yield browser
        await browser.close()


@asynccontextmanager
async def a_page(
    browser: "Browser",
    *,
    phone: bool = False,
    dark: bool = False,
    has_scripts: bool = True,
    allowed: tuple[str, ...] = (),
) -> AsyncIterator["Page"]:
    """A page of a client of its own; whatever its console complains about fails the test, unless it is `allowed`."""
    from playwright.async_api import Error  # noqa: PLC0415 - may not be installed

    width, height = PHONE if phone else (1280, 860)
    context = await browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        java_script_enabled=has_scripts,
        base_url=None,
    )
    context.set_default_timeout(PATIENCE)
    page = await context.new_page()
    go = page.goto

    async def again(url: str) -> "Response | None":
        """Asks once more where the network changed while a page was loaded, because the browser then gives it up."""
        for _ in range(RETRIES):
            try:
                return await go(url)
            except Error as error:
                if NETWORK_CHANGED not in str(error) and ERROR_PAGE not in str(error):
                    raise
        return await go(url)

    complaints: list[str] = []
    page.on(
        "console",
        lambda message: complaints.append(f"{message.text} {message.location}") if message.type == "error" else None,
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    try:
        with patch.object(page, "goto", again):
            yield page
        wrong = [text for text in complaints if not any(word in text for word in (*allowed, NETWORK_CHANGED))]
        assert not wrong, wrong
    finally:
        async with asyncio.timeout(PATIENCE / 1000):  # `close` has no timeout: a failed test would hang
            await context.close()


@asynccontextmanager
async def listening(**players: ScriptedPlayer) -> AsyncIterator[dict[str, str]]:
    """Role → the address of a player."""
    async with AsyncExitStack() as stack:
        yield {role: (await stack.enter_async_context(player)).url for role, player in players.items()}

"""The service on a port of its own, and a browser that looks at it."""

import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from aiohttp import web

from gamemaster.pages.application import make_app
from gamemaster.pages.hall import Hall
from gamemaster.pages.services import SERVICES
from gamemaster.pages.settings import Limits, ServeSettings
from gamemaster.tournaments.store import Store
from tests.gamemaster.scripted import ScriptedPlayer

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

HOST = "127.0.0.1"
PATIENCE = 20_000  # milliseconds
PHONE = (390, 844)


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

    def __init__(self, records: Path, store: Store | None = None) -> None:
        self._settings = {"records": records, "warm": store is not None, "allowed_players": frozenset({HOST})}
        self._store = store
        self._port = 0

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self._port}"

    @property
    def hall(self) -> Hall:
        return self._app[SERVICES].hall

    async def start(self) -> None:
        settings = ServeSettings(**self._settings, limits=Limits(workers=1))  # type: ignore[arg-type]
        self._app = make_app(settings, self._store)
        self._runner = web.AppRunner(self._app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.TCPSite(self._runner, HOST, self._port, reuse_address=True).start()
        self._port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        await self._runner.cleanup()

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
    browser: "Browser", *, phone: bool = False, dark: bool = False, allowed: tuple[str, ...] = ()
) -> AsyncIterator["Page"]:
    """A page of a visitor of its own; whatever its console complains about fails the test, unless it is `allowed`."""
    width, height = PHONE if phone else (1280, 860)
    context = await browser.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", base_url=None
    )
    context.set_default_timeout(PATIENCE)
    page = await context.new_page()
    complaints: list[str] = []
    page.on(
        "console",
        lambda message: complaints.append(f"{message.text} {message.location}") if message.type == "error" else None,
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    try:
        yield page
        wrong = [text for text in complaints if not any(word in text for word in allowed)]
        assert not wrong, wrong
    finally:
        await context.close()


@asynccontextmanager
async def listening(**players: ScriptedPlayer) -> AsyncIterator[dict[str, str]]:
    """Role → the address of a player."""
    async with AsyncExitStack() as stack:
        yield {role: (await stack.enter_async_context(player)).url for role, player in players.items()}

"""Settings → the application: everything that the service consists of, started and stopped in order."""

import asyncio
import logging
import os
import resource
import signal
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import typer
from aiohttp import web

from gamemaster.tournament.store import Store, open_store
from gamemaster.web.api.document import OPERATIONS, document_text
from gamemaster.web.api.games import look_of
from gamemaster.web.api.operations import ROOT, SERVICES, Services, answer_expectation
from gamemaster.web.catalogue import Catalogue
from gamemaster.web.evaluators.analysis import Analyses
from gamemaster.web.evaluators.pool import DrawnStates, Pool
from gamemaster.web.html.pages import HOME_GAMES, add_pages, problem_page
from gamemaster.web.html.rendering import load_templates
from gamemaster.web.live.external import Endpoints
from gamemaster.web.live.feed import PATIENCE, Feed, Streams
from gamemaster.web.live.runner import LiveMatches
from gamemaster.web.queries import MatchQueries, Watchers
from gamemaster.web.repository import MatchRepository
from gamemaster.web.safety import READING, Connections, Guard, add_headers
from gamemaster.web.settings import MEDIA_TYPE, Problem, ServeSettings
from gamemaster.web.tournaments import TournamentProcesses, TournamentQueries
from ggp.errors import GgpError, RecordError, StoreError, cannot_listen

RULESHEETS = "rulesheets"  # the folder in that of the records where pasted rulesheets are kept
TOURNAMENTS = "tournaments"  # the same for tournaments that are begun here
_MOST_FIELD_BYTES = 32_768  # of a header: other services on this host have cookies in the browser, too
MOST_LINE_BYTES = 16_384  # of the first line of a request: the longest query that the API describes has 7,300
log = logging.getLogger(__name__)
_STATIC = Path(__file__).parent / "static"
_SHORT = 1400  # bytes, which one packet holds
_CONDITIONS = ("If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "If-Range", "Range")
_SECRET = ("/play/", "/humans/", "/endpoint")  # parts of paths of what only one person sees
_LONGEST_FILE = 200  # bytes of a path below that of static files
_SHUTDOWN_SECONDS = 1.0  # for open requests, twice
_LINGER_SECONDS = 2.0  # for the rest of a body that was answered already
_FILES = 4096  # that the process may open, where the system lets it
_OTHER_FILES = 256  # that are no connections of visitors
_END_SECONDS = 4.5  # after a signal, when the process ends even if something holds it up


def make_app(settings: ServeSettings, store: Store | None = None) -> web.Application:
    """The service; needs no running event loop yet. `store` stands for the one that the settings name."""
    app = web.Application(client_max_size=settings.limits.body_bytes, middlewares=[_explained])
    app.on_response_prepare.append(add_headers)
    app.on_response_prepare.append(_bound_patience)
    for operation in OPERATIONS:
        app.router.add_route(
            operation.method, ROOT + operation.path, operation.handler, expect_handler=answer_expectation
        )
    app.router.add_static("/static/", _STATIC, expect_handler=answer_expectation)
    add_pages(app)
    app.cleanup_ctx.append(partial(_services, settings, store))
    app.on_shutdown.append(_say_goodbye)
    return app


async def _services(settings: ServeSettings, given: Store | None, app: web.Application) -> AsyncIterator[None]:
    store = given
    if store is None and settings.store:
        store = await asyncio.to_thread(open_store, settings.store)
    services = _make_services(settings, store)
    await asyncio.to_thread(services.catalogue.load)
    await asyncio.to_thread(load_templates)
    await asyncio.to_thread(services.repository.make_folder)
    lost = await asyncio.to_thread(services.repository.end_lost)
    services.live_matches.ledger.total_bytes = await asyncio.to_thread(services.repository.size_bytes)
    if settings.warm:
        await services.pool.prepare()
        await services.people.prepare()
    endpoints = await services.endpoints.listen(settings.endpoint_port)
    app[SERVICES] = services
    freeing = asyncio.get_running_loop().create_task(services.live_matches.free_players(lost))
    warming = asyncio.get_running_loop().create_task(_warm(services) if settings.warm else asyncio.sleep(0))
    try:
        yield
    finally:
        warming.cancel()
        freeing.cancel()
        await services.watchers.close()
        await endpoints.cleanup()
        await services.analyses.close()
        await services.pool.close()
        await services.checks.close()
        await services.people.close()
        if store is not None and given is None:
            await asyncio.to_thread(store.close)


def _make_services(settings: ServeSettings, store: Store | None) -> Services:
    limits = settings.limits
    pool = Pool(limits.workers, limits, limits.waiting)
    checks = Pool(1, limits, limits.waiting)
    people = Pool(1, limits, limits.waiting, niceness=0)
    states = DrawnStates(limits.kept_bytes)
    catalogue = Catalogue(settings.records / RULESHEETS, limits)
    repository = MatchRepository(settings.records, store)
    live_matches = LiveMatches(settings, pool, states, repository.make_keep)
    changes = Feed()
    live_matches.on_change = partial(changes.publish, "changed", {})
    queries = MatchQueries(live_matches, repository, pool, checks, states, catalogue)

    def roles(game: str) -> tuple[str, ...]:
        entry = catalogue.get(game)
        return () if entry is None else entry.roles

    return Services(
        settings=settings,
        guard=Guard(settings),
        pool=pool,
        checks=checks,
        people=people,
        analyses=Analyses(limits),
        catalogue=catalogue,
        live_matches=live_matches,
        endpoints=Endpoints(people, states, catalogue, limits, live_matches.receive),
        repository=repository,
        queries=queries,
        streams=Streams(limits.listeners, limits.visitor_listeners),
        tournaments=TournamentQueries(store, roles),
        processes=TournamentProcesses(settings.records / TOURNAMENTS, settings.store, store),
        watchers=Watchers(queries, repository, changes),
        changes=changes,
        starts={},
        images={},
    )


async def _warm(services: Services) -> None:
    """Prepares what the first users would wait for."""
    with suppress(GgpError):  # which is said to those who want a match
        services.live_matches.bots.start()
    await asyncio.to_thread(document_text)
    for entry in services.catalogue.find()[:HOME_GAMES]:  # others are drawn when they are asked for
        with suppress(Problem, GgpError):
            await look_of(services, entry)
    with suppress(GgpError):
        await asyncio.to_thread(services.tournaments.warm)
        await asyncio.to_thread(services.repository.measure_move_times)


async def _say_goodbye(app: web.Application) -> None:
    """Before open requests are waited for: what holds them up ends, and spectators see that matches were given up."""
    services = app[SERVICES]
    async with asyncio.TaskGroup() as group:
        group.create_task(services.processes.close())
        pools = services.pool, services.checks, services.people
        for closing in (services.analyses, *pools, services.endpoints, services.live_matches):
            group.create_task(closing.close())
    services.streams.close()


@web.middleware
async def _explained(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Turns errors into answers: JSON below the root of the API, pages otherwise."""
    try:
        request.app[SERVICES].guard.check(request)
        if request.path.startswith("/static/") and len(request.path.encode(errors="replace")) > _LONGEST_FILE:
            raise Problem(404, "there is no such file")  # the file system would say that the name is too long
        handled = handler(request)
        # when the client has gone, only requests that read are cancelled
        return _compressed(request, await (handled if request.method in READING else asyncio.shield(handled)))
    except Problem as error:
        problem = error
    except web.HTTPException as error:
        if error.status < 400:
            raise
        problem = Problem(error.status, error.reason)
        problem.headers = {name: value for name, value in error.headers.items() if name == "Allow"}
    except (StoreError, RecordError) as error:  # which names files of this computer
        log.error("%s %s: %s", request.method, request.path, error)
        problem = Problem(503, "the store cannot be read; the log of the service says more")
    except GgpError as error:
        problem = Problem(422, str(error))
    except Exception:
        log.exception("%s %s", request.method, request.path)
        problem = Problem(500, "the service made a mistake; its log says more")
    return _response(request, problem)


async def _bound_patience(request: web.Request, _: web.StreamResponse) -> None:
    """The operating system ends a connection whose client takes nothing of its answer, which is in memory meanwhile."""
    connection = None if request.transport is None else request.transport.get_extra_info("socket")
    if connection is not None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(1000 * PATIENCE))


def _compressed(request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
    """What is long, where the browser can read it so; nothing with secrets, of which its length could tell much."""
    body = response.body if isinstance(response, web.Response) else None
    is_open = not response.cookies and not any(word in request.path for word in _SECRET)
    # of a file only as a whole: aiohttp would compress the missing body of "not modified" as well
    is_file = isinstance(response, web.FileResponse) and request.method == "GET"
    is_whole = is_file and not any(name in request.headers for name in _CONDITIONS)
    if is_open and (is_whole or (isinstance(body, bytes) and len(body) > _SHORT)):
        response.enable_compression()
        response.headers["Vary"] = "Accept-Encoding"
    return response


def _response(request: web.Request, problem: Problem) -> web.Response:
    if request.path == ROOT or request.path.startswith(f"{ROOT}/"):
        body = problem.as_json(request.path)
        response = web.Response(body=body, status=problem.status, content_type=MEDIA_TYPE)
    else:
        response = problem_page(request, problem)
    response.headers.update(problem.headers)
    if problem.retry_after is not None:
        response.headers["Retry-After"] = str(max(1, round(problem.retry_after)))
    if problem.status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def run(settings: ServeSettings) -> None:
    """Until SIGTERM, SIGINT or SIGHUP; the matches under way are given up in order."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)  # whatever is no HTTP; ours is told by ourselves
    asyncio.run(_serve(settings))


async def _serve(settings: ServeSettings) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, _end, stop)
    app = make_app(settings)
    runner = _runner(app, settings)
    await runner.setup()
    _bound_connections(runner, app[SERVICES].guard, settings)
    try:
        for strategy in settings.bots.values():
            await app[SERVICES].live_matches.bots.prepare(strategy)
        site = web.TCPSite(runner, settings.host, settings.port)
        try:
            await site.start()
        except OSError as error:
            raise cannot_listen(settings.host, settings.port, error) from None
        typer.echo(f"serving at {_address(runner.addresses[0])}")
        await stop.wait()
    finally:
        await runner.cleanup()


def _bound_connections(runner: web.AppRunner, guard: Guard, settings: ServeSettings) -> None:
    """As many as the settings allow, and the files that this process may open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < _FILES:
        soft = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    most = min(settings.limits.connections, max(1, soft - _OTHER_FILES))
    assert runner.server is not None
    Connections(guard, settings.limits, most).bound(runner.server)


def _runner(app: web.Application, settings: ServeSettings) -> web.AppRunner:
    return web.AppRunner(
        app,
        access_log=None,
        shutdown_timeout=_SHUTDOWN_SECONDS,
        max_line_size=MOST_LINE_BYTES,
        max_field_size=_MOST_FIELD_BYTES,
        keepalive_timeout=settings.limits.request_seconds,  # also of the first request of a connection
        lingering_time=_LINGER_SECONDS,
        handler_cancellation=True,  # when the client has gone; see `_explained`
    )


def _end(stop: asyncio.Event) -> None:
    """In order if that is soon done; our processes end with this one in any case."""
    if not stop.is_set():
        stop.set()
        watchdog = threading.Timer(_END_SECONDS, _end_at_once)
        watchdog.daemon = True
        watchdog.start()


def _end_at_once() -> None:
    log.error("the service did not end in order within %g s", _END_SECONDS)
    os._exit(1)


def _address(address: object) -> str:
    assert isinstance(address, tuple)
    host, port = address[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"

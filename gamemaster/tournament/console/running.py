"""Running a tournament under the eyes of a person, or for a program."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.console import Console

from gamemaster.supervision import KILLED
from gamemaster.tournament.console.making import make_folder, spec_of_line
from gamemaster.tournament.console.places import found, resume_command
from gamemaster.tournament.progress import LineWriter, LiveProgress, PlainProgress
from gamemaster.tournament.runner import NewsListener, Told, Venue, run_tournament
from gamemaster.tournament.spec import TournamentSpec, check_spec, read_spec
from gamemaster.tournament.standings import as_json, as_text, standings
from gamemaster.tournament.store import Store, open_store
from gamemaster.tournament.workshop import Workshop
from ggp.errors import SettingsError

CLUSTER = "gamemaster.tournament.cluster"


@dataclass(frozen=True, slots=True)
class How:
    """How a tournament is run and shown."""

    cluster: str | None
    as_json: bool
    where: str  # how the user may name the tournament to go on


def run_file(file: Path, wrong: Sequence[str], *, resume: bool, cluster: str | None, as_json: bool) -> int:
    """Runs a specification; `wrong` are options that were given beside it. The exit code."""
    if wrong:
        raise SettingsError(f"--{wrong[0]}: not together with a FILE, which says it")
    spec = read_spec(file)
    check_spec(spec, file)
    return _run(spec, How(cluster, as_json, str(file)), resume=resume)


def run_new(  # noqa: PLR0913 - what a command line says
    games: str | None,
    players: str | None,
    fields: Mapping[str, Any],
    sprt: str | None,
    results: Path | None,
    *,
    cluster: str | None,
    as_json: bool,
) -> int:
    """Runs what a command line says; the exit code."""
    spec, file = spec_of_line(games, players, fields, sprt, results)
    return _run(spec, How(cluster, as_json, str(file)), resume=False)


def resume(where: str, name: str | None, *, cluster: str | None, as_json: bool) -> int:
    """Goes on with a tournament that was begun; the exit code."""
    with found(where, name) as event:
        spec = event.stored.spec if event.spec is None else _as_begun(event.stored.spec, event.spec, where)
        return _play(spec, event.store, How(cluster, as_json, where))


def _run(spec: TournamentSpec, how: How, *, resume: bool) -> int:
    if how.cluster is not None:
        import_module(CLUSTER).check_address(how.cluster)  # before anything is made
    if "://" not in spec.results.store:
        make_folder(Path(spec.results.store).parent)
    with open_store(spec.results.store) as store:
        known = {stored.spec.name: stored for stored in store.tournaments()}
        if spec.name not in known:
            store.create(spec)
        elif not resume:
            finished = known[spec.name].counts.finished
            raise SettingsError(
                f"{spec.name} was begun already: {store.place} has {finished} results; "
                f"`{resume_command(how.where)}` goes on"
            )
        else:
            spec = _as_begun(known[spec.name].spec, spec, how.where)
        return _play(spec, store, how)


def _as_begun(begun: TournamentSpec, now: TournamentSpec, where: str) -> TournamentSpec:
    """The specification that counts: the stored one, with the limits of the file, since they change no result."""
    spec = begun.model_copy(update={"limits": now.limits})
    if spec != now:
        sys.stderr.write(f"ggp: {where} has changed since the tournament began; it goes on as it was specified\n")
    return spec


def _play(spec: TournamentSpec, store: Store, how: How) -> int:
    with _shown(how) as watch:
        received = asyncio.run(_supervised(_played(spec, store, how.cluster, watch)))
    _conclude(spec, store, how)
    return KILLED + received if received else 0


def _conclude(spec: TournamentSpec, store: Store, how: How) -> None:
    """Writes the report where one is wanted, and says what came of it."""
    stored = store.tournament(spec.name)
    values = standings([player.name for player in spec.players], store.results(spec.name))
    report = _export(spec, store) if stored.status == "complete" and spec.results.folder else None
    if how.as_json:
        facts = {"name": spec.name, "status": stored.status, "note": stored.note, "results": stored.counts.finished}
        places = {"store": store.place, "report": report and str(report)}
        whole = {**facts, **places, "standings": json.loads(as_json(values))}
        sys.stdout.write(json.dumps(whole, indent=2, ensure_ascii=False) + "\n")
        return
    say = Console(markup=False, highlight=False, emoji=False, soft_wrap=True).print
    say(f"\n{as_text(values)}")
    if stored.note:
        say(stored.note)
    if stored.status != "complete":
        say(f"{stored.counts.finished} matches have results; to go on: {resume_command(how.where)}")
        return
    say(f"results: {store.place}")
    if report is not None:
        say(f"report: {report}")


def _export(spec: TournamentSpec, store: Store) -> Path:
    """The report that was written, with everything that it leads to."""
    from gamemaster.tournament.exporting import export_all  # noqa: PLC0415 - it loads what draws

    return export_all(store, spec.name, Path(spec.results.folder)).folder / "report.html"


async def _played(spec: TournamentSpec, store: Store, cluster: str | None, listen: NewsListener) -> None:
    def tell(text: str) -> None:
        listen(Told(text))

    async with _venue(spec, cluster, tell) as venue:
        await run_tournament(spec, store, venue, listen)


@asynccontextmanager
async def _venue(spec: TournamentSpec, cluster: str | None, tell: Callable[[str], None]) -> AsyncIterator[Venue]:
    if cluster is not None:
        async with import_module(CLUSTER).open_venue(spec, cluster, tell) as venue:
            yield venue
        return
    workshop = Workshop(spec, tell)
    try:
        yield workshop
    finally:
        await workshop.close()


async def _supervised(work: Coroutine[Any, Any, None]) -> int:
    """Runs it to its end, or to a signal, whose number is given; a second one does not wait for players' answers."""
    task = asyncio.create_task(work)
    received: list[int] = []

    def give_up(number: int) -> None:
        received.append(number)
        for each in (task,) if len(received) == 1 else asyncio.all_tasks() - {supervisor}:
            each.cancel()

    supervisor = asyncio.current_task()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, give_up, number)
    try:
        await task
    except asyncio.CancelledError:
        if not received:
            raise
        return received[0]
    return 0


@contextmanager
def _shown(how: How) -> Iterator[NewsListener]:
    """Who shows the news: a screen on a terminal, lines elsewhere, nobody for a program."""
    console = Console(markup=False, highlight=False, emoji=False)
    if how.as_json:
        yield lambda _: None
    elif console.is_terminal and not console.is_dumb_terminal:
        live = LiveProgress(console)
        live.start()
        try:
            yield live.watch
        finally:
            live.stop()
    else:
        lines = LineWriter(sys.stdout)
        try:
            yield PlainProgress(lines.write).watch
        finally:
            lines.close()

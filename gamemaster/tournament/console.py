"""What the commands do: specifications, stores and reports between files, terminal and network."""

import asyncio
import json
import os
import shlex
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.console import Console

from gamemaster.bots import start_bot
from gamemaster.concurrency import KILLED, all_of
from gamemaster.faults import Fault
from gamemaster.settings import MatchSettings
from gamemaster.tournament.progress import LineWriter, LiveProgress, PlainProgress
from gamemaster.tournament.runner import NewsListener, Notice, Venue, run_tournament
from gamemaster.tournament.schedule import Schedule, schedule_of
from gamemaster.tournament.spec import PlayerSpec, TournamentSpec
from gamemaster.tournament.spec_files import check_spec, read_spec
from gamemaster.tournament.spec_options import make_folder, spec_of_line
from gamemaster.tournament.standings import standings
from gamemaster.tournament.standings_texts import as_json, as_text
from gamemaster.tournament.standings_texts import as_json as standings_json
from gamemaster.tournament.store import MatchRow, Store, StoredTournament, open_store
from gamemaster.tournament.venue import LocalVenue, settings_of
from gamemaster.transport import HttpTransport, open_session
from ggp.cluster import check_address
from ggp.commands.shared import can_redraw
from ggp.errors import GgpError, SettingsError, StoreError
from ggp.protocol.messages import Info

COMMAND_VARIABLE = "GGP_COMMAND"
STORE_SUFFIXES = (".sqlite", ".sqlite3", ".db")
SQLITE = b"SQLite format 3\0"  # how such a file begins


@dataclass(frozen=True, slots=True)
class BegunTournament:
    """A tournament that was begun."""

    store: Store
    stored: StoredTournament
    where: str  # how the user named it
    spec: TournamentSpec | None  # the specification as the user's file has it now, if it was a file

    @property
    def name(self) -> str:
        return self.stored.spec.name


@contextmanager
def found(where: str, name: str | None) -> Iterator[BegunTournament]:
    """The tournament of a specification, or of a store; SettingsError or StoreError where it was not begun."""
    spec = None if is_store(where) else _read_spec(where)
    place = where if spec is None else spec.results.store
    if spec is not None and "://" not in place and not Path(place).exists():
        raise _not_begun(spec.name, where)
    with open_store(place, create=False) as store:
        yield BegunTournament(store, _stored(store, where, name, spec), where, spec)


def _read_spec(where: str) -> TournamentSpec:
    """SettingsError that helps where it is the record of a match, StoreError where it was to be a store."""
    try:
        return read_spec(Path(where))
    except SettingsError:
        path = Path(where)
        if path.suffix in STORE_SUFFIXES and path.is_file():
            reason = "it is no database" if path.stat().st_size else "it is empty"
            raise StoreError(f"{where}: not a store of tournaments: {reason}") from None
        if _begins_with(where, b"{"):
            message = "no specification and no store, but perhaps the record of a match"
            raise SettingsError(f"{where}: {message}: `ggp replay {shlex.quote(where)}` shows one") from None
        raise


def is_store(where: str) -> bool:
    """Whether it is a database rather than a specification."""
    return "://" in where or _begins_with(where, SQLITE)


def _begins_with(where: str, begin: bytes) -> bool:
    try:
        with Path(where).open("rb") as file:
            return file.read(len(begin)) == begin
    except OSError:
        return False


def resume_command(where: str, name: str | None = None) -> str:
    """What to type to go on."""
    return _command("resume", where, *(["--name", name] if name else []))


def _command(*words: str) -> str:
    """A command as the user types it: in a container, $GGP_COMMAND says what stands for `ggp`."""
    return f"{os.environ.get(COMMAND_VARIABLE) or 'ggp'} tournament {shlex.join(words)}"


def _stored(store: Store, where: str, name: str | None, spec: TournamentSpec | None) -> StoredTournament:
    if spec is not None:
        if name not in (None, spec.name):
            raise SettingsError(f"--name: {where} specifies {spec.name}, not {name}")
        if spec.name not in {stored.spec.name for stored in store.tournaments()}:
            raise _not_begun(spec.name, where)
        return store.tournament(spec.name)
    if name is not None:
        return store.tournament(name)
    everything = store.tournaments()
    if len(everything) != 1:
        names = ", ".join(stored.spec.name for stored in everything)
        raise StoreError(f"{store.place}: " + (f"--name says which: there are {names}" if names else "no tournament"))
    return everything[0]


def _not_begun(name: str, where: str) -> SettingsError:
    return SettingsError(f"{name} was not begun yet: `{_command('run', where)}` does it")


CLUSTER = "gamemaster.tournament.cluster"


@dataclass(frozen=True, slots=True)
class How:
    """How a tournament is run and shown."""

    cluster: str | None
    as_json: bool
    where: str  # how the user may name the tournament to go on


def run_file(file: Path, wrong: Sequence[str], *, resume: bool, cluster: str | None, as_json: bool) -> int:
    """Runs a specification; `wrong` are options that contradict it. The exit code."""
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
    spec, file, earlier = spec_of_line(games, players, fields, sprt, results)
    if earlier is not None:
        sys.stderr.write(
            f"ggp: {earlier} was run before; this plays it again, as {spec.name}. "
            f"To go on with the earlier one: {resume_command(str(earlier))}\n"
        )
    return _run(spec, How(cluster, as_json, str(file)), resume=False)


def resume(where: str, name: str | None, *, cluster: str | None, as_json: bool) -> int:
    """Goes on with a tournament that was begun; the exit code."""
    with found(where, name) as event:
        spec = event.stored.spec if event.spec is None else _as_begun(event.stored.spec, event.spec, where)
        return _play(spec, event.store, How(cluster, as_json, where))


def _run(spec: TournamentSpec, how: How, *, resume: bool) -> int:
    if how.cluster is not None:
        check_address(how.cluster)  # before anything is made
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
    """Writes the report where one is wanted, and prints the standings."""
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

    exported = export_all(store, spec.name, Path(spec.results.folder))
    for problem in exported.problems:
        sys.stderr.write(f"ggp: {problem}\n")
    return exported.folder / "report.html"


async def _played(spec: TournamentSpec, store: Store, cluster: str | None, listen: NewsListener) -> None:
    def tell(text: str) -> None:
        listen(Notice(text))

    async with _venue(spec, cluster, tell) as venue:
        await run_tournament(spec, store, venue, listen)


@asynccontextmanager
async def _venue(spec: TournamentSpec, cluster: str | None, tell: Callable[[str], None]) -> AsyncIterator[Venue]:
    if cluster is not None:
        async with import_module(CLUSTER).open_venue(spec, cluster, tell) as venue:
            yield venue
        return
    venue = LocalVenue(spec, tell)
    try:
        yield venue
    finally:
        await venue.close()


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
    """What shows the news: a full screen on a terminal, lines elsewhere, nothing for a program."""
    console = Console(markup=False, highlight=False, emoji=False)
    if how.as_json:
        yield lambda _: None
    elif can_redraw(console):
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


def show_status(where: str, name: str | None, *, as_json: bool) -> None:
    """Shows as `ggp tournament status` describes."""
    with found(where, name) as event:
        results = event.store.results(event.name)
        values = standings([player.name for player in event.stored.spec.players], results)
        running = event.store.running(event.name)
        expected = _expected(event)
    stored = event.stored
    if as_json:
        manager = None if stored.manager is None else {**asdict(stored.manager), "since": str(stored.manager.since)}
        facts = {"name": event.name, "status": stored.status, "note": stored.note, "manager": manager}
        counts = {"results": stored.counts.finished, "expected": expected, "running": [row.pairing for row in running]}
        whole = {**facts, **counts, "standings": json.loads(standings_json(values))}
        sys.stdout.write(json.dumps(whole, indent=2, ensure_ascii=False) + "\n")
        return
    say = Console(markup=False, highlight=False, emoji=False, soft_wrap=True).print
    of = "" if expected is None else f" of {expected}"
    note = f": {stored.note}" if stored.note else ""
    say(f"{event.name}: {stored.status}{note}; {stored.counts.finished}{of} matches have results")
    if stored.manager is not None:
        since = stored.manager.since.astimezone()
        say(f"run by process {stored.manager.pid} on {stored.manager.host} since {since:%Y-%m-%d %H:%M}")
    elif stored.status != "complete":
        say(resume_command(where, name))
    for row in running:
        say(f"  {_running(row)}")
    say(f"\n{as_text(values)}")


def export(where: str, to: Path | None, name: str | None, *, as_json: bool) -> int:
    """Writes as `ggp tournament export` describes; the exit code."""
    from gamemaster.tournament.exporting import export_all  # noqa: PLC0415 - it loads what draws

    with found(where, name) as event:
        folder = to or Path(event.stored.spec.results.folder or event.name)
        exported = export_all(event.store, event.name, folder)
    if as_json:
        sys.stdout.write(json.dumps({**asdict(exported), "folder": str(folder)}, indent=2, ensure_ascii=False) + "\n")
    else:
        for problem in exported.problems:
            sys.stdout.write(f"{problem}\n")
        kept = f"{exported.kept} were there already"
        sys.stdout.write(f"{exported.folder}: {exported.written} matches written, {kept}\n")
    return EXIT_BAD if exported.problems else 0


def _expected(event: BegunTournament) -> int | None:
    """How many matches there are in all; None where the rulesheets are not to be had any more."""
    spec = event.stored.spec
    try:
        return schedule_of(spec, check_spec(spec), event.store.results(event.name)).expected
    except GgpError:
        return None


def _running(row: MatchRow) -> str:
    attempt = f", attempt {row.attempt}" if row.attempt > 1 else ""
    return f"{row.pairing}: {' : '.join(row.players)}, {row.steps} steps{attempt}"


EXIT_BAD = 1


@dataclass(frozen=True, slots=True)
class Tried:
    """What a check found out about a player."""

    player: str
    place: str  # the URL or the name of the bot
    is_good: bool
    what: str


def check(file: Path, *, as_json: bool) -> int:
    """Checks as `ggp tournament check` describes; the exit code."""
    spec = read_spec(file)
    schedule = Schedule(spec, check_spec(spec, file))
    tried = asyncio.run(_try_all(spec))
    remarks = _remarks(spec)
    if as_json:
        facts = {"name": spec.name, "matches": schedule.expected, "remarks": remarks}
        sys.stdout.write(json.dumps({**facts, "players": [asdict(each) for each in tried]}, indent=2) + "\n")
    else:
        games = ", ".join(game.name for game in spec.games)
        lines = [f"{spec.name}: {spec.format}, {len(spec.players)} players, {schedule.expected} matches of {games}"]
        lines += [f"  {each.player}: {each.place}: {each.what}" for each in tried]
        sys.stdout.write("\n".join([*lines, *remarks]) + "\n")
    return 0 if all(each.is_good for each in tried) else EXIT_BAD


async def _try_all(spec: TournamentSpec) -> list[Tried]:
    """Bots one after the other, so that each has the processors for itself."""
    tried = {player.name: await _try_bot(player) for player in spec.players if player.bot is not None}
    settings = MatchSettings()
    external = {player.name: player for player in spec.players if player.url is not None}
    async with open_session() as session:
        limit = settings.max_answer_bytes
        replies = await all_of(
            {
                name: HttpTransport(session, player.address.place, name, player.dialect, limit).ask(
                    Info(), settings.info_wait
                )
                for name, player in external.items()
            }
        )
    for name, reply in replies.items():
        is_there = not isinstance(reply.answer, Fault) or reply.answer.kind != "unreachable"
        what = reply.answer.detail if isinstance(reply.answer, Fault) else f"answers within {reply.seconds:.2f} s"
        url = external[name].address.place
        tried[name] = Tried(name, url, is_there, what if is_there else f"does not answer: {what}")
    return [tried[player.name] for player in spec.players]


async def _try_bot(player: PlayerSpec) -> Tried:
    """SettingsError for one that cannot be started."""
    assert player.bot is not None
    began = time.monotonic()
    try:
        bot = await start_bot(player.bot, 0, settings_of(player))
    except SettingsError as error:
        raise SettingsError(f"{player.name}: {error}") from None
    seconds = time.monotonic() - began
    await bot.stop()
    return Tried(player.name, player.bot, is_good=True, what=f"starts within {seconds:.1f} s")


def _remarks(spec: TournamentSpec) -> list[str]:
    """What the user may not expect of the processors."""
    threads = sum(player.threads for player in spec.players if player.bot is not None)
    room = LocalVenue(spec, lambda _: None)
    most = max((player.threads for player in spec.players if player.bot is not None), default=0)
    if most > room.processors:
        return [f"a bot needs {most} processors and there are {room.processors}: it gets less time than the clock says"]
    if threads > room.processors == 1:
        return ["there is one processor: bots of one match share it"]
    return []

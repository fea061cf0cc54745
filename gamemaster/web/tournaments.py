"""The tournaments of the store → what pages show of them; those that the operator begins here."""

import asyncio
import logging
import re
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Annotated, TypeAlias
from urllib.parse import quote

from pydantic import Field, ValidationError

from gamemaster.tournament.exporting import report
from gamemaster.tournament.pairings import MatchResult
from gamemaster.tournament.ratings import Estimate, sprt_of
from gamemaster.tournament.schedule import next_pairings
from gamemaster.tournament.spec import Format, TournamentSpec
from gamemaster.tournament.spec_files import spec_text
from gamemaster.tournament.standings import Conduct, PlayerStanding, RoleStanding, Standings, standings
from gamemaster.tournament.store import Store, StoredTournament
from gamemaster.web import models
from gamemaster.web.catalogue import roles_of
from gamemaster.web.repository import head_of_row
from gamemaster.web.settings import Problem, conflict, not_found, refused
from gamemaster.web.views import BETWEEN, match_url
from ggp.errors import GgpError, NotStoredError
from ggp.gdl.reader import decode
from ggp.gdl.rulesheet import NATURE, parse_rulesheet
from ggp.library import find_rulesheet, read_bytes

log = logging.getLogger(__name__)

_REST = 1.0  # seconds for which standings may be old while a tournament is running
_BEGIN_SECONDS = 30.0  # until a tournament plays
_END_SECONDS = 10.0  # for players' answers, until it is told once more that it is to end
_CLOSE_SECONDS = 2.5  # the same where the service ends
_LOOK_SECONDS = 0.1  # between two looks whether it plays
_FIXED = ("round robin", "gauntlet")  # formats that know all matches from the beginning

Roles = Callable[[str], tuple[str, ...]]  # game → its roles


_NewPlayer: TypeAlias = Annotated[models.Bot | models.External, Field(discriminator="kind")]


class NewTournament(models.Part):
    """A tournament that is to be played; seconds."""

    name: Annotated[str, Field(max_length=60)] = Field(description="One word of letters, digits, - and _.")
    games: Annotated[tuple[Annotated[str, Field(max_length=200)], ...], Field(min_length=1, max_length=100)]
    players: Annotated[tuple[_NewPlayer, ...], Field(min_length=1, max_length=64)]
    format: Format = "round robin"
    rounds: Annotated[int, Field(ge=1, le=1_000)] = 1
    startclock: models.Clock = 10
    playclock: models.Clock = 5
    seed: Annotated[int, Field(ge=0, lt=2**53)] | None = None


@dataclass(frozen=True, slots=True)
class _Worked:
    """What was worked out of a tournament."""

    finished: int  # results that it was worked out of
    at: float
    standings: Standings
    test: models.SequentialTest | None
    planned: Mapping[frozenset[str], int]  # who meets whom how often, where that is known
    total: int | None


class TournamentQueries:
    """Called from threads."""

    def __init__(self, store: Store | None, roles: Roles) -> None:
        self._store = store
        self._roles = roles
        self._worked: dict[str, _Worked] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._reporting = threading.Lock()
        self._last_report: tuple[object, str] = (None, "")  # of which state of which tournament

    def heads(self) -> tuple[models.TournamentHead, ...]:
        """All tournaments, those that are running and the newest first."""
        if self._store is None:
            return ()
        stored = sorted(self._store.tournaments(), key=lambda one: one.created, reverse=True)
        stored.sort(key=lambda one: one.status != "running")
        return tuple(self._head(one) for one in stored)

    def get(self, name: str) -> models.Tournament:
        """A Problem where there is no such tournament."""
        store = self._store
        if store is None:
            raise not_found(f"there is no tournament {name}")
        try:
            stored = store.tournament(name)
        except NotStoredError as error:
            raise not_found(str(error)) from None
        worked = self._work(store, stored)
        found = worked.standings
        running = store.running(name)
        return models.Tournament(
            **dict(self._head(stored)),
            lines=tuple(map(_line, found.lines)),
            meetings=tuple(
                models.MeetingLine(
                    player=meeting.player,
                    opponent=meeting.opponent,
                    wins=meeting.wins,
                    draws=meeting.draws,
                    losses=meeting.losses,
                    planned=worked.planned.get(frozenset((meeting.player, meeting.opponent))),
                )
                for meeting in found.meetings
            ),
            roles=tuple(_role(role) for table in found.games for role in table.roles),
            tables=tuple(
                models.GameStandings(
                    game=table.game,
                    matches=table.matches,
                    mean_steps=table.mean_steps,
                    lines=tuple(map(_line, table.lines)),
                )
                for table in found.games
            ),
            conduct=tuple(map(_conduct, found.conduct)),
            test=worked.test,
            under_way=tuple(head_of_row(row, self._roles(row.game)) for row in running),
        )

    def report(self, name: str) -> str:
        """The report as HTML, for everybody; a Problem where there is no such tournament."""
        store = self._store
        if store is None:
            raise not_found(f"there is no tournament {name}")
        with self._reporting:  # one at a time: it takes a second where there are many matches
            try:
                stored = store.tournament(name)
                key = name, stored.status, stored.counts.finished
                if self._last_report[0] != key:
                    status = f"{stored.status}: {stored.note}" if stored.note else stored.status
                    found = store.results(name)
                    told = report(stored.spec, found, status=status, link=partial(_match_url, name), home=_url(name))
                    self._last_report = key, told
            except NotStoredError as error:
                raise not_found(str(error)) from None
            return self._last_report[1]

    def warm(self) -> None:
        """Works everything out, so that nobody waits for it later."""
        if self._store is not None:
            for stored in self._store.tournaments():
                self._work(self._store, stored)

    def _head(self, stored: StoredTournament) -> models.TournamentHead:
        spec, counts = stored.spec, stored.counts
        worked = self._worked.get(spec.name)
        return models.TournamentHead(
            name=spec.name,
            status=stored.status,
            url=_url(spec.name),
            format=spec.format,
            games=tuple(game.name for game in spec.games),
            players=tuple(player.name for player in spec.players),
            finished=counts.finished,
            running=counts.running,
            failed=counts.failed,
            total=None if worked is None else worked.total,
            created=stored.created,
            note=stored.note,
        )

    def _work(self, store: Store, stored: StoredTournament) -> _Worked:
        name, finished = stored.spec.name, stored.counts.finished
        with self._locks.setdefault(name, threading.Lock()):
            known = self._worked.get(name)
            if known is not None:
                is_young = stored.status == "running" and time.monotonic() - known.at < _REST
                if known.finished == finished or is_young:
                    return known
            results = store.results(name)
            spec = stored.spec
            total, planned = known_schedule(spec) if known is None else (known.total, known.planned)
            found = standings([player.name for player in spec.players], results)
            worked = _Worked(finished, time.monotonic(), found, _test(spec, results), planned, total)
            self._worked[name] = worked
            return worked


class TournamentProcesses:
    """Tournaments that are begun here, each in a process of its own, as by `ggp tournament run`.

    They end with the service, unless that is killed: then they go on to their end. Used in the event loop.
    """

    def __init__(self, folder: Path, place: str, store: Store | None) -> None:
        """folder: for specifications, reports and what the processes say; place: the store, as an option names it."""
        self._folder = folder
        self._place = place
        self._store = store
        self._running: dict[str, asyncio.subprocess.Process] = {}
        self._beginning: set[str] = set()  # names that are taken, though the store has no such tournament yet

    def is_begun_here(self, name: str) -> bool:
        """Whether it goes on, and can be ended here."""
        return name in self._running and self._running[name].returncode is None

    async def begin(self, wanted: NewTournament, players: list[dict[str, str]], rules: Mapping[str, str]) -> None:
        """Returns when it plays; a Problem where it does not. players: as in a specification; rules: game → text, of
        games that are not shipped."""
        if self._store is None or not self._place:
            raise conflict("there is no store for the results; `ggp serve --store FILE` has one")
        name = wanted.name
        if name in self._beginning or self.is_begun_here(name):
            raise conflict(f"there is a tournament {name} already")
        self._beginning.add(name)
        try:
            if await asyncio.to_thread(self._status, name) is not None:
                raise conflict(f"there is a tournament {name} already")
            await self._begin(wanted, players, rules)
        except OSError as error:  # which names files of this computer
            log.error("tournament %s: %s", name, error)
            raise Problem(503, "a tournament cannot be begun; the log of the service says more") from None
        finally:
            self._beginning.discard(name)

    async def _begin(self, wanted: NewTournament, players: list[dict[str, str]], rules: Mapping[str, str]) -> None:
        file = await asyncio.to_thread(self._write, wanted, players, rules)
        log = file.with_suffix(".log")
        command = ("-P", "-m", "ggp", "tournament", "run", str(file), "--json")
        with log.open("wb") as said:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=said,
                start_new_session=True,  # Ctrl-C is for the service, which ends it
            )
        self._running[wanted.name] = process
        until = time.monotonic() + _BEGIN_SECONDS
        while process.returncode is None and await asyncio.to_thread(self._status, wanted.name) in (None, "new"):
            if time.monotonic() >= until:
                await self._end(process, 0.0)
                raise Problem(503, f"the tournament did not begin within {_BEGIN_SECONDS:g} s")
            await asyncio.sleep(_LOOK_SECONDS)
        if await asyncio.to_thread(self._status, wanted.name) in (None, "new"):
            # the operator did not write that file: its path and line are of no use in a browser
            said_last = re.sub(rf"^{re.escape(str(file))}(, line \d+)?: ", "", _last_line(log))
            raise refused(said_last or f"the tournament ended with exit code {process.returncode}")

    async def end(self, name: str) -> None:
        """Gives up the matches under way; `ggp tournament resume` can go on. A Problem where it does not run here."""
        if not self.is_begun_here(name) or await asyncio.to_thread(self._status, name) != "running":
            raise conflict(f"no tournament {name} that was begun here is running")
        await self._end(self._running[name], _END_SECONDS)

    async def close(self) -> None:
        """Ends all."""
        running = [process for process in self._running.values() if process.returncode is None]
        await asyncio.gather(*(self._end(process, _CLOSE_SECONDS) for process in running))

    async def _end(self, process: asyncio.subprocess.Process, patience: float) -> None:
        for _ in range(2):  # the second time it does not wait for answers
            if process.returncode is None:
                process.send_signal(signal.SIGINT)
                try:
                    async with asyncio.timeout(patience):
                        await process.wait()
                except TimeoutError:
                    patience = 1.0
        if process.returncode is None:
            process.kill()
            await process.wait()

    def _status(self, name: str) -> str | None:
        """Of a tournament of the store; None where it has none."""
        assert self._store is not None
        return next((stored.status for stored in self._store.tournaments() if stored.spec.name == name), None)

    def _write(self, wanted: NewTournament, players: list[dict[str, str]], rules: Mapping[str, str]) -> Path:
        """The specification; a Problem says what is wrong with it."""
        folder = (self._folder / wanted.name).absolute()
        games = [
            {"rules": str(folder / f"{game}.kif") if game in rules else game, "name": game} for game in wanted.games
        ]
        try:
            spec = TournamentSpec.model_validate(
                {
                    "name": wanted.name,
                    "format": wanted.format,
                    "rounds": wanted.rounds,
                    "games": games,
                    "players": players,
                    "match": {"startclock": wanted.startclock, "playclock": wanted.playclock},
                    "results": {"store": _absolute(self._place), "folder": str(folder)},
                    **({} if wanted.seed is None else {"seed": wanted.seed}),
                }
            )
        except ValidationError as error:
            found = error.errors()[0]
            raise refused(f"{'.'.join(map(str, found['loc']))}: {found['msg']}".lstrip(": ")) from None
        folder.mkdir(parents=True, exist_ok=True)
        for game, text in rules.items():
            (folder / f"{game}.kif").write_text(text, encoding="utf-8")
        file = folder / f"{wanted.name}.toml"
        file.write_text(spec_text(spec), encoding="utf-8")
        return file


def _url(name: str) -> str:
    return f"/tournaments/{quote(name)}"


def _match_url(tournament: str, pairing: str) -> str:
    return match_url(f"{tournament}{BETWEEN}{pairing}")


def _absolute(place: str) -> str:
    return place if "://" in place else str(Path(place).absolute())


def _last_line(log: Path) -> str:
    """What a process said last, without the name of the program."""
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    return next((line.removeprefix("ggp: ") for line in reversed(lines) if line.strip()), "")


def known_schedule(spec: TournamentSpec) -> tuple[int | None, dict[frozenset[str], int]]:
    """How many matches there will be, and how many of each two players; None where results decide that."""
    if spec.format not in _FIXED:
        return None, {}
    try:
        players = {game.name: len(_players(game.rules)) for game in spec.games}
        pairings = next_pairings(spec, players, ())
    except (GgpError, ValueError):  # the rulesheets may not be on this computer
        return None, {}
    planned: Counter[frozenset[str]] = Counter()
    for pairing in pairings:
        planned.update(map(frozenset, combinations(pairing.players, 2)))
    return len(pairings), dict(planned)


def _players(rules: str) -> list[str]:
    path = find_rulesheet(rules)
    rulesheet = parse_rulesheet(decode(read_bytes(path), str(path)), str(path))
    return [role for role in roles_of(rulesheet) if role != NATURE]


def _test(spec: TournamentSpec, results: tuple[MatchResult, ...]) -> models.SequentialTest | None:
    wanted = spec.sprt
    if wanted is None:
        return None
    try:
        found = sprt_of(results, wanted.elo0, wanted.elo1, wanted.alpha, wanted.beta, player=spec.players[0].name)
    except GgpError:  # nothing can be said yet
        return None
    return models.SequentialTest(
        player=found.player,
        opponent=found.opponent,
        llr=found.llr,
        lower=found.lower,
        upper=found.upper,
        decision=found.decision,
        pairs=sum(found.pairs),
        elo=_rated(found.elo),
    )


def _rated(estimate: Estimate) -> models.Rated:
    return models.Rated(value=estimate.value, low=estimate.low, high=estimate.high)


def _line(line: PlayerStanding) -> models.StandingLine:
    tally = line.tally
    return models.StandingLine(
        rank=line.rank,
        player=line.player,
        matches=tally.matches,
        wins=tally.wins,
        draws=tally.draws,
        losses=tally.losses,
        points=tally.points,
        mean_goal=tally.mean_goal,
        rating=None if line.rating is None else _rated(line.rating),
    )


def _role(role: RoleStanding) -> models.RoleLine:
    tally = role.tally
    return models.RoleLine(
        game=role.game,
        role=role.role,
        matches=tally.matches,
        wins=tally.wins,
        draws=tally.draws,
        losses=tally.losses,
        mean_goal=tally.mean_goal,
        advantage=None if role.advantage is None else _rated(role.advantage),
    )


def _conduct(conduct: Conduct) -> models.ConductLine:
    return models.ConductLine(
        player=conduct.player,
        moves=conduct.steps,
        seconds=conduct.seconds,
        longest=conduct.longest,
        faults=dict(conduct.faults),
    )

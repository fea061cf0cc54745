"""What a cluster is asked for, and what a node does; here without Ray: nodes and tasks are made up."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gamemaster.match import Began, Event
from gamemaster.record import MatchRecord
from gamemaster.replay import replay
from gamemaster.tournament import cluster
from gamemaster.tournament.cluster import Cluster, ClusterVenue, NodeLostError, RunningTask
from gamemaster.tournament.node import Assignment, NodeReport, claimed, play_match
from gamemaster.tournament.pairings import Pairing
from gamemaster.tournament.runner import ATTEMPTS, MatchLostError, News, run_tournament
from gamemaster.tournament.spec import TournamentSpec
from gamemaster.tournament.spec_files import spec_text
from gamemaster.tournament.store import open_store
from gamemaster.tournament.venue import Job, Reservation, Shortage, usable_processors
from ggp.cluster import check_address
from ggp.errors import SettingsError, StoreError
from ggp.gdl.state_machine import Facts
from ggp.protocol.messages import Abort
from tests.gamemaster.scripted import ScriptedPlayer
from tests.gamemaster.test_bots import processes
from tests.gamemaster.test_commands import ggp_command, in_folder
from tests.gamemaster.tournament.events import Given, spec
from tests.gamemaster.tournament.store_matches import a_record
from tests.gamemaster.tournament.test_venue import external
from tests.gamemaster.tournament.venues import MadeUp, drawn, lines

__all__ = ["in_folder"]

TWO_BOTS: list[Given] = ["a=legal", "b=random"]


class MadeUpCluster(Cluster):
    """Nodes with so many processors; tasks end when a test ends them."""

    def __init__(self, thread: ThreadPoolExecutor, *processors: int) -> None:
        super().__init__(thread)
        self.nodes = list(processors)
        self.reports: list[NodeReport] = []
        self.started: list[tuple[Assignment, int, str]] = []
        self.tasks: list[asyncio.Future[MatchRecord]] = []
        self.cancelled: list[bool] = []
        self.has_started = asyncio.Event()

    async def processors(self) -> Sequence[int]:
        return self.nodes

    async def start(self, function: Callable[..., Any], *arguments: object, processors: int, name: str) -> RunningTask:
        assert function is play_match
        assignment = arguments[0]
        assert isinstance(assignment, Assignment)
        self.started.append((assignment, processors, name))
        self.tasks.append(asyncio.get_running_loop().create_future())
        self.has_started.set()
        return RunningTask(None, self.tasks[-1])

    async def ask(self, method: object) -> list[NodeReport]:
        taken, self.reports = self.reports, []
        return taken

    async def outcome(self, running: RunningTask) -> MatchRecord:
        record = await running.result
        assert isinstance(record, MatchRecord)
        return record

    async def cancel(self, running: RunningTask, *, at_once: bool = False) -> None:
        self.cancelled.append(at_once)
        running.result.cancel()


@asynccontextmanager
async def made_up(event: TournamentSpec, *processors: int) -> AsyncIterator[tuple[ClusterVenue, MadeUpCluster]]:
    with ThreadPoolExecutor(1) as thread:
        cluster = MadeUpCluster(thread, *processors)
        venue = ClusterVenue(event, cluster, SimpleNamespace(take=None), nothing)
        await venue.look()
        yield venue, cluster


async def test_a_cluster_that_cannot_be_asked_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(cluster, "LOOK_EVERY", 0.0)
    told: list[str] = []
    with ThreadPoolExecutor(1) as thread:
        made = MadeUpCluster(thread, 2)
        venue = ClusterVenue(spec(tmp_path, ["guessing"], TWO_BOTS), made, SimpleNamespace(take=None), told.append)
        failures = iter([ConnectionError("gone"), ConnectionError("gone")])
        seen: list[bool] = []

        async def processors() -> Sequence[int]:
            if failure := next(failures, None):
                raise failure
            if seen:
                over.set()
            seen.append(True)
            return made.nodes

        over = asyncio.Event()
        monkeypatch.setattr(made, "processors", processors)
        attending = asyncio.create_task(venue.attend())
        await asyncio.wait_for(over.wait(), 30)
        attending.cancel()
    assert told == ["the cluster cannot be asked: gone", "the cluster can be asked again"]
    assert [record.getMessage() for record in caplog.records if record.exc_info] == ["the cluster cannot be asked"]


def nothing(_: object) -> None:
    """Of no interest to a test."""


def job(event: TournamentSpec, *players: str) -> Job:
    pairing = Pairing("r001-1", 0, event.games[0].name, players, 5)
    return Job(pairing, 1, "r001-1", event.settings_of(pairing.game, pairing.seed))


def play(
    venue: ClusterVenue,
    match: Job,
    keep: Callable[[MatchRecord], None] = nothing,
    listen: Callable[[Event], None] = nothing,
) -> asyncio.Task[MatchRecord]:
    place = venue.reserve(match.pairing.players)
    assert isinstance(place, Reservation)
    return asyncio.create_task(venue.play(match, place, keep, listen))


# How much is asked of it


async def test_matches_take_the_processors_of_all_nodes_and_of_one_node_each(tmp_path: Path) -> None:
    players: list[Given] = [
        "a=legal",
        {"name": "big", "bot": "legal", "threads": 3},
        external("x", "192.0.2.1"),
        {"name": "y", "url": "http://192.0.2.1:9148/"},
    ]
    async with made_up(spec(tmp_path, ["guessing"], players), 2, 0, 3) as (venue, cluster):
        assert [venue.needs(names) for names in (("a", "x"), ("a", "a"), ("a", "big"), ("x", "y"))] == [1, 2, 3, 0]
        first = venue.reserve(("a", "big"))
        assert isinstance(first, Reservation)
        assert len(first.processors) == 3
        assert venue.reserve(("big", "big")) is Shortage.PROCESSORS
        assert isinstance(venue.reserve(("a", "x")), Reservation)
        assert venue.reserve(("a", "y")) is Shortage.PLAYERS
        venue.release(first)
        cluster.nodes = [1, 1]
        await venue.look()
        assert venue.needs(("a", "big")) == 1
        assert isinstance(venue.reserve(("a", "big")), Reservation)
        assert venue.reserve(("a", "big")) is Shortage.PROCESSORS


async def test_limits_hold_for_all_nodes_together(tmp_path: Path) -> None:
    limits = {"matches": 2, "processors": 3}
    async with made_up(spec(tmp_path, ["guessing"], TWO_BOTS, limits=limits), 8, 8) as (venue, _):
        first = venue.reserve(("a", "b"))
        assert isinstance(first, Reservation)
        assert venue.reserve(("a", "b")) is Shortage.PROCESSORS
        assert isinstance(venue.reserve(("a",)), Reservation)
        assert venue.reserve(("a",)) is Shortage.MATCHES


async def test_one_match_is_asked_for_even_where_there_is_no_node(tmp_path: Path) -> None:
    async with made_up(spec(tmp_path, ["guessing"], TWO_BOTS), 0) as (venue, cluster):
        assert venue.needs(("a", "b")) == 2
        place = venue.reserve(("a", "b"))
        assert isinstance(place, Reservation)
        assert venue.reserve(("a", "b")) is Shortage.PROCESSORS
        cluster.nodes = [2, 2]
        await venue.look()
        assert isinstance(venue.reserve(("a", "b")), Reservation)
        cluster.nodes = []
        await venue.look()
        assert venue.reserve(("a", "b")) is Shortage.PROCESSORS


# A match that is sent away


async def test_what_a_node_reports_is_kept_and_told_until_there_is_a_result(tmp_path: Path) -> None:
    event = spec(tmp_path, ["guessing"], TWO_BOTS)
    match = job(event, "a", "b")
    heard: list[object] = []
    async with made_up(event, 4) as (venue, cluster):
        task = play(venue, match, heard.append, heard.append)
        await cluster.has_started.wait()
        ((assignment, processors, name),) = cluster.started
        assert (assignment.job, processors, name) == (match, 2, "r001-1")
        running = a_record(match.pairing, 1, status="running")
        state: Facts = frozenset()
        report = NodeReport("r001-1", Began(running, state))
        cluster.reports = [NodeReport("another", Began(running, state)), report]
        await venue.look()
        assert heard == [report.news, running]
        complete = drawn(match)
        cluster.tasks[0].set_result(complete)
        assert await task is complete
        cluster.reports = [report]
        await venue.look()
        assert len(heard) == 2
        assert cluster.cancelled == []


async def test_a_match_ends_when_its_record_cannot_be_kept(tmp_path: Path) -> None:
    event = spec(tmp_path, ["guessing"], TWO_BOTS)

    def refuse(_: MatchRecord) -> None:
        raise StoreError("another manager took it over")

    async with made_up(event, 4) as (venue, cluster):
        task = play(venue, job(event, "a", "b"), refuse)
        await cluster.has_started.wait()
        running = a_record(job(event, "a", "b").pairing, 1, status="running")
        cluster.reports = [NodeReport("r001-1", Began(running, frozenset()))]
        await venue.look()
        with pytest.raises(StoreError, match="another manager took it over"):
            await task
        assert cluster.cancelled == [False]


async def test_a_match_that_is_given_up_is_cancelled_on_its_node(tmp_path: Path) -> None:
    event = spec(tmp_path, ["guessing"], TWO_BOTS)
    async with made_up(event, 4) as (venue, cluster):
        task = play(venue, job(event, "a", "b"))
        await cluster.has_started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert cluster.cancelled == [False]


async def test_a_match_that_waits_for_more_than_any_node_has_left_is_offered_anew(tmp_path: Path) -> None:
    event = spec(tmp_path, ["guessing"], TWO_BOTS)
    async with made_up(event, 2, 1) as (venue, cluster):
        task = play(venue, job(event, "a", "b"))
        await cluster.has_started.wait()
        cluster.nodes = [0, 1]
        await venue.look()
        with pytest.raises(MatchLostError, match=r"^no node has 2 processors any more$"):
            await task
        assert venue.needs(("a", "b")) == 1


async def test_an_external_player_is_told_that_a_match_was_lost(tmp_path: Path) -> None:
    async with ScriptedPlayer() as player:
        event = spec(tmp_path, ["guessing"], ["a=legal", {"name": "x", "url": player.url}])
        async with made_up(event, 2) as (venue, cluster):
            task = play(venue, job(event, "a", "x"))
            await cluster.has_started.wait()
            cluster.tasks[0].set_exception(NodeLostError("the node that it was on died"))
            with pytest.raises(MatchLostError, match=r"^the node that it was on died$"):
                await task
        assert player.told(Abort) == [Abort("r001-1")]


async def test_a_lost_match_is_played_again_however_often_that_happens(tmp_path: Path) -> None:
    event = spec(tmp_path, ["guessing"], TWO_BOTS)

    def lost_at_first(job: Job) -> MatchRecord:
        if job.attempt <= ATTEMPTS + 1:
            raise MatchLostError("the node that it was on died")
        return drawn(job)

    news: list[News] = []
    with open_store(str(tmp_path / "event.sqlite")) as store:
        store.create(event)
        assert await run_tournament(event, store, MadeUp(event, lost_at_first), news.append) == ""
        assert len(store.results("event")) == 2
        assert not any(row.failures for row in store.matches("event").rows)
    assert sum(line.startswith("failed ") for line in lines(news)) == 2 * (ATTEMPTS + 1)


# What a node does


class LocalBoard:
    """Takes reports in the same process, as if it were an actor."""

    def __init__(self) -> None:
        self.reports: list[NodeReport] = []
        self.put = SimpleNamespace(remote=self.reports.append)


@pytest.mark.parametrize("pin", [True, False])
def test_a_node_plays_a_match_by_rules_that_it_is_sent(pin: bool, tmp_path: Path) -> None:
    before = processes()
    event = spec(tmp_path, ["guessing"], TWO_BOTS, limits={"pin": pin, "matches": 1, "processors": 1})
    match = job(event, "b", "a")
    rules = tmp_path / "guessing.kif"
    text = rules.read_text(encoding="utf-8")
    rules.unlink()
    board = LocalBoard()
    record = play_match(Assignment(match, event, text, 2), board)
    assert processes() == before
    assert (record.match, record.game, record.rulesheet, record.status) == ("r001-1", "guessing", text, "terminal")
    assert [player.name for player in record.players.values()] == ["b", "a"]
    assert len(list(replay(record))) == 3
    assert board.reports
    assert {report.match for report in board.reports} == {"r001-1"}
    news = [report.news for report in board.reports]
    assert isinstance(next(each for each in news if not isinstance(each, str)), Began)  # texts are of bots that start


CLAIM = """
import sys
from pathlib import Path
from gamemaster.tournament.node import claimed
with claimed(1, Path(sys.argv[1])) as numbers:
    print(*numbers, flush=True)
    sys.stdin.read()
"""


def test_processes_claim_different_processors_until_they_end(tmp_path: Path) -> None:
    command = [sys.executable, "-c", CLAIM, str(tmp_path)]
    everything = len(usable_processors())
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        taken = int(other.stdout.readline())
        assert taken in usable_processors()
        with claimed(everything, tmp_path) as numbers:
            assert numbers is None
        with claimed(everything - 1, tmp_path) as numbers:
            assert numbers is not None
            assert sorted([*numbers, taken]) == list(usable_processors())
        other.kill()
    with claimed(everything, tmp_path) as numbers:
        assert numbers == list(usable_processors())
    with claimed(1, tmp_path / "nosuch") as numbers:
        assert numbers is None


# Mistakes


def test_without_ray_it_is_said_what_to_install_before_anything_is_made(
    in_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("ggp.cluster.find_spec", lambda _: None)
    event = spec(in_folder, ["guessing"], TWO_BOTS)
    Path("event.toml").write_text(spec_text(event, in_folder), encoding="utf-8")
    assert ggp_command("tournament", "run", "event.toml", "--cluster", "ray") == 2
    assert capsys.readouterr().err == "ggp: --cluster needs Ray: pip install 'ggp[cluster]'\n"
    assert not Path("event.sqlite").exists()


@pytest.mark.parametrize("address", ["rays", "http://192.0.2.1:10001", "192.0.2.1:10001", ""])
def test_what_is_no_address_of_a_cluster_is_refused(address: str) -> None:
    with pytest.raises(SettingsError, match=rf"^--cluster: ray, ray://auto or ray://host:port, not {address}$"):
        check_address(address)

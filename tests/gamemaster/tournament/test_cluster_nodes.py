"""Tournaments on real nodes of Ray, all on this computer: a node that dies, signals, and what is left behind."""

import asyncio
import json
import os
import secrets
import select
import signal
from asyncio.subprocess import PIPE
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from gamemaster.replay import replay
from gamemaster.tournament.cluster import open_venue
from gamemaster.tournament.pairings import Pairing
from gamemaster.tournament.runner import MatchEvent, MatchFailed, News, run_tournament
from gamemaster.tournament.spec import TournamentSpec
from gamemaster.tournament.store import Store, open_store
from gamemaster.tournament.venue import LocalVenue
from ggp.protocol.messages import Abort, Start
from tests.gamemaster.scripted import Exchange, ScriptedPlayer, Trouble, When, honest, silent
from tests.gamemaster.test_commands import GGP, in_folder
from tests.gamemaster.tournament.events import rules, spec

__all__ = ["in_folder"]

pytestmark = [
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed: pip install 'ggp[cluster]'"),
    pytest.mark.slow,
]

NODE = {"node_ip_address": "127.0.0.1", "include_dashboard": False, "object_store_memory": 100_000_000}
ENVIRONMENT = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # 127.0.0.1 stays what it is
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_memory_monitor_refresh_ms": "0",  # others may take all the memory there is
}


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


class Nodes:
    """A cluster with two nodes of one processor each, beside the one that only manages."""

    def __init__(self) -> None:
        # Loaded after the environment was set, which Ray reads only once.
        self._cluster: Any = import_module("ray.cluster_utils").Cluster(shutdown_at_exit=False)
        self._cluster.add_node(num_cpus=0, **NODE)
        self.players = [self._cluster.add_node(num_cpus=1, **NODE) for _ in range(2)]

    @property
    def address(self) -> str:
        return str(self._cluster.address)

    def kill(self, number: int) -> None:
        """Ends all processes of a node by kill -9."""
        self._cluster.remove_node(self.players[number], allow_graceful=False)

    def shutdown(self) -> None:
        self._cluster.shutdown()


@pytest.fixture
def nodes(environment: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nodes]:
    started = Nodes()
    monkeypatch.setenv("RAY_ADDRESS", started.address)
    try:
        yield started
    finally:
        started.shutdown()


async def test_a_node_dies_and_everything_is_played_once(nodes: Nodes, tmp_path: Path) -> None:
    release, aborted = asyncio.Event(), asyncio.Event()
    held = asyncio.Semaphore(0)

    async def hold(exchange: Exchange) -> None:
        held.release()
        await release.wait()
        await honest(exchange)

    async def hear_abort(exchange: Exchange) -> None:
        aborted.set()
        await honest(exchange)

    troubles: Mapping[When, Trouble] = {0: hold, "abort": hear_abort}
    async with ScriptedPlayer(troubles) as x, ScriptedPlayer(troubles) as y:
        event = held_event(tmp_path, x, y)
        news: list[News] = []
        with made_store(tmp_path / "cluster", event) as store:
            async with asyncio.timeout(120), open_venue(event, "ray://auto", nothing) as venue:
                task = asyncio.create_task(run_tournament(event, store, venue, news.append))
                for _ in range(2):  # there is a match on each node
                    await held.acquire()
                await asyncio.to_thread(nodes.kill, 0)
                await aborted.wait()
                release.set()
                assert await task == ""
            played, pairings = moves(store), in_order(store)
            assert not any(row.failures for row in store.matches("event").rows)
            assert store.tournament("event").status == "complete"
        (lost,) = [each for each in news if isinstance(each, MatchFailed)]
        assert lost.reason == "the node that it was on died"
        assert [*x.told(Abort), *y.told(Abort)] == [Abort(lost.job.match)]
        starts = [message.match for message in (*x.told(Start), *y.told(Start)) if isinstance(message, Start)]
        assert sorted(starts) == sorted([*(pairing.id for pairing in pairings), f"{lost.job.match}-2"])
        assert any(isinstance(each, MatchEvent) for each in news)

        with made_store(tmp_path / "here", event) as store:
            local_venue = LocalVenue(event, nothing)
            assert await run_tournament(event, store, local_venue, nothing) == ""
            await local_venue.close()
            assert len(pairings) == 4
            assert pairings == in_order(store)
            assert played == moves(store)


async def test_a_cluster_that_was_started_here_ends_with_the_manager(
    environment: None, in_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = f"GGP_TEST={secrets.token_hex(8)}"
    monkeypatch.setenv(*mark.split("="))
    reached = asyncio.Event()

    async def reach(exchange: Exchange) -> None:
        reached.set()
        await silent(exchange)

    async with ScriptedPlayer({1: reach}) as player:
        write_spec(in_folder, player)
        killed = await started("run", "cup.toml", "--cluster", "ray")
        await asyncio.wait_for(reached.wait(), 60)
        left = marked(mark)
        assert len(left) > 5  # what Ray has started, and a bot
        killed.kill()
        assert await killed.communicate() == (b"cup: round robin, 2 players, guessing: 2 matches\n", b"")
        await asyncio.to_thread(wait_for_ends, left)

        reached.clear()
        stopped = await started("resume", "cup.toml", "--cluster", "ray")
        await asyncio.wait_for(reached.wait(), 60)
        left = marked(mark)
        stopped.send_signal(signal.SIGINT)
        out, err = await stopped.communicate()
        assert (stopped.returncode, err) == (130, b"")
        assert out.decode().endswith("0 matches have results; to go on: ggp tournament resume cup.toml\n")
        await asyncio.to_thread(wait_for_ends, left)
        names = [message.match for message in player.told(Start) if isinstance(message, Start)]
        assert names[1] == f"{names[0]}-2"
        assert player.told(Abort) == [Abort(name) for name in names]

        player.troubles = {}
        finished = await started("resume", "cup.toml", "--json")
        out, err = await finished.communicate()
        assert (finished.returncode, err) == (0, b"")
        assert json.loads(out)["results"] == 2
    assert marked(mark) == []


SLOW = (b"ray::DashboardAgent", b"ray::RuntimeEnvAgent")  # of Ray: they take a minute to see that all else was killed
SPEC = """
name = "cup"
seed = 7
[[games]]
rules = "guessing.kif"
[[players]]
bot = "legal"
[[players]]
name = "held"
url = "{url}"
[match]
startclock = 60
playclock = 600
"""


def write_spec(folder: Path, player: ScriptedPlayer) -> None:
    rules(folder, "guessing")
    (folder / "cup.toml").write_text(SPEC.format(url=player.url), encoding="utf-8")


def held_event(folder: Path, x: ScriptedPlayer, y: ScriptedPlayer) -> TournamentSpec:
    """The same bot against both players, who may play at the same time."""
    return spec(
        folder,
        ["tictactoe"],
        ["a=random", {"name": "x", "url": x.url}, {"name": "y", "url": y.url}],
        format="gauntlet",
        limits={"per_host": 2},
        match={"startclock": 60, "playclock": 60},
    )


@contextmanager
def made_store(folder: Path, event: TournamentSpec) -> Iterator[Store]:
    folder.mkdir()
    with open_store(str(folder / "event.sqlite")) as store:
        store.create(event)
        yield store


def in_order(store: Store) -> list[Pairing]:
    return sorted((result.pairing for result in store.results("event")), key=lambda pairing: pairing.id)


def moves(store: Store) -> Mapping[str, list[tuple[str, ...]]]:
    """Pairing → joint moves, by records that hold."""
    records = {pairing.id: store.record("event", pairing.id) for pairing in in_order(store)}
    for record in records.values():
        assert len(list(replay(record))) == len(record.steps) + 1
    return {pairing: [step.moves for step in record.steps] for pairing, record in records.items()}


def nothing(_: object) -> None:
    """Of no interest to a test."""


async def started(*words: str) -> asyncio.subprocess.Process:
    """`ggp tournament WORDS --cluster ray`."""
    return await asyncio.create_subprocess_exec(
        *GGP, "tournament", *words, "--cluster", "ray", stdout=PIPE, stderr=PIPE
    )


def marked(mark: str) -> list[int]:
    """Descriptors of all processes that were started with this in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if not entry.name.isdigit() or f"\0{mark}\0".encode() not in b"\0" + (entry / "environ").read_bytes():
                continue
            if not (entry / "cmdline").read_bytes().startswith(SLOW):
                found.append(os.pidfd_open(int(entry.name)))
    return found


def wait_for_ends(descriptors: list[int]) -> None:
    """TimeoutError when one of the processes stays."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    remaining = set(descriptors)
    while remaining:
        ended = poll.poll(30_000)
        if not ended:
            raise TimeoutError(len(remaining))
        for descriptor, _ in ended:
            poll.unregister(descriptor)
            os.close(descriptor)
            remaining.discard(descriptor)

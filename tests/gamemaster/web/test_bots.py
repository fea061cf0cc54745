"""Bots of pages: called in the process of the service, thinking in processes of their own."""

import json
import os
import signal
from pathlib import Path

import pytest

from gamemaster.local_bots import Bots, LocalBot
from gamemaster.web.settings import offered_bots
from ggp.errors import SettingsError
from tests.gamemaster.processes import descendants, is_alive, until, with_tcp
from tests.gamemaster.web.api_client import ApiClient
from tests.gamemaster.web.conftest import Serve
from tests.gamemaster.web.test_humans_api import ANN, move

LEGAL, MONTE_CARLO = {"kind": "bot", "bot": "legal"}, {"kind": "bot", "bot": "montecarlo"}


def thinking(client: ApiClient) -> set[int]:
    """The processes of matches."""
    bots = client.services.live_matches.bots
    return {number for server in (bots._plain, bots._loaded, *bots._custom.values()) for number in server._alive}


async def test_a_bot_opens_no_socket_and_has_no_address(client: ApiClient, tmp_path: Path) -> None:
    begun = await client.begin("tictactoe", {"xplayer": ANN, "oplayer": LEGAL})
    link = begun["links"]["xplayer"]
    await move(client, link, "(mark 2 2)")
    await client.asked(link)
    processes = descendants(os.getpid())
    assert thinking(client) <= processes
    assert len(thinking(client)) == 1
    assert not with_tcp(processes)
    await client.post(f"{link}/resign")
    record = await client.get(f"/matches/{begun['match']}/record")
    assert (record["players"]["oplayer"]["kind"], record["players"]["oplayer"]["bot"]) == ("bot", "legal")
    assert '"url": "http' not in (tmp_path / f"{begun['match']}.json").read_text(encoding="utf-8")
    await until(lambda: not thinking(client))


async def test_a_bot_whose_process_is_killed_plays_on(client: ApiClient) -> None:
    begun = await client.begin("tictactoe", {"xplayer": ANN, "oplayer": LEGAL})
    link = begun["links"]["xplayer"]
    await move(client, link, "(mark 2 2)")
    await client.asked(link)
    killed = thinking(client)
    for number in killed:
        os.kill(number, signal.SIGKILL)
    await move(client, link, "(mark 1 2)")
    human = await client.asked(link)
    assert human["asked"] == 4
    assert [one["moves"]["oplayer"] for one in human["match"]["joint_moves"]][1::2] == ["(mark 1 1)", "(mark 1 3)"]
    assert human["match"]["faults"] == 0
    assert thinking(client)
    assert not thinking(client) & killed
    await client.post(f"{link}/resign")


async def test_what_a_bot_thinks_is_shown(client: ApiClient) -> None:
    """When the match is over, since the human is not to be told before; and it takes no more time than it should."""
    clocks = {"startclock": 20, "playclock": 60, "think": 2}
    begun = await client.begin("tictactoe", {"xplayer": ANN, "oplayer": MONTE_CARLO}, **clocks)
    link = begun["links"]["xplayer"]
    await move(client, link, "(mark 2 2)")
    human = await client.asked(link)
    assert human["match"]["joint_moves"][1]["seconds"]["oplayer"] < 30
    assert human["match"]["joint_moves"][1]["evaluations"] in (None, {})
    await client.post(f"{link}/resign")
    match = await client.get(f"/matches/{begun['match']}")
    said = match["joint_moves"][1]["evaluations"]
    assert set(said) == {"oplayer"}
    assert 0 <= said["oplayer"]["value"] <= 100
    assert said["oplayer"]["visits"] > 0
    assert match["faults"] == 0
    record = await client.get(f"/matches/{begun['match']}/record")
    assert record["players"]["oplayer"]["clocks"] == [2, 2]
    assert (record["settings"]["startclock"], record["settings"]["playclock"]) == (20, 60)


async def test_no_match_waits_for_kernels(client: ApiClient) -> None:
    """As long as the process that loads them does not get on, a search plays by the interpreter."""
    bots = client.services.live_matches.bots
    bots.start(kernels=True)
    assert bots._loaded._process is not None
    os.kill(bots._loaded._process.pid, signal.SIGSTOP)
    players = {"xplayer": ANN, "oplayer": {"kind": "bot", "bot": "mcts"}}
    begun = await client.begin("tictactoe", players, playclock=60, think=2)
    link = begun["links"]["xplayer"]
    await move(client, link, "(mark 2 2)")
    human = await client.asked(link)
    assert not bots._loaded.is_ready
    assert human["match"]["faults"] == 0
    assert human["match"]["joint_moves"][1]["moves"]["oplayer"].startswith("(mark ")
    await client.post(f"{link}/resign")


async def test_a_fork_server_that_has_ended_is_started_again(client: ApiClient) -> None:
    bots = client.services.live_matches.bots
    for _ in range(2):
        begun = await client.begin("tictactoe", {"xplayer": LEGAL, "oplayer": LEGAL})
        match = await client.ended(begun["match"])
        assert (match["status"], match["faults"]) == ("terminal", 0)
        assert bots._plain._process is not None
        os.kill(bots._plain._process.pid, signal.SIGKILL)
        await until(lambda: bots._plain._channel is None)


async def test_where_no_process_can_be_started_the_match_fails_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("players.worker.sys.executable", "/nonexistent")
    bots = Bots()
    with pytest.raises(SettingsError, match="no process for bots can be started: No such file or directory"):
        async with bots.playing({"a": LocalBot("legal")}, 1):
            pytest.fail("nobody plays")


async def test_nothing_is_left_and_nothing_started_once_the_service_ends(client: ApiClient) -> None:
    live_matches = client.services.live_matches
    begun = await client.begin("tictactoe", {"xplayer": ANN, "oplayer": LEGAL})
    await client.asked(begun["links"]["xplayer"])
    assert live_matches.bots._plain._process is not None
    processes = {*thinking(client), live_matches.bots._plain._process.pid}
    assert len(processes) == 2
    await live_matches.close()
    await until(lambda: not any(map(is_alive, processes)))
    with pytest.raises(SettingsError, match="the service is being stopped"):
        async with live_matches.bots.playing({}, 1, clocks=None, ponder=True):
            pytest.fail("nobody plays")


async def test_a_strategy_that_the_operator_offers_is_a_bot_by_its_name(serve: Serve, tmp_path: Path) -> None:
    """Where it is, nobody is told; nobody may name another one, and one that dies costs its match only."""
    (tmp_path / "bots.py").write_text(
        "import os\ndef last(state, role, clock):\n    return state.legal_moves(role)[-1]\n"
        "def dies(state, role, clock):\n    os._exit(3)\n"
    )
    offered = offered_bots([f"Last={tmp_path}/bots.py:last", f"{tmp_path}/bots.py:dies"])
    client = await serve(bots=offered)
    assert 'data-bots="[&#34;Last&#34;, &#34;dies&#34;]"' in await client.page("/play")
    last, dies = {"kind": "bot", "bot": "Last"}, {"kind": "bot", "bot": "dies"}
    match = await client.ended((await client.begin("tictactoe", {"xplayer": last, "oplayer": dies}))["match"])
    assert (match["status"], match["faults"]) == ("terminal", 0)
    assert match["joint_moves"][0]["moves"]["xplayer"] == "(mark 3 3)"
    record = await client.get(f"/matches/{match['id']}/record")
    assert record["players"]["xplayer"]["bot"] == "Last"
    assert str(tmp_path) not in json.dumps(record)
    for name in ("nosuch", "bots.py:last"):
        refusal = await client.post(
            "/matches",
            {"game": "tictactoe", "players": {"xplayer": {"kind": "bot", "bot": name}, "oplayer": last}},
            422,
        )
        assert f"no bot is called '{name}'; the bots are mcts" in refusal["detail"]


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        (["mcts"], "--bot: FILE.py:NAME or MODULE:NAME, perhaps after name=, not 'mcts'"),
        (["a.py:x", "b.py:x"], "--bot: x is the name of another bot; name=FILE.py:NAME gives it its own"),
        (["legal=a.py:x"], "--bot: legal is the name of another bot"),
    ],
)
def test_an_offer_that_is_none_is_refused(texts: list[str], reason: str) -> None:
    with pytest.raises(SettingsError, match=f"^{reason}"):
        offered_bots(texts)

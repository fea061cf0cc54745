"""LocalVenue: which matches may be played at a time, and bots that are kept, watched and never left behind."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gamemaster.match import Began, Event, Stepped
from gamemaster.record import MatchRecord
from gamemaster.replay import replay
from gamemaster.tournament import venue
from gamemaster.tournament.pairings import Pairing
from gamemaster.tournament.spec import TournamentSpec
from gamemaster.tournament.venue import Job, LocalVenue, Processors, Reservation, Shortage, usable_processors
from ggp.errors import GgpError, SettingsError
from ggp.protocol.messages import Info, Start, Stop
from tests.gamemaster.scripted import Exchange, ScriptedPlayer, Trouble, hangs_up, honest, says
from tests.gamemaster.test_bots import processes
from tests.gamemaster.tournament.events import Given, spec

TWO_BOTS = ["a=legal", "b=random"]


def nothing(_: object) -> None:
    """Of no interest to a test."""


@asynccontextmanager
async def local_venue(event: TournamentSpec, told: list[str] | None = None) -> AsyncIterator[LocalVenue]:
    before = processes()
    made = LocalVenue(event, nothing if told is None else told.append)
    try:
        yield made
    finally:
        await made.close()
    assert processes() == before


async def play(
    where: LocalVenue,
    event: TournamentSpec,
    players: tuple[str, ...],
    listen: object = nothing,
    opening: str = "",
) -> MatchRecord:
    """A match of the first game."""
    pairing = Pairing("r001-1", 0, event.games[0].name, players, 5)
    place = where.reserve(players)
    assert isinstance(place, Reservation)
    try:
        job = Job(pairing, 1, "r001-1", event.settings_of(pairing.game, pairing.seed), opening)
        return await where.play(job, place, nothing, listen)  # type: ignore[arg-type]
    finally:
        where.release(place)


# What may be played at a time


def test_processors_are_taken_and_given_back() -> None:
    processors = Processors((4, 1, 3))
    assert processors.take(4) is None
    first = processors.take(2)
    assert first == (1, 3)
    assert processors.take(2) is None
    assert processors.take(1) == (4,)
    assert processors.take(0) == ()
    processors.give_back(first)
    assert (processors.free, processors.total) == (2, 3)


@pytest.mark.parametrize(("said", "count"), [("max 100000", 2), ("150000 100000", 1), ("1 100000", 1), ("", 2)])
def test_a_container_may_be_allowed_fewer_processors(
    said: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {5, 2}, raising=False)
    (tmp_path / "cpu.max").write_text(said, encoding="ascii")
    assert usable_processors(tmp_path / "cpu.max") == (2, 5)[:count]
    assert usable_processors(tmp_path / "nosuch") == (2, 5)


def external(name: str, host: str, **fields: object) -> Mapping[str, object]:
    return {"name": name, "url": f"http://{host}:9147/", **fields}


def test_matches_take_the_processors_of_their_bots(tmp_path: Path) -> None:
    players: list[Given] = [
        "a=montecarlo",
        "b=montecarlo",
        {"name": "big", "bot": "montecarlo", "threads": 3},
        external("x", "192.0.2.1"),
    ]
    event = spec(tmp_path, ["guessing"], players)
    room = LocalVenue(event, nothing, range(4))
    assert [room.needs(names) for names in (("a", "b"), ("a", "x"), ("big", "a"), ("big", "big"))] == [2, 1, 4, 4]
    first, second = room.reserve(("a", "b")), room.reserve(("a", "b"))
    assert isinstance(first, Reservation)
    assert isinstance(second, Reservation)
    assert sorted(first.processors + second.processors) == [0, 1, 2, 3]
    assert room.reserve(("a", "x")) is Shortage.PROCESSORS
    room.release(first)
    assert room.reserve(("big", "a")) is Shortage.PROCESSORS
    assert isinstance(room.reserve(("a", "x")), Reservation)


def test_external_players_play_as_much_as_they_may(tmp_path: Path) -> None:
    players: list[Given] = [
        external("x", "192.0.2.1"),
        {"name": "y", "url": "http://192.0.2.1:9148/"},
        external("z", "192.0.2.2"),
        {"name": "p", "url": "http://192.0.2.3:80/p", "human": True},
        {"name": "q", "url": "http://192.0.2.3:80/q", "human": True},
        external("w", "192.0.2.4"),
    ]
    room = LocalVenue(spec(tmp_path, ["guessing"], players), nothing, range(1))
    first = room.reserve(("x", "y"))
    assert isinstance(first, Reservation)
    assert first.processors == ()
    assert room.reserve(("y", "z")) is Shortage.PLAYERS
    assert isinstance(room.reserve(("z", "p")), Reservation)
    assert isinstance(room.reserve(("w", "q")), Reservation)  # seats of people may be on one host
    assert room.reserve(("q", "x")) is Shortage.PLAYERS
    room.release(first)
    assert room.reserve(("z", "x")) is Shortage.PLAYERS
    assert isinstance(room.reserve(("y", "x")), Reservation)


def test_limits_are_those_of_the_specification(tmp_path: Path) -> None:
    players: list[Given] = [external("x", "192.0.2.1"), external("y", "192.0.2.2"), "a=montecarlo", "b=montecarlo"]
    limits = {"matches": 2, "processors": 6, "per_host": 2, "per_player": 2}
    room = LocalVenue(spec(tmp_path, ["guessing"], players, limits=limits), nothing, range(1))
    assert isinstance(room.reserve(("x", "y")), Reservation)
    assert isinstance(room.reserve(("x", "y")), Reservation)
    assert room.reserve(("a", "b")) is Shortage.MATCHES


def test_bots_that_do_not_think_take_no_processor(tmp_path: Path) -> None:
    event = spec(tmp_path, ["guessing"], ["a=legal", "b=random", "c=montecarlo"])
    room = LocalVenue(event, nothing, range(2))
    assert [room.needs(names) for names in (("a", "b"), ("a", "c"), ("c", "c"))] == [0, 1, 2]
    places = [room.reserve(("a", "b")) for _ in range(2 * venue.LIGHT_MATCHES)]
    assert all(isinstance(place, Reservation) and place.processors == () for place in places)
    assert room.reserve(("a", "b")) is Shortage.PLAYERS
    assert isinstance(room.reserve(("a", "c")), Reservation)
    room.release(places[0])  # type: ignore[arg-type]
    assert isinstance(room.reserve(("b", "a")), Reservation)


# External players between two matches


async def play_twice(where: LocalVenue, event: TournamentSpec, player: ScriptedPlayer) -> float:
    """Seconds between the last message of the first match and the START of the second."""
    await play(where, event, ("a", "x"))
    record = await play(where, event, ("a", "x"))
    assert record.faults == ()
    starts = [time for time, message in player.heard if isinstance(message, Start)]
    stops = [time for time, message in player.heard if isinstance(message, Stop)]
    return starts[1] - stops[0]


async def test_a_player_that_restarts_after_its_match_plays_the_next(tmp_path: Path) -> None:
    """It goes away with STOP and comes back a second later, which is after the startclock of the next match."""

    async def restarts(exchange: Exchange) -> None:
        player = exchange.player
        await honest(exchange)
        player.refuse()
        asyncio.get_running_loop().call_later(1.5, lambda: player.spawn(player.listen()))

    async with ScriptedPlayer({"stop": restarts}) as player:
        clocks = {"startclock": 1, "playclock": 5, "grace": 0.0}
        event = spec(tmp_path, ["guessing"], ["a=legal", {"name": "x", "url": player.url}], match=clocks)
        async with local_venue(event) as where:
            assert await play_twice(where, event, player) >= 1.4


async def test_a_player_is_waited_for_until_it_says_that_it_is_available(tmp_path: Path) -> None:
    asked = 0

    async def busy_at_first(exchange: Exchange) -> None:
        nonlocal asked
        asked += 1
        word = "available" if asked == 1 or asked > 3 else "busy"
        await says(f"( ( name x ) ( status {word} ) )")(exchange)

    async with ScriptedPlayer({"info": busy_at_first}) as player:
        event = spec(tmp_path, ["guessing"], ["a=legal", {"name": "x", "url": player.url}])
        async with local_venue(event) as where:
            await play_twice(where, event, player)
    assert asked == 4


@pytest.mark.parametrize("trouble", [says("what?"), hangs_up, says("", "500 Oops")], ids=["words", "hangs up", "500"])
async def test_a_player_that_knows_no_info_is_not_waited_for(trouble: Trouble, tmp_path: Path) -> None:
    async with ScriptedPlayer({"info": trouble}) as player:
        event = spec(tmp_path, ["guessing"], ["a=legal", {"name": "x", "url": player.url}])
        async with local_venue(event) as where:
            assert (await play(where, event, ("a", "x"))).faults == ()
    assert len(player.told(Info)) == 1


async def test_a_player_has_its_rest(tmp_path: Path) -> None:
    async with ScriptedPlayer() as player:
        given: list[Given] = ["a=legal", {"name": "x", "url": player.url}]
        event = spec(tmp_path, ["guessing"], given, limits={"rest": 1.0})
        async with local_venue(event) as where:
            assert await play_twice(where, event, player) >= 0.9


# Rules


async def test_a_process_for_rules_serves_many_matches(tmp_path: Path) -> None:
    event = spec(tmp_path, ["guessing", "tictactoe"], TWO_BOTS)
    async with local_venue(event) as where:
        for _ in range(3):
            record = await play(where, event, ("a", "b"))
            assert (record.status, record.engine) == ("terminal", "interpreter")
        assert len(where._referees._all) == 1


async def test_a_match_begins_after_its_opening(tmp_path: Path) -> None:
    event = spec(tmp_path, ["guessing"], TWO_BOTS)
    async with local_venue(event) as where:
        record = await play(where, event, ("a", "b"), opening="(show 1) (show 1)")
        plain = await play(where, event, ("a", "b"))
    opening = (("(show 1)", "(show 1)"),)
    assert (record.opening, len(record.steps), record.goals) == (opening, 1, {"left": 100, "right": 100})
    assert (plain.opening, len(plain.steps)) == ((), 2)
    states = list(replay(record))
    assert states[0].state == frozenset({("round", "1"), "same"})


@pytest.mark.parametrize(
    ("opening", "reason"),
    [
        ("((show 1))", "opening: step 0 has 1 moves for 2 roles"),
        ("(show 1)", "opening: step 0 lacks a move of right"),
        ("((show 1) (show 9))", r"\(show 9\) is not"),
        ("(show 1) (show 1) (show 1) (show 1)", "the match is over after the opening"),
    ],
)
async def test_an_opening_that_cannot_be_played_is_refused(opening: str, reason: str, tmp_path: Path) -> None:
    event = spec(tmp_path, ["guessing"], TWO_BOTS)
    async with local_venue(event) as where:
        with pytest.raises(GgpError, match=reason):
            await play(where, event, ("a", "b"), opening=opening)


# Bots


async def test_bots_are_kept_for_the_next_match_and_play_by_its_seed(tmp_path: Path) -> None:
    event = spec(tmp_path, ["tictactoe"], TWO_BOTS)
    async with local_venue(event) as where:
        first = await play(where, event, ("a", "b"))
        pids = {bot.pid for bot in where.bots}
        again = await play(where, event, ("a", "b"))
        assert {bot.pid for bot in where.bots} == pids
        assert len(pids) == 2
        assert first.faults == again.faults == ()
        assert [step.moves for step in first.steps] == [step.moves for step in again.steps]
        assert {role: (player.name, player.bot) for role, player in first.players.items()} == {
            "xplayer": ("a", "legal"),
            "oplayer": ("b", "random"),
        }
        assert len(list(replay(again))) == len(again.steps) + 1
        turned = await play(where, event, ("b", "a"))
        assert {player.url for player in turned.players.values()} == {player.url for player in again.players.values()}


async def test_a_bot_is_kept_to_its_processors_while_it_plays(tmp_path: Path) -> None:
    clocks = {"startclock": 1, "playclock": 1}
    event = spec(tmp_path, ["guessing"], ["a=montecarlo", "b=montecarlo"], match=clocks)
    if len(usable_processors()) < 2:
        pytest.skip("needs two processors")
    seen: list[list[set[int]]] = []

    async with local_venue(event) as where:

        def listen(event: Event) -> None:
            if isinstance(event, Began):
                seen.append([os.sched_getaffinity(bot.pid) for bot in where.bots])

        await play(where, event, ("a", "b"), listen)
        await play(where, event, ("b", "a"), listen)
    assert len(seen) == 2
    for one, other in seen:
        assert len(one) == len(other) == 1
        assert one != other


async def test_bots_that_no_match_needs_are_kept_in_a_limited_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(venue, "MOST_IDLE", 2)
    event = spec(tmp_path, ["guessing"], [*TWO_BOTS, "c=legal"])
    async with local_venue(event) as where:
        first = await play(where, event, ("a", "b"))
        await play(where, event, ("a", "c"))
        assert len(where.bots) == 2
        again = await play(where, event, ("a", "b"))
        assert again.players["left"].url == first.players["left"].url
        assert again.players["right"].url != first.players["right"].url


async def test_a_bot_that_ends_between_matches_is_started_again(tmp_path: Path) -> None:
    event = spec(tmp_path, ["guessing"], TWO_BOTS)
    told: list[str] = []
    async with local_venue(event, told) as where:
        await play(where, event, ("a", "b"))
        pids = {bot.pid for bot in where.bots}
        os.kill(next(iter(pids)), signal.SIGKILL)
        record = await play(where, event, ("a", "b"))
        assert record.faults == ()
        assert len(pids & {bot.pid for bot in where.bots}) == 1
    assert len(told) == 1
    assert told[0].endswith("; it is started again when it is needed")


async def test_a_bot_that_ends_in_a_match_has_faults_and_is_started_again_for_the_next(tmp_path: Path) -> None:
    told: list[str] = []
    victims: list[int] = []
    killed: list[int] = []
    begun = asyncio.Event()

    async def kill(exchange: Exchange) -> None:
        await begun.wait()
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        killed.extend(victims)
        victims.clear()
        await honest(exchange)

    async with ScriptedPlayer({2: kill}) as scripted:
        clocks = {"startclock": 5, "playclock": 1, "grace": 0.5}
        event = spec(tmp_path, ["connectfour"], ["a=legal", {"name": "x", "url": scripted.url}], match=clocks)
        async with local_venue(event, told) as where:

            def listen(event: Event) -> None:
                if isinstance(event, Stepped) and len(event.record.steps) >= 1 and not (victims or killed):
                    victims.extend(bot.pid for bot in where.bots)
                    begun.set()

            record = await play(where, event, ("a", "x"), listen)
            assert (record.status, record.forfeited) == ("forfeit", ("red",))
            assert {(role, fault.kind) for _, role, fault in record.faults} == {("red", "unreachable")}
            assert all(step is not None and step >= 2 for step, _, _ in record.faults)
            record = await play(where, event, ("a", "x"))
            assert record.faults == ()
    ended = [line for line in told if " is being prepared: " not in line]  # which is told where a start takes long
    assert len(ended) == 1
    assert ended[0].startswith("the bot of a ended by signal 9")


async def test_a_bot_that_cannot_be_started_is_no_fault_of_it(tmp_path: Path) -> None:
    event = spec(tmp_path, ["guessing"], ["a=legal", {"name": "b", "bot": "legal", "settings": {"nosuch": 1}}])
    async with local_venue(event) as where:
        with pytest.raises(SettingsError, match=r"^b: player 'legal' did not start: .*nosuch: there is no such"):
            await play(where, event, ("a", "b"))
        assert len(where.bots) == 1  # the other is ready for other matches


async def test_bots_of_a_match_that_was_given_up_are_not_used_again(tmp_path: Path) -> None:
    event = spec(tmp_path, ["guessing"], TWO_BOTS)
    began = asyncio.Event()
    async with local_venue(event) as where:

        def listen(event: Event) -> None:
            began.set()

        task = asyncio.create_task(play(where, event, ("a", "b"), listen))
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert where.bots == ()
        assert isinstance(where.reserve(("a", "b")), Reservation)

"""Match: what the players are told, from START to STOP or ABORT, in every kind of game."""

import asyncio
import threading
from contextlib import AsyncExitStack
from itertools import pairwise
from pathlib import Path

import pytest

import ggp
from gamemaster.match import Began, Ended, Event, Started, Stepped, run_match
from gamemaster.player import LONGEST_NAME, Player
from gamemaster.record import MatchRecord, RecordWriter, read_record
from gamemaster.referee import replacement
from gamemaster.replay import replay
from gamemaster.settings import make_settings
from ggp.errors import RecordError
from ggp.protocol.messages import Abort, Dialect, Info, Play, PlayPercepts, Start, Stop, StopPercepts
from tests.gamemaster import games
from tests.gamemaster.matches import ThreadRules, play, play_match
from tests.gamemaster.scripted import ScriptedPlayer, Trouble, When, hangs_up, late, says, silent
from tests.gamemaster.virtual_time import run

TICTACTOE = ggp.load("tictactoe")


def test_a_match_goes_from_start_to_stop(tmp_path: Path) -> None:
    xplayer, oplayer = ScriptedPlayer(), ScriptedPlayer({0: late(2)})
    events: list[Event] = []
    record = play_match(TICTACTOE, {"xplayer": xplayer, "oplayer": oplayer}, tmp_path, events=events)
    assert record.status == "terminal"
    assert record.goals == {"xplayer": 100, "oplayer": 0}
    assert record.faults == ()
    kinds = [type(message) for _, message in xplayer.heard]
    assert kinds == [Start, *[Play] * len(record.steps), Stop]
    assert [type(event) for event in events] == [Began, Started, *[Stepped] * len(record.steps), Ended]
    # Both are asked at once, and the next step begins when the slower one has answered.
    assert [time for time, _ in xplayer.heard] == [time for time, _ in oplayer.heard]
    assert [time for time, _ in xplayer.heard][1:3] == pytest.approx([0.0, 2.0])
    assert record.steps[0].seconds == {"xplayer": 0.0, "oplayer": pytest.approx(2.0)}
    assert "scripted" not in [player.name for player in record.players.values()]


def test_the_request_has_the_headers_of_the_protocol(tmp_path: Path) -> None:
    xplayer = ScriptedPlayer()
    play_match(TICTACTOE, {"xplayer": xplayer, "oplayer": ScriptedPlayer()}, tmp_path)
    first, *fields = xplayer.raw[1].decode().strip().split("\r\n")
    assert first == "POST / HTTP/1.0"
    assert sorted(fields) == [
        "Accept: text/delim",
        f"Content-Length: {len('( PLAY match-1 NIL )')}",
        "Content-Type: text/acl",
        "GGP-Evaluation: 1",
        f"Host: 127.0.0.1:{xplayer.port}",
        "Receiver: player of xplayer",
        "Sender: GAMESERVER",
    ]
    assert [b"GGP-Evaluation" in head for head in xplayer.raw] == [False, *[True] * (len(xplayer.raw) - 2), False]


def test_both_roles_can_choose_at_once(tmp_path: Path) -> None:
    left, right = ScriptedPlayer(moves={0: "(show 2)"}), ScriptedPlayer(moves={0: "(show 2)", 1: "(show 1)"})
    record = play_match(games.game(games.GUESSING), {"left": left, "right": right}, tmp_path)
    assert [step.moves for step in record.steps] == [("(show 2)", "(show 2)"), ("(show 3)", "(show 1)")]
    assert record.goals == {"left": 100, "right": 100}


def test_what_was_executed_is_told_to_all(tmp_path: Path) -> None:
    left, right = ScriptedPlayer({0: silent}), ScriptedPlayer()
    record = play_match(games.game(games.GUESSING), {"left": left, "right": right}, tmp_path, replacement="first")
    assert record.steps[0].moves == ("(show 1)", "(show 3)")
    for player in (left, right):
        assert player.told(Play)[1] == Play("match-1", (("show", "1"), ("show", "3")))


def test_the_role_random_is_played_from_the_seed(tmp_path: Path) -> None:
    game = games.game(games.DICE)
    legal = game.machine.legal_moves(game.machine.initial_state, "random")
    rolls = set()
    for seed in range(8):
        record = play_match(game, {"gambler": ScriptedPlayer()}, tmp_path, seed=seed, replacement="first")
        assert game.read_move(game.machine.initial_state, "random", record.steps[0].moves[1]) == replacement(
            "random", seed, 0, "random", legal
        )
        assert record.steps[0].seconds.keys() == record.players.keys() == {"gambler"}
        rolls.add(record.steps[0].moves[1])
    assert len(rolls) > 2


def test_each_role_is_told_its_own_percepts(tmp_path: Path) -> None:
    asker = ScriptedPlayer(moves={0: "(ask 1)", 1: "(ask 2)"})
    keeper = ScriptedPlayer(moves={0: "(hide 1)", 1: "(hide 1)"})
    record = play_match(games.game(games.SECRET), {"asker": asker, "keeper": keeper}, tmp_path)
    assert [step.moves for step in record.steps] == [("(ask 1)", "(hide 1)"), ("(ask 2)", "(hide 1)")]
    assert [message for _, message in asker.heard[1:]] == [
        PlayPercepts("match-1", 0, None, ()),
        PlayPercepts("match-1", 1, ("ask", "1"), ("warm",)),
        StopPercepts("match-1", 2, ("ask", "2"), ()),
    ]
    assert [message for _, message in keeper.heard[2:]] == [
        PlayPercepts("match-1", 1, ("hide", "1"), (("asked", "1"),)),
        StopPercepts("match-1", 2, ("hide", "1"), (("asked", "2"),)),
    ]


@pytest.mark.parametrize("trouble", [{}, {2: says("(fly 1 1)")}])
def test_scrambled_players_see_other_words_and_play_the_same_game(trouble: dict[When, Trouble], tmp_path: Path) -> None:
    xplayer, oplayer = ScriptedPlayer(trouble), ScriptedPlayer()
    record = play_match(TICTACTOE, {"xplayer": xplayer, "oplayer": oplayer}, tmp_path, scramble=True)
    assert record.status == "terminal"
    assert {start.answer for start in record.start.values()} == {"ready"}
    starts = [message for player in (xplayer, oplayer) for _, message in player.heard if isinstance(message, Start)]
    assert "mark" not in starts[0].rules
    assert starts[0].rules != starts[1].rules
    assert starts[0].role != "xplayer"
    seeds = {player.scramble_seed for player in record.players.values()}
    assert len(seeds) == 2
    if trouble:  # a word that the player was never told stays as it is
        ((step, role, fault),) = record.faults
        assert (step, role, fault.kind, fault.answer) == (2, "xplayer", "illegal", "(fly 1 1)")
    else:
        assert record.faults == ()


def test_one_role_plays_alone(tmp_path: Path) -> None:
    record = play_match(
        games.game(games.COUNTDOWN), {"lonely": ScriptedPlayer(moves={1: "tick"})}, tmp_path, max_steps=3
    )
    assert [step.moves for step in record.steps] == [("wait",), ("tick",), ("wait",)]


def test_the_step_limit_ends_a_match_that_the_rules_do_not(tmp_path: Path) -> None:
    player = ScriptedPlayer()
    record = play_match(games.game(games.COUNTDOWN), {"lonely": player}, tmp_path, max_steps=5)
    assert record.status == "step limit"
    assert record.reason == "no terminal state after 5 steps, the limit of this match"
    assert len(record.steps) == 5
    assert record.goals == {"lonely": 40}
    assert player.told(Stop) == [Stop("match-1", ("wait",))]


def test_a_state_without_moves_breaks_the_match_and_not_the_game_master(tmp_path: Path) -> None:
    left, right = ScriptedPlayer(), ScriptedPlayer()
    record = play_match(games.game(games.STUCK), {"left": left, "right": right}, tmp_path)
    assert (record.status, record.reason) == ("broken", "the rules give right no move in step 1")
    assert record.goals is None
    assert len(record.steps) == 1
    assert left.told(Abort) == right.told(Abort) == [Abort("match-1")]


def test_rules_without_an_end_break_the_match_and_not_the_game_master(tmp_path: Path) -> None:
    player = ScriptedPlayer()
    record = play_match(games.game(games.ENDLESS), {"lonely": player}, tmp_path)
    assert record.status == "broken"
    assert record.reason is not None
    assert record.reason.startswith("the rules give no state after step 0: ")
    assert len(record.steps) == 1
    assert player.told(Abort) == [Abort("match-1")]


def test_a_match_that_is_over_before_it_begins_disturbs_nobody(tmp_path: Path) -> None:
    player = ScriptedPlayer()
    record = play_match(games.game(games.OVER), {"lonely": player}, tmp_path)
    assert (record.status, record.steps, record.goals) == ("terminal", (), {"lonely": None})
    assert player.heard == []


def test_the_dialect_of_dresden_is_spoken_where_it_is_asked_for(tmp_path: Path) -> None:
    players = {"xplayer": ScriptedPlayer(), "oplayer": ScriptedPlayer()}
    record = play_match(TICTACTOE, players, tmp_path, dialect=Dialect.DRESDEN)
    assert record.faults == ()
    assert {player.dialect for player in record.players.values()} == {Dialect.DRESDEN}
    assert f"Content-Length: {len('(PLAY match-1 NIL)')}" in players["xplayer"].raw[1].decode()


# START


def test_a_player_that_is_not_there_yet_is_told_start_again(tmp_path: Path) -> None:
    xplayer, oplayer = ScriptedPlayer(), ScriptedPlayer()

    async def whole() -> MatchRecord:
        async with AsyncExitStack() as stack:
            for player in (xplayer, oplayer):
                await stack.enter_async_context(player)
            xplayer.refuse()
            asyncio.get_running_loop().call_later(3.1, lambda: asyncio.ensure_future(xplayer.listen()))
            return await play(TICTACTOE, {"xplayer": xplayer, "oplayer": oplayer}, tmp_path)

    record = run(whole())
    assert record.faults == ()
    assert record.start["xplayer"].seconds == pytest.approx(3.25)
    assert record.start["oplayer"].seconds == 0.0
    assert len(xplayer.told(Start)) == 1


def test_a_player_that_fails_at_start_still_plays(tmp_path: Path) -> None:
    xplayer, oplayer = ScriptedPlayer({"start": hangs_up}), ScriptedPlayer({"start": silent})
    record = play_match(TICTACTOE, {"xplayer": xplayer, "oplayer": oplayer}, tmp_path)
    assert [(step, role, fault.kind) for step, role, fault in record.faults] == [
        (None, "xplayer", "timeout"),
        (None, "oplayer", "timeout"),
    ]
    assert record.start["oplayer"].seconds == pytest.approx(11.0)
    assert record.status == "terminal"
    assert all(not step.faults for step in record.steps)


def test_a_match_with_a_player_that_never_listens_is_void(tmp_path: Path) -> None:
    xplayer, oplayer = ScriptedPlayer(), ScriptedPlayer()

    async def whole() -> MatchRecord:
        async with xplayer:
            async with oplayer:
                pass
            return await play(TICTACTOE, {"xplayer": xplayer, "oplayer": oplayer}, tmp_path)

    record = run(whole())
    ((step, role, fault),) = record.faults
    assert (step, role, fault.kind) == (None, "oplayer", "unreachable")
    assert fault.detail == "no connection within 11 s: Connection refused"
    assert record.start["oplayer"].seconds == pytest.approx(11.0)
    assert (record.status, record.absent, record.goals, record.steps) == ("void", ("oplayer",), None, ())
    assert record.reason == "the player of oplayer was never reached"
    assert xplayer.told(Abort) == [Abort("match-1")]
    assert len(list(replay(record))) == 1


def test_busy_is_no_fault_and_is_kept(tmp_path: Path) -> None:
    players = {"xplayer": ScriptedPlayer({"start": says("busy")}), "oplayer": ScriptedPlayer()}
    record = play_match(TICTACTOE, players, tmp_path)
    assert record.start["xplayer"].answer == "busy"
    assert record.faults == ()


@pytest.mark.parametrize("answer", ["", ")) garbage"])
def test_an_unreadable_answer_to_start_is_malformed(answer: str, tmp_path: Path) -> None:
    players = {
        "xplayer": ScriptedPlayer({"start": says(answer)}),
        "oplayer": ScriptedPlayer({"start": says("Hello !")}),
    }
    record = play_match(TICTACTOE, players, tmp_path)
    assert [(step, role, fault.kind) for step, role, fault in record.faults] == [(None, "xplayer", "malformed")]
    assert record.start["oplayer"].answer == "Hello !"
    assert record.status == "terminal"


def test_players_without_a_name_are_asked_for_it(tmp_path: Path) -> None:
    left, right = ScriptedPlayer(), ScriptedPlayer({"info": silent})

    async def whole() -> MatchRecord:
        async with left, right:
            secret = f"http://ann:word@127.0.0.1:{right.port}/secret/"
            players = {"left": Player("left", "", left.url), "right": Player("right", "", secret)}
            return await run_match(
                ThreadRules(games.game(games.GUESSING)),
                players,
                make_settings(seed=1),
                "m",
                lambda _: None,
                lambda _: None,
            )

    record = run(whole())
    assert record.players["left"].name == "scripted"
    assert record.players["right"].name == f"127.0.0.1:{right.port}"
    assert [type(message) for _, message in right.heard][:2] == [Info, Start]
    assert right.heard[1][0] == pytest.approx(1.0)
    assert record.faults == ()


# Given up


def abort_after(seconds: float, players: dict[str, ScriptedPlayer], folder: Path) -> None:
    async def whole() -> None:
        async with AsyncExitStack() as stack:
            for player in players.values():
                await stack.enter_async_context(player)
            match = asyncio.create_task(play(TICTACTOE, players, folder))
            await asyncio.sleep(seconds)
            match.cancel()
            with pytest.raises(asyncio.CancelledError):
                await match

    run(whole())


def test_a_cancelled_match_tells_abort_and_keeps_what_happened(tmp_path: Path) -> None:
    players = {"xplayer": ScriptedPlayer({0: late(2), 1: late(2)}), "oplayer": ScriptedPlayer({1: late(4)})}
    abort_after(3.0, players, tmp_path)
    record = read_record(tmp_path / "record.json")
    assert record.status == "aborted"
    assert record.reason == "the game master gave the match up"
    assert len(record.steps) == 1
    assert record.finished is not None
    assert len(tuple(replay(record))) == 2
    for player in players.values():
        assert player.told(Abort) == [Abort("match-1")]
        assert player.told(Stop) == []


def test_a_match_cancelled_in_start_keeps_an_aborted_record(tmp_path: Path) -> None:
    players = {"xplayer": ScriptedPlayer({"start": silent}), "oplayer": ScriptedPlayer({"abort": silent})}
    abort_after(3.0, players, tmp_path)
    record = read_record(tmp_path / "record.json")
    assert (record.status, record.steps, record.start) == ("aborted", (), {})
    assert players["xplayer"].told(Abort) == [Abort("match-1")]


def test_a_match_cancelled_after_its_end_stays_complete(tmp_path: Path) -> None:
    players = {"xplayer": ScriptedPlayer({"stop": silent}), "oplayer": ScriptedPlayer()}
    abort_after(3.0, players, tmp_path)
    assert read_record(tmp_path / "record.json").status == "terminal"
    assert len(players["xplayer"].told(Stop)) == 1


def test_a_version_of_the_record_never_overtakes_the_one_before_it() -> None:
    kept: list[tuple[str, int]] = []
    slow, release, overtaken = threading.Event(), threading.Event(), threading.Event()

    def keep(record: MatchRecord) -> None:
        if len(record.steps) == 1 and record.status == "running":
            slow.set()
            assert release.wait(30)
        if record.status == "aborted":
            overtaken.set()
        kept.append((record.status, len(record.steps)))

    async def whole() -> None:
        async with ScriptedPlayer() as player:
            game, players = games.game(games.COUNTDOWN), {"lonely": Player("lonely", "one", player.url)}
            match = asyncio.create_task(
                run_match(ThreadRules(game), players, make_settings(seed=1), "m", keep, lambda _: None)
            )
            await asyncio.to_thread(slow.wait, 30)
            match.cancel()
            await asyncio.to_thread(overtaken.wait, 0.05)  # real seconds, in which nothing may be kept
            release.set()
            with pytest.raises(asyncio.CancelledError):
                await match

    run(whole())
    assert kept == [("running", 0), ("running", 0), ("running", 1), ("aborted", 1)]


def test_an_unwritable_record_gives_the_match_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    players = {"xplayer": ScriptedPlayer(), "oplayer": ScriptedPlayer()}
    write = RecordWriter.write

    def fail_later(self: RecordWriter, record: MatchRecord) -> None:
        if len(record.steps) >= 2:
            raise RecordError("the disk is full")
        write(self, record)

    monkeypatch.setattr(RecordWriter, "write", fail_later)
    with pytest.raises(RecordError, match="the disk is full"):
        play_match(TICTACTOE, players, tmp_path)
    assert len(read_record(tmp_path / "record.json").steps) == 1
    assert all(player.told(Abort) for player in players.values())


def test_steps_follow_each_other_and_never_overlap(tmp_path: Path) -> None:
    players = {"xplayer": ScriptedPlayer(dict.fromkeys(range(9), late(1))), "oplayer": ScriptedPlayer()}
    record = play_match(TICTACTOE, players, tmp_path)
    times = [time for time, message in players["oplayer"].heard if isinstance(message, Play)]
    assert [later - earlier for earlier, later in pairwise(times)] == pytest.approx([1.0] * (len(record.steps) - 1))


def test_a_player_that_calls_itself_by_a_long_name_gets_a_short_one() -> None:
    async def whole() -> MatchRecord:
        async with ScriptedPlayer({"info": says(f"((name {'A' * 30_000}) (status available))")}) as player:
            players = {role: Player(role, "", player.url) for role in ("left", "right")}
            rules = ThreadRules(games.game(games.GUESSING))
            return await run_match(rules, players, make_settings(seed=1), "m", lambda _: None, lambda _: None)

    assert [player.name for player in run(whole()).players.values()] == [
        LONGEST_NAME * "A",
        f"{LONGEST_NAME * 'A'} (2)",
    ]


def test_players_with_the_same_name_are_told_apart() -> None:
    left, right = ScriptedPlayer(), ScriptedPlayer()

    async def whole() -> MatchRecord:
        async with left, right:
            players = {"left": Player("left", "", left.url), "right": Player("right", "", right.url)}
            rules = ThreadRules(games.game(games.GUESSING))
            return await run_match(rules, players, make_settings(seed=1), "m", lambda _: None, lambda _: None)

    record = run(whole())
    assert [player.name for player in record.players.values()] == ["scripted", "scripted (2)"]
    assert b"Receiver: scripted\r\n" in right.raw[-1]  # by which it knows itself

"""Match: each trouble that a player can make becomes the right fault, and touches nobody else."""

import asyncio
import socket
from pathlib import Path

import pytest

import ggp
from gamemaster.faults import FaultKind
from gamemaster.record import MatchRecord
from ggp.gdl.terms import to_text
from ggp.protocol.messages import Play, Start, Stop
from tests.gamemaster import games
from tests.gamemaster.matches import play, play_match
from tests.gamemaster.scripted import (
    HOST,
    Exchange,
    ScriptedPlayer,
    Trouble,
    When,
    breaks_off,
    dies,
    drip,
    flood,
    hangs_up,
    honest,
    late,
    raw,
    response,
    says,
    silent,
)
from tests.gamemaster.virtual_time import VirtualTimeLoop, run

GAME = ggp.load("tictactoe")
STEP = 1  # in which oplayer has a choice
OUT_OF_TIME = 6.0  # seconds: playclock and grace
HUNDRED_MB = 100_000_000
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\n"
REDIRECT = b"HTTP/1.0 302 Found\r\nLocation: http://192.0.2.1/\r\nContent-Length: 0\r\n\r\n"

TROUBLES: dict[str, tuple[Trouble, FaultKind, str, float]] = {
    "late": (late(6.5), "timeout", "no complete answer within 6 s", OUT_OF_TIME),
    "silent": (silent, "timeout", "no complete answer within 6 s", OUT_OF_TIME),
    "drips too slowly": (drip(0.2), "timeout", "no complete answer within 6 s", OUT_OF_TIME),
    "hangs up": (hangs_up, "unreachable", "the connection ended before an answer", 0.0),
    "breaks off": (breaks_off, "unreachable", "the connection ended before the answer was complete", 0.0),
    "floods": (flood(HUNDRED_MB), "malformed", "more than 65536 bytes", 0.0),
    "floods as announced": (
        flood(HUNDRED_MB, b"HTTP/1.0 200 OK\r\nContent-Length: 100000000\r\n\r\n"),
        "malformed",
        "more than 65536 bytes",
        0.0,
    ),
    "floods the head": (flood(HUNDRED_MB, b"HTTP/1.0 200 OK\r\nX: "), "malformed", "is not HTTP", 0.0),
    "interim responses without end": (
        flood(HUNDRED_MB, INTERIM, INTERIM * 4096),
        "malformed",
        "it does not begin within 65536 bytes",
        0.0,
    ),
    "floods the extensions of chunks": (
        flood(
            HUNDRED_MB,
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            (b"1;" + b"a" * 4000 + b"\r\n \r\n") * 16,
        ),
        "malformed",
        "more than 65536 bytes",
        0.0,
    ),
    "floods an extension of a chunk": (
        flood(HUNDRED_MB, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;"),
        "malformed",
        "more than 65536 bytes",
        0.0,
    ),
    "two lengths": (
        raw(b"HTTP/1.0 200 OK\r\nContent-Length: 10\r\nContent-Length: 11\r\n\r\n(mark 1 1) "),
        "malformed",
        "the answer is not HTTP: Content-Length: 10, 11",
        0.0,
    ),
    "no number as length": (
        raw(b"HTTP/1.0 200 OK\r\nContent-Length: ten\r\n\r\n(mark 1 1)"),
        "malformed",
        "the answer is not HTTP: Content-Length: ten",
        0.0,
    ),
    "not HTTP": (raw(b"\x00\x80 (mark 1 1)\r\n\r\n"), "malformed", "is not HTTP", 0.0),
    "bad chunks": (
        raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n(mark 1 1)"),
        "malformed",
        "is not HTTP",
        0.0,
    ),
    "garbage": (says(")))) what? \x1b[2J"), "malformed", "unexpected ')'", 0.0),
    "empty": (says(""), "malformed", "the answer is empty", 0.0),
    "two moves": (says("(mark 1 1) (mark 1 2)"), "malformed", "more than one expression", 0.0),
    "deep": (says("(" * 10_000), "malformed", "nested deeper", 0.0),
    "bad UTF-8": (says(b"(mark 1 \xff)"), "malformed", "byte 8 of the answer, 0xff, is not UTF-8", 0.0),
    "HTTP 500": (says("(mark 1 1)", "500 Oops"), "malformed", "HTTP status 500 Oops", 0.0),
    "HTTP 204": (raw(b"HTTP/1.0 204 No Content\r\n\r\n"), "malformed", "HTTP status 204", 0.0),
    "redirect": (raw(REDIRECT), "malformed", "HTTP status 302", 0.0),
    "taken cell": (says("(mark 3 3)"), "illegal", "(true (cell 3 3 b)) does not hold", 0.0),
    "not its turn": (says("noop"), "illegal", "", 0.0),
    "unknown move": (says("(fly away)"), "illegal", "(fly away) is not a move of this game", 0.0),
    "another match": (says("busy"), "illegal", "busy is not a move of this game", 0.0),
    "cannot choose": (says("nil"), "illegal", "nil is not a move of this game", 0.0),
}


@pytest.mark.parametrize("name", TROUBLES)
def test_a_trouble_is_the_right_fault_of_the_right_role_and_step(name: str, tmp_path: Path) -> None:
    trouble, kind, detail, seconds = TROUBLES[name]
    xplayer, oplayer = ScriptedPlayer(), ScriptedPlayer({STEP: trouble})
    record = play_match(GAME, {"xplayer": xplayer, "oplayer": oplayer}, tmp_path)
    ((step, role, fault),) = record.faults
    assert (step, role, fault.kind) == (STEP, "oplayer", kind)
    assert detail in fault.detail
    assert record.steps[STEP].seconds == {"xplayer": 0.0, "oplayer": pytest.approx(seconds, abs=0.001)}
    assert record.status == "terminal"
    assert record.goals is not None
    assert sum(value or 0 for value in record.goals.values()) == 100
    assert_undisturbed(xplayer, [list(step.moves) for step in record.steps])
    assert oplayer.sent_bytes < 20_000_000  # what the operating system takes before it notices


def assert_undisturbed(player: ScriptedPlayer, moves: list[list[str]]) -> None:
    """The player was asked once for each step, and told each joint move that was executed."""
    told = [message.moves for message in player.told(Play) if isinstance(message, Play)]
    assert told[0] is None
    last = [message.moves for message in player.told(Stop) if isinstance(message, Stop)]
    assert [list(map(to_text, joint_move or ())) for joint_move in (*told[1:], *last)] == moves


def test_the_reason_of_a_fault_is_safe_to_print(tmp_path: Path) -> None:
    players = {"xplayer": ScriptedPlayer({0: says("\x1b[2J" + "x" * 1000)}), "oplayer": ScriptedPlayer()}
    record = play_match(GAME, players, tmp_path)
    ((_, _, fault),) = record.faults
    assert fault.answer is not None
    assert fault.answer.isprintable()
    assert fault.answer.startswith("\\x1b[2jxxx")
    assert len(fault.answer) < 250


EXPLAINED = '(mark 1 1) (explanation "éé")'.encode()


def drip_bytes(data: bytes) -> Trouble:
    """Any bytes in place of a response, one by one."""

    async def trouble(exchange: Exchange) -> None:
        for byte in data:
            await exchange.send(bytes([byte]))
            await asyncio.sleep(0.01)

    return trouble


def stays_open(data: bytes) -> Trouble:
    """Any bytes in place of a response, and no end of the connection."""

    async def trouble(exchange: Exchange) -> None:
        await exchange.send(data)
        await silent(exchange)

    return trouble


HARMLESS: dict[str, Trouble] = {
    "within the grace": late(5.9),
    "drips in time": drip(0.05),
    "remarks": says("(mark 1 1) (explanation (won)) (taunt ha)"),
    "upper case": says("  ( MARK 1 1 )\r\n"),
    "bare line feeds": raw(b"HTTP/1.0 200 OK\nContent-type: text/acl\nContent-length: 10\n\n(mark 1 1)"),
    "no length": raw(b"HTTP/1.0 200 OK\r\n\r\n(mark 1 1)"),
    "chunked": raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n(mar\r\n6\r\nk 1 1)\r\n0\r\n\r\n"),
    "continue first": raw(INTERIM + response(b"(mark 1 1)")),
    "much after it": raw(INTERIM * 2600 + response(b"(mark 1 1)" + b" " * 60_000)),
    "a line end beyond its length": raw(response(b"(mark 1 1)\r\n", length=10)),
    "words beyond its length": raw(response(b"(mark 1 1) and more", length=10)),
    "length in characters": raw(response(EXPLAINED, length=len(EXPLAINED.decode()))),
    "the same length twice": raw(
        b"HTTP/1.0 200 OK\r\nContent-Length: 10\r\nCONTENT-LENGTH:10\r\n\r\n(mark 1 1)",
    ),
    "length and chunks": raw(
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\na\r\n(mark 1 1)\r\n0\r\n\r\n"
    ),
    "drips with a length in characters": drip_bytes(response(EXPLAINED, length=len(EXPLAINED.decode()))),
    "small chunks": raw(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        + b"1\r\n \r\n" * 65_000
        + b"a\r\n(mark 1 1)\r\n0\r\n\r\n"
    ),
    "stays open behind its length": stays_open(response("(mark 1 1) (explanation é)".encode())),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_odd_but_clear_is_no_fault(name: str, tmp_path: Path) -> None:
    players = {"xplayer": ScriptedPlayer(), "oplayer": ScriptedPlayer({STEP: HARMLESS[name]}, {STEP: "(mark 1 1)"})}
    record = play_match(GAME, players, tmp_path)
    assert record.faults == ()
    assert record.steps[STEP].moves == ("noop", "(mark 1 1)")


def test_a_player_that_dies_is_unreachable_from_then_on(tmp_path: Path) -> None:
    xplayer, oplayer = ScriptedPlayer(), ScriptedPlayer({2: dies})
    record = play_match(GAME, {"xplayer": xplayer, "oplayer": oplayer}, tmp_path)
    assert [(step, role, fault.kind) for step, role, fault in record.faults] == [
        (step, "oplayer", "unreachable") for step in (2, 3, 4)
    ]
    assert record.faults[-1][2].detail == "no connection within 6 s: Connection refused"
    assert (record.status, record.forfeited, record.reason) == (
        "forfeit",
        ("oplayer",),
        "3 faults in a row of oplayer",
    )
    assert record.goals == {"xplayer": 100, "oplayer": 0}
    assert_undisturbed(xplayer, [list(step.moves) for step in record.steps])


def test_both_players_can_fail_at_once(tmp_path: Path) -> None:
    players = {"xplayer": ScriptedPlayer({0: silent}), "oplayer": ScriptedPlayer({0: hangs_up})}
    record = play_match(GAME, players, tmp_path)
    assert [(step, role, fault.kind) for step, role, fault in record.faults] == [
        (0, "xplayer", "timeout"),
        (0, "oplayer", "unreachable"),
    ]
    assert record.steps[0].moves[1] == "noop"


def test_a_play_is_never_repeated(tmp_path: Path) -> None:
    xplayer, oplayer = ScriptedPlayer({2: hangs_up}), ScriptedPlayer()
    record = play_match(GAME, {"xplayer": xplayer, "oplayer": oplayer}, tmp_path)
    assert len(xplayer.told(Play)) == len(record.steps)


def test_a_player_that_lets_nobody_in_is_unreachable(tmp_path: Path) -> None:
    with socket.create_server((HOST, 0), backlog=0) as full:
        waiting = [socket.socket() for _ in range(3)]
        for client in waiting:
            client.setblocking(False)
            client.connect_ex(full.getsockname())
        xplayer = ScriptedPlayer(port=full.getsockname()[1])

        async def whole() -> MatchRecord:
            async with ScriptedPlayer() as oplayer:
                return await play(GAME, {"xplayer": xplayer, "oplayer": oplayer}, tmp_path, max_steps=2)

        record = run(whole())
        for client in waiting:
            client.close()
    ((_, role, fault),) = record.faults
    assert (role, fault.kind, fault.detail) == ("xplayer", "unreachable", "no connection within 11 s")
    assert record.start["oplayer"].seconds == 0.0
    assert (record.status, record.absent) == ("void", ("xplayer",))


def restarts(after: float) -> Trouble:
    """Hangs up, and listens again only after so many seconds, as a player does whose script starts it anew."""

    async def trouble(exchange: Exchange) -> None:
        player = exchange.player
        player.refuse()
        player.troubles = {}
        asyncio.get_running_loop().call_later(after, lambda: player.spawn(player.listen()))

    return trouble


@pytest.mark.parametrize("trouble", [hangs_up, breaks_off, restarts(3.0)], ids=["hangs up", "breaks off", "restarts"])
def test_start_is_tried_again_while_its_clock_allows(trouble: Trouble, tmp_path: Path) -> None:
    async def once(exchange: Exchange) -> None:
        exchange.player.troubles = {}
        await trouble(exchange)

    players = {"xplayer": ScriptedPlayer({"start": once}), "oplayer": ScriptedPlayer()}
    record = play_match(GAME, players, tmp_path)
    assert record.faults == ()
    assert record.status == "terminal"
    assert len(players["xplayer"].told(Start)) == 2
    assert record.start["xplayer"].seconds >= 0.25


def test_a_player_that_hangs_up_at_every_start_is_played_with(tmp_path: Path) -> None:
    """It has heard which role it was to play, so it cannot have the match made void by saying nothing."""
    troubles: dict[When, Trouble] = {"start": hangs_up, 0: hangs_up, 1: hangs_up, 2: hangs_up}
    players = {"xplayer": ScriptedPlayer(troubles), "oplayer": ScriptedPlayer()}
    record = play_match(GAME, players, tmp_path)
    fault = record.start["xplayer"].fault
    assert fault is not None
    assert (fault.kind, fault.detail) == (
        "timeout",
        "no answer within 11 s: the connection ended before an answer",
    )
    assert (record.status, record.forfeited, record.absent) == ("forfeit", ("xplayer",), ())
    assert record.goals == {"xplayer": 0, "oplayer": 100}


def test_a_player_that_hears_start_and_is_gone_then_forfeits(tmp_path: Path) -> None:
    players = {"xplayer": ScriptedPlayer({"start": dies}), "oplayer": ScriptedPlayer()}
    record = play_match(GAME, players, tmp_path)
    fault = record.start["xplayer"].fault
    assert fault is not None
    assert (fault.kind, fault.detail) == ("timeout", "no answer within 11 s: no connection: Connection refused")
    assert (record.status, record.forfeited) == ("forfeit", ("xplayer",))


def test_a_play_without_connection_is_sent_again(tmp_path: Path) -> None:
    """The player listens again within the clock; what it heard once is not repeated."""

    async def pauses(exchange: Exchange) -> None:
        player = exchange.player
        await honest(exchange)
        player.refuse()
        asyncio.get_running_loop().call_later(4.0, lambda: player.spawn(player.listen()))

    xplayer, oplayer = ScriptedPlayer({1: pauses}), ScriptedPlayer()
    record = play_match(GAME, {"xplayer": xplayer, "oplayer": oplayer}, tmp_path)
    assert record.faults == ()
    assert record.steps[2].seconds["xplayer"] == pytest.approx(4.0, abs=0.3)
    assert len(xplayer.told(Play)) == len(record.steps)


# Forfeits


def busy_from(step: int) -> dict[When, Trouble]:
    return dict.fromkeys(range(step, 9), says("busy"))


def test_a_player_that_only_answers_busy_forfeits(tmp_path: Path) -> None:
    players = {"xplayer": ScriptedPlayer(busy_from(0)), "oplayer": ScriptedPlayer()}
    record = play_match(GAME, players, tmp_path)
    assert (record.status, record.forfeited, len(record.steps)) == ("forfeit", ("xplayer",), 3)
    assert record.goals == {"xplayer": 0, "oplayer": 100}
    assert all(player.told(Stop) for player in players.values())


def test_both_players_can_forfeit(tmp_path: Path) -> None:
    players = {role: ScriptedPlayer(busy_from(1)) for role in ("xplayer", "oplayer")}
    record = play_match(GAME, players, tmp_path)
    assert (record.forfeited, len(record.steps)) == (("xplayer", "oplayer"), 4)
    assert record.goals == {"xplayer": 0, "oplayer": 0}


def test_an_answer_in_between_begins_the_row_anew(tmp_path: Path) -> None:
    busy = says("busy")
    players = {"xplayer": ScriptedPlayer({0: busy, 1: busy, 3: busy, 4: busy}), "oplayer": ScriptedPlayer()}
    record = play_match(GAME, players, tmp_path)
    assert (record.status, record.forfeited) == ("terminal", ())


def test_how_many_faults_make_a_forfeit_is_a_setting(tmp_path: Path) -> None:
    players = {"xplayer": ScriptedPlayer(busy_from(0)), "oplayer": ScriptedPlayer()}
    assert len(play_match(GAME, players, tmp_path, forfeit_after=1).steps) == 1
    players = {"xplayer": ScriptedPlayer(busy_from(0)), "oplayer": ScriptedPlayer()}
    assert play_match(GAME, players, tmp_path, forfeit_after=0).status == "terminal"


def test_a_last_fault_in_the_step_that_ends_the_match_forfeits_it(tmp_path: Path) -> None:
    players = {"left": ScriptedPlayer(busy_from(0)), "right": ScriptedPlayer(moves={0: "(show 1)", 1: "(show 1)"})}
    record = play_match(games.game(games.GUESSING), players, tmp_path, forfeit_after=2)
    assert (record.status, record.forfeited, len(record.steps)) == ("forfeit", ("left",), 2)
    assert record.goals == {"left": 0, "right": 100}
    assert all(player.told(Stop) for player in players.values())


def test_a_last_fault_in_the_last_step_that_is_allowed_forfeits_the_match(tmp_path: Path) -> None:
    players = {"xplayer": ScriptedPlayer(busy_from(0)), "oplayer": ScriptedPlayer()}
    record = play_match(GAME, players, tmp_path, max_steps=3)
    assert (record.status, record.forfeited) == ("forfeit", ("xplayer",))


def test_a_lonely_player_can_forfeit(tmp_path: Path) -> None:
    lonely = ScriptedPlayer(busy_from(0))
    record = play_match(games.game(games.COUNTDOWN), {"lonely": lonely}, tmp_path, forfeit_after=2)
    assert (record.status, record.forfeited, record.goals) == ("forfeit", ("lonely",), {"lonely": 40})


# The game master is held up itself


def held_up(seconds: float, then: Trouble = honest) -> Trouble:
    """Something holds the event loop of the game master up for so many seconds, after what the player does."""

    async def trouble(exchange: Exchange) -> None:
        await then(exchange)
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        loop.hold_up(seconds)

    return trouble


def test_what_had_arrived_when_the_loop_was_held_up_counts(tmp_path: Path) -> None:
    players = {role: ScriptedPlayer({1: held_up(20.0)}) for role in ("xplayer", "oplayer")}
    record = play_match(GAME, players, tmp_path)
    assert record.faults == ()
    assert all(seconds <= 6.0 for seconds in record.steps[1].seconds.values())


def test_time_in_which_the_loop_was_held_up_is_given_back(tmp_path: Path) -> None:
    """oplayer answers after 4 of its 5 seconds, but xplayer's answer holds the loop up for 3 before that."""
    players = {"xplayer": ScriptedPlayer({1: held_up(3.0)}), "oplayer": ScriptedPlayer({1: late(4.0)})}
    record = play_match(GAME, players, tmp_path)
    assert record.faults == ()
    assert record.steps[1].seconds["oplayer"] <= 6.0


def test_a_timeout_while_the_loop_was_held_up_is_the_game_masters(tmp_path: Path) -> None:
    """It counts for nothing, however often it happens."""
    steps: list[When] = [0, 1, 2, 3]
    players = {
        "xplayer": ScriptedPlayer(dict.fromkeys(steps, held_up(8.0))),
        "oplayer": ScriptedPlayer(dict.fromkeys(steps, silent)),
    }
    record = play_match(GAME, players, tmp_path)
    assert [(role, fault.kind, fault.cause) for _, role, fault in record.faults] == [
        ("oplayer", "timeout", "game master")
    ] * 4
    assert record.faults[0][2].detail == "no complete answer within 6 s, while the game master was held up for 8.0 s"
    assert (record.status, record.forfeited) == ("terminal", ())


def test_a_short_lag_is_no_excuse(tmp_path: Path) -> None:
    players = {"xplayer": ScriptedPlayer({0: held_up(0.9)}), "oplayer": ScriptedPlayer({0: silent})}
    ((_, role, fault),) = play_match(GAME, players, tmp_path).faults
    assert (role, fault.kind, fault.cause) == ("oplayer", "timeout", "player")

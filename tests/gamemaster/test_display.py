"""Display: a match as lines for a person."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import ggp
from gamemaster.display import Display
from gamemaster.match import Event
from ggp.boards import Layout
from tests.gamemaster import games
from tests.gamemaster.matches import play_match
from tests.gamemaster.scripted import ScriptedPlayer, Trouble, When, late, says, silent


class Terminal(StringIO):
    """What is written to a terminal."""

    def isatty(self) -> bool:
        return True


def shown(events: list[Event], *, terminal: bool = False) -> str:
    out = Terminal() if terminal else StringIO()
    display = Display(Console(file=out, force_terminal=terminal, markup=False, highlight=False, emoji=False), Layout())
    for event in events:
        display.watch(event)
    display.close()
    return out.getvalue()


def test_a_match_reads_well(tmp_path: Path) -> None:
    gambler = ScriptedPlayer({"start": late(0.5), 0: says("[bold](bet 7)")}, {})
    events: list[Event] = []
    settings: dict[str, Any] = {"replacement": "first", "scramble": True, "seed": 1}
    record = play_match(games.game(games.DICE), {"gambler": gambler}, tmp_path, events=events, **settings)
    (_, roll) = record.steps[0].moves
    side = roll.split()[1].rstrip(")")
    assert shown(events).splitlines() == [
        "small  match match-1",
        "startclock 10 s, playclock 5 s, grace 1 s, seed 1, scrambled",
        f"  gambler  player of gambler  {gambler.url}",
        "  random   game master",
        "    Start",
        "",
        "START",
        "  gambler  player of gambler     0.50 s  ready",
        "",
        "step 0",
        "  gambler  player of gambler     0.00 s  (bet 1)",
        "    malformed [bold](bet 7): the answer has more than one expression; (bet 1) was executed instead",
        f"  random   game master                   {roll}",
        "    Placed: 1",
        f"    Rolled: {side}",
        "",
        "end after 1 step: the state is terminal",
        f"  gambler  player of gambler  {100 if side == '1' else 0:3}",
        f"  random   game master        {100 if side == '1' else 0:3}",
        "1 fault",
        "  gambler  player of gambler  step 0  malformed [bold](bet 7): the answer has more than one expression",
    ]


def test_faults_that_are_alike_are_told_once(tmp_path: Path) -> None:
    troubles: dict[When, Trouble] = {"start": silent, 0: silent, 2: silent, 3: silent}
    events: list[Event] = []
    game = games.game(games.COUNTDOWN)
    lonely = {"lonely": ScriptedPlayer(troubles)}
    play_match(game, lonely, tmp_path, events=events, replacement="first", startclock=5)
    assert "4 faults" in shown(events).splitlines()
    assert shown(events).splitlines()[-1] == (
        "  lonely  player of lonely  START, steps 0, 2–3  timeout: no complete answer within 6 s"
    )


@pytest.mark.parametrize("rules", [games.STUCK, games.ENDLESS, games.OVER])
def test_a_match_that_ends_oddly_says_why(rules: str, tmp_path: Path) -> None:
    game = games.game(rules)
    events: list[Event] = []
    record = play_match(game, {role: ScriptedPlayer() for role in game.roles}, tmp_path, events=events)
    assert (record.reason or "no single goal value") in shown(events)


def test_what_a_record_says_is_escaped(tmp_path: Path) -> None:
    game = ggp.load("tictactoe")
    record = play_match(game, {"xplayer": ScriptedPlayer(), "oplayer": ScriptedPlayer()}, tmp_path)
    bad = "a\x1b[31m\x07\nb"
    players = {role: player.model_copy(update={"name": bad, "url": bad}) for role, player in record.players.items()}
    start = {role: told.model_copy(update={"answer": bad}) for role, told in record.start.items()}
    changes = {"match": bad, "game": bad, "players": players, "start": start, "status": "aborted", "reason": bad}
    record = record.model_copy(update=changes)
    out = StringIO()
    display = Display(Console(file=out, markup=False, highlight=False, emoji=False), Layout())
    display.head(record)
    display.start(record)
    display.end(record)
    assert out.getvalue().count(r"a\x1b[31m\x07\nb") == 13
    assert out.getvalue().replace("\n", "").isprintable()


def test_a_terminal_gets_colours_and_a_plain_file_none(tmp_path: Path) -> None:
    events: list[Event] = []
    players = {"xplayer": ScriptedPlayer(), "oplayer": ScriptedPlayer()}
    play_match(ggp.load("tictactoe"), players, tmp_path, events=events)
    assert "\x1b[" in shown(events, terminal=True)
    assert "\x1b" not in shown(events)
    assert "waiting" not in shown(events)

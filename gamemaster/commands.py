"""The commands `ggp match` and `ggp replay`: what they take and how they explain themselves.

What they do is in `gamemaster.console`, which is loaded when a command runs, so that `ggp` itself starts quickly.
"""

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

from gamemaster.settings import MatchSettings
from ggp.commands.options import given, options_of, with_options
from ggp.commands.shared import GameArgument, JsonOption

Players = Annotated[
    list[str],
    typer.Argument(
        metavar="PLAYER",
        help="One for each role, in the order of the rulesheet: http://host:port, host:port, or the name of a bot, "
        "which is started and stopped again: mcts, montecarlo, random, legal, or FILE.py:NAME, a function or class of "
        "yours (docs/write-a-bot.md). name=PLAYER gives it another name; #dresden after the port speaks the dialect "
        "of Dresden.",
    ),
]
Record = Annotated[
    str,
    typer.Option(
        metavar="FILE",
        help="Where the record goes; it replaces a record that is there, but no other file. A folder, or a name that "
        "ends in /, takes it under the name of the match and is created when needed.",
    ),
]
Opening = Annotated[
    str,
    typer.Option(
        metavar="MOVES",
        help="Moves after which the match begins, as in ggp analyse: '(mark 1 1) (mark 2 2)', or joint moves: "
        "'((mark 1 1) noop) (noop (mark 2 2))'.",
    ),
]
RecordFile = Annotated[Path, typer.Argument(metavar="RECORD", help="A record that `ggp match` has written.")]
Export = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Also write the JSON that ggp-base and Tiltyard use; - for stdout alone."),
]

_SETTINGS = (  # that are options
    "startclock", "playclock", "grace", "scramble", "seed", "replacement", "max_steps", "rules_wait", "forfeit_after",
    "resign_steps", "resign_value", "draw_steps", "draw_value", "draw_from",
)  # fmt: skip


def add_commands(app: typer.Typer) -> None:
    """The game master's part of `ggp`."""
    app.command("match")(with_options(match, options_of(MatchSettings, only=_SETTINGS)))
    app.command("replay")(replay)


def match(
    game: GameArgument,
    players: Players,
    record: Record = "records/",
    opening: Opening = "",
    json: JsonOption = False,
    **settings: Any,  # noqa: ANN401 - those of _SETTINGS
) -> None:
    """Run a match and show it as it goes.

    When a player is late or unreachable, or its answer malformed or illegal,
    that is kept as a fault, a replacement is executed, and the match goes on.
    The record is readable at every moment; `ggp replay` shows and verifies it.
    After the seconds of a move stands the goal value that its player expects,
    where it is one of ours that thinks: 61, or =61 where that is proven.
    Ctrl-C gives the match up.

    Two bots:            ggp match tictactoe mcts random --playclock 1

    A player elsewhere:  ggp match fiveinarow 192.0.2.7:9147 mcts

    A rulesheet of mine: ggp match my.kif random random --record my.json

    Exit code: 0 when the match ended, whatever the faults; 1 when the rules
    broke or a player was never reached; 2 for a mistake; 130 after Ctrl-C.
    """
    raise typer.Exit(_console().run(game, players, given(settings), record, opening, as_json=json))


def replay(record: RecordFile, json: JsonOption = False, export: Export = None) -> None:
    """Show a recorded match, and verify it step by step.

    Each move must be legal, each replacement must follow from the seed, and
    the end and the goal values must be those of the rules. The first thing
    that does not hold is named, with exit code 2.

    Show it:          ggp replay match.json

    For other tools:  ggp replay match.json --export tiltyard.json

    A record in the form of ggp-base and Tiltyard is shown, too; it has no
    rules, so nothing in it can be verified.
    """
    _console().show(record, export, as_json=json)


def _console() -> ModuleType:
    return import_module("gamemaster.console")

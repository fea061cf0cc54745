"""The commands `ggp match` and `ggp replay`: what they take and how they explain themselves.

What they do is in `gamemaster.console`, which is loaded when a command runs, so that `ggp` itself starts quickly.
"""

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

from ggp.commands.shared import GameArgument, JsonOption

Players = Annotated[
    list[str],
    typer.Argument(
        metavar="PLAYER...",
        help="One for each role, in the order of the rulesheet: http://host:port, host:port, or the name of a bot, "
        "which is started and stopped again: mcts, montecarlo, random or legal. name=PLAYER gives it another "
        "name; #dresden after the port speaks the dialect of Dresden.",
    ),
]
Startclock = Annotated[int, typer.Option(metavar="S", help="Seconds before the first step.")]
Playclock = Annotated[int, typer.Option(metavar="S", help="Seconds for each move.")]
Grace = Annotated[float, typer.Option(metavar="S", help="Seconds beyond either clock, for the network.")]
Scramble = Annotated[bool, typer.Option("--scramble", help="Tell each player the rules in words that mean nothing.")]
Seed = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="Decides all chance: replacements, `random`, scrambling, bots. Drawn when left out."
    ),
]
Record = Annotated[
    str,
    typer.Option(
        metavar="FILE",
        help="Where the record goes, replacing what is there. A folder, or a name that ends in /, takes it under the "
        "name of the match and is created when needed.",
    ),
]
Replacement = Annotated[
    str, typer.Option(metavar="random|first", help="Which legal move is executed in place of a fault.")
]
MaxSteps = Annotated[int, typer.Option(metavar="N", help="The match ends after so many steps.")]
RecordFile = Annotated[Path, typer.Argument(metavar="RECORD", help="A record that `ggp match` has written.")]
Export = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Also write the JSON that ggp-base and Tiltyard use; - for stdout alone."),
]


def add_commands(app: typer.Typer) -> None:
    """The game master's part of `ggp`."""
    app.command("match")(match)
    app.command("replay")(replay)


def match(  # noqa: PLR0913, PLR0917 - an option of a command is a parameter
    game: GameArgument,
    players: Players,
    startclock: Startclock = 10,
    playclock: Playclock = 5,
    grace: Grace = 1.0,
    scramble: Scramble = False,
    seed: Seed = None,
    record: Record = "records/",
    replacement: Replacement = "random",
    max_steps: MaxSteps = 1000,
    json: JsonOption = False,
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

    Exit code: 0 when the match ended, whatever the faults; 2 for a mistake;
    130 after Ctrl-C.
    """
    settings: dict[str, object] = {"startclock": startclock, "playclock": playclock, "grace": grace}
    settings |= {"scramble": scramble, "replacement": replacement, "max_steps": max_steps}
    settings |= {} if seed is None else {"seed": seed}
    raise typer.Exit(_console().run(game, players, settings, record, as_json=json))


def replay(record: RecordFile, json: JsonOption = False, export: Export = None) -> None:
    """Show a recorded match, and verify it step by step.

    Each move must be legal, each replacement must follow from the seed, and
    the end and the goal values must be those of the rules. The first thing
    that does not hold is named, with exit code 2.

    Show it:          ggp replay match.json

    For other tools:  ggp replay match.json --export tiltyard.json
    """
    _console().show(record, export, as_json=json)


def _console() -> ModuleType:
    return import_module("gamemaster.console")

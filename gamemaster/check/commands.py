"""The command `ggp player check`: what it takes and how it explains itself.

What it does is in `gamemaster.check.console`, which is loaded when it runs, so that `ggp` itself starts quickly.
"""

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from ggp.commands.shared import JsonOption

_GROUP = "player"

PlayerUrl = Annotated[str, typer.Argument(metavar="URL", help="http://host:port or host:port of a player that runs.")]
CheckedGame = Annotated[str, typer.Option(metavar="GAME", help="A shipped game, a rulesheet file, or -.")]
Startclock = Annotated[int, typer.Option(metavar="S", help="Seconds before the first step.")]
Playclock = Annotated[int, typer.Option(metavar="S", help="Seconds for each move.")]
DialectName = Annotated[str, typer.Option(metavar="ggp-base|dresden|both", help="In which whole matches are played.")]
Gdl2 = Annotated[bool, typer.Option("--gdl2", help="Play a match of GDL-II, too.")]
Seed = Annotated[int | None, typer.Option(metavar="N", min=0, help="Of the other roles' moves. Drawn when left out.")]
DialogueFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Where everything goes that was sent and received.")
]
Verbose = Annotated[bool, typer.Option("--verbose", help="Show with each check all that was sent and received.")]


def add_commands(app: typer.Typer) -> None:
    """Adds `check` to the group `player`, which is made where nobody has made it."""
    groups = (group.typer_instance for group in app.registered_groups if group.name == _GROUP)
    group = next((found for found in groups if found is not None), None)
    if group is None:
        group = typer.Typer(help="Players.")
        group.callback()(_players)
        app.add_typer(group, name=_GROUP)
    group.command("check")(check)


def check(  # noqa: PLR0913, PLR0917 - an option of a command is a parameter
    url: PlayerUrl,
    game: CheckedGame = "tictactoe",
    startclock: Startclock = 2,
    playclock: Playclock = 2,
    dialect: DialectName = "both",
    gdl2: Gdl2 = False,
    seed: Seed = None,
    dialogue: DialogueFile = None,
    verbose: Verbose = False,
    json: JsonOption = False,
) -> None:
    """Put a player through its paces, and say what it does well and badly.

    Whole matches in both dialects, matches given up, messages that come late,
    twice or for another match, odd requests, and what is no message at all.
    Takes a few seconds with a quick player, and some minutes with one that
    uses its clocks. Nothing is sent but to the given address.

    A player here:   ggp player check localhost:9147

    All that is said: ggp player check localhost:9147 --dialogue dialogue.txt

    Exit code: 0 when nothing is bad, 1 when something is, 2 for a mistake.
    """
    console = import_module("gamemaster.check.console")
    session = import_module("gamemaster.check.session")
    chosen = {} if seed is None else {"seed": seed}
    settings = session.CheckSettings(startclock, playclock, console.dialects_of(dialect), gdl2, **chosen)
    raise typer.Exit(console.check(url, game, settings, dialogue=dialogue, in_json=json, verbose=verbose))


def _players() -> None:
    """Nothing to do before a sub-command."""

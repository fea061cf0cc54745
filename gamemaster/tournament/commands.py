"""The commands `ggp tournament …`: what they take and how they explain themselves.

What they do is in `gamemaster.tournament.console`, which is loaded when a command runs, so that `ggp` starts quickly.
"""

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

from ggp.commands.shared import JsonOption

File = Annotated[Path, typer.Argument(metavar="FILE", help="A specification in TOML.")]
FileOrNone = Annotated[Path | None, typer.Argument(metavar="FILE", help="A specification in TOML.")]
Where = Annotated[
    str, typer.Argument(metavar="FILE|STORE", help="A specification, or a store: an SQLite file, or a database URL.")
]
Games = Annotated[str | None, typer.Option(metavar="GAME,…", help="Shipped games or rulesheet files.")]
Players = Annotated[
    str | None,
    typer.Option(
        metavar="PLAYER,…",
        help="Bots (mcts, montecarlo, random, legal, FILE.py:NAME), http://host:port or host:port; "
        "name=PLAYER gives another name.",
    ),
]
Rounds = Annotated[int | None, typer.Option(metavar="N", help="How often all is played.")]
Format = Annotated[
    str | None,
    typer.Option("--format", metavar="FORMAT", help="round-robin, gauntlet, swiss or knock-out."),
]
Startclock = Annotated[int | None, typer.Option(metavar="S", help="Seconds before the first step.")]
Playclock = Annotated[int | None, typer.Option(metavar="S", help="Seconds for each move.")]
Sprt = Annotated[
    str | None,
    typer.Option(
        metavar="elo0=A,elo1=B",
        help="Two players: stop as soon as it is clear whether the first is stronger by B Elo or by A.",
    ),
]
Seed = Annotated[int | None, typer.Option(metavar="N", help="Decides all chance. Drawn when left out.")]
Results = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Where specification, store and report go; tournaments/ when left out."),
]
Name = Annotated[str | None, typer.Option(metavar="NAME", help="Of the tournament: one word.")]
Which = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="Of the tournament, where the store has several.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on when it was begun already.")]
Cluster = Annotated[
    str | None,
    typer.Option(metavar="ray[://…]", help="Play on a Ray cluster: `ray` for the one of this computer, or an address."),
]
To = Annotated[
    Path | None, typer.Option("--to", metavar="FOLDER", help="The folder of the specification when left out, or NAME.")
]


def add_commands(app: typer.Typer) -> None:
    """The tournaments' part of `ggp`."""
    group = typer.Typer(help="Run tournaments: fair, rated, and resumed after a crash.", no_args_is_help=True)
    for command in (new, check, run, status, resume, export):
        group.command()(command)
    app.add_typer(group, name="tournament")


def new(
    file: File,
    games: Games = "tictactoe",
    players: Players = "mcts,random",
    rounds: Rounds = None,
    format_: Format = None,
    name: Name = None,
) -> None:
    """Write a specification with remarks, to be edited.

    ggp tournament new cup.toml --games connectfour,breakthrough --players mcts,random --rounds 10
    """
    _module("spec_options").write_new(file, games, players, _fields(rounds=rounds, format=format_, name=name))


def check(file: File, json: JsonOption = False) -> None:
    """Check a specification: its games, its bots by starting each once, its players by asking each for INFO.

    Exit code: 0 when all is well; 1 when a player did not answer; 2 for a mistake.
    """
    raise typer.Exit(_module("console").check(file, as_json=json))


def run(  # noqa: PLR0913, PLR0917 - an option of a command is a parameter
    file: FileOrNone = None,
    games: Games = None,
    players: Players = None,
    rounds: Rounds = None,
    format_: Format = None,
    startclock: Startclock = None,
    playclock: Playclock = None,
    sprt: Sprt = None,
    seed: Seed = None,
    name: Name = None,
    results: Results = None,
    resume_: Resume = False,
    cluster: Cluster = None,
    json: JsonOption = False,
) -> None:
    """Run a tournament.

    From a specification:  ggp tournament run cup.toml

    Without one:           ggp tournament run --games connectfour,breakthrough --players mcts,random --rounds 10

    Is it stronger:        ggp tournament run --games reversi --players mcts,montecarlo --sprt elo0=0,elo1=20

    Ctrl-C gives up the matches under way; `ggp tournament resume` goes on, also after a crash.

    Exit code: 0 when all was played, whatever the faults; 2 for a mistake or when it cannot go on; 130 after Ctrl-C.
    """
    fields = _fields(rounds=rounds, format=format_, seed=seed, name=name, startclock=startclock, playclock=playclock)
    console = _module("console")
    if file is not None:
        wrong = [*fields, *_fields(games=games, players=players, sprt=sprt, results=results)]
        raise typer.Exit(console.run_file(file, wrong, resume=resume_, cluster=cluster, as_json=json))
    raise typer.Exit(console.run_new(games, players, fields, sprt, results, cluster=cluster, as_json=json))


def status(where: Where, name: Which = None, json: JsonOption = False) -> None:
    """Show how a tournament stands, also while it runs."""
    _module("console").show_status(where, name, as_json=json)


def resume(where: Where, name: Which = None, cluster: Cluster = None, json: JsonOption = False) -> None:
    """Go on with a tournament that was interrupted or killed; what has a result is not played again."""
    raise typer.Exit(_module("console").resume(where, name, cluster=cluster, as_json=json))


def export(where: Where, to: To = None, name: Which = None, json: JsonOption = False) -> None:
    """Write standings (text, JSON, CSV), the report in HTML, and every record in our format and in that of Tiltyard.

    Exit code: 0 when all is written; 1 when some matches could not be, each of
    which is named; 2 for a mistake.
    """
    raise typer.Exit(_module("console").export(where, to, name, as_json=json))


def _fields(**given: object) -> dict[str, object]:
    """Those that were given."""
    return {name: value for name, value in given.items() if value is not None}


def _module(name: str) -> ModuleType:
    return import_module(f"gamemaster.tournament.{name}")

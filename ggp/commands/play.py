"""The sub-command play: humans at one terminal play against each other, or against bots in this process."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from ggp.cache import is_warm, warm_in_background
from ggp.commands.analyse import follow
from ggp.commands.bots import BOTS, SEARCHES, Advisor, BotName, make_bot, read_bot
from ggp.commands.shared import GameArgument, load_argument, seed_option
from ggp.errors import HiddenStateError, SettingsError, UnknownRoleError
from ggp.game import Game
from ggp.gdl.rulesheet import NATURE
from ggp.signals import interrupting

if TYPE_CHECKING:
    from ggp.commands.session import Ask

ME = "me"
_DEFAULT: BotName = "mcts"


def add_commands(app: typer.Typer) -> None:
    """Adds the sub-command to the application."""
    app.command("play")(play)


def play(  # noqa: PLR0913, PLR0917 - each is an option
    game: GameArgument,
    players: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PLAYER",
            help=f"One for each role, in the order of the rulesheet: {ME}, {', '.join(BOTS)}. Without players you are "
            "asked for your role, and the bot of --against plays the others.",
        ),
    ] = None,
    against: Annotated[
        str,
        typer.Option(metavar="BOT", help=f"What plays the other roles, if no players are given: {', '.join(BOTS)}."),
    ] = _DEFAULT,
    role: Annotated[str | None, typer.Option(help="Your role, if no players are given.")] = None,
    seconds: Annotated[float, typer.Option(min=0.0, help="Thinking time of a search, for each move or hint.")] = 2.0,
    moves: Annotated[
        str,
        typer.Option(metavar="MOVES", help="Moves from the initial state to the one to start from, as in ggp analyse."),
    ] = "",
    seed: Annotated[int | None, seed_option("Seed of the bots and of the role random.")] = None,
) -> None:
    """Play a game in the terminal.

    Type a move, its number or a part of it; or hint, undo, resign or quit. ? shows all commands. Several people can
    play at one terminal: write me for each. In a game that hides its state from the roles, one person plays against
    the bots random and legal.

    Against the search:   ggp play connectfour

    Two people:           ggp play tictactoe me me

    Against random moves: ggp play breakthrough me random
    """
    from ggp.boards import find_layout  # noqa: PLC0415 - every command would load it
    from ggp.commands.session import MatchSetup, Session  # noqa: PLC0415 - as above

    choices = [None if name == ME else read_bot(name) for name in players] if players else None
    others = read_bot(against)
    is_searched = any(name in SEARCHES for name in choices or [others])
    if is_searched and not is_warm():
        warm_in_background()
    loaded = load_argument(game, None if is_searched else "interpreter")
    console = Console(highlight=False, soft_wrap=True)
    ask = _asker(console)
    with suppress(EOFError):
        if choices is None:
            own = _own_role(loaded, role, console, ask)
            choices = [None if name == own else others for name in _played(loaded)]
        elif role is not None:
            raise SettingsError("--role and players exclude each other: write me in the place of your role")
        chosen = _bots_by_role(loaded, choices)
        _check_hidden(loaded, chosen)
        rng = Random(seed)  # noqa: S311 - not for secrets
        bots: dict[str, Advisor] = {
            name: make_bot(bot, seconds, rng) for name, bot in chosen.items() if bot is not None
        }
        layout = find_layout(loaded.rulesheet, loaded.machine, loaded.metadata.drawing)
        setup = MatchSetup(loaded, layout, bots, make_bot(_DEFAULT, seconds, rng))
        Session(setup, console, ask).play(follow(loaded.initial_state, moves))
        return
    console.print()


def _asker(console: Console) -> "Ask":
    """Reads lines from standard input; echoes them if it is not a terminal."""
    if sys.stdin is not None and sys.stdin.isatty():
        with suppress(ImportError):
            import readline  # noqa: F401, PLC0415 - lets the user edit the line
        return _typed

    def ask(prompt: str) -> str:
        console.print(prompt, end="", markup=False)
        line = sys.stdin.readline() if sys.stdin is not None else ""
        if not line:
            console.print()
            raise EOFError
        console.print(line.rstrip("\r\n"), markup=False)
        return line

    return ask


def _typed(prompt: str) -> str:
    """A line from the terminal, which is left as it was after Ctrl-C."""
    with interrupting():
        return input(prompt)


def _played(game: Game) -> list[str]:
    """The roles except random."""
    return [name for name in game.roles if name != NATURE]


def _bots_by_role(game: Game, choices: Sequence[BotName | None]) -> dict[str, BotName | None]:
    """Role → its bot; None for a human. Without a player for each role, SettingsError."""
    roles = _played(game)
    if len(choices) != len(roles):
        raise SettingsError(f"{game.name} needs {len(roles)} players ({', '.join(roles)}), not {len(choices)}")
    chance: dict[str, BotName | None] = {name: "random" for name in game.roles if name == NATURE}
    return dict(zip(roles, choices, strict=True)) | chance


def _check_hidden(game: Game, chosen: Mapping[str, BotName | None]) -> None:
    """HiddenStateError where the rules hide the state from roles, and somebody would see or use all of it."""
    if not game.rulesheet.has_percepts:
        return
    searching = next((bot for bot in chosen.values() if bot in SEARCHES), None)
    if searching is not None:
        others = ", ".join(bot for bot in BOTS if bot not in SEARCHES)
        raise HiddenStateError(
            f"{game.name} hides the state from its roles (`sees`), and {searching} would use all of it; "
            f"the bots for such games are {others}: --against random"
        )
    if sum(bot is None for bot in chosen.values()) > 1:
        raise HiddenStateError(
            f"{game.name} hides the state from its roles (`sees`), so only one of them can be played at a terminal"
        )


def _own_role(game: Game, role: str | None, console: Console, ask: "Ask") -> str:
    roles = _played(game)
    if role is not None:
        if role.lower() not in roles:
            raise UnknownRoleError(f"no role is called {role!r}; the roles are {', '.join(roles)}")
        return role.lower()
    if len(roles) == 1:
        return roles[0]
    for number, name in enumerate(roles, 1):
        told = game.metadata.roles.get(name, "")
        console.print(f"{number} {name}{f', {told}' if told else ''}", markup=False)
    while True:
        line = ask("your role> ").strip().lower()
        if line in roles:
            return line
        if line.isdecimal() and 0 < int(line) <= len(roles):
            return roles[int(line) - 1]
        begun = [name for name in roles if line and name.startswith(line)]
        if len(begun) == 1:
            return begun[0]
        if line == "quit":
            raise typer.Exit
        console.print(f"type a number, one of {', '.join(roles)}, or quit", markup=False)

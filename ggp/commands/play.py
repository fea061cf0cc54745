"""The sub-command play: a person plays in the terminal, against programs in this process or with others at it."""

import sys
from collections.abc import Sequence
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from ggp.commands.analyse import follow
from ggp.commands.arguments import GameArgument, load_argument
from ggp.commands.thinkers import KINDS, Kind, Thinker, make_thinker, read_kind
from ggp.errors import SettingsError, UnknownRoleError
from ggp.game import Game
from ggp.gdl.rulesheet import NATURE

if TYPE_CHECKING:
    from ggp.commands.session import Ask

ME = "me"
_DEFAULT: Kind = "mcts"


def add_commands(app: typer.Typer) -> None:
    """Adds the sub-command to the application."""
    app.command("play")(play)


def play(  # noqa: PLR0913, PLR0917 - each is an option
    game: GameArgument,
    players: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PLAYER]...",
            help=f"One for each role, in the order of the rulesheet: {ME}, {', '.join(KINDS)}. When left out, you are "
            "asked which role you take, and --against takes the others.",
        ),
    ] = None,
    against: Annotated[str, typer.Option(help="Who takes the other roles, where no players are named.")] = _DEFAULT,
    role: Annotated[str | None, typer.Option(help="The role that you take, where no players are named.")] = None,
    seconds: Annotated[float, typer.Option(min=0.0, help="That a search thinks, for a move or a hint.")] = 2.0,
    moves: Annotated[
        str, typer.Option(metavar="MOVES", help="That lead to the state to begin with, as in ggp analyse.")
    ] = "",
    seed: Annotated[int | None, typer.Option(help="Of the players' chance and of the role random.")] = None,
) -> None:
    """Play a game in the terminal.

    Type a move, its number, or a part of it; hint, undo, resign and quit are understood too, and ? says more. Several
    people can play at one terminal: each says me.

    Against the search:  ggp play connectfour

    Two people:          ggp play tictactoe me me

    Against chance:      ggp play breakthrough me random
    """
    from ggp.boards import find_layout  # noqa: PLC0415 - every command would load it
    from ggp.commands.session import Session, Table  # noqa: PLC0415 - likewise

    kinds = [None if name == ME else read_kind(name) for name in players] if players else None
    others = read_kind(against)
    is_searched = any(kind in ("mcts", "montecarlo") for kind in kinds or [others])
    loaded = load_argument(game, None if is_searched else "interpreter")
    console = Console(highlight=False, soft_wrap=True)
    ask = _asker(console)
    with suppress(EOFError, KeyboardInterrupt):
        if kinds is None:
            own = _own_role(loaded, role, console, ask)
            kinds = [None if name == own else others for name in _played(loaded)]
        elif role is not None:
            raise SettingsError("--role goes without players: say me in the place of your role")
        takers = _takers(loaded, kinds)
        rng = Random(seed)  # noqa: S311 - not for secrets
        thinkers: dict[str, Thinker] = {
            name: make_thinker(kind, seconds, rng) for name, kind in takers.items() if kind is not None
        }
        layout = find_layout(loaded.rulesheet, loaded.machine, loaded.metadata.drawing)
        table = Table(loaded, layout, thinkers, make_thinker(_DEFAULT, seconds, rng))
        Session(table, console, ask).play(follow(loaded.initial_state, moves))
        return
    console.print()


def _asker(console: Console) -> "Ask":
    """Reads lines; where nobody sees what is typed, it is written down as well."""
    if sys.stdin is not None and sys.stdin.isatty():
        with suppress(ImportError):
            import readline  # noqa: F401, PLC0415 - so that a line can be edited
        return input

    def ask(prompt: str) -> str:
        console.print(prompt, end="", markup=False)
        line = sys.stdin.readline() if sys.stdin is not None else ""
        if not line:
            console.print()
            raise EOFError
        console.print(line.rstrip("\r\n"), markup=False)
        return line

    return ask


def _played(game: Game) -> list[str]:
    """The roles that are not left to chance."""
    return [name for name in game.roles if name != NATURE]


def _takers(game: Game, kinds: Sequence[Kind | None]) -> dict[str, Kind | None]:
    """Role → the kind of its player, None for a person."""
    roles = _played(game)
    if len(kinds) != len(roles):
        raise SettingsError(f"{game.name} takes {len(roles)} ({', '.join(roles)}), not {len(kinds)}")
    chance: dict[str, Kind | None] = {name: "random" for name in game.roles if name == NATURE}
    return dict(zip(roles, kinds, strict=True)) | chance


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
        console.print(f"type a number or one of {', '.join(roles)}", markup=False)

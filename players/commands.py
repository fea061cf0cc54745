"""The commands `ggp player NAME`, each of which runs one player as a service, and `ggp exploit`.

`ggp player new` writes the beginning of a strategy.
"""

import inspect
import json
import keyword
import re
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from ggp.commands.options import given, options_of, with_options
from ggp.commands.shared import GameArgument, JsonOption, load_argument
from ggp.errors import GroundingError, SettingsError
from ggp.protocol.messages import DEFAULT_PORT
from ggp.search.mcts.settings import SearchSettings
from players.launch import choose_settings, run
from players.settings import NO_OPTIONS, PLAYERS, SERVICE_SETTINGS, PlayerSettings, is_custom

_PANEL = "The search of mcts"
_SEARCHER = "mcts"  # the only one that uses the options of the search
_CUSTOM = "FILE.py:NAME"  # the command that runs a user's strategy, whatever its name
_ALL_PLAY = "A player plays one match at a time and answers busy to others. Ctrl-C or SIGTERM stops it."
OPTIONS = (
    *options_of(PlayerSettings, only=SERVICE_SETTINGS),
    *options_of(PlayerSettings, leave_out=SERVICE_SETTINGS, panel=_PANEL),
    *options_of(SearchSettings, leave_out=NO_OPTIONS, panel=_PANEL),
)


def add_commands(app: typer.Typer) -> None:
    """Adds the group `player` with a command for each strategy; other packages may add theirs to it."""
    players = typer.Typer(help=inspect.getdoc(run_player), subcommand_metavar="NAME [OPTIONS]...", cls=_Players)
    players.callback()(with_options(_hand_down, _options_of_service()))
    for strategy, summary in PLAYERS.items():
        shape = TyperCommand if strategy == _SEARCHER else _WithoutSearch
        command = with_options(partial(run_player, strategy), OPTIONS)
        players.command(strategy, cls=shape, short_help=summary, help=f"{summary}\n\n{_ALL_PLAY}")(command)
    players.command(_CUSTOM, hidden=True)(with_options(run_player, OPTIONS))
    players.command("new", short_help="Write the beginning of a strategy of yours, with a test.")(write_new)
    app.add_typer(players, name="player")


def run_player(  # noqa: PLR0913 - an option of a command is a parameter
    strategy: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="mcts, legal, random or montecarlo; or a function or class of yours: FILE.py:NAME or MODULE:NAME.",
        ),
    ],
    *,
    port: Annotated[int, typer.Option(min=0, max=65535, help="To listen on; 0 for any free one.")] = DEFAULT_PORT,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    announce: Annotated[
        bool, typer.Option("--announce", help='Print {"port": N} when listening; stop when standard input ends.')
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Log only what is wrong, not every message.")] = False,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ORIGIN",
            help="A web page that may talk to the player, such as https://ggp.example; repeatable; * for all.",
        ),
    ] = None,
    settings: Annotated[
        Path | None, typer.Option(metavar="FILE", help="TOML with any of the following; an option beats the file.")
    ] = None,
    **options: Any,  # noqa: ANN401 - the settings, by name
) -> None:
    """Run a player as a service that a game master can call to matches.

    mcts is the strong one: Monte-Carlo tree search on the circuit of the game, with proofs;
    for games with one role a search for the best line of moves.

    legal plays the first legal move, random any of them, montecarlo a plain UCT on the interpreter: to compare with.

    my_bot.py:Cautious plays by a function or class of yours (docs/write-a-bot.md); package.module:Cautious likewise.

    A player plays one match at a time and answers busy to others. Ctrl-C or SIGTERM stops it.
    """
    chosen = choose_settings(strategy, settings, given(options))
    run(chosen, host, port, announce=announce, quiet=quiet, allow_origin=allow_origin or ())


def write_new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the strategy: my_bot gives my_bot.py with MyBot.")],
) -> None:
    """Write the beginning of a strategy of yours, and a test that passes.

    NAME.py has a class with comments, test_NAME.py plays a match with it; docs/write-a-bot.md says more.

    Then:  ggp match tictactoe my_bot.py:MyBot random
    """

    for file in write_skeleton(name, Path()):
        typer.echo(file)


def _options_of_service() -> list[inspect.Parameter]:
    """All options of `run_player`, for the group."""
    named = inspect.signature(run_player).parameters.values()
    own = [each for each in named if each.name != "strategy" and each.kind is not each.VAR_KEYWORD]
    return [*own, *OPTIONS]


def _hand_down(context: typer.Context, **_: object) -> None:
    """What is given before the name of the player counts for it as if it came after."""
    passed = {
        name: value
        for name, value in context.params.items()
        if (source := context.get_parameter_source(name)) is not None and source.name == "COMMANDLINE"
    }
    invoked = context.invoked_subcommand or ""
    if passed and invoked not in PLAYERS and not is_custom(invoked):
        context.fail(f"No player is run by {invoked}, so its options stand after it")
    context.default_map = {invoked: passed}


class _Players(TyperGroup):
    """Runs what has the name of a user's strategy by one command, which takes that name as its argument."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - typer's own
        if args and is_custom(args[0]):
            return args[0], self.commands[_CUSTOM], args
        return super().resolve_command(ctx, args)


class _WithoutSearch(TyperCommand):
    """Takes the options of the search, so that one command line suits all players, but does not show them."""

    def __init__(self, **fields: Any) -> None:  # noqa: ANN401 - typer's own
        super().__init__(**fields)
        for option in self.params:
            if isinstance(option, TyperOption):
                option.hidden |= option.rich_help_panel == _PANEL


_TEMPLATES = Path(__file__).parent / "templates"


def write_skeleton(name: str, folder: Path) -> tuple[Path, Path]:
    """Writes `NAME.py` with a class, and `test_NAME.py`; SettingsError for a name that is none, or files that exist."""
    module = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.removesuffix(".py")).replace("-", "_").lower()
    if not re.fullmatch(r"[a-z][a-z0-9_]*", module) or keyword.iskeyword(module):
        raise SettingsError(f"a strategy is called by letters, digits and _, as my_bot or MyBot, not {name!r}")
    if module in sys.stdlib_module_names:
        raise SettingsError(f"{module}.py would hide Python's own module {module}: the strategy needs another name")
    shown = "".join(part[:1].upper() + part[1:] for part in module.split("_"))
    files = folder / f"{module}.py", folder / f"test_{module}.py"
    for file in files:
        if file.exists():
            raise SettingsError(f"{file}: it exists already")
    given = {"name": shown, "module": module, "file": files[0].name, "test": files[1].name}
    for file, template in zip(files, ("strategy.txt", "test.txt"), strict=True):
        text = (_TEMPLATES / template).read_text(encoding="utf-8")
        try:
            file.write_text(text.format(**given), encoding="utf-8")
        except OSError as error:
            raise SettingsError(f"{file}: {error.strerror or error}") from None
    return files


def add_exploit(app: typer.Typer) -> None:
    """Adds the sub-command `exploit` to the application."""
    app.command("exploit")(run_exploit)


def run_exploit(
    game: GameArgument,
    player: Annotated[
        str, typer.Argument(help="mcts, montecarlo, random or legal; or a file with what `ggp solve --json` printed.")
    ],
    samples: Annotated[
        int, typer.Option(min=1, help="How often mcts and montecarlo are asked in each information set.")
    ] = 4,
    move_time: Annotated[float, typer.Option(min=0.01, help="Seconds for each of these answers.")] = 0.2,
    memory: Annotated[int, typer.Option(min=1, help="Memory for the histories, in MiB.")] = 2048,
    as_json: JsonOption = False,
) -> None:
    """Work out how much each role gains by a best response, when PLAYER plays all the others.

    The histories of the game have to be enumerated, as for `ggp solve`. random, legal and files are policies, and what
    is shown is exact. mcts and montecarlo are asked in each information set, and their answers counted: so their
    policy is a sample, which is easier to exploit than they are.
    """
    try:
        machine = load_argument(game, "circuit").machine
    except GroundingError as error:
        raise GroundingError(f"{game} has no circuit, which enumerating its histories needs: {error}") from None
    from ggp.simulation.state_machine import CircuitMachine  # noqa: PLC0415 - here and below: numba is slow to load
    from players.exploiting import exploit  # noqa: PLC0415

    assert isinstance(machine, CircuitMachine)
    found = exploit(machine, player, samples, move_time, memory * 2**20)
    nash_conv = sum(row.gain for row in found.values())
    if as_json:
        rows = {role: {**asdict(row), "gain": row.gain} for role, row in found.items()}
        typer.echo(json.dumps({"game": game, "player": player, "roles": rows, "nash_conv": nash_conv}))
        return
    for role, row in found.items():
        typer.echo(f"{role}: {row.value:.3f}, by a best response {row.best_response:.3f} (+{row.gain:.3f})")
    typer.echo(f"NashConv of {player}: {nash_conv:.3f}")

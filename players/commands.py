"""The commands `ggp player NAME`: each runs one player as a service."""

import asyncio
import inspect
import logging
import secrets
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperOption

from ggp.protocol.messages import DEFAULT_PORT

_PANEL = "The search of mcts"
_PLAYERS = {
    "mcts": "Play what Monte-Carlo tree search on the circuit finds, with one role the best line of moves.",
    "legal": "Play the first legal move, in the order of their text.",
    "random": "Play any legal move, each as likely.",
    "montecarlo": "Play what plain UCT on the interpreter finds until shortly before the deadline.",
}  # the strategies, named here once more so that `ggp` starts without loading them
_SEARCHER = "mcts"  # the only one that uses the options of the search
_ALL_PLAY = "A player plays one match at a time and answers busy to others. Ctrl-C or SIGTERM stops it."


def _option(help_text: str, default: str, least: float | None = None, panel: str | None = None) -> Any:  # noqa: ANN401
    """An option that is None unless it is given, so that the settings file counts."""
    return typer.Option(min=least, help=help_text, show_default=default, rich_help_panel=panel)


_search_option = partial(_option, panel=_PANEL)


def add_commands(app: typer.Typer) -> None:
    """Adds the group `player` with a command for each strategy; other packages may add theirs to it."""
    players = typer.Typer(help=inspect.getdoc(run_player), subcommand_metavar="NAME [OPTIONS]...")
    players.callback()(_with_options_of_player(_hand_down, "context"))
    for strategy, summary in _PLAYERS.items():
        shape = TyperCommand if strategy == _SEARCHER else _WithoutSearch
        command = _with_options_of_player(partial(run_player, strategy))
        players.command(strategy, cls=shape, short_help=summary, help=f"{summary}\n\n{_ALL_PLAY}")(command)
    app.add_typer(players, name="player")


def run_player(  # noqa: PLR0913 - one for each option
    strategy: Annotated[str, typer.Argument(metavar="NAME", help="mcts, legal, random or montecarlo.")],
    *,
    port: Annotated[int, typer.Option(min=0, max=65535, help="To listen on; 0 for any free one.")] = DEFAULT_PORT,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    settings: Annotated[
        Path | None, typer.Option(metavar="FILE", help="TOML with any of the following; an option beats the file.")
    ] = None,
    name: Annotated[str | None, _option("What INFO calls the player.", "NAME")] = None,
    seed: Annotated[int | None, _option("Of each match anew.", "any", least=0)] = None,
    margin: Annotated[
        float | None,
        _option("Seconds before the deadline when the answer leaves; at most ⅛ of the clock.", "0.2", least=0),
    ] = None,
    abandon: Annotated[
        float | None, _option("Seconds of silence after a deadline until another match may begin.", "60", least=0)
    ] = None,
    max_message_bytes: Annotated[int | None, _option("Larger messages are refused.", "8388608", least=1)] = None,
    announce: Annotated[
        bool, typer.Option("--announce", help='Print {"port": N} when listening; stop when standard input ends.')
    ] = False,
    ponder: Annotated[
        bool | None,
        typer.Option(
            "--ponder/--no-ponder", help="Think while others do.", show_default="ponder", rich_help_panel=_PANEL
        ),
    ] = None,
    threads: Annotated[int | None, _search_option("That search one tree.", "1", least=1)] = None,
    memory: Annotated[int | None, _search_option("MiB that the search may take.", "512", least=1)] = None,
    exploration: Annotated[
        float | None,
        _search_option("c in value + c·sqrt(log(visits of the state) / visits of the move).", "0.25", least=0),
    ] = None,
    ucb1_tuned: Annotated[
        bool | None,
        typer.Option(
            "--ucb1-tuned/--no-ucb1-tuned",
            help="Explore less where values vary little (UCB1-Tuned); otherwise plain UCB1.",
            show_default="ucb1-tuned",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    first_play_urgency: Annotated[
        float | None,
        _search_option("An untried move is assumed to be worth this much more than its state.", "0.2", least=0),
    ] = None,
    virtual_loss: Annotated[
        float | None, _search_option("How much of a loss a visit in flight counts as, 0 to 1.", "0.3", least=0)
    ] = None,
    tie_margin: Annotated[
        float | None,
        _search_option(
            "Where several roles choose at once, scores that differ by less count as equal.", "0.01", least=0
        ),
    ] = None,
    grave_equivalence: Annotated[
        float | None,
        _search_option(
            "GRAVE: visits of a move at which its value in the whole subtree counts half; 0: off.", "0.0", least=0
        ),
    ] = None,
    mast_temperature: Annotated[
        float | None,
        _search_option("MAST: temperature at which playouts prefer moves that did well; 0: off.", "0.0", least=0),
    ] = None,
    tune: Annotated[
        bool | None,
        typer.Option(
            "--tune/--no-tune",
            help="Look for settings that suit the game by quick matches while waiting for other players.",
            show_default="tune",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    retrograde: Annotated[
        bool | None,
        typer.Option(
            "--retrograde/--no-retrograde",
            help="Solve the game from its ends in parallel with the search, if its states are few.",
            show_default="retrograde",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    proof: Annotated[
        bool | None,
        typer.Option(
            "--proof/--no-proof",
            help="Prove values by proof-number search in parallel, where two roles are opposed.",
            show_default="proof",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    playouts: Annotated[
        int | None,
        _search_option("Of each new state; 0: as many as take as long as the descent to it.", "0", least=0),
    ] = None,
    lookahead_moves: Annotated[
        int | None, _search_option("One-ply lookahead for states with at most this many moves.", "40", least=0)
    ] = None,
    most_steps: Annotated[int | None, _search_option("Of a playout.", "10000", least=1)] = None,
    visits_per_descent: Annotated[
        int | None, _search_option("Batch schedule: visits of the state for each descent in flight.", "16", least=1)
    ] = None,
    batch: Annotated[
        int | None,
        _search_option("Descents in flight at a time, at most; a power of two from 8 to 512.", "512", least=8),
    ] = None,
) -> None:
    """Run a player as a service that a game master can call to matches.

    mcts is the strong one: Monte-Carlo tree search on the circuit of the game, with proofs;
    for games with one role a search for the best line of moves.

    legal plays the first legal move, random any of them, montecarlo a plain UCT on the interpreter: to compare with.

    A player plays one match at a time and answers busy to others. Ctrl-C or SIGTERM stops it.
    """
    from players.server import serve  # noqa: PLC0415 - aiohttp is loaded only when something is served
    from players.settings_file import make_settings, read_settings  # noqa: PLC0415 - and pydantic

    options = {
        "name": name, "seed": seed, "margin": margin, "abandon": abandon, "max_message_bytes": max_message_bytes,
        "ponder": ponder, "threads": threads, "memory": memory, "exploration": exploration, "ucb1_tuned": ucb1_tuned,
        "first_play_urgency": first_play_urgency, "virtual_loss": virtual_loss, "tie_margin": tie_margin,
        "grave_equivalence": grave_equivalence, "mast_temperature": mast_temperature, "tune": tune,
        "retrograde": retrograde, "proof": proof, "playouts": playouts, "lookahead_moves": lookahead_moves,
        "most_steps": most_steps, "visits_per_descent": visits_per_descent, "batch": batch,
    }  # fmt: skip
    given: dict[str, Any] = {"seed": secrets.randbits(32), **({} if settings is None else read_settings(settings))}
    given |= {field: value for field, value in options.items() if value is not None}
    chosen = make_settings(strategy, given)
    _log_to_stderr()
    asyncio.run(serve(chosen, host, port, announce=announce))


def _hand_down(context: typer.Context, **_: object) -> None:
    """What is given before the name of the player counts for it as if it came after."""
    given = {
        name: value
        for name, value in context.params.items()
        if (source := context.get_parameter_source(name)) is not None and source.name == "COMMANDLINE"
    }
    invoked = context.invoked_subcommand or ""
    if given and invoked not in _PLAYERS:
        context.fail(f"No player is run by {invoked}, so its options stand after it")
    context.default_map = {invoked: given}


def _with_options_of_player(function: Callable[..., None], *others: str) -> Callable[..., None]:
    """The function as one that declares the options of `run_player`, beside its own parameters of these names."""

    def command(**options: Any) -> None:  # noqa: ANN401 - as typer has checked them
        function(**options)

    own = [inspect.signature(function).parameters[name] for name in others]
    options = [option for option in inspect.signature(run_player).parameters.values() if option.name != "strategy"]
    command.__signature__ = inspect.Signature([*own, *options])  # type: ignore[attr-defined]
    return command


class _WithoutSearch(TyperCommand):
    """Takes the options of the search, so that one command line suits all players, but does not show them."""

    def __init__(self, **fields: Any) -> None:  # noqa: ANN401 - typer's own
        super().__init__(**fields)
        for option in self.params:
            if isinstance(option, TyperOption):
                option.hidden |= option.rich_help_panel == _PANEL


def _log_to_stderr() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_Line("%(asctime)s %(message)s", "%H:%M:%S"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])


class _Line(logging.Formatter):
    """One printable line for each message, whatever words others have sent."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - as logging calls it
        return "".join(
            letter if letter.isprintable() else f"\\x{ord(letter):02x}" for letter in super().formatMessage(record)
        )

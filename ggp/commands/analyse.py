"""The command `ggp analyse`: what a search finds out about a state, shown while it thinks."""

import json
from abc import ABC, abstractmethod
from contextlib import closing
from time import perf_counter
from typing import Annotated, Any

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ggp.analysis import Analyser, Analysis, Line, make_analyser
from ggp.analysis import learn as learn_game
from ggp.cache import is_warm
from ggp.commands.options import given, options_of, with_options
from ggp.commands.shared import GameArgument, JsonOption, can_redraw, load_argument, seed_option
from ggp.errors import GroundingError
from ggp.game import State, read_steps
from ggp.learning.settings import NO_KNOWLEDGE
from ggp.search.mcts.settings import SearchSettings
from ggp.settings import check_memory, make, option_name
from ggp.signals import EXIT_INTERRUPTED, noted

_EVERY = (0.25, 1.0)  # seconds between two reports: on a terminal; into a file or pipe
_SHOWN = 200  # characters of a line that still changes


def add_commands(app: typer.Typer) -> None:
    """Adds the sub-command to the application."""
    options = options_of(SearchSettings, leave_out={"memory_bytes"}, panel="The search")
    app.command("analyse")(with_options(run_analysis, options))


def run_analysis(  # noqa: PLR0913, PLR0917 - each is an option
    game: GameArgument,
    seconds: Annotated[
        float, typer.Option(min=0, help="Seconds to think; it ends earlier when the state is solved.")
    ] = 10.0,
    moves: Annotated[
        str, typer.Option(metavar="MOVES", help="Moves that lead from the initial state to the one to analyse.")
    ] = "",
    role: Annotated[
        str | None, typer.Option(help="Role whose moves are compared; by default the first that has a choice.")
    ] = None,
    lines: Annotated[int, typer.Option(min=1, help="How many lines to show.")] = 3,
    memory: Annotated[int, typer.Option(min=1, help="Memory that the search may take, in MiB.")] = 512,
    seed: Annotated[int, seed_option("Seed of the playouts, and of what is learned.")] = 0,
    learn: Annotated[
        float, typer.Option(min=0, help="Seconds of self-play before the search, which then has priors of moves.")
    ] = 0.0,
    knowledge: Annotated[
        str,
        typer.Option(help="What `ggp train` has learned: a file of it, auto (that of the cache, if any) or none."),
    ] = NO_KNOWLEDGE,
    as_json: JsonOption = False,
    **search: Any,  # noqa: ANN401 - the settings of a search, as typer has checked them
) -> None:
    """Search a state, and show the best lines while thinking: visits, expected goal values, proven bounds.

    With --learn or --knowledge also how probable the moves were thought to be before any search: their prior.

    Ctrl-C ends it with what is known by then, and exit code 130. With --json each report is an object on a line of its
    own, and the last one has "final": true.

    MOVES are in KIF: for each step a move of each role that has a choice, in the order of the roles; or, for a step, a
    joint move in parentheses of its own.

    After two moves:   ggp analyse tictactoe --moves "(mark 2 2) (mark 1 1)"

    The same:          ggp analyse tictactoe --moves "((mark 2 2) noop) (noop (mark 1 1))"
    """
    check_memory(memory)
    console = Console(highlight=False, soft_wrap=True)
    if not is_warm():
        typer.echo("ggp: the kernels are compiled first, which takes minutes; see `ggp cache warm`", err=True)
    try:
        loaded = load_argument(game, "circuit")
    except GroundingError as error:
        raise GroundingError(f"{game} has no circuit, which the search needs: {error}") from None
    state = follow(loaded.initial_state, moves)
    settings = make(SearchSettings, {"memory_bytes": memory * 2**20, **given(search)}, option_name)
    shown = _JsonShown() if as_json else _LiveShown(console) if can_redraw(console) else _PlainShown(console)
    with noted() as interrupted:
        net = learn_game(loaded, learn, knowledge, seed, lambda: bool(interrupted))
        with closing(make_analyser(state, settings, role, lines, seed, net)) as analyser, shown:
            is_interrupted = _think(analyser, seconds, shown, interrupted)
    if is_interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)


def follow(state: State, moves: str) -> State:
    """The state after moves as text; SettingsError where they end in the middle of a step."""
    steps = read_steps(state, moves, "--moves")
    return steps[-1][1] if steps else state


def _think(analyser: Analyser, seconds: float, shown: "_Shown", interrupted: list[int]) -> bool:
    """Until the time is up, nothing is left to find out, or Ctrl-C; whether it was that."""
    began = perf_counter()
    while True:
        now = perf_counter()
        until = min(began + seconds, now + shown.every)
        analyser.go_on(lambda until=until: bool(interrupted) or perf_counter() >= until)  # type: ignore[misc]
        analysis = analyser.report()
        is_final = bool(interrupted) or analysis.is_solved or perf_counter() >= began + seconds
        shown.show(analysis, is_final=is_final)
        if is_final:
            return bool(interrupted)


class _Shown(ABC):
    """Where reports go."""

    every = _EVERY[1]

    def __enter__(self) -> "_Shown":
        return self

    def __exit__(self, *exception: object) -> None:  # noqa: B027 - not all have something open
        """Nothing is open."""

    @abstractmethod
    def show(self, analysis: Analysis, *, is_final: bool) -> None: ...


class _JsonShown(_Shown):
    def show(self, analysis: Analysis, *, is_final: bool) -> None:
        typer.echo(json.dumps({**analysis.as_dict(), "final": is_final}, ensure_ascii=False))


class _PlainShown(_Shown):
    def __init__(self, console: Console) -> None:
        self._console = console

    def show(self, analysis: Analysis, *, is_final: bool) -> None:  # noqa: ARG002 - the last one looks like the others
        self._console.print(_heading(analysis), markup=False)
        for line in analysis.lines:
            self._console.print(f"  {_worth(analysis, line)}  {line.text}", markup=False)


class _LiveShown(_Shown):
    every = _EVERY[0]

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, auto_refresh=False)

    def __enter__(self) -> "_Shown":
        self._live.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._live.stop()

    def show(self, analysis: Analysis, *, is_final: bool) -> None:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        priors = ("prior",) if _has_priors(analysis) else ()
        for name in ("visits", *priors, *analysis.state.game.roles, "proven", "line"):
            table.add_column(name, header_style="bold cyan", justify="left" if name == "line" else "right")
        for line in analysis.lines:
            goals = (_number(line.goals[role]) for role in analysis.state.game.roles)
            text = line.text if is_final or len(line.text) <= _SHOWN else f"{line.text[:_SHOWN]} …"
            prior = (_prior(line),) if priors else ()
            cells = (f"{line.visits:,}", *prior, *goals, _proven(analysis, line), text)
            table.add_row(*map(Text, cells))
        self._live.update(Group(Text(_heading(analysis), "dim"), table), refresh=True)


def _heading(analysis: Analysis) -> str:
    solved = ", solved" if analysis.is_solved else ""
    counts = f"{analysis.visits:,} visits, {analysis.playouts:,} playouts ({analysis.playouts_per_second:,.0f}/s)"
    memory = f"{analysis.nodes:,} nodes, {analysis.memory_bytes / 2**20:.1f} of {analysis.most_bytes / 2**20:.0f} MiB"
    return f"{analysis.seconds:.1f} s, {counts}, depth {analysis.depth}, {memory}{solved}"


def _worth(analysis: Analysis, line: Line) -> str:
    goals = "  ".join(f"{role} {_number(line.goals[role])}" for role in analysis.state.game.roles)
    prior = f"  prior {_prior(line):>5}" if _has_priors(analysis) else ""
    return f"{line.visits:>11,}{prior}  {goals}  {_proven(analysis, line):>9}"


def _has_priors(analysis: Analysis) -> bool:
    return any(line.prior is not None for line in analysis.lines)


def _prior(line: Line) -> str:
    """In per cent."""
    return "?" if line.prior is None else f"{100 * line.prior:.1f}%"


def _proven(analysis: Analysis, line: Line) -> str:
    """What is proven of the role's goal value, where that is anything."""
    low, high = line.bounds[analysis.role]
    return f"= {low:.0f}" if low == high else f"{low:.0f} to {high:.0f}"


def _number(goal: float | None) -> str:
    return "?" if goal is None else f"{goal:.1f}"

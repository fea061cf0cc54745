"""The sub-command train: a game is learned ahead, by self-play, for as long as one likes."""

import json
import math
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ggp.cache import is_warm
from ggp.cluster import check_address
from ggp.commands.options import given, options_of, with_options
from ggp.commands.shared import GameArgument, JsonOption, Shown, load_argument
from ggp.errors import GroundingError, SettingsError
from ggp.learning.settings import TrainingSettings
from ggp.plots import Curve, course_plot, standalone
from ggp.settings import option_name
from ggp.signals import EXIT_INTERRUPTED, noted

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from ggp.learning.training import Generation, Host, Training
    from ggp.simulation.state_machine import CircuitMachine

MINUTES = 10.0
_KEEP_SECONDS = 20.0  # between two checkpoints
_MOST_KEEPING = 1.0  # seconds that a checkpoint after Ctrl-C may take, judged by the one before


def add_commands(app: typer.Typer) -> None:
    """Adds the sub-command to the application."""
    app.command("train")(with_options(run_training, options_of(TrainingSettings)))


def run_training(  # noqa: PLR0913, PLR0917 - the options of a command
    game: GameArgument,
    minutes: Annotated[
        float | None,
        typer.Option(min=0, help=f"Of training in all, earlier runs included; {MINUTES:g} unless given."),
    ] = None,
    generations: Annotated[
        int | None, typer.Option(min=1, help="How many nets to test in all, in place of the minutes.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where it is kept; by default in the cache, for `auto`."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.svg", help="A picture of Elo over time, drawn again at each test.")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ray[://…]", help="A Ray cluster on which all threads but the first learn: `ray`, or an address."
        ),
    ] = None,
    as_json: JsonOption = False,
    **settings: Any,  # noqa: ANN401 - as typer has checked them
) -> None:
    """Learn a game by self-play, for players that are to know it before their first match.

    Without --output the knowledge is kept in the cache, where `ggp player mcts` finds it (--knowledge auto).

    Each newer net plays the best one until a sequential test (SPRT) says whether it takes its place; a line shows its
    Elo points over the net at the beginning, both playing by one-ply lookahead. Ctrl-C ends it with what was learned by
    then, and exit code 130. The same command goes on, and gives what it would have given without a break; more minutes
    go on likewise. With --json each test is an object on a line of its own, and the last one has "final": true.

    For an hour:   ggp train breakthrough --minutes 60

    Into a file:   ggp train reversi -o reversi.knowledge --plot reversi.svg

    By a cluster:  ggp train reversi --threads 16 --cluster ray://192.0.2.1:10001
    """
    if cluster is not None:
        if given(settings).get("threads", 1) < 2:
            raise SettingsError("--cluster needs --threads of 2 or more: the first thread learns on this computer")
        check_address(cluster)
    if minutes is not None and generations is not None:
        raise SettingsError("either --minutes or --generations is given, not both")
    if plot is not None:
        _check_plot(plot)
    if not is_warm():
        typer.echo("ggp: the kernels are compiled first, which takes minutes; see `ggp cache warm`", err=True)
    machine, name = _machine_of(game)
    path = _path_of(output, machine)
    until = math.inf if generations else 60 * (MINUTES if minutes is None else minutes)
    total = (float(generations), "generations") if generations else (until / 60, "minutes")
    with _hosts(cluster, machine, settings) as host, Shown(*total) as shown:
        training = _begin(path, machine, given(settings), host)
        run = _Run(training, machine, name, path, plot, shown, as_json=as_json)
        run.say_beginning()
        is_interrupted = run.train(until, generations or math.inf)
        run.say_end(is_interrupted=is_interrupted)
    if is_interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)


def _machine_of(game: str) -> tuple["CircuitMachine", str]:
    from ggp.learning.training import can_train  # noqa: PLC0415 - here and below: numba takes half a second to load
    from ggp.search.loading import load_kernels  # noqa: PLC0415
    from ggp.simulation.state_machine import CircuitMachine  # noqa: PLC0415

    try:
        loaded = load_argument(game, "circuit")
    except GroundingError as error:
        raise GroundingError(f"{game} has no circuit, which learning needs: {error}") from None
    machine = loaded.machine
    assert isinstance(machine, CircuitMachine)
    load_kernels()  # so that training takes as long as it says
    reason = can_train(machine.compiled)
    if reason:
        raise SettingsError(f"{loaded.name} cannot be learned: {reason}")
    return machine, loaded.name


def _path_of(output: Path | None, machine: "CircuitMachine") -> Path:
    from ggp.learning.knowledge import automatic_path  # noqa: PLC0415

    path = automatic_path(machine.rulesheet) if output is None else output
    if path is None:
        raise SettingsError("there is no cache (GGP_CACHE is off), so --output must be given")
    _check_folder("--output", path)
    if path.is_dir():
        raise SettingsError(f"--output: {path}: that is a folder, not a file")
    return path


def _check_plot(plot: Path) -> None:
    if plot.suffix.lower() != ".svg":
        raise SettingsError(f"--plot: {plot}: the picture is SVG, so its name ends in .svg")
    _check_folder("--plot", plot)


def _check_folder(option: str, path: Path) -> None:
    if not path.absolute().parent.is_dir():
        raise SettingsError(f"{option}: {path}: there is no such folder")


def _hosts(
    cluster: str | None, machine: "CircuitMachine", settings: dict[str, Any]
) -> "AbstractContextManager[Host | None]":
    """What makes learners on the nodes of a cluster, if there is one."""
    if cluster is None:
        return nullcontext()
    from ggp.learning.distributed import open_hosts  # noqa: PLC0415

    return open_hosts(cluster, machine.rulesheet, machine.compiled, settings["threads"] - 1)


def _begin(path: Path, machine: "CircuitMachine", settings: dict[str, Any], host: "Host | None") -> "Training":
    """Training that the file has, or new one; SettingsError where the file's had other settings."""
    from ggp.learning.knowledge import load_training  # noqa: PLC0415
    from ggp.learning.symmetries import find_symmetries  # noqa: PLC0415
    from ggp.learning.training import Training  # noqa: PLC0415
    from ggp.search.expert_iteration import ExpertMatches  # noqa: PLC0415

    expert = ExpertMatches(machine)
    found = load_training(path, machine.rulesheet, machine.compiled, host, expert)
    if found is None:
        symmetries = find_symmetries(machine.rulesheet, machine.batches)
        return Training(machine.compiled, TrainingSettings(**settings), symmetries, host, expert)
    for setting, value in settings.items():
        before = getattr(found.settings, setting)
        if before != value:
            raise SettingsError(f"{path} was begun with {option_name(setting)} {before}, not {value}")
    return found


class _Run:
    """Training until it is over or interrupted; what is shown and kept meanwhile."""

    def __init__(  # noqa: PLR0913 - what one command has
        self,
        training: "Training",
        machine: "CircuitMachine",
        name: str,
        path: Path,
        plot: Path | None,
        shown: Shown,
        *,
        as_json: bool,
    ) -> None:
        self._training = training
        self._machine = machine
        self._name = name
        self._path = path
        self._plot = plot
        self._is_kept = False  # by this run
        self._problems: dict[Path, str] = {}  # file → why it could not be written, where that was said
        self._shown = shown
        self._as_json = as_json

    def train(self, seconds: float, generations: float) -> bool:
        """Until so many in all; whether it was interrupted before."""
        training = self._training
        earlier, began = training.seconds, perf_counter()
        kept, keeping = began, 0.0
        with noted() as interrupted:
            while training.seconds < seconds and len(training.generations) < generations and not interrupted:
                generation = training.end_generation(lambda: bool(interrupted))
                if generation is None:
                    training.run_round(lambda: bool(interrupted))
                training.seconds = earlier + perf_counter() - began
                if generation is not None:
                    self._show(generation)
                self._shown.advance(training.seconds / 60 if generations == math.inf else len(training.generations))
                self._shown.describe(f"{training.samples:,} samples")
                if generation is not None or perf_counter() > kept + _KEEP_SECONDS:
                    now = perf_counter()
                    self._keep(is_last=False)
                    kept, keeping = perf_counter(), perf_counter() - now
            if not interrupted or keeping < _MOST_KEEPING:
                self._keep(is_last=True)
            return bool(interrupted)

    def say_beginning(self) -> None:
        training, machine = self._training, self._machine
        inputs, moves = len(training.best.first), sum(map(len, machine.compiled.moves))
        about = f"{self._name}: {len(machine.roles)} roles, {inputs:,} facts that matter, {moves:,} moves"
        earlier = ""
        if training.generations:
            earlier = f"; goes on after {len(training.generations)} generations, {_time(training.seconds)}"
        self._shown.say(f"{about}; {self._path}{earlier}")

    def say_end(self, *, is_interrupted: bool) -> None:
        training = self._training
        matches = training.matches
        if self._plot is not None and not training.generations:
            self._shown.say(f"no picture was drawn: no test was completed; {self._plot}")
        if self._as_json:
            said = {
                "file": str(self._path), "generations": len(training.generations), "seconds": training.seconds,
                "matches": matches, "elo": training.elo, "interrupted": is_interrupted, "final": True,
            }  # fmt: skip
            typer.echo(json.dumps(said))
            return
        how = "interrupted after" if is_interrupted else "after"
        typer.echo(f"{how} {_time(training.seconds)}: Elo {training.elo:+.0f}, {matches:,} matches; {self._path}")

    def _keep(self, *, is_last: bool) -> None:
        """Write the files. A failure is said, and training goes on; OSError by the first and the last time."""
        from ggp.learning.knowledge import save_training  # noqa: PLC0415

        try:
            save_training(self._path, self._training, self._machine.rulesheet, self._name)
        except OSError as error:
            if is_last or not self._is_kept:
                raise
            self._say_problem(self._path, "the checkpoint cannot be written, the next one is tried", error)
        else:
            self._is_kept = True
            self._problems.pop(self._path, None)
        if self._plot is not None and self._training.generations:
            try:
                self._plot.write_text(draw(self._training.generations, self._name), encoding="utf-8")
            except OSError as error:
                self._say_problem(self._plot, "the picture cannot be written", error)

    def _say_problem(self, file: Path, what: str, error: OSError) -> None:
        """Once for each reason."""
        reason = error.strerror or str(error)
        if self._problems.get(file) != reason:
            self._problems[file] = reason
            self._shown.say(f"{file}: {what}: {reason}")

    def _show(self, generation: "Generation") -> None:
        if self._as_json:
            typer.echo(json.dumps({**asdict(generation), "final": False}))
        else:
            typer.echo(_line(generation))


def draw(generations: "list[Generation]", name: str) -> str:
    """The course of Elo points as SVG."""
    newest = [(0, 0.0), *((round(each.seconds), each.elo) for each in generations)]
    best, points = 0.0, [(0, 0.0)]
    for each in generations:
        best = each.elo if each.is_accepted else best
        points.append((round(each.seconds), best))
    curves = (Curve("newest net", tuple(newest)), Curve("best net", tuple(points)))
    return standalone(course_plot(curves, f"Training of {name}", "seconds of training", "Elo, one-ply lookahead"))


def _line(generation: "Generation") -> str:
    elo = f"Elo {generation.elo:+6.0f} ({generation.low:+.0f} to {generation.high:+.0f})"
    verdict = "best so far" if generation.is_accepted else "no better"
    return (
        f"{_time(generation.seconds):>8}  {generation.matches:>12,} matches  {generation.samples:>13,} samples  "
        f"{elo}, {verdict} after {2 * sum(generation.pairs):,} matches against the best"
    )


def _time(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 60}:{whole % 60:02}"

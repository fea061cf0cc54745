"""The sub-command draw: a state in the terminal, or as an image."""

from importlib.metadata import entry_points
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from ggp.commands.analyse import follow
from ggp.commands.shared import GameArgument, load_argument, seed_option
from ggp.errors import SettingsError
from ggp.game import State

if TYPE_CHECKING:
    from ggp.boards import Picture

_STDOUT = "-"
_SUFFIXES = (".svg", ".png")
_MOVING = (".svg", ".gif", ".webp")
_READERS = "ggp.records"  # entry points that read records: packages that stand above this one


def add_commands(app: typer.Typer) -> None:
    """Adds the sub-command to the application."""
    app.command("draw")(draw)


def draw(  # noqa: PLR0913, PLR0917 - an option of a command is a parameter
    game: GameArgument = "",
    moves: Annotated[
        str,
        typer.Option(metavar="MOVES", help="Moves from the initial state to the one to draw, as in ggp analyse."),
    ] = "",
    steps: Annotated[int, typer.Option(min=0, metavar="N", help="Number of random steps after the moves.")] = 0,
    seed: Annotated[int, seed_option("Seed of the random steps.")] = 0,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write an image: FILE.svg or FILE.png, or - for SVG on standard output; with --record FILE.svg, "
            "FILE.gif or FILE.webp.",
        ),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(metavar="RECORD", help="In place of GAME: a match record, all of whose states are shown in turn."),
    ] = None,
    seconds: Annotated[float, typer.Option(min=0.05, max=60, help="For each state of a record.")] = 1.0,
    dark: Annotated[
        bool, typer.Option("--dark", help="Light on dark. Without it, an SVG follows the reader's settings.")
    ] = False,
) -> None:
    """Draw a state of a game in the terminal or as an image.

    The boards are found in the rules; the metadata of a game can improve them (docs/boards.md).

    In the terminal:      ggp draw connectfour --moves "(drop 4) (drop 4) (drop 3)"

    As an image:          ggp draw reversi --steps 20 -o reversi.svg

    A match, moving:      ggp draw --record match.json -o match.gif
    """
    if record is not None:
        if game or moves or steps:
            raise SettingsError("--record: in place of a game, moves and steps")
        _write_moving(record, output, seconds, dark=dark)
        return
    if not game:
        raise SettingsError("a GAME is needed, or --record")
    from ggp.boards import find_layout, make_picture  # noqa: PLC0415 - every command would load it

    if output not in (None, _STDOUT) and Path(output or "").suffix.lower() not in _SUFFIXES:
        raise SettingsError(f"--output: {output} must end in {' or '.join(_SUFFIXES)}")
    loaded = load_argument(game, "interpreter")
    state = _random_steps(follow(loaded.initial_state, moves), steps, seed)
    picture = make_picture(find_layout(loaded.rulesheet, loaded.machine, loaded.metadata.drawing), state.terms)
    title = loaded.metadata.title or loaded.name
    if output is None:
        from ggp.boards import picture_lines  # noqa: PLC0415
        from ggp.commands.shared import styled  # noqa: PLC0415 - as above

        console = Console(highlight=False, soft_wrap=True)
        for line in styled(picture_lines(picture)):
            console.print(line)
    elif output == _STDOUT:
        typer.echo(_svg(picture, title, dark=dark), nl=False)
    else:
        _write(Path(output), picture, title, dark=dark)


def _random_steps(state: State, steps: int, seed: int) -> State:
    rng = Random(seed)  # noqa: S311 - not for secrets
    for _ in range(steps):
        if state.is_terminal:
            break
        state = state.play({role: rng.choice(moves) for role in state.game.roles if (moves := state.legal_moves(role))})
    return state


def _svg(picture: "Picture", title: str, *, dark: bool) -> str:
    from ggp.boards import picture_svg  # noqa: PLC0415 - needed for images only

    return picture_svg(picture, title, theme="dark" if dark else "auto")


def _write(path: Path, picture: "Picture", title: str, *, dark: bool) -> None:
    from ggp.boards import picture_png  # noqa: PLC0415 - needed for images only

    if path.suffix.lower() == ".svg":
        data = _svg(picture, title, dark=dark).encode()
    else:
        data = picture_png(picture, title, theme="dark" if dark else "light")
    _write_bytes(path, data)


def _write_moving(record: Path, output: str | None, seconds: float, *, dark: bool) -> None:
    """All states of a record, one after the other."""
    from ggp.boards import animated_image, animated_svg  # noqa: PLC0415 - needed for images only

    path = Path(output or "")
    kind = path.suffix.lower()
    if kind not in _MOVING:
        raise SettingsError(f"--output: with --record it must end in {', '.join(_MOVING[:-1])} or {_MOVING[-1]}")
    readers = entry_points(group=_READERS)
    if not readers:
        raise SettingsError("--record: no package that reads records is installed")
    frames = next(iter(readers)).load()(record)
    if kind == ".svg":
        data = animated_svg(frames, seconds, theme="dark" if dark else "auto").encode()
    else:
        data = animated_image(frames, "gif" if kind == ".gif" else "webp", seconds, theme="dark" if dark else "light")
    _write_bytes(path, data)


def _write_bytes(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise SettingsError(f"--output: {path}: {error.strerror or error}") from None

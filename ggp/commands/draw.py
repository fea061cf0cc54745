"""The sub-command draw: a state in the terminal, or as an image."""

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from ggp.commands.analyse import follow
from ggp.commands.shared import GameArgument, load_argument
from ggp.errors import SettingsError
from ggp.game import State

if TYPE_CHECKING:
    from ggp.boards import Picture

_STDOUT = "-"
_SUFFIXES = (".svg", ".png")


def add_commands(app: typer.Typer) -> None:
    """Adds the sub-command to the application."""
    app.command("draw")(draw)


def draw(
    game: GameArgument,
    moves: Annotated[
        str,
        typer.Option(metavar="MOVES", help="Moves from the initial state to the one to draw, as in ggp analyse."),
    ] = "",
    steps: Annotated[int, typer.Option(min=0, metavar="N", help="Number of random steps after the moves.")] = 0,
    seed: Annotated[int, typer.Option(help="Seed of the random steps.")] = 0,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write an image: FILE.svg or FILE.png, or - for SVG on standard output.",
        ),
    ] = None,
    dark: Annotated[
        bool, typer.Option("--dark", help="Light on dark. Without it, an SVG follows the reader's settings.")
    ] = False,
) -> None:
    """Draw a state of a game in the terminal or as an image.

    The boards are found in the rules; the metadata of a game can improve them (docs/boards.md).

    In the terminal:      ggp draw connectfour --moves "(drop 4) (drop 4) (drop 3)"

    As an image:          ggp draw reversi --steps 20 -o reversi.svg
    """
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
    try:
        path.write_bytes(data)
    except OSError as error:
        raise SettingsError(f"--output: {path}: {error.strerror or error}") from None

"""What sub-commands share: reading a game from an argument or standard input, printing JSON and pictures, progress."""

import json
import sys
import textwrap
from collections.abc import Iterable, Iterator
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from ggp.engines import EngineName
from ggp.errors import UnknownGameError
from ggp.game import Game, load, load_text
from ggp.gdl.reader import decode
from ggp.library import game_names

if TYPE_CHECKING:
    from ggp.boards import Style, TextLine

STDIN = "-"
EXIT_MISTAKE = 2

GameArgument = Annotated[
    str,
    typer.Argument(
        metavar="GAME",
        help="A shipped game (`ggp games` lists them), a rulesheet file, or - for standard input.",
        autocompletion=lambda incomplete: [name for name in game_names() if name.startswith(incomplete)],
    ),
]
EngineOption = Annotated[
    EngineName | None, typer.Option(help="What evaluates the rules; by default the fastest that can.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of text for people.")]

MOST_SEED = 2**63 - 1  # as in matches and tournaments


def seed_option(text: str) -> Any:  # noqa: ANN401 - typer's own
    """--seed, with the same range in all commands."""
    return typer.Option(min=0, max=MOST_SEED, help=text)


_STYLES: dict["Style", str] = {
    "": "",
    "dim": "dim",
    "title": "bold",
    "white": "bold",
    "black": "",
    "blue": "bold blue",
    "red": "bold red",
    "green": "bold green",
    "orange": "yellow",
    "purple": "bold magenta",
    "sky": "bold cyan",
    "yellow": "bold yellow",
    "grey": "dim",
}


def can_redraw(console: Console) -> bool:
    """Whether what is shown can be replaced later. FORCE_COLOR makes rich take a file or a pipe for a terminal."""
    return console.is_terminal and not console.is_dumb_terminal and console.file.isatty()


class Shown:
    """How far a long command is, on standard error: a bar on a terminal, and lines of what has been done."""

    def __init__(self, total: float, unit: str = "") -> None:
        """unit: of the total; without one it is a count."""
        counted = TextColumn(f"{{task.completed:.1f}}/{{task.total:.1f}} {unit}") if unit else MofNCompleteColumn()
        columns = (TextColumn("{task.description}"), BarColumn(), counted, TimeElapsedColumn())
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._bar = Progress(*columns, console=self._console) if can_redraw(self._console) else None
        self._task = self._bar.add_task("", total=total) if self._bar else None

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar:
            self._bar.stop()

    def describe(self, text: str) -> None:
        """What is being done."""
        if self._bar and self._task is not None:
            self._bar.update(self._task, description=text)

    def advance(self, completed: float) -> None:
        """How much of the total has been done."""
        if self._bar and self._task is not None:
            self._bar.update(self._task, completed=completed)

    def say(self, line: str) -> None:
        self._console.print(line, markup=False)


def load_argument(game: str, engine: str | None = None) -> Game:
    """The game that a GAME argument names, with the fastest engine or the one that is named."""
    if game == STDIN:
        return load_text(decode(read_stdin(), "<stdin>"), "<stdin>", engine)
    return load(game, engine)


def read_stdin() -> bytes:
    """All of standard input; UnknownGameError if it is closed or cannot be read."""
    if sys.stdin is None:
        raise UnknownGameError("<stdin>: standard input is closed")
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise UnknownGameError(f"<stdin>: {error.strerror or error}") from None


def print_line(line: str) -> None:
    """Prints a line; on a terminal that is narrower it goes on below, indented."""
    if sys.stdout.isatty():
        indent = " " * (len(line) - len(line.lstrip()))
        line = "\n".join(
            textwrap.wrap(
                line.strip(),
                max(40, get_terminal_size().columns),
                initial_indent=indent,
                subsequent_indent=f"{indent}    ",
                break_long_words=False,
                break_on_hyphens=False,
            )
        )
    typer.echo(line)


def print_json(value: Any) -> None:  # noqa: ANN401 - any JSON
    """Prints indented JSON."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def styled(lines: Iterable["TextLine"]) -> Iterator[Text]:
    """The lines of a picture in the colours of a terminal."""
    for line in lines:
        yield Text.assemble(*((span.text, _STYLES[span.style]) for span in line))

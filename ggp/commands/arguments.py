"""What sub-commands share: the GAME argument, and standard input."""

import sys
from typing import Annotated

import typer

from ggp.errors import UnknownGameError
from ggp.game import Game, load, load_text
from ggp.gdl.reader import decode

STDIN = "-"
EXIT_MISTAKE = 2

GameArgument = Annotated[
    str, typer.Argument(metavar="GAME", help="A shipped game by its name, a rulesheet file, or - for standard input.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of text for people.")]


def load_argument(game: str, engine: str | None = None) -> Game:
    """The game that a GAME argument names, by the fastest engine or the one that is named."""
    if game == STDIN:
        return load_text(decode(read_stdin(), "<stdin>"), "<stdin>", engine)
    return load(game, engine)


def read_stdin() -> bytes:
    """All of standard input; UnknownGameError when it is closed or cannot be read."""
    if sys.stdin is None:
        raise UnknownGameError("<stdin>: standard input is closed")
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise UnknownGameError(f"<stdin>: {error.strerror or error}") from None

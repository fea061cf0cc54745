"""What sub-commands share: the GAME argument."""

import sys
from typing import Annotated

import typer

from ggp.game import Game, load, load_text
from ggp.reader import decode

STDIN = "-"
EXIT_MISTAKE = 2

GameArgument = Annotated[
    str, typer.Argument(metavar="GAME", help="A shipped game by its name, a rulesheet file, or - for standard input.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of text for people.")]


def load_argument(game: str) -> Game:
    """The game that a GAME argument names."""
    if game == STDIN:
        return load_text(decode(sys.stdin.buffer.read(), "<stdin>"), "<stdin>")
    return load(game)

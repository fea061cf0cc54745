"""The command `ggp`: gathers its sub-commands from the packages that offer them, and turns mistakes into one line."""

import sys
from importlib.metadata import entry_points

import typer

from ggp.commands.arguments import EXIT_MISTAKE
from ggp.errors import GgpError

GROUP = "ggp.commands"


def make_app() -> typer.Typer:
    """The application with the sub-commands of every installed part."""
    app = typer.Typer(
        name="ggp",
        help="General game playing: run matches, players and games from their rules alone.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    for entry in sorted(entry_points(group=GROUP)):
        entry.load()(app)
    return app


def main() -> None:
    """Runs the command line; a mistake of the user ends it with one clear line and exit code 2."""
    try:
        make_app()()
    except GgpError as error:
        print(f"ggp: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(EXIT_MISTAKE)

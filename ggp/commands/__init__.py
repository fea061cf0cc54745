"""The command `ggp`: gathers its sub-commands from the packages that offer them, and turns mistakes into one line."""

import sys
from importlib.metadata import entry_points

import typer
from typer.exceptions import TyperException
from typer.main import get_command

from ggp.commands.arguments import EXIT_MISTAKE
from ggp.errors import GgpError

GROUP = "ggp.commands"


def make_app() -> typer.Typer:
    """The application with the sub-commands of every installed part."""
    app = typer.Typer(
        name="ggp",
        help="General game playing: run matches, players and games from their rules alone.",
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    for entry in sorted(entry_points(group=GROUP)):
        entry.load()(app)
    return app


def main() -> None:
    """Runs the command line; a mistake of the user ends it with one clear line and exit code 2."""
    command = get_command(make_app())
    try:
        sys.exit(command.main(sys.argv[1:] or ["--help"], prog_name="ggp", standalone_mode=False))
    except TyperException as error:
        context = getattr(error, "ctx", None)
        name = context.command_path if context else "ggp"
        typer.echo(f"{name}: {error.format_message().rstrip('.')} (see {name} --help)", err=True)
        sys.exit(EXIT_MISTAKE)
    except GgpError as error:
        typer.echo(f"ggp: {error}", err=True)
        sys.exit(EXIT_MISTAKE)

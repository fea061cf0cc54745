"""The command `ggp`: gathers its sub-commands from the packages that offer them, and turns mistakes into one line."""

import errno
import os
import sys
from importlib.metadata import entry_points
from io import TextIOWrapper

import typer
from typer.exceptions import TyperException
from typer.main import get_command

from ggp.commands.arguments import EXIT_MISTAKE
from ggp.errors import GgpError

GROUP = "ggp.commands"
EXIT_BROKEN_PIPE = 1


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
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that lacks a letter ends nothing
    try:
        code = _run()
        _flush()
    except OSError as error:
        code = _refused(error)
    sys.exit(code)


def _run() -> int | None:
    """Runs the command and explains mistakes; the exit code."""
    command = get_command(make_app())
    try:
        code: int | None = command.main(sys.argv[1:] or ["--help"], prog_name="ggp", standalone_mode=False)
    except TyperException as error:
        context = getattr(error, "ctx", None)
        name = context.command_path if context else "ggp"
        typer.echo(f"{name}: {error.format_message().rstrip('.')} (see {name} --help)", err=True)
        return EXIT_MISTAKE
    except GgpError as error:
        typer.echo(f"ggp: {error}", err=True)
        return EXIT_MISTAKE
    return code


def _refused(error: OSError) -> int:
    """Says what the operating system refused, such as to write to a full disk; the exit code."""
    _drop_unwritten()
    if error.errno == errno.EPIPE:  # whoever read our output has gone, and does not need to be told
        return EXIT_BROKEN_PIPE
    where = f"{error.filename}: " if error.filename else ""
    typer.echo(f"ggp: {where}{error.strerror or error}", err=True)
    return EXIT_MISTAKE


def _flush() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()


def _drop_unwritten() -> None:
    """Lets what cannot be written go nowhere, so that the interpreter's own last flush is silent."""
    try:
        _flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)

"""The command `ggp`: collects the sub-commands of all packages, and reports mistakes of the user in one line.

Each module but `shared`, `bots` and `session` adds sub-commands by its `add_commands`, which an entry point in
pyproject.toml (group "ggp.commands") names for each of them; `players` and `gamemaster` add theirs in the same way.
Only the modules of the command that is run are loaded: all of them take half a second.
"""

import errno
import os
import sys
from importlib.metadata import entry_points, version
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException
from typer.main import get_command

from ggp.commands.shared import EXIT_MISTAKE
from ggp.errors import GgpError
from ggp.signals import EXIT_INTERRUPTED

GROUP = "ggp.commands"
EXIT_BROKEN_PIPE = 1

_PANELS = {
    "Play and watch": ("games", "play", "match", "replay"),
    "Look into games": ("analyse", "solve", "exploit", "train", "draw", "validate"),
    "Tournaments": ("tournament",),
    "Services": ("serve", "player"),
    "For developers": ("inspect", "perft", "bench", "generate", "cache"),
}  # of the help, in this order; other commands come last
_OTHERS = "Others"
_VERSION = "--version"


def make_app(only: str = "") -> typer.Typer:
    """The application with the sub-commands of all entry points, or at least the one called `only` if there is one.

    With "--version" for `only` there are none.
    """
    app = typer.Typer(
        name="ggp",
        help="General game playing: run matches, players and games from their rules alone.",
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
    )
    app.callback()(_before)
    entries = sorted(entry_points(group=GROUP)) if only != _VERSION else []
    chosen = [entry for entry in entries if entry.name.split(".")[0] == only] or entries
    for add in dict.fromkeys(entry.load() for entry in chosen):
        add(app)
    return app


def make_command(only: str = "") -> TyperGroup:
    """The command `ggp`, whose help shows the sub-commands in the order of the panels; `only` as for `make_app`."""
    command = get_command(make_app(only))
    assert isinstance(command, TyperGroup)
    _unwrap(command)
    panels = {name: panel for panel, names in _PANELS.items() for name in names}
    order = {name: number for number, name in enumerate(panels)}
    found = sorted(command.commands.items(), key=lambda item: (order.get(item[0], len(order)), item[0]))
    command.commands = dict(found)
    for name, inner in found:
        inner.rich_help_panel = panels.get(name, _OTHERS)  # type: ignore[attr-defined]
    return command


def _before(
    show_version: Annotated[
        bool,
        typer.Option(
            _VERSION,
            is_eager=True,
            callback=lambda asked: _show_version(asked=asked),
            help="Show the version and exit.",
        ),
    ] = False,
) -> None:
    """Nothing to do before a sub-command."""


def _show_version(*, asked: bool) -> None:
    if asked:
        typer.echo(f"ggp {version('ggp')}")
        raise typer.Exit


def _unwrap(command: Any) -> None:  # noqa: ANN401 - typer's own command or group
    """Joins the lines of each paragraph of help, which is wrapped to the width of the terminal when it is shown."""
    if command.help:
        command.help = "\n\n".join(" ".join(paragraph.split("\n")) for paragraph in command.help.split("\n\n"))
    for inner in getattr(command, "commands", {}).values():
        _unwrap(inner)


def main() -> None:
    """Runs the command line; a mistake of the user gives one line and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for characters that the terminal lacks
    try:
        code = _run()
        _flush()
    except OSError as error:
        code = _refused(error)
    sys.exit(code)


def _run() -> int | None:
    """Runs the command and reports mistakes; the exit code."""
    command = make_command(*sys.argv[1:2])
    try:
        code: int | None = command.main(sys.argv[1:] or ["--help"], prog_name="ggp", standalone_mode=False)
    except TyperException as error:
        context = getattr(error, "ctx", None)
        name = context.command_path if context else "ggp"
        if message := error.format_message().rstrip("."):  # none where a group without a sub-command showed its help
            typer.echo(f"{name}: {message} (see {name} --help)", err=True)
        return EXIT_MISTAKE
    except GgpError as error:
        typer.echo(f"ggp: {error}", err=True)
        return EXIT_MISTAKE
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return code


def _refused(error: OSError) -> int:
    """Reports an error of the operating system, such as a full disk; the exit code."""
    _drop_unwritten()
    if error.errno == errno.EPIPE:  # the reader of our output has ended, as `head` does: no message
        return EXIT_BROKEN_PIPE
    where = f"{error.filename}: " if error.filename else ""
    typer.echo(f"ggp: {where}{error.strerror or error}", err=True)
    return EXIT_MISTAKE


def _flush() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()


def _drop_unwritten() -> None:
    """Discards output that cannot be written, so that Python's flush at exit is silent."""
    try:
        _flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)

"""`python -m players NAME`: the same as `ggp player NAME`."""

import sys

import typer

from ggp.commands.options import with_options
from ggp.errors import GgpError
from players.commands import OPTIONS, run_player

EXIT_MISTAKE = 2


def main() -> None:
    """Runs one player; a mistake of the user ends it with one clear line and exit code 2."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(with_options(run_player, OPTIONS))
    try:
        app(prog_name="python -m players")
    except GgpError as error:
        print(f"players: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(EXIT_MISTAKE)


if __name__ == "__main__":
    main()

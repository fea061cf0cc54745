"""`python -m players NAME`: the same as `ggp player NAME`; signals end it from its first moment on."""

import sys

from ggp.errors import GgpError
from ggp.signals import end_on_signals

EXIT_MISTAKE = 2


def main() -> None:
    """Runs one player; a mistake of the user ends it with one clear line and exit code 2."""
    from players.launch import run_bot  # noqa: PLC0415 - here and below: this takes a while, and signals come first

    try:
        if not run_bot(sys.argv[1:]):
            _run_command()
    except GgpError as error:
        print(f"players: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(EXIT_MISTAKE)


def _run_command() -> None:
    """Parses all options by typer."""
    import typer  # noqa: PLC0415

    from ggp.commands.options import with_options  # noqa: PLC0415
    from players.commands import OPTIONS, run_player  # noqa: PLC0415

    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(with_options(run_player, OPTIONS))
    app(prog_name="python -m players")


if __name__ == "__main__":
    end_on_signals()
    main()

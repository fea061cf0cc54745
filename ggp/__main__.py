"""The program `ggp`, which is also `python -m ggp`: signals end it from its first moment on."""

from ggp.signals import end_on_signals, leave


def main() -> None:
    """Runs the command line."""
    end_on_signals()
    from ggp.commands import main as run  # noqa: PLC0415 - it takes a tenth of a second

    try:
        run()
    except SystemExit as ended:
        leave(ended.code)
        raise


if __name__ == "__main__":
    main()

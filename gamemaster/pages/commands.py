"""The sub-commands."""

import typer


def add_commands(app: typer.Typer) -> None:
    """Adds the sub-commands to the application."""

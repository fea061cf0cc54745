"""The command `ggp player`: runs one player as a service."""

import asyncio
import logging
import secrets
from typing import Annotated

import typer

from ggp.protocol.headers import DEFAULT_PORT
from players.settings import ABANDON, MARGIN, MAX_MESSAGE_BYTES, PlayerSettings


def add_commands(app: typer.Typer) -> None:
    app.command("player")(run_player)


def run_player(  # noqa: PLR0913 - one for each option
    strategy: Annotated[str, typer.Argument(metavar="NAME", help="legal, random or montecarlo.")],
    *,
    port: Annotated[int, typer.Option(min=0, max=65535, help="To listen on; 0 for any free one.")] = DEFAULT_PORT,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    name: Annotated[str, typer.Option(help="What INFO calls the player; by default NAME.")] = "",
    seed: Annotated[int | None, typer.Option(help="Of each match anew; by default any.")] = None,
    margin: Annotated[
        float, typer.Option(min=0, help="Seconds before the deadline when the answer leaves; at most ¼ of the clock.")
    ] = MARGIN,
    abandon: Annotated[
        float, typer.Option(min=0, help="Seconds of silence after a deadline until another match may begin.")
    ] = ABANDON,
    max_message_bytes: Annotated[int, typer.Option(min=1, help="Larger messages are refused.")] = MAX_MESSAGE_BYTES,
    announce: Annotated[
        bool, typer.Option("--announce", help='Print {"port": N} when listening; stop when standard input ends.')
    ] = False,
) -> None:
    """Run a player as a service that a game master can call to matches.

    legal plays the first legal move, random any of them, montecarlo searches (UCT) until shortly before the deadline.

    A player plays one match at a time and answers busy to others. Ctrl-C or SIGTERM stops it.
    """
    from players.server import serve  # noqa: PLC0415 - aiohttp is loaded only when something is served

    chosen_seed = secrets.randbits(32) if seed is None else seed
    settings = PlayerSettings(strategy, name, chosen_seed, margin, abandon, max_message_bytes)
    _log_to_stderr()
    asyncio.run(serve(settings, host, port, announce=announce))


def _log_to_stderr() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_Line("%(asctime)s %(message)s", "%H:%M:%S"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])


class _Line(logging.Formatter):
    """One printable line for each message, whatever words others have sent."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - as logging calls it
        return "".join(
            letter if letter.isprintable() else f"\\x{ord(letter):02x}" for letter in super().formatMessage(record)
        )

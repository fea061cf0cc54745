"""The command `ggp serve`: what it takes and how it explains itself.

What it does is in `gamemaster.web.server`, which is loaded when it runs, so that `ggp` itself starts quickly.
"""

from pathlib import Path
from typing import Annotated, Any

import typer

from gamemaster.web.settings import Limits, ServeSettings, check_settings, network, offered_bots
from ggp.commands.options import given, options_of, with_options
from ggp.settings import make, option_name


def add_commands(app: typer.Typer) -> None:
    """Adds the sub-command to the application."""
    app.command("serve")(with_options(serve, options_of(Limits, panel="Limits")))


def serve(  # noqa: PLR0913 - an option of a command is a parameter
    *,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all, with a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="To listen on; 0 for any free one.")] = 8080,
    store: Annotated[
        str, typer.Option(metavar="FILE|URL", help="Tournaments and matches; none of it where left out.")
    ] = "",
    records: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Match records; where there is no store, matches are kept here.")
    ] = Path("records"),
    endpoint_port: Annotated[
        int,
        typer.Option(
            min=0,
            max=65535,
            help="Port of the HTTP endpoints of humans, for game masters on this computer; 0 for any free one.",
        ),
    ] = 0,
    token: Annotated[str, typer.Option(envvar="GGP_TOKEN", help="Needed to change anything.", show_default=False)] = "",
    operator_token: Annotated[
        str,
        typer.Option(
            envvar="GGP_OPERATOR_TOKEN",
            help="Needed to end matches of others; it also stands in for --token. Who has --token is the operator "
            "where this is left out.",
            show_default=False,
        ),
    ] = "",
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS",
            help="A proxy, or a network of them, whose X-Forwarded-For says who a visitor is; can be given several "
            "times.",
        ),
    ] = None,
    allow_players: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST", help="Host at which users may name external players; can be given several times."),
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST", help="A name under which the service may be called, in addition to its addresses."
        ),
    ] = None,
    bot: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE.py:NAME",
            help="A strategy of yours that users may choose as a bot, also MODULE:NAME; name=FILE.py:NAME "
            "gives it a name; can be given several times.",
        ),
    ] = None,
    **limits: Any,  # noqa: ANN401 - those of Limits
) -> None:
    """Serve pages and an API: watch, play, replay and compare in a browser.

    Open http://127.0.0.1:8080/ when it runs. Ctrl-C or SIGTERM stops it.

    With tournaments:    ggp serve --store event.sqlite

    For others to reach: ggp serve --host 0.0.0.0 --token "$(openssl rand -hex 16)"
    """
    from gamemaster.web.application import run  # noqa: PLC0415 - aiohttp is loaded only when something is served
    from ggp.cache import is_warm, warm_in_background  # noqa: PLC0415 - only here

    if not is_warm():
        warm_in_background()
    run(
        check_settings(
            ServeSettings(
                host=host,
                port=port,
                store=store,
                records=records,
                endpoint_port=endpoint_port,
                token=token,
                operator_token=operator_token,
                trusted_proxies=tuple(map(network, trusted_proxy or ())),
                allowed_players=frozenset(map(str.lower, allow_players or ())),
                hosts=frozenset(map(str.lower, name or ())),
                bots=offered_bots(bot or ()),
                limits=make(Limits, given(limits), option_name),
            )
        )
    )

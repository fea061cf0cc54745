"""A process that runs one player: from what its settings say to the service that listens.

The arguments of a bot, as a game master starts it, are parsed here without typer, and its fork server is forked from
this process before aiohttp is imported: every match waits for its bots.
"""

import asyncio
import logging
import os
import re
import secrets
import signal
import socket
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NoReturn

from ggp.errors import SettingsError
from ggp.learning.settings import CHOICES
from ggp.search.mcts.settings import SearchSettings
from ggp.settings import check_memory, make, option_name, part_of, read_toml
from players.pipe import log_to_stderr
from players.settings import NO_OPTIONS, PlayerSettings
from players.worker import ForkedServer

_SEARCHER = "mcts"  # the only one that uses what was learned
_MOST_PORT = 65535
_MOST_FILES = 65_536  # the system may allow a billion, and some Pythons close one after the other
_OTHER_ORIGINS = ("*", "null")  # of any page; of a page that is a file


def run_bot(words: list[str]) -> bool:
    """Runs a player if the arguments are those with which `gamemaster.bots` starts one.

    False for all others: typer parses these, and explains what is wrong with them.
    """
    match words:
        case [name, "--host", host, "--port", port, "--announce", "--seed", seed, *rest]:
            file = rest[1] if len(rest) == 2 and rest[0] == "--settings" else None
            is_plain = not name.startswith("-") and (not rest or file is not None)
            if not is_plain or not all(map(_is_number, (port, seed))) or int(port) > _MOST_PORT:
                return False
        case _:
            return False
    chosen = choose_settings(name, None if file is None else Path(file), {"seed": int(seed)})
    run(chosen, host, int(port), announce=True)
    return True


def run(
    settings: PlayerSettings,
    host: str,
    port: int,
    *,
    announce: bool,
    quiet: bool = False,
    allow_origin: Collection[str] = (),
) -> None:
    """Until it is told to stop, as `players.service.serve`; SettingsError for what cannot be had."""
    _check_knowledge(settings)
    check_memory(settings.memory)
    origins = tuple(map(_origin, allow_origin))
    log_to_stderr(logging.WARNING if quiet else logging.INFO)
    # A fork server that is spawned runs with -P, so that no file of the current folder replaces a module.
    forked = _fork_server(settings.strategy) if sys.flags.safe_path else None
    from players.service import serve  # noqa: PLC0415 - aiohttp is slow to load, and the fork server needs none

    asyncio.run(serve(settings, host, port, announce=announce, origins=origins, forked=forked))


def choose_settings(strategy: str, file: Path | None, given: Mapping[str, Any]) -> PlayerSettings:
    """What was given beats the file; SettingsError for what is wrong in either."""
    in_file = {} if file is None else read_toml(file, PlayerSettings, SearchSettings, leave_out=NO_OPTIONS)
    return make_settings(strategy, {"seed": secrets.randbits(32), **in_file, **given})


def make_settings(strategy: str, chosen: Mapping[str, Any]) -> PlayerSettings:
    """From values by the names of their settings; what is left out is as usual."""
    search = make(SearchSettings, part_of(SearchSettings, chosen), option_name)
    own = part_of(PlayerSettings, chosen)
    return make(PlayerSettings, {**own, "strategy": strategy, "search": search}, option_name)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def _check_knowledge(settings: PlayerSettings) -> None:
    """KnowledgeError for a file that is missing or damaged; whether it is of the same rules is checked in a match."""
    if settings.strategy == _SEARCHER and settings.knowledge not in CHOICES:
        from ggp.learning.knowledge import read_origin  # noqa: PLC0415 - numba is slow to load

        read_origin(Path(settings.knowledge))


def _origin(text: str) -> str:
    """As browsers send it; SettingsError for what none sends."""
    origin = text.lower()
    if origin not in _OTHER_ORIGINS and not re.fullmatch(r"[a-z][a-z0-9+.-]*://[^\s/?#@]+", origin):
        raise SettingsError(
            f"--allow-origin: scheme, host and port of a page, as https://ggp.example, or *, not {text!r}"
        )
    return origin


def _fork_server(strategy: str) -> ForkedServer | None:
    """A fork server from this process, which has no event loop yet; None where the system makes no process."""
    parent = os.getpid()
    ours, theirs = socket.socketpair()
    try:
        number = os.fork()
    except OSError:
        ours.close()
        theirs.close()
        return None
    if number == 0:
        ours.close()
        _become_fork_server(theirs, parent, strategy)
    theirs.close()
    return ForkedServer(number, ours)


def _become_fork_server(channel: socket.socket, parent: int, strategy: str) -> NoReturn:
    """Run the fork server in the child process, with only the channel and standard error open."""
    os.setpgid(0, 0)  # Ctrl-C in a terminal is for the service
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    kept = channel.fileno()
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)  # `nothing` itself is closed with all others
    os.closerange(3, kept)
    os.closerange(kept + 1, min(os.sysconf("SC_OPEN_MAX"), _MOST_FILES))
    from players.process import run_fork_server  # noqa: PLC0415 - the service needs none of it

    run_fork_server(channel, parent, strategy)
    sys.exit(0)

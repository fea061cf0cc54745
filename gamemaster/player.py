"""Players: what plays a role of a match, and how a command line names one."""

import re
import unicodedata
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias
from urllib.parse import urlsplit

from gamemaster.faults import escaped
from ggp.commands.bots import BOTS
from ggp.errors import SettingsError, did_you_mean
from ggp.plugins import parse_plugin
from ggp.protocol.messages import DEFAULT_PORT, Dialect, Message

if TYPE_CHECKING:
    from ggp.protocol.evaluation import Evaluation

PlayerKind = Literal["bot", "human", "external"]
TellEvaluation: TypeAlias = "Callable[[Evaluation], None]"

LONGEST_NAME = 60  # characters of a player's name
MOST_MARKS = 3  # on a letter of it, such as accents, which would be drawn over the lines above

_BOT = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_NAMED = re.compile(r"([^/:=]+)=(.+)")
_HOST_AND_PORT = re.compile(r"(\[[^\]/]+\]|[^/:#]+):([^/#]*)(#.*)?")


@dataclass(frozen=True, slots=True)
class PlayerAddress:
    """Where to find a player: at a URL, or as a bot that the game master starts."""

    name: str  # empty when only the player itself can say
    place: str  # the URL, the name of the bot, or that of a user's strategy (`ggp.plugins`)
    is_bot: bool
    dialect: Dialect = Dialect.GGP_BASE


class LocalPlayer(Protocol):
    """A player in this process: a human at a page of the web service, or a bot that plays there."""

    async def answer(self, message: Message, *, tell: "TellEvaluation | None" = None) -> str:
        """The reply, as a player at a URL would send it: a move to PLAY, `ready` to START, and so on.

        Before a move is returned, `tell` may be called with what the player thinks. It is cancelled when the clock has
        run out, or when the match is given up.
        """


@dataclass(frozen=True, slots=True)
class Player:
    """What plays a role of a match: a bot that the game master started, a human, or an external program."""

    role: str
    name: str  # empty until the player has said it
    url: str = ""  # empty for one in this process
    bot: str | None = None  # the name of the bot, when the game master started it
    bot_seed: int | None = None
    dialect: Dialect = Dialect.GGP_BASE
    is_human: bool = False
    local: LocalPlayer | None = None  # in place of the URL
    clocks: tuple[int, int] | None = None  # startclock and playclock that it keeps, where the match has longer ones
    increment: int | None = None  # playclock is its time for all moves together, and grows by these seconds with each

    @property
    def kind(self) -> PlayerKind:
        return "bot" if self.bot is not None else "human" if self.is_human else "external"


def is_name(text: str) -> bool:
    """Whether a player may be called so: one line of printable characters that tables have room for, or nothing."""
    return len(text) <= LONGEST_NAME and text.isprintable() and text == text.strip() and text == _with_few_marks(text)


def as_name(text: str) -> str:
    """A name for a player that calls itself so: the same, where it may be called so, else what can be shown of it."""
    return escaped(_with_few_marks(text.strip()))[:LONGEST_NAME].strip()


def _with_few_marks(text: str) -> str:
    kept, marks = [], 0
    for letter in text:
        marks = marks + 1 if unicodedata.category(letter).startswith("M") else 0
        if marks <= MOST_MARKS:
            kept.append(letter)
    return "".join(kept)


def parse_player(text: str) -> PlayerAddress:
    """`URL`, `host:port`, the name of a bot or `FILE.py:NAME`, each also as `name=…`; a URL may end in `#dresden`.

    SettingsError for anything else.
    """
    named = _NAMED.fullmatch(text)
    name, place = (named[1].strip(), named[2]) if named else ("", text)
    plugin = parse_plugin(place)
    if plugin is not None:
        return PlayerAddress(name or plugin.name, place, is_bot=True)
    if _BOT.fullmatch(place):
        if place.lower() not in BOTS:
            raise _wrong(text, f"no bot is called {place!r}{did_you_mean(place, BOTS)}; the bots are {', '.join(BOTS)}")
        return PlayerAddress(name or place, place, is_bot=True)
    url, _, fragment = _url(text, place).partition("#")
    try:
        dialect = Dialect(fragment) if fragment else Dialect.GGP_BASE
    except ValueError:
        raise _wrong(text, f"no dialect is called {fragment!r}; there are ggp-base and dresden") from None
    return PlayerAddress(name, url, is_bot=False, dialect=dialect)


def host_of(url: str) -> str:
    """The host and port of an address, without what may be secret in it."""
    return urlsplit(url if "//" in url else f"//{url}").netloc.rpartition("@")[2]


def check_names(bots: Collection[str], others: Mapping[str, str]) -> None:
    """SettingsError where an external player is given the name of a bot of the match.

    others: where each external player is named, for the message → the name that it is given; empty for none.
    """
    for place, name in others.items():
        if name and name in bots:
            raise SettingsError(f"{place}: a bot of the match is called {name!r} already")


def _url(text: str, place: str) -> str:
    """The place as a URL with a port; the port of the protocol where a URL has none."""
    if _HOST_AND_PORT.fullmatch(place):
        place = f"http://{place}"
    try:
        parts = urlsplit(place)
        port = parts.port
        (parts.hostname or "").encode("idna")
    except UnicodeError:
        raise _wrong(text, "the host name is not valid") from None
    except ValueError as error:
        raise _wrong(text, str(error)) from None
    if parts.scheme != "http" or not parts.hostname or re.search(r"\s", place):
        raise _wrong(text, "neither http://host:port nor host:port nor the name of a bot")
    if port == 0:
        raise _wrong(text, "no player listens on port 0")
    if port is None:
        parts = parts._replace(netloc=f"{parts.netloc.rstrip(':')}:{DEFAULT_PORT}")
    return parts._replace(path=parts.path or "/").geturl()


def _wrong(text: str, reason: str) -> SettingsError:
    return SettingsError(f"player {text!r}: {reason}")

"""What the service and the processes of matches share: what they say to each other, and the form of their log.

Requests and findings are lines of JSON. Moves are KIF, news are messages of the protocol, moments are those of
CLOCK_MONOTONIC, which is the same in all processes.
"""

import json
import logging
import struct
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from ggp.protocol.messages import Start
from ggp.search.mcts.settings import SearchSettings
from players.settings import PlayerSettings


@dataclass(frozen=True, slots=True)
class Begin:
    """The first request: the rules are read, and a move of the initial state is told."""

    start: Start
    settings: PlayerSettings


@dataclass(frozen=True, slots=True)
class Follow:
    """What was told in the past, to a process that takes the place of another: no move is wanted."""

    news: str
    answered: str | None  # the move that the PLAY before was answered with


@dataclass(frozen=True, slots=True)
class Choose:
    """A move is wanted; whatever was thought before ends."""

    number: int  # of the thought, larger each time
    news: str
    answered: str | None
    stop_at: float
    wants_evaluation: bool


@dataclass(frozen=True, slots=True)
class Ponder:
    """Nothing is asked, and thinking goes on; whatever was thought before ends."""

    number: int
    answered: str | None  # the move that was chosen in the present state, if one was
    stop_at: float


@dataclass(frozen=True, slots=True)
class Cancel:
    """Whatever is thought ends."""


@dataclass(frozen=True, slots=True)
class Forget:
    """The match is over: the process ends by itself, or is ended soon."""


Request: TypeAlias = Begin | Follow | Choose | Ponder | Cancel | Forget


@dataclass(frozen=True, slots=True)
class Begun:
    """The match can be played."""

    move: str | None  # a legal one of the initial state


@dataclass(frozen=True, slots=True)
class Refused:
    """The match cannot be played; the log says why."""


@dataclass(frozen=True, slots=True)
class Found:
    """How far a thought has come."""

    number: int
    move: str | None  # always a legal one; None while nothing is known
    note: str = ""  # for the log
    evaluation: str | None = None  # as JSON
    failure: str = ""  # why there is no evaluation, where that is a fault of this program
    is_last: bool = False


Finding: TypeAlias = Begun | Refused | Found

_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (Begin, Follow, Choose, Ponder, Cancel, Forget, Begun, Refused, Found)
}


def encode(said: Request | Finding) -> bytes:
    """A line."""
    text = json.dumps([type(said).__name__, asdict(said)], ensure_ascii=False)
    return text.encode(errors="surrogatepass") + b"\n"


def decode(line: bytes) -> Any:  # noqa: ANN401 - a request or a finding, as the two sides know
    """What a line says; ValueError for any other line."""
    try:
        name, given = json.loads(line)
        if name == Begin.__name__:
            return Begin(Start(**given["start"]), _settings(**given["settings"]))
        return _KINDS[name](**given)
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"not said by the other side: {error!r}") from None


def _settings(search: dict[str, Any], **given: Any) -> PlayerSettings:  # noqa: ANN401 - as they were
    return PlayerSettings(**given, search=SearchSettings(**search))


FRAME = struct.Struct("<cIi")  # a code, the number of a process, a status: what is said to the fork server, and by it
FORK = b"f"  # asked, along with a socket: a process for a match; answered: its number
END = b"e"  # asked: that this process ends; answered: that it has ended, and its exit code, negative for a signal
READY = b"r"  # told: processes can be made from now on
PREPARING = b"p"  # told: that takes minutes
FAILED = b"x"  # told: why no process can be made; in place of a number the bytes of the text that follows


def log_to_stderr(level: int) -> None:
    """One line for each message."""
    handler = logging.StreamHandler()
    handler.setFormatter(_OneLineFormatter("%(asctime)s %(message)s", "%H:%M:%S"))
    logging.basicConfig(level=level, handlers=[handler])


class _OneLineFormatter(logging.Formatter):
    """One printable line for each message, whatever the words that others sent."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - as logging calls it
        return "".join(
            letter if letter.isprintable() else f"\\x{ord(letter):02x}" for letter in super().formatMessage(record)
        )

"""Dialogue files → exchanges in bytes: what a game master sends on a connection, and what must come back.

A file begins with `player:` and the name of a strategy. Lines with `>` are sent: the head up to the first that is
empty, its lines ended by CR LF, then the body, its lines joined by LF. `{bytes}` and `{characters}` stand for the
length of the body, `encoding:` changes that of all bodies from there on. Lines with `<` are the body of the answer,
`!` has its status where that is not 200, `+` a header that it must have. `#` begins a comment.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent / "dialogues"
PATIENCE = 60.0  # seconds after which an answer that does not come has failed the test
_HEAD_AND_BODY = "\r\n\r\n"


@dataclass
class Exchange:
    """One request on a connection of its own, and its answer."""

    place: str  # file and line
    encoding: str
    sent: list[str] = field(default_factory=list)
    status: int = 200
    headers: list[str] = field(default_factory=list)
    answer: list[str] = field(default_factory=list)

    @property
    def request(self) -> bytes:
        """The bytes that are sent."""
        if "" not in self.sent:  # no HTTP at all
            return "\n".join(self.sent).encode(self.encoding)
        end = self.sent.index("")
        text = "\n".join(self.sent[end + 1 :])
        body = text.encode(self.encoding)
        head = _HEAD_AND_BODY.join(["\r\n".join(self.sent[:end]), ""])
        head = head.replace("{bytes}", str(len(body))).replace("{characters}", str(len(text)))
        return head.encode() + body


@dataclass
class Dialogue:
    """A file: who plays, and what is said one after the other."""

    strategy: str
    exchanges: list[Exchange]


def dialogues() -> dict[str, Dialogue]:
    """The name of a file → what it says."""
    return {path.stem: read_dialogue(path) for path in sorted(FOLDER.glob("*.txt"))}


def read_dialogue(path: Path) -> Dialogue:
    strategy, encoding = "", "utf-8"
    exchanges: list[Exchange] = []
    was_sent = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        mark, text = line[:1], line[2:]
        place = f"{path.name}:{number}"
        if mark == ">":
            if not was_sent:
                exchanges.append(Exchange(place, encoding))
            exchanges[-1].sent.append(text)
        elif mark == "<":
            exchanges[-1].answer.append(text)
        elif mark == "!":
            exchanges[-1].status = int(text)
        elif mark == "+":
            exchanges[-1].headers.append(text)
        elif mark not in ("", "#"):
            key, _, value = line.partition(": ")
            assert key in ("player", "encoding"), place
            strategy, encoding = (value, encoding) if key == "player" else (strategy, value)
        was_sent = mark == ">"
    return Dialogue(strategy, exchanges)


async def differences(port: int, dialogue: Dialogue) -> list[str]:
    """Says everything to a player on this computer; what it answered otherwise than it must."""
    found: list[str] = []
    for exchange in dialogue.exchanges:
        received = await _say(port, exchange.request)
        found.extend(f"{exchange.place}: {difference}" for difference in _differences(exchange, received))
    return found


async def _say(port: int, request: bytes) -> bytes:
    """Everything that comes until the player hangs up, as each of them must."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(PATIENCE):
            writer.write(request)
            return await reader.read()
    finally:
        writer.close()
        await writer.wait_closed()


def _differences(exchange: Exchange, received: bytes) -> Iterator[str]:
    head, _, body = received.decode().partition(_HEAD_AND_BODY)
    first, *headers = head.split("\r\n")
    if f" {exchange.status} " not in first:
        yield f"{first}, not {exchange.status}"
    if body != "\n".join(exchange.answer):
        yield f"{body!r}, not {exchange.answer}"
    if f"Content-Length: {len(body.encode())}" not in headers:
        yield f"a wrong length: {headers}"
    for missing in set(exchange.headers) - set(headers):
        yield f"no {missing} in {headers}"

"""Dialogue files → exchanges: a request, what it means, the player's answer, what that means."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from ggp.gdl.reader import read
from ggp.gdl.terms import Term
from ggp.protocol import messages
from ggp.protocol.messages import Dialect, Message

FOLDER = Path(__file__).parent / "dialogues"
Meaning = dict[str, str]  # field → its text; rules one a line


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its answer."""

    dialect: Dialect
    request: str
    is_written: bool  # whether the value is printed as exactly this text
    meaning: Meaning
    answer: str
    answer_meaning: Meaning


def exchanges() -> list[Exchange]:
    """All exchanges of all files."""
    return [exchange for path in sorted(FOLDER.glob("*.txt")) for exchange in _read_file(path)]


def message_of(meaning: Meaning) -> Message:
    """The value that an indented block describes."""
    kind = getattr(messages, meaning["message"])
    values: dict[str, Any] = {field.name: _FIELDS[field.name](meaning[field.name]) for field in fields(kind)}
    message: Message = kind(**values)
    return message


def terms(text: str) -> tuple[Term, ...]:
    return tuple(node.term for node in read(text))


def _read_file(path: Path) -> list[Exchange]:
    found: list[Exchange] = []
    dialect = Dialect.GGP_BASE
    request, is_written, meaning = "", False, Meaning()
    block = meaning
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        key, _, value = line.strip().partition(":")
        value = value.strip()
        if line.startswith(" "):
            block[key] = f"{block[key]}\n{value}" if key in block else value
        elif key == "dialect":
            dialect = Dialect(value)
        elif key in ("send", "hear"):
            request, is_written, meaning = value, key == "send", Meaning()
            block = meaning
        else:
            assert key == "answer", f"{path.name}: {line}"
            block = Meaning()
            found.append(Exchange(dialect, request, is_written, meaning, value, block))
    return found


def _moves(text: str) -> tuple[Term, ...] | None:
    return None if text == "none" else terms(text)


def _last_move(text: str) -> Term | None:
    return None if text == "none" else terms(text)[0]


_FIELDS: dict[str, Callable[[str], Any]] = {
    "match": str,
    "role": str,
    "rules": str,
    "clock": int,
    "startclock": int,
    "playclock": int,
    "turn": int,
    "moves": _moves,
    "last_move": _last_move,
    "percepts": terms,
}

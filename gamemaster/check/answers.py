"""What a player sends back as bytes → an HTTP answer, as long as any game master could make sense of it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_END_OF_HEAD = re.compile(rb"\r?\n\r?\n")
_STATUS = re.compile(r"HTTP/[0-9.]+ +([0-9]{3})\b *(.*)")
_START = b"HTTP/"
_CONTINUE = 100  # a status that only says: go on
_LONGEST_LENGTH = 15  # digits of a Content-Length


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as far as it came."""

    status: int  # 0 when it is not HTTP
    reason: str
    fields: Mapping[str, str]  # headers, by their names in lower case
    body: bytes  # no more than was announced
    surplus: int  # bytes that came after the announced end
    missing: int  # bytes that were announced and did not come

    @property
    def has_length(self) -> bool:
        """Whether it says itself where it ends."""
        return "content-length" in self.fields or _is_chunked(self.fields)


def read_answer(data: bytes, *, ended: bool) -> Answer | None:
    """The answer in what came so far; None while more of it must follow. `ended`: nothing more will come."""
    if not data.startswith(_START[: len(data)]):
        return Answer(0, "", {}, data, 0, 0) if ended else None
    end = _END_OF_HEAD.search(data)
    if end is None:
        return Answer(0, "", {}, data, 0, 0) if ended and data else None
    status, reason, fields = _head(data[: end.start()].decode("latin-1"))
    rest = data[end.end() :]
    if status == _CONTINUE:
        return read_answer(rest, ended=ended)
    if _is_chunked(fields):
        return _chunked(status, reason, fields, rest, ended=ended)
    length = _length(fields)
    if length is None:
        return Answer(status, reason, fields, rest, 0, 0) if ended else None
    if len(rest) < length and not ended:
        return None
    surplus, missing = max(0, len(rest) - length), max(0, length - len(rest))
    return Answer(status, reason, fields, rest[:length], surplus, missing)


def _head(text: str) -> tuple[int, str, dict[str, str]]:
    first, *lines = re.split(r"\r?\n", text)
    status = _STATUS.fullmatch(first.strip())
    pairs = (line.partition(":") for line in lines)
    fields = {name.strip().lower(): value.strip() for name, _, value in pairs}
    return (int(status[1]), status[2], fields) if status else (0, "", fields)


def _length(fields: Mapping[str, str]) -> int | None:
    text = fields.get("content-length", "")
    return int(text) if re.fullmatch(rf"[0-9]{{1,{_LONGEST_LENGTH}}}", text) else None


def _is_chunked(fields: Mapping[str, str]) -> bool:
    return fields.get("transfer-encoding", "").lower() == "chunked"


def _chunked(status: int, reason: str, fields: Mapping[str, str], rest: bytes, *, ended: bool) -> Answer | None:
    """Pieces, each after a line with its length in hexadecimal; the last one is empty."""
    body = b""
    while True:
        line, newline, after = rest.partition(b"\n")
        size = re.match(rb"\s*([0-9a-fA-F]{1,8})\s*(;.*)?$", line) if newline else None
        if size is None:
            return Answer(status, reason, fields, body, 0, 1) if ended or newline else None
        count = int(size[1], 16)
        if count == 0:
            return Answer(status, reason, fields, body, 0, 0)
        if len(after) < count:
            return Answer(status, reason, fields, body + after, 0, count - len(after)) if ended else None
        body += after[:count]
        rest = after[count:].lstrip(b"\r").removeprefix(b"\n")

"""A message as text → the bytes of a request, as game masters and their libraries send it."""

from collections.abc import Mapping

from gamemaster.check.dialogue import Address
from ggp.protocol.headers import CONTENT_TYPE, request_headers
from ggp.protocol.messages import Dialect

_SENDERS = {Dialect.GGP_BASE: "GAMESERVER", Dialect.DRESDEN: "Gamecontroller"}


def ordinary(address: Address, text: str, dialect: Dialect, receiver: str) -> bytes:
    """As the game masters that speak this dialect send it, but with the header `Host`, for proxies."""
    headers = request_headers(receiver) | {"Sender": _SENDERS[dialect], "Content-Type": CONTENT_TYPE}
    return request(address, text.encode(), headers)


def request(
    address: Address, body: bytes, headers: Mapping[str, str], *, version: str = "1.0", length: int | None = None
) -> bytes:
    """Any body with any headers; `length` where the body is to be announced with another than its own."""
    fields = {"Host": address.authority, **headers, "Content-Length": str(len(body) if length is None else length)}
    return head(address, fields, version) + body


def chunked(address: Address, body: bytes) -> bytes:
    """In HTTP/1.1, in two chunks."""
    fields = {"Host": address.authority, "Content-Type": CONTENT_TYPE, "Transfer-Encoding": "chunked"}
    half = len(body) // 2
    chunks = [b"%x\r\n%b\r\n" % (len(piece), piece) for piece in (body[:half], body[half:], b"")]
    return head(address, fields | {"Connection": "close"}, "1.1") + b"".join(chunks)


def head(address: Address, fields: Mapping[str, str], version: str = "1.0") -> bytes:
    """The lines before a body."""
    lines = [f"POST {address.target} HTTP/{version}", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
    return "\r\n".join(lines).encode()

"""What keeps the service safe from those who use it: headers, its names, origins, tokens, rates and connections."""

import asyncio
import hmac
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Sequence
from hashlib import sha256
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web

from gamemaster.web.settings import LOOPBACK_NAMES, Limits, Problem, ServeSettings, is_loopback

COOKIE = "ggp-token"
READING = frozenset({"GET", "HEAD", "OPTIONS"})
OPEN_PATHS = ("/api/v1/humans/", "/token")  # what is protected by a secret of its own, and where the token is given

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; object-src 'none'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # links to humans are secret; with no-referrer the Origin of forms would be null
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}

_MOST_ADDRESSES = 10_000  # whose rates are remembered
_TELL_SECONDS = 60.0  # between two lines of the log about closed connections
log = logging.getLogger(__name__)


async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Sent with everything."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    is_fixed = request.path.startswith("/static/") or request.path == "/boards.css"
    response.headers.setdefault("Cache-Control", "no-cache" if is_fixed else "no-store")


class Guard:
    """Decides whether a request is let in; a Problem says why not."""

    def __init__(self, settings: ServeSettings) -> None:
        self._settings = settings
        self._tokens = [token.encode() for token in settings.tokens]
        self._operators = [token.encode() for token in settings.operator_tokens]
        limits = settings.limits
        self._reads = Rates(limits.reads, limits.reads_at_once)
        self._writes = Rates(limits.writes, limits.writes_at_once)

    def check(self, request: web.Request) -> None:
        """Of every request, before anything else is done with it."""
        self._check_host(request)
        is_reading = request.method in READING
        self._take(self._reads if is_reading else self._writes, request, 1.0)
        if not is_reading:
            self._check_origin(request)
            if not request.path.startswith(OPEN_PATHS) and not self.may_write(request):
                raise Problem(401, "changing something here needs the token of the operator")

    def charge(self, request: web.Request, requests: float) -> None:
        """Counts an answer as so many requests more, by the work that it takes; a Problem as by `check`."""
        if requests > 0:
            self._take(self._reads, request, requests)

    def _take(self, rates: "Rates", request: web.Request, requests: float) -> None:
        wait = rates.take(self.visitor(request), requests)
        if wait > 0:
            raise Problem(429, "too many requests; slow down", retry_after=wait)

    def visitor(self, request: web.Request) -> str:
        """Who asks: an address, the half that a provider gives of one of IPv6; as a trusted proxy says, if it does."""
        address = _address(request.remote or "")
        told = [word.strip() for line in request.headers.getall("X-Forwarded-For", ()) for word in line.split(",")]
        while told and address is not None and self._is_proxy(address):
            before = _address(told.pop())
            if before is None:
                break
            address = before
        return "" if address is None else _visitor(address)

    def visitor_at(self, host: str) -> str | None:
        """Who has a connection, by its other end; None where that is a trusted proxy."""
        address = _address(host)
        if address is None:
            return ""
        return None if self._is_proxy(address) else _visitor(address)

    def may_write(self, request: web.Request) -> bool:
        """Whether a request has the token, where one is needed."""
        return not self._settings.needs_token or _has(request, self._tokens)

    def is_operator(self, request: web.Request) -> bool:
        return _has(request, self._operators)

    def is_token(self, given: str) -> bool:
        return _is_among(_bytes(given), self._tokens)

    def has_token(self, request: web.Request) -> bool:
        return _has(request, self._tokens)

    def _is_proxy(self, address: IPv4Address | IPv6Address) -> bool:
        return any(address in proxies for proxies in self._settings.trusted_proxies)

    def _check_host(self, request: web.Request) -> None:
        """Refuses pages of other hosts whose name was made to lead here (DNS rebinding)."""
        try:
            name = urlsplit(f"//{request.headers.get('Host', '')}").hostname or ""
        except ValueError:
            name = ""
        if not self._is_ours(name):
            raise Problem(421, "this service does not go by that name; the operator can give it one with --name")

    def _is_ours(self, name: str) -> bool:
        if name in self._settings.hosts or name == self._settings.host.lower():
            return True
        if is_loopback(self._settings.host):
            return is_loopback(name)
        return name in LOOPBACK_NAMES or _address(name) is not None

    def _check_origin(self, request: web.Request) -> None:
        """A page of another site may not write in the name of our user."""
        site = request.headers.get("Sec-Fetch-Site", "same-origin")
        origin = request.headers.get("Origin")
        is_own = origin is None or _netloc(origin) == request.headers.get("Host", "").lower()
        if site not in ("same-origin", "none") or not is_own:
            raise Problem(403, "this request comes from a page of another site")


class Connections:
    """How many connections may be open, in all and by each visitor: one without a request has no rate."""

    def __init__(self, guard: Guard, limits: Limits, most: int) -> None:
        """most: in all."""
        self._guard = guard
        self._most = most
        self._most_each = limits.visitor_connections
        self._open: dict[Any, str | None] = {}  # handler of a connection → visitor
        self._counts = Counter[str | None]()
        self._told = -_TELL_SECONDS

    def bound(self, server: web.Server) -> None:
        """From now on connections beyond the limits are closed at once."""
        made, lost = server.connection_made, server.connection_lost

        def connection_made(handler: Any, transport: asyncio.Transport) -> None:  # noqa: ANN401 - aiohttp's
            made(handler, transport)
            host, *_ = transport.get_extra_info("peername") or ("",)
            visitor = self._open[handler] = self._guard.visitor_at(host)
            self._counts[visitor] += 1
            if len(self._open) > self._most or (visitor is not None and self._counts[visitor] > self._most_each):
                self._tell(host)
                transport.abort()

        def connection_lost(handler: Any, exc: BaseException | None = None) -> None:  # noqa: ANN401 - aiohttp's
            visitor = self._open.pop(handler)
            self._counts[visitor] -= 1
            if not self._counts[visitor]:
                del self._counts[visitor]
            lost(handler, exc)

        server.connection_made = connection_made  # type: ignore[method-assign]
        server.connection_lost = connection_lost  # type: ignore[method-assign]

    def _tell(self, host: str) -> None:
        now = time.monotonic()
        if now >= self._told + _TELL_SECONDS:
            self._told = now
            log.warning("%s: a connection too many was closed; %d are open", host or "?", len(self._open))


class Rates:
    """How many requests an address may make: so many a second, and so many at once."""

    def __init__(self, per_second: float, at_once: int) -> None:
        self._per_second = per_second
        self._at_once = at_once
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()  # address → level, when

    def take(self, address: str, requests: float = 1.0) -> float:
        """0 where one more may go on, and so many are counted; else the seconds to wait."""
        now = time.monotonic()
        level, before = self._levels.pop(address, (float(self._at_once), now))
        level = min(self._at_once, level + (now - before) * self._per_second)
        allowed = level >= 1
        self._levels[address] = (level - requests if allowed else level, now)
        while len(self._levels) > _MOST_ADDRESSES:
            self._levels.popitem(last=False)
        return 0.0 if allowed else (1 - level) / self._per_second


def cookie_of(token: str | bytes) -> str:
    """What a browser keeps in place of the token."""
    return sha256(b"ggp serve " + (token.encode() if isinstance(token, str) else token)).hexdigest()


def bearer(request: web.Request) -> str:
    """What stands in the header for tokens; empty where there is none."""
    kind, _, given = request.headers.get("Authorization", "").partition(" ")
    return given.strip() if kind.lower() == "bearer" else ""


def is_same(given: str, secret: str) -> bool:
    """Whether somebody knows a secret; takes as long for every guess."""
    return hmac.compare_digest(_bytes(given), secret.encode())


def _has(request: web.Request, tokens: Sequence[bytes]) -> bool:
    cookies = [cookie_of(token).encode() for token in tokens]
    return _is_among(_bytes(bearer(request)), tokens) or _is_among(_bytes(request.cookies.get(COOKIE, "")), cookies)


def _is_among(given: bytes, secrets: Sequence[bytes]) -> bool:
    return any(hmac.compare_digest(given, secret) for secret in secrets)


def _bytes(given: str) -> bytes:
    """Also of a header that is no text."""
    return given.encode(errors="surrogateescape")


def _visitor(address: IPv4Address | IPv6Address) -> str:
    return str(ip_network((address, 64), strict=False) if address.version == 6 else address)


def _address(text: str) -> IPv4Address | IPv6Address | None:
    """Also with a port, as some proxies write it; None where it is none."""
    host = text.partition("]")[0].lstrip("[") if text.startswith("[") else text
    for one in (host, host.rpartition(":")[0]):
        try:
            found = ip_address(one)
        except ValueError:
            continue
        return (found.ipv4_mapped or found) if found.version == 6 else found
    return None


def _netloc(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""

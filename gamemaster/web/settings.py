"""The settings of the service: where it listens, whose words it trusts, and how much it does at a time.

Also what went wrong with a request, as a value that every part can raise and that becomes problem+json (RFC 9457).
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Annotated, TypeAlias

from annotated_types import Ge, Gt
from pydantic_core import PydanticCustomError

from gamemaster.player import LONGEST_NAME, MOST_MARKS, is_name, parse_player
from ggp.errors import SettingsError
from ggp.plugins import parse_plugin
from ggp.settings import About, Settings

Count: TypeAlias = Annotated[int, Ge(1)]
Seconds: TypeAlias = Annotated[float, Ge(0)]
Rate: TypeAlias = Annotated[float, Gt(0)]
Network: TypeAlias = IPv4Network | IPv6Network

BOTS = ("mcts", "montecarlo", "random", "legal")  # that users may always choose
MOST_PLAYERS = 64  # of a match
LOOPBACK_NAMES = frozenset({"localhost", "ip6-localhost"})


@dataclass(frozen=True, slots=True)
class Limits(Settings):
    """How much of everything, in sum and for each visitor, which is an address; the operator has no share."""

    matches: Annotated[Count, About("matches running at a time")] = 12
    visitor_matches: Annotated[Count, About("of these begun by one visitor")] = 4
    absent: Annotated[
        Seconds, About("after which a match ends that a human holds up who has no page open", "seconds")
    ] = 300.0
    match_seconds: Annotated[Seconds, About("after which any match ends", "seconds")] = 21_600.0
    steps: Annotated[Count, About("of a match that is started here")] = 2000
    facts: Annotated[Count, About("in a state; a match with more is broken")] = 20_000
    term_bytes: Annotated[Count, About("of a fact or a move, as text; likewise", "bytes")] = 2_000
    state_bytes: Annotated[Count, About("of the facts of a state, or of the moves of all roles; likewise", "bytes")] = (
        1_000_000
    )
    record_bytes: Annotated[Count, About("of the record of a match; likewise", "bytes")] = 4_000_000
    records_bytes: Annotated[
        Count, About("of the folder of records, and of all that is recorded in a store since the start", "bytes")
    ] = 2_000_000_000
    visitor_records_bytes: Annotated[Count, About("of these by one visitor in a day", "bytes")] = 200_000_000
    bots_bytes: Annotated[Count, About("memory of all bots", "bytes")] = 6_000_000_000
    visitor_bots_bytes: Annotated[Count, About("of these begun by one visitor", "bytes")] = 3_000_000_000
    rulesheet_bytes: Annotated[Count, About("of a pasted rulesheet", "bytes")] = 262_144
    rulesheets: Annotated[Count, About("pasted ones that are kept")] = 500
    visitor_rulesheets: Annotated[Count, About("of these by one visitor since the start")] = 50
    body_bytes: Annotated[Count, About("of a request", "bytes")] = 400_000
    request_seconds: Annotated[Rate, About("until a request must have arrived", "seconds")] = 10.0
    connections: Annotated[Count, About("open connections; fewer where the system allows fewer open files")] = 2000
    visitor_connections: Annotated[Count, About("of these by one visitor; those of a trusted proxy do not count")] = 400
    reads: Annotated[Rate, About("requests of one visitor", "a second")] = 200.0
    writes: Annotated[Rate, About("of these such as change something", "a second")] = 4.0
    reads_at_once: Annotated[Count, About("requests of one visitor at once")] = 2000
    writes_at_once: Annotated[Count, About("of these such as change something")] = 40
    endpoints: Annotated[Count, About("of humans who play for other game masters")] = 50
    visitor_endpoints: Annotated[Count, About("of these by one visitor")] = 10
    endpoint_seconds: Annotated[
        Seconds, About("for which an unused one is kept when there are as many as may be", "seconds")
    ] = 600.0
    listeners: Annotated[Count, About("open streams of events")] = 600
    visitor_listeners: Annotated[Count, About("of these by one visitor")] = 250
    kept: Annotated[int, Ge(0), About("matches that are over and still in memory")] = 20
    kept_bytes: Annotated[Count, About("of drawn states that are kept in memory", "bytes")] = 64_000_000
    workers: Annotated[
        Count,
        About(
            "processes that evaluate rules for readers; one more does for humans at endpoints, one checks rulesheets"
        ),
    ] = 2
    waiting: Annotated[Count, About("requests that wait for one of them")] = 64
    visitor_waiting: Annotated[Count, About("of these by one visitor")] = 32
    state_seconds: Annotated[Seconds, About("for one state", "seconds")] = 10.0
    check_seconds: Annotated[Seconds, About("for a pasted rulesheet", "seconds")] = 20.0
    replay_seconds: Annotated[Seconds, About("for a whole record", "seconds")] = 60.0
    analyses: Annotated[Count, About("searches at a time")] = 2
    analysis_seconds: Annotated[Seconds, About("of one search", "seconds")] = 20.0
    compile_seconds: Annotated[Seconds, About("before it begins", "seconds")] = 90.0
    memory_bytes: Annotated[Count, About("of a process that evaluates rules", "bytes")] = 2**31
    search_bytes: Annotated[Count, About("of a search", "bytes")] = 2**28


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """What `ggp serve` was told."""

    host: str = "127.0.0.1"
    port: int = 8080
    store: str = ""  # a file or the URL of a database; none where it is empty
    records: Path = Path("records")
    token: str = ""  # needed for writing; may be empty on loopback
    operator_token: str = ""  # for what only the operator may do; that for writing where it is empty
    trusted_proxies: tuple[Network, ...] = ()  # addresses whose word is taken for whom they speak for
    endpoint_port: int = 0  # of the HTTP endpoints of humans; any free one where it is 0
    allowed_players: frozenset[str] = frozenset()  # hosts, or host:port, at which users may name external players
    warm: bool = True  # whether to prepare in advance what the first users would wait for
    hosts: frozenset[str] = frozenset()  # names under which the service may be called, in addition to its addresses
    bots: Mapping[str, str] = field(default_factory=dict)  # name → strategy of a user, which the operator offers
    limits: Limits = field(default_factory=Limits)

    @property
    def all_bots(self) -> dict[str, str]:
        """Name → strategy of all that visitors may choose."""
        return {**{name: name for name in BOTS}, **self.bots}

    @property
    def needs_token(self) -> bool:
        return bool(self.token)

    @property
    def operator_tokens(self) -> tuple[str, ...]:
        """Each of them shows that a visitor is the operator."""
        return tuple(filter(None, (self.operator_token or self.token,)))

    @property
    def tokens(self) -> tuple[str, ...]:
        """Each of them is the right to write."""
        return tuple(filter(None, (self.token, self.operator_token)))


def is_loopback(host: str) -> bool:
    """Whether a host, as an address or one of the usual names, is this computer only."""
    if host.lower() in LOOPBACK_NAMES:
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_settings(settings: ServeSettings) -> ServeSettings:
    """The settings; SettingsError where the service would be open to everybody for writing, or a host is none."""
    if not settings.token and not is_loopback(settings.host):
        raise SettingsError(
            f"--host {settings.host}: others can reach this address, so writing needs a token: give one with --token"
        )
    for option, token in (("--token", settings.token), ("--operator-token", settings.operator_token)):
        if token and not 8 <= len(token) <= 200:
            raise SettingsError(f"{option}: between 8 and 200 characters, so that nobody guesses it")
        if not token.isascii() or not token.isprintable() or " " in token:
            raise SettingsError(f"{option}: printable ASCII characters without blanks")
    for host in settings.allowed_players:
        if not _is_host(host):
            raise SettingsError(f"--allow-players: a host or host:port without http:// and path, not {host!r}")
    for host in settings.hosts:
        if not _is_host(host) or host.count(":") == 1:
            raise SettingsError(f"--name: a host without http://, port and path, not {host!r}")
    return settings


def _is_host(text: str) -> bool:
    """Whether it can be a host or host:port, which is what the parts of a URL are compared with."""
    return bool(text) and not any(letter in "/@?#" or letter.isspace() for letter in text)


def network(text: str) -> Network:
    """A network or one address; SettingsError for what is neither."""
    try:
        return ip_network(text, strict=False)
    except ValueError:
        raise SettingsError(f"--trusted-proxy: an address or a network such as 10.0.0.0/8, not {text!r}") from None


def offered_bots(texts: Iterable[str]) -> dict[str, str]:
    """Name → strategy, from `FILE.py:NAME` or `name=FILE.py:NAME`; SettingsError for anything else, or a name twice."""
    found: dict[str, str] = {}
    for text in texts:
        address = parse_player(text)
        if parse_plugin(address.place) is None:
            raise SettingsError(f"--bot: FILE.py:NAME or MODULE:NAME, perhaps after name=, not {text!r}")
        if address.name in found or address.name in BOTS:
            raise SettingsError(f"--bot: {address.name} is the name of another bot; name=FILE.py:NAME gives it its own")
        found[address.name] = address.place
    return found


def checked_name(text: str) -> str:
    """A player's name without blanks around it; PydanticCustomError where it may not be called so."""
    name = text.strip()
    if not is_name(name):
        letters = f"{LONGEST_NAME} printable characters, with at most {MOST_MARKS} accents on a letter"
        raise PydanticCustomError("name", f"a name is one line of at most {letters}")
    return name


MEDIA_TYPE = "application/problem+json"


class Problem(Exception):  # noqa: N818 - the name that the RFC gives it
    """A request that is not fulfilled; `detail` is one line of text."""

    def __init__(
        self, status: int, detail: str, *, fields: Mapping[str, object] | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.fields = dict(fields or {})  # members in addition to those of the RFC
        self.retry_after = retry_after  # seconds
        self.headers: dict[str, str] = {}

    @property
    def title(self) -> str:
        return HTTPStatus(self.status).phrase

    def as_json(self, instance: str) -> bytes:
        document = {"type": "about:blank", "title": self.title, "status": self.status, "detail": self.detail}
        return json.dumps({**document, "instance": instance, **self.fields}).encode()


def not_found(what: str) -> Problem:
    return Problem(HTTPStatus.NOT_FOUND, what)


def refused(detail: str, **fields: object) -> Problem:
    """What was asked for is understood and not possible."""
    return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, detail, fields=fields)


def conflict(detail: str) -> Problem:
    """It was possible once, or will be."""
    return Problem(HTTPStatus.CONFLICT, detail)


def busy(detail: str, retry_after: float = 2.0) -> Problem:
    return Problem(HTTPStatus.SERVICE_UNAVAILABLE, detail, retry_after=retry_after)

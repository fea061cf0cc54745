"""The settings of the service: where it listens, whose words it trusts, and how much it does at a time."""

from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from ggp.errors import SettingsError

BOTS = ("mcts", "montecarlo", "random", "legal")  # that users may choose
LOOPBACK_NAMES = frozenset({"localhost", "ip6-localhost"})


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of everything; durations in seconds."""

    matches: int = 8  # running at a time
    kept: int = 20  # matches that are over and still in memory
    steps: int = 2000  # of a match that is started here
    rulesheet_bytes: int = 262_144
    rulesheets: int = 500  # that users have pasted
    body_bytes: int = 400_000
    reads: float = 200.0  # requests a second from one address
    writes: float = 4.0
    reads_at_once: int = 2000
    writes_at_once: int = 40
    endpoints: int = 50  # of humans who play for other game masters
    endpoint_seconds: float = 600.0  # for which an unused one is kept when the limit is reached
    listeners: int = 600  # open streams of events
    workers: int = 2  # processes that evaluate rules for pages
    waiting: int = 64  # requests that wait for one of them
    state_seconds: float = 10.0  # for one state
    check_seconds: float = 20.0  # for pasted rules
    replay_seconds: float = 60.0
    analyses: int = 2  # searches at a time
    analysis_seconds: float = 20.0  # of one search
    compile_seconds: float = 90.0  # before it begins
    memory_bytes: int = 2**31  # of a process that evaluates rules
    search_bytes: int = 2**28  # of a search


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """What `ggp serve` was told."""

    host: str = "127.0.0.1"
    port: int = 8080
    store: str = ""  # a file or the URL of a database; none where it is empty
    records: Path = Path("records")
    token: str = ""  # needed for writing; may be empty on loopback
    endpoint_port: int = 0  # of the HTTP endpoints of humans; any free one where it is 0
    allowed_players: frozenset[str] = frozenset()  # hosts, or host:port, at which users may name external players
    warm: bool = True  # whether to prepare in advance what the first users would wait for
    hosts: frozenset[str] = frozenset()  # names under which the service may be called, beside its addresses
    limits: Limits = field(default_factory=Limits)

    @property
    def needs_token(self) -> bool:
        return bool(self.token)


def is_loopback(host: str) -> bool:
    """Whether a host, as an address or one of the usual names, is this computer only."""
    if host.lower() in LOOPBACK_NAMES:
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_settings(settings: ServeSettings) -> ServeSettings:
    """The settings; SettingsError where the service would be open to everybody for writing."""
    if not settings.token and not is_loopback(settings.host):
        raise SettingsError(
            f"--host {settings.host}: others can reach this address, so writing needs a token: give one with --token"
        )
    if settings.token and not 8 <= len(settings.token) <= 200:
        raise SettingsError("--token: between 8 and 200 characters, so that nobody guesses it")
    if not settings.token.isascii() or not settings.token.isprintable() or " " in settings.token:
        raise SettingsError("--token: printable ASCII characters without blanks")
    return settings

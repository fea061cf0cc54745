"""The right to run a tournament: held by one process at a time, and checked by every transaction of that process.

Each claim raises the token of the lease. Who writes with an older token is refused within the transaction, so a manager
that was thought dead and is not (its computer slept) can do no harm. Heartbeats are only about how soon a lease may be
taken from a process that cannot be looked at; wrong clocks make that too early or too late, and nothing worse.
"""

import time
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection, bindparam, select, text

from gamemaster.tournament.store.processes import Process, is_alive, this_process
from gamemaster.tournament.store.tables import leases
from gamemaster.tournament.store.values import ManagedBy
from ggp.errors import StoreError

SILENCE = 30.0  # seconds without a heartbeat after which a manager on another computer counts as dead
BEAT = 5.0  # seconds between heartbeats

_LEASE = select(leases).where(leases.c.tournament_id == bindparam("of_tournament"))


@dataclass(frozen=True, slots=True)
class Lease:
    """A row of the table."""

    token: int
    is_held: bool
    holder: Process
    since: datetime
    heartbeat: float

    def __str__(self) -> str:
        return f"process {self.holder.pid} on {self.holder.host} since {self.since:%Y-%m-%d %H:%M:%S} UTC"


def make_lease(connection: Connection, tournament_id: int) -> None:
    """A lease that nobody holds."""
    connection.execute(leases.insert().values(tournament_id=tournament_id, token=0, is_held=0))


def claim(connection: Connection, tournament_id: int, name: str) -> int:
    """The token of a new lease; StoreError while another manager lives."""
    lease = _lease(connection, tournament_id)
    if _is_live(connection, lease):
        raise StoreError(f"{name} is being run by {lease}")
    me = this_process()
    connection.execute(
        leases.update()
        .where(leases.c.tournament_id == tournament_id)
        .values(
            token=lease.token + 1,
            is_held=1,
            host=me.host,
            machine=me.machine,
            pid=me.pid,
            process_start=me.start,
            since=datetime.now(UTC),
            heartbeat=_clock(connection),
        )
    )
    return lease.token + 1


def check(connection: Connection, tournament_id: int, name: str, token: int) -> None:
    """StoreError when the lease with this token is not held any more."""
    lease = _lease(connection, tournament_id)
    if lease.token == token and lease.is_held:
        return
    taken = f": {lease} took it over" if lease.token > token else ""
    raise StoreError(f"{name} is not run by this manager any more{taken}")


def beat(connection: Connection, tournament_id: int, token: int) -> bool:
    """Whether the lease is still held."""
    held = (leases.c.tournament_id == tournament_id) & (leases.c.token == token) & (leases.c.is_held == 1)
    return connection.execute(leases.update().where(held).values(heartbeat=_clock(connection))).rowcount == 1


def release(connection: Connection, tournament_id: int) -> None:
    connection.execute(leases.update().where(leases.c.tournament_id == tournament_id).values(is_held=0))


def manager_of(connection: Connection, tournament_id: int) -> ManagedBy | None:
    """None where nobody that lives holds the lease."""
    lease = _lease(connection, tournament_id)
    if not _is_live(connection, lease):
        return None
    return ManagedBy(lease.holder.host, lease.holder.pid, lease.since)


def _is_live(connection: Connection, lease: Lease) -> bool:
    """Whether the holder lives, as far as it can be seen; a heartbeat from the future is none either."""
    if not lease.is_held:
        return False
    alive = is_alive(lease.holder)
    return abs(_clock(connection) - lease.heartbeat) <= SILENCE if alive is None else alive


def _lease(connection: Connection, tournament_id: int) -> Lease:
    row = connection.execute(_LEASE, {"of_tournament": tournament_id}).one()
    process = Process(row.host, row.machine, row.pid, row.process_start)
    return Lease(row.token, bool(row.is_held), process, row.since, row.heartbeat)


def _clock(connection: Connection) -> float:
    """Seconds since 1970: of the server, or of the computer that has the file."""
    if connection.dialect.name == "sqlite":
        return time.time()
    return float(connection.scalar(text("SELECT extract(epoch FROM clock_timestamp())")))

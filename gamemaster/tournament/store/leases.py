"""The right to run a tournament: held by one process at a time, and checked by every transaction of that process.

Each claim raises the token of the lease. Who writes with an older token is refused within the transaction, so a manager
that was thought dead and is not (its computer slept) can do no harm. Heartbeats are only about how soon a lease may be
taken from a process that cannot be looked at; wrong clocks make that too early or too late, and nothing worse.
"""

import os
import socket
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, bindparam, select, text

from gamemaster.tournament.store.reads import ManagedBy
from gamemaster.tournament.store.schema import leases
from ggp.errors import StoreError

SILENCE = 30.0  # seconds without a heartbeat after which a manager on another computer counts as dead
BEAT = 5.0  # seconds between heartbeats

_LEASE = select(leases).where(leases.c.tournament_id == bindparam("of_tournament"))


@dataclass(frozen=True, slots=True)
class Process:
    """A process of some computer."""

    host: str  # for people
    machine: str  # equal for two processes if and only if they see each other by their ids
    pid: int
    start: str  # tells it from a later process with the same id; empty where the system does not say


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
    """A lease that is not held."""
    connection.execute(leases.insert().values(tournament_id=tournament_id, token=0, is_held=0))


def claim(connection: Connection, tournament_id: int, name: str) -> int:
    """The token of a new lease; StoreError while another manager lives."""
    lease = _lease(connection, tournament_id)
    if lease.is_held and is_live(connection, lease.holder, lease.heartbeat):
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
            heartbeat=clock(connection),
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
    return connection.execute(leases.update().where(held).values(heartbeat=clock(connection))).rowcount == 1


def release(connection: Connection, tournament_id: int) -> None:
    connection.execute(leases.update().where(leases.c.tournament_id == tournament_id).values(is_held=0))


def manager_of(connection: Connection, tournament_id: int) -> ManagedBy | None:
    """None where no living process holds the lease."""
    lease = _lease(connection, tournament_id)
    if not (lease.is_held and is_live(connection, lease.holder, lease.heartbeat)):
        return None
    return ManagedBy(lease.holder.host, lease.holder.pid, lease.since)


def is_live(connection: Connection, process: Process, heartbeat: float) -> bool:
    """Whether a process lives: as the system says, or by its last heartbeat where the system cannot say.

    A heartbeat that lies far in the future says nothing.
    """
    alive = is_alive(process)
    return abs(clock(connection) - heartbeat) <= SILENCE if alive is None else alive


def _lease(connection: Connection, tournament_id: int) -> Lease:
    row = connection.execute(_LEASE, {"of_tournament": tournament_id}).one()
    process = Process(row.host, row.machine, row.pid, row.process_start)
    return Lease(row.token, bool(row.is_held), process, row.since, row.heartbeat)


def clock(connection: Connection) -> float:
    """Seconds since 1970: of the server, or of the computer that has the file."""
    if connection.dialect.name == "sqlite":
        return time.time()
    return float(connection.scalar(text("SELECT extract(epoch FROM clock_timestamp())")))


PROC = Path("/proc")


def this_process() -> Process:
    host = socket.gethostname()
    return Process(host, _machine(host), os.getpid(), _start(os.getpid()) or "")


def is_alive(process: Process) -> bool | None:
    """None where it cannot be told: the process is of another computer, or this system has no way to ask."""
    if process.machine != _machine(socket.gethostname()) or sys.platform == "win32":
        return None
    start = _start(process.pid)
    if start is not None:
        return start == process.start
    if _has_proc():
        return False
    try:
        os.kill(process.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _machine(host: str) -> str:
    """One start of a kernel and one name space of process ids, as containers have their own; else the host's name."""
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {(PROC / 'self/ns/pid').readlink()}"
    except (OSError, ValueError):
        return host


def _has_proc() -> bool:
    return _start(os.getpid()) is not None


def _start(pid: int) -> str | None:
    """When a process began, in ticks since the computer did; None where there is none, or it is dead and not buried."""
    try:
        text = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    state, *fields = text.rpartition(")")[2].split()  # the name before it may hold anything
    return None if state in ("Z", "X") else fields[18]

"""A PostgreSQL server of our own for tests: in a temporary folder, on a socket there, with no port."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import count
from pathlib import Path

FAST = "-c listen_addresses='' -c fsync=off -c synchronous_commit=off -c shared_buffers=16MB -c max_connections=60"


@dataclass
class Server:
    """A cluster that listens."""

    programs: Path
    folder: Path
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def new_schema(self) -> str:
        """The URL of an empty schema, which is all that a store sees; a database each would take 8 MB and longer."""
        name = f"s{next(self._numbers)}"
        _run(self.programs / "psql", "-qh", str(self.folder), "-U", "ggp", "-c", f"CREATE SCHEMA {name}", "postgres")
        return f"postgresql+psycopg://ggp@/postgres?host={self.folder}&options=-csearch_path%3D{name}"

    def control(self, *arguments: str) -> None:
        _run(self.programs / "pg_ctl", "-D", str(self.folder / "data"), "-w", *arguments)

    def start(self) -> None:
        self.control("-l", str(self.folder / "log"), "-o", f"{FAST} -k '{self.folder}'", "start")

    def stop(self, mode: str = "fast") -> None:
        self.control("-m", mode, "stop")


def what_is_missing() -> str:
    """Why there can be no server; empty when there can."""
    if find_spec("psycopg") is None:
        return "psycopg is not installed (the extra ggp[postgresql])"
    if _programs() is None:
        return "PostgreSQL's programs initdb and pg_ctl are not installed"
    if os.geteuid() == 0 and _user() is None:
        return "PostgreSQL does not run as root, and there is no user postgres or nobody"
    return ""


@contextmanager
def server() -> Iterator[Server]:
    """Only where nothing is missing."""
    programs = _programs()
    assert programs is not None
    with tempfile.TemporaryDirectory(prefix="ggp-pg-", dir=_memory()) as name:
        folder = Path(name)
        if os.geteuid() == 0:
            shutil.chown(folder, _user() or "")
        started = Server(programs, folder)
        _run(programs / "initdb", "-D", str(folder / "data"), "-U", "ggp", "-A", "trust", "--no-sync", "-E", "UTF8")
        started.start()
        try:
            yield started
        finally:
            started.stop("immediate")


def _memory() -> str | None:
    """Where files are quick, if there is room; None for the usual place."""
    place = Path("/dev/shm")
    has_room = place.is_dir() and os.access(place, os.W_OK) and shutil.disk_usage(place).free > 500_000_000
    return str(place) if has_room else None


def _programs() -> Path | None:
    found = shutil.which("pg_ctl")
    if found is not None:
        return Path(found).resolve().parent
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    return folders[-1] if folders else None


def _user() -> str | None:
    names = [line.partition(":")[0] for line in Path("/etc/passwd").read_text(encoding="utf-8").splitlines()]
    return next((name for name in ("postgres", "nobody") if name in names), None)


def _run(program: Path, *arguments: str) -> None:
    """The server inherits nothing from us that would keep a pipe open."""
    command = [str(program), *arguments]
    if os.geteuid() == 0:
        command = ["runuser", "-u", _user() or "", "--", *command]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, cwd="/"
    )
    assert done.returncode == 0, f"{command}: {done.stderr.decode(errors='replace')}"

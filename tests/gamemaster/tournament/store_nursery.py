"""Processes that use a store, quick to start: a process that has loaded everything is forked for each.

`python -m tests.gamemaster.tournament.store_nursery SOCKET` listens until its standard input ends. Whoever connects
sends a line of JSON, the name of a job of `store_jobs` and its arguments, and is answered by lines of JSON, the first
with the process id.
"""

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from gamemaster.tournament.store import leases
from tests.gamemaster.tournament import store_jobs

PATIENCE = 60  # seconds for a worker to say something


@dataclass
class Worker:
    """A process that does a job."""

    pid: int
    says: TextIO
    hears: TextIO

    def next(self) -> Any:  # noqa: ANN401 - jobs say what they like
        """What it says next; None when it has ended."""
        line = self.says.readline()
        return json.loads(line) if line else None

    def tell(self) -> None:
        """Lets it go on where it waits."""
        self.hears.write("\n")
        self.hears.flush()

    def kill(self) -> None:
        """By the signal that nobody hears; returns when it is gone."""
        os.kill(self.pid, signal.SIGKILL)
        self.wait()

    def wait(self) -> None:
        while leases._start(self.pid) is not None:
            os.sched_yield()
        self.close()

    def close(self) -> None:
        """Says and hears no more."""
        self.says.close()
        with suppress(BrokenPipeError):
            self.hears.close()


@dataclass
class Nursery:
    """Where workers come from."""

    path: Path
    workers: list[Worker] = field(default_factory=list)  # those that were started

    def start(self, job: Callable[..., None], *arguments: object) -> Worker:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(PATIENCE)
            line.connect(str(self.path))
            worker = Worker(0, line.makefile("r"), line.makefile("w"))
        self.workers.append(worker)
        worker.hears.write(json.dumps([job.__name__, *arguments]) + "\n")
        worker.hears.flush()
        worker.pid = worker.next()
        return worker

    def clear(self) -> None:
        """Closes the lines to all workers: a test that failed leaves none open for the tests after it."""
        for worker in self.workers:
            worker.close()
        self.workers.clear()


@contextmanager
def nursery(path: Path) -> Iterator[Nursery]:
    command = [sys.executable, "-m", "tests.gamemaster.tournament.store_nursery", str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            assert process.stdout.readline() == b"ready\n"
            yield Nursery(path)
        finally:
            process.stdin.close()


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the dead
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server, selectors.DefaultSelector() as selector:
        server.bind(sys.argv[1])
        server.listen()
        selector.register(server, selectors.EVENT_READ)
        selector.register(sys.stdin, selectors.EVENT_READ)
        print("ready", flush=True)
        while not any(key.fileobj is sys.stdin for key, _ in selector.select()):
            line, _ = server.accept()
            if os.fork() == 0:
                work(line)
            line.close()


def work(line: socket.socket) -> None:
    """Does a job, and ends the process."""
    status = 1
    try:
        with line, line.makefile("r") as hears, line.makefile("w") as says:

            def say(what: object) -> None:
                says.write(json.dumps(what) + "\n")
                says.flush()

            say(os.getpid())
            name, *arguments = json.loads(hears.readline())
            getattr(store_jobs, name)(say, hears.readline, *arguments)
        status = 0
    except BaseException:  # noqa: BLE001 - said, and the process ends
        traceback.print_exc()
    finally:
        os._exit(status)


if __name__ == "__main__":
    main()

"""Lines → a stream, written by a thread: whoever reads slowly, or not at all, keeps no match waiting."""

from queue import SimpleQueue
from threading import Thread
from typing import TextIO

LAST_WAIT = 5.0  # seconds for which the last lines are waited for


class LineWriter:
    """Writes lines in order; once the stream cannot be written, nothing more."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lines: SimpleQueue[str | None] = SimpleQueue()
        self._thread = Thread(target=self._write_all, name="lines", daemon=True)
        self._thread.start()

    def write(self, line: str) -> None:
        self._lines.put(line)

    def close(self) -> None:
        """Waits until all is written, but not for long."""
        self._lines.put(None)
        self._thread.join(LAST_WAIT)

    def _write_all(self) -> None:
        is_open = True
        while (line := self._lines.get()) is not None:
            if not is_open:
                continue
            try:
                self._stream.write(f"{line}\n")
                self._stream.flush()
            except (OSError, ValueError):  # nobody reads any more, the disk is full, or it is closed
                is_open = False

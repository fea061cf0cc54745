"""Record → file, whole at every moment: a new version replaces the old one in one stroke."""

import os
from contextlib import suppress
from pathlib import Path

from gamemaster.record import MatchRecord, StepRecord
from ggp.errors import RecordError


class RecordWriter:
    """Writes the growing record of one match.

    A step is turned into JSON once, when it is new; after that it is only copied. A write still has the size of the
    record: 1000 steps with 60 kB of rules are 120 MB over the match, 3.6 ms a write where the disk is quick. A journal
    would write less, but the file would be no record before the match is over.
    """

    def __init__(self, path: Path) -> None:
        """RecordError when the file could not be written."""
        self.path = path.resolve()
        self._temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}.part")
        self._steps: list[str] = []
        self.has_written = False
        self._check()

    def write(self, record: MatchRecord) -> None:
        """Replaces the file; `record` continues the one that was written before."""
        self._steps.extend(map(_step_json, record.steps[len(self._steps) :]))
        try:
            self._replace(record_json(record, self._steps).encode())
            self.has_written = True
        except OSError as error:
            raise self._failure(error) from None

    def _check(self) -> None:
        if self.path.exists() and not self.path.is_file():
            raise RecordError(f"{self.path}: not a regular file, so no record can be written there")
        try:
            self._temporary.write_bytes(b"")
            self._temporary.unlink()
        except OSError as error:
            raise self._failure(error) from None

    def _replace(self, data: bytes) -> None:
        try:
            with self._temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            self._temporary.replace(self.path)
        except OSError:
            with suppress(OSError):
                self._temporary.unlink()
            raise

    def _failure(self, error: OSError) -> RecordError:
        return RecordError(f"{self.path}: the record cannot be written: {error.strerror or error}")


def record_path(wanted: str, match: str) -> Path:
    """The file that is wanted for a record, or one named after the match in a folder, which is made when needed."""
    path = Path(wanted)
    if not wanted.endswith("/") and not path.is_dir():
        return path
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror or error}") from None
    return path / f"{match}.json"


def record_json(record: MatchRecord, steps: list[str] | None = None) -> str:
    """JSON with a line for each step; `steps` are the steps as JSON where that is known."""
    head = record.model_dump_json(indent=2, exclude={"steps"})
    lines = list(map(_step_json, record.steps)) if steps is None else steps
    body = ",".join(f"\n    {line}" for line in lines)
    return f'{head.removesuffix("}").rstrip()},\n  "steps": [{body}\n  ]\n}}\n'


def _step_json(step: StepRecord) -> str:
    return step.model_dump_json()

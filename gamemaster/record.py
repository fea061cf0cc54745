"""The record of a match: everything that is needed to replay and to judge it, as one value and as a JSON file."""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
)

from gamemaster.faults import Fault
from gamemaster.player import PlayerKind
from gamemaster.referee import Ending, Goals
from gamemaster.settings import Clock, MatchSettings
from ggp.errors import RecordError
from ggp.protocol.evaluation import Evaluation
from ggp.protocol.messages import Dialect

Seconds: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Status = Literal["running"] | Ending


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def _kind_of(player: Mapping[str, Any]) -> PlayerKind:
    """Of a record of 0.1, which has no `kind`: humans played at URLs of the web service's own."""
    is_human = urlsplit(player.get("url", "")).path.startswith("/seats/")
    return "bot" if player.get("bot") else "human" if is_human else "external"


def _resigned_of(match: Mapping[str, Any]) -> str | None:
    """Of a record of 0.1, which has no `resigned`, but says it in the reason."""
    role, _, rest = (match.get("reason") or "").rpartition(" ")
    return (
        role if match.get("status") == "aborted" and rest == "resigned" and role in match.get("players", ()) else None
    )


class PlayerRecord(_Part):
    """What played a role, and how it was spoken to."""

    name: str
    url: str = ""  # empty for a player in the game master's own process
    bot: str | None = None  # the name of the bot, when the game master started it
    bot_seed: int | None = None
    dialect: Dialect = Dialect.GGP_BASE
    scramble_seed: int | None = None  # None: it was told the rules as they are
    clocks: tuple[Clock, Clock] | None = None  # startclock and playclock that it was told, where not those of the match
    kind: PlayerKind = Field(default_factory=_kind_of)


class StartRecord(_Part):
    """What a player answered to START."""

    seconds: Seconds
    answer: str | None = None  # None where there is a fault
    fault: Fault | None = None


class StepRecord(_Part):
    """One joint move, and how it came about."""

    moves: tuple[str, ...]  # as executed, in the order of the roles
    seconds: dict[str, Seconds]  # role → from the request to the answer or fault; not of `random`
    faults: dict[str, Fault] = {}  # only of the roles that have one; their move is a replacement
    time: AwareDatetime  # when the joint move was executed, UTC
    evaluations: dict[str, Evaluation] = {}  # only of the roles whose players said something

    @model_serializer(mode="wrap")
    def _without_nothing(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Where no player says what it thinks, a record is one that older programs read."""
        written: dict[str, Any] = write(self)
        if not self.evaluations:
            written.pop("evaluations", None)
        return written


class MatchRecord(_Part):
    """One match; `steps` come last so that a file grows at its end."""

    format: Literal[1] = 1  # raised by every change after which older readers would misread a record
    ggp: str  # the version that wrote it
    match: str
    token: Annotated[str, Field(min_length=32, max_length=32)]
    game: str
    rulesheet: str
    rulesheet_sha256: str
    engine: str  # what evaluated the rules for the game master
    engine_note: str | None = None  # why it was not a faster one
    roles: tuple[str, ...]
    players: dict[str, PlayerRecord]  # role → player; not of `random`
    settings: MatchSettings
    started: AwareDatetime  # UTC
    start: dict[str, StartRecord] = {}  # empty before START
    status: Status = "running"
    reason: str | None = None  # why it ended, where the rules did not end it
    resigned: str | None = Field(default_factory=_resigned_of)  # the role whose player resigned, in an aborted match
    goals: Goals | None = None  # of the last state; None unless the match came to a terminal state or the step limit
    finished: AwareDatetime | None = None  # UTC
    steps: tuple[StepRecord, ...] = ()

    @property
    def faults(self) -> tuple[tuple[int | None, str, Fault], ...]:
        """All faults as (step, role, fault); the step is None for START."""
        of_start = [(None, role, start.fault) for role, start in self.start.items() if start.fault is not None]
        of_steps = [
            (number, role, fault) for number, step in enumerate(self.steps) for role, fault in step.faults.items()
        ]
        return (*of_start, *of_steps)


Keep: TypeAlias = Callable[[MatchRecord], None]  # what is done with a record whenever it has grown


def now() -> datetime:
    return datetime.now(UTC)


def read_record(path: Path) -> MatchRecord:
    """The record in a file; RecordError with the file and the field for anything that is wrong."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror or error}") from None
    try:
        return MatchRecord.model_validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise RecordError(f"{path}: {field + ': ' if field else ''}{first['msg']}") from None


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

"""The record of a match: everything that is needed to replay and to judge it, as one value and as a JSON file."""

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from gamemaster.faults import Fault
from gamemaster.player import PlayerKind
from gamemaster.referee import Ending, Goals, Opening
from gamemaster.settings import Clock, MatchSettings
from ggp.errors import RecordError
from ggp.gdl.rulesheet import NATURE
from ggp.protocol.evaluation import Evaluation
from ggp.protocol.messages import Dialect
from ggp.settings import first_error

Seconds: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Status = Literal["running", Ending]
_FIRST_YEAR, _LAST_YEAR = 1970, 2999


def _checked_time(time: datetime) -> datetime:
    """ValueError for one that may overflow in another time zone or when seconds are added."""
    if not _FIRST_YEAR <= time.year <= _LAST_YEAR:
        raise ValueError(f"a time of the years {_FIRST_YEAR} to {_LAST_YEAR}")
    return time


def _checked_url(url: str) -> str:
    urlsplit(url)  # ValueError for what is none
    return url


Time: TypeAlias = Annotated[AwareDatetime, AfterValidator(_checked_time)]


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
    url: Annotated[str, AfterValidator(_checked_url)] = ""  # empty for a player in the game master's own process
    bot: str | None = None  # the name of the bot, when the game master started it
    bot_seed: int | None = None
    dialect: Dialect = Dialect.GGP_BASE
    scramble_seed: int | None = None  # None: it was told the rules as they are
    clocks: tuple[Clock, Clock] | None = None  # startclock and playclock that it kept, where not those of the match
    kind: PlayerKind = Field(default_factory=_kind_of)
    increment: Seconds | None = None  # with one, playclock was its time for all moves, and grew so much with each

    @model_serializer(mode="wrap")
    def _without_increment(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Where there is none, a record is one that older programs read."""
        written: dict[str, Any] = write(self)
        if self.increment is None:
            written.pop("increment", None)
        return written


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
    time: Time  # when the joint move was executed, UTC
    evaluations: dict[str, Evaluation] = {}  # only of the roles whose players said something

    @model_serializer(mode="wrap")
    def _without_nothing(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Where no player says what it thinks, a record is one that older programs read."""
        written: dict[str, Any] = write(self)
        if not self.evaluations:
            written.pop("evaluations", None)
        return written


class MatchRecord(_Part):
    """One match; what is known first comes first in a file, which grows at its end."""

    format: Literal[1] = 1  # raised by every change after which older readers would misread a record
    ggp: str  # the version that wrote it
    match: str
    token: Annotated[str, Field(min_length=32, max_length=32)]
    game: str
    rulesheet: str
    rulesheet_sha256: str
    engine: str  # what evaluated the rules for the game master
    engine_note: str | None = None  # why it was not a faster one
    opening: Opening = ()  # joint moves after which the match began; the rulesheet has that state as its initial one
    roles: tuple[str, ...]
    players: dict[str, PlayerRecord]  # role → player; not of `random`
    settings: MatchSettings
    started: Time  # UTC
    start: dict[str, StartRecord] = {}  # empty before START
    status: Status = "running"
    reason: str | None = None  # why it ended, where the rules did not end it
    resigned: str | None = Field(default_factory=_resigned_of)  # the role whose player resigned, in an aborted match
    forfeited: tuple[str, ...] = ()  # roles whose players had too many faults in a row
    absent: tuple[str, ...] = ()  # roles whose players were never reached, in a void match
    is_exhausted: bool = False  # broken because the rules took more time or memory than they may
    goals: Goals | None = None  # of the last state, or by the verdict; None where a match was void, broken or aborted
    finished: Time | None = None  # UTC
    steps: tuple[StepRecord, ...] = ()

    @model_validator(mode="after")
    def _check_roles(self) -> Self:
        wanted = set(self.roles) - {NATURE}
        if self.players.keys() != wanted:
            raise ValueError("players: not those of the roles")
        if self.goals and not wanted <= self.goals.keys():
            raise ValueError("goals: not those of the roles")
        return self

    @property
    def faults(self) -> tuple[tuple[int | None, str, Fault], ...]:
        """All faults as (step, role, fault); the step is None for START."""
        of_start = [(None, role, start.fault) for role, start in self.start.items() if start.fault is not None]
        of_steps = [
            (number, role, fault) for number, step in enumerate(self.steps) for role, fault in step.faults.items()
        ]
        return (*of_start, *of_steps)


_END = {
    "status",
    "reason",
    "resigned",
    "forfeited",
    "absent",
    "is_exhausted",
    "goals",
    "finished",
}  # fields that are known last

Keep: TypeAlias = Callable[[MatchRecord], None]  # what is done with a record whenever it has grown


def now() -> datetime:
    return datetime.now(UTC)


def read_record(path: Path) -> MatchRecord:
    """The record in a file, whole or growing; RecordError with the file and the field or line that is wrong."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror or error}") from None
    try:
        return _parsed(data)
    except ValidationError as error:
        raise RecordError(f"{path}: {first_error(error)}") from None


def _parsed(data: bytes) -> MatchRecord:
    """ValidationError for what is no record."""
    try:
        return MatchRecord.model_validate_json(data)
    except ValidationError as error:
        if not _is_no_json(error):
            raise
        for text in _completed(data):
            try:
                return MatchRecord.model_validate_json(text)
            except ValidationError as wrong:
                if not _is_no_json(wrong):
                    raise wrong from None
        raise


def _completed(data: bytes) -> tuple[bytes, ...]:
    """What a growing record can be as one JSON value; what follows its last line end was not written whole."""
    lines = data[: data.rfind(b"\n") + 1]
    return lines + b"]}", lines + b"}"


def _is_no_json(error: ValidationError) -> bool:
    return error.errors()[0]["type"] == "json_invalid"


def is_growing(path: Path) -> bool:
    """Whether the file ends before its record does: the match goes on, or its game master was killed."""
    with suppress(OSError), path.open("rb") as file:
        file.seek(-min(8, file.seek(0, os.SEEK_END)), os.SEEK_END)
        return not file.read().rstrip().endswith(b"\n}")
    return False


def is_being_written(path: Path) -> bool:
    """Whether a living process on this computer writes the record; one of 0.1 was written without a lock."""
    with suppress(OSError), path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


class RecordWriter:
    """Writes the growing record of one match: the file is made whole once, then lines are added to it.

    What has been written is a record at every moment: a torn last line is as if it had not been begun. The file is
    locked until the record is complete, which tells a match that goes on from one whose game master was killed.
    """

    def __init__(self, path: Path) -> None:
        """RecordError when the file could not be written."""
        self.path = path.resolve()
        self._temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}.part")
        self._file: int | None = None  # descriptor, while it grows
        self._lines = _Lines()
        self.size_bytes = 0  # of what has been written
        self._check()

    @property
    def has_written(self) -> bool:
        return self.size_bytes > 0

    def write(self, record: MatchRecord) -> None:
        """Adds what is new; `record` continues the one that was written before."""
        try:
            if self._file is None or not self._is_in_place(self._file):
                self._lines = _Lines()
                self._begin(self._lines.of(record))
            else:
                self._add(self._file, self._lines.of(record))
        except OSError as error:
            raise self._failure(error) from None
        if self._lines.has_end:
            self.close()

    def close(self) -> None:
        """Nothing more will be written."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __del__(self) -> None:
        self.close()

    def _check(self) -> None:
        if self.path.exists() and not self.path.is_file():
            raise RecordError(f"{self.path}: not a regular file, so no record can be written there")
        try:
            self._temporary.write_bytes(b"")
            self._temporary.unlink()
        except OSError as error:
            raise self._failure(error) from None

    def _is_in_place(self, file: int) -> bool:
        """Whether nobody has moved or changed the file."""
        try:
            there, ours = self.path.stat(), os.fstat(file)
        except OSError:
            return False
        return (there.st_dev, there.st_ino, there.st_size) == (ours.st_dev, ours.st_ino, self.size_bytes)

    def _begin(self, data: bytes) -> None:
        """Replaces whatever is there by the record so far."""
        self.close()
        file = os.open(self._temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        try:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _write_through(file, data)
            rename_durably(self._temporary, self.path)
        except OSError:
            os.close(file)
            self._lines = _Lines()
            with suppress(OSError):
                self._temporary.unlink()
            raise
        self._file, self.size_bytes = file, len(data)

    def _add(self, file: int, data: bytes) -> None:
        try:
            _write_through(file, data)
        except OSError:
            with suppress(OSError):
                os.truncate(file, self.size_bytes)
            self.close()
            raise
        self.size_bytes += len(data)

    def _failure(self, error: OSError) -> RecordError:
        return RecordError(f"{self.path}: the record cannot be written: {error.strerror or error}")


class _Lines:
    """A record as lines that are added one after the other, so that what is there never changes."""

    def __init__(self) -> None:
        self._has_head = self._has_start = False
        self._steps: int | None = None  # how many are there; None before the list was begun
        self.has_end = False

    def of(self, record: MatchRecord, *, is_all: bool = False) -> bytes:
        """Those that are new, each with its line end; also the last ones where the record has ended, or `is_all`."""
        is_last = is_all or record.status != "running"
        lines: list[str] = []
        if not self._has_head:
            self._has_head = True
            head = record.model_dump_json(indent=2, exclude={"start", "steps", *_END})
            lines.append(head.removesuffix("}").rstrip())
        if record.start and not self._has_start:
            self._has_start = True
            lines.append(f" ,{record.model_dump_json(include={'start'})[1:-1]}")
        if is_last or record.steps:
            lines += self._new_steps(record)
        if is_last and not self.has_end:
            self.has_end = True
            lines += [f" ],{record.model_dump_json(include=_END)[1:-1]}", "}"]
        return "".join(f"{line}\n" for line in lines).encode()

    def _new_steps(self, record: MatchRecord) -> Iterator[str]:
        if self._steps is None:
            self._steps = 0
            yield ' ,"steps": ['
        for step in record.steps[self._steps :]:
            yield f"   {',' if self._steps else ' '}{step.model_dump_json()}"
            self._steps += 1


def _write_through(file: int, data: bytes) -> None:
    """Returns when the data is on the disk."""
    while data:
        data = data[os.write(file, data) :]
    os.fsync(file)


def rename_durably(written: Path, path: Path) -> None:
    """Renames a file whose data is on the disk, and synchronizes the folder."""
    written.replace(path)
    with suppress(OSError):  # a file system whose folders cannot be synchronized
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def replace_file(path: Path, data: bytes) -> None:
    """Replaces a file atomically, also where the power fails."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        rename_durably(temporary, path)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
        raise


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


def record_json(record: MatchRecord) -> str:
    """One JSON value, as the file of the complete record is, with a line for each step."""
    return _Lines().of(record, is_all=True).decode()

"""Folder of rulesheets → a row for each: how it did in a process of its own, which may crash, linger or grow.

A row is one line of JSON: game, sha256 of the rulesheet, settings, outcome, message, seconds, and the measurement.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from signal import SIGKILL
from threading import Thread
from time import perf_counter
from typing import Any, TypeAlias

from ggp.engines import BUDGET_SECONDS
from ggp.errors import GgpError, SettingsError
from ggp.gdl.reader import decode
from ggp.library import SUFFIX, read_bytes

Row: TypeAlias = dict[str, Any]

MEASURED, REFUSED, CRASHED, LATE, LARGE = "measured", "refused", "crashed", "over time", "over memory"  # outcomes

_CHILD = "from ggp.bench.suite import answer; answer()"
_PAUSE_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class SuiteSettings:
    """What is done with each game; the rows of an output file are good for the same settings only."""

    engine: str | None
    seconds: float
    threads: int
    seed: int
    cap: int | None
    uses_cache: bool
    limit_seconds: float  # of the process, from its start; half of it is the budget of grounding, 60 s at most
    limit_bytes: int  # of the process's memory


def measure_timed(text: str, source: str, **settings: Any) -> dict[str, Any]:  # noqa: ANN401 - those of its BenchSettings
    """A measurement as JSON has it, with the seconds that imports took; a setting of None has its default."""
    began = perf_counter()
    from ggp.bench import measure as bench  # noqa: PLC0415 - numba and clingo are loaded here, which is measured

    import_seconds = perf_counter() - began
    given = {name: value for name, value in settings.items() if value is not None}
    return {"import_seconds": import_seconds, **asdict(bench.measure(text, source, bench.BenchSettings(**given)))}


def find_rulesheets(folder: Path) -> list[Path]:
    """The rulesheets in the folder, sorted; SettingsError when there is none."""
    try:
        found = sorted(path for path in folder.iterdir() if path.suffix == SUFFIX and path.is_file())
    except OSError as error:
        raise SettingsError(f"{folder}: {error.strerror or error}") from None
    if not found:
        raise SettingsError(f"{folder}: there is no rulesheet (*{SUFFIX}) in this folder")
    return found


def read_rows(path: Path) -> list[Row]:
    """The rows of an output file, which is made if there is none; a last line that was not finished is left out."""
    try:
        with path.open("a+", encoding="utf-8") as file:
            file.seek(0)
            lines = file.readlines()
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{path} is no file of rows of a suite") from None
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
            rows.append({"game": row["game"], "sha256": row["sha256"], "settings": row["settings"], **row})
        except (ValueError, TypeError, LookupError):
            if number < len(lines) or line.endswith("\n"):
                raise SettingsError(f"{path}:{number}: not a row of a suite") from None
    return rows


def append_row(path: Path, row: Row) -> None:
    """Adds a line to the output file; SettingsError when that cannot be."""
    try:
        with path.open("a+b") as file:
            file.seek(0)
            content = file.read()
            file.truncate(content.rfind(b"\n") + 1)  # a line that was not finished
            file.write(json.dumps(row).encode() + b"\n")
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror or error}") from None


def run_suite(
    paths: list[Path], settings: SuiteSettings, known: list[Row], begin: Callable[[Path], None]
) -> Iterator[tuple[Row, bool]]:
    """Each game's row as it comes, and whether it was known before; `begin` is told what comes next."""
    wanted = asdict(settings)
    found = {(row["game"], row["sha256"]): row for row in known if row["settings"] == wanted}
    for path in paths:
        begin(path)
        try:
            data = read_bytes(path)
        except GgpError as error:
            yield _row(path, b"", settings, REFUSED, str(error)), False
            continue
        row = found.get((path.stem, sha256(data).hexdigest()))
        yield (row, True) if row is not None else (measure_apart(path, data, settings), False)


def _row(
    path: Path, data: bytes, settings: SuiteSettings, outcome: str, message: str | None = None, **more: object
) -> Row:
    about = {"game": path.stem, "sha256": sha256(data).hexdigest(), "settings": asdict(settings)}
    return {**about, "outcome": outcome, "message": message, "seconds": None, "measurement": None, **more}


def measure_apart(path: Path, data: bytes, settings: SuiteSettings) -> Row:
    """The row of one rulesheet, measured in a process of its own that is gone afterwards."""
    began = perf_counter()
    request = {
        "source": str(path),
        "engine": settings.engine,
        "seconds": settings.seconds,
        "threads": settings.threads,
        "seed": settings.seed,
        "cap": settings.cap,
        "uses_cache": settings.uses_cache,
        "grounding_seconds": min(BUDGET_SECONDS, settings.limit_seconds / 2),
    }
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as text:
        text.write(data)
        text.seek(0)
        outcome = _wait(_start(request, (text.fileno(), output.fileno(), errors.fileno())), settings)
        output.seek(0)
        errors.seek(0)
        answer, complaint = output.read(), errors.read().decode(errors="replace").strip().splitlines()
    seconds = perf_counter() - began
    if isinstance(outcome, str):
        limit = f"{settings.limit_seconds:g} s" if outcome == LATE else f"{settings.limit_bytes / (1 << 20):,.0f} MiB"
        return _row(path, data, settings, outcome, f"stopped at {limit}", seconds=seconds)
    try:
        found = json.loads(answer)
    except ValueError:
        message = complaint[-1] if complaint else "no message"
        return _row(path, data, settings, CRASHED, f"exit code {outcome}: {message}", seconds=seconds)
    if "refused" in found:
        return _row(path, data, settings, REFUSED, found["refused"], seconds=seconds)
    return _row(path, data, settings, MEASURED, seconds=seconds, measurement=found)


def _start(request: dict[str, Any], files: tuple[int, int, int]) -> subprocess.Popen[bytes]:
    """A process that measures; files: for the rulesheet, its answer and its errors. It ends when we do."""
    packages = str(Path(__file__).parent.parent)
    inherited = os.environ.get("PYTHONPATH")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([packages, inherited] if inherited else [packages])}
    text, output, errors = files
    command = [sys.executable, "-P", "-c", _CHILD, json.dumps(request), str(text)]
    return subprocess.Popen(  # noqa: S603 - all of it is ours
        command, stdin=subprocess.PIPE, stdout=output, stderr=errors, pass_fds=(text,), env=environment,
        start_new_session=True,
    )  # fmt: skip


def _wait(process: subprocess.Popen[bytes], settings: SuiteSettings) -> int | str:
    """The exit code, or which limit the process went over; it is gone then, with all that it started."""
    until = perf_counter() + settings.limit_seconds
    try:
        while True:
            with suppress(subprocess.TimeoutExpired):
                return process.wait(_PAUSE_SECONDS)
            if perf_counter() > until:
                return LATE
            if _resident_bytes(process.pid) > settings.limit_bytes:
                return LARGE
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, SIGKILL)
        process.wait()
        assert process.stdin is not None
        process.stdin.close()


def _resident_bytes(pid: int) -> int:
    """What the process has in memory; 0 where the system does not tell."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    except (OSError, LookupError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def answer() -> None:
    """What such a process does: reads its request, measures, prints the measurement or why there is none."""
    Thread(target=_end_with_parent, daemon=True).start()
    request = json.loads(sys.argv[1])
    source = request.pop("source")
    try:
        with open(int(sys.argv[2]), "rb") as file:  # noqa: PTH123 - a descriptor
            text = decode(file.read(), source)
        found = measure_timed(text, source, **request)
    except GgpError as error:
        found = {"refused": str(error)}
    sys.stdout.write(json.dumps(found))


def _end_with_parent() -> None:
    """Its end closes the pipe that is our standard input."""
    os.read(0, 1)
    os.killpg(0, SIGKILL)

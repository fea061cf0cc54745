"""A tournament in a store → a folder of files: standings, report, and every record in both formats.

    standings.txt, standings.json, standings.csv
    report.html
    matches/ID.json     the record, as docs/records.md describes it
    tiltyard/ID.json    the same as ggp-base and Tiltyard write it

What is there already and the same is left alone, so an export that broke off, or one of an event that has gone on, does
only what is left. A file is whole at every moment.
"""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from gamemaster.export import exported
from gamemaster.record import MatchRecord
from gamemaster.replay import replay
from gamemaster.tournament.report import MATCHES, match_file, report
from gamemaster.tournament.results import Result
from gamemaster.tournament.standings import as_csv, as_json, as_text, standings
from gamemaster.tournament.store import Store
from gamemaster.writer import record_json
from ggp.errors import GgpError, RecordError

TILTYARD = "tiltyard"

Progress: TypeAlias = Callable[[int, int], None]  # matches that are done, and all of them


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export came to."""

    folder: Path
    written: int  # matches
    kept: int  # matches that were there already
    problems: tuple[str, ...]  # a line for each match that could not be exported as ggp-base writes it


def export_all(store: Store, name: str, folder: Path, progress: Progress | None = None) -> Exported:
    """Writes everything; StoreError for what cannot be read, RecordError for a file that cannot be written.

    A record that does not replay is written as it is, and is a problem instead of a file for other tools.
    """
    results = store.results(name)
    export_tables(store, name, folder, results)
    written, problems = 0, []
    for done, result in enumerate(results):
        if progress is not None:
            progress(done, len(results))
        record = store.record(name, result.pairing.id)
        try:
            written += _export_match(record, folder, match_file(result.pairing.id), name)
        except _ReplayError as error:
            problems.append(f"{result.pairing.id}: {error}")
    if progress is not None:
        progress(len(results), len(results))
    return Exported(folder, written, len(results) - written - len(problems), tuple(problems))


def export_tables(store: Store, name: str, folder: Path, results: tuple[Result, ...] | None = None) -> None:
    """Writes standings and report only; links of the report lead to records as `export_all` writes them."""
    if results is None:
        results = store.results(name)
    stored = store.tournament(name)
    values = standings([player.name for player in stored.spec.players], results)
    status = f"{stored.status}: {stored.note}" if stored.note else stored.status
    _put(folder / "standings.txt", as_text(values))
    _put(folder / "standings.json", as_json(values))
    _put(folder / "standings.csv", as_csv(values))
    _put(folder / "report.html", report(stored.spec, results, status=status))


class _ReplayError(Exception):
    """A record that has no states to write."""


def _export_match(record: MatchRecord, folder: Path, file: str, tournament: str) -> bool:
    """Whether there was something to write. The record comes last, and so says that both files are there."""
    text = record_json(record)
    ours, theirs = folder / MATCHES / file, folder / TILTYARD / file
    if _is(ours, text) and theirs.is_file():
        return False
    try:
        states = tuple(replay(record))
    except GgpError as error:
        _put(ours, text)
        raise _ReplayError(str(error)) from None
    match = exported(record, states) | {"tournamentNameFromHost": tournament}
    _put(theirs, json.dumps(match, indent=2) + "\n")
    _put(ours, text)
    return True


def _is(path: Path, text: str) -> bool:
    try:
        return path.read_bytes() == text.encode()
    except OSError:
        return False


def _put(path: Path, text: str) -> None:
    """Replaces a file in one stroke, unless it says the same already."""
    if _is(path, text):
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text, encoding="utf-8", newline="")
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise RecordError(f"{path}: it cannot be written: {error.strerror or error}") from None

"""How a tournament stands, and what came of it, for people, programs and other tools."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from gamemaster.tournament.console.places import Found, found, resume_command
from gamemaster.tournament.schedule import Schedule
from gamemaster.tournament.spec import check_spec
from gamemaster.tournament.standings import as_json as standings_json
from gamemaster.tournament.standings import as_text, standings
from gamemaster.tournament.store import MatchRow
from ggp.errors import GgpError


def show_status(where: str, name: str | None, *, as_json: bool) -> None:
    """Shows as `ggp tournament status` describes."""
    with found(where, name) as event:
        results = event.store.results(event.name)
        values = standings([player.name for player in event.stored.spec.players], results)
        running = event.store.running(event.name)
        expected = _expected(event)
    stored = event.stored
    if as_json:
        manager = None if stored.manager is None else {**asdict(stored.manager), "since": str(stored.manager.since)}
        facts = {"name": event.name, "status": stored.status, "note": stored.note, "manager": manager}
        counts = {"results": stored.counts.finished, "expected": expected, "running": [row.pairing for row in running]}
        whole = {**facts, **counts, "standings": json.loads(standings_json(values))}
        sys.stdout.write(json.dumps(whole, indent=2, ensure_ascii=False) + "\n")
        return
    say = Console(markup=False, highlight=False, emoji=False, soft_wrap=True).print
    of = "" if expected is None else f" of {expected}"
    note = f": {stored.note}" if stored.note else ""
    say(f"{event.name}: {stored.status}{note}; {stored.counts.finished}{of} matches have results")
    if stored.manager is not None:
        since = stored.manager.since.astimezone()
        say(f"run by process {stored.manager.pid} on {stored.manager.host} since {since:%Y-%m-%d %H:%M}")
    elif stored.status != "complete":
        say(resume_command(where, name))
    for row in running:
        say(f"  {_running(row)}")
    say(f"\n{as_text(values)}")


def export(where: str, to: Path | None, name: str | None, *, as_json: bool) -> None:
    """Writes as `ggp tournament export` describes."""
    from gamemaster.tournament.exporting import export_all  # noqa: PLC0415 - it loads what draws

    with found(where, name) as event:
        folder = to or Path(event.stored.spec.results.folder or event.name)
        exported = export_all(event.store, event.name, folder)
    if as_json:
        sys.stdout.write(json.dumps({**asdict(exported), "folder": str(folder)}, indent=2, ensure_ascii=False) + "\n")
        return
    for problem in exported.problems:
        sys.stdout.write(f"{problem}\n")
    sys.stdout.write(f"{exported.folder}: {exported.written} matches written, {exported.kept} were there already\n")


def _expected(event: Found) -> int | None:
    """How many matches there are in all; None where the rulesheets are not to be had any more."""
    spec = event.stored.spec
    try:
        schedule = Schedule(spec, check_spec(spec))
        for result in event.store.results(event.name):
            schedule.add(result)
    except GgpError:
        return None
    return schedule.expected


def _running(row: MatchRow) -> str:
    attempt = f", attempt {row.attempt}" if row.attempt > 1 else ""
    return f"{row.pairing}: {' : '.join(row.players)}, {row.steps} steps{attempt}"

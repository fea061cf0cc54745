"""A tournament in a store → a folder of files: standings, report, and every record in both formats.

    standings.txt, standings.json, standings.csv
    report.html
    matches/ID.json     the record, as docs/records.md describes it
    tiltyard/ID.json    the same as ggp-base and Tiltyard write it

What is there already and the same is left alone, so an export that broke off, or one of an event that has gone on, does
only what is left. A file is whole at every moment.
"""

import json
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from gamemaster.record import MatchRecord, record_json, replace_file
from gamemaster.replay import exported, replay
from gamemaster.tournament.pairings import MatchResult
from gamemaster.tournament.ratings import Comparisons, Sprt, comparisons_of, course, entries_of, sprt_of
from gamemaster.tournament.schedule import schedule_of
from gamemaster.tournament.spec import TournamentSpec
from gamemaster.tournament.standings import KINDS, Meeting, Standings, standings
from gamemaster.tournament.standings_texts import as_csv, as_json, as_text
from gamemaster.tournament.store import Store
from ggp.errors import DamagedStoreError, GgpError, NotStoredError, RecordError
from ggp.plots import Curve, course_plot, rating_plot

TILTYARD = "tiltyard"


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export came to."""

    folder: Path
    written: int  # matches
    kept: int  # matches that were there already
    problems: tuple[str, ...]  # a line for each match that could not be exported, or not as ggp-base writes it


def export_all(store: Store, name: str, folder: Path) -> Exported:
    """Writes everything; StoreError for a store that cannot be used, RecordError for a file that cannot be written.

    What is damaged is a problem: a result, which counts in no table, or a record, which has no file. A record that does
    not replay is written as it is, and is a problem instead of a file for other tools.
    """
    results, damaged = store.readable_results(name)
    _export_tables(store, name, folder, results)
    written, problems = 0, []
    for result in results:
        try:
            record = store.record(name, result.pairing.id)
            written += _export_match(record, folder, match_file(result.pairing.id), name)
        except (DamagedStoreError, NotStoredError) as error:
            problems.append(str(error))
        except _ReplayError as error:
            problems.append(f"{result.pairing.id}: {error}")
    kept = len(results) - written - len(problems)
    return Exported(folder, written, kept, (*(f"{store.place}: {line}" for line in damaged), *problems))


def _export_tables(store: Store, name: str, folder: Path, results: Collection[MatchResult]) -> None:
    """Standings and report."""
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
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, text.encode())
    except OSError as error:
        raise RecordError(f"{path}: it cannot be written: {error.strerror or error}") from None


MATCHES = "matches"  # the folder with the records, next to the report
POINTS = 30  # of the course of the ratings

_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,120}")


def record_link(pairing_id: str) -> str:
    """Where the record of a match is, from the report in the same folder."""
    return f"{MATCHES}/{match_file(pairing_id)}"


def report(
    spec: TournamentSpec,
    results: Collection[MatchResult],
    *,
    status: str = "",
    link: Callable[[str], str] | None = record_link,
    home: str = "",
) -> str:
    """The whole page; the same specification and results give the same bytes.

    `status` is a few words on how the event stands. `link` is where a match is, by the name of its pairing; `home`,
    where a service shows the tournament to everybody: then the seed, and how players are reached and set, are left
    out. What depends on clocks is in the section "time" only, so that all else is the same when the same moves are
    played again.
    """
    names = [player.name for player in spec.players]
    values = standings(names, results)
    entries = entries_of(names, results)
    comparisons = comparisons_of(entries)
    test = None if spec.sprt is None else _sprt(spec, results)
    cross = _cross(values)
    page = _environment().get_template("report.html")
    return page.render(
        css=_css(),
        spec=spec,
        standings=values,
        status=status,
        ranking=_ranking(spec, results),
        rating_plot=_rating_plot(values),
        course_plot=_course_plot(comparisons, values),
        cross=cross,
        kinds=KINDS,
        sprt=test,
        verdict=test and verdict(test),
        rounds=_rounds(entries.matches, link),
        home=home,
        sections=_sections(has_cross=bool(cross), has_sprt=test is not None),
        began=_time(entries.matches, "started"),
        ended=_time(entries.matches, "finished"),
    )


def match_file(pairing_id: str) -> str:
    """The name of the file of a match: its own where that is a plain word, else one made of it."""
    if _WORD.fullmatch(pairing_id):
        return f"{pairing_id}.json"
    word = re.sub(r"[^A-Za-z0-9_-]+", "-", pairing_id)[:80].strip("-")
    return f"{word}-{sha256(pairing_id.encode()).hexdigest()[:12]}.json"


def verdict(test: Sprt) -> str:
    """What the test says, as a sentence without its end."""
    match test.decision:
        case "H1":
            return f"{test.player} is stronger by {test.elo1:g} Elo points rather than by {test.elo0:g} (H1)"
        case "H0":
            return f"{test.player} is stronger by {test.elo0:g} Elo points rather than by {test.elo1:g} (H0)"
        case "open":
            return "it is not decided yet"


@dataclass(frozen=True, slots=True)
class _Cell:
    """One player against another one."""

    is_self: bool
    meeting: Meeting | None
    shade: int  # from 0 to 10: the share of the points
    superiority: str  # per cent


@dataclass(frozen=True, slots=True)
class _Row:
    player: str
    cells: tuple[_Cell, ...]


@dataclass(frozen=True, slots=True)
class _Match:
    id: str
    link: str
    players: tuple[tuple[str, int | None], ...]  # player and goal value
    steps: int
    faults: int
    ending: str


@dataclass(frozen=True, slots=True)
class _Round:
    number: int  # from 1
    matches: tuple[_Match, ...]


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("gamemaster.tournament"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"points": _points, "signed": _signed}
    return environment


def _points(elo: float) -> str:
    return f"{round(elo):+d}".replace("-", "−")


def _signed(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def _css() -> Markup:
    environment = _environment()
    assert environment.loader is not None
    return Markup(environment.loader.get_source(environment, "report.css")[0])  # noqa: S704 - our own file


def _sprt(spec: TournamentSpec, results: Collection[MatchResult]) -> Sprt:
    assert spec.sprt is not None
    test = spec.sprt
    return sprt_of(results, test.elo0, test.elo1, test.alpha, test.beta, player=spec.players[0].name)


def _ranking(spec: TournamentSpec, results: Collection[MatchResult]) -> tuple[str, ...]:
    """Where the format has an order of its own, which is then what counts, once the event is complete."""
    if spec.format in ("round robin", "gauntlet"):
        return ()
    schedule = schedule_of(spec, {game.name: 2 for game in spec.games}, results)
    return schedule.ranking if schedule.is_complete else ()


def _rating_plot(values: Standings) -> Markup:
    rated = [(line.player, line.rating) for line in values.lines if line.rating is not None]
    return rating_plot(rated, "Ratings in Elo points, with 95 % intervals")


def _course_plot(comparisons: Comparisons, values: Standings) -> Markup | None:
    moments = course(comparisons, POINTS)
    if len(moments) < 2:
        return None
    curves = [
        Curve(line.player, tuple((each.matches, each.elo[line.player]) for each in moments if line.player in each.elo))
        for line in values.lines
        if line.rating is not None
    ]
    title = "Ratings in the course of the event"
    return course_plot(curves, title, "rated matches, in the order of the schedule", "Elo points")


def _cross(values: Standings) -> tuple[_Row, ...]:
    rated = [line.player for line in values.lines if line.rating is not None]
    meetings = {(meeting.player, meeting.opponent): meeting for meeting in values.meetings}

    def cell(player: str, other: str) -> _Cell:
        if player == other:
            return _Cell(is_self=True, meeting=None, shade=5, superiority="")
        meeting = meetings.get((player, other))
        shade = 5 if meeting is None else round(10 * meeting.points / (meeting.wins + meeting.draws + meeting.losses))
        return _Cell(False, meeting, shade, _percent(values.ratings.superiority(player, other)))

    return tuple(_Row(player, tuple(cell(player, other) for other in rated)) for player in rated)


def _percent(likelihood: float) -> str:
    """Never certain."""
    percent = round(100 * likelihood)
    return "<1" if percent < 1 else ">99" if percent > 99 else str(percent)


def _rounds(matches: Sequence[MatchResult], link: Callable[[str], str] | None) -> tuple[_Round, ...]:
    return tuple(
        _Round(number + 1, tuple(_match(result, link) for result in group))
        for number, group in groupby(matches, key=lambda result: result.pairing.round)
    )


def _match(result: MatchResult, link: Callable[[str], str] | None) -> _Match:
    pairing = result.pairing
    return _Match(
        id=pairing.id,
        link="" if link is None else link(pairing.id),
        players=tuple(zip(pairing.players, result.goals, strict=True)),
        steps=result.steps,
        faults=sum(sum(kinds.values()) for kinds in result.faults),
        ending=result.ending,
    )


def _sections(*, has_cross: bool, has_sprt: bool) -> list[tuple[str, str]]:
    chosen = [("standings", "Standings")]
    if has_cross:
        chosen.append(("cross-table", "Cross table"))
    if has_sprt:
        chosen.append(("sprt", "Sequential test"))
    rest = ("games", "faults", "matches", "specification", "time")
    titles = ("Games and roles", "Faults and endings", "Matches", "Specification", "Time")
    return [*chosen, *zip(rest, titles, strict=True)]


def _time(matches: Sequence[MatchResult], which: str) -> str:
    if not matches:
        return ""
    time = min(result.started for result in matches) if which == "started" else max(r.finished for r in matches)
    return f"{time:%Y-%m-%d %H:%M}"

"""What is read from the tables: results, records, lists of matches, counts and statistics."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from itertools import compress
from typing import Literal

from sqlalchemy import ColumnElement, Connection, Row, Select, String, Table, and_, func, select, true, type_coerce

from gamemaster.faults import FaultKind
from gamemaster.record import MatchRecord
from gamemaster.referee import Ending
from gamemaster.tournament.pairings import MatchResult, Pairing
from gamemaster.tournament.spec import TournamentSpec
from gamemaster.tournament.store.schema import (
    failures,
    faults,
    games,
    match_players,
    matches,
    moment_of,
    players,
    records,
    results,
    rulesheets,
    store,
    totals,
    tournaments,
    unpacked,
)
from ggp.errors import DamagedStoreError, NotStoredError

MatchStatus = Literal["running", "finished", "failed", "given up"]
TournamentStatus = Literal["new", "running", "interrupted", "complete"]


@dataclass(frozen=True, slots=True)
class ManagedBy:
    """The process that holds the right to run a tournament."""

    host: str
    pid: int
    since: datetime


@dataclass(frozen=True, slots=True)
class Counts:
    """How many matches of a tournament are in which status; those that have not begun are not in the store."""

    running: int = 0
    finished: int = 0
    failed: int = 0
    given_up: int = 0


@dataclass(frozen=True, slots=True)
class StoredTournament:
    """A tournament of the store."""

    spec: TournamentSpec
    status: TournamentStatus  # interrupted: some matches were begun, and no process goes on with it
    manager: ManagedBy | None  # while it is running
    counts: Counts
    note: str  # why it is complete, where its manager gave a reason
    created: datetime
    revision: int  # when it last changed, without its matches


@dataclass(frozen=True, slots=True)
class MatchRow:
    """A match without its record; tuples have an entry for each role but `random`, in the rulesheet's order."""

    tournament: str  # empty where it belongs to none
    pairing: str  # names the match within its tournament
    round: int
    game: str
    players: tuple[str, ...]
    attempt: int  # from 1; the rest is about this one
    failures: int  # attempts that failed by our own fault, of all
    status: MatchStatus
    ending: Ending | None  # None until its record is complete
    reason: str  # why it failed or was given up; empty otherwise
    resigned: str | None  # the role whose player did, where it was given up for that
    steps: int  # so far
    roles: tuple[str, ...]  # empty until it is finished, like the goals
    goals: tuple[int | None, ...]
    forfeited: tuple[str, ...]  # roles
    faults: int  # of all players; 0 until it is finished
    started: datetime
    finished: datetime | None
    revision: int  # when the match last changed


@dataclass(frozen=True, slots=True)
class Listing:
    """Some of the matches that were asked for, the one that was begun last first."""

    total: int  # how many there are in all
    rows: tuple[MatchRow, ...]


@dataclass(frozen=True, slots=True)
class RoleStatistics:
    """The outcomes of the finished matches of a game, for one of its roles."""

    game: str
    role: str
    matches: int
    mean_goal: float | None  # None where no match gave the role a goal value
    mean_steps: float


_MOMENTS = tuple(  # as text, so that one that is damaged can be told with its match
    type_coerce(column, String).label(column.name) for column in (matches.c.started, matches.c.finished)
)
_Part = tuple[str, str, int | None, float, float, int]  # player, role, goal value, seconds, longest, forfeited


def tournament_ids(connection: Connection) -> dict[str, int]:
    """Name → number, by name; the one for single matches included."""
    rows = connection.execute(select(tournaments.c.name, tournaments.c.id)).all()
    return {row.name: row.id for row in sorted(rows, key=lambda row: str(row.name))}


def tournament_id(connection: Connection, name: str) -> int:
    """NotStoredError for a name that no tournament has."""
    number = connection.execute(select(tournaments.c.id).where(tournaments.c.name == name)).scalar_one_or_none()
    if number is not None:
        return int(number)
    others = ", ".join(filter(None, tournament_ids(connection)))
    raise NotStoredError(f"no tournament is called {name!r}; there {f'is {others}' if others else 'are none'}")


def results_of(connection: Connection, tournament: int) -> tuple[tuple[MatchResult, ...], tuple[str, ...]]:
    """In the order in which their matches were first begun; and a line for each that is damaged."""
    finished = and_(matches.c.tournament_id == tournament, matches.c.status == "finished")
    parts = _parts(connection, finished)
    blamed = _faults(connection, finished)
    query = (
        select(
            matches.c.id,
            matches.c.pairing,
            matches.c.round,
            games.c.name,
            matches.c.seed,
            matches.c.pair_group,
            matches.c.ending,
            matches.c.steps,
            *_MOMENTS,
        )
        .join_from(matches, games)
        .where(finished)
        .order_by(matches.c.id)
    )
    blameless: dict[FaultKind, int] = {}
    found, damaged = [], []
    for number, pairing, round_, game, seed, group, ending, steps, started, ended in connection.execute(query).all():
        names, roles, goals, seconds, longest, forfeited = (
            zip(*parts[number], strict=True) if number in parts else ((),) * 6
        )
        try:
            found.append(
                MatchResult(
                    pairing=Pairing(pairing, round_, game, names, int(seed), group),
                    roles=roles,
                    goals=goals,
                    ending=ending,
                    steps=steps,
                    seconds=seconds,
                    longest=longest,
                    faults=tuple(blamed.get((number, role), blameless) for role in range(len(roles))),
                    started=_moment(started, "started", pairing),
                    finished=_moment(ended, "finished", pairing),
                    forfeited=tuple(compress(roles, forfeited)),
                )
            )
        except ValueError as error:
            damaged.append(str(error))
    return tuple(found), tuple(damaged)


def _moment(text: str, column: str, pairing: str) -> datetime:
    return moment_of(text, f"matches.{column} of {pairing}")


def pairing_of(connection: Connection, match_id: int) -> Pairing:
    """As it was when its match was first begun."""
    columns = (matches.c.pairing, matches.c.round, matches.c.seed, matches.c.pair_group, games.c.name)
    query = select(*columns).join_from(matches, games).where(matches.c.id == match_id)
    row = connection.execute(query).one()
    names = select(players.c.name).join_from(match_players, players).where(match_players.c.match_id == match_id)
    taking = connection.execute(names.order_by(match_players.c.number)).scalars()
    return Pairing(row.pairing, row.round, row.name, tuple(taking), int(row.seed), row.pair_group)


def record_of(connection: Connection, tournament: int, pairing: str) -> MatchRecord:
    """The last one that was kept; NotStoredError where there is none, DamagedStoreError where it cannot be read.

    Where a match ended without a last record, the one before it is given as aborted.
    """
    query = (
        select(matches.c.status, matches.c.reason, _MOMENTS[1], records.c.record, rulesheets.c.text)
        .select_from(matches.outerjoin(records).outerjoin(rulesheets))
        .where(matches.c.tournament_id == tournament, matches.c.pairing == pairing)
    )
    row = connection.execute(query).one_or_none()
    if row is None:
        raise NotStoredError(f"there is no match {pairing}")
    if row.record is None:
        raise NotStoredError(f"match {pairing} has no record yet: it is {row.status}")
    try:
        record = unpacked(row.record, row.text)
        if record.status == "running" and row.status != "running":
            ended = None if row.finished is None else _moment(row.finished, "finished", pairing)
            return record.model_copy(update={"status": "aborted", "reason": row.reason, "finished": ended})
    except ValueError as error:
        raise DamagedStoreError(f"match {pairing}: its record cannot be read: {error}") from None
    return record


def _parts(connection: Connection, finished: ColumnElement[bool]) -> dict[int, list[_Part]]:
    """Match → its roles, in order."""
    names = _names(connection)
    of_results = and_(results.c.match_id == match_players.c.match_id, results.c.number == match_players.c.number)
    query = (
        select(
            match_players.c.match_id,
            match_players.c.player_id,
            results.c.role,
            results.c.goal,
            results.c.seconds,
            results.c.longest,
            results.c.forfeited,
        )
        .join_from(match_players, results, of_results)
        .join(matches, matches.c.id == match_players.c.match_id)
        .where(finished)
        .order_by(match_players.c.match_id, match_players.c.number)
    )
    parts: defaultdict[int, list[_Part]] = defaultdict(list)
    for match_id, player_id, *rest in connection.execute(query).all():
        parts[match_id].append((names[player_id], *rest))
    return parts


def _names(connection: Connection) -> dict[int, str]:
    return {row[0]: row[1] for row in connection.execute(select(players.c.id, players.c.name))}


def _faults(connection: Connection, finished: ColumnElement[bool]) -> dict[tuple[int, int], dict[FaultKind, int]]:
    """Match and role → how many of each kind, where there are any."""
    query = select(faults.c.match_id, faults.c.number, faults.c.kind, faults.c.count)
    found: defaultdict[tuple[int, int], dict[FaultKind, int]] = defaultdict(dict)
    joined = query.join(matches, matches.c.id == faults.c.match_id).where(finished)
    for match_id, number, kind, count in connection.execute(joined):
        found[match_id, number][kind] = count
    return found


@dataclass(frozen=True, slots=True)
class MatchFilter:
    """Which matches are asked for; None is any."""

    tournament_id: int | None = None
    player: str | None = None
    game: str | None = None
    status: str | None = None


@dataclass(frozen=True, slots=True)
class _Parts:
    """The roles of a match; those without a result have players only."""

    players: list[str]
    roles: list[str]
    goals: list[int | None]
    forfeited: list[str]


def revision_of(connection: Connection) -> int:
    return int(connection.execute(select(store.c.revision)).scalar_one())


def counts_of(connection: Connection, tournament: int) -> Counts:
    query = select(matches.c.status, func.count()).where(matches.c.tournament_id == tournament)
    numbers = {str(row[0]): int(row[1]) for row in connection.execute(query.group_by(matches.c.status))}
    return Counts(**{status.replace(" ", "_"): number for status, number in numbers.items()})


def listing(connection: Connection, wanted: MatchFilter, offset: int, limit: int) -> Listing:
    """The matches that were begun last come first."""
    where = _condition(wanted)
    total = connection.execute(select(func.count()).select_from(matches).where(where)).scalar_one()
    page = select(matches.c.id).where(where).order_by(matches.c.id.desc()).offset(offset).limit(limit)
    numbers = connection.execute(page).scalars().all()  # sorting whole rows takes longer
    rows = _selected().where(matches.c.id.in_(numbers)).order_by(matches.c.id.desc())
    return Listing(total, _rows(connection, rows))


def match_row(connection: Connection, tournament: int, pairing: str) -> MatchRow | None:
    where = and_(matches.c.tournament_id == tournament, matches.c.pairing == pairing)
    rows = _rows(connection, _selected().where(where))
    return rows[0] if rows else None


def statistics_of(connection: Connection, tournament: int | None) -> tuple[RoleStatistics, ...]:
    """Of finished matches, by game and role; games of one name are one, whatever tournament they are of."""
    numbers = (totals.c.matches, totals.c.with_goal, totals.c.goals, totals.c.steps)
    query = select(games.c.name, totals.c.number, totals.c.role, *map(func.sum, numbers)).join_from(totals, games)
    wanted = true() if tournament is None else games.c.tournament_id == tournament
    rows = connection.execute(query.where(wanted).group_by(games.c.name, totals.c.number, totals.c.role))
    return tuple(
        RoleStatistics(game, role, int(count), float(goals / with_goal) if with_goal else None, float(steps / count))
        for game, _, role, count, with_goal, goals, steps in sorted(rows, key=lambda row: tuple(row)[:3])
    )


def _condition(wanted: MatchFilter) -> ColumnElement[bool]:
    conditions: list[ColumnElement[bool]] = [true()]
    if wanted.status is not None:
        conditions.append(matches.c.status == wanted.status)
    if wanted.game is not None:
        conditions.append(matches.c.game_id.in_(_named(games, wanted.tournament_id, wanted.game)))
    if wanted.player is not None:
        of_player = match_players.c.player_id.in_(_named(players, wanted.tournament_id, wanted.player))
        conditions.append(matches.c.id.in_(select(match_players.c.match_id).where(of_player)))
    if wanted.tournament_id is not None and wanted.game is None and wanted.player is None:  # those are of a tournament
        conditions.append(matches.c.tournament_id == wanted.tournament_id)
    return and_(*conditions)


def _named(table: Table, tournament: int | None, name: str) -> Select[int]:
    """The numbers of the games or players with a name."""
    named = table.c.name == name
    return select(table.c.id).where(named if tournament is None else and_(named, table.c.tournament_id == tournament))


def _selected() -> Select[*tuple[object, ...]]:
    """Matches with the names that they refer to, and how many faults and failures they had."""
    fault_count = select(func.coalesce(func.sum(faults.c.count), 0)).where(faults.c.match_id == matches.c.id)
    failure_count = select(func.count()).select_from(failures).where(failures.c.match_id == matches.c.id)
    return (
        select(
            *(column for column in matches.c if column.name not in ("started", "finished")),
            *_MOMENTS,
            tournaments.c.name.label("tournament"),
            games.c.name.label("game"),
            fault_count.scalar_subquery().label("fault_count"),
            failure_count.scalar_subquery().label("failure_count"),
        )
        .join_from(matches, tournaments)
        .join(games, games.c.id == matches.c.game_id)
    )


def _rows(connection: Connection, query: Select[*tuple[object, ...]]) -> tuple[MatchRow, ...]:
    rows = connection.execute(query).all()
    parts = _roles_of(connection, [row.id for row in rows])
    return tuple(_row(row, parts[row.id]) for row in rows)


def _row(row: Row[*tuple[object, ...]], parts: _Parts) -> MatchRow:
    return MatchRow(
        tournament=row.tournament,
        pairing=row.pairing,
        round=row.round,
        game=row.game,
        players=tuple(parts.players),
        attempt=row.attempt,
        failures=row.failure_count,
        status=row.status,
        ending=row.ending,
        reason=row.reason,
        resigned=row.resigned,
        steps=row.steps,
        roles=tuple(parts.roles),
        goals=tuple(parts.goals),
        forfeited=tuple(parts.forfeited),
        faults=int(row.fault_count),
        started=_moment(row.started, "started", row.pairing),
        finished=None if row.finished is None else _moment(row.finished, "finished", row.pairing),
        revision=row.revision,
    )


def _roles_of(connection: Connection, numbers: Collection[int]) -> defaultdict[int, _Parts]:
    """Match → its roles, in order."""
    of_results = and_(results.c.match_id == match_players.c.match_id, results.c.number == match_players.c.number)
    query = (
        select(match_players.c.match_id, players.c.name, results.c.role, results.c.goal, results.c.forfeited)
        .join_from(match_players, players)
        .outerjoin(results, of_results)
        .where(match_players.c.match_id.in_(numbers))
        .order_by(match_players.c.match_id, match_players.c.number)
    )
    parts: defaultdict[int, _Parts] = defaultdict(lambda: _Parts([], [], [], []))
    for number, player, role, goal, is_forfeit in connection.execute(query):
        parts[number].players.append(player)
        if role is not None:
            parts[number].roles.append(role)
            parts[number].goals.append(goal)
            if is_forfeit:
                parts[number].forfeited.append(role)
    return parts

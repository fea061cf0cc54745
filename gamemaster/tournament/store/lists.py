"""What pages ask: lists of matches without their records, counts, what has changed, statistics of games."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Row, Select, Table, and_, func, select, true

from gamemaster.tournament.store.tables import (
    failures,
    faults,
    games,
    matches,
    players,
    results,
    store,
    takers,
    totals,
    tournaments,
)
from gamemaster.tournament.store.values import Changes, Counts, Listing, MatchRow, RoleStatistics


@dataclass(frozen=True, slots=True)
class Wanted:
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


def revision_of(connection: Connection) -> int:
    return int(connection.execute(select(store.c.revision)).scalar_one())


def counts_of(connection: Connection, tournament: int) -> Counts:
    query = select(matches.c.status, func.count()).where(matches.c.tournament_id == tournament)
    numbers = {str(row[0]): int(row[1]) for row in connection.execute(query.group_by(matches.c.status))}
    return Counts(**{status.replace(" ", "_"): number for status, number in numbers.items()})


def listing(connection: Connection, wanted: Wanted, offset: int, limit: int) -> Listing:
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


def changes_since(connection: Connection, revision: int, limit: int) -> Changes:
    """At least `limit` matches where there are as many: those of one transaction are never parted."""
    newest = revision_of(connection)
    newer = matches.c.revision > revision
    revisions = select(matches.c.revision).where(newer).order_by(matches.c.revision)
    cut = connection.execute(revisions.offset(limit - 1).limit(1)).scalar_one_or_none()
    last = newest if cut is None else int(cut)
    where = and_(newer, matches.c.revision <= last)
    rows = _rows(connection, _selected().where(where).order_by(matches.c.revision, matches.c.id))
    names = select(tournaments.c.name).where(tournaments.c.revision > revision, tournaments.c.revision <= last)
    return Changes(last, rows, tuple(sorted(connection.execute(names).scalars())), is_all=last == newest)


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


def _condition(wanted: Wanted) -> ColumnElement[bool]:
    conditions: list[ColumnElement[bool]] = [true()]
    if wanted.status is not None:
        conditions.append(matches.c.status == wanted.status)
    if wanted.game is not None:
        conditions.append(matches.c.game_id.in_(_named(games, wanted.tournament_id, wanted.game)))
    if wanted.player is not None:
        of_player = takers.c.player_id.in_(_named(players, wanted.tournament_id, wanted.player))
        conditions.append(matches.c.id.in_(select(takers.c.match_id).where(of_player)))
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
            matches,
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
    parts = _parts(connection, [row.id for row in rows])
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
        steps=row.steps,
        roles=tuple(parts.roles),
        goals=tuple(parts.goals),
        faults=int(row.fault_count),
        started=row.started,
        finished=row.finished,
        revision=row.revision,
    )


def _parts(connection: Connection, numbers: Collection[int]) -> defaultdict[int, _Parts]:
    """Match → its roles, in order."""
    of_results = and_(results.c.match_id == takers.c.match_id, results.c.number == takers.c.number)
    query = (
        select(takers.c.match_id, players.c.name, results.c.role, results.c.goal)
        .join_from(takers, players)
        .outerjoin(results, of_results)
        .where(takers.c.match_id.in_(numbers))
        .order_by(takers.c.match_id, takers.c.number)
    )
    parts: defaultdict[int, _Parts] = defaultdict(lambda: _Parts([], [], []))
    for number, player, role, goal in connection.execute(query):
        parts[number].players.append(player)
        if role is not None:
            parts[number].roles.append(role)
            parts[number].goals.append(goal)
    return parts

"""Results, records and ratings out of the tables."""

from collections import defaultdict
from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, and_, func, select

from gamemaster.faults import FaultKind
from gamemaster.record import MatchRecord
from gamemaster.tournament.results import Pairing, Result
from gamemaster.tournament.store.packing import unpacked
from gamemaster.tournament.store.tables import (
    failures,
    faults,
    games,
    matches,
    players,
    ratings,
    records,
    results,
    rulesheets,
    takers,
    tournaments,
)
from gamemaster.tournament.store.values import StoredRating
from ggp.errors import StoreError

_Part = tuple[str, str, int | None, float, float]  # player, role, goal value, seconds, longest


def tournament_ids(connection: Connection) -> dict[str, int]:
    """Name → number, by name; the one for single matches included."""
    rows = connection.execute(select(tournaments.c.name, tournaments.c.id)).all()
    return {row.name: row.id for row in sorted(rows, key=lambda row: str(row.name))}


def tournament_id(connection: Connection, name: str) -> int:
    """StoreError for a name that no tournament has."""
    number = connection.execute(select(tournaments.c.id).where(tournaments.c.name == name)).scalar_one_or_none()
    if number is not None:
        return int(number)
    others = ", ".join(filter(None, tournament_ids(connection)))
    raise StoreError(f"no tournament is called {name!r}; there {f'is {others}' if others else 'are none'}")


def results_of(connection: Connection, tournament: int) -> tuple[Result, ...]:
    """In the order in which their matches were first begun."""
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
            matches.c.together,
            matches.c.ending,
            matches.c.steps,
            matches.c.started,
            matches.c.finished,
        )
        .join_from(matches, games)
        .where(finished)
        .order_by(matches.c.id)
    )
    blameless: dict[FaultKind, int] = {}
    found = []
    for number, pairing, round_, game, seed, together, ending, steps, started, ended in connection.execute(query).all():
        names, roles, goals, seconds, longest = zip(*parts[number], strict=True) if number in parts else ((),) * 5
        found.append(
            Result(
                pairing=Pairing(pairing, round_, game, names, int(seed), together),
                roles=roles,
                goals=goals,
                ending=ending,
                steps=steps,
                seconds=seconds,
                longest=longest,
                faults=tuple(blamed.get((number, role), blameless) for role in range(len(roles))),
                started=started,
                finished=ended,
            )
        )
    return tuple(found)


def pairing_of(connection: Connection, match_id: int) -> Pairing:
    """As it was when its match was first begun."""
    query = select(matches, games.c.name).join_from(matches, games).where(matches.c.id == match_id)
    row = connection.execute(query).one()
    names = select(players.c.name).join_from(takers, players).where(takers.c.match_id == match_id)
    taking = connection.execute(names.order_by(takers.c.number)).scalars()
    return Pairing(row.pairing, row.round, row.name, tuple(taking), int(row.seed), row.together)


def record_of(connection: Connection, tournament: int, pairing: str) -> MatchRecord:
    """The last one that was kept; StoreError where there is none."""
    query = (
        select(matches.c.status, records.c.record, rulesheets.c.text)
        .select_from(matches.outerjoin(records).outerjoin(rulesheets))
        .where(matches.c.tournament_id == tournament, matches.c.pairing == pairing)
    )
    row = connection.execute(query).one_or_none()
    if row is None:
        raise StoreError(f"there is no match {pairing}")
    if row.record is None:
        raise StoreError(f"match {pairing} has no record yet: it is {row.status}")
    try:
        return unpacked(row.record, row.text)
    except ValueError as error:
        raise StoreError(f"match {pairing}: its record cannot be read: {error}") from None


def failures_of(connection: Connection, tournament: int) -> dict[str, int]:
    """Pairing → how often it failed by our own fault, where it did."""
    query = select(matches.c.pairing, func.count()).join_from(failures, matches)
    rows = connection.execute(query.where(matches.c.tournament_id == tournament).group_by(matches.c.pairing))
    return {row[0]: row[1] for row in sorted(rows, key=lambda row: str(row[0]))}


def ratings_of(connection: Connection, tournament: int) -> tuple[StoredRating, ...]:
    """By scale and scope, the highest value first."""
    query = select(ratings).where(ratings.c.tournament_id == tournament)
    found = [StoredRating(*row[1:]) for row in connection.execute(query)]
    return tuple(sorted(found, key=lambda rating: (rating.scale, rating.scope, -rating.value, rating.subject)))


def put_ratings(connection: Connection, tournament: int, values: Sequence[StoredRating]) -> None:
    """In place of those before."""
    connection.execute(ratings.delete().where(ratings.c.tournament_id == tournament))
    rows = [
        {
            "tournament_id": tournament,
            "scale": value.scale,
            "scope": value.scope,
            "subject": value.subject,
            "value": value.value,
            "low": value.low,
            "high": value.high,
            "matches": value.matches,
        }
        for value in values
    ]
    if rows:
        connection.execute(ratings.insert(), rows)


def _parts(connection: Connection, finished: ColumnElement[bool]) -> dict[int, list[_Part]]:
    """Match → its roles, in order."""
    names = _names(connection)
    of_results = and_(results.c.match_id == takers.c.match_id, results.c.number == takers.c.number)
    query = (
        select(
            takers.c.match_id,
            takers.c.player_id,
            results.c.role,
            results.c.goal,
            results.c.seconds,
            results.c.longest,
        )
        .join_from(takers, results, of_results)
        .join(matches, matches.c.id == takers.c.match_id)
        .where(finished)
        .order_by(takers.c.match_id, takers.c.number)
    )
    parts: defaultdict[int, list[_Part]] = defaultdict(list)
    for match_id, player_id, role, goal, seconds, longest in connection.execute(query).all():
        parts[match_id].append((names[player_id], role, goal, seconds, longest))
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

"""What is written about matches, each function within a transaction of its caller."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from sqlalchemy import Connection, Executable, Table, and_, bindparam, func, select
from sqlalchemy.dialects import postgresql, sqlite

from gamemaster.faults import shown
from gamemaster.record import MatchRecord, now
from gamemaster.tournament.pairings import MatchResult, Pairing, result_of
from gamemaster.tournament.store.leases import Process, clock, is_live, this_process
from gamemaster.tournament.store.schema import (
    SINGLES,
    Packed,
    failures,
    faults,
    games,
    match_players,
    matches,
    packed,
    packed_text,
    players,
    records,
    results,
    rulesheets,
    store,
    totals,
    tournaments,
)
from ggp.errors import StoreError
from ggp.gdl.rulesheet import NATURE

# Statements that are written for every match are made once.
_NEXT_REVISION = store.update().values(revision=store.c.revision + 1).returning(store.c.revision)
_FIND_MATCH = (
    select(
        matches.c.id,
        matches.c.attempt,
        matches.c.status,
        matches.c.token,
        matches.c.game_id,
        records.c.match_id,
    )
    .select_from(matches.outerjoin(records))
    .where(matches.c.tournament_id == bindparam("of_tournament"), matches.c.pairing == bindparam("of_pairing"))
)
_UPDATE_MATCH = matches.update().where(matches.c.id == bindparam("of_match"))
_UPDATE_RECORD = records.update().where(records.c.match_id == bindparam("of_match"))
_SINGLES = select(tournaments.c.id).where(tournaments.c.name == SINGLES).scalar_subquery()
_SINGLES_UNDER_WAY = and_(matches.c.tournament_id == _SINGLES, matches.c.status == "running")
_KNOWN_RULESHEET = select(rulesheets.c.sha256).where(rulesheets.c.sha256 == bindparam("key"))


def _adding_to_totals(new: postgresql.Insert | sqlite.Insert) -> Executable:
    sums = {name: totals.c[name] + new.excluded[name] for name in ("matches", "with_goal", "goals", "steps")}
    return new.on_conflict_do_update(index_elements=list(totals.primary_key), set_=sums)


_ADD_TO_TOTALS = {
    "postgresql": _adding_to_totals(postgresql.insert(totals)),
    "sqlite": _adding_to_totals(sqlite.insert(totals)),
}


@dataclass(frozen=True, slots=True)
class Write:
    """A transaction that writes to one tournament; what it changes gets its revision."""

    connection: Connection
    tournament_id: int
    revision: int


@dataclass(frozen=True, slots=True)
class StoredMatch:
    """What a transaction has to know of a match that was begun."""

    id: int
    attempt: int
    status: str
    token: str | None  # of its record
    game_id: int
    has_record: bool


def next_revision(connection: Connection) -> int:
    """The first statement of every transaction that writes: on a server, all others wait behind it."""
    return int(connection.execute(_NEXT_REVISION).scalar_one())


def reopen(write: Write) -> None:
    """A tournament that was complete goes on."""
    complete = (tournaments.c.id == write.tournament_id) & tournaments.c.completed.is_not(None)
    write.connection.execute(
        tournaments.update().where(complete).values(completed=None, note="", revision=write.revision)
    )


def find_match(write: Write, pairing: str) -> StoredMatch | None:
    named = {"of_tournament": write.tournament_id, "of_pairing": pairing}
    row = write.connection.execute(_FIND_MATCH, named).one_or_none()
    return None if row is None else StoredMatch(row[0], row[1], row[2], row[3], row[4], has_record=row[5] is not None)


def running_match(write: Write, pairing: str, token: str | None = None) -> StoredMatch:
    """StoreError where the pairing is not under way, or another match than that with this token."""
    match = find_match(write, pairing)
    if match is None or match.status != "running":
        status = "not begun" if match is None else match.status
        raise StoreError(f"match {pairing} is not being played: it is {status}")
    if token is not None and match.token not in (None, token):
        raise StoreError(f"match {pairing}: the record is of another match than the one that is being played")
    return match


def begin_again(write: Write, pairing: str, match: StoredMatch) -> int:
    """The number of the attempt; StoreError where there is a result, or one is being waited for."""
    if match.status in ("running", "finished"):
        raise StoreError(f"match {pairing} cannot begin: it is {match.status}")
    if match.has_record:
        write.connection.execute(records.delete().where(records.c.match_id == match.id))
    _update(write, match, attempt=match.attempt + 1, **_fresh(), token=None)
    return match.attempt + 1


def keep_record(write: Write, match: StoredMatch, record: Packed) -> None:
    """The record so far, of a match that goes on."""
    _put_record(write, match, record)
    _update(write, match, steps=record.steps, token=record.token)


def finish_match(write: Write, match: StoredMatch, record: Packed, result: MatchResult) -> None:
    """Record, result and faults."""
    _put_record(write, match, record)
    _update(
        write,
        match,
        status="finished",
        ending=result.ending,
        steps=result.steps,
        token=record.token,
        started=result.started,
        finished=result.finished,
    )
    rows = zip(result.roles, result.goals, result.seconds, result.longest, strict=True)
    _insert(
        write,
        results,
        [
            {"match_id": match.id, "number": number, "role": role, "goal": goal}
            | {"seconds": seconds, "longest": longest, "forfeited": int(role in result.forfeited)}
            for number, (role, goal, seconds, longest) in enumerate(rows)
        ],
    )
    _insert(
        write,
        faults,
        [
            {"match_id": match.id, "number": number, "kind": kind, "count": count}
            for number, kinds in enumerate(result.faults)
            for kind, count in kinds.items()
        ],
    )
    _add_to_totals(write, match, result)


def _add_to_totals(write: Write, match: StoredMatch, result: MatchResult) -> None:
    rows = [
        {
            "game_id": match.game_id,
            "number": number,
            "role": role,
            "matches": 1,
            "with_goal": int(goal is not None),
            "goals": goal or 0,
            "steps": result.steps,
        }
        for number, (role, goal) in enumerate(zip(result.roles, result.goals, strict=True))
    ]
    if rows:
        write.connection.execute(_ADD_TO_TOTALS[write.connection.dialect.name], rows)


def fail_match(write: Write, match: StoredMatch, reason: str) -> int:
    """An attempt that failed by our own fault; how many of this match did so far."""
    time = now()
    failure = {"match_id": match.id, "attempt": match.attempt, "reason": shown(reason), "time": time}
    write.connection.execute(failures.insert().values(failure))
    _update(write, match, status="failed", reason=shown(reason), finished=time)
    of_match = select(func.count()).select_from(failures).where(failures.c.match_id == match.id)
    return int(write.connection.execute(of_match).scalar_one())


def give_up_match(write: Write, match: StoredMatch, reason: str, resigned: str | None = None) -> None:
    """An attempt that was broken off; it does not count as a failure. `resigned`: the role whose player wanted that."""
    _update(write, match, status="given up", reason=shown(reason), resigned=resigned, finished=now())


def give_up_all(write: Write, reason: str) -> int:
    """Gives up all matches that are under way, and tells how many there were."""
    under_way = (matches.c.tournament_id == write.tournament_id) & (matches.c.status == "running")
    values = {"status": "given up", "reason": reason, "finished": now(), "revision": write.revision}
    return write.connection.execute(matches.update().where(under_way).values(values)).rowcount


def insert_match(write: Write, pairing: Pairing, **values: object) -> StoredMatch:
    """The first attempt of a match."""
    game_id = _ids(write, games, (pairing.game,))[0]
    row = {
        "tournament_id": write.tournament_id,
        "pairing": pairing.id,
        "game_id": game_id,
        "round": pairing.round,
        "seed": str(pairing.seed),
        "pair_group": pairing.group,
        "attempt": 1,
        "revision": write.revision,
        **_fresh(),
        **values,
    }
    number = _inserted(write, matches, row)
    names = _ids(write, players, pairing.players)
    rows = [{"match_id": number, "number": role, "player_id": name} for role, name in enumerate(names)]
    _insert(write, match_players, rows)
    return StoredMatch(number, 1, "running", None, game_id, has_record=False)


def _fresh() -> dict[str, object]:
    return {
        "status": "running",
        "reason": "",
        "resigned": None,
        "ending": None,
        "steps": 0,
        "started": now(),
        "finished": None,
    }


def _update(write: Write, match: StoredMatch, **values: object) -> None:
    write.connection.execute(_UPDATE_MATCH, {"of_match": match.id, "revision": write.revision, **values})


def _insert(write: Write, table: Table, rows: Sequence[Mapping[str, object]]) -> None:
    if rows:
        write.connection.execute(table.insert(), rows)


def _inserted(write: Write, table: Table, row: dict[str, object]) -> int:
    """The number of a new row."""
    key = write.connection.execute(table.insert(), row).inserted_primary_key
    assert key is not None
    return int(key[0])


def _ids(write: Write, table: Table, names: Sequence[str]) -> list[int]:
    """The numbers of games or players of the tournament, which get one when they are new."""
    named = (table.c.tournament_id == write.tournament_id) & table.c.name.in_(names)
    known = {row.name: row.id for row in write.connection.execute(select(table.c.name, table.c.id).where(named))}
    for name in names:
        if name not in known:
            known[name] = _inserted(write, table, {"tournament_id": write.tournament_id, "name": name})
    return [known[name] for name in names]


def _put_record(write: Write, match: StoredMatch, record: Packed) -> None:
    _put_rulesheet(write, record)
    values = {"rulesheet": record.rulesheet_key, "record": record.record}
    if match.has_record:
        write.connection.execute(_UPDATE_RECORD, {"of_match": match.id, **values})
    else:
        write.connection.execute(records.insert(), {"match_id": match.id, **values})


def _put_rulesheet(write: Write, record: Packed) -> None:
    if write.connection.execute(_KNOWN_RULESHEET, {"key": record.rulesheet_key}).one_or_none() is None:
        values = {"sha256": record.rulesheet_key, "text": packed_text(record.rulesheet)}
        write.connection.execute(rulesheets.insert().values(values))


def keep_single(connection: Connection, record: MatchRecord) -> str:
    """What names the match among those of no tournament: its own name, with a number where that is taken.

    Nothing is written for a match that has ended before.
    """
    write = _write(connection)
    known = (matches.c.tournament_id == write.tournament_id) & (matches.c.token == record.token)
    name = connection.execute(select(matches.c.pairing).where(known)).scalar_one_or_none()
    pairing = _pairing(record, name or _free_name(write, shown(record.match)))
    match = find_match(write, pairing.id)
    if match is None:
        me = this_process()
        player = {"machine": me.machine, "pid": me.pid, "process_start": me.start, "heartbeat": clock(connection)}
        match = insert_match(write, pairing, token=record.token, **player)
    if match.status == "running":
        _keep(write, match, pairing, record)
    return pairing.id


def lost_singles(connection: Connection) -> list[str]:
    """The names of the matches under way outside of tournaments whose game master is dead."""
    columns = (matches.c.pairing, matches.c.machine, matches.c.pid, matches.c.process_start, matches.c.heartbeat)
    return [
        row.pairing
        for row in connection.execute(select(*columns).where(_SINGLES_UNDER_WAY)).all()
        if not is_live(connection, Process("", row.machine, row.pid, row.process_start), row.heartbeat)
    ]


def give_up_lost_singles(connection: Connection) -> list[str]:
    """Gives up the matches of `lost_singles`, and tells their names."""
    write = _write(connection)
    lost = lost_singles(connection)
    for pairing in lost:
        give_up_match(write, running_match(write, pairing), "its game master ended")
    return lost


def beat_singles(connection: Connection) -> None:
    """Says that the matches outside of tournaments that this process plays go on; no change that readers see."""
    me = this_process()
    mine = (matches.c.machine == me.machine) & (matches.c.pid == me.pid) & (matches.c.process_start == me.start)
    connection.execute(matches.update().where(_SINGLES_UNDER_WAY, mine).values(heartbeat=clock(connection)))


def _keep(write: Write, match: StoredMatch, pairing: Pairing, record: MatchRecord) -> None:
    if record.status not in ("running", "aborted"):
        finish_match(write, match, packed(record), result_of(pairing, record))
        return
    keep_record(write, match, packed(record))
    if record.status == "aborted":
        give_up_match(write, match, record.reason or "", record.resigned)


def _write(connection: Connection) -> Write:
    revision = next_revision(connection)
    number = connection.execute(select(tournaments.c.id).where(tournaments.c.name == SINGLES)).scalar_one()
    return Write(connection, number, revision)


def _pairing(record: MatchRecord, name: str) -> Pairing:
    found = (record.players[role] for role in record.roles if role != NATURE)
    return Pairing(
        id=name,
        round=0,
        game=shown(record.game),
        players=tuple(shown(player.name or player.bot or player.url) for player in found),
        seed=record.settings.seed,
    )


def _free_name(write: Write, wanted: str) -> str:
    names = (wanted if number == 1 else f"{wanted}-{number}" for number in count(1))
    return next(name for name in names if find_match(write, name) is None)

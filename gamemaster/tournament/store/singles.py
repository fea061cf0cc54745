"""Matches that belong to no tournament; nobody manages them, so each says who plays it."""

from itertools import count

from sqlalchemy import Connection, select

from gamemaster.faults import shown
from gamemaster.record import MatchRecord
from gamemaster.tournament.results import Pairing, result_of
from gamemaster.tournament.store.packing import packed
from gamemaster.tournament.store.processes import Process, is_alive, this_process
from gamemaster.tournament.store.tables import SINGLES, matches, tournaments
from gamemaster.tournament.store.writes import (
    Match,
    Write,
    find_match,
    finish_match,
    give_up_match,
    insert_match,
    keep_record,
    next_revision,
    running_match,
)
from ggp.gdl.rulesheet import NATURE


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
        player = {"machine": me.machine, "pid": me.pid, "process_start": me.start}
        match = insert_match(write, pairing, token=record.token, **player)
    if match.status == "running":
        _keep(write, match, pairing, record)
    return pairing.id


def give_up_lost(connection: Connection) -> int:
    """Gives up the matches whose process on this computer is dead, and tells how many there were."""
    write = _write(connection)
    under_way = (matches.c.tournament_id == write.tournament_id) & (matches.c.status == "running")
    columns = (matches.c.pairing, matches.c.machine, matches.c.pid, matches.c.process_start)
    lost = [
        row.pairing
        for row in connection.execute(select(*columns).where(under_way)).all()
        if is_alive(Process("", row.machine, row.pid, row.process_start)) is False
    ]
    for pairing in lost:
        give_up_match(write, running_match(write, pairing), "its game master ended")
    return len(lost)


def _keep(write: Write, match: Match, pairing: Pairing, record: MatchRecord) -> None:
    if record.status not in ("running", "aborted"):
        finish_match(write, match, packed(record), result_of(pairing, record))
        return
    keep_record(write, match, packed(record))
    if record.status == "aborted":
        give_up_match(write, match, record.reason or "")


def _write(connection: Connection) -> Write:
    revision = next_revision(connection)
    number = connection.execute(select(tournaments.c.id).where(tournaments.c.name == SINGLES)).scalar_one()
    return Write(connection, number, revision)


def _pairing(record: MatchRecord, name: str) -> Pairing:
    takers = (record.players[role] for role in record.roles if role != NATURE)
    return Pairing(
        id=name,
        round=0,
        game=shown(record.game),
        players=tuple(shown(taker.name or taker.bot or taker.url) for taker in takers),
        seed=record.settings.seed,
    )


def _free_name(write: Write, wanted: str) -> str:
    names = (wanted if number == 1 else f"{wanted}-{number}" for number in count(1))
    return next(name for name in names if find_match(write, name) is None)

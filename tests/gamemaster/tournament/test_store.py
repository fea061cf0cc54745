"""What goes into a store comes out again, and nothing counts twice; on each kind of database."""

import json
import re
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from statistics import fmean

import pytest
from sqlalchemy import Table, func, select

from gamemaster.faults import make_fault
from gamemaster.record import MatchRecord, Status
from gamemaster.tournament.pairings import Pairing, result_of
from gamemaster.tournament.store import Counts, Manager, RoleStatistics, Store, schema
from gamemaster.tournament.store import schema as t
from gamemaster.tournament.store.schema import Packed
from ggp.errors import StoreError
from tests.gamemaster.tournament.store_matches import BEGAN, a_pairing, a_record, a_spec

LATE = make_fault("timeout", "no answer in time")
WRONG = make_fault("illegal", "not so", "(mark 9 9)")
THREE = ("ann", "bob", "cid")


@pytest.fixture
def manager(store: Store) -> Iterator[Manager]:
    """Of a tournament called cup."""
    store.create(a_spec())
    with store.manage("cup") as managing:
        yield managing


def finish(manager: Manager, number: int, **fields: object) -> MatchRecord:
    """Begins and finishes a match."""
    pairing = a_pairing(number)
    manager.begin(pairing)
    record = a_record(pairing, **fields)  # type: ignore[arg-type]
    manager.finish(pairing, record)
    return record


def growing(record: MatchRecord, steps: int) -> MatchRecord:
    """The record as it was after so many steps."""
    update = {"steps": record.steps[:steps], "status": "running", "goals": None, "finished": None}
    return record.model_copy(update=update)


def test_a_tournament_is_read_as_it_was_made(store: Store) -> None:
    assert store.tournaments() == ()
    spec = a_spec("cup", ["ann", "Bob the “great”"])
    made = store.create(spec)
    assert (made.spec, made.status, made.manager, made.counts, made.note) == (spec, "new", None, Counts(), "")
    assert store.tournament("cup") == made
    store.create(a_spec("arena"))
    assert [stored.spec.name for stored in store.tournaments()] == ["arena", "cup"]


def test_a_name_is_taken_once(store: Store) -> None:
    store.create(a_spec())
    with pytest.raises(StoreError, match="there is a tournament 'cup' already"):
        store.create(a_spec(players=["x", "y"]))
    assert store.tournament("cup").spec == a_spec()


def test_a_name_that_is_not_there_is_answered_with_those_that_are(store: Store) -> None:
    with pytest.raises(StoreError, match="no tournament is called 'cap'; there are none"):
        store.tournament("cap")
    store.create(a_spec())
    for ask in (store.tournament, store.results, store.manage, store.running):
        with pytest.raises(StoreError, match=r"no tournament is called 'cap'; there is cup"):
            ask("cap")
    with pytest.raises(StoreError, match=re.escape(f"{store.place}: there is no match nosuch")):
        store.record("cup", "nosuch")
    with pytest.raises(StoreError, match="there is no match nosuch"):
        store.match("cup", "nosuch")


RECORDS: dict[str, tuple[Pairing, MatchRecord]] = {
    name: (pairing, a_record(pairing, **fields))  # type: ignore[arg-type]
    for number, (name, players, fields) in enumerate(
        [
            ("two roles", ("ann", "bob"), {"goals": {"white": 100, "black": 0}}),
            ("one role", ("ann",), {"goals": {"role0": 37}}),
            ("three roles", THREE, {"goals": {"role0": 0, "role1": 33, "role2": 67}}),
            ("against itself", ("ann", "ann"), {}),
            ("no goal for one", ("ann", "bob"), {"goals": {"white": None, "black": 50}}),
            ("faults", ("ann", "bob"), {"faults": {2: {"white": LATE}, 3: {"white": LATE, "black": WRONG}}}),
            ("broken", ("ann", "bob"), {"status": "broken", "goals": {}, "steps": 3}),
            ("no step", ("ann", "bob"), {"status": "step limit", "steps": 0}),
            ("nobody", (), {}),
        ]
    )
    for pairing in [a_pairing(number, players)]
}


def test_results_and_records_are_read_as_they_were_written(manager: Manager, store: Store) -> None:
    expected = []
    for pairing, record in RECORDS.values():
        assert manager.begin(pairing) == 1
        expected.append(manager.finish(pairing, record))
    assert expected == [result_of(pairing, record) for pairing, record in RECORDS.values()]
    assert list(store.results("cup")) == expected
    for pairing, record in RECORDS.values():
        assert store.record("cup", pairing.id) == record
    assert [dict(kinds) for kinds in store.results("cup")[5].faults] == [{"timeout": 2}, {"illegal": 1}]


def test_a_large_seed_and_unusual_words_survive(manager: Manager, store: Store) -> None:
    pairing = replace(
        a_pairing(0, ("Zoë \u202e\U0001f916", "'; DROP TABLE matches; --"), "spiel/größe"), seed=2**64 - 1
    )
    manager.begin(pairing)
    manager.finish(pairing, a_record(pairing, rules='(role "ü") ; \u0000 \n'))
    assert store.results("cup")[0].pairing == pairing
    assert store.record("cup", pairing.id).rulesheet == '(role "ü") ; \u0000 \n'


def test_a_rulesheet_is_stored_once(manager: Manager, store: Store) -> None:
    for number in range(4):
        finish(manager, number, rules="(role a)" if number == 3 else "(role b)")
    with store._database.reading() as connection:
        assert connection.execute(select(func.count()).select_from(t.rulesheets)).scalar_one() == 2
    assert store.record("cup", a_pairing(2).id).rulesheet == "(role b)"
    assert store.record("cup", a_pairing(3).id).rulesheet == "(role a)"


def test_a_match_has_one_result(manager: Manager, store: Store) -> None:
    pairing = a_pairing()
    record = finish(manager, 0, goals={"white": 100, "black": 0})
    before = store.results("cup")
    assert manager.finish(pairing, record) == before[0]  # the same again, as after an answer that was lost
    with pytest.raises(StoreError, match=f"match {pairing.id} is not being played: it is finished"):
        manager.finish(pairing, a_record(pairing, goals={"white": 0, "black": 100}))
    with pytest.raises(StoreError, match=f"match {pairing.id} cannot begin: it is finished"):
        manager.begin(pairing)
    with pytest.raises(StoreError, match="is not being played: it is finished"):
        manager.fail(pairing, "too late")
    with pytest.raises(StoreError, match="is not being played: it is finished"):
        manager.keep(pairing, growing(record, 1))
    assert store.results("cup") == before
    assert store.record("cup", pairing.id) == record


def insert(store: Store, table: Table, **values: object) -> None:
    with store._database.writing() as connection:
        connection.execute(table.insert().values(values))


def test_the_database_itself_refuses_a_second_match_or_result(manager: Manager, store: Store) -> None:
    finish(manager, 0)
    for table in (t.matches, t.results, t.records):
        with store._database.reading() as connection:
            row = connection.execute(select(table).limit(1)).mappings().one()
        again = {**row, **({"id": 99, "token": None} if table is t.matches else {})}
        with pytest.raises(StoreError, match=r"(?i)unique"):
            insert(store, table, **again)
    with pytest.raises(StoreError, match=r"(?i)foreign key"):
        insert(store, t.match_players, match_id=77, number=0, player_id=1)


@pytest.mark.parametrize("status", ["running", "aborted"])
def test_only_a_complete_match_has_a_result(status: Status, manager: Manager, store: Store) -> None:
    manager.begin(a_pairing())
    with pytest.raises(
        StoreError, match=re.escape(f"{store.place}: match {a_pairing().id} has no result: it is {status}")
    ):
        manager.finish(a_pairing(), a_record(a_pairing(), status=status))
    with pytest.raises(StoreError, match=f"match {a_pairing(1).id} is not being played: it is not begun"):
        manager.finish(a_pairing(1), a_record(a_pairing(1)))
    assert store.results("cup") == ()


def test_what_failed_is_counted_and_played_again(manager: Manager, store: Store) -> None:
    pairing = a_pairing()
    assert manager.begin(pairing) == 1
    with pytest.raises(StoreError, match="cannot begin: it is running"):
        manager.begin(pairing)
    first = a_record(pairing)
    manager.keep(pairing, growing(first, 3))
    assert manager.fail(pairing, "the disk\nwas full") == 1
    kept = store.record("cup", pairing.id)
    assert (kept.status, kept.reason, kept.steps) == ("aborted", r"the disk\nwas full", first.steps[:3])
    row = store.match("cup", pairing.id)
    assert (row.status, row.attempt, row.failures, row.reason) == ("failed", 1, 1, r"the disk\nwas full")
    assert manager.begin(pairing) == 2
    with pytest.raises(StoreError, match="has no record yet: it is running"):
        store.record("cup", pairing.id)
    assert manager.fail(pairing, "once more") == 2
    assert manager.begin(pairing) == 3
    manager.give_up(pairing, "interrupted")
    assert store.match("cup", pairing.id).failures == 2
    assert manager.begin(pairing) == 4
    manager.finish(pairing, a_record(pairing))
    assert (store.match("cup", pairing.id).attempt, store.match("cup", pairing.id).reason) == (4, "")
    assert store.tournament("cup").counts == Counts(finished=1)


def test_a_record_of_another_attempt_is_refused(manager: Manager, store: Store) -> None:
    pairing = a_pairing()
    manager.begin(pairing)
    manager.keep(pairing, growing(a_record(pairing), 2))
    with pytest.raises(StoreError, match="the record is of another match"):
        manager.finish(pairing, a_record(pairing))
    assert store.tournament("cup").counts == Counts(running=1)


def test_another_schedule_is_noticed(manager: Manager) -> None:
    manager.begin(a_pairing())
    manager.give_up(a_pairing(), "")
    for changed in (a_pairing(0, ("bob", "ann")), replace(a_pairing(), game="other"), replace(a_pairing(), group="x")):
        with pytest.raises(StoreError, match=f"the schedule has changed: match {a_pairing().id} was Pairing"):
            manager.begin(changed)
    assert manager.begin(a_pairing()) == 2


def test_a_growing_record_is_written_now_and_then(store: Store, manager: Manager) -> None:
    time = [100.0]
    manager._clock = lambda: time[0]
    pairing, record = a_pairing(), a_record(a_pairing())
    manager.begin(pairing)

    def kept() -> int:
        assert store.match("cup", pairing.id).steps == len(store.record("cup", pairing.id).steps)
        return len(store.record("cup", pairing.id).steps)

    manager.keep(pairing, growing(record, 0))
    assert store.record("cup", pairing.id) == growing(record, 0)
    for steps in (1, 2):
        manager.keep(pairing, growing(record, steps))
        assert kept() == 0
    time[0] += 0.49
    manager._tend()
    assert kept() == 0
    time[0] += 0.01
    manager._tend()
    assert kept() == 2
    revision = store.revision()
    time[0] += 1.0
    manager._tend()  # nothing waits any more
    assert store.revision() == revision
    manager.keep(pairing, growing(record, 3))
    assert kept() == 3
    manager.keep(pairing, growing(record, 4))
    manager.keep(pairing, record)  # complete: left to `finish`
    time[0] += 1.0
    manager.finish(pairing, record)
    manager._tend()
    assert store.record("cup", pairing.id) == record


def test_the_manager_itself_writes_what_waits(store: Store, manager: Manager) -> None:
    pairing, record = a_pairing(), a_record(a_pairing())
    manager.begin(pairing)
    manager.keep(pairing, growing(record, 0))
    manager.keep(pairing, growing(record, 5))
    while store.record("cup", pairing.id) != growing(record, 5):  # its thread looks twice a second
        manager._thread.join(0.05)
        assert manager._thread.is_alive()


def test_a_match_does_not_wait_while_the_record_of_another_one_is_written(
    store: Store, manager: Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, other = a_pairing(0), a_pairing(1)
    records = {pairing.id: a_record(pairing) for pairing in (slow, other)}
    is_writing, may_go_on = threading.Event(), threading.Event()

    def packed(record: MatchRecord) -> Packed:
        if record.match == records[slow.id].match:
            is_writing.set()
            assert may_go_on.wait(30)
        return schema.packed(record)

    for pairing in (slow, other):
        manager.begin(pairing)
    monkeypatch.setattr("gamemaster.tournament.store.store.packed", packed)
    with ThreadPoolExecutor(2) as pool:
        keeping = pool.submit(manager.keep, slow, growing(records[slow.id], 1))
        assert is_writing.wait(30)
        pool.submit(manager.keep, other, growing(records[other.id], 2)).result(10)
        assert store.match("cup", other.id).steps == 2
        pool.submit(manager.finish, other, records[other.id]).result(10)
        assert not keeping.done()
        may_go_on.set()
        keeping.result(10)
    assert store.match("cup", slow.id).steps == 1


def test_the_status_of_a_tournament_follows_what_happens(store: Store) -> None:
    store.create(a_spec())
    with store.manage("cup") as manager:
        assert store.tournament("cup").status == "running"
        finish(manager, 0)
        manager.begin(a_pairing(1))
    stored = store.tournament("cup")
    assert (stored.status, stored.counts) == ("interrupted", Counts(finished=1, given_up=1))
    assert store.match("cup", a_pairing(1).id).reason == "its manager stopped"
    with store.manage("cup") as manager:
        assert manager.begin(a_pairing(1)) == 2
        manager.finish(a_pairing(1), a_record(a_pairing(1)))
        manager.complete("enough is known")
        assert store.tournament("cup").status == "running"
    assert (store.tournament("cup").status, store.tournament("cup").note) == ("complete", "enough is known")
    with store.manage("cup") as manager:
        finish(manager, 2)
    assert (store.tournament("cup").status, store.tournament("cup").note) == ("interrupted", "")


def some_matches(manager: Manager) -> None:
    """Twelve: of two games, ten finished, one failed, one running."""
    for number in range(12):
        pairing = a_pairing(number, (THREE[number % 3], THREE[(number + 1) % 3]), ("board", "dice")[number % 2])
        manager.begin(pairing)
        if number == 3:
            manager.fail(pairing, "our fault")
        elif number != 11:
            faults = {1: {"white": LATE}} if number == 5 else {}
            goals = {"white": number * 9, "black": None if number == 8 else 100 - number * 9}
            manager.finish(pairing, a_record(pairing, 3 + number, goals=goals, faults=faults))


def numbers(rows: object) -> list[int]:
    return [int(row.pairing[-5:]) for row in rows]  # type: ignore[attr-defined]


def test_matches_are_listed_by_what_is_asked_for(store: Store, manager: Manager) -> None:
    some_matches(manager)
    store.keep_single(a_record(a_pairing(99)))
    everything = store.matches("cup")
    assert (everything.total, numbers(everything.rows)) == (12, list(range(11, -1, -1)))
    page = store.matches("cup", offset=3, limit=4)
    assert (page.total, page.rows) == (12, everything.rows[3:7])
    assert numbers(store.matches("cup", player="cid", game="dice").rows) == [11, 7, 5, 1]
    assert numbers(store.matches("cup", player="ann", status="finished", limit=3).rows) == [9, 8, 6]
    assert store.matches("cup", player="ann", status="finished").total == 6
    assert numbers(store.running("cup")) == [11]
    assert store.matches("cup", player="nobody").total == 0
    assert store.matches("cup", game="nosuch").rows == store.matches("cup", offset=12).rows == ()
    assert store.matches("cup", limit=0).total == store.matches("cup", limit=-1, offset=-5).total == 12
    assert store.matches(None).total == 13
    assert numbers(store.matches("").rows) == [99]
    assert numbers(store.matches(None, player="bob", game="board").rows) == [99, 10, 6, 4, 0]


def test_a_row_says_what_is_known_of_a_match(store: Store, manager: Manager) -> None:
    some_matches(manager)
    row = store.match("cup", a_pairing(5, game="dice").id)
    assert (row.tournament, row.game, row.players, row.round) == ("cup", "dice", ("cid", "ann"), 0)
    assert (row.status, row.ending, row.steps, row.faults, row.failures) == ("finished", "terminal", 8, 1, 0)
    assert (row.roles, row.goals) == (("white", "black"), (45, 55))
    assert (row.started, row.finished) == (BEGAN, BEGAN + timedelta(seconds=8))
    running = store.match("cup", a_pairing(11, game="dice").id)
    assert (running.status, running.ending, running.players) == ("running", None, ("cid", "ann"))
    assert (running.roles, running.goals, running.steps, running.finished) == ((), (), 0, None)
    assert store.tournament("cup").counts == Counts(running=1, finished=10, failed=1)


def test_statistics_are_those_of_the_results(store: Store, manager: Manager) -> None:
    some_matches(manager)
    goals: dict[tuple[str, str], list[int | None]] = defaultdict(list)
    steps: dict[tuple[str, str], list[int]] = defaultdict(list)
    for result in store.results("cup"):
        for role, goal in zip(result.roles, result.goals, strict=True):
            goals[result.pairing.game, role].append(goal)
            steps[result.pairing.game, role].append(result.steps)
    expected = [
        RoleStatistics(
            game,
            role,
            len(goals[game, role]),
            fmean(goal for goal in goals[game, role] if goal is not None),
            fmean(steps[game, role]),
        )
        for game in ("board", "dice")
        for role in ("white", "black")
    ]
    assert list(store.statistics("cup")) == expected
    store.keep_single(a_record(a_pairing(99, game="board"), goals={"white": None, "black": 7}))
    of_all = {(row.game, row.role): row.matches for row in store.statistics()}
    assert of_all == Counter(key for key in goals for _ in goals[key]) + Counter(
        [("board", "white"), ("board", "black")]
    )
    assert [(row.role, row.mean_goal) for row in store.statistics("")] == [("white", None), ("black", 7.0)]


def test_single_matches_are_kept_as_they_grow(store: Store) -> None:
    record = a_record(a_pairing(1))
    name = store.keep_single(growing(record, 0))
    assert name == record.match
    assert store.keep_single(growing(record, 2)) == name
    assert store.record("", name) == growing(record, 2)
    assert [row.steps for row in store.running("")] == [2]
    store.keep_single(record)
    store.keep_single(growing(record, 5))  # it has ended: nothing changes
    assert store.record("", name) == record
    (result,) = store.results("")
    assert (result.goals, result.pairing.players, result.pairing.id) == ((50, 50), ("ann", "bob"), name)
    assert store.tournaments() == ()


def test_single_matches_of_one_name_are_told_apart(store: Store) -> None:
    records = [a_record(a_pairing(1), steps) for steps in (1, 2, 3)]
    names = [store.keep_single(record) for record in records]
    assert names == [records[0].match, f"{records[0].match}-2", f"{records[0].match}-3"]
    assert [store.keep_single(record) for record in records] == names
    assert [store.record("", name) for name in names] == records


def test_a_single_match_that_is_aborted_has_no_result(store: Store) -> None:
    record = a_record(a_pairing(1), 2)
    store.keep_single(growing(record, 2))
    role = record.roles[0]
    over = record.model_copy(update={"status": "aborted", "reason": "tired", "resigned": role, "goals": None})
    name = store.keep_single(over)
    row = store.match("", name)
    assert (row.status, row.reason, row.resigned, store.results("")) == ("given up", "tired", role, ())
    assert store.record("", name) == over


def test_a_single_match_needs_no_names_of_players(store: Store) -> None:
    record = a_record(a_pairing(1))
    players = {
        "white": record.players["white"].model_copy(update={"name": ""}),
        "black": record.players["black"].model_copy(update={"name": "", "bot": "random"}),
    }
    name = store.keep_single(record.model_copy(update={"players": players}))
    assert store.match("", name).players == ("http://192.0.2.1:9147/", "random")


def test_many_threads_may_write_and_read(store: Store, manager: Manager) -> None:
    def play(number: int) -> int:
        finish(manager, number)
        return len(store.results("cup"))

    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(play, range(40)))
    assert max(seen) == 40
    assert store.tournament("cup").counts == Counts(finished=40)
    revisions = [row.revision for row in store.matches("cup").rows]
    assert len(set(revisions)) == 40


def test_the_specification_is_plain_json_in_its_table(store: Store) -> None:
    store.create(a_spec())
    with store._database.reading() as connection:
        text = connection.execute(select(t.tournaments.c.spec).where(t.tournaments.c.name == "cup")).scalar_one()
    assert json.loads(text)["players"][0]["name"] == "ann"
    with store._database.writing() as connection:
        connection.execute(t.tournaments.update().values(spec='{"name": "cup", "colour": 1}'))
    with pytest.raises(StoreError, match=r"the specification of cup cannot be read: games: Field required"):
        store.tournament("cup")

"""One manager at a time: who holds a tournament, who takes it over, and what an old manager can still do."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select

from gamemaster.tournament.store import Manager, Store, leases, open_store
from gamemaster.tournament.store import schema as t
from gamemaster.tournament.store.leases import is_alive, this_process
from ggp.errors import StoreError
from tests.gamemaster.tournament import store_jobs
from tests.gamemaster.tournament.store_matches import a_pairing, a_record, a_spec
from tests.gamemaster.tournament.store_nursery import Nursery


def forge(store: Store, *, age: float = 0.0, **values: object) -> None:
    """Makes the lease look like that of somebody else, heard so many seconds ago."""
    with store._database.writing() as connection:
        heartbeat = leases.clock(connection) - age
        connection.execute(t.leases.update().values(heartbeat=heartbeat, **values))


def taken_over(store: Store, first: Manager) -> Manager:
    """Another manager, though the first one lives."""
    forge(store, age=100, machine="elsewhere", host="elsewhere", pid=7)
    second = store.manage("cup").__enter__()
    assert isinstance(second, Manager)
    assert not first.is_lost
    return second


def contents(store: Store) -> dict[str, list[object]]:
    with store._database.reading() as connection:
        tables = (table for table in t.METADATA.sorted_tables if table is not t.leases)
        return {table.name: sorted(map(tuple, connection.execute(select(table))), key=str) for table in tables}


def test_a_second_manager_is_refused_and_told_who_is_first(store: Store) -> None:
    store.create(a_spec())
    store.create(a_spec("other"))
    with store.manage("cup") as manager:
        manager.begin(a_pairing())
        before = contents(store)
        with pytest.raises(StoreError, match=rf"cup is being run by process {os.getpid()} on .* since 20.* UTC"):
            store.manage("cup").__enter__()
        assert contents(store) == before
        held = store.tournament("cup").manager
        assert held is not None
        assert held.pid == os.getpid()
        with store.manage("other"):
            pass
    assert store.tournament("cup").manager is None


def test_leaving_frees_the_tournament_also_after_a_mistake(store: Store) -> None:
    store.create(a_spec())
    for attempt in (1, 2):
        with suppress(ZeroDivisionError), store.manage("cup") as manager:
            assert manager.begin(a_pairing()) == attempt
            _ = 1 / 0
        assert store.match("cup", a_pairing().id).status == "given up"
    with pytest.raises(StoreError, match="cup is not run by this manager any more"):
        manager.begin(a_pairing())


@pytest.mark.parametrize(("age", "is_dead"), [(0, False), (15, False), (45, True), (-15, False), (-45, True)])
def test_a_manager_on_another_computer_is_dead_when_it_is_silent(age: float, is_dead: bool, store: Store) -> None:
    store.create(a_spec())
    with store.manage("cup"):
        forge(store, age=age, machine="elsewhere", host="away", pid=1)
        assert store.tournament("cup").status == ("new" if is_dead else "running")
        if is_dead:
            with store.manage("cup"):
                pass
        else:
            with pytest.raises(StoreError, match="cup is being run by process 1 on away"):
                store.manage("cup").__enter__()


def test_a_heartbeat_keeps_a_tournament(store: Store) -> None:
    store.create(a_spec())
    time = [0.0]
    with store.manage("cup") as manager:
        manager._clock = lambda: time[0]
        manager._beat = 0.0
        forge(store, age=100, machine="elsewhere")
        time[0] = leases.BEAT - 0.01
        manager._tend()
        assert store.tournament("cup").manager is None
        time[0] = leases.BEAT
        manager._tend()
        assert store.tournament("cup").manager is not None
        assert not manager.is_lost


def test_an_id_that_another_process_has_now_is_no_manager(store: Store) -> None:
    store.create(a_spec())
    with store.manage("cup"):
        forge(store, process_start="1")
        with store.manage("cup"):
            pass


def test_after_a_takeover_the_old_manager_changes_nothing(store: Store) -> None:
    store.create(a_spec())
    first = store.manage("cup").__enter__()
    first.begin(a_pairing(0))
    second = taken_over(store, first)
    assert store.match("cup", a_pairing(0).id).reason == "its manager ended"
    assert second.begin(a_pairing(0)) == 2
    before = contents(store)
    record = a_record(a_pairing(0))
    attempts = (
        lambda: first.begin(a_pairing(1)),
        lambda: first.keep(a_pairing(0), record.model_copy(update={"status": "running"})),
        lambda: first.finish(a_pairing(0), record),
        lambda: first.fail(a_pairing(0), "x"),
        lambda: first.give_up(a_pairing(0), "x"),
        first.complete,
    )
    for attempt in attempts:
        with pytest.raises(StoreError, match=r"cup is not run by this manager any more: process .* took it over"):
            attempt()
    assert first.is_lost
    first.__exit__(None, None, None)
    assert contents(store) == before
    second.finish(a_pairing(0), record)
    second.__exit__(None, None, None)
    assert len(store.results("cup")) == 1


def test_a_manager_that_only_waits_notices_the_loss(store: Store) -> None:
    store.create(a_spec())
    first = store.manage("cup").__enter__()
    second = taken_over(store, first)
    first._beat = -1e9
    first._tend()
    assert first.is_lost
    second.__exit__(None, None, None)
    first.__exit__(None, None, None)


def test_of_many_processes_one_becomes_the_manager(store: Store, store_url: str, nursery: Nursery) -> None:
    store.create(a_spec())
    workers = [nursery.start(store_jobs.manage, store_url) for _ in range(5)]
    assert [worker.next() for worker in workers] == ["ready"] * 5
    for worker in workers:
        worker.tell()
    answers = {worker.pid: worker.next() for worker in workers}
    (winner,) = [worker for worker in workers if answers[worker.pid] == "won"]
    losers = [worker for worker in workers if worker is not winner]
    assert all(f"cup is being run by process {winner.pid} on " in answers[worker.pid] for worker in losers)
    assert [worker.next() for worker in losers] == ["left"] * 4
    winner.kill()  # it leaves its lease behind
    with store.manage("cup"):
        pass


def statuses(store: Store) -> dict[str, str]:
    return {row.pairing: row.status for row in store.matches("").rows}


def test_single_matches_of_dead_processes_are_given_up(store: Store, store_url: str, nursery: Nursery) -> None:
    """By the next process that opens the store, and for those that have it open already."""
    living = store.keep_single(a_record(a_pairing(1), 1, status="running"))
    workers = [nursery.start(store_jobs.keep_single, store_url, steps, steps == 3) for steps in (2, 3)]
    dead, over = [worker.next() for worker in workers]
    assert statuses(store) == {living: "running", dead: "running", over: "finished"}
    for worker in workers:
        worker.kill()
    revision = store.revision()
    with open_store(store_url) as other:
        assert statuses(other) == {living: "running", dead: "given up", over: "finished"}
        assert [row.pairing for row in other.running("")] == [living]
    assert store.revision() > revision
    assert store.match("", dead).reason == "its game master ended"
    assert (store.record("", dead).status, store.record("", living).status) == ("aborted", "running")


def test_a_store_that_stays_open_notices_a_dead_process(store_url: str, nursery: Nursery) -> None:
    time = [0.0]
    with open_store(store_url, clock=lambda: time[0]) as store:
        worker = nursery.start(store_jobs.keep_single, store_url, 2, False)
        match = worker.next()
        assert store.match("", match).status == "running"
        worker.kill()
        revision = store.revision()
        time[0] += leases.BEAT
        assert store.revision() > revision  # which is what those ask who watch
        assert store.match("", match).status == "given up"


def test_a_single_match_on_another_computer_lives_by_its_heartbeats(store_url: str) -> None:
    for age, status in ((leases.SILENCE - 5, "running"), (leases.SILENCE + 5, "given up")):
        with open_store(store_url) as store:
            match = store.keep_single(a_record(a_pairing(int(age)), 1, status="running"))
            with store._database.writing() as connection:
                values = {"machine": "elsewhere", "heartbeat": leases.clock(connection) - age}
                connection.execute(t.matches.update().where(t.matches.c.pairing == match).values(values))
        with open_store(store_url) as store:
            assert store.match("", match).status == status


def test_heartbeats_of_single_matches_are_sent_while_they_last(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "BEAT", 0.01)
    record = a_record(a_pairing(1), 1, status="running")

    def is_beating() -> bool:
        with store._database.writing() as connection:
            connection.execute(t.matches.update().values(heartbeat=0.0))
        for _ in range(100):
            with store._database.reading() as connection:
                if connection.execute(select(t.matches.c.heartbeat)).scalar_one() > 0:
                    return True
            assert store._heart is not None
            store._heart.join(0.01)
        return False

    store.keep_single(record)
    assert is_beating()
    store.keep_single(a_record(a_pairing(1), 2).model_copy(update={"token": record.token}))
    assert store._heart is not None
    store._heart.join(0.1)
    assert not is_beating()


def test_a_process_that_is_dead_but_not_buried_is_dead() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        process = replace(this_process(), pid=child.pid, start=leases._start(child.pid) or "")
        assert is_alive(process)
        assert is_alive(replace(process, start="1")) is False
        child.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert is_alive(process) is False
    assert is_alive(process) is False
    assert is_alive(replace(process, machine="elsewhere")) is None


def test_where_the_system_tells_less_the_id_has_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(leases, "PROC", tmp_path)
    me = this_process()
    assert (me.start, me.machine) == ("", me.host)
    assert is_alive(me)
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        pass
    assert is_alive(replace(me, pid=child.pid)) is False
    assert is_alive(replace(me, pid=1))  # whether or not we may send it signals

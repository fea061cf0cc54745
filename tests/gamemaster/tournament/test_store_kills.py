"""Processes that are killed at any moment: nothing is half written, and nothing that was said to be written is lost."""

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from sqlalchemy import select, text

from gamemaster.tournament.pairings import MatchResult, result_of
from gamemaster.tournament.store import Counts, Store, open_store
from gamemaster.tournament.store import schema as t
from gamemaster.tournament.store.database import _check_file
from tests.gamemaster.tournament import store_jobs
from tests.gamemaster.tournament.store_matches import a_pairing, a_spec
from tests.gamemaster.tournament.store_nursery import Nursery


def check_whole(store: Store) -> dict[str, MatchResult]:
    """Every result has its record and its parts, nothing else has any, and the sums are right; the results."""
    results = {result.pairing.id: result for result in store.results("cup")}
    rows = store.matches("cup", limit=10_000).rows
    assert {row.pairing for row in rows if row.status == "finished"} == results.keys()
    assert len({row.pairing for row in rows}) == len(rows)
    for name, result in results.items():
        assert result == result_of(result.pairing, store.record("cup", name))
        assert len(result.roles) == len(result.pairing.players) == 2
    with store._database.reading() as connection:
        finished = select(t.matches.c.id).where(t.matches.c.status == "finished")
        stray = select(t.results.c.match_id).where(t.results.c.match_id.not_in(finished))
        assert connection.execute(stray).all() == []
        if connection.dialect.name == "sqlite":
            assert connection.execute(text("PRAGMA integrity_check")).scalar_one() == "ok"
            assert connection.execute(text("PRAGMA foreign_key_check")).all() == []
    sums = Counter(role for result in results.values() for role in result.roles)
    assert {row.role: row.matches for row in store.statistics("cup")} == sums
    return results


BEFORE = {"begin": None, "keep": "running", "finish": "running", "fail": "running", "leave": "running"}
AFTER = {"begin": "running", "keep": "running", "finish": "finished", "fail": "failed", "leave": "given up"}


@pytest.mark.parametrize(
    ("store_url", "call"),
    [*(("sqlite", call) for call in BEFORE), ("postgresql", "finish")],
    indirect=["store_url"],
)
def test_a_call_that_is_killed_before_any_of_its_statements_did_nothing(
    call: str, store: Store, store_url: str, nursery: Nursery
) -> None:
    store.create(a_spec())
    has_survived = False
    number = 0
    while not has_survived:
        worker = nursery.start(store_jobs.die_within, store_url, call, number, number + 1)
        has_survived = worker.next() == "survived"
        pairing = a_pairing(number).id
        statuses = {row.pairing: row.status for row in store.matches("cup").rows}
        assert statuses.get(pairing) == (AFTER if has_survived else BEFORE)[call], f"statement {number + 1}"
        assert (pairing in check_whole(store)) == (has_survived and call == "finish")
        worker.kill() if has_survived else worker.wait()
        number += 1
    assert number > 4  # there were statements to be killed at
    with store.manage("cup") as manager:  # and whoever comes next can go on
        for again in range(number - 1):
            assert manager.begin(a_pairing(again)) in (1, 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("store_url", "seed"), [("sqlite", 1), ("sqlite", 2), ("postgresql", 3)], indirect=["store_url"]
)
def test_nothing_is_lost_or_doubled_by_random_kills(seed: int, store: Store, store_url: str, nursery: Nursery) -> None:
    store.create(a_spec())
    choice = random.Random(seed)
    total = 60
    known: dict[str, MatchResult] = {}
    for _ in range(6):
        worker = nursery.start(store_jobs.finish_many, store_url, total)
        said = [worker.next() for _ in range(choice.randrange(1, 9))]
        for _ in range(choice.randrange(3000)):
            pass  # anywhere within the next match
        worker.kill()
        results = check_whole(store)
        assert {a_pairing(number).id for number in said} <= results.keys()
        assert known.items() <= results.items()
        assert len(results) <= len(known) + len(said) + 20
        known = results
    worker = nursery.start(store_jobs.finish_many, store_url, total)
    while worker.next() != "all":
        pass
    worker.wait()
    results = check_whole(store)
    assert known.items() <= results.items()
    assert list(results) == [a_pairing(number).id for number in range(total)]
    assert store.tournament("cup").counts == Counts(finished=total)


def test_many_processes_may_make_the_same_store(store_url: str, nursery: Nursery) -> None:
    workers = [nursery.start(store_jobs.open_and_create, store_url) for _ in range(5)]
    assert [worker.next() for worker in workers] == ["ready"] * 5
    for worker in workers:
        worker.tell()
    assert [worker.next() for worker in workers] == ["done"] * 5
    with open_store(store_url) as store:
        assert len(store.tournaments()) == 5
        with store._database.reading() as connection:
            assert len(connection.execute(select(t.store)).all()) == 1


def test_many_threads_may_make_the_same_file(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        for number in range(20):
            path = tmp_path / f"{number}.sqlite"
            start = Barrier(8)

            def make(path: Path = path, start: Barrier = start) -> None:
                start.wait()
                _check_file(path, str(path), create=True)

            for made in [threads.submit(make) for _ in range(8)]:
                made.result()

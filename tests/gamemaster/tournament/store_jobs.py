"""What other processes do with a store; each job says what it has done, and waits where it is told to."""

import os
import signal
from collections.abc import Callable
from itertools import count

from sqlalchemy import event

from gamemaster.tournament.store import Manager, Store, open_store
from ggp.errors import StoreError
from tests.gamemaster.tournament.store_matches import a_pairing, a_record, a_spec

Say = Callable[[object], None]
Wait = Callable[[], str]


def open_and_create(say: Say, wait: Wait, url: str) -> None:
    """Opens a store that may not be there yet, and makes a tournament of its own."""
    say("ready")
    wait()
    with open_store(url) as store:
        store.create(a_spec(f"cup{os.getpid()}"))
    say("done")


def manage(say: Say, wait: Wait, url: str) -> None:
    """Tries to become the manager; if so, stays it until it hears something."""
    with open_store(url) as store:
        say("ready")
        wait()
        try:
            with store.manage("cup"):
                say("won")
                wait()
        except StoreError as error:
            say(str(error))
    say("left")


def keep_single(say: Say, wait: Wait, url: str, steps: int, is_over: bool) -> None:
    """Writes a match of no tournament as it is after some steps, or over, and waits."""
    with open_store(url) as store:
        say(store.keep_single(a_record(a_pairing(steps), steps, status="terminal" if is_over else "running")))
        wait()


def finish_many(say: Say, wait: Wait, url: str, total: int) -> None:
    """Manages, and plays all pairings that have no result: says each when it is finished."""
    with open_store(url) as store, store.manage("cup") as manager:
        done = {result.pairing.id for result in store.results("cup")}
        for number in range(total):
            pairing = a_pairing(number)
            if pairing.id not in done:
                play(manager, number)
                say(number)
    say("all")


def play(manager: Manager, number: int) -> None:
    pairing = a_pairing(number)
    record = a_record(pairing, 1 + number % 5)
    manager.begin(pairing)
    manager.keep(pairing, record.model_copy(update={"status": "running", "goals": None, "finished": None}))
    manager.finish(pairing, record)


def die_within(say: Say, wait: Wait, url: str, call: str, number: int, statement: int) -> None:
    """Dies before the statement with this number, the commit included, of a call about a match."""
    pairing = a_pairing(number)
    record = a_record(pairing)
    calls: dict[str, Callable[[Manager], object]] = {
        "begin": lambda manager: manager.begin(pairing),
        "keep": lambda manager: manager.keep(pairing, record.model_copy(update={"status": "running"})),
        "finish": lambda manager: manager.finish(pairing, record),
        "fail": lambda manager: manager.fail(pairing, "our fault"),
        "leave": lambda manager: manager.__exit__(None, None, None),
    }
    with open_store(url) as store, store.manage("cup") as manager:
        if call != "begin":
            manager.begin(pairing)
        die_at(store, statement)
        calls[call](manager)
        say("survived")
        wait()


def die_at(store: Store, statement: int) -> None:
    numbers = count(1)

    def strike(*_: object) -> None:
        if next(numbers) == statement:
            os.kill(os.getpid(), signal.SIGKILL)

    for moment in ("before_cursor_execute", "commit"):
        event.listen(store._database._engine, moment, strike)

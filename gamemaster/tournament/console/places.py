"""What a user names → a tournament in a store."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gamemaster.tournament.spec import TournamentSpec, read_spec
from gamemaster.tournament.store import Store, Stored, open_store
from ggp.errors import SettingsError, StoreError

SQLITE = b"SQLite format 3\0"  # how such a file begins


@dataclass(frozen=True, slots=True)
class Found:
    """A tournament that was begun."""

    store: Store
    stored: Stored
    where: str  # how the user named it
    spec: TournamentSpec | None  # the specification as the user's file has it now, if it was a file

    @property
    def name(self) -> str:
        return self.stored.spec.name


@contextmanager
def found(where: str, name: str | None) -> Iterator[Found]:
    """The tournament of a specification, or of a store; SettingsError or StoreError where it was not begun."""
    spec = None if is_store(where) else read_spec(Path(where))
    place = where if spec is None else spec.results.store
    if spec is not None and "://" not in place and not Path(place).exists():
        raise _not_begun(spec.name, where)
    with open_store(place, create=False) as store:
        yield Found(store, _stored(store, where, name, spec), where, spec)


def is_store(where: str) -> bool:
    """Whether it is a database rather than a specification."""
    if "://" in where:
        return True
    try:
        with Path(where).open("rb") as file:
            return file.read(len(SQLITE)) == SQLITE
    except OSError:
        return False


def resume_command(where: str, name: str | None = None) -> str:
    """What to type to go on."""
    words = ["ggp", "tournament", "resume", where, *(["--name", name] if name else [])]
    return shlex.join(words)


def _stored(store: Store, where: str, name: str | None, spec: TournamentSpec | None) -> Stored:
    if spec is not None:
        if name not in (None, spec.name):
            raise SettingsError(f"--name: {where} specifies {spec.name}, not {name}")
        if spec.name not in {stored.spec.name for stored in store.tournaments()}:
            raise _not_begun(spec.name, where)
        return store.tournament(spec.name)
    if name is not None:
        return store.tournament(name)
    everything = store.tournaments()
    if len(everything) != 1:
        names = ", ".join(stored.spec.name for stored in everything)
        raise StoreError(f"{store.place}: " + (f"--name says which: there are {names}" if names else "no tournament"))
    return everything[0]


def _not_begun(name: str, where: str) -> SettingsError:
    return SettingsError(f"{name} was not begun yet: `{shlex.join(['ggp', 'tournament', 'run', where])}` does it")

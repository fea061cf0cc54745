"""What was learned of a game, as files: the net that players use, and all that training goes on from.

    NAME             the best net, for which rules it is, and how it came about
    NAME.training    the state of all learners, so that training that was cut off gives what it would have given
    NAME.matches     of the cache: the net that a player has learned in its matches

All have the form of entries of the cache (`ggp.cache`): nothing is unpickled, a checksum finds damage, and a file is
replaced in one step. They belong to one rulesheet and one circuit, whose facts and moves are known by their numbers.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from numpy.typing import NDArray

from ggp.cache import CacheEntry, knowledge_folder, read_entry, write_entry
from ggp.circuit.compile import CompiledGame
from ggp.errors import KnowledgeError, SettingsError
from ggp.gdl.rulesheet import Rulesheet
from ggp.gdl.terms import to_text
from ggp.learning.net import Net, arrays_of, net_of
from ggp.learning.settings import AUTO, NO_KNOWLEDGE, TrainingSettings
from ggp.learning.training import Expert, Generation, Host, Training, net_problem

VERSION = 7
SUFFIX, TRAINING, MATCHES = ".knowledge", ".training", ".matches"
_NET, _TRAINING = (sha256(b"ggp " + kind).digest() for kind in (b"knowledge", b"training"))
_LARGEST = 2**32  # bytes of a file

T = TypeVar("T")
Arrays: TypeAlias = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class TrainingSummary:
    """How a net came about."""

    game: str  # its name, for people
    seconds: float  # of training
    matches: int
    samples: int
    elo: float  # more than that of the net at the beginning, both playing by one-ply lookahead
    seed: int


@dataclass(frozen=True, slots=True, eq=False)
class Knowledge:
    """A net and its origin."""

    net: Net
    origin: TrainingSummary


def automatic_path(rulesheet: Rulesheet) -> Path | None:
    """The file of the cache for these rules; None where there is no cache. OSError where it cannot be used."""
    folder = knowledge_folder()
    return None if folder is None else folder / f"{rulesheet.sha256}{SUFFIX}"


def matches_path(rulesheet: Rulesheet) -> Path | None:
    """As `automatic_path`, of what players have learned in matches. Training neither reads nor writes it."""
    path = automatic_path(rulesheet)
    return None if path is None else path.with_name(path.name + MATCHES)


def find_knowledge(choice: str, rulesheet: Rulesheet, game: CompiledGame) -> Knowledge | None:
    """What a user's choice means: a file, AUTO or NO_KNOWLEDGE; KnowledgeError as by `load_knowledge`.

    AUTO: of training or of matches, whichever saw more samples.
    """
    if choice == NO_KNOWLEDGE:
        return None
    if choice != AUTO:
        return load_knowledge(Path(choice), rulesheet, game)
    try:
        paths = [path for path in (automatic_path(rulesheet), matches_path(rulesheet)) if path and path.exists()]
    except OSError as error:
        raise KnowledgeError(f"the cache's knowledge cannot be read: {error.strerror or error}") from None
    found, problems = list[Knowledge](), list[KnowledgeError]()
    for path in paths:
        try:
            found.append(load_knowledge(path, rulesheet, game))
        except KnowledgeError as error:
            problems.append(error)
    if problems and not found:
        raise problems[0]
    return max(found, key=lambda each: each.origin.samples, default=None)


def save_after_match(knowledge: Knowledge, rulesheet: Rulesheet, game: CompiledGame) -> Path | None:
    """Saves what was learned in a match, for the next one, unless another match has saved more meanwhile.

    None where nothing was saved; OSError where it cannot be.
    """
    path = matches_path(rulesheet)
    if path is None or net_problem(arrays_of(knowledge.net), game):  # learning may have diverged
        return None
    with suppress(KnowledgeError):  # what cannot be read is replaced
        if path.exists() and load_knowledge(path, rulesheet, game).origin.samples >= knowledge.origin.samples:
            return None
    save_knowledge(path, knowledge, rulesheet, game)
    return path


def save_knowledge(path: Path, knowledge: Knowledge, rulesheet: Rulesheet, game: CompiledGame) -> None:
    """Whole or not at all; OSError where it cannot be written."""
    notes = _notes(rulesheet, game) | {"origin": asdict(knowledge.origin)}
    write_entry(path, CacheEntry(arrays_of(knowledge.net), notes), _NET)


def load_knowledge(path: Path, rulesheet: Rulesheet, game: CompiledGame) -> Knowledge:
    """KnowledgeError, with the file, for one that is damaged, of another version, or about other rules."""
    entry = _read(path, _NET)
    origin = _value(path, TrainingSummary, entry.notes.get("origin"))
    _check_rules(path, entry, rulesheet, game)
    return Knowledge(_checked_net(path, entry.arrays, game), origin)


def read_origin(path: Path) -> TrainingSummary:
    """Where no rules are known yet; KnowledgeError as by `load_knowledge`."""
    return _value(path, TrainingSummary, _read(path, _NET).notes.get("origin"))


def save_training(path: Path, training: Training, rulesheet: Rulesheet, name: str) -> None:
    """The files of training that may go on, and of what it has learned; OSError where they cannot be written."""
    game = training.game
    notes = _notes(rulesheet, game) | {
        "settings": asdict(training.settings),
        "generations": list(map(asdict, training.generations)),
        "seconds": training.seconds,
    }
    write_entry(path.with_name(path.name + TRAINING), CacheEntry(training.state(), notes), _TRAINING)
    origin = TrainingSummary(
        name, training.seconds, training.matches, training.samples, training.elo, training.settings.seed
    )  # fmt: skip
    save_knowledge(path, Knowledge(training.best, origin), rulesheet, game)


def load_training(
    path: Path, rulesheet: Rulesheet, game: CompiledGame, host: Host | None = None, expert: Expert | None = None
) -> Training | None:
    """Training that goes on where the file ends; None where there is none. KnowledgeError as by `load_knowledge`."""
    whole = path.with_name(path.name + TRAINING)
    if path.exists():
        load_knowledge(path, rulesheet, game)
        if not whole.exists():
            raise _wrong(path, f"training cannot go on without {whole.name}; give another file, or remove this one")
    elif not whole.exists():
        return None
    entry = _read(whole, _TRAINING)
    settings = _value(whole, TrainingSettings, entry.notes.get("settings"))
    _check_rules(whole, entry, rulesheet, game)
    try:
        generations = [
            Generation(**{**each, "pairs": tuple(each["pairs"])}) for each in entry.notes.get("generations", ())
        ]
        training = Training(game, settings, host=host, expert=expert)
        training.restore(entry.arrays, generations, float(entry.notes["seconds"]))
    except (TypeError, ValueError, KeyError) as error:
        raise _wrong(whole, f"no state of training: {error}") from None
    return training


def _notes(rulesheet: Rulesheet, game: CompiledGame) -> dict[str, Any]:
    return {"version": VERSION, "rules": rulesheet.sha256, "circuit": _circuit_key(game), "name": rulesheet.source}


def _circuit_key(game: CompiledGame) -> str:
    """The same for circuits with the same roles, facts, moves and goal values in the same order."""
    names = [
        list(game.roles),
        list(map(to_text, game.facts)),
        [list(map(to_text, moves)) for moves in game.moves],
        [list(goals) for goals in game.goals],
    ]
    return sha256(json.dumps(names).encode(errors="surrogatepass")).hexdigest()


def _read(path: Path, identity: bytes) -> CacheEntry:
    try:
        if path.stat().st_size > _LARGEST or not path.is_file():
            raise _wrong(path, "no knowledge file")
        entry = read_entry(path, identity)
    except OSError as error:
        raise _wrong(path, error.strerror or str(error)) from None
    if entry is None or not isinstance(entry.notes, dict):
        raise _wrong(path, "no knowledge file, or a damaged one")
    if entry.notes.get("version") != VERSION:
        raise _wrong(path, f"version {entry.notes.get('version')!r}; this program reads version {VERSION}")
    return entry


def _check_rules(path: Path, entry: CacheEntry, rulesheet: Rulesheet, game: CompiledGame) -> None:
    if entry.notes.get("rules") != rulesheet.sha256:
        raise _wrong(path, f"it was learned for other rules ({entry.notes.get('name')})")
    if entry.notes.get("circuit") != _circuit_key(game):
        raise _wrong(path, "it was learned for another circuit of these rules, which another version of ggp has made")


def _value(path: Path, kind: type[T], given: Any) -> T:  # noqa: ANN401 - whatever the file has
    """A dataclass from the notes of a file."""
    try:
        return kind(**given)
    except (TypeError, SettingsError):
        raise _wrong(path, "no knowledge file: its notes are not complete") from None


def _checked_net(path: Path, arrays: Arrays, game: CompiledGame) -> Net:
    problem = net_problem(arrays, game)
    if problem:
        raise _wrong(path, problem)
    return net_of(arrays)


def _wrong(path: Path, reason: str) -> KnowledgeError:
    return KnowledgeError(f"{path}: {reason}")

"""What was learned of a game, as a file: the weights of a net, for which rules they are, and how they came about.

A file is NumPy's `npz` without pickled objects. It belongs to one circuit: inputs and moves are known by their numbers,
so the names of all facts and moves are part of what is compared.
"""

import json
import zipfile
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from ggp.circuit.compile import CompiledGame
from ggp.errors import KnowledgeError
from ggp.gdl.terms import to_text
from ggp.learning.net import HIDDEN, NO_INPUT, Net

VERSION = 1
_HEADER = "header"
_LARGEST = 2**30  # bytes of the arrays of a file


@dataclass(frozen=True, slots=True)
class Origin:
    """How a net came about."""

    game: str  # its name, for people
    seconds: float  # of learning
    matches: int
    samples: int
    seed: int


@dataclass(frozen=True, slots=True, eq=False)
class Knowledge:
    """A net and its origin."""

    net: Net
    origin: Origin


def circuit_key(game: CompiledGame) -> str:
    """The same for circuits with the same roles, facts, moves and goal values in the same order."""
    names = [
        list(game.roles),
        list(map(to_text, game.facts)),
        [list(map(to_text, moves)) for moves in game.moves],
        [list(goals) for goals in game.goals],
    ]
    return sha256(json.dumps(names).encode(errors="surrogatepass")).hexdigest()


def save_knowledge(path: Path, knowledge: Knowledge, game: CompiledGame) -> None:
    """Whole or not at all; OSError where it cannot be written."""
    header = {"version": VERSION, "circuit": circuit_key(game), "origin": asdict(knowledge.origin)}
    arrays: dict[str, Any] = {_HEADER: np.frombuffer(json.dumps(header).encode(), np.uint8)}
    arrays |= knowledge.net._asdict()
    unfinished = path.with_name(f".{path.name}.unfinished")
    with unfinished.open("wb") as file:
        np.savez(file, **arrays)
    unfinished.replace(path)


def load_knowledge(path: Path, game: CompiledGame) -> Knowledge:
    """KnowledgeError, with the file, for one that is damaged, of another version, or about other rules."""
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(part.file_size for part in archive.infolist()) > _LARGEST:
                raise _wrong(path, f"it has more than {_LARGEST} bytes")
        with np.load(path, allow_pickle=False) as found:
            arrays = {name: found[name] for name in found.files}
    except OSError as error:
        raise _wrong(path, error.strerror or str(error)) from None
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile, NotImplementedError) as error:
        raise _wrong(path, f"no knowledge file: {error}") from None
    origin = _checked_header(path, arrays.pop(_HEADER, None), game)
    return Knowledge(_checked_net(path, arrays, game), origin)


def _checked_header(path: Path, data: Any, game: CompiledGame) -> Origin:  # noqa: ANN401 - whatever the file has
    try:
        header = json.loads(bytes(data))
        version, key, origin = header["version"], header["circuit"], Origin(**header["origin"])
    except (TypeError, ValueError, KeyError):
        raise _wrong(path, "no knowledge file: it has no readable header") from None
    if version != VERSION:
        raise _wrong(path, f"version {version!r}; this program reads version {VERSION}")
    if key != circuit_key(game):
        raise _wrong(path, f"it was learned for other rules ({origin.game})")
    return origin


def _checked_net(path: Path, arrays: dict[str, Any], game: CompiledGame) -> Net:
    if arrays.keys() != set(Net._fields):
        raise _wrong(path, "its arrays are not those of a net")
    inputs = len(arrays["first"]) if arrays["first"].ndim else 0
    roles, moves = len(game.roles), sum(map(len, game.moves))
    shapes = {
        "input_of_fact": (game.circuit.facts,), "first": (inputs, HIDDEN), "first_bias": (HIDDEN,),
        "value": (roles, HIDDEN), "value_bias": (roles,), "policy": (moves, HIDDEN), "policy_bias": (moves,),
    }  # fmt: skip
    for name, shape in shapes.items():
        dtype = np.int32 if name == "input_of_fact" else np.float32
        if arrays[name].shape != shape or arrays[name].dtype != dtype:
            raise _wrong(path, f"{name} is {arrays[name].dtype}{arrays[name].shape}, not {np.dtype(dtype)}{shape}")
        if dtype == np.float32 and not np.isfinite(arrays[name]).all():
            raise _wrong(path, f"{name} has values that are not finite")
    places = arrays["input_of_fact"]
    if ((places < NO_INPUT) | (places >= inputs)).any():
        raise _wrong(path, "a fact has an input that does not exist")
    return Net(**{name: np.ascontiguousarray(array) for name, array in arrays.items()})


def _wrong(path: Path, reason: str) -> KnowledgeError:
    return KnowledgeError(f"{path}: {reason}")

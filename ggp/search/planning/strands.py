"""A game with one role → strands: small parts of the state, each of which needs only itself to know its next value.

A strand is a set of facts that is closed under what their `next` reads: a piece with its place, a counter. Its values
that can come up are numbered, so that a state is a row of numbers, and a step is one look-up for each.
"""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.assembly import Assembly
from ggp.circuit.circuit import Circuit
from ggp.circuit.network import Ids
from ggp.circuit.schedule import mark_needed
from ggp.simulation.evaluate import Batches, Bits, pack, unpack

_MOST_FACTS = 4000
_MOST_VALUES = 2000  # of a strand
_STEPS = 2000  # of a strand, that are looked up at once

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Strands:
    """K strands that the highest goal reads; value 0 of each is that of the first state."""

    sizes: Ids  # (K,) how many values each has
    following: Ids  # (K, most values, moves) the next value; -1: the move is not legal
    wanted: Flags  # (K, most values) whether the highest goal may hold with that value


@dataclass(frozen=True, slots=True, eq=False)
class _Strand:
    following: Ids  # (values, moves)
    wanted: Flags  # (values,)


def find_strands(batches: Batches, state: Bits) -> Generator[None, None, Strands | None]:
    """The strands, found some milliseconds at a time; None where they are large, or do not say what is legal."""
    circuit = batches.game.circuit
    if circuit.facts > _MOST_FACTS or not len(circuit.goals):
        return None
    reads = yield from _closed((yield from _reads(circuit, circuit.next)))
    by_legal = yield from _reads(circuit, circuit.legal)
    parts = _largest(reads)
    if not all((reading <= parts).all(axis=1).any() for reading in by_legal):
        return None
    first = unpack(state, circuit.facts)[0]
    found: list[_Strand] = []
    for part in parts:
        judged = (by_legal <= part).all(axis=1)
        values = [first & part]
        numbers = {values[0].tobytes(): 0}
        rows: list[NDArray[np.int32]] = []
        while len(rows) < len(values):
            rows += _step(batches, part, judged, values, numbers, len(rows))
            if len(values) > _MOST_VALUES:
                return None
            yield
        wanted = yield from _may_win(circuit, part, values)
        if not wanted.all():
            found.append(_Strand(np.array(rows), wanted))
    return _joined(found) if found else None


def _step(
    batches: Batches, part: Flags, judged: Flags, values: list[Flags], numbers: dict[bytes, int], done: int
) -> list[NDArray[np.int32]]:
    """The next values of some that are not done; new values are appended."""
    moves = int(batches.first_move[1])
    given = pack(np.array(values[done : done + max(1, _STEPS // moves)]))
    legal = unpack(batches.legal(given), moves) | ~judged
    repeated = np.repeat(given, moves, axis=0)
    done_moves = np.tile(np.arange(moves, dtype=np.int32), len(given))[:, np.newaxis]
    after = unpack(batches.next_states(repeated, done_moves), len(part)) & part
    rows = np.full((len(given), moves), -1, np.int32)
    for row, move in zip(*np.nonzero(legal), strict=True):
        value = after[row * moves + move]
        number = numbers.setdefault(value.tobytes(), len(values))
        if number == len(values):
            values.append(value)
        rows[row, move] = number
    return list(rows)


def _reads(circuit: Circuit, outputs: Ids) -> Generator[None, None, Flags]:
    """(outputs, F) the facts that each depends on."""
    found = np.empty((len(outputs), circuit.facts), np.bool_)
    for row in range(len(outputs)):
        needed = mark_needed(circuit.left, circuit.right, circuit.loops.results, outputs[row : row + 1])
        found[row] = needed[1 : 1 + circuit.facts]
        yield
    return found


def _closed(reads: Flags) -> Generator[None, None, Flags]:
    """(F, F) each fact with all that it needs, however indirectly."""
    parts = reads | np.eye(len(reads), dtype=np.bool_)
    for fact in range(len(parts)):
        while (wider := reads[parts[fact]].any(axis=0) | parts[fact]).sum() > parts[fact].sum():
            parts[fact] = wider
        yield
    return parts


def _largest(parts: Flags) -> Flags:
    """Those that are in no other."""
    distinct = np.unique(parts, axis=0)
    inside = [(part <= distinct).all(axis=1).sum() > 1 for part in distinct]
    largest: Flags = distinct[~np.array(inside)]
    return largest


def _may_win(circuit: Circuit, part: Flags, values: list[Flags]) -> Generator[None, None, Flags]:
    """Whether the highest goal is not ruled out by each value of the strand alone."""
    assembly = Assembly((1 + len(values)) * len(circuit.left) + 1024)
    unknown = assembly.inputs(circuit.facts)
    found = np.empty(len(values), np.bool_)
    for number, value in enumerate(values):
        facts = np.where(part, value.astype(np.int64), unknown)
        inputs = np.concatenate([facts, np.zeros(sum(circuit.moves), np.int64)])
        found[number] = assembly.copy(circuit, inputs, circuit.goals[-1:])[0] != 0
        yield
    return found


def _joined(found: list[_Strand]) -> Strands:
    sizes = np.array([len(strand.wanted) for strand in found], np.int32)
    most, moves = int(sizes.max()), found[0].following.shape[1]
    following = np.full((len(found), most, moves), -1, np.int32)
    wanted = np.zeros((len(found), most), np.bool_)
    for strand, size, rows, row in zip(found, sizes.tolist(), following, wanted, strict=True):
        rows[:size], row[:size] = strand.following, strand.wanted
    return Strands(sizes, following, wanted)

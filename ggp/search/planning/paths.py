"""Sequences of moves of the only role, and what random playouts show of a game.

The playouts here note all their moves, as the best becomes a path; the playout loop of `simulation.playout` does not.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ggp.simulation.evaluate import Batches, Bits, unpack

_TRIALS = 256  # orders of the same moves
_SAMPLED = 256  # playouts
_SAMPLED_STEPS = 500  # at most, of each
_PAIRS = 64  # of moves, at each step


@dataclass(frozen=True, slots=True)
class Path:
    """Moves that lead to a terminal state, and the goal value there."""

    moves: tuple[int, ...]  # numbered within the role
    value: int


@dataclass(frozen=True, slots=True)
class Sample:
    """What random playouts from a state show."""

    best: Path | None  # the best that came to an end
    lengths: tuple[int, ...]  # of those that came to an end, ascending
    commuting: float  # how often two moves that could follow each other could as well be swapped, 0 to 1


def follow(batches: Batches, state: Bits, moves: list[int]) -> Path | None:
    """The path up to the first terminal state; None when there is none, or a move before it is not legal."""
    for at in range(len(moves) + 1):
        legal, terminal = batches.look(state)
        if terminal[0]:
            return Path(tuple(moves[:at]), values(batches, state)[0])
        if at == len(moves) or not int(legal[0, moves[at] // 64]) >> moves[at] % 64 & 1:
            return None
        state = batches.next_states(state, np.array([[moves[at]]], np.int32))
    return None


def values(batches: Batches, states: Bits) -> list[int]:
    """Goal values; 0 where the rules give none or several."""
    found: list[int] = np.maximum(batches.goals(states)[:, 0], 0).tolist()
    return found


def arrange(batches: Batches, state: Bits, moves: list[int], rng: np.random.Generator) -> Path | None:
    """The best of many random orders of the moves that can all be done; None when none comes to an end."""
    kept = np.zeros(int(batches.first_move[1]), np.bool_)
    kept[moves] = True
    left = np.repeat(kept[np.newaxis], _TRIALS, axis=0)
    playouts = _Playouts(batches, state, _TRIALS)
    while playouts.running:
        playouts.step(rng, left)
    return playouts.best


class Sampling:
    """Random playouts from a state, a step at a time."""

    def __init__(self, batches: Batches, state: Bits, rng: np.random.Generator) -> None:
        self._batches = batches
        self._rng = rng
        self._playouts = _Playouts(batches, state, _SAMPLED)
        self._steps = self._swapped = self._tried = 0

    @property
    def is_done(self) -> bool:
        return not self._playouts.running or self._steps == _SAMPLED_STEPS

    @property
    def best(self) -> Path | None:
        return self._playouts.best

    @property
    def sample(self) -> Sample:
        commuting = self._swapped / self._tried if self._tried else 0.0
        return Sample(self.best, tuple(sorted(self._playouts.lengths)), commuting)

    def advance(self) -> None:
        """A step in all playouts."""
        swapped, tried = _count_commuting(self._batches, self._playouts.states[:_PAIRS], self._rng)
        self._swapped, self._tried = self._swapped + swapped, self._tried + tried
        self._steps += 1
        self._playouts.step(self._rng, None)


class _Playouts:
    """Random playouts at the same time; those that have ended are dropped."""

    def __init__(self, batches: Batches, state: Bits, count: int) -> None:
        self._batches = batches
        self.states = np.repeat(state, count, axis=0)
        self._lanes = np.arange(count)
        self._moves: list[NDArray[np.int32]] = []  # of each step, by lane
        self._count = count
        self.lengths: list[int] = []
        self.best: Path | None = None

    @property
    def running(self) -> bool:
        return len(self.states) > 0

    def step(self, rng: np.random.Generator, left: NDArray[np.bool_] | None) -> None:
        """A random legal move in each, of those in `left` only, each of which is done once."""
        bits, terminal = self._batches.look(self.states)
        if terminal.any():
            self._collect(terminal)
            self._keep(~terminal)
            bits = bits[~terminal]
        if not len(bits):
            return
        legal = unpack(bits, int(self._batches.first_move[1]))
        if left is not None:
            legal = legal & left[self._lanes]
        able = np.asarray(legal.any(axis=1))
        if not able.all():
            legal = legal[able]
            self._keep(able)
        chosen = choose(legal, rng)
        if left is not None:
            left[self._lanes, chosen] = False
        done = np.full(self._count, -1, np.int32)
        done[self._lanes] = chosen
        self._moves.append(done)
        self.states = self._batches.next_states(self.states, chosen[:, np.newaxis])

    def _keep(self, which: NDArray[np.bool_]) -> None:
        self.states, self._lanes = self.states[which], self._lanes[which]

    def _collect(self, ended: NDArray[np.bool_]) -> None:
        found = values(self._batches, self.states[ended])
        self.lengths += [len(self._moves)] * len(found)
        at = int(np.argmax(found))
        if self.best is None or found[at] > self.best.value:
            lane = self._lanes[ended][at]
            self.best = Path(tuple(int(moves[lane]) for moves in self._moves), found[at])


def choose(legal: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.int32]:
    """A random one of those that are legal, for each row; each row has one."""
    found: NDArray[np.int32] = ((1 - rng.random(legal.shape, np.float32)) * legal).argmax(axis=1).astype(np.int32)
    return found


def _count_commuting(batches: Batches, states: Bits, rng: np.random.Generator) -> tuple[int, int]:
    """Of pairs of legal moves of which one can follow the other, how many lead to the same when swapped.

    Moves that end the match are in no pair.
    """
    count = int(batches.first_move[1])
    bits, terminal = batches.look(states)
    legal = unpack(bits, count)
    several = (legal.sum(axis=1) > 1) & ~terminal
    states, legal = states[several], legal[several]
    if not len(states):
        return 0, 0
    rows = np.arange(len(states))
    first = choose(legal, rng)
    others = legal.copy()
    others[rows, first] = False
    second = choose(others, rng)
    after_first = batches.next_states(states, first[:, np.newaxis])
    after_second = batches.next_states(states, second[:, np.newaxis])
    (legal_first, over_first), (legal_second, over_second) = batches.look(after_first), batches.look(after_second)
    tried = unpack(legal_first, count)[rows, second] & ~over_first & ~over_second
    both = tried & unpack(legal_second, count)[rows, first]
    if not both.any():
        return 0, int(tried.sum())
    one = batches.next_states(after_first[both], second[both][:, np.newaxis])
    other = batches.next_states(after_second[both], first[both][:, np.newaxis])
    return int((one == other).all(axis=1).sum()), int(tried.sum())

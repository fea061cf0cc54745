"""Self-play and fitting in turns: a game → a net that grows better as long as it is given time."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.compile import CompiledGame
from ggp.circuit.network import Ids
from ggp.kernel import Int
from ggp.learning.net import (
    MATCHES,
    MOVES,
    NO_INPUT,
    SAMPLES,
    Net,
    copied,
    fit,
    make_fitting,
    make_net,
    make_samples,
)
from ggp.learning.self_play import CAPPED, STEPS, VALUED, SelfPlaySettings, make_self_play, play_on
from ggp.simulation.evaluate import Batches
from ggp.simulation.expansion import OVER

FIRST_SAMPLES = 4096  # before anything is fitted
PLACES = 180_000  # of samples that are kept
BATCH = 512  # samples of a step of fitting
USES = 3.0  # how often a sample is fitted, about
RATE, LEAST_RATE = 2e-3, 2e-4  # of learning, at first and in the end
_SLOWING = 300_000  # samples at which the rate is down to 1 / √2
_MOST_INPUTS = 4096
_MOVES_OF_SAMPLE = 32  # on average, for which there is room
_SLICE_SECONDS = 0.005  # between two looks at the clock, about


@dataclass(frozen=True, slots=True)
class LearningProgress:
    """What has been done so far."""

    seconds: float  # of processing
    matches: int
    capped: int  # matches that were cut at the cap of steps
    steps: int
    samples: int
    successors: int  # states that were valued
    batches: int  # of fitting
    value_error: float  # mean squared error, of the samples fitted since this was last asked; nan for none
    policy_loss: float  # cross-entropy, likewise


class Learner:
    """Learns one game; used by one thread. Equal seeds and equal slices give equal nets.

    Only for games whose initial state is no end: see `can_learn`.
    """

    def __init__(
        self,
        batches: Batches,
        seed: int = 0,
        settings: SelfPlaySettings = SelfPlaySettings(),  # noqa: B008 - frozen
        net: Net | None = None,
        memory_bytes: int = 2**27,
        known_samples: int = 0,
    ) -> None:
        """`net`: learning goes on with a copy of it, after so many samples; `memory_bytes`: for `PLACES` at most."""
        self.batches = batches
        game = batches.game
        roles, words = len(game.roles), batches.initial.shape[1]
        moves = sum(map(len, game.moves))
        room = min(_MOVES_OF_SAMPLE, max(moves, 1))
        sample_bytes = 8 * words + 4 * roles + 8 * room + 29
        places = min(PLACES, max(memory_bytes // sample_bytes, 2 * FIRST_SAMPLES))
        fresh = make_net(find_inputs(game), roles, moves, seed) if net is None else copied(net)
        self._fitting = make_fitting(fresh)
        self._samples = make_samples(words, roles, places, places * room)
        self._play = make_self_play(batches, settings, places, seed)
        self._random = np.array([2 * seed + 1], np.uint64)
        self._known_samples = known_samples
        self._fitted = 0.0  # samples that had come when fitting last went on
        self._seconds = 0.0
        self._batches_at_once = 1

    @property
    def can_learn(self) -> bool:
        """Whether the initial state is no end."""
        return bool(self._play.start_choice[0] != OVER)

    @property
    def matches(self) -> int:
        """That have come to their end."""
        return int(self._samples.numbers[MATCHES])

    @property
    def samples(self) -> int:
        """That it has seen so far."""
        return int(self._samples.numbers[SAMPLES])

    @property
    def net(self) -> Net:
        """A copy of the newest net."""
        return copied(self._fitting.net)

    def use_net(self, net: Net) -> None:
        """Learning goes on with a copy of this net; the moments of its gradient stay."""
        for own, new in zip(self._fitting.net, net, strict=True):
            own[:] = new

    def state(self) -> dict[str, NDArray[Any]]:
        """All that learning goes on from, in copies: `restore` makes equal slices give equal nets again."""
        samples = self._samples
        written, moves = int(samples.numbers[SAMPLES]), int(samples.numbers[MOVES])
        used = {"moves": moves, "shares": moves}
        found = {f"sample.{name}": array[: used.get(name, written)] for name, array in samples._asdict().items()}
        found["sample.numbers"] = samples.numbers
        found["earlier"] = self._play.earlier[:written]
        found |= self._named_state()
        found["fitted"] = np.array([self._fitted, self._seconds])
        return {name: array.copy() for name, array in found.items()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Goes on from what `state` gave, of a learner of the same game with the same memory.

        ValueError, with nothing changed, where an array is missing or is not like that of this learner.
        """
        samples = {f"sample.{name}": array for name, array in self._samples._asdict().items()}
        numbers = samples.pop("sample.numbers")
        exact = self._named_state() | {"sample.numbers": numbers, "fitted": np.zeros(2)}
        partial = samples | {"earlier": self._play.earlier}
        if state.keys() != exact.keys() | partial.keys():
            raise ValueError("the arrays are not those of this game's learner")
        for name, array in (exact | partial).items():
            given, is_partial = state[name], name in partial
            alike = given.dtype == array.dtype and given.ndim == array.ndim and given.shape[1:] == array.shape[1:]
            if not alike or (len(given) > len(array) if is_partial else len(given) != len(array)):
                raise ValueError(f"{name} is {given.dtype}{given.shape}, not {array.dtype}{array.shape}")
        for name, array in (exact | partial).items():
            array[: len(state[name])] = state[name]
        self._fitted, self._seconds = state["fitted"].tolist()

    def _named_state(self) -> dict[str, NDArray[Any]]:
        """Arrays that are kept whole; all others are written before they are read."""
        play, fitting = self._play, self._fitting
        front = {f"front.{name}": getattr(play.front, name) for name in ("before", "legal", "chooser", "moves")}
        own = {f"play.{name}": getattr(play, name) for name in ("steps", "opening", "last_sample", "random", "numbers")}
        nets = {
            f"{kind}.{name}": getattr(net, name)
            for kind, net in (("net", fitting.net), ("mean", fitting.mean), ("square", fitting.square))
            for name in Net._fields[1:]
        }
        others = {"losses": fitting.losses, "fitting.numbers": fitting.numbers, "random": self._random}
        return front | own | nets | others

    def run(self, stop: Callable[[], bool]) -> None:
        """Learns until `stop()`, which is asked every few milliseconds."""
        while not stop():
            began = perf_counter()
            self.run_slice(self._batches_at_once)
            took = perf_counter() - began
            if took < _SLICE_SECONDS / 2:
                self._batches_at_once = min(2 * self._batches_at_once, 1024)
            elif took > 2 * _SLICE_SECONDS:
                self._batches_at_once = max(self._batches_at_once // 2, 1)

    def run_slice(self, batches: Int) -> None:
        """So many batches of successors, or as many samples fitted as have come since the last fitting."""
        began = perf_counter()
        play, samples, fitting = self._play, self._samples, self._fitting
        known = int(samples.numbers[SAMPLES])
        owed = USES * (known - self._fitted) / BATCH
        if known >= FIRST_SAMPLES and owed >= 1.0:
            steps = int(min(owed, max(batches // 4, 1)))
            fit(fitting, samples, self._random, steps, BATCH, self._rate(known))
            self._fitted += steps * BATCH / USES
        else:
            if known < FIRST_SAMPLES:
                self._fitted = float(known)
            play_on(play, fitting.net, samples, batches)
        self._seconds += perf_counter() - began

    def progress(self) -> LearningProgress:
        """What was done; the losses are those since this was last asked."""
        play, samples, fitting = self._play, self._samples, self._fitting
        squared, entropy, fitted = fitting.losses.tolist()
        fitting.losses[:] = 0.0
        nothing = float("nan")
        return LearningProgress(
            seconds=self._seconds,
            matches=int(samples.numbers[MATCHES]),
            capped=int(play.numbers[CAPPED]),
            steps=int(play.numbers[STEPS]),
            samples=int(samples.numbers[SAMPLES]),
            successors=int(play.numbers[VALUED]),
            batches=int(fitting.numbers[0]),
            value_error=squared / fitted if fitted else nothing,
            policy_loss=entropy / fitted if fitted else nothing,
        )

    def _rate(self, samples: int) -> float:
        return max(LEAST_RATE, RATE / float(np.sqrt(1.0 + (self._known_samples + samples) / _SLOWING)))


def find_inputs(game: CompiledGame) -> Ids:
    """(F,) the input of each fact, or NO_INPUT for one that never changes or that no part of the circuit reads."""
    read = _read_facts(game)
    found = np.full(game.circuit.facts, NO_INPUT, np.int32)
    chosen = np.flatnonzero(read)[:_MOST_INPUTS]
    found[chosen] = np.arange(len(chosen), dtype=np.int32)
    return found


def _read_facts(game: CompiledGame) -> NDArray[np.bool_]:
    """(F,) whether the circuit reads the fact, and it can be true and false."""
    circuit = game.circuit
    used = np.zeros(len(circuit.left), np.bool_)
    gates = np.flatnonzero(circuit.left >= 0)
    used[circuit.left[gates] >> 1] = True
    used[circuit.right[gates] >> 1] = True
    for outputs in (circuit.legal, circuit.goals, np.array([circuit.terminal])):
        used[np.asarray(outputs, np.int64) >> 1] = True
    facts: NDArray[np.bool_] = used[1 : 1 + circuit.facts] & (game.constants < 0)
    return facts


__all__ = ["Learner", "LearningProgress", "find_inputs"]

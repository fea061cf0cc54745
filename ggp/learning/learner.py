"""Self-play and fitting in turns: a game → a net that grows better as long as it is given time."""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.compile import CompiledGame
from ggp.circuit.network import Ids
from ggp.elo import elo_estimate
from ggp.kernel import Int
from ggp.learning.contest import Contest
from ggp.learning.net import (
    MATCHES,
    MOVES,
    NO_INPUT,
    SAMPLES,
    WEIGHTS,
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
TRIAL = 2_000_000  # successors that a net has valued in self-play when it is compared with another one
LEAST_SCORE = 0.55  # of the net that reads moves, in pairs of matches
_MOST_SLICES = 150  # of these matches


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


class _Candidate:
    """A net that learns: its matches of self-play, their samples, and its fitting."""

    def __init__(
        self, batches: Batches, settings: SelfPlaySettings, net: Net, places: int, seed: int, known_samples: int
    ) -> None:
        game = batches.game
        moves = sum(map(len, game.moves))
        legal_words = _words(moves) if len(net.input_of_move) else 0
        room = places * min(_MOVES_OF_SAMPLE, max(moves, 1))
        self.fitting = make_fitting(net)
        self.samples = make_samples(batches.initial.shape[1], legal_words, len(game.roles), places, room)
        self.play = make_self_play(batches, settings, places, seed)
        self.random = np.array([2 * seed + 1], np.uint64)
        self.fitted = 0.0  # samples that had come when fitting last went on
        self._known_samples = known_samples

    @property
    def has_tried(self) -> bool:
        """Whether it has learned enough to be compared with another one; both rings may be full by half then."""
        written = int(self.samples.numbers[SAMPLES])
        return int(self.play.numbers[VALUED]) >= TRIAL or 2 * written >= len(self.samples.states)

    def run_slice(self, batches: Int) -> None:
        play, samples, fitting = self.play, self.samples, self.fitting
        known = int(samples.numbers[SAMPLES])
        owed = USES * (known - self.fitted) / BATCH
        if known >= FIRST_SAMPLES and owed >= 1.0:
            steps = int(min(owed, max(batches // 4, 1)))
            fit(fitting, samples, self.random, steps, BATCH, self._rate(known))
            self.fitted += steps * BATCH / USES
        else:
            if known < FIRST_SAMPLES:
                self.fitted = float(known)
            play_on(play, fitting.net, samples, batches)

    def state(self) -> dict[str, NDArray[Any]]:
        """Views of all that learning goes on from."""
        samples = self.samples
        written, moves = int(samples.numbers[SAMPLES]), int(samples.numbers[MOVES])
        used = {"moves": moves, "shares": moves}
        found = {f"sample.{name}": array[: used.get(name, written)] for name, array in samples._asdict().items()}
        found["earlier"] = self.play.earlier[:written]
        return found | self._whole()

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """ValueError, with nothing changed, where an array is missing or is not like the one here."""
        partial = {f"sample.{name}": array for name, array in self.samples._asdict().items()}
        partial["earlier"] = self.play.earlier
        exact = self._whole()
        partial = {name: array for name, array in partial.items() if name not in exact}
        if state.keys() != exact.keys() | partial.keys():
            raise ValueError("the arrays are not those of this game's learner")
        for name, array in (exact | partial).items():
            given, is_partial = state[name], name in partial
            alike = given.dtype == array.dtype and given.ndim == array.ndim and given.shape[1:] == array.shape[1:]
            if not alike or (len(given) > len(array) if is_partial else len(given) != len(array)):
                raise ValueError(f"{name} is {given.dtype}{given.shape}, not {array.dtype}{array.shape}")
        for name, array in (exact | partial).items():
            array[: len(state[name])] = state[name]
        self.fitted = float(state["fitted"][0])

    def _whole(self) -> dict[str, NDArray[Any]]:
        """Arrays that are kept whole; all others are written before they are read."""
        play, fitting = self.play, self.fitting
        front = {f"front.{name}": getattr(play.front, name) for name in ("before", "legal", "chooser", "moves")}
        own = {f"play.{name}": getattr(play, name) for name in ("steps", "opening", "last_sample", "random", "numbers")}
        nets = {
            f"{kind}.{name}": getattr(net, name)
            for kind, net in (("net", fitting.net), ("mean", fitting.mean), ("square", fitting.square))
            for name in WEIGHTS
        }
        others = {
            "losses": fitting.losses, "fitting.numbers": fitting.numbers, "random": self.random,
            "sample.numbers": self.samples.numbers, "fitted": np.array([self.fitted]),
        }  # fmt: skip
        return front | own | nets | others

    def _rate(self, samples: int) -> float:
        return max(LEAST_RATE, RATE / float(np.sqrt(1.0 + (self._known_samples + samples) / _SLOWING)))


class Learner:
    """Learns one game; used by one thread. Equal seeds and equal slices give equal nets.

    At first two nets learn in turns, one of which reads the legal moves, too; the one that plays better goes on.
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
        self._seed, self._settings = seed, settings
        self._memory_bytes, self._known_samples = memory_bytes, known_samples
        self._seconds = 0.0
        self._batches_at_once = 1
        self._rival: _Candidate | None = None  # its net reads moves
        self._contest: Generator[None, None, NDArray[np.int64]] | None = None
        self._chosen = self._candidate(net, reads_moves=False)
        if net is None and sum(map(len, batches.game.moves)) <= _MOST_INPUTS:
            self._rival = self._candidate(None, reads_moves=True)

    @property
    def can_learn(self) -> bool:
        """Whether the initial state is no end."""
        return bool(self._chosen.play.start_choice[0] != OVER)

    @property
    def reads_moves(self) -> bool | None:
        """Whether legal moves are inputs of the net; None as long as that is being found out."""
        return None if self._rival is not None else len(self._chosen.fitting.net.input_of_move) > 0

    @property
    def matches(self) -> int:
        """That have come to their end."""
        return int(self._chosen.samples.numbers[MATCHES])

    @property
    def samples(self) -> int:
        """That it has seen so far."""
        return int(self._chosen.samples.numbers[SAMPLES])

    @property
    def net(self) -> Net:
        """A copy of the newest net."""
        return copied(self._chosen.fitting.net)

    def begin(self, *, reads_moves: bool) -> None:
        """Forgets all that was learned; what nets read is decided."""
        self._rival = self._contest = None
        self._chosen = self._candidate(None, reads_moves=reads_moves)

    def use_net(self, net: Net) -> None:
        """Learning goes on with a copy of this net; the moments of its gradient stay. ValueError for other inputs."""
        own = self._chosen.fitting.net
        if own.first.shape != net.first.shape:
            raise ValueError("the net has other inputs")
        for name in WEIGHTS:
            getattr(own, name)[:] = getattr(net, name)

    def state(self) -> dict[str, NDArray[Any]]:
        """All that learning goes on from, in copies: `restore` makes equal slices give equal nets again.

        As long as two nets are compared that is the beginning.
        """
        decided = self.reads_moves
        known = {} if decided is None else self._chosen.state() | {"seconds": np.array([self._seconds])}
        known["reads_moves"] = np.array([-1 if decided is None else int(decided)])
        return {name: array.copy() for name, array in known.items()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Goes on from what `state` gave, of a learner of the same game with the same memory.

        ValueError, with nothing changed, where an array is missing or is not like that of this learner.
        """
        known = dict(state)
        decided, seconds = known.pop("reads_moves", np.zeros(0)), known.pop("seconds", np.zeros(1))
        if decided.tolist() == [-1] and not known:
            return
        whole = seconds.shape == decided.shape == (1,) and seconds.dtype == np.float64 and decided.dtype == np.int64
        if not whole or decided[0] not in {0, 1}:
            raise ValueError("what nets read is missing")
        candidate = self._candidate(None, reads_moves=bool(decided[0]))
        candidate.restore(known)
        self._rival = self._contest = None
        self._chosen, self._seconds = candidate, float(seconds[0])

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
        waiting = [each for each in (self._chosen, self._rival) if each is not None and not each.has_tried]
        if self._rival is None:
            self._chosen.run_slice(batches)
        elif waiting:
            min(waiting, key=lambda each: int(each.play.numbers[VALUED])).run_slice(batches)
        else:
            self._compare(self._rival)
        self._seconds += perf_counter() - began

    def progress(self) -> LearningProgress:
        """What was done; the losses are those since this was last asked."""
        play, samples, fitting = self._chosen.play, self._chosen.samples, self._chosen.fitting
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

    def _candidate(self, net: Net | None, *, reads_moves: bool) -> _Candidate:
        game = self.batches.game
        roles, moves, words = len(game.roles), sum(map(len, game.moves)), self.batches.initial.shape[1]
        fresh = make_net(find_inputs(game), roles, moves, self._seed, reads_moves=reads_moves)
        room = min(_MOVES_OF_SAMPLE, max(moves, 1))
        sample_bytes = 8 * (words + _words(moves)) + 4 * roles + 8 * room + 29
        places = min(PLACES, max(self._memory_bytes // sample_bytes, 2 * FIRST_SAMPLES))
        used = fresh if net is None else copied(net)
        return _Candidate(self.batches, self._settings, used, places, self._seed, self._known_samples)

    def _compare(self, rival: _Candidate) -> None:
        """A slice of the matches between the two nets; at their end the better one goes on alone."""
        if self._contest is None:
            newer, older = rival.fitting.net, self._chosen.fitting.net
            self._contest = Contest(self.batches).slices(newer, older, self._seed, _MOST_SLICES)
        try:
            next(self._contest)
        except StopIteration as end:
            if _is_better(end.value):
                self._chosen = rival
            self._rival = self._contest = None


def _is_better(pairs: NDArray[np.int64]) -> bool:
    """Whether it is sure enough that the net that reads moves plays better by as much as its time is worth."""
    lost, half_lost, even, half_won, won = pairs.tolist()
    count = lost + half_lost + even + half_won + won
    score = 0.25 * half_lost + 0.5 * even + 0.75 * half_won + won
    return score > LEAST_SCORE * count and elo_estimate((lost, half_lost, even, half_won, won)).low > 0.0


def _words(moves: int) -> int:
    """Of the bits over the legal moves of all roles, and one that says whether a state is an end."""
    return (moves + 64) // 64


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

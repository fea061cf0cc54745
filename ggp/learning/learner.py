"""Self-play and fitting in turns: a game → a net that grows better as long as it is given time."""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ggp.kernel import Int
from ggp.learning.boards import can_use_patterns, find_patterns
from ggp.learning.contest import Contest
from ggp.learning.fitting import (
    MATCHES,
    MOVES,
    SAMPLES,
    Fitting,
    Samples,
    fit,
    make_fitting,
    make_samples,
    samples_problem,
)
from ggp.learning.inputs import (
    Inputs,
    can_read_moves,
    find_complemented,
    find_inputs,
    find_pairs,
)
from ggp.learning.net import (
    MOST_UNITS,
    NO_PAIRS,
    WEIGHTS,
    Net,
    Symmetries,
    are_symmetries,
    copied,
    grown,
    make_net,
    no_symmetries,
    quantize,
    requantize,
    set_weights,
    weights_of,
    widened,
)
from ggp.learning.patterns import Patterns
from ggp.learning.self_play import CAPPED, CUTS, RANDOM_SHARE, STEPS, VALUED, SelfPlaySettings, make_self_play, play_on
from ggp.simulation.evaluate import Batches
from ggp.simulation.expansion import OVER

FIRST_SAMPLES = 4096  # before anything is fitted
PLACES = 180_000  # of samples that are kept
BATCH = 512  # samples of a step of fitting
FIRST_USES, USES = 2.0, 3.0  # how often a sample is fitted, about: the first `FIRST_CUT` samples, and later ones
RATE, LEAST_RATE = 2e-3, 2e-4  # of learning, at first and in the end
_SLOWING = 300_000  # samples at which the rate is down to 1 / √2
FIRST_CUT = 1_500_000  # samples after which random moves cut traces; before, outcomes from afar teach more
FIRST_RANDOM_SHARE = 0.01  # of the moves, until then: random ones spoil these outcomes
_MOVES_OF_SAMPLE = 32  # on average, for which there is room
SLICE_BATCHES = 16  # of successors, between two looks at whether to stop, where no clock counts
_SLICE_SECONDS = 0.005  # between two looks at the clock, about
FIRST_TRIAL = 1_000_000  # successors that the net has valued in self-play when it begins to read more
TRIAL = 2_000_000  # more of them that nets with and without moves have valued when they are compared
LEAST_SCORE = 0.5  # of the net that reads moves, in pairs of matches: the search gains as much by them, or much more
_MOST_SLICES = 150  # of these matches
GROWN_FROM = 1_500_000  # samples that a net has learned from when it gets `MOST_UNITS`; few samples fit fewer better


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
        self,
        batches: Batches,
        settings: SelfPlaySettings,
        fitting: Fitting,
        places: int,
        seed: int,
        known_samples: int,
    ) -> None:
        game = batches.game
        moves = sum(map(len, game.moves))
        legal_words = _words(moves) if len(fitting.net.input_of_move) else 0
        room = places * min(_MOVES_OF_SAMPLE, max(moves, 1))
        self.adopt(fitting)
        self.samples = make_samples(batches.initial.shape[1], legal_words, len(game.roles), places, room)
        self.play = make_self_play(batches, settings, places, seed)
        self._settings = settings
        self.random = np.array([2 * seed + 1], np.uint64)
        self.fitted = 0.0  # samples that had come when fitting last went on
        self.known_samples = known_samples  # before it began

    def adopt(self, fitting: Fitting) -> None:
        """This net is fitted, and plays, from now on."""
        self.fitting, self._quantized = fitting, quantize(fitting.net)

    def grow(self) -> None:
        """The net gets all hidden units that nets may have."""
        self.adopt(make_fitting(grown(self.fitting.net, MOST_UNITS), self.fitting.symmetries))

    @property
    def seen(self) -> int:
        """Samples that the net has learned from, in its narrower forms, too."""
        return self.known_samples + int(self.samples.numbers[SAMPLES])

    @property
    def valued(self) -> int:
        """Successors."""
        return int(self.play.numbers[VALUED])

    def run_slice(self, batches: Int) -> None:
        play, samples, fitting = self.play, self.samples, self.fitting
        known = int(samples.numbers[SAMPLES])
        uses = USES if self.seen >= FIRST_CUT else FIRST_USES
        owed = uses * (known - self.fitted) / BATCH
        if known >= FIRST_SAMPLES and owed >= 1.0:
            steps = int(min(owed, max(batches // 4, 1)))
            fit(fitting, samples, self.random, steps, BATCH, self.rate(known))
            self.fitted += steps * BATCH / uses
        else:
            if known < FIRST_SAMPLES:
                self.fitted = float(known)
            cuts, share = self._settings.cuts or self.seen >= FIRST_CUT, self._settings.random_share
            play.knobs[CUTS], play.knobs[RANDOM_SHARE] = cuts, share if cuts else min(share, FIRST_RANDOM_SHARE)
            requantize(fitting.net, self._quantized)
            play_on(play, self._quantized, samples, batches)

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
        self.fitted, self.known_samples = float(state["fitted"][0]), int(state["known"][0])

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
        patterns = {
            "patterns.value": fitting.net.patterns.value, "patterns.policy": fitting.net.patterns.policy,
            "value_squares": fitting.value_squares, "policy_squares": fitting.policy_squares,
        }  # fmt: skip
        others = {
            "losses": fitting.losses, "fitting.numbers": fitting.numbers, "random": self.random,
            "sample.numbers": self.samples.numbers, "fitted": np.array([self.fitted]),
            "known": np.array([self.known_samples]),
        }  # fmt: skip
        return front | own | nets | patterns | others

    def rate(self, samples: int) -> float:
        """The learning rate after so many samples of self-play."""
        return max(LEAST_RATE, RATE / float(np.sqrt(1.0 + (self.known_samples + samples) / _SLOWING)))


class Learner:
    """Learns one game; used by one thread. Equal seeds and equal slices give equal nets.

    At first the net reads single facts, later pairs of them, too. Then it and a copy that reads legal moves as well go
    on in turns, and the one that plays better is kept. After `GROWN_FROM` samples it gets more hidden units. Only for
    games whose initial state is no end: see `can_learn`.
    """

    def __init__(  # noqa: PLR0913 - what is known of the game and of earlier learning, and how to learn
        self,
        batches: Batches,
        seed: int = 0,
        *,
        settings: SelfPlaySettings = SelfPlaySettings(),  # noqa: B008 - frozen
        net: Net | None = None,
        memory_bytes: int = 2**27,
        known_samples: int = 0,
        symmetries: Symmetries | None = None,
    ) -> None:
        """`net`: learning goes on with a copy of it, after so many samples; `memory_bytes`: for `PLACES` at most.

        `symmetries`: of the game, if they are known.
        """
        self.batches = batches
        self._seed, self._settings = seed, settings
        self._memory_bytes, self._known_samples = memory_bytes, known_samples
        self._symmetries = symmetries or no_symmetries(
            batches.game.circuit.facts, sum(batches.game.circuit.moves), len(batches.game.roles)
        )
        self._seconds = 0.0
        self._batches_at_once = 1
        self._pairs = find_pairs(batches.game) if net is None else NO_PAIRS
        self._patterns = self._find_patterns() if net is None else net.patterns
        self._complemented = find_complemented(batches) if net is None else net.complemented
        self._inputs = Inputs() if net is None else inputs_of(net)  # of the chosen net
        self._is_decided = net is not None
        self._rival: _Candidate | None = None  # its net reads moves, too
        self._contest: Generator[None, None, NDArray[np.int64]] | None = None
        self._chosen = self._candidate(self._inputs, net)

    @property
    def can_learn(self) -> bool:
        """Whether the initial state is no end."""
        return bool(self._chosen.play.start_choice[0] != OVER)

    @property
    def inputs(self) -> Inputs | None:
        """What the net reads besides facts; None as long as that is being found out."""
        return self._inputs if self._is_decided else None

    @property
    def has_patterns(self) -> bool:
        """Whether its nets have patterns."""
        return self._patterns is not None and len(self._patterns.starts) > 0

    @property
    def matches(self) -> int:
        """That have come to their end."""
        return int(self._chosen.samples.numbers[MATCHES])

    @property
    def samples(self) -> int:
        """That it has seen so far."""
        return self._chosen.seen - self._known_samples

    @property
    def net(self) -> Net:
        """A copy of the newest net."""
        return copied(self._chosen.fitting.net)

    def begin(self, inputs: Inputs) -> None:
        """Forgets all that was learned; what nets read is decided."""
        self._rival = self._contest = None
        self._is_decided, self._inputs, self._chosen = True, inputs, self._candidate(inputs)

    def grow_when_due(self) -> bool:
        """The net gets all hidden units once it has learned from `GROWN_FROM` samples; whether it got them now."""
        is_small = len(self._chosen.fitting.net.first_bias) < MOST_UNITS
        is_due = self._is_decided and is_small and self._chosen.seen >= GROWN_FROM
        if is_due:
            self._chosen.grow()
        return is_due

    def use_net(self, net: Net) -> None:
        """Learning goes on with a copy of this net, which may have more units; ValueError for fewer, or other inputs.

        The moments of its gradient stay where it has as many.
        """
        if len(net.first_bias) > len(self._chosen.fitting.net.first_bias):
            self._chosen.grow()
        own = self._chosen.fitting.net
        if len(own.first_bias) > len(net.first_bias):
            raise ValueError(f"the net has {len(net.first_bias)} hidden units, fewer than {len(own.first_bias)}")
        shapes = [(each.first.shape, each.patterns.value.shape) for each in (own, net)]
        if shapes[0] != shapes[1] or (own.complemented != net.complemented).any():
            raise ValueError("the net has other inputs")
        set_weights(own, weights_of(net))

    def imitate(self, samples: Samples, uses: float) -> None:
        """Fits the net to samples of a stronger player: so many draws in all, which are not counted in `progress`."""
        chosen = self._chosen
        losses, steps = chosen.fitting.losses.copy(), int(uses) // BATCH
        rate = chosen.rate(int(chosen.samples.numbers[SAMPLES]))
        fit(chosen.fitting, samples, chosen.random, steps, BATCH, rate)
        chosen.fitting.losses[:] = losses

    def imitation_problem(self, arrays: Mapping[str, NDArray[Any]]) -> str:
        """Why these arrays by the names of fields are no samples for `imitate`; empty if they are."""
        return samples_problem(arrays, self._chosen.samples, sum(map(len, self.batches.game.moves)))

    def state(self) -> dict[str, NDArray[Any]]:
        """All that learning goes on from, in copies: `restore` makes equal slices give equal nets again.

        As long as two nets are compared that is the beginning.
        """
        decided = self.inputs
        known = {} if decided is None else self._chosen.state() | {"seconds": np.array([self._seconds])}
        known |= {f"symmetries.{name}": array for name, array in self._symmetries._asdict().items()}
        known["inputs"] = np.array([-1] if decided is None else [decided.pairs, decided.moves], np.int64)
        return {name: array.copy() for name, array in known.items()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Goes on from what `state` gave, of a learner of the same game with the same memory.

        ValueError, with nothing changed, where an array is missing or is not like that of this learner.
        """
        known = dict(state)
        names = [f"symmetries.{name}" for name in Symmetries._fields]
        symmetries = Symmetries(*(known.pop(name, np.zeros(0)) for name in names))
        if not are_symmetries(symmetries, self._symmetries):
            raise ValueError("its symmetries are none of this game")
        decided, seconds = known.pop("inputs", np.zeros(0)), known.pop("seconds", np.zeros(1))
        if decided.tolist() == [-1] and not known:
            self._symmetries = symmetries
            self.begin(Inputs())
            self._is_decided = False
            return
        whole = seconds.shape == (1,) and seconds.dtype == np.float64 and decided.dtype == np.int64
        if not whole or decided.shape != (2,) or not {0, 1}.issuperset(decided.tolist()):
            raise ValueError("what nets read is missing")
        inputs, before = Inputs(*map(bool, decided.tolist())), self._symmetries
        self._symmetries = symmetries
        try:
            candidate = self._candidate(inputs)
            if known.get("net.first_bias", np.zeros(0)).shape == (MOST_UNITS,):
                candidate.grow()
            candidate.restore(known)
        except ValueError:
            self._symmetries = before
            raise
        self._rival = self._contest = None
        self._is_decided, self._inputs, self._chosen = True, inputs, candidate
        self._seconds = float(seconds[0])

    def run(self, stop: Callable[[], bool]) -> None:
        """Learns until `stop()`, which is asked every few milliseconds."""
        while not stop():
            self.grow_when_due()
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
        chosen, rival = self._chosen, self._rival
        if self._is_decided or (rival is None and chosen.valued < FIRST_TRIAL):
            chosen.run_slice(batches)
        elif rival is None:
            self._read_more()
        elif min(rival.valued, chosen.valued - FIRST_TRIAL) < TRIAL:
            (chosen if chosen.valued - FIRST_TRIAL < rival.valued else rival).run_slice(batches)
        else:
            self._compare(rival)
        self._seconds += perf_counter() - began

    def run_until(self, samples: int, stop: Callable[[], bool]) -> bool:
        """Learns in equal slices; False when stopped before so many samples were seen."""
        while self.samples < samples:
            if stop():
                return False
            self.run_slice(SLICE_BATCHES)
        return True

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
            samples=self.samples,
            successors=int(play.numbers[VALUED]),
            batches=int(fitting.numbers[0]),
            value_error=squared / fitted if fitted else nothing,
            policy_loss=entropy / fitted if fitted else nothing,
        )

    def _find_patterns(self) -> Patterns | None:
        """Those of the game, where they are of use and take half of the memory at most."""
        found = find_patterns(self.batches.game)
        fits = 2 * _fitted_bytes(found) <= self._memory_bytes
        return found if fits and can_use_patterns(self.batches, found) else None

    def _candidate(self, inputs: Inputs, net: Net | None = None, known_samples: int | None = None) -> _Candidate:
        """net: it begins with a copy of this one, which may read less, and has learned from so many samples."""
        game = self.batches.game
        moves, words = sum(map(len, game.moves)), self.batches.initial.shape[1]
        room = min(_MOVES_OF_SAMPLE, max(moves, 1))
        sample_bytes = 8 * (words + _words(moves)) + 4 * len(game.roles) + 8 * room + 29
        free = self._memory_bytes - (_fitted_bytes(self._patterns) if self._patterns else 0)
        places = min(PLACES, max(free // sample_bytes, 2 * FIRST_SAMPLES))
        known = self._known_samples if known_samples is None else known_samples
        return _Candidate(self.batches, self._settings, self._fitting(inputs, net), places, self._seed, known)

    def _fitting(self, inputs: Inputs, net: Net | None) -> Fitting:
        """Of a copy of the net that reads this, or of a new one."""
        game = self.batches.game
        if net is None or inputs_of(net) != inputs:
            pairs = self._pairs if inputs.pairs else NO_PAIRS
            roles, moves = len(game.roles), sum(map(len, game.moves))
            made = make_net(
                find_inputs(game), roles, moves, self._seed,
                complemented=self._complemented, reads_moves=inputs.moves, pairs=pairs,
                patterns=self._patterns,
            )  # fmt: skip
            net = made if net is None else widened(net, made)
        return make_fitting(copied(net), self._symmetries)

    def _read_more(self) -> None:
        """From now on the net reads pairs, if there are any, and another one moves, too, if they are not too many."""
        chosen = self._chosen
        if len(self._pairs):
            self._inputs = Inputs(pairs=True)
            chosen.adopt(self._fitting(self._inputs, chosen.fitting.net))
        if can_read_moves(self.batches.game):
            self._rival = self._candidate(replace(self._inputs, moves=True), chosen.fitting.net, chosen.seen)
        self._is_decided = self._rival is None

    def _compare(self, rival: _Candidate) -> None:
        """A slice of the matches between the two nets; at their end the better one goes on alone."""
        if self._contest is None:
            newer, older = rival.fitting.net, self._chosen.fitting.net
            self._contest = Contest(self.batches).slices(newer, older, self._seed, _MOST_SLICES)
        try:
            next(self._contest)
        except StopIteration as end:
            if _is_better(end.value):
                self._inputs, self._chosen = replace(self._inputs, moves=True), rival
            self._contest = self._rival = None
            self._is_decided = True


def inputs_of(net: Net) -> Inputs:
    """What a net reads besides facts."""
    return Inputs(pairs=len(net.input_of_pair) > 0, moves=len(net.input_of_move) > 0)


def _is_better(pairs: NDArray[np.int64]) -> bool:
    """Whether the net that reads moves has more than its least share of the points of these pairs of matches."""
    points = float(pairs @ np.arange(len(pairs))) / (len(pairs) - 1)
    return points > LEAST_SCORE * float(pairs.sum())


def _fitted_bytes(patterns: Patterns) -> int:
    """Of their weights, and of the sums of squares by which these are fitted."""
    return 2 * (patterns.value.nbytes + patterns.policy.nbytes)


def _words(moves: int) -> int:
    """Of the bits over the legal moves of all roles, and one that says whether a state is an end."""
    return (moves + 64) // 64


__all__ = ["Learner", "LearningProgress"]

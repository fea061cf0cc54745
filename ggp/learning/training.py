"""A game → a better and better net, without a clock: generations of self-play, each tested against the best so far.

A *round* is so many samples of each learner; where there are several, one for each thread, their nets are averaged
after it. A *generation* ends when a quarter more samples were seen than at the end of the one before. Its net plays the
best one (`contest`) and takes its place if the test says that it is better. Learning goes on with the newest net in any
case. With expert iteration it also learns from matches of a stronger player (`Expert`) between rounds. What is done
depends on the seed and the number of threads alone, not on time.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import isfinite
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.compile import CompiledGame
from ggp.elo import Pairs
from ggp.errors import SettingsError
from ggp.gdl.rulesheet import NATURE
from ggp.learning.boards import find_patterns
from ggp.learning.contest import Contest
from ggp.learning.fitting import Samples, joined
from ggp.learning.inputs import Inputs
from ggp.learning.learner import SLICE_BATCHES, Learner, LearningProgress
from ggp.learning.net import (
    MOST_UNITS,
    NO_INPUT,
    UNITS,
    WEIGHTS,
    Net,
    Symmetries,
    arrays_of,
    copied,
    net_of,
    weights_of,
)
from ggp.learning.patterns import Patterns, no_patterns
from ggp.learning.settings import TrainingSettings
from ggp.simulation.evaluate import Batches

FIRST_SAMPLES, GROWTH = 50_000, 1.25  # after which the first generation ends; how many more there are at the next end
ROUND_SAMPLES = 10_000  # of each learner
_MOST_IMITATED = 2**15  # samples of the expert that are kept
_IMITATED_USES = 30  # how often each is fitted, about
_MEBIBYTE = 2**20


class RoundLearner(Protocol):
    """What training asks of each learner, here (`Learner`) or on another computer (`distributed`)."""

    @property
    def samples(self) -> int: ...

    @property
    def matches(self) -> int: ...

    @property
    def inputs(self) -> Inputs | None: ...

    @property
    def net(self) -> Net: ...

    def begin(self, inputs: Inputs) -> None: ...

    def use_net(self, net: Net) -> None: ...

    def run_until(self, samples: int, stop: Callable[[], bool]) -> bool: ...

    def progress(self) -> LearningProgress: ...

    def state(self) -> dict[str, NDArray[Any]]: ...

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None: ...


class Expert(Protocol):
    """A stronger player that has the net's help: the net → samples of its matches; None when stopped."""

    def play(self, net: Net, seed: int, stop: Callable[[], bool]) -> Samples | None: ...


# The seed of a learner, the bytes of memory that it may use and the symmetries of its game → the learner.
Host: TypeAlias = Callable[[int, int, Symmetries | None], RoundLearner]


@dataclass(frozen=True, slots=True)
class Generation:
    """A net, and how it did against the best one before it."""

    number: int
    seconds: float  # of training until then
    matches: int
    samples: int
    value_error: float | None  # mean squared error since the generation before; None where nothing was fitted
    policy_loss: float | None  # cross-entropy, likewise
    pairs: Pairs  # of matches, seen from the newer net
    elo: float  # more than the net at the very beginning has
    low: float  # with an interval of 95 % of the matches against the best net, whose own Elo counts as known
    high: float
    is_accepted: bool  # whether it is the best one now


def can_train(game: CompiledGame) -> str:
    """Why a game cannot be learned by self-play; empty where it can."""
    if game.has_percepts:
        return "its roles do not see the whole state"
    if sum(role != NATURE for role in game.roles) < 2:
        return "it has only one role; learning needs matches against others"
    return "" if Learner(Batches(game), memory_bytes=0).can_learn else "its initial state is an end"


class Training:
    """Training of one game that can be stopped at any time, kept, and resumed."""

    def __init__(
        self,
        game: CompiledGame,
        settings: TrainingSettings,
        symmetries: Symmetries | None = None,
        host: Host | None = None,
        expert: Expert | None = None,
    ) -> None:
        """Only for a game that `can_train`; symmetries: those of the game, if they are known.

        host: makes all learners but the first; what comes of it does not depend on where they are.
        expert: wanted where the settings ask for expert iteration.
        """
        if settings.expert_iteration and expert is None:
            raise SettingsError("expert iteration needs an expert")
        self.game = game
        self.settings = settings
        self.generations: list[Generation] = []
        self.seconds = 0.0  # which the caller counts

        def here(seed: int, memory_bytes: int, symmetries: Symmetries | None) -> Learner:
            return Learner(Batches(game), seed, memory_bytes=memory_bytes, symmetries=symmetries)

        first, *seeds = (settings.seed * settings.threads + at for at in range(settings.threads))
        memory_bytes = settings.memory * _MEBIBYTE
        self._first = here(first, memory_bytes, symmetries)
        others = [(host or here)(seed, memory_bytes, symmetries) for seed in seeds]
        self.learners: list[RoundLearner] = [self._first, *others]
        self._best = self._first.net
        for learner in self.learners[1:]:
            learner.use_net(self._best)
        self._round_ends = np.zeros(0, np.int64)  # samples of each learner at which the present round ends
        self._contest = Contest(self._first.batches)
        self._expert = expert
        self._rounds = np.zeros(2, np.int64)  # that are over; how often the expert has played
        self._imitated: Samples | None = None  # the latest samples of the expert

    @property
    def best(self) -> Net:
        """The net that no other was better than; the newest one as long as none was tested."""
        return self._best if self.generations else self.learners[0].net

    @property
    def elo(self) -> float:
        """Of the best net; that at the beginning has 0."""
        return next((each.elo for each in reversed(self.generations) if each.is_accepted), 0.0)

    @property
    def matches(self) -> int:
        """Of self-play, by all learners."""
        return sum(learner.matches for learner in self.learners)

    @property
    def samples(self) -> int:
        """That all learners have seen."""
        return sum(learner.samples for learner in self.learners)

    @property
    def samples_wanted(self) -> int:
        """At the end of the present generation."""
        return round(max(self.generations[-1].samples, 1) * GROWTH) if self.generations else FIRST_SAMPLES

    def run_round(self, stop: Callable[[], bool]) -> bool:
        """False when stopped before its end: then the next call goes on with it."""
        learners = self.learners
        if not self._choose_inputs(stop) or not self._imitate(stop):
            return False
        if not len(self._round_ends):
            if self._first.grow_when_due():
                for learner in learners[1:]:
                    learner.use_net(self._first.net)
            self._round_ends = np.array([learner.samples + ROUND_SAMPLES for learner in learners])
        ends: list[int] = self._round_ends.tolist()
        if len(learners) == 1:
            done = [self._first.run_until(ends[0], stop)]
        else:
            with ThreadPoolExecutor(len(learners)) as pool:
                done = list(pool.map(lambda learner, end: learner.run_until(end, stop), learners, ends))
        if not all(done):
            return False
        self._round_ends = np.zeros(0, np.int64)
        self._rounds[0] += 1
        if len(learners) > 1:
            nets = [learner.net for learner in self.learners]
            mean = nets[0]
            for name, array in weights_of(mean).items():
                total = np.asarray(sum(weights_of(net)[name] for net in nets), np.float32)
                array[:] = total / np.float32(len(nets))
            for learner in self.learners:
                learner.use_net(mean)
        return True

    def _imitate(self, stop: Callable[[], bool]) -> bool:
        """Where it is time for it, the net learns from matches of the expert; False when stopped before."""
        rounds, played = self._rounds.tolist()
        every = self.settings.expert_iteration
        if self._expert is None or not every or len(self._round_ends) or rounds // every <= played:
            return True
        found = self._expert.play(self._first.net, self.settings.seed * 2**16 + played, stop)
        if found is None:
            return False
        self._rounds[1] += 1
        if len(found.values):
            self._imitated = found if self._imitated is None else joined(self._imitated, found, _MOST_IMITATED)
            self._first.imitate(self._imitated, _IMITATED_USES * len(found.values))
            for learner in self.learners[1:]:
                learner.use_net(self._first.net)
        return True

    def _choose_inputs(self, stop: Callable[[], bool]) -> bool:
        """The first learner finds out what nets should read, all others begin where it is then; False when stopped."""
        first, others = self._first, self.learners[1:]
        while first.inputs is None:
            if stop():
                return False
            first.run_slice(SLICE_BATCHES)
        for other in others:
            if other.inputs is None:
                other.begin(first.inputs)
                other.use_net(first.net)
        return True

    def end_generation(self, stop: Callable[[], bool]) -> Generation | None:
        """Tests the newest net, if enough was learned since the generation before; None if not, or when stopped.

        Never within a round.
        """
        if len(self._round_ends) or self.samples < self.samples_wanted:
            return None
        number = len(self.generations) + 1
        newest = self.learners[0].net
        found = self._contest.compare(newest, self._best, self.settings.seed * 2**16 + number, stop)
        if found is None:
            return None
        parts, elo = [learner.progress() for learner in self.learners], self.elo
        generation = Generation(
            number, self.seconds, self.matches, self.samples, _mean(parts, "value_error"), _mean(parts, "policy_loss"),
            found.pairs, elo + found.elo.value, elo + found.elo.low, elo + found.elo.high, found.is_better,
        )  # fmt: skip
        self.generations.append(generation)
        if found.is_better:
            self._best = newest
        return generation

    def state(self) -> dict[str, NDArray[Any]]:
        """Arrays from which `restore` goes on, together with the generations and seconds."""
        found: dict[str, NDArray[Any]] = {
            f"best.{name}": array for name, array in arrays_of(copied(self._best)).items()
        }
        found["round.ends"], found["round.counts"] = self._round_ends, self._rounds.copy()
        if self._imitated is not None:
            found |= {f"imitated.{name}": array for name, array in self._imitated._asdict().items()}
        for number, learner in enumerate(self.learners):
            found |= {f"{number}.{name}": array for name, array in learner.state().items()}
        return found

    def restore(self, state: Mapping[str, NDArray[Any]], generations: Sequence[Generation], seconds: float) -> None:
        """Goes on from there, with the same settings; ValueError where the arrays are not those of this game."""
        parts: dict[str, dict[str, NDArray[Any]]] = {}
        for name, array in state.items():
            part, _, rest = name.partition(".")
            parts.setdefault(part, {})[rest] = array
        best = parts.pop("best", {})
        rounds = parts.pop("round", {})
        ends, counts = rounds.get("ends", np.zeros(1)), rounds.get("counts", np.zeros(2, np.int64))
        if ends.dtype != np.int64 or ends.shape not in ((0,), (len(self.learners),)):
            raise ValueError("the end of a round is missing")
        if counts.dtype != np.int64 or counts.shape != (2,) or (counts < 0).any():
            raise ValueError("the number of rounds is missing")
        imitated = parts.pop("imitated", {})
        if parts.keys() != set(map(str, range(len(self.learners)))):
            raise ValueError("parts are missing")
        problem = net_problem(best, self.game)
        if problem:
            raise ValueError(f"the best net is none: {problem}")
        for number, learner in enumerate(self.learners):
            learner.restore(parts[str(number)])
        problem = self._first.imitation_problem(imitated) if imitated else ""
        if problem:
            raise ValueError(f"samples of the expert: {problem}")
        self._round_ends, self._rounds = ends.copy(), counts.copy()
        self._imitated = Samples(**{name: array.copy() for name, array in imitated.items()}) if imitated else None
        self._best = net_of(best)
        self.generations, self.seconds = list(generations), seconds


def net_problem(arrays: Mapping[str, NDArray[Any]], game: CompiledGame) -> str:
    """Why these arrays, as by `arrays_of`, are no net for a game; empty if they are one."""
    facts, roles, moves = game.circuit.facts, len(game.roles), sum(map(len, game.moves))
    if arrays.keys() != {*Net._fields[:-1], *(f"patterns.{name}" for name in Patterns._fields)}:
        return "its arrays are not those of a net"
    inputs = len(arrays["first"]) if arrays["first"].ndim else 0
    units = MOST_UNITS if arrays["first_bias"].size == MOST_UNITS else UNITS
    read = moves if arrays["input_of_move"].size else 0
    words, ends = arrays["partners"].size, arrays["input_of_pair"].size
    shapes = {
        "complemented": ((facts + 63) // 64,), "input_of_fact": (facts,), "input_of_move": (read,),
        "first_word": (facts + 1,), "partner_word": (words,), "partners": (words,), "first_partner": (words,),
        "input_of_pair": (ends,),
        "first": (inputs, units), "first_bias": (units,),
        "value": (roles, units), "value_bias": (roles,), "policy": (moves, units), "policy_bias": (moves,),
    }  # fmt: skip
    for name, shape in shapes.items():
        kind = np.float32 if name in WEIGHTS else np.uint64 if name in {"complemented", "partners"} else np.int32
        array, dtype = arrays[name], np.dtype(kind)
        if array.shape != shape or array.dtype != dtype:
            return f"{name} is {array.dtype}{array.shape}, not {dtype}{shape}"
        if name in WEIGHTS and not np.isfinite(array).all():
            return f"{name} has values that are not finite"
        if name.startswith("input") and ((array < NO_INPUT) | (array >= inputs)).any():
            return f"{name} names an input that does not exist"
    first, partner_word = arrays["first_word"], arrays["partner_word"]
    counts = np.bitwise_count(arrays["partners"]).astype(np.int64)
    if (
        first[0] != 0 or first[-1] != words or (np.diff(first) < 0).any() or counts.sum() != ends
        or ((partner_word < 0) | (partner_word >= max((facts + 63) // 64, 1))).any()
        or (arrays["first_partner"] != np.cumsum(counts) - counts).any()
    ):  # fmt: skip
        return "its pairs of facts are none"
    for name, input_ in (("pair", "input_of_pair"), ("move", "input_of_move")):
        if (arrays[input_] == NO_INPUT).any():
            return f"a {name} has no input"
    return _patterns_problem(arrays, game)


def _patterns_problem(arrays: Mapping[str, NDArray[Any]], game: CompiledGame) -> str:
    """A net has the patterns of its game, or none."""
    is_read = arrays["patterns.starts"].size > 0
    found = find_patterns(game) if is_read else no_patterns(game.circuit.facts, sum(map(len, game.moves)))
    for name, known in found._asdict().items():
        array, is_weight = arrays[f"patterns.{name}"], name in {"value", "policy"}
        if array.shape != known.shape or array.dtype != known.dtype:
            return f"patterns.{name} is {array.dtype}{array.shape}, not {known.dtype}{known.shape}"
        if is_weight and not np.isfinite(array).all():
            return f"patterns.{name} has values that are not finite"
        if not is_weight and (array != known).any():
            return f"patterns.{name} is not of this game"
    return ""


def _mean(parts: Sequence[LearningProgress], name: str) -> float | None:
    known = [value for value in (getattr(part, name) for part in parts) if isfinite(value)]
    return sum(known) / len(known) if known else None

"""Learners on the computers of a cluster, by Ray: each plays and fits there, and sends its net after a round."""

from collections.abc import Callable, Mapping
from contextlib import contextmanager, suppress
from time import perf_counter
from types import ModuleType
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from ggp.circuit.compile import CompiledGame, compile_game
from ggp.cluster import connect, one_line
from ggp.errors import GgpError
from ggp.gdl.rulesheet import Rulesheet, parse_rulesheet
from ggp.learning.inputs import Inputs
from ggp.learning.learner import Learner, LearningProgress
from ggp.learning.net import Net, Symmetries
from ggp.simulation.evaluate import Batches

if TYPE_CHECKING:
    from collections.abc import Iterator

_SLICE_SECONDS = 0.5  # of a learner, between two looks at whether to stop
_LOOK_SECONDS = 0.1
_STORE_BYTES = 2**30  # of the object store of a cluster that is started here: states of learners


class LearnerHost:
    """One learner, in a process of a node."""

    def __init__(self, text: str, source: str, seed: int, memory_bytes: int, symmetries: Symmetries | None) -> None:
        game = compile_game(parse_rulesheet(text, source))
        self._facts, self._moves = game.facts, game.moves
        self._learner = Learner(Batches(game), seed, memory_bytes=memory_bytes, symmetries=symmetries)

    def has(self, facts: tuple[Any, ...], moves: tuple[Any, ...]) -> bool:
        """Whether the game has the same inputs here."""
        return (self._facts, self._moves) == (facts, moves)

    def advance(self, samples: int) -> tuple[int, int]:
        """Learns for a moment, until so many samples were seen at most; samples and matches until now."""
        end = perf_counter() + _SLICE_SECONDS
        self._learner.run_until(samples, lambda: perf_counter() >= end)
        return self._learner.samples, self._learner.matches

    def inputs(self) -> Inputs | None:
        return self._learner.inputs

    def begin(self, inputs: Inputs) -> None:
        self._learner.begin(inputs)

    def net(self) -> Net:
        return self._learner.net

    def use_net(self, net: Net) -> None:
        self._learner.use_net(net)

    def progress(self) -> LearningProgress:
        return self._learner.progress()

    def state(self) -> dict[str, NDArray[Any]]:
        return self._learner.state()

    def restore(self, state: Mapping[str, NDArray[Any]]) -> tuple[int, int]:
        """Samples and matches until then; ValueError as `Learner.restore`."""
        self._learner.restore(state)
        return self._learner.samples, self._learner.matches


class RemoteLearner:
    """A learner on another computer, with the methods that training calls. GgpError when its node is lost."""

    def __init__(self, ray: ModuleType, host: Any) -> None:  # noqa: ANN401 - Ray's own
        self._ray, self._host = ray, host
        self.samples = self.matches = 0

    @property
    def inputs(self) -> Inputs | None:
        found: Inputs | None = self._result(self._host.inputs.remote())
        return found

    @property
    def net(self) -> Net:
        found: Net = self._result(self._host.net.remote())
        return found

    def run_until(self, samples: int, stop: Callable[[], bool]) -> bool:
        """False when stopped before so many were seen."""
        while self.samples < samples:
            if stop():
                return False
            self.samples, self.matches = self._result(self._host.advance.remote(samples))
        return True

    def begin(self, inputs: Inputs) -> None:
        self._result(self._host.begin.remote(inputs))

    def use_net(self, net: Net) -> None:
        self._result(self._host.use_net.remote(net))

    def progress(self) -> LearningProgress:
        found: LearningProgress = self._result(self._host.progress.remote())
        return found

    def state(self) -> dict[str, NDArray[Any]]:
        found: dict[str, NDArray[Any]] = self._result(self._host.state.remote())
        return found

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.samples, self.matches = self._result(self._host.restore.remote(dict(state)))

    def kill(self) -> None:
        """Ends its process; nothing can be asked of it any more."""
        with suppress(Exception):  # the cluster may be gone
            self._ray.kill(self._host)

    def check(self, facts: tuple[Any, ...], moves: tuple[Any, ...]) -> None:
        """GgpError where the node has another circuit of the game."""
        if not self._result(self._host.has.remote(facts, moves)):
            raise GgpError("a node has made another circuit of these rules: the versions of ggp differ")

    def _result(self, reference: Any) -> Any:  # noqa: ANN401 - methods return different types
        errors = self._ray.exceptions
        try:
            while not self._ray.wait([reference], timeout=_LOOK_SECONDS)[0]:
                pass
            return self._ray.get(reference)
        except errors.RayTaskError as error:
            if isinstance(error.cause, (GgpError, ValueError)):
                raise error.cause from None
            raise GgpError(f"a node failed: {one_line(error)}") from None
        except errors.RayError as error:
            raise GgpError(
                f"a node was lost ({one_line(error)}); the same command goes on from what was kept"
            ) from None


@contextmanager
def open_hosts(
    address: str, rulesheet: Rulesheet, game: CompiledGame, count: int
) -> "Iterator[Callable[[int, int, Symmetries | None], RemoteLearner]]":
    """Seed, bytes and symmetries → a learner on a node of the cluster, as long as the block lasts.

    A cluster that is started here has `count` processors. SettingsError where there is none.
    """
    ray = connect(address, count, _STORE_BYTES)
    hosts: list[RemoteLearner] = []

    def host(seed: int, memory_bytes: int, symmetries: Symmetries | None) -> RemoteLearner:
        actor = ray.remote(num_cpus=1, scheduling_strategy="SPREAD")(LearnerHost)
        made = actor.remote(rulesheet.text, rulesheet.source, seed, memory_bytes, symmetries)
        learner = RemoteLearner(ray, made)
        hosts.append(learner)
        learner.check(game.facts, game.moves)
        return learner

    try:
        yield host
    finally:
        for each in hosts:
            each.kill()
        ray.shutdown()

"""An address → a cluster that functions can be sent to; the one door to Ray."""

import asyncio
import logging
import os
import warnings
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, TypeVar

from gamemaster.faults import shown
from ggp.errors import GgpError, SettingsError

T = TypeVar("T")

HERE = "ray"  # the address of a cluster that is started on this computer, and stopped again
MINE = "ray://auto"  # of the one that this computer is a node of
STORE_BYTES = 2**27  # of the object store of a cluster that is started here; a record takes some kB

_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",  # tells nobody about us
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",  # prints nothing in between of what we show
    "RAY_IGNORE_UNHANDLED_ERRORS": "1",  # likewise
    "RAY_ENABLE_AUTO_CONNECT": "0",  # starts no cluster of its own when the one that there was is lost
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # tasks without a GPU are nothing to be warned of
}
_SILENT = {"log_to_driver": False, "logging_level": logging.ERROR}
_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}  # listen at 127.0.0.1 only, as Ray does everywhere but in Linux


def check_address(address: str) -> None:
    """SettingsError for what is no address of a cluster, and where Ray is not installed."""
    if address != HERE and not address.startswith("ray://"):
        raise SettingsError(f"--cluster: ray, {MINE} or ray://host:port, not {address}")
    if find_spec("ray") is None:
        raise SettingsError("--cluster needs Ray: pip install 'ggp[cluster]'")


class NodeLostError(GgpError):
    """The computer that a task ran on died, or cannot be reached any more."""


@dataclass(frozen=True, slots=True)
class Running:
    """A task that waits for processors, or runs."""

    reference: Any  # Ray's own
    result: asyncio.Future[Any]


class Cluster:
    """Ray's calls, one after the other in a thread of their own, so that nobody waits for them.

    It has to be one thread: what it starts here, Linux kills as soon as the thread that started it ends.
    """

    def __init__(self, thread: ThreadPoolExecutor) -> None:
        self._thread = thread
        self._ray: ModuleType | None = None

    async def connect(self, address: str, processors: int) -> None:
        """`processors` are those of a cluster that is started here. SettingsError where there is none."""
        check_address(address)
        try:
            await self.call(partial(self._connect, address, processors))
        except (OSError, RuntimeError, ValueError, ImportError) as error:
            raise SettingsError(f"--cluster {address}: {_one_line(error)}") from None

    async def disconnect(self) -> None:
        """Stops what was started here."""
        if self._ray is not None:
            await self.call(self._ray.shutdown)

    async def call(self, function: Callable[[], T]) -> T:
        """The result of something that Ray does; when this is cancelled, only after it was done."""
        done = asyncio.get_running_loop().run_in_executor(self._thread, function)
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            await asyncio.wait([done])
            done.exception()  # it has been looked at
            raise

    async def processors(self) -> Sequence[int]:
        """Of each node that lives."""
        nodes = await self.call(self.ray.nodes)
        return [int(node["Resources"].get("CPU", 0)) for node in nodes if node["Alive"]]

    async def start(self, function: Callable[..., T], *arguments: object, processors: int, name: str) -> Running:
        """A task on a node that has the processors; they are spread over nodes, and each runs at most once.

        What is asked for once is started, also when this is cancelled: then the task is cancelled too.
        """
        starting = asyncio.ensure_future(self.call(partial(self._start, function, arguments, processors, name)))
        try:
            return self._running(await asyncio.shield(starting))
        except asyncio.CancelledError:
            await self.cancel(self._running(await starting))
            raise

    async def start_actor(self, kind: type, *arguments: object) -> Any:  # noqa: ANN401 - Ray's own
        """An actor beside us where that is possible, without processors; started again, and empty, when it dies."""
        return await self.call(partial(self._start_actor, kind, arguments))

    async def ask(self, method: Any) -> Any:  # noqa: ANN401 - Ray's own
        """What a method of an actor gives."""
        return await self.outcome(self._running(await self.call(method.remote)))

    async def outcome(self, running: Running) -> Any:  # noqa: ANN401 - whatever it is
        """What a task gives, or raises; NodeLostError when it was lost without its own fault."""
        errors = self.ray.exceptions
        try:
            return await asyncio.shield(running.result)
        except (errors.NodeDiedError, errors.ObjectLostError):
            raise NodeLostError("the node that it was on died") from None
        except errors.RayTaskError as error:
            cause = error.cause
            if isinstance(cause, Exception):
                raise cause from None
            raise GgpError(_one_line(error)) from None
        except errors.RayError as error:
            raise GgpError(_one_line(error)) from None

    async def cancel(self, running: Running, *, at_once: bool = False) -> None:
        """Lets a task end, as Ctrl-C would; at once as kill -9 would."""
        if not running.result.done():
            await self.call(partial(self.ray.cancel, running.reference, force=at_once))

    @property
    def ray(self) -> ModuleType:
        assert self._ray is not None
        return self._ray

    def _connect(self, address: str, processors: int) -> None:
        for name, value in (_ENVIRONMENT | _LOOPBACK if address == HERE else _ENVIRONMENT).items():
            os.environ.setdefault(name, value)  # they count when Ray is loaded
        ray = self._ray = import_module("ray")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # what matters is an exception too
            if address == HERE:
                sizes = {"num_cpus": processors, "object_store_memory": STORE_BYTES}
                ray.init("local", include_dashboard=False, **sizes, **_SILENT)
            else:
                ray.init("auto" if address == MINE else address, **_SILENT)

    def _start(self, function: Callable[..., T], arguments: Sequence[object], processors: int, name: str) -> Any:  # noqa: ANN401
        remote = self.ray.remote(num_cpus=processors, max_retries=0, scheduling_strategy="SPREAD", name=name)
        return remote(function).remote(*arguments)

    def _start_actor(self, kind: type, arguments: Sequence[object]) -> Any:  # noqa: ANN401
        strategies = import_module("ray.util.scheduling_strategies")
        node = self.ray.get_runtime_context().get_node_id()
        beside = strategies.NodeAffinitySchedulingStrategy(node, soft=True)
        return self.ray.remote(num_cpus=0, max_restarts=-1, scheduling_strategy=beside)(kind).remote(*arguments)

    def _running(self, reference: Any) -> Running:  # noqa: ANN401
        result = asyncio.wrap_future(reference.future())
        result.add_done_callback(_look_at)
        return Running(reference, result)


@asynccontextmanager
async def connected(address: str, processors: int) -> AsyncIterator[Cluster]:
    """The cluster at an address as long as the block lasts; `processors` are those of one that is started here."""
    with ThreadPoolExecutor(1, "ray") as thread:
        cluster = Cluster(thread)
        try:
            await cluster.connect(address, processors)
            yield cluster
        finally:
            await cluster.disconnect()


def _look_at(result: asyncio.Future[Any]) -> None:
    """Nobody may want to know any more how a task failed."""
    if not result.cancelled():
        result.exception()


def _one_line(error: BaseException) -> str:
    """The first words of an explanation that may go on for pages."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return shown(lines[0] if lines else type(error).__name__)

"""Test doubles of a player's surroundings: a clock that stands still, machines that are slow or stuck, messages."""

import asyncio
from collections.abc import Callable, Collection
from contextlib import suppress
from queue import SimpleQueue
from threading import Event, Thread

from aiohttp.web import Application

from ggp.gdl.reader import read
from ggp.gdl.rulesheet import Rulesheet
from ggp.gdl.state_machine import Facts, JointMove, StateMachine
from ggp.gdl.terms import Term
from ggp.protocol.messages import Play, Start
from players.pipe import Finding, Forget, Request, decode, encode
from players.process import MatchThinking
from players.service import make_app
from players.settings import PlayerSettings
from players.thinker import MakeMachine
from players.worker import Hear, Lost, MakeWorker
from tests.search.machines import Nim

RULES = "(role left)\n(role right)"  # enough for machines that are made by hand
NIM = """
(role left) (role right) (init (heap {heap})) (init (mover left))
(minus 1 1 0) (minus 2 1 1) (minus 3 1 2) (minus 4 1 3) (minus 5 1 4) (minus 6 1 5) (minus 7 1 6) (minus 8 1 7)
(minus 9 1 8) (minus 10 1 9) (minus 11 1 10) (minus 12 1 11) (minus 13 1 12) (minus 14 1 13)
(<= (minus ?a 2 ?c) (minus ?a 1 ?b) (minus ?b 1 ?c))
(<= (minus ?a 3 ?d) (minus ?a 2 ?c) (minus ?c 1 ?d))
(other left right) (other right left)
(<= (legal ?r (take ?n)) (true (mover ?r)) (true (heap ?h)) (minus ?h ?n ?rest))
(<= (legal ?r wait) (true (mover ?o)) (other ?o ?r))
(<= (next (heap ?rest)) (does ?r (take ?n)) (true (heap ?h)) (minus ?h ?n ?rest))
(<= (next (mover ?r)) (true (mover ?o)) (other ?o ?r))
(<= terminal (true (heap 0)))
(<= (goal ?r 0) (true (mover ?r)))
(<= (goal ?r 100) (true (mover ?o)) (other ?o ?r))
"""  # the rules of `Nim`, for heaps of up to 14
PATIENCE = 60.0  # seconds after which a test that waits for a thread has failed


class FakeClock:
    """Time goes on only when a test says so."""

    def __init__(self) -> None:
        self._now = 1000.0
        self._calls: list[tuple[float, Callable[[], None]]] = []

    def now(self) -> float:
        return self._now

    def call_at(self, moment: float, callback: Callable[[], None]) -> Callable[[], None]:
        call = (moment, callback)
        self._calls.append(call)
        return lambda: self._calls.remove(call) if call in self._calls else None

    def advance(self, seconds: float) -> None:
        self._now += seconds
        due = [call for call in self._calls if call[0] <= self._now]
        for call in due:
            self._calls.remove(call)
            call[1]()


class StuckNim(Nim):
    """A machine one of whose functions does not return until it is released; it oversleeps when nobody does that."""

    def __init__(self, heap: int, function: str) -> None:
        super().__init__(heap)
        self.is_stuck = Event()
        self.released = Event()
        self.overslept = False
        self._function = function

    def make(self, _: Rulesheet) -> StateMachine:
        self._wait("make")
        return self

    def legal_moves(self, state: Facts, role: str) -> tuple[Term, ...]:
        self._wait("legal_moves")
        return super().legal_moves(state, role)

    def next_state(self, state: Facts, joint_move: JointMove) -> Facts:
        self._wait("next_state")
        return super().next_state(state, joint_move)

    def _wait(self, function: str) -> None:
        if function == self._function:
            self.is_stuck.set()
            self.overslept |= not self.released.wait(PATIENCE)


def maker(machine: StateMachine) -> MakeMachine:
    """Makes this machine, whatever the rules."""

    def make(_: Rulesheet) -> StateMachine:
        return machine

    return make


class ThreadWorker:
    """Thinks in threads of the test, on its clock; what is said goes through the same lines as in a pipe."""

    made: list["ThreadWorker"] = []  # noqa: RUF012 - of one test at a time

    def __init__(self, clock: FakeClock, make: MakeMachine, hear: Hear, lost: Lost) -> None:
        self.made.append(self)
        self.lose = lost
        self.asked: list[Request] = []
        self.is_killed = False
        self.has_ended = Event()
        self._hear = hear
        self._loop = asyncio.get_running_loop()
        self._requests: SimpleQueue[bytes] = SimpleQueue()
        self._thinking = MatchThinking(self._tell, make, clock.now)
        Thread(target=self._work, daemon=True).start()

    def send(self, request: Request) -> None:
        self.asked.append(request)
        self._requests.put(encode(request))

    def end(self) -> None:
        self.send(Forget())

    def kill(self) -> None:
        self.is_killed = True
        self.send(Forget())

    def _work(self) -> None:
        request: Request | None = None
        while not isinstance(request, Forget):
            request = decode(self._requests.get())
            self._thinking.hear(request)
        self._thinking.join()
        self.has_ended.set()

    def _tell(self, finding: Finding) -> None:
        with suppress(RuntimeError):  # the loop is closed: the test is over
            self._loop.call_soon_threadsafe(self._hear, decode(encode(finding)))


def in_threads(clock: FakeClock, make: MakeMachine) -> MakeWorker:
    """Workers for the player of a test."""
    return lambda hear, lost: ThreadWorker(clock, make, hear, lost)


def app_with(
    settings: PlayerSettings, clock: FakeClock, machine: StateMachine, origins: Collection[str] = ()
) -> Application:
    """A service that thinks with this machine."""
    return make_app(settings, clock, in_threads(clock, maker(machine)), origins)


def start(match: str = "m", role: str = "left", rules: str = RULES, startclock: int = 20, playclock: int = 10) -> Start:
    return Start(match, role, rules, startclock, playclock)


def play(moves: str | None = None, match: str = "m") -> Play:
    return Play(match, None if moves is None else terms(moves))


def terms(text: str) -> tuple[Term, ...]:
    return tuple(node.term for node in read(text))


async def seen(event: Event) -> None:
    """Waits until a thread has set an event."""
    assert await asyncio.to_thread(event.wait, PATIENCE)

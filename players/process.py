"""The processes that think: the fork server, and one for each match.

    python -m players.process CHANNEL PARENT STRATEGY LEVEL

is the fork server; that of a bot is forked from its service (`players.launch`). It imports everything that the strategy
needs, compiles kernels where none are kept, and then forks a process for each match: that takes milliseconds, and no
match waits for an import. What cannot be interrupted (rules without an end, machine code) can be ended together with
its process. `players.worker` is the other end of the channel.
"""

import ctypes
import gc
import logging
import os
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from threading import Lock, Thread
from traceback import clear_frames
from typing import TypeAlias

from ggp.errors import GgpError
from ggp.gdl.reader import read_term
from ggp.gdl.terms import Term, to_text
from ggp.protocol.messages import Play, PlayPercepts, parse_message
from players.pipe import (
    END,
    FAILED,
    FORK,
    FRAME,
    PREPARING,
    READY,
    Begin,
    Begun,
    Cancel,
    Choose,
    Finding,
    Follow,
    Forget,
    Found,
    Ponder,
    Refused,
    Request,
    decode,
    encode,
    log_to_stderr,
)
from players.settings import PlayerSettings
from players.strategies import MakeStrategy, prepare
from players.strategy import Thought
from players.thinker import MakeMachine, Surroundings, Thinker, Turn, make_interpreter

SWITCH_INTERVAL = 0.001  # seconds for which the thread that thinks may keep the one that hears waiting each time

_PR_SET_PDEATHSIG = 1
_REAP_SECONDS = 0.01  # between two looks at whether a process has ended that was told to

Job: TypeAlias = Callable[[], None]
Tell: TypeAlias = Callable[[Finding], None]

log = logging.getLogger(__name__)


class MatchThinking:
    """One match: requests in, findings out. The thread that hears also follows the match; another one thinks."""

    def __init__(
        self,
        tell: Tell,
        make: MakeMachine = make_interpreter,
        now: Callable[[], float] = time.monotonic,
        make_strategy: MakeStrategy | None = None,
    ) -> None:
        """make_strategy: None: that of the settings, by its name."""
        self._tell = tell
        self._make_strategy = make_strategy
        self._make = make
        self._now = now
        self._name = ""  # of the match
        self._thinker: Thinker | None = None
        self._thought: Thought | None = None  # the newest
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._thread = Thread(target=self._work, name="thinking", daemon=True)
        self._thread.start()

    def hear(self, request: Request) -> None:
        """Returns soon, unless the rules take long."""
        if self._thought is not None:
            self._thought.cancel()
        match request:
            case Begin():
                self._begin(request)
            case Follow():
                self._catch_up(request)
            case Choose():
                self._choose(request)
            case Ponder():
                self._ponder(request)
            case Forget():
                self._jobs.put(self._guarded(Thinker.forget))
                self._jobs.put(None)
            case Cancel():
                pass

    def join(self) -> None:
        """Waits until nothing is thought any more, after `Forget`."""
        self._thread.join()

    def _begin(self, request: Begin) -> None:
        self._name = request.start.match
        with self._told_in_the_log():
            around = Surroundings(log.warning, self._in_background, self._tell_begun, self._make_strategy)
            self._thinker = Thinker(request.start, request.settings, self._make, around)
        if self._thinker is None:
            self._tell(Refused())

    def _tell_begun(self, move: Term | None) -> None:
        self._tell(Begun(None if move is None else to_text(move)))

    def _catch_up(self, request: Follow) -> None:
        turn = self._follow(request.news, request.answered)
        if turn is not None:
            self._jobs.put(self._guarded(lambda thinker: thinker.advance(turn)))

    def _choose(self, request: Choose) -> None:
        """A legal move is told before anything is thought."""
        thought = self._new_thought(request.number, request.stop_at)
        thought.wants_evaluation = request.wants_evaluation
        turn = self._follow(request.news, request.answered)
        if turn is not None and turn.first_move is not None:
            thought.offer(turn.first_move)
        self._think(request.number, thought, lambda thinker: None if turn is None else thinker.think(turn, thought))

    def _ponder(self, request: Ponder) -> None:
        thought = self._new_thought(request.number, request.stop_at)
        if self._thinker is not None:
            state, answered = self._thinker.state, _term(request.answered)
            self._think(request.number, thought, lambda thinker: thinker.ponder(state, answered, thought))

    def _new_thought(self, number: int, stop_at: float) -> Thought:
        self._thought = Thought(self._now, stop_at, tell=lambda thought: self._tell(_found(number, thought)))
        return self._thought

    def _follow(self, news: str, answered: str | None) -> Turn | None:
        with self._told_in_the_log():
            said = parse_message(news)
            if self._thinker is not None and isinstance(said, Play | PlayPercepts):
                return self._thinker.follow(said, _term(answered))
        return None

    def _think(self, number: int, thought: Thought, job: Callable[[Thinker], None]) -> None:
        """In the thread that thinks; that it is over is told however it ends."""
        guarded = self._guarded(job)

        def work() -> None:
            guarded()
            self._tell(_found(number, thought, is_last=True))

        self._jobs.put(work)

    def _guarded(self, job: Callable[[Thinker], None]) -> Job:
        def work() -> None:
            with self._told_in_the_log():
                if self._thinker is not None:
                    job(self._thinker)

        return work

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()

    def _in_background(self, job: Job) -> None:
        def work() -> None:
            with self._told_in_the_log():
                job()

        Thread(target=work, name="preparing", daemon=True).start()

    @contextmanager
    def _told_in_the_log(self) -> Iterator[None]:
        """Rules that cannot be read or evaluated are no fault of the player: a line of the log, and it goes on."""
        try:
            yield
        except GgpError as error:
            log.warning("%s: %s", self._name, error)
        except (RecursionError, MemoryError) as error:
            clear_frames(error.__traceback__)  # what they hold may be all the memory there is, and logging needs some
            log.warning("%s: the rules need too much: %s", self._name, type(error).__name__)
        except Exception:
            log.exception("a fault of this program while thinking")


def _term(text: str | None) -> Term | None:
    return None if text is None else read_term(text)


def _found(number: int, thought: Thought, *, is_last: bool = False) -> Found:
    move = None if thought.move is None else to_text(thought.move)
    evaluation = None if thought.evaluation is None else thought.evaluation.model_dump_json()
    return Found(number, move, thought.note, evaluation, thought.failure, is_last)


def think_for(channel: socket.socket) -> None:
    """Does what is asked on the channel until it is closed, or the match is over."""
    lock = Lock()

    def tell(finding: Finding) -> None:
        with lock, suppress(OSError):  # nobody listens any more, and this process is ended soon
            channel.sendall(encode(finding))

    sys.setswitchinterval(SWITCH_INTERVAL)
    gc.set_threshold(700, 10, 1000)  # a full collection of a large tree holds every thread for tenths of a second
    thinking = MatchThinking(tell)
    with suppress(ConnectionError):  # the service closed its end before it had read every finding
        for line in channel.makefile("rb"):
            request = decode(line)
            if isinstance(request, Begin):
                _confine(request.settings)
            thinking.hear(request)
            if isinstance(request, Forget):
                thinking.join()
                return


def _confine(settings: PlayerSettings) -> None:
    """Bounds the memory of this process; those that it starts may set their own bounds."""
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    size = settings.process_bytes
    with suppress(ValueError):  # the bound is lower already
        resource.setrlimit(resource.RLIMIT_AS, (size, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class _ForkServer:
    """Makes processes for matches, and ends them; only their parent can be sure of whom it ends."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._ending: set[int] = set()
        self._alive: set[int] = set()

    def serve(self) -> None:
        """Until the other end is closed."""
        while True:
            readable, _, _ = select.select([self._channel], [], [], _REAP_SECONDS if self._ending else None)
            self._reap()
            if readable and not self._do():
                return

    def _do(self) -> bool:
        """What is asked; false when the service has closed its end."""
        data, files = b"", list[int]()
        while len(data) < FRAME.size:
            try:
                part, received, _, _ = socket.recv_fds(self._channel, FRAME.size - len(data), 1)
            except ConnectionError:  # it had not read all that it was sent
                return False
            if not part:
                return False
            data += part
            files += received
        code, number, _ = FRAME.unpack(data)
        if code == FORK:
            self._tell(FORK, self._fork(files[0]))
        elif number in self._alive:
            os.kill(number, signal.SIGKILL)
            self._ending.add(number)
        return True

    def _fork(self, file: int) -> int:
        """The number of the new process, 0 where the system makes none."""
        try:
            number = os.fork()
        except OSError:
            os.close(file)
            return 0
        if number == 0:
            code = 1
            try:
                _end_with_parent()
                self._channel.close()
                think_for(socket.socket(fileno=file))
                code = 0
            except Exception:
                log.exception("a fault of this program in the process of a match")
            finally:
                os._exit(code)  # none of what the parent does at its end
        os.close(file)
        self._alive.add(number)
        return number

    def _reap(self) -> None:
        for number in list(self._ending):
            ended, status = os.waitpid(number, os.WNOHANG)
            if ended:
                self._ending.discard(number)
                self._alive.discard(number)
                self._tell(END, number, os.waitstatus_to_exitcode(status))

    def _tell(self, code: bytes, number: int = 0, status: int = 0) -> None:
        with suppress(OSError):
            self._channel.sendall(FRAME.pack(code, number, status))


def _end_with_parent() -> None:
    """Lets the system kill this process when its parent ends, where the system can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def run_fork_server(channel: socket.socket, parent: int, strategy: str) -> None:
    """Until the channel is closed. SystemExit where no process can be made, after the reason was told."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the service, which ends this process
    _end_with_parent()
    if os.getppid() != parent:
        return
    sys.stdout = sys.stderr  # what a user's strategy prints is for its author
    try:
        prepare(strategy, lambda: channel.sendall(FRAME.pack(PREPARING, 0, 0)))
    except GgpError as error:
        reason = str(error).encode()
        channel.sendall(FRAME.pack(FAILED, len(reason), 0) + reason)
        sys.exit(1)
    gc.collect()
    gc.freeze()  # what is there now is never collected, so that its pages stay shared
    channel.sendall(FRAME.pack(READY, 0, 0))
    _ForkServer(channel).serve()


def main() -> None:
    """The fork server, spawned by `players.worker`."""
    log_to_stderr(int(sys.argv[4]))
    run_fork_server(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]), sys.argv[3])


if __name__ == "__main__":
    main()

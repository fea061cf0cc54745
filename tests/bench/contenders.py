"""What plays in the matches: a text such as `uct:exploration=0.5` → a contender.

    random                       any legal move
    uct[:SETTING=VALUE,…]        the reference search on the interpreter; settings of ggp.search.uct
    mcts[:SETTING=VALUE,…]       the search on the circuit; settings of ggp.search.mcts.search
    merged[:SETTING=VALUE,…]     the same with a tree for each thread in place of one for all, merged at the root
    tuned[:SETTING=VALUE,…]      mcts, which first looks for settings that suit the game, for `tuning` seconds
    learned[:SETTING=VALUE,…]    mcts with a net that was learned before, for `learning` processor seconds, or that of a
                                 `knowledge` file of `ggp train`
    started[:SETTING=VALUE,…]    mcts as a player plans its start clock, of `start` seconds: it learns, and quick
                                 matches show how to search; anew after so many `matches`
    openspiel[:SETTING=VALUE,…]  OpenSpiel's C++ MCTSBot; settings as OpenSpielSettings below
    alphabeta                    iterative deepening with an evaluation made by hand, for three games
    perfect                      solves each state of connect four; of equal moves the one that is hardest to refute
    checkout:DIRECTORY:TEXT      what TEXT describes in another checkout of this project, in a process of its own

What is not set is as by default.
"""

import json
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from subprocess import PIPE, Popen
from threading import enumerate as enumerate_threads
from time import perf_counter, thread_time
from typing import Any, Literal, Protocol, TypeVar, get_args, get_type_hints
from weakref import finalize

from ggp.engines import make_machine
from ggp.errors import GgpError, SettingsError
from ggp.gdl.rulesheet import Rulesheet, kif
from ggp.gdl.state_machine import Facts, JointMove, StateMachine
from ggp.gdl.terms import Term
from ggp.learning.inputs import Inputs
from ggp.learning.knowledge import load_knowledge
from ggp.learning.learner import Learner
from ggp.learning.net import Net
from ggp.learning.symmetries import find_symmetries
from ggp.search import uct
from ggp.search.mcts import search as mcts
from ggp.search.mcts.tuning import Tuner
from ggp.simulation.state_machine import CircuitMachine
from players.engines import LEARNER_SHARE, PLANNED, Improver
from players.strategy import Thought
from tests.bench.alphabeta import AlphaBeta
from tests.bench.bridge import find_bridge, load_openspiel
from tests.bench.merging import merge
from tests.bench.perfect import ConnectFour, PerfectPlay

SettingsT = TypeVar("SettingsT")

_UNLIMITED = 1 << 30  # simulations
_MEASURED = 1_000  # simulations, before it is known how many there is time for
_VISITS_BETWEEN = 10_000  # of the search, between two looks at what else is due


@dataclass(frozen=True, slots=True)
class Limit:
    """How long a contender may think of a move; one of the two is None."""

    seconds: float | None = None
    visits: int | None = None  # of the state
    of_processor: bool = False  # whether seconds are those of the calling thread, not of the wall clock

    def stop(self) -> Callable[[], bool]:
        """Whether the time is over, counted from now; never where visits are counted."""
        if self.seconds is None:
            return lambda: False
        now = thread_time if self.of_processor else perf_counter
        deadline = now() + self.seconds
        return lambda: now() >= deadline


@dataclass(frozen=True, slots=True)
class Choice:
    """A move, None where none was found in time, and what was spent on it."""

    move: Term | None
    playouts: int = 0  # backed up into the tree
    visits: int = 0  # of the state by these; fewer where several playouts are backed up at once


class Contender(Protocol):
    """A search with what it needs to play one role of any number of matches of one game."""

    def new_match(self, role: str, seed: int) -> None:
        """Forgets the match before."""

    def choose(self, state: Facts, legal: tuple[Term, ...], limit: Limit) -> Choice:
        """One of at least two legal moves."""

    def advance(self, joint_move: JointMove) -> None:
        """Tells a step that was done, be it by others alone."""


def make_contender(text: str, rulesheet: Rulesheet) -> Contender:
    """SettingsError for a text that describes none."""
    name, _, options = text.partition(":")
    if name == "checkout":
        return CheckoutContender(*options.partition(":")[::2], rulesheet)
    if name not in _MAKERS:
        *others, last = (*_MAKERS, "checkout")
        raise SettingsError(f"no contender is called {name!r}; there are {', '.join(others)} and {last}")
    engine, settings, make = _MAKERS[name]
    return make(make_machine(rulesheet, engine), _read(settings, options))


def warm_up(contender: Contender, machine: StateMachine) -> None:
    """Searches the start state, so that what is compiled or filled in at the first use costs no match its time.

    Waits for the threads that this starts: machine code is made in parallel with the search. Perfect play of the start
    state takes long, and has nothing to warm up.
    """
    if isinstance(contender, PerfectContender):
        return
    state, role = machine.initial_state, machine.roles[0]
    before = set(enumerate_threads())
    contender.new_match(role, 0)
    for limit in (Limit(visits=64), Limit(seconds=1.0)):
        contender.choose(state, machine.legal_moves(state, role), limit)
        for thread in set(enumerate_threads()) - before:
            thread.join()


class RandomContender:
    """Plays any legal move."""

    def __init__(self) -> None:
        self._rng = Random(0)

    def new_match(self, role: str, seed: int) -> None:
        self._rng = Random(seed)

    def choose(self, state: Facts, legal: tuple[Term, ...], limit: Limit) -> Choice:
        return Choice(self._rng.choice(legal))

    def advance(self, joint_move: JointMove) -> None:
        pass


class UctContender:
    """The reference search."""

    def __init__(self, machine: StateMachine, settings: uct.UctSettings) -> None:
        self._machine = machine
        self._settings = settings
        self._search: uct.UCT | None = None

    def new_match(self, role: str, seed: int) -> None:
        self._search = uct.UCT(self._machine, role, Random(seed), self._settings)

    def choose(self, state: Facts, legal: tuple[Term, ...], limit: Limit) -> Choice:
        assert self._search is not None
        result = self._search.search(state, limit.stop(), limit.visits)
        return Choice(result.best, result.playouts, result.playouts)

    def advance(self, joint_move: JointMove) -> None:
        assert self._search is not None
        self._search.advance(joint_move)


class MctsContender:
    """The search on the circuit; what is known of a new root it finds by itself."""

    def __init__(self, machine: StateMachine, settings: mcts.SearchSettings) -> None:
        assert isinstance(machine, CircuitMachine)
        self._machine = machine
        self._settings = settings
        self._role = ""
        self._search: mcts.BatchedMcts | None = None

    def new_match(self, role: str, seed: int) -> None:
        self._role = role
        self._search = mcts.BatchedMcts(self._machine, self._settings, seed)

    def choose(self, state: Facts, legal: tuple[Term, ...], limit: Limit) -> Choice:
        search = self._search
        assert search is not None
        stop = limit.stop()  # the way to the new root is part of the time
        search.go_to(state)
        playouts, visits = search.playouts, search.visits
        search.run(stop, limit.visits)
        return Choice(search.result(self._role).best, search.playouts - playouts, search.visits - visits)

    def advance(self, joint_move: JointMove) -> None:
        pass


class MergedContender:
    """As many searches as threads, each with a tree, a seed and a part of the memory of its own."""

    def __init__(self, machine: StateMachine, settings: mcts.SearchSettings) -> None:
        assert isinstance(machine, CircuitMachine)
        self._machine = machine
        self._count = settings.threads
        one = replace(settings, threads=1, memory_bytes=max(settings.memory_bytes // settings.threads, 2**20))
        others = replace(one, retrograde=False, proof=False)  # once is enough
        self._settings = [one, *[others] * (self._count - 1)]
        self._role = ""
        self.searches: list[mcts.BatchedMcts] = []

    def new_match(self, role: str, seed: int) -> None:
        self._role = role
        self.searches = [
            mcts.BatchedMcts(self._machine, settings, seed * self._count + at)
            for at, settings in enumerate(self._settings)
        ]

    def choose(self, state: Facts, legal: tuple[Term, ...], limit: Limit) -> Choice:
        """Visits are shared out, so that each tree and with it the move depends on the seed alone."""
        searches, stop = self.searches, limit.stop()
        for search in searches:
            search.go_to(state)
        before = self._spent()

        def over(at: int) -> bool:
            others = searches[:at] + searches[at + 1 :]
            return stop() or (limit.visits is None and any(other.is_solved for other in others))

        def work(at: int) -> None:
            share = None if limit.visits is None else (limit.visits + at) // self._count
            searches[at].run(lambda: over(at), share)

        with ThreadPoolExecutor(self._count) as pool:
            for done in [pool.submit(work, at) for at in range(self._count)]:
                done.result()
        playouts, visits = (now - then for now, then in zip(self._spent(), before, strict=True))
        return Choice(self.best(), playouts, visits)

    def advance(self, joint_move: JointMove) -> None:
        pass

    def _spent(self) -> tuple[int, int]:
        return sum(search.playouts for search in self.searches), sum(search.visits for search in self.searches)

    def best(self) -> Term | None:
        """Chosen from the sums as a search chooses from its own numbers."""
        first = self.searches[0]
        role = self._machine.compiled.roles.index(self._role)
        best = first.reader.best(*merge([search.reader.reports(role) for search in self.searches]), role)
        return None if best is None else best.move


@dataclass(frozen=True, slots=True)
class TunedSettings(mcts.SearchSettings):
    """How to search, until something better is found."""

    tuning: float = 4.0  # seconds before each match


class TunedContender(MctsContender):
    """The same after a start clock."""

    def __init__(self, machine: StateMachine, settings: TunedSettings) -> None:
        super().__init__(machine, settings)
        self._seconds = settings.tuning

    def new_match(self, role: str, seed: int) -> None:
        super().new_match(role, seed)
        search, tuner = self._search, Tuner(self._machine, self._settings, seed)
        assert search is not None
        stop = Limit(seconds=self._seconds).stop()
        while not stop() and tuner.play(self._machine.initial_state, stop):
            tuner.use_decisive()
        search.adopt(tuner.best.settings)
        print(f"{self._settings} -> {search.settings}", file=sys.stderr)


@dataclass(frozen=True, slots=True)
class LearnedSettings(mcts.SearchSettings):
    """How to search, and how long to learn."""

    learning: float = 30.0  # seconds of the thread that learns
    learning_seed: int = 0
    inputs: Literal["auto", "facts", "pairs", "moves", "all"] = "auto"  # of the net besides facts
    knowledge: str = ""  # a file, in place of learning


class LearnedContender(MctsContender):
    """The same with priors and values of a net."""

    def __init__(self, machine: StateMachine, settings: LearnedSettings) -> None:
        super().__init__(machine, settings)
        if settings.knowledge:
            path = Path(settings.knowledge)
            self._net = load_knowledge(path, self._machine.rulesheet, self._machine.compiled).net
            return
        symmetries = find_symmetries(self._machine.rulesheet, self._machine.batches)
        learner = Learner(self._machine.batches, settings.learning_seed, symmetries=symmetries)
        if settings.inputs != "auto":
            kinds = settings.inputs
            learner.begin(Inputs(pairs=kinds in ("pairs", "all"), moves=kinds in ("moves", "all")))
        learner.run_slice(1)
        end = thread_time() + settings.learning
        learner.run(lambda: thread_time() >= end)
        self._net = learner.net
        print(learner.progress(), learner.inputs, file=sys.stderr)

    def new_match(self, role: str, seed: int) -> None:
        super().new_match(role, seed)
        assert self._search is not None
        self._search.adopt(self._settings, self._net)


@dataclass(frozen=True, slots=True)
class StartedSettings(mcts.SearchSettings):
    """How to search at first."""

    start: float = 30.0  # seconds of the start clock
    matches: int = 10  # that use what came of it


class StartedContender(MctsContender):
    """The same after a start clock as players use it."""

    def __init__(self, machine: StateMachine, settings: StartedSettings) -> None:
        super().__init__(machine, settings)
        self._started = settings
        self._played = 0
        self._found: tuple[mcts.SearchSettings, Net | None] = settings, None

    def new_match(self, role: str, seed: int) -> None:
        if self._played % self._started.matches == 0:
            self._start(seed)
        self._played += 1
        super().new_match(role, seed)
        assert self._search is not None
        self._search.adopt(*self._found)

    def _start(self, seed: int) -> None:
        machine, settings = self._machine, self._started
        planned, learner_bytes = PLANNED * settings.start, settings.memory_bytes // LEARNER_SHARE
        improver = Improver(machine, settings, seed, learner_bytes, None, planned)
        search = mcts.BatchedMcts(machine, settings, seed)
        began = perf_counter()
        thought = Thought(perf_counter, began + settings.start)
        search.go_to(machine.initial_state)
        while not (thought.stop() or search.is_solved):
            improver.work(search, machine.initial_state, thought, lambda: perf_counter() - began, start=True)
            search.run(thought.stop, _VISITS_BETWEEN)
        improver.adopt(search)
        self._found = search.settings, search.net
        print(search.settings, file=sys.stderr)
        search.close()


@dataclass(frozen=True, slots=True)
class OpenSpielSettings:
    """Of its MCTSBot, as in OpenSpiel's own examples; its values lie between -1 and 1."""

    uct_c: float = 2.0
    rollouts: int = 1  # for each simulation
    max_memory_mb: int = 1000
    solve: bool = True


class OpenSpielContender:
    """OpenSpiel's MCTSBot, which begins each search anew.

    It counts simulations only: for a clock, those that the search before could make in that time.
    """

    def __init__(self, machine: StateMachine, settings: OpenSpielSettings) -> None:
        self._bridge = find_bridge(machine)
        self._settings = settings
        self._spiel = load_openspiel()
        self._game = self._spiel.load_game(self._bridge.game)
        self._state: Any = None
        self._seed = 0
        self._rate = 0.0  # simulations a second, of the last search

    def new_match(self, role: str, seed: int) -> None:
        self._state, self._seed = self._game.new_initial_state(), seed

    def choose(self, state: Facts, legal: tuple[Term, ...], limit: Limit) -> Choice:
        if limit.visits is not None or limit.seconds is None:
            return self._search(_UNLIMITED if limit.visits is None else limit.visits)
        clock = thread_time if limit.of_processor else perf_counter
        began = clock()
        if not self._rate:
            self._search(_MEASURED)
            self._rate = _MEASURED / max(clock() - began, 1e-6)
            began = clock()
        choice = self._search(max(1, int(self._rate * limit.seconds)))
        self._rate = choice.visits / max(clock() - began, 1e-6)
        return choice

    def _search(self, simulations: int) -> Choice:
        settings = self._settings
        self._seed += 1
        evaluator = self._spiel.RandomRolloutEvaluator(settings.rollouts, self._seed)
        bot = self._spiel.MCTSBot(
            self._game,
            evaluator,
            settings.uct_c,
            simulations,
            settings.max_memory_mb,
            settings.solve,
            self._seed,
            False,
        )
        root = bot.mcts_search(self._state)
        move = self._bridge.to_move(root.best_child().action)
        return Choice(move, root.explore_count * settings.rollouts, root.explore_count)

    def advance(self, joint_move: JointMove) -> None:
        self._bridge.apply(self._state, joint_move)


class AlphaBetaContender:
    """Keeps its transposition table for a match."""

    def __init__(self, machine: StateMachine) -> None:
        self._search = AlphaBeta(machine)

    def new_match(self, role: str, seed: int) -> None:
        self._search.forget()

    def choose(self, state: Facts, legal: tuple[Term, ...], limit: Limit) -> Choice:
        search, stop = self._search, limit.stop()
        move, _ = search.best(state, stop if limit.visits is None else lambda: search.nodes >= (limit.visits or 0))
        return Choice(move, search.nodes, search.nodes)

    def advance(self, joint_move: JointMove) -> None:
        pass


class PerfectContender:
    """Takes the time that it needs."""

    def __init__(self, machine: CircuitMachine) -> None:
        self._perfect = PerfectPlay(machine, ConnectFour(machine), 0)

    def new_match(self, role: str, seed: int) -> None:
        pass

    def choose(self, state: Facts, legal: tuple[Term, ...], limit: Limit) -> Choice:
        return Choice(self._perfect.choose(state))

    def advance(self, joint_move: JointMove) -> None:
        pass


class CheckoutContender:
    """A contender of another checkout of this project: `checkout.py` runs there and answers line by line."""

    def __init__(self, directory: str, text: str, rulesheet: Rulesheet) -> None:
        path = Path(directory).resolve()
        if not directory or not (path / "tests" / "bench" / "contenders.py").exists():
            raise SettingsError(f"{directory or 'no directory'} is no checkout of this project")
        self._process = Popen(
            [sys.executable, "-P", str(Path(__file__).with_name("checkout.py")), text], stdin=PIPE, stdout=PIPE,
            text=True, env={**os.environ, "PYTHONPATH": str(path)}, cwd=path,
        )  # fmt: skip
        finalize(self, _end, self._process)
        self._ask("\n".join(kif(rulesheet)))

    def new_match(self, role: str, seed: int) -> None:
        self._ask("new_match", role, seed)

    def choose(self, state: Facts, legal: tuple[Term, ...], limit: Limit) -> Choice:
        move, playouts, visits = self._ask("choose", list(state), legal, asdict(limit))
        return Choice(None if move is None else legal[move], playouts, visits)

    def advance(self, joint_move: JointMove) -> None:
        self._ask("advance", joint_move)

    def _ask(self, *message: Any) -> Any:  # noqa: ANN401 - what it answers
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            print(json.dumps(message), file=self._process.stdin, flush=True)
            return json.loads(self._process.stdout.readline())
        except (BrokenPipeError, json.JSONDecodeError):
            raise GgpError("the contender of the other checkout has stopped; its message is above") from None


def _end(process: Popen[str]) -> None:
    """Closes its input, which ends it."""
    with process:
        pass


@dataclass(frozen=True, slots=True)
class _NoSettings:
    pass


_MAKERS: dict[str, tuple[str, type, Callable[[Any, Any], Contender]]] = {
    "random": ("interpreter", _NoSettings, lambda *_: RandomContender()),
    "uct": ("interpreter", uct.UctSettings, UctContender),
    "mcts": ("circuit", mcts.SearchSettings, MctsContender),
    "merged": ("circuit", mcts.SearchSettings, MergedContender),
    "tuned": ("circuit", TunedSettings, TunedContender),
    "learned": ("circuit", LearnedSettings, LearnedContender),
    "started": ("circuit", StartedSettings, StartedContender),
    "openspiel": ("circuit", OpenSpielSettings, OpenSpielContender),
    "alphabeta": ("circuit", _NoSettings, lambda machine, _: AlphaBetaContender(machine)),
    "perfect": ("circuit", _NoSettings, lambda machine, _: PerfectContender(machine)),
}


def _read(kind: type[SettingsT], options: str) -> SettingsT:
    """Settings from `name=value,name=value`; what is not named stays as it is by default."""
    hints = get_type_hints(kind)
    values: dict[str, Any] = {}
    for option in filter(None, options.split(",")):
        name, _, text = option.partition("=")
        if name not in hints:
            raise SettingsError(f"no setting is called {name!r}; the settings are {', '.join(hints) or 'none'}")
        try:
            choices = get_args(hints[name])  # of a Literal
            values[name] = _PARSERS.get(type(choices[0]) if choices else hints[name], str)(text)
        except ValueError:
            raise SettingsError(f"the setting {name} cannot be {text!r}") from None
    return kind(**values)


def _to_bool(text: str) -> bool:
    if text not in _BOOLEANS:
        raise ValueError(text)
    return _BOOLEANS[text]


_BOOLEANS = {"1": True, "true": True, "0": False, "false": False}
_PARSERS: dict[type, Callable[[str], Any]] = {int: int, float: float, bool: _to_bool}

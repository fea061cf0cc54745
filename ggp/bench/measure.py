"""Rulesheet → how fast it starts, how fast random matches run, and what they came to; and on what computer."""

import os
import platform
import resource
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median
from threading import Event
from time import perf_counter

import numpy as np

from ggp.cache import Cache, default_cache, kernel_folder
from ggp.circuit.compile import CompiledGame, compile_game
from ggp.engines import BUDGET_SECONDS, ENGINES, make_faster
from ggp.errors import GroundingError, SettingsError
from ggp.gdl.rulesheet import Rulesheet, parse_rulesheet
from ggp.gdl.state_machine import StateMachine, SupportsPlayouts
from ggp.grounding import Budget
from ggp.interpreter import Interpreter
from ggp.kernel import LANES, MachineCode, vector_bits
from ggp.simulation.inspection import count_instructions, find_cones
from ggp.simulation.machine_code import compile_in_background, is_worthwhile
from ggp.simulation.playout import DEFAULT_CAP, STEPS, Lanes, PlayoutTally, Simulator, drain_lanes, play, playouts_over
from ggp.simulation.steps import Steps, make_steps

MACHINE_CODE = "machine code"
INTERPRETED = "interpreted circuit"
SLICES = 5
DRAIN_SECONDS = 3.0  # at most, after the measuring, for the playouts that have begun
MOST_SECONDS = 86_400.0
MOST_THREADS = 1024

_FIRST_SECONDS = 10.0  # to wait for the first playout
_FIRST_STEPS = 8  # in one call until then
_INTERPRETED_SECONDS = 0.5  # at most, before the machine code takes over
_CALL_SECONDS = (0.002, 0.010)  # what one call of the kernel should take
_PAUSE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class BenchSettings:
    """What is measured."""

    engine: str | None = None  # None: the fastest that evaluates the rules
    seconds: float = 2.0  # of the main measuring
    threads: int = 1
    seed: int = 0
    cap: int = DEFAULT_CAP  # steps after which a playout is given up
    uses_cache: bool = False  # whether compiled games and machine code of earlier runs may be used
    grounding_seconds: float = BUDGET_SECONDS


@dataclass(frozen=True, slots=True)
class StartTimes:
    """From the text of the rules to the first playout; None where it does not apply."""

    grounding_seconds: float | None  # if cached, that of the earlier run
    building_seconds: float | None  # from ground rules to the circuit; if cached, that of the earlier run
    programs_seconds: float | None  # from the circuit to the programs of playouts
    first_playout_seconds: float | None  # from the text to the first playout's end; None: there was none in time
    is_cached: bool  # whether the circuit was made in an earlier run
    kernels_compiled: int  # functions of ours that were not on disk as machine code, up to the first playout


@dataclass(frozen=True, slots=True)
class Sizes:
    """Of a circuit; cones may share gates."""

    facts: int
    moves: int  # of all roles
    phases: int  # with which facts come round
    gates: int  # in all
    legal_and_terminal_gates: int  # state → legal, terminal
    goals_gates: int  # state → goals
    next_gates: int  # state and moves → next state
    step_instructions: tuple[int, ...]  # of each phase, the choice of random moves included
    late_goals_instructions: int | None  # None where each step evaluates the goals


@dataclass(frozen=True, slots=True)
class Speed:
    """Over slices of equal length."""

    median: float
    lowest: float
    highest: float


@dataclass(frozen=True, slots=True)
class OutcomeCounts:
    """What the playouts came to, those after the measuring included."""

    playouts: int  # that reached a terminal state
    capped: int
    stuck: int  # that ended where a role had no legal move
    unfinished: int  # that took too long after the measuring, so that short ones are too many among the others
    steps: int
    mean_length: float | None  # steps of a playout, or of what there was of it
    mean_goals: dict[str, float | None]  # of each role over the playouts; several values of one role add up


@dataclass(frozen=True, slots=True)
class Computer:
    """Where it was measured."""

    processor: str
    cores: int  # that this process may use
    vector_bits: int


@dataclass(frozen=True, slots=True)
class Measurement:
    """All that is reported of a game."""

    engine: str
    fallback: str | None  # why it is not the fastest one
    kernel: str | None  # MACHINE_CODE or INTERPRETED
    threads: int
    start: StartTimes
    sizes: Sizes | None
    machine_code_seconds: float | None  # to make it, or to load it
    interpreted_steps_per_second: float | None  # before the machine code took over
    steps_per_second: Speed  # joint moves in all lanes of all threads
    playouts_per_second: float  # by the median of the steps and their number in a playout
    outcomes: OutcomeCounts
    peak_memory_bytes: int  # of this process
    computer: Computer


def measure(text: str, source: str, settings: BenchSettings) -> Measurement:
    """Starts the game from its text and plays at random.

    RulesheetError for rules that have no meaning; GroundingError when it is the circuit that is named and there is
    none; EvaluationError as the interpreter raises it; SettingsError for a setting out of its range.
    """
    _check(settings)
    began = perf_counter()
    rulesheet = parse_rulesheet(text, source)
    fallback = None
    if settings.engine in (None, "circuit"):
        try:
            return _measure_circuit(rulesheet, settings, began)
        except GroundingError as error:
            if settings.engine is not None:
                raise
            fallback = str(error)
    interpreter = Interpreter(rulesheet)
    machine = interpreter if settings.engine == "interpreter" else make_faster(interpreter)
    return _measure_machine(machine, settings, began, fallback)


def _check(settings: BenchSettings) -> None:
    if settings.engine is not None and settings.engine not in ENGINES:
        raise SettingsError(f"no engine is called {settings.engine!r}; the engines are {', '.join(ENGINES)}")
    if not 0 < settings.seconds <= MOST_SECONDS:
        raise SettingsError(f"measuring takes more than 0 and at most {MOST_SECONDS:,} seconds, not {settings.seconds}")
    if not 1 <= settings.threads <= MOST_THREADS:
        raise SettingsError(f"there may be 1 to {MOST_THREADS} threads, not {settings.threads}")
    if settings.seed < 0:
        raise SettingsError(f"a seed is 0 or more, not {settings.seed}")
    if settings.cap < 1:
        raise SettingsError(f"a playout may last 1 step or more, not {settings.cap}")


def _measure_circuit(rulesheet: Rulesheet, settings: BenchSettings, began: float) -> Measurement:
    cache = default_cache() if settings.uses_cache else Cache(None)
    kernels = _kernels_on_disk()
    compiled = compile_game(rulesheet, Budget(seconds=settings.grounding_seconds), cache)
    compiled_at = perf_counter()
    steps = make_steps(compiled.circuit, compiled.phases, compiled.moves)
    simulator = Simulator(steps, compiled.circuit.initial, settings.cap)
    blocks = [_Block(simulator, settings.seed, number) for number in range(settings.threads)]
    programs_at = perf_counter()
    first = blocks[0].first_playout(perf_counter() + _FIRST_SECONDS)
    start = StartTimes(
        compiled.report.grounding_seconds, compiled.report.building_seconds, programs_at - compiled_at,
        first - began if first else None, compiled.report.cached, _kernels_on_disk() - kernels,
    )  # fmt: skip
    interpreted, code_seconds = None, None
    with _Pool(blocks) as pool:
        if is_worthwhile(steps):
            interpreted = pool.measure(1, min(_INTERPRETED_SECONDS, settings.seconds / 4)).median
            code_seconds = _take_machine_code(simulator, cache)
        speed = pool.measure(SLICES, settings.seconds)
        unfinished = pool.drain()
    total = sum((simulator.tally(block.lanes) for block in blocks[1:]), simulator.tally(blocks[0].lanes))
    outcomes = _outcomes(total, unfinished, dict(zip(compiled.roles, compiled.goals, strict=True)))
    return Measurement(
        engine="circuit",
        fallback=None,
        kernel=INTERPRETED if code_seconds is None else MACHINE_CODE,
        threads=settings.threads,
        start=start,
        sizes=_sizes(compiled, steps),
        machine_code_seconds=code_seconds,
        interpreted_steps_per_second=interpreted,
        steps_per_second=speed,
        playouts_per_second=_playouts_per_second(speed, outcomes),
        outcomes=outcomes,
        peak_memory_bytes=peak_memory_bytes(),
        computer=find_computer(),
    )


def _take_machine_code(simulator: Simulator, cache: Cache) -> float | None:
    """Waits for it; the seconds it took, None when LLVM did not make it."""
    began = perf_counter()
    taken = Event()

    def use(code: MachineCode) -> None:
        simulator.use(code)
        taken.set()

    thread = compile_in_background(simulator.steps, cache, use)
    while thread.is_alive():
        thread.join(_PAUSE_SECONDS)  # Ctrl-C is looked at in between
    return perf_counter() - began if taken.is_set() else None


class _Block:
    """512 lanes on one thread."""

    def __init__(self, simulator: Simulator, seed: int, number: int) -> None:
        self.lanes: Lanes = simulator.block(seed, number)
        self._plan = simulator.plan
        self._steps = 1  # in one call

    def first_playout(self, until: float) -> float | None:
        """Plays until a playout is over; when that was, None if it was not in time."""
        while not playouts_over(self.lanes):
            if perf_counter() > until:
                return None
            play(self._plan, self.lanes, _FIRST_STEPS)
        return perf_counter()

    def run(self, until: float, stop: Event) -> int:
        """Plays for a time; the number of steps in all lanes."""
        before = int(self.lanes.counters[STEPS])
        while perf_counter() < until and not stop.is_set():
            self._play()
        return int(self.lanes.counters[STEPS]) - before

    def drain(self, until: float, stop: Event) -> int:
        """Lets the playouts end that have begun, and counts the goals of all; how many did not end in time."""
        drain_lanes(self._plan, self.lanes)
        while perf_counter() < until and not stop.is_set():
            if not self._play():
                return 0
        waiting = self.lanes.words[self._plan.layout.waiting]
        unfinished = LANES - int(np.bitwise_count(waiting).sum())
        waiting[:] = ~np.uint64(0)
        play(self._plan, self.lanes, 1)  # with no lane at work, the goals that were put off are evaluated
        return unfinished

    def _play(self) -> bool:
        began = perf_counter()
        is_going_on = play(self._plan, self.lanes, self._steps)
        took = perf_counter() - began
        if took < _CALL_SECONDS[0]:
            self._steps *= 2
        elif took > _CALL_SECONDS[1]:
            self._steps = max(1, self._steps // 2)
        return is_going_on


class _Pool:
    """Blocks that play side by side; leaving it ends their threads at once."""

    def __init__(self, blocks: list[_Block]) -> None:
        self._blocks = blocks
        self._stop = Event()
        self._threads = ThreadPoolExecutor(len(blocks), "playouts")

    def __enter__(self) -> "_Pool":
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop.set()
        self._threads.shutdown()

    def measure(self, slices: int, seconds: float) -> Speed:
        """Steps per second in so many slices of the time."""
        speeds = []
        for _ in range(slices):
            began = perf_counter()
            steps = self._all(_Block.run, began + seconds / slices)
            speeds.append(steps / (perf_counter() - began))
        return Speed(median(speeds), min(speeds), max(speeds))

    def drain(self) -> int:
        """Lets the playouts end that have begun; how many did not end in time."""
        return self._all(_Block.drain, perf_counter() + DRAIN_SECONDS)

    def _all(self, work: Callable[[_Block, float, Event], int], until: float) -> int:
        """The sum over all blocks."""
        running: list[Future[int]] = [self._threads.submit(work, block, until, self._stop) for block in self._blocks]
        return sum(future.result() for future in running)


def _outcomes(tally: PlayoutTally, unfinished: int, values: dict[str, tuple[int, ...]]) -> OutcomeCounts:
    """values: the goal values of each role, as the tally has them in a row."""
    sums, first = {}, 0
    for role, of_role in values.items():
        counts = tally.goals[first : first + len(of_role)]
        sums[role] = sum(value * count for value, count in zip(of_role, counts, strict=True))
        first += len(of_role)
    return _means(tally.playouts, tally.capped, tally.stuck, unfinished, tally.steps, sums)


def _means(playouts: int, capped: int, stuck: int, unfinished: int, steps: int, sums: dict[str, int]) -> OutcomeCounts:
    begun = playouts + capped + stuck + unfinished
    goals = {role: total / playouts if playouts else None for role, total in sums.items()}
    return OutcomeCounts(playouts, capped, stuck, unfinished, steps, steps / begun if begun else None, goals)


def _playouts_per_second(speed: Speed, outcomes: OutcomeCounts) -> float:
    return speed.median * outcomes.playouts / outcomes.steps if outcomes.steps else 0.0


def _sizes(compiled: CompiledGame, steps: Steps) -> Sizes:
    cones, programs = find_cones(compiled.circuit), count_instructions(steps)
    return Sizes(
        facts=compiled.circuit.facts,
        moves=sum(compiled.circuit.moves),
        phases=len(compiled.phases),
        gates=cones.all.gates,
        legal_and_terminal_gates=cones.legal_and_terminal.gates,
        goals_gates=cones.goals.gates,
        next_gates=cones.next.gates,
        step_instructions=programs.phases,
        late_goals_instructions=programs.late_goals,
    )


def _measure_machine(machine: StateMachine, settings: BenchSettings, began: float, fallback: str | None) -> Measurement:
    """Random matches, one after the other on one thread."""
    matches = _Matches(machine, settings.seed, settings.cap)
    first_until = perf_counter() + _FIRST_SECONDS
    while not matches.ended and perf_counter() < first_until:
        matches.step()
    first = perf_counter() - began if matches.ended else None
    speeds = []
    for _ in range(SLICES):
        slice_began, before = perf_counter(), matches.steps
        while perf_counter() < slice_began + settings.seconds / SLICES:
            matches.step()
        speeds.append((matches.steps - before) / (perf_counter() - slice_began))
    speed = Speed(median(speeds), min(speeds), max(speeds))
    drain_until = perf_counter() + DRAIN_SECONDS
    while matches.length and perf_counter() < drain_until:
        matches.step()
    outcomes = matches.outcomes()
    return Measurement(
        engine=machine.engine,
        fallback=fallback,
        kernel=None,
        threads=1,
        start=StartTimes(None, None, None, first, is_cached=False, kernels_compiled=0),
        sizes=None,
        machine_code_seconds=None,
        interpreted_steps_per_second=None,
        steps_per_second=speed,
        playouts_per_second=_playouts_per_second(speed, outcomes),
        outcomes=outcomes,
        peak_memory_bytes=peak_memory_bytes(),
        computer=find_computer(),
    )


class _Matches:
    """Random matches on a state machine."""

    def __init__(self, machine: StateMachine, seed: int, cap: int) -> None:
        self._machine = machine
        self._simulator = machine if isinstance(machine, SupportsPlayouts) else None
        self._random = Random(seed)  # noqa: S311 - a seed has to reproduce the matches
        self._cap = cap
        self._state = machine.initial_state
        self._playouts = self._capped = self._stuck = 0
        self._sums = dict.fromkeys(machine.roles, 0)
        self.steps = 0
        self.length = 0  # of the match that is being played

    @property
    def ended(self) -> int:
        return self._playouts + self._capped + self._stuck

    def step(self) -> None:
        """Does one joint move, or ends the match where there is none; a whole match where the machine does that."""
        machine, state = self._machine, self._state
        if self._simulator is not None:
            self._play(self._simulator)
        elif machine.is_terminal(state):
            self._playouts += 1
            for role in machine.roles:
                self._sums[role] += sum(machine.goal_values(state, role))
            self._begin()
        elif self.length >= self._cap:
            self._capped += 1
            self._begin()
        else:
            choices = [machine.legal_moves(state, role) for role in machine.roles]
            if all(choices):
                self._state = machine.next_state(state, tuple(map(self._random.choice, choices)))
                self.steps += 1
                self.length += 1
            else:
                self._stuck += 1
                self._begin()

    def _play(self, machine: SupportsPlayouts) -> None:
        playout = machine.play_match(machine.initial_state, self._random, self._cap, lambda: False)
        assert playout is not None  # nothing stops it
        self.steps += playout.steps
        if playout.is_terminal:
            self._playouts += 1
            for role, goal in zip(machine.roles, playout.goals, strict=True):
                self._sums[role] += goal or 0
        elif playout.steps >= self._cap:
            self._capped += 1
        else:
            self._stuck += 1

    def outcomes(self) -> OutcomeCounts:
        return _means(self._playouts, self._capped, self._stuck, int(self.length > 0), self.steps, self._sums)

    def _begin(self) -> None:
        self._state = self._machine.initial_state
        self.length = 0


def _kernels_on_disk() -> int:
    return sum(1 for _ in kernel_folder().glob("*.kernel"))


def peak_memory_bytes() -> int:
    """The most that this process has had in memory."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        for line in status.splitlines():
            if line.startswith("VmHWM:"):  # as ru_maxrss, but without what the process had that started this one
                return 1024 * int(line.split()[1])
    except OSError:
        pass
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def find_computer() -> Computer:
    """The computer that this runs on."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Computer(_processor(), cores, vector_bits())


def _processor() -> str:
    """Its name as the system knows it."""
    try:
        about = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        for line in about.splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()

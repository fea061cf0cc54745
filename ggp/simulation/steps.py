"""Circuit → step programs: state and random words → the next state, with a random legal move of each role done.

One program for each phase of the game: facts whose value is the same in all matches at the same step, as whose turn it
is, are constants there, and much of the circuit folds away. The rows of the words are those of `Layout`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.assembly import Assembly, Literals
from ggp.circuit.choice import random_bits
from ggp.circuit.circuit import Circuit
from ggp.circuit.invariants import holds_at_first
from ggp.circuit.network import Ids, both, either
from ggp.circuit.schedule import Program, make_program, mark_needed
from ggp.simulation.choosing import choose_apart, choose_together, prefer

LOOP_ROWS = 32
LATER_END = 0.95  # of the gates; seeing the end late costs a step in each playout
GOALS_AT_ONCE = 3  # gates per fact that goals may take in each step before they are left for later


@dataclass(frozen=True, slots=True)
class Layout:
    """Which rows hold what; row 0 is false."""

    facts: int  # the state at rows 1 .. F, the following one at F + 1 .. 2 F (in every other step the other way round)
    goals: int  # goal values of all roles
    random: int  # random words of a step, at most
    liked: int = 0  # which moves are liked, and then which roles are guided by that; 0 where nobody is

    @property
    def current(self) -> int:
        return 1

    @property
    def following(self) -> int:
        return 1 + self.facts

    @property
    def finished(self) -> int:
        """States of lanes that ended, until their goals are evaluated."""
        return 1 + 2 * self.facts

    @property
    def start(self) -> int:
        """The states in which playouts start."""
        return 1 + 3 * self.facts

    @property
    def waiting(self) -> int:
        """Lanes whose playout is over, before the step; then three rows that the step writes."""
        return 1 + 4 * self.facts

    @property
    def over(self) -> int:
        """Lanes that wait after the step."""
        return self.waiting + 1

    @property
    def ended(self) -> int:
        """Lanes whose playout this step brought to its end."""
        return self.waiting + 2

    @property
    def stuck(self) -> int:
        """Lanes that could not take the step: a role had no legal move."""
        return self.waiting + 3

    @property
    def clash(self) -> int:
        """Lanes whose choice is not valid: the step has to be taken again, with choices apart."""
        return self.waiting + 4

    @property
    def first_goal(self) -> int:
        return self.waiting + 5

    @property
    def lanes(self) -> int:
        """Rows of the playout loop's own."""
        return self.first_goal + self.goals

    @property
    def first_liked(self) -> int:
        return self.lanes + LOOP_ROWS

    @property
    def first_random(self) -> int:
        return self.first_liked + self.liked

    @property
    def first_free(self) -> int:
        return self.first_random + self.random

    def swapped(self, rows: int) -> Ids:
        """(rows,) where each row goes when the two states change places."""
        row_of = np.arange(rows, dtype=np.int32)
        row_of[1 : 1 + self.facts] += self.facts
        row_of[1 + self.facts : 1 + 2 * self.facts] -= self.facts
        return row_of


@dataclass(frozen=True, slots=True)
class Steps:
    """All that a playout runs."""

    layout: Layout
    phases: tuple[Program, ...]  # state → following state, what became of the lanes and, if not late, goals
    late_goals: Program | None  # finished states → goals
    goal_facts: Ids  # the facts that late goals read
    late_end: bool  # whether the end is seen before the next step, not after the last: where both share much
    apart: tuple[Program, ...]  # the phases without a common choice, for lanes where it clashes; empty: it never does

    @property
    def rows(self) -> int:
        late = () if self.late_goals is None else (self.late_goals,)
        programs = (*self.phases, *late, *self.apart)
        most: int = max([self.layout.first_free, *(program.rows for program in programs)])
        return most


def make_steps(circuit: Circuit, phases: NDArray[np.int8], *, guided: bool = False) -> Steps:
    """phases: (P, F) the constant that a fact is in each phase, or -1; guided: moves that are liked come first."""
    needed = sum(random_bits(count) for count in circuit.moves)
    liked = sum(circuit.moves) + len(circuit.moves) if guided else 0
    layout = Layout(circuit.facts, len(circuit.goals), needed, liked)
    networks = [_Step(circuit, layout, known) for known in phases]
    after, before = (sum(step.gates(late=late) for step in networks) for late in (False, True))
    late = before < LATER_END * after or holds_at_first(circuit, circuit.terminal)
    at_once = max(step.goal_gates(late=late) for step in networks) <= GOALS_AT_ONCE * circuit.facts
    programs = tuple(step.program(late=late, goals=at_once) for step in networks)
    goals, facts = (None, np.zeros(0, np.int32)) if at_once else _late_goals(circuit, layout)
    apart: tuple[Program, ...] = ()
    if any(step.may_clash for step in networks):
        steps = [_Step(circuit, layout, known, apart=True) for known in phases]
        apart = tuple(step.program(late=late, goals=at_once) for step in steps)
    return Steps(layout, programs, goals, facts, late, apart)


class _Step:
    """The network of one phase: a step, and what there is to know of the state before it and of the state after."""

    def __init__(self, circuit: Circuit, layout: Layout, known: NDArray[np.int8], *, apart: bool = False) -> None:
        self._layout = layout
        self._assembly = assembly = Assembly(12 * len(circuit.left) + 400 * sum(circuit.moves) + 100_000)
        facts = np.where(known < 0, assembly.inputs(circuit.facts), known)
        random = assembly.inputs(layout.random)
        waiting = int(assembly.inputs(1)[0])
        liked = assembly.inputs(layout.liked)
        nothing = np.zeros(sum(circuit.moves), np.int64)
        legal = assembly.copy(circuit, np.concatenate([facts, nothing]), circuit.legal)
        wanted = legal
        if layout.liked:
            moves = sum(circuit.moves)
            wanted = prefer(assembly, circuit.moves, legal, liked[:moves], liked[moves:])
        choices = None if apart else choose_together(assembly, circuit.moves, legal, wanted, random)
        choices = choices or choose_apart(assembly, circuit.moves, wanted, random)
        self.may_clash = choices.clash != 0
        clash = int(both(assembly.network, choices.clash, waiting ^ 1))
        self._following = assembly.copy(circuit, np.concatenate([facts, choices.done]), circuit.next)
        self._lanes, self._goals = {}, {}
        for late, state in ((False, self._following), (True, facts)):
            inputs = np.concatenate([state, nothing])
            terminal = int(assembly.copy(circuit, inputs, np.array([circuit.terminal], np.int32))[0])
            self._lanes[late] = [*_fate(assembly, waiting, choices.able, terminal, late=late), clash]
            self._goals[late] = assembly.copy(circuit, inputs, circuit.goals)

    def gates(self, *, late: bool) -> int:
        """How many the step takes, goals apart, if the end is seen after the step, or late: before the next."""
        return self._count(np.concatenate([self._following, self._lanes[late]]))

    def goal_gates(self, *, late: bool) -> int:
        """How many more the goals take."""
        outputs = np.concatenate([self._following, self._lanes[late]])
        return self._count(np.concatenate([outputs, self._goals[late]])) - self._count(outputs)

    def program(self, *, late: bool, goals: bool) -> Program:
        """The step's instructions, with or without the goals."""
        layout, assembly = self._layout, self._assembly
        outputs = np.concatenate([self._following, self._lanes[late], self._goals[late][: None if goals else 0]])
        row_of_input = np.full(assembly.size, -1, np.int32)
        row_of_input[1 : 1 + layout.facts] = layout.current + np.arange(layout.facts)
        first = 1 + layout.facts
        row_of_input[first : first + layout.random] = layout.first_random + np.arange(layout.random)
        row_of_input[first + layout.random] = layout.waiting
        first += layout.random + 1
        row_of_input[first : first + layout.liked] = layout.first_liked + np.arange(layout.liked)
        rows = np.concatenate(
            [layout.following + np.arange(layout.facts), layout.over + np.arange(4 + layout.goals)]
        ).astype(np.int32)
        return make_program(
            assembly.left, assembly.right, assembly.loops, outputs.astype(np.int32), row_of_input,
            rows[: len(outputs)], layout.first_free,
        )  # fmt: skip

    def _count(self, outputs: Literals) -> int:
        assembly = self._assembly
        needed = mark_needed(assembly.left, assembly.right, assembly.loops.results, outputs.astype(np.int32))
        return int(np.count_nonzero(needed & (assembly.left >= 0)))


def _fate(assembly: Assembly, waiting: int, able: int, terminal: int, *, late: bool) -> list[int]:
    """Which lanes wait afterwards, which have come to their end, and which are stuck."""
    network = assembly.network
    immobile = both(network, able ^ 1, waiting ^ 1)
    ended = both(network, terminal, waiting ^ 1)
    stuck = both(network, immobile, terminal ^ 1) if late else immobile
    ended = ended if late else both(network, ended, stuck ^ 1)
    over = either(network, waiting, either(network, stuck, ended))
    return [int(over), int(ended), int(stuck)]


def _late_goals(circuit: Circuit, layout: Layout) -> tuple[Program, Ids]:
    """The goals of the finished states, and the facts that they read."""
    row_of_input = np.full(len(circuit.left), -1, np.int32)
    row_of_input[1 : 1 + layout.facts] = layout.finished + np.arange(layout.facts)
    rows = (layout.first_goal + np.arange(layout.goals)).astype(np.int32)
    program = make_program(
        circuit.left, circuit.right, circuit.loops, circuit.goals, row_of_input, rows, layout.first_free
    )
    read = np.unique(np.concatenate([program.left >> 1, program.right >> 1, circuit.goals >> 1]))
    facts = read - layout.finished
    return program, facts[(facts >= 0) & (facts < layout.facts)].astype(np.int32)

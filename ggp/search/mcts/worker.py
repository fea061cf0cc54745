"""One thread's part of a search: visits under way, their playouts, and the cycle that they go through."""

from collections.abc import Callable
from threading import Lock
from time import perf_counter

import numpy as np

from ggp.kernel import LANES, aligned_words
from ggp.search.mcts.backup import cancel, land_exact, land_played, take_off
from ggp.search.mcts.batch import EXACT_LANDED, LANDED, WANTED, Flights, Parameters, make_flights
from ggp.search.mcts.expansion import Rules, grow, work_out
from ggp.search.mcts.mast import LEAST_VISITS, Guide
from ggp.search.mcts.selection import descend
from ggp.search.mcts.tree import PHASE, ROOT, VISITS, Tree
from ggp.simulation.leaves import (
    PLAYOUTS,
    STEPS,
    Leaves,
    drop_leaves,
    load_leaves,
    make_leaves,
    play_leaves,
    worth_of,
)
from ggp.simulation.playout import Plan
from ggp.simulation.state_machine import CircuitMachine

SLICE_SECONDS = 0.002  # of playouts between two looks at the clock


class Crew:
    """Flights and lanes of one thread; several may work on one tree, whose lock they hold while they change it."""

    def __init__(self, machine: CircuitMachine, plan: Plan, most_moves: int, seed: int) -> None:
        compiled, batches = machine.compiled, machine.batches
        roles = len(compiled.roles)
        words = (
            batches.initial.shape[1],
            (int(batches.first_move[-1]) + 64) // 64,
            max(1, (int(batches.first_goal[-1]) + 63) // 64),
        )
        self.flights: Flights = make_flights(words, roles, most_moves, seed)
        self.leaves = make_leaves(plan, machine.simulator().steps.rows, roles, seed)
        self.rules = Rules(batches.rows, aligned_words(batches.size), batches.first_goal, batches.goal_values)
        self._machine = machine
        self._plan = plan
        self._seed = seed
        self._guide: Guide | None = None
        self._guided_leaves: Leaves | None = None
        self._worth = worth_of(compiled)
        self._starts = np.zeros((LANES, words[0]), np.uint64)
        self._steps_per_slice = 4

    @property
    def playouts(self) -> int:
        """Ended so far."""
        return self._counted(PLAYOUTS)

    @property
    def steps(self) -> int:
        return self._counted(STEPS)

    @property
    def visits(self) -> int:
        """Backed up so far."""
        return int(self.flights.numbers[LANDED])

    @property
    def exact_visits(self) -> int:
        """Those among them that needed no playout."""
        return int(self.flights.numbers[EXACT_LANDED])

    def cycle(
        self, tree: Tree, lock: Lock, parameters: Parameters, count: int, rounds: int, stop: Callable[[], bool]
    ) -> bool:
        """Bring `count` visits to leaves, play each leaf out `rounds` times in each of its lanes, and back up.

        count: a divisor of 512; False when `stop` came in between: the visits that were under way are taken back.
        """
        flights, leaves, plan = self.flights, self.leaves, self._plan
        with lock:
            if parameters.mast_temperature > 0 and tree.nodes[tree.numbers[ROOT], VISITS] >= LEAST_VISITS:
                leaves, plan = self._guided(parameters)
            flights.status[:count] = WANTED
            descend(tree, flights, parameters, count)
            grow(tree, flights, self.rules, parameters)
            descend(tree, flights, parameters, count)
            work_out(tree, flights, self.rules, parameters, count)
            land_exact(tree, flights, parameters, count)
            take_off(tree, flights, leaves, self._starts, count, rounds)
        load_leaves(plan, leaves, self._starts)
        while not self._play(plan, leaves):
            if stop():
                self.abandon(tree, lock)
                return False
        with lock:
            land_played(tree, flights, parameters, leaves, count)
        return True

    def sample(self, tree: Tree, stop: Callable[[], bool]) -> tuple[float, bool] | None:
        """Plays out the root once in each lane: the mean length, and whether two roles' values always add up to 1.

        None when `stop` came in between.
        """
        leaves, root = self.leaves, int(tree.numbers[ROOT])
        self._starts[:] = tree.states[root]
        leaves.phase[:], leaves.left[:] = tree.nodes[root, PHASE], 1
        before = self.steps
        load_leaves(self._plan, leaves, self._starts)
        while not self._play(self._plan, leaves):
            if stop():
                drop_leaves(self._plan, leaves)
                return None
        values = leaves.values
        opposed = values.shape[1] == 2 and bool((abs(values.sum(axis=1) - leaves.done) < 1e-9).all())
        drop_leaves(self._plan, leaves)
        return (self.steps - before) / LANES, opposed

    def abandon(self, tree: Tree, lock: Lock) -> None:
        """Take all visits back that are under way."""
        with lock:
            cancel(tree, self.flights)
        drop_leaves(self._plan, self.leaves)
        if self._guide is not None and self._guided_leaves is not None:
            drop_leaves(self._guide.plan, self._guided_leaves)

    def _guided(self, parameters: Parameters) -> tuple[Leaves, Plan]:
        """Lanes whose playouts prefer good moves, made when they are first wanted."""
        if self._guide is None or self._guided_leaves is None:
            self._guide = Guide(self._machine, self._plan.cap, parameters.nature)
            self._guided_leaves = self._guide.leaves(self._seed)
        self._guide.draw(self._guided_leaves, parameters.credit, parameters.mast_temperature)
        return self._guided_leaves, self._guide.plan

    def _counted(self, number: int) -> int:
        both = (self.leaves, self._guided_leaves)
        return sum(int(leaves.counters[number]) for leaves in both if leaves is not None)

    def _play(self, plan: Plan, leaves: Leaves) -> bool:
        """Play for about a slice of time; whether all playouts are over."""
        began = perf_counter()
        before = int(leaves.counters[0])
        over = not play_leaves(plan, leaves, self._worth, self._steps_per_slice, LANES)
        played = int(leaves.counters[0]) - before
        if played == self._steps_per_slice:
            wanted = played * SLICE_SECONDS / max(perf_counter() - began, 1e-6)
            self._steps_per_slice = int(min(max(wanted, 1, played // 2), 2 * played + 1, 4096))
        return over

"""Monte-Carlo tree search on the circuit: a compiled game and a state → what each move is worth.

Up to 512 descents are in flight at a time. Each cycle of a worker brings them to leaves, works out the leaves' states
in one batch, plays them out in lanes, and backs all up. Several workers share one tree, whose nodes have locks of their
own (`tree.py`).
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from time import perf_counter

import numpy as np

from ggp.circuit.network import Ids
from ggp.errors import EvaluationError, SettingsError
from ggp.gdl.state_machine import Facts, JointMove
from ggp.gdl.terms import Term
from ggp.kernel import LANES
from ggp.learning.net import Net, no_net, quantize
from ggp.locks import KernelLock
from ggp.search.mcts.backup import back_up, cancel, start_playouts, value_by_net
from ggp.search.mcts.expansion import (
    evaluate_fresh,
    evaluate_leaves,
    find_leaves,
    finish_expanding,
    give_slots,
    link_ends,
    look_ahead,
    look_at_expanding,
    mark_ends,
    select,
    select_further,
    set_priors,
    settle_fresh,
)
from ggp.search.mcts.guidance import Guidance, value_leaves, weigh_moves
from ggp.search.mcts.result import MoveReport, Reader, SearchResult, Values, Variation, Variations
from ggp.search.mcts.settings import SearchSettings
from ggp.search.mcts.solver import Solver
from ggp.search.mcts.tree import (
    BACKED_UP,
    END,
    EXPANDING_NODES,
    FIRST,
    KIND,
    LEAF,
    LENGTH,
    LOCK,
    NODES,
    NONE,
    PHASE,
    ROOT,
    ROOTS,
    STRUCTURE,
    THRESHOLD,
    VISITS,
    Batch,
    Parameters,
    Tree,
    hold,
    make_batch,
    make_parameters,
    make_tree,
    new_node,
    release,
    with_settings,
)
from ggp.search.retrograde import TINY
from ggp.simulation.evaluate import UNKNOWN, Bits
from ggp.simulation.expansion import Ends, end_rows, make_ends, make_expansion
from ggp.simulation.machine_code import is_worthwhile
from ggp.simulation.playout import (
    STEPS,
    Lanes,
    PlayoutPlan,
    drop_lanes,
    load_lanes,
    make_lanes,
    play_values,
    playouts_over,
    with_cap,
    worth_of,
)
from ggp.simulation.state_machine import CircuitMachine
from ggp.simulation.state_table import find_state, keep_state

__all__ = ["BatchedMcts", "MoveReport", "SearchResult", "SearchSettings", "Variation"]

MOST_ROUNDS = 32
_FIRST_DESCENTS = 8
_DESCENTS_FROM_EACH = 8  # of several states
_STEPS_AT_ONCE = 4096  # of retrograde analysis between two looks at the clock
_VISIT_NANOSECONDS = 2000  # a descent and its back-up
_NATIVE, _INTERPRETED = 1.1, 2.2  # nanoseconds a gate for all lanes, about
_WON_DRAWN_LOST = 3  # goal values
_SLICE_SECONDS = 0.002  # of playouts between two looks at the clock


class BatchedMcts:
    """A search tree for one match, kept from move to move; run by one caller at a time.

    Its threads are kept until it is closed. Locking: as `tree.py` says;
    `tree`, `settings`, `parameters` and nets are replaced only while no worker runs.
    """

    def __init__(
        self,
        machine: CircuitMachine,
        settings: SearchSettings = SearchSettings(),  # noqa: B008 - frozen
        seed: int = 0,
        guidance: Guidance = Guidance(),  # noqa: B008 - as above
    ) -> None:
        """guidance: a caller's own functions, which need a search with one thread; SettingsError for more."""
        if settings.threads > 1 and guidance != Guidance():
            raise SettingsError("a search with functions of its own takes one thread")
        self.machine = machine
        self.guidance = guidance
        self.settings = settings
        self.parameters = make_parameters(settings, machine.compiled)
        self.net = no_net()
        self.quantized = quantize(self.net)
        self.solver = Solver(machine, settings, self.parameters)
        self._relies_on_opposed = False  # whether bounds in the tree hold for two opposed roles only
        self.tree = self._make_tree()
        seeds = [(seed * 1000 + at) % 2**32 for at in range(settings.threads)]
        self.workers = [Worker(machine, settings.most_steps, each, at) for at, each in enumerate(seeds)]
        self._pool = ThreadPoolExecutor(settings.threads) if settings.threads > 1 else None
        self._process = os.getpid()  # whose threads those are
        self._playouts_per_leaf = 0  # playouts of a leaf that take about as long as the descent; 0: not measured yet
        machine.compile_in_background(decisive=settings.decisive_moves)
        self.go_to(machine.initial_state)

    def close(self) -> None:
        """Ends its threads."""
        if self._pool is not None:
            self._pool.shutdown()

    def go_to(self, state: Facts) -> None:
        """Searches from this state on, and keeps what is known of it; EvaluationError for one beyond the circuit."""
        bits = self.machine.packed(state)
        phase = NONE if bits is None else int(self.machine.phases_of(bits)[0])
        if bits is None or phase == NONE:
            raise EvaluationError("the state is none that the circuit knows")
        tree = self.tree
        previous = int(tree.numbers[ROOT])
        node = int(find_state(tree.table, bits, 0))
        if node == previous and node != NONE:
            return
        for worker in self.workers:
            worker.abandon(tree)
        if node == NONE:
            node = _new_leaf(tree, bits[0], phase)
            if node == NONE:
                self.tree = tree = self._make_tree()
                previous, node = NONE, _new_leaf(tree, bits[0], phase)
            _mark_end(self.machine, self.parameters, tree, node, state)
        _set_root(tree, node)
        if previous != NONE:
            release(tree, previous)
        self.solver.go_to_root(tree)

    def run(self, stop: Callable[[], bool], max_visits: int | None = None) -> None:
        """Searches until `stop()`, for so many visits, or until the state is solved."""
        if not self.is_solved:
            self._playouts_per_leaf = self._playouts_per_leaf or self.workers[0].playouts_per_leaf(self, stop)
        self._restart_if_contradicted()
        while not stop():
            self._relies_on_opposed |= bool(self.parameters.zero_sum[0])
            limit = None if max_visits is None else max_visits + sum(worker.visits for worker in self.workers)
            if self._pool is None:
                self._work(self.workers[0], stop, limit)
            else:
                if self._process != os.getpid():  # a fork has none of the threads
                    self._pool, self._process = ThreadPoolExecutor(len(self.workers)), os.getpid()
                for done in [self._pool.submit(self._work, worker, stop, limit) for worker in self.workers]:
                    done.result()
            if not self._restart_if_contradicted():
                break
        while self.is_solved and self.solver.is_solving and not self.solver.is_decided(self.tree) and not stop():
            self.solver.solve(self.tree, KernelLock(self._structure), _STEPS_AT_ONCE)

    def run_side_by_side(self, states: Bits, visits: int, stop: Callable[[], bool]) -> Ids | None:
        """About so many visits of each of these states (n, words), none of them an end, by one worker.

        n is 64 at most. Returns their nodes in the tree, which are there until the next call; None when stopped.
        """
        if self._is_contradicted or self.tree.numbers[NODES] > len(self.tree.nodes) // 2:
            self.tree = self._make_tree()
        self._relies_on_opposed |= bool(self.parameters.zero_sum[0])
        tree, worker, nodes = self.tree, self.workers[0], list[int]()
        for row, phase in enumerate(self.machine.phases_of(states).tolist()):
            node = int(find_state(tree.table, states, row))
            nodes.append(_new_leaf(tree, states[row], phase) if node == NONE else node)
            hold(tree, nodes[-1])
        previous, tree.numbers[ROOT] = int(tree.numbers[ROOT]), nodes[0]
        hold(tree, nodes[0])
        if previous != NONE:
            release(tree, previous)
        count = int(min(1 << (_DESCENTS_FROM_EACH * len(nodes) - 1).bit_length(), LANES))
        worker.batch.roots[: len(nodes)], worker.batch.numbers[ROOTS] = nodes, len(nodes)
        is_done = True
        for _ in range(max(visits * len(nodes) // count, 1)):
            if stop() or not worker.cycle(self, count, self._rounds(count), stop):
                is_done = False
                break
        worker.batch.numbers[ROOTS] = 0
        for node in nodes:
            release(tree, node)
        return np.array(nodes, np.int32) if is_done else None

    def _work(self, worker: "Worker", stop: Callable[[], bool], limit: int | None) -> None:
        """A worker's part of a run; limit: visits of all workers."""
        while not stop() and not self.is_solved and not self._is_contradicted:
            if limit is not None and sum(each.visits for each in self.workers) >= limit:
                break
            if worker is self.workers[0]:
                self.solver.solve(self.tree, KernelLock(self._structure))
            if worker is self.workers[-1]:
                is_alone = len(self.workers) > 1
                if self.solver.prove(self.tree, KernelLock(self._structure), stop, is_alone=is_alone):
                    continue
            count, rounds = self._batch_size()
            if not worker.cycle(self, count, rounds, stop):
                break

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """The tree as it is now; meanwhile nodes stay what they are, and nothing is backed up to the root."""
        while True:
            reader = self.reader
            tree = reader.tree
            with KernelLock((tree.locks, STRUCTURE, 0), (tree.nodes, int(tree.numbers[ROOT]), LOCK)):
                if tree is self.tree:
                    yield reader
                    return

    @property
    def reader(self) -> Reader:
        """Reads the tree as it is now, while nothing runs."""
        is_guided = len(self.net.policy) > 0 or self.guidance.weigh is not None
        has_priors = is_guided and self.settings.prior_weight > 0
        return Reader(self.machine, self.tree, self.parameters, self.solver, has_priors)

    @property
    def _is_contradicted(self) -> bool:
        """Whether the tree has bounds that hold for two opposed roles, and an end showed that they are not."""
        return self._relies_on_opposed and not self.parameters.zero_sum[0]

    def _restart_if_contradicted(self) -> bool:
        """Empties a contradicted tree, all but its root; whether it was one."""
        old, root = self.tree, int(self.tree.numbers[ROOT])
        if not self._is_contradicted or old.nodes[root, KIND] == END:
            return False
        for worker in self.workers:
            worker.abandon(old)
        tree = self._make_tree()
        _set_root(tree, _new_leaf(tree, old.table.states[root], int(old.nodes[root, PHASE])))
        self.tree = tree
        self.solver.restart(tree)
        return True

    @property
    def _structure(self) -> tuple[Ids, int, int]:
        """The place of the lock of what is in use."""
        return self.tree.locks, STRUCTURE, 0

    @property
    def is_solved(self) -> bool:
        """Whether the value of the state is proven for all roles, and the best move; a lost one goes on till then."""
        return self.solver.is_solved(self.tree)

    @property
    def is_proven(self) -> bool:
        """Whether the value of the state is proven for all roles."""
        lower, upper = self.bounds
        return bool((lower == upper).all())

    @property
    def bounds(self) -> tuple[Values, Values]:
        """(roles,) the least and the most that the state is worth to each role, 0 to 1."""
        return self.solver.bounds(self.tree)

    @property
    def visits(self) -> int:
        """Of the state, in earlier searches too."""
        return int(self.tree.values[self.tree.numbers[ROOT], VISITS])

    @property
    def playouts(self) -> int:
        return sum(worker.playouts for worker in self.workers)

    def adopt(self, settings: SearchSettings, net: Net | None = None) -> None:
        """Searches on by other settings; memory, threads and the length of playouts stay as they were.

        net: gives priors and values to this state and all that get their moves from now on; None: the one before.
        """
        self.settings = settings
        if net is not None:
            self.net, self.quantized = net, quantize(net)
        self.parameters = with_settings(self.parameters, settings)
        root = np.int64(self.tree.numbers[ROOT])
        if self.tree.nodes[root, FIRST] != NONE:
            set_priors(self.tree, self.workers[0].batch, self.parameters, self.quantized, root)
        self.machine.compile_in_background(decisive=settings.decisive_moves)

    def force(self, role: str, move: Term | None) -> None:
        """Consider only this move of a role from the present state on; None: all of them."""
        number = self.machine.roles.index(role)
        moves = self.machine.compiled.moves[number]
        self.parameters.forced[number] = NONE if move is None else moves.index(move)

    def result(self, role: str) -> SearchResult:
        """What is known now; may be asked while another thread searches."""
        with self.reading() as reader:
            return reader.result(self.machine.roles.index(role), self.playouts)

    def variations(self, role: str, count: int) -> tuple[Variation, ...]:
        """The best variation of each of the best moves of a role, best first."""
        with self.reading() as reader:
            return Variations(reader).best(self.machine.roles.index(role), count)

    def principal_variation(self, role: str, move: Term | None, most_steps: int) -> tuple[JointMove, ...]:
        """The best variation with this move of the role, as far as the tree holds it."""
        with self.reading() as reader:
            return Variations(reader).principal(self.machine.roles.index(role), move, most_steps)

    def _batch_size(self) -> tuple[int, int]:
        """How many descents to have in flight, and how often to play out each leaf in each of its lanes."""
        count = _FIRST_DESCENTS
        while count < self.settings.batch and self.settings.visits_per_descent * count <= self.visits:
            count *= 2
        return count, self._rounds(count)

    def _rounds(self, count: int) -> int:
        """How often each lane plays out its leaf, of so many descents in flight."""
        return max(1, (self.settings.playouts or self._playouts_per_leaf) * count // LANES)

    def _make_tree(self) -> Tree:
        words, moves = self.machine.batches.initial.shape[1], self.machine.compiled.moves
        budget = self.settings.memory_bytes - self.solver.reserved_bytes
        self._relies_on_opposed = False
        return make_tree(words, len(moves), sum(map(len, moves)), budget)


class Worker:
    """One thread's part of a search: a batch of descents, the lanes of their playouts, and the cycle of both."""

    def __init__(self, machine: CircuitMachine, cap: int, seed: int, number: int = 0) -> None:
        """cap: steps after which a playout is given up; number: of the worker."""
        compiled = machine.compiled
        self.batch: Batch = make_batch(len(compiled.roles), sum(map(len, compiled.moves)), seed, number)
        self.expansion = make_expansion(machine.batches)
        self._no_ends = make_ends(end_rows(machine.batches, ()), 0, self.expansion)
        self._known_ends: dict[bool, Ends] = {}  # by whether two roles are opposed
        self._machine = machine
        self._cap = cap
        self._seed = seed
        self.leaves, self._plan = self._make_lanes(decisive=0)
        self._decisive: dict[int, tuple[Lanes, PlayoutPlan]] = {}  # by `SearchSettings.decisive_moves`
        self._worth = worth_of(compiled)
        self._starts = np.zeros_like(self.expansion.before)
        self._steps_per_slice = 4

    @property
    def playouts(self) -> int:
        """Ended so far."""
        return sum(map(playouts_over, self._blocks))

    @property
    def steps(self) -> int:
        return sum(int(lanes.counters[STEPS]) for lanes in self._blocks)

    @property
    def visits(self) -> int:
        """Backed up so far."""
        return int(self.batch.numbers[BACKED_UP])

    def cycle(self, search: BatchedMcts, count: int, rounds: int, stop: Callable[[], bool]) -> bool:
        """Bring `count` descents to leaves, play each leaf out `rounds` times in each of its lanes, and back up.

        count: a divisor of 512; False when `stop` came in between: the descents that were in flight are taken back.
        """
        tree, parameters, net, batch = search.tree, search.parameters, search.quantized, self.batch
        evaluate = search.guidance.evaluate
        leaves, plan = self._lanes(decisive=search.settings.decisive_moves)
        if search.guidance.weigh is None:
            find_leaves(tree, batch, self.expansion, self.ends(search), parameters, net, count)
        else:
            self._find_leaves(search, count)
        is_played = evaluate is None and (parameters.value_weight < 1.0 or not len(net.policy))
        if is_played:
            start_playouts(tree, batch, plan, leaves, self._starts, count, rounds)
        elif evaluate is not None:
            with self._undone(tree):
                value_leaves(tree, batch, leaves, count, evaluate)
        else:
            value_by_net(batch, count)
        if len(net.policy) and max(parameters.value_weight, parameters.minimax_weight) > 0.0:
            evaluate_leaves(tree, batch, self.expansion, parameters, net, count)
        if is_played:
            while not self._play(plan, leaves):
                if stop():
                    self.abandon(tree)
                    return False
        back_up(tree, batch, parameters, net, leaves, count)
        return True

    def _find_leaves(self, search: BatchedMcts, count: int) -> None:
        """The kernel of that name in parts, as priors are a caller's own."""
        tree, parameters, net, batch = search.tree, search.parameters, search.quantized, self.batch
        expansion, weigh = self.expansion, search.guidance.weigh
        select(tree, batch, expansion, parameters, count)
        look_at_expanding(batch, expansion)
        give_slots(tree, batch, expansion)
        ends = self.ends(search)
        mark_ends(tree, batch, expansion, parameters, ends)
        while look_ahead(tree, batch, expansion, ends, parameters, net):
            link_ends(tree, batch, expansion, parameters, net)
        if weigh is not None:
            nodes = batch.expanding[: batch.numbers[EXPANDING_NODES]].copy()
            finish_expanding(tree, batch)
            with self._undone(tree):
                weigh_moves(tree, parameters, nodes, weigh)
        select_further(tree, batch, expansion, parameters)
        evaluate_fresh(batch, expansion)
        settle_fresh(tree, batch, expansion, parameters)

    @contextmanager
    def _undone(self, tree: Tree) -> Iterator[None]:
        """A caller's function that raises takes the descents in flight back."""
        try:
            yield
        except BaseException:
            cancel(tree, self.batch)
            raise

    def ends(self, search: BatchedMcts) -> Ends:
        """What is known of ends ahead, made when it is first wanted."""
        if not search.settings.decisive_lookahead:
            return self._no_ends
        opposed = bool(search.parameters.zero_sum[0])
        if opposed not in self._known_ends:
            rows, size = self._machine.ends(opposed=opposed)
            is_complete = bool(rows.outputs[0]) and all(
                len(goals) <= _WON_DRAWN_LOST for goals in self._machine.compiled.goals
            )
            self._known_ends[opposed] = make_ends(rows, size, self.expansion, is_complete=is_complete)
        return self._known_ends[opposed]

    def playouts_per_leaf(self, search: BatchedMcts, stop: Callable[[], bool]) -> int:
        """As many as take about as long as the descent, 0 when stopped; also sees whether the game is zero-sum."""
        steps = self._machine.simulator(decisive=search.settings.decisive_moves).steps
        gates = steps.gates / len(steps.phases)
        sample = self.sample(search.tree, stop)
        if sample is None:
            return 0
        length, search.parameters.zero_sum[0] = sample
        nanoseconds = length * gates * (_NATIVE if is_worthwhile(steps) else _INTERPRETED) / LANES
        return int(min(max(round(_VISIT_NANOSECONDS / max(nanoseconds, 1)), 1), MOST_ROUNDS))

    def sample(self, tree: Tree, stop: Callable[[], bool]) -> tuple[float, bool] | None:
        """Plays out the root once in each lane: the mean length, and whether two roles' values always add up to 1.

        None when `stop` came in between.
        """
        leaves, root = self.leaves, int(tree.numbers[ROOT])
        self._starts[:] = tree.table.states[root]
        leaves.phase[:], leaves.quota[:] = tree.nodes[root, PHASE], 1
        before = self.steps
        load_lanes(self._plan, leaves, self._starts)
        while not self._play(self._plan, leaves):
            if stop():
                drop_lanes(self._plan, leaves)
                return None
        values = leaves.values
        zero_sum = values.shape[1] == 2 and bool((abs(values.sum(axis=1) - leaves.done) < TINY).all())
        drop_lanes(self._plan, leaves)
        return (self.steps - before) / LANES, zero_sum

    def abandon(self, tree: Tree) -> None:
        """Take all descents back that are in flight."""
        cancel(tree, self.batch)
        drop_lanes(self._plan, self.leaves)
        for lanes, plan in self._decisive.values():
            drop_lanes(plan, lanes)

    def _lanes(self, *, decisive: int) -> tuple[Lanes, PlayoutPlan]:
        """What playouts are to run in, made when it is first wanted."""
        if not decisive:
            return self.leaves, self._plan
        if decisive not in self._decisive:
            self._decisive[decisive] = self._make_lanes(decisive=decisive)
        return self._decisive[decisive]

    def _make_lanes(self, *, decisive: int) -> tuple[Lanes, PlayoutPlan]:
        simulator = self._machine.simulator(decisive=decisive)
        plan = with_cap(simulator.plan, self._cap)
        return make_lanes(plan, simulator.steps.rows, len(self._machine.roles), self._seed), plan

    @property
    def _blocks(self) -> list[Lanes]:
        return [self.leaves, *(lanes for lanes, _ in self._decisive.values())]

    def _play(self, plan: PlayoutPlan, leaves: Lanes) -> bool:
        """Play for about a slice of time; whether all playouts are over."""
        began = perf_counter()
        before = int(leaves.counters[0])
        over = not play_values(plan, leaves, self._worth, self._steps_per_slice)
        played = int(leaves.counters[0]) - before
        if played == self._steps_per_slice:
            wanted = played * _SLICE_SECONDS / max(perf_counter() - began, 1e-6)
            self._steps_per_slice = int(min(max(wanted, 1, played // 2), 2 * played + 1, 4096))
        return over


def _new_leaf(tree: Tree, state: Bits, phase: int) -> int:
    """A new leaf node for a state (words,) that is not in the tree; NONE where the tree is full."""
    node = int(new_node(tree))
    if node != NONE:
        tree.table.states[node] = state
        tree.nodes[node, PHASE] = phase
        tree.nodes[node, KIND] = LEAF
        keep_state(tree.table, node)
    return node


def _set_root(tree: Tree, node: int) -> None:
    """Makes a node the root, which is held."""
    hold(tree, node)
    tree.numbers[ROOT] = node
    tree.numbers[THRESHOLD] = 2


def _mark_end(machine: CircuitMachine, parameters: Parameters, tree: Tree, node: int, state: Facts) -> None:
    """A root that is an end, because it is terminal or a role has no move, has exact values."""
    is_terminal = machine.is_terminal(state)
    if not is_terminal and all(machine.legal_moves(state, role) for role in machine.roles):
        return
    tree.nodes[node, KIND] = END
    tree.nodes[node, LENGTH] = 0
    for number, role in enumerate(machine.roles):
        goal = machine.goal(state, role) if is_terminal else None
        value = UNKNOWN if goal is None else (goal - parameters.lowest[number]) / parameters.span[number]
        for column in (1, 2):
            tree.values[node, column * len(machine.roles) + number] = value
    parameters.zero_sum[0] &= abs(tree.values[node, 2:4].sum() - 1.0) < TINY

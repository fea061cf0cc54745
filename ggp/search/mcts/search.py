"""Monte-Carlo tree search on the circuit: a compiled game and a state → what each move is worth.

Up to 512 visits are under way at a time. Each cycle brings them to leaves, works out the leaves' states in one batch,
plays them out side by side in lanes, and backs all up. Values inside are 0 for the lowest goal value that the rules
have for a role and 1 for the highest.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ggp.errors import EvaluationError
from ggp.gdl.rulesheet import NATURE
from ggp.gdl.state_machine import Facts
from ggp.gdl.terms import Term
from ggp.kernel import LANES
from ggp.search.mcts.batch import Parameters
from ggp.search.mcts.mast import FORGET, MOST_GATES
from ggp.search.mcts.settings import MoveReport, Result, Settings
from ggp.search.mcts.solver import BackgroundProof, write_all_exact_values, write_exact_values
from ggp.search.mcts.tree import (
    COUNT,
    END,
    FIRST,
    KIND,
    LEAF,
    LENGTH,
    NODES,
    NONE,
    PHASE,
    ROOT,
    THRESHOLD,
    VISITS,
    Tree,
    find_state,
    hold,
    keep_state,
    make_tree,
    new_node,
    release,
)
from ggp.search.mcts.worker import Crew
from ggp.search.retrograde import RetrogradeSolver
from ggp.simulation.evaluate import UNKNOWN, Bits, unpack
from ggp.simulation.machine_code import is_worthwhile
from ggp.simulation.state_machine import CircuitMachine

__all__ = ["MoveReport", "Result", "Search", "Settings"]

Values: TypeAlias = NDArray[np.float64]

MOST_ROUNDS = 32
_FIRST_VISITS = 8
_EXHAUSTION_SHARE = 8  # of the memory: one part in so many is for all states
_MOST_EXHAUSTION_BYTES = 2**27
_PROOF_SHARE = 4  # of the memory: one part in so many is for proofs, once it is known that states are many
_WORK_PER_VISIT = 16  # steps that are done for that, or states that are looked at again
_WORK_AT_ONCE = 4096  # between two looks at the clock
_HOPE = 1 << 20  # steps between the values 0 and 1 of what others may give away
_ROUNDING = 1e-9  # sums of chances
_VISIT_NANOSECONDS = 2000  # the way to a leaf and back
_NATIVE, _INTERPRETED = 1.1, 2.2  # nanoseconds a gate for all lanes, about


class Search:
    """A search tree for one match, kept from move to move; run by one caller at a time."""

    def __init__(
        self,
        machine: CircuitMachine,
        settings: Settings = Settings(),  # noqa: B008 - frozen
        seed: int = 0,
    ) -> None:
        self.machine = machine
        self.settings = settings
        compiled = machine.compiled
        self._roles = compiled.roles
        simulator = machine.simulator()
        self._plan = simulator.plan._replace(cap=settings.most_steps)
        most_moves = sum(map(len, compiled.moves))
        self._may_prove = settings.proof and len(self._roles) == 2 and NATURE not in self._roles
        self.tree = self._make_tree()
        self.crews = [
            Crew(machine, self._plan, most_moves, (seed * 1000 + at) % 2**32) for at in range(settings.threads)
        ]
        self._lock = Lock()
        self.parameters = self._make_parameters()
        self._rounds = settings.playouts
        self._exhaustion: RetrogradeSolver | None = None
        self._may_exhaust = settings.retrograde and len(self._roles) > 1
        self.solution: RetrogradeSolver | None = None
        self._proof: BackgroundProof | None = None
        machine.compile_in_background()
        self.go_to(machine.initial_state)

    def go_to(self, state: Facts) -> None:
        """Searches from this state on, and keeps what is known of it; EvaluationError for one beyond the circuit."""
        bits = self.machine.packed(state)
        phase = None if bits is None else self._phase_of(bits)
        if bits is None or phase is None:
            raise EvaluationError("the state is none that the circuit knows")
        tree = self.tree
        previous = int(tree.numbers[ROOT])
        node = int(find_state(tree, bits, 0))
        if node == previous and node != NONE:
            return
        for crew in self.crews:
            crew.abandon(tree, self._lock)
        self.parameters.credit[:] *= FORGET
        if node == NONE:
            node = int(new_node(tree))
            if node == NONE:
                self.tree = tree = self._make_tree()
                previous, node = NONE, int(new_node(tree))
            tree.states[node] = bits[0]
            tree.nodes[node, PHASE] = phase
            tree.nodes[node, KIND] = LEAF
            keep_state(tree, node)
            self._mark_end(node, state)
        hold(tree, node)
        tree.numbers[ROOT] = node
        tree.numbers[THRESHOLD] = 2
        if previous != NONE:
            release(tree, previous)
        if self.solution is not None:
            write_exact_values(tree, node, self.solution.graph)
        elif tree.nodes[node, KIND] == LEAF:
            self._forget_bounds(node)
        if self._proof is not None:
            self._proof.go_to_root(tree)

    def run(self, stop: Callable[[], bool], max_visits: int | None = None) -> None:
        """Searches until `stop()`, for so many visits, or until the state is solved."""
        if not self.is_solved:
            self._rounds = self._rounds or self._playouts_per_leaf(stop)
        limit = None if max_visits is None else max_visits + sum(crew.visits for crew in self.crews)

        def work(crew: Crew) -> None:
            while not stop() and not self.is_solved:
                if limit is not None and sum(each.visits for each in self.crews) >= limit:
                    break
                if crew is self.crews[0]:
                    self._exhaust()
                if crew is self.crews[-1] and self._prove(stop):
                    continue
                count, rounds = self._effort()
                if not crew.cycle(self.tree, self._lock, self.parameters, count, rounds, stop):
                    break

        if len(self.crews) == 1:
            work(self.crews[0])
        else:
            with ThreadPoolExecutor(len(self.crews)) as pool:
                for done in [pool.submit(work, crew) for crew in self.crews]:
                    done.result()
        while self.is_solved and self._may_exhaust and not self._is_decided and not stop():
            self._exhaust(_WORK_AT_ONCE)

    @property
    def is_solved(self) -> bool:
        """Whether the value of the state is proven for all roles, and the best move; a lost one goes on till then."""
        low, high = self._bounds(int(self.tree.numbers[ROOT]))
        return bool((low == high).all())

    @property
    def is_proven(self) -> bool:
        """Whether the value of the state is proven for all roles."""
        low, high = self.bounds
        return bool((low == high).all())

    @property
    def bounds(self) -> tuple[Values, Values]:
        """(roles,) the least and the most that the state is worth to each role, 0 to 1."""
        low, high = self._bounds(int(self.tree.numbers[ROOT]))
        proof = self._proof
        if proof is not None:
            least, most = proof.bounds
            low, high = np.maximum(low, least), np.minimum(high, most)
        return low, high

    @property
    def visits(self) -> int:
        """Of the state, in earlier searches too."""
        return int(self.tree.nodes[self.tree.numbers[ROOT], VISITS])

    @property
    def playouts(self) -> int:
        return sum(crew.playouts for crew in self.crews)

    def adopt(self, settings: Settings) -> None:
        """Searches on by other settings; memory, threads and the length of playouts stay as they were."""
        self.settings = settings
        self._rounds = settings.playouts or self._rounds
        self.parameters = self.parameters._replace(
            exploration=settings.exploration, ucb1_tuned=settings.ucb1_tuned,
            first_play_urgency=settings.first_play_urgency, virtual_loss=settings.virtual_loss,
            tie_margin=settings.tie_margin, lookahead_moves=settings.lookahead_moves,
            grave_equivalence=settings.grave_equivalence,
            mast_temperature=settings.mast_temperature if self._can_guide() else 0.0,
        )  # fmt: skip

    def force(self, role: str, move: Term | None) -> None:
        """Consider only this move of a role from the present state on; None: all of them."""
        number = self._roles.index(role)
        moves = self.machine.compiled.moves[number]
        self.parameters.forced[number] = NONE if move is None else moves.index(move)

    def result(self, role: str) -> Result:
        """What is known now; may be asked while another thread searches."""
        number = self._roles.index(role)
        tree = self.tree
        with self._lock:
            node = int(tree.numbers[ROOT])
            reports, lengths = self._reports(node, number)
            visits = int(tree.nodes[node, VISITS])
            total = float(tree.values[node, number])
            low, high = (float(bounds[number]) for bounds in self.bounds)
        if not reports:
            reports, lengths = self._unvisited(number), []
        proof = self._proof
        if proof is not None:
            lengths = proof.longer(lengths, number)
        reports, lengths = self._with_solution(reports, lengths, number)
        value = min(max(total / visits, low), high) if visits else low if low == high else None
        best = self._best(reports, lengths, self._as_goal(number, 0.0), self._as_goal(number, 1.0))
        return Result(
            None if best is None else best.move,
            tuple(reports),
            None if value is None else self._as_goal(number, value),
            self._as_goal(number, low),
            self._as_goal(number, high),
            visits,
            self.playouts,
            int(tree.numbers[NODES]),
        )

    def _best(self, reports: list[MoveReport], lengths: list[int], worst: float, most: float) -> MoveReport | None:
        """A move that is proven best, to win soon or to lose late; else the most visited, or a sure one."""
        if not reports:
            return None
        sure = max(report.low for report in reports)
        exact = [at for at, report in enumerate(reports) if report.low == report.high == sure]
        open_moves = [report for report in reports if report.high > sure and report.low < report.high]
        favourite = max(open_moves, key=lambda report: (report.visits, report.value or 0.0), default=None)
        if favourite is not None:
            value = favourite.value or 0.0
            if not exact or sure < value or sure == value == worst:
                return favourite
        if not exact:
            return max(reports, key=lambda report: (report.low, report.visits))
        pick = min if sure > max(most - _ROUNDING, worst) else max
        return reports[pick(exact, key=lambda at: lengths[at] if lengths else 0)]

    def _reports(self, node: int, role: int) -> tuple[list[MoveReport], list[int]]:
        """The moves of a role in a node, and how far from the end each is if that is known."""
        tree = self.tree
        first = int(tree.nodes[node, FIRST])
        if first == NONE:
            return [], []
        counts = tree.nodes[node, COUNT:]
        first += int(counts[:role].sum())
        reports, lengths = [], []
        for slot in range(first, first + int(counts[role])):
            tries = int(tree.tries[slot])
            low, high = float(tree.low[slot]), float(tree.high[slot])
            value = min(max(float(tree.gain[slot]) / tries, low), high) if tries else low if low == high else None
            move = self.machine.compiled.moves[role][int(tree.move[slot])]
            reports.append(
                MoveReport(
                    move, tries, None if value is None else self._as_goal(role, value), self._as_goal(role, low),
                    self._as_goal(role, high),
                )
            )  # fmt: skip
            child = int(tree.child[slot])
            lengths.append(int(tree.nodes[child, LENGTH]) if child != NONE else 0)
        return reports, lengths

    def _unvisited(self, role: int) -> list[MoveReport]:
        state = self._state()
        if self.machine.is_terminal(state):
            return []
        low, high = self._as_goal(role, 0.0), self._as_goal(role, 1.0)
        return [MoveReport(move, 0, None, low, high) for move in self.machine.legal_moves(state, self._roles[role])]

    def _as_goal(self, role: int, value: float) -> float:
        """0 … 1 inside → 0 … 1 for goal values of 0 … 100."""
        highest = max(self.machine.compiled.goals[role], default=0)  # a single goal value has no span
        return float(min(self.parameters.lowest[role] + value * self.parameters.span[role], highest)) / 100

    def _with_solution(
        self, reports: list[MoveReport], lengths: list[int], role: int
    ) -> tuple[list[MoveReport], list[int]]:
        """The reports with what is known of the states after the moves, where all states are.

        Where nothing can be forced, not the length counts but how much others are likely to give away.
        """
        solution, root = self.solution, self._root_bits()
        number = None if solution is None else solution.find(root)
        if solution is None or number is None:
            return reports, lengths
        after, moves = solution.choices(number, role), self.machine.compiled.moves[role]
        found, lengths = [], []
        for report in reports:
            target = after.get(moves.index(report.move), number)
            low, high, length = solution.bounds(target)
            bounds = self._as_goal(role, float(low[role])), self._as_goal(role, float(high[role]))
            value = bounds[0] if report.value is None else min(max(report.value, bounds[0]), bounds[1])
            found.append(MoveReport(report.move, report.visits, value, *bounds))
            lengths.append(round(_HOPE * solution.expected(target, role)) if 0 < low[role] < 1 else length)
        return found, lengths

    @property
    def _is_decided(self) -> bool:
        """Whether each role surely gets the least or the most; if not, it matters what others may give away."""
        low, high = self._bounds(int(self.tree.numbers[ROOT]))
        return bool(((low == 1) | (high == 0)).all())

    def _exhaust(self, more: int = 0) -> None:
        """Some of the work of finding out what all states are worth, in proportion to the visits so far, or more."""
        if not self._may_exhaust:
            return
        if self._exhaustion is None:
            budget = min(self.settings.memory_bytes // _EXHAUSTION_SHARE, _MOST_EXHAUSTION_BYTES)
            self._exhaustion = RetrogradeSolver(self.machine, self._root_bits(), budget)
        found = self._exhaustion
        enough = max(_WORK_PER_VISIT * self.visits, found.work_done + more if more else 0)
        while not found.has_failed and found.work_done < enough:
            found.advance()
            if found.is_settled:
                with self._lock:
                    self.solution = found
                    write_all_exact_values(self.tree, found.graph)
                break
        if found.has_failed or found.is_settled:
            self._may_exhaust, self._exhaustion = False, None

    def _prove(self, stop: Callable[[], bool]) -> bool:
        """Some of the work of proving what the state is worth to two opposed roles, once states are many.

        Whether there is more of it, and another thread visits.
        """
        if self._may_exhaust or not self._may_prove or self.solution is not None or not self.parameters.opposed[0]:
            return False
        if self._proof is None:
            self._proof = BackgroundProof(self.machine, self.settings.memory_bytes // _PROOF_SHARE)
            self._proof.go_to_root(self.tree)
        is_alone = len(self.crews) > 1
        has_worked = self._proof.work(self.tree, self._lock, stop, is_alone=is_alone)
        if self._proof.has_failed:
            self._may_prove, self._proof = False, None
        return has_worked and is_alone

    def _root_bits(self) -> Bits:
        bits: Bits = self.tree.states[int(self.tree.numbers[ROOT])][np.newaxis]
        return bits

    def _bounds(self, node: int) -> tuple[Values, Values]:
        roles = len(self._roles)
        values = self.tree.values[node]
        return values[roles : 2 * roles], values[2 * roles :]

    def _effort(self) -> tuple[int, int]:
        """How many visits to have under way, and how often to play out each leaf in each of its lanes."""
        count = _FIRST_VISITS
        while count < self.settings.batch and self.settings.visits_per_descent * count <= self.visits:
            count *= 2
        return count, max(1, self._rounds * count // LANES)

    def _playouts_per_leaf(self, stop: Callable[[], bool]) -> int:
        """As many as take about as long as the way to the leaf, 0 when stopped; also sees whether roles are opposed."""
        steps = self.machine.simulator().steps
        gates = sum(len(program.left) for program in steps.phases) / len(steps.phases)
        sample = self.crews[0].sample(self.tree, stop)
        if sample is None:
            return 0
        length, self.parameters.opposed[0] = sample
        nanoseconds = length * gates * (_NATIVE if is_worthwhile(steps) else _INTERPRETED) / LANES
        return int(min(max(round(_VISIT_NANOSECONDS / max(nanoseconds, 1)), 1), MOST_ROUNDS))

    def _state(self) -> Facts:
        return self.machine.unpacked(self._root_bits())

    def _phase_of(self, bits: Bits) -> int | None:
        """The first phase whose constants agree with the state."""
        compiled = self.machine.compiled
        flags = unpack(bits, len(compiled.facts))[0]
        for phase, known in enumerate(compiled.phases):
            if (flags == known)[known >= 0].all():
                return phase
        return None

    def _mark_end(self, node: int, state: Facts) -> None:
        """A root that is an end, because it is terminal or a role has no move, has exact values."""
        machine, tree, parameters = self.machine, self.tree, self.parameters
        if not machine.is_terminal(state) and all(machine.legal_moves(state, role) for role in self._roles):
            return
        tree.nodes[node, KIND] = END
        tree.nodes[node, LENGTH] = 0
        for number, role in enumerate(self._roles):
            goal = machine.goal(state, role)
            value = UNKNOWN if goal is None else (goal - parameters.lowest[number]) / parameters.span[number]
            for column in (1, 2):
                tree.values[node, column * len(self._roles) + number] = value

    def _forget_bounds(self, node: int) -> None:
        """A proof whose moves had to make room says that the state is won, but not how."""
        roles = len(self._roles)
        self.tree.values[node, roles : 2 * roles] = 0.0
        self.tree.values[node, 2 * roles :] = 1.0

    def _make_tree(self) -> Tree:
        settings, compiled = self.settings, self.machine.compiled
        words = self.machine.batches.initial.shape[1]
        whole, share = settings.memory_bytes, 0
        if settings.retrograde and len(self._roles) > 1:
            share = min(whole // _EXHAUSTION_SHARE, _MOST_EXHAUSTION_BYTES)
        if self._may_prove:
            share = max(share, whole // _PROOF_SHARE)
        return make_tree(words, len(self._roles), sum(map(len, compiled.moves)), whole - share)

    def _can_guide(self) -> bool:
        """Whether guided playouts are possible and not too large."""
        steps = self.machine.simulator().steps
        gates = sum(len(program.left) for program in steps.phases)
        return gates <= MOST_GATES and int(self._plan.random.max()) >= 2

    def _make_parameters(self) -> Parameters:
        settings, goals = self.settings, self.machine.compiled.goals
        lowest = np.array([min(values, default=0) for values in goals], np.float64)
        highest = np.array([max(values, default=0) for values in goals], np.float64)
        return Parameters(
            settings.exploration, settings.ucb1_tuned, settings.first_play_urgency, settings.virtual_loss,
            settings.tie_margin, 1, settings.lookahead_moves,
            len(self.machine.compiled.phases), np.zeros(1, np.bool_),
            np.array([role == NATURE for role in self._roles]),
            np.full(len(self._roles), NONE, np.int32), lowest, np.maximum(highest - lowest, 1.0),
            self.machine.batches.first_move[:-1].astype(np.int32),
            np.zeros((2, sum(map(len, self.machine.compiled.moves)))),
            settings.mast_temperature if self._can_guide() else 0.0, settings.grave_equivalence,
        )  # fmt: skip

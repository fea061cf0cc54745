"""What a tree says of its root: what each move is worth, the best move, and the best variations.

Values inside the tree are 0 for the lowest goal value that the rules have for a role and 1 for the highest; reports
give 0 to 1 for goal values of 0 to 100.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ggp.gdl.state_machine import Facts, JointMove
from ggp.gdl.terms import Term
from ggp.search.mcts.concessions import expected_values
from ggp.search.mcts.solver import Solver
from ggp.search.mcts.tree import (
    COUNT,
    EDGE_COUNT,
    EDGES,
    FIRST,
    LENGTH,
    NODES,
    NONE,
    ROOT,
    SLOTS,
    UNVALUED,
    VISITS,
    Parameters,
    Tree,
    counts_joint_moves,
    joint_code,
    see_edge,
)
from ggp.simulation.evaluate import Bits
from ggp.simulation.state_machine import CircuitMachine

MOST_STEPS = 200  # of a variation
ENOUGH_VISITS = 0.3  # of those of the robust child, for a move to be selected by its value
_ROUNDING = 1e-9  # sums of chances

Values: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MoveReport:
    """What was seen of one move of a role."""

    move: Term
    visits: int
    value: float | None  # the mean, 0 to 1 for goal values of 0 to 100; None without any visit
    lower: float  # proven bounds of the value
    upper: float
    prior: float | None = None  # how probable the move was thought to be, by a net; None without one


class Prospect(NamedTuple):
    """What follows a move."""

    length: int = 0  # steps to the end, as far as known, where the value is proven
    conceded: float = 0.0  # what the role is expected to get where others err, 0 to 1, where the value is proven
    value: float | None = None  # mean and minimax by their weights, inside the tree; None without implicit minimax


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search knows of a state."""

    best: Term | None  # None when the role has no move
    moves: tuple[MoveReport, ...]  # in the order of the machine
    value: float | None  # of the state for the role
    lower: float
    upper: float
    visits: int  # of the state
    playouts: int  # of this search since it began
    nodes: int


@dataclass(frozen=True, slots=True)
class Variation:
    """Joint moves from the root on; values (0 to 1 for goal values of 0 to 100) and their proven bounds are by role.

    For the role that was asked for they are those of its first move, for the others of the state after the first step.
    """

    steps: tuple[JointMove, ...]
    choices: tuple[tuple[bool, ...], ...]  # for each step, which roles had more than one move
    visits: int  # of its first move
    values: tuple[float | None, ...]  # None where nothing is known yet
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    prior: float | None  # of its first move


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads out of a tree what moves are worth; its lock is held, or no worker runs. Roles are numbers."""

    machine: CircuitMachine
    tree: Tree
    parameters: Parameters
    solver: Solver
    has_priors: bool = False  # whether a net has given those in the tree

    @property
    def root(self) -> int:
        return int(self.tree.numbers[ROOT])

    @property
    def root_bits(self) -> Bits:
        """(1, words)"""
        bits: Bits = self.tree.table.states[self.root][np.newaxis]
        return bits

    @property
    def state(self) -> Facts:
        return self.machine.unpacked(self.root_bits)

    def as_goal(self, role: int, value: float) -> float:
        """A value inside the tree as a goal value, 0 to 1."""
        highest = max(self.machine.compiled.goals[role], default=0)  # a single goal value has no span
        return float(min(self.parameters.lowest[role] + value * self.parameters.span[role], highest)) / 100

    def state_of(self, node: int) -> Facts:
        return self.machine.unpacked(self.tree.table.states[node][np.newaxis])

    def visits(self, node: int) -> int:
        return int(self.tree.values[node, VISITS])

    def node(self, node: int) -> tuple[list[float | None], list[float], list[float], int]:
        """Of each role the value (None without a visit) and the bounds of any node; and its visits."""
        roles = range(len(self.machine.roles))
        row, visits = self.tree.values[node], self.visits(node)
        lower, upper = row[len(roles) : 2 * len(roles)], row[2 * len(roles) : 3 * len(roles)]
        if node == self.root:
            lower, upper = self.solver.bounds(self.tree)
        means = [
            float(lower[at]) if lower[at] == upper[at] else float(row[at]) / visits if visits else None for at in roles
        ]
        return (
            [None if mean is None else self.as_goal(at, mean) for at, mean in enumerate(means)],
            [self.as_goal(at, float(lower[at])) for at in roles],
            [self.as_goal(at, float(upper[at])) for at in roles],
            visits,
        )

    def children(self, node: int) -> list[tuple[int, JointMove]]:
        """The nodes right below, with the joint moves that lead there; not where these are too many to be numbered."""
        tree, moves = self.tree, self.machine.compiled.moves
        if tree.nodes[node, FIRST] == NONE:
            return []
        firsts, counts = first_slots(tree, node), [int(count) for count in tree.nodes[node, COUNT:]]

        def joint_move(slots: list[int]) -> JointMove:
            return tuple(moves[role][int(tree.move[slot])] for role, slot in enumerate(slots))

        choosers = [role for role, count in enumerate(counts) if count > 1]
        if len(choosers) < 2:
            chooser = choosers[0] if choosers else 0
            found = []
            for slot in range(firsts[chooser], firsts[chooser + 1]):
                slots = [slot if role == chooser else firsts[role] for role in range(len(counts))]
                found.append((int(tree.child[slot]), joint_move(slots)))
            return [(child, moved) for child, moved in found if child != NONE]
        return [
            (child, joint_move([first + at for first, at in zip(firsts, places, strict=False)]))
            for child, places in self._edges(node, counts)
        ]

    def _edges(self, node: int, counts: list[int]) -> Iterator[tuple[int, list[int]]]:
        """The nodes below joint-move edges, and of each role the place of its move."""
        tree, edge = self.tree, int(self.tree.nodes[node, EDGES])
        while edge != NONE and counts_joint_moves(tree, node):
            code, places = int(tree.edge_code[edge]), list[int]()
            for count in reversed(counts):
                code, place = divmod(code, count)
                places.append(place)
            yield int(tree.edge_child[edge]), places[::-1]
            edge = int(tree.edge_next[edge])

    def moves(self, node: int, role: int) -> list[MoveReport]:
        """The moves of a role in any node that has slots."""
        return [] if self.tree.nodes[node, FIRST] == NONE else self._visited(node, role)[0]

    def result(self, role: int, playouts: int) -> SearchResult:
        tree, root = self.tree, self.root
        visits, total = int(tree.values[root, VISITS]), float(tree.values[root, role])
        lower, upper = (float(bounds[role]) for bounds in self.solver.bounds(tree))
        reports, prospects = self.reports(role)
        value = min(max(total / visits, lower), upper) if visits else lower if lower == upper else None
        best = self.best(reports, prospects, role)
        return SearchResult(
            None if best is None else best.move,
            tuple(reports),
            None if value is None else self.as_goal(role, value),
            self.as_goal(role, lower),
            self.as_goal(role, upper),
            visits,
            playouts,
            int(tree.numbers[NODES]),
        )

    def best(self, reports: list[MoveReport], prospects: list[Prospect], role: int) -> MoveReport | None:
        """A move that is proven best: to win soon, else where others may err most; or `_final_move`."""
        if not reports:
            return None
        worst, most = self.as_goal(role, 0.0), self.as_goal(role, 1.0)
        sure = max(report.lower for report in reports)
        exact = [at for at, report in enumerate(reports) if report.lower == report.upper == sure]
        favourite = _final_move(reports, prospects, sure)
        if favourite is not None:
            value = favourite.value or 0.0
            if not exact or sure < value or sure == value == worst:
                return favourite
        if not exact:
            return max(reports, key=lambda report: (report.lower, report.visits))
        if not prospects:
            return reports[exact[0]]
        if sure > max(most - _ROUNDING, worst):
            return reports[min(exact, key=lambda at: prospects[at].length)]
        return reports[max(exact, key=lambda at: (prospects[at].conceded, prospects[at].length))]

    def reports(self, role: int) -> tuple[list[MoveReport], list[Prospect]]:
        """The moves of a role, and what follows each if that is known; all that solvers know included."""
        if self.tree.nodes[self.root, FIRST] == NONE:
            return self._with_solution(self._unvisited(role), [], role)
        reports, lengths = self._visited(self.root, role)
        lengths = self.solver.proven_lengths(lengths, role)
        conceded, values = self._conceded(role, len(reports)), self._combined_values(role)
        prospects = [Prospect(*each) for each in zip(lengths, conceded, values, strict=True)]
        return self._with_solution(reports, prospects, role)

    def _combined_values(self, role: int) -> list[float | None]:
        """`Prospect.value` of each move of the role."""
        tree, weight, firsts = self.tree, self.parameters.minimax_weight, first_slots(self.tree, self.root)
        slots = slice(firsts[role], firsts[role + 1])
        minimax, visits = tree.move_minimax[slots], tree.visits[slots]
        if not weight or (minimax == UNVALUED).all():
            return [None] * len(minimax)
        means = tree.value_sum[slots] / np.maximum(visits, 1)
        found = np.where(minimax == UNVALUED, means, means + weight * (minimax - means))
        return [float(value) for value in np.clip(found, tree.lower[slots], tree.upper[slots])]

    def _conceded(self, role: int, moves: int) -> list[float]:
        """What others are expected to concede after each move; all 0 where the state is not proven, or won."""
        tree, root, roles = self.tree, self.root, len(self.machine.roles)
        low, high = (float(tree.values[root, column * roles + role]) for column in (1, 2))
        if moves < 2 or self.solver.solution is not None or not low == high < 1 or sum(_choosers(tree, root)) > 1:
            return [0.0] * moves
        found, first = expected_values(tree, self.parameters, role, root), first_slots(tree, root)[role]
        below = [int(child) for child in tree.child[first : first + moves]]
        return [0.0 if child == NONE else round(max(float(found[child]), 0.0), 6) for child in below]

    def _visited(self, node: int, role: int) -> tuple[list[MoveReport], list[int]]:
        tree, firsts = self.tree, first_slots(self.tree, node)
        moves = self.machine.compiled.moves[role]
        reports: list[MoveReport] = []
        lengths: list[int] = []
        for slot in range(firsts[role], firsts[role + 1]):
            visits = int(tree.visits[slot])
            lower, upper = float(tree.lower[slot]), float(tree.upper[slot])
            value = lower if lower == upper else None
            if visits:
                value = min(max(float(tree.value_sum[slot]) / visits, lower), upper)
            shown = None if value is None else self.as_goal(role, value)
            bounds = self.as_goal(role, lower), self.as_goal(role, upper)
            reports.append(MoveReport(moves[int(tree.move[slot])], visits, shown, *bounds, self.prior(slot)))
            child = int(tree.child[slot])
            lengths.append(int(tree.nodes[child, LENGTH]) if child != NONE else 0)
        return reports, lengths

    def prior(self, slot: int) -> float | None:
        """Of the move of a slot, by the net that gave it; None without one."""
        return float(self.tree.prior[slot]) if self.has_priors else None

    def _unvisited(self, role: int) -> list[MoveReport]:
        machine, state = self.machine, self.state
        if machine.is_terminal(state):
            return []
        bounds = self.as_goal(role, 0.0), self.as_goal(role, 1.0)
        return [MoveReport(move, 0, None, *bounds) for move in machine.legal_moves(state, machine.roles[role])]

    def bounds_after(self, role: int, move: Term) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Lower and upper bounds by role after a move of one role; those of the retrograde solver if it is done."""
        solution, roles = self.solver.solution, range(len(self.machine.roles))
        number = None if solution is None else solution.find(self.root_bits)
        low, high = [0.0 for _ in roles], [1.0 for _ in roles]
        if solution is not None and number is not None:
            target = solution.choices(number, role).get(self.machine.compiled.moves[role].index(move), number)
            low, high = (list(map(float, bounds)) for bounds in solution.bounds(target)[:2])
        return tuple(map(self.as_goal, roles, low)), tuple(map(self.as_goal, roles, high))

    def _with_solution(
        self, reports: list[MoveReport], prospects: list[Prospect], role: int
    ) -> tuple[list[MoveReport], list[Prospect]]:
        """The reports with what is known of the states after the moves, where all states are."""
        solution = self.solver.solution
        number = None if solution is None else solution.find(self.root_bits)
        if solution is None or number is None:
            return reports, prospects
        after, moves = solution.choices(number, role), self.machine.compiled.moves[role]
        found: list[MoveReport] = []
        prospects = []
        for report in reports:
            target = after.get(moves.index(report.move), number)
            low, high, length = solution.bounds(target)
            bounds = self.as_goal(role, float(low[role])), self.as_goal(role, float(high[role]))
            value = bounds[0] if report.value is None else min(max(report.value, bounds[0]), bounds[1])
            found.append(MoveReport(report.move, report.visits, value, *bounds, report.prior))
            prospects.append(Prospect(length, round(solution.expected(target, role), 6)))
        return found, prospects


class Variations:
    """Reads the best lines of play out of a tree, under the same lock as its reader."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._machine = reader.machine
        self._tree = reader.tree

    def best(self, role: int, count: int) -> tuple[Variation, ...]:
        """The best variation of each of the best moves of a role, best first."""
        tree = self._tree
        if tree.nodes[self._reader.root, FIRST] == NONE:
            return self._unsearched(role, count)
        names, best = self._machine.compiled.moves[role], self._reader.best(*self._reader.reports(role), role)
        ranked = sorted(
            self._ranking(self._reader.root, role),
            key=lambda slot: best is None or names[int(tree.move[slot])] != best.move,
        )
        return tuple(self._variation(role, slot) for slot in ranked[:count])

    def _unsearched(self, role: int, count: int) -> tuple[Variation, ...]:
        """Those of a root that has no slots yet, with what the retrograde solver has proven of its moves."""
        reader, roles = self._reader, range(len(self._machine.roles))
        reports = [reader.reports(each) for each in roles]
        best = [found for number, each in enumerate(reports) if (found := reader.best(*each, number)) is not None]
        if len(best) < len(reports):
            return ()  # a role has no move
        variations = []
        for report in sorted(reports[role][0], key=lambda each: (each is not best[role], -each.lower))[:count]:
            steps: list[JointMove] = [tuple(report.move if each == role else best[each].move for each in roles)]
            choices = [tuple(len(moves) > 1 for moves, _ in reports)]
            self._extend(steps, choices)
            low, high = reader.bounds_after(role, report.move)
            values = tuple(least if least == most else None for least, most in zip(low, high, strict=True))
            variations.append(Variation(tuple(steps), tuple(choices), 0, values, low, high, report.prior))
        return tuple(variations)

    def principal(self, role: int, move: Term | None, most_steps: int) -> tuple[JointMove, ...]:
        """The best variation with this move of the role, as far as the tree holds it; few steps take little work."""
        tree, names, node = self._tree, self._machine.compiled.moves[role], self._reader.root
        if tree.nodes[node, FIRST] == NONE:
            return ()
        firsts, slots = first_slots(tree, node), self._best_slots(node)
        own = [slot for slot in range(firsts[role], firsts[role + 1]) if names[int(tree.move[slot])] == move]
        if not own:
            return ()
        slots[role] = own[0]
        steps = [self._joint_move(slots)]
        while len(steps) < most_steps:
            node = _child(tree, node, slots)
            if node == NONE or tree.nodes[node, FIRST] == NONE:
                break
            slots = self._best_slots(node)
            steps.append(self._joint_move(slots))
        return tuple(steps)

    def _variation(self, role: int, slot: int) -> Variation:
        tree, node = self._tree, self._reader.root
        slots = self._best_slots(node)
        slots[role] = slot
        steps, choices, seen = [], [_choosers(tree, node)], {node}
        node = after_first = _child(tree, node, slots)
        while True:
            steps.append(self._joint_move(slots))
            if node == NONE or node in seen or tree.nodes[node, FIRST] == NONE or len(steps) == MOST_STEPS:
                break
            seen.add(node)
            slots = self._best_slots(node)
            following = _child(tree, node, slots)
            if following == NONE and not any(tree.lower[at] == tree.upper[at] for at in slots):
                break
            choices.append(_choosers(tree, node))
            node = following
        self._extend(steps, choices)
        values = self._values(after_first, role, slot)
        return Variation(tuple(steps), tuple(choices), int(tree.visits[slot]), *values, self._reader.prior(slot))

    def _extend(self, steps: list[JointMove], choices: list[tuple[bool, ...]]) -> None:
        """Adds steps up to the end, where all states are known."""
        machine, solution = self._machine, self._reader.solver.solution
        if solution is None:
            return
        state = self._reader.state
        for step in steps:
            state = machine.next_state(state, step)
        while len(steps) < MOST_STEPS:
            bits = machine.packed(state)
            number = None if bits is None else solution.find(bits)
            best = None if number is None else solution.best_choice(number)
            if best is None:
                break
            legal = [machine.legal_moves(state, role) for role in machine.roles]
            joint = [moves[0] for moves in legal]
            joint[best[0]] = machine.compiled.moves[best[0]][best[1]]
            steps.append(tuple(joint))
            choices.append(tuple(len(moves) > 1 for moves in legal))
            state = machine.next_state(state, tuple(joint))

    def _values(
        self, node: int, role: int, slot: int
    ) -> tuple[tuple[float | None, ...], tuple[float, ...], tuple[float, ...]]:
        """Values and bounds of a node, but those of its own role from the slot, whatever the others reply."""
        tree, roles = self._tree, len(self._machine.roles)
        sums, lower, upper, visits = np.zeros(roles), np.zeros(roles), np.ones(roles), np.zeros(roles)
        if node != NONE:
            sums, lower, upper = tree.values[node, : 3 * roles].copy().reshape(3, roles)
            visits[:] = tree.values[node, VISITS]
        visits[role], sums[role] = tree.visits[slot], tree.value_sum[slot]
        lower[role], upper[role] = tree.lower[slot], tree.upper[slot]
        least, most = self._reader.solver.bounds(tree)
        if int(tree.nodes[self._reader.root, COUNT + role]) == 1:  # then its move is worth what the state is worth
            lower[role] = max(lower[role], least[role])
            upper[role] = max(min(upper[role], most[role]), lower[role])
        if (least == most).all() and not self._reader.solver.is_solved(tree):
            # the tree does not know of a loss that was proven in parallel
            lower = np.maximum(lower, np.minimum(least, upper))
            upper[role] = max(min(upper[role], most[role]), lower[role])
        means = np.clip(sums / np.maximum(visits, 1), lower, upper)
        known = (visits > 0) | (lower == upper)
        return (
            tuple(self._reader.as_goal(at, means[at]) if known[at] else None for at in range(roles)),
            tuple(self._reader.as_goal(at, lower[at]) for at in range(roles)),
            tuple(self._reader.as_goal(at, upper[at]) for at in range(roles)),
        )

    def _ranking(self, node: int, role: int) -> list[int]:
        """The slots of a role, best first: as `best` has it, but for lengths of proven moves and minimax values."""
        tree, firsts = self._tree, first_slots(self._tree, node)
        slots = np.arange(firsts[role], firsts[role + 1])
        visits, lower, upper = tree.visits[slots], tree.lower[slots], tree.upper[slots]
        means = np.clip(tree.value_sum[slots] / np.maximum(visits, 1), lower, upper)
        by_visits = [int(slot) for slot in slots[np.lexsort((-means, -visits))]]
        sure = slots[int(lower.argmax())]
        favourite = next((slot for slot in by_visits if tree.lower[slot] < tree.upper[slot]), None)
        if lower.max() > 0 and (
            favourite is None or tree.lower[sure] >= tree.value_sum[favourite] / max(tree.visits[favourite], 1)
        ):
            favourite = int(sure)
        lost = [slot for slot in by_visits if tree.upper[slot] <= 0]
        others = [slot for slot in by_visits if tree.upper[slot] > 0 and slot != favourite]
        return [*([] if favourite is None or favourite in lost else [favourite]), *others, *lost]

    def _best_slots(self, node: int) -> list[int]:
        """Of each role."""
        return [self._ranking(node, role)[0] for role in range(len(self._machine.roles))]

    def _joint_move(self, slots: list[int]) -> JointMove:
        moves, tree = self._machine.compiled.moves, self._tree
        return tuple(moves[role][int(tree.move[slot])] for role, slot in enumerate(slots))


def tree_bytes(tree: Tree) -> int:
    """What nodes, slots and edges in use take up."""
    node = tree.table.states[0].nbytes + tree.nodes[0].nbytes + tree.values[0].nbytes + tree.table.slots[0].nbytes
    statistics = (tree.visits, tree.in_flight, tree.value_sum, tree.square_sum, tree.lower, tree.upper)
    slot = sum(int(array[0].nbytes) for array in (tree.move, *statistics, tree.child))
    edge = sum(int(array[0].nbytes) for array in (tree.edge_code, tree.edge_child, tree.edge_next))
    numbers = tree.numbers
    return int(numbers[NODES] * node + numbers[SLOTS] * slot + numbers[EDGE_COUNT] * edge)


def first_slots(tree: Tree, node: int) -> list[int]:
    """Where the slots of each role begin, and where the last end."""
    first, counts = int(tree.nodes[node, FIRST]), tree.nodes[node, COUNT:]
    return [first + int(at) for at in np.concatenate(([0], np.cumsum(counts)))]


def _final_move(reports: list[MoveReport], prospects: list[Prospect], sure: float) -> MoveReport | None:
    """Of moves that may be worth more than `sure` the robust child (most visits: Chaslot and others, 2008).

    With implicit minimax the max child (highest value) of those with enough visits, since a late refutation changes the
    value at once and the visits slowly.
    """
    undecided = [at for at, report in enumerate(reports) if report.upper > sure and report.lower < report.upper]
    robust = max(undecided, key=lambda at: (reports[at].visits, reports[at].value or 0.0), default=None)
    if robust is None:
        return None
    if not prospects or prospects[robust].value is None:
        return reports[robust]
    enough = ENOUGH_VISITS * reports[robust].visits
    seen = [at for at in undecided if reports[at].visits >= enough]
    return reports[max(seen, key=lambda at: (prospects[at].value or 0.0, reports[at].visits))]


def _choosers(tree: Tree, node: int) -> tuple[bool, ...]:
    return tuple(bool(count > 1) for count in tree.nodes[node, COUNT:])


def _child(tree: Tree, node: int, slots: list[int]) -> int:
    """The node below a joint move, or NONE."""
    choosers = np.flatnonzero(tree.nodes[node, COUNT:] > 1)
    if len(choosers) < 2:
        return int(tree.child[slots[choosers[0] if len(choosers) else 0]])
    return int(see_edge(tree, node, joint_code(tree, node, np.array(slots, np.int32))))

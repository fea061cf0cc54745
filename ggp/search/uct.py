"""UCT over any state machine: the plain reference that faster searches are compared with.

Decoupled UCT: in each node every role chooses among its own moves by its own statistics, and maximises its own value
(Kocsis and Szepesvári, 2006; for simultaneous moves Finnsson and Björnsson, 2008). A playout walks down the tree, adds
one node, plays at random to the end and backs up one value per role.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import log, sqrt
from random import Random

from ggp.errors import EvaluationError, SettingsError
from ggp.gdl.rulesheet import NATURE
from ggp.gdl.state_machine import Facts, JointMove, StateMachine, SupportsPlayouts
from ggp.gdl.terms import Term

UNKNOWN_VALUE = 0.5  # of an end for which the rules give no goal value, or several


@dataclass(frozen=True, slots=True)
class UctSettings:
    """How to search."""

    exploration: float = 0.7  # c in value + c * sqrt(log(visits of the node) / visits of the move)
    max_steps: int = 500  # of a playout below the tree; then the goal value there counts, if there is one
    max_nodes: int = 20_000  # at which the tree stops growing; a node takes 2 to 10 kB, most of it the state

    def __post_init__(self) -> None:
        if self.exploration < 0 or self.max_steps < 0 or self.max_nodes < 1:
            raise SettingsError("exploration and max_steps cannot be negative, max_nodes not less than 1")


@dataclass(frozen=True, slots=True)
class MoveVisits:
    """What was seen of one move of the searching role."""

    move: Term
    visits: int
    value: float | None  # the mean over its visits, 0 to 1; None without any


@dataclass(frozen=True, slots=True)
class UctResult:
    """What a search found so far, earlier searches of the same tree included in the visits."""

    best: Term | None  # most visits, then highest value, then at random; None when the role has no move
    moves: tuple[MoveVisits, ...]  # in the order of the machine
    playouts: int  # completed by this search
    undecided: int  # of these, those that ended without a goal value for every role


class UCT:
    """A search tree for one role of one match, kept from move to move."""

    def __init__(self, machine: StateMachine, role: str, rng: Random, settings: UctSettings | None = None) -> None:
        self.use(machine)
        self._role = machine.roles.index(role)
        self._nature = tuple(name == NATURE for name in machine.roles)
        self._rng = rng
        self._settings = settings or UctSettings()
        self._root: _Node | None = None
        self._nodes = 0

    def use(self, machine: StateMachine) -> None:
        """Asks this machine from now on; all that it is given in turn are of the same rules."""
        self._machine = machine
        self._simulator = machine if isinstance(machine, SupportsPlayouts) else None

    @property
    def nodes(self) -> int:
        """In the tree now."""
        return self._nodes

    def advance(self, joint_move: JointMove) -> None:
        """Keeps the part of the tree below a joint move that was played, and forgets the rest."""
        kept = self._root.children.pop(joint_move, None) if self._root else None
        self.forget()
        self._root = kept
        self._nodes = _count(kept)

    def forget(self) -> None:
        """Takes the tree apart, piece by piece: at once, Python would hold all other threads for up to a second."""
        stack = [self._root] if self._root else []
        self._root = None
        self._nodes = 0
        while stack:
            node = stack.pop()
            stack.extend(node.children.values())
            node.children.clear()

    def search(self, state: Facts, stop: Callable[[], bool], max_playouts: int | None = None) -> UctResult:
        """Searches until `stop()` or for that many playouts.

        `stop` is asked before each call of the machine; a playout that it interrupts is forgotten. EvaluationError when
        the rules have no meaning in `state` itself; further down that is an end of unknown value.
        """
        playouts = undecided = 0
        try:
            if self._root is None or self._root.state != state:
                self.forget()
                self._root = _Node(state, self._look(state, stop))
                self._nodes = 1
            while self._root.choices and not stop() and (max_playouts is None or playouts < max_playouts):
                undecided += not self._playout(self._root, stop)
                playouts += 1
        except _StoppedError:
            pass
        return self._result(state, playouts, undecided)

    def _playout(self, node: "_Node", stop: Callable[[], bool]) -> bool:
        """Whether it ended with a goal value for every role."""
        path: list[tuple[_Node, tuple[int, ...]]] = []
        ends = node.view.ends
        while ends is None:
            picks = tuple(map(self._select, node.choices, self._nature))
            path.append((node, picks))
            joint_move = tuple(choice.moves[pick] for choice, pick in zip(node.choices, picks, strict=True))
            child = node.children.get(joint_move)
            if child is None:
                ends = self._grow(node, joint_move, stop)
            else:
                node, ends = child, child.view.ends
        for passed, picks in path:
            for choice, pick, value in zip(passed.choices, picks, ends.values, strict=True):
                choice.visits[pick] += 1
                choice.totals[pick] += value
        return ends.is_decided

    def _grow(self, node: "_Node", joint_move: JointMove, stop: Callable[[], bool]) -> "_Ends":
        """Adds the node below a joint move, when there is room, and plays on from there at random."""
        try:
            if stop():
                raise _StoppedError
            state = self._machine.next_state(node.state, joint_move)
            view = self._look(state, stop)
            if self._nodes < self._settings.max_nodes:
                node.children[joint_move] = _Node(state, view)
                self._nodes += 1
            return self._play_out(state, view, stop)
        except EvaluationError:
            return _ends_with([None] * len(self._nature))

    def _play_out(self, state: Facts, view: "_View", stop: Callable[[], bool]) -> "_Ends":
        if view.ends is None and self._simulator is not None:
            try:
                playout = self._simulator.play_match(state, self._rng, self._settings.max_steps, stop)
            except EvaluationError:
                self._simulator = None  # step by step, then: where bytecode does not end the interpreter may
            else:
                if playout is None:
                    raise _StoppedError
                return _ends_with(playout.goals)
        for _ in range(self._settings.max_steps):
            if view.ends is not None:
                return view.ends
            if stop():
                raise _StoppedError
            state = self._machine.next_state(state, tuple(map(self._rng.choice, view.legal)))
            view = self._look(state, stop)
        return view.ends or self._goals(state, stop)

    def _look(self, state: Facts, stop: Callable[[], bool]) -> "_View":
        """What goes on in a state; one in which some role has no legal move counts as an end."""
        if stop():
            raise _StoppedError
        if self._machine.is_terminal(state):
            return _View((), self._goals(state, stop))
        legal: list[tuple[Term, ...]] = []
        for role in self._machine.roles:
            if stop():
                raise _StoppedError
            legal.append(self._machine.legal_moves(state, role))
        return _View(tuple(legal), None if all(legal) else self._goals(state, stop))

    def _goals(self, state: Facts, stop: Callable[[], bool]) -> "_Ends":
        goals: list[int | None] = []
        for role in self._machine.roles:
            if stop():
                raise _StoppedError
            goals.append(self._machine.goal(state, role))
        return _ends_with(goals)

    def _select(self, choice: "_Choice", is_nature: bool) -> int:
        """The number of a move: at random for nature, else one without visits, else the highest upper bound."""
        if is_nature or len(choice.moves) == 1:
            return self._rng.randrange(len(choice.moves))
        untried = [number for number, visits in enumerate(choice.visits) if not visits]
        if untried:
            return self._rng.choice(untried)
        bonus = self._settings.exploration * sqrt(log(sum(choice.visits)))
        bounds = [
            total / visits + bonus / sqrt(visits) for total, visits in zip(choice.totals, choice.visits, strict=True)
        ]
        highest = max(bounds)
        return self._rng.choice([number for number, bound in enumerate(bounds) if bound == highest])

    def _result(self, state: Facts, playouts: int, undecided: int) -> UctResult:
        if self._root is None or self._root.state != state or not self._root.view.legal:
            return UctResult(None, (), playouts, undecided)
        if not self._root.choices:  # an end because another role cannot move
            moves = tuple(MoveVisits(move, 0, None) for move in self._root.view.legal[self._role])
        else:
            moves = self._root.choices[self._role].statistics()
        ranks = [(entry.visits, entry.value or 0.0) for entry in moves]
        highest = max(ranks, default=None)
        best = [entry.move for entry, rank in zip(moves, ranks, strict=True) if rank == highest]
        return UctResult(self._rng.choice(best) if best else None, moves, playouts, undecided)


class _StoppedError(Exception):
    """Ends a playout when `stop` says so."""


@dataclass(frozen=True, slots=True)
class _Ends:
    values: tuple[float, ...]  # by role
    is_decided: bool


@dataclass(frozen=True, slots=True)
class _View:
    """What the machine says of a state."""

    legal: tuple[tuple[Term, ...], ...]  # by role; empty in a terminal state
    ends: _Ends | None


@dataclass(slots=True)
class _Choice:
    """The moves of one role in one node; lists are indexed by the number of the move."""

    moves: tuple[Term, ...]
    visits: list[int]
    totals: list[float]

    def statistics(self) -> tuple[MoveVisits, ...]:
        return tuple(
            MoveVisits(move, visits, total / visits if visits else None)
            for move, visits, total in zip(self.moves, self.visits, self.totals, strict=True)
        )


@dataclass(slots=True)
class _Node:
    state: Facts
    view: _View
    choices: tuple[_Choice, ...] = ()  # by role; empty at an end
    children: dict[JointMove, "_Node"] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.view.ends is None:
            self.choices = tuple(_Choice(moves, [0] * len(moves), [0.0] * len(moves)) for moves in self.view.legal)


def _ends_with(goals: Sequence[int | None]) -> _Ends:
    values = (UNKNOWN_VALUE if goal is None else min(max(goal / 100, 0.0), 1.0) for goal in goals)
    return _Ends(tuple(values), None not in goals)


def _count(tree: _Node | None) -> int:
    count = 0
    stack = [tree] if tree else []
    while stack:
        node = stack.pop()
        count += 1
        stack.extend(node.children.values())
    return count

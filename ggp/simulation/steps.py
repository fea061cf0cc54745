"""Circuit → step programs: state and random words → the next state, with a random legal move of each role done.

One program for each phase of the game: facts whose value is the same in all matches at the same step, as whose turn it
is, are constants there, and much of the circuit folds away. The rows of the words are those of `Layout`.

Moves are chosen for each role, or for all roles together: in many games only one role at a time has a choice, the
others have one move each. Where that shows (all moves of a role but one need a condition, and that one needs its
opposite), one choice serves all roles. A lane in which two have a choice after all is a clash; its step has to be taken
with separate choices.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.assembly import Assembly
from ggp.circuit.choice import choose_move, find_turn, possible_moves, random_bits
from ggp.circuit.compile import Names
from ggp.circuit.decisive import Aims, EndGates, Endings, find_endings, find_ends, look
from ggp.circuit.grouped_choice import (
    GroupedChoice,
    Grouping,
    any_done,
    ask_disjunctions,
    choose_grouped,
    find_disjunctions,
    find_groupings,
    moves_done,
)
from ggp.circuit.invariants import holds_at_first
from ggp.circuit.network import Circuit, Ids, Literals, Network, any_of, both, either
from ggp.circuit.schedule import Program, make_program, mark_needed
from ggp.kernel import TALLY_BITS

LATER_END = 0.95  # of the gates; seeing the end late costs a step in each playout
GOALS_AT_ONCE = 3  # gates per fact that goals may take in each step before they are left for later
BIRTH_BITS = 24  # of the step at which a lane's playout began; a playout may be as long as half of this
QUOTA_BITS = 31  # of the playouts that a lane is to begin


class RowLayout(NamedTuple):
    """Which rows of the words hold what, for step programs and the playout loop; row 0 is false."""

    facts: int  # F
    goals: int  # goal values of all roles
    current: int  # (F,) the state; in every other step the following one
    following: int  # (F,) the state after it; in every other step the current one
    finished: int  # (F,) states of lanes that ended, until their goals are evaluated
    start: int  # (F,) the states in which playouts start
    waiting: int  # lanes whose playout is over, before the step
    over: int  # lanes that wait after the step; this and the following rows are written by the step
    ended: int  # lanes whose playout this step brought to its end
    stuck: int  # lanes that could not take the step: a role had no legal move
    clash: int  # lanes whose choice is not valid: the step has to be taken again, with separate choices
    first_goal: int  # (goals,) which goal values the rules give
    ones: int  # all lanes; this and what follows, as far as `first_tally`, is the playout loop's own
    pending: int  # lanes that ended and whose goals are not counted yet
    taken: int  # lanes whose playout begins in this step
    borrow: int  # scratch
    zero: int  # scratch
    young: int  # lanes whose playout began since the high bits of births were last written
    first_birth: int  # (BIRTH_BITS,) the step at which the lane's playout began, lowest bit first
    first_quota: int  # (QUOTA_BITS,) the playouts that the lane has to begin, lowest bit first
    first_queue: int  # (phases,) lanes that have playouts to begin, by the phase of their starts
    first_held: int  # (goals,) the goals of the lanes that are pending, where the step evaluates them
    first_tally: int  # (goals * TALLY_BITS,) how often a goal value was the lane's outcome, lowest bit first
    first_random: int  # random words of a step
    first_free: int  # from here on scratch of the programs

    def swapped(self, rows: int) -> Ids:
        """(rows,) where each row goes when the two states change places."""
        row_of = np.arange(rows, dtype=np.int32)
        row_of[self.current : self.current + self.facts] += self.facts
        row_of[self.following : self.following + self.facts] -= self.facts
        return row_of


def make_layout(facts: int, goals: int, random: int, phases: int = 1) -> RowLayout:
    """Rows for so many of each; random: words of a step, at most."""
    sizes = {"current": facts, "following": facts, "finished": facts, "start": facts}
    sizes |= dict.fromkeys(("waiting", "over", "ended", "stuck", "clash"), 1)
    sizes["first_goal"] = goals
    sizes |= dict.fromkeys(("ones", "pending", "taken", "borrow", "zero", "young"), 1)
    sizes |= {"first_birth": BIRTH_BITS, "first_quota": QUOTA_BITS, "first_queue": phases}
    sizes |= {"first_held": goals, "first_tally": goals * TALLY_BITS, "first_random": random}
    rows = {"first_free": 1}
    for name, size in sizes.items():
        rows[name] = rows["first_free"]
        rows["first_free"] += size
    return RowLayout(facts=facts, goals=goals, **rows)


@dataclass(frozen=True, slots=True)
class Steps:
    """All that a playout runs."""

    layout: RowLayout
    phases: tuple[Program, ...]  # state → following state, which lanes ended or got stuck and, if not late, goals
    late_goals: Program | None  # finished states → goals
    goal_facts: Ids  # the facts that late goals read
    same_goal: Ids  # (goals,) the first goal value, of any role, that holds whenever this one does
    late_end: bool  # whether the end is seen before the next step, not after the last: where both share much
    apart: tuple[Program, ...]  # the phases without a common choice, for lanes where it clashes; empty: it never does
    decisive: int  # 1 where roles do decisive moves, 2 where they also avoid what allows them, else 0

    @property
    def gates(self) -> int:
        """Of all phases, late goals apart."""
        return sum(len(program.left) for program in self.phases)

    @property
    def rows(self) -> int:
        late = () if self.late_goals is None else (self.late_goals,)
        programs = (*self.phases, *late, *self.apart)
        most: int = max([self.layout.first_free, *(program.rows for program in programs)])
        return most


def make_steps(
    circuit: Circuit,
    phases: NDArray[np.int8],
    moves: Names | None = None,
    *,
    aims: Aims | None = None,
    depth: int = 1,
) -> Steps:
    """phases: (P, F) the constant that a fact is in each phase, or -1.

    moves: their names, by which many of them are grouped. aims: roles do decisive moves, if there are any and they do
    not take too many gates; depth 2: and do not allow them.
    """
    needed = sum(random_bits(count) for count in circuit.moves)
    layout = make_layout(circuit.facts, len(circuit.goals), needed, len(phases))
    endings: list[Endings | None] = [None] * len(phases)
    if aims is not None:
        endings = [find_endings(circuit, phases, phase, aims, depth) for phase in range(len(phases))]
    names = moves or ((),) * len(circuit.moves)
    of_names = {own: find_groupings(own) for own in set(names)}  # roles often have the same moves
    groupings = [of_names[own] for own in names]
    networks = [_Step(circuit, layout, *known, groupings) for known in zip(phases, endings, strict=True)]
    after, before = (sum(step.gates(late=late) for step in networks) for late in (False, True))
    late = before < LATER_END * after or holds_at_first(circuit, circuit.terminal)
    at_once = max(step.goal_gates(late=late) for step in networks) <= GOALS_AT_ONCE * circuit.facts
    programs = tuple(step.program(late=late, goals=at_once) for step in networks)
    goals, facts = (None, np.zeros(0, np.int32)) if at_once else _late_goals(circuit, layout)
    apart: tuple[Program, ...] = ()
    if any(step.may_clash for step in networks):
        steps = [_Step(circuit, layout, *known, groupings, apart=True) for known in zip(phases, endings, strict=True)]
        apart = tuple(step.program(late=late, goals=at_once) for step in steps)
    _, first, place = np.unique(circuit.goals, return_index=True, return_inverse=True)
    decisive = max(step.decisive for step in networks)
    return Steps(layout, programs, goals, facts, first[place].astype(np.int32), late, apart, decisive)


class _Step:
    """The network of one phase: a step, and what there is to know of the state before it and of the state after."""

    def __init__(
        self,
        circuit: Circuit,
        layout: RowLayout,
        known: NDArray[np.int8],
        endings: Endings | None,
        groupings: Sequence[Sequence[Grouping]],
        *,
        apart: bool = False,
    ) -> None:
        self._layout = layout
        capacity = 12 * len(circuit.left) + 400 * sum(circuit.moves) + 100_000
        capacity += 0 if endings is None else endings.room
        self._assembly = assembly = Assembly(capacity)
        facts = assembly.facts(known)
        random = assembly.inputs(layout.first_free - layout.first_random)
        waiting = int(assembly.inputs(1)[0])
        nothing = np.zeros(sum(circuit.moves), np.int64)
        legal = assembly.copy(circuit, np.concatenate([facts, nothing]), circuit.legal)
        ends = None if endings is None else find_ends(assembly, endings, look(assembly, circuit, facts))
        self.decisive = 0 if ends is None else 1 + int(ends.allows.any())
        wanted = legal if ends is None else _ending(assembly, circuit.moves, legal, ends)
        choices = None if apart else choose_together(assembly, circuit.moves, legal, wanted, random)
        choices = choices or choose_apart(assembly, circuit.moves, wanted, random, groupings)
        self.may_clash = choices.clash != 0
        clash = int(both(assembly.network, choices.clash, waiting ^ 1))
        self._following = _next_state(assembly, circuit, facts, choices)
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
        others = np.concatenate([np.arange(layout.first_random, layout.first_free), [layout.waiting]])
        row_of_input[1 + layout.facts : 1 + layout.facts + len(others)] = others
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


def _next_state(assembly: Assembly, circuit: Circuit, facts: Literals, choices: "Choices") -> Literals:
    """The literals of the facts after the moves that were chosen."""
    inputs = np.concatenate([facts, choices.done])
    if choices.grouped:
        asked = find_disjunctions(circuit)
        none_done = [
            choices.any_done(assembly.network, moves) ^ 1 for moves in np.split(asked.moves, asked.first[1:-1])
        ]
        circuit, inputs = ask_disjunctions(circuit, asked), np.concatenate([inputs, np.array(none_done, np.int64)])
    return assembly.copy(circuit, inputs, circuit.next, factors=True)


def _fate(assembly: Assembly, waiting: int, able: int, terminal: int, *, late: bool) -> list[int]:
    """Which lanes wait afterwards, which have come to their end, and which are stuck."""
    network = assembly.network
    immobile = both(network, able ^ 1, waiting ^ 1)
    ended = both(network, terminal, waiting ^ 1)
    stuck = both(network, immobile, terminal ^ 1) if late else immobile
    ended = ended if late else both(network, ended, stuck ^ 1)
    over = either(network, waiting, either(network, stuck, ended))
    return [int(over), int(ended), int(stuck)]


def _late_goals(circuit: Circuit, layout: RowLayout) -> tuple[Program, Ids]:
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


def _ending(assembly: Assembly, moves: tuple[int, ...], legal: Literals, ends: EndGates) -> Literals:
    """The moves that end the match at its best, if any; else those that do not end it at its worst, nor allow that."""
    wanted = legal
    for preferred in (ends.worst ^ 1, ends.allows ^ 1, ends.best):
        wanted = _prefer(assembly, moves, wanted, preferred)
    return wanted


class Choices(NamedTuple):
    """Literals of what was chosen."""

    done: Literals  # (M,)
    able: int  # whether every role has a legal move
    clash: int  # whether the choice is not valid
    grouped: tuple[tuple[Literals, GroupedChoice], ...] = ()  # each with (M,) the numbers of moves in it, or -1

    def any_done(self, network: Network, moves: Ids) -> int:
        """The literal of whether one of these is done."""
        found = []
        for number, choice in self.grouped:
            own = number[moves]
            found.append(any_done(network, choice, own[own >= 0]))
            moves = moves[own < 0]
        return int(any_of(network, np.append(self.done[moves], found).astype(np.int64)))


def _prefer(assembly: Assembly, moves: tuple[int, ...], legal: Literals, preferred: Literals) -> Literals:
    """The legal moves that are preferred (M,), in lanes where the role has any; else all legal ones."""
    network, wanted = assembly.network, legal.copy()
    for possible in possible_moves(moves, legal):
        if len(possible) < 2:
            continue
        preferred_legal = [both(network, int(legal[move]), int(preferred[move])) for move in possible]
        any_preferred = int(any_of(network, np.array(preferred_legal, np.int64)))
        for move in possible:
            wanted[move] = both(
                network, int(legal[move]), int(either(network, int(preferred[move]), any_preferred ^ 1))
            )
    return wanted


def choose_apart(
    assembly: Assembly,
    moves: tuple[int, ...],
    legal: Literals,
    random: Literals,
    groupings: Sequence[Sequence[Grouping]],
) -> Choices:
    """A choice for each role, with its own random words; groupings: those of its moves that may be used."""
    network, done, able, used = assembly.network, np.zeros(len(legal), np.int64), 1, 0
    grouped, first = [], 0
    for role, possible in enumerate(possible_moves(moves, legal)):
        words = random[used : used + random_bits(len(possible))]
        own = legal[first : first + moves[role]]
        found = choose_grouped(network, own, possible - first, groupings[role], words) if len(words) else None
        if found is None:
            done[possible], anything = _choose(assembly, legal[possible], words)
        else:
            choice, anything = found
            done[possible] = moves_done(network, choice)
            number = np.full(len(legal), -1)
            number[possible] = np.arange(len(possible))
            grouped.append((number, choice))
        able = int(both(network, able, anything))
        used += len(words)
        first += moves[role]
    return Choices(done, able, 0, tuple(grouped))


def choose_together(
    assembly: Assembly, moves: tuple[int, ...], legal: Literals, wanted: Literals, random: Literals
) -> Choices | None:
    """One choice among the wanted moves for all roles that have one; None where fewer than two would share it.

    wanted: (M,) some of the legal moves of each role that has any.
    """
    network = assembly.network
    roles = possible_moves(moves, legal)
    if sum(len(possible) > 1 for possible in roles) < 2:
        return None
    turns = [find_turn(network, possible, legal) if len(possible) > 1 else None for possible in roles]
    if sum(turn is not None for turn in turns) < 2:
        return None
    done, able, clash, someone = np.zeros(len(legal), np.int64), 1, 0, 0
    pool = np.zeros(max(len(turn.moves) for turn in turns if turn), np.int64)
    for sharing in filter(None, turns):
        for at, move in enumerate(sharing.moves):
            pool[at] = either(network, int(pool[at]), int(wanted[move]))
    shared = random_bits(len(pool))
    chosen, anything = _choose(assembly, pool, random[:shared])
    used = shared
    for possible, turn in zip(roles, turns, strict=True):
        if turn is None:
            bits = random_bits(len(possible))
            done[possible], has_move = _choose(assembly, wanted[possible], random[used : used + bits])
            able = int(both(network, able, has_move))
            used += bits
            continue
        for at, move in enumerate(turn.moves):
            done[move] = both(network, turn.condition, int(chosen[at]))
        done[turn.other] = turn.condition ^ 1
        able = int(both(network, able, either(network, turn.condition ^ 1, anything)))
        clash = int(either(network, clash, both(network, someone, turn.condition)))
        someone = int(either(network, someone, turn.condition))
    return Choices(done, able, clash)


def _choose(assembly: Assembly, legal: Literals, random: Literals) -> tuple[Literals, int]:
    if len(legal) < 2:
        return np.ones(len(legal), np.int64), int(legal[0]) if len(legal) else 0
    chosen, anything = choose_move(assembly.network, legal, random)
    return chosen, int(anything)

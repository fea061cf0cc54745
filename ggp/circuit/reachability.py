"""Facts that no match reaches: candidates from random play, proved by induction with clasp.

Grounding takes any facts together for a state. So a piece may walk off the board though its moves there are not legal,
and a counter goes on after the end. Random matches show which facts are rare, and groups of facts of which no two hold
together (mutual exclusion, as in planning: Helmert, Concise finite-domain representations for PDDL planning tasks,
2009). Suppose that both hold of a state which is no end: clasp finds all that can be violated after legal moves (brave
consequences). That is given up, until nothing is violated (Houdini: Flanagan, Leino, 2001).
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import INPUT, Circuit, Ids
from ggp.gdl.rulesheet import name_and_arity
from ggp.gdl.terms import Term
from ggp.grounding import NEVER, Clingo, GroundRules
from ggp.grounding.clingo import ClaspRun, GroundProgram, ProcessorTime, Template, filled, make_template
from ggp.kernel import Int, draw, inner, kernel

_FEWEST_GATES = 2_000  # smaller circuits are fast as they are
_FEWEST, _LEAST_SHARE = 50, 0.25  # of the facts have not been seen, where a proof is tried
_SEED = 1
_STATE_WORDS = 4_000_000  # of random matches, 64 of them in parallel
_MOST_NODES = 100_000_000  # evaluated for them
_FEWEST_STEPS, _MOST_STEPS = 100, 1_000
_MOST_KEYS = 4  # arguments that number the groups of a function
_HOPELESS = 0.2  # of the unseen facts are reached after one step from a state without them
_PATIENCE = 2  # rounds after which a function of which facts are reached is given up as a whole
_MEMORY_BYTES = 1 << 30
_BRAVE = ("--enum-mode=brave", "--models=0", "--solve-limit=4000")  # conflicts; the same on any computer
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)

States = NDArray[np.uint64]  # (steps, F) bit l: whether the fact holds in match l


def find_unreachable(rules: GroundRules, circuit: Circuit, clingo: Clingo, seconds: float) -> NDArray[np.bool_]:
    """(F,) facts that are false in every state of a match; none where that is not proved in so much processor time.

    Not tried with recursion, in small and huge circuits, and where random matches reach most facts.
    """
    nothing = np.zeros(circuit.facts, np.bool_)
    if circuit.gates < _FEWEST_GATES or len(circuit.loops.results) or random_steps(circuit) < _FEWEST_STEPS:
        return nothing
    states = play_randomly(circuit)
    unseen: NDArray[np.bool_] = ~np.any(states, axis=0)
    if np.count_nonzero(unseen) < max(_FEWEST, _LEAST_SHARE * circuit.facts):
        return nothing
    proof = _Induction(rules, unseen, exclusive_groups(rules.facts, states))
    return unseen if proof.is_completed(clingo, seconds) else nothing


# Random matches.


def random_steps(circuit: Circuit) -> int:
    """How many there is time and memory for."""
    return min(_MOST_STEPS, _STATE_WORDS // max(circuit.facts, 1), _MOST_NODES // (2 * len(circuit.left)))


def play_randomly(circuit: Circuit) -> States:
    """States of random matches on a circuit without loops, from the initial one on; each begins anew at its end."""
    states = np.zeros((random_steps(circuit), circuit.facts), np.uint64)
    first_move = np.cumsum([0, *circuit.moves], dtype=np.int32)
    random = np.array([_SEED], np.uint64)
    _play(
        circuit.left, circuit.right, circuit.next, circuit.legal, circuit.terminal, circuit.initial, first_move, states,
        random,
    )  # fmt: skip
    return states


@kernel
def _play(  # noqa: PLR0913, PLR0917 - kernel: arrays of their own
    left: Ids,
    right: Ids,
    following: Ids,
    legal: Ids,
    terminal: Int,
    initial: NDArray[np.bool_],
    first_move: Ids,
    states: States,
    random: States,
) -> None:
    facts = initial.shape[0]
    values = np.zeros(left.shape[0], np.uint64)
    for fact in range(facts):
        values[1 + fact] = _ALL if initial[fact] else np.uint64(0)
    for step in range(states.shape[0]):
        for fact in range(facts):
            states[step, fact] = values[1 + fact]
        _evaluate(left, right, values)
        over = _value(values, terminal)
        for role in range(first_move.shape[0] - 1):
            over |= _choose(values, legal, facts, first_move[role], first_move[role + 1], random)
        _evaluate(left, right, values)
        after = np.empty(facts, np.uint64)
        for fact in range(facts):
            began = over if initial[fact] else np.uint64(0)
            after[fact] = (_value(values, np.int64(following[fact])) & ~over) | began
        values[1 : 1 + facts] = after


@inner
def _choose(values: States, legal: Ids, facts: Int, first: Int, last: Int, random: States) -> np.uint64:
    """Does a legal move of a role in each match: one of those from a random one on; the matches where there is none."""
    count = last - first
    waiting = _ALL
    for move in range(first, last):
        values[1 + facts + move] = np.uint64(0)
    start = draw(random, count) if count else 0
    for turn in range(2 * count):
        move = first + (start + turn) % count
        some = _value(values, np.int64(legal[move])) & waiting
        if turn < count:
            some &= _random_word(random)
        values[1 + facts + move] |= some
        waiting &= ~some
    return waiting


@inner
def _random_word(random: States) -> np.uint64:
    high, middle, low = draw(random, 1 << 31), draw(random, 1 << 31), draw(random, 4)
    return np.uint64((np.uint64(high) << np.uint64(33)) | (np.uint64(middle) << np.uint64(2)) | np.uint64(low))


@inner
def _evaluate(left: Ids, right: Ids, values: States) -> None:
    """The gates, in 64 matches; inputs are given."""
    for node in range(1, left.shape[0]):
        if left[node] != INPUT:
            a, b = _value(values, left[node]), _value(values, right[node])
            values[node] = a & b if left[node] < right[node] else a ^ b


@inner
def _value(values: States, literal: Int) -> np.uint64:
    return np.uint64(values[literal >> 1] ^ (_ALL if literal & 1 else np.uint64(0)))


# Groups.


def exclusive_groups(facts: Sequence[Term], states: States) -> list[list[int]]:
    """Facts of one function that agree in some arguments, its keys, and of which no two hold in the same state.

    The fewest keys are taken with which all groups are such; with fewer keys some groups may be, too.
    """
    functions: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    for number, fact in enumerate(facts):
        functions[name_and_arity(fact)].append(number)
    seen: NDArray[np.bool_] = np.any(states, axis=0)
    found: list[list[int]] = []
    for (_, arity), members in functions.items():
        within: dict[int, set[int]] = {number: set() for number in members}  # the groups that a fact is in
        for size in range(min(arity, _MOST_KEYS + 1)):
            partitions = [list(_partition(facts, members, keys)) for keys in combinations(range(1, arity + 1), size)]
            fitting = [[group for group in each if _excludes(states, seen, group)] for each in partitions]
            whole = [groups for groups, each in zip(fitting, partitions, strict=True) if len(groups) == len(each)]
            for group in (group for groups in whole or fitting for group in groups):
                if len(group) > 1 and not set.intersection(*(within[number] for number in group)):
                    for number in group:
                        within[number].add(len(found))
                    found.append(group)
            if whole:
                break
    return found


def _partition(facts: Sequence[Term], members: Collection[int], keys: Sequence[int]) -> Iterator[list[int]]:
    parts: defaultdict[tuple[Term, ...], list[int]] = defaultdict(list)
    for number in members:
        parts[tuple(facts[number][key] for key in keys)].append(number)
    yield from parts.values()


def _excludes(states: States, seen: NDArray[np.bool_], group: Sequence[int]) -> bool:
    """Whether no two of the facts hold in the same state."""
    some = np.zeros(len(states), np.uint64)
    for number in group:
        if seen[number]:
            if np.any(some & states[:, number]):
                return False
            some |= states[:, number]
    return True


# The proof.


class _Induction:
    """What is supposed of each state: these facts are false, and no two facts of a group are true."""

    def __init__(self, rules: GroundRules, false: NDArray[np.bool_], groups: Sequence[Sequence[int]]) -> None:
        self._rules = rules
        self._false = false  # changed in place
        self._groups = dict(enumerate(groups))
        outputs = np.concatenate([rules.next, rules.legal, [rules.terminal]])
        self._template: Template = make_template(rules, outputs)

    def is_completed(self, clingo: Clingo, seconds: float) -> bool:
        """Gives up what is not inductive; whether the rest is proved after so much processor time."""
        time, spent, rounds, unseen = ProcessorTime(clingo), 0.0, 0, np.count_nonzero(self._false)
        while (left := seconds - time.spent() - spent) > 0:
            run = ClaspRun(clingo, self._program(), _MEMORY_BYTES, _BRAVE, left)
            try:
                while not run.wait(1.0):
                    pass
            finally:
                run.close()
            spent += run.seconds
            if run.is_refuted or (run.is_complete and not run.answer):
                return True
            if not run.is_complete or run.answer is None:
                return False
            rounds += 1
            self._give_up(list(map(int, run.answer)), as_a_whole=rounds > _PATIENCE)
            if rounds == 1 and np.count_nonzero(self._false) < (1 - _HOPELESS) * unseen:
                return False
        return False

    def _give_up(self, violated: Sequence[int], *, as_a_whole: bool) -> None:
        """What a run names: facts, and groups with numbers from F on; perhaps with all facts of the same functions."""
        facts = self._rules.facts
        reached = [number for number in violated if number < len(facts)]
        for number in violated:
            self._groups.pop(number - len(facts), None)
        self._false[reached] = False
        if as_a_whole:
            functions = {name_and_arity(facts[number]) for number in reached}
            for number in np.flatnonzero(self._false).tolist():
                self._false[number] = name_and_arity(facts[number]) not in functions

    def _program(self) -> bytes:
        """Its answers are steps between states of which all is supposed; they name what is violated after it."""
        rules, program = self._rules, GroundProgram()
        atoms = np.arange(rules.atom_count, dtype=np.int64) + 1
        free = len(atoms) + 1
        true = np.flatnonzero(~self._false)
        program.rows(1, 1, 1, atoms[true], 0, 0)
        program.statements(filled(self._template, atoms))
        first = 0
        for own in rules.moves:
            part = slice(first, first + len(own))
            moves, legal = atoms[len(rules.facts) :][part], atoms[rules.legal[part]]
            program.rows(1, 1, 1, moves, 0, 1, legal)
            program.at_most_one(moves.tolist())
            program.constraint(*(-moves).tolist())
            first += len(own)
        if rules.terminal != NEVER:
            program.constraint(int(atoms[rules.terminal]))
        for number, group in self._groups.items():
            program.at_most_one([int(atoms[fact]) for fact in group if not self._false[fact]])
            following = [int(atoms[rules.next[fact]]) for fact in group if rules.next[fact] != NEVER]
            program.two_of(free, following)
            program.show(str(len(rules.facts) + number), free)
            free += 1
        for fact in np.flatnonzero(self._false).tolist():
            if rules.next[fact] != NEVER:
                program.show(str(fact), int(atoms[rules.next[fact]]))
        return program.text()

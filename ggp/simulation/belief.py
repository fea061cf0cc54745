"""What a role knows → the worlds that agree with it: states with their probabilities, kept from step to step in lanes.

In each step all that can follow from each world is worked out, the role's own move given; what the role would not have
been told just so is dropped, and what is the same is merged. While no more worlds come up than are kept the belief is
exact. Beyond, systematic resampling keeps so many of them, as a particle filter does (Gordon, Salmond and Smith, 1993).
When no world is left the belief goes back to earlier ones, and follows them again with more worlds.

The others are taken to choose uniformly where no policy of theirs is known, else by that in part. A world is a state
together with what each role knows there, as a hash of its moves and percepts, so that a search can tell information
sets of all roles apart.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import Ids
from ggp.gdl.rulesheet import NATURE
from ggp.gdl.terms import Term
from ggp.kernel import LANES, Int, draw, inner, lean
from ggp.simulation.evaluate import PERCEPTS, Batches, Bits, evaluate_rows, unpack
from ggp.simulation.expansion import (
    OVER,
    Expansion,
    count_legal,
    do_steps,
    first_joint_move,
    look,
    make_expansion,
    next_joint_move,
    next_legal,
    part_between,
)
from ggp.simulation.state_machine import CircuitMachine
from ggp.simulation.state_table import EMPTY, StateTable, add_state, find_state, make_state_table

_MOST_JOINT = 1024  # joint moves of a world that are all tried; of more, so many are drawn
_MOST_TRIED = 1 << 21  # steps from all worlds that are tried at once
_REMEMBERED = 16  # earlier beliefs
_MOST_GROWTH = 64  # times as many worlds as usual, when none was left
_UNIFORM_SHARE = 0.25  # share of uniform random moves in the policy of the other roles: no state loses all its weight

Weights = NDArray[np.float64]


class Knowing(NamedTuple):
    """The rules of what roles are told, and room for a batch of one thread."""

    first_percept: Ids  # (R + 1,) where each role's percepts start
    told: Bits  # (512, ·) over the percepts of all roles in a row
    keys: Bits  # (512, R) what each role knows in each row
    nature: NDArray[np.bool_]  # (R,)


class Worlds(NamedTuple):
    """Room for N worlds: states, each with the keys of all roles in the words behind it."""

    table: StateTable
    weights: Weights  # (N,)


class Policies(NamedTuple):
    """Policies of the roles in N information sets with E moves in all. The owner of the arrays locks them."""

    table: StateTable  # numbers the information sets by `set_key`
    first: Ids  # (N,) set n has the moves first[n] … first[n] + move_count[n] - 1
    move_count: Ids  # (N,)
    move: Ids  # (E,) numbered within the role
    visits: Ids  # (E,) of which the share among those of the set is the probability


class _Task(NamedTuple):
    """One step of a role: which worlds follow."""

    looking: Expansion  # at worlds
    expansion: Expansion  # of steps from them
    knowing: Knowing
    wanted: Bits  # (1, ·) what the role was told
    role: NDArray[np.int64]  # (2,) the role, and its move
    joint: Ids  # (R,) the joint move that is listed
    others: Ids  # (R - 1,) all roles but that one
    left: NDArray[np.int64]  # (1,) joint moves that are still to be drawn, -1 where all have their turn
    chance: Weights  # (512,)
    row: Bits  # (1, words + R)
    key: Bits  # (1, 1)
    node: Ids  # (R,) the information set of each role in the world that is looked at, EMPTY where it is not known
    total: Ids  # (R,) the visits of its moves
    random: NDArray[np.uint64]  # (1,)
    tried: NDArray[np.int64]  # (1,) steps so far


@dataclass(frozen=True, slots=True, eq=False)
class _Moment:
    """A belief after some step."""

    worlds: Bits  # (n, words + R)
    weights: Weights  # (n,) which add up to 1
    is_exact: bool


def make_knowing(batches: Batches) -> Knowing:
    roles = batches.game.roles
    words = max(1, (int(batches.first_percept[-1]) + 63) // 64)
    nature = np.array([role == NATURE for role in roles])
    return Knowing(
        batches.first_percept, np.zeros((LANES, words), np.uint64), np.zeros((LANES, len(roles)), np.uint64), nature
    )


def heard_of(machine: CircuitMachine, role: int, move: Term, told: Sequence[Term]) -> tuple[int, Bits]:
    """The number of a role's move, and (1, ·) bits over the percepts of all; -1 for what does not exist."""
    moves, percepts = machine.compiled.moves[role], machine.compiled.percepts[role]
    first, last = int(machine.batches.first_percept[role]), int(machine.batches.first_percept[-1])
    wanted = np.zeros((1, max(1, (last + 63) // 64)), np.uint64)
    if move not in moves or not set(told) <= set(percepts):
        return -1, wanted
    for percept in told:
        at = first + percepts.index(percept)
        wanted[0, at >> 6] |= np.uint64(1 << (at & 63))
    return moves.index(move), wanted


@cache
def _no_policies() -> Policies:
    none = np.zeros(0, np.int32)
    return Policies(make_state_table(1, 1), none, none, none, none)


class Belief:
    """The belief of one role of a game with `sees`, from the start of a match on; used by one thread."""

    def __init__(self, machine: CircuitMachine, role: str, most_worlds: int = 1 << 14, seed: int = 0) -> None:
        self._machine = machine
        self._number = machine.roles.index(role)
        self._most = most_worlds
        self._generator = np.random.default_rng(seed)
        batches = machine.batches
        self._words, roles = batches.initial.shape[1], len(machine.roles)
        told = max(1, (int(batches.first_percept[-1]) + 63) // 64)
        others = np.delete(np.arange(roles, dtype=np.int32), self._number)
        self._task = _Task(
            make_expansion(batches), make_expansion(batches), make_knowing(batches), np.zeros((1, told), np.uint64),
            np.zeros(2, np.int64), np.zeros(roles, np.int32), others, np.zeros(1, np.int64), np.zeros(LANES),
            np.zeros((1, self._words + roles), np.uint64), np.zeros((1, 1), np.uint64), np.zeros(roles, np.int32),
            np.zeros(roles, np.int32),
            np.array([self._generator.integers(1, 2**63)], np.uint64), np.zeros(1, np.int64),
        )  # fmt: skip
        start = np.zeros((1, self._words + roles), np.uint64)
        start[:, : self._words] = batches.initial
        start[:, self._words :] = np.arange(1, roles + 1)
        self._start = start
        self._moments = {0: _Moment(start, np.ones(1), is_exact=True)}
        self._heard: list[tuple[int, Bits]] = []
        self._policies = _no_policies()
        self.rebuilt = 0  # how often no world was left and earlier beliefs were followed again

    @property
    def states(self) -> Bits:
        """(n, words) none of which is terminal; n is 0 when no world was found that agrees with what was told."""
        return np.ascontiguousarray(self._now.worlds[:, : self._words])

    @property
    def keys(self) -> Bits:
        """(n, R) a hash of what each role knows."""
        return np.ascontiguousarray(self._now.worlds[:, self._words :])

    @property
    def weights(self) -> Weights:
        """(n,) the probabilities, which add up to 1."""
        return self._now.weights

    def sample(self, count: int) -> tuple[Bits, Bits, Weights]:
        """States, keys and weights of so many worlds at most: drawn by their probabilities, or all of them."""
        if count >= len(self.weights):
            return self.states, self.keys, self.weights
        worlds, weights = self._resample(self._now.worlds, self.weights, count)
        states, keys = worlds[:, : self._words], worlds[:, self._words :]
        return np.ascontiguousarray(states), np.ascontiguousarray(keys), weights

    @property
    def is_exact(self) -> bool:
        """Whether all possible worlds are there."""
        return self._now.is_exact

    @property
    def effective_size(self) -> float:
        """The number of worlds of the same weight that would tell as much."""
        return float(1.0 / np.square(self.weights).sum()) if len(self.weights) else 0.0

    @property
    def tried(self) -> int:
        """How many steps from worlds were tried so far."""
        return int(self._task.tried[0])

    def advance(
        self,
        move: Term,
        told: Sequence[Term],
        stop: Callable[[], bool] = lambda: False,
        policies: Policies | None = None,
    ) -> bool:
        """One step: the role's move, and what it was told. Whether a world is left that agrees with all that was.

        Moves of the others are as likely as `policies` say, a quarter of them uniformly.
        """
        self._policies = policies or _no_policies()
        self._heard.append(heard_of(self._machine, self._number, move, told))
        step = len(self._heard)
        self._moments[step] = _Moment(self._moments[0].worlds[:0], np.zeros(0), is_exact=False)  # until one is found
        found = self._follow(step - 1, self._most)
        growth = 4
        while found is None and growth <= _MOST_GROWTH and not stop():
            self.rebuilt += 1
            found = self._rebuild(step, growth, stop)
            growth *= 4
        if found is not None:
            self._moments[step] = found
        for old in [at for at in self._moments if 0 < at <= step - _REMEMBERED]:
            del self._moments[old]
        return found is not None

    def take_up(self, histories: Ids) -> bool:
        """The worlds that these joint moves since the start lead to, in place of those that are left.

        histories: (n, T, R) numbers of each role's moves in all T steps so far; n is at most 512, others are left out.
        Whether one of them agrees with what the role did and was told; if none does, nothing has changed.
        """
        expansion, told = self._task.expansion, self._task.knowing.told
        joint = histories[:LANES]
        start = self._start
        rows, keys = len(joint), np.repeat(start[:, self._words :], len(joint), axis=0)
        states, agrees = np.repeat(start[:, : self._words], rows, axis=0), np.ones(rows, np.bool_)
        first, last = self._machine.batches.first_percept[self._number : self._number + 2]
        for step, (move, wanted) in enumerate(self._heard):
            expansion.before[:rows], expansion.joint[:rows] = states, joint[:, step]
            follow_moves(self._task, keys, rows)
            heard = unpack(told[:rows], int(last))[:, first:] == unpack(wanted, int(last))[:, first:]
            is_open = expansion.chooser[:rows] != OVER
            agrees &= heard.all(axis=1) & is_open & (joint[:, step, self._number] == move)
            states = expansion.after[:rows].copy()
        if not agrees.any():
            return False
        worlds = np.unique(np.hstack([states, keys])[agrees], axis=0)
        self._moments[len(self._heard)] = _Moment(worlds, np.full(len(worlds), 1 / len(worlds)), is_exact=False)
        return True

    @property
    def _now(self) -> _Moment:
        return self._moments[len(self._heard)]

    def _rebuild(self, step: int, growth: int, stop: Callable[[], bool]) -> _Moment | None:
        """From earlier beliefs, the latest first, with so many times as many worlds."""
        for back in sorted((at for at in self._moments if at < step - 1), reverse=True):
            for at in range(back, step):
                found = self._follow(at, growth * self._most)
                if found is None or stop():
                    break
                if at == step - 1:
                    return found
                self._moments[at + 1] = found
            if stop() or self._moments[back].is_exact:
                return None
        return None

    def _follow(self, step: int, most: int) -> _Moment | None:
        """What can follow a belief, by what was heard next; None where that is nothing."""
        before = self._moments.get(step)
        move, wanted = self._heard[step]
        if before is None or len(before.weights) == 0 or move < 0:
            return None
        worlds, weights, is_exact = before.worlds, before.weights, before.is_exact
        task = self._task
        task.role[:] = self._number, move
        task.wanted[:] = wanted
        capacity = 4 * LANES
        while True:
            found = Worlds(make_state_table(worlds.shape[1], capacity), np.zeros(capacity))
            tried = follow_worlds(task, self._policies, worlds, weights, found, _MOST_TRIED)
            if tried >= 0:
                break
            capacity = min(8 * capacity, 2 * _MOST_TRIED)  # which is enough
        if tried > 0:  # too many steps for one belief: fewer worlds
            is_exact = False
            worlds, weights = self._resample(worlds, weights, max(1, int(tried) // 2))
            found = Worlds(make_state_table(worlds.shape[1], 2 * _MOST_TRIED), np.zeros(2 * _MOST_TRIED))
            follow_worlds(task, self._policies, worlds, weights, found, 1 << 40)
        size = int(found.table.size[0])
        if size == 0:
            return None
        after, shares = found.table.states[:size].copy(), found.weights[:size] / found.weights[:size].sum()
        if size > most:
            is_exact = False
            after, shares = self._resample(after, shares, most)
        return _Moment(after, shares, is_exact)

    def _resample(self, worlds: Bits, weights: Weights, count: int) -> tuple[Bits, Weights]:
        """So many draws, evenly spread over the weights; what is drawn several times counts so often."""
        places = (self._generator.random() + np.arange(count)) / count
        drawn = np.minimum(np.searchsorted(np.cumsum(weights), places), len(weights) - 1)
        kept, times = np.unique(drawn, return_counts=True)
        return worlds[kept], times / count


@lean
def follow_worlds(task: _Task, policies: Policies, worlds: Bits, weights: Weights, found: Worlds, most: Int) -> Int:
    """Find what can follow. Returns 0; -1 where there is no room for it; or of how many worlds all steps were tried,
    when these were more than `most`.
    """
    looking = task.looking
    begun, words = task.tried[0], looking.after.shape[1]
    rows: Int = np.int64(0)
    for start in range(0, len(worlds), LANES):
        count = min(LANES, len(worlds) - start)
        if task.tried[0] - begun > most:
            return np.int64(start)
        for row in range(count):
            for word in range(words):
                looking.after[row, word] = worlds[start + row, word]
        look(looking, looking.after, count)
        for row in range(count):
            if not _begin_world(task, np.int64(row)):
                continue
            _find_policies(task, policies, worlds, np.int64(start + row))
            chance = weights[start + row] / _joint_moves(task, np.int64(row))
            is_more = True
            while is_more:
                likelihood = _likelihood(task, policies, np.int64(row))
                _list_step(task, worlds, np.int64(start + row), rows, chance * likelihood)
                rows += 1
                if rows == LANES:
                    if not _try_steps(task, worlds, found, rows):
                        return np.int64(-1)
                    rows = np.int64(0)
                is_more = _next_joint_move(task, np.int64(row))
    return np.int64(0 if _try_steps(task, worlds, found, rows) else -1)


@inner
def _begin_world(task: _Task, row: Int) -> bool:
    """Take the first joint move of a world that was looked at; whether the role can move so there."""
    looking, own, move = task.looking, task.role[0], task.role[1]
    at = looking.rows.first_move[own] + move
    is_legal = (looking.legal[row, at >> 6] >> np.uint64(at & 63)) & np.uint64(1) != 0
    if looking.chooser[row] == OVER or not is_legal:
        return False
    task.left[0] = _MOST_JOINT if _joint_moves(task, row) >= _MOST_JOINT else -1
    first_joint_move(looking, row, task.joint)
    task.joint[own] = move
    return task.left[0] < 0 or _draw_joint_move(task, row)


@inner
def _find_policies(task: _Task, policies: Policies, worlds: Bits, world: Int) -> None:
    """Look up the information sets of the other roles in a world."""
    words = task.expansion.after.shape[1]
    for role in range(len(task.node)):
        task.node[role] = EMPTY
        if len(policies.move) == 0 or role == task.role[0] or task.knowing.nature[role]:
            continue
        task.key[0, 0] = set_key(worlds[world, words + role], np.int64(role))
        task.node[role] = find_state(policies.table, task.key, np.int64(0))
        task.total[role] = 0
        if task.node[role] != EMPTY:
            first = policies.first[task.node[role]]
            for edge in range(first, first + policies.move_count[task.node[role]]):
                task.total[role] += policies.visits[edge]


@inner
def _likelihood(task: _Task, policies: Policies, row: Int) -> float:
    """How much more likely than by uniform choices the joint move is that is listed in a world that was looked at."""
    found = 1.0
    for role in range(len(task.node)):
        node = np.int64(task.node[role])
        if node == EMPTY or task.total[role] == 0:
            continue
        visits = 0
        for edge in range(policies.first[node], policies.first[node] + policies.move_count[node]):
            if policies.move[edge] == task.joint[role]:
                visits = policies.visits[edge]
        share = visits / task.total[role] * count_legal(task.looking, row, np.int64(role))
        found *= (1 - _UNIFORM_SHARE) * share + _UNIFORM_SHARE
    return found


@inner
def set_key(key: np.uint64, role: Int) -> np.uint64:
    """Of an information set, from what the role knows: different for each role."""
    return np.uint64((key ^ np.uint64(role + 1)) * np.uint64(0x9E3779B97F4A7C15))


@inner
def _joint_moves(task: _Task, row: Int) -> Int:
    """How many are tried in a world."""
    count = np.int64(1)
    for role in range(len(task.joint)):
        if role != task.role[0]:
            count = min(count * count_legal(task.looking, row, np.int64(role)), np.int64(_MOST_JOINT))
    return count


@inner
def _draw_joint_move(task: _Task, row: Int) -> bool:
    """One at random; False when there were enough."""
    if task.left[0] == 0:
        return False
    task.left[0] -= 1
    for role in range(len(task.joint)):
        if role != task.role[0]:
            move = next_legal(task.looking, row, np.int64(role), np.int64(0))
            for _ in range(draw(task.random, count_legal(task.looking, row, np.int64(role)))):
                move = next_legal(task.looking, row, np.int64(role), move + 1)
            task.joint[role] = move
    return True


@inner
def _next_joint_move(task: _Task, row: Int) -> bool:
    """As an odometer of the other roles, or at random where there are many; whether there is one."""
    if task.left[0] >= 0:
        return _draw_joint_move(task, row)
    return next_joint_move(task.looking, row, task.joint, task.others)


@inner
def _list_step(task: _Task, worlds: Bits, world: Int, row: Int, chance: float) -> None:
    expansion = task.expansion
    for word in range(expansion.before.shape[1]):
        expansion.before[row, word] = worlds[world, word]
    for role in range(len(task.joint)):
        expansion.joint[row, role] = task.joint[role]
    expansion.owner[row] = world
    task.chance[row] = chance


@lean
def _try_steps(task: _Task, worlds: Bits, found: Worlds, rows: Int) -> bool:
    """Do the listed steps; keep those after which the role is told so, but for ends. False where there is no room."""
    expansion, words = task.expansion, task.expansion.before.shape[1]
    task.tried[0] += rows
    tell(expansion, task.knowing, rows)
    kept = np.int64(0)
    for row in range(rows):
        if not _is_wanted(task, np.int64(row)):
            continue
        world = np.int64(expansion.owner[row])
        for role in range(len(task.joint)):
            task.knowing.keys[kept, role] = key_after(
                expansion, task.knowing, worlds[world, words + role], np.int64(row), np.int64(role)
            )
            expansion.joint[kept, role] = expansion.joint[row, role]
        for word in range(words):
            expansion.before[kept, word] = expansion.before[row, word]
        task.chance[kept] = task.chance[row]
        kept += 1
    do_steps(expansion, expansion.joint, kept)
    look(expansion, expansion.after, kept)
    for row in range(kept):
        if expansion.chooser[row] != OVER and not _add_world(task, found, np.int64(row)):
            return False
    return True


@lean
def follow_moves(task: _Task, keys: Bits, rows: Int) -> None:
    """`before` and `joint` of the first rows → `after`, looked at, and what all roles know then; keys: (rows, R)."""
    expansion = task.expansion
    tell(expansion, task.knowing, rows)
    for row in range(rows):
        for role in range(keys.shape[1]):
            keys[row, role] = key_after(expansion, task.knowing, keys[row, role], np.int64(row), np.int64(role))
    do_steps(expansion, expansion.joint, rows)
    look(expansion, expansion.after, rows)


@inner
def _is_wanted(task: _Task, row: Int) -> bool:
    knowing, role = task.knowing, task.role[0]
    first, last = np.int64(knowing.first_percept[role]), np.int64(knowing.first_percept[role + 1])
    same = True
    for word in range(first >> 6, (last + 63) >> 6):
        same = same and part_between(knowing.told[row, word], np.int64(word), first, last) == task.wanted[0, word]
    return same


@inner
def _add_world(task: _Task, found: Worlds, row: Int) -> bool:
    words, table = task.expansion.after.shape[1], found.table
    for word in range(words):
        task.row[0, word] = task.expansion.after[row, word]
    for role in range(len(task.joint)):
        task.row[0, words + role] = task.knowing.keys[row, role]
    size = table.size[0]
    number = add_state(table, task.row, np.int64(0))
    if number < 0:
        return False
    found.weights[number] = task.chance[row] + (found.weights[number] if number < size else 0.0)
    return True


@lean
def tell(expansion: Expansion, knowing: Knowing, rows: Int) -> None:
    """`before` and `joint` → what roles are told in the first rows: `knowing.told`."""
    joint = expansion.joint
    evaluate_rows(expansion.rows, expansion.words, np.int64(PERCEPTS), expansion.before, joint, knowing.told, rows)


@inner
def key_after(expansion: Expansion, knowing: Knowing, key: np.uint64, row: Int, role: Int) -> np.uint64:
    """What a role knows after the step in a row, from what it knew before, as a hash; 0 for nature."""
    if knowing.nature[role]:
        return np.uint64(0)
    mixed = _mix(key, np.uint64(expansion.joint[row, role]))
    first, last = np.int64(knowing.first_percept[role]), np.int64(knowing.first_percept[role + 1])
    for word in range(first >> 6, (last + 63) >> 6):
        mixed = _mix(mixed, part_between(knowing.told[row, word], np.int64(word), first, last))
    return np.uint64(mixed)


@inner
def _mix(key: np.uint64, value: np.uint64) -> np.uint64:
    mixed = (key ^ value) * np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0x94D049BB133111EB)
    return np.uint64(mixed ^ (mixed >> np.uint64(32)))

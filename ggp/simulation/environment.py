"""Circuit → one program: a state and the numbers of the moves → the next state, with all that an environment tells.

Each role's move comes as a number, whose bits are inputs; gates decode them. What is kept of an environment from one
step to the next, and told of it, is its *region* (`Region`): its facts, legal moves, percepts, whether it has ended,
whose turn it is, and goals.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.assembly import Assembly
from ggp.circuit.choice import choose_move, find_turn, possible_moves, random_bits
from ggp.circuit.compile import CompiledGame
from ggp.circuit.network import Circuit, Ids, Literals, Network, any_of, both, either
from ggp.circuit.schedule import Program, make_program
from ggp.errors import SettingsError
from ggp.gdl.rulesheet import NATURE
from ggp.kernel import aligned_words
from ggp.simulation.evaluate import join_programs, run_program

_BLOCK = 64  # rows that are transposed at a time
_FULL = np.uint64(0xFFFFFFFFFFFFFFFF)


class Region(NamedTuple):
    """Where each row of a region is, counted from its first one."""

    facts: int  # F rows from 0 on
    legal: int  # (M,) of all roles in a row, none where the lane has ended
    percepts: int
    ended: int  # terminal, or a role has no legal move; with the lanes that are cut off
    terminal: int
    turn: int  # (R,) whether the role has a choice
    mover: int  # (given roles,) whether it is the only one of them; the first if none; nowhere in games with percepts
    goals: int
    size: int


class Slot(NamedTuple):
    """Where the bits of a role's number are among the rows of moves: 0 for ONLY, else the move's number + 1."""

    block: int  # which 64 rows
    shift: int  # of the number's lowest bit
    bits: int  # of the number


@dataclass(frozen=True, slots=True, eq=False)
class EnvironmentProgram:
    """All that an environment of a game runs; the rows of its words are given by the fields that begin with `first`."""

    step: Program
    region: Region
    initial: NDArray[np.bool_]  # (region.size,) the region of a lane that begins
    given: tuple[int, ...]  # the roles whose moves come from outside; the others' are drawn
    slots: tuple[Slot, ...]  # of these
    first_move: Ids  # (roles + 1,) where the moves of each role begin
    first_goal: Ids  # (roles + 1,)
    first_bits: int  # (64 * blocks,) the numbers of the moves, transposed
    wild: int  # lanes where a number is beyond the bits
    bad: int  # lanes where a role cannot do what its number says; written by the step
    reset: int  # lanes that begin anew
    first_random: int  # (random,)
    random: int
    first_block: int  # 64 rows for what is being transposed
    rows: int

    @property
    def gates(self) -> int:
        return len(self.step.left)


def make_environment_program(compiled: CompiledGame, *, explicit_chance: bool = False) -> EnvironmentProgram:
    """explicit_chance: the moves of the role `random` are given too, not drawn.

    SettingsError where no role is left whose moves are given.
    """
    circuit = compiled.circuit
    given = tuple(at for at, role in enumerate(compiled.roles) if explicit_chance or role != NATURE)
    if not given:
        raise SettingsError(f'the only role is {NATURE}, whose moves are drawn: give them with chance="explicit"')
    slots = _make_slots([circuit.moves[role] for role in given])
    region = _make_region(compiled, len(given))
    network = _Network(compiled, given, slots)
    blocks = 1 + max((slot.block for slot in slots), default=0)
    random = len(network.random)
    first_bits = 1 + 2 * region.size
    wild = first_bits + _BLOCK * blocks
    first_random = wild + 3
    first_free = first_random + random
    row_of_input = np.full(network.assembly.size, -1, np.int32)
    bits = [first_bits + _BLOCK * slot.block + slot.shift + bit for slot in slots for bit in range(slot.bits)]
    kept = np.r_[0 : region.percepts, region.turn : region.mover]
    rows = np.concatenate([1 + kept, bits, [wild], np.arange(first_random, first_free)])
    row_of_input[1 : 1 + len(rows)] = rows
    after = 1 + region.size + np.arange(region.size)

    def program(outputs: Literals, targets: NDArray[np.int64]) -> Program:
        built = network.assembly
        return make_program(
            built.left, built.right, built.loops, outputs.astype(np.int32), row_of_input, targets.astype(np.int32),
            first_free,
        )  # fmt: skip

    step = program(np.append(network.after, network.bad), np.append(after, wild + 1))
    first = program(network.before, after)
    return EnvironmentProgram(
        step, region, _first_region(first, circuit, region), given, slots,
        np.concatenate([[0], np.cumsum(circuit.moves)]).astype(np.int32),
        np.concatenate([[0], np.cumsum(list(map(len, compiled.goals)))]).astype(np.int32),
        first_bits, wild, wild + 1, wild + 2, first_random, random, step.rows, step.rows + _BLOCK,
    )  # fmt: skip


def _make_region(compiled: CompiledGame, given: int) -> Region:
    circuit, roles = compiled.circuit, len(compiled.roles)
    sizes = (circuit.facts, sum(circuit.moves), len(circuit.percepts), 1, 1, roles, given, len(circuit.goals))
    first = np.concatenate([[0], np.cumsum(sizes)]).tolist()
    return Region._make([circuit.facts, *first[1:]])


def _make_slots(moves: list[int]) -> tuple[Slot, ...]:
    """Numbers of several roles share the 64 bits of a lane, as many as fit."""
    slots, block, used = [], 0, 0
    for count in moves:
        bits = int(count).bit_length()
        if used + bits > _BLOCK:
            block, used = block + 1, 0
        slots.append(Slot(block, used, bits))
        used += bits
    return tuple(slots)


class _Network:
    """The gates of a step, and of a look at a state."""

    def __init__(self, compiled: CompiledGame, given: tuple[int, ...], slots: tuple[Slot, ...]) -> None:
        circuit = compiled.circuit
        self._circuit, self._compiled, self._given = circuit, compiled, given
        drawn = [count for role, count in enumerate(circuit.moves) if role not in given]
        capacity = 8 * len(circuit.left) + 40 * sum(circuit.moves) + 600 * sum(drawn) + 100_000
        self.assembly = assembly = Assembly(capacity)
        facts = assembly.facts(compiled.constants)
        legal = np.where(circuit.legal > 0, assembly.inputs(sum(circuit.moves)), 0)
        turn = assembly.inputs(len(circuit.moves))
        bits = [assembly.inputs(slot.bits) for slot in slots]
        self._wild = int(assembly.inputs(1)[0])
        self.random = assembly.inputs(sum(map(random_bits, drawn)))
        done, self.bad = self._done(legal, turn, dict(zip(given, bits, strict=True)))
        inputs = np.concatenate([facts, done])
        following = assembly.copy(circuit, inputs, circuit.next)
        percepts = assembly.copy(circuit, inputs, circuit.percepts)
        self.before = self._look(facts, np.zeros(len(circuit.percepts), np.int64))
        self.after = self._look(following, percepts)

    def _done(self, legal: Literals, turn: Literals, bits: dict[int, Literals]) -> tuple[Literals, int]:
        """Which moves are done, and whether any role's number says none that it can do."""
        network, done, able, used, first = self.assembly.network, [], 1, 0, 0
        for role, count in enumerate(self._circuit.moves):
            own = legal[first : first + count]
            first += count
            if role in bits:
                only, *picked = _decode(network, bits[role], count + 1)
                wanted = [int(either(network, number, only)) for number in picked]
                chosen = np.array(
                    [both(network, int(may), want) for may, want in zip(own, wanted, strict=True)], np.int64
                )
                some = int(any_of(network, chosen))
                clear = int(both(network, only, int(turn[role]))) ^ 1
                able = int(both(network, able, int(both(network, some, clear))))
            else:
                needed = random_bits(count)
                chosen = _draw(network, own, self.random[used : used + needed])
                used += needed
            done.append(chosen)
        return np.concatenate(done), int(either(network, able ^ 1, self._wild))

    def _look(self, facts: Literals, percepts: Literals) -> Literals:
        """The rows of a region, in order."""
        circuit, network = self._circuit, self.assembly.network
        inputs = np.concatenate([facts, np.zeros(sum(circuit.moves), np.int64)])
        outputs = np.concatenate([circuit.legal, [circuit.terminal], circuit.goals]).astype(np.int32)
        found = self.assembly.copy(circuit, inputs, outputs)
        legal, terminal = found[: len(circuit.legal)], int(found[len(circuit.legal)])
        goals = found[len(circuit.legal) + 1 :]
        able, first = 1, 0
        for count in circuit.moves:
            able = int(both(network, able, any_of(network, legal[first : first + count])))
            first += count
        ended = int(either(network, terminal, able ^ 1))
        turns = self._turns(legal, ended)
        allowed = [both(network, int(may), ended ^ 1) for may in legal]
        rows = (facts, allowed, percepts, [ended, terminal], turns, self._movers(turns, ended), goals)
        return np.concatenate([np.asarray(part, np.int64) for part in rows])

    def _turns(self, legal: Literals, ended: int) -> list[int]:
        """Whether each role has a choice: its moves but one need a condition, or it has several legal ones."""
        network, found = self.assembly.network, []
        for possible in possible_moves(self._circuit.moves, legal):
            turn = find_turn(network, possible, legal) if len(possible) > 1 else None
            if turn is not None:
                choice = turn.condition
            else:
                one, choice = 0, 0
                for move in possible:
                    choice = int(either(network, choice, int(both(network, one, int(legal[move])))))
                    one = int(either(network, one, int(legal[move])))
            found.append(int(both(network, choice, ended ^ 1)))
        return found

    def _movers(self, turns: list[int], ended: int) -> list[int]:
        if self._compiled.has_percepts:  # who has a choice may be a secret
            return [0] * len(self._given)
        network, found = self.assembly.network, []
        choosing = [turns[role] for role in self._given]
        for at, turn in enumerate(choosing):
            others = any_of(network, np.array(choosing[:at] + choosing[at + 1 :], np.int64))
            alone = both(network, turn if at else ended ^ 1, others ^ 1)  # the first also where none has a choice
            found.append(int(alone))
        return found


def _decode(network: Network, bits: Literals, count: int) -> list[int]:
    """For each number below `count` whether the bits, lowest first, say it."""
    if len(bits) == 0:
        return [1][:count]
    if len(bits) == 1:
        return [int(bits[0]) ^ 1, int(bits[0])][:count]
    half = len(bits) // 2
    low = _decode(network, bits[:half], 1 << half)
    high = _decode(network, bits[half:], (count + (1 << half) - 1) >> half)
    return [int(both(network, high[number >> half], low[number & ((1 << half) - 1)])) for number in range(count)]


def _draw(network: Network, legal: Literals, random: Literals) -> Literals:
    """A random legal move."""
    done = np.zeros(len(legal), np.int64)
    possible = np.flatnonzero(legal)
    if len(possible) < 2:
        done[possible] = legal[possible]
    else:
        done[possible] = choose_move(network, legal[possible], random)[0]
    return done


def _first_region(program: Program, circuit: Circuit, region: Region) -> NDArray[np.bool_]:
    words = aligned_words(program.rows)
    words[1 : 1 + circuit.facts] = np.where(circuit.initial, _FULL, np.uint64(0))[:, np.newaxis]
    run_program(words, join_programs((program,)), 0)
    found: NDArray[np.bool_] = words[1 + region.size : 1 + 2 * region.size, 0] & np.uint64(1) != 0
    return found

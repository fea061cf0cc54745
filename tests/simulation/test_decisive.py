"""Decisive moves: the gates say of each move what the interpreter says of the state after it, and lanes do them."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from itertools import product
from threading import enumerate as threads

import numpy as np
import pytest
from numpy.typing import NDArray

from ggp.circuit.assembly import Assembly
from ggp.circuit.compile import CompiledGame
from ggp.circuit.decisive import Before, EndGates, aims_of, find_endings, find_ends, look
from ggp.gdl.rulesheet import NATURE, parse_rulesheet
from ggp.gdl.state_machine import Facts
from ggp.gdl.terms import Term
from ggp.interpreter import Interpreter
from ggp.kernel import LANES, vector_bits
from ggp.library import find_rulesheet
from ggp.search.mcts.search import BatchedMcts, SearchSettings
from ggp.simulation import steps as step_module
from ggp.simulation.assembler import NARROW
from ggp.simulation.evaluate import unpack
from ggp.simulation.expansion import evaluate_ends, make_ends, make_expansion
from ggp.simulation.playout import PLAYOUTS, Simulator, make_lanes
from ggp.simulation.steps import Steps, make_steps
from tests.circuit.agreement import Pair, make_pair, some_samples
from tests.search.graphs import Shape, random_graph
from tests.search.test_leaves import ENDS, SHAPES, Bench, check_means, lasting
from tests.search.truth import Position, World, explore
from tests.simulation.games import CLASHES, TURNS
from tests.simulation.lanes import Truth, follow

pytestmark = pytest.mark.kernels

NOT_AFFORDABLE = ("dotsandboxes", "reversi")
GRAPHS = (*SHAPES, Shape(values=(0, 50, 100), odd=True), Shape(roles=3, values=(0, 40, 100)))


class Naive:
    """What moves come to, by the interpreter."""

    def __init__(self, machine: Interpreter, compiled: CompiledGame, depth: int, *, opposed: bool = False) -> None:
        self.machine, self.compiled, self.depth, self.opposed = machine, compiled, depth, opposed
        self.aims = aims_of(compiled.goals, [role == NATURE for role in compiled.roles])
        self.phases = [_start(compiled, phase)[1] for phase in range(len(compiled.phases))]
        self._ends: dict[Facts, list[list[bool]]] = {}

    def phase_of(self, state: Facts) -> int:
        flags = np.array([fact in state for fact in self.compiled.facts], np.bool_)
        return [bool((flags == known)[known >= 0].all()) for known in self.compiled.phases].index(True)

    def forced(self, state: Facts, own: str) -> dict[str, Term] | None:
        """What the others do; None where one of them has a choice, or the role never has any."""
        moves = {role: self.machine.legal_moves(state, role) for role in self.machine.roles if role != own}
        first = np.cumsum([0, *map(len, self.compiled.moves)])
        role = self.compiled.roles.index(own)
        possible = self.phases[self.phase_of(state)].legal[first[role] : first[role + 1]]
        if np.count_nonzero(possible) < 2 or any(len(legal) != 1 for legal in moves.values()):
            return None
        return {role: legal[0] for role, legal in moves.items()}

    def ending(self, state: Facts, own: str, aims: tuple[int, ...]) -> bool:
        """Whether the match is over with the goal value that a role wants most or least."""
        role = self.compiled.roles.index(own)
        values = [(other, value) for other, goals in enumerate(self.compiled.goals) for value in goals]
        wanted = values[aims[role]][1] if aims[role] >= 0 else None
        return self.machine.is_terminal(state) and wanted in self.machine.goal_values(state, own)

    def harms(self, state: Facts, role: str) -> bool:
        """Whether another role can end the match at once at its best, and at this one's worst."""
        for own in self.machine.roles:
            forced = self.forced(state, own)
            if own == role or forced is None or self.machine.is_terminal(state):
                continue
            for move in self.machine.legal_moves(state, own):
                after = self.after(state, forced | {own: move})
                if self.ending(after, own, self.aims.best) and self.ending(after, role, self.aims.worst):
                    return True
        return False

    def after(self, state: Facts, moves: dict[str, Term]) -> Facts:
        return self.machine.next_state(state, tuple(moves[role] for role in self.machine.roles))

    def ends(self, state: Facts) -> list[list[bool]]:
        """As `EndGates`, for each move of each role."""
        if state not in self._ends:
            self._ends[state] = [list(each) for each in zip(*self._moves(state), strict=True)]
        return self._ends[state]

    def _moves(self, state: Facts) -> Iterator[tuple[bool, bool, bool]]:
        for role, own in enumerate(self.machine.roles):
            forced = self.forced(state, own)
            for move in self.compiled.moves[role]:
                if forced is None or move not in self.machine.legal_moves(state, own) or self.aims.best[role] < 0:
                    yield False, False, False
                    continue
                after = self.after(state, forced | {own: move})
                best, worst = (self.ending(after, own, wanted) for wanted in self.aims)
                if self.opposed and min(*self.aims.best, *self.aims.worst) >= 0:
                    best &= self.ending(after, self.machine.roles[1 - role], self.aims.worst)
                    worst &= self.ending(after, self.machine.roles[1 - role], self.aims.best)
                yield best, worst, self.depth > 1 and not self.machine.is_terminal(after) and self.harms(after, own)

    def wanted(self, state: Facts) -> list[set[Term]]:
        """What each role may do in a playout."""
        best, worst, allows = self.ends(state)
        found, first = [], 0
        for role, moves in zip(self.compiled.roles, self.compiled.moves, strict=True):
            wanted = set(self.machine.legal_moves(state, role))
            for kept in ([not bad for bad in worst], [not bad for bad in allows], best):
                wanted = {move for at, move in enumerate(moves, first) if move in wanted and kept[at]} or wanted
            found.append(wanted)
            first += len(moves)
        return found


def _start(compiled: CompiledGame, phase: int) -> tuple[Assembly, Before]:
    """A network that knows what is legal."""
    assembly = Assembly(60 * len(compiled.circuit.left) + 10_000)
    inputs = assembly.inputs(compiled.circuit.facts)
    known = compiled.phases[phase]
    return assembly, look(assembly, compiled.circuit, np.where(known < 0, inputs, known))


def evaluated(assembly: Assembly, flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(nodes, states) what each node is; flags: (states, facts)."""
    found = np.zeros((assembly.size, len(flags)), np.bool_)
    for node, (left, right) in enumerate(zip(assembly.left.tolist(), assembly.right.tolist(), strict=True)):
        if left < 0:
            found[node] = flags[:, right] if node else False
        else:
            one, other = (found[side >> 1] ^ bool(side & 1) for side in (left, right))
            found[node] = one & other if left < right else one ^ other
    return found


def check_gates(pair: Pair, states: list[Facts], depth: int, *, opposed: bool = False) -> list[int]:
    """How many moves had each kind of end."""
    compiled = pair.compiled
    naive = Naive(pair.interpreter, compiled, depth, opposed=opposed)
    total = [0, 0, 0]
    for phase in range(len(compiled.phases)):
        fitting = [state for state in states if naive.phase_of(state) == phase]
        if not fitting:
            continue
        assembly, before = _start(compiled, phase)
        endings = find_endings(compiled.circuit, compiled.phases, phase, naive.aims, depth, opposed=opposed)
        ends = find_ends(assembly, endings, before) or EndGates(*np.zeros((3, sum(compiled.circuit.moves)), np.int64))
        values = evaluated(assembly, np.array([[fact in state for fact in compiled.facts] for state in fitting]))
        for column, state in enumerate(fitting):
            for kind, truth in enumerate(naive.ends(state)):
                gates = [bool(values[lit >> 1, column]) != bool(lit & 1) for lit in ends[kind].tolist()]
                assert gates == truth, (EndGates._fields[kind], state)
                total[kind] += sum(gates)
    return total


def going_on(pair: Pair, seed: int, count: int) -> list[Facts]:
    """States of random matches that are not over."""
    machine = pair.interpreter
    return [
        sample.state
        for sample in some_samples(machine, seed, count)
        if sample.joint_move is not None and not machine.is_terminal(sample.state)
    ]


@pytest.mark.parametrize(("name", "depth", "every"), [
    ("tictactoe", 2, 8), ("connectfour", 2, 8), ("breakthrough", 1, 8), ("breakthrough", 2, 50), ("fiveinarow", 1, 8),
    ("fiveinarow", 2, 80), ("noughtsandcrosses", 2, 8), ("biddingtictactoe", 1, 2),
])  # fmt: skip
def test_gates_agree_with_the_interpreter(name: str, depth: int, every: int) -> None:
    pair = make_pair(parse_rulesheet(find_rulesheet(name).read_text(encoding="utf-8")))
    best, _, allows = check_gates(pair, going_on(pair, 7, 320)[7::every], depth)
    assert best > 0 or depth == 2
    assert depth > 1 or allows == 0


@pytest.mark.parametrize("shape", GRAPHS, ids=range(len(GRAPHS)))
def test_gates_agree_in_random_games(shape: Shape) -> None:
    found = np.zeros(3, np.int64)
    for seed in range(12):
        pair = make_pair(parse_rulesheet(random_graph(shape, seed)))
        found += check_gates(pair, going_on(pair, seed, 60), 2)
    assert found[:2].all()
    assert shape.roles == 1 or found[2] > 0


def test_ends_at_which_both_win_or_lose_are_left_out_where_roles_are_opposed() -> None:
    shape = Shape(opposed=False, values=(0, 100), beats=2)
    found = np.zeros((2, 3), np.int64)
    for seed in range(12):
        pair = make_pair(parse_rulesheet(random_graph(shape, seed)))
        states = going_on(pair, seed, 60)
        found += [check_gates(pair, states, 2, opposed=opposed) for opposed in (False, True)]
    assert (found[0, :2] > found[1, :2]).all()
    assert found[1].all()


@pytest.mark.parametrize(("name", "depth", "every"), [
    ("tictactoe", 2, 8), ("connectfour", 2, 8), ("noughtsandcrosses", 2, 8), ("biddingtictactoe", 1, 8),
    ("breakthrough", 2, 20), ("reversi", 0, 40),
])  # fmt: skip
def test_ends_of_many_states_at_once(name: str, depth: int, every: int) -> None:
    pair = make_pair(parse_rulesheet(find_rulesheet(name).read_text(encoding="utf-8")))
    opposed = len(pair.compiled.roles) == 2
    machine, naive = pair.circuit, Naive(pair.interpreter, pair.compiled, depth, opposed=opposed)
    states = going_on(pair, 3, 400)[7::every]
    expansion = make_expansion(machine.batches)
    ends = make_ends(*machine.ends(opposed=opposed), expansion)
    expansion.owner[: len(states)] = [naive.phase_of(state) for state in states]
    packed = np.concatenate([packed for state in states if (packed := machine.packed(state)) is not None])
    is_known = evaluate_ends(ends, packed, expansion.owner, len(states))
    assert is_known == (depth > 0)
    if not is_known:
        return
    moves = sum(pair.compiled.circuit.moves)
    for thread in threads():
        if thread.name == "machine code":
            thread.join()
    assert ends.rows.addresses.any() == (vector_bits() >= NARROW and name not in ("tictactoe", "noughtsandcrosses"))
    for _ in range(2):  # by machine code where it is there, then by the interpreted program
        ends.bits[:] = 0
        evaluate_ends(ends, packed, expansion.owner, len(states))
        found = unpack(ends.bits, 3 * moves)
        for state, flags in zip(states, found[: len(states)], strict=True):
            assert flags.reshape(3, moves).tolist() == naive.ends(state), state
        assert found.any()
        ends.rows.addresses[:] = 0


class DecisiveTruth(Truth):
    """Playouts with decisive moves, and what may follow in them."""

    def __init__(self, text: str, depth: int) -> None:
        super().__init__(text)
        self.naive = Naive(self.interpreter, self.compiled, depth)

    @cached_property
    def steps(self) -> Steps:
        compiled, naive = self.compiled, self.naive
        return make_steps(compiled.circuit, compiled.phases, compiled.moves, aims=naive.aims, depth=naive.depth)

    def following(self, state: Facts) -> frozenset[Facts]:
        if state not in self._following:
            wanted = product(*self.naive.wanted(state))
            self._following[state] = frozenset(self.interpreter.next_state(state, joint) for joint in wanted)
        return self._following[state]


@pytest.mark.parametrize(("name", "depth", "watched"), [
    ("tictactoe", 1, range(0, 512, 9)), ("tictactoe", 2, range(0, 512, 9)), ("connectfour", 2, range(63, 65)),
    ("biddingtictactoe", 1, range(0, 512, 170)), ("fiveinarow", 1, range(511, 512)),
])  # fmt: skip
def test_lanes_do_decisive_moves(name: str, depth: int, watched: range) -> None:
    truth = DecisiveTruth(find_rulesheet(name).read_text(encoding="utf-8"), depth)
    simulator = truth.simulator()
    assert truth.steps.decisive == depth
    history = follow(truth, simulator, simulator.block(5, 0, 600), watched)
    assert history.playouts >= len(watched)


def test_grouped_moves_are_decisive_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggp.circuit.grouped_choice.MOST_RESTS", 1)
    instructions = []
    for fewest in (1000, 0.01):
        monkeypatch.setattr("ggp.circuit.grouped_choice.FEWEST", fewest)
        truth = DecisiveTruth(find_rulesheet("fiveinarow").read_text(encoding="utf-8"), 1)
        instructions.append(truth.steps.gates)
    assert truth.steps.decisive == 1
    assert instructions[0] != instructions[1]
    simulator = truth.simulator()
    history = follow(truth, simulator, simulator.block(5, 0, 600), range(510, 512))
    assert history.playouts >= 2


@pytest.mark.parametrize("text", [CLASHES, TURNS], ids=["clashes", "turns"])
def test_games_that_never_end_at_once_are_played_as_usual(text: str) -> None:
    truth = DecisiveTruth(text, 2)
    follow(truth, truth.simulator(), truth.simulator().block(1, 0, 600))


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("shape", GRAPHS, ids=range(len(GRAPHS)))
def test_what_is_wanted_is_as_likely(shape: Shape, end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_module, "LATER_END", ENDS[end])
    for seed in (1, 2, 3):
        pair = make_pair(parse_rulesheet(random_graph(shape, seed)))
        compiled = pair.compiled
        naive = Naive(pair.interpreter, compiled, depth=2)
        steps = make_steps(compiled.circuit, compiled.phases, aims=naive.aims, depth=2)
        plan = Simulator(steps, compiled.circuit.initial).plan._replace(cap=1000)
        bench = Bench(pair, plan, make_lanes(plan, steps.rows, len(compiled.roles), seed))
        world = explore(pair.interpreter, pair.circuit)
        assert world is not None
        states = lasting(world)
        bench.load(states, 40)
        bench.play()
        check_means(bench, _decisive_world(naive, world), states, 40)


def _decisive_world(naive: Naive, world: World) -> World:
    """The same states with what is done in them."""

    def wanted(state: Facts, position: Position) -> Position:
        if position.value is not None:
            return position
        allowed = naive.wanted(state)
        following = {
            joint: after
            for joint, after in position.following.items()
            if all(move in allowed[role] for role, move in enumerate(joint))
        }
        return replace(position, following=following)

    found = World.__new__(World)
    found.roles, found.nature, found.start, found.order = world.roles, world.nature, world.start, world.order
    found.positions = {state: wanted(state, position) for state, position in world.positions.items()}
    return found


@pytest.mark.parametrize("name", NOT_AFFORDABLE)
def test_what_is_not_affordable_is_left_out(name: str) -> None:
    machine = make_pair(parse_rulesheet(find_rulesheet(name).read_text(encoding="utf-8"))).circuit
    assert machine.simulator(decisive=2) is machine.simulator()


def test_a_search_plays_its_leaves_out_so() -> None:
    machine = make_pair(parse_rulesheet(find_rulesheet("tictactoe").read_text(encoding="utf-8"))).circuit
    settings = SearchSettings(memory_bytes=2**20, decisive_moves=1, retrograde=False, proof=False)
    search = BatchedMcts(machine, settings, 1)
    search.run(lambda: False, 500)
    worker = search.workers[0]
    lanes, _ = worker._decisive[1]
    assert worker.playouts == int(lanes.counters[PLAYOUTS]) + LANES  # those of the sample are plain
    search.adopt(replace(settings, decisive_moves=0))
    before = int(lanes.counters[PLAYOUTS])
    search.run(lambda: False, 500)
    assert int(lanes.counters[PLAYOUTS]) == before

"""Ground rules as circuits: random rules, against the least model of each level worked out one rule after the other."""

from dataclasses import dataclass
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ggp.circuit import build as build_module
from ggp.circuit.assembly import specialise
from ggp.circuit.build import build_circuit, sort_pairs
from ggp.circuit.network import Circuit
from ggp.errors import GroundingError
from ggp.grounding import NEVER, GroundingReport, GroundRules
from tests.simulation.networks import Sketch, naive_outputs

pytestmark = pytest.mark.kernels

Bodies = list[tuple[int, list[int]]]  # head, literals
SITUATIONS = 100


@given(st.lists(st.tuples(st.integers(-(2**62), 2**62), st.integers(0, 9)), max_size=200), st.integers(0, 200))
def test_sorting(pairs: list[tuple[int, int]], count: int) -> None:
    count = min(count, len(pairs))
    keys = np.array([key for key, _ in pairs], np.int64)
    values = np.array([value for _, value in pairs], np.int64)
    sort_pairs(keys, values, count)
    found = list(zip(keys.tolist(), values.tolist(), strict=True))
    assert keys[:count].tolist() == sorted(key for key, _ in pairs[:count])
    assert sorted(found[:count]) == sorted(pairs[:count])
    assert found[count:] == pairs[count:]


@pytest.mark.parametrize("size", [3_000, 10_000])
def test_sorting_much(size: int) -> None:
    for keys in (np.arange(size), np.arange(size)[::-1], np.random.default_rng(1).integers(0, 50, size)):
        own, values = keys.astype(np.int64), np.arange(size, dtype=np.int64)
        sort_pairs(own, values, size)
        assert np.array_equal(own, np.sort(keys))
        assert np.array_equal(np.sort(values), np.arange(size))
        assert np.array_equal(keys[values], own)


def ground_rules(facts: int, moves: tuple[int, ...], legal: list[int], rules: Bodies, wanted: list[int]) -> GroundRules:
    """wanted: the atoms that are asked for, as next facts, the end and goals in turn."""
    following = np.array(wanted[:facts], np.int32)
    goals = wanted[facts + 1 :]
    atoms = 1 + max([facts + sum(moves) - 1, *legal, *wanted, *(head for head, _ in rules)], default=0)
    atoms = max([atoms, *(1 + (literal >> 1) for _, body in rules for literal in body)])
    return GroundRules(
        roles=tuple(f"r{number}" for number in range(len(moves))),
        facts=tuple(f"f{number}" for number in range(facts)),
        moves=tuple(tuple(f"m{number}" for number in range(count)) for count in moves),
        initial=np.zeros(facts, np.bool_),
        next=following,
        legal=np.array(legal, np.int32),
        goals=(tuple(range(len(goals))), *((),) * (len(moves) - 1)),
        goal_atoms=np.array(goals, np.int32),
        percepts=((),) * len(moves),
        percept_atoms=np.zeros(0, np.int32),
        terminal=wanted[facts],
        atom_count=atoms,
        heads=np.array([head for head, _ in rules], np.int32),
        first_literal=np.cumsum([0, *(len(body) for _, body in rules)]).astype(np.int64),
        literals=np.array([literal for _, body in rules for literal in body], np.int32),
        report=GroundingReport(0.0, ()),
    )


@dataclass(frozen=True, slots=True)
class Game:
    """Random rules; views stand on levels, what is negated stands on a lower one."""

    rules: GroundRules
    bodies: Bodies
    levels: list[list[int]]  # of atoms


def random_game(seed: int) -> Game:
    random = Random(seed)
    facts, moves = random.randint(1, 5), tuple(random.randint(1, 6) for _ in range(random.randint(1, 3)))
    inputs = facts + sum(moves)
    levels, below, bodies = [], list(range(facts)), []
    first = inputs
    legal: list[int] = []
    for level in range(5):
        if level == 2:  # from here on views may read the moves
            legal = [random.choice([*below[facts:]]) for _ in range(sum(moves))]
            below += range(facts, inputs)
        own = list(range(first, first + random.randint(1, 6)))
        first = own[-1] + 1
        for _ in range(random.randint(len(own), 5 * len(own))):
            body = [2 * random.choice([*below, *own]) for _ in range(random.randint(0, 3))]
            body += [2 * random.choice(below) + 1 for _ in range(random.randint(0, 2))]
            if level >= 2 and random.random() < 0.7:
                body.append(2 * random.randrange(facts, inputs) + (random.random() < 0.1))
            random.shuffle(body)
            bodies.append((random.choice(own), body))
        if level >= 2 and random.random() < 0.7:  # a frame axiom: whatever a role does but for a few moves
            head, role = random.choice(own), random.randrange(len(moves))
            start = facts + sum(moves[:role])
            rest = [2 * random.choice(below[:facts])]
            chosen = [move for move in range(start, start + moves[role]) if random.random() < 0.8]
            bodies += [(head, [*rest, 2 * move]) for move in chosen]
        levels.append(own)
        below += own
    views = [atom for own in levels for atom in own]
    wanted = [random.choice([*views, *[NEVER] * 4]) for _ in range(facts)]
    wanted += [random.choice([*levels[0], *levels[1], NEVER])] + [random.choice(views) for _ in range(4)]
    random.shuffle(bodies)
    return Game(ground_rules(facts, moves, legal, bodies, wanted), bodies, levels)


def model(game: Game, true: set[int]) -> set[int]:
    """The atoms that hold, from the facts and moves that do."""
    found = set(true)
    for own in game.levels:
        rules = [(head, body) for head, body in game.bodies if head in own]
        while True:
            new = {h for h, body in rules if all((literal >> 1 in found) != (literal & 1) for literal in body)} - found
            if not new:
                break
            found |= new
    return found


def random_situations(game: Game, random: Random) -> list[tuple[set[int], set[int]]]:
    """Facts with a legal move of each role, where there is one, and all atoms that then hold."""
    rules = game.rules
    facts, found = len(rules.facts), []
    for _ in range(SITUATIONS):
        state = {fact for fact in range(facts) if random.random() < 0.5}
        possible, first = model(game, state), 0
        moves = set()
        for own in rules.moves:
            legal = [facts + at for at in range(first, first + len(own)) if int(rules.legal[at]) in possible]
            first += len(own)
            if legal:
                moves.add(random.choice(legal))
        if len(moves) == len(rules.moves):
            found.append((state | moves, model(game, state | moves)))
    return found


def outputs_of(circuit: Circuit, situations: list[set[int]]) -> list[int]:
    """A word for each output; lane l is situation l."""
    inputs = [sum((at in true) << lane for lane, true in enumerate(situations)) for at in range(circuit.inputs)]
    return naive_outputs(Sketch(circuit.inputs, circuit.left, circuit.right, circuit.loops, circuit.outputs), inputs)


def expected_of(rules: GroundRules, models: list[set[int]]) -> list[int]:
    atoms = [*rules.next.tolist(), *rules.legal.tolist(), rules.terminal, *rules.goal_atoms.tolist()]
    return [sum((atom in found) << lane for lane, found in enumerate(models)) for atom in atoms]


@settings(max_examples=60)
@given(st.integers(0, 1 << 32))
def test_random_rules(seed: int) -> None:
    game, random = random_game(seed), Random(seed)
    circuit = build_circuit(game.rules)
    found = random_situations(game, random)
    mask = (1 << len(found)) - 1
    outputs = outputs_of(circuit, [true for true, _ in found])
    assert [word & mask for word in outputs] == expected_of(game.rules, [atoms for _, atoms in found])
    facts = len(game.rules.facts)
    known = np.array([random.choice((-1, -1, 0, 1)) for _ in range(facts)], np.int8)
    special = specialise(circuit, known)
    lanes = [
        lane for lane, (true, _) in enumerate(found)
        if all(value in (-1, int(fact in true)) for fact, value in enumerate(known.tolist()))
    ]  # fmt: skip
    again = outputs_of(special, [true for true, _ in found])
    assert [[word >> lane & 1 for lane in lanes] for word in again] == [
        [word >> lane & 1 for lane in lanes] for word in outputs
    ]
    assert special.gates <= circuit.gates


def test_the_random_rules_have_everything() -> None:
    games = [random_game(seed) for seed in range(40)]
    circuits = [build_circuit(game.rules) for game in games]
    assert sum(len(circuit.loops.results) > 0 for circuit in circuits) > 8
    assert sum(len(random_situations(game, Random(1))) > 20 for game in games) > 12
    assert any((game.rules.next == NEVER).any() for game in games)


def test_most_moves_are_the_complement_of_the_others() -> None:
    """20 moves, all always legal; the fact stays unless one of three is done: three gates, not 17."""
    facts, count = 1, 20
    always, keeps = facts + count, facts + count + 1
    rules: Bodies = [(always, [])]
    rules += [(keeps, [0, 2 * (facts + move)]) for move in range(3, count)]
    circuit = build_circuit(ground_rules(facts, (count,), [always] * count, rules, [keeps, always]))
    assert specialise(circuit, np.array([-1], np.int8)).gates == 3


def test_what_legality_implies_is_left_out() -> None:
    """The first of two moves needs p, so that p and the move is the move."""
    needs: Bodies = [(3, [0]), (4, [])]
    circuit = build_circuit(ground_rules(1, (2,), [3, 4], [*needs, (5, [0, 2])], [5, NEVER]))
    assert circuit.next.tolist() == [4]
    circuit = build_circuit(ground_rules(1, (2,), [3, 4], [*needs, (5, [1, 2])], [5, NEVER]))
    assert circuit.next.tolist() == [0]


def test_what_no_rule_gives_is_false() -> None:
    circuit = build_circuit(ground_rules(1, (1,), [2], [(2, []), (3, [8])], [3, NEVER, 3]))
    assert [circuit.next.tolist(), circuit.legal.tolist(), circuit.terminal, circuit.goals.tolist()] == [
        [0],
        [1],
        0,
        [0],
    ]


def test_two_moves_of_one_role_are_never_done_together() -> None:
    """A rule that asks for two moves of a role gives nothing, whichever of them is done."""
    rules: Bodies = [(3, []), (4, [2, 4])]
    circuit = build_circuit(ground_rules(1, (2,), [3, 3], rules, [4, NEVER]))
    situations = [{1}, {2}, {0, 1}, {0, 2}]
    assert outputs_of(circuit, situations)[0] & 0b1111 == 0


def test_negation_through_recursion_is_refused() -> None:
    rules: Bodies = [(2, []), (3, [9]), (4, [6])]
    with pytest.raises(GroundingError, match="its own negation"):
        build_circuit(ground_rules(1, (1,), [2], rules, [3, NEVER]))


def test_too_many_gates_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_module, "MAX_GATES", 30)
    random = Random(1)
    rules: Bodies = [(13, [])]
    rules += [(14, [2 * fact + random.randint(0, 1) for fact in random.sample(range(12), 6)]) for _ in range(40)]
    with pytest.raises(GroundingError, match="more than 30 gates"):
        build_circuit(ground_rules(12, (1,), [13], rules, [14] * 12 + [NEVER]))

"""Symmetries: those of small rules by hand, and those of shipped games against the interpreter."""

import random
from itertools import islice, product

import numpy as np
import pytest

import ggp
from ggp.cache import Cache
from ggp.circuit.compile import compile_game
from ggp.gdl.logic_program import make_logic_program
from ggp.gdl.reader import read_term
from ggp.gdl.rulesheet import Rulesheet, parse_rulesheet
from ggp.gdl.state_machine import Facts, StateMachine
from ggp.gdl.terms import Term
from ggp.grounding import automorphisms, ground
from ggp.grounding.automorphisms import MOST, find_automorphisms
from ggp.learning import symmetries as module
from ggp.learning.net import Symmetries, no_symmetries
from ggp.learning.symmetries import find_symmetries, images_of
from ggp.library import find_rulesheet
from ggp.simulation import perft as on_the_circuit
from ggp.simulation import state_graph
from ggp.simulation.evaluate import Batches
from ggp.simulation.state_machine import CircuitMachine
from tests.gamemaster import games

pytestmark = [pytest.mark.kernels, pytest.mark.usefixtures("one_clingo")]

TWO_COINS = """
(role one) (role two)
(coin a) (coin b)
(owner one a) (owner two b)
(init (up a)) (init (up b)) (init (round 0))
(<= (base (up ?c)) (coin ?c)) (base (round 0)) (base (round 1)) (base (round 2))
(<= (input ?r (turn ?c)) (role ?r) (coin ?c)) (<= (input ?r keep) (role ?r))
(<= (legal ?r (turn ?c)) (owner ?r ?c))
(<= (legal ?r keep) (role ?r))
(<= (next (up ?c)) (true (up ?c)) (owner ?r ?c) (does ?r keep))
(<= (next (up ?c)) (coin ?c) (not (true (up ?c))) (owner ?r ?c) (does ?r (turn ?c)))
(<= (next (round 1)) (true (round 0)))
(<= (next (round 2)) (true (round 1)))
(<= terminal (true (round 2)))
(<= (goal ?r 100) (owner ?r ?c) (true (up ?c)))
(<= (goal ?r 0) (owner ?r ?c) (not (true (up ?c))))
"""


def shipped(name: str) -> Rulesheet:
    return parse_rulesheet(find_rulesheet(name).read_text(encoding="utf-8"), name)


def symmetries_of(rulesheet: Rulesheet, cache: Cache) -> Symmetries:
    found = find_symmetries(rulesheet, Batches(compile_game(rulesheet)), cache=cache)
    assert found is not None
    return found


@pytest.fixture
def cache() -> Cache:
    return Cache(None)


def test_roles_that_may_be_exchanged(cache: Cache) -> None:
    rulesheet = parse_rulesheet(TWO_COINS, "coins")
    game, found = compile_game(rulesheet), symmetries_of(rulesheet, cache)
    up = [game.facts.index(read_term(f"(up {coin})")) for coin in "ab"]
    turn = [moves.index(read_term(f"(turn {coin})")) for moves, coin in zip(game.moves, "ab", strict=True)]
    turn[1] += len(game.moves[0])
    assert found.roles.tolist() == [[0, 1], [1, 0]]
    assert found.facts[1, up].tolist() == up[::-1]
    assert found.moves[1, turn].tolist() == turn[::-1]
    kept = [game.facts.index(read_term(f"(round {number})")) for number in range(1, 3)]
    assert found.facts[1, kept].tolist() == kept


@pytest.mark.parametrize(
    "change",
    [
        ("(<= (goal ?r 0) (owner ?r ?c) (not (true (up ?c))))", "(<= (goal one 0) (not (true (up a))))"
         "(<= (goal two 50) (not (true (up b))))"),
        ("(<= terminal (true (round 2)))", "(<= terminal (true (round 2))) (<= terminal (not (true (up a))))"),
        ("(<= (legal ?r keep) (role ?r))", "(legal one keep) (<= (legal two keep) (true (up b)))"),
    ],
    ids=["goals", "ends", "legal moves"],
)  # fmt: skip
def test_what_differs_between_roles_is_no_symmetry(change: tuple[str, str], cache: Cache) -> None:
    assert change[0] in TWO_COINS
    assert len(symmetries_of(parse_rulesheet(TWO_COINS.replace(*change), "coins"), cache).roles) == 1


def test_candidates_without_goals_and_ends_are_tried() -> None:
    """Automorphisms do not see the difference, the circuit does."""
    text = TWO_COINS.replace("(<= terminal (true (round 2)))", "(<= terminal (true (round 2)) (true (up a)))")
    rules = ground(make_logic_program(parse_rulesheet(text, "coins")), rewrite=False)
    for with_terminal, count in ((True, 1), (False, 2)):
        found = find_automorphisms(rules, lambda: False, with_terminal=with_terminal)
        assert found is not None
        assert len(found.roles) == count


@pytest.mark.parametrize(
    ("name", "count"), [("tictactoe", 16), ("breakthrough", 4), ("connectfour", 4), ("reversi", 16), ("chess", 2)]
)
def test_shipped_games(name: str, count: int, cache: Cache) -> None:
    """The square has eight symmetries, a board with a direction two; colours may be exchanged, too."""
    found = symmetries_of(shipped(name), cache)
    assert len(found.roles) == count <= MOST
    every = {tuple(map(tuple, (facts, moves, roles))) for facts, moves, roles in zip(*found, strict=True)}
    assert len(every) == count
    for array in found:
        assert (array[0] == np.arange(array.shape[1])).all()
        assert (np.sort(array, axis=1) == np.arange(array.shape[1])).all()


class Images:
    """States, moves and roles as the interpreter has them, and what a symmetry puts in place of them."""

    def __init__(self, rulesheet: Rulesheet, found: Symmetries, one: int) -> None:
        game = compile_game(rulesheet)
        moves = [(role, move) for role, own in enumerate(game.moves) for move in own]
        self.facts = {fact: game.facts[image] for fact, image in zip(game.facts, found.facts[one], strict=True)}
        self.moves = {move: moves[image] for move, image in zip(moves, found.moves[one], strict=True)}
        self.roles: list[int] = found.roles[one].tolist()

    def state(self, state: Facts) -> Facts:
        return frozenset(self.facts.get(fact, fact) for fact in state)

    def joint(self, joint: tuple[Term, ...]) -> tuple[Term, ...]:
        placed = dict(self.moves[role, move] for role, move in enumerate(joint))
        return tuple(placed[role] for role in range(len(joint)))


def perft(machine: StateMachine, state: Facts, depth: int) -> int:
    if depth == 0 or machine.is_terminal(state):
        return 1
    legal = [machine.legal_moves(state, role) for role in machine.roles]
    return sum(perft(machine, machine.next_state(state, joint), depth - 1) for joint in product(*legal))


@pytest.mark.parametrize("name", ["tictactoe", "connectfour", "breakthrough", "reversi", "biddingtictactoe", "kalah"])
def test_images_of_random_matches_agree_with_the_interpreter(name: str, cache: Cache) -> None:
    """Of every state: ends, goals, legal moves and successors; of some, the number of all continuations."""
    rulesheet = shipped(name)
    found = symmetries_of(rulesheet, cache)
    machine = ggp.load(name, "interpreter").machine
    draw = random.Random(5)
    for one in range(len(found.roles)):
        images, state = Images(rulesheet, found, one), machine.initial_state
        for step in range(12):
            image = images.state(state)
            assert machine.is_terminal(image) == machine.is_terminal(state)
            if machine.is_terminal(state):
                values = [machine.goal(image, machine.roles[role]) for role in images.roles]
                assert values == [machine.goal(state, role) for role in machine.roles]
                break
            legal = [machine.legal_moves(state, role) for role in machine.roles]
            for role, own in enumerate(legal):
                placed = {images.moves[role, move] for move in own}
                other = images.roles[role]
                assert placed == {(other, move) for move in machine.legal_moves(image, machine.roles[other])}
            if step == 5 and one < 4:
                assert perft(machine, image, 2) == perft(machine, state, 2)
            joint = tuple(draw.choice(sorted(own, key=str)) for own in legal)
            state = machine.next_state(state, joint)
            assert machine.next_state(image, images.joint(joint)) == images.state(state)


def test_they_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("cache")
    rulesheet = shipped("tictactoe")
    found = symmetries_of(rulesheet, Cache(folder))
    monkeypatch.setattr(module, "ground", None)
    for one, two in zip(found, symmetries_of(rulesheet, Cache(folder)), strict=True):
        np.testing.assert_array_equal(one, two)


def test_looking_for_them_stops(cache: Cache) -> None:
    rulesheet = shipped("tictactoe")
    assert find_symmetries(rulesheet, Batches(compile_game(rulesheet)), lambda: True, cache) is None


@pytest.mark.parametrize("text", [games.SECRET, games.GUESSING], ids=["percepts", "nothing to exchange but roles"])
def test_games_with_percepts_have_the_identity_alone(text: str, cache: Cache) -> None:
    count = len(symmetries_of(parse_rulesheet(text, "game"), cache).roles)
    assert count == (1 if "sees" in text else 12)  # two roles, and the six orders of three numbers


def plain_classes(colours: list[int], around: list[list[int]]) -> list[int]:
    """The class of each vertex in the coarsest equitable partition, numbered as they come."""
    found = colours
    while True:
        seen = [(own, tuple(sorted(found[each] for each in near))) for own, near in zip(found, around, strict=True)]
        numbers = {each: number for number, each in enumerate(dict.fromkeys(seen))}
        if len(numbers) == len(set(found)):
            return [numbers[each] for each in seen]
        found = [numbers[each] for each in seen]


def graph_of(colours: list[int], around: list[list[int]]) -> automorphisms._Graph:
    first = np.cumsum([0, *map(len, around)]).astype(np.int64)
    neighbours = np.array([each for near in around for each in near], np.int64)
    return automorphisms._Graph(np.array(colours, np.uint64), first, neighbours, len(colours))


def refined(graph: automorphisms._Graph) -> automorphisms._Refined:
    """As a search begins."""
    search = automorphisms._Search(graph, np.arange(len(graph.colours)), lambda: False)
    found = search._refined(*search._whole())
    assert found is not None
    return found


@pytest.mark.parametrize("seed", range(12))
def test_classes_are_those_of_plain_refinement(seed: int) -> None:
    random = np.random.default_rng(seed)
    count = 30 + 3 * seed
    around: list[list[int]] = [[] for _ in range(count)]
    pairs = random.integers(0, count, (count // 2 + 2 * seed, 2)).tolist()
    for one, other in [*pairs, *((at, at + 1) for at in range(12))]:  # with a chain, which takes rounds
        around[one].append(other)
        around[other].append(one)
    colours = random.integers(0, 2, count).tolist()
    found, plain = refined(graph_of(colours, around)), plain_classes(colours, around)
    numbers = {colour: number for number, colour in enumerate(dict.fromkeys(found.partition.of_vertices.tolist()))}
    assert [numbers[colour] for colour in found.partition.of_vertices.tolist()] == plain
    assert found.partition.sizes[found.partition.members].tolist() == [plain.count(each) for each in plain]
    order = random.permutation(count)  # vertex v of the other graph is order[v] of this one
    place = np.argsort(order)
    moved = graph_of([colours[each] for each in order], [[int(place[one]) for one in around[each]] for each in order])
    other = refined(moved)
    assert other.trace == found.trace
    np.testing.assert_array_equal(other.partition.of_vertices, found.partition.of_vertices[order])
    search = automorphisms._Search(moved, np.arange(count), lambda: False)
    assert search._is_automorphism(np.arange(count))
    images = next(search.all())
    assert search._is_automorphism(images)
    distinct = [at for at in range(count) if plain.count(plain[order[at]]) == 1][:2]
    if len(distinct) == 2:
        images[distinct] = images[distinct[::-1]]
        assert not search._is_automorphism(images)


def test_where_not_even_the_identity_is_found_in_time_no_more_is_looked_for(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = []

    def find(*arguments: object, **levels: bool) -> automorphisms.Automorphisms | None:
        tries.append(levels)
        return find_automorphisms(*arguments, **levels)  # type: ignore[arg-type]

    monkeypatch.setattr(automorphisms, "_WORK", 0)
    monkeypatch.setattr(module, "find_automorphisms", find)
    assert len(symmetries_of(parse_rulesheet(TWO_COINS, "game"), cache).roles) == 1
    assert len(tries) == 1


@pytest.mark.parametrize(
    ("name", "depth"),
    [("tictactoe", 9), ("connectfour", 6), ("reversi", 6), ("breakthrough", 3), ("quarto", 4), ("biddingtictactoe", 2)],
)
def test_perft_proves_symmetries(name: str, depth: int) -> None:
    """Where images are visited once the counts are the same; of exchanges that are none they are not."""
    machine = ggp.load(name, "circuit").machine
    assert isinstance(machine, CircuitMachine)
    found = find_symmetries(machine.rulesheet, machine.batches)
    assert found is not None
    assert len(found.roles) > 1
    counts = on_the_circuit.perft(machine, depth)
    for same_roles in (True, False):
        assert tuple(islice(on_the_circuit.layers(machine, images_of(found, same_roles=same_roles)), depth)) == counts


def test_perft_tells_of_what_is_no_symmetry() -> None:
    machine = ggp.load("tictactoe", "circuit").machine
    assert isinstance(machine, CircuitMachine)
    alone = no_symmetries(len(machine.compiled.facts), int(machine.batches.first_move[-1]), len(machine.roles))
    facts = alone.facts.repeat(2, axis=0)
    cells = [at for at, fact in enumerate(machine.compiled.facts) if fact[:3] == ("cell", "1", "1")]
    others = [at for at, fact in enumerate(machine.compiled.facts) if fact[:3] == ("cell", "1", "2")]
    facts[1, cells], facts[1, others] = others, cells  # a corner and an edge
    images = state_graph.Images(facts, alone.moves.repeat(2, axis=0))
    assert on_the_circuit.perft(machine, 9) != tuple(islice(on_the_circuit.layers(machine, images), 9))


WALK = """
(role a) (role b) (init (step 0)) (init (only l)) (init (only r)) (side l) (side r)
(succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (succ 5 6) (succ 6 7) (succ 7 8) (succ 8 9) (succ 9 10)
(succ 10 11) (succ 11 12)
(<= (legal a (walk ?k)) (side ?k)) (legal b noop)
(<= (next (step ?m)) (true (step ?n)) (succ ?n ?m))
(<= (next (only ?k)) (true (only ?k)) (does a (walk ?k)))
(<= terminal (true (step 12))) (<= won (true (step 12)) (true (only r)))
(<= (goal a 100) won) (<= (goal b 0) won) (<= (goal a 0) (not won)) (<= (goal b 100) (not won))
"""


def test_what_random_matches_hardly_show_is_no_exact_symmetry(cache: Cache) -> None:
    """Twelve steps to the right win; random matches end otherwise, so that right and left look alike."""
    rulesheet = parse_rulesheet(WALK, "walk")
    batches = Batches(compile_game(rulesheet))
    exact = find_symmetries(rulesheet, batches, cache=cache, exact=True)
    assert exact is not None
    assert len(exact.roles) == 1
    assert len(symmetries_of(rulesheet, cache).roles) > 1
    symmetries = find_symmetries(shipped("tictactoe"), Batches(compile_game(shipped("tictactoe"))), exact=True)
    assert symmetries is not None
    assert len(symmetries.roles) == 16

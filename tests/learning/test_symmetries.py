"""Symmetries: those of small rules by hand, and those of shipped games against the interpreter."""

import random
from itertools import product

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
from ggp.grounding import ground
from ggp.grounding.automorphisms import MOST, find_automorphisms, recolour
from ggp.learning import symmetries as module
from ggp.learning.net import Symmetries
from ggp.learning.symmetries import find_symmetries
from ggp.library import find_rulesheet
from ggp.simulation.evaluate import Batches
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


def test_colours_are_those_of_plain_arithmetic() -> None:
    random = np.random.default_rng(2)
    count, edges = 40, 150
    ends = np.sort(random.integers(0, count, edges))
    first = np.searchsorted(ends, np.arange(count + 1)).astype(np.int64)
    neighbours, mixed = random.integers(0, count, edges), random.integers(0, 2**63, count).astype(np.uint64)
    found = np.zeros(count, np.uint64)
    total, whole, expected = int(recolour(mixed, first, neighbours, found)), 2**64, []
    for vertex in range(count):
        around = sum(int(mixed[each]) for each in neighbours[first[vertex] : first[vertex + 1]]) % whole
        around = (around ^ (around >> 31)) * 0x9E3779B97F4A7C15 % whole
        expected.append(((around ^ (around >> 29)) + 3 * int(mixed[vertex])) % whole)
    assert found.tolist() == expected
    assert total == sum(colour ^ (colour >> 32) for colour in expected) % whole

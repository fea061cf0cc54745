"""Games: what holds for each of the first ones, seen on random matches; `test_library` is about all games."""

from functools import cache
from itertools import pairwise

import pytest

import ggp
from ggp.gdl.state_machine import Facts
from ggp.gdl.validator import validate
from tests.games.helpers import FIRST_GAMES, draw_state, random_match

LONGEST = {
    "biddingtictactoe": 18,
    "breakthrough": 177,
    "connectfour": 42,
    "dotsandboxes": 60,
    "fiveinarow": 64,
    "noughtsandcrosses": 9,
    "reversi": 119,
    "tictactoe": 9,
}
GAMES = tuple(LONGEST)
MATCHES = dict.fromkeys(GAMES, 20) | {"breakthrough": 150, "connectfour": 40}  # enough to see all facts and moves

Moves = frozenset[tuple[str, str]]  # roles with their moves


@cache
def load(name: str) -> ggp.Game:
    return ggp.load(name)


@cache
def possible(name: str) -> tuple[frozenset[str], Moves]:
    """What base and input of a rulesheet hold: found by giving them as the first state of a changed one."""
    text = load(name).rulesheet.text.replace("(init ", "(ignored ")
    text = text.replace("(base ", "(possible_fact ").replace("(input ", "(possible_move ")
    text += "(<= (init (fact ?fact)) (possible_fact ?fact)) (<= (init (move ?role ?move)) (possible_move ?role ?move))"
    facts = ggp.load_text(text).initial_state.facts
    bases = frozenset(fact.removeprefix("(fact ")[:-1] for fact in facts if fact.startswith("(fact "))
    pairs = (fact.removeprefix("(move ")[:-1].split(" ", 1) for fact in facts if fact.startswith("(move "))
    return bases, frozenset((role, move) for role, move in pairs)


@cache
def visited(name: str) -> tuple[tuple[Facts, frozenset[str], Moves], ...]:
    """The states of some random matches, with their facts and legal moves as text; the legal moves of the last are
    left out."""
    found = []
    for seed in range(MATCHES[name]):
        for state, moves in random_match(load(name), seed):
            legal = frozenset((role, move) for role in moves for move in state.legal_moves(role))
            found.append((state.terms, frozenset(state.facts), legal))
    return tuple(found)


def test_these_are_shipped() -> None:
    assert GAMES == FIRST_GAMES
    assert set(GAMES) <= set(ggp.games())


@pytest.mark.parametrize("name", GAMES)
def test_metadata(name: str) -> None:
    game = load(name)
    metadata = game.metadata
    assert metadata.title
    assert len(metadata.description.split()) >= 20
    assert metadata.source
    assert metadata.readings
    assert all(reading.endswith(".") for reading in metadata.readings)
    assert tuple(metadata.roles) == game.roles
    assert all(metadata.roles.values())


@pytest.mark.parametrize("name", GAMES)
def test_all_lower_case(name: str) -> None:
    rules = [line.split(";")[0] for line in load(name).rulesheet.text.splitlines()]
    assert rules == [line.lower() for line in rules]


@pytest.mark.parametrize("name", GAMES)
def test_the_validator_finds_nothing(name: str) -> None:
    assert validate(load(name).rulesheet.text, name) == ()


@pytest.mark.parametrize("name", GAMES)
def test_every_fact_is_a_base_and_every_legal_move_an_input(name: str) -> None:
    bases, inputs = possible(name)
    for _, facts, legal in visited(name):
        assert facts <= bases
        assert legal <= inputs


@pytest.mark.parametrize("name", GAMES)
def test_every_base_is_true_somewhere(name: str) -> None:
    """All but the counts of boxes that random play does not reach; the test of dots and boxes plays for those."""
    unseen = possible(name)[0].difference(*(facts for _, facts, _ in visited(name)))
    assert not {fact for fact in unseen if not fact.startswith("(box_count ")}


@pytest.mark.parametrize("name", GAMES)
def test_every_input_is_legal_somewhere(name: str) -> None:
    assert possible(name)[1] == frozenset().union(*(legal for _, _, legal in visited(name)))


@pytest.mark.parametrize("name", GAMES)
def test_one_goal_value_for_each_role_in_every_state(name: str) -> None:
    machine = load(name).machine
    for terms, _, _ in visited(name):
        values = [machine.goal_values(terms, role) for role in machine.roles]
        assert all(len(value) == 1 and 0 <= value[0] <= 100 for value in values), terms


@pytest.mark.parametrize("name", GAMES)
def test_every_role_has_a_move_until_the_end(name: str) -> None:
    machine = load(name).machine
    for terms, _, legal in visited(name):
        assert machine.is_terminal(terms) or {role for role, _ in legal} == set(machine.roles)


@pytest.mark.parametrize("name", GAMES)
def test_matches_end(name: str) -> None:
    machine = load(name).machine
    ends = [number for number, (terms, _, _) in enumerate(visited(name)) if machine.is_terminal(terms)]
    assert len(ends) == MATCHES[name]
    assert all(end - before - 1 <= LONGEST[name] for before, end in pairwise([-1, *ends]))


@pytest.mark.parametrize("name", GAMES)
def test_the_drawing_hints_fit(name: str) -> None:
    """The hints place every fact of the relations that they name, so none of them is left to be listed."""
    game = load(name)
    placed = {hints["fact"] for hints in game.metadata.drawing.values() if "fact" in hints}
    heights = set()
    for terms, _, _ in visited(name)[:70]:
        rest = draw_state(frozenset(term for term in terms if term[0] not in placed), {}).splitlines()
        boards = {name: hints for name, hints in game.metadata.drawing.items() if name not in ("words", "moves")}
        lines = draw_state(terms, boards).splitlines()
        assert lines[-len(rest) :] == rest
        heights.add(len(lines) - len(rest))
    (height,) = heights
    assert height > 3

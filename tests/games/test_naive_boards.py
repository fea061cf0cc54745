"""Games: random matches next to a plain model of the same rules (`naive_boards`)."""

from collections.abc import Callable, Iterator
from random import Random

import pytest

import ggp
from tests.games.helpers import state_of
from tests.games.naive_boards import (
    Stones,
    Walk,
    ataxx,
    has_line,
    is_connected,
    konane,
    lines_of_action,
    othello,
    pente,
    point,
)
from tests.games.naive_chess import Pieces, in_check, minichess

MODELS: dict[str, Callable[[Stones, str], Iterator[Walk]]] = {
    "ataxx": ataxx,
    "konane": konane,
    "loa": lines_of_action,
    "othello6": othello,
    "pente": pente,
}


BOUNDS = {"ataxx": "(quiet 50)", "loa": "(quiet 100)"}


def stones_of(state: ggp.State) -> Stones:
    found = [fact.strip("()").split() for fact in state.facts if fact.startswith("(cell ")]
    return {
        (int(column) - 1, int(row) - 1) if column.isdecimal() else point(column, row): role
        for _, column, row, role in found
    }


def ends(
    name: str, stones: Stones, roles: tuple[str, ...], moves: dict[str, dict[str, Stones]]
) -> tuple[bool, list[int]]:
    """Whether the rules end the match here, bounds apart, and the goals; the first role is on turn."""
    mover, waiter = roles
    if name == "loa":
        own, other = (is_connected(stones, role) for role in roles)
        lost = other or (not moves[mover] and not own)
        if (own and other) or not (own or lost):
            return own, [50, 50]
        return True, [0, 100] if lost else [100, 0]
    if name == "konane":
        return (True, [0, 100]) if not moves[mover] else (False, [50, 50])
    if name == "pente":
        lost = has_line(stones, waiter, 19, 5)
        return lost, [0, 100] if lost else [50, 50]
    counts = [list(stones.values()).count(role) for role in roles]
    over = (name == "ataxx" and 0 in counts) or not any(moves.values())
    return over, [100 if one > other else 50 if one == other else 0 for one, other in (counts, counts[::-1])]


def compare(name: str, seed: int, most: int) -> None:
    game, rng = ggp.load(name), Random(seed)
    state = game.initial_state
    roles = game.roles
    for _ in range(most):
        stones = stones_of(state)
        moves = {role: dict(MODELS[name](stones, role)) for role in roles}
        over, goals = ends(name, stones, roles, moves)
        if any(f"(pairs {role} 5)" in state.facts for role in roles):
            assert state.is_terminal
            return
        assert state.is_terminal == (over or BOUNDS.get(name) in state.facts)
        assert [state.goals[role] for role in roles] == goals
        if state.is_terminal:
            return
        assert set(state.legal_moves(roles[0])) == (set(moves[roles[0]]) or {"noop"})
        assert state.legal_moves(roles[1]) == ("noop",)
        move = rng.choice(sorted(state.legal_moves(roles[0])))
        state = state.play({roles[0]: move, roles[1]: "noop"})
        assert stones_of(state) == moves[roles[0]].get(move, stones)
        roles = roles[::-1]


@pytest.mark.parametrize("name", MODELS)
def test_random_matches(name: str) -> None:
    compare(name, seed=1, most=40)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_more_random_matches(name: str) -> None:
    for seed in range(100):
        compare(name, seed, most=3000)


def test_five_pairs_win() -> None:
    """A stone may take several pairs at once; what is more than five counts as five."""
    own, pairs = (
        "(cell a 1 white) (cell d 4 white) (cell g 1 white) (control white)",
        "(cell b 1 black) (cell c 1 black)",
    )
    facts = f"{own} {pairs} (cell d 2 black) (cell d 3 black) (cell e 1 black) (cell f 1 black)"
    for before, after in (0, 3), (2, 5), (4, 5):
        state = state_of(ggp.load("pente"), f"{facts} (pairs white {before}) (pairs black 1)")
        state = state.play({"white": "(place d 1)", "black": "noop"})
        assert {f"(pairs white {after})", "(pairs black 1)"} <= set(state.facts)
        assert stones_of(state) == {point("a", "1"): "white", point("d", "4"): "white", point("g", "1"): "white",
                                    point("d", "1"): "white"}  # fmt: skip
        assert state.is_terminal == (after == 5)
        assert state.goals["white"] == (100 if after == 5 else 50)


def pieces_of(state: ggp.State) -> Pieces:
    found = [fact.strip("()").split() for fact in state.facts if fact.startswith("(cell ")]
    split = [(column, row, *piece.split("_")) for _, column, row, piece in found]
    return {point(column, row): (role, kind) for column, row, role, kind in split}


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 60))])
def test_minichess(seed: int) -> None:
    """Until a draw by fifty moves or for want of material, which `test_chess` covers."""
    game, rng = ggp.load("minichess"), Random(seed)
    state, roles = game.initial_state, game.roles
    while True:
        pieces = pieces_of(state)
        moves = dict(minichess(pieces, roles[0]))
        is_mate = not moves and in_check(pieces, roles[0])
        assert [state.goals[role] for role in roles] == ([0, 100] if is_mate else [50, 50])
        assert state.is_terminal or moves
        if state.is_terminal:
            assert not moves or "(quiet 100)" in state.facts or len(pieces) <= 4
            return
        assert set(state.legal_moves(roles[0])) == set(moves)
        move = rng.choice(sorted(moves))
        state = state.play({roles[0]: move, roles[1]: "noop"})
        assert pieces_of(state) == moves[move]
        roles = roles[::-1]

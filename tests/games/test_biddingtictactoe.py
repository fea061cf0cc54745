"""Game: bidding tic-tac-toe between x and o, sentence by sentence of the prose that describes it."""

from itertools import combinations

import pytest

import ggp
from ggp.errors import IllegalMoveError
from tests.games.helpers import follow, play_out, random_match, refused_as, state_of

Cell = tuple[int, int]

CELLS = [(x, y) for x in (1, 2, 3) for y in (1, 2, 3)]
LINES = [[(x, y) for y in (1, 2, 3)] for x in (1, 2, 3)] + [[(x, y) for x in (1, 2, 3)] for y in (1, 2, 3)]
LINES += [[(1, 1), (2, 2), (3, 3)], [(1, 3), (2, 2), (3, 1)]]
OTHER = {"x": "o", "o": "x"}
FLAGS = ("no_tiebreaker", "with_tiebreaker")


@pytest.fixture(scope="module")
def game() -> ggp.Game:
    return ggp.load("biddingtictactoe")


def position(
    game: ggp.Game, x: list[Cell], o: list[Cell], coins: int = 10, holder: str = "x", stage: str = "(stage bidding)"
) -> ggp.State:
    """The state with these cells marked, `coins` in the hands of x, and the tiebreaker with `holder`."""
    marks = dict.fromkeys(x, "x") | dict.fromkeys(o, "o")
    cells = " ".join(f"(cell {cell[0]} {cell[1]} {marks.get(cell, 'b')})" for cell in CELLS)
    return state_of(game, f"{cells} (coins x {coins}) (coins o {20 - coins}) (tiebreaker {holder}) {stage}")


def bid(state: ggp.State, x: int, o: int, tiebreaker: str | None = None) -> ggp.State:
    """The state after both bids; `tiebreaker` is the role that plays it."""
    return state.play({role: f"(bid {n} {FLAGS[role == tiebreaker]})" for role, n in (("x", x), ("o", o))})


def coins(state: ggp.State) -> dict[str, int]:
    words = [fact.strip("()").split() for fact in state.facts if fact.startswith("(coins ")]
    found = {role: int(amount) for _, role, amount in words}
    assert len(words) == len(found) == 2
    return found


def holder(state: ggp.State) -> str:
    (role,) = (role for role in "xo" if f"(tiebreaker {role})" in state.facts)
    return role


def control(state: ggp.State) -> str | None:
    """Who places a mark; None in the bidding stage."""
    (found,) = (fact for fact in state.facts if fact.startswith(("(control ", "(stage ")))
    return None if found == "(stage bidding)" else found.strip("()").split()[1]


def test_grid(game: ggp.Game) -> None:
    """
    "The game is played on a 3-by-3 grid defined by coordinates where the horizontal (x) and vertical (y) axes both
    range from 1 to 3, creating nine distinct cells initially all empty."
    """
    cells = [fact for fact in game.initial_state.facts if fact.startswith("(cell ")]
    assert cells == [f"(cell {x} {y} b)" for x, y in CELLS]


def test_stages_alternate(game: ggp.Game) -> None:
    """
    "There are two players, designated as "x" and "o," who alternate turns."
    "Turn control cycles between bidding and marking stages appropriately, and the noop action serves as a legal pass
    for the non-controlling player to maintain turn order without disrupting the game flow."
    """
    assert game.roles == ("x", "o")
    for seed in range(3):
        for step, (state, moves) in enumerate(random_match(game, seed)):
            marker = control(state)
            assert (marker is None) == (step % 2 == 0)
            if marker is not None:
                assert moves[marker].startswith("(mark ")
                assert moves[OTHER[marker]] == "noop"
            elif moves:
                assert all(move.startswith("(bid ") for move in moves.values())


def test_start(game: ggp.Game) -> None:
    """
    "The game begins in a "bidding" stage where each player starts with 10 coins."
    """
    state = game.initial_state
    assert "(stage bidding)" in state.facts
    assert coins(state) == {"x": 10, "o": 10}
    assert holder(state) == "x"


def test_bids(game: ggp.Game) -> None:
    """
    "During this stage, players take turns placing bids, which are integer amounts no greater than the number of coins
    they currently possess, and each bid may optionally include a tiebreaker flag; the player who holds the current
    tiebreaker may bid with it, whereas the other player may bid without it."
    "Legal bids must respect these constraints, and the bidding stage continues until a winner is determined by
    comparing bids"
    """
    for amount in range(21):
        for role in "xo":
            state = position(game, [], [], coins=amount, holder=role)
            other = OTHER[role]
            own, others = coins(state)[role], coins(state)[other]
            assert set(state.legal_moves(role)) == {f"(bid {n} {flag})" for n in range(own + 1) for flag in FLAGS}
            assert set(state.legal_moves(other)) == {f"(bid {n} no_tiebreaker)" for n in range(others + 1)}


def test_bids_that_are_refused(game: ggp.Game) -> None:
    """
    "Legal bids must respect these constraints"
    """
    state = game.initial_state
    assert refused_as(state, "x", "(bid 11 no_tiebreaker)") == "condition"
    assert refused_as(state, "o", "(bid 3 with_tiebreaker)") == "condition"
    for unknown in ("(bid 21 no_tiebreaker)", "(bid -1 no_tiebreaker)", "(bid 3)"):
        assert refused_as(state, "x", unknown) == "unknown"
    for early in ("noop", "(mark 1 1)"):
        assert refused_as(state, "x", early) == "condition"
    with pytest.raises(IllegalMoveError) as refused:
        state.play({"x": "(bid 0 no_tiebreaker)", "o": "(bid 0 with_tiebreaker)"})
    assert "(true (tiebreaker o))" in refused.value.reason


def test_the_higher_bid_wins(game: ggp.Game) -> None:
    """
    "the player with the higher bid wins"
    "After the bidding concludes, control passes to the winning player who then plays the marking stage."
    """
    for x in range(11):
        for o in range(11):
            for tiebreaker in (None, "x"):
                after = bid(game.initial_state, x, o, tiebreaker)
                if x != o:
                    assert control(after) == ("x" if x > o else "o")
                assert "(stage bidding)" not in after.facts


@pytest.mark.parametrize("role", ["x", "o"])
@pytest.mark.parametrize("amount", [0, 1, 10])
def test_ties(game: ggp.Game, role: str, amount: int) -> None:
    """
    "or if bids tie, the one using the tiebreaker prevails; if both bids tie and neither uses the tiebreaker, then the
    player without the tiebreaker wins."
    """
    state = position(game, [], [], holder=role)
    assert control(bid(state, amount, amount, tiebreaker=role)) == role
    assert control(bid(state, amount, amount)) == OTHER[role]


def test_marking(game: ggp.Game) -> None:
    """
    "In this stage, the controlling player may place their mark (either "x" or "o") on any empty cell, with the legal
    action requiring that the chosen cell is currently blank."
    """
    for role in "xo":
        state = position(game, [(1, 1)], [(2, 2)], stage=f"(control {role})")
        free = [cell for cell in CELLS if cell not in ((1, 1), (2, 2))]
        assert state.legal_moves(role) == tuple(f"(mark {x} {y})" for x, y in free)
        for x, y in free:
            after = follow(state, f"(mark {x} {y})")
            changed = {f"(cell {x} {y} b)", f"(cell {x} {y} {role})", f"(control {role})", "(stage bidding)"}
            assert set(after.facts) ^ set(state.facts) == changed
            assert f"(cell {x} {y} {role})" in after.facts


def test_noop(game: ggp.Game) -> None:
    """
    "The other player may choose to perform a no-operation action (noop) only when it is not their turn to move."
    """
    for role in "xo":
        state = position(game, [], [], stage=f"(control {role})")
        assert state.legal_moves(OTHER[role]) == ("noop",)
        assert "noop" not in state.legal_moves(role)
    assert not any("noop" in game.initial_state.legal_moves(role) for role in "xo")


def test_the_winner_pays_the_loser(game: ggp.Game) -> None:
    """
    "The game's state updates reflect coins being adjusted by adding the bid amounts to the players' coin counts after
    bidding, the tiebreaker status potentially transferring depending on the bid details, and cells being marked as
    players place their marks."
    """
    assert coins(bid(game.initial_state, 7, 4)) == {"x": 3, "o": 17}
    assert coins(bid(game.initial_state, 4, 7)) == {"x": 17, "o": 3}
    assert coins(bid(game.initial_state, 6, 6)) == {"x": 16, "o": 4}
    assert coins(bid(game.initial_state, 6, 6, tiebreaker="x")) == {"x": 4, "o": 16}
    assert coins(bid(game.initial_state, 0, 0)) == {"x": 10, "o": 10}
    assert coins(bid(position(game, [], [], coins=20), 20, 0)) == {"x": 0, "o": 20}
    marking = bid(game.initial_state, 7, 4)
    assert coins(follow(marking, "(mark 2 2)")) == coins(marking)
    for state, _ in random_match(game, seed=8):
        assert sum(coins(state).values()) == 20


def test_the_tiebreaker_changes_hands(game: ggp.Game) -> None:
    """
    "the tiebreaker status potentially transferring depending on the bid details": it goes over when the winning bid
    has it, whether the bids were equal or not, and stays otherwise.
    """
    for role in "xo":
        state = position(game, [], [], holder=role)
        high, low = ((5, 3), (3, 5)) if role == "x" else ((3, 5), (5, 3))
        equal_and_used = bid(state, 5, 5, tiebreaker=role)
        assert holder(equal_and_used) == OTHER[role]
        assert holder(follow(equal_and_used, "(mark 1 1)")) == OTHER[role]
        assert holder(bid(state, 5, 5)) == role
        assert holder(bid(state, *high, tiebreaker=role)) == OTHER[role]
        assert holder(bid(state, *high)) == role
        assert holder(bid(state, *low, tiebreaker=role)) == role
        assert holder(bid(state, *low)) == role


def test_marks_stay_inside_and_one_to_a_cell(game: ggp.Game) -> None:
    """
    "The board constraints ensure marks can only be placed within the 3-by-3 grid and cannot overwrite occupied cells."
    """
    state = position(game, [(1, 1)], [(2, 2)], stage="(control o)")
    for outside in ("(mark 0 1)", "(mark 4 1)", "(mark 1 0)", "(mark 1 4)"):
        assert refused_as(state, "o", outside) == "unknown"
    for occupied in ("(mark 1 1)", "(mark 2 2)"):
        assert refused_as(state, "o", occupied) == "condition"


def test_the_end(game: ggp.Game) -> None:
    """
    "The game ends when either a player forms a complete line of three marks horizontally, vertically, or diagonally,
    or when no empty cells remain, indicating a draw."
    """
    for three in map(list, combinations(CELLS, 3)):
        assert position(game, three, []).is_terminal == (three in map(sorted, LINES))
        assert position(game, [], three).is_terminal == (three in map(sorted, LINES))
        assert not position(game, three[:2], three[2:]).is_terminal
    x = [(1, 2), (1, 3), (2, 1), (2, 2), (3, 3)]
    o = [(1, 1), (2, 3), (3, 1), (3, 2)]
    assert position(game, x, o).is_terminal
    assert not position(game, x, o[:-1]).is_terminal


def test_a_match_with_a_line(game: ggp.Game) -> None:
    """
    "The game ends when either a player forms a complete line of three marks": three marks in a row by the same player.
    """
    state = game.initial_state
    for cell in ("(mark 1 3)", "(mark 2 2)"):
        state = follow(bid(state, 2, 3), cell)
        assert not state.is_terminal
    state = bid(state, 0, 4)
    assert not state.is_terminal
    state = follow(state, "(mark 3 1)")
    assert state.is_terminal
    assert state.goals == {"x": 0, "o": 100}
    assert coins(state) == {"x": 20, "o": 0}


def test_scores(game: ggp.Game) -> None:
    """
    "Victory is awarded 100 points to a player who completes such a line, zero points to the opponent if the opposing
    player wins, and in the absence of a winning line for either player, both receive 50 points."
    """
    for line in LINES:
        assert position(game, line, []).goals == {"x": 100, "o": 0}
        assert position(game, [], line).goals == {"x": 0, "o": 100}
    drawn = position(game, [(1, 2), (1, 3), (2, 1), (2, 2), (3, 3)], [(1, 1), (2, 3), (3, 1), (3, 2)])
    assert drawn.goals == {"x": 50, "o": 50}
    full_and_won = position(game, [(1, 1), (1, 2), (1, 3), (2, 1), (3, 2)], [(2, 2), (2, 3), (3, 1), (3, 3)])
    assert full_and_won.goals == {"x": 100, "o": 0}
    assert game.initial_state.goals == {"x": 50, "o": 50}


def test_all_results_happen(game: ggp.Game) -> None:
    """
    "Victory is awarded 100 points to a player who completes such a line"
    """
    assert {tuple(play_out(game, seed).goals.values()) for seed in range(25)} == {(100, 0), (0, 100), (50, 50)}

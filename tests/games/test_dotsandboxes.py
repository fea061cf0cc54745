"""Game: dots and boxes between xplayer and oplayer, sentence by sentence of the prose that describes it."""

from collections.abc import Iterator
from itertools import pairwise
from random import Random

import pytest

import ggp
from ggp.errors import IllegalMoveError
from tests.games.helpers import follow, play_out, random_match, refused_as, state_of

ROLES = ("xplayer", "oplayer")
VERTICAL = [(x, y, x, y + 1) for x in range(1, 7) for y in range(1, 6)]
HORIZONTAL = [(x, y, x + 1, y) for x in range(1, 6) for y in range(1, 7)]
SEGMENTS = [" ".join(map(str, segment)) for segment in VERTICAL + HORIZONTAL]
# the four sides of the box at 1 1, then the rest of its right neighbour
FIRST_BOX = ["(draw 1 1 2 1)", "(draw 1 2 2 2)", "(draw 1 1 1 2)", "(draw 2 1 2 2)"]
NEIGHBOUR = ["(draw 2 1 3 1)", "(draw 2 2 3 2)", "(draw 3 1 3 2)"]


@pytest.fixture(scope="module")
def game() -> ggp.Game:
    return ggp.load("dotsandboxes")


def boxes(state: ggp.State) -> dict[str, int]:
    """The count of each role; both ways in which the state says it must agree."""
    counts = {role: sum(f.startswith("(box ") and f.endswith(f" {role})") for f in state.facts) for role in ROLES}
    for role, number in counts.items():
        assert [f for f in state.facts if f.startswith(f"(box_count {role} ")] == [f"(box_count {role} {number})"]
    return counts


def control(state: ggp.State) -> str:
    (role,) = (role for role in ROLES if f"(control {role})" in state.facts)
    return role


def one_sided_match(game: ggp.Game, taker: str, seed: int) -> Iterator[ggp.State]:
    """The states of a match in which one role takes all the boxes that it can, and the other as few as it can."""
    random = Random(seed)
    state = game.initial_state
    yield state
    while not state.is_terminal:
        role = control(state)
        other = next(name for name in ROLES if name != role)
        moves = game.machine.legal_moves(state.terms, role)
        joint_moves = [tuple({role: move, other: "noop"}[name] for name in game.roles) for move in moves]
        after = [ggp.State(game, game.machine.next_state(state.terms, joint_move)) for joint_move in joint_moves]
        random.shuffle(after)
        choose = max if role == taker else min
        state = choose(after, key=lambda successor: sum(term[0] == "box" for term in successor.terms))
        yield state


def test_grid(game: ggp.Game) -> None:
    """
    "The game is set on a grid defined by six indices numbered from 1 through 6, creating a coordinate system where
    positions are referenced by pairs of these indices."
    """
    moves = game.initial_state.legal_moves("xplayer")
    words = [move.strip("()").split()[1:] for move in moves]
    dots = {(line[0], line[1]) for line in words} | {(line[2], line[3]) for line in words}
    assert dots == {(x, y) for x in "123456" for y in "123456"}


def test_players_alternate(game: ggp.Game) -> None:
    """
    "Two players participate, designated as xplayer and oplayer, who alternate turns in a fixed sequence starting with
    xplayer."
    """
    assert game.roles == ROLES
    state = game.initial_state
    for step, move in enumerate(["(draw 1 1 2 1)", "(draw 3 3 4 3)", "(draw 5 5 5 6)", "(draw 1 5 1 6)"]):
        assert control(state) == ROLES[step % 2]
        state = follow(state, move)


def test_start(game: ggp.Game) -> None:
    """
    "The initial state has both players with zero boxes claimed and control assigned to xplayer."
    """
    assert game.initial_state.facts == ("(box_count oplayer 0)", "(box_count xplayer 0)", "(control xplayer)")


def test_lines_join_neighbouring_points(game: ggp.Game) -> None:
    """
    "On their turn, the player in control must draw a line between two adjacent points on the grid that are not yet
    connected by a line; these lines can be either vertical or horizontal and must connect indices that are consecutive
    in the predefined order."
    """
    state = game.initial_state
    every = {f"(draw {segment})" for segment in SEGMENTS}
    assert len(every) == 60
    assert set(state.legal_moves("xplayer")) == every
    state = follow(state, "(draw 3 3 3 4)")
    assert set(state.legal_moves("oplayer")) == every - {"(draw 3 3 3 4)"}
    for move in ("(draw 1 1 2 2)", "(draw 1 1 3 1)", "(draw 1 1 1 1)", "(draw 2 1 1 1)", "(draw 1 4 1 3)"):
        assert refused_as(state, "oplayer", move) is not None


def test_legality_of_a_draw(game: ggp.Game) -> None:
    """
    "The legality of a draw action depends on the control of the player and the absence of an existing line between the
    specified coordinates."
    """
    state = follow(game.initial_state, "(draw 3 3 3 4)")
    assert refused_as(state, "oplayer", "(draw 3 3 3 4)") == "condition"
    assert refused_as(state, "xplayer", "(draw 1 1 1 2)") == "turn"
    assert refused_as(state, "oplayer", "(draw 1 1 1 2)") is None


def test_noop(game: ggp.Game) -> None:
    """
    "If a player is not in control, their only legal action is to do nothing (noop)."
    """
    for state, moves in random_match(game, seed=3):
        if moves:
            waiting = "oplayer" if control(state) == "xplayer" else "xplayer"
            assert state.legal_moves(waiting) == ("noop",)
            assert "noop" not in state.legal_moves(control(state))


def test_a_line_is_marked_as_present(game: ggp.Game) -> None:
    """
    "Each drawn line updates the game state by marking that line as present."
    """
    drawn: set[str] = set()
    for state, moves in random_match(game, seed=4):
        assert {fact for fact in state.facts if fact.startswith("(line ")} == drawn
        drawn |= {move.replace("draw", "line") for move in moves.values() if move != "noop"}


@pytest.mark.parametrize("last", range(4))
def test_a_completed_box_belongs_to_who_completed_it(game: ggp.Game, last: int) -> None:
    """
    "When a drawn line completes the four sides of a box, that box is considered formed and attributed to the player
    who completed it."
    """
    sides = FIRST_BOX[last + 1 :] + FIRST_BOX[: last + 1]
    before = follow(game.initial_state, *sides[:3])
    assert boxes(before) == {"xplayer": 0, "oplayer": 0}
    state = follow(before, sides[3])
    assert "(box 1 1 oplayer)" in state.facts
    assert boxes(state) == {"xplayer": 0, "oplayer": 1}
    other = follow(game.initial_state, "(draw 5 5 6 5)", *sides)
    assert "(box 1 1 xplayer)" in other.facts
    assert boxes(other) == {"xplayer": 1, "oplayer": 0}


def test_every_box_can_be_formed(game: ggp.Game) -> None:
    """
    "When a drawn line completes the four sides of a box": of each of the 25 boxes, by each of its sides.
    """
    for x in range(1, 6):
        for y in range(1, 6):
            sides = [(x, y, x + 1, y), (x, y + 1, x + 1, y + 1), (x, y, x, y + 1), (x + 1, y, x + 1, y + 1)]
            for last in sides:
                lines = "".join("(line {} {} {} {})".format(*side) for side in sides if side != last)
                state = state_of(game, f"{lines} (control oplayer) (box_count xplayer 7) (box_count oplayer 3)")
                after = state.play({"oplayer": "(draw {} {} {} {})".format(*last)})
                assert {f for f in after.facts if f.startswith("(box ")} == {f"(box {x} {y} oplayer)"}
                assert {"(box_count xplayer 7)", "(box_count oplayer 4)", "(control oplayer)"} <= set(after.facts)


def test_one_stroke_can_close_two_boxes(game: ggp.Game) -> None:
    """
    "The player's box count increases accordingly, which can be one or two boxes if multiple boxes are formed
    simultaneously."
    """
    before = follow(game.initial_state, *FIRST_BOX[:3], *NEIGHBOUR)
    assert boxes(before) == {"xplayer": 0, "oplayer": 0}
    assert control(before) == "xplayer"
    state = follow(before, "(draw 2 1 2 2)")
    assert boxes(state) == {"xplayer": 2, "oplayer": 0}
    assert {"(box 1 1 xplayer)", "(box 2 1 xplayer)"} <= set(state.facts)
    assert control(state) == "xplayer"


def test_one_stroke_can_close_two_boxes_one_above_the_other(game: ggp.Game) -> None:
    """
    "which can be one or two boxes if multiple boxes are formed simultaneously": with a horizontal stroke too.
    """
    sides = ["(draw 4 4 5 4)", "(draw 4 4 4 5)", "(draw 5 4 5 5)", "(draw 4 5 4 6)", "(draw 5 5 5 6)", "(draw 4 6 5 6)"]
    state = follow(game.initial_state, "(draw 1 1 1 2)", *sides, "(draw 4 5 5 5)")
    assert boxes(state) == {"xplayer": 0, "oplayer": 2}
    assert {"(box 4 4 oplayer)", "(box 4 5 oplayer)", "(control oplayer)"} <= set(state.facts)


def test_a_completed_box_keeps_the_turn(game: ggp.Game) -> None:
    """
    "If any box is formed during a turn, the player retains control and takes another turn; otherwise, control passes
    to the opposing player."
    """
    state = follow(game.initial_state, *FIRST_BOX)
    assert control(state) == "oplayer"
    state = follow(state, *NEIGHBOUR[:1])
    assert control(state) == "xplayer"
    state = follow(state, *NEIGHBOUR[1:])
    assert boxes(state) == {"xplayer": 0, "oplayer": 2}
    assert control(state) == "oplayer"
    for seed in range(3):
        states = [state for state, _ in random_match(game, seed)]
        for before, after in pairwise(states):
            gained = boxes(after)[control(before)] - boxes(before)[control(before)]
            assert gained in (0, 1, 2)
            assert (control(after) == control(before)) == (gained > 0)


def test_lines_stay_inside_and_do_not_overlap(game: ggp.Game) -> None:
    """
    "The game enforces implicit constraints such as board boundaries by limiting lines to those connecting adjacent
    indices and prevents overlapping lines by disallowing drawing lines where one already exists."
    """
    state = game.initial_state
    for outside in ("(draw 6 6 7 6)", "(draw 0 1 1 1)", "(draw 6 6 6 7)", "(draw 1 0 1 1)"):
        assert refused_as(state, "xplayer", outside) == "unknown"
    state = follow(state, "(draw 1 1 1 2)")
    with pytest.raises(IllegalMoveError) as refused:
        state.play({"oplayer": "(draw 1 1 1 2)"})
    assert "(undrawn 1 1 1 2)" in refused.value.reason


def test_the_end(game: ggp.Game) -> None:
    """
    "The game ends when there are no undrawn lines left, signifying that all possible connections have been made."
    """
    for seed in (5, 6):
        *before, (end, _) = random_match(game, seed)
        assert len(before) == 60
        assert not any(state.is_terminal for state, _ in before)
        assert {fact for fact in end.facts if fact.startswith("(line ")} == {f"(line {line})" for line in SEGMENTS}
        assert sum(boxes(end).values()) == 25


def test_more_boxes_win(game: ggp.Game) -> None:
    """
    "Victory is determined by comparing the number of boxes each player has claimed: the player with the greater count
    wins, while a tie results in a win for oplayer."
    "Scores are assigned accordingly, granting 100 points for a win and zero for a loss."
    """
    lines = "".join(f"(line {line})" for line in SEGMENTS)
    for xs in range(26):
        for os in {xs - 1, xs, xs + 1, 25 - xs} & set(range(26)):
            end = state_of(game, f"{lines} (box_count xplayer {xs}) (box_count oplayer {os}) (control xplayer)")
            assert end.is_terminal
            assert end.goals == ({"xplayer": 100, "oplayer": 0} if xs > os else {"xplayer": 0, "oplayer": 100})


def test_winners_of_whole_matches(game: ggp.Game) -> None:
    """
    "the player with the greater count wins"
    """
    winners = set()
    for seed in range(5):
        end = play_out(game, seed)
        winner = max(ROLES, key=boxes(end).__getitem__)
        winners.add(winner)
        assert end.goals == {role: 100 if role == winner else 0 for role in ROLES}
    assert winners == set(ROLES)


@pytest.mark.parametrize("taker", ROLES)
def test_every_count_of_boxes_is_reached(game: ggp.Game, taker: str) -> None:
    """
    "The player's box count increases accordingly": up to all 25 boxes, as `base` says.
    """
    counts = {boxes(state)[taker] for seed in range(2) for state in one_sided_match(game, taker, seed)}
    assert counts == set(range(26))


def test_order_of_the_indices(game: ggp.Game) -> None:
    """
    "Throughout, the game maintains a logical sequence for indices to assess adjacency and progression, ensuring
    consistent and valid moves within the grid structure."
    """
    for state, moves in random_match(game, seed=7):
        for role in moves:
            for move in set(state.legal_moves(role)) - {"noop"}:
                x1, y1, x2, y2 = map(int, move.strip("()").split()[1:])
                assert (x2 - x1, y2 - y1) in ((0, 1), (1, 0))

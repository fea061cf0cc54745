"""Games: hidden information and chance, sentence by sentence of the prose in their metadata.

A match is followed by a few lines of Python for each game, which say what is legal, what is told, and who wins.
"""

from collections.abc import Callable, Iterator
from itertools import product
from random import Random

import pytest

import ggp
from ggp.gdl.reader import read_term
from ggp.gdl.terms import to_text

Moves = dict[str, str]
MATCHES = 25
OTHER = {"first": "second", "second": "first", "left": "right", "right": "left", "x": "o", "o": "x"}
RANKS = ("jack", "queen", "king")


def match(name: str, seed: int) -> Iterator[tuple[ggp.State, Moves, dict[str, set[str]]]]:
    """States of a random match with the joint move and what each role is told; the last one with neither."""
    game, random = ggp.load(name, "interpreter"), Random(seed)
    state = game.initial_state
    while not state.is_terminal:
        moves = {role: random.choice(state.legal_moves(role)) for role in game.roles}
        joint = tuple(read_term(moves[role]) for role in game.roles)
        told = {role: set(map(to_text, game.machine.percepts(state.terms, joint, role))) for role in game.roles}
        yield state, moves, told
        state = state.play(moves)
    yield state, {}, {}


def words(text: str) -> list[str]:
    return text.replace("(", " ").replace(")", " ").split()


def played(name: str, check: Callable[[list[tuple[ggp.State, Moves, dict[str, set[str]]]]], None]) -> None:
    for seed in range(MATCHES):
        check(list(match(name, seed)))


@pytest.mark.parametrize(("even", "odd"), list(product(("heads", "tails"), repeat=2)))
def test_matching_pennies(even: str, odd: str) -> None:
    """
    "Two roles each show heads or tails, at the same step. The role even wins if both sides are the same, odd if they
    differ."
    """
    state = ggp.load("matchingpennies", "interpreter").initial_state
    assert state.legal_moves("even") == state.legal_moves("odd") == ("(show heads)", "(show tails)")
    after = state.play({"even": f"(show {even})", "odd": f"(show {odd})"})
    assert after.is_terminal
    assert after.goals == ({"even": 100, "odd": 0} if even == odd else {"even": 0, "odd": 100})


@pytest.mark.parametrize(("left", "right"), list(product(("paper", "rock", "scissors"), repeat=2)))
def test_rock_paper_scissors(left: str, right: str) -> None:
    """
    "Two roles choose rock, paper or scissors at the same step. Rock beats scissors, scissors beat paper, paper beats
    rock; the same twice is a draw."
    """
    state = ggp.load("rockpaperscissors", "interpreter").initial_state
    assert state.legal_moves("left") == ("paper", "rock", "scissors")
    after = state.play({"left": left, "right": right})
    assert after.is_terminal
    beats = {("rock", "scissors"), ("scissors", "paper"), ("paper", "rock")}
    value = 50 if left == right else 100 * ((left, right) in beats)
    assert after.goals == {"left": value, "right": 100 - value}


def test_monty_hall() -> None:
    """
    "A car is behind one of three doors. The candidate chooses a door; the host opens another one that has no car; then
    the candidate may stay or switch to the door that is left."
    """

    def check(steps: list[tuple[ggp.State, Moves, dict[str, set[str]]]]) -> None:
        (_, hiding, _), (choosing, chosen, _), (opening, opened, told), (deciding, decided, _), (end, _, _) = steps
        car, choice, door = (words(move)[1] for move in (hiding["random"], chosen["candidate"], opened["random"]))
        assert choosing.legal_moves("candidate") == ("(choose 1)", "(choose 2)", "(choose 3)")
        free = {each for each in "123" if each not in (car, choice)}
        assert set(opening.legal_moves("random")) == {f"(open {each})" for each in free}
        assert told["candidate"] == {f"(opened {door})"}
        assert deciding.legal_moves("candidate") == ("stay", "switch")
        (rest,) = {each for each in "123" if each not in (door, choice)}
        mine = choice if decided["candidate"] == "stay" else rest
        assert end.goals["candidate"] == 100 * (mine == car)
        assert [step[2]["candidate"] for step in steps if step[1] and step[2] is not told] == [set()] * 3

    played("montyhall", check)


def test_kuhn_poker() -> None:
    """
    "Three cards, jack, queen and king; each of two roles is dealt one and pays one chip. The first may pass or bet a
    chip, the second answers, and the first answers a bet after its own pass. To pass against a bet is to fold;
    otherwise the higher card wins."
    """

    def check(steps: list[tuple[ggp.State, Moves, dict[str, set[str]]]]) -> None:
        (start, dealt, told), *rest = steps
        assert len(start.legal_moves("random")) == 6
        _, first, second = words(dealt["random"])
        assert told["first"] == {f"(dealt {first})"}
        assert told["second"] == {f"(dealt {second})"}
        line = []
        for number, (state, moves, seen) in enumerate(rest[:-1]):
            on_turn = ("first", "second", "first")[number]
            assert state.legal_moves(on_turn) == ("bet", "pass")
            assert state.legal_moves(OTHER[on_turn]) == ("noop",)
            line.append(moves[on_turn])
            assert seen["first"] == seen["second"] == {f"(did {on_turn} {line[-1]})"}
        end = rest[-1][0]
        higher = "first" if RANKS.index(first) > RANKS.index(second) else "second"
        winner, chips = {
            ("pass", "pass"): (higher, 1),
            ("bet", "pass"): ("first", 1),
            ("bet", "bet"): (higher, 2),
            ("pass", "bet", "pass"): ("second", 1),
            ("pass", "bet", "bet"): (higher, 2),
        }[tuple(line)]
        assert end.goals == {winner: 50 + 25 * chips, OTHER[winner]: 50 - 25 * chips, "random": 0}

    played("kuhnpoker", check)


def test_leduc_poker() -> None:
    """
    "Six cards, a jack, a queen and a king in two suits. Each of two roles pays a chip and is dealt a card; after a
    round of betting a common card is shown, and a second round follows. A pair with the common card wins, else the
    higher card. Raises are 2 chips in the first round and 4 in the second, two at most in each."
    """

    def check(steps: list[tuple[ggp.State, Moves, dict[str, set[str]]]]) -> None:
        (start, dealt, told), *rest = steps
        assert len(start.legal_moves("random")) == 30
        cards = dict(zip(("first", "second"), words(dealt["random"])[1:], strict=True))
        assert all(told[role] == {f"(dealt {cards[role]})"} for role in cards)
        paid, on_turn, raises, spoken, size, common = {"first": 1, "second": 1}, "first", 0, False, 2, ""
        folded, is_closed = "", False
        for state, moves, seen in rest[:-1]:
            assert is_closed == (moves["random"] != "noop")
            if is_closed:
                _, common = words(moves["random"])
                assert len(state.legal_moves("random")) == 4
                assert common not in cards.values()
                assert seen["first"] == seen["second"] == {f"(common {common})"}
                on_turn, raises, spoken, size, is_closed = "first", 0, False, 4, False
                continue
            rival, move = OTHER[on_turn], moves[on_turn]
            legal = {"call"}
            legal |= {"fold"} if paid[rival] > paid[on_turn] else set()
            legal |= {"raise"} if raises < 2 else set()
            assert set(state.legal_moves(on_turn)) == legal
            assert state.legal_moves(rival) == ("noop",)
            assert seen["first"] == seen["second"] == {f"(did {on_turn} {move})"}
            if move == "raise":
                paid[on_turn], raises = paid[rival] + size, raises + 1
            elif move == "call":
                paid[on_turn] = paid[rival]
            else:
                folded = on_turn
            is_closed = move == "call" and spoken
            on_turn, spoken = rival, True
        end = rest[-1][0]

        def strength(role: str) -> tuple[bool, int]:
            rank = cards[role].split("_")[0]
            return rank == common.split("_")[0], RANKS.index(rank)

        if folded:
            winner = OTHER[folded]
        elif strength("first") == strength("second"):
            assert end.goals == {"first": 50, "second": 50, "random": 0}
            return
        else:
            winner = max(("first", "second"), key=strength)
        chips = paid[OTHER[winner]]
        assert end.goals == {winner: 50 + 3 * chips, OTHER[winner]: 50 - 3 * chips, "random": 0}

    played("leducpoker", check)


def test_liars_dice() -> None:
    """
    "Each of two roles rolls one die and sees only its own. In turn they bid on how many of the two dice show a face,
    each bid higher than the one before, or call the other one a liar. Sixes are wild. If the last bid is true its
    bidder wins, else the caller."
    """

    def check(steps: list[tuple[ggp.State, Moves, dict[str, set[str]]]]) -> None:
        (start, rolled, told), *rest = steps
        assert len(start.legal_moves("random")) == 36
        dice = dict(zip(("first", "second"), map(int, words(rolled["random"])[1:]), strict=True))
        assert all(told[role] == {f"(rolled {dice[role]})"} for role in dice)
        bid, on_turn = (0, 0), "first"
        for state, moves, seen in rest[:-1]:
            higher = {each for each in product((1, 2), range(1, 7)) if each > bid}
            legal = {f"(bid {count} {face})" for count, face in higher} | ({"liar"} if bid > (0, 0) else set())
            assert set(state.legal_moves(on_turn)) == legal
            assert state.legal_moves(OTHER[on_turn]) == ("noop",)
            assert seen["first"] == seen["second"] == {f"(did {on_turn} {moves[on_turn]})"}
            if moves[on_turn] != "liar":
                bid = (int(words(moves[on_turn])[1]), int(words(moves[on_turn])[2]))
                on_turn = OTHER[on_turn]
        is_true = sum(die in (bid[1], 6) for die in dice.values()) >= bid[0]
        assert rest[-1][0].goals == {on_turn: 100 * (not is_true), OTHER[on_turn]: 100 * is_true, "random": 0}

    played("liarsdice", check)


@pytest.mark.parametrize("name", ["goofspiel", "hiddengoofspiel"])
def test_goofspiel(name: str) -> None:
    """
    "Prizes of 1 to 4 points are shown one by one in random order. For each, two roles bid one of their cards 1 to 4 at
    the same step; the higher card takes the prize, and each card is used once." "All see the bids." Or: "The bids stay
    hidden: roles are told who takes the prize, or that nobody does." "Whoever has more points wins."
    """

    def check(steps: list[tuple[ggp.State, Moves, dict[str, set[str]]]]) -> None:
        prizes, points = set("1234"), {"left": 0, "right": 0}
        hands = {"left": set("1234"), "right": set("1234")}
        prize = ""
        for number, (state, moves, told) in enumerate(steps[:-1]):
            if number % 2 == 0:
                assert set(state.legal_moves("random")) == {f"(show {each})" for each in prizes}
                prize = words(moves["random"])[1]
                prizes.remove(prize)
                news = {f"(prize {prize})"}
            else:
                bids = {role: words(moves[role])[1] for role in hands}
                for role, hand in hands.items():
                    assert set(state.legal_moves(role)) == {f"(bid {card})" for card in hand}
                    hand.remove(bids[role])
                taker = max(bids, key=lambda role: bids[role]) if bids["left"] != bids["right"] else None
                news = {f"(won {taker} {prize})"} if taker else {f"(tied {prize})"}
                if taker:
                    points[taker] += int(prize)
            if name == "hiddengoofspiel":
                assert told["left"] == told["right"] == news
            else:
                assert told["left"] == set(moves.values())
        value = 50 * ((points["left"] > points["right"]) - (points["left"] < points["right"]))
        assert steps[-1][0].goals == {"left": 50 + value, "right": 50 - value, "random": 0}

    played(name, check)


def lines(marks: dict[tuple[int, int], str], role: str) -> bool:
    cells = {cell for cell, owner in marks.items() if owner == role}
    three = [{(row, column) for column in (1, 2, 3)} for row in (1, 2, 3)]
    three += [{(row, column) for row in (1, 2, 3)} for column in (1, 2, 3)]
    three += [{(1, 1), (2, 2), (3, 3)}, {(1, 3), (2, 2), (3, 1)}]
    return any(line <= cells for line in three)


def joins(marks: dict[tuple[int, int], str], role: str) -> bool:
    """From the first row, for o column, to the last one over neighbours of the hexagonal board."""
    axis = 0 if role == "x" else 1
    reached = {cell for cell, owner in marks.items() if owner == role and cell[axis] == 1}
    waiting = list(reached)
    while waiting:
        row, column = waiting.pop()
        for near in ((0, 1), (1, 0), (1, -1), (0, -1), (-1, 0), (-1, 1)):
            cell = (row + near[0], column + near[1])
            if marks.get(cell) == role and cell not in reached:
                reached.add(cell)
                waiting.append(cell)
    return any(cell[axis] == 3 for cell in reached)


@pytest.mark.parametrize(("name", "wins"), [("phantomtictactoe", lines), ("darkhex", joins)])
def test_phantom_games(name: str, wins: Callable[[dict[tuple[int, int], str], str], bool]) -> None:
    """
    "Tic-tac-toe in which neither role sees the marks of the other. Whoever tries a cell that is taken is told so and
    tries again; the first line of three wins, and a full board without a line is a draw."
    "Hex on 3 by 3 cells in which neither role sees the stones of the other. Whoever tries a cell that is taken is told
    so and tries again. x joins the top row with the bottom row, o the left column with the right one; there is no
    draw."
    """

    def check(steps: list[tuple[ggp.State, Moves, dict[str, set[str]]]]) -> None:
        marks: dict[tuple[int, int], str] = {}
        known: dict[str, set[tuple[int, int]]] = {"x": set(), "o": set()}
        on_turn = "x"
        for state, moves, told in steps[:-1]:
            free = set(product((1, 2, 3), repeat=2)) - known[on_turn]
            assert set(state.legal_moves(on_turn)) == {f"(mark {row} {column})" for row, column in free}
            assert state.legal_moves(OTHER[on_turn]) == ("noop",)
            assert not wins(marks, "x")
            assert not wins(marks, "o")
            cell = (int(words(moves[on_turn])[1]), int(words(moves[on_turn])[2]))
            known[on_turn].add(cell)
            failed = cell in marks
            following = on_turn if failed else OTHER[on_turn]
            assert told[on_turn] == {f"(turn {following})"} | ({"failed"} if failed else set())
            assert told[OTHER[on_turn]] == {f"(turn {following})"}
            marks.setdefault(cell, on_turn)
            on_turn = following
        end = steps[-1][0]
        winner = next((role for role in ("x", "o") if wins(marks, role)), None)
        if winner is None:
            assert name == "phantomtictactoe"
            assert len(marks) == 9
            assert end.goals == {"x": 50, "o": 50}
        else:
            assert end.goals == {winner: 100, OTHER[winner]: 0}

    played(name, check)


def test_blind_tic_tac_toe() -> None:
    """
    "Tic-tac-toe in which both roles mark at once and neither sees the marks of the other. A mark in a cell that is
    taken fails; if both mark the same free cell, a coin decides whose it is. A role is told when it has failed, and
    nothing else. A line of three wins, two lines in the same step or a full board without a line are a draw."
    """
    seen: set[tuple[int, int]] = set()

    def check(steps: list[tuple[ggp.State, Moves, dict[str, set[str]]]]) -> None:
        marks: dict[tuple[int, int], str] = {}
        known: dict[str, set[tuple[int, int]]] = {"x": set(), "o": set()}
        for state, moves, told in steps[:-1]:
            assert not lines(marks, "x")
            assert not lines(marks, "o")
            assert len(marks) < 9
            assert state.legal_moves("random") == ("(toss o)", "(toss x)")
            cells = {role: (int(words(moves[role])[1]), int(words(moves[role])[2])) for role in ("x", "o")}
            (winner,) = words(moves["random"])[1:]
            before = dict(marks)
            for role, cell in cells.items():
                free = set(product((1, 2, 3), repeat=2)) - known[role]
                assert set(state.legal_moves(role)) == {f"(mark {row} {column})" for row, column in free}
                known[role].add(cell)
                is_lost = cells["x"] == cells["o"] and role != winner
                assert told[role] == ({"failed"} if cell in before or is_lost else set())
                if cell not in before and not is_lost:
                    marks[cell] = role
        end = steps[-1][0]
        won = {role: lines(marks, role) for role in ("x", "o")}
        assert any(won.values()) or len(marks) == 9
        value = 50 + 50 * (won["x"] - won["o"])
        assert end.goals == {"x": value, "o": 100 - value, "random": 0}
        seen.add((won["x"], won["o"]))

    for seed in range(120):
        check(list(match("blindtictactoe", seed)))
    assert seen == {(True, False), (False, True), (True, True), (False, False)}

"""Games: more with hidden information or chance, sentence by sentence of the prose in their metadata."""

from collections import Counter
from functools import cache
from itertools import product

import ggp
from ggp.library import find_rulesheet, read_metadata
from tests.games.test_hidden_games import OTHER, Moves, played, words

Steps = list[tuple[ggp.State, Moves, dict[str, set[str]]]]


def test_pig() -> None:
    """
    "A race to 20 points with one die. The role on turn rolls as often as it likes and adds up the faces, or holds and
    keeps what it has added; a 1 loses the points of the turn and passes it on. After 30 turns who has more points
    wins."
    """

    def check(steps: Steps) -> None:
        scores, points, on_turn, turns, rolling, winner = {"first": 0, "second": 0}, 0, "first", 1, False, ""
        for state, moves, _ in steps[:-1]:
            assert turns <= 30
            if rolling:
                assert state.legal_moves("random") == tuple(f"(die {face})" for face in range(1, 7))
                assert state.legal_moves("first") == state.legal_moves("second") == ("noop",)
                face, rolling = int(words(moves["random"])[1]), False
                points = 0 if face == 1 else points + face
                on_turn, turns = (OTHER[on_turn], turns + 1) if face == 1 else (on_turn, turns)
                continue
            is_enough = scores[on_turn] + points >= 20
            assert state.legal_moves(on_turn) == (("hold",) if is_enough else ("hold", "roll"))
            assert state.legal_moves(OTHER[on_turn]) == ("noop",)
            if moves[on_turn] == "roll":
                rolling = True
                continue
            winner = on_turn if is_enough else ""
            scores[on_turn] += 0 if is_enough else points
            on_turn, points, turns = OTHER[on_turn], 0, turns + 1
        if not winner:
            assert turns == 31
            winner = "" if scores["first"] == scores["second"] else max(scores, key=lambda role: scores[role])
        goals = {winner: 100, OTHER[winner]: 0} if winner else dict.fromkeys(scores, 50)
        assert steps[-1][0].goals == goals | {"random": 0}

    played("pig", check)


def test_mastermind() -> None:
    """
    "One role looks for a hidden code of three pegs in four colours. After each of five tries it is told how many pegs
    are right in colour and place, and how many more are right in colour only. The sooner it is found, the more it is
    worth."
    """

    def check(steps: Steps) -> None:
        start, hiding, told = steps[0]
        assert len(start.legal_moves("random")) == 64
        assert told["guesser"] == set()
        code, value = words(hiding["random"])[1:], 0
        for number, (state, moves, seen) in enumerate(steps[1:-1]):
            assert len(state.legal_moves("guesser")) == 64
            guess = words(moves["guesser"])[1:]
            right = sum(map(str.__eq__, guess, code))
            total = sum((Counter(guess) & Counter(code)).values())
            assert seen["guesser"] == {f"(right {right})", f"(near {total - right})"}
            value = 100 - 20 * number if guess == code else 0
        assert value or len(steps) == 7
        assert steps[-1][0].goals["guesser"] == value

    played("mastermind", check)
    state = ggp.load("mastermind", "interpreter").initial_state
    state = state.play({"random": "(hide red red blue)"}).play({"guesser": "(guess red red blue)"})
    assert state.is_terminal
    assert state.goals["guesser"] == 100


def test_battleship() -> None:
    """
    "Each of two roles hides a ship of two cells on its own 4 by 4 cells, then both shoot at a cell of the other at the
    same step. A role sees whether it has hit, and where the other one has shot. Who first hits both cells of the ship
    wins."
    """

    def check(steps: Steps) -> None:
        start, placing, told = steps[0]
        assert told == {"left": set(), "right": set()}
        ships = {}
        for role in ("left", "right"):
            assert len(start.legal_moves(role)) == 24
            _, row, column, way = words(placing[role])
            ships[role] = {(int(row), int(column)), (int(row) + (way == "down"), int(column) + (way == "across"))}
        shots: dict[str, set[tuple[int, int]]] = {"left": set(), "right": set()}
        for state, moves, seen in steps[1:-1]:
            assert not any(ships[role] <= shots[OTHER[role]] for role in ships)
            for role, own in shots.items():
                free = set(product(range(1, 5), repeat=2)) - own
                assert set(state.legal_moves(role)) == {f"(shoot {row} {column})" for row, column in free}
            cells = {role: (int(words(moves[role])[1]), int(words(moves[role])[2])) for role in shots}
            for role, cell in cells.items():
                shots[role].add(cell)
                at = cells[OTHER[role]]
                hit = {"hit"} if cell in ships[OTHER[role]] else set()
                assert seen[role] == {f"(shot_at {at[0]} {at[1]})"} | hit
        sinks = {role: ships[OTHER[role]] <= shots[role] for role in ships}
        assert any(sinks.values())
        goals = {role: 50 if all(sinks.values()) else 100 * sinks[role] for role in sinks}
        assert steps[-1][0].goals == goals

    played("battleship", check)


def test_auction() -> None:
    """
    "Three cards are sold one after the other. Chance draws what a card is worth to each of two roles, 1 to 3, which
    each sees for itself; both bid 0 to 3 at the same step. The higher bid takes the card and pays what it has bid."
    """

    def check(steps: Steps) -> None:
        assert len(steps) == 7
        gains, worth = {"left": 0, "right": 0}, {"left": 0, "right": 0}
        for number, (state, moves, told) in enumerate(steps[:-1]):
            if number % 2 == 0:
                assert len(state.legal_moves("random")) == 9
                worth = dict(zip(("left", "right"), map(int, words(moves["random"])[1:]), strict=True))
                assert all(told[role] == {f"(own {worth[role]})"} for role in worth)
                continue
            bids = {role: int(words(moves[role])[1]) for role in gains}
            for role in gains:
                assert state.legal_moves(role) == tuple(f"(bid {bid})" for bid in range(4))
                assert told[role] == {f"(offer {each} {bid})" for each, bid in bids.items()}
            if bids["left"] != bids["right"]:
                taker = max(bids, key=lambda role: bids[role])
                gains[taker] += worth[taker] - bids[taker]
        lead = gains["left"] - gains["right"]
        assert steps[-1][0].goals == {"left": 50 + 5 * lead, "right": 50 - 5 * lead, "random": 0}

    played("auction", check)


VALUES = tuple(min(rank, 10) for rank in range(1, 14))


def total(hand: int, has_ace: bool) -> int:
    """Of cards whose sum is `hand` with aces as 1."""
    return hand + 10 if has_ace and hand < 12 else hand


@cache
def dealer_ends(hand: int, has_ace: bool) -> dict[int, float]:
    """What the dealer comes to, 0 above 21, and how probable it is."""
    found = total(hand, has_ace)
    if found >= 17:
        return {found if found <= 21 else 0: 1.0}
    ends: dict[int, float] = {}
    for value in VALUES:
        for end, weight in dealer_ends(hand + value, has_ace or value == 1).items():
            ends[end] = ends.get(end, 0.0) + weight / 13
    return ends


@cache
def best_value(hand: int, has_ace: bool, shown: int) -> float:
    """Of a player that sees one card of the dealer and plays as well as possible."""
    if hand > 21:
        return 0.0
    own, stand = total(hand, has_ace), 0.0
    for hidden in VALUES:
        for end, weight in dealer_ends(shown + hidden, 1 in {shown, hidden}).items():
            stand += weight / 13 * (100 if end < own else 50 if end == own else 0)
    hit = sum(best_value(hand + value, has_ace or value == 1, shown) for value in VALUES) / 13
    return max(stand, hit)


def test_blackjack() -> None:
    """
    "The card game for one role against the house. The player and the dealer get two cards each; the player does not
    see the second card of the dealer. An ace counts 11 where that does not exceed 21, else 1; jack, queen and king
    count 10. The player hits for another card as often as it likes, or stands; above 21 it has lost. Then the dealer
    draws up to 17 or more. The higher sum wins; above 21 the dealer loses, and equal sums are a draw."
    """

    def check(steps: Steps) -> None:
        hands: dict[str, list[int]] = {"player": [], "dealer": []}
        order = ["player", "dealer", "player", "dealer"]

        def count(hand: str) -> int:
            cards = [min(rank, 10) for rank in hands[hand]]
            return total(sum(cards), 1 in cards)

        stands = False
        for number, (state, moves, told) in enumerate(steps[:-1]):
            dealt = moves["random"] != "noop"
            assert dealt != (state.legal_moves("player") == ("hit", "stand"))
            assert count("player") <= 21
            if dealt:
                assert not stands or count("dealer") < 17
                assert len(state.legal_moves("random")) == 13
                assert state.legal_moves("player") == ("noop",)
                hand = order[number] if number < 4 else "dealer" if stands else "player"
                hands[hand].append(int(words(moves["random"])[1]))
                assert told["player"] == (set() if number == 3 else {f"(card {hand} {hands[hand][-1]})"})
            else:
                stands = moves["player"] == "stand"
                assert told["player"] == ({f"(card dealer {hands['dealer'][1]})"} if stands else set())
        lost = count("player") > 21
        assert lost or (stands and count("dealer") >= 17)
        ends = count("dealer") if count("dealer") <= 21 else 0
        value = 0 if lost else 100 if count("player") > ends else 50 if count("player") == ends else 0
        assert steps[-1][0].goals == {"player": value, "random": 0}

    played("blackjack", check)
    starts = [best_value(one + two, 1 in {one, two}, shown) for one, two, shown in product(VALUES, repeat=3)]
    assert read_metadata(find_rulesheet("blackjack")).truths["value"].startswith(f"{sum(starts) / 13**3:.2f} ")


def test_blind_breakthrough() -> None:
    """
    "Breakthrough on 5 by 5 cells in which neither role sees the men of the other. Men go one row ahead, straight or
    diagonally, and capture diagonally only. A move straight ahead onto a man of the other role fails: the role is told
    so and tries another move. Whoever loses a man is told where, and the other that it has captured. The first man in
    the farthest row wins, or the capture of the last man."
    """
    other = {"white": "black", "black": "white"}

    def check(steps: Steps) -> None:
        men = {
            "white": set(product((1, 2), range(1, 6))),
            "black": set(product((4, 5), range(1, 6))),
        }
        on_turn, blocked = "white", set[tuple[int, int]]()
        for state, moves, told in steps[:-1]:
            rest, ahead = other[on_turn], 1 if on_turn == "white" else -1
            assert all(men.values())
            assert not any(row == 5 for row, _ in men["white"])
            assert not any(row == 1 for row, _ in men["black"])
            legal = {
                f"(move {row} {column} {row + ahead} {to})"
                for row, column in men[on_turn]
                for to in range(max(1, column - 1), min(5, column + 1) + 1)
                if (row + ahead, to) not in men[on_turn] and not (to == column and (row, column) in blocked)
            }
            assert set(state.legal_moves(on_turn)) == legal
            assert state.legal_moves(rest) == ("noop",)
            row, column, onto, to = map(int, words(moves[on_turn])[1:])
            if column == to and (onto, to) in men[rest]:
                blocked.add((row, column))
                assert told == {on_turn: {f"(turn {on_turn})", "failed"}, rest: {f"(turn {on_turn})"}}
                continue
            lost = {(onto, to)} & men[rest]
            men[rest] -= lost
            men[on_turn] = men[on_turn] - {(row, column)} | {(onto, to)}
            assert told[on_turn] == {f"(turn {rest})"} | ({"captured"} if lost else set())
            assert told[rest] == {f"(turn {rest})"} | {f"(lost {x} {y})" for x, y in lost}
            on_turn, blocked = rest, set()
        winner = other[on_turn]
        assert not men[on_turn] or any(row == (5 if winner == "white" else 1) for row, _ in men[winner])
        assert steps[-1][0].goals == {winner: 100, on_turn: 0}

    played("blindbreakthrough", check)

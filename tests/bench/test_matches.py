"""Pairs of matches, and the file that keeps them."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from ggp.errors import GgpError, SettingsError
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.gdl.state_machine import Facts, JointMove
from ggp.gdl.terms import Term, to_text
from ggp.interpreter import Interpreter
from tests.bench.bridge import read_rulesheet
from tests.bench.contenders import Choice, Limit, RandomContender, make_contender
from tests.bench.matches import Arena, ArenaSettings, Effort, Outcome, pair_scores, play_matches
from tests.bench.records import Record
from tests.bench.scores import Sprt

RULES = read_rulesheet("tictactoe")
MACHINE = Interpreter(RULES)
THREE = parse_rulesheet(
    """(role a) (role b) (role c) (init begin) (<= (legal ?r high) (role ?r)) (<= (legal ?r low) (role ?r))
    (<= (next (said ?r ?m)) (does ?r ?m)) (<= terminal (not (true begin)))
    (<= (other ?r) (true (said ?r ?m)) (true (said ?s ?m)) (distinct ?r ?s))
    (<= (goal ?r 90) (role ?r) (not (other ?r))) (<= (goal ?r 30) (other ?r))""",
    "a test",
)
SETTINGS = ArenaSettings("tictactoe", ("one", "other"), visits=10, seed=3)


class Scripted:
    """Takes the first or the last legal move, or none, and notes what it is told."""

    def __init__(self, at: int | None) -> None:
        self.at = at
        self.roles: list[str] = []
        self.told: list[JointMove] = []

    def new_match(self, role: str, seed: int) -> None:
        self.roles.append(role)
        self.told = []

    def choose(self, state: Facts, legal: tuple[Term, ...], limit: Limit) -> Choice:
        assert len(legal) > 1
        assert limit == Limit(visits=10)
        return Choice(None if self.at is None else legal[self.at], 10, 10)

    def advance(self, joint_move: JointMove) -> None:
        self.told.append(joint_move)


class Cheat(Scripted):
    def choose(self, state: Facts, legal: tuple[Term, ...], limit: Limit) -> Choice:
        return Choice("cheat")


def play(arena: Arena, matches: int, sprt: Sprt | None = None, earlier: Sequence[Outcome] = ()) -> list[Outcome]:
    return [*earlier, *play_matches(arena, earlier, matches, sprt)]


def test_the_contenders_swap_roles_within_a_pair() -> None:
    first, last = Scripted(0), Scripted(-1)
    outcomes = play(Arena(MACHINE, ([first], [last]), SETTINGS), 4)
    assert [(outcome.pair, outcome.roles) for outcome in outcomes] == [(0, (0,)), (0, (1,)), (1, (0,)), (1, (1,))]
    assert first.roles == ["xplayer", "oplayer"] * 2
    assert last.roles == ["oplayer", "xplayer"] * 2
    # x 11, o 33, x 12, o 32, x 13 is a line of x; and so is 33, 32, 31 of the other one
    assert outcomes[0].steps == (
        "(mark 1 1) noop",
        "noop (mark 3 3)",
        "(mark 1 2) noop",
        "noop (mark 3 2)",
        "(mark 1 3) noop",
    )
    assert [outcome.score for outcome in outcomes] == [1.0, 0.0, 1.0, 0.0]
    assert pair_scores(outcomes[:3]) == [0.5]
    assert tuple(" ".join(map(to_text, step)) for step in first.told) == outcomes[3].steps
    assert outcomes[0].efforts[0].moves == 3
    assert outcomes[0].efforts[0].playouts == 30
    assert outcomes[0].efforts[1].moves == 2


def test_a_seed_gives_the_same_matches_again() -> None:
    def once(seed: int) -> list[Outcome]:
        contenders = ([make_contender("uct:exploration=0.5", RULES)], [make_contender("random", RULES)])
        outcomes = play(
            Arena(MACHINE, contenders, ArenaSettings("tictactoe", ("uct", "random"), visits=5, seed=seed)), 4
        )
        return [Outcome(each.pair, each.roles, each.score, each.steps, (Effort(), Effort())) for each in outcomes]

    assert once(1) == once(1)
    assert once(1) != once(2)


def test_both_matches_of_a_pair_have_the_same_opening() -> None:
    settings = ArenaSettings("tictactoe", ("one", "other"), visits=10, seed=1, opening=3)
    outcomes = play(Arena(MACHINE, ([Scripted(0)], [Scripted(-1)]), settings), 8)
    openings = [outcome.steps[:3] for outcome in outcomes]
    assert openings[::2] == openings[1::2]
    assert len(set(openings)) == 4
    with pytest.raises(SettingsError, match="longer than 9"):
        play(Arena(MACHINE, ([Scripted(0)], [Scripted(-1)]), ArenaSettings("", ("", ""), visits=10, opening=9)), 1)


def test_who_has_no_answer_plays_at_random_and_who_cheats_is_found_out() -> None:
    outcome = Arena(MACHINE, ([Scripted(None)], [Scripted(0)]), SETTINGS).play(0, 0)
    assert outcome.efforts[0].unanswered == outcome.efforts[0].moves > 0
    assert outcome.efforts[1].unanswered == 0
    with pytest.raises(GgpError, match="other chose cheat"):
        Arena(MACHINE, ([Scripted(0)], [Cheat(0)]), SETTINGS).play(0, 0)


def test_the_test_stops_the_matches() -> None:
    arena = Arena(MACHINE, ([RandomContender()], [RandomContender()]), SETTINGS)
    assert 2 <= len(play(arena, 400, Sprt(-800, 800))) < 100
    assert len(play(arena, 3, Sprt(0, 1))) == 3


def test_games_of_one_role_are_refused() -> None:
    machine = Interpreter(parse_rulesheet("(role alone) (legal alone wait) (<= (next won) (true started))", "a test"))
    with pytest.raises(SettingsError, match="has 1"):
        Arena(machine, ([], []), SETTINGS)


def test_with_three_roles_each_side_has_one_of_them_and_two_in_turn() -> None:
    machine = Interpreter(THREE)
    ones, others = [Scripted(0), Scripted(0)], [Scripted(-1), Scripted(-1)]
    settings = ArenaSettings("three", ("one", "other"), visits=10)
    outcomes = play(Arena(machine, (ones, others), settings), 6)
    assert [outcome.roles for outcome in outcomes] == [(0,), (1, 2), (1,), (0, 2), (2,), (0, 1)]
    assert ones[0].roles == ["a", "b", "b", "a", "c", "a"]
    assert ones[1].roles == ["c", "c", "b"]
    # a, b and c say high or low; 90 for who is alone, or 30 for each of them
    assert [outcome.score for outcome in outcomes] == [1.0, 0.0] * 3
    assert outcomes[1].efforts[0].moves == 2


def test_a_record_goes_on_where_it_was_cut_off(tmp_path: Path) -> None:
    arena = Arena(MACHINE, ([RandomContender()], [RandomContender()]), SETTINGS)
    record = Record(tmp_path / "matches.jsonl", SETTINGS)
    assert record.open() == ()
    outcomes = play(arena, 5)
    for outcome in outcomes[:3]:
        record.add(outcome)
    record.path.write_text(record.path.read_text()[:-10])
    found = record.open()
    assert list(found) == outcomes[:2]
    for outcome in play(arena, 5, None, found)[2:]:
        record.add(outcome)
    again = record.open()
    assert [each.steps for each in again] == [each.steps for each in outcomes]


def test_a_record_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "matches.jsonl"
    Record(path, SETTINGS).open()
    with pytest.raises(SettingsError, match="other settings"):
        Record(path, ArenaSettings("reversi", ("one", "other"))).open()
    path.write_text("something\n")
    with pytest.raises(SettingsError, match="no record"):
        Record(path, SETTINGS).open()


def test_a_contender_of_another_checkout_plays_in_a_process_of_its_own() -> None:
    checkout = f"checkout:{Path(__file__).parents[2]}"
    sides = ([make_contender(f"{checkout}:uct:exploration=0.5", RULES)], [make_contender(f"{checkout}:random", RULES)])
    settings = ArenaSettings("tictactoe", ("uct", "random"), visits=5, seed=1)
    outcomes = play(Arena(MACHINE, sides, settings), 2)
    own = [make_contender("uct:exploration=0.5", RULES)], [make_contender("random", RULES)]
    assert [outcome.steps for outcome in outcomes] == [
        outcome.steps for outcome in play(Arena(MACHINE, own, settings), 2)
    ]
    assert outcomes[0].efforts[0].playouts == 5 * outcomes[0].efforts[0].moves
    with pytest.raises(GgpError, match="has stopped"):
        make_contender(f"{checkout}:unknown", RULES)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("checkout:nowhere:random", "no checkout"),
        ("nobody", "no contender"),
        ("random:luck=1", "no setting"),
        ("uct:exploration=much", "cannot be 'much'"),
        ("mcts:decisive_moves=much", "cannot be 'much'"),
        ("mcts:decisive_moves=3", "0, 1 or 2"),
    ],
)
def test_texts_that_describe_no_contender_are_refused(text: str, complaint: str) -> None:
    with pytest.raises(SettingsError, match=complaint):
        make_contender(text, RULES)


def test_openspiel_plays_by_a_clock_and_by_visits() -> None:
    pytest.importorskip("pyspiel", reason="OpenSpiel is not installed: pip install open_spiel")
    contender = make_contender("openspiel", RULES)
    state, role = MACHINE.initial_state, MACHINE.roles[0]
    legal = MACHINE.legal_moves(state, role)
    contender.new_match(role, 1)
    for limit, fewest in (
        (Limit(seconds=0.02), 1),
        (Limit(seconds=0.02, of_processor=True), 1),
        (Limit(visits=50), 50),
    ):
        choice = contender.choose(state, legal, limit)
        assert choice.move in legal
        assert choice.visits >= fewest

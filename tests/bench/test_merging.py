"""Trees merged at the root."""

import pytest

from ggp.engines import make_machine
from ggp.gdl.reader import read_term
from ggp.gdl.state_machine import Facts
from ggp.gdl.terms import to_text
from ggp.search.mcts.result import MoveReport, Prospect
from ggp.search.mcts.tree import FIRST, ROOT
from tests.bench.bridge import read_rulesheet
from tests.bench.contenders import Limit, MergedContender, make_contender
from tests.bench.matches import Arena, ArenaSettings, play_matches
from tests.bench.merging import merge

RULES = read_rulesheet("tictactoe")
MACHINE = make_machine(RULES, "circuit")


def test_visits_add_up_values_are_weighted_and_the_tightest_bounds_hold() -> None:
    first = [MoveReport("a", 30, 0.5, 0.0, 1.0), MoveReport("b", 10, 0.2, 0.0, 1.0), MoveReport("c", 0, None, 0.0, 1.0)]
    second = [MoveReport("c", 0, None, 0.0, 1.0), MoveReport("b", 2, 0.5, 0.5, 0.5), MoveReport("a", 10, 1.0, 0.5, 1.0)]
    prospects = [[Prospect(length) for length in lengths] for lengths in ((7, 8, 9), (1, 4, 2))]
    reports, merged = merge([(first, prospects[0]), (second, prospects[1])])
    assert reports == [
        MoveReport("a", 40, 0.625, 0.5, 1.0),
        MoveReport("b", 12, 0.5, 0.5, 0.5),  # the mean 0.25 is less than what is proven
        MoveReport("c", 0, None, 0.0, 1.0),
    ]
    assert [prospect.length for prospect in merged] == [0, 4, 0]


def test_bounds_of_two_trees_may_prove_what_neither_does() -> None:
    reports, merged = merge([([MoveReport("a", 0, None, 0.5, 1.0)], []), ([MoveReport("a", 0, None, 0.0, 0.5)], [])])
    assert reports == [MoveReport("a", 0, 0.5, 0.5, 0.5)]
    assert merged == [Prospect()]


@pytest.mark.parametrize("knowing", [0, 1])
def test_what_one_tree_proves_decides_the_move(knowing: int) -> None:
    contender = merged("threads=2,retrograde=0")
    contender.new_match("xplayer", 1)
    state = after(("(mark 3 1)", "noop"), ("noop", "(mark 2 2)"), ("(mark 3 2)", "noop"), ("noop", "(mark 1 2)"))
    for search in contender.searches:
        search.go_to(state)
    contender.searches[knowing].run(lambda: False, 100)
    assert not contender.searches[1 - knowing].is_solved
    assert best_of(contender) == "(mark 3 3)"


def test_the_choice_is_that_of_the_sums() -> None:
    """Each tree is made to prefer a move of its own; the second best of both has the most visits together."""
    contender = merged("threads=2,retrograde=0")
    contender.new_match("xplayer", 1)
    contender.choose(MACHINE.initial_state, MACHINE.legal_moves(MACHINE.initial_state, "xplayer"), Limit(visits=40))
    for search, tries in zip(contender.searches, ([9, 8, 0], [0, 8, 9]), strict=True):
        first = int(search.tree.nodes[search.tree.numbers[ROOT], FIRST])
        search.tree.visits[first : first + 9] = 0
        search.tree.visits[first : first + 3] = tries
    one, two = (search.result("xplayer") for search in contender.searches)
    assert one.best == one.moves[0].move != two.best == two.moves[2].move
    assert best_of(contender) == to_text(one.moves[1].move)


def test_visits_are_shared_out_among_trees_that_differ() -> None:
    rulesheet = read_rulesheet("connectfour")
    machine = make_machine(rulesheet, "circuit")
    state, role = machine.initial_state, machine.roles[0]
    contender = make_contender("merged:threads=2,memory_bytes=4000000", rulesheet)
    assert isinstance(contender, MergedContender)
    contender.new_match(role, 1)
    choice = contender.choose(state, machine.legal_moves(state, role), Limit(visits=400))
    results = [search.result(role) for search in contender.searches]
    assert sum(result.visits for result in results) == choice.visits
    assert all(200 <= result.visits < 300 for result in results)
    assert results[0].moves != results[1].moves
    assert [search.settings.memory_bytes for search in contender.searches] == [2000000, 2000000]
    assert choice.move in machine.legal_moves(state, role)


def test_a_single_tree_is_the_search_itself_and_two_give_the_same_again() -> None:
    def once(player: str) -> list[tuple[str, ...]]:
        contenders = [make_contender(player, RULES)], [make_contender("random", RULES)]
        arena = Arena(MACHINE, contenders, ArenaSettings("tictactoe", (player, "random"), visits=30, seed=2))
        return [outcome.steps for outcome in play_matches(arena, (), 4, None)]

    assert once("merged:retrograde=0") == once("mcts:retrograde=0")
    assert once("merged:threads=2,retrograde=0") == once("merged:threads=2,retrograde=0")


def merged(options: str) -> MergedContender:
    contender = make_contender(f"merged:{options}", RULES)
    assert isinstance(contender, MergedContender)
    return contender


def best_of(contender: MergedContender) -> str:
    move = contender.best()
    assert move is not None
    return to_text(move)


def after(*steps: tuple[str, str]) -> Facts:
    state = MACHINE.initial_state
    for first, second in steps:
        state = MACHINE.next_state(state, (read_term(first), read_term(second)))
    return state

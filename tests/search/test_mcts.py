"""The search on the circuit: its books, its limits of memory and time, and what it answers."""

import threading
from collections.abc import Callable
from functools import cache
from random import Random

import numpy as np
import pytest

from ggp.errors import EvaluationError, SettingsError
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.gdl.state_machine import Facts, StateMachine
from ggp.gdl.terms import Term
from ggp.kernel import LANES
from ggp.library import find_rulesheet
from ggp.search.mcts.search import BatchedMcts, MoveReport, SearchResult, SearchSettings
from ggp.search.mcts.tree import (
    COLLAPSED,
    COUNT,
    FIRST,
    IN_FLIGHT,
    INNER,
    KIND,
    LEAF,
    LENGTH,
    LOCK,
    NODE_TOP,
    NODES,
    ROOT,
    THRESHOLD,
    VISITS,
    collapse,
    joint_code,
    make_room,
)
from ggp.simulation.state_table import find_state
from tests.circuit.agreement import Pair, make_pair
from tests.search.books import arrays_of, check_flow, check_statistics, check_structure
from tests.search.replay import check_replay
from tests.simulation.games import FATES, GAMES

pytestmark = pytest.mark.kernels

SMALL = 2**20
GAMES_THAT_LAST = [name for name in GAMES if name not in ("no facts", "terminal at first", "stuck at first")]
LARGER = ("tictactoe", "connectfour", "biddingtictactoe", "dotsandboxes")


@cache
def pair_of(name: str) -> Pair:
    text = GAMES[name] if name in GAMES else find_rulesheet(name).read_text(encoding="utf-8")
    return make_pair(parse_rulesheet(text))


def search_of(name: str, seed: int = 1, **settings: int) -> BatchedMcts:
    return BatchedMcts(pair_of(name).circuit, SearchSettings(**{"memory_bytes": SMALL, **settings}), seed)  # type: ignore[arg-type]


def never() -> bool:
    return False


def after(count: int) -> Callable[[], bool]:
    """A stop that is true from the given question on."""
    left = iter(range(count))
    return lambda: next(left, None) is None


def check_books(search: BatchedMcts) -> None:
    nodes = check_structure(search.tree)
    check_statistics(search.tree, nodes)


def nim(heap: int, *, kept: bool) -> str:
    """Two roles take one to three in turn; who takes the last has won. Where all is kept, no state comes twice."""
    text = ["(role left) (role right)", f"(init (heap {heap})) (init (turn left))"]
    text += ["(other left right) (other right left)"]
    for left in range(1, heap + 1):
        for count in range(1, min(3, left) + 1):
            text.append(f"(<= (legal ?r (take {count})) (true (turn ?r)) (true (heap {left})))")
            text.append(f"(<= (next (heap {left - count})) (true (heap {left})) (does ?r (take {count})))")
            if kept:
                text.append(f"(<= (next (took {left} {count})) (true (heap {left})) (does ?r (take {count})))")
    text.append("(<= (legal ?r wait) (role ?r) (not (true (turn ?r))))")
    text.append("(<= (next (turn ?s)) (true (turn ?r)) (other ?r ?s))")
    if kept:
        text.append("(<= (next (took ?x ?y)) (true (took ?x ?y)))")
    text.append("(<= terminal (true (heap 0)))")
    text.append("(<= (goal ?r 0) (true (heap 0)) (true (turn ?r)))")
    text.append("(<= (goal ?r 100) (true (heap 0)) (role ?r) (not (true (turn ?r))))")
    return "\n".join(text)


@cache
def nim_pair(heap: int, *, kept: bool = False) -> Pair:
    return make_pair(parse_rulesheet(nim(heap, kept=kept)))


# A role that is alone in having a choice; what each way leads to is written in the moves.
WAYS = """
(role a) (role b) (init (at s))
(<= (legal a (go ?x)) (true (at ?y)) (way ?y ?x)) (<= (legal a on) (true (at ?y)) (not (fork ?y))) (legal b wait)
(<= (fork ?y) (way ?y ?x))
(<= (next (at ?x)) (does a (go ?x))) (<= (next (at ?x)) (does a on) (true (at ?y)) (path ?y ?x))
(<= terminal (true (at ?x)) (end ?x ?a ?b)) (<= (goal a ?a) (true (at ?x)) (end ?x ?a ?b))
(<= (goal b ?b) (true (at ?x)) (end ?x ?a ?b))
"""


def ways(text: str) -> Pair:
    return make_pair(parse_rulesheet(WAYS + text))


@pytest.mark.parametrize("name", [*GAMES_THAT_LAST, *LARGER])
def test_books_add_up(name: str) -> None:
    for seed, playouts in ((1, 0), (2, 1)):
        search = search_of(name, seed, playouts=playouts, memory_bytes=2**23, most_steps=200)
        for visits in (1, 30, 600):
            search.run(never, visits)
            check_books(search)
            assert search.tree.numbers[COLLAPSED] == 0
            check_flow(search.tree, check_structure(search.tree), search.workers[0].visits)
        assert search.visits >= search.workers[0].visits > 0
        assert search.is_solved or search.workers[0].visits >= 631
        check_replay(search, pair_of(name).interpreter, 40, seed)


@pytest.mark.parametrize("name", ["tictactoe", "connectfour", "two at once"])
def test_the_same_seed_gives_the_same_search(name: str) -> None:
    found: list[tuple[list[bytes], SearchResult]] = []
    for seed in (3, 3, 4):
        search = search_of(name, seed, memory_bytes=2**22)
        for visits in (200, 900):
            search.run(never, visits)
        role = search.machine.roles[0]
        found.append(([part.tobytes() for part in arrays_of(search.tree)], search.result(role)))
    assert found[0] == found[1]
    assert found[0][0] != found[2][0]


@pytest.mark.parametrize("name", ["tictactoe", "connectfour", "two at once", "biddingtictactoe"])
def test_two_threads_keep_the_books_of_one(name: str) -> None:
    search = search_of(name, 5, threads=2, memory_bytes=2**22)
    for _ in range(3):
        search.run(never, 1500)
        check_books(search)
    assert search.tree.numbers[COLLAPSED] == 0
    check_flow(search.tree, check_structure(search.tree), sum(worker.visits for worker in search.workers))
    check_replay(search, pair_of(name).interpreter, 60)


@pytest.mark.parametrize("name", ["connectfour", "biddingtictactoe"])
def test_two_threads_make_room_while_the_tree_is_read(name: str) -> None:
    search = search_of(name, 5, threads=2, memory_bytes=2**20, playouts=1)
    role, is_over = search.machine.roles[0], threading.Event()

    def read() -> None:
        while not is_over.is_set():
            for report in search.result(role).moves:
                assert report.value is None or -1e-6 <= report.value <= 100 + 1e-6
            search.variations(role, 2)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for _ in range(3):
            search.run(never, 12_000)
            check_books(search)
    finally:
        is_over.set()
        reader.join()
    assert search.tree.numbers[COLLAPSED] > 0
    search.close()


def walk(search: BatchedMcts, machine: StateMachine, visits: int, seed: int) -> int:
    """A random match with a search in each state; how many steps it had."""
    random, state, steps = Random(seed), machine.initial_state, 0
    search.go_to(state)
    while not machine.is_terminal(state):
        search.run(never, visits)
        if steps % 6 == 0:
            check_books(search)
        moves = [machine.legal_moves(state, role) for role in machine.roles]
        for role, legal in zip(machine.roles, moves, strict=True):
            result = search.result(role)
            assert tuple(report.move for report in result.moves) == legal
            assert result.best in legal
        state = machine.next_state(state, tuple(map(random.choice, moves)))
        search.go_to(state)
        steps += 1
    check_books(search)
    search.run(never, visits)
    assert not search.result(machine.roles[0]).moves
    return steps


@pytest.mark.parametrize("name", ["connectfour", "dotsandboxes", "biddingtictactoe"])
def test_a_small_tree_lasts_for_matches(name: str) -> None:
    search = search_of(name, 6, playouts=1)
    pair = pair_of(name)
    sizes = [part.nbytes for part in arrays_of(search.tree)]
    assert walk(search, pair.circuit, 3000, 1) > 4
    check_replay(search, pair.interpreter, 30)
    assert [part.nbytes for part in arrays_of(search.tree)] == sizes
    assert search.tree.numbers[COLLAPSED] > 0


def test_a_full_tree_goes_on_to_learn() -> None:
    search = search_of("connectfour", 7, playouts=1)
    search.run(never, 20_000)
    assert search.tree.numbers[COLLAPSED] > 100
    assert int(search.tree.numbers[NODES]) <= len(search.tree.nodes)
    check_books(search)
    result = search.result(search.machine.roles[0])
    assert result.visits == search.workers[0].visits >= 20_000
    assert sum(report.visits for report in result.moves) > 19_000


@pytest.mark.parametrize("heap", [5, 6, 7, 9, 10, 11])
def test_finds_the_only_winning_move(heap: int) -> None:
    search = BatchedMcts(nim_pair(heap).circuit, SearchSettings(memory_bytes=SMALL), 8)
    search.run(never, 20_000)
    assert search.is_solved
    result = search.result("left")
    assert result.best == ("take", str(heap % 4))
    assert result.value == result.lower == result.upper == 1
    assert search.result("right").value == 0
    check_books(search)


@pytest.mark.parametrize("heap", [19, 21])
def test_finds_a_win_in_a_tree_that_is_too_small(heap: int) -> None:
    search = BatchedMcts(
        nim_pair(heap, kept=True).circuit,
        SearchSettings(memory_bytes=SMALL, playouts=1, exploration=0.5),
        9,
    )
    search.run(never, 30_000)
    check_books(search)
    assert search.tree.numbers[COLLAPSED] > 0
    assert search.result("left").best == ("take", str(heap % 4))


def test_a_state_whose_proven_moves_made_room_is_proven_again() -> None:
    machine = nim_pair(21).circuit
    search = BatchedMcts(machine, SearchSettings(memory_bytes=SMALL, retrograde=False), 1)
    search.run(never, 100_000)
    assert search.is_solved
    state = machine.next_state(machine.initial_state, (("take", "2"), "wait"))  # a mistake: 19 are left
    bits = machine.packed(state)
    assert bits is not None
    child = int(find_state(search.tree.table, bits, 0))
    assert search.tree.nodes[child, KIND] == INNER
    collapse(search.tree, child)
    search.tree.nodes[child, KIND] = LEAF
    search.go_to(state)
    search.run(never, 100_000)
    assert search.is_solved
    assert search.result("right").best == ("take", "3")
    assert search.result("right").lower == 1.0
    check_books(search)


@pytest.mark.parametrize("heap", [8, 12])
def test_knows_when_all_is_lost(heap: int) -> None:
    search = BatchedMcts(nim_pair(heap).circuit, SearchSettings(memory_bytes=SMALL), 8)
    search.run(never, 20_000)
    assert search.is_solved
    assert search.result("left").upper == 0
    assert all(report.upper == 0 for report in search.result("left").moves)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 12, 40])
def test_stops_as_soon_as_it_is_told(count: int) -> None:
    search = search_of("connectfour", 9, memory_bytes=2**22)
    search.run(never, 300)
    asked = 0
    ends = after(count)

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return ends()

    search.run(stop)
    assert asked <= count + 2
    check_books(search)
    if not search.tree.numbers[COLLAPSED]:
        check_flow(search.tree, check_structure(search.tree), search.workers[0].visits)
    search.run(never, 300)
    check_books(search)


def test_stops_while_it_looks_how_long_playouts_are() -> None:
    search = search_of("endless", 9, most_steps=2_000_000)
    search.run(after(3))
    assert search.workers[0].steps < LANES * search.settings.most_steps
    check_books(search)
    assert search.visits == 0
    assert search.result("a").best == "stay"


def test_visits_that_are_taken_back_leave_nothing() -> None:
    search = search_of("connectfour", 10, memory_bytes=2**22, playouts=32)
    search.run(never, 700)
    worker, tree = search.workers[0], search.tree
    top, backed_up = int(tree.numbers[NODE_TOP]), worker.visits

    def counted() -> list[bytes]:
        parts = tree.values[:top, VISITS], tree.nodes[:top, IN_FLIGHT], tree.values[:top, :2]
        return [part.tobytes() for part in (*parts, tree.visits, tree.in_flight, tree.value_sum, tree.square_sum)]

    before = counted()
    worker._steps_per_slice = 1
    assert not worker.cycle(search, 512, 1, lambda: True)
    assert worker.visits == backed_up
    assert counted() == before
    assert tree.numbers[NODE_TOP] > top
    check_books(search)


def test_visits_are_counted_beyond_32_bits() -> None:
    """As many as a day of searching makes: nothing wraps around, and what is known keeps its weight."""
    search = search_of("connectfour", 10, memory_bytes=2**22)
    role = search.machine.roles[0]
    search.run(never, 500)
    tree, root, many = search.tree, int(search.tree.numbers[ROOT]), 2.0**34
    columns = len(search.machine.roles)
    slots = slice(int(tree.nodes[root, FIRST]), int(tree.nodes[root, FIRST]) + 7)
    worth = np.where(tree.move[slots] == 3, 0.6, 0.4)
    tree.visits[slots], tree.value_sum[slots], tree.square_sum[slots] = many, many * worth, many * worth**2
    tree.values[root, VISITS], tree.values[root, :columns] = 7 * many, 7 * many * 0.43
    search.run(never, 500)
    result = search.result(role)
    assert result.visits >= 7 * many + 500
    assert result.value == pytest.approx(0.43)
    assert result.best == search.machine.compiled.moves[0][3]
    assert all(report.value is not None and 0 <= report.value <= 1 for report in result.moves)


def test_more_joint_moves_than_a_word_can_number() -> None:
    """Twelve roles with 64 moves each: nothing is taken for proven, and each joint move has a code of its own."""
    text = " ".join(f"(role r{number})" for number in range(12)) + " ".join(f"(index {at})" for at in range(64))
    text += "(init start) (<= (legal ?r (pick ?i)) (role ?r) (index ?i)) (<= (next won) (does r0 (pick 7)))"
    text += "(<= (next over) (true start)) (<= terminal (true over)) (<= (goal ?r 100) (role ?r) (true won))"
    text += "(<= (goal ?r 0) (role ?r) (not (true won)))"
    pair = make_pair(parse_rulesheet(text))
    search = BatchedMcts(pair.circuit, SearchSettings(memory_bytes=2**22, playouts=1), 1)
    for visits in (1, 300, 1500):
        search.run(never, visits)
        check_books(search)
        assert all((low, high) == (0.0, 1.0) for low, high in zip(*search.bounds, strict=True))
    assert search.result("r0").best == ("pick", "7")
    tree, root = search.tree, int(search.tree.numbers[ROOT])
    first = int(tree.nodes[root, FIRST])
    slots = np.arange(first, first + 12 * 64, 64, dtype=np.int32)
    codes = set()
    for role in range(12):
        for at in range(64):
            changed = slots.copy()
            changed[role] += at
            codes.add(int(joint_code(tree, root, changed)))
    assert len(codes) == 12 * 63 + 1


def test_threads_are_kept_until_it_is_closed() -> None:
    def threads() -> set[threading.Thread]:
        return {thread for thread in threading.enumerate() if thread.name != "machine code"}  # the game's, not ours

    before = threads()  # those of other tests may end meanwhile
    search = search_of("connectfour", 5, threads=2, memory_bytes=2**22)
    for _ in range(3):
        search.run(never, 600)
        assert 0 < len(threads() - before) <= 2
    search.close()
    assert threads() <= before


def test_goes_to_states_and_keeps_what_is_known() -> None:
    search, machine = search_of("tictactoe", 11, memory_bytes=2**22), pair_of("tictactoe").interpreter
    search.run(never, 2000)
    start, role = machine.initial_state, machine.roles[0]
    best = search.result(role).best
    assert best is not None
    visits = next(report.visits for report in search.result(role).moves if report.move == best)
    other = machine.legal_moves(start, machine.roles[1])[0]
    following = machine.next_state(start, (best, other))
    search.go_to(following)
    assert search.visits == visits
    search.go_to(following)
    assert search.visits == visits
    check_books(search)
    search.go_to(start)
    assert search.visits == search.workers[0].visits
    check_books(search)


@pytest.mark.parametrize("state", [frozenset({"nonsense"}), frozenset({("cell", "1", "1", "z")})])
def test_states_that_the_circuit_does_not_know(state: Facts) -> None:
    search = search_of("tictactoe", 12)
    search.run(never, 500)
    before = [part.tobytes() for part in arrays_of(search.tree)]
    with pytest.raises(EvaluationError):
        search.go_to(state)
    assert [part.tobytes() for part in arrays_of(search.tree)] == before
    search.run(never, 500)
    check_books(search)


def test_states_of_the_wrong_phase() -> None:
    search = search_of("turns", 12)
    with pytest.raises(EvaluationError):
        search.go_to(frozenset())


@pytest.mark.parametrize("name", ["no facts", "terminal at first", "stuck at first"])
def test_searches_that_have_nothing_to_do(name: str) -> None:
    search = search_of(name)
    search.run(never, 1000)
    assert search.visits == 0
    check_books(search)
    for role in search.machine.roles:
        legal = pair_of(name).interpreter.legal_moves(search.machine.initial_state, role)
        assert search.result(role).best in (*legal, None)


def test_states_without_moves_and_ends_may_be_gone_to() -> None:
    machine = make_pair(parse_rulesheet(FATES)).circuit
    search = BatchedMcts(machine, SearchSettings(memory_bytes=SMALL, most_steps=50), 1)
    for way in ("hole", "end", "ring", "on"):
        search.go_to(frozenset({"here"}))
        state = machine.next_state(frozenset({"here"}), (("go", way), "wait"))
        search.go_to(state)
        search.run(never, 100)
        check_books(search)
    search.go_to(frozenset({"here"}))
    search.run(never, 300)
    check_books(search)
    check_replay(search, make_pair(parse_rulesheet(FATES)).interpreter)
    assert search.result("a").best == ("go", "end")


def test_a_root_with_more_moves_than_there_are_nodes() -> None:
    names = " ".join(f"(thing {number})" for number in range(2500))
    text = f"(role a) {names} (init s) (<= (legal a (pick ?x)) (thing ?x)) (<= (next (got ?x)) (does a (pick ?x)))"
    text += " (<= (next (was ?x)) (true (got ?x))) (<= terminal (true (was ?x))) (<= (goal a 100) (true (was 7)))"
    text += " (<= (goal a 0) (not (true (was 7))))"
    pair = make_pair(parse_rulesheet(text))
    search = BatchedMcts(pair.circuit, SearchSettings(memory_bytes=SMALL, playouts=1), 1)
    for _ in range(3):
        search.run(never, 2000)
        check_books(search)
    search.go_to(pair.circuit.next_state(pair.circuit.initial_state, (("pick", "3"),)))
    search.run(never, 100)
    check_books(search)


def best_of(pair: Pair, visits: int = 3000, role: str = "a") -> SearchResult:
    search = BatchedMcts(pair.circuit, SearchSettings(memory_bytes=SMALL), 13)
    search.run(never, visits)
    return search.result(role)


def names_of(result: SearchResult) -> dict[object, MoveReport]:
    return {report.move: report for report in result.moves}


FORK = "(way s l) (way s m) (path l l1) (path l1 l2) (path m m1) (path m1 m2)"


def claimed(ends: str, bounds: dict[str, tuple[float, float]], lengths: dict[str, int]) -> Term | None:
    """What is best where moves have these bounds, 0 to 1, and are so far from the end; both were worth 0 so far."""
    search = BatchedMcts(ways(f"{FORK} {ends}").circuit, SearchSettings(memory_bytes=SMALL, lookahead_moves=0), 13)
    search.run(never, 1)
    tree, root = search.tree, int(search.tree.numbers[ROOT])
    first = int(tree.nodes[root, FIRST])
    for slot, name in zip((first, first + 1), "lm", strict=True):
        tree.lower[slot], tree.upper[slot] = bounds[name]
        tree.value_sum[slot] = 0
        tree.nodes[int(tree.child[slot]), LENGTH] = lengths[name]
    assert [report.move for report in search.result("a").moves] == [("go", "l"), ("go", "m")]
    return search.result("a").best


@pytest.mark.parametrize("most", [100, 60])
@pytest.mark.parametrize("quick", ["l", "m"])
def test_the_shortest_of_proven_wins_and_the_longest_of_all_else_is_taken(most: int, quick: str) -> None:
    """The most that a role can get in a game is its win."""
    ends, slow = f"(end l2 {most} 0) (end m2 0 100)", "m" if quick == "l" else "l"
    lengths = {quick: 2, slow: 7}
    for value, expected in ((1.0, quick), (0.5, slow), (0.0, slow)):
        assert claimed(ends, {"l": (value, value), "m": (value, value)}, lengths) == ("go", expected)


@pytest.mark.parametrize("lost", ["l", "m"])
def test_what_is_not_lost_yet_is_better_than_what_is(lost: str) -> None:
    bounds = {"l": (0.0, 1.0), "m": (0.0, 1.0), lost: (0.0, 0.0)}
    found = claimed("(end l2 100 0) (end m2 0 100)", bounds, {"l": 3, "m": 3})
    assert found == ("go", "m" if lost == "l" else "l")


def test_of_proven_losses_the_longest_is_taken() -> None:
    text = "(way s l) (way s m) (path l l1) (path l1 l2) (path l2 l3) (path m m1) (end l3 0 100) (end m1 0 100)"
    result = best_of(ways(text))
    assert all(report.lower == report.upper == 0 for report in result.moves)
    assert result.best == ("go", "l")


def test_a_draw_is_better_than_a_loss_and_a_win_better_than_a_draw() -> None:
    text = "(way s l) (way s d) (way s w) (end l 0 100) (end d 50 50) (path w w1) (path w1 w2) (end w2 100 0)"
    assert best_of(ways(text)).best == ("go", "w")
    assert best_of(ways(text.replace("(end w2 100 0)", "(end w2 20 80) (end n 100 0)"))).best == ("go", "d")


def test_values_are_those_of_goals() -> None:
    result = best_of(ways("(way s l) (way s d) (end l 20 30) (end d 70 40)"))
    found = names_of(result)
    assert found["go", "l"].value == pytest.approx(0.2)
    assert found["go", "d"].value == result.value == result.lower == result.upper == pytest.approx(0.7)
    assert result.best == ("go", "d")


def test_a_role_with_a_single_goal_value_gets_that() -> None:
    """Also in variations, and as long as nothing is proven."""
    search = BatchedMcts(
        ways("(way s l) (way s d) (path l l1) (path l1 l2) (end l2 20 50) (end d 70 50)").circuit,
        SearchSettings(memory_bytes=SMALL, lookahead_moves=0),
        13,
    )
    search.run(never, 1)
    for variation in search.variations("a", 2):
        assert (variation.lower[1], variation.upper[1]) == (0.5, 0.5)
    assert (search.result("b").lower, search.result("b").upper) == (0.5, 0.5)


def test_only_the_move_that_is_forced_is_searched() -> None:
    search = search_of("connectfour", 14, memory_bytes=2**22)
    role = search.machine.roles[0]
    move = search.result(role).moves[2].move
    search.force(role, move)
    search.run(never, 500)
    assert {report.move for report in search.result(role).moves if report.visits} == {move}
    search.force(role, None)
    search.run(never, 3000)
    assert all(report.visits for report in search.result(role).moves)
    check_books(search)


def test_outcomes_of_chance_have_turns() -> None:
    search = search_of("blackjack", retrograde=False, memory_bytes=2**24)
    search.run(never, 3000)
    tree, role = search.tree, search.machine.roles.index("random")
    root = tree.numbers[ROOT]
    counts = tree.nodes[root, COUNT:]
    first = tree.nodes[root, FIRST] + counts[:role].sum()
    visits = tree.visits[first : first + counts[role]]
    assert len(visits) > 1
    assert visits.sum() >= 3000
    assert visits.max() - visits.min() <= 1


def test_before_the_first_visit_all_is_open() -> None:
    search = search_of("tictactoe", 15)
    result = search.result(search.machine.roles[0])
    assert (result.value, result.lower, result.upper, result.visits) == (None, 0, 1, 0)
    assert len(result.moves) == 9
    assert result.best in {report.move for report in result.moves}


@pytest.mark.parametrize(
    "wrong", [{"threads": 0}, {"most_steps": 0}, {"memory_bytes": 2**20 - 1}, {"lookahead_moves": -1}, {"playouts": -1}]
)
def test_settings_have_ranges(wrong: dict[str, int]) -> None:
    with pytest.raises(SettingsError):
        SearchSettings(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong", [{"batch": 1000}, {"batch": 4}, {"visits_per_descent": 0}, {"virtual_loss": 1.5}, {"virtual_loss": -0.1}]
)
def test_settings_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(SettingsError):
        SearchSettings(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("playouts", [0, 4])
def test_opposed_goals_are_noticed_with_any_number_of_playouts(playouts: int) -> None:
    search = BatchedMcts(nim_pair(9).circuit, SearchSettings(memory_bytes=SMALL, playouts=playouts), 3)
    search.run(never, 1)
    assert search.parameters.zero_sum[0]


def test_making_room_waits_for_no_other_thread() -> None:
    search = search_of("connectfour", 5, memory_bytes=2**20)
    search.run(never, 2000)
    tree = search.tree
    tree.nodes[:, LOCK] = 1
    while make_room(tree):
        pass
    assert tree.numbers[THRESHOLD] <= 4 * search.visits
    tree.nodes[:, LOCK] = 0
    assert make_room(tree)

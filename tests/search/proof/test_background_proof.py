"""Proofs in the background of a search tree: its books and bounds stay true, and the player goes by what is proven."""

from collections import Counter

import pytest

from ggp.gdl.rulesheet import parse_rulesheet
from ggp.search.mcts import solver
from ggp.search.mcts.search import BatchedMcts, SearchSettings
from ggp.search.mcts.tree import ROOT, VISITS
from tests.circuit.agreement import make_pair
from tests.search.graphs import Shape
from tests.search.proof.test_prover import OPPOSED, OTHERS, TINY, inner_states, worlds
from tests.search.test_mcts import nim
from tests.search.test_mcts_proofs import check_books, check_claims, is_opposed, never

pytestmark = pytest.mark.kernels

SETTINGS = SearchSettings(
    memory_bytes=2**23, retrograde=False, lookahead_moves=0, decisive_lookahead=False, visits_per_descent=1000
)  # the tree itself proves late


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Much more work for each visit than usual."""
    monkeypatch.setattr(solver, "_PROOF_PER_VISIT", 50.0)
    monkeypatch.setattr(solver, "_FROM", 0)
    monkeypatch.setattr(solver, "_FULLY_FROM", 1)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("name", [*OPPOSED, *OTHERS])
def test_the_tree_stays_true(name: str) -> None:
    seen: Counter[str] = Counter()
    for seed, pair, world in worlds((OPPOSED | OTHERS)[name]):
        sure = [world.assured(role) for role in (0, 1)]
        for state in inner_states(world)[:4]:
            search = BatchedMcts(pair.circuit, SETTINGS, seed)
            search.go_to(state)
            for visits in (1, 8, 64):
                search.run(never, visits)
                check_books(search)
                check_claims(search, world)
                low, high = search.bounds
                seen["proven first" if search.is_proven and not search.is_solved else "else"] += 1
                for role in (0, 1) if is_opposed(world) else ():
                    assert low[role] <= sure[role][state] + TINY
                    assert high[role] >= 1 - sure[1 - role][state] - TINY
    assert seen["proven first"] > 0 or name not in OPPOSED


TWICE = """
(role left) (role right) (init (heap {heap})) (init (turn first))
(mover first left) (mover second left) (mover third right) (after first second) (after second third) (after third first)
(<= (legal ?r (take ?n)) (true (turn ?t)) (mover ?t ?r) (true (heap ?h)) (less ?n ?h ?left))
(<= (legal ?r wait) (role ?r) (true (turn ?t)) (not (mover ?t ?r)))
(<= (next (heap ?left)) (true (heap ?h)) (does ?r (take ?n)) (less ?n ?h ?left))
(<= (next (turn ?u)) (true (turn ?t)) (after ?t ?u))
(<= (next (took ?h ?n)) (true (heap ?h)) (does ?r (take ?n))) (<= (next (took ?h ?n)) (true (took ?h ?n)))
(<= terminal (true (heap 0)))
(<= (last ?r) (true (turn ?t)) (after ?u ?t) (mover ?u ?r))
(<= (goal ?r 100) (true (heap 0)) (last ?r)) (<= (goal ?r 0) (true (heap 0)) (role ?r) (not (last ?r)))
"""  # who takes the last has won; left takes twice in turn, and so the next state may be its own


def wins(heap: int, turn: int) -> bool:
    """Whether left wins with so many left, when it is the turn of this one of the three."""
    if heap == 0:
        return turn != 0  # the turn before was left's
    after = [wins(heap - count, (turn + 1) % 3) for count in range(1, min(3, heap) + 1)]
    return any(after) if turn < 2 else all(after)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("heap", [18, 19, 20, 21])
def test_a_won_state_is_won_step_by_step_when_the_same_role_moves_again(heap: int) -> None:
    """That the next state is won must not be known without the move that wins it."""
    less = "".join(f"(less {n} {h} {h - n})" for h in range(1, heap + 1) for n in range(1, min(3, h) + 1))
    machine = make_pair(parse_rulesheet(TWICE.format(heap=heap) + less)).circuit
    search, state, left, turn, solved = BatchedMcts(machine, SETTINGS, heap), machine.initial_state, heap, 0, 0
    while left:
        role = "right" if turn == 2 else "left"
        search.go_to(state)
        search.run(never, 300)
        result = search.result(role)
        best = result.best
        assert best is not None
        if search.is_solved:
            solved += 1
            assert next(report.lower == report.upper for report in result.moves if report.move == best)
            assert wins(left, turn) == wins(left - int(str(best[1])), (turn + 1) % 3)
        taken = best if role == "left" else ("take", "1")
        state = machine.next_state(state, (taken, "wait") if role == "left" else ("wait", taken))
        left, turn = left - int(str(taken[1])), (turn + 1) % 3
    assert solved > 3


def test_work_grows_with_the_visits() -> None:
    machine = make_pair(parse_rulesheet(nim(20, kept=True))).circuit
    search = BatchedMcts(machine, SETTINGS, 1)
    root, wanted = int(search.tree.numbers[ROOT]), []
    for visits in (0, 500_000, 1_000_000, 1_500_000, 2_000_000):
        search.tree.values[root, VISITS] = visits
        wanted.append(solver._wanted(search.tree))
    assert wanted == pytest.approx([0, 50_000, 600_000, 2_150_000, 4_200_000])


@pytest.mark.usefixtures("eager")
def test_nothing_is_claimed_of_an_end() -> None:
    machine = make_pair(parse_rulesheet(nim(3, kept=True))).circuit
    search = BatchedMcts(machine, SETTINGS, 1)
    search.run(never, 100)
    assert search.bounds[0].tolist() == [1.0, 0.0]
    search.go_to(machine.next_state(machine.initial_state, (("take", "3"), "wait")))
    assert search.bounds[0].tolist() == [1.0, 0.0]
    assert search.bounds[1].tolist() == [1.0, 0.0]


@pytest.mark.usefixtures("eager")
def test_a_won_state_is_solved_by_its_proof() -> None:
    machine = make_pair(parse_rulesheet(nim(19, kept=True))).circuit
    search = BatchedMcts(machine, SETTINGS, 1)
    search.run(never, 2000)
    assert search.is_solved
    assert search.visits < 600
    assert search.result("left").best == ("take", "3")
    assert [search.result(role).value for role in machine.roles] == [1.0, 0.0]


@pytest.mark.usefixtures("eager")
def test_a_lost_state_is_searched_on() -> None:
    """What it is worth is known, and the tree looks for the move that loses latest."""
    machine = make_pair(parse_rulesheet(nim(20, kept=True))).circuit
    search = BatchedMcts(machine, SETTINGS, 1)
    search.run(never, 500)
    assert search.is_proven
    assert not search.is_solved
    result = search.result("left")
    assert (result.lower, result.value, result.upper) == (0.0, 0.0, 0.0)
    assert result.best is not None
    assert max(report.upper for report in result.moves) == 1.0  # the tree does not know it, or of no move
    visits = search.visits
    search.run(never, 100)
    assert search.visits > visits


@pytest.mark.usefixtures("eager")
def test_the_same_seed_and_visits_give_the_same_result() -> None:
    machine = make_pair(parse_rulesheet(nim(40, kept=True))).circuit
    found = []
    for _ in range(2):
        search = BatchedMcts(machine, SearchSettings(retrograde=False, memory_bytes=2**24), 3)
        for visits in (10, 200, 700):
            search.run(never, visits)
        found.append((search.result("left"), search.bounds[0].tolist(), search.solver.proof is not None))
    assert found[0] == found[1]
    assert found[0][2]


def test_no_proof_is_tried_where_it_is_not_wanted_or_cannot_be() -> None:
    for shape, settings in (
        (Shape(positions=20), SearchSettings(memory_bytes=2**24, retrograde=False, proof=False)),
        (Shape(roles=3, positions=20), SETTINGS),
        (Shape(chance=True, positions=20), SETTINGS),
    ):
        for seed, pair, _ in worlds(shape)[:2]:
            search = BatchedMcts(pair.circuit, settings, seed)
            search.run(never, 200)
            assert search.solver.proof is None


@pytest.mark.usefixtures("eager")
def test_a_stop_ends_the_work() -> None:
    machine = make_pair(parse_rulesheet(nim(60, kept=True))).circuit
    search = BatchedMcts(machine, SearchSettings(retrograde=False, memory_bytes=2**24, threads=2), 3)
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked > 200

    search.run(stop)
    assert search.solver.proof is not None
    before = search.solver.proof.prover.work_done
    assert before > 0
    assert search.visits > 0
    search.run(lambda: True)
    assert search.solver.proof.prover.work_done == before


@pytest.mark.usefixtures("eager")
def test_lines_of_a_lost_state_say_that_it_is_lost() -> None:
    machine = make_pair(parse_rulesheet(nim(20, kept=True))).circuit
    search = BatchedMcts(machine, SETTINGS, 1)
    search.run(never, 500)
    assert search.is_proven
    assert not search.is_solved
    lines = search.variations("left", 3)
    assert len(lines) == 3
    for line in lines:
        assert (line.lower, line.upper) == ((0.0, 1.0), (0.0, 1.0))
        assert line.values == (0.0, 1.0)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("forgetful", [False, True])
def test_a_proven_win_is_played_to_its_end(*, forgetful: bool) -> None:
    """Whatever the other replies, and also where the table had to make room for other states."""
    machine = make_pair(parse_rulesheet(nim(19, kept=True))).circuit
    for reply in (1, 2, 3):
        search, state, left = BatchedMcts(machine, SETTINGS, reply), machine.initial_state, 19
        search.run(never, 2000)
        while left:
            assert search.is_solved
            assert search.result("left").best == ("take", str(left % 4))
            state, left = machine.next_state(state, (("take", str(left % 4)), "wait")), left - left % 4
            if left:
                answer = min(reply, left)
                state, left = machine.next_state(state, ("wait", ("take", str(answer)))), left - answer
                if forgetful and search.solver.proof is not None:
                    table = search.solver.proof.prover._table
                    table[::2] = 0
                search.go_to(state)
                search.run(never, 2000)
        assert machine.goal(state, "left") == 100

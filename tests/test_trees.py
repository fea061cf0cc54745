"""The search as a library: functions of one's own, trees to look into, and batches against the interpreter."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from random import Random
from textwrap import dedent
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.typing import NDArray

import ggp
from ggp.errors import EvaluationError, GgpError, GroundingError, HiddenStateError, SettingsError, UnknownRoleError
from ggp.search.mcts.settings import SearchSettings
from ggp.trees import TreeNode

PLAIN = SearchSettings(proof=False, retrograde=False, memory_bytes=2**22)


@pytest.fixture(scope="module")
def game() -> ggp.Game:
    return ggp.load("tictactoe", "circuit")


def walk(game: ggp.Game, seed: int) -> list[ggp.State]:
    """The states of a random match."""
    rng, states = Random(seed), [game.initial_state]
    while not states[-1].is_terminal:
        state = states[-1]
        states.append(state.play({role: rng.choice(state.legal_moves(role)) for role in game.roles}))
    return states


@pytest.mark.parametrize("name", ["tictactoe", "biddingtictactoe"])
def test_a_batch_says_what_the_interpreter_says(name: str) -> None:
    game, oracle = ggp.load(name, "circuit"), ggp.load(name, "interpreter")
    states = [state for seed in range(4) for state in walk(game, seed)]
    batch = ggp.StateBatch.of(states)
    assert len(batch) == len(states)
    assert [batch[at] for at in range(len(batch))] == states
    for at, state in enumerate(states):
        same = oracle.state(state.facts)
        assert {batch.fact_names[f] for f in np.flatnonzero(batch.facts[at])} <= set(same.facts)
        assert bool(batch.is_terminal[at]) == same.is_terminal
        if same.is_terminal:
            assert tuple(batch.goals[at]) == tuple(same.goals.values())
            continue
        for role, moves in batch.moves.items():
            legal = batch.legal[at, batch.columns(role)]
            assert {moves[m] for m in np.flatnonzero(legal)} == set(same.legal_moves(role))
    with pytest.raises(UnknownRoleError, match="no role is called 'no-such-role'"):
        batch.columns("no-such-role")


def test_a_batch_plays_steps(game: ggp.Game) -> None:
    states = walk(game, 1)[:-1]
    batch, rng = ggp.StateBatch.of(states), Random(1)
    chosen = [{role: rng.choice(state.legal_moves(role)) for role in game.roles} for state in states]
    moves = [[batch.moves[role].index(move) for role, move in joint.items()] for joint in chosen]
    following = batch.play(np.array(moves))
    assert [following[at] for at in range(len(states))] == [s.play(m) for s, m in zip(states, chosen, strict=True)]


def test_playouts_are_exact_at_ends_and_repeatable(game: ggp.Game) -> None:
    states = [*walk(game, 1), *walk(game, 2)] * 60  # more than there are lanes
    batch = ggp.StateBatch.of(states)
    means = batch.playouts(16, seed=5)
    assert means.shape == (len(states), 2)
    assert means.sum(axis=1) == pytest.approx(100)
    assert ((means >= 0) & (means <= 100)).all()
    for at, state in enumerate(states):
        if state.is_terminal:
            assert tuple(means[at]) == tuple(state.goals.values())
    assert (batch.playouts(16, seed=5) == means).all()
    first = ggp.StateBatch.of([game.initial_state]).playouts(20_000, seed=1)
    assert first[0, 0] == pytest.approx(58.5 + 12.7 / 2, abs=1.5)  # X wins 58.5 % of random matches, 12.7 % are drawn


def test_an_evaluator_takes_the_place_of_playouts(game: ggp.Game) -> None:
    """One that likes the corner (1, 3) for the first role leads there, though playouts prefer the centre."""
    sizes: list[int] = []

    def likes_a_corner(batch: ggp.StateBatch) -> NDArray[np.float64]:
        sizes.append(len(batch))
        liked = batch.facts[:, batch.fact_names.index("(cell 1 3 x)")]
        return np.stack([np.where(liked, 90.0, 10.0), np.where(liked, 10.0, 90.0)], axis=1)

    with ggp.Search(game.initial_state, evaluator=likes_a_corner, settings=PLAIN, seed=1) as search:
        found = search.run(visits=400)
    assert found.best == "(mark 1 3)"
    assert found.lines[0].goals["xplayer"] == pytest.approx(90, abs=10)
    assert max(sizes) > 1


def test_a_prior_says_where_to_look_first(game: ggp.Game) -> None:
    def certain(batch: ggp.StateBatch) -> NDArray[np.float64]:
        weights = np.zeros(batch.legal.shape)
        weights[:, batch.columns("xplayer")][:, batch.moves["xplayer"].index("(mark 3 1)")] = 7.0
        return weights

    with ggp.Search(game.initial_state, prior=certain, settings=PLAIN, seed=1) as search:
        search.run(visits=200)
        root = search.tree(0)
    best, *others = root.moves["xplayer"]
    assert best.move == "(mark 3 1)"
    assert best.prior == pytest.approx(0.9 + 0.1 / 9)
    assert all(other.prior == pytest.approx(0.1 / 9) for other in others)
    assert sum(move.visits for move in root.moves["xplayer"]) == root.visits


def looked(node: TreeNode) -> list[TreeNode]:
    return [node, *(found for child in node.children for found in looked(child))]


@pytest.mark.parametrize("name", ["tictactoe", "biddingtictactoe"])
def test_a_tree_can_be_looked_into(name: str) -> None:
    game = ggp.load(name, "circuit")
    with ggp.Search(game.initial_state, settings=PLAIN, seed=1) as search:
        search.run(visits=600)
        root = search.tree(3, most_nodes=60)
    nodes = looked(root)
    assert 10 < len(nodes) <= 60
    assert root.visits >= 600
    for node in nodes:
        assert [child.visits for child in node.children] == sorted((c.visits for c in node.children), reverse=True)
        for child in node.children:
            assert node.state.play(child.joint_move) == child.state
        for role, (low, high) in node.bounds.items():
            value = node.values[role]
            assert value is None or 0 <= low <= value <= high <= 100
    state = root.state
    for step in root.principal_variation:
        state = state.play(step)
    assert len(root.principal_variation) == 3
    assert json.loads(json.dumps(root.as_dict()))["children"][0]["joint_move"] == dict(root.children[0].joint_move)
    drawn = ElementTree.fromstring(root.svg())
    assert len(drawn.findall(".//{*}circle")) == len(nodes)
    assert root.children[0].label in root.svg()
    assert root._repr_svg_() == root.svg(game.roles[0])


def test_a_tree_is_kept_from_state_to_state(game: ggp.Game) -> None:
    with ggp.Search(game.initial_state, settings=PLAIN, seed=1) as search:
        search.run(visits=500)
        child = search.tree(1).children[0]
        search.go_to(child.state)
        assert search.tree(0).visits == child.visits
        assert search.analysis().state == child.state


def test_the_moves_of_a_solved_state_need_no_search() -> None:
    unsearched = 0
    with ggp.Search(ggp.load("nim", "circuit").initial_state, seed=1) as search:
        start = search.state
        assert search.run(visits=1_000_000).is_solved
        for first in start.legal_moves("first"):
            state = start.play({"first": first, "second": "noop"})
            for second in state.legal_moves("second"):
                search.go_to(state.play({"first": "noop", "second": second}))
                if search.state.is_terminal:
                    continue
                found = search.analysis(lines=100)
                unsearched += not any(line.visits for line in found.lines)
                assert sorted(line.steps[0]["first"] for line in found.lines) == sorted(
                    search.state.legal_moves("first")
                )
                values = [line.goals["first"] or 0.0 for line in found.lines]
                assert found.is_solved
                assert values[0] == max(values)
                assert [line.bounds["first"] for line in found.lines] == [(value, value) for value in values]
    assert unsearched > 10


def test_a_search_that_is_stopped_at_once_has_a_move(game: ggp.Game) -> None:
    with ggp.Search(game.initial_state, seed=1) as search:
        found = search.run(visits=10, stop=lambda: True)
    assert found.best in game.initial_state.legal_moves(found.role)
    assert found.lines[0].goals[found.role] is None


def test_what_a_function_raises_is_raised_and_the_tree_goes_on(game: ggp.Game) -> None:
    fails = [False]

    def values(batch: ggp.StateBatch) -> NDArray[np.float64]:
        if fails[0]:
            raise ZeroDivisionError
        return np.full((len(batch), 2), 50.0)

    with ggp.Search(game.initial_state, evaluator=values, settings=PLAIN, seed=1) as search:
        before = search.run(visits=50).visits
        fails[0] = True
        with pytest.raises(ZeroDivisionError):
            search.run(visits=50)
        assert search.tree(0).visits == before
        fails[0] = False
        assert search.run(visits=50).visits >= before + 50


def test_arrays_that_are_none_are_refused(game: ggp.Game) -> None:
    state = game.initial_state
    for wrong, reason in (
        (lambda batch: np.zeros((len(batch), 3)), r"the evaluator gave an array of shape \(\d+, 3\), not \(\d+, 2\)"),
        (lambda batch: np.full((len(batch), 2), np.nan), "the evaluator gave a value that is no number"),
    ):
        with (
            ggp.Search(state, evaluator=wrong, settings=PLAIN) as search,
            pytest.raises(SettingsError, match=reason),
        ):
            search.run(visits=10)
    with (
        ggp.Search(state, prior=lambda batch: -np.ones(batch.legal.shape), settings=PLAIN) as search,
        pytest.raises(SettingsError, match="the prior gave a weight below 0"),
    ):
        search.run(visits=10)


def test_what_cannot_be_searched_is_told(game: ggp.Game) -> None:
    state = game.initial_state
    hidden = ggp.load_text("(role a) (legal a b) (<= (sees a c) (does a b)) terminal (goal a 1)").initial_state
    cases: list[tuple[type[GgpError], str, object]] = [
        (SettingsError, "a batch has at least one state", lambda: ggp.StateBatch.of([])),
        (SettingsError, "at least one playout", lambda: ggp.StateBatch.of([state]).playouts(0)),
        (EvaluationError, "state 1 is none of the game", lambda: ggp.StateBatch.of([state, game.state(["(odd 1)"])])),
        (GroundingError, "with_engine", lambda: ggp.Search(game.with_engine("interpreter").initial_state)),
        (HiddenStateError, "cannot be analysed", lambda: ggp.Search(hidden)),
        (UnknownRoleError, "no role is called 'red'", lambda: ggp.Search(state, role="red")),
        (SettingsError, "seconds, or visits", lambda: ggp.Search(state, settings=PLAIN).run()),
        (SettingsError, "cannot be negative", lambda: ggp.Search(state, settings=PLAIN).run(visits=-5)),
        (SettingsError, "cannot be negative", lambda: ggp.Search(state, settings=PLAIN).run(-1.0)),
        (SettingsError, "a State is expected, not a Game; `initial_state`", lambda: ggp.Search(game)),  # type: ignore[arg-type]
        (SettingsError, "a State is expected, not a str", lambda: ggp.StateBatch.of(["(cell 1 1 b)"])),  # type: ignore[list-item]
        (
            SettingsError,
            r"has no setting thread \(did you mean threads",
            lambda: ggp.Search(state, settings={"thread": 2}),
        ),
        (SettingsError, "settings of a search are a mapping", lambda: ggp.Search(state, settings=5)),  # type: ignore[arg-type]
        (SettingsError, "threads: input should be", lambda: ggp.Search(state, settings={"threads": 2.5})),
        (
            SettingsError,
            "takes one thread",
            lambda: ggp.Search(state, evaluator=lambda b: b.playouts(), settings=SearchSettings(threads=2)),
        ),
    ]
    for kind, reason, do in cases:
        with pytest.raises(kind, match=reason):
            do()  # type: ignore[operator]


def test_settings_by_their_names(game: ggp.Game) -> None:
    with ggp.Search(game.initial_state, settings={"proof": False, "memory_bytes": 2**22}) as search:
        assert search.run(visits=100).most_bytes == 2**22


def test_nothing_is_done_after_the_end(game: ggp.Game) -> None:
    search = ggp.Search(game.initial_state, settings=PLAIN)
    search.close()
    search.close()
    for do in (lambda: search.run(visits=1), search.tree, search.analysis, lambda: search.go_to(game.initial_state)):
        with pytest.raises(SettingsError, match="the search is closed"):
            do()


def test_a_search_does_one_thing_at_a_time(game: ggp.Game) -> None:
    state = game.initial_state
    with ggp.Search(state, settings=PLAIN) as search:

        def ask_again() -> bool:
            search.tree(depth=0)  # may be looked at meanwhile
            search.analysis()
            for do in (lambda: search.run(visits=1), lambda: search.go_to(state)):
                with ThreadPoolExecutor(1) as other, pytest.raises(SettingsError, match="running already"):
                    other.submit(do).result()
                with pytest.raises(SettingsError, match="running already"):
                    do()
            return True

        before = search.run(visits=10**6, stop=ask_again).visits
        assert before < 10**6
        assert search.run(visits=100).visits > before


def test_a_search_with_threads_goes_on_in_a_fork() -> None:
    script = """
        import os
        import ggp
        search = ggp.Search(ggp.load("tictactoe").initial_state, settings={"threads": 2, "proof": False})
        before = search.run(visits=100).visits
        if child := os.fork():
            raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        first, second = search.run(visits=100).visits, search.run(visits=100).visits
        search.close()
        os._exit(not before < first < second)
    """
    command = [sys.executable, "-W", "ignore:This process:DeprecationWarning", "-c", dedent(script)]
    subprocess.run(command, check=True, timeout=60)


def test_a_state_without_a_legal_move_is_not_searched() -> None:
    rules = "(role a) (role b) (init (s 0)) (legal a x) (legal a y) (<= (legal b x) (true (s 0)))"
    rules += "(<= (next (s 1)) (true (s 0))) (<= terminal (true (s 2))) (goal a 0) (goal b 100)"
    game = ggp.load_text(rules, engine="circuit")
    stuck = game.initial_state.play({"a": "x"})
    with ggp.Search(game.initial_state, settings=PLAIN) as search:
        for do in (lambda: search.go_to(stuck), lambda: ggp.Search(stuck), lambda: ggp.analyse(stuck, seconds=1)):
            with pytest.raises(EvaluationError, match="b has no legal move in this state"):
                do()
        assert search.state == game.initial_state

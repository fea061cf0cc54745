"""Environments on the lanes: they agree with the interpreter, however they are laid out, begin anew and are cut up."""

import re
import resource
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ggp
from ggp.env import ONLY, SIMULTANEOUS, StepResult, VectorEnvironment, make_vec
from ggp.errors import EvaluationError, IllegalActionError, SettingsError
from ggp.game import load_text
from tests.env.agreement import compare
from tests.env.games import DICE, SECRET, STUCK
from tests.simulation.games import TURNS, rounds, together

pytestmark = pytest.mark.kernels

SHARED = Path(__file__).parents[3] / "shared" / "rulesheets"


def small(text: str, num_envs: int = 3, seed: int = 0, **settings: Any) -> VectorEnvironment:  # noqa: ANN401
    return make_vec(load_text(text, engine="circuit"), num_envs, seed, **settings)


def play(environments: VectorEnvironment, steps: int, seed: int = 0) -> list[StepResult]:
    """Steps with random moves."""
    random, step = np.random.default_rng(seed), environments.reset()
    found = [step]
    for _ in range(steps):
        step = environments.step(environments.random_moves(random, step))
        found.append(step)
    return found


def same(one: list[StepResult], other: list[StepResult]) -> bool:
    return all(
        bool(np.all(a == b))
        for first, second in zip(one, other, strict=True)
        for a, b in zip(first, second, strict=True)
    )


GAMES = ("biddingtictactoe", "breakthrough", "connectfour", "dotsandboxes", "fiveinarow", "reversi", "tictactoe")


@pytest.mark.parametrize("game", GAMES)
def test_shipped_games_agree_with_the_interpreter(game: str) -> None:
    modes = {"bits": "next_step", "bytes": "same_step"}
    for layout, autoreset in modes.items():
        found = list(compare(game, 1, steps=14, looked=1, autoreset=autoreset, layout=layout, max_steps=9))
        assert not found, found


@pytest.mark.parametrize("autoreset", ["next_step", "same_step", "disabled"])
@pytest.mark.parametrize("chance", ["inside", "explicit"])
@pytest.mark.parametrize("text", [TURNS, rounds(3, 3, 7), together(3, 4), together(1, 2), SECRET, DICE, STUCK])
def test_small_games_agree_with_the_interpreter(text: str, chance: str, autoreset: str) -> None:
    game = load_text(text, engine="circuit")
    for layout, limit in (("bits", 0), ("bytes", 3)):
        settings = {"chance": chance, "autoreset": autoreset, "layout": layout, "max_steps": limit}
        found = list(compare(game, 2, num_envs=5, steps=12, looked=5, **settings))
        assert not found, found


@pytest.mark.slow
@pytest.mark.parametrize("path", [*ggp.games(), *sorted(SHARED.glob("*.kif"))], ids=lambda path: Path(path).stem)
def test_all_rulesheets_agree_with_the_interpreter(path: str | Path) -> None:
    for autoreset, limit in (("next_step", 0), ("same_step", 17)):
        assert not list(compare(path, 3, steps=40, looked=2, layout="bits", autoreset=autoreset, max_steps=limit))


def test_the_only_role_with_the_turn_is_the_mover() -> None:
    for step in play(make_vec("tictactoe", 40), 8)[:5]:
        assert len(set(step.mover.tolist())) == 1
    moved = [int(step.mover[0]) for step in play(make_vec("tictactoe", 40), 4)]
    assert moved == [0, 1, 0, 1, 0]


class Zero(np.random.Generator):
    """Draws the lowest number that there is."""

    def random(self, size: Any, dtype: Any) -> Any:  # type: ignore[override]  # noqa: ANN401
        return np.zeros(size, dtype)


def test_a_random_move_is_legal_whatever_is_drawn() -> None:
    environments = make_vec("tictactoe", 4)
    step = environments.reset()
    moves = environments.random_moves(Zero(np.random.PCG64(0)), step)
    assert [environments.moves[1][number] for number in moves[:, 1]] == ["noop"] * 4
    environments.step(moves)


def test_layouts_show_the_same() -> None:
    bits, octets, planes = (
        play(make_vec("connectfour", 130, layout=layout), 30) for layout in ("bits", "bytes", "planes")
    )
    layout = make_vec("connectfour", 1, layout="planes").observation_layout
    names = make_vec("connectfour", 1).observation_layout.names
    assert len(names) == octets[0].observation.shape[1]
    board = [name for name in names if name.startswith("(cell")]
    for packed, plain, drawn in zip(bits, octets, planes, strict=True):
        unpacked = np.unpackbits(packed.observation.view(np.uint8), axis=1, bitorder="little", count=len(names))
        assert (unpacked == plain.observation).all()
        assert (make_vec("connectfour", 130).unpack_mask(packed.mask) == plain.mask).all()
        counted = plain.observation[:, [names.index(name) for name in board]].sum(axis=1)
        boards = [at for at, name in enumerate(layout.names) if name.startswith("cell")]
        assert (drawn.observation[:, boards].sum(axis=(1, 2, 3)) == counted).all()
    assert layout.shape[1:] == (6, 7)


def test_planes_have_pieces_where_the_board_has_them() -> None:
    environments = make_vec("tictactoe", 1, layout="planes")
    names = environments.observation_layout.names
    step = environments.step([[environments.moves[0].index("(mark 1 3)"), ONLY]])
    plane = step.observation[0, names.index("cell x")]
    assert np.argwhere(plane).tolist() in ([[0, 2]], [[2, 0]])


def test_a_run_is_the_same_for_a_seed_whatever_the_number_of_threads() -> None:
    game = load_text(DICE, engine="circuit")
    runs = [play(make_vec(game, 1_300, seed=5, threads=threads), 30) for threads in (1, 2, 3)]
    assert same(runs[0], runs[1])
    assert same(runs[0], runs[2])
    assert not same(runs[0], play(make_vec(game, 1_300, seed=6), 30))
    environments = make_vec(game, 1_300, seed=6)
    play(environments, 3)
    environments.reset(seed=5)
    assert same(runs[0], play(environments, 30))


def test_the_dice_are_fair_and_independent() -> None:
    environments = small(DICE, 6_000)
    step = environments.step(np.zeros((6_000, 1), np.int64))
    names = environments.observation_layout.names
    for face in "123":
        share = step.observation[:, names.index(f"(rolled {face})")].mean()
        assert abs(share - 1 / 3) < 0.03


def test_machine_code_gives_the_same_steps() -> None:
    game = load_text(DICE, engine="circuit")
    compiled = make_vec(game, 600, seed=5)
    compiled.compile()
    assert same(play(compiled, 20), play(make_vec(game, 600, seed=5), 20))
    compiled.close()


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.int64, np.uint64, list])
def test_moves_are_integers_of_any_type(kind: Any) -> None:  # noqa: ANN401
    environments = make_vec("tictactoe", 2)
    only = environments.moves[1].index("noop")
    moves = np.array([[4, only], [0, only]])
    step = environments.step(moves.tolist() if kind is list else moves.astype(kind))
    assert step.mover.tolist() == [1, 1]
    assert not step.mask[0, 1, 4]


def test_movers_moves_are_enough_where_one_role_has_a_choice() -> None:
    environments = make_vec("tictactoe", 2)
    environments.step([4, 0])
    step = environments.step([0, 4])
    assert step.mover.tolist() == [0, 0]
    both = make_vec("tictactoe", 2)
    both.step([[4, ONLY], [0, ONLY]])
    assert same([step], [both.step([[ONLY, 0], [ONLY, 4]])])
    for wrong in (0, 10, -1, 1 << 60):
        with pytest.raises(IllegalActionError, match=f"environment 1: move {wrong} is not legal for xplayer"):
            environments.step([1, wrong])
    with pytest.raises(SettingsError, match="choose at once"):
        small(together(2, 2)).step([0, 0, 0])


@pytest.mark.parametrize(
    ("moves", "words"),
    [
        (
            [[0, ONLY], [10, ONLY]],
            "environment 1: move 10 is not legal for xplayer: its moves are numbered from 0 to 9",
        ),
        ([[0, ONLY], [-2, ONLY]], "environment 1: move -2 is not legal for xplayer"),
        ([[0, ONLY], [1 << 40, ONLY]], "environment 1: move 1099511627776 is not legal for xplayer"),
        ([[0, 1], [0, ONLY]], "environment 0: move 1 is not legal for oplayer: .* is not among noop"),
        ([[ONLY, ONLY], [0, ONLY]], "environment 0: move -1 is not legal for xplayer: it has the turn"),
    ],
)
def test_a_number_that_is_no_legal_move_is_an_error_and_changes_nothing(moves: list[list[int]], words: str) -> None:
    environments = make_vec("tictactoe", 2)
    before = environments.states()
    with pytest.raises(IllegalActionError, match=words) as caught:
        environments.step(moves)
    assert caught.value.environment == int(words.split()[1].rstrip(":"))
    assert (environments.states() == before).all()
    assert environments.step([[3, ONLY], [3, ONLY]]).mover.tolist() == [1, 1]


def test_an_error_in_one_block_leaves_all_others_as_they_were() -> None:
    environments = small(DICE, 1_200, threads=2)
    before = environments.states()
    moves = np.zeros((1_200, 1), np.int64)
    moves[1_100] = 7
    with pytest.raises(IllegalActionError, match="environment 1100"):
        environments.step(moves)
    assert (environments.states() == before).all()
    moves[1_100] = 0
    assert same([environments.step(moves)], [small(DICE, 1_200).step(moves)])


@pytest.mark.parametrize("illegal", ["first", "random"])
def test_a_number_that_is_no_legal_move_may_be_replaced(illegal: str) -> None:
    environments = make_vec("tictactoe", 200, illegal=illegal)
    environments.step([[4, ONLY]] * 200)
    step = environments.step([[ONLY, 4]] * 200)
    assert (step.mover == 0).all()
    taken = (~step.mask[:, 0, :9]).sum(axis=1)
    assert (taken == 2).all()
    places = set(np.argwhere(~step.mask[:, 0, :9] & (np.arange(9) != 4))[:, 1].tolist())
    assert places == {0} if illegal == "first" else len(places) == 8


def test_an_environment_that_is_over_waits_for_its_reset() -> None:
    environments = small(TURNS, 2, autoreset="disabled")
    for _ in range(3):
        step = environments.step([0, 1] if environments.moves[0][0] == "(add 1)" else [0, 0])
    while not step.terminated.any():
        step = environments.step([0, 0])
    over = step.terminated.copy()
    with pytest.raises(IllegalActionError, match="the match is over; reset it"):
        environments.step([0, 0])
    step = environments.reset(mask=over)
    assert (environments.states()[over] == small(TURNS, 1).states()).all()
    environments.step(environments.random_moves(np.random.default_rng(0), step))


def test_a_match_that_ends_begins_anew_in_the_same_step_and_its_end_can_be_seen() -> None:
    environments = small(TURNS, 50, autoreset="same_step")
    names, random = environments.observation_layout.names, np.random.default_rng(0)
    step, ends = environments.reset(), 0
    for _ in range(10):
        step = environments.step(environments.random_moves(random, step))
        final = environments.final_observation()[step.terminated]
        ends += len(final)
        assert (final[:, [names.index("(count 5)"), names.index("(count 6)")]].sum(axis=1) == 1).all()
        assert step.observation[step.terminated][:, names.index("(count 0)")].all()
    assert ends > 50


def test_rewards_are_goal_values_in_proportion() -> None:
    for low, high in ((-1.0, 1.0), (0.0, 1.0), (0.0, 100.0)):
        steps = play(small(DICE, 300, reward_range=(low, high)), 4)
        assert not any(step.reward.any() for step in steps[:4])
        found = np.unique(steps[4].reward)
        assert found == pytest.approx([low + (high - low) * 0.3, high])


def test_percepts_are_all_that_is_observed() -> None:
    """Wherever the coin lies, nothing that is told differs before the rules show it."""
    environments = small(SECRET, 400, layout="bytes")
    assert environments.roles == ("guesser",)
    guess = environments.moves[0].index("(say heads)")
    wait = environments.moves[0].index("wait")
    names = environments.observation_layout.names
    assert set(names) == {"hidden", "(it_was heads)", "(it_was tails)"}
    for move in (wait, guess):
        step = environments.step(np.full((400, 1), move))
        for told in step:
            assert (told == told[0]).all()
        assert len(np.unique(environments.states(), axis=0)) == 2
    step = environments.step(np.full((400, 1), wait))
    assert len(np.unique(step.observation, axis=0)) == 2
    assert len(np.unique(step.reward)) == 2
    assert (step.mover == SIMULTANEOUS).all()
    step = environments.step(np.full((400, 1), wait))
    assert not step.observation.any(), "what was told in one match is told in the next"
    with pytest.raises(SettingsError, match="the rules of this game hide it"):
        small(SECRET, layout="planes")


def test_percepts_belong_to_their_role() -> None:
    environments = small(SECRET, 4, chance="explicit")
    assert environments.roles == ("guesser", "random")
    moves = [environments.moves[0].index("wait"), environments.moves[1].index("(hide heads)")]
    step = environments.step([moves] * 4)
    own = environments.compiled.percepts
    assert step.observation.shape == (4, 2, max(map(len, own)))
    assert [str(own[0][at]) for at in np.flatnonzero(step.observation[0, 0])] == ["hidden"]
    assert [str(own[1][at]) for at in np.flatnonzero(step.observation[0, 1])] == ["wait"]


def test_arrays_are_new_at_each_step_unless_that_is_not_wanted() -> None:
    steps = play(make_vec("tictactoe", 10), 5)
    kept = [step.observation.copy() for step in play(make_vec("tictactoe", 10), 5)]
    assert all((step.observation == copy).all() for step, copy in zip(steps, kept, strict=True))
    environments = make_vec("tictactoe", 10, copy=False)
    steps = play(environments, 5)
    assert all((step.observation == kept[-1]).all() for step in steps[1::2])
    assert not np.shares_memory(steps[0].observation, steps[1].observation)


def test_arrays_go_to_other_libraries_without_a_copy() -> None:
    step = make_vec("tictactoe", 10, layout="bits").reset()
    for array in step:
        other: NDArray[Any] = np.from_dlpack(array)
        assert np.shares_memory(array, other)


def test_a_state_can_be_looked_at() -> None:
    environments = make_vec("tictactoe", 3)
    environments.step([4, 0, 1])
    assert "(cell 2 2 x)" in environments.state(0).facts
    assert environments.state(1).game.name == "tictactoe"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"layout": "byte"}, "layout: input should be 'bits', 'bytes' or 'planes', not 'byte'"),
        ({"layuot": "bits"}, r"no setting layuot \(did you mean layout\?\)"),
        ({"max_steps": -1}, "max_steps: input should be greater than or equal to 0, not -1"),
        ({"threads": 0}, "threads: input should be greater than or equal to 1, not 0"),
        ({"reward_range": "high"}, "reward_range: input should be a valid tuple, not 'high'"),
    ],
)
def test_settings_that_are_wrong(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        make_vec("tictactoe", 3, **settings)


def test_moves_of_the_wrong_shape_and_too_few_environments() -> None:
    environments = make_vec("tictactoe", 3)
    with pytest.raises(SettingsError, match=r"moves are integers of shape \(3, 2\) or \(3,\), not float64"):
        environments.step(np.zeros((3, 2)))
    with pytest.raises(SettingsError, match=r"not int64 of shape \(2, 2\)"):
        environments.step(np.zeros((2, 2), np.int64))
    with pytest.raises(SettingsError, match="num_envs is an integer from 1"):
        make_vec("tictactoe", 0)
    for number in (2.5, "2", True):
        with pytest.raises(SettingsError, match="num_envs is an integer from 1"):
            make_vec("tictactoe", number)  # type: ignore[arg-type]


def test_seeds_and_masks_that_are_wrong() -> None:
    environments = make_vec("tictactoe", 4)
    for mask in (np.array([True]), np.ones(5, np.bool_), np.ones((4, 1), np.bool_)):
        with pytest.raises(SettingsError, match=re.escape("a mask has the shape (4,), not ")):
            environments.reset(mask=mask)
    for name in ("tictactoe", "pig"):
        for seed in (-1, 1.5, "1"):
            with pytest.raises(SettingsError, match=f"a seed is an integer from 0 on, not {seed!r}"):
                make_vec(name, 4, seed)  # type: ignore[arg-type]


def test_steps_go_on_without_threads_after_close() -> None:
    environments, others = make_vec("tictactoe", 2_000, threads=2), make_vec("tictactoe", 2_000)
    environments.close()
    moves = np.arange(2_000) % 9
    assert (environments.step(moves).observation == others.step(moves).observation).all()


def test_a_role_that_never_has_a_legal_move() -> None:
    text = "(role a) (role b) (init s) (legal a go) (<= (legal b go) (true never)) (<= terminal (not (true s)))"
    with pytest.raises(EvaluationError, match="b has no legal move in this state"):
        small(f"{text} (goal a 0) (goal b 0)")


def test_rules_with_the_role_random_only() -> None:
    text = DICE.replace("(role a)", "").replace("(legal a on) (legal a off)", "").replace("(does a on) ", "")
    text = text.split("(<= (goal a")[0] + "(goal random 50)"
    with pytest.raises(SettingsError, match="the only role is random, whose moves are drawn"):
        small(text)
    assert small(text, chance="explicit").roles == ("random",)


@pytest.mark.slow
@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("autoreset", ["next_step", "same_step"])
def test_nothing_grows_in_a_hundred_million_steps(autoreset: str, copy: bool) -> None:
    """Resident memory, as it is now and not at its peak: what ran before does not hide what grows."""
    environments = make_vec("tictactoe", 65_536, layout="bits", seed=1, autoreset=autoreset, copy=copy)
    random, step, moves = np.random.default_rng(0), environments.reset(seed=1), []
    for _ in range(60):
        moves.append(environments.random_moves(random, step))
        step = environments.step(moves[-1])
    expected, done, ends = step.observation.copy(), 0, 0
    before = resident()
    while done < 100_000_000:
        environments.reset(seed=1)
        for joint in moves:
            last = environments.step(joint)
            ends += int(last.terminated.sum())
            done += 65_536
    assert (last.observation == expected).all()
    assert ends > 8_000_000, "hardly a match ended and began anew"
    assert resident() - before < 4 << 20


def resident() -> int:
    """Bytes of memory that this process has now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()


def test_final_observations_and_refused_moves_leave_arrays_as_they_are() -> None:
    environments = make_vec("tictactoe", 10, copy=False, autoreset="same_step")
    kept = list[tuple[StepResult, NDArray[np.uint8]]]()
    for move in (0, 4, 1, 5, 2):
        step = environments.step([move] * 10)
        environments.final_observation()
        with pytest.raises(IllegalActionError):
            environments.step([-7] * 10)
        kept.append((step, step.observation.copy()))
        assert all((each.observation == copy).all() for each, copy in kept[-2:])

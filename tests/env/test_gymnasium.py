"""Gymnasium's own checks, and what its users rely on."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggp
from ggp.env import make_vec
from ggp.env.single import StateOpponent, search_opponent
from ggp.errors import HiddenStateError, IllegalActionError, SettingsError, UnknownRoleError
from ggp.game import State, load_text
from tests.env.games import DICE, SECRET
from tests.simulation.games import TURNS, together

gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is not installed: pip install 'ggp[rl]'")
from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode  # noqa: E402

from ggp.env.gymnasium_adapter import GymEnv, GymVectorEnv, environment_id, register  # noqa: E402

SHARED = Path(__file__).parents[3] / "shared" / "rulesheets"


@contextmanager
def only_known_warnings() -> Iterator[None]:
    """Gymnasium warns of environments that were not made by its own `make`."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*(alternative render modes|spec).*")
        yield


@pytest.mark.parametrize("role", [None, "self"])
@pytest.mark.parametrize("game", ["tictactoe", "connectfour", "nim", "biddingtictactoe"])
def test_single_environments_pass_the_checks_of_gymnasium(game: str, role: str | None) -> None:
    environment = GymEnv(game, role=role, render_mode="rgb_array" if game == "tictactoe" else None)
    with only_known_warnings():
        check_env(environment, skip_render_check=game != "tictactoe")


@pytest.mark.slow
@pytest.mark.parametrize("path", [*ggp.games(), *sorted(SHARED.glob("*.kif"))], ids=lambda path: Path(path).stem)
def test_all_games_pass_the_checks_of_gymnasium(path: str | Path) -> None:
    with only_known_warnings():
        check_env(GymEnv(path), skip_render_check=True)
    environments = GymVectorEnv(path, 5)
    observation, infos = environments.reset(seed=0)
    random = np.random.default_rng(0)
    for _ in range(30):
        assert environments.observation_space.contains(observation)
        moves = np.argmax(random.random(infos["action_mask"].shape) * infos["action_mask"], axis=2)
        observation, rewards, terminations, truncations, infos = environments.step(moves)
        assert rewards.shape == terminations.shape == truncations.shape == (5,)


def test_hidden_information_passes_too_and_is_not_drawn() -> None:
    environment = GymEnv(load_text(SECRET, engine="circuit"), render_mode="ansi")
    with only_known_warnings():
        check_env(environment, skip_render_check=True)
    assert environment.observation_space.shape == (3,)
    with pytest.raises(HiddenStateError, match="hide the state"):
        environment.render()


def test_an_id_names_the_game_and_its_rules() -> None:
    name = register("tictactoe")
    assert name == environment_id(ggp.load("tictactoe"))
    assert name.startswith("ggp/tictactoe-")
    assert name.endswith("-v0")
    assert register("tictactoe") == name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        environment = gymnasium.make(name)
        vector = gymnasium.make_vec(name, num_envs=3)
    assert environment.reset(seed=1)[0].shape == (29,)
    assert vector.reset(seed=1)[0].shape == (3, 29)


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_matches_begin_anew_as_gymnasium_says(mode: AutoresetMode) -> None:
    words = {"NextStep": "next_step", "SameStep": "same_step", "Disabled": "disabled"}
    environments = GymVectorEnv(load_text(TURNS, engine="circuit"), 4, autoreset=words[mode.value], illegal="raise")
    assert environments.metadata["autoreset_mode"] is mode
    observation, infos = environments.reset(seed=0)
    start = observation.copy()
    for _ in range(3):
        observation, rewards, terminations, _, infos = environments.step(np.ones(4, np.int64))
    assert terminations.all()
    assert set(np.abs(rewards)) == {1.0}
    if mode is AutoresetMode.SAME_STEP:
        assert (observation == start).all()
        assert infos["_final_obs"].all()
        assert not (infos["final_obs"][0] == start[0]).all()
    elif mode is AutoresetMode.DISABLED:
        with pytest.raises(IllegalActionError, match="reset it"):
            environments.step(np.ones(4, np.int64))
        mask = np.array([True, False, True, True])
        observation, infos = environments.reset(options={"reset_mask": mask})
        assert ((observation == start).all(axis=1) == mask).all()
    else:
        assert not (observation == start).all()
        observation, rewards, terminations, _, infos = environments.step(np.full(4, 77))
        assert (observation == start).all()
        assert not rewards.any()
        assert not terminations.any()


def test_one_role_plays_against_others() -> None:
    """The other role takes the first legal move: two marks in its corner row by its second turn."""

    def first(observation: Any, mask: Any, random: np.random.Generator) -> Any:  # noqa: ANN401
        return mask.argmax(axis=1)

    environment = GymEnv("tictactoe", role="oplayer", opponent=first, illegal="raise")
    _, info = environment.reset(seed=0)
    names = environment.environments.moves[1]
    assert info["action_mask"].sum() == 8, "xplayer has moved"
    total, moves = 0.0, [names.index(f"(mark {cell})") for cell in ("2 2", "1 3", "3 1")]
    for move in moves:
        _, reward, terminated, _, info = environment.step(np.int64(move))
        total += reward
    assert terminated
    assert total == 1.0
    with pytest.raises(UnknownRoleError, match="did you mean oplayer"):
        GymEnv("tictactoe", role="oplayr")


def test_a_match_without_a_choice_is_begun_anew() -> None:
    """In chomp the first role may eat all at once."""
    environment = GymEnv("chomp", role="second", illegal="raise")
    for seed in range(60):
        _, info = environment.reset(seed=seed)
        environment.step(np.int64(info["action_mask"].argmax()))
    rules = "(role a) (role b) (init s) (legal a go) (legal a stay) (legal b noop) (<= (next over) (does a ?m))"
    rules += "(<= terminal (true over)) (goal a 0) (goal b 100)"
    with pytest.raises(SettingsError, match="b had no choice in 1,000 matches"):
        GymEnv(ggp.load_text(rules), role="b").reset(seed=0)
    rules = "(role a) (role b) (init s) (legal a go) (legal a stay) (legal b noop) (<= (next s) (true s))"
    endless = ggp.load_text(rules + "(<= terminal (true over)) (goal a 0) (goal b 100)")
    with pytest.raises(SettingsError, match="b had no choice in 100,000 steps"):
        GymEnv(endless, role="b").reset(seed=0)
    GymEnv(endless, role="a").reset(seed=0)


@pytest.mark.parametrize("role", [None, "self"])
def test_a_step_before_the_first_reset_is_refused(role: str | None) -> None:
    with pytest.raises(SettingsError, match="reset the environment before the first step"):
        GymEnv("tictactoe", role=role).step(np.int64(0))


def test_many_matches_against_a_random_opponent() -> None:
    environments = GymVectorEnv("tictactoe", 200, role="oplayer", autoreset="same_step", illegal="raise")
    _, infos = environments.reset(seed=1)
    total, ends = 0.0, 0
    for _ in range(30):
        mask = infos["action_mask"][:, 1]
        _, rewards, terminations, _, infos = environments.step(mask.argmax(axis=1))
        total += rewards.sum()
        ends += int(terminations.sum())
        assert not rewards[~terminations].any()
    assert ends > 400
    assert total < 0, "who moves second and takes the first free cell loses more often"


def test_simultaneous_moves_are_given_for_all_roles() -> None:
    game = load_text(together(3, 4), engine="circuit")
    environments = GymVectorEnv(game, 6)
    environments.reset(seed=0)
    assert environments.single_action_space.nvec.tolist() == [4, 4, 4]
    environments.action_space.seed(0)
    observation, *_ = environments.step(environments.action_space.sample())
    assert observation.shape == environments.observation_space.shape


def test_the_adapter_gives_out_what_the_lanes_wrote() -> None:
    environments = GymVectorEnv("tictactoe", 7, copy=False)
    plain = make_vec("tictactoe", 7)
    observation, infos = environments.reset(seed=3)
    step = plain.reset(seed=3)
    assert (observation == step.observation).all()
    assert (infos["action_mask"] == step.mask).all()
    assert observation.base is not None


def test_seeds_decide_the_dice() -> None:
    game = load_text(DICE, engine="circuit")
    first, second = (GymVectorEnv(game, 50), GymVectorEnv(game, 50))
    for seed, equal in ((4, True), (5, False)):
        first.reset(seed=4)
        second.reset(seed=seed)
        moves = np.zeros(50, np.int64)
        assert (first.step(moves)[0] == second.step(moves)[0]).all() == equal


def test_an_opponent_may_be_a_bot_that_is_given_the_state() -> None:
    """xplayer marks the last free cells, from the end: a row before oplayer has one."""
    asked = []

    def last(state: State, role: str) -> str:
        asked.append(state)
        return state.legal_moves(role)[-1]

    environments = GymVectorEnv("tictactoe", 3, role="oplayer", opponent=StateOpponent(last), illegal="raise")
    environments.reset(seed=0)
    environments.step(np.zeros(3, np.int64))  # xplayer's move
    assert [state.facts for state in asked] == [ggp.load("tictactoe").initial_state.facts] * 3
    assert "(cell 3 3 x)" in environments.environments.state(1).facts
    environment = GymEnv("tictactoe", role="oplayer", opponent=StateOpponent(last), illegal="raise")
    environment.reset(seed=0)
    for number in range(2):
        _, reward, terminated, _, _ = environment.step(np.int64(number))
    assert terminated
    assert reward == -1.0


def test_the_search_as_an_opponent_does_not_lose() -> None:
    environment = GymEnv("tictactoe", role="oplayer", opponent=search_opponent(visits=2000), illegal="raise")
    for seed in range(3):
        _, info = environment.reset(seed=seed)
        terminated = False
        while not terminated:
            _, reward, terminated, _, info = environment.step(info["action_mask"].argmax())
        assert reward < 1.0


def test_what_an_opponent_must_not_do() -> None:
    for opponent in ("mcts", None):
        with pytest.raises(SettingsError, match="or a StateOpponent such as search_opponent"):
            GymVectorEnv("tictactoe", 2, role="oplayer", opponent=opponent)  # type: ignore[arg-type]
    with pytest.raises(HiddenStateError, match="hide the state"):
        GymEnv(
            load_text(SECRET, engine="circuit"), opponent=StateOpponent(lambda state, role: state.legal_moves(role)[0])
        )
    environment = GymEnv("tictactoe", role="oplayer", opponent=StateOpponent(lambda *_: "(mark 4 4)"))
    with pytest.raises(
        SettingsError, match=r"environment 0: the opponent's move '\(mark 4 4\)' is not legal for xplayer"
    ):
        environment.reset(seed=0)

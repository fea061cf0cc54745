"""PettingZoo's own tests, and what its users rely on."""

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggp
from ggp.errors import IllegalActionError, SettingsError
from ggp.game import load_text
from tests.env.games import DICE, SECRET
from tests.simulation.games import TURNS, rounds, together

pytest.importorskip("pettingzoo", reason="pettingzoo is not installed: pip install 'ggp[rl]'")
pytest.importorskip("pygame", reason="pygame is not installed, which PettingZoo's tests need: pip install 'ggp[rl]'")
with warnings.catch_warnings():  # its tests load one of its games in a way that it has deprecated
    warnings.simplefilter("ignore", DeprecationWarning)
    from pettingzoo.test import api_test, parallel_api_test, render_test, seed_test

from ggp.env.pettingzoo_adapter import TogetherEnv, TurnEnv

SHARED = Path(__file__).parents[3] / "shared" / "rulesheets"
CYCLES = 60


@pytest.fixture(autouse=True)
def advice() -> Iterator[None]:
    """PettingZoo recommends names of agents, observations that are no dictionaries, and not all zero."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*(recommend agents|Observation).*")
        yield


def all_tests(game: Any, **settings: Any) -> None:  # noqa: ANN401
    make: Callable[..., TurnEnv] = lambda render_mode=None: TurnEnv(game, render_mode=render_mode, **settings)  # noqa: E731
    api_test(make(), num_cycles=CYCLES)
    parallel_api_test(TogetherEnv(game, **settings), num_cycles=CYCLES)
    seed_test(make, num_cycles=CYCLES)


@pytest.mark.parametrize("game", ["tictactoe", "nim", "biddingtictactoe"])
def test_games_pass_the_tests_of_pettingzoo(game: str, capsys: pytest.CaptureFixture[str]) -> None:
    all_tests(game)
    assert "Passed Parallel API test" in capsys.readouterr().out


@pytest.mark.parametrize("text", [TURNS, rounds(3, 2, 5), together(2, 3), DICE, SECRET])
@pytest.mark.parametrize("chance", ["inside", "explicit"])
def test_small_games_pass_the_tests_of_pettingzoo(text: str, chance: str) -> None:
    all_tests(load_text(text, engine="circuit"), chance=chance, max_steps=20)


@pytest.mark.slow
@pytest.mark.parametrize("path", [*ggp.games(), *sorted(SHARED.glob("*.kif"))], ids=lambda path: Path(path).stem)
def test_all_games_pass_the_tests_of_pettingzoo(path: str | Path) -> None:
    all_tests(ggp.load(path))


def test_pictures_pass_the_tests_of_pettingzoo() -> None:
    render_test(lambda render_mode=None: TurnEnv("tictactoe", render_mode=render_mode))
    picture = TurnEnv("tictactoe", render_mode="rgb_array")
    picture.reset(seed=0)
    shown = picture.render()
    assert shown.dtype == np.uint8
    assert shown.shape[2] == 3
    assert shown.min() < 100 < shown.max()


def test_the_role_with_the_choice_acts() -> None:
    environment = TurnEnv("tictactoe")
    environment.reset(seed=0)
    order = []
    for agent in environment.agent_iter(max_iter=20):
        observation, _, terminated, truncated, _ = environment.last()
        if terminated or truncated:
            environment.step(None)
            continue
        order.append(agent)
        environment.step(int(observation["action_mask"].argmax()))
    assert order == ["xplayer", "oplayer", "xplayer", "oplayer", "xplayer", "oplayer", "xplayer"]
    assert not environment.agents


def test_all_act_in_turn_where_several_choose() -> None:
    environment = TurnEnv(load_text(together(3, 2), engine="circuit"))
    environment.reset(seed=0)
    before = environment.observe("r0")["observation"].copy()
    for agent in ("r0", "r1", "r2"):
        assert environment.agent_selection == agent
        assert (environment.observe(agent)["observation"] == before).all(), "a move shows before all have moved"
        environment.step(0)
    assert not (environment.observe("r0")["observation"] == before).all()


def test_an_action_that_is_not_legal_is_an_error() -> None:
    environment = TurnEnv("tictactoe")
    environment.reset(seed=0)
    with pytest.raises(IllegalActionError, match="move 9 is not legal for xplayer"):
        environment.step(9)
    together_environment = TogetherEnv("tictactoe")
    together_environment.reset(seed=0)
    with pytest.raises(SettingsError, match="no action of oplayer"):
        together_environment.step({"xplayer": 0})


def test_nothing_has_changed_after_an_illegal_action() -> None:
    environment = TurnEnv("tictactoe")
    environment.reset(seed=0)
    environment.step(0)
    for _ in range(2):
        with pytest.raises(IllegalActionError, match="move 0 is not legal for oplayer"):
            environment.step(0)
        assert environment.agent_selection == "oplayer"
    environment.step(1)
    assert environment.agent_selection == "xplayer"
    together_environment = TurnEnv(load_text(together(3, 2), engine="circuit"))
    together_environment.reset(seed=0)
    for agent in ("r0", "r1", "r2"):
        with pytest.raises(IllegalActionError, match=f"move 7 is not legal for {agent}"):
            together_environment.step(7)
        assert together_environment.agent_selection == agent
        together_environment.step(0)
    assert together_environment.agent_selection == "r0"


def test_an_environment_is_reset_first() -> None:
    environment = TurnEnv("tictactoe")
    for look in (environment.last, lambda: environment.observe("xplayer"), lambda: environment.step(0)):
        with pytest.raises(SettingsError, match="reset the environment before the first step"):
            look()

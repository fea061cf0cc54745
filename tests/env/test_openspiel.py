"""OpenSpiel's generic tests, and what its users rely on."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggp
from ggp.errors import SettingsError
from ggp.game import load_text
from tests.env.games import DICE, SECRET, STUCK
from tests.simulation.games import TURNS, rounds, together

pyspiel: Any = pytest.importorskip("pyspiel", reason="open_spiel is not installed: pip install 'ggp[openspiel]'")

from ggp.env.openspiel_adapter import register  # noqa: E402

SHARED = Path(__file__).parents[3] / "shared" / "rulesheets"


def small(text: str, max_steps: int = 40) -> Any:  # noqa: ANN401 - of OpenSpiel
    return pyspiel.load_game(register(load_text(text, engine="circuit"), max_steps=max_steps))


def generic_tests(game: Any, matches: int = 2) -> None:  # noqa: ANN401 - of OpenSpiel
    pyspiel.random_sim_test(game, num_sims=matches, serialize=True, verbose=False)


@pytest.mark.parametrize("game", ["tictactoe", "nim", "biddingtictactoe"])
def test_games_pass_the_tests_of_openspiel(game: str) -> None:
    generic_tests(pyspiel.load_game(register(game)))


@pytest.mark.parametrize("text", [TURNS, rounds(3, 2, 5), together(2, 3), DICE, SECRET, STUCK])
def test_small_games_pass_the_tests_of_openspiel(text: str) -> None:
    generic_tests(small(text))


@pytest.mark.slow
@pytest.mark.parametrize("path", [*ggp.games(), *sorted(SHARED.glob("*.kif"))], ids=lambda path: Path(path).stem)
def test_all_games_pass_the_tests_of_openspiel(path: str | Path) -> None:
    generic_tests(pyspiel.load_game(register(path, max_steps=30)), 1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_steps": 0}, "max_steps: OpenSpiel needs a number of steps"),
        ({"max_steps": -1}, "max_steps: input should be greater than or equal to 0"),
        ({"reward_range": (1.0,)}, "reward_range"),
    ],
)
def test_options_that_are_wrong(options: dict[str, Any], words: str) -> None:
    game = load_text(f"{TURNS} (unregistered)", engine="circuit")
    with pytest.raises(SettingsError, match=words):
        register(game, **options)
    assert not any(game.rulesheet.sha256[:8] in name for name in pyspiel.registered_names())


def test_kinds_of_games() -> None:
    kind = pyspiel.GameType
    found = {name: pyspiel.load_game(register(name)).get_type() for name in ("tictactoe", "biddingtictactoe")}
    assert found["tictactoe"].dynamics == kind.Dynamics.SEQUENTIAL
    assert found["biddingtictactoe"].dynamics == kind.Dynamics.SIMULTANEOUS
    secret = small(SECRET).get_type()
    assert secret.information == kind.Information.IMPERFECT_INFORMATION
    assert secret.chance_mode == kind.ChanceMode.EXPLICIT_STOCHASTIC


def test_the_last_move_belongs_to_who_makes_it() -> None:
    state = pyspiel.load_game(register("tictactoe")).new_initial_state()
    players = []
    for action in (0, 1, 2, 4, 3, 5, 7, 6, 8):
        players.append(state.current_player())
        state.apply_action(action)
    assert players == [0, 1] * 4 + [0]
    assert state.is_terminal()
    assert state.returns() == [0.0, 0.0]


def test_chance_is_explicit_and_uniform() -> None:
    state = small(DICE).new_initial_state()
    state.apply_action(0)
    assert state.is_chance_node()
    assert [chance for _, chance in state.chance_outcomes()] == pytest.approx([1 / 3] * 3)
    for _ in range(3):
        state.apply_action(2)
        state.apply_action(0)
    state.apply_action(2)
    assert state.is_terminal()


def test_players_know_their_percepts_only() -> None:
    """The coin, which chance hides, changes nothing that the guesser is told before the rules show it."""
    states = []
    for coin in (0, 1):
        state = small(SECRET).new_initial_state()
        assert state.is_chance_node()
        state.apply_action(state.legal_actions()[coin])
        state.apply_action(state.legal_actions()[0])
        states.append(state)
    one, other = states
    assert one.information_state_string(0) == other.information_state_string(0)
    assert one.observation_tensor(0) == other.observation_tensor(0)
    for state in states:
        state.apply_action(state.legal_actions()[0])
    assert one.information_state_string(0) != other.information_state_string(0)
    assert one.observation_tensor(0) != other.observation_tensor(0)


def test_a_playthrough_can_be_written() -> None:
    algorithms = pytest.importorskip("open_spiel.python.algorithms.generate_playthrough")
    text = algorithms.playthrough(register("tictactoe"), action_sequence=[4, 0, 8])
    assert "ObservationTensor(0)" in text
    assert 'StringLegalActions() = ["(mark 1 1)"' in text


def test_observations_are_the_facts() -> None:
    game = pyspiel.load_game(register("tictactoe"))
    state = game.new_initial_state()
    tensor = np.array(state.observation_tensor(0))
    assert tensor.sum() == 10
    assert "(control xplayer)" in state.observation_string(0)

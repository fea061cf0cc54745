"""Learning across matches: a net that is saved at the end of a match is where learning continues in the next."""

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

import ggp
from ggp.errors import SettingsError
from ggp.learning import knowledge, learner
from ggp.learning.knowledge import Knowledge, find_knowledge, load_knowledge, matches_path, save_after_match
from ggp.simulation.state_machine import CircuitMachine
from players.engines import TreeSearch, make_engine
from players.settings import PlayerSettings
from players.strategy import RoleTask, Thought
from players.thinker import make_interpreter
from tests.players.doubles import start

GAME = ggp.load("tictactoe", "circuit")
assert isinstance(GAME.machine, CircuitMachine)
COMPILED = GAME.machine.compiled


def task_of(warned: list[str], *, save: bool) -> RoleTask:
    settings = PlayerSettings("mcts", seed=1, memory=64, save_knowledge=save)
    rules, machine = GAME.rulesheet, make_interpreter(GAME.rulesheet)
    begin = start(startclock=600, playclock=60)
    return RoleTask(begin, rules, machine, machine.roles[0], settings, Random(1), warned.append, lambda job: job())


def play_a_match(warned: list[str], *, save: bool = True) -> float | None:
    """Until so much was learned that it can be kept; the seconds of learning that were known before."""
    task = task_of(warned, save=save)
    engine = make_engine(task)
    assert isinstance(engine, TreeSearch)
    improver = engine._improver
    assert improver is not None
    thought = Thought(lambda: float(improver.learned is not None), 1.0)
    engine.ponder(task.machine.initial_state, None, thought)
    thought = Thought(lambda: 0.0, 1.0, wants_evaluation=True)
    engine.think(task.machine.initial_state, thought)
    engine.close()
    assert thought.evaluation is not None
    return thought.evaluation.trained_seconds


@pytest.fixture(autouse=True)
def quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Knowledge in a temporary folder, kernels in the usual cache; short contests decide on the inputs of nets."""
    monkeypatch.setattr(knowledge, "knowledge_folder", lambda: tmp_path)
    monkeypatch.setattr(learner, "FIRST_TRIAL", learner.FIRST_TRIAL // 50)
    monkeypatch.setattr(learner, "TRIAL", learner.TRIAL // 50)


def known() -> Knowledge | None:
    return find_knowledge("auto", GAME.rulesheet, COMPILED)


def test_learning_continues_in_the_next_match() -> None:
    warned: list[str] = []
    assert play_a_match(warned) == 0.0
    first = known()
    assert first is not None
    assert first.origin.seconds > 0.0
    assert play_a_match(warned) == first.origin.seconds
    second = known()
    assert second is not None
    assert second.origin.samples > first.origin.samples
    assert second.origin.seconds > first.origin.seconds
    assert not warned


def test_nothing_is_saved_by_default() -> None:
    assert play_a_match([], save=False) == 0.0
    assert known() is None


def test_a_net_of_fewer_samples_does_not_replace_one_of_more() -> None:
    play_a_match([])
    kept, path = known(), matches_path(GAME.rulesheet)
    assert kept is not None
    assert path is not None
    before = path.read_bytes()
    less = Knowledge(kept.net, replace(kept.origin, samples=kept.origin.samples - 1))
    assert save_after_match(less, GAME.rulesheet, COMPILED) is None
    assert path.read_bytes() == before
    more = Knowledge(kept.net, replace(kept.origin, samples=kept.origin.samples + 1))
    assert save_after_match(more, GAME.rulesheet, COMPILED) == path
    assert load_knowledge(path, GAME.rulesheet, COMPILED).origin == more.origin


def test_a_damaged_file_is_reported_and_replaced() -> None:
    play_a_match([])
    path = matches_path(GAME.rulesheet)
    assert path is not None
    path.write_bytes(path.read_bytes()[:-1])
    warned: list[str] = []
    assert play_a_match(warned) == 0.0
    assert len(warned) == 1
    assert str(path) in warned[0]
    assert known() is not None


def test_a_net_that_diverged_is_not_saved() -> None:
    play_a_match([])
    kept = known()
    assert kept is not None
    kept.net.value[0, 0] = np.nan
    diverged = Knowledge(kept.net, replace(kept.origin, samples=kept.origin.samples + 1))
    assert save_after_match(diverged, GAME.rulesheet, COMPILED) is None


@pytest.mark.parametrize("other", [{"knowledge": "none"}, {"knowledge": "a file"}, {"learn": False}, {"tune": False}])
def test_settings_that_contradict_each_other_are_refused(other: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match="save_knowledge: only with knowledge = auto, learn and tune"):
        PlayerSettings("mcts", save_knowledge=True, **other)  # type: ignore[arg-type]

"""The player of games with `sees`: by what it did and was told, and by nothing else."""

import time
from collections.abc import Callable, Sequence
from itertools import count
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

import ggp
from ggp.errors import EvaluationError
from ggp.gdl.terms import Term
from ggp.protocol.messages import PlayPercepts, Start
from ggp.search.histories import HistorySearch, Told
from ggp.simulation.state_machine import CircuitMachine
from players.information import InformationSearch
from players.settings import PlayerSettings
from players.strategies import MakeStrategy
from players.strategy import RoleTask, Thought
from players.thinker import Surroundings, Thinker, make_interpreter
from tests.bench.hidden import Subgames
from tests.equilibrium.games import UNKNOWABLE

ENOUGH = 600.0  # seconds: it stops by itself long before
HIDING = """
(role seeker) (role keeper) (role random) (init (step 0)) (succ 0 1) (succ 1 2) (succ 2 3)
(box 1) (box 2) (box 3) (<= (legal keeper (put ?b)) (true (step 0)) (box ?b))
(<= (legal keeper wait) (not (true (step 0)))) (<= (legal seeker wait) (not (true (step 1))))
(<= (legal seeker (open ?b)) (true (step 1)) (box ?b)) (legal random wait)
(<= (next (in ?b)) (does keeper (put ?b))) (<= (next (in ?b)) (true (in ?b)))
(<= (next found) (does seeker (open ?b)) (true (in ?b))) (<= (next (step ?n)) (true (step ?m)) (succ ?m ?n))
(<= terminal (true (step 2))) (<= (goal seeker 100) (true found)) (<= (goal seeker 0) (not (true found)))
(<= (goal keeper 0) (true found)) (<= (goal keeper 100) (not (true found))) (goal random 0)
(<= (sees keeper (opened ?b)) (does seeker (open ?b)))
"""

RARE = (
    "(role seeker) (role random) (init (step 0)) (succ 0 1) (succ 1 2) (succ 2 3) "
    + " ".join(f"(digit {number})" for number in range(50))
    + """
(<= (legal random (hide ?x ?y)) (true (step 0)) (digit ?x) (digit ?y))
(<= (legal random wait) (not (true (step 0))))
(<= (legal seeker wait) (not (true (step 2)))) (<= (legal seeker (say ?x)) (true (step 2)) (digit ?x))
(<= (next (hidden ?x ?y)) (does random (hide ?x ?y))) (<= (next (hidden ?x ?y)) (true (hidden ?x ?y)))
(<= (next right) (does seeker (say ?x)) (true (hidden ?x ?y))) (<= (next (step ?n)) (true (step ?m)) (succ ?m ?n))
(<= (sees seeker (hidden ?x ?y)) (true (hidden ?x ?y)) (true (step 1)))
(<= terminal (true (step 3))) (<= (goal seeker 100) (true right)) (<= (goal seeker 0) (not (true right)))
(goal random 0)
"""
)


class Player:
    """A player without processes, told of steps one by one."""

    def __init__(
        self, rules: str, role: str, seed: int = 1, memory: int = 64, strategy: MakeStrategy | None = None
    ) -> None:
        self.now: Callable[[], float] = time.monotonic
        self.warned: list[str] = []
        settings = PlayerSettings("mcts", seed=seed, memory=memory)
        around = Surroundings(make_strategy=strategy, warn=self.warned.append)
        self.thinker = Thinker(Start("m", role, rules, 10, 10), settings, make_interpreter, around)
        self._step = 0
        self._last: Term | None = None
        self.note = ""

    def choose(self, *told: Term, seconds: float = ENOUGH) -> Term | None:
        """The answer to what was told after the answer before."""
        thought = Thought(self.now, self.now() + seconds)
        self.thinker.choose(PlayPercepts("m", self._step, self._last, told), self._last, thought)
        self._step += 1
        self._last, self.note = thought.move, thought.note
        return self._last


def text_of(name: str) -> str:
    return ggp.load(name, "interpreter").rulesheet.text


def test_the_candidate_always_switches() -> None:
    chosen = set()
    for seed in range(6):
        player = Player(text_of("montyhall"), "candidate", seed)
        assert player.choose() == "noop"
        choice = player.choose()
        assert choice is not None
        chosen.add(choice)
        assert player.choose() == "noop"
        opened = next(door for door in "123" if door != choice[1])
        assert player.choose(("opened", opened)) == "switch"
        assert not player.warned
    assert len(chosen) > 1  # mixed strategies are played as mixed


def test_an_equilibrium_is_played_in_kuhn_poker() -> None:
    """A king answers a bet with a bet, a jack folds, always; a queen does either."""
    answers = {}
    for card in ("king", "jack", "queen"):
        found = set()
        for seed in range(8):
            player = Player(text_of("kuhnpoker"), "second", seed)
            player.choose()
            player.choose(("dealt", card))
            found.add(player.choose(("did", "first", "bet")))
        answers[card] = found
    assert answers == {"king": {"bet"}, "jack": {"pass"}, "queen": {"bet", "pass"}}


def test_what_is_not_told_is_not_known() -> None:
    """The seeker's answer is the same, wherever the keeper has hidden it: what it hears has the same bytes."""
    for seed in range(3):
        answers = set()
        for _ in ("1", "2", "3"):
            player = Player(HIDING, "seeker", seed)
            player.choose()
            answers.add(player.choose())
        assert len(answers) == 1


def test_a_game_that_is_too_large_is_searched_from_the_belief() -> None:
    player = Player(text_of("phantomtictactoe"), "o")
    assert player.choose(seconds=0.5) == "noop"
    first = player.choose(("turn", "o"), seconds=0.5)
    assert first is not None
    again = player.choose("failed", ("turn", "o"), seconds=0.5)
    assert again is not None
    assert again[0] == "mark"
    assert again != first  # that cell is known to be taken
    assert not player.warned


def test_what_follows_a_belief_is_solved_up_to_an_edge_where_roles_choose_at_once() -> None:
    """Battleship has too many histories. The clock moves on when it is read, so that no computer is too slow."""
    player = Player(text_of("battleship"), "left", memory=512, strategy=Subgames)
    player.now = count(0.0, 0.0001).__next__
    placed = player.choose(seconds=0.05)
    assert placed is not None
    assert placed[0] == "place"
    assert player.note.startswith("an equilibrium plays (place")
    shot = player.choose(seconds=0.05)
    assert shot is not None
    assert player.note.startswith("an equilibrium plays (shoot")
    again = player.choose(("shot_at", "1", "1"), seconds=0.05)
    assert again is not None
    assert again[0] == "shoot"
    assert again != shot
    assert not player.warned


def test_what_fits_nothing_is_answered_all_the_same() -> None:
    player = Player(text_of("phantomtictactoe"), "o")
    player.choose(seconds=0.2)
    assert player.choose("rumour", seconds=0.2) is not None
    assert any("no world was found that agrees with what was told" in line for line in player.warned)


def test_a_step_that_was_not_told_is_missed_each_time() -> None:
    machine = ggp.load("blindtictactoe", "circuit").machine
    assert isinstance(machine, CircuitMachine)
    start, settings = Start("m", "x", machine.rulesheet.text, 10, 10), PlayerSettings("mcts", memory=64)
    task = RoleTask(start, machine.rulesheet, machine, "x", settings, Random(1), print, lambda job: job())
    search, thought = InformationSearch(machine, task), Thought(time.monotonic, time.monotonic() + ENOUGH)
    for _ in range(2):
        with pytest.raises(EvaluationError, match="a step was not told"):
            search.hear([(None, ())], thought)
    assert not search._heard


def test_a_world_that_drawing_has_lost_is_found_by_clingo(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of 2,500 pairs was hidden, and the belief drew about a thousand of them, once."""
    find, found = HistorySearch.find, list[int]()

    def noted(search: HistorySearch, heard: Sequence[Told], count: int, stop: Callable[[], bool]) -> NDArray[np.int32]:
        histories = find(search, heard, count, stop)
        found.append(len(histories))
        return histories

    monkeypatch.setattr(HistorySearch, "find", noted)
    monkeypatch.setattr("ggp.simulation.belief._MOST_GROWTH", 0)
    player = Player(RARE, "seeker", 2, memory=1024)  # clingo is a process, it needs some
    player.choose(seconds=0.2)
    player.choose(seconds=0.2)
    assert player.choose(("hidden", "17", "31"), seconds=120) == ("say", "17")
    assert not player.warned
    assert max(found) > 0


def test_moves_that_cannot_be_known_are_played_with_a_warning() -> None:
    player = Player(UNKNOWABLE, "one")
    assert player.choose(seconds=0.2) == "wait"
    assert player.choose(seconds=0.5) in {"a", "b", "c"}
    assert any("one cannot know its legal moves" in line for line in player.warned)

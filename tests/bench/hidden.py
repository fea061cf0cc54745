"""Games with hidden information or choices at once, `mcts` against others: `python -m tests.bench.hidden GAME`.

Against OpenSpiel's ISMCTSBot, or with --against: `search` (`mcts` that solves nothing), `subgames` (`mcts` that solves
only what can follow its belief), `montecarlo` (guesses a state), `random`. Both think so many seconds of each choice;
pairs of matches have the same random moves (deals), the roles exchanged.
OpenSpiel's bot in C++ plays games whose states it can draw anew for what a player knows; for the others its bot in
Python is given states by histories that are drawn here, move by move, until one agrees with what its player knows.
"""

import argparse
import math
import sys
import time
import warnings
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from random import Random
from statistics import fmean, stdev
from typing import Any, Protocol

from ggp.engines import make_machine
from ggp.errors import GgpError
from ggp.gdl.rulesheet import NATURE, Rulesheet, kif
from ggp.gdl.state_machine import JointMove, StateMachine
from ggp.gdl.terms import Term, to_text
from ggp.protocol.messages import Play, PlayPercepts, Start
from ggp.simulation.state_machine import CircuitMachine
from players.engines import TreeSearch
from players.information import InformationSearch
from players.settings import PlayerSettings
from players.strategies import HiddenMcts, Mcts
from players.strategy import RoleTask, SearchEngine, Thought
from players.thinker import Surroundings, Thinker, make_interpreter
from tests.bench.bridge import load_openspiel, read_rulesheet

_EXPLORATION = 2.0  # uct_c, as in OpenSpiel's own examples
_LEAST = 20  # simulations of a choice
_MEMORY = 512  # MiB of each of our players
_TRIES = 2000  # to draw a history
_WORTH = 1.96  # standard errors of an interval of 95 %
_CELLS: tuple[Term, ...] = tuple(("mark", str(row), str(column)) for row in (1, 2, 3) for column in (1, 2, 3))


@dataclass(frozen=True, slots=True)
class Twin:
    """A game of OpenSpiel with the rules of one of ours; our roles are its players 0 and 1 in this order."""

    name: str
    actions: dict[Term, int]  # of players
    cards: tuple[Term, ...] = ()  # our names of OpenSpiel's outcomes of chance
    is_drawn_here: bool = True  # whether its states are drawn by us
    seen: frozenset[int] = frozenset()  # actions that the other player sees


_MARKS = {cell: at for at, cell in enumerate(_CELLS)}
_SHOTS: dict[Term, int] = {("shoot", str(at // 4 + 1), str(at % 4 + 1)): at for at in range(16)}
_PLACES: dict[Term, int] = {
    ("place", str(row + 1), str(column + 1), way): first + 4 * row + column
    for way, first, rows, columns in (("across", 16, 4, 3), ("down", 32, 3, 4))
    for row in range(rows)
    for column in range(columns)
}
TWINS = {
    "battleship_turns": Twin(
        "battleship(board_width=4,board_height=4,ship_sizes=[2],ship_values=[1],num_shots=16,"
        "allow_repeated_shots=False)",
        _PLACES | _SHOTS,
        seen=frozenset(_SHOTS.values()),
    ),
    "phantomtictactoe": Twin("phantom_ttt(obstype=reveal-numturns)", _MARKS),
    "darkhex": Twin("dark_hex(board_size=3,obstype=reveal-numturns)", _MARKS),
    "leducpoker": Twin(
        "leduc_poker",
        {"fold": 0, "call": 1, "raise": 2},
        ("jack_1", "jack_2", "queen_1", "queen_2", "king_1", "king_2"),
        is_drawn_here=False,
    ),
}


def read_rules(game: str) -> Rulesheet:
    """Of a game next to this module, a shipped one, or a file."""
    own = Path(__file__).with_name(f"{game}.kif")
    return read_rulesheet(str(own) if own.exists() else game)


class Contender(Protocol):
    """Plays one role of a match."""

    def choose(self, seconds: float) -> Term | None: ...

    def advance(self, joint_move: JointMove, own: Term, told: tuple[Term, ...]) -> None: ...


class Subgames(HiddenMcts):
    """By what can follow the belief, or information-set MCTS."""

    def _make_engine(self, task: RoleTask) -> SearchEngine:
        engine = super()._make_engine(task)
        engine.close()  # it does not solve the game any more
        return engine


class Searching(Subgames):
    """By information-set MCTS alone."""

    def _make_engine(self, task: RoleTask) -> SearchEngine:
        engine = super()._make_engine(task)
        assert isinstance(engine, InformationSearch)
        engine.solves_subgames = False
        return engine


class PlainSearch(Mcts):
    """By the tree alone where roles choose at once."""

    def _make_engine(self, task: RoleTask) -> SearchEngine:
        machine = make_machine(task.rulesheet, "circuit")
        assert isinstance(machine, CircuitMachine)
        return TreeSearch(machine, task.role, task.settings.search_settings, task.settings.seed)


_PARTS: dict[str, type[Subgames]] = {"search": Searching, "subgames": Subgames}


class Ours:
    """A player of this project, by what it did and was told."""

    def __init__(self, rulesheet: Rulesheet, role: str, seed: int, name: str, start_seconds: float) -> None:
        settings = PlayerSettings(
            "mcts" if name in _PARTS else name, seed=seed, memory=_MEMORY, tune=False, learn=False, knowledge="none"
        )
        part = _PARTS.get(name) if rulesheet.has_percepts or name not in _PARTS else PlainSearch
        around = Surroundings(make_strategy=part)
        self._has_percepts = rulesheet.has_percepts
        self._thinker = Thinker(Start("m", role, "\n".join(kif(rulesheet)), 10, 10), settings, make_interpreter, around)
        self._step = 0
        self._last: Term | None = None
        self._told: tuple[Term, ...] = ()
        if start_seconds > 0:
            self._thinker.ponder(self._thinker.state, None, Thought(time.monotonic, time.monotonic() + start_seconds))

    def choose(self, seconds: float) -> Term | None:
        now = time.monotonic
        thought = Thought(now, now() + seconds)
        told = self._told if self._step else None
        news = PlayPercepts("m", self._step, self._last, self._told) if self._has_percepts else Play("m", told)
        self._thinker.choose(news, self._last, thought)
        return thought.move

    def advance(self, joint_move: JointMove, own: Term, told: tuple[Term, ...]) -> None:
        self._step, self._last = self._step + 1, own
        self._told = told if self._has_percepts else joint_move


class Theirs:
    """ISMCTSBot."""

    def __init__(self, twin: Twin, seed: int) -> None:
        self._twin, self._rng = twin, Random(seed)
        self._spiel = load_openspiel()
        self._game = self._spiel.load_game(twin.name)
        self.state = self._game.new_initial_state()
        self._seed, self._rate = seed, 200.0  # simulations a second, as measured

    def choose(self, seconds: float) -> Term:
        began = time.monotonic()
        simulations = max(_LEAST, int(self._rate * seconds))
        action = int(self._bot(simulations).step(self.state))
        self._rate = simulations / max(time.monotonic() - began, 1e-3)
        return {number: move for move, number in self._twin.actions.items()}[action]

    def advance(self, joint_move: JointMove, own: Term, told: tuple[Term, ...]) -> None:
        """A step of our rules: at most one of the two players moves, or cards are dealt."""
        for move in joint_move:
            if isinstance(move, tuple) and move[0] in ("deal", "flip"):
                for card in move[1:]:
                    self.state.apply_action(self._twin.cards.index(card))
            elif move in self._twin.actions and not self.state.is_chance_node():
                self.state.apply_action(self._twin.actions[move])

    def _bot(self, simulations: int) -> Any:  # noqa: ANN401 - OpenSpiel is not annotated
        if not self._twin.is_drawn_here:
            evaluator = self._spiel.RandomRolloutEvaluator(1, self._seed)
            kind = self._spiel.ISMCTSFinalPolicyType.NORMALIZED_VISIT_COUNT
            return self._spiel.ISMCTSBot(self._seed, evaluator, _EXPLORATION, simulations, -1, kind, False, False)
        ismcts, mcts = (import_module(f"open_spiel.python.algorithms.{name}") for name in ("ismcts", "mcts"))
        numpy = import_module("numpy")
        random = numpy.random.RandomState(self._rng.randrange(2**31))
        bot = ismcts.ISMCTSBot(
            self._game, mcts.RandomRolloutEvaluator(1, random), _EXPLORATION, simulations, random_state=random,
            final_policy_type=ismcts.ISMCTSFinalPolicyType.NORMALIZED_VISITED_COUNT,
            child_selection_policy=ismcts.ChildSelectionPolicy.UCT,
        )  # fmt: skip
        bot.set_resampler(self._drawn)
        return bot

    def _drawn(self, state: Any, player: int) -> Any:  # noqa: ANN401
        """A state that the player cannot tell from this one: moves that it knows, and any of the other's that fit."""
        history = state.full_history()
        wanted = [self._seen(history[: step + 1], player) for step in range(len(history))]
        for _ in range(_TRIES):
            found = self._game.new_initial_state()
            for step, item in enumerate(history):
                mover = found.current_player()
                if mover != item.player:
                    break
                is_known = mover == player or item.action in self._twin.seen
                action = item.action if is_known else self._rng.choice(found.legal_actions())
                found.apply_action(action)
                if found.is_terminal() or found.information_state_string(player) != wanted[step]:
                    break
            else:
                if found.current_player() == player:
                    return found
        return state.clone()

    def _seen(self, history: Any, player: int) -> str:  # noqa: ANN401
        state = self._game.new_initial_state()
        for item in history:
            state.apply_action(item.action)
        return str(state.information_state_string(player))


def play(
    machine: StateMachine, players: tuple[Contender, Contender], seed: int, seconds: tuple[float, float]
) -> tuple[int, int]:
    """A match; the goal values of both roles."""
    roles = [role for role in machine.roles if role != NATURE]
    nature, state = Random(seed), machine.initial_state
    while not machine.is_terminal(state):
        moves: dict[str, Term] = {}
        for role, player, limit in zip(roles, players, seconds, strict=True):
            legal = machine.legal_moves(state, role)
            moves[role] = legal[0]
            if len(legal) > 1 or isinstance(player, Ours):
                moves[role] = player.choose(limit if len(legal) > 1 else 0.0) or legal[0]
            if moves[role] not in legal and isinstance(player, Ours):
                moves[role] = nature.choice(legal)  # as game masters do
            elif moves[role] not in legal:
                raise GgpError(f"{to_text(moves[role])} is not legal for {role}")
        if NATURE in machine.roles:
            moves[NATURE] = nature.choice(machine.legal_moves(state, NATURE))
        joint_move = tuple(moves[role] for role in machine.roles)
        for role, player in zip(roles, players, strict=True):
            told = machine.percepts(state, joint_move, role) if isinstance(player, Ours) else ()
            player.advance(joint_move, moves[role], told)
        state = machine.next_state(state, joint_move)
    first, second = (machine.goal(state, role) or 0 for role in roles)
    for goal, number, player in ((first, 0, players[0]), (second, 1, players[1])):
        if isinstance(player, Theirs) and (
            not player.state.is_terminal() or (player.state.returns()[number] > 0) != (goal > 50)
        ):
            raise GgpError(f"OpenSpiel sees another end: {player.state}")
    return first, second


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("game", help=f"its name or file; against OpenSpiel one of {', '.join(TWINS)}")
    parser.add_argument("--against", choices=("openspiel", *_PARTS, "montecarlo", "random"), default="openspiel")
    parser.add_argument("--player", choices=("mcts", *_PARTS), default="mcts")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each choice")
    parser.add_argument("--their-seconds", type=float, help="likewise of the other player; as long without it")
    parser.add_argument("--start", type=float, default=0.0, help="seconds of `mcts` before the first step")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # of OpenSpiel's own making
    rulesheet = read_rules(arguments.game)
    machine = make_machine(rulesheet, "circuit")
    roles = [role for role in machine.roles if role != NATURE]
    seconds = arguments.seconds
    theirs = seconds if arguments.their_seconds is None else arguments.their_seconds
    found: list[list[int]] = []

    def opponent(role: str, seed: int) -> Contender:
        if arguments.against == "openspiel":
            return Theirs(TWINS[arguments.game], seed)
        return Ours(rulesheet, role, seed, arguments.against, 0.0)

    for seed in range(arguments.seed, arguments.seed + arguments.pairs):
        ours = [Ours(rulesheet, role, seed, arguments.player, arguments.start) for role in roles]
        first, _ = play(machine, (ours[0], opponent(roles[1], seed + 1000)), seed, (seconds, theirs))
        _, second = play(machine, (opponent(roles[0], seed + 1000), ours[1]), seed, (theirs, seconds))
        found.append([first, second])
        means = [fmean(pair) for pair in found]
        spread = _WORTH * stdev(means) / math.sqrt(len(means)) if len(means) > 1 else math.inf
        by_role = ", ".join(
            f"{role} {fmean(values):.1f}" for role, values in zip(roles, zip(*found, strict=True), strict=True)
        )
        print(
            f"{arguments.game}, {len(found)} pairs: mean goal value {fmean(means):.1f} ± {spread:.1f} ({by_role})",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())

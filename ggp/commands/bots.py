"""The bots of `ggp play`, which play roles and give hints in this process: searches, random and first legal moves."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from time import perf_counter
from typing import Literal, Protocol

from ggp.errors import GgpError, SettingsError, did_you_mean
from ggp.game import State
from ggp.gdl.terms import to_text

BotName = Literal["mcts", "montecarlo", "random", "legal"]
BOTS: tuple[BotName, ...] = ("mcts", "montecarlo", "random", "legal")
SEARCHES = BOTS[:2]


@dataclass(frozen=True, slots=True)
class Advice:
    """A move, and why: its value, and how much was searched."""

    move: str
    reason: str = ""


class Advisor(Protocol):
    """Chooses a move for a role that has at least one."""

    def advise(self, state: State, role: str) -> Advice: ...


def make_bot(name: BotName, seconds: float, rng: Random) -> Advisor:
    """A bot that thinks for `seconds`; `mcts` plays like `montecarlo` if the game has no circuit."""
    match name:
        case "mcts":
            return _Search(seconds, _Playouts(seconds, rng))
        case "montecarlo":
            return _Playouts(seconds, rng)
        case "random":
            return _Pick(rng.choice)
        case "legal":
            return _Pick(lambda moves: moves[0])


def read_bot(text: str) -> BotName:
    """The name of a bot in any spelling; SettingsError for others."""
    found = next((name for name in BOTS if name == text.lower()), None)
    if found is None:
        meant = did_you_mean(text, ("me", *BOTS))
        raise SettingsError(f"no player is called {text!r}{meant}; the players are me, {', '.join(BOTS)}")
    return found


class _Pick:
    """Chooses by a function of the legal moves."""

    def __init__(self, pick: Callable[[tuple[str, ...]], str]) -> None:
        self._pick = pick

    def advise(self, state: State, role: str) -> Advice:
        return Advice(self._pick(state.legal_moves(role)))


class _Playouts:
    """The reference UCT, on any engine."""

    def __init__(self, seconds: float, rng: Random) -> None:
        self._seconds = seconds
        self._rng = rng

    def advise(self, state: State, role: str) -> Advice:
        from ggp.search.uct import UCT  # noqa: PLC0415 - only needed to choose

        legal = state.legal_moves(role)
        if len(legal) == 1:
            return Advice(legal[0], "the only move")
        until = perf_counter() + self._seconds
        uct = UCT(state.game.machine, role, self._rng)
        result = uct.search(state.terms, lambda: perf_counter() >= until)
        if result.best is None:
            return Advice(self._rng.choice(legal))
        found = next(move for move in result.moves if move.move == result.best)
        value = "" if found.value is None else f"expected goal value {100 * found.value:.0f}, "
        return Advice(to_text(result.best), f"{value}{found.visits} playouts")


class _Search:
    """The tree search on the circuit, or the fallback where there is none."""

    def __init__(self, seconds: float, fallback: Advisor) -> None:
        self._seconds = seconds
        self._fallback = fallback

    def advise(self, state: State, role: str) -> Advice:
        from ggp.analysis import analyse  # noqa: PLC0415 - numba is slow to load

        legal = state.legal_moves(role)
        if len(legal) == 1:
            return Advice(legal[0], "the only move")
        if state.game.engine != "circuit":
            return self._fallback.advise(state, role)
        try:
            found = analyse(state, seconds=self._seconds, role=role, lines=1)
        except GgpError:  # a state that the circuit does not know
            return self._fallback.advise(state, role)
        if found.best is None:
            return self._fallback.advise(state, role)
        goal = found.lines[0].goals[role]
        value = "" if goal is None else f"expected goal value {goal:.0f}, "
        solved = ", proven" if found.is_solved else ""
        return Advice(found.best, f"{value}{found.visits:,} visits{solved}: {found.lines[0].text}")

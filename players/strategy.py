"""What a strategy is: a state and its legal moves → a move; what it is made from, and what may search for it."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from random import Random
from typing import Protocol, TypeAlias

from ggp.errors import SettingsError
from ggp.gdl.rulesheet import Rulesheet
from ggp.gdl.state_machine import Facts, JointMove, StateMachine
from ggp.gdl.terms import Term
from players.thought import Thought

Warn: TypeAlias = Callable[[str], None]  # logs one line
Beside: TypeAlias = Callable[[Callable[[], None]], None]  # does a job in a thread that ends with the match

BATCHES = (8, 16, 32, 64, 128, 256, 512)


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How `mcts` searches: the fields of `ggp.search.mcts.search.SearchSettings`, which are slow to load, and `tune`.

    None is as usual there.

    SettingsError for what is out of range.
    """

    exploration: float | None = None
    ucb1_tuned: bool | None = None
    first_play_urgency: float | None = None
    virtual_loss: float | None = None
    tie_margin: float | None = None
    mast_temperature: float | None = None
    grave_equivalence: float | None = None
    retrograde: bool | None = None
    proof: bool | None = None
    tune: bool | None = None  # not of the search: whether settings that suit the game are looked for
    playouts: int | None = None
    lookahead_moves: int | None = None
    most_steps: int | None = None
    visits_per_descent: int | None = None
    batch: int | None = None
    memory: int | None = None  # MiB
    threads: int | None = None

    def __post_init__(self) -> None:
        given = {name: value for name, value in asdict(self).items() if value is not None}
        for name, value in given.items():
            if not 0 <= value < math.inf:
                raise SettingsError(f"{name} cannot be {value}")
        for name in ("most_steps", "visits_per_descent", "memory", "threads"):
            if given.get(name, 1) < 1:
                raise SettingsError(f"{name} must be at least 1")
        if given.get("virtual_loss", 0) > 1:
            raise SettingsError("virtual_loss is at most 1")
        if given.get("batch", 8) not in BATCHES:
            raise SettingsError(f"batch must be one of {', '.join(map(str, BATCHES))}")


@dataclass(frozen=True, slots=True)
class Task:
    """One role of one match, and the means to play it."""

    rulesheet: Rulesheet
    machine: StateMachine
    role: str
    seed: int
    rng: Random
    search: SearchSettings
    warn: Warn
    beside: Beside


class Strategy(Protocol):
    """One way to choose, for one match; used by one thread."""

    def choose(self, state: Facts, legal: tuple[Term, ...], thought: Thought) -> Term:
        """One of the legal moves, of which there is at least one; better ones found on the way go into the thought."""

    def ponder(self, state: Facts, move: Term | None, thought: Thought) -> None:
        """Goes on while nothing is asked; `move`, unless None, is what this role has just answered in the state.

        Returns when there is nothing left to find out, or `thought.stop()`.
        """

    def advance(self, joint_move: JointMove) -> None:
        """Told of each step."""

    def forget(self) -> None:
        """Told that the match is over."""


class Engine(Protocol):
    """A search on the circuit, for one match and role; used by one thread."""

    def think(self, state: Facts, thought: Thought) -> None:
        """Writes better and better moves, until told to stop or nothing is left to find out.

        EvaluationError for a state that the circuit does not know.
        """

    def ponder(self, state: Facts, move: Term | None, thought: Thought) -> None:
        """As `Strategy.ponder`; EvaluationError likewise."""

    def advance(self, move: Term) -> None:
        """Told what its role did in each step."""

    def close(self) -> None:
        """Ends its processes."""

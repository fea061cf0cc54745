"""A state → what a search finds: the best lines as text, their expected goal values and proven bounds."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Protocol, TypeAlias

from ggp.errors import SettingsError, UnknownRoleError
from ggp.game import Game, State, check_playable, check_state
from ggp.gdl.rulesheet import NATURE
from ggp.gdl.state_machine import JointMove
from ggp.gdl.terms import to_text
from ggp.settings import make_by_name

if TYPE_CHECKING:
    from ggp.learning.net import Net
    from ggp.search.mcts.search import BatchedMcts, SearchSettings
    from ggp.search.planning.planner import Planner

Progress: TypeAlias = Callable[["Analysis"], None]
GivenSettings: TypeAlias = "SearchSettings | Mapping[str, object] | None"


@dataclass(frozen=True, slots=True)
class Line:
    """Joint moves from the state on, as `State.play` takes them; goal values 0 to 100 by role.

    For the role whose moves are compared they are those of its first move; for the others, those after the first step.
    """

    steps: tuple[Mapping[str, str], ...]
    text: str  # for people: steps between commas, without the moves of those who had no choice
    visits: int
    goals: Mapping[str, float | None]  # expected; None where nothing is known yet
    bounds: Mapping[str, tuple[float, float]]  # proven
    prior: float | None = None  # how probable its first move was thought to be, by what was learned


@dataclass(frozen=True, slots=True)
class Analysis:
    """What a search knows of a state so far."""

    state: State = field(repr=False)
    role: str  # whose moves are compared
    lines: tuple[Line, ...]  # of that role's best moves, best first; none in a terminal state
    is_solved: bool  # the value of the state is proven
    seconds: float
    visits: int
    playouts: int
    nodes: int
    memory_bytes: int
    most_bytes: int  # what the search may take

    @property
    def best(self) -> str | None:
        """The best move of the role; None where it has none."""
        return self.lines[0].steps[0][self.role] if self.lines else None

    @property
    def depth(self) -> int:
        """Steps of the best line."""
        return len(self.lines[0].steps) if self.lines else 0

    @property
    def playouts_per_second(self) -> float:
        return self.playouts / self.seconds if self.seconds else 0.0

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return {
            "role": self.role,
            "best": self.best,
            "solved": self.is_solved,
            "seconds": round(self.seconds, 3),
            "visits": self.visits,
            "playouts": self.playouts,
            "playouts_per_second": round(self.playouts_per_second),
            "depth": self.depth,
            "nodes": self.nodes,
            "memory_bytes": self.memory_bytes,
            "most_bytes": self.most_bytes,
            "lines": [
                {
                    "steps": line.steps,
                    "visits": line.visits,
                    "prior": None if line.prior is None else round(line.prior, 4),
                    "goals": line.goals,
                    "bounds": line.bounds,
                }
                for line in self.lines
            ],
        }


def analyse(
    state: State,
    *,
    seconds: float,
    settings: GivenSettings = None,
    role: str | None = None,
    lines: int = 3,
    on_progress: Progress | None = None,
) -> Analysis:
    """Searches for that many seconds, or until the state is solved; `on_progress` is called about twice a second.

    settings: of the search, by their names. role: whose moves are compared; unless given, the first that has a choice.
    GroundingError where the rules have no circuit, EvaluationError for a state that it does not know or in which a role
    has no legal move, HiddenStateError for rules that hide states from roles.
    """
    analysis = None
    for analysis in analyses(state, seconds=seconds, settings=settings, role=role, lines=lines):
        if on_progress is not None:
            on_progress(analysis)
    assert analysis is not None
    return analysis


def analyses(
    state: State,
    *,
    seconds: float,
    settings: GivenSettings = None,
    role: str | None = None,
    lines: int = 3,
    every: float = 0.5,
) -> Iterator[Analysis]:
    """As `analyse`, but as an iterator: what is known every so many seconds, and at the end; it can be left early."""
    if not seconds >= 0 or not every > 0 or lines < 1:
        raise SettingsError("seconds cannot be negative, `every` must be above 0, and there is at least one line")
    with closing(make_analyser(state, settings, role, lines)) as analyser:
        began = perf_counter()
        while True:
            until = min(began + seconds, perf_counter() + every)
            analyser.go_on(partial(_is_past, until))
            analysis = analyser.report()
            yield analysis
            if analysis.is_solved or perf_counter() >= began + seconds:
                return


class Analyser(Protocol):
    """A search of one state that can be interrupted and resumed; used by one thread."""

    def go_on(self, stop: Callable[[], bool]) -> None:
        """Until told to stop, or until nothing is left to find out."""

    def report(self) -> Analysis: ...

    def close(self) -> None:
        """Ends its threads and processes."""


def learn(game: Game, seconds: float, knowledge: str, seed: int, stop: Callable[[], bool]) -> "Net | None":
    """The net of a file of `ggp train` ("auto": that of the cache, "none": no file), after so many seconds of learning.

    None where nothing is known and nothing was asked for. KnowledgeError for a file that cannot be used, SettingsError
    for a game that cannot be learned, and the errors of `analyse`.
    """
    from ggp.batches import machine_of  # noqa: PLC0415
    from ggp.learning.knowledge import find_knowledge  # noqa: PLC0415
    from ggp.learning.learner import Learner  # noqa: PLC0415
    from ggp.learning.symmetries import find_symmetries  # noqa: PLC0415
    from ggp.learning.training import can_train  # noqa: PLC0415
    from ggp.search.loading import load_kernels  # noqa: PLC0415

    machine = machine_of(game)
    known = find_knowledge(knowledge, machine.rulesheet, machine.compiled)
    if seconds <= 0:
        return None if known is None else known.net
    if reason := can_train(machine.compiled):
        raise SettingsError(f"{game.name} cannot be learned: {reason}")
    load_kernels()
    end = perf_counter() + seconds
    symmetries = find_symmetries(machine.rulesheet, machine.batches, stop)
    net, samples = (None, 0) if known is None else (known.net, known.origin.samples)
    learner = Learner(machine.batches, seed, net=net, known_samples=samples, symmetries=symmetries)
    learner.run(lambda: stop() or perf_counter() >= end)
    return learner.net


def make_analyser(
    state: State,
    settings: GivenSettings = None,
    role: str | None = None,
    lines: int = 3,
    seed: int = 0,
    net: "Net | None" = None,
) -> Analyser:
    """By planning where there is only one role, else by a search tree; errors as `analyse`.

    net: what was learned of the game; its priors are used (PUCT).
    """
    from ggp.batches import machine_of  # noqa: PLC0415 - numpy is slow to load
    from ggp.search.loading import load_kernels  # noqa: PLC0415
    from ggp.search.mcts.search import BatchedMcts  # noqa: PLC0415
    from ggp.search.mcts.tuning import PRIOR_WEIGHT  # noqa: PLC0415
    from ggp.search.planning.planner import Planner  # noqa: PLC0415

    check_state(state)
    game, chosen = state.game, search_settings(settings)
    machine = machine_of(game)
    if role is not None and role.lower() not in game.roles:
        raise UnknownRoleError(f"no role is called {role!r}; the roles are {', '.join(game.roles)}")
    check_playable(state)
    load_kernels()
    own = first_chooser(state) if role is None else role.lower()
    if len(game.roles) == 1:
        return _LineAnalyser(state, Planner(machine, seed, chosen.memory_bytes, chosen.threads), chosen)
    search = BatchedMcts(machine, chosen, seed)
    if net is not None:
        search.adopt(replace(chosen, prior_weight=chosen.prior_weight or PRIOR_WEIGHT), net)
    search.go_to(state.terms)
    return TreeAnalyser(state, search, own, lines)


def search_settings(given: GivenSettings) -> "SearchSettings":
    """The settings of a search, also from their names; SettingsError for anything else."""
    from ggp.search.mcts.settings import SearchSettings  # noqa: PLC0415

    if isinstance(given, SearchSettings):
        return given
    return SearchSettings() if given is None else make_by_name(SearchSettings, given, "a search")


class TreeAnalyser:
    """What a search tree says of its root."""

    def __init__(self, state: State, search: "BatchedMcts", role: str, lines: int, seconds: float = 0.0) -> None:
        """seconds: that it has searched before."""
        self._state = state
        self._search = search
        self._role = role
        self._lines = lines
        self._seconds = seconds

    def go_on(self, stop: Callable[[], bool]) -> None:
        began = perf_counter()
        self._search.run(stop)
        self._seconds += perf_counter() - began

    def report(self) -> Analysis:
        from ggp.search.mcts.result import tree_bytes  # noqa: PLC0415

        search, roles = self._search, self._state.game.roles
        lines = tuple(
            Line(
                tuple(dict(zip(roles, map(to_text, step), strict=True)) for step in line.steps),
                ", ".join(map(_step_text, line.steps, line.choices)),
                line.visits,
                {role: None if value is None else 100 * value for role, value in zip(roles, line.values, strict=True)},
                {role: (100 * low, 100 * high) for role, low, high in zip(roles, line.lower, line.upper, strict=True)},
                line.prior,
            )
            for line in search.variations(self._role, self._lines)
        )
        result = search.result(self._role)
        is_over = self._state.is_terminal
        return Analysis(
            self._state, self._role, lines, is_over or search.is_proven, self._seconds, result.visits,
            result.playouts, result.nodes, tree_bytes(search.tree), search.settings.memory_bytes,
        )  # fmt: skip

    def close(self) -> None:
        self._search.close()


class _LineAnalyser:
    """For games with one role: the best line that several searches have found."""

    def __init__(self, state: State, planner: "Planner", settings: "SearchSettings") -> None:
        self._state = state
        self._planner = planner
        self._settings = settings
        self._seconds = 0.0

    def go_on(self, stop: Callable[[], bool]) -> None:
        began = perf_counter()
        if not self._state.is_terminal:
            self._planner.search(self._state.terms, stop)
        self._seconds += perf_counter() - began

    def report(self) -> Analysis:
        (role,) = self._state.game.roles
        best, is_over = self._planner.best, self._state.is_terminal
        lines: tuple[Line, ...] = ()
        if best is not None and best.moves and not is_over:
            steps = tuple({role: to_text(move)} for move in best.moves)
            highest = float(best.value) if best.is_best else 100.0
            text = ", ".join(map(to_text, best.moves))
            lines = (Line(steps, text, 0, {role: float(best.value)}, {role: (float(best.value), highest)}),)
        is_solved = is_over or (best is not None and best.is_best)
        return Analysis(
            self._state, role, lines, is_solved, self._seconds, 0, 0, 0, 0, self._settings.memory_bytes
        )  # fmt: skip

    def close(self) -> None:
        self._planner.close()


def _step_text(step: JointMove, choices: tuple[bool, ...]) -> str:
    """The moves that were chosen among several; all where there were none."""
    chosen = [move for move, had_choice in zip(step, choices, strict=True) if had_choice]
    return " / ".join(map(to_text, chosen or step))


def first_chooser(state: State) -> str:
    """The first role with several moves, chance apart; where there is none, the first role."""
    roles = [role for role in state.game.roles if role != NATURE] or list(state.game.roles)
    if state.is_terminal:
        return roles[0]
    return next((role for role in roles if len(state.legal_moves(role)) > 1), roles[0])


def _is_past(moment: float) -> bool:
    return perf_counter() >= moment

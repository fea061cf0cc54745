"""A user's strategy: a function or class of theirs → a `Strategy`, which survives whatever they do.

What goes wrong in it costs a line of the log, with the place in the user's file, and the move: then the last move that
it offered is played, or else the first legal one. docs/write-a-bot.md is the page for those who write one.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ggp.errors import IllegalMoveError, SettingsError
from ggp.game import Game, State
from ggp.gdl.reader import read_term
from ggp.gdl.state_machine import Facts, JointMove
from ggp.gdl.terms import Term, to_text
from ggp.plugins import Plugin, fault_at, load_plugin
from ggp.protocol.evaluation import MOST_STEPS, Evaluation
from players.strategy import RoleTask, Thought

Steps: TypeAlias = Sequence[Mapping[str, str]]  # joint moves by role, as `State.play` takes them

_LATE = 0.5  # seconds after its time from which a strategy is told that it was late


@dataclass(frozen=True, slots=True)
class Task:
    """What a class is made with: its role in one match, and what it may use."""

    game: Game  # its engine is the interpreter, which is there at once; `game.with_engine("circuit")` is the fast one
    role: str
    startclock: float  # seconds
    playclock: float
    seed: int  # of this match
    memory: int  # MiB
    threads: int


class Clock:
    """The time that is left for one question, and the way to tell how far the answer has come."""

    def __init__(self, thought: Thought, legal: Mapping[str, Term], roles: tuple[str, ...]) -> None:
        self._thought = thought
        self._legal = legal  # none while nothing is asked
        self._roles = roles

    @property
    def seconds(self) -> float:
        """Left to think; 0.0 when it is time to return, infinite while nothing is asked."""
        return 0.0 if self.is_over else max(0.0, self._thought.stop_at - self._thought.now())

    @property
    def is_over(self) -> bool:
        """Whether it is time to return: the clock has run out, or something else is asked."""
        return self._thought.stop()

    def offer(
        self,
        move: str,
        value: float | None = None,
        *,
        bounds: tuple[float, float] | None = None,
        visits: int | None = None,
        variation: Steps = (),
    ) -> None:
        """The best move so far: played if the clock runs out. It does nothing while nothing is asked.

        value: the goal value that is expected, 0 to 100; bounds: proven ones; visits: of the state in a search tree;
        variation: the steps that are expected, the first with this move; only the first few are sent. These are what a
        game master that asks is told (`GGP-Evaluation`). IllegalMoveError, or ValueError for numbers out of range.
        """
        if not self._legal:
            return
        term = chosen(move, self._legal)
        evaluation = None
        if value is not None or bounds is not None or variation:
            lower, upper = (None, None) if bounds is None else map(float, bounds)
            steps = tuple(tuple(str(step[role]) for role in self._roles) for step in variation[:MOST_STEPS])
            evaluation = Evaluation(
                value=None if value is None else float(value),
                lower=lower,
                upper=upper,
                visits=None if visits is None else int(visits),
                principal_variation=steps,
            )
        self._thought.offer(term, "", None if evaluation is None else lambda: evaluation)


def chosen(move: object, legal: Mapping[str, Term]) -> Term:
    """The legal move that a text or a term means; IllegalMoveError for any other."""
    shown = to_text(move) if isinstance(move, tuple) else move
    if isinstance(shown, str):
        found = legal.get(shown) or legal.get(to_text(read_term(shown)))
        if found is not None:
            return found
    raise IllegalMoveError("this role", repr(move), f"its legal moves are {', '.join(list(legal)[:5])}")


class CustomStrategy:
    """Asks the user's function or object; used by one thread."""

    def __init__(self, name: str, made: Any, task: RoleTask) -> None:  # noqa: ANN401 - checked by `check_shape`
        """name: where it is, for the log."""
        self._name = name
        self._home = name.rpartition(":")[0]
        self._made = made
        self._task = task
        self._game = Game("match", task.rulesheet, task.machine)
        self._player: Any = None  # the user's object, once it is made
        self._is_broken = False  # it could not be made

    def choose(self, state: Facts, legal: tuple[Term, ...], thought: Thought) -> Term:
        if len(legal) > 1 and self._is_there():
            moves = {to_text(move): move for move in legal}
            clock = Clock(thought, moves, self._game.roles)
            answer = self._ask("choose", State(self._game, state), clock)
            late = thought.now() - thought.stop_at
            if late > _LATE:
                self._task.warn(f"{self._name} answered {late:.1f} s late")
            try:
                return chosen(answer, moves)
            except Exception as error:  # noqa: BLE001 - an answer may be anything
                if answer is not None:
                    self._task.warn(f"{self._name} answered no legal move: {error}")
        return thought.move or legal[0]

    def ponder(self, state: Facts, move: Term | None, thought: Thought) -> None:
        if self._is_there() and hasattr(self._player, "ponder") and not thought.stop():
            said = None if move is None else to_text(move)
            self._ask("ponder", State(self._game, state), said, Clock(thought, {}, self._game.roles))

    def advance(self, joint_move: JointMove) -> None:
        if self._is_there() and hasattr(self._player, "advance"):
            self._ask("advance", dict(zip(self._game.roles, map(to_text, joint_move), strict=True)))

    def forget(self) -> None:
        if self._player is not None and hasattr(self._player, "close"):
            self._ask("close")

    def _is_there(self) -> bool:
        """Whether there is an object to ask; it is made when it is first wanted, in the thread that thinks."""
        if self._player is None and not self._is_broken:
            task, start = self._task, self._task.start
            given = Task(
                self._game, task.role, start.startclock, start.playclock, task.settings.seed,
                task.settings.memory, task.settings.search.threads,
            )  # fmt: skip
            self._player = self._guarded(lambda: self._make(given))
            self._is_broken = self._player is None
        return self._player is not None

    def _make(self, task: Task) -> object:
        if inspect.isclass(self._made):
            make: Callable[[Task], object] = self._made
            return make(task)
        return _Function(self._made, task.role)

    def _ask(self, method: str, *given: object) -> object:
        return self._guarded(lambda: getattr(self._player, method)(*given))

    def _guarded(self, job: Callable[[], object]) -> object:
        """What the user's code gives; None where it raises, with a line of the log."""
        try:
            return job()
        except BaseException as error:  # noqa: BLE001 - asyncio.CancelledError, too: this thread has to live on
            self._task.warn(f"{self._name} failed: {fault_at(error, self._home)}")
            return None


class _Function:
    """A function as a class that only chooses."""

    def __init__(self, function: Callable[..., object], role: str) -> None:
        self._function = function
        self._role = role

    def choose(self, state: State, clock: Clock) -> object:
        return self._function(state, self._role, clock)


def load_custom(plugin: Plugin) -> Callable[[RoleTask], CustomStrategy]:
    """What makes the strategy of a plugin for a match; SettingsError, in one line, where there is none."""
    return make_custom(load_plugin(plugin), str(plugin))


def uses_circuit(plugin: Plugin) -> bool:
    """Whether the user's function or class says so by its attribute `uses_circuit`; SettingsError as `load_custom`."""
    made = load_plugin(plugin)
    check_shape(made, str(plugin))
    return bool(getattr(made, "uses_circuit", False))


def make_custom(made: object, name: str) -> Callable[[RoleTask], CustomStrategy]:
    """The same of a function or class that is there already; `name` is `HOME:NAME`, for messages."""
    check_shape(made, name)
    return lambda task: CustomStrategy(name, made, task)


def check_shape(made: object, name: str) -> None:
    """SettingsError unless it is a function of (state, role, clock), or a class as docs/write-a-bot.md says."""
    if inspect.isclass(made):
        if not callable(getattr(made, "choose", None)):
            raise SettingsError(f"{name} has no method `choose(self, state, clock)`")
        _check_call(made, name, ("task",))
        for method, parameters in _METHODS.items():
            if hasattr(made, method):
                _check_call(getattr(made, method), f"{name}.{method}", ("self", *parameters))
    elif callable(made):
        _check_call(made, name, ("state", "role", "clock"))
    else:
        raise SettingsError(f"{name} is neither a function nor a class, but of type {type(made).__name__}")


_METHODS = {"choose": ("state", "clock"), "ponder": ("state", "move", "clock"), "advance": ("moves",), "close": ()}


def _check_call(function: Any, name: str, parameters: tuple[str, ...]) -> None:  # noqa: ANN401 - any callable
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise SettingsError(
            f"{name}{_line_of(function)} is an `async def`; a bot is called in a thread, by plain `def`"
        )
    try:
        inspect.signature(function).bind(*parameters)
    except TypeError:
        line = _line_of(function)
        raise SettingsError(f"{name}{line} does not take ({', '.join(parameters)})") from None
    except ValueError:  # of a builtin, which does not say what it takes
        return


def _line_of(function: object) -> str:
    try:
        return f" (line {inspect.getsourcelines(function)[1]})"  # type: ignore[arg-type]
    except (OSError, TypeError):
        return ""

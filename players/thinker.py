"""What a player knows of one match: the news in PLAY → the state now → a move. Plain code without event loop."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import TypeAlias

from ggp.engines import make_machine
from ggp.errors import UnknownRoleError
from ggp.gdl.rulesheet import Rulesheet, parse_rulesheet
from ggp.gdl.state_machine import Facts, JointMove, StateMachine
from ggp.gdl.terms import Term, to_text
from ggp.protocol.messages import Play, PlayPercepts, Start
from players.settings import PlayerSettings
from players.strategies import MakeStrategy, find_strategy
from players.strategy import Heard, InBackground, Perceiving, RoleTask, Thought, Warn

News: TypeAlias = Play | PlayPercepts
MakeMachine: TypeAlias = Callable[[Rulesheet], StateMachine]

make_interpreter: MakeMachine = partial(make_machine, engine="interpreter")  # baselines: ready at once on any machine
_TRIES = 100  # joint moves to try, when only percepts are known

log = logging.getLogger(__name__)


def at_once(job: Callable[[], None]) -> None:
    """Where there is no other thread."""
    job()


def keep_to_itself(_: Term | None) -> None:
    """Where nobody listens."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a thinker may use, and whom it tells."""

    warn: Warn = log.warning
    in_background: InBackground = at_once
    tell_first: Callable[[Term | None], None] = keep_to_itself  # a move of the initial state; None where none is legal
    make_strategy: MakeStrategy | None = None  # None: that of the settings, by its name


@dataclass(frozen=True, slots=True)
class Turn:
    """What the role has to choose from."""

    state: Facts
    legal: tuple[Term, ...]
    made: tuple[JointMove, ...] = ()  # the steps that led here since the turn before
    repeated: Term | None = None  # the answer that was given to the same news before
    heard: tuple[Heard, ...] = ()  # in games with `sees`: what the role did and was told since the turn before

    @property
    def first_move(self) -> Term | None:
        """A move that can be answered without any thought."""
        return self.repeated or (self.legal[0] if self.legal else None)


class Thinker:
    """The state of one match as one role knows it.

    In GDL-II the state is a guess: one that agrees with the percepts, as far as a few tries find it. One thread follows
    the match; another may think at the same time.
    """

    def __init__(
        self,
        start: Start,
        settings: PlayerSettings,
        make_machine: MakeMachine,
        around: Surroundings = Surroundings(),
    ) -> None:
        """RulesheetError, EvaluationError or UnknownRoleError when this match cannot be played.

        A move of the initial state is told before there is any strategy.
        """
        rulesheet = parse_rulesheet(start.rules, start.match, allow_control=True)
        self._machine = machine = make_machine(rulesheet)
        if start.role not in machine.roles:
            raise UnknownRoleError(f"no role is called {start.role!r}; the roles are {', '.join(machine.roles)}")
        self._role = start.role
        self._match = start.match
        self._warn = around.warn
        self._has_percepts = rulesheet.has_percepts
        self._rng = Random(f"guesses {settings.seed}")  # noqa: S311 - not for secrets
        self.state = machine.initial_state
        self._step = 0
        self._told: tuple[Term, ...] | None = None
        self._made: list[JointMove] = []  # steps that the strategy has not been told of
        self._heard: list[Heard] = []  # likewise
        around.tell_first(next(iter(machine.legal_moves(self.state, start.role)), None))
        make_strategy = around.make_strategy or find_strategy(settings.strategy)
        rng = Random(settings.seed)  # noqa: S311 - not for secrets
        strategy_machine = make_machine(rulesheet)  # its long evaluations must not block `follow`: machines have locks
        self._strategy = make_strategy(
            RoleTask(start, rulesheet, strategy_machine, start.role, settings, rng, around.warn, around.in_background)
        )

    def follow(self, news: News, answered: Term | None) -> Turn:
        """The turn that the news tell of; `answered` is the move that the last PLAY was answered with.

        EvaluationError when the rules have no meaning here.
        """
        if self._has_percepts and news == Play(news.match, None) and (self._step > 0 or answered is not None):
            news = Play(news.match, ())  # GDL-II's form of 2011: nothing was perceived
        if not self._is_repeated(news):
            self._follow(news, answered)
            answered = None
        legal = self._machine.legal_moves(self.state, self._role)
        made, self._made = tuple(self._made), []
        heard, self._heard = tuple(self._heard), []
        return Turn(self.state, legal, made, answered, heard)

    def advance(self, turn: Turn) -> None:
        """Tells the strategy of the steps that led to the turn."""
        for joint_move in turn.made:
            self._strategy.advance(joint_move)
        if isinstance(self._strategy, Perceiving):
            for heard in turn.heard:
                self._strategy.perceive(heard)

    def think(self, turn: Turn, thought: Thought) -> None:
        """Writes better and better moves into the thought; none when there is no legal move."""
        self.advance(turn)
        thought.offer(turn.first_move)
        if (turn.legal or isinstance(self._strategy, Perceiving)) and turn.repeated is None:
            thought.offer(self._strategy.choose(turn.state, turn.legal, thought), thought.note)

    def choose(self, news: News, answered: Term | None, thought: Thought) -> None:
        """Both, where one thread does everything."""
        self.think(self.follow(news, answered), thought)

    def ponder(self, state: Facts, answered: Term | None, thought: Thought) -> None:
        """Goes on thinking about the present state; `answered` is the move that was chosen in it, if one was."""
        if not thought.stop():
            self._strategy.ponder(state, answered, thought)

    def forget(self) -> None:
        """Frees what takes long to free."""
        self._strategy.forget()

    def _is_repeated(self, news: News) -> bool:
        """Whether the news is known already, the initial state included.

        A turn is counted. Without it, the same joint move as last time is a repetition if it is not legal now; if it is
        legal, it counts as made again. Percepts without a turn say nothing: each counts as a new step.
        """
        match news:
            case PlayPercepts(_, turn):
                return turn == self._step or 0 < turn < self._step
            case Play(_, None):
                return self._step == 0
            case Play(_, told):
                return self._step > 0 and told == self._told and not self._has_percepts and not self._could_follow(told)

    def _could_follow(self, told: tuple[Term, ...] | None) -> bool:
        joint_move = joint_move_of(told or (), self._machine.roles)
        if joint_move is None or self._machine.is_terminal(self.state):
            return False
        legal = (self._machine.legal_moves(self.state, role) for role in self._machine.roles)
        return all(move in moves for move, moves in zip(joint_move, legal, strict=True))

    def _follow(self, news: News, answered: Term | None) -> None:
        match news:
            case Play(_, None) | PlayPercepts(_, 0):
                self.state = self._machine.initial_state
                self._step = 0
                self._told = None
            case Play(_, told):
                self._make_step(self._step + 1, told or (), answered)
            case PlayPercepts(_, turn, last_move, percepts):
                self._make_step(turn, percepts, answered if last_move is None else last_move)

    def _make_step(self, step: int, told: tuple[Term, ...], own_move: Term | None) -> None:
        """Makes one step by what was told, legal or not: the game master is right."""
        if step > self._step + 1:
            self._warn(f"{self._match}: {step - self._step - 1} steps were never told")
        if self._has_percepts:
            self._heard += [(None, ())] * (step - self._step - 1)
            self._heard.append((own_move, told))
        self._step = step
        self._told = told
        joint_move = self._guess(told, own_move) if self._has_percepts else joint_move_of(told, self._machine.roles)
        if joint_move is None:
            self._warn(f"{self._match}: step {step} cannot be followed from {len(told)} moves")
            return
        self.state = self._machine.next_state(self.state, joint_move)
        self._made.append(joint_move)

    def _guess(self, percepts: tuple[Term, ...], own_move: Term | None) -> JointMove | None:
        """A joint move after which this role perceives just this; when none is found, any one."""
        legal = [self._machine.legal_moves(self.state, role) for role in self._machine.roles]
        if own_move is not None:
            legal[self._machine.roles.index(self._role)] = (own_move,)
        if not all(legal):
            return None
        wanted = sorted(map(to_text, percepts))
        joint_move: JointMove = ()
        for _ in range(_TRIES):
            joint_move = tuple(map(self._rng.choice, legal))
            if sorted(map(to_text, self._machine.percepts(self.state, joint_move, self._role))) == wanted:
                break
        return joint_move


def joint_move_of(told: tuple[Term, ...], roles: tuple[str, ...]) -> JointMove | None:
    """The joint move from a move for each role in their order, or from `(does ROLE MOVE)` in any order; else None."""
    if len(told) != len(roles):
        return None
    done = {term[1]: term[2] for term in told if len(term) == 3 and term[0] == "does"}
    return tuple(done[role] for role in roles) if done.keys() == set(roles) else told

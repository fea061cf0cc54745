"""Games and states for users of the library: facts and moves are text."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ggp.engines import EngineChoice, choose_engine
from ggp.errors import EvaluationError, IllegalMoveError, SettingsError, UnknownRoleError
from ggp.gdl.reader import Node, decode, read, read_term
from ggp.gdl.rulesheet import Rulesheet, parse_rulesheet
from ggp.gdl.state_machine import Facts, JointMove, StateMachine
from ggp.gdl.terms import Term, to_text
from ggp.interpreter.legality import refusal
from ggp.library import Metadata, find_rulesheet, read_bytes, read_metadata

if TYPE_CHECKING:
    from ggp.boards import Layout


@dataclass(frozen=True, eq=False)
class Game:
    """A rulesheet and the state machine that evaluates it. Made by `load` and `load_text`."""

    name: str
    rulesheet: Rulesheet = field(repr=False)
    machine: StateMachine = field(repr=False)
    metadata: Metadata = field(repr=False, default_factory=Metadata)
    fallback: str | None = field(repr=False, default=None)  # why this is not the fastest engine, or None

    @property
    def engine(self) -> str:
        """The engine that evaluates the rules: `circuit` or `interpreter`."""
        return self.machine.engine

    @property
    def roles(self) -> tuple[str, ...]:
        """In the order of the rulesheet."""
        return self.machine.roles

    @cached_property
    def layout(self) -> "Layout":
        """How its states are drawn; see `ggp.boards`."""
        from ggp.boards import find_layout  # noqa: PLC0415 - only to draw

        return find_layout(self.rulesheet, self.machine, self.metadata.drawing)

    def _repr_html_(self) -> str:
        """In a notebook: what is known of the game, and its initial state."""
        about = self.metadata
        roles = "".join(f"<li><b>{escape(role)}</b> {escape(about.roles.get(role, ''))}</li>" for role in self.roles)
        engine = f"<p>Evaluated by the {self.engine}.</p>"
        words = f"<h3>{escape(about.title or self.name)}</h3><p>{escape(about.description)}</p><ul>{roles}</ul>"
        return f"<div>{words}{engine}{'' if self.rulesheet.has_percepts else self.initial_state._repr_svg_()}</div>"

    @property
    def initial_state(self) -> "State":
        return State(self, self.machine.initial_state)

    def with_engine(self, engine: str) -> "Game":
        """The same rules by another engine (see `load`); GroundingError where there is no circuit."""
        choice = choose_engine(self.rulesheet, engine)
        return Game(self.name, self.rulesheet, choice.machine, self.metadata, choice.fallback)

    def state(self, facts: Iterable[str | Term]) -> "State":
        """The state in which these facts are true, as text such as `(cell 1 1 b)` or as terms. ReadError for others."""
        return State(self, frozenset(read_term(fact) if isinstance(fact, str) else fact for fact in facts))

    def read_move(self, state: Facts, role: str, text: str) -> Term:
        """The term of a legal move; IllegalMoveError with the reason if the text is no legal move."""
        refused = refusal(self.rulesheet, self.machine, state, role, text)
        if refused is not None:
            raise IllegalMoveError(role, text, refused.reason)
        return read_term(text)

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle and copy: another process makes the engine once, where the circuit comes from the cache."""
        return _restored, (self.name, self.rulesheet, self.metadata, self.engine, self.fallback)


def _restored(name: str, rulesheet: Rulesheet, metadata: Metadata, engine: str, fallback: str | None) -> Game:
    return Game(name, rulesheet, _engine_again(rulesheet, engine).machine, metadata, fallback)


@lru_cache(maxsize=8)
def _engine_again(rulesheet: Rulesheet, engine: str) -> EngineChoice:
    return choose_engine(rulesheet, engine)


@dataclass(frozen=True, eq=False)
class State:
    """One state of a game; immutable. Two states are equal if their facts and the rules of their games are."""

    game: Game = field(repr=False)
    terms: Facts

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, State):
            return NotImplemented
        return self.terms == other.terms and (
            self.game is other.game or self.game.rulesheet.rules == other.game.rulesheet.rules
        )

    def __hash__(self) -> int:
        return hash(self.terms)

    @property
    def facts(self) -> tuple[str, ...]:
        """The facts that are true, as text, sorted."""
        return tuple(sorted(map(to_text, self.terms)))

    def svg(self) -> str:
        """The state as an SVG image."""
        from ggp.boards import make_picture, picture_svg  # noqa: PLC0415 - only to draw

        return picture_svg(make_picture(self.game.layout, self.terms), self.game.metadata.title or self.game.name)

    def _repr_svg_(self) -> str:
        """In a notebook."""
        return self.svg()

    @property
    def is_terminal(self) -> bool:
        return self.game.machine.is_terminal(self.terms)

    @property
    def goals(self) -> dict[str, int | None]:
        """The goal value of each role, 0 to 100; None if the rules give none or several."""
        return {role: self.game.machine.goal(self.terms, role) for role in self.game.roles}

    def legal_moves(self, role: str) -> tuple[str, ...]:
        """The legal moves of a role as text, sorted. UnknownRoleError for other names."""
        return tuple(map(to_text, self.game.machine.legal_moves(self.terms, self._role(role))))

    def play(self, moves: Mapping[str, str | Term]) -> "State":
        """The state after one step.

        moves: role → move. Roles that have only one legal move can be left out. IllegalMoveError, with the reason, for
        an illegal move, a missing move, or a terminal state; EvaluationError where a role has no legal move;
        UnknownRoleError for a name that is no role.
        """
        if not isinstance(moves, Mapping):
            wanted = f"{{{self.game.roles[0]!r}: MOVE}}"
            raise SettingsError(f"moves are a mapping from roles to moves, such as {wanted}, not {moves!r}")
        return self.after(self.joint_move(moves))

    def joint_move(self, moves: Mapping[str, str | Term]) -> JointMove:
        """The moves of all roles; takes and refuses what `play` does."""
        given = {self._role(role): move for role, move in moves.items()}
        return tuple(self._move(role, given.get(role)) for role in self.game.roles)

    def after(self, joint_move: JointMove) -> "State":
        """The state after legal moves of all roles, which are not checked."""
        return State(self.game, self.game.machine.next_state(self.terms, joint_move))

    def _role(self, role: str) -> str:
        """The role, from any spelling in upper or lower case."""
        folded = str(role).lower()
        if folded not in self.game.roles:
            raise UnknownRoleError(f"no role is called {role!r}; the roles are {', '.join(self.game.roles)}")
        return folded

    def _move(self, role: str, move: str | Term | None) -> Term:
        if move is not None:
            if not isinstance(move, str | tuple):
                raise IllegalMoveError(role, repr(move), "a move is text or a term")
            return self.game.read_move(self.terms, role, to_text(move))
        if self.is_terminal:
            raise IllegalMoveError(role, "no move", "the match is over")
        legal = self.game.machine.legal_moves(self.terms, role)
        if not legal:
            raise no_legal_move(role)
        if len(legal) != 1:
            raise IllegalMoveError(role, "no move", f"it has {len(legal)} legal moves to choose from")
        return legal[0]


def read_steps(state: State, moves: str, name: str) -> list[tuple[JointMove, State]]:
    """The steps that moves as text stand for, each with the state after it; SettingsError where one is not complete.

    moves: for each step a joint move in parentheses, or a move of each role that has a choice, in the order of the
    roles. name: what messages call the text.
    """
    nodes = list(read(moves, name))
    steps: list[tuple[JointMove, State]] = []
    while nodes:
        step = len(steps)
        if state.is_terminal:
            raise SettingsError(f"{name}: the match is over after {step} steps")
        given: dict[str, str] = {}
        if _is_joint(nodes[0], state):
            joint = nodes.pop(0).items
            if len(joint) != len(state.game.roles):
                raise SettingsError(f"{name}: step {step} has {len(joint)} moves for {len(state.game.roles)} roles")
            given = {role: to_text(node.term) for role, node in zip(state.game.roles, joint, strict=True)}
        else:
            for role in state.game.roles:
                if len(state.legal_moves(role)) > 1:
                    if not nodes:
                        raise SettingsError(f"{name}: step {step} lacks a move of {role}")
                    given[role] = to_text(nodes.pop(0).term)
        joint_move = state.joint_move(given)
        state = state.after(joint_move)
        steps.append((joint_move, state))
    return steps


def _is_joint(node: Node, state: State) -> bool:
    """Whether it can be no move, or has a legal move for each role."""
    roles = state.game.roles
    if not node.is_list or not node.items or node.items[0].is_list:
        return node.is_list
    texts = [to_text(item.term) for item in node.items]
    return len(texts) == len(roles) and all(
        text in state.legal_moves(role) for text, role in zip(texts, roles, strict=True)
    )


def check_state(given: object) -> None:
    """SettingsError for anything but a State."""
    if not isinstance(given, State):
        meant = "; `initial_state` is its first one" if isinstance(given, Game) else ""
        raise SettingsError(f"a State is expected, not a {type(given).__name__}{meant}")


def check_playable(state: State) -> None:
    """EvaluationError where the match is not over and a role has no legal move, so that nothing can follow."""
    if not state.is_terminal:
        for role in state.game.roles:
            if not state.legal_moves(role):
                raise no_legal_move(role)


def no_legal_move(role: str) -> EvaluationError:
    return EvaluationError(f"{role} has no legal move in this state, and the match is not over")


def load(game: str | Path, engine: str | None = None) -> Game:
    """A shipped game by its name, or a rulesheet by the path of its file.

    engine: `circuit`, `bytecode` or `interpreter`; by default the fastest that can evaluate them. UnknownGameError if
    there is no such game or file; RulesheetError, with line and column, if the rules have no meaning; GroundingError if
    the engine `circuit` was demanded and is not possible.
    """
    path = find_rulesheet(str(game))
    rulesheet = parse_rulesheet(decode(read_bytes(path), str(path)), str(path))
    choice = choose_engine(rulesheet, engine)
    return Game(path.stem, rulesheet, choice.machine, read_metadata(path), choice.fallback)


def load_text(text: str, name: str = "rulesheet", engine: str | None = None) -> Game:
    """A game from the text of its rulesheet; `name` stands in messages. The engine and the errors are as for `load`."""
    rulesheet = parse_rulesheet(text, name)
    choice = choose_engine(rulesheet, engine)
    return Game(name, rulesheet, choice.machine, fallback=choice.fallback)

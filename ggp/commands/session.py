"""A match that people play in a terminal: states and questions out, what they type in."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from rich.console import Console
from rich.text import Text

from ggp.boards import Layout, make_picture, picture_lines
from ggp.commands.choosing import find_moves, meant_move
from ggp.commands.styled import styled
from ggp.commands.thinkers import Thinker
from ggp.errors import EvaluationError
from ggp.game import Game, State
from ggp.gdl.reader import read_term
from ggp.gdl.terms import to_text
from ggp.interpreter.legality import refusal

Ask = Callable[[str], str]  # a prompt → the line that is typed; EOFError at the end of the input

_FEW = 12  # moves that are listed without being asked for
_MANY = 60  # that are listed at most
_WIDTH = 96  # characters of a list
_HELP = """type a move, its number, or a part of it, such as its arguments; and
  list     all moves, or with a part of them: list PART
  hint     what a search would do
  undo     back to your last choice
  board    draw the state again
  resign   give up
  quit     leave
Where you are told only some of what happens, there is no hint and no undo.
A colon before a word says that no move is meant: :undo"""
_WORDS = frozenset(("undo", "resign", "quit", "hint", "board", "list", "help", "?"))
_HEADING = "bold cyan"
_DIM = "dim"
_WRONG = "bold red"


class Request(Enum):
    """What a person can want instead of a move."""

    UNDO = auto()
    RESIGN = auto()
    QUIT = auto()


@dataclass(frozen=True, slots=True)
class Table:
    """Who takes part: a thinker for each role that no person takes."""

    game: Game
    layout: Layout
    thinkers: Mapping[str, Thinker]
    adviser: Thinker

    @property
    def people(self) -> tuple[str, ...]:
        return tuple(role for role in self.game.roles if role not in self.thinkers)

    @property
    def is_hidden(self) -> bool:
        """Whether people may know only what they are told: the rules say `sees`, and one person plays."""
        return len(self.people) == 1 and self.game.rulesheet.has_percepts


class Session:
    """Plays one match."""

    def __init__(self, table: Table, console: Console, ask: Ask) -> None:
        self._table = table
        self._console = console
        self._ask = ask
        self._past: list[State] = []  # states in which a person had a choice and made it

    def play(self, state: State) -> None:
        """Until the end of the match, or until somebody has enough."""
        self._say("? lists what you can type", _DIM)
        while not state.is_terminal:
            if self._choosers(state) or not self._table.people:
                self._show(state, is_final=False)
            moves = self._moves(state)
            match moves:
                case Request.UNDO:
                    state = self._past.pop()
                case Request.RESIGN | Request.QUIT:
                    return
                case _:
                    if self._choosers(state):
                        self._past.append(state)
                    state = self._next(state, moves)
        self._show(state, is_final=True)
        self._say("the match is over", _HEADING)
        for role, goal in state.goals.items():
            self._say(f"  {role}  {'no single goal value' if goal is None else goal}")

    def _moves(self, state: State) -> dict[str, str] | Request:
        """A move of each role; those of people first, so that nobody thinks in vain."""
        legal = {role: state.legal_moves(role) for role in self._table.game.roles}
        for role, found in legal.items():
            if not found:
                raise EvaluationError(f"the rules give {role} no move, and the match is not over")
        moves: dict[str, str] = {}
        waiting = self._choosers(state)
        chosen: list[str] = []
        while waiting:
            answer = self._choose(state, waiting[0], legal[waiting[0]])
            if isinstance(answer, str):
                moves[waiting[0]] = answer
                chosen.append(waiting.pop(0))
            elif answer is not Request.UNDO:
                return answer
            elif self._table.is_hidden:
                self._say("nothing is taken back where you may not know everything", _WRONG)
            elif chosen:
                waiting.insert(0, chosen.pop())
            elif self._past:
                return answer
            else:
                self._say("there is nothing to undo", _WRONG)
        thinkers = self._table.thinkers
        for role, found in legal.items():
            if role not in moves:
                moves[role] = thinkers[role].advise(state, role).move if role in thinkers else found[0]
        return moves

    def _choosers(self, state: State) -> list[str]:
        """The people who have something to choose."""
        return [role for role in self._table.people if len(state.legal_moves(role)) > 1]

    def _next(self, state: State, moves: Mapping[str, str]) -> State:
        """The state after the step, and what was done; people who may not see it hear what the rules tell them."""
        machine = self._table.game.machine
        joint_move = tuple(read_term(moves[role]) for role in self._table.game.roles)
        if self._table.is_hidden:
            (role,) = self._table.people
            percepts = ", ".join(map(to_text, machine.percepts(state.terms, joint_move, role)))
            self._say(f"{role}: {moves[role]}; you see: {percepts or 'nothing'}")
        else:
            told = {role: move for role, move in moves.items() if len(state.legal_moves(role)) > 1} or moves
            self._say(", ".join(f"{role}: {move}" for role, move in told.items()), "bold")
        return state.play(moves)

    def _choose(self, state: State, role: str, legal: Sequence[str]) -> str | Request:
        if len(legal) <= _FEW:
            self._list(legal, legal)
        else:
            self._say(f"{role} has {len(legal)} moves; type list to see them", _DIM)
        while True:
            try:
                line = self._ask(f"{role}> ").strip()
            except EOFError:
                return Request.QUIT
            answer = self._answer(line, state, role, legal)
            if answer is not None:
                return answer

    def _answer(self, line: str, state: State, role: str, legal: Sequence[str]) -> str | Request | None:
        """A move or a request; None when the person is to be asked again."""
        found = () if line.startswith(":") else find_moves(line, legal)
        word, _, rest = line.removeprefix(":").partition(" ")
        if len(found) == 1 and (line == found[0] or word not in _WORDS):
            return found[0]
        if word in _WORDS:
            return self._command(word, rest, state, role, legal)
        if found:
            self._say("which one?")
            self._list(found, legal)
        elif line:
            self._refuse(line, state, role, legal)
        return None

    def _command(self, word: str, rest: str, state: State, role: str, legal: Sequence[str]) -> Request | None:
        match word:
            case "undo":
                return Request.UNDO
            case "resign":
                self._say(f"{role} resigns", _HEADING)
                return Request.RESIGN
            case "quit":
                return Request.QUIT
            case "hint" if self._table.is_hidden:
                self._say("a hint would tell what you may not know", _WRONG)
            case "hint":
                advice = self._table.adviser.advise(state, role)
                self._say(f"{advice.move}  {advice.reason}".rstrip())
            case "board":
                self._show(state, is_final=False)
            case "list":
                self._list([move for move in legal if rest.lower() in move], legal)
            case _:
                self._say(_HELP)
        return None

    def _refuse(self, line: str, state: State, role: str, legal: Sequence[str]) -> None:
        text = meant_move(line, legal)
        game = self._table.game
        refused = refusal(game.rulesheet, game.machine, state.terms, role, text)
        reason = refused.reason if refused else "type more of it"
        if refused and refused.kind in ("turn", "condition") and self._table.is_hidden:
            reason = "the reason might tell what you may not know"
        self._say(f"{text} is not legal: {reason}", _WRONG)

    def _list(self, moves: Sequence[str], legal: Sequence[str]) -> None:
        """Moves with their numbers, in columns."""
        numbered = [f"{legal.index(move) + 1:>{len(str(len(legal)))}} {move}" for move in moves[:_MANY]]
        wide = max(map(len, numbered), default=0) + 3
        columns = max(1, _WIDTH // wide)
        for at in range(0, len(numbered), columns):
            self._say("  " + "".join(f"{text:{wide}}" for text in numbered[at : at + columns]).rstrip())
        if len(moves) > _MANY:
            self._say(f"  … and {len(moves) - _MANY} more: list PART", _DIM)
        if not moves:
            self._say("no move has that in it", _WRONG)

    def _show(self, state: State, *, is_final: bool) -> None:
        if self._table.is_hidden and not is_final:
            return
        self._say("")
        for line in styled(picture_lines(make_picture(self._table.layout, state.terms))):
            self._console.print(line)

    def _say(self, text: str, style: str = "") -> None:
        self._console.print(Text(text, style=style))

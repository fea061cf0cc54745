"""A match that humans play in a terminal: shows states, asks for moves, and understands what is typed."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from rich.console import Console
from rich.text import Text

from ggp.boards import Layout, make_picture, picture_lines
from ggp.commands.bots import Advisor
from ggp.commands.shared import styled
from ggp.errors import EvaluationError, ReadError
from ggp.game import Game, State
from ggp.gdl.reader import read_term
from ggp.gdl.terms import to_text
from ggp.interpreter.legality import refusal

Ask = Callable[[str], str]  # a prompt → the line that is typed; EOFError at the end of the input

_FEW = 12  # moves; longer lists are shown on request only
_MANY = 60  # moves that are listed at most
_WIDTH = 96  # characters of a list
_HELP = """type a move, its number, or a part of it, such as its arguments; and
  list     all moves, or with a part of them: list PART
  hint     what a search would do
  undo     back to your last choice
  board    draw the state again
  resign   give up
  quit     leave
In games with hidden information there is no hint and no undo.
If a move has the same name as a command, type a colon before the command: :undo"""
_COMMANDS = frozenset(("undo", "resign", "quit", "hint", "board", "list", "help", "?"))
_WORD = re.compile(r"[^\s(),]+")
_HEADING = "bold cyan"
_DIM = "dim"
_WRONG = "bold red"


class SessionRequest(Enum):
    """What a human can ask for instead of a move."""

    UNDO = auto()
    RESIGN = auto()
    QUIT = auto()


@dataclass(frozen=True, slots=True)
class MatchSetup:
    """A game, and who plays it: a bot for each role that no human plays."""

    game: Game
    layout: Layout
    bots: Mapping[str, Advisor]
    adviser: Advisor  # gives hints

    @property
    def humans(self) -> tuple[str, ...]:
        return tuple(role for role in self.game.roles if role not in self.bots)

    @property
    def is_hidden(self) -> bool:
        """Whether the human must not see the state: the rules have percepts, and only one human plays."""
        return len(self.humans) == 1 and self.game.rulesheet.has_percepts


class Session:
    """Plays one match."""

    def __init__(self, setup: MatchSetup, console: Console, ask: Ask) -> None:
        self._setup = setup
        self._console = console
        self._ask = ask
        self._past: list[State] = []  # states in which a human had a choice, for undo

    def play(self, state: State) -> None:
        """Plays until the match ends, or a human resigns or quits."""
        self._say("? lists what you can type", _DIM)
        while not state.is_terminal:
            if self._choosers(state) or not self._setup.humans:
                self._show(state, is_final=False)
            moves = self._moves(state)
            match moves:
                case SessionRequest.UNDO:
                    state = self._past.pop()
                case SessionRequest.RESIGN | SessionRequest.QUIT:
                    return
                case _:
                    if self._choosers(state):
                        self._past.append(state)
                    state = self._next(state, moves)
        self._show(state, is_final=True)
        self._say("the match is over", _HEADING)
        for role, goal in state.goals.items():
            self._say(f"  {role}  {'no single goal value' if goal is None else goal}")

    def _moves(self, state: State) -> dict[str, str] | SessionRequest:
        """A move of each role; humans choose first, so that no bot thinks in vain."""
        legal = {role: state.legal_moves(role) for role in self._setup.game.roles}
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
            elif answer is not SessionRequest.UNDO:
                return answer
            elif self._setup.is_hidden:
                self._say("there is no undo in a game with hidden information", _WRONG)
            elif chosen:
                waiting.insert(0, chosen.pop())
            elif self._past:
                return answer
            else:
                self._say("there is nothing to undo", _WRONG)
        bots = self._setup.bots
        for role, found in legal.items():
            if role not in moves:
                moves[role] = bots[role].advise(state, role).move if role in bots else found[0]
        return moves

    def _choosers(self, state: State) -> list[str]:
        """The roles of humans that have more than one legal move."""
        return [role for role in self._setup.humans if len(state.legal_moves(role)) > 1]

    def _next(self, state: State, moves: Mapping[str, str]) -> State:
        """The state after the step; shows the moves, or with hidden information the percepts."""
        machine = self._setup.game.machine
        joint_move = tuple(read_term(moves[role]) for role in self._setup.game.roles)
        if self._setup.is_hidden:
            (role,) = self._setup.humans
            percepts = ", ".join(map(to_text, machine.percepts(state.terms, joint_move, role)))
            self._say(f"{role}: {moves[role]}; you see: {percepts or 'nothing'}")
        else:
            told = {role: move for role, move in moves.items() if len(state.legal_moves(role)) > 1} or moves
            self._say(", ".join(f"{role}: {move}" for role, move in told.items()), "bold")
        return state.play(moves)

    def _choose(self, state: State, role: str, legal: Sequence[str]) -> str | SessionRequest:
        if len(legal) <= _FEW:
            self._list(legal, legal)
        else:
            self._say(f"{role} has {len(legal)} moves; type list to see them", _DIM)
        while True:
            try:
                line = self._ask(f"{role}> ").strip()
            except EOFError:
                return SessionRequest.QUIT
            answer = self._answer(line, state, role, legal)
            if answer is not None:
                return answer

    def _answer(self, line: str, state: State, role: str, legal: Sequence[str]) -> str | SessionRequest | None:
        """A move or a request; None if the human must be asked again."""
        found = () if line.startswith(":") else find_moves(line, legal)
        word, _, rest = line.removeprefix(":").partition(" ")
        if len(found) == 1 and (line == found[0] or word not in _COMMANDS):
            return found[0]
        if word in _COMMANDS:
            return self._command(word, rest, state, role, legal)
        if found:
            self._say("which one?")
            self._list(found, legal)
        elif line:
            self._refuse(line, state, role, legal)
        return None

    def _command(self, word: str, rest: str, state: State, role: str, legal: Sequence[str]) -> SessionRequest | None:
        match word:
            case "undo":
                return SessionRequest.UNDO
            case "resign":
                self._say(f"{role} resigns", _HEADING)
                return SessionRequest.RESIGN
            case "quit":
                return SessionRequest.QUIT
            case "hint" if self._setup.is_hidden:
                self._say("there are no hints in a game with hidden information", _WRONG)
            case "hint":
                advice = self._setup.adviser.advise(state, role)
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
        game = self._setup.game
        refused = refusal(game.rulesheet, game.machine, state.terms, role, text)
        reason = refused.reason if refused else "type more of the move"
        if refused and refused.kind in ("turn", "condition") and self._setup.is_hidden:
            reason = "the reason is hidden information"
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
            self._say("no move contains that", _WRONG)

    def _show(self, state: State, *, is_final: bool) -> None:
        if self._setup.is_hidden and not is_final:
            return
        self._say("")
        for line in styled(picture_lines(make_picture(self._setup.layout, state.terms))):
            self._console.print(line)

    def _say(self, text: str, style: str = "") -> None:
        self._console.print(Text(text, style=style))


def find_moves(text: str, legal: Sequence[str]) -> tuple[str, ...]:
    """The legal moves that a text can mean: one if it is clear, none if there is no such move.

    The text is a move, its number in the list (from 1), or a part of it: its arguments, consecutive words, beginnings
    of words in order, or any letters. The first of these that fits a move counts; a number that is also an argument
    means both.
    """
    whole = _as_move(text)
    if whole in legal:
        return (whole,)
    words = _words(text)
    if not words:
        return ()
    numbered = (legal[int(text) - 1],) if text.strip().isdecimal() and 0 < int(text) <= len(legal) else ()
    ways: tuple[Callable[[list[str]], bool], ...] = (
        lambda move: words in (move, move[1:]),
        lambda move: _has_run(move, words),
        lambda move: _has_beginnings(move, words),
    )
    found: tuple[str, ...] = ()
    for way in ways[: 1 if numbered else None]:
        found = tuple(move for move in legal if way(_words(move)))
        if found:
            break
    if not found and not numbered:
        found = tuple(move for move in legal if text.strip().lower() in move)
    return tuple(dict.fromkeys((*numbered, *found)))


def meant_move(text: str, legal: Sequence[str]) -> str:
    """The illegal move that a text probably means, if it looks like the arguments of one; else the text."""
    words = _words(text)
    forms = {(move[0], len(move)) for move in map(_words, legal) if len(move) > 1}
    fitting = sorted(name for name, length in forms if length == len(words) + 1)
    if text.strip().startswith("(") or len(fitting) != 1 or any(word in dict(forms) for word in words):
        return f"({text.strip()})" if words and words[0] in dict(forms) and not text.strip().startswith("(") else text
    return f"({fitting[0]} {' '.join(words)})"


def _as_move(text: str) -> str:
    """The text in the spelling of the rules, if it is a term."""
    try:
        return to_text(read_term(text, "move"))
    except ReadError:
        return text


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _has_run(move: Sequence[str], words: Sequence[str]) -> bool:
    return any(list(move[at : at + len(words)]) == list(words) for at in range(len(move) - len(words) + 1))


def _has_beginnings(move: Sequence[str], words: Sequence[str]) -> bool:
    """Whether words of the move begin with these, in this order."""
    rest = iter(move)
    return all(any(word.startswith(begun) for word in rest) for begun in words)

"""Text ⇄ messages and replies: what a game master says to a player and what the player answers, in both dialects."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias, assert_never

from ggp.errors import MessageError, ReadError
from ggp.gdl.reader import Node, read, read_node
from ggp.gdl.terms import Term, to_text

NIL = "nil"  # stands where there is no move yet
_WORD = re.compile(r"[^\s();]+")
_START_HEAD = re.compile(r"\ufeff?\s*\(\s*start\s+([^\s();]+)\s+([^\s();]+)\s*(?=\()", re.IGNORECASE)
_PREVIEW = re.compile(r"\W*preview\b", re.IGNORECASE)
_LONG = 20_000  # bytes of a message whose rules are not read at once
_LONG_KIND = re.compile(rb"(?:\xef\xbb\xbf)?\s*\(\s*(?:start|preview)[\s(]", re.IGNORECASE)
_START_TAIL = re.compile(r"\)\s*([0-9]{1,9})\s+([0-9]{1,9})(?:\s[^();]*)?\)\Z")
_MOST_DIGITS = 9  # of a number: 30 years as seconds; more would only feed `int` with an attack
_START_TAIL_LENGTH = 1000  # characters at the end of a message where its clocks are looked for


class Dialect(Enum):
    """How messages are spelled.

    GGP_BASE: blanks inside the outer parentheses, the words of the protocol in upper case, rules and moves in lower
    case; sends all messages. DRESDEN: no blanks inside parentheses and everything in upper case but the name of the
    match; its own game master sends only START, PLAY and STOP. What a message means is the same in both, so text is
    parsed without knowing its dialect.
    """

    GGP_BASE = "ggp-base"
    DRESDEN = "dresden"


@dataclass(frozen=True, slots=True)
class Info:
    """Who are you, and are you free?"""


@dataclass(frozen=True, slots=True)
class Ping:
    """Are you there? Known to newer Stanford players only."""


@dataclass(frozen=True, slots=True)
class Preview:
    """Rules to think about before any match; `rules` as in Start, the clock in seconds."""

    rules: str
    clock: int


@dataclass(frozen=True, slots=True)
class Start:
    """A match begins; clocks in seconds.

    `rules` is KIF, one rule a line as `ggp.gdl.rulesheet.kif` prints them; from `unread_start` as they were spelled.
    """

    match: str  # as it was spelled; compared without regard to case
    role: str
    rules: str
    startclock: int
    playclock: int


@dataclass(frozen=True, slots=True)
class Play:
    """Choose a move, knowing the last joint move; `moves` is None before the first step.

    In GDL-II's form of 2011 the list holds the player's own percepts. Only who knows the rulesheet can tell.
    """

    match: str
    moves: tuple[Term, ...] | None


@dataclass(frozen=True, slots=True)
class Stop:
    """The match has ended with this joint move; `moves` as in Play."""

    match: str
    moves: tuple[Term, ...] | None


@dataclass(frozen=True, slots=True)
class PlayPercepts:
    """GDL-II: choose a move, knowing your own last move as executed and what you perceived since.

    `turn` counts from 0, where there is no last move.
    """

    match: str
    turn: int
    last_move: Term | None
    percepts: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class StopPercepts:
    """GDL-II: the match has ended; fields as in PlayPercepts."""

    match: str
    turn: int
    last_move: Term | None
    percepts: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Abort:
    """The match is given up."""

    match: str


Message: TypeAlias = Info | Ping | Preview | Start | Play | Stop | PlayPercepts | StopPercepts | Abort

_WORDS: dict[type[Message], str] = {
    Info: "INFO",
    Ping: "PING",
    Preview: "PREVIEW",
    Start: "START",
    Play: "PLAY",
    Stop: "STOP",
    PlayPercepts: "PLAY",
    StopPercepts: "STOP",
    Abort: "ABORT",
}


def parse_message(text: str) -> Message:
    """The message that a text means in either dialect; MessageError when it means none."""
    try:
        node = read_node(text, "message")
    except ReadError as error:
        raise MessageError(str(error)) from None
    first = node.items[0] if node.items else node
    if first.text is None:
        raise MessageError("a message starts with a word, such as START")
    parser = _PARSERS.get(first.text.lower())
    if parser is None:
        raise MessageError(f"no message of the protocol is called {first.text[:40]!r}")
    return parser(node.items[1:])


def read_message(body: bytes) -> Message:
    """The message of a request; MessageError as `parse_message`.

    Any encoding: old game masters send that of their machine. Of a long START the rules are left as they are spelled,
    of a long PREVIEW they are left out, since reading them takes seconds.
    """
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        text = body.decode("latin-1")
    if len(body) <= _LONG or not _has_rules(body):
        return parse_message(text)
    if _PREVIEW.match(text):
        return Preview("", 0)
    start = unread_start(text)
    if start is None and len(text) > LONGEST_OTHER:
        raise MessageError("a START that long ends with its clocks, which are whole numbers")
    return parse_message(text) if start is None else start


def is_too_long(body: bytes | bytearray) -> bool:
    """Whether a message without rules has more than `LONGEST_OTHER` bytes."""
    return len(body) > LONGEST_OTHER and not _has_rules(body)


def _has_rules(body: bytes | bytearray) -> bool:
    return _LONG_KIND.match(body) is not None


def unread_start(text: str) -> Start | None:
    """A START whose rules nobody has read yet, at once however long they are; None when only parsing can tell.

    The rules may turn out to be no KIF.
    """
    text = text.rstrip()
    head = _START_HEAD.match(text)
    tail = _START_TAIL.search(text, max(0, len(text) - _START_TAIL_LENGTH))
    if head is None or tail is None or head.end() >= tail.start():
        return None
    return Start(head[1], head[2].lower(), text[head.end() + 1 : tail.start()], int(tail[1]), int(tail[2]))


def format_message(message: Message, dialect: Dialect = Dialect.GGP_BASE) -> str:
    """The text of a message, on one line; MessageError when a name in it is not one word."""
    match message:
        case Info() | Ping():
            parts = []
        case Preview(rules, clock):
            parts = [_one_line(rules), str(clock)]
        case Start(_, role, rules, startclock, playclock):
            parts = [_word(role), _one_line(rules), str(startclock), str(playclock)]
        case Play(_, moves) | Stop(_, moves):
            parts = [_move_list(moves)]
        case PlayPercepts(_, turn, last_move, percepts) | StopPercepts(_, turn, last_move, percepts):
            parts = [str(turn), *_percept_parts(last_move, percepts)]
        case Abort():
            parts = []
        case _:
            assert_never(message)
    name = [] if isinstance(message, Info | Ping | Preview) else [_word(message.match)]
    if dialect is Dialect.DRESDEN:
        return f"({' '.join([_WORDS[type(message)], *name, *map(_upper, parts)])})"
    end = "" if isinstance(message, Start) else " "
    return f"( {' '.join([_WORDS[type(message)], *name, *parts])}{end})"


def same_match(left: str, right: str) -> bool:
    """Whether two spellings name the same match."""
    return left.lower() == right.lower()


def term_of(node: Node) -> Term:
    """The term that a node means; MessageError when some list in it does not start with a name."""
    stack = [node]
    while stack:
        part = stack.pop()
        if part.is_list and (not part.items or (part.items[0].is_list and len(part.items) > 1)):
            raise MessageError("a term starts with a name")
        stack.extend(part.items)
    return node.term


def _info(_: tuple[Node, ...]) -> Info:
    return Info()


def _ping(_: tuple[Node, ...]) -> Ping:
    return Ping()


def _preview(arguments: tuple[Node, ...]) -> Preview:
    _at_least(2, "PREVIEW", arguments)
    return Preview(_rules(arguments[0]), _number(arguments[1], "the clock"))


def _start(arguments: tuple[Node, ...]) -> Start:
    _at_least(5, "START", arguments)
    name, role, rules, startclock, playclock = arguments[:5]
    clocks = _number(startclock, "the startclock"), _number(playclock, "the playclock")
    return Start(_match(name), to_text(term_of(role)), _rules(rules), *clocks)


def _play(arguments: tuple[Node, ...]) -> Play | PlayPercepts:
    if _has_turn("PLAY", arguments):
        return PlayPercepts(*_turn(arguments))
    return Play(_match(arguments[0]), _moves(arguments[1]))


def _stop(arguments: tuple[Node, ...]) -> Stop | StopPercepts:
    if len(arguments) == 1:
        return Stop(_match(arguments[0]), None)
    if _has_turn("STOP", arguments):
        return StopPercepts(*_turn(arguments))
    return Stop(_match(arguments[0]), _moves(arguments[1]))


def _abort(arguments: tuple[Node, ...]) -> Abort:
    _at_least(1, "ABORT", arguments)
    return Abort(_match(arguments[0]))


_PARSERS: dict[str, Callable[[tuple[Node, ...]], Message]] = {
    "info": _info,
    "ping": _ping,
    "preview": _preview,
    "start": _start,
    "play": _play,
    "stop": _stop,
    "abort": _abort,
}


def _has_turn(word: str, arguments: tuple[Node, ...]) -> bool:
    """Which of the two forms it is; parts that follow either are ignored."""
    if len(arguments) == 2 or (len(arguments) > 2 and (arguments[1].is_list or arguments[1].term == NIL)):
        return False
    if len(arguments) < 4:
        raise MessageError(f"{word} has 2 arguments or, in GDL-II, 4, not {len(arguments)}")
    return True


def _turn(arguments: tuple[Node, ...]) -> tuple[str, int, Term | None, tuple[Term, ...]]:
    name, turn, last_move, percepts = arguments[:4]
    return _match(name), _number(turn, "the turn"), _last_move(last_move), _terms(percepts)


def _moves(node: Node) -> tuple[Term, ...] | None:
    return _terms(node) if node.is_list else None


def _at_least(count: int, word: str, arguments: tuple[Node, ...]) -> None:
    if len(arguments) < count:
        raise MessageError(f"{word} has {len(arguments)} arguments but needs {count}")


def _match(node: Node) -> str:
    if node.text is None:
        raise MessageError("the name of a match is one word, not a list")
    return node.text


def _number(node: Node, what: str) -> int:
    text = node.text or "a list"
    if not re.fullmatch(r"[0-9]+", text):
        raise MessageError(f"{what} is a whole number, not {text[:40]}")
    if len(text) > _MOST_DIGITS:
        cut = "…" if len(text) > 40 else ""
        raise MessageError(f"{what} is a whole number of at most {_MOST_DIGITS} digits, not {text[:40]}{cut}")
    return int(text)


def _terms(node: Node) -> tuple[Term, ...]:
    """The members of a list; an atom, such as NIL, has none."""
    return tuple(term_of(item) for item in node.items)


def _last_move(node: Node) -> Term | None:
    if node.is_list and not node.items:
        return None
    term = term_of(node)
    return None if term == NIL else term


def _rules(node: Node) -> str:
    if not node.is_list:
        raise MessageError("the rules are a list")
    return "\n".join(map(_node_text, node.items))


def _node_text(node: Node) -> str:
    """The node in lower case, its lists as they are: `(or)` is not the same as `or`."""
    if node.text is not None:
        return node.text.lower()
    return f"({' '.join(map(_node_text, node.items))})"


def _one_line(rules: str) -> str:
    return f"({' '.join(rules.splitlines())})"


def _move_list(moves: tuple[Term, ...] | None) -> str:
    return "NIL" if moves is None else f"({' '.join(map(to_text, moves))})"


def _percept_parts(last_move: Term | None, percepts: tuple[Term, ...]) -> tuple[str, str]:
    if last_move is None and not percepts:
        return "NIL", "NIL"
    return "NIL" if last_move is None else to_text(last_move), _move_list(percepts)


def _word(text: str) -> str:
    if not _WORD.fullmatch(text):
        raise MessageError(f"{text[:40]!r} is not one word")
    return text


def _upper(text: str) -> str:
    """In upper case, but for the few letters and words that would not come back when read."""
    return _WORD.sub(_upper_word, text)


def _upper_word(word: re.Match[str]) -> str:
    """A σ comes back as ς at the end of a word, so such words stay as they are."""
    text = "".join(upper if (upper := letter.upper()).lower() == letter else letter for letter in word[0])
    return text if text.lower() == word[0].lower() else word[0]


READY = "ready"
BUSY = "busy"
DONE = "done"
ABORTED = "aborted"
AVAILABLE = "available"
NO_MOVE = NIL  # the player could not choose

_REMARKS = frozenset({"explanation", "taunt"})
_REMARK = re.compile(r"\(\s*(?:explanation|taunt)\b.*", re.DOTALL | re.IGNORECASE)
_NOT_IN_WORDS = re.compile(r"[\s();]+")


@dataclass(frozen=True, slots=True)
class InfoReply:
    """What a player says of itself; empty where it says nothing."""

    name: str = ""
    status: str = ""  # `available` or `busy`; players in the wild have other words
    species: str = ""  # `alien` for a program, `human` for a person


def parse_move(text: str) -> Term:
    """The move that a player answers; MessageError when there is none to read.

    What some players append, `(explanation …)` and `(taunt …)`, is dropped: after the move, or next to it in a list
    around both. `nil` is returned as the constant that it looks like.
    """
    nodes = _read_reply(text)
    if not nodes:
        raise MessageError("the answer is empty")
    move, *others = nodes
    if any(not _is_remark(node) for node in others):
        raise MessageError("the answer has more than one expression")
    if move.items and move.items[0].is_list:  # no term starts with a list, so this is one around move and remarks
        while len(move.items) > 1 and _is_remark(move.items[-1]):
            move = Node(None, move.items[:-1], move.offset)
    return term_of(move)


def parse_word(text: str) -> str:
    """The reply to anything but INFO and PLAY, such as `ready`, in lower case; MessageError when it is not a word."""
    nodes = _read_reply(text)
    if len(nodes) != 1:
        raise MessageError("the answer is not one word")
    term = term_of(nodes[0])
    if not isinstance(term, str):
        raise MessageError(f"the answer is not one word: {to_text(term)[:40]}")
    return term


def format_info(reply: InfoReply) -> str:
    """As pairs, with the characters that would end a word replaced."""
    pairs = (("name", reply.name), ("status", reply.status), ("species", reply.species))
    words = ((key, _NOT_IN_WORDS.sub("_", value)) for key, value in pairs if value)
    return f"( {' '.join(f'( {key} {word} )' for key, word in words)} )"


def parse_info(text: str) -> InfoReply:
    """From pairs, or from a bare word that is the status; MessageError for anything else."""
    nodes = _read_reply(text)
    if not nodes:
        raise MessageError("the answer is empty")
    first = nodes[0]
    if first.text is not None or (len(first.items) == 1 and first.items[0].text is not None):
        return InfoReply(status=parse_word(text))
    fields = {"name": "", "status": "", "species": ""}
    for pair in first.items:
        words = [item.text for item in pair.items if item.text is not None]
        if words and words[0].lower() in fields:
            fields[words[0].lower()] = " ".join(words[1:])
    if not any(fields.values()):
        raise MessageError("the answer says neither name nor status nor species")
    return InfoReply(fields["name"], fields["status"].lower(), fields["species"].lower())


def _read_reply(text: str) -> tuple[Node, ...]:
    try:
        return read(text, "answer")
    except ReadError as error:
        cut = _REMARK.sub("", text)  # free text in a remark may hold anything
        if cut == text:
            raise MessageError(str(error)) from None
    return _read_reply(cut)


def _is_remark(node: Node) -> bool:
    return bool(node.items) and (node.items[0].text or "").lower() in _REMARKS


DEFAULT_PORT = 9147  # of a player
CONTENT_TYPE = "text/acl"
ACCEPT = "text/delim"
SENDER = "GAMESERVER"
LONGEST_OTHER = 2**17  # bytes of a message without rules: a joint move of many roles and long words, or many percepts


def request_headers(receiver: str) -> dict[str, str]:
    """Headers that a game master sends with a message; Content-Type and Content-Length belong to the HTTP client."""
    return {"Accept": ACCEPT, "Sender": SENDER, "Receiver": receiver}

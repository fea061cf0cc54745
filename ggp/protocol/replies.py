"""Text ⇄ replies: what a player answers to the game master."""

import re
from dataclasses import dataclass

from ggp.errors import MessageError, ReadError
from ggp.gdl.reader import Node, read
from ggp.gdl.terms import Term, to_text
from ggp.protocol.messages import NIL, term_of

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

    What some players append, `(explanation …)` and `(taunt …)`, is dropped: after the move, or beside it in a list
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

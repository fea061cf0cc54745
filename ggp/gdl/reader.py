"""KIF text → nodes, which are expressions with their places; and the terms that they mean."""

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

from ggp.errors import Place, ReadError
from ggp.gdl.terms import MAX_NESTING, Term

_TOKEN = re.compile(r"[()]|;[^\r\n]*|[^\s();]+")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LINE_END = re.compile(r"\r\n?|\n")
_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Node:
    """An expression of a text: an atom with its spelling, or a list."""

    text: str | None  # the spelling of an atom; None for a list
    items: tuple["Node", ...]
    offset: int  # in characters from the start of the text

    @property
    def is_list(self) -> bool:
        return self.text is None

    @property
    def term(self) -> Term:
        """The expression as a term: case folded, `(p)` the same as `p`, and `()` the empty tuple."""
        if self.text is not None:
            return self.text.lower()
        if len(self.items) == 1:
            return self.items[0].term
        return tuple(item.term for item in self.items)


def read(text: str, source: str = "<text>") -> tuple[Node, ...]:
    """All expressions of a text; ReadError with its place when parentheses do not match or are nested too deep.

    So is a lone surrogate, which a Python string can hold, but no file or message.
    """
    text = text.lstrip(_BYTE_ORDER_MARK)
    lone = _SURROGATE.search(text)
    if lone is not None:
        raise ReadError(f"U+{ord(lone.group()):04X} is half a character", place_in(text, source)(lone.start()))
    top: list[Node] = []
    items = top
    open_lists: list[tuple[list[Node], int]] = []  # the list around each open one, and where the open one began
    for token in _TOKEN.finditer(text):
        word = token.group()
        offset = token.start()
        if word == "(":
            if len(open_lists) == MAX_NESTING:
                raise ReadError(f"nested deeper than {MAX_NESTING} levels", place_in(text, source)(offset))
            open_lists.append((items, offset))
            items = []
        elif word == ")":
            if not open_lists:
                raise ReadError("unexpected ')'", place_in(text, source)(offset))
            around, began = open_lists.pop()
            around.append(Node(None, tuple(items), began))
            items = around
        elif word[0] != ";":
            items.append(Node(word, (), offset))
    if open_lists:
        raise ReadError("'(' is never closed", place_in(text, source)(open_lists[-1][1]))
    return tuple(top)


def read_node(text: str, source: str = "<text>") -> Node:
    """The only expression of a text."""
    nodes = read(text, source)
    if not nodes:
        raise ReadError("nothing to read", Place(source, 1, 1))
    if len(nodes) > 1:
        raise ReadError("more than one expression", place_in(text, source)(nodes[1].offset))
    return nodes[0]


def read_term(text: str, source: str = "<text>") -> Term:
    """The only term of a text, such as a move; ReadError when it has none, several, or one without a name."""
    node = read_node(text, source)
    stack = [node]
    while stack:
        part = stack.pop()
        if part.is_list and (not part.items or part.items[0].is_list):
            raise ReadError("a term starts with a name", place_in(text, source)(part.offset))
        stack.extend(part.items)
    return node.term


def place_in(text: str, source: str) -> Callable[[int], Place]:
    """A function from an offset in the text, leading byte order marks not counted, to its place."""
    starts: list[int] = []  # of the lines; found when first asked

    def place(offset: int) -> Place:
        if not starts:
            starts.extend((0, *(end.end() for end in _LINE_END.finditer(text.lstrip(_BYTE_ORDER_MARK)))))
        line = bisect_right(starts, offset)
        return Place(source, line, offset - starts[line - 1] + 1)

    return place


def decode(data: bytes, source: str = "<text>") -> str:
    """UTF-8 bytes as text; ReadError with the place of the first byte that is not."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8").lstrip(_BYTE_ORDER_MARK)
        raise ReadError(f"byte 0x{data[error.start]:02x} is not UTF-8", place_in(before, source)(len(before))) from None

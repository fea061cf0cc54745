"""Terms: what the reader makes, what facts and moves are.

A constant is a `str` in lower case, a variable a `str` that starts with `?`, a function term a tuple whose first member
is its name: `(cell 1 ?x b)` is `("cell", "1", "?x", "b")`. Plain tuples hash and compare in C, and states hold many.
"""

from collections.abc import Iterator
from typing import TypeAlias, Union

Term: TypeAlias = Union[str, tuple["Term", ...]]  # noqa: UP007 - | does not take a forward reference

MAX_NESTING = 200  # levels of parentheses; deeper text is refused, so that no term can overflow a stack


def is_variable(term: Term) -> bool:
    return isinstance(term, str) and term.startswith("?")


def to_text(term: Term) -> str:
    """KIF text that reads back to the same term."""
    if isinstance(term, str):
        return term
    pieces: list[str] = []
    stack: list[Term | None] = [term]
    while stack:
        part = stack.pop()
        if part is None:
            pieces.append(")")
        elif isinstance(part, str):
            pieces.append(f" {part}")
        else:
            pieces.append(" (")
            stack.append(None)
            stack.extend(reversed(part))
    return "".join(pieces).replace("( ", "(").lstrip()


def subterms(term: Term) -> Iterator[Term]:
    """The term and all terms in it, outermost first; names of functions are not terms."""
    stack = [term]
    while stack:
        part = stack.pop()
        yield part
        if isinstance(part, tuple):
            stack.extend(reversed(part[1:]))


def variables(term: Term) -> tuple[str, ...]:
    """The variables of a term, each once, in the order of the text."""
    if isinstance(term, str):
        return (term,) if term.startswith("?") else ()
    return tuple(dict.fromkeys(part for part in subterms(term) if isinstance(part, str) and part.startswith("?")))


def is_ground(term: Term) -> bool:
    return not variables(term)


def depth(term: Term) -> int:
    """Levels of function terms: 0 for a constant, 1 for `(f a)`."""
    deepest = 0
    stack = [(term, 0)]
    while stack:
        part, level = stack.pop()
        if isinstance(part, tuple):
            deepest = max(deepest, level + 1)
            stack.extend((inner, level + 1) for inner in part[1:])
    return deepest


def substitute(term: Term, bindings: dict[str, Term]) -> Term:
    """The term with bound variables replaced; their values are not looked into again."""
    if isinstance(term, str):
        return bindings.get(term, term)
    return (term[0], *(substitute(part, bindings) for part in term[1:]))


def may_be_same(left: Term, right: Term) -> bool:
    """Whether the terms may be equal for some values of their variables, each occurrence for itself."""
    stack = [(left, right)]
    while stack:
        one, other = stack.pop()
        if is_variable(one) or is_variable(other):
            continue
        if isinstance(one, str) or isinstance(other, str) or len(one) != len(other) or one[0] != other[0]:
            if one != other:
                return False
        else:
            stack.extend(zip(one[1:], other[1:], strict=True))
    return True


def match(pattern: Term, ground: Term, bindings: dict[str, Term]) -> dict[str, Term] | None:
    """The bindings extended so that the pattern becomes the ground term, or None; `bindings` stays as it is."""
    found = dict(bindings)
    stack = [(pattern, ground)]
    while stack:
        left, right = stack.pop()
        if isinstance(left, str):
            if left.startswith("?"):
                if found.setdefault(left, right) != right:
                    return None
            elif left != right:
                return None
        elif isinstance(right, str) or len(left) != len(right) or left[0] != right[0]:
            return None
        else:
            stack.extend(zip(left[1:], right[1:], strict=True))
    return found

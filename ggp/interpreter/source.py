"""Python source as it is written: lines, indents, and tests that wait to be joined by `and`."""

from collections.abc import Iterable

from ggp.gdl.terms import Term


class Source:
    """The lines of one function; `close` goes back to an earlier indent."""

    def __init__(self, header: str) -> None:
        self.lines = [header]
        self.loops = 0
        self._indent = 1
        self._tests: list[str] = []

    def test(self, condition: str) -> None:
        """What follows runs only where the condition holds."""
        self._tests.append(condition)

    def loop(self, target: str, rows: str) -> None:
        self.line(f"for {target} in {rows}:")
        self._indent += 1
        self.loops += 1

    def line(self, text: str) -> None:
        if self._tests:
            self._put(f"if {' and '.join(self._tests)}:")
            self._tests = []
            self._indent += 1
        self._put(text)

    def mark(self) -> tuple[int, int]:
        """The present indent, to close to."""
        return self._indent, self.loops

    def close(self, mark: tuple[int, int]) -> None:
        self._indent, self.loops = mark
        self._tests = []

    def _put(self, text: str) -> None:
        self.lines.append("    " * self._indent + text)


def pack(parts: Iterable[str]) -> str:
    """The expression for some values in one: nothing for none, the value itself for one, else a tuple."""
    found = tuple(parts)
    return found[0] if len(found) == 1 else f"({', '.join(found)})"


def expression(term: Term, names: dict[str, str]) -> str:
    """A term as Python; its variables under the names that hold their values."""
    if isinstance(term, str):
        return names[term] if term.startswith("?") else repr(term)
    return f"({term[0]!r}, {', '.join(expression(part, names) for part in term[1:])},)"


def unpack_key(source: Source, count: int) -> None:
    """Names the parts of a key `k`: `p0`, `p1` …"""
    if count:
        source.line(f"{', '.join(f'p{place}' for place in range(count))} = k")

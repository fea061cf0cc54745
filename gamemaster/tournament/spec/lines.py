"""Text in TOML → the line on which each of its keys, tables and elements begins."""

import re
import tomllib
from bisect import bisect_right
from collections.abc import Mapping
from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]  # keys and indices from the outside in

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")  # comments are blank, and so are ends of lines
_KEY = re.compile(r'[ \t]*(?:"((?:[^"\\]|\\.)*)"|\'([^\']*)\'|([A-Za-z0-9_-]+))[ \t]*')
_TEXT = re.compile(
    r'"""(?:[^\\]|\\.)*?"""(?:"{0,2})|\'\'\'.*?\'\'\'(?:\'{0,2})|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'', re.DOTALL
)
_BARE = re.compile(r"[^,\]}\n#]*")  # numbers, times, true and false


def line_of(text: str, place: Path) -> int | None:
    """The line, counted from 1, of the innermost part of a place that the text has; None where the text is no TOML."""
    try:
        lines = key_lines(text)
    except (ValueError, RecursionError):
        return None
    while place and place not in lines:
        place = place[:-1]
    return lines.get(place, 1)


def key_lines(text: str) -> Mapping[Path, int]:
    """Every place in a text that is known to be TOML, with its line; ValueError at the latest where it is not."""
    return _Scanner(text).scan()


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._ends = [found.start() for found in re.finditer("\n", text)]
        self._at = 0
        self._lines: dict[Path, int] = {}
        self._sizes: dict[Path, int] = {}  # of arrays of tables

    def scan(self) -> Mapping[Path, int]:
        table: Path = ()
        while self._skip():
            if self._text.startswith("[[", self._at):
                table = self._array_header()
            elif self._text[self._at] == "[":
                self._at += 1
                line = self._line()
                table = self._resolved(self._keys())
                self._lines.setdefault(table, line)
                self._expect("]")
            else:
                self._pair(table)
        return self._lines

    def _array_header(self) -> Path:
        line = self._line()
        self._at += 2
        *outer, last = self._keys()
        array = (*self._resolved(tuple(outer)), last)
        number = self._sizes.get(array, 0)
        self._sizes[array] = number + 1
        self._lines.setdefault(array, line)
        self._lines[*array, number] = line
        self._expect("]]")
        return (*array, number)

    def _resolved(self, keys: tuple[str, ...]) -> Path:
        """The table that a header names: in an array of tables its last element."""
        path: Path = ()
        for key in keys:
            path = (*path, key)
            if path in self._sizes:
                path = (*path, self._sizes[path] - 1)
        return path

    def _pair(self, table: Path) -> None:
        line = self._line()
        path = table
        for key in self._keys():
            path = (*path, key)
            self._lines.setdefault(path, line)
        self._expect("=")
        self._value(path)

    def _value(self, path: Path) -> None:
        self._skip()
        opening = self._text[self._at : self._at + 1]
        if opening == "[":
            self._array(path)
        elif opening == "{":
            self._inline_table(path)
        elif opening in ('"', "'"):
            self._match(_TEXT)
        else:
            self._match(_BARE)

    def _array(self, path: Path) -> None:
        self._expect("[")
        number = 0
        while self._skip() and self._text[self._at] != "]":
            self._lines[*path, number] = self._line()
            self._value((*path, number))
            number += 1
            if self._skip() and self._text[self._at] != "]":
                self._expect(",")
        self._expect("]")

    def _inline_table(self, path: Path) -> None:
        self._expect("{")
        while self._skip() and self._text[self._at] != "}":
            self._pair(path)
            if self._skip() and self._text[self._at] != "}":
                self._expect(",")
        self._expect("}")

    def _keys(self) -> tuple[str, ...]:
        keys = [self._key()]
        while self._text.startswith(".", self._at):
            self._at += 1
            keys.append(self._key())
        return tuple(keys)

    def _key(self) -> str:
        quoted, literal, bare = self._match(_KEY).groups()
        if quoted is None:
            return literal or bare or ""
        return quoted if "\\" not in quoted else str(tomllib.loads(f'key = "{quoted}"')["key"])

    def _line(self) -> int:
        return bisect_right(self._ends, self._at - 1) + 1 if self._at else 1

    def _skip(self) -> bool:
        """Goes to what is not blank; False at the end."""
        self._match(_BLANK)
        return self._at < len(self._text)

    def _expect(self, mark: str) -> None:
        self._skip()
        if not self._text.startswith(mark, self._at):
            raise ValueError(f"line {self._line()}: no {mark}")
        self._at += len(mark)

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str]:
        found = pattern.match(self._text, self._at)
        if found is None:
            raise ValueError(f"line {self._line()}: not TOML")
        self._at = found.end()
        return found

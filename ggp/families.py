"""Families of games: a name and parameters → a rulesheet, and the metadata that depend on the parameters.

A family is a file `families/NAME.py` in the folder of the shipped games that defines `FAMILY`. What it writes is plain
GDL; games that are shipped name their family and its parameters in their metadata (the table `family`).
"""

import re
import runpy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

from ggp.errors import SettingsError, did_you_mean
from ggp.library import rules_folder

Value: TypeAlias = int | str

_LINE = 110  # characters of a line of facts


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a family can be asked for: a whole number in a range, or text that matches a pattern as a whole."""

    meaning: str
    default: Value
    least: int = 1  # of a number
    most: int = 1
    pattern: str = ""  # of a text

    def read(self, text: str) -> Value:
        """The value that the text means; ValueError, with what is allowed, for others."""
        if isinstance(self.default, str):
            if not re.fullmatch(self.pattern, text):
                raise ValueError(f"{self.meaning}, for example {self.default}")
            return text
        if not re.fullmatch(r"\d{1,9}", text, re.ASCII) or not self.least <= int(text) <= self.most:
            raise ValueError(f"{self.meaning}, a whole number from {self.least} to {self.most}")
        return int(text)


@dataclass(frozen=True, slots=True)
class Sheet:
    """What a family writes: the text of a rulesheet, and fields of its metadata."""

    rules: str
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Family:
    """The parameters by name, and what writes a rulesheet; `write` raises ValueError for values that do not fit."""

    summary: str
    parameters: Mapping[str, Parameter]
    write: Callable[..., Sheet]


def family_names() -> tuple[str, ...]:
    """The names of the families, sorted."""
    return tuple(sorted(path.stem for path in _folder().glob("*.py")))


def find_family(name: str) -> Family:
    """SettingsError if there is none of this name."""
    names = family_names()
    if name not in names:
        raise SettingsError(f"no family is called {name!r}{did_you_mean(name, names)}; they are {', '.join(names)}")
    family = runpy.run_path(str(_folder() / f"{name}.py"))["FAMILY"]
    assert isinstance(family, Family)
    return family


def generate(name: str, given: Mapping[str, str | int]) -> Sheet:
    """The game of the family with these parameters, the others as usual; SettingsError if one is unknown or wrong.

    The metadata have the table `family` with all parameters.
    """
    family = find_family(name)
    values = {parameter: one.default for parameter, one in family.parameters.items()}
    for parameter, text in given.items():
        if parameter not in values:
            meant = did_you_mean(parameter, values)
            raise SettingsError(f"{name} has no parameter {parameter!r}{meant}; it has {', '.join(values)}")
        try:
            values[parameter] = family.parameters[parameter].read(str(text))
        except ValueError as error:
            raise SettingsError(f"{name}: {parameter} is {text!r}, not {error}") from None
    try:
        sheet = family.write(**values)
    except ValueError as error:
        raise SettingsError(f"{name}: {error}") from None
    return Sheet(sheet.rules, {**sheet.metadata, "family": {"name": name, "parameters": values}})


def facts(name: str, rows: Iterable[Sequence[object]]) -> str:
    """A fact on each line; the last line ends as well."""
    return "".join(f"({' '.join(map(str, (name, *row)))})\n" for row in rows)


def successors(most: int, least: int = 0) -> str:
    """Facts `(succ 0 1)` … up to the greatest number."""
    return facts("succ", ((number, number + 1) for number in range(least, most)))


def packed_facts(relation: str, rows: Iterable[Sequence[object]]) -> str:
    """As many facts in a line as fit, without a line end after the last."""
    lines = [""]
    for row in rows:
        fact = f"({' '.join((relation, *map(str, row)))})"
        if lines[-1] and len(lines[-1]) + 1 + len(fact) > _LINE:
            lines.append("")
        lines[-1] += f" {fact}" if lines[-1] else fact
    return "\n".join(lines)


def chain(relation: str, names: Iterable[object]) -> str:
    """The facts of a successor relation: of each name and the next."""
    return packed_facts(relation, pairwise(names))


def _folder() -> Path:
    return rules_folder() / "families"

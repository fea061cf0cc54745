"""What decides whether machine code is found again: all that it depends on, and nothing else."""

import os
import subprocess
import sys
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
import pytest

from ggp.kernel import _describe_type, fingerprint, kernel, lean

ROOT = Path(__file__).parents[1]
SOURCE = """
from ggp.kernel import inner, kernel, lean
OFFSET = {offset}

@lean
def deepest(x):
    {note}
    return x * {factor}

@inner
def between(x):
    return deepest(x) + OFFSET

@kernel
def outermost(x):
    return between(x)

def unrelated():
    return {unrelated}
"""
USUAL = {"offset": 7, "factor": 3, "note": "pass", "unrelated": 0}


def module(**changed: object) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "module"}
    exec(SOURCE.format(**{**USUAL, **changed}), names)
    return names


def test_a_change_of_anything_that_a_kernel_reaches_is_noticed() -> None:
    usual = fingerprint(module()["outermost"])
    assert fingerprint(module()["outermost"]) == usual
    assert fingerprint(module(unrelated=1)["outermost"]) == usual
    assert fingerprint(module(note="# a comment\n    pass")["outermost"]) == usual
    for changed in ({"offset": 8}, {"offset": 7.0}, {"factor": 4}, {"factor": "OFFSET"}):
        assert fingerprint(module(**changed)["outermost"]) != usual


def test_options_decide_too() -> None:
    def plain(x: int) -> int:
        return x

    assert fingerprint(kernel(plain)) != fingerprint(lean(plain))


class Pair(NamedTuple):
    first: int
    second: float


class Turned(NamedTuple):
    second: int
    first: float


def test_the_order_of_fields_and_the_kind_of_arrays_decide() -> None:
    import numba  # noqa: PLC0415

    array = np.zeros(3)
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    values = (
        Pair(1, 2.0),
        Turned(1, 2.0),
        Pair(1, 2),
        (1, 2.0),
        array,
        frozen,
        np.zeros((3, 3)),
        np.zeros(3, np.int32),
    )
    typeof: Any = numba.typeof
    described = [_describe_type(typeof(value)) for value in (*values, (array, Pair(1, 2.0)), (array, Turned(1, 2.0)))]
    assert len(set(map(repr, described))) == len(described)


def test_the_module_of_a_named_tuple_decides() -> None:
    import numba  # noqa: PLC0415

    class Moved(NamedTuple):
        first: int
        second: float

    Moved.__name__, Moved.__module__ = "Pair", "another_module"  # kernel files import a class by both
    typeof: Any = numba.typeof
    moved, pair = typeof(Moved(1, 2.0)), typeof(Pair(1, 2.0))
    assert str(moved) == str(pair)
    assert _describe_type(moved) != _describe_type(pair)


def test_kernels_that_call_each_other_have_an_end() -> None:
    names: dict[str, Any] = {"__name__": "module"}
    exec("def one(x):\n    return x if x < 1 else two(x - 1)\ndef two(x):\n    return one(x)", names)
    functions: dict[str, FunctionType] = {name: names[name] for name in ("one", "two")}
    names |= {name: kernel(function) for name, function in functions.items()}
    assert fingerprint(names["one"]) != fingerprint(names["two"])


@pytest.mark.unchecked
@pytest.mark.kernels
def test_another_process_compiles_nothing_again(tmp_path: Path) -> None:
    """Not even one that has the sources in another folder."""
    code = """
import pathlib, sys
sys.path.insert(0, sys.argv[1])
import module
assert module.outermost(5) == int(sys.argv[2])
(overload,) = module.outermost.overloads
files = list(pathlib.Path(module.outermost._cache.cache_path).glob("module*"))
print(module.outermost.stats.cache_hits[overload], len(files))
"""

    def run(folder: str, expected: int, **changed: object) -> str:
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "module.py").write_text(SOURCE.format(**{**USUAL, **changed}))
        command = [sys.executable, "-c", code, str(tmp_path / folder), str(expected)]
        # Python takes byte code that it kept for that of a source of the same size and second.
        environment = {**os.environ, "GGP_CACHE": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env=environment).stdout

    assert run("one", 22) == "0 4\n"  # the outermost one for Python and, as the others, for kernels
    assert run("two", 22) == "1 4\n"
    assert run("two", 27, factor=4) == "0 8\n"
    assert run("one", 22) == "1 8\n"
    assert run("one", 23, offset=8) == "0 11\n"  # what both call is linked as it was kept

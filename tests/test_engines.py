"""The choice of an engine."""

import logging
import subprocess
import sys

import pytest

import ggp
from ggp import engines
from ggp.engines import ENGINES, choose_engine, make_machine
from ggp.errors import GroundingError, RulesheetError, SettingsError
from ggp.gdl.rulesheet import parse_rulesheet

PLAIN = "(role r) (legal r a) (init x) (<= (next y) (does r a)) (<= terminal (true y)) (<= (goal r 9) (true y))"
PARADOX = PLAIN + "(<= p (true x) (not q)) (<= q (not p)) (<= (goal r 1) q)"


@pytest.fixture(autouse=True)
def warm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was compiled before, kernels count as ready."""
    monkeypatch.setattr(engines, "is_warm", lambda: True)


def test_the_fastest_engine_is_taken() -> None:
    for engine, expected in ((None, "circuit"), *((engine, engine) for engine in ENGINES)):
        choice = choose_engine(parse_rulesheet(PLAIN), engine)
        assert (choice.machine.engine, choice.fallback) == (expected, None)
        assert ggp.load_text(PLAIN, engine=engine).engine == expected
    assert ENGINES == ("circuit", "bytecode", "interpreter")


def test_what_has_no_circuit_is_played_by_bytecode(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        game = ggp.load_text(PARADOX, "paradox.kif")
    assert game.engine == "bytecode"
    assert game.fallback is not None
    assert game.fallback.startswith("paradox.kif:1:")
    assert [(record.name, record.message) for record in caplog.records] == [
        ("ggp.engines", f"played by bytecode, which is slower: {game.fallback}")
    ]
    assert ggp.load_text(PLAIN).fallback is None


def test_a_cold_machine_starts_with_the_interpreter(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(engines, "is_warm", lambda: False)
    choice = choose_engine(parse_rulesheet(PLAIN))
    assert choice.machine.engine == "interpreter"
    assert choice.fallback is not None
    assert [record.message for record in caplog.records] == [
        f"played by the interpreter, which is slower: {choice.fallback}"
    ]
    assert make_machine(parse_rulesheet(PLAIN), "circuit").engine == "circuit"


def test_an_engine_that_is_named_is_the_one() -> None:
    with pytest.raises(GroundingError, match="negation"):
        make_machine(parse_rulesheet(PARADOX), "circuit")
    assert make_machine(parse_rulesheet(PARADOX), "interpreter").engine == "interpreter"
    with pytest.raises(SettingsError, match="the engines are circuit, bytecode, interpreter"):
        make_machine(parse_rulesheet(PLAIN), "abacus")


def test_a_rulesheet_without_roles_is_refused_as_such(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(RulesheetError, match="no role is named"):
        make_machine(parse_rulesheet("(init x)"))
    assert not caplog.records


def test_the_interpreter_alone_loads_nothing_heavy() -> None:
    code = f"import sys, ggp; ggp.load_text({PLAIN!r}, engine='interpreter'); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "numba", "clingo"} & set(loaded)

"""The choice of an engine: rulesheet → state machine."""

from ggp.errors import SettingsError
from ggp.interpreter import Interpreter
from ggp.machine import StateMachine
from ggp.rulesheet import Rulesheet

ENGINES = ("interpreter",)


def make_machine(rulesheet: Rulesheet, engine: str | None = None) -> StateMachine:
    """The fastest engine that can evaluate the rules, or the one that is named."""
    if engine is not None and engine not in ENGINES:
        raise SettingsError(f"no engine is called {engine!r}; the engines are {', '.join(ENGINES)}")
    return Interpreter(rulesheet)

"""The choice of an engine: rulesheet → state machine."""

import logging
from dataclasses import dataclass
from typing import Literal, get_args

from ggp.cache import is_warm
from ggp.errors import EvaluationError, GroundingError, RulesheetError, SettingsError
from ggp.gdl.rulesheet import Rulesheet, name_and_arity
from ggp.gdl.state_machine import StateMachine
from ggp.interpreter import Interpreter

EngineName = Literal["circuit", "bytecode", "interpreter"]
ENGINES: tuple[EngineName, ...] = get_args(EngineName)
BUDGET_SECONDS = 120.0  # to write out the rules without variables

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class EngineChoice:
    """A state machine, and why it is not a faster one."""

    machine: StateMachine
    fallback: str | None  # one line; None where the best engine was taken, or the one that was named


def make_machine(rulesheet: Rulesheet, engine: str | None = None, seconds: float = BUDGET_SECONDS) -> StateMachine:
    """The fastest engine that can evaluate the rules, or the one that is named; see `choose_engine`."""
    return choose_engine(rulesheet, engine, seconds).machine


def choose_engine(rulesheet: Rulesheet, engine: str | None = None, seconds: float = BUDGET_SECONDS) -> EngineChoice:
    """The circuit when the rules can be grounded in so many seconds, else bytecode; or the engine that is named.

    On a machine where the kernels were never compiled the interpreter serves, unless another one is named.

    GroundingError when it is the circuit that is named and there is none; RulesheetError for rules without a role.
    """
    if engine is not None and engine not in ENGINES:
        raise SettingsError(f"no engine is called {engine!r}; the engines are {', '.join(ENGINES)}")
    if not any(name_and_arity(rule.head) == ("role", 1) for rule in rulesheet.rules):
        raise RulesheetError("no role is named", rulesheet.place(0), "role")
    if engine == "interpreter":
        return EngineChoice(Interpreter(rulesheet), None)
    if engine is None and not is_warm():
        reason = "the kernels are not compiled yet; `ggp cache warm` does it, once"
        _log.warning("played by the interpreter, which is slower: %s", reason)
        return EngineChoice(Interpreter(rulesheet), reason)
    if engine == "bytecode":
        return EngineChoice(make_faster(Interpreter(rulesheet)), None)
    try:
        return EngineChoice(_circuit_machine(rulesheet, seconds), None)
    except GroundingError as error:
        if engine is not None:
            raise
        machine = make_faster(Interpreter(rulesheet))
        _log.warning("played by %s, which is slower: %s", machine.engine, error)
        return EngineChoice(machine, str(error))


def make_faster(interpreter: Interpreter) -> StateMachine:
    """The rules of an interpreter as bytecode, in some milliseconds; the interpreter if they name terms too deep."""
    from ggp.interpreter.bytecode_machine import BytecodeMachine  # noqa: PLC0415 - numba, as below

    try:
        return BytecodeMachine(interpreter)
    except EvaluationError:
        return interpreter


def _circuit_machine(rulesheet: Rulesheet, seconds: float) -> StateMachine:
    from ggp.circuit.compile import compile_game  # noqa: PLC0415
    from ggp.grounding import Budget  # noqa: PLC0415
    from ggp.simulation.state_machine import CircuitMachine  # noqa: PLC0415 - here and below: numba takes half a second to load

    return CircuitMachine(rulesheet, compile_game(rulesheet, Budget(seconds=seconds)))

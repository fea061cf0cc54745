"""The interpreter: rules evaluated as they stand, the oracle of every faster engine."""

from ggp.interpreter.machine import Interpreter

__all__ = ["Interpreter"]

"""The interpreter: rules evaluated as they stand, the oracle of every faster engine."""

from ggp.interpreter.interpreter import Interpreter, ask

__all__ = ["Interpreter", "ask"]

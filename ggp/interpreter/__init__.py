"""The interpreter: rules evaluated as they stand, the oracle of every faster engine.

Reading order: `bodies` orders the conditions of a clause and writes them as loops in Python; `tabling` writes recursive
relations; `compiler` puts the functions of a logic program together; `interpreter` runs them as a state machine;
`legality` explains why a move is not legal.
"""

from ggp.interpreter.interpreter import Interpreter, ask

__all__ = ["Interpreter", "ask"]

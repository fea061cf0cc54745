"""The interpreter: rules evaluated as they stand, the oracle of every faster engine.

Reading order: `query_planner` orders the conditions of a clause; `bodies` writes them as loops in Python; `tabling`
writes recursive relations; `compiler` puts the functions of a logic program together; `interpreter` runs them as a
state machine; `legality` explains why a move is not legal.

The same rules as bytecode, for play where there is no circuit (yet): `bytecode` compiles a logic program,
`abstract_machine` runs it in kernels, on the terms and tables of `answer_tables`, and `bytecode_machine` is the state
machine.
"""

from ggp.interpreter.interpreter import Interpreter, IsLate, ask, never_late

__all__ = ["Interpreter", "IsLate", "ask", "never_late"]

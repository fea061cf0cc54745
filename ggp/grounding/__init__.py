"""Grounding: a logic program → its rules without variables.

Reading order: `rules` is the value that comes out; `clingo` runs gringo and clasp, in the process of `clingo_process`,
and reads and writes their format; `prepare` makes clauses safe and translates them for gringo; `tables` are relations
as arrays of numbers; `reach` finds what each relation can hold for, by `exploration` of states where terms can grow;
`rewrite` splits clauses so that fewer ground rules say the same, by the costs of `splits`; `diagnosis` says what
explodes;
`grounder` does all this in turn and numbers the result. `automorphisms` finds what may be exchanged in ground rules.
"""

from ggp.grounding.clingo import Budget, Clingo
from ggp.grounding.grounder import ground
from ggp.grounding.rules import NEVER, GroundingReport, GroundRules, Ids, Offsets

__all__ = ["NEVER", "Budget", "Clingo", "GroundRules", "GroundingReport", "Ids", "Offsets", "ground"]

"""Games with one role: all states one after the other, planning by clingo, and beams of states, beside each other."""

"""Planning for games with one role: sequences of moves to the best goal value.

In reading order: `planner` (what a player calls, and how the searches share the time), `paths` (sequences of moves,
random playouts), `beam` (and breadth first), `pattern_databases`, `asp_planner` (plans by clingo) and `encodings` (the
programs that it solves).
"""

"""A game as a Boolean circuit: gates from facts and moves to legality, the next state, the end and the goals.

In reading order: `network` (AND, XOR and inverters, each gate once, and the arrays that the other packages read),
`build` (ground rules → circuit), `invariants` (facts that are constant, come round with a fixed period, or exclude each
other), `assembly` (networks put together from parts of others), `choice` (a uniform choice among legal moves as gates),
`schedule` (outputs → a program over rows of words) and `compile` (rulesheet → compiled game, kept in the cache).
"""

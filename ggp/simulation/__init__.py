"""A compiled game played: 512 states at a time in the bits of words, or one state at a time.

In reading order: `evaluate` (what is legal, the next state, the end and the goals of given states), `steps` (programs
that choose random legal moves and do them), `playout` (the loop that runs them, for benchmarks, evidence and searches),
`machine_code` (the same programs as machine code), `state_table` and `expansion` (states → all that can follow, for
searches), `state_machine` (a compiled game as a state machine on terms), `belief` (worlds that a role cannot tell
apart), `knowledge` (whether roles can know their moves), `perft` (counts of paths), `evidence` (what random matches
show of a game) and `inspection` (sizes and parts of a circuit, for people).
"""

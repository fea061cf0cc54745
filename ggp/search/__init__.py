"""Search: a state machine and a state → which move to choose.

In reading order: `uct` (the plain reference, on any state machine) · `mcts` (Monte-Carlo tree search on the circuit) ·
`retrograde` and `proof` (exact values, which `mcts` uses) · `planning` (games with one role) · `expert_iteration`
(self-play of `mcts`, from which a net learns) · `loading` (every kernel of these used once, so that no search waits for
one).
"""

"""A game learned from its rules: self-play in lanes, and a small net that is fitted to it.

In reading order: `net` (facts → values of the roles and logits of the moves), `inputs` (what it reads besides facts),
`symmetries` (of a game: a sample is fitted as one of its images), `fitting` (samples, and the net fitted to them),
`self_play` (matches by one-ply lookahead, of which samples come), `learner` (both in turns, in slices), `contest`
(which of two nets plays better), `training` (generations without a clock, with their `settings`), `knowledge` (files).
"""

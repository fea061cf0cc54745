"""A game learned from its rules: self-play in lanes, and a small net that is fitted to it.

In reading order: `net` (facts → values of the roles and logits of the moves), `inputs` (what it reads besides facts),
`symmetries` (of a game: a sample is fitted as one of its images), `self_play` (matches by one-ply lookahead, and the
samples that come of them), `fitting` (of the net to samples), `learner` (both in turns, in slices), `contest` (which of
two nets plays better), `training` (generations without a clock, with their `settings`), `knowledge` (files).
"""

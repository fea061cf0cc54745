"""What a player at a URL does well and badly.

In reading order: `exchange` (raw HTTP to the player), `findings` (verdicts), `session` (one player under check),
`matches` (matches against it), `robustness` (what should not happen), `checks` (all checks in order), `console` and
`commands` (`ggp player check`).
"""

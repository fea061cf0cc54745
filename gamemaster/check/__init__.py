"""What a player at a URL does well and badly.

In reading order: `exchange` (raw HTTP to the player), `session` (one player under check, and verdicts),
`matches` (matches against it), `robustness` (what should not happen), `checks` (all checks in order), `console` and
`commands` (`ggp player check`).
"""

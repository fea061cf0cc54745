"""The game master: matches between players, and their records.

In reading order: `settings` (of a match), `player` (what plays a role), `faults` (why an answer was not used), `codec`
(the messages for one player), `transport` (how they reach it), `referee` (the rules of a match), `rule_server` and
`evaluator` (a bounded process in which rules are evaluated), `record` (what is kept), `verdicts` (why a match ends
though the rules go on), `match` (runs one), `replay` (verifies a record), `bots` (players that are started here),
`display`, `console` and `commands` (the command line), `concurrency`, `plots`. Packages: `check` (of a player),
`tournament`, `web`.
"""

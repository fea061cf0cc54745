"""Everything that measures. None of it is a test; each module is run as `python -m tests.bench.NAME`.

Matches between contenders with intervals and SPRT: `python -m tests.bench` (`contenders`, `matches`, `scores`,
`records`),
`merging` (trees merged at the root), `bridge` (the same games in OpenSpiel).
The search: `rate`, `positions`, `solved_survey`, `planning_survey`, `search_memory`, `deadlines`.
The engine: `ggp bench`, `grounding_survey`; drawings: `boards_survey`.
Tournaments: `chaos`, `tournament_memory`, `tournament_overhead`, `tournament_store`, `rating_validation`,
`instant_players`. Pages: `page_loading`, `spectators`, `screenshots`.
"""

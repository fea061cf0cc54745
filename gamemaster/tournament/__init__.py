"""Tournaments: a specification in, matches, ratings and reports out.

What flows: specification → schedule → runner → store → results → standings → report. In reading order:

    spec, spec_files, spec_options   what a tournament is made of; as a TOML file; from a command line
    pairings, formats, schedule      specification and results so far → pairings (matches to be played); pure
    store                            results and records in a database, written by one manager at a time
    venue                            where matches are played: processors and bots of this computer
    runner                           the coroutine that plays what has no result yet, and its news
    node, cluster                    the same on many computers, by Ray
    ratings, standings               results → strengths with intervals → tables
    standings_texts, exporting       tables as text, JSON and CSV; the report and all other files
    progress                         the news of a run on a terminal or as lines
    console, commands                what `ggp tournament` does, and its options
"""

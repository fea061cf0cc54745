"""The game master: matches between players, and their records.

For users of Python, loaded when they are used (`ggp` is the library of games and searches, which knows no players):

    Match(game, players) → a match in this process; `run()` → Record
    Tournament(games, players) → a tournament; `run()` → standings
    load_record(path) → Record: `for step in record` → Step

In reading order: `settings` (of a match), `player` (what plays a role), `faults` (why an answer was not used),
`transport` (the messages for one player, and how they reach it), `referee` (the rules of a match), `rule_server` and
`evaluator` (a bounded process in which rules are evaluated), `record` (what is kept), `verdicts` (why a match ends
though the rules go on), `match` (runs one), `replay` (verifies a record), `history` (a record as objects), `bots`
(players that are started here), `local_bots` (those of one program), `matches` (a match from Python), `display`,
`console` and `commands` (the command line), `concurrency`, `plots`. Packages: `check` (of a player), `tournament`,
`web`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gamemaster.history import Record, Step, load_record
    from gamemaster.matches import Match
    from gamemaster.tournament.event import Tournament

__all__ = ["Match", "Record", "Step", "Tournament", "load_record"]

_HOMES = {
    "Match": "gamemaster.matches",
    "Record": "gamemaster.history",
    "Step": "gamemaster.history",
    "Tournament": "gamemaster.tournament.event",
    "load_record": "gamemaster.history",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - the types are declared above
    """Loads a public name when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module 'gamemaster' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)

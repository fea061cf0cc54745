"""The settings of a player, and the players by their names."""

from dataclasses import dataclass, field, replace
from typing import Annotated

from annotated_types import Ge

from ggp.errors import SettingsError
from ggp.learning.settings import AUTO
from ggp.plugins import parse_plugin
from ggp.search.mcts.settings import SearchSettings
from ggp.settings import About, Settings

PLAYERS = {
    "mcts": "Play what Monte-Carlo tree search on the circuit finds, with one role the best line of moves.",
    "legal": "Play the first legal move, in the order of their text.",
    "random": "Play any legal move, each as likely.",
    "montecarlo": "Play what plain UCT on the interpreter finds until shortly before the deadline.",
}  # strategy → what it does
SERVICE_SETTINGS = frozenset(
    {"name", "seed", "margin", "move_time", "abandon", "max_message_bytes", "overhead"}
)  # of every player
NO_OPTIONS = frozenset({"memory_bytes"})  # of the search: `memory` is in its place

_MEBIBYTE = 2**20


@dataclass(frozen=True, slots=True)
class PlayerSettings(Settings):
    """How one player plays; SettingsError for what is out of its range."""

    strategy: str  # a key of PLAYERS, or a user's own (`ggp.plugins`)
    name: Annotated[str, About("what INFO tells", default="that of the player")] = ""
    seed: Annotated[int, Ge(0), About("of each match anew", default="any")] = 0
    margin: Annotated[
        float,
        Ge(0),
        About("before the deadline at which the answer leaves; never more than an eighth of the clock", "seconds"),
    ] = 0.2
    move_time: Annotated[
        float, Ge(0), About("for an answer at most, whatever the clock; 0 for as long as that allows", "seconds")
    ] = 0.0
    abandon: Annotated[float, Ge(0), About("of silence after a deadline, until another match may begin", "seconds")] = (
        60.0
    )
    max_message_bytes: Annotated[
        int, Ge(1), About("a longer START is refused (HTTP 413), and so is any other message beyond 128 KiB", "bytes")
    ] = 8 * _MEBIBYTE
    overhead: Annotated[
        int,
        Ge(256),
        About("address space of the process of a match beyond the memory of the search; more ends the match", "MiB"),
    ] = 4096
    ponder: Annotated[bool, About("think while waiting for other players")] = True
    tune: Annotated[
        bool, About("look for settings that suit the game by quick matches while waiting for other players")
    ] = True
    learn: Annotated[
        bool, About("learn the game from self-play while waiting; quick matches (`tune`) decide whether it is used")
    ] = True
    knowledge: Annotated[
        str,
        About("what was learned before: a file of `ggp train`, auto (what the cache has for the rules) or none"),
    ] = AUTO
    save_knowledge: Annotated[
        bool,
        About("save the net at the end of a match; in the next match on the same rules learning continues from it"),
    ] = False
    memory: Annotated[int, Ge(1), About("memory that the search may take", "MiB")] = 512
    search: SearchSettings = field(default_factory=SearchSettings)  # `memory` counts, not its `memory_bytes`

    def __post_init__(self) -> None:
        super(PlayerSettings, self).__post_init__()  # slots make another class of this one, so `super()` fails
        if self.strategy not in PLAYERS and not is_custom(self.strategy):
            raise SettingsError(f"no player is called {self.strategy!r}; the players are {', '.join(PLAYERS)}")
        if self.save_knowledge and (self.knowledge != AUTO or not (self.learn and self.tune)):
            raise SettingsError("save_knowledge: only with knowledge = auto, learn and tune")

    @property
    def search_settings(self) -> SearchSettings:
        """Those of the search, with its memory."""
        return replace(self.search, memory_bytes=self.memory * _MEBIBYTE)

    @property
    def process_bytes(self) -> int:
        """What the process of a match may have, of addresses: many of them stay empty."""
        return (self.memory + self.overhead) * _MEBIBYTE

    def clock_within(self, clock: float) -> float:
        """Seconds in which to answer, where a clock allows so many."""
        return min(clock, self.move_time or clock)

    def margin_of(self, clock: float) -> float:
        """Seconds before the end of a clock of so many seconds."""
        return min(self.margin, clock / 8)


def is_custom(strategy: str) -> bool:
    """Whether the name is that of a user's own strategy, such as `my_bot.py:Cautious`."""
    return parse_plugin(strategy) is not None

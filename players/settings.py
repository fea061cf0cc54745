"""The settings of a player."""

from dataclasses import dataclass, field

from ggp.errors import SettingsError
from players.strategies import STRATEGIES
from players.strategy import SearchSettings

MARGIN = 0.2
ABANDON = 60.0
MAX_MESSAGE_BYTES = 8 * 2**20


@dataclass(frozen=True, slots=True)
class PlayerSettings:
    """Who plays and how patiently; times in seconds. SettingsError for what is out of its range."""

    strategy: str  # a key of STRATEGIES
    name: str = ""  # as INFO tells it; the strategy when empty
    seed: int = 0  # of each match anew
    margin: float = MARGIN  # before the deadline, when the answer leaves; at most an eighth of the clock
    abandon: float = ABANDON  # of silence after the last deadline, until another match may begin
    max_message_bytes: int = MAX_MESSAGE_BYTES
    ponder: bool = True  # whether to think while nothing is asked
    search: SearchSettings = field(default_factory=SearchSettings)  # of mcts

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise SettingsError(f"no player is called {self.strategy!r}; the players are {', '.join(STRATEGIES)}")
        if self.margin < 0 or self.abandon < 0:
            raise SettingsError("margin and abandon cannot be negative")
        if self.max_message_bytes < 1:
            raise SettingsError("the largest message has at least one byte")

    def margin_of(self, clock: float) -> float:
        """Seconds before the end of a clock of so many seconds."""
        return min(self.margin, clock / 8)

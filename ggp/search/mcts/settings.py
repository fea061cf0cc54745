"""How a search goes."""

from dataclasses import dataclass

from ggp.errors import SettingsError

_BATCHES = (8, 16, 32, 64, 128, 256, 512)
_NOT_NEGATIVE = (
    "exploration", "first_play_urgency", "virtual_loss", "tie_margin", "mast_temperature", "grave_equivalence",
    "playouts", "lookahead_moves",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How to search; SettingsError for what is out of its range."""

    exploration: float = 0.25  # c in value + c * sqrt(log(visits of the node) / visits of the move)
    ucb1_tuned: bool = True  # UCB1-Tuned: the bonus is cut where values vary little
    first_play_urgency: float = 0.2  # an untried move is assumed to be worth this much more than its node
    virtual_loss: float = 0.3  # how much of a loss a visit in descent counts as, 0 to 1
    tie_margin: float = 0.01  # where several roles choose at once, scores this close to the best count as equal
    mast_temperature: float = 0.0  # MAST: playouts prefer moves that did well; 0: off
    grave_equivalence: float = 0.0  # GRAVE: visits of a move at which its AMAF value counts half; 0: off
    playouts: int = 0  # of each leaf; 0: as many as take about as long as the descent to it
    lookahead_moves: int = 40  # one-ply lookahead for nodes with at most this many moves
    most_steps: int = 10_000  # of a playout
    retrograde: bool = True  # solve the game from its ends in parallel, if its states are few
    proof: bool = True  # prove the values of two opposed roles by proof-number search in parallel
    visits_per_descent: int = 16  # batch schedule: visits of the root for each descent in descent
    batch: int = 512  # descents in descent at a time, at most; a power of two from 8 to 512
    memory_bytes: int = 2**29
    threads: int = 1

    def __post_init__(self) -> None:
        for name in _NOT_NEGATIVE:
            if getattr(self, name) < 0:
                raise SettingsError(f"{name} cannot be negative")
        if self.most_steps < 1 or self.threads < 1 or self.memory_bytes < 2**20:
            raise SettingsError("at least one step, one thread and 1 MiB of memory are needed")
        if self.batch not in _BATCHES or self.visits_per_descent < 1 or not self.virtual_loss <= 1:
            raise SettingsError(
                "batch is a power of two from 8 to 512, visits_per_descent at least 1, virtual_loss from 0 to 1"
            )

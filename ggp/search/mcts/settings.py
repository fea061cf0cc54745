"""How a search goes, and what it reports."""

from dataclasses import dataclass

from ggp.errors import SettingsError
from ggp.gdl.terms import Term

_BATCHES = (8, 16, 32, 64, 128, 256, 512)


@dataclass(frozen=True, slots=True)
class Settings:
    """How to search; SettingsError for what is out of its range."""

    exploration: float = 0.25  # c in value + c * sqrt(log(visits of the node) / visits of the move)
    tuned: bool = True  # UCB1-Tuned: the bonus is cut where values vary little
    urgency: float = 0.2  # what an untried move is thought to be worth above its node's value
    loss: float = 0.3  # how far a visit under way counts as lost, 0 to 1
    ties: float = 0.01  # where several roles choose at once, scores this close to the best are equal
    liking: float = 0.0  # how much more a move is worth that playouts clearly prefer; 0: they prefer none
    elsewhere: float = 0.0  # tries of a move until what it was worth elsewhere counts half; 0: never
    playouts: int = 0  # of each leaf; 0: as many as take about as long as the way to the leaf
    peek: int = 40  # a node with at most so many moves is looked at one step ahead
    most_steps: int = 10_000  # of a playout
    exhaust: bool = True  # beside the tree all states are worked out, if they are few
    prove: bool = True  # beside the tree two opposed roles' values are proven by proof-number search
    ramp: int = 16  # visits of the state for each one under way
    batch: int = 512  # visits under way at a time, at most; a power of two from 8 to 512
    memory_bytes: int = 2**29
    threads: int = 1

    def __post_init__(self) -> None:
        if (
            min(
                self.exploration,
                self.urgency,
                self.loss,
                self.ties,
                self.liking,
                self.elsewhere,
                self.playouts,
                self.peek,
            )
            < 0
        ):
            raise SettingsError(
                "exploration, urgency, loss, ties, liking, elsewhere, playouts and peek cannot be negative"
            )
        if self.most_steps < 1 or self.threads < 1 or self.memory_bytes < 2**20:
            raise SettingsError("at least one step, one thread and 1 MiB of memory are needed")
        if self.batch not in _BATCHES or self.ramp < 1 or not self.loss <= 1:
            raise SettingsError("batch is a power of two from 8 to 512, ramp at least 1, loss from 0 to 1")


@dataclass(frozen=True, slots=True)
class MoveReport:
    """What was seen of one move of a role."""

    move: Term
    visits: int
    value: float | None  # the mean, 0 to 1 for goal values of 0 to 100; None without any visit
    low: float  # proven bounds of the value
    high: float


@dataclass(frozen=True, slots=True)
class Result:
    """What a search knows of a state."""

    best: Term | None  # None when the role has no move
    moves: tuple[MoveReport, ...]  # in the order of the machine
    value: float | None  # of the state for the role
    low: float
    high: float
    visits: int  # of the state
    playouts: int  # of this search since it began
    nodes: int

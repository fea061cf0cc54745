"""How a game is solved; read by the command line, so it loads nothing else."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge

from ggp.settings import About, Settings


@dataclass(frozen=True, slots=True)
class SolveSettings(Settings):
    """How to solve a game; SettingsError for what is out of its range."""

    algorithm: Annotated[
        Literal["cfr+", "pcfr+"], About("how regrets are minimised: CFR+, or with a prediction of the next ones")
    ] = "pcfr+"
    histories: Annotated[int, Ge(1), About("give up a game with more histories than this")] = 10_000_000
    recall: Annotated[
        int, Ge(0), About("where histories are too many: first steps whose order roles remember; of others they do not")
    ] = 1
    symmetries: Annotated[bool, About("where states are solved: those that are images of one another only once")] = True

"""How a game is trained: settings, from which options and the table in the docs are derived."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le

from ggp.settings import About, Settings

AUTO, NO_KNOWLEDGE = CHOICES = ("auto", "none")  # in place of a file: that of the cache, if there is one; nothing


@dataclass(frozen=True, slots=True)
class TrainingSettings(Settings):
    """How to train; SettingsError for what is out of its range."""

    seed: Annotated[int, Ge(0), Le(2**31), About("of self-play")] = 0
    threads: Annotated[
        int, Ge(1), Le(64), About("threads, each with matches of its own; their nets are averaged every 10,000 samples")
    ] = 1
    memory: Annotated[int, Ge(8), Le(2**16), About("memory for the samples of each thread", unit="MiB")] = 128
    expert_iteration: Annotated[
        int,
        Ge(0),
        About(
            "expert iteration: the net also learns from 64 matches of the tree search after every so many rounds"
            " of 10,000 samples; 0: never"
        ),
    ] = 0

"""What has to be known of a game before anything of it can be evaluated."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Source:
    """A rulesheet as text, with the hints for drawing its states."""

    name: str
    text: str = field(repr=False)
    drawing: Mapping[str, Any] = field(default_factory=dict, repr=False)
    engine: Literal["interpreter", "circuit"] = "interpreter"
    key: str = field(init=False, repr=False)  # the same for the same text, engine and name

    def __post_init__(self) -> None:
        words = "\0".join((self.engine, self.name, self.text))
        object.__setattr__(self, "key", sha256(words.encode(errors="replace")).hexdigest())

    def as_request(self) -> dict[str, Any]:
        """For the process that loads it."""
        return {
            "game": self.key,
            "name": self.name,
            "text": self.text,
            "drawing": dict(self.drawing),
            "engine": self.engine,
        }

"""General game playing: rulesheets, state machines, search and the protocol, without network or event loop."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ggp.analysis import Analysis, analyse, analyses
    from ggp.errors import GgpError
    from ggp.game import Game, State, load, load_text
    from ggp.library import game_names as games

__all__ = ["Analysis", "Game", "GgpError", "State", "analyse", "analyses", "games", "load", "load_text"]

_HOMES = {
    "Analysis": ("ggp.analysis", "Analysis"),
    "Game": ("ggp.game", "Game"),
    "GgpError": ("ggp.errors", "GgpError"),
    "State": ("ggp.game", "State"),
    "analyses": ("ggp.analysis", "analyses"),
    "games": ("ggp.library", "game_names"),
    "load": ("ggp.game", "load"),
    "load_text": ("ggp.game", "load_text"),
    "analyse": ("ggp.analysis", "analyse"),
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - what it returns is declared above
    """Loads a public name when it is first used, so that `import ggp` stays quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'ggp' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted(__all__)

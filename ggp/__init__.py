"""General game playing: rulesheets in GDL, states, legal moves, and a search that plays well from the rules alone.

The public API is these names, the exceptions in `ggp.errors` and the pictures in `ggp.boards`; docs/python.md shows how
to use it. All other modules are private: they may change in any release.

    games() → the names of the shipped games
    load(game), load_text(text) → Game: a rulesheet with an engine that evaluates it
    game.initial_state → State: facts, legal moves, `play` to the next state, goal values
    analyse(state), analyses(state) → Analysis: the best moves, their expected and proven goal values
    Search(state, evaluator, prior): a search tree that can be looked into (TreeNode), with functions of your own
    StateBatch.of(states): facts, moves, ends and playouts of many states side by side
    GgpError: the base class of every mistake that is reported

There is no network and no event loop in this package, and `import ggp` is quick: names are loaded when they are used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ggp.analysis import Analysis, analyse, analyses
    from ggp.batches import StateBatch
    from ggp.errors import GgpError
    from ggp.game import Game, State, load, load_text
    from ggp.library import game_names as games
    from ggp.trees import Search, TreeNode

__all__ = [
    "Analysis",
    "Game",
    "GgpError",
    "Search",
    "State",
    "StateBatch",
    "TreeNode",
    "analyse",
    "analyses",
    "games",
    "load",
    "load_text",
]

_HOMES = {
    "Analysis": ("ggp.analysis", "Analysis"),
    "Game": ("ggp.game", "Game"),
    "GgpError": ("ggp.errors", "GgpError"),
    "Search": ("ggp.trees", "Search"),
    "State": ("ggp.game", "State"),
    "StateBatch": ("ggp.batches", "StateBatch"),
    "TreeNode": ("ggp.trees", "TreeNode"),
    "analyse": ("ggp.analysis", "analyse"),
    "analyses": ("ggp.analysis", "analyses"),
    "games": ("ggp.library", "game_names"),
    "load": ("ggp.game", "load"),
    "load_text": ("ggp.game", "load_text"),
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - the types are declared above
    """Loads a public name when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module 'ggp' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted(__all__)

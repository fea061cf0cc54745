"""How a search goes: its settings, from which options, settings files and the table in the docs are derived."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Le

from ggp.settings import About, Settings

_NotNegative = Ge(0)


@dataclass(frozen=True, slots=True)
class SearchSettings(Settings):
    """How to search; SettingsError for what is out of its range."""

    exploration: Annotated[
        float,
        _NotNegative,
        About("c in value + c · √(log(visits of the state) / visits of the move), values 0 to 1"),
    ] = 0.25
    ucb1_tuned: Annotated[bool, About("UCB1-Tuned: explore less where values vary little; else UCB1")] = True
    first_play_urgency: Annotated[
        float, _NotNegative, About("an untried move is assumed to be worth this much more than its state")
    ] = 0.2
    virtual_loss: Annotated[float, _NotNegative, Le(1), About("how much of a loss a visit in flight counts as")] = 0.3
    tie_margin: Annotated[
        float, _NotNegative, About("where several roles choose at once, scores that differ by less count as equal")
    ] = 0.01
    prior_weight: Annotated[
        float,
        _NotNegative,
        About(
            "PUCT in place of UCB1: c in value + c · prior · √(visits of the state) / (1 + visits of the move); 0: off"
        ),
    ] = 0.0
    prior_floor: Annotated[
        float, _NotNegative, Le(1), About("share of the prior that is spread evenly over all moves")
    ] = 0.1
    value_weight: Annotated[
        float, _NotNegative, Le(1), About("share of the learned value in what a playout is worth")
    ] = 0.0
    minimax_weight: Annotated[
        float,
        _NotNegative,
        Le(1),
        About(
            "implicit minimax: share of the minimax of learned values in what a move is worth, where priors are used"
        ),
    ] = 0.0
    decisive_moves: Annotated[
        Literal[0, 1, 2],
        About(
            "in playouts roles 1: win at once where they can, 2: also avoid moves after which another one can; 0: off"
        ),
    ] = 0
    decisive_lookahead: Annotated[
        bool,
        About(
            "moves that end the match at once, or let another role do so, are known as soon as a state gets its moves"
        ),
    ] = True
    playouts: Annotated[
        int, _NotNegative, About("playouts of each new state; 0: as many as take about as long as the descent to it")
    ] = 0
    lookahead_moves: Annotated[
        int,
        _NotNegative,
        About("one-ply lookahead for ends, with so many moves at most, unless decisive_lookahead finds all but draws"),
    ] = 40
    most_steps: Annotated[int, Ge(1), About("steps after which a playout is cut off")] = 10_000
    retrograde: Annotated[
        bool, About("solve the game from its ends in parallel with the search, if its states are few")
    ] = True
    proof: Annotated[bool, About("prove values by proof-number search in parallel, where two roles are opposed")] = True
    visits_per_descent: Annotated[
        int, Ge(1), About("batch schedule: visits of the state for each descent in flight")
    ] = 16
    batch: Annotated[Literal[8, 16, 32, 64, 128, 256, 512], About("descents in flight at a time, at most")] = 512
    memory_bytes: Annotated[int, Ge(2**20), About("memory that the search may take", unit="bytes")] = 2**29
    threads: Annotated[int, Ge(1), Le(64), About("threads that search one tree")] = 1

"""Visits under way: up to 512 descents through the tree whose leaves are worked out and played out together."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import Ids
from ggp.kernel import LANES, Int, inner
from ggp.simulation.evaluate import Bits

# what a flight is doing
IDLE, WANTED, BLOCKED, FRESH, READY, EXACT, PLAYING = range(7)
# BLOCKED: its leaf gets slots first; FRESH: its leaf's state is not known yet; EXACT: no need to play out

MOST_DEPTH = 400  # a longer descent plays out from where it is

# indices of Flights.numbers
GROWING_NODES, FRESH_NODES, LANDED, EXACT_LANDED, DEPTHS = range(5)


class Flights(NamedTuple):
    """Rows are flights, unless said otherwise."""

    status: Ids  # (512,)
    leaf: Ids  # (512,)
    depth: Ids  # (512,) steps from the root to the leaf
    path: Ids  # (512, depth) nodes
    slots: Ids  # (512, depth, roles)
    values: NDArray[np.float64]  # (512, roles) of the leaf
    growing: Ids  # (512,) a list of nodes that are to get slots
    fresh: Ids  # (512,) a list of nodes whose states are to be worked out; the following belong to it
    parent: Ids  # (512,)
    joint: Ids  # (512, roles) numbers of moves
    place: Ids  # (512,) the slot that leads to the node, or NONE
    code: NDArray[np.int64]  # (512,) the pair's code where there is no slot
    above: Ids  # (512,) looking ahead: the node, its slot, and the joint move
    ahead: Ids  # (512,)
    trial: Ids  # (512, roles)
    states: Bits  # (512, words) for batches
    following: Bits
    found: Bits  # (512, words of moves)
    goals: Bits  # (512, words of goals)
    goal_values: NDArray[np.int16]  # (512, roles)
    ended: Ids  # (512,) which of the batch are ends
    worth: NDArray[np.float64]  # (512, roles) and their values
    scores: NDArray[np.float64]
    random: NDArray[np.uint64]  # (1,)
    numbers: NDArray[np.int64]


class Parameters(NamedTuple):
    """How the tree grows."""

    exploration: float  # c in value + c * sqrt(log(visits of the node) / visits of the move)
    ucb1_tuned: bool  # whether the bonus is cut by the variance (UCB1-Tuned)
    first_play_urgency: float  # what an untried move is thought to be worth above its node's value
    virtual_loss: float  # how far a visit under way counts as lost
    tie_margin: float  # where several roles choose at once, scores this close to the best are equal
    expand_after: int  # visits of a node before it gets slots
    lookahead_moves: int  # a node with at most so many moves is looked at one step ahead when it gets slots
    phases: int
    opposed: NDArray[np.bool_]  # (1,) whether two roles' values seem always to add up to 1
    nature: NDArray[np.bool_]  # (roles,) whether the role is played by chance
    forced: Ids  # (roles,) the only move that is considered at the root, or NONE
    lowest: NDArray[np.float64]  # (roles,) the goal value that counts as 0
    span: NDArray[np.float64]  # (roles,) what is added to it for 1
    first_move: Ids  # (roles,) where each role's moves start
    credit: NDArray[np.float64]  # (2, M) visits and values of each move anywhere in the tree, while they are liked
    mast_temperature: float  # how much more a move is worth that playouts clearly prefer; 0: they prefer none
    grave_equivalence: float  # tries of a move until what it was worth elsewhere counts half; 0: never


def make_flights(words: tuple[int, int, int], roles: int, most_moves: int, seed: int) -> Flights:
    """All idle. words: of a state, of its moves and end, of its goals."""
    lists = [np.zeros(LANES, np.int32) for _ in range(9)]
    status, leaf, depth, growing, fresh, parent, place, above, ahead = lists
    state, moves, goals = words
    return Flights(
        status, leaf, depth, np.zeros((LANES, MOST_DEPTH), np.int32), np.zeros((LANES, MOST_DEPTH, roles), np.int32),
        np.zeros((LANES, roles), np.float64), growing, fresh, parent, np.zeros((LANES, roles), np.int32), place,
        np.zeros(LANES, np.int64), above, ahead, np.zeros((LANES, roles), np.int32),
        np.zeros((LANES, state), np.uint64), np.zeros((LANES, state), np.uint64),
        np.zeros((LANES, moves), np.uint64), np.zeros((LANES, goals), np.uint64), np.zeros((LANES, roles), np.int16),
        np.zeros(LANES, np.int32), np.zeros((LANES, roles), np.float64),
        np.zeros(max(1, most_moves), np.float64),
        np.array([2 * seed + 1], np.uint64) * np.uint64(0x9E3779B97F4A7C15), np.zeros(5, np.int64),
    )  # fmt: skip


@inner
def draw(random: NDArray[np.uint64], below: Int) -> Int:
    """A number from 0 to before `below` (xorshift64*: Vigna, 2016)."""
    state = random[0]
    state ^= state >> np.uint64(12)
    state ^= state << np.uint64(25)
    state ^= state >> np.uint64(27)
    random[0] = state
    return np.int64(((state * np.uint64(0x2545F4914F6CDD1D)) >> np.uint64(33)) % np.uint64(below))

"""A game → its symmetries: mirrored and turned boards, exchanged roles; so one sample is as good as several.

Candidates are automorphisms of the ground rules (`ggp.grounding.automorphisms`), for learning with goals and ends left
out where those are counted in some order. Each is tried on states of random matches, on the circuit, before it is used.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ggp.cache import Cache, CacheEntry, default_cache
from ggp.circuit.network import Ids
from ggp.errors import GroundingError
from ggp.gdl.logic_program import make_logic_program
from ggp.gdl.rulesheet import Rulesheet
from ggp.grounding import Budget, ground
from ggp.grounding.automorphisms import Automorphisms, find_automorphisms
from ggp.grounding.rules import restricted
from ggp.learning.inputs import random_steps
from ggp.learning.net import Symmetries, no_symmetries
from ggp.simulation.evaluate import Batches, pack, unpack
from ggp.simulation.state_graph import Images

_KIND = "symmetries"
_MOST_RULES = 100_000
_LEVELS = (False, True), (True, True), (False, False)  # whether goals count, and ends
_EXACT = ((True, True),)
_FEW = 4  # symmetries; where there are fewer, the next level is tried
_MATCHES, _STEPS = 64, 200  # random ones, side by side

Flags = NDArray[np.bool_]


def find_symmetries(
    rulesheet: Rulesheet,
    batches: Batches,
    stop: Callable[[], bool] = lambda: False,
    cache: Cache | None = None,
    seconds: float = 5.0,
    *,
    exact: bool = False,
) -> Symmetries | None:
    """From the cache (that of this user, unless another is given) if they are there; None when stopped.

    exact: only those that follow from the rules, with goals and ends; others may be wrong in states that random matches
    hardly meet, which does no harm in learning.
    seconds: of grounding, which hears of no stop; where it takes longer none are found.
    The identity alone where the rules hide facts from roles, or are too many.
    """
    game = batches.game
    alone = no_symmetries(len(game.facts), sum(map(len, game.moves)), len(game.roles))
    if game.has_percepts or not game.facts:
        return alone
    cache = default_cache() if cache is None else cache
    key = f"{rulesheet.sha256} exact" if exact else rulesheet.sha256
    entry = cache.get(_KIND, key)
    if entry is not None and entry.arrays.keys() == set(Symmetries._fields):
        found = Symmetries(**{name: array.copy() for name, array in entry.arrays.items()})
        if [array.shape[1] for array in found] == [array.shape[1] for array in alone]:
            return found
    try:
        rules = ground(make_logic_program(rulesheet), Budget(seconds, rules=_MOST_RULES), rewrite=False)
    except GroundingError:
        return alone
    own = restricted(rules, game.facts, game.moves)
    if own is None:
        return alone
    trial = _Trial(batches)
    kept = [alone]
    for with_goals, with_terminal in _EXACT if exact else _LEVELS:
        if len(kept) < _FEW:
            candidates = find_automorphisms(own, stop, with_goals=with_goals, with_terminal=with_terminal)
            if candidates is None:
                return None
            if not len(candidates.roles):
                break  # not even the identity, since that takes too long
            kept = max(kept, trial.passed(candidates, alone), key=len)
    found = Symmetries(*(np.concatenate(arrays) for arrays in zip(*kept, strict=True)))
    cache.put(_KIND, key, CacheEntry(found._asdict()))
    return found


def images_of(symmetries: Symmetries, *, same_roles: bool) -> Images:
    """What states are the same by these; same_roles: only those that exchange no role for another."""
    kept = np.full(len(symmetries.roles), not same_roles)
    kept |= (symmetries.roles == np.arange(symmetries.roles.shape[1])).all(axis=1)
    return Images(symmetries.facts[kept], symmetries.moves[kept])


class _Trial:
    """States of random matches, with joint moves, that candidates are tried on."""

    def __init__(self, batches: Batches) -> None:
        self._batches = batches
        self._constants = batches.game.constants
        states, moves = random_steps(batches, _MATCHES, _STEPS)
        self._facts = unpack(states, len(batches.game.facts))
        self._moves = moves
        legal, self._terminal = batches.look(states)
        self._legal = unpack(legal, int(batches.first_move[-1]))
        self._goals = batches.goals(states)
        self._next = unpack(batches.next_states(states, moves), len(batches.game.facts))

    def passed(self, candidates: Automorphisms, alone: Symmetries) -> list[Symmetries]:
        """Those under which all states agree, each by itself; the identity first."""
        found = [alone]
        for facts, moves, roles in zip(candidates.facts, candidates.moves, candidates.roles, strict=True):
            one = Symmetries(facts[np.newaxis], moves[np.newaxis], roles[np.newaxis])
            if any((given != own).any() for given, own in zip(one, alone, strict=True)) and self._agrees(one):
                found.append(one)
        return found

    def _agrees(self, one: Symmetries) -> bool:
        facts, moves, roles = (array[0] for array in one)
        batches, first = self._batches, self._batches.first_move
        if (self._constants[facts] != self._constants).any():
            return False
        states = pack(_exchanged(self._facts, facts))
        legal, terminal = batches.look(states)
        if (unpack(legal, len(moves))[:, moves] != self._legal).any() or (terminal != self._terminal).any():
            return False
        if (batches.goals(states)[:, roles] != self._goals)[terminal].any():
            return False
        joint = np.empty_like(self._moves)
        joint[:, roles] = moves[first[:-1] + self._moves] - first[roles]
        following = unpack(batches.next_states(states, joint), len(facts))
        return bool((following[:, facts] == self._next)[~terminal].all())


def _exchanged(flags: Flags, images: Ids) -> Flags:
    """Each column put where its image is."""
    found = np.empty_like(flags)
    found[:, images] = flags
    return found

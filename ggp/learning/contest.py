"""Two nets → which one plays better by one-ply lookahead: pairs of matches in lanes, and Wald's sequential test.

Lanes 2 n and 2 n + 1 play a pair: both begin with the same random steps, and the nets exchange their roles. A net takes
the move whose successor it values most, ends exactly; where several roles choose at once, each draws from its policy.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ggp.elo import Estimate, Pairs, bounds, elo_estimate, log_likelihood_ratio
from ggp.kernel import LANES, Int, draw, fused
from ggp.learning.net import Net, QuantizedNet, activate, quantize
from ggp.learning.self_play import (
    SelfPlay,
    SelfPlaySettings,
    draw_by_policy,
    list_moves,
    make_self_play,
    nth_legal,
    value_rows,
)
from ggp.simulation.evaluate import UNKNOWN, Batches, Bits, copy_state
from ggp.simulation.expansion import OVER, SEVERAL, count_legal, evaluate_steps

ELO0, ELO1 = 0.0, 10.0  # of the two hypotheses: the newer net is no better, or so much better
ALPHA = BETA = 0.05  # how often the test may take a net that is no better, or refuse one that is
MOST_PAIRS = 4096  # after which the newer net is refused
_LEAST_OPENING, _MOST_OPENING = 2, 8  # random steps
_BATCHES = 16  # between two looks at whether to stop


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came of the matches of a newer net against an older one."""

    pairs: Pairs  # seen from the newer
    elo: Estimate
    is_better: bool  # by the test


class Contest:
    """Room for matches between nets of one game; used by one thread."""

    def __init__(self, batches: Batches) -> None:
        self._batches = batches

    def compare(self, newer: Net, older: Net, seed: int, stop: Callable[[], bool]) -> Comparison | None:
        """As many pairs as the test needs; None when stopped."""
        counts = np.zeros(5, np.int64)
        lower, upper = bounds(ALPHA, BETA)
        ratio = 0.0
        for number in range(MOST_PAIRS // (LANES // 2)):
            found = self.play(newer, older, seed * MOST_PAIRS + number, stop)
            if found is None:
                return None
            counts += found
            ratio = log_likelihood_ratio(counts.tolist(), ELO0, ELO1)
            if not lower < ratio < upper:
                break
        lost, half_lost, even, half_won, won = counts.tolist()
        pairs = (lost, half_lost, even, half_won, won)
        return Comparison(pairs, elo_estimate(pairs), ratio >= upper)

    def play(self, newer: Net, older: Net, seed: int, stop: Callable[[], bool]) -> NDArray[np.int64] | None:
        """As `slices`; None when stopped."""
        slices = self.slices(newer, older, seed)
        while not stop():
            try:
                next(slices)
            except StopIteration as end:
                found: NDArray[np.int64] = end.value
                return found
        return None

    def slices(
        self, newer: Net, older: Net, seed: int, most: int | None = None
    ) -> Generator[None, None, NDArray[np.int64]]:
        """(5,) how many of up to 256 pairs gave 0, ½, 1, 1½ and 2 points, in slices of a few milliseconds.

        A net has a point when the mean value of its roles is the higher one, and half of it when both are the same.
        Pairs whose random steps ended the match are left out, and those that go on after `most` slices.
        """
        play = make_self_play(self._batches, SelfPlaySettings(), 1, seed)
        one, other = quantize(newer), quantize(older)
        random = np.random.default_rng(seed)
        is_newer = _shared_out(play, random)
        values = np.full((LANES, len(play.nature)), UNKNOWN)
        play.opening[:] = np.repeat(random.integers(_LEAST_OPENING, _MOST_OPENING + 1, LANES // 2), 2)
        play.front.chooser[1::2] = OVER  # until they begin where the others are after their random steps
        while (play.opening[::2] > 0)[play.front.chooser[::2] != OVER].any():
            yield
            open_lanes(play, one, other, is_newer, values)
        for array in (play.front.before, play.front.legal, play.front.chooser, play.front.moves):
            array[1::2] = array[::2]
        play.opening[:], play.steps[1::2] = 0, play.steps[::2]
        is_counted, done = play.front.chooser[::2] != OVER, 0
        while True:  # once at least, so that the kernel is loaded with all others
            yield
            play_out(play, one, other, is_newer, values, _BATCHES)
            done += 1
            if done == most or (play.front.chooser == OVER).all():
                break
        is_counted &= (play.front.chooser == OVER).reshape(-1, 2).all(axis=1)
        counted = ~play.nature
        mine, others = (
            np.where(chosen, values, 0.0).sum(axis=1) / chosen.sum(axis=1)
            for chosen in (is_newer & counted, ~is_newer & counted)
        )
        points = (np.sign(np.round(mine - others, 6)) + 1).astype(np.int64)  # halves
        return np.bincount((points[::2] + points[1::2])[is_counted], minlength=5).astype(np.int64)


def random_states(batches: Batches, net: Net, seed: int) -> Bits:
    """(n, words) states after up to 8 random steps, none of them an end; n is 512 at most, and the net is any one."""
    play, quantized = make_self_play(batches, SelfPlaySettings(), 1, seed), quantize(net)
    is_newer, values = np.ones((LANES, len(play.nature)), np.bool_), np.full((LANES, len(play.nature)), UNKNOWN)
    while (play.opening[play.front.chooser != OVER] > 0).any():
        open_lanes(play, quantized, quantized, is_newer, values)
    found: Bits = play.front.before[play.front.chooser != OVER]
    return found


def _shared_out(play: SelfPlay, random: np.random.Generator) -> NDArray[np.bool_]:
    """(512, R) the roles of the newer net: some, but not all; those of the next lane are the others."""
    players = np.flatnonzero(~play.nature)
    found = np.zeros((LANES, len(play.nature)), np.bool_)
    for lane in range(0, LANES, 2):
        count = int(random.integers(1, max(len(players), 2)))
        found[lane, random.permutation(players)[:count]] = True
    found[1::2] = ~found[::2]
    return found


@fused
def open_lanes(
    play: SelfPlay, newer: QuantizedNet, older: QuantizedNet, is_newer: NDArray[np.bool_], values: NDArray[np.float64]
) -> None:
    """A step of each match that has random steps left."""
    rows = np.int64(0)
    for match in range(LANES):
        if play.front.chooser[match] != OVER and play.opening[match] > 0:
            _list_match(play, newer, older, is_newer, match, rows, np.int64(1))
            play.waiting[rows] = match
            rows += 1
    evaluate_steps(play.back, play.back.joint, rows)
    for row in range(rows):
        _move_on(play, values, np.int64(play.waiting[row]), row)


@fused
def play_out(
    play: SelfPlay,
    newer: QuantizedNet,
    older: QuantizedNet,
    is_newer: NDArray[np.bool_],
    values: NDArray[np.float64],
    batches: Int,
) -> None:
    """So many batches of successors: each match in a batch goes on by a step."""
    next_match = np.int64(0)
    for _ in range(batches):
        rows, listed = np.int64(0), np.int64(0)
        for _ in range(LANES):
            match, next_match = next_match, (next_match + 1) % LANES
            chooser = play.front.chooser[match]
            if chooser == OVER:
                continue
            alone = chooser == SEVERAL or play.nature[chooser]
            needed = np.int64(1) if alone else min(np.int64(play.front.moves[match]), np.int64(LANES))
            if rows + needed > LANES:
                next_match = match
                break
            play.first_row[match], play.rows[match] = rows, needed
            _list_match(play, newer, older, is_newer, match, rows, needed)
            play.waiting[listed] = match
            listed += 1
            rows += needed
        if listed == 0:
            return
        evaluate_steps(play.back, play.back.joint, rows)
        for at in range(listed):
            match = np.int64(play.waiting[at])
            first, count, best = np.int64(play.first_row[match]), np.int64(play.rows[match]), np.int64(0)
            if count > 1:
                role = np.int64(play.front.chooser[match])
                net = newer if is_newer[match, role] else older
                best = np.int64(value_rows(play, net, match, role, first, count))
            else:
                best = first
            _move_on(play, values, match, best)


@fused
def _list_match(  # noqa: PLR0913, PLR0917 - kernel: whose successors, and where they go
    play: SelfPlay,
    newer: QuantizedNet,
    older: QuantizedNet,
    is_newer: NDArray[np.bool_],
    match: Int,
    rows: Int,
    needed: Int,
) -> None:
    """The successors of a match, or one where chance decides or several roles do."""
    front, back = play.front, play.back
    chooser = front.chooser[match]
    if needed > 1 or (chooser != SEVERAL and count_legal(front, match, np.int64(chooser)) == 1):
        list_moves(play, newer if is_newer[match, chooser] else older, match, np.int64(chooser), rows, needed)
        return
    copy_state(back.before, rows, front.before, match)
    for role in range(len(play.nature)):
        if chooser != SEVERAL or play.opening[match] > 0:
            count = count_legal(front, match, np.int64(role))
            back.joint[rows, role] = nth_legal(front, match, np.int64(role), draw(play.random, count))
            continue
        net = newer if is_newer[match, role] else older
        activate(net, front.before, match, front.legal, match, play.activations)
        back.joint[rows, role] = draw_by_policy(play, net, match, np.int64(role))


@fused
def _move_on(play: SelfPlay, values: NDArray[np.float64], match: Int, row: Int) -> None:
    """The match goes on with this row of the batch; its values are noted when it is over, or has lasted too long."""
    front, back = play.front, play.back
    play.steps[match] += 1
    play.opening[match] = max(play.opening[match] - 1, 0)
    if back.chooser[row] == OVER:
        for role in range(values.shape[1]):
            values[match, role] = back.value[row, role]
    if back.chooser[row] == OVER or play.steps[match] >= play.knobs[4]:
        front.chooser[match] = OVER
        return
    copy_state(front.before, match, back.after, row)
    copy_state(front.legal, match, back.legal, row)
    front.chooser[match], front.moves[match] = back.chooser[row], back.moves[row]

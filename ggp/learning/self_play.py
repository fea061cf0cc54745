"""Matches of a net against itself, 512 side by side, by one-ply lookahead; each state that is met becomes a sample.

Temporal-difference learning in the manner of TD-Gammon (Tesauro, 1992): all states that can follow are valued by the
net, ends exactly; the move is drawn by a softmax of these values. A sample's value is the outcome of its match, mixed
with the value of the best successor; its policy is the softmax over successors. Later in learning, where a move is
random, the value of the best successor there stands for the outcome of what came before (traces are cut as in
Q(lambda): Watkins, 1989).

Where several roles choose at once, each values its own moves against moves of the others that are drawn from the net's
policy. Moves of chance are drawn uniformly. Matches begin with some random steps and end at a cap of steps.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import Ids
from ggp.gdl.rulesheet import NATURE
from ggp.kernel import LANES, Int, draw, fused, numba_inner
from ggp.learning.fitting import MATCHES, MOVES, SAMPLES, Samples
from ggp.learning.net import (
    NONE,
    Activations,
    QuantizedNet,
    activate,
    activate_changed,
    add_common_moves,
    make_activations,
    move_logit,
    role_value,
    sum_inputs,
)
from ggp.learning.patterns import Floats
from ggp.simulation.evaluate import UNKNOWN, Batches, Bits, copy_state
from ggp.simulation.expansion import (
    OVER,
    SEVERAL,
    Expansion,
    count_legal,
    evaluate_steps,
    look,
    make_expansion,
    next_legal,
)


@dataclass(frozen=True, slots=True)
class SelfPlaySettings:
    """How matches are played, and what is learned of them."""

    temperature: float = 0.02  # of the softmax by which moves are drawn
    policy_temperature: float = 0.05  # of the softmax that the policy learns
    random_share: float = 0.04  # of the moves, in place of the softmax; fewer at first (`learner`)
    opening: int = 8  # random steps at the beginning of a match, at most
    outcome: float = 0.4  # share of the outcome in a sample's value; the rest is the value of the best successor
    cap: int = 400  # steps of a match
    cuts: bool = False  # whether what comes of a random move is no outcome of the states before it
    candidates: int = 64  # moves of a role that chooses alone whose successors are valued, at most


class SelfPlay(NamedTuple):
    """512 matches under way; N = 512, R roles.

    Locking: none, one thread uses it.
    """

    front: Expansion  # rows: the matches; `before`, `legal`, `chooser` and `moves` are of their states
    back: Expansion  # rows: states that may follow
    start: Bits  # (1, words) the initial state
    start_legal: Bits  # (1, ·) what a look at it shows
    start_choice: Ids  # (2,) its chooser, and how many moves that has
    steps: Ids  # (N,) so far
    opening: Ids  # (N,) random steps that are left
    last_sample: NDArray[np.int64]  # (N,) the newest sample whose value is not whole, from the first ever, or NONE
    earlier: NDArray[np.int64]  # (S,) the one before it in the same match
    first_row: Ids  # (N,) of the batch, where the match's successors begin
    rows: Ids  # (N,) of the match in the batch
    worth: Floats  # (512,) of the rows of the batch, for the role that chooses
    joint: Ids  # (N, R) the joint moves of matches in which several roles choose
    waiting: Ids  # (N,) a list of these matches
    drawn: Ids  # (R,) moves of the other roles
    outcome: Floats  # (R,) of a match, or of its part before a random move
    activations: Activations
    best_values: Floats  # (R,) by the net, of the row that `value_rows` gave last, unless its match is over
    nature: NDArray[np.bool_]  # (R,) whether chance plays the role
    random: NDArray[np.uint64]  # (1,)
    knobs: NDArray[np.float64]  # (7,) the settings in their order, but for the opening
    numbers: NDArray[np.int64]  # (5,) the next match; successors valued; steps; capped matches; longest opening


RANDOM_SHARE, CUTS, CANDIDATES = 2, 5, 6  # indices of SelfPlay.knobs
NEXT_MATCH, VALUED, STEPS, CAPPED, OPENING = range(5)  # indices of SelfPlay.numbers


def make_self_play(batches: Batches, settings: SelfPlaySettings, places: int, seed: int) -> SelfPlay:
    """Matches that are about to begin; places: of the samples' ring."""
    roles = len(batches.game.roles)
    front = make_expansion(batches)
    front.before[:] = batches.initial[0]
    look(front, front.before, np.int64(LANES))
    knobs = [
        settings.temperature, settings.policy_temperature, settings.random_share, settings.outcome, settings.cap,
        settings.cuts, min(settings.candidates, LANES),
    ]  # fmt: skip
    numbers = np.zeros(5, np.int64)
    numbers[OPENING] = settings.opening
    random = np.random.default_rng(seed)
    return SelfPlay(
        front, make_expansion(batches),
        batches.initial.copy(), front.legal[:1].copy(), np.array([front.chooser[0], front.moves[0]], np.int32),
        np.zeros(LANES, np.int32), random.integers(0, settings.opening + 1, LANES).astype(np.int32),
        np.full(LANES, NONE, np.int64), np.full(places, NONE, np.int64),
        np.zeros(LANES, np.int32), np.zeros(LANES, np.int32), np.zeros(LANES, np.float32),
        np.zeros((LANES, roles), np.int32), np.zeros(LANES, np.int32),
        np.zeros(roles, np.int32), np.zeros(roles, np.float32),
        make_activations(), np.zeros(roles, np.float32),
        np.array([role == NATURE for role in batches.game.roles]),
        np.array([seed * 2 + 1], np.uint64) * np.uint64(0x9E3779B97F4A7C15),
        np.array(knobs, np.float64), numbers,
    )  # fmt: skip


@fused
def play_on(play: SelfPlay, net: QuantizedNet, samples: Samples, batches: Int) -> None:
    """So many batches of successors: each match in a batch goes on by a step."""
    for _ in range(batches):
        first = play.numbers[NEXT_MATCH]
        matches, rows = _list_successors(play, net, first)
        evaluate_steps(play.back, play.back.joint, rows)
        play.numbers[VALUED] += rows
        waiting = np.int64(0)
        for match in range(first, first + matches):
            if play.front.chooser[match] == SEVERAL:
                _choose_jointly(play, net, samples, match)
                play.waiting[waiting] = match
                waiting += 1
            else:
                chosen = _choose(play, net, samples, match, play.front.chooser[match], 0, play.rows[match])
                _go_on(play, samples, match, play.first_row[match] + chosen)
        if waiting:
            _step_jointly(play, samples, waiting)
        play.numbers[STEPS] += matches
        play.numbers[NEXT_MATCH] = (first + matches) % LANES


@fused
def _list_successors(play: SelfPlay, net: QuantizedNet, first: Int) -> tuple[Int, Int]:
    """Fill the batch from this match on, as long as there is room; how many matches and rows."""
    matches, rows = np.int64(0), np.int64(0)
    while first + matches < LANES:
        match = first + matches
        needed = _count_successors(play, match)
        if rows + needed > LANES:
            break
        play.first_row[match], play.rows[match] = rows, needed
        if play.front.chooser[match] == SEVERAL:
            _list_jointly(play, net, match, rows)
        else:
            list_moves(play, net, match, np.int64(play.front.chooser[match]), rows, needed)
        rows += needed
        matches += 1
    return matches, rows


@numba_inner
def _count_successors(play: SelfPlay, match: Int) -> Int:
    chooser, roles = play.front.chooser[match], len(play.nature)
    if chooser != SEVERAL:
        alone = play.nature[chooser] or play.opening[match] > 0
        return np.int64(1) if alone else min(np.int64(play.front.moves[match]), np.int64(play.knobs[CANDIDATES]))
    total = np.int64(0)
    for role in range(roles):
        count = count_legal(play.front, match, np.int64(role))
        total += count if count > 1 and not play.nature[role] else 0
    return min(total, np.int64(LANES))


@numba_inner
def _uniform(random: NDArray[np.uint64]) -> float:
    """Between 0 and 1, never either."""
    return (draw(random, np.int64(1 << 30)) + 0.5) / (1 << 30)


@numba_inner
def nth_legal(expansion: Expansion, row: Int, role: Int, number: Int) -> Int:
    """The role's legal move with this number among its legal ones."""
    move = next_legal(expansion, row, role, np.int64(0))
    for _ in range(number):
        move = next_legal(expansion, row, role, move + 1)
    return np.int64(move)


@numba_inner
def list_moves(play: SelfPlay, net: QuantizedNet, match: Int, chooser: Int, rows: Int, needed: Int) -> None:
    """The chooser's moves, or as many of them as needed, and the only moves of the others.

    Where more are legal, each is drawn by the policy from moves with neighbouring numbers.
    """
    front, back = play.front, play.back
    count = np.int64(play.front.moves[match])
    is_drawn = 1 < needed < count
    if is_drawn:
        activate(net, front.before, match, front.legal, match, play.activations)
    at = draw(play.random, count) if needed < count else np.int64(0)
    move = nth_legal(front, match, np.int64(chooser), at)
    first, end = front.rows.first_move[chooser], np.int64(front.rows.first_move[chooser + 1])
    for number in range(needed):
        row = rows + number
        copy_state(back.before, row, front.before, match)
        for role in range(len(play.nature)):
            back.joint[row, role] = next_legal(front, match, np.int64(role), np.int64(0))
        best, found = -1e300, move
        for _ in range((number + 1) * count // needed - number * count // needed if is_drawn else 1):
            score = _gumbel_score(play, net, first + move) if is_drawn else 0.0
            if score > best:
                best, found = score, move
            move = next_legal(front, match, np.int64(chooser), np.int64(move + 1))
            if first + move >= end:
                move = next_legal(front, match, np.int64(chooser), np.int64(0))
        back.joint[row, chooser] = found


@numba_inner
def _gumbel_score(play: SelfPlay, net: QuantizedNet, move: Int) -> float:
    """Logit plus Gumbel noise: the move with the greatest score is drawn by the policy in `play.activations`' state."""
    return np.float64(move_logit(net, play.activations, move) - np.log(-np.log(_uniform(play.random))))


@fused
def _list_jointly(play: SelfPlay, net: QuantizedNet, match: Int, rows: Int) -> None:
    """For each role with a choice its moves, against moves of the others drawn from the policy."""
    front, back, roles = play.front, play.back, len(play.nature)
    activate(net, front.before, match, front.legal, match, play.activations)
    end = rows + play.rows[match]
    for role in range(roles):
        for other in range(roles):
            play.drawn[other] = draw_by_policy(play, net, match, np.int64(other))
        play.joint[match, role] = play.drawn[role]
        count = count_legal(front, match, np.int64(role))
        if count < 2 or play.nature[role]:
            continue
        move = np.int64(-1)
        for _ in range(count):
            move = np.int64(next_legal(front, match, np.int64(role), move + 1))
            if rows < end:
                copy_state(back.before, rows, front.before, match)
                for other in range(roles):
                    back.joint[rows, other] = play.drawn[other]
                back.joint[rows, role] = move
                rows += 1


@fused
def draw_by_policy(play: SelfPlay, net: QuantizedNet, match: Int, role: Int) -> Int:
    """A legal move; `play.activations` is of the match's state. Chance, and all in the opening, draw uniformly."""
    front = play.front
    count = count_legal(front, match, role)
    if count == 1 or play.nature[role] or play.opening[match] > 0:
        return nth_legal(front, match, role, draw(play.random, count))
    first = front.rows.first_move[role]
    best, found, move = -1e300, np.int64(0), np.int64(-1)
    for _ in range(count):
        move = np.int64(next_legal(front, match, role, move + 1))
        score = _gumbel_score(play, net, first + move)
        if score > best:
            best, found = score, move
    return found


@numba_inner
def _choose(  # noqa: PLR0913, PLR0917 - kernel: which rows of the batch, and whose
    play: SelfPlay, net: QuantizedNet, samples: Samples, match: Int, role: Int, skip: Int, count: Int
) -> Int:
    """Value the role's rows of the batch, `count` after `skip`, and draw one, numbered from the first of the match."""
    first = play.first_row[match] + skip
    if count == 1:
        return np.int64(skip)
    best = value_rows(play, net, match, role, first, count)
    _write_sample(play, samples, match, role, first, count, best)
    chance = _uniform(play.random)
    if chance < play.knobs[RANDOM_SHARE]:
        chosen = np.int64(first + draw(play.random, np.int64(count)))
        if play.knobs[CUTS] and chosen != best:
            _cut(play, samples, match)
        return np.int64(chosen - play.first_row[match])
    total, highest = 0.0, np.float64(play.worth[best])
    for row in range(first, first + count):
        total += np.exp((play.worth[row] - highest) / play.knobs[0])
    rest = _uniform(play.random) * total
    for row in range(first, first + count):
        rest -= np.exp((play.worth[row] - highest) / play.knobs[0])
        if rest <= 0:
            return np.int64(row - play.first_row[match])
    return np.int64(best - play.first_row[match])


@numba_inner
def value_rows(play: SelfPlay, net: QuantizedNet, match: Int, role: Int, first: Int, count: Int) -> Int:
    """`worth` of these rows for the role; returns the best row, with its values for all roles in `best_values`."""
    front, back = play.front, play.back
    sum_inputs(net, front.before, match, play.activations)
    common = add_common_moves(net, back.legal, first, play.activations.sums)
    best, highest = first, -1.0
    for row in range(first, first + count):
        if back.chooser[row] == OVER:
            play.worth[row] = back.value[row, role]
        else:
            activate_changed(net, back.after, row, back.legal, common, front.before, match, play.activations)
            play.worth[row] = role_value(net, play.activations, role)
        if play.worth[row] > highest:
            best, highest = row, np.float64(play.worth[row])
            if back.chooser[row] != OVER:
                for each in range(len(play.best_values)):
                    play.best_values[each] = role_value(net, play.activations, np.int64(each))
    return np.int64(best)


@numba_inner
def _write_sample(  # noqa: PLR0913, PLR0917 - kernel: which rows of the batch, and whose
    play: SelfPlay, samples: Samples, match: Int, role: Int, first: Int, count: Int, best: Int
) -> None:
    back, places, room = play.back, len(samples.is_complete), len(samples.moves)
    number = samples.numbers[SAMPLES]
    place = number % places
    samples.numbers[SAMPLES] += 1
    copy_state(samples.states, place, play.front.before, match)
    if samples.legal.shape[1] > 0:
        copy_state(samples.legal, place, play.front.legal, match)
    samples.is_complete[place] = False
    play.earlier[place], play.last_sample[match] = play.last_sample[match], number
    is_end = back.chooser[best] == OVER
    for each in range(samples.values.shape[1]):
        samples.values[place, each] = back.value[best, each] if is_end else play.best_values[each]
    total, highest = 0.0, np.float64(play.worth[best])
    for row in range(first, first + count):
        total += np.exp((play.worth[row] - highest) / play.knobs[1])
    start = samples.numbers[MOVES]
    samples.policy_start[place], samples.policy_count[place] = start, count
    samples.numbers[MOVES] += count
    for at in range(count):
        row = first + at
        samples.moves[(start + at) % room] = back.rows.first_move[role] + back.joint[row, role]
        samples.shares[(start + at) % room] = np.exp((play.worth[row] - highest) / play.knobs[1]) / total


@fused
def _choose_jointly(play: SelfPlay, net: QuantizedNet, samples: Samples, match: Int) -> None:
    """`joint` of a match in which several roles choose."""
    skip = np.int64(0)
    for role in range(len(play.nature)):
        count = count_legal(play.front, match, np.int64(role))
        if count < 2 or play.nature[role]:
            continue
        count = min(count, play.rows[match] - skip)
        if count > 0 and play.opening[match] == 0:
            chosen = _choose(play, net, samples, match, np.int64(role), skip, count)
            play.joint[match, role] = play.back.joint[play.first_row[match] + chosen, role]
        skip += count


@fused
def _step_jointly(play: SelfPlay, samples: Samples, waiting: Int) -> None:
    """The steps of the matches that wait, in batches of their own."""
    back = play.back
    for row in range(waiting):
        match = play.waiting[row]
        copy_state(back.before, row, play.front.before, match)
        for role in range(len(play.nature)):
            back.joint[row, role] = play.joint[match, role]
    evaluate_steps(back, back.joint, waiting)
    for row in range(waiting):
        _go_on(play, samples, np.int64(play.waiting[row]), np.int64(row))


@numba_inner
def _go_on(play: SelfPlay, samples: Samples, match: Int, row: Int) -> None:
    """The match goes on with this row of the batch; at its end its samples get their values, and another begins."""
    front, back = play.front, play.back
    play.steps[match] += 1
    play.opening[match] = max(play.opening[match] - 1, 0)
    is_over = back.chooser[row] == OVER
    if is_over or play.steps[match] >= play.knobs[4]:
        play.numbers[CAPPED] += not is_over
        samples.numbers[MATCHES] += 1
        for role in range(len(play.nature)):
            play.outcome[role] = back.value[row, role] if is_over else UNKNOWN
        _complete(play, samples, match)
        copy_state(front.before, match, play.start, 0)
        copy_state(front.legal, match, play.start_legal, 0)
        front.chooser[match], front.moves[match] = play.start_choice[0], play.start_choice[1]
        play.steps[match] = 0
        play.opening[match] = draw(play.random, play.numbers[OPENING] + 1)
        return
    copy_state(front.before, match, back.after, row)
    copy_state(front.legal, match, back.legal, row)
    front.chooser[match], front.moves[match] = back.chooser[row], back.moves[row]


@fused
def _cut(play: SelfPlay, samples: Samples, match: Int) -> None:
    """Before a random move: what comes of it says nothing of earlier states, so they get what the newest is worth."""
    newest = play.last_sample[match] % len(samples.is_complete)
    for role in range(samples.values.shape[1]):
        play.outcome[role] = samples.values[newest, role]
    _complete(play, samples, match)


@fused
def _complete(play: SelfPlay, samples: Samples, match: Int) -> None:
    """The samples of the match since its last random move get their share of `play.outcome`."""
    places, oldest = len(samples.is_complete), samples.numbers[SAMPLES] - len(samples.is_complete)
    number = play.last_sample[match]
    while number != NONE and number >= oldest:
        place = number % places
        for role in range(samples.values.shape[1]):
            samples.values[place, role] += play.knobs[3] * (play.outcome[role] - samples.values[place, role])
        samples.is_complete[place] = True
        number = play.earlier[place]
    play.last_sample[match] = NONE

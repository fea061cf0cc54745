"""Samples, and the net fitted to them: gradients by hand, and Adam.

Weights are float32; a kernel does the same on every run, so that equal work gives equal nets.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import Ids
from ggp.kernel import Int, draw, fused, kernel, lowest, numba_inner
from ggp.learning.net import (
    MOST_UNITS,
    NO_INPUT,
    UNITS,
    WEIGHTS,
    Activations,
    Net,
    Symmetries,
    later,
    list_pairs,
    make_activations,
    move_logit,
    no_symmetries,
    role_value,
)
from ggp.learning.patterns import NO_PATTERN, Floats, begin_indices, change_indices, first_weight, sum_patterns
from ggp.row_sums import add_multiples, add_multiples_to_rows, add_rows, add_to_rows, prefetch
from ggp.simulation.evaluate import Bits

VALUE_RATE, POLICY_RATE = 0.005, 0.05  # of Adagrad (Duchi, Hazan and Singer, 2011), by which patterns learn
FIRST_SQUARE = 0.1  # in place of the squares of gradients before the first one
VALUE_LOSS_WEIGHT = 4.0  # of the squared error of the values, next to the policy; chosen by matches of the search
_FIRST_DECAY, _SECOND_DECAY, _EPSILON = 0.9, 0.999, 1e-8  # of Adam (Kingma and Ba, 2015)


class Samples(NamedTuple):
    """States and what is to be learned of them, in a ring of S places; policies in a ring of P moves.

    A sample's policy begins at `policy_start` modulo P; it is overwritten once P more moves were written.
    """

    states: Bits  # (S, words)
    legal: Bits  # (S, ·) bits over the moves of all roles in a row; (S, 0) where they are not read
    values: Floats  # (S, R) the target
    is_complete: NDArray[np.bool_]  # (S,) whether the outcome is part of the target
    policy_start: NDArray[np.int64]  # (S,)
    policy_count: Ids  # (S,) 0: nothing is learned of the policy
    moves: Ids  # (P,) numbered over the moves of all roles in a row
    shares: Floats  # (P,) how probable the move is to be
    numbers: NDArray[np.int64]  # (3,) samples written, moves written, matches ended


SAMPLES, MOVES, MATCHES = range(3)  # indices of Samples.numbers


class Fitting(NamedTuple):
    """A net, its gradient, and the moments of Adam; room for one sample."""

    net: Net
    symmetries: Symmetries  # each sample is fitted as one of its images, drawn at random
    gradient: Net
    mean: Net  # of the gradients so far
    square: Net  # likewise, of their squares
    value_squares: Floats  # sums of the squares of the gradients so far of `net.patterns.value`
    policy_squares: Floats  # likewise of `net.patterns.policy`
    activations: Activations
    back: Floats  # (H,) the gradient of the hidden units
    image: Bits  # (1, words) a state as a symmetry puts it
    active: Ids  # (I,) inputs that hold
    moves: Ids  # (M,) those of a sample
    logits: Floats  # (M,)
    losses: NDArray[np.float64]  # (3,) sums since they were last read: squared error of values, cross-entropy; samples
    numbers: NDArray[np.int64]  # (1,) batches so far


def make_fitting(net: Net, symmetries: Symmetries | None = None) -> Fitting:
    """The start of fitting this net, which is changed in place."""
    words = (len(net.input_of_fact) + 63) // 64
    known = symmetries or no_symmetries(len(net.input_of_fact), len(net.policy), len(net.value))
    gradient, mean, square = (
        net._replace(**{name: np.zeros_like(getattr(net, name)) for name in WEIGHTS}) for _ in range(3)
    )
    return Fitting(
        net,
        Symmetries(*map(np.array, known)),  # copies: read-only arrays would be another kernel, with other rounding
        gradient,
        mean,
        square,
        np.full_like(net.patterns.value, FIRST_SQUARE),
        np.full_like(net.patterns.policy, FIRST_SQUARE),
        make_activations(),
        np.zeros_like(net.first_bias),
        np.zeros((1, words), np.uint64),
        np.zeros(len(net.first) + 1, np.int32),
        np.zeros(len(net.policy) + 1, np.int32),
        np.zeros(len(net.policy) + 1, np.float32),
        np.zeros(3),
        np.zeros(1, np.int64),
    )


def make_samples(words: int, legal_words: int, roles: int, places: int, moves: int) -> Samples:
    return Samples(
        np.zeros((places, words), np.uint64),
        np.zeros((places, legal_words), np.uint64),
        np.zeros((places, roles), np.float32),
        np.zeros(places, np.bool_),
        np.zeros(places, np.int64),
        np.zeros(places, np.int32),
        np.zeros(moves, np.int32),
        np.zeros(moves, np.float32),
        np.zeros(3, np.int64),
    )


def samples_problem(arrays: Mapping[str, NDArray[Any]], like: Samples, moves: int) -> str:
    """Why these arrays are no samples that `joined` made, of a game with so many moves; empty if they are."""
    if arrays.keys() != set(Samples._fields):
        return "arrays are missing"
    for name, array in like._asdict().items():
        if arrays[name].dtype != array.dtype or arrays[name].shape[1:] != array.shape[1:] or not arrays[name].ndim:
            return f"{name} is {arrays[name].dtype}{arrays[name].shape}"
    given = Samples(**arrays)
    count, written = len(given.values), len(given.moves)
    if {len(array) for array in given[:6]} != {count} or len(given.shares) != written or len(given.numbers) != 3:
        return "arrays are not as long as others"
    starts = np.cumsum(given.policy_count, dtype=np.int64) - given.policy_count
    if (given.policy_count < 0).any() or (given.policy_start != starts).any() or given.policy_count.sum() != written:
        return "policies do not follow each other"
    is_in_range = given.moves.min(initial=0) >= 0 and given.moves.max(initial=0) < moves
    return "" if is_in_range and given.numbers[:2].tolist() == [count, written] else "numbers are out of range"


def joined(older: Samples, newer: Samples, most: int) -> Samples:
    """The latest samples of both, so many at most, with their policies in a row; both are written like that."""
    skipped = max(len(older.values) + len(newer.values) - most, 0)
    moves = int(np.concatenate([older.policy_count, newer.policy_count])[:skipped].sum())
    found = Samples(*(np.concatenate([getattr(older, name), getattr(newer, name)]) for name in Samples._fields))
    counts = found.policy_count[skipped:]
    return Samples(
        found.states[skipped:].copy(), found.legal[skipped:].copy(), found.values[skipped:].copy(),
        found.is_complete[skipped:].copy(), np.cumsum(counts, dtype=np.int64) - counts, counts.copy(),
        found.moves[moves:].copy(), found.shares[moves:].copy(),
        np.array([len(counts), counts.sum(), older.numbers[MATCHES] + newer.numbers[MATCHES]], np.int64),
    )  # fmt: skip


@kernel
def fit(fitting: Fitting, samples: Samples, random: NDArray[np.uint64], batches: Int, size: Int, rate: float) -> None:
    """Steps of Adam on so many batches of `size` samples, drawn with replacement from those that are complete.

    The loss is the squared error of the values times `VALUE_LOSS_WEIGHT`, plus the cross-entropy of the policy.
    """
    for _ in range(batches):
        _add_gradients(fitting, samples, random, size)
        _step(fitting, rate)


@fused
def _add_gradients(fitting: Fitting, samples: Samples, random: NDArray[np.uint64], size: Int) -> None:
    """Of so many samples; each is fetched while the one before is looked at."""
    places, room = len(samples.is_complete), len(samples.moves)
    known, drawn = min(samples.numbers[SAMPLES], places), 0
    following = draw(random, known)
    for _ in range(4 * size):
        if drawn == size:
            break
        sample, following = following, draw(random, known)
        prefetch(samples.states, following)
        prefetch(samples.values, following)
        start = samples.policy_start[following] % room
        prefetch(samples.moves, start)
        prefetch(samples.shares, start)
        is_kept = samples.numbers[MOVES] - samples.policy_start[sample] <= room
        if samples.is_complete[sample] and is_kept:
            image = np.int64(draw(random, len(fitting.symmetries.roles)))
            if len(fitting.back) == UNITS:  # loops of known lengths are much faster
                _add_gradient(fitting, samples, sample, image, np.float32(1.0 / size), UNITS)
            else:
                _add_gradient(fitting, samples, sample, image, np.float32(1.0 / size), MOST_UNITS)
            drawn += 1


@numba_inner
def _add_gradient(fitting: Fitting, samples: Samples, sample: Int, image: Int, weight: np.float32, units: Int) -> None:
    """Of an image of the sample by one of the symmetries."""
    net, hidden, back = fitting.net, fitting.activations.hidden, fitting.back
    active = _list_inputs(fitting, samples, sample, image)
    for unit in range(units):
        hidden[unit] = net.first_bias[unit]
    add_rows(net.first, fitting.active, active, hidden, units)
    for unit in range(units):
        hidden[unit] = max(hidden[unit], np.float32(0.0))
    back[:] = np.float32(0.0)
    opposed = np.float32(0.0)  # the gradient of the value's logit of role 0, less that of role 1
    for own in range(len(net.value)):
        role = np.int64(fitting.symmetries.roles[image, own])
        value = np.float32(role_value(net, fitting.activations, role))
        error = value - samples.values[sample, own]
        fitting.losses[0] += error * error
        slope = np.float32(2.0 * VALUE_LOSS_WEIGHT) * weight * error * value * (np.float32(1.0) - value)
        fitting.gradient.value_bias[role] += slope
        opposed += slope if role == 0 else -slope
        for unit in range(units):
            fitting.gradient.value[role, unit] += slope * hidden[unit]
            back[unit] += slope * net.value[role, unit]
    _add_policy_gradient(fitting, samples, sample, image, weight, units)
    _change_patterns(fitting, opposed / weight)
    fitting.losses[2] += 1.0
    for unit in range(units):
        back[unit] = back[unit] if hidden[unit] > 0 else np.float32(0.0)
        fitting.gradient.first_bias[unit] += back[unit]
    add_to_rows(fitting.gradient.first, fitting.active, active, back, units)


@numba_inner
def _list_inputs(fitting: Fitting, samples: Samples, sample: Int, image: Int) -> Int:
    """Writes the inputs that hold in an image of the sample to `fitting.active`; returns how many."""
    net, facts = fitting.net, fitting.image
    active: Int = np.int64(0)
    begin_indices(net.patterns, fitting.activations.patterns)
    for word in range(facts.shape[1]):
        facts[0, word] = np.uint64(0)
    for word in range(facts.shape[1]):
        bits = samples.states[sample, word]
        while bits:
            fact = np.int64(fitting.symmetries.facts[image, 64 * word + lowest(bits)])
            bits &= bits - np.uint64(1)
            facts[0, fact >> 6] |= np.uint64(1) << np.uint64(fact & 63)
            change_indices(net.patterns, fact, np.int32(1), fitting.activations.patterns.indices)
    if len(net.patterns.starts) > 0:
        sum_patterns(net.patterns, facts, np.int64(0), fitting.activations.patterns)
    for word in range(facts.shape[1]):
        facts[0, word] ^= net.complemented[word]
    for word in range(facts.shape[1]):
        bits = facts[0, word]
        while bits:
            fact = np.int64(64 * word + lowest(bits))
            bits &= bits - np.uint64(1)
            fitting.active[active] = net.input_of_fact[fact]
            active += net.input_of_fact[fact] != NO_INPUT
            for at in range(net.first_word[fact], net.first_word[fact + 1]):
                found = facts[0, net.partner_word[at]] & net.partners[at] & later(net, fact, at)
                active = list_pairs(net, at, found, fitting.active, active)
    moves = len(net.input_of_move)
    for word in range(samples.legal.shape[1]):
        bits = samples.legal[sample, word]
        while bits:
            move = 64 * word + lowest(bits)
            bits &= bits - np.uint64(1)
            if move < moves:
                fitting.active[active] = net.input_of_move[fitting.symmetries.moves[image, move]]
                active += 1
    return active


@numba_inner
def _add_policy_gradient(
    fitting: Fitting, samples: Samples, sample: Int, image: Int, weight: np.float32, units: Int
) -> None:
    net, hidden, back, logits, moves = (
        fitting.net,
        fitting.activations.hidden,
        fitting.back,
        fitting.logits,
        fitting.moves,
    )
    start, count, room = samples.policy_start[sample], np.int64(samples.policy_count[sample]), len(samples.moves)
    highest = np.float32(-1e30)
    for at in range(count):
        moves[at] = fitting.symmetries.moves[image, samples.moves[(start + at) % room]]
        logits[at] = np.float32(move_logit(net, fitting.activations, np.int64(moves[at])))
        highest = max(highest, logits[at])
    total, expected = np.float32(0.0), np.float32(0.0)
    for at in range(count):
        logits[at] -= highest
        expected += samples.shares[(start + at) % room] * logits[at]
        logits[at] = np.exp(logits[at])
        total += logits[at]
    fitting.losses[1] += np.log(total) - expected
    for at in range(count):
        logits[at] = weight * (logits[at] / total - samples.shares[(start + at) % room])  # the slope
        fitting.gradient.policy_bias[moves[at]] += logits[at]
        for column in range(net.patterns.of_move.shape[1]):
            pattern, table = net.patterns.of_move[moves[at], column]
            if pattern != NO_PATTERN:
                place = table + fitting.activations.patterns.indices[pattern]
                _adagrad(net.patterns.policy, fitting.policy_squares, place, logits[at] / weight, POLICY_RATE)
    add_multiples(net.policy, moves, logits, count, back, units)
    add_multiples_to_rows(fitting.gradient.policy, moves, logits, count, hidden, units)


@kernel
def _step(fitting: Fitting, rate: float) -> None:
    fitting.numbers[0] += 1
    done = fitting.numbers[0]
    scale = np.float32(rate * np.sqrt(1.0 - _SECOND_DECAY**done) / (1.0 - _FIRST_DECAY**done))
    net, gradient, mean, square = fitting.net, fitting.gradient, fitting.mean, fitting.square
    _adam(net.first.ravel(), gradient.first.ravel(), mean.first.ravel(), square.first.ravel(), scale)
    _adam(net.first_bias, gradient.first_bias, mean.first_bias, square.first_bias, scale)
    _adam(net.value.ravel(), gradient.value.ravel(), mean.value.ravel(), square.value.ravel(), scale)
    _adam(net.value_bias, gradient.value_bias, mean.value_bias, square.value_bias, scale)
    _adam(net.policy.ravel(), gradient.policy.ravel(), mean.policy.ravel(), square.policy.ravel(), scale)
    _adam(net.policy_bias, gradient.policy_bias, mean.policy_bias, square.policy_bias, scale)


@fused
def _adam(weights: Floats, gradient: Floats, mean: Floats, square: Floats, scale: np.float32) -> None:
    """Changes the weights, and makes the gradient 0 again."""
    for at in range(len(weights)):
        mean[at] += np.float32(1.0 - _FIRST_DECAY) * (gradient[at] - mean[at])
        square[at] += np.float32(1.0 - _SECOND_DECAY) * (gradient[at] * gradient[at] - square[at])
        weights[at] -= scale * mean[at] / (np.sqrt(square[at]) + np.float32(_EPSILON))
        gradient[at] = np.float32(0.0)


@numba_inner
def _change_patterns(fitting: Fitting, slope: np.float32) -> None:
    """The weights of the values' patterns after a sample, at once: few of them have a gradient.

    Patterns without anything in them, which most are and which say nothing, stay without weight.
    """
    patterns, indices = fitting.net.patterns, fitting.activations.patterns.indices
    first = first_weight(patterns, fitting.activations.patterns.turn[0])
    for pattern in range(len(patterns.starts)):
        if indices[pattern] != patterns.starts[pattern]:
            _adagrad(patterns.value, fitting.value_squares, first + indices[pattern], slope, VALUE_RATE)


@numba_inner
def _adagrad(weights: Floats, squares: Floats, at: Int, gradient: np.float32, rate: float) -> None:
    squares[at] += gradient * gradient
    weights[at] -= np.float32(rate) * gradient / np.sqrt(squares[at])

"""The net: the facts of a state → a value for each role and a logit for each move; and how it is fitted.

One hidden layer of rectified linear units. Its first layer is a sum of rows, one for each fact that holds, so that the
state after a step costs only the rows of the facts that change (as in NNUE: Nasu, 2018). In some games the legal moves
are inputs, too: they show captures, mobility and who must do what, which are products of facts. Weights are float32; a
kernel does the same on every run, so that equal work gives equal nets.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import Ids
from ggp.kernel import Int, draw, fused, kernel, lowest
from ggp.simulation.evaluate import Bits

HIDDEN = 128  # units
NO_INPUT = -1

Floats = NDArray[np.float32]

_FIRST_DECAY, _SECOND_DECAY, _EPSILON = 0.9, 0.999, 1e-8  # of Adam (Kingma and Ba, 2015)


class Net(NamedTuple):
    """I inputs, H hidden units, R roles, M moves of all roles in a row."""

    input_of_fact: Ids  # (F,) the row of `first`, or NO_INPUT for a fact that the net does not read
    input_of_move: Ids  # (M,) the row of `first` for a legal move; (0,) for a net that does not read moves
    first: Floats  # (I, H)
    first_bias: Floats  # (H,)
    value: Floats  # (R, H)
    value_bias: Floats  # (R,)
    policy: Floats  # (M, H)
    policy_bias: Floats  # (M,)


class Samples(NamedTuple):
    """States and what is to be learned of them, in a ring of S places; policies in a ring of P moves.

    A sample's policy begins at `policy_start` modulo P; it is overwritten once P more moves were written.
    """

    states: Bits  # (S, words)
    legal: Bits  # (S, ·) bits over the moves of all roles in a row; (S, 0) where they are not read
    values: Floats  # (S, R) the target
    is_complete: NDArray[np.bool_]  # (S,) whether the match has come to its end, so that the target is whole
    policy_start: NDArray[np.int64]  # (S,)
    policy_count: Ids  # (S,) 0: nothing is learned of the policy
    moves: Ids  # (P,) numbered over the moves of all roles in a row
    shares: Floats  # (P,) how probable the move is to be
    numbers: NDArray[np.int64]  # (3,) samples written, moves written, matches ended


SAMPLES, MOVES, MATCHES = range(3)  # indices of Samples.numbers


class Fitting(NamedTuple):
    """A net, its gradient, and the moments of Adam; room for one sample."""

    net: Net
    gradient: Net
    mean: Net  # of the gradients so far
    square: Net  # likewise, of their squares
    hidden: Floats  # (H,)
    back: Floats  # (H,) the gradient of the hidden units
    active: Ids  # (I,) inputs that hold
    logits: Floats  # (M,)
    losses: NDArray[np.float64]  # (3,) sums since they were last read: squared error of values, cross-entropy; samples
    numbers: NDArray[np.int64]  # (1,) batches so far


def make_net(input_of_fact: Ids, roles: int, moves: int, seed: int, *, reads_moves: bool = False) -> Net:
    """A net whose values are all near 0.5 and whose policy is nearly uniform; moves say nothing yet."""
    random = np.random.default_rng(seed)
    inputs = int(input_of_fact.max(initial=NO_INPUT)) + 1
    first = random.standard_normal((inputs, HIDDEN)) / np.sqrt(max(inputs, 1) / 2)
    read = moves if reads_moves else 0
    return Net(
        input_of_fact,
        np.arange(inputs, inputs + read, dtype=np.int32),
        np.concatenate([first, np.zeros((read, HIDDEN))]).astype(np.float32),
        np.zeros(HIDDEN, np.float32),
        (random.standard_normal((roles, HIDDEN)) * 0.01).astype(np.float32),
        np.zeros(roles, np.float32),
        np.zeros((moves, HIDDEN), np.float32),
        np.zeros(moves, np.float32),
    )


def make_fitting(net: Net) -> Fitting:
    """The start of fitting this net, which is changed in place."""
    gradient, mean, square = (
        net._replace(**{name: np.zeros_like(getattr(net, name)) for name in WEIGHTS}) for _ in range(3)
    )
    return Fitting(
        net,
        gradient,
        mean,
        square,
        np.zeros(HIDDEN, np.float32),
        np.zeros(HIDDEN, np.float32),
        np.zeros(len(net.first) + 1, np.int32),
        np.zeros(len(net.policy) + 1, np.float32),
        np.zeros(3),
        np.zeros(1, np.int64),
    )


def no_net() -> Net:
    """In place of a net where nothing was learned."""
    return make_net(np.zeros(0, np.int32), 0, 0, 0)


WEIGHTS = Net._fields[2:]


def copied(net: Net) -> Net:
    """The net as it is now."""
    return net._replace(**{name: getattr(net, name).copy() for name in WEIGHTS})


def net_problem(arrays: Mapping[str, NDArray[Any]], facts: int, roles: int, moves: int) -> str:
    """Why these arrays by the names of a net's fields are no net for a game; empty if they are one."""
    if arrays.keys() != set(Net._fields):
        return "its arrays are not those of a net"
    inputs = len(arrays["first"]) if arrays["first"].ndim else 0
    read = moves if arrays["input_of_move"].size else 0
    shapes = {
        "input_of_fact": (facts,), "input_of_move": (read,), "first": (inputs, HIDDEN), "first_bias": (HIDDEN,),
        "value": (roles, HIDDEN), "value_bias": (roles,), "policy": (moves, HIDDEN), "policy_bias": (moves,),
    }  # fmt: skip
    for name, shape in shapes.items():
        array, dtype = arrays[name], np.dtype(np.float32 if name in WEIGHTS else np.int32)
        if array.shape != shape or array.dtype != dtype:
            return f"{name} is {array.dtype}{array.shape}, not {dtype}{shape}"
        if name in WEIGHTS and not np.isfinite(array).all():
            return f"{name} has values that are not finite"
        if name not in WEIGHTS and ((array < NO_INPUT) | (array >= inputs)).any():
            return f"{name} names an input that does not exist"
    return "a move has no input" if (arrays["input_of_move"] == NO_INPUT).any() else ""


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


@fused
def sum_inputs(net: Net, states: Bits, row: Int, sums: Floats) -> None:
    """The hidden units of a state before rectification."""
    for unit in range(HIDDEN):
        sums[unit] = net.first_bias[unit]
    for word in range(states.shape[1]):
        bits = states[row, word]
        while bits:
            place = net.input_of_fact[64 * word + lowest(bits)]
            bits &= bits - np.uint64(1)
            if place != NO_INPUT:
                for unit in range(HIDDEN):
                    sums[unit] += net.first[place, unit]


@fused
def add_move(net: Net, move: Int, sums: Floats) -> None:
    """Adds the input of a legal move, numbered over the moves of all roles in a row, for a net that reads moves."""
    place = net.input_of_move[move]
    for unit in range(HIDDEN):
        sums[unit] += net.first[place, unit]


@fused
def add_moves(net: Net, legal: Bits, row: Int, sums: Floats) -> None:
    """Adds the inputs of all legal moves, if the net reads moves; legal[row]: bits over the moves of all roles."""
    moves = len(net.input_of_move)
    for word in range((moves + 63) // 64):
        bits = legal[row, word]
        while bits:
            move = 64 * word + lowest(bits)
            bits &= bits - np.uint64(1)
            if move < moves:
                add_move(net, move, sums)


@fused
def rectify(hidden: Floats) -> None:
    """In place."""
    for unit in range(HIDDEN):
        hidden[unit] = max(hidden[unit], np.float32(0.0))


@fused
def hidden_units(net: Net, states: Bits, row: Int, legal: Bits, legal_row: Int, hidden: Floats) -> None:
    """Of states[row], in which the moves of legal[legal_row] are legal."""
    sum_inputs(net, states, row, hidden)
    add_moves(net, legal, legal_row, hidden)
    rectify(hidden)


@fused
def rectify_changed(  # noqa: PLR0913, PLR0917 - kernel: two states and what is made of them
    net: Net, states: Bits, row: Int, legal: Bits, before: Bits, before_row: Int, sums: Floats, hidden: Floats
) -> None:
    """The hidden units of states[row], with its moves legal[row], from what `sum_inputs` gave of before[before_row]."""
    for unit in range(HIDDEN):
        hidden[unit] = sums[unit]
    for word in range(states.shape[1]):
        old, new = before[before_row, word], states[row, word]
        bits = old & ~new
        while bits:
            place = net.input_of_fact[64 * word + lowest(bits)]
            bits &= bits - np.uint64(1)
            if place != NO_INPUT:
                for unit in range(HIDDEN):
                    hidden[unit] -= net.first[place, unit]
        bits = new & ~old
        while bits:
            place = net.input_of_fact[64 * word + lowest(bits)]
            bits &= bits - np.uint64(1)
            if place != NO_INPUT:
                for unit in range(HIDDEN):
                    hidden[unit] += net.first[place, unit]
    add_moves(net, legal, row, hidden)
    rectify(hidden)


@fused
def role_value(net: Net, hidden: Floats, role: Int) -> float:
    """What a state is worth to a role, from 0 to 1."""
    total = np.float32(0.0)
    for unit in range(HIDDEN):
        total += net.value[role, unit] * hidden[unit]
    total += net.value_bias[role]
    return np.float64(1.0 / (1.0 + np.exp(-np.float64(total))))


@fused
def move_logit(net: Net, hidden: Floats, move: Int) -> float:
    """Of a move, numbered over the moves of all roles in a row."""
    total = np.float32(0.0)
    for unit in range(HIDDEN):
        total += net.policy[move, unit] * hidden[unit]
    total += net.policy_bias[move]
    return np.float64(total)


@kernel
def fit(fitting: Fitting, samples: Samples, random: NDArray[np.uint64], batches: Int, size: Int, rate: float) -> None:
    """Steps of Adam on so many batches of `size` samples, drawn with replacement from those that are complete.

    The loss is the squared error of the values plus the cross-entropy of the policy.
    """
    places, room = len(samples.is_complete), len(samples.moves)
    known = min(samples.numbers[SAMPLES], places)
    for _ in range(batches):
        drawn = 0
        for _ in range(4 * size):
            if drawn == size:
                break
            sample = draw(random, known)
            is_kept = samples.numbers[MOVES] - samples.policy_start[sample] <= room
            if samples.is_complete[sample] and is_kept:
                _add_gradient(fitting, samples, sample, np.float32(1.0 / size))
                drawn += 1
        _step(fitting, rate)


@fused
def _add_gradient(fitting: Fitting, samples: Samples, sample: Int, weight: np.float32) -> None:
    net, hidden, back = fitting.net, fitting.hidden, fitting.back
    hidden_units(net, samples.states, sample, samples.legal, sample, hidden)
    active = _list_inputs(fitting, samples, sample)
    back[:] = np.float32(0.0)
    for role in range(len(net.value)):
        value = np.float32(role_value(net, hidden, role))
        error = value - samples.values[sample, role]
        fitting.losses[0] += error * error
        slope = np.float32(2.0) * weight * error * value * (np.float32(1.0) - value)
        fitting.gradient.value_bias[role] += slope
        for unit in range(HIDDEN):
            fitting.gradient.value[role, unit] += slope * hidden[unit]
            back[unit] += slope * net.value[role, unit]
    _add_policy_gradient(fitting, samples, sample, weight)
    fitting.losses[2] += 1.0
    for unit in range(HIDDEN):
        back[unit] = back[unit] if hidden[unit] > 0 else np.float32(0.0)
        fitting.gradient.first_bias[unit] += back[unit]
    for at in range(active):
        place = fitting.active[at]
        for unit in range(HIDDEN):
            fitting.gradient.first[place, unit] += back[unit]


@fused
def _list_inputs(fitting: Fitting, samples: Samples, sample: Int) -> int:
    """Writes the inputs that hold to `fitting.active`; returns how many."""
    active, moves = 0, len(fitting.net.input_of_move)
    for word in range(samples.states.shape[1]):
        bits = samples.states[sample, word]
        while bits:
            place = fitting.net.input_of_fact[64 * word + lowest(bits)]
            bits &= bits - np.uint64(1)
            if place != NO_INPUT:
                fitting.active[active] = place
                active += 1
    for word in range(samples.legal.shape[1]):
        bits = samples.legal[sample, word]
        while bits:
            move = 64 * word + lowest(bits)
            bits &= bits - np.uint64(1)
            if move < moves:
                fitting.active[active] = fitting.net.input_of_move[move]
                active += 1
    return active


@fused
def _add_policy_gradient(fitting: Fitting, samples: Samples, sample: Int, weight: np.float32) -> None:
    net, hidden, back, logits = fitting.net, fitting.hidden, fitting.back, fitting.logits
    start, count, room = samples.policy_start[sample], samples.policy_count[sample], len(samples.moves)
    highest = np.float32(-1e30)
    for at in range(count):
        logits[at] = np.float32(move_logit(net, hidden, samples.moves[(start + at) % room]))
        highest = max(highest, logits[at])
    total = np.float32(0.0)
    for at in range(count):
        total += np.exp(logits[at] - highest)
    for at in range(count):
        move, share = samples.moves[(start + at) % room], samples.shares[(start + at) % room]
        probability = np.exp(logits[at] - highest) / total
        if share > 0:
            fitting.losses[1] -= share * np.log(max(probability, np.float32(1e-12)))
        slope = weight * (probability - share)
        fitting.gradient.policy_bias[move] += slope
        for unit in range(HIDDEN):
            fitting.gradient.policy[move, unit] += slope * hidden[unit]
            back[unit] += slope * net.policy[move, unit]


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

"""The net: the facts of a state → a value for each role and a logit for each move.

One hidden layer of rectified linear units. Its first layer is a sum of rows, one for each fact that holds, so that the
state after a step costs only the rows of the facts that change (as in NNUE: Nasu, 2018). Of a fact that mostly holds,
such as an empty cell, the input is that it does not, so that few inputs hold in any state. In some games the legal
moves are inputs, too: they show captures, mobility and who must do what, which are products of facts. Where states are
valued the first layer is quantized to 16 bits, as in NNUE: half as much memory is read, and sums are exact.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import Ids
from ggp.kernel import Int, count_ones, fused, kernel, lowest, numba_inner
from ggp.learning.patterns import (
    Floats,
    Patterns,
    Sums,
    find_indices,
    make_sums,
    no_patterns,
    pattern_logit,
    sum_changed_patterns,
    sum_patterns,
    without_weights,
)
from ggp.row_sums import (
    BLOCK,
    LISTED,
    add_rows,
    make_list,
    subtract_rows,
)
from ggp.simulation.evaluate import Bits

UNITS, MOST_UNITS = BLOCK, LISTED  # of the hidden layer, at first and later on
NO_INPUT = NONE = -1
NO_PAIRS = np.zeros((0, 2), np.int32)

_WORD = 64  # bits


class Net(NamedTuple):
    """I inputs, H hidden units, R roles, M moves of all roles in a row."""

    complemented: Bits  # (words,) facts that mostly hold: their inputs are 1 where they do not
    input_of_fact: Ids  # (F,) the row of `first`, or NO_INPUT for a fact that the net does not read
    input_of_move: Ids  # (M,) the row of `first` for a legal move; (0,) for a net that does not read moves
    first_word: Ids  # (F + 1,) fact f is in pairs with the partners in words first_word[f] to before first_word[f + 1]
    partner_word: Ids  # (W,) which word of a state, rising for each fact
    partners: NDArray[np.uint64]  # (W,) bits of that word; each of the P pairs is there for both of its facts
    first_partner: Ids  # (W,) where the partners of a word begin in `input_of_pair`
    input_of_pair: Ids  # (2 P,) the row of `first` for a fact and its partner, while both hold
    first: Floats  # (I, H)
    first_bias: Floats  # (H,)
    value: Floats  # (R, H)
    value_bias: Floats  # (R,)
    policy: Floats  # (M, H)
    policy_bias: Floats  # (M,)
    patterns: Patterns


class QuantizedNet(NamedTuple):
    """The net that values states: a weight of its first layer is an integer times `scale`; all else as in `Net`."""

    complemented: Bits
    input_of_fact: Ids
    input_of_move: Ids
    first_word: Ids
    partner_word: Ids
    partners: NDArray[np.uint64]
    first_partner: Ids
    input_of_pair: Ids
    first: NDArray[np.int16]  # (I, H)
    first_bias: Ids  # (H,)
    scale: Floats  # (1,)
    value: Floats
    value_bias: Floats
    policy: Floats
    policy_bias: Floats
    patterns: Patterns


class Activations(NamedTuple):
    """What a net makes of states: room for one thread."""

    sums: Ids  # (MOST_UNITS,) of `sum_inputs` and `add_common_moves`
    patterns: Sums  # indices of the same state
    hidden: Floats  # (MOST_UNITS,) of the state that was valued last


class Symmetries(NamedTuple):
    """G exchanges under which the rules of a game say the same, the identity first."""

    facts: Ids  # (G, F) what each puts in place of a fact
    moves: Ids  # (G, M) of a move, numbered over the moves of all roles in a row
    roles: Ids  # (G, R) of a role


def make_net(  # noqa: PLR0913 - what the net reads
    input_of_fact: Ids,
    roles: int,
    moves: int,
    seed: int,
    *,
    complemented: Bits | None = None,
    reads_moves: bool = False,
    pairs: Ids = NO_PAIRS,
    patterns: Patterns | None = None,
) -> Net:
    """A net whose values are all near 0.5 and whose policy is nearly uniform; moves and pairs say nothing yet.

    pairs: (P, 2) facts that are inputs; complemented: none by default; patterns: none by default, their weights are 0.
    """
    random = np.random.default_rng(seed)
    inputs = int(input_of_fact.max(initial=NO_INPUT)) + 1
    first = random.standard_normal((inputs, UNITS)) / np.sqrt(max(inputs, 1) / 2)
    read = moves if reads_moves else 0
    one, other = np.concatenate([pairs, pairs[:, ::-1]]).T
    order = np.lexsort((other, one))
    one, other, word = one[order], other[order], other[order] >> 6
    starts = np.flatnonzero(np.diff(one, prepend=-1) | np.diff(word, prepend=-1))  # of words of partners
    bits = np.uint64(1) << (other & 63).astype(np.uint64)
    return Net(
        np.zeros((len(input_of_fact) + 63) // 64, np.uint64) if complemented is None else complemented,
        input_of_fact,
        np.arange(inputs, inputs + read, dtype=np.int32),
        np.searchsorted(one[starts], np.arange(len(input_of_fact) + 1)).astype(np.int32),
        word[starts].astype(np.int32),
        np.bitwise_or.reduceat(bits, starts) if len(starts) else bits,
        starts.astype(np.int32),
        (order % max(len(pairs), 1) + inputs + read).astype(np.int32),
        np.concatenate([first, np.zeros((read + len(pairs), UNITS))]).astype(np.float32),
        np.zeros(UNITS, np.float32),
        (random.standard_normal((roles, UNITS)) * 0.01).astype(np.float32),
        np.zeros(roles, np.float32),
        np.zeros((moves, UNITS), np.float32),
        np.zeros(moves, np.float32),
        no_patterns(len(input_of_fact), moves) if patterns is None else without_weights(patterns),
    )


def make_activations() -> Activations:
    return Activations(np.zeros(MOST_UNITS, np.int32), make_sums(), np.zeros(MOST_UNITS, np.float32))


def no_symmetries(facts: int, moves: int, roles: int) -> Symmetries:
    """The identity alone."""
    return Symmetries(*(np.arange(count, dtype=np.int32)[np.newaxis] for count in (facts, moves, roles)))


def widened(net: Net, wider: Net) -> Net:
    """The wider net, which reads more, with the weights of the other: it says the same as that as yet."""
    weights = weights_of(net)
    set_weights(wider, weights_of(wider) | {name: weights[name] for name in weights if name != "first"})
    facts = int(net.input_of_fact.max(initial=NO_INPUT)) + 1
    wider.first[:facts], wider.first[facts:] = net.first[:facts], np.float32(0.0)
    if len(net.input_of_move):
        wider.first[wider.input_of_move] = net.first[net.input_of_move]
    if len(net.partners):
        wider.first[wider.input_of_pair] = net.first[net.input_of_pair]
    return wider


def grown(net: Net, units: int) -> Net:
    """A net with so many units, which reads the same and says the same as yet; new ones read facts by chance."""
    facts, known = int(net.input_of_fact.max(initial=NO_INPUT)) + 1, len(net.first_bias)
    arrays = {name: getattr(net, name) for name in ("first", "first_bias", "value", "policy")}
    made = {name: np.zeros((*array.shape[:-1], units), np.float32) for name, array in arrays.items()}
    for name, array in arrays.items():
        made[name][..., :known] = array
    random = np.random.default_rng(known)
    made["first"][:facts, known:] = random.standard_normal((facts, units - known)) / np.sqrt(max(facts, 1) / 2)
    return net_of(arrays_of(net) | made)


def are_symmetries(given: Symmetries, like: Symmetries) -> bool:
    """Whether arrays are as many permutations each of as many facts, moves and roles as others are."""
    for array, other in zip(given, like, strict=True):
        if array.dtype != np.int32 or array.ndim != other.ndim or array.shape[1] != other.shape[1] or not len(array):
            return False
        if len(array) != len(given.roles) or (np.sort(array, axis=1) != np.arange(array.shape[1])).any():
            return False
    return True


def no_net() -> Net:
    """In place of a net where nothing was learned."""
    return make_net(np.zeros(0, np.int32), 0, 0, 0)


def arrays_of(net: Net | QuantizedNet) -> dict[str, NDArray[Any]]:
    """All arrays of a net by the names of their fields."""
    patterns = {f"patterns.{name}": array for name, array in net.patterns._asdict().items()}
    return {name: array for name, array in net._asdict().items() if name != "patterns"} | patterns


def weights_of(net: Net) -> dict[str, Floats]:
    """Views of all that is learned, by names as in `arrays_of`."""
    arrays = arrays_of(net)
    return {name: arrays[name] for name in (*WEIGHTS, "patterns.value", "patterns.policy")}


def set_weights(net: Net, weights: Mapping[str, Floats]) -> None:
    """Those of another net of the same size."""
    for name, array in weights_of(net).items():
        array[:] = weights[name]


def net_of(arrays: Mapping[str, NDArray[Any]]) -> Net:
    """The net of copies of the arrays that `arrays_of` gave."""
    found = {name: array.copy() for name, array in arrays.items()}
    patterns = Patterns(**{name: found.pop(f"patterns.{name}") for name in Patterns._fields})
    return Net(**found, patterns=patterns)


WEIGHTS = Net._fields[8:14]  # dense ones
_LARGEST = 32767.0  # of a number in the first layer of a quantized net


def quantize(net: Net) -> QuantizedNet:
    """The quantized form of the net as it is now; it shares what is not quantized."""
    first, bias = np.zeros(net.first.shape, np.int16), np.zeros(len(net.first_bias), np.int32)
    numbers = {"first": first, "first_bias": bias, "scale": np.ones(1, np.float32)}
    made = QuantizedNet(**(net._asdict() | numbers))
    requantize(net, made)
    return made


@kernel
def requantize(net: Net, quantized: QuantizedNet) -> None:
    """Quantizes the first layer again, after its weights have changed."""
    weights, numbers = net.first.ravel(), quantized.first.ravel()
    largest = np.float32(0.0)
    for at in range(len(weights)):
        largest = max(largest, abs(weights[at]))
    quantized.scale[0] = largest / np.float32(_LARGEST) if largest > 0.0 else np.float32(1.0)
    factor = np.float32(1.0) / quantized.scale[0]
    for at in range(len(weights)):
        numbers[at] = np.int16(np.rint(min(max(weights[at] * factor, np.float32(-_LARGEST)), np.float32(_LARGEST))))
    for unit in range(len(net.first_bias)):
        quantized.first_bias[unit] = np.int32(np.rint(net.first_bias[unit] * factor))


def copied(net: Net) -> Net:
    """The net as it is now."""
    return net_of(arrays_of(net))


@fused
def sum_inputs(net: QuantizedNet, states: Bits, row: Int, found: Activations) -> None:
    """The sums and the indices of states[row], without its legal moves."""
    _sum_facts(net, states, row, found.sums)
    find_indices(net.patterns, states, row, found.patterns)


@fused
def _sum_facts(net: QuantizedNet, states: Bits, row: Int, sums: Ids) -> None:
    """The hidden units of a state before rectification, without its legal moves, as multiples of the scale."""
    places, listed, units = make_list(), np.int64(0), len(net.first_bias)
    for unit in range(units):
        sums[unit] = net.first_bias[unit]
    for word in range(states.shape[1]):
        bits = states[row, word] ^ net.complemented[word]
        while bits:
            fact = 64 * word + lowest(bits)
            bits &= bits - np.uint64(1)
            places[listed] = net.input_of_fact[fact]
            listed = flush_if_full(net, places, listed + (net.input_of_fact[fact] != NO_INPUT), sums, units)
            for at in range(net.first_word[fact], net.first_word[fact + 1]):
                number = np.int64(net.partner_word[at])
                found = (states[row, number] ^ net.complemented[number]) & net.partners[at] & later(net, fact, at)
                listed = flush_if_full(net, places, list_pairs(net, at, found, places, listed), sums, units)
    add_rows(net.first, places, listed, sums, units)


@numba_inner
def flush_if_full(net: QuantizedNet, places: Ids, listed: Int, sums: Ids, units: Int) -> np.int64:
    """Adds the inputs that are listed when those of another word may not fit; returns how many are listed then."""
    if listed + _WORD < LISTED:
        return np.int64(listed)
    add_rows(net.first, places, listed, sums, units)
    return np.int64(0)


@numba_inner
def later(net: Net | QuantizedNet, fact: Int, at: Int) -> np.uint64:
    """Which facts in the word of some of its partners come after this fact."""
    word = np.int64(net.partner_word[at])
    if word != fact >> 6:
        return np.uint64(0) - np.uint64(word > fact >> 6)
    return ~((np.uint64(2) << np.uint64(fact & 63)) - np.uint64(1))


@numba_inner
def list_pairs(net: Net | QuantizedNet, at: Int, found: np.uint64, places: Ids, listed: Int) -> np.int64:
    """Lists the inputs of a fact with those of its partners in a word that are found; how many are listed then."""
    while found:
        others = found & (found - np.uint64(1))
        before = net.partners[at] & ((found ^ others) - np.uint64(1))
        places[listed] = net.input_of_pair[net.first_partner[at] + count_ones(before)]
        listed += 1
        found = others
    return np.int64(listed)


@numba_inner
def _list_difference(net: QuantizedNet, states: Bits, row: Int, others: Bits, other_row: Int, places: Ids) -> Int:
    """Lists the inputs that hold in states[row] but not in others[other_row]; how many, or -1 for too many."""
    listed: Int = np.int64(0)
    for word in range(states.shape[1]):
        bits = (states[row, word] ^ net.complemented[word]) & ~(others[other_row, word] ^ net.complemented[word])
        while bits:
            fact = 64 * word + lowest(bits)
            bits &= bits - np.uint64(1)
            if listed + _WORD >= LISTED:
                return np.int64(-1)
            places[listed] = net.input_of_fact[fact]
            listed += net.input_of_fact[fact] != NO_INPUT
            for at in range(net.first_word[fact], net.first_word[fact + 1]):
                number = np.int64(net.partner_word[at])
                before = others[other_row, number] ^ net.complemented[number]
                counted = before | later(net, fact, at)  # pairs of two such facts count once
                found = (states[row, number] ^ net.complemented[number]) & net.partners[at] & counted
                if listed + _WORD >= LISTED:
                    return np.int64(-1)
                listed = list_pairs(net, at, found, places, listed)
    return listed


@numba_inner
def add_moves(net: QuantizedNet, legal: Bits, row: Int, sums: Ids, units: Int) -> None:
    """Adds the inputs of all legal moves, if the net reads moves; legal[row]: bits over the moves of all roles."""
    moves, places, listed = len(net.input_of_move), make_list(), np.int64(0)
    for word in range((moves + 63) // 64):
        bits = legal[row, word]
        while bits:
            move = 64 * word + lowest(bits)
            bits &= bits - np.uint64(1)
            if move < moves:
                places[listed] = net.input_of_move[move]
                listed += 1
        listed = flush_if_full(net, places, listed, sums, units)
    if listed:
        add_rows(net.first, places, listed, sums, units)


@numba_inner
def rectify(net: QuantizedNet, sums: Ids, hidden: Floats, units: Int) -> None:
    """The hidden units of such sums."""
    scale = net.scale[0]
    for unit in range(units):
        hidden[unit] = np.float32(max(sums[unit], np.int32(0))) * scale


@fused
def activate(net: QuantizedNet, states: Bits, row: Int, legal: Bits, legal_row: Int, found: Activations) -> None:
    """All of states[row], in which the moves of legal[legal_row] are legal."""
    sum_inputs(net, states, row, found)
    add_moves(net, legal, legal_row, found.sums, len(net.first_bias))
    rectify(net, found.sums, found.hidden, len(net.first_bias))
    if len(net.patterns.starts) > 0:
        sum_patterns(net.patterns, states, row, found.patterns)


@numba_inner
def add_common_moves(net: QuantizedNet, legal: Bits, row: Int, sums: Ids) -> np.int64:
    """A row, this one, whose moves are added to the sums for `rectify_changed`, or NONE where these are not worth it.

    That is where states that follow the same one have most of their moves in common: this one and the next.
    """
    same, different = np.int64(0), np.int64(0)
    for word in range((len(net.input_of_move) + 63) // 64):
        same += count_ones(legal[row, word] & legal[row + 1, word])
        different += count_ones(legal[row, word] ^ legal[row + 1, word])
    if same <= 2 * different:
        return np.int64(NONE)
    add_moves(net, legal, row, sums, len(net.first_bias))
    return np.int64(row)


@numba_inner
def activate_changed(  # noqa: PLR0913, PLR0917 - kernel: two states, a sibling, and what is made of them
    net: QuantizedNet, states: Bits, row: Int, legal: Bits, common: Int, before: Bits, before_row: Int,
    found: Activations,
) -> None:  # fmt: skip
    """The hidden units of states[row], with its moves legal[row], from the sums of before[before_row], which stay.

    These are what `sum_inputs` gave, and the moves of legal[common], unless that is NONE.
    """
    gone, come, sums, hidden = make_list(), make_list(), found.sums, found.hidden
    fewer = _list_difference(net, before, before_row, states, row, gone)
    more = _list_difference(net, states, row, before, before_row, come)
    if len(net.patterns.starts) > 0:  # a call costs more than looking
        sum_changed_patterns(net.patterns, states, row, before, before_row, found.patterns)
    if fewer < 0 or more < 0:
        others = make_list()
        _sum_facts(net, states, row, others)
        add_moves(net, legal, row, others, len(net.first_bias))
        rectify(net, others, hidden, len(net.first_bias))
    elif len(net.first_bias) == UNITS:  # loops of known lengths are much faster
        _rectify_difference(net, gone, fewer, come, more, legal, row, common, sums, hidden, UNITS)
    else:
        _rectify_difference(net, gone, fewer, come, more, legal, row, common, sums, hidden, MOST_UNITS)


@numba_inner
def _rectify_difference(  # noqa: PLR0913, PLR0917 - kernel: as above
    net: QuantizedNet, gone: Ids, fewer: Int, come: Ids, more: Int, legal: Bits, row: Int, common: Int, sums: Ids,
    hidden: Floats, units: Int,
) -> None:  # fmt: skip
    changed = make_list()
    for unit in range(units):
        changed[unit] = sums[unit]
    subtract_rows(net.first, gone, fewer, changed, units)
    add_rows(net.first, come, more, changed, units)
    if common == NONE:
        add_moves(net, legal, row, changed, units)
    else:
        _change_moves(net, legal, row, common, changed, units)
    rectify(net, changed, hidden, units)


@numba_inner
def _change_moves(net: QuantizedNet, legal: Bits, row: Int, common: Int, sums: Ids, units: Int) -> None:
    """Adds the moves of legal[row] to the sums that have those of legal[common], and takes these away."""
    moves = len(net.input_of_move)
    gone, come = make_list(), make_list()
    fewer, more = np.int64(0), np.int64(0)
    for word in range((moves + 63) // 64):
        bits = legal[row, word] ^ legal[common, word]
        while bits:
            at, move = lowest(bits), 64 * word + lowest(bits)
            bits &= bits - np.uint64(1)
            if move < moves:
                # written to both lists, since a branch would be mispredicted; only one of them grows
                is_come = (legal[row, word] >> np.uint64(at)) & np.uint64(1) != 0
                gone[fewer] = come[more] = net.input_of_move[move]
                fewer, more = fewer + (not is_come), more + is_come
        if max(fewer, more) + _WORD >= LISTED or word == (moves - 1) // 64:
            subtract_rows(net.first, gone, fewer, sums, units)
            add_rows(net.first, come, more, sums, units)
            fewer, more = np.int64(0), np.int64(0)


@numba_inner
def role_value(net: Net | QuantizedNet, found: Activations, role: Int) -> float:
    """What the state that was valued last is worth to a role, from 0 to 1."""
    total = _product(net.value, role, found.hidden) + net.value_bias[role]
    if len(net.patterns.starts) > 0:
        total += found.patterns.value[0] if role == 0 else -found.patterns.value[0]
    return np.float64(1.0 / (1.0 + np.exp(-np.float64(total))))


@numba_inner
def move_logit(net: Net | QuantizedNet, found: Activations, move: Int) -> float:
    """Of a move, numbered over the moves of all roles in a row."""
    total = _product(net.policy, move, found.hidden) + net.policy_bias[move]
    return np.float64(total + pattern_logit(net.patterns, move, found.patterns))


@numba_inner
def _product(weights: Floats, row: Int, hidden: Floats) -> np.float32:
    """Of a row of weights and the hidden units."""
    total = np.float32(0.0)
    for unit in range(UNITS):
        total += weights[row, unit] * hidden[unit]
    if weights.shape[1] > UNITS:
        for unit in range(UNITS, MOST_UNITS):
            total += weights[row, unit] * hidden[unit]
    return total

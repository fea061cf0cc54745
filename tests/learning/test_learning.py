"""The net against a plain twin, its gradients against finite differences, and self-play."""

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from ggp.circuit.compile import CompiledGame, compile_game
from ggp.gdl.reader import read_term
from ggp.gdl.rulesheet import Rulesheet, parse_rulesheet
from ggp.gdl.state_machine import Facts
from ggp.gdl.terms import Term, to_text
from ggp.learning.boards import can_use_patterns, find_patterns
from ggp.learning.fitting import (
    FIRST_SQUARE,
    POLICY_RATE,
    SAMPLES,
    VALUE_LOSS_WEIGHT,
    VALUE_RATE,
    Fitting,
    Samples,
    fit,
    make_fitting,
    make_samples,
)
from ggp.learning.inputs import Inputs, find_complemented, find_inputs, find_pairs
from ggp.learning.learner import (
    FIRST_CUT,
    FIRST_RANDOM_SHARE,
    FIRST_TRIAL,
    GROWN_FROM,
    TRIAL,
    Learner,
    _is_better,
    inputs_of,
)
from ggp.learning.net import (
    MOST_UNITS,
    NONE,
    UNITS,
    WEIGHTS,
    Net,
    Symmetries,
    activate,
    activate_changed,
    add_common_moves,
    add_moves,
    arrays_of,
    copied,
    grown,
    make_activations,
    make_net,
    move_logit,
    quantize,
    requantize,
    role_value,
    sum_inputs,
    widened,
)
from ggp.learning.patterns import NO_PATTERN, Patterns
from ggp.learning.self_play import CUTS, RANDOM_SHARE, SelfPlaySettings, make_self_play, play_on
from ggp.learning.symmetries import find_symmetries
from ggp.learning.training import net_problem
from ggp.library import find_rulesheet
from ggp.row_sums import LISTED
from ggp.simulation.evaluate import Batches, pack, unpack
from ggp.simulation.expansion import look, make_expansion
from ggp.simulation.state_machine import CircuitMachine
from tests.gamemaster import games
from tests.learning.nets import assert_equal

pytestmark = [pytest.mark.kernels, pytest.mark.usefixtures("one_clingo")]

Floats = NDArray[np.float64]
EVERY_INPUT = [Inputs(), Inputs(pairs=True), Inputs(moves=True), Inputs(pairs=True, moves=True)]


def shipped(name: str) -> Rulesheet:
    path = find_rulesheet(name)
    return parse_rulesheet(path.read_text(encoding="utf-8"), name)


@pytest.fixture(scope="module")
def tictactoe() -> CompiledGame:
    return compile_game(shipped("tictactoe"))


def random_patterns(facts: int, moves: int) -> Patterns:
    """Of three facts each, a digit of two bits for each, for two turns; for moves two patterns, or none or one."""
    random = np.random.default_rng(5)
    count, weights = 2 * facts, 4**3
    members = [random.permutation(facts)[:3] for _ in range(count)]
    uses = sorted((fact, pattern, 4**at) for pattern, own in enumerate(members) for at, fact in enumerate(own.tolist()))
    of_move = np.stack([random.integers(-1, count, (moves, 2)), random.integers(0, 2, (moves, 2)) * weights], axis=2)
    return Patterns(
        random.integers(0, 2, count).astype(np.int32) * 2,
        np.searchsorted([fact for fact, *_ in uses], np.arange(facts + 1)).astype(np.int32),
        np.array([use for _, *use in uses], np.int32),
        np.array([1, 4], np.int32),
        of_move.astype(np.int32),
        (random.standard_normal(2 * weights) / 9).astype(np.float32),
        (random.standard_normal(2 * weights) / 3).astype(np.float32),
    )


def random_net(facts: int, roles: int, moves: int, inputs: Inputs, units: int = UNITS) -> Net:
    random = np.random.default_rng(3)
    every = [(one, other) for one in range(facts) for other in range(one) if (one * other) % 3 == 1]
    pairs = np.array(every if inputs.pairs else [], np.int32).reshape(-1, 2)
    net = make_net(
        np.where(np.arange(facts) % 5 == 4, -1, np.cumsum(np.arange(facts) % 5 != 4) - 1).astype(np.int32),
        roles,
        moves,
        1,
        complemented=pack(random.random((1, facts)) < 0.3)[0],
        reads_moves=inputs.moves,
        pairs=pairs,
    )
    net = grown(net, units) if units > UNITS else net
    said = len(net.first) - int(net.input_of_fact.max()) - 1  # of moves and pairs
    net.first[len(net.first) - said :] += random.standard_normal((said, units)).astype(np.float32) / 4
    return net._replace(
        first_bias=random.standard_normal(units).astype(np.float32),
        value=(random.standard_normal((roles, units)) / 5).astype(np.float32),
        policy=(random.standard_normal((moves, units)) / 5).astype(np.float32),
        patterns=random_patterns(facts, moves) if roles == 2 else net.patterns,
    )


def as_quantized(net: Net) -> Net:
    """The net as its quantized form is."""
    quantized = quantize(net)
    return net._replace(
        first=quantized.first * quantized.scale[0],
        first_bias=(quantized.first_bias * quantized.scale[0]).astype(np.float32),
    )


def plain_net(net: Net, facts: NDArray[np.bool_], legal: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
    """The sums of facts, values and logits by matrices of float64; facts: (F,); legal: (M,)."""
    inputs = np.zeros(len(net.first))
    opposed, more = plain_patterns(net.patterns, facts)
    facts = facts ^ unpack(net.complemented[np.newaxis], len(facts))[0]
    known = net.input_of_fact >= 0
    inputs[net.input_of_fact[known]] = facts[known]
    for fact, holds in enumerate(facts):
        for at in range(net.first_word[fact], net.first_word[fact + 1]):
            partners = 64 * int(net.partner_word[at]) + np.flatnonzero(unpack(net.partners[at : at + 1, None], 64)[0])
            start = int(net.first_partner[at])
            inputs[net.input_of_pair[start : start + len(partners)]] = holds & facts[partners]
    sums = inputs @ net.first.astype(np.float64) + net.first_bias
    if len(net.input_of_move):
        inputs[net.input_of_move] = legal
    whole = inputs @ net.first.astype(np.float64) + net.first_bias
    hidden = np.maximum(whole, 0)
    of_roles = net.value.astype(np.float64) @ hidden + net.value_bias
    of_roles[0], of_roles[1:] = of_roles[0] + opposed, of_roles[1:] - opposed
    return sums, 1 / (1 + np.exp(-of_roles)), net.policy.astype(np.float64) @ hidden + net.policy_bias + more


def plain_indices(patterns: Patterns, facts: NDArray[np.bool_]) -> NDArray[np.int64]:
    indices = patterns.starts.astype(np.int64)
    for fact in np.flatnonzero(facts):
        for pattern, number in patterns.uses[patterns.first_use[fact] : patterns.first_use[fact + 1]]:
            indices[pattern] += number
    return indices


def plain_patterns(patterns: Patterns, facts: NDArray[np.bool_]) -> tuple[float, Floats]:
    """What they add to the logit of role 0, and to those of moves."""
    indices, logits = plain_indices(patterns, facts), np.zeros(len(patterns.of_move))
    for move, column in np.ndindex(patterns.of_move.shape[:2]):
        pattern, table = patterns.of_move[move, column]
        logits[move] += patterns.policy[table + indices[pattern]] if pattern != NO_PATTERN else 0.0
    turn = max((number for number, fact in enumerate(patterns.turns) if facts[fact]), default=0)
    weights = patterns.value.reshape(max(len(patterns.turns), 1), -1)[turn]
    return float(weights[indices].astype(np.float64).sum()) if len(indices) else 0.0, logits


@pytest.mark.parametrize("units", [UNITS, MOST_UNITS])
@pytest.mark.parametrize("inputs", EVERY_INPUT)
def test_values_and_logits_are_those_of_the_plain_net(inputs: Inputs, units: int) -> None:
    given = random_net(100, 2, 30, inputs, units)
    net, plain = quantize(given), as_quantized(given)
    np.testing.assert_allclose(plain.first, given.first, atol=0.51 * float(net.scale[0]))
    random = np.random.default_rng(1)
    states = random.integers(0, 2**36, (8, 2), np.uint64)
    states[6:] = states[0]
    states[6:, 0] ^= 1 << 17  # state 7 differs from state 0 by a fact, and state 6 from 7 by none
    moves = random.integers(0, 2**31, (8, 1), np.uint64)  # and whether the state is an end
    flags, legal = unpack(states, 100), unpack(moves, 30)
    found, changed = make_activations(), make_activations()
    for row in range(8):
        expected_sums, values, logits = plain_net(plain, flags[row], legal[row])
        sum_inputs(net, states, row, found)
        np.testing.assert_allclose(found.sums[:units] * net.scale[0], expected_sums, atol=1e-4)
        activate(net, states, row, moves, row, found)
        np.testing.assert_allclose([role_value(net, found, role) for role in range(2)], values, atol=1e-5)
        np.testing.assert_allclose([move_logit(net, found, move) for move in range(30)], logits, atol=1e-4)
        for common in (NONE, row, (row + 3) % 8):
            sum_inputs(net, states, (row + 1) % 8, changed)
            indices = changed.patterns.indices.copy()
            if common != NONE:
                add_moves(net, moves, common, changed.sums, units)
            activate_changed(net, states, row, moves, common, states, (row + 1) % 8, changed)
            np.testing.assert_array_equal(changed.hidden, found.hidden)
            np.testing.assert_allclose(changed.patterns.value, found.patterns.value, atol=1e-5)
            np.testing.assert_array_equal(changed.patterns.indices, indices)


def test_what_mostly_holds_is_read_by_its_complement() -> None:
    batches = Batches(compile_game(shipped("fiveinarow")))
    complemented, facts = find_complemented(batches), batches.game.facts
    flags = unpack(complemented[np.newaxis], len(facts))[0]
    names = [to_text(fact) for fact, is_complemented in zip(facts, flags, strict=True) if is_complemented]
    assert len(names) >= 60
    assert all(name.endswith(" b)") for name in names if name.startswith("(cell"))
    net, found = quantize(Learner(batches).net), make_activations()
    np.testing.assert_array_equal(net.complemented, complemented)
    sum_inputs(net, complemented[np.newaxis], 0, found)
    np.testing.assert_array_equal(found.sums[:UNITS], net.first_bias)


def test_more_inputs_may_hold_than_are_listed_at_a_time() -> None:
    facts = 40
    pairs = np.array([(one, two) for one in range(facts) for two in range(one + 1, facts)], np.int32)
    given = make_net(np.arange(facts, dtype=np.int32), 2, 3, 1, pairs=pairs)
    given.first[:] = np.random.default_rng(2).standard_normal(given.first.shape)
    net, found = quantize(given), make_activations()
    states = np.array([[(1 << facts) - 1], [0]], np.uint64)
    sum_inputs(net, states, 0, found)
    assert len(net.first) > 2 * LISTED
    np.testing.assert_array_equal(found.sums[:UNITS], net.first.sum(axis=0, dtype=np.int32))
    for row in (0, 1):  # that many come, or go
        sum_inputs(net, states, 1 - row, found)
        activate_changed(net, states, row, np.zeros((2, 1), np.uint64), NONE, states, 1 - row, found)
        expected = np.maximum(net.first.sum(axis=0, dtype=np.int32), 0) if row == 0 else np.zeros(UNITS)
        np.testing.assert_allclose(found.hidden[:UNITS], expected * net.scale[0], rtol=1e-6)


def test_moves_that_states_have_in_common_are_added_once() -> None:
    moves = 2 * LISTED
    net = quantize(random_net(10, 2, moves, Inputs(moves=True)))
    legal = np.full((4, moves // 64 + 1), 2**64 - 1, np.uint64)
    legal[1, 0], legal[2:, : moves // 64] = 0, 0
    states = np.array([[5], [9], [3], [6]], np.uint64)
    found, changed, expected = make_activations(), make_activations(), make_activations()
    for first, is_common in ((0, True), (1, False)):
        sum_inputs(net, states, 0, expected)
        sum_inputs(net, states, 0, changed)
        common = add_common_moves(net, legal, first, changed.sums)
        assert common == (first if is_common else NONE)
        if is_common:
            add_moves(net, legal, first, expected.sums, UNITS)
        np.testing.assert_array_equal(changed.sums, expected.sums)
        for row in range(4):  # some of which have more moves of their own, or fewer, than are listed at a time
            activate_changed(net, states, row, legal, common, states, 0, changed)
            activate(net, states, row, legal, row, found)
            np.testing.assert_array_equal(changed.hidden, found.hidden)


def test_quantizing_again_follows_the_weights() -> None:
    net = random_net(12, 2, 6, Inputs(pairs=True))
    quantized = quantize(net)
    net.first[:], net.first_bias[:] = net.first * -3, 0.25
    requantize(net, quantized)
    assert_equal(quantized, quantize(net))
    assert abs(quantized.first.astype(np.int64)).max() == 32767
    np.testing.assert_allclose(quantized.first_bias * quantized.scale[0], 0.25, atol=quantized.scale[0])
    net.first[:] = 0.0
    requantize(net, quantized)
    assert not quantized.first.any()


def plain_loss(net: Net, samples: Samples, sample: int) -> float:
    one = slice(sample, sample + 1)
    facts, legal = unpack(samples.states[one], len(net.input_of_fact)), unpack(samples.legal[one], len(net.policy))
    _, values, logits = plain_net(net, facts[0], legal[0])
    start, count = int(samples.policy_start[sample]), int(samples.policy_count[sample])
    moves, shares = samples.moves[start : start + count], samples.shares[start : start + count]
    chosen = logits[moves] - logits[moves].max()
    entropy = -float((shares * (chosen - np.log(np.exp(chosen).sum()))).sum())
    return VALUE_LOSS_WEIGHT * float(((values - samples.values[sample]) ** 2).sum()) + entropy


def one_sample() -> Samples:
    samples = make_samples(1, 1, 2, 4, 16)
    samples.states[0] = 0b1011_0110_1101
    samples.legal[0] = 0b111_0010
    samples.values[0] = 0.9, 0.2
    samples.is_complete[0] = True
    samples.policy_count[0] = 3
    samples.moves[:3], samples.shares[:3] = (1, 4, 5), (0.7, 0.2, 0.1)
    samples.numbers[:2] = 1, 3
    return samples


@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize(("inputs", "units"), [*((one, UNITS) for one in EVERY_INPUT), (EVERY_INPUT[-1], MOST_UNITS)])
def test_gradients_are_finite_differences(name: str, inputs: Inputs, units: int) -> None:
    net, samples = random_net(12, 2, 6, inputs, units), one_sample()
    gradient = gradient_of(make_fitting(copied(net)), samples)
    weights = getattr(net, name).reshape(-1)
    random = np.random.default_rng(0)
    for at in random.choice(len(weights), min(12, len(weights)), replace=False):
        step = 1e-2
        kept = weights[at]
        weights[at] = kept + step
        above = plain_loss(net, samples, 0)
        weights[at] = kept - step
        below = plain_loss(net, samples, 0)
        weights[at] = kept
        assert getattr(gradient, name).reshape(-1)[at] == pytest.approx((above - below) / (2 * step), abs=2e-3)


@pytest.mark.parametrize("name", ["value", "policy"])
def test_weights_of_patterns_follow_their_gradients(name: str) -> None:
    """By Adagrad, once for each pattern that has the weight; patterns without anything in them stay without weight."""
    net, samples = random_net(12, 2, 6, Inputs()), one_sample()
    indices = plain_indices(net.patterns, unpack(samples.states[:1], 12)[0])
    if name == "value":  # in turn 0: fact 1 does not hold, nor does fact 4
        used, rate = indices[indices != net.patterns.starts], VALUE_RATE
    else:
        own = net.patterns.of_move[samples.moves[:3]].reshape(-1, 2)
        own, rate = own[own[:, 0] != NO_PATTERN], POLICY_RATE
        used = indices[own[:, 0]] + own[:, 1]
    before = copied(net)
    fit(make_fitting(net), samples, np.array([1], np.uint64), 1, 1, 0.0)
    weights, changed = getattr(before.patterns, name), getattr(net.patterns, name)
    counts = np.bincount(used, minlength=len(weights))
    assert (counts > 0).sum() > 3
    for at, count in enumerate(counts.tolist()):
        if count > 1 and name == "policy":
            continue  # parts of different gradients
        kept, step = weights[at], 1e-2
        weights[at] = kept + step
        above = plain_loss(before, samples, 0)
        weights[at] = kept - step
        gradient = (above - plain_loss(before, samples, 0)) / (2 * step * max(count, 1))
        weights[at] = kept
        expected = -rate * sum(
            gradient / np.sqrt(FIRST_SQUARE + number * gradient**2) for number in range(1, count + 1)
        )
        assert changed[at] - kept == pytest.approx(expected, rel=0.05, abs=rate * 1e-3)


@pytest.mark.parametrize("inputs", EVERY_INPUT)
def test_the_gradient_of_an_image_is_that_of_the_exchanged_sample(inputs: Inputs) -> None:
    random = np.random.default_rng(4)
    facts, moves = (random.permutation(count).astype(np.int32) for count in (12, 6))
    net, samples, placed = random_net(12, 2, 6, inputs), one_sample(), one_sample()
    placed.states[0] = pack(unpack(samples.states[:1], 12)[:, np.argsort(facts)])
    placed.legal[0] = pack(unpack(samples.legal[:1], 6)[:, np.argsort(moves)])
    placed.values[0] = samples.values[0, ::-1]
    placed.moves[:3] = moves[samples.moves[:3]]
    exchange = Symmetries(facts[np.newaxis], moves[np.newaxis], np.array([[1, 0]], np.int32))
    found = gradient_of(make_fitting(copied(net), exchange), samples)
    expected = gradient_of(make_fitting(copied(net)), placed)
    for name in WEIGHTS:
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-5)


def test_a_wider_net_says_the_same_at_first() -> None:
    net = random_net(12, 2, 6, Inputs(moves=True))
    pairs = np.array([(0, 1), (2, 7), (5, 8)], np.int32)
    complemented, patterns = net.complemented, net.patterns
    plain = make_net(
        net.input_of_fact, 2, 6, 9, complemented=complemented, reads_moves=True, pairs=pairs, patterns=patterns
    )
    wider = widened(net, plain)
    facts, legal = np.ones(12, np.bool_), np.ones(6, np.bool_)
    for one, two in zip(plain_net(net, facts, legal), plain_net(wider, facts, legal), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-5)
    assert inputs_of(wider) == Inputs(pairs=True, moves=True)


def test_a_net_with_more_units_says_the_same_at_first() -> None:
    net = random_net(12, 2, 6, Inputs(pairs=True, moves=True))
    wider, facts, legal = grown(net, MOST_UNITS), np.ones(12, np.bool_), np.ones(6, np.bool_)
    for one, two in zip(plain_net(net, facts, legal)[1:], plain_net(wider, facts, legal)[1:], strict=True):
        np.testing.assert_allclose(one, two, atol=1e-5)
    assert wider.first[: int(net.input_of_fact.max()) + 1, UNITS:].all()
    assert not wider.first[int(net.input_of_fact.max()) + 1 :, UNITS:].any()


def test_a_net_gets_more_units_once_it_has_seen_much(tictactoe: CompiledGame) -> None:
    for known, units in ((GROWN_FROM - 100_000, UNITS), (GROWN_FROM, MOST_UNITS)):
        learner = Learner(Batches(tictactoe), memory_bytes=2**23, known_samples=known)
        learner.begin(Inputs(pairs=True))
        learner.run(map(bool, (0, 0, 1)).__next__)
        assert learner.net.first.shape[1] == units
    other = Learner(Batches(tictactoe), memory_bytes=2**23)
    other.begin(Inputs(pairs=True))
    other.use_net(learner.net)
    assert_equal(learner.net, other.net)
    with pytest.raises(ValueError, match="other inputs"):
        other.use_net(learner.net._replace(first=learner.net.first[1:]))
    with pytest.raises(ValueError, match=f"{UNITS} hidden units, fewer than {MOST_UNITS}"):
        other.use_net(random_net(12, 2, 6, Inputs(pairs=True)))


def test_damaged_pairs_and_patterns_are_no_net(tictactoe: CompiledGame) -> None:
    learner = Learner(Batches(tictactoe), memory_bytes=2**25)
    learner.begin(Inputs(pairs=True))
    arrays = arrays_of(learner.net)
    assert not net_problem(arrays, tictactoe)
    too_many, pairs, strange = len(arrays["partners"]) + 1, "its pairs of facts are none", "is not of this game"
    for name, at, value, problem in (
        ("partner_word", 0, 12, pairs), ("first_word", 1, too_many, pairs), ("partners", 0, 0, pairs),
        ("first_partner", 0, 1, pairs), ("input_of_pair", 0, -1, "a pair has no input"),
        ("patterns.starts", 0, -1, strange), ("patterns.uses", (5, 0), 4000, strange),
        ("patterns.of_move", (0, 0, 1), 10**6, strange), ("patterns.turns", 0, 64, strange),
        ("patterns.value", 9, np.inf, "has values that are not finite"),
    ):  # fmt: skip
        damaged = arrays[name].copy()
        damaged[at] = value
        assert net_problem(arrays | {name: damaged}, tictactoe) in {problem, f"{name} {problem}"}
    shorter = arrays["patterns.policy"][1:]
    assert net_problem(arrays | {"patterns.policy": shorter}, tictactoe).startswith("patterns.policy is float32")


def gradient_of(fitting: Fitting, samples: Samples) -> Net:
    """By a step of Adam that changes nothing: the mean of the gradients becomes a tenth of the gradient."""
    fit(fitting, samples, np.array([1], np.uint64), 1, 1, 0.0)
    mean = fitting.mean
    return mean._replace(**{name: getattr(mean, name) * 10 for name in WEIGHTS})


def test_fitting_learns_a_sample_by_heart() -> None:
    net, samples = make_net(np.arange(12, dtype=np.int32), 2, 6, 1), one_sample()
    fit(make_fitting(net), samples, np.array([1], np.uint64), 400, 4, 2e-3)
    _, values, logits = plain_net(net, unpack(samples.states[:1], 12)[0], unpack(samples.legal[:1], 6)[0])
    shares = np.exp(logits[[1, 4, 5]]) / np.exp(logits[[1, 4, 5]]).sum()
    np.testing.assert_allclose(values, [0.9, 0.2], atol=0.05)
    np.testing.assert_allclose(shares, [0.7, 0.2, 0.1], atol=0.05)


def test_equal_work_gives_equal_nets(tictactoe: CompiledGame) -> None:
    nets = []
    for _ in range(2):
        learner = Learner(Batches(tictactoe), seed=7, memory_bytes=2**23)
        for _ in range(60):
            learner.run_slice(8)
        nets.append(learner.net)
    assert_equal(*nets)
    assert learner.progress().batches > 0


@pytest.mark.unchecked
@pytest.mark.parametrize("inputs", EVERY_INPUT)
def test_tictactoe_is_learned(tictactoe: CompiledGame, inputs: Inputs) -> None:
    """A move that wins at once has most of the policy, and the state after it a high value."""
    batches = Batches(tictactoe)
    symmetries = find_symmetries(shipped("tictactoe"), batches)
    learner = Learner(batches, seed=2, memory_bytes=2**23, symmetries=symmetries)
    learner.begin(inputs)
    while learner.progress().samples < 200_000:
        learner.run_slice(64)
    progress = learner.progress()
    assert progress.matches > 5_000
    assert progress.capped == 0
    machine = CircuitMachine(shipped("tictactoe"), tictactoe)
    state = machine.initial_state
    for move in ("(mark 1 1)", "(mark 2 1)", "(mark 1 2)", "(mark 2 2)"):
        joint = [legal[0] if len(legal) == 1 else read_term(move) for legal in legal_moves(machine, state)]
        state = machine.next_state(state, tuple(joint))
    packed = machine.packed(state)
    assert packed is not None
    found, net, names = make_activations(), learner.net, tictactoe.moves[0]
    expansion = make_expansion(machine.batches)
    look(expansion, packed, 1)
    activate(quantize(net), packed, 0, expansion.legal, 0, found)
    legal = machine.legal_moves(state, machine.roles[0])
    assert max(legal, key=lambda move: move_logit(net, found, names.index(move))) == read_term("(mark 1 3)")
    assert role_value(net, found, 0) > 0.6
    assert role_value(net, found, 1) < 0.4


def test_symmetries_from_the_cache_are_fitted_by_the_same_kernel(tictactoe: CompiledGame) -> None:
    """Their arrays are read-only, which would make it another function, that rounds in another way."""
    symmetries = find_symmetries(shipped("tictactoe"), Batches(tictactoe))
    assert symmetries is not None
    for array in symmetries:
        array.flags.writeable = False
    net = Learner(Batches(tictactoe), symmetries=symmetries).net
    assert all(each.flags.writeable for each in make_fitting(net, symmetries).symmetries)


def legal_moves(machine: CircuitMachine, state: Facts) -> list[tuple[Term, ...]]:
    return [machine.legal_moves(state, role) for role in machine.roles]


@pytest.mark.parametrize("text", [games.GUESSING], ids=["chance or percepts"])
def test_other_kinds_of_games_are_played(text: str) -> None:
    game = compile_game(parse_rulesheet(text, "game"))
    learner = Learner(Batches(game), memory_bytes=2**23)
    assert learner.can_learn
    for _ in range(20):
        learner.run_slice(4)
    assert learner.progress().steps > 0


def test_simultaneous_moves_are_learned() -> None:
    game = compile_game(shipped("biddingtictactoe"))
    learner = Learner(Batches(game), memory_bytes=2**23, settings=SelfPlaySettings(opening=2))
    for _ in range(60):
        learner.run_slice(8)
    progress = learner.progress()
    assert progress.matches > 0
    assert progress.batches > 0
    assert np.isfinite(progress.value_error)
    assert learner.samples > 0


CELLS = [(row, column) for row in "123" for column in "123"]
BLUNDERS = """
    (role x) (role o) (init (at 0))
    (<= (legal x left) (true (at 0))) (<= (legal x right) (true (at 0)))
    (<= (legal x take) (true (at 1))) (<= (legal x pass) (true (at 1)))
    (<= (legal x wait) (true (at 2))) (<= (legal o wait) (not (true (at 2))))
    (<= (legal o left) (true (at 2))) (<= (legal o right) (true (at 2)))
    (<= (next (at 1)) (true (at 0))) (<= (next (at 2)) (does x pass))
    (<= (next taken) (does x take)) (<= (next lost) (true (at 2)))
    (<= terminal (true taken)) (<= terminal (true lost))
    (<= (goal x 100) (true taken)) (<= (goal x 0) (true lost))
    (<= (goal o 0) (true taken)) (<= (goal o 100) (true lost))
"""


def test_what_comes_of_a_random_move_is_no_outcome_of_earlier_states() -> None:
    """Half of the matches are lost by a random pass, where taking wins."""
    game = compile_game(parse_rulesheet(BLUNDERS, "blunders"))
    batches = Batches(game)
    samples = make_samples(batches.initial.shape[1], 0, 2, 8192, 8192)
    settings = SelfPlaySettings(random_share=1.0, opening=0, outcome=1.0, cuts=True)
    net = make_net(find_inputs(game), 2, sum(map(len, game.moves)), 1)
    play_on(make_self_play(batches, settings, 8192, 3), quantize(net), samples, 20)
    known = samples.is_complete
    facts, values = unpack(samples.states[known], len(game.facts)), samples.values[known]
    chooses, lost = (facts[:, game.facts.index(read_term(f"(at {step})"))] for step in (1, 2))
    assert chooses.sum() > 1000
    assert (values[chooses] == (1.0, 0.0)).all()
    assert lost.sum() > 300
    assert (values[lost] == (0.0, 1.0)).all()


@pytest.mark.parametrize("inputs", EVERY_INPUT)
def test_a_state_is_worth_what_its_best_successor_is(tictactoe: CompiledGame, inputs: Inputs) -> None:
    """To both roles, by the plain net or at the end by the goals, where outcomes have no share."""
    batches, moves = Batches(tictactoe), sum(map(len, tictactoe.moves))
    net = random_net(len(tictactoe.facts), 2, moves, inputs)
    plain, noop = as_quantized(net), [of_role.index("noop") for of_role in tictactoe.moves]
    legal_words = (moves + 63) // 64 if inputs.moves else 0
    samples = make_samples(batches.initial.shape[1], legal_words, 2, 8192, 80_000)
    play_on(make_self_play(batches, SelfPlaySettings(outcome=0.0), 8192, 3), quantize(net), samples, 60)
    ends, others = 0, 0
    for number in np.flatnonzero(samples.is_complete)[::7]:
        start, count = samples.policy_start[number], samples.policy_count[number]
        role, first = (0, 0) if samples.moves[start] < len(tictactoe.moves[0]) else (1, len(tictactoe.moves[0]))
        joint = np.tile(np.array(noop, np.int32), (count, 1))
        joint[:, role] = samples.moves[start : start + count] - first
        after = batches.next_states(np.repeat(samples.states[number : number + 1], count, axis=0), joint)
        legal, terminal = batches.look(after)
        goals = batches.goals(after) / 100
        values = [
            goals[row] if terminal[row] else plain_net(plain, facts, could)[1]
            for row, (facts, could) in enumerate(
                zip(unpack(after, len(tictactoe.facts)), unpack(legal, moves), strict=True)
            )
        ]
        best = max(range(count), key=lambda row: values[row][role])
        np.testing.assert_allclose(samples.values[number], values[best], atol=1e-4)
        ends, others = ends + bool(terminal[best]), others + (not terminal[best])
    assert ends > 50
    assert others > 100


def test_of_many_moves_some_are_looked_at_and_those_first_that_the_policy_favours(tictactoe: CompiledGame) -> None:
    batches = Batches(tictactoe)
    net = make_net(find_inputs(tictactoe), 2, sum(map(len, tictactoe.moves)), 1)
    favoured = tictactoe.moves[0].index(read_term("(mark 2 2)"))
    net.policy_bias[favoured] = 50.0
    samples = make_samples(batches.initial.shape[1], 0, 2, 8192, 40_000)
    play_on(make_self_play(batches, SelfPlaySettings(candidates=4), 8192, 3), quantize(net), samples, 40)
    facts = unpack(samples.states, len(tictactoe.facts))
    cells = [tictactoe.facts.index(("cell", *cell, "b")) for cell in CELLS]
    on_turn, free = facts[:, tictactoe.facts.index(read_term("(control xplayer)"))], facts[:, cells]
    found, left_out = 0, 0
    for number in range(int(samples.numbers[SAMPLES])):
        start, count = samples.policy_start[number], samples.policy_count[number]
        listed = samples.moves[start : start + count].tolist()
        legal = int(free[number].sum())
        assert count == min(legal, 4)
        assert len(set(listed)) == count
        if on_turn[number]:
            assert {tictactoe.moves[0][move] for move in listed} <= {
                ("mark", *cell) for cell, is_free in zip(CELLS, free[number], strict=True) if is_free
            }
            assert not free[number, 4] or favoured in listed
            found += bool(free[number, 4])
            left_out += legal > count
    assert found > 100
    assert left_out > 100


def test_random_moves_cut_traces_later_and_are_rarer_before(tictactoe: CompiledGame) -> None:
    for known, cuts, share in ((0, False, FIRST_RANDOM_SHARE), (FIRST_CUT, True, SelfPlaySettings().random_share)):
        learner = Learner(Batches(tictactoe), memory_bytes=2**23, known_samples=known)
        learner.run_slice(1)
        assert learner._chosen.play.knobs[[CUTS, RANDOM_SHARE]].tolist() == [cuts, share]
    learner = Learner(Batches(tictactoe), memory_bytes=2**23, settings=SelfPlaySettings(random_share=0.0))
    learner.run_slice(1)
    assert learner._chosen.play.knobs[RANDOM_SHARE] == 0.0


def test_a_net_that_reads_moves_needs_more_than_half_of_the_points() -> None:
    for pairs, expected in (
        ((0, 0, 0, 0, 0), False),
        ((0, 0, 256, 0, 0), False),
        ((10, 0, 200, 0, 10), False),
        ((10, 0, 200, 1, 10), True),
        ((100, 0, 0, 0, 99), False),
        ((0, 0, 0, 0, 1), True),
    ):
        assert _is_better(np.array(pairs)) == expected


@pytest.mark.unchecked
@pytest.mark.parametrize("wins", [True, False])
def test_the_net_that_plays_better_goes_on(monkeypatch: pytest.MonkeyPatch, *, wins: bool) -> None:
    """Captures are an obligation in draughts, so moves tell much."""
    for name, successors in (("FIRST_TRIAL", FIRST_TRIAL), ("TRIAL", TRIAL)):
        monkeypatch.setattr(f"ggp.learning.learner.{name}", successors // (5 if wins else 20))
    if not wins:
        monkeypatch.setattr("ggp.learning.learner.LEAST_SCORE", 1.0)
    learner = Learner(Batches(compile_game(shipped("draughts"))), seed=3)
    assert learner.inputs is None
    assert learner.state().keys() == {"inputs", "symmetries.facts", "symmetries.moves", "symmetries.roles"}
    while learner.inputs is None:
        learner.run_slice(64)
    assert learner.inputs == Inputs(pairs=True, moves=wins)
    assert inputs_of(learner.net) == learner.inputs
    before = learner.samples
    for _ in range(20):
        learner.run_slice(64)
    assert learner.samples > before


@pytest.mark.parametrize(("inputs", "known"), [*((one, 0) for one in EVERY_INPUT), (EVERY_INPUT[-1], GROWN_FROM)])
def test_learning_goes_on_from_its_state(tictactoe: CompiledGame, inputs: Inputs, known: int) -> None:
    symmetries = find_symmetries(shipped("tictactoe"), Batches(tictactoe))
    assert symmetries is not None
    whole = Learner(Batches(tictactoe), seed=4, memory_bytes=2**23, symmetries=symmetries, known_samples=known)
    part = Learner(Batches(tictactoe), seed=4, memory_bytes=2**23)
    whole.begin(inputs)
    assert whole.grow_when_due() == (known > 0)
    for _ in range(40):
        whole.run_slice(8)
    part.restore(whole.state())
    assert part.inputs == inputs
    for learner in (whole, part):
        for _ in range(40):
            learner.run_slice(8)
    assert_equal(whole.net, part.net)
    undecided = Learner(Batches(tictactoe), seed=4, memory_bytes=2**23, symmetries=symmetries)
    part.restore(undecided.state())
    assert part.inputs is None
    assert part.samples == 0
    part.restore(whole.state())
    state = part.state()
    other = np.array([int(not inputs.pairs), int(inputs.moves)])
    twice = state["symmetries.roles"].copy()
    twice[-1] = twice[-1, 0]
    for wrong in (
        {},
        state | {"inputs": np.array([5])},
        state | {"inputs": other},
        state | {"symmetries.roles": twice},
        state | {"symmetries.facts": symmetries.facts[:1]},
    ):
        with pytest.raises(ValueError, match=r"missing|not those|not float32|not uint64|symmetries are none"):
            part.restore(wrong)


def test_pairs_are_facts_that_a_rule_reads_together() -> None:
    """Those of one body, and those that make a move legal with those that it is done in."""
    text = """
    (role r) (init a) (init b) (init c) (init d) (init e)
    (legal r wait)
    (<= (legal r go) (true a) (true b))
    (<= (next a) (true a) (does r wait)) (<= (next b) (true b) (does r wait)) (<= (next d) (true c) (not (true d)))
    (<= (next e) (true e) (does r wait))
    (<= (next c) (does r go) (true e))
    (<= terminal (not (true a)))
    (<= (goal r 100) (true c)) (<= (goal r 0) (not (true c)))
    """
    game = compile_game(parse_rulesheet(text, "pairs"))
    names = [str(fact) for fact in game.facts]
    pairs = {"".join(sorted(names[fact] for fact in pair)) for pair in find_pairs(game).tolist()}
    assert {"ab", "cd", "ae", "be"} <= pairs
    assert "bd" not in pairs


def test_patterns_are_the_surroundings_of_cells_and_lines_through_them() -> None:
    batches = Batches(compile_game(shipped("gomoku")))
    game, patterns = batches.game, find_patterns(batches.game)
    assert can_use_patterns(batches, patterns)
    assert [to_text(game.facts[fact]) for fact in patterns.turns] == ["(control black)", "(control white)"]
    assert len(patterns.starts) == 15 * 15 * 5
    stones = {(8, 8): "black", (8, 9): "white", (7, 7): "white", (8, 12): "black"}
    names = [f"(cell {'abcdefghijklmno'[row - 1]} {column} {role})" for (row, column), role in stones.items()]
    indices = plain_indices(patterns, np.isin([to_text(fact) for fact in game.facts], names)).reshape(15, 15, 5)

    def content(row: int, column: int) -> int:
        is_outside = not (1 <= row <= 15 and 1 <= column <= 15)
        return 3 if is_outside else {"black": 1, "white": 2}.get(stones.get((row, column), ""), 0)

    first = 0
    square = [(row, column) for row in (-1, 0, 1) for column in (-1, 0, 1)]
    lines = [[(down * at, across * at) for at in range(-3, 4)] for down, across in ((0, 1), (1, 0), (1, 1), (1, -1))]
    for number, shape in enumerate([square, *lines]):
        for row, column in ((8, 8), (1, 1), (15, 13), (8, 10), (7, 7)):
            digits = [content(row + down, column + across) for down, across in shape]
            expected = first + sum(digit * 4**at for at, digit in enumerate(digits))
            assert indices[row - 1, column - 1, number] == expected
        first += 4 ** len(shape)
    moves = [to_text(move) for move in game.moves[0]]
    own = patterns.of_move[moves.index("(place c 4)")]
    assert own[:, 0].tolist() == [5 * (2 * 15 + 3) + number for number in range(5)]
    other = patterns.of_move[len(moves) + [to_text(move) for move in game.moves[1]].index("(place c 4)")]
    assert (other[:, 0] == own[:, 0]).all()
    assert not np.intersect1d(other[:, 1], own[:, 1]).size  # one table for each role
    assert (patterns.of_move[moves.index("noop")] == [NO_PATTERN, 0]).all()


@pytest.mark.parametrize(
    ("name", "has_board", "is_used"),
    [
        ("hex7", True, True),  # stones stay
        ("connectfour", True, True),  # moves name no cell
        ("reversi", True, False),  # turned over
        ("breakthrough", True, False),  # moved
        ("draughts", False, False),  # four kinds of pieces
        ("dotsandboxes", True, False),  # most steps close no box
        ("nim", True, False),  # heaps and how many are left look like a board, whose contents change
        ("tictactoe3", False, False),  # three roles
    ],
)
def test_patterns_are_used_where_stones_stay(name: str, *, has_board: bool, is_used: bool) -> None:
    batches = Batches(compile_game(shipped(name)))
    patterns = find_patterns(batches.game)
    assert (len(patterns.starts) > 0, can_use_patterns(batches, patterns)) == (has_board, is_used)
    assert (len(Learner(batches, memory_bytes=2**25).net.patterns.starts) > 0) == is_used
    assert not len(Learner(batches, memory_bytes=2**23).net.patterns.starts)  # there is no room for them


@pytest.mark.parametrize(
    ("board", "size"),
    [
        ("(cell ?x ?y ?r)", (4, 5)),
        ("(owns ?r ?x ?y)", (4, 5)),  # where coordinates stand does not matter
        ("(?r ?x ?y)", (4, 5)),
        ("(cell ?r ?x)", None),  # one coordinate
    ],
)
def test_boards_are_found_by_two_coordinates(board: str, size: tuple[int, int] | None) -> None:
    def fact(role: str, x: object, y: str) -> str:
        return board.replace("?x", str(x)).replace("?y", y).replace("?r", role)

    text = ["(role a) (role b) (init (control a))"]
    for (role, other), x, y in product((("a", "b"), ("b", "a")), range(1, 5), "cdefg"):
        own, theirs, move = fact(role, x, y), fact(other, x, y), f"(does {role} (put {x} {y}))"
        text += [
            f"(<= (legal {role} (put {x} {y})) (true (control {role})) (not (true {own})) (not (true {theirs})))",
            f"(<= (next {own}) {move}) (<= (next {own}) (true {own}))",
        ]
    for role, other in (("a", "b"), ("b", "a")):
        text += [
            f"(<= (legal {role} noop) (true (control {other}))) (<= (next (control {role})) (true (control {other})))",
            f"(<= (goal {role} 100) (true {fact(role, 1, 'c')}))",
            f"(<= (goal {role} 0) (not (true {fact(role, 1, 'c')})))",
        ]
    text.append(f"(<= terminal (true {fact('a', 4, 'g')}))")
    patterns = find_patterns(compile_game(parse_rulesheet("\n".join(text), "board")))
    assert len(patterns.starts) == (5 * size[0] * size[1] if size else 0)


def test_facts_that_never_change_are_no_inputs(tictactoe: CompiledGame) -> None:
    inputs = find_inputs(tictactoe)
    assert (inputs[tictactoe.constants >= 0] == -1).all()
    assert sorted(inputs[inputs >= 0]) == list(range((inputs >= 0).sum()))

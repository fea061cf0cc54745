"""The circuit of each shipped game on many states at once, against the interpreter and published counts."""

from functools import cache
from itertools import islice

import numpy as np
import pytest

from ggp.circuit.compile import compile_game
from ggp.gdl.rulesheet import Rulesheet, parse_rulesheet
from ggp.library import find_rulesheet
from ggp.simulation import perft as perft_module
from ggp.simulation.evaluate import Batches, pack, unpack
from ggp.simulation.perft import STEPS_AT_ONCE, layers, perft
from ggp.simulation.state_machine import CircuitMachine
from tests.circuit.agreement import Pair, batch_differences, differences, make_pair, pack_states, some_samples
from tests.games.helpers import FIRST_GAMES

pytestmark = pytest.mark.kernels


def shipped(name: str) -> Rulesheet:
    return parse_rulesheet(find_rulesheet(name).read_text(encoding="utf-8"), name)


@cache
def pair_of(name: str) -> Pair:
    return make_pair(shipped(name))


@pytest.mark.parametrize("name", FIRST_GAMES)
def test_random_matches_are_the_same_one_by_one(name: str) -> None:
    pair = pair_of(name)
    assert pair.circuit.roles == pair.interpreter.roles
    assert pair.circuit.initial_state == pair.interpreter.initial_state
    for sample in some_samples(pair.interpreter, 1, 50):
        assert list(differences(pair.circuit, pair.interpreter, sample)) == []


@pytest.mark.parametrize(("name", "count"), [(name, 40) for name in FIRST_GAMES] + [("tictactoe", 1100)])
def test_random_matches_are_the_same_side_by_side(name: str, count: int) -> None:
    pair = pair_of(name)
    found = some_samples(pair.interpreter, 2, count)
    assert list(batch_differences(pair.compiled, pair.interpreter, found)) == []


def test_batches_of_every_size() -> None:
    pair = pair_of("tictactoe")
    batches = Batches(pair.compiled)
    states = pack_states(pair.compiled, [sample.state for sample in some_samples(pair.interpreter, 3, 1100)])
    legal, terminal = batches.look(states)
    for size in (0, 1, 63, 64, 65, 511, 512, 513, 1025):
        part = np.ascontiguousarray(states[-size:]) if size else states[:0]
        assert np.array_equal(batches.legal(part), legal[len(legal) - size :])
        assert np.array_equal(batches.terminal(part), terminal[len(legal) - size :])
        assert batches.goals(part).shape == (size, 2)


def test_what_has_the_wrong_form_is_refused() -> None:
    batches = Batches(compile_game(shipped("tictactoe")))
    moves = np.zeros((1, 2), np.int32)
    with pytest.raises(ValueError, match="states have shape"):
        batches.look(np.zeros((1, 2), np.uint64))
    with pytest.raises(ValueError, match="states have shape"):
        batches.look(batches.initial.astype(np.int64))
    with pytest.raises(ValueError, match="moves have shape"):
        batches.next_states(batches.initial, moves[:, :1])
    with pytest.raises(ValueError, match="a move has a number"):
        batches.next_states(batches.initial, moves + 99)
    assert np.array_equal(batches.next_states(batches.initial, moves), batches.next_states(batches.initial, moves))


def test_bits_are_packed_and_unpacked() -> None:
    random = np.random.default_rng(5)
    for count in (1, 7, 8, 64, 65, 200):
        flags = random.random((9, count)) < 0.5
        packed = pack(flags)
        assert packed.shape == (9, -(-count // 64))
        assert all(
            int(packed[row, at // 64]) >> at % 64 & 1 == flags[row, at] for row in range(9) for at in range(count)
        )
        assert np.array_equal(unpack(packed, count), flags)


@pytest.mark.parametrize("at_once", [1, 10, STEPS_AT_ONCE])
def test_perft_in_portions(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pair = pair_of("biddingtictactoe")
    monkeypatch.setattr(perft_module, "STEPS_AT_ONCE", at_once)
    assert perft(pair.circuit, 2) == perft(pair.interpreter, 2)


STUCK = """
(role r) (role s) (init (n 0)) (<= (next (n 1)) (true (n 0)) (does r a)) (<= (next (n 0)) (true (n 0)) (does r b))
(legal r a) (legal r b) (<= (legal s c) (true (n 0))) (<= terminal (true (n 2))) (goal r 0) (goal s 0)
"""


def test_perft_where_a_role_has_no_move() -> None:
    pair = make_pair(parse_rulesheet(STUCK))
    assert perft(pair.circuit, 4) == perft(pair.interpreter, 4) == (2, 2, 2, 2)


ENDLESS = "(role r) (init on) (next on) (legal r a) (legal r b) (legal r c) (<= terminal (not (true on))) (goal r 0)"


def test_counts_beyond_64_bits() -> None:
    rulesheet = parse_rulesheet(ENDLESS)
    machine = CircuitMachine(rulesheet, compile_game(rulesheet))
    assert list(islice(layers(machine), 60)) == [3**depth for depth in range(1, 61)]

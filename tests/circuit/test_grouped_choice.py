"""A choice by groups of moves: the same move as without them, and what the groups say of several moves."""

from itertools import pairwise
from random import Random
from typing import NamedTuple

import numpy as np
import pytest

from ggp.cache import Cache
from ggp.circuit.choice import choose_move, random_bits
from ggp.circuit.compile import compile_game
from ggp.circuit.grouped_choice import Grouping, any_done, choose_grouped, find_grouping, group_moves, moves_done
from ggp.circuit.network import Literals, Loops, Network, add_input, both, check_capacity, make_network
from ggp.circuit.schedule import make_program
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.gdl.terms import Term
from ggp.kernel import LANES, aligned_words
from ggp.simulation.evaluate import join_programs, run_program
from tests.circuit.test_choice import Flags, packed, unpacked
from tests.simulation.games import PAIRS

pytestmark = pytest.mark.kernels


class Built(NamedTuple):
    """Moves of a network, each the AND of inputs; the rows of words are false, inputs, random bits."""

    network: Network
    inputs: int
    legal: Literals
    random: Literals


def build(needs: list[list[int]], inputs: int) -> Built:
    """needs: the inputs that each move needs; a negative number is the complement of the input before it."""
    network = make_network(1_000_000)
    bits = random_bits(len(needs))
    literals = [int(add_input(network, number)) for number in range(inputs + bits)]
    legal = np.ones(len(needs), np.int64)
    for move, own in enumerate(needs):
        for need in own:
            legal[move] = both(network, int(legal[move]), literals[need] if need >= 0 else literals[~need] ^ 1)
    return Built(network, inputs, legal, np.array(literals[inputs:], np.int64))


def values(built: Built, outputs: list[int], random: Random) -> Flags:
    """(outputs, 512) what these literals are for random inputs and random bits."""
    check_capacity(built.network)
    size, given = int(built.network.size[0]), built.inputs + len(built.random)
    row_of_input = np.full(size, -1, np.int32)
    row_of_input[1 : 1 + given] = 1 + np.arange(given)
    program = make_program(
        built.network.left[:size], built.network.right[:size], Loops(np.zeros(0, np.int32), np.zeros(0, np.int32)),
        np.array(outputs, np.int32), row_of_input, np.arange(1 + given, 1 + given + len(outputs), dtype=np.int32),
        1 + given + len(outputs),
    )  # fmt: skip
    words = aligned_words(program.rows)
    drawn = np.random.default_rng(random.getrandbits(32))
    words[1 : 1 + given] = packed(drawn.random((given, LANES)) < random.choice((0.3, 0.5, 0.8)))
    run_program(words, join_programs((program,)), 0)
    return unpacked(words[program.outputs])


def random_moves(random: Random, groups: int, slots: int) -> tuple[Grouping, list[list[int]], int]:
    """Moves in random groups, which have whole blocks of slots; each needs inputs of its group, its slot, and others."""
    group, slot, needs = [], [], []
    inputs = groups + slots + 6
    cuts = sorted(random.sample(range(slots), random.randint(0, slots - 1)))
    blocks = [list(range(start, end)) for start, end in pairwise([0, *cuts, slots]) if start < end]
    for at in range(groups):
        own = [at] if random.random() < 0.8 else []
        for block in random.sample(blocks, random.randint(1, len(blocks))):
            for place in block:
                extra = random.sample(range(groups + slots, inputs), random.choice((0, 0, 0, 0, 1, 3)))
                shared = [groups + place] if random.random() < 0.95 else []
                group.append(at)
                slot.append(place)
                needs.append([*own, *shared, *(need if random.random() < 0.7 else ~need for need in extra)])
    order = np.lexsort((slot, group))
    grouping = Grouping(np.array(group, np.int32)[order], np.array(slot, np.int32)[order])
    return grouping, [needs[at] for at in order], inputs


@pytest.mark.parametrize("seed", range(16))
def test_the_same_move_is_done_as_without_groups(seed: int) -> None:
    random = Random(seed)
    grouping, needs, inputs = random_moves(random, random.choice((1, 2, 5, 11, 40)), random.choice((1, 3, 8, 25)))
    if len(needs) < 2:
        needs, grouping = [*needs, []], Grouping(np.array([0, 1], np.int32), np.array([0, 0], np.int32))
    built = build(needs, inputs)
    possible = np.array(sorted(random.sample(range(len(needs)), random.randint(2, len(needs)))))
    bits = built.random[: random_bits(len(possible))]
    choice, able = choose_grouped(built.network, built.legal, possible, grouping, bits)
    by_group = moves_done(built.network, choice)
    alone, anything = choose_move(built.network, built.legal[possible], bits)
    sets = [np.array(sorted(random.sample(range(len(possible)), random.randint(0, len(possible))))) for _ in range(8)]
    sets += [np.flatnonzero(choice.moves.group == one) for one in range(len(choice.group))]
    sets += [np.flatnonzero(choice.moves.slot == one) for one in range(len(choice.slot))]
    asked = [any_done(built.network, choice, moves.astype(np.int64)) for moves in sets]
    found = values(built, [able, anything, *by_group.tolist(), *alone.tolist(), *asked], random)
    count = len(possible)
    assert np.array_equal(found[0], found[1])
    lanes = found[0]
    assert lanes.any()
    assert np.array_equal(found[2 : 2 + count, lanes], found[2 + count : 2 + 2 * count, lanes])
    assert (found[2 : 2 + count, lanes].sum(axis=0) == 1).all()
    for moves, says in zip(sets, found[2 + 2 * count :], strict=True):
        assert np.array_equal(says[lanes], found[2 + moves.astype(np.int64)][:, lanes].any(axis=0)), moves


def test_moves_are_grouped_by_their_first_arguments() -> None:
    names = sorted((f"{x}", f"{y}", f"{z}") for x in range(20) for y in range(20) for z in range(40))
    moves: list[Term] = [("put", *name) for name in names]
    found = find_grouping([*moves, "wait"])
    assert found is not None
    assert found.group.tolist() == [*(at // 40 for at in range(len(moves))), 400]
    assert [moves[at][3] for at in range(40)] == sorted(str(z) for z in range(40))
    assert found.slot[40:80].tolist() == found.slot[:40].tolist()
    assert find_grouping(moves[:100]) is None
    assert find_grouping([("put", str(number)) for number in range(5000)]) is None
    assert find_grouping([]) is None


def test_what_the_next_state_asks_of_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggp.circuit.grouped_choice.FEWEST", 0)
    compiled = compile_game(parse_rulesheet(PAIRS), cache=Cache(None))
    found = group_moves(compiled.circuit, compiled.moves)
    assert found is not None
    asked = found.asked
    names = [(role, move) for role, own in zip(compiled.roles, compiled.moves, strict=True) for move in own]
    sets = {frozenset(names[move] for move in part) for part in np.split(asked.moves, asked.first[1:-1])}
    for role in "ab":
        for number in "123456":
            ending = {(role, ("mark", x, y, number)) for x in "123456" for y in "123456"}
            assert any(ending <= part for part in sets), (role, number)
    monkeypatch.setattr("ggp.circuit.grouped_choice.FEWEST", 1000)
    assert group_moves(compiled.circuit, compiled.moves) is None

"""A choice by groups of moves: the same move as without them, and what the groups say of several moves."""

from itertools import pairwise, product
from random import Random
from typing import NamedTuple

import numpy as np
import pytest

from ggp.cache import Cache
from ggp.circuit.choice import choose_move, random_bits
from ggp.circuit.compile import compile_game
from ggp.circuit.grouped_choice import Grouping, any_done, choose_grouped, find_disjunctions, find_groupings, moves_done
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
    """Moves in random groups of whole blocks of slots; each needs inputs of its group, its slot, and others."""
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
def test_the_same_move_is_done_as_without_groups(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggp.circuit.grouped_choice.MOST_RESTS", 1)
    monkeypatch.setattr("ggp.circuit.grouped_choice.FEWEST", 0.01)
    random = Random(seed)
    grouping, needs, inputs = random_moves(random, random.choice((1, 2, 5, 11, 40)), random.choice((1, 3, 8, 25)))
    if len(needs) < 2:
        needs, grouping = [*needs, []], Grouping(np.array([0, 1], np.int32), np.array([0, 0], np.int32))
    built = build(needs, inputs)
    possible = np.array(sorted(random.sample(range(len(needs)), random.randint(2, len(needs)))))
    bits = built.random[: random_bits(len(possible))]
    shuffled = np.array(random.sample(range(len(possible)), len(possible)))  # moves in another order than their groups
    alone, anything = choose_move(built.network, built.legal[possible], bits)
    outputs, sets = [anything, *alone.tolist()], []
    for numbers in (np.arange(len(possible)), shuffled):
        found = choose_grouped(built.network, built.legal, possible[numbers], [grouping], bits)
        assert found is not None
        choice, able = found
        done = np.zeros(len(possible), np.int64)
        done[numbers] = moves_done(built.network, choice)
        sets += [random.sample(range(len(possible)), random.randint(0, len(possible))) for _ in range(8)]
        sets += [numbers[choice.moves.group == one].tolist() for one in range(len(choice.group))]
        sets += [numbers[choice.moves.slot == one].tolist() for one in range(len(choice.slot))]
        place = np.argsort(numbers)
        asked = [any_done(built.network, choice, place[own].astype(np.int64)) for own in sets]
        outputs += [able, *done.tolist(), *asked]
    flags, at = values(built, outputs, random), 0
    lanes, alone_done = flags[0], flags[1 : 1 + len(possible)]
    assert lanes.any()
    at = 1 + len(possible)
    count = len(sets) // 2
    for own_sets in (sets[:count], sets):
        able_lanes, done_lanes = flags[at], flags[at + 1 : at + 1 + len(possible)]
        assert np.array_equal(able_lanes, lanes)
        assert np.array_equal(done_lanes[:, lanes], alone_done[:, lanes])
        at += 1 + len(possible)
        for own, says in zip(own_sets, flags[at : at + len(own_sets)], strict=True):
            assert np.array_equal(says[lanes], alone_done[own][:, lanes].any(axis=0)), own
        at += len(own_sets)


def test_moves_are_grouped_by_some_of_their_arguments() -> None:
    names = sorted((str(x), str(y), str(z)) for x in range(20) for y in range(20) for z in range(40))
    moves: list[Term] = [("put", *name) for name in names]
    found = find_groupings([*moves, "wait"])
    sizes = [(int(each.group.max()) + 1, int(each.slot.max()) + 1) for each in found]
    assert sizes == [(401, 41), (801, 21), (801, 21), (21, 801), (21, 801), (41, 401)]
    assert found[0].group.tolist() == [*(at // 40 for at in range(len(moves))), 400]
    assert found[0].slot[40:80].tolist() == found[0].slot[:40].tolist() == list(range(40))
    for each in found:
        assert len(set(zip(each.group.tolist(), each.slot.tolist(), strict=True))) == len(moves) + 1
    assert find_groupings(moves[:100]) == []
    assert find_groupings([("put", str(number)) for number in range(5000)]) == []
    assert find_groupings([("put", *bits) for bits in product("01", repeat=8)])
    assert find_groupings([("put", *bits) for bits in product("01", repeat=12)]) == []  # too many sets of arguments
    assert find_groupings([("put", *bits, *"xyz" * 9) for bits in product("01", repeat=8)]) == []
    assert find_groupings([]) == []


def test_no_groups_where_rests_are_many() -> None:
    needs = [[at, 20 + (at + slot) % 7 + 7 * slot] for at in range(20) for slot in range(20)]
    built = build(needs, 200)
    numbers = np.arange(400, dtype=np.int32)
    good, bad = Grouping(numbers // 20, numbers % 20), Grouping(numbers % 20, numbers // 20)
    found = choose_grouped(built.network, built.legal, numbers.astype(np.int64), [bad, good], built.random)
    assert found is None
    needs = [[at, 20 + slot] for at in range(20) for slot in range(20)]
    built = build(needs, 40)
    found = choose_grouped(built.network, built.legal, numbers.astype(np.int64), [good], built.random)
    assert found is not None


def test_what_the_next_state_asks_of_moves() -> None:
    compiled = compile_game(parse_rulesheet(PAIRS), cache=Cache(None))
    asked = find_disjunctions(compiled.circuit)
    names = [(role, move) for role, own in zip(compiled.roles, compiled.moves, strict=True) for move in own]
    sets = {frozenset(names[move] for move in part) for part in np.split(asked.moves, asked.first[1:-1])}
    for role in "ab":
        for number in "123456":
            ending = {(role, ("mark", x, y, number)) for x in "123456" for y in "123456"}
            assert any(ending <= part for part in sets), (role, number)

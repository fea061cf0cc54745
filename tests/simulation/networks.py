"""Random networks, and what they say evaluated the slow way: a word is an integer of 512 bits, one for each lane."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from ggp.circuit.network import INPUT, LOOP, Ids, Loops
from ggp.kernel import LANES, Words

ALL = (1 << LANES) - 1


@dataclass(frozen=True, slots=True, eq=False)
class Sketch:
    """A network with outputs; its inputs are nodes 1 … inputs."""

    inputs: int
    left: Ids
    right: Ids
    loops: Loops
    outputs: Ids


def number_of(word: Words) -> int:
    return int.from_bytes(np.ascontiguousarray(word).tobytes(), "little")


def put_number(words: Words, row: int, number: int) -> None:
    words[row] = np.frombuffer(number.to_bytes(LANES // 8, "little"), np.uint64)


def random_sketch(random: Random, inputs: int, gates: int, components: int = 0) -> Sketch:
    """Gates of all kinds; in each component of loops the gates above its loop nodes rise or fall with them."""
    nodes = [(INPUT, INPUT), *((INPUT, number) for number in range(inputs))]
    results: list[int] = []
    owners: list[int] = []
    for component in range(components):
        count = random.randint(1, 4)
        sides = {}  # of the nodes that depend on the component: whether they fall
        free = len(nodes)
        for _ in range(count):
            sides[len(nodes)] = 0
            nodes.append((LOOP, len(owners)))
            owners.append(component)
        for _ in range(random.randint(count, count + gates)):
            falls = random.randint(0, 1)
            reads = [_monotone(random, free, sides, falls) for _ in range(2)]
            if reads[0] >> 1 != reads[1] >> 1:
                if any(literal >> 1 in sides for literal in reads):
                    sides[len(nodes)] = falls
                nodes.append((min(reads), max(reads)))
        results += [2 * node + sides[node] for node in random.choices(sorted(sides)[count:] or sorted(sides), k=count)]
    for _ in range(gates):
        reads = sorted(2 * node + random.randint(0, 1) for node in random.sample(range(len(nodes)), 2))
        nodes.append((reads[1], reads[0]) if random.random() < 0.4 else (reads[0], reads[1]))
    outputs = [random.randrange(2 * len(nodes)) for _ in range(random.randint(1, 8))]
    outputs += random.choices(outputs, k=2)
    left, right = np.array(nodes, np.int32).T.copy()
    loops = Loops(np.array(results, np.int32), np.array(owners, np.int32))
    return Sketch(inputs, left, right, loops, np.array([*outputs, outputs[0] ^ 1, 0, 1], np.int32))


def _monotone(random: Random, free: int, sides: dict[int, int], falls: int) -> int:
    """A literal that does not rise, or does not fall, as the loop nodes rise."""
    node = random.choice(sorted(sides)) if random.random() < 0.7 or free < 2 else random.randrange(1, free)
    return 2 * node + (sides[node] ^ falls if node in sides else random.randint(0, 1))


def naive_nodes(sketch: Sketch, inputs: Sequence[int]) -> list[int]:
    """The word of each node; the components settle one after the other, from false up."""
    loops = [0] * len(sketch.loops.results)
    for component in sorted(set(sketch.loops.components.tolist())):
        members = np.flatnonzero(sketch.loops.components == component).tolist()
        while True:
            nodes = _evaluated(sketch, inputs, loops)
            found = [_value(nodes, int(sketch.loops.results[loop])) for loop in members]
            if found == [loops[loop] for loop in members]:
                break
            for loop, value in zip(members, found, strict=True):
                loops[loop] = value
    return _evaluated(sketch, inputs, loops)


def naive_outputs(sketch: Sketch, inputs: Sequence[int]) -> list[int]:
    nodes = naive_nodes(sketch, inputs)
    return [_value(nodes, literal) for literal in sketch.outputs.tolist()]


def _evaluated(sketch: Sketch, inputs: Sequence[int], loops: Sequence[int]) -> list[int]:
    nodes = [0]
    for left, right in zip(sketch.left[1:].tolist(), sketch.right[1:].tolist(), strict=True):
        if left == INPUT:
            nodes.append(inputs[right])
        elif left == LOOP:
            nodes.append(loops[right])
        elif left < right:
            nodes.append(_value(nodes, left) & _value(nodes, right))
        else:
            nodes.append(_value(nodes, left) ^ _value(nodes, right))
    return nodes


def _value(nodes: Sequence[int], literal: int) -> int:
    return nodes[literal >> 1] ^ (ALL if literal & 1 else 0)

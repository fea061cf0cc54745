"""Random games that are graphs: positions, and for each joint move the one that follows, written as rulesheets."""

from dataclasses import dataclass
from itertools import product
from random import Random


@dataclass(frozen=True, slots=True)
class Shape:
    """What a random graph may have."""

    roles: int = 2
    positions: int = 12
    ends: int = 4
    most_moves: int = 3
    chance: bool = False  # one role more, `random`, which chooses in some positions
    together: bool = False  # several roles may choose at once
    cycles: bool = False
    opposed: bool = True  # goal values of two roles add up to 100
    beats: int = 1  # positions differ by a clock with so many beats
    values: tuple[int, ...] = (0, 50, 100)
    odd: bool = False  # there are positions where a role has no move, and ends without goal values


def random_graph(shape: Shape, seed: int) -> str:
    """The rulesheet; the first position is `n0`, the last ones are ends."""
    random = Random(seed)
    roles = [f"r{number}" for number in range(shape.roles)] + ["random"] * shape.chance
    text = [f"(role {role})" for role in roles] + ["(init (at n0))", "(init (beat 0))"]
    text += [f"(<= (next (beat {(beat + 1) % shape.beats})) (true (beat {beat})))" for beat in range(shape.beats)]
    inner = shape.positions - shape.ends
    for position in range(inner):
        text += _position(shape, random, roles, position)
    for position in range(inner, shape.positions):
        text.append(f"(<= terminal (true (at n{position})))")
        values = [random.choice(shape.values) for _ in roles]
        if shape.opposed and shape.roles == 2:
            values[1] = 100 - values[0]
        for role, value in zip(roles, values, strict=True):
            if not (shape.odd and random.random() < 0.2):
                text.append(f"(<= (goal {role} {value}) (true (at n{position})))")
    return "\n".join(text)


def _position(shape: Shape, random: Random, roles: list[str], position: int) -> list[str]:
    counts = [1] * len(roles)
    choosers = [random.randrange(len(roles))]
    if shape.together and random.random() < 0.6:
        choosers = random.sample(range(len(roles)), random.randint(1, min(3, len(roles))))
    if random.random() < 0.1:
        choosers = []  # nobody has a choice
    for chooser in choosers:
        counts[chooser] = random.randint(2, shape.most_moves)
    if shape.odd and position and random.random() < 0.15:
        counts[random.randrange(len(roles))] = 0
    names = [random.sample(range(shape.most_moves + 1), count) for count in counts]
    text = [
        f"(<= (legal {role} (do {move})) (true (at n{position})))"
        for role, moves in zip(roles, names, strict=True)
        for move in moves
    ]
    for joint in product(*names):
        following = random.randrange(0 if shape.cycles else position + 1, shape.positions)
        if position == 0 and not shape.cycles:  # so that there is more than a step or two
            following = random.randrange(1, max(2, shape.positions // 2))
        moves = " ".join(f"(does {role} (do {move}))" for role, move in zip(roles, joint, strict=True))
        text.append(f"(<= (next (at n{following})) (true (at n{position})) {moves})")
    return text

"""Small random games in GDL-II, and two that are written by hand."""

from itertools import product
from random import Random

UNKNOWABLE = """
(role one) (role random) (init start)
(<= (legal random left) (true start)) (<= (legal random right) (true start)) (<= (legal random wait) (not (true start)))
(<= (legal one wait) (true start)) (<= (legal one a) (not (true start))) (<= (legal one b) (not (true start)))
(<= (legal one c) (true far)) (<= (next far) (does random right)) (<= (next near) (does random left))
(<= (next done) (not (true start))) (<= terminal (true done)) (goal random 0) (goal one 50)
(<= (sees one nothing) (true far) (true near))
"""

MANY = """
(role one) (role two) (init (step 0)) (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (succ 5 6)
(move a) (move b) (move c) (move d)
(<= (legal ?r ?m) (role ?r) (move ?m)) (<= (next (step ?y)) (true (step ?x)) (succ ?x ?y))
(<= (next (last ?r ?m)) (does ?r ?m)) (<= terminal (true (step 6)))
(<= same (true (last one ?m)) (true (last two ?m)))
(<= (goal one 100) same) (<= (goal one 0) (not same)) (<= (goal two 0) same) (<= (goal two 100) (not same))
"""


def random_game(seed: int, *, told: bool = True, roles: int = 2, steps: int = 3, positions: int = 4) -> str:
    """What is legal depends on the step alone; where a joint move leads, and what it tells, is drawn for each.

    With many positions nothing is worth the same by chance.
    """
    random = Random(seed)
    names = [f"r{number}" for number in range(roles)] + ["random"]
    text = [f"(role {name})" for name in names] + ["(init (at 0))", "(init (step 0))"]
    text += [f"(<= (next (step {step + 1})) (true (step {step})))" for step in range(steps)]
    text.append(f"(<= terminal (true (step {steps})))")
    text.append(f"(<= terminal (true (at {positions - 1})))")
    for step in range(steps):
        moves = [random.sample("abc", random.choice((1, 2, 2, 3))) for _ in names]
        for name, own in zip(names, moves, strict=True):
            text += [f"(<= (legal {name} {move}) (true (step {step})))" for move in own]
        for position, joint in product(range(positions), product(*moves)):
            done = " ".join(f"(does {name} {move})" for name, move in zip(names, joint, strict=True))
            here = f"(true (step {step})) (true (at {position})) {done}"
            text.append(f"(<= (next (at {random.randrange(positions)})) {here})")
            for name in names[:-1] if told else ():
                if random.random() < 0.5:
                    text.append(f"(<= (sees {name} {random.choice(('hot', 'cold'))}) {here})")
    for position in range(positions):
        values = [random.choice((0, 20, 50, 100)) if positions < 10 else random.randrange(101) for _ in range(roles)]
        if roles == 2:
            values[1] = 100 - values[0]
        text += [f"(<= (goal r{number} {value}) (true (at {position})))" for number, value in enumerate(values)]
    text.append("(goal random 0)")
    return "\n".join(text)

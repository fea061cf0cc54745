"""Golden playthroughs: a random match of each of the first games as text that a person can read.

`python -m tests.games.playthroughs` writes them anew, from the interpreter, which is the oracle of the other engines;
look at what changed before you keep it.
"""

from pathlib import Path
from random import Random

import ggp
from ggp.game import Game
from ggp.gdl.terms import to_text
from tests.games.helpers import FIRST_GAMES, draw_state

FOLDER = Path(__file__).parent / "playthroughs"
SEED = 1


def playthrough(game: Game) -> str:
    """The match of the seed: each state drawn, with how many moves each role has, and the joint move."""
    machine = game.machine
    rng = Random(SEED)
    lines = [f"# {game.name}, random moves of seed {SEED}. Written by playthroughs.py from the interpreter."]
    state = machine.initial_state
    for step in range(1000):
        lines += ["", draw_state(state, game.metadata.drawing)]
        if machine.is_terminal(state):
            break
        legal = [machine.legal_moves(state, role) for role in machine.roles]
        joint_move = tuple(map(rng.choice, legal))
        told = (
            f"{role}: {to_text(move)} of {len(moves)}"
            for role, move, moves in zip(machine.roles, joint_move, legal, strict=True)
        )
        lines += ["", f"step {step}  " + ", ".join(told)]
        state = machine.next_state(state, joint_move)
    lines += ["", "end  " + ", ".join(f"{role}: {machine.goal(state, role)}" for role in machine.roles)]
    return "\n".join(lines) + "\n"


def path(game: str) -> Path:
    return FOLDER / f"{game}.txt"


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name in FIRST_GAMES:
        path(name).write_text(playthrough(ggp.load(name, "interpreter")), encoding="utf-8")


if __name__ == "__main__":
    main()

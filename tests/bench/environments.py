"""How fast environments step: `python -m tests.bench.environments [GAME ...]`; needs no other library, but compares.

Random legal moves are drawn once; then the same run, from the same seed, is stepped again with them and timed, with all
ends and new beginnings: observation and mask are written at each step. The best of several runs counts, in processor
time of the one thread that runs, so that what else the computer does matters little.
"""

import argparse
import os
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ggp.env import VectorEnvironment, make_vec
from ggp.errors import GgpError

STEPS = 200
RUNS = 30
GYMNASIUM_RUNS = 40  # of each in turn, since the difference is small
LEAST_SECONDS = 0.005  # of a run: the shorter, the likelier that nothing else interferes with the best one
GAMES = ("tictactoe", "connectfour", "breakthrough", "reversi")


def moves_of(environments: VectorEnvironment, seed: int, steps: int = STEPS) -> list[Any]:
    """The joint moves of a random run, whose numbers depend on the seed only."""
    random, step, found = np.random.default_rng(seed), environments.reset(seed=seed), []
    for _ in range(steps):
        found.append(environments.random_moves(random, step))
        step = environments.step(found[-1])
    return found


def best(run: Callable[[], int], runs: int = RUNS) -> float:
    """Steps a second of the quickest of several runs; `run` returns how many it made."""
    rates = []
    for _ in range(runs):
        began, done = time.thread_time(), 0
        while time.thread_time() - began < LEAST_SECONDS:
            done += run()
        rates.append(done / (time.thread_time() - began))
    return max(rates)


def measure(game: str | Path, num_envs: int, layout: str, steps: int = STEPS, **settings: Any) -> float:  # noqa: ANN401
    """Steps a second of all environments together."""
    environments = make_vec(game, num_envs, seed=1, layout=layout, **settings)
    moves = moves_of(environments, 1, steps)
    environments.compile()
    found = best(partial(_replay, environments, moves))
    environments.close()
    return found


def _replay(environments: VectorEnvironment, moves: list[Any]) -> int:
    environments.reset(seed=1)
    for joint in moves:
        environments.step(joint)
    return len(moves) * environments.num_envs


def measure_gymnasium(game: str, num_envs: int) -> tuple[float, float]:
    """The same through Gymnasium's VectorEnv, and without it: movers' moves, in turn within one run."""
    from ggp.env.gymnasium_adapter import GymVectorEnv  # noqa: PLC0415 - an extra

    wrapped = GymVectorEnv(game, num_envs, copy=False)
    environments = wrapped.environments
    joint, step = moves_of(environments, 1), environments.reset(seed=1)
    moves = []
    for number in range(len(joint)):
        moves.append(joint[number][np.arange(num_envs), np.maximum(step.mover, 0)])
        step = environments.step(joint[number])
    environments.compile()

    def through() -> int:
        wrapped.reset(seed=1)
        for one in moves:
            wrapped.step(one)
        return len(moves) * num_envs

    def direct() -> int:
        environments.reset(seed=1)
        for one in moves:
            environments.step(one)
        return len(moves) * num_envs

    pairs = [(best(through, 1), best(direct, 1)) for _ in range(GYMNASIUM_RUNS)]
    return max(pair[0] for pair in pairs), max(pair[1] for pair in pairs)


def measure_single(game: str) -> float:
    """One environment alone, with its observation and mask; random legal moves drawn ahead."""
    return measure(game, 1, "bytes", steps=200, copy=False)


def measure_pettingzoo(module: str) -> float:
    """PettingZoo's own game, step by step, with observation and mask as `last` gives them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from importlib import import_module  # noqa: PLC0415

        environment = import_module(f"pettingzoo.classic.{module}").raw_env()
    random = np.random.default_rng(0)
    environment.reset(seed=1)

    def run() -> int:
        environment.reset()
        steps = 0
        while True:
            observation, _, over, cut, _ = environment.last()
            if over or cut:
                return steps
            environment.step(int(random.choice(np.flatnonzero(observation["action_mask"]))))
            steps += 1

    return best(run)


def measure_our_aec(game: str) -> float:
    """Our AEC environment in the same loop."""
    from ggp.env.pettingzoo_adapter import TurnEnv  # noqa: PLC0415 - an extra

    environment, random = TurnEnv(game), np.random.default_rng(0)
    environment.environments.compile()

    def run() -> int:
        environment.reset()
        steps = 0
        while True:
            observation, _, over, cut, _ = environment.last()
            if over or cut:
                return steps
            environment.step(int(random.choice(np.flatnonzero(observation["action_mask"]))))
            steps += 1

    return best(run)


def measure_openspiel(name: str) -> float:
    """OpenSpiel's own game through its Python binding: a step, its observation tensor and its mask."""
    import pyspiel  # noqa: PLC0415 - an extra

    game, random = pyspiel.load_game(name), np.random.default_rng(0)
    choices = random.random(1_000).tolist()

    def run() -> int:
        state, steps = game.new_initial_state(), 0
        while not state.is_terminal():
            np.array(state.observation_tensor())
            np.array(state.legal_actions_mask())
            legal = state.legal_actions()
            state.apply_action(legal[int(choices[steps] * len(legal))])
            steps += 1
        return steps

    return best(run)


def compare(game: str) -> None:
    """The vectorised and the single environment next to other libraries' own games."""
    zoo, spiel = {"tictactoe": ("tictactoe_v3", "tic_tac_toe"), "connectfour": ("connect_four_v3", "connect_four")}[
        game
    ]
    others: dict[str, Callable[[], float]] = {
        "PettingZoo": partial(measure_pettingzoo, zoo),
        "OpenSpiel": partial(measure_openspiel, spiel),
    }
    vectorised, single = measure(game, 1_024, "bytes", copy=False), measure_single(game)
    print(f"{game}: one environment {single:,.0f} steps/s")
    for name, run in others.items():
        try:
            rate = run()
        except ImportError as error:
            print(f"  {name} is not installed: {error}")
            continue
        print(
            f"  {name}'s own: {rate:,.0f} steps/s; one of ours {single / rate:.2f} ×, 1,024 {vectorised / rate:,.0f} ×"
        )
    try:
        print(f"  our AEC environment: {measure_our_aec(game):,.0f} steps/s")
    except ImportError as error:
        print(f"  PettingZoo is not installed: {error}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("games", nargs="*", help="names or paths of rulesheets", default=GAMES)
    parser.add_argument("--num-envs", type=int, default=1_024)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--folder", type=Path, help="all rulesheets of a folder, packed, slowest first")
    arguments = parser.parse_args()
    print(f"one thread; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors; million steps a second")
    if arguments.folder:
        rates = {}
        for path in sorted(arguments.folder.glob("*.kif")):
            try:
                rates[path.stem] = measure(path, arguments.num_envs, "bits", 40, copy=False)
            except GgpError as error:
                print(f"{path.stem}: {error}")
        for name, rate in sorted(rates.items(), key=lambda item: item[1]):
            print(f"{name:28} {rate / 1e6:8.2f}")
        return
    for game in arguments.games:
        shown = []
        for layout in ("bits", "bytes", "planes"):
            for copy in (False, True):
                rate = measure(game, arguments.num_envs, layout, arguments.steps, copy=copy)
                shown.append(f"{layout}{' copied' if copy else ''} {rate / 1e6:.1f}")
        print(f"{game}, {arguments.num_envs:,} environments: {', '.join(shown)}")
    if tuple(arguments.games) == GAMES:
        for game in ("tictactoe", "connectfour"):
            compare(game)
        through, direct = measure_gymnasium("tictactoe", 4_096)
        print(
            f"through Gymnasium, 4,096 of tictactoe: {through / 1e6:.1f} of {direct / 1e6:.1f}, "
            f"costs {1 - through / direct:.1%}"
        )


if __name__ == "__main__":
    main()

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
from numpy.typing import NDArray

from ggp.env import VectorEnvironment, make_vec
from ggp.errors import GgpError

STEPS = 200
RUNS = 30
GYMNASIUM_RUNS = 100  # of each in turn, since the difference is small
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


def measure_gymnasium(game: str, num_envs: int) -> NDArray[np.float64]:
    """(runs, 2) the same through Gymnasium's VectorEnv, and without it: movers' moves, in turn within one run."""
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

    return np.array([(best(through, 1), best(direct, 1)) for _ in range(GYMNASIUM_RUNS)])


def _draws() -> list[float]:
    """Random numbers that are drawn ahead, to choose among legal moves."""
    found: list[float] = np.random.default_rng(0).random(1_000).tolist()
    return found


def _choose(mask: NDArray[Any], draw: float) -> int:
    legal = mask.nonzero()[0]
    return int(legal[int(draw * len(legal))])


def lanes_run(game: str) -> Callable[[], int]:
    """One environment of `make_vec` alone, with its observation and mask; the moves of a random run, drawn ahead."""
    environments = make_vec(game, 1, seed=1, copy=False)
    moves = moves_of(environments, 1)
    environments.compile()
    return partial(_replay, environments, moves)


def gymnasium_run(game: str) -> Callable[[], int]:
    """A match of our Gymnasium environment in self-play."""
    from ggp.env.gymnasium_adapter import GymEnv  # noqa: PLC0415 - an extra

    environment, draws = GymEnv(game, role="self"), _draws()
    environment.environments.compile()

    def run() -> int:
        _, info = environment.reset()
        over, steps = False, 0
        while not over:
            _, _, over, _, info = environment.step(np.int64(_choose(info["action_mask"], draws[steps])))
            steps += 1
        return steps

    return run


def agents_run(environment: Any) -> Callable[[], int]:  # noqa: ANN401 - PettingZoo's AECEnv
    """A match of an AEC environment, ours or PettingZoo's: each step with observation and mask as `last` gives them."""
    draws = _draws()
    environment.reset(seed=1)

    def run() -> int:
        environment.reset()
        steps = 0
        while True:
            observation, _, over, cut, _ = environment.last()
            if over or cut:
                return steps
            environment.step(_choose(observation["action_mask"], draws[steps]))
            steps += 1

    return run


def our_agents_run(game: str) -> Callable[[], int]:
    from ggp.env.pettingzoo_adapter import TurnEnv  # noqa: PLC0415 - an extra

    environment = TurnEnv(game)
    environment.environments.compile()
    return agents_run(environment)


def parallel_run(game: str) -> Callable[[], int]:
    """A match of our Parallel environment, with observations and masks of all roles."""
    from ggp.env.pettingzoo_adapter import TogetherEnv  # noqa: PLC0415 - an extra

    environment, draws = TogetherEnv(game), _draws()
    environment.environments.compile()

    def run() -> int:
        observations, _ = environment.reset()
        steps = 0
        while environment.agents:
            actions = {agent: _choose(seen["action_mask"], draws[steps]) for agent, seen in observations.items()}
            observations, *_ = environment.step(actions)
            steps += 1
        return steps

    return run


def pettingzoo_run(module: str) -> Callable[[], int]:
    """PettingZoo's own game."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from importlib import import_module  # noqa: PLC0415

        return agents_run(import_module(f"pettingzoo.classic.{module}").raw_env())


def openspiel_run(name: str) -> Callable[[], int]:
    """OpenSpiel's own game through its Python binding: a step, its observation tensor and its mask."""
    import pyspiel  # noqa: PLC0415 - an extra

    game, draws = pyspiel.load_game(name), _draws()

    def run() -> int:
        state, steps = game.new_initial_state(), 0
        while not state.is_terminal():
            np.array(state.observation_tensor())
            state.apply_action(_choose(np.array(state.legal_actions_mask()), draws[steps]))
            steps += 1
        return steps

    return run


def compare(game: str) -> None:
    """One environment of each kind next to other libraries' own games, in turn within one run, and 1,024 of ours."""
    zoo, spiel = {"tictactoe": ("tictactoe_v3", "tic_tac_toe"), "connectfour": ("connect_four_v3", "connect_four")}[
        game
    ]
    made: dict[str, Callable[[], Callable[[], int]]] = {
        "make_vec": partial(lanes_run, game),
        "our Gymnasium Env": partial(gymnasium_run, game),
        "our AEC": partial(our_agents_run, game),
        "our Parallel": partial(parallel_run, game),
        "PettingZoo's own AEC": partial(pettingzoo_run, zoo),
        "OpenSpiel's own": partial(openspiel_run, spiel),
    }
    runs = {}
    for name, make in made.items():
        try:
            runs[name] = make()
        except ImportError as error:
            print(f"{name}: not installed: {error}")
    rates: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(RUNS):
        for name, run in runs.items():
            rates[name].append(best(run, 1))
    many = measure(game, 1_024, "bytes", copy=False)
    print(f"{game}, one environment: steps a second, median and best of {RUNS} runs")
    for name, found in rates.items():
        print(f"  {name}: {np.median(found):,.0f}, {max(found):,.0f}; 1,024 of make_vec: {many / max(found):,.0f} x")


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
        pairs = measure_gymnasium("tictactoe", 4_096)
        low, median, high = np.percentile(1 - pairs[:, 0] / pairs[:, 1], (25, 50, 75))
        through, direct = pairs.max(axis=0) / 1e6
        print(
            f"through Gymnasium, 4,096 of tictactoe, {GYMNASIUM_RUNS} runs of each in turn: costs {median:.1%} in the "
            f"median, {low:.1%} to {high:.1%} in half of the runs; the best {through:.1f} of {direct:.1f}"
        )


if __name__ == "__main__":
    main()

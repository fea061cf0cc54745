"""Compares environments with the interpreter, step by step: `python -m tests.env.agreement RULESHEETS`."""

import argparse
import random
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ggp.env import SIMULTANEOUS, StepResult, VectorEnvironment, make_vec
from ggp.errors import GgpError
from ggp.game import Game
from ggp.gdl.rulesheet import NATURE
from ggp.gdl.state_machine import Facts, StateMachine
from ggp.gdl.terms import Term, to_text
from ggp.interpreter import Interpreter


def compare(
    game: str | Path | Game,
    seed: int = 0,
    num_envs: int = 70,
    steps: int = 60,
    looked: int = 3,
    **settings: Any,  # noqa: ANN401 - of EnvironmentSettings
) -> Iterator[str]:
    """What the environments and the interpreter see differently in random matches; `looked` environments a step."""
    environments = make_vec(game, num_envs, seed=seed, **settings)
    machine = Interpreter(environments.game.rulesheet)
    numbers, chance = np.random.default_rng(seed), random.Random(seed)
    step = environments.reset()
    over, before = np.zeros(num_envs, np.bool_), environments.states()
    elapsed = np.zeros(num_envs, np.int64)
    for number in range(steps):
        moves = environments.random_moves(numbers, step)
        states = {at: facts(environments, before[at]) for at in chance.sample(range(num_envs), min(looked, num_envs))}
        wide = environments.settings.autoreset
        step = environments.step(moves)
        after = environments.states()
        for at, state in states.items():
            place = f"step {number}, environment {at}: "
            resets = wide == "next_step" and over[at]
            for difference in _differences(environments, machine, step, at, (state, moves[at], after[at], resets)):
                yield place + difference
        ended = step.terminated | step.truncated
        elapsed = np.where(over, 0, elapsed + 1)
        limit = environments.settings.max_steps
        if limit and wide == "next_step" and not (step.truncated >= (elapsed >= limit) & ~step.terminated).all():
            yield f"step {number}: not cut off after {limit} steps"
        over = ended
        if wide == "disabled" and ended.any():
            step = environments.reset(mask=ended)
            over = np.zeros(num_envs, np.bool_)
            after = environments.states()
        elif wide == "same_step":
            over = np.zeros(num_envs, np.bool_)
        before = after
    environments.close()


def facts(environments: VectorEnvironment, bits: NDArray[np.uint64]) -> Facts:
    names = environments.compiled.facts
    octets = np.unpackbits(bits.view(np.uint8), bitorder="little", count=len(names))
    return frozenset(names[at] for at in np.flatnonzero(octets))


def _differences(
    environments: VectorEnvironment,
    machine: StateMachine,
    step: StepResult,
    at: int,
    done: tuple[Facts, NDArray[np.int64], NDArray[np.uint64], bool],
) -> Iterator[str]:
    state, numbers, bits, resets = done
    found = facts(environments, bits)
    roles = environments.roles
    moves = {
        role: environments.compiled.moves[environments.compiled.roles.index(role)][number]
        for role, number in zip(roles, numbers.tolist(), strict=True)
    }
    ended = bool(step.terminated[at] | step.truncated[at])
    expected = {machine.initial_state} if resets else set(_successors(machine, state, moves))
    begun = ended and environments.settings.autoreset == "same_step"
    if begun and found != machine.initial_state:
        yield "did not begin anew"
    if not begun and found not in expected:
        yield f"state {sorted(map(to_text, found))}, not {[sorted(map(to_text, one)) for one in expected]}"
        return
    if resets and (ended or step.reward[at].any()):
        yield "an end or a reward where a match begins"
    latest = next(iter(expected)) if begun and len(expected) == 1 else found
    if not begun or len(expected) == 1:
        yield from _ends(environments, machine, step, at, latest)
    yield from _legal(environments, machine, step, at, found)
    if environments.settings.layout != "planes" and not environments.compiled.has_percepts:
        names = environments.compiled.facts
        row = step.observation[at]
        row = row if row.dtype == np.bool_ else np.unpackbits(row.view(np.uint8), bitorder="little", count=len(names))
        if {name for name, flag in zip(names, row, strict=True) if flag} != found:
            yield "the observation is not the state"


def _successors(machine: StateMachine, state: Facts, moves: dict[str, Term]) -> Iterator[Facts]:
    """The states that can follow; several where moves of `random` are drawn."""
    drawn = machine.legal_moves(state, NATURE) if NATURE in machine.roles and NATURE not in moves else (None,)
    for one in drawn:
        yield machine.next_state(state, tuple(moves.get(role, one) for role in machine.roles))  # type: ignore[misc]


def _ends(
    environments: VectorEnvironment, machine: StateMachine, step: StepResult, at: int, state: Facts
) -> Iterator[str]:
    terminal = machine.is_terminal(state)
    stuck = not terminal and not all(machine.legal_moves(state, role) for role in machine.roles)
    if bool(step.terminated[at]) != terminal:
        yield f"terminated {step.terminated[at]}, not {terminal}"
    if not environments.settings.max_steps and bool(step.truncated[at]) != stuck:
        yield f"truncated {step.truncated[at]}, not {stuck}"
    ended = terminal or bool(step.truncated[at])
    low, high = environments.settings.reward_range
    for role, reward in zip(environments.roles, step.reward[at].tolist(), strict=True):
        goal = machine.goal(state, role)
        expected = low + (high - low) * (50 if goal is None else goal) / 100 if ended else 0.0
        if abs(reward - expected) > 1e-4 * max(1.0, abs(high)):
            yield f"reward {reward} of {role}, not {expected}"


def _legal(
    environments: VectorEnvironment, machine: StateMachine, step: StepResult, at: int, state: Facts
) -> Iterator[str]:
    mask = environments.unpack_mask(step.mask[at : at + 1])[0]
    ended = machine.is_terminal(state) or not all(machine.legal_moves(state, role) for role in machine.roles)
    several = []
    for number, role in enumerate(environments.roles):
        names = environments.compiled.moves[environments.compiled.roles.index(role)]
        found = {names[move] for move in np.flatnonzero(mask[number])}
        legal = set() if ended else set(machine.legal_moves(state, role))
        if found != legal:
            yield f"legal moves of {role}: {sorted(map(to_text, found))}, not {sorted(map(to_text, legal))}"
        several += [number] if len(legal) > 1 else []
    mover = int(step.mover[at])
    if environments.compiled.has_percepts or ended:
        if mover != SIMULTANEOUS:
            yield f"mover {mover} is told"
    elif several and mover not in (SIMULTANEOUS, several[0] if len(several) == 1 else SIMULTANEOUS):
        yield f"mover {mover}, where roles {several} have a choice"


def _check(path: Path, seed: int) -> tuple[str, list[str], float]:
    began = time.perf_counter()
    try:
        found = [
            f"{mode}: {difference}"
            for mode, limit in (("next_step", 0), ("same_step", 17), ("disabled", 0))
            for difference in compare(path, seed, autoreset=mode, max_steps=limit, steps=40, looked=2, layout="bits")
        ]
    except GgpError as error:
        found = [str(error)]
    return path.stem, found, time.perf_counter() - began


def main() -> int:
    """All rulesheets of a folder; exit code 1 when anything differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rulesheets", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    arguments = parser.parse_args()
    paths = sorted(arguments.rulesheets.glob("*.kif"))
    wrong = 0
    with ProcessPoolExecutor(arguments.processes) as pool:
        for name, found, seconds in pool.map(partial(_check, seed=arguments.seed), paths):
            wrong += bool(found)
            print(f"{name}: {len(found)} differences, {seconds:.1f} s", *found[:3], sep="\n  ", flush=True)
    print(f"{len(paths) - wrong} of {len(paths)} rulesheets agree")
    return int(wrong > 0 or not paths)


if __name__ == "__main__":
    sys.exit(main())

"""Ground rules compared with the interpreter, on random matches: `python -m tests.grounding.agreement RULESHEETS`."""

import argparse
import random
import sys
from pathlib import Path

from ggp.errors import GgpError
from ggp.gdl.logic_program import make_logic_program
from ggp.gdl.reader import decode
from ggp.gdl.rulesheet import Rulesheet, parse_rulesheet
from ggp.grounding import Budget, GroundRules, ground
from ggp.interpreter import Interpreter
from tests.grounding.naive_ground import NaiveGround


def assert_agree(rulesheet: Rulesheet, rules: GroundRules, matches: int, steps: int, seed: int = 0) -> int:
    """Compares both on the states of random matches; gives the number of states."""
    random_moves = random.Random(seed)
    machine, naive = Interpreter(rulesheet), NaiveGround(rules)
    assert naive.roles == machine.roles
    assert naive.initial_state == machine.initial_state
    gives_percepts = any(rules.percepts)
    seen = 0
    for _ in range(matches):
        state = machine.initial_state
        for _ in range(steps):
            seen += 1
            where = f"seed {seed}, state {sorted(map(str, state))}"
            before = naive.model(state)
            assert naive.is_terminal(before) == machine.is_terminal(state), where
            for role in machine.roles:
                assert naive.goal_values(before, role) == machine.goal_values(state, role), where
                assert naive.legal_moves(before, role) == machine.legal_moves(state, role), where
            legal = [machine.legal_moves(state, role) for role in machine.roles]
            if machine.is_terminal(state) or not all(legal):
                break
            joint_move = tuple(map(random_moves.choice, legal))
            after = naive.model(state, joint_move)
            if gives_percepts:
                for role in machine.roles:
                    assert naive.percepts(after, role) == machine.percepts(state, joint_move, role), where
            state = machine.next_state(state, joint_move)
            assert naive.next_state(after) == state, where
    return seen


def main() -> int:
    """Exit code 1 when any rulesheet disagrees."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rulesheets", type=Path, nargs="+")
    parser.add_argument("--rules", type=int, default=60_000, help="skip what has more ground rules")
    parser.add_argument("--seconds", type=float, default=20.0)
    arguments = parser.parse_args()
    paths = [
        path for given in arguments.rulesheets for path in (sorted(given.glob("*.kif")) if given.is_dir() else [given])
    ]
    failed = 0
    for path in paths:
        rulesheet = parse_rulesheet(decode(path.read_bytes(), str(path)), str(path))
        try:
            rules = ground(make_logic_program(rulesheet), Budget(seconds=arguments.seconds))
        except GgpError as error:
            print(f"{path.stem}: {error}", flush=True)
            continue
        if len(rules.heads) > arguments.rules:
            print(f"{path.stem}: {len(rules.heads)} rules, skipped", flush=True)
            continue
        try:
            print(f"{path.stem}: {assert_agree(rulesheet, rules, 2, 12)} states agree", flush=True)
        except AssertionError as error:
            failed += 1
            print(f"{path.stem}: DISAGREES: {str(error)[:500]}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Refutations found in time: states of real matches in which a move that loses by force was played.

    python -m tests.bench.refutations --player mcts --seconds 2          how many such moves a search avoids
    python -m tests.bench.refutations --collect connectfour --count 20   adds states of the search's own quick matches

`refutations.jsonl` holds them, one a line: the game, the joint moves that lead there, the role that moves, and its
moves that lose. A move is known to lose when a proof-number search of PROOF_STATES states proves it after that move;
at least one move of each state is not known to lose. Seconds are those of the thread, so that load does not matter.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from math import inf
from pathlib import Path
from random import Random

from ggp.engines import make_machine
from ggp.gdl.state_machine import Facts, JointMove
from ggp.gdl.terms import Term, to_text
from ggp.search.mcts.search import BatchedMcts, SearchSettings
from ggp.search.proof.prover import Prover
from ggp.simulation.state_machine import CircuitMachine
from tests.bench.bridge import read_rulesheet
from tests.bench.contenders import Contender, Limit, make_contender, warm_up
from tests.bench.scores import score

FILE = Path(__file__).with_name("refutations.jsonl")
PROOF_STATES = 30_000  # whose moves are worked out to prove that one move loses
VISITS = 300  # of each state of the matches that states are collected from
OPENING = 4  # random steps before them
MIDDLE = 0.5
_MEMORY_BYTES = 2**25


@dataclass(frozen=True, slots=True)
class Refutation:
    """A state, and what is known to lose there; moves are texts."""

    game: str
    steps: tuple[str, ...]  # the moves of a step in the order of the roles, with a tab in between
    role: str
    played: str
    losing: tuple[str, ...]


@cache
def machine_of(game: str) -> CircuitMachine:
    machine = make_machine(read_rulesheet(game), "circuit")
    assert isinstance(machine, CircuitMachine)
    return machine


def read_refutations() -> list[Refutation]:
    lines = FILE.read_text(encoding="utf-8").splitlines() if FILE.exists() else []
    found = [json.loads(line) for line in lines]
    return [Refutation(**each | {name: tuple(each[name]) for name in ("steps", "losing")}) for each in found]


def state_of(machine: CircuitMachine, refutation: Refutation) -> Facts:
    """ValueError where the moves are not those of the game."""
    state = machine.initial_state
    for step in refutation.steps:
        joint = []
        for role, text in zip(machine.roles, step.split("\t"), strict=True):
            joint.append(_named(machine.legal_moves(state, role), text))
        state = machine.next_state(state, tuple(joint))
    return state


def _named(moves: tuple[Term, ...], text: str) -> Term:
    for move in moves:
        if to_text(move) == text:
            return move
    raise ValueError(f"{text} is not legal")


def loses(machine: CircuitMachine, prover: Prover, state: Facts, role: str, move: Term) -> bool:
    """Whether a move of a role whose turn it is, is proven to give it its lowest goal value."""
    number = machine.roles.index(role)
    moves = {other: machine.legal_moves(state, other)[0] for other in machine.roles} | {role: move}
    after = machine.next_state(state, tuple(moves[other] for other in machine.roles))
    if machine.is_terminal(after):
        return machine.goal(after, role) == machine.compiled.goals[number][0]
    bits = machine.packed(after)
    assert bits is not None
    prover.go_to(bits, MIDDLE)
    end = prover.work_done + PROOF_STATES
    while not prover.is_idle and prover.work_done < end:
        prover.advance(MIDDLE, inf)
    return float(prover.bounds[1][number]) == 0.0


def collect(game: str, count: int, seed: int) -> Iterator[Refutation]:
    """One state of a match at most: the earliest in which the loser played what is known to lose."""
    machine, rng = machine_of(game), Random(seed)
    while count:
        found = _earliest(machine, game, _quick_match(machine, rng))
        if found is not None:
            count -= 1
            yield found


def _quick_match(machine: CircuitMachine, rng: Random) -> list[tuple[Facts, JointMove]]:
    settings = SearchSettings(memory_bytes=_MEMORY_BYTES, retrograde=False, proof=False)
    searches = {role: BatchedMcts(machine, settings, rng.getrandbits(31)) for role in machine.roles}
    state = machine.initial_state
    history: list[tuple[Facts, JointMove]] = []
    while not machine.is_terminal(state):
        joint = []
        for role in machine.roles:
            legal = machine.legal_moves(state, role)
            move: Term | None = legal[0] if len(legal) == 1 else rng.choice(legal)
            if len(legal) > 1 and len(history) >= OPENING:
                searches[role].go_to(state)
                searches[role].run(lambda: False, VISITS)
                move = searches[role].result(role).best
            assert move is not None
            joint.append(move)
        history.append((state, tuple(joint)))
        state = machine.next_state(state, tuple(joint))
    history.append((state, ()))
    return history


def _earliest(machine: CircuitMachine, game: str, history: list[tuple[Facts, JointMove]]) -> Refutation | None:
    """Goes back from the end while what was played is known to lose, then forward to where something else is not."""
    prover = Prover(machine, _MEMORY_BYTES)
    lowest = {role: machine.compiled.goals[number][0] for number, role in enumerate(machine.roles)}
    losers = [role for role in machine.roles if machine.goal(history[-1][0], role) == lowest[role]]
    steps = tuple("\t".join(map(to_text, joint)) for _, joint in history[:-1])
    if len(losers) != 1:
        return None
    role, first = losers[0], len(history)
    number = machine.roles.index(role)
    turns = [at for at in range(OPENING, len(history) - 1) if len(machine.legal_moves(history[at][0], role)) > 1]
    for at in reversed(turns):
        if not loses(machine, prover, history[at][0], role, history[at][1][number]):
            break
        first = at
    for at in turns:
        state, joint = history[at]
        legal = machine.legal_moves(state, role)
        if at >= first and (losing := [move for move in legal if loses(machine, prover, state, role, move)]) != [
            *legal
        ]:
            return Refutation(game, steps[:at], role, to_text(joint[number]), tuple(map(to_text, losing)))
    return None


def avoided(contender: Contender, refutation: Refutation, limit: Limit, seed: int) -> bool:
    """Whether the contender chooses a move that is not known to lose."""
    machine = machine_of(refutation.game)
    state = state_of(machine, refutation)
    contender.new_match(refutation.role, seed)
    move = contender.choose(state, machine.legal_moves(state, refutation.role), limit).move
    return move is not None and to_text(move) not in refutation.losing


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--player", default="mcts", help="as in tests/bench/contenders.py")
    parser.add_argument("--seconds", type=float, default=2.0, help="of the processor, for each state")
    parser.add_argument("--collect", metavar="GAME", help="add states of this game instead")
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.collect is not None:
        for refutation in collect(given.collect, given.count, given.seed):
            with FILE.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(refutation)) + "\n")
            print(f"{refutation.game}: {len(refutation.steps)} steps, {len(refutation.losing)} moves lose", flush=True)
        return 0
    contenders: dict[str, Contender] = {}
    found, all_of, outcomes = Counter[str](), Counter[str](), []
    for number, refutation in enumerate(read_refutations()):
        game = refutation.game
        if game not in contenders:
            contenders[game] = make_contender(given.player, read_rulesheet(game))
            warm_up(contenders[game], machine_of(game))
        outcomes.append(float(avoided(contenders[game], refutation, Limit(given.seconds, None, True), number)))
        found[game] += int(outcomes[-1])
        all_of[game] += 1
        print(
            f"{number + 1}: {game}, step {len(refutation.steps)}: {'avoided' if outcomes[-1] else 'lost'}", flush=True
        )
    print(", ".join(f"{game} {found[game]} of {count}" for game, count in all_of.items()))
    print(f"{given.player}, {given.seconds:g} s of the processor a state: {score(outcomes)} avoided of {len(outcomes)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

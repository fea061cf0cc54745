"""Batches of states expanded on the circuit, against the interpreter's states one by one."""

import numpy as np
import pytest

from ggp.gdl.rulesheet import parse_rulesheet
from ggp.gdl.state_machine import Facts
from ggp.simulation.expansion import (
    OVER,
    SEVERAL,
    Expansion,
    do_steps,
    evaluate_steps,
    is_terminal,
    list_steps,
    look,
    make_expansion,
    next_legal,
    value_ends,
)
from tests.circuit.agreement import Pair, make_pair
from tests.search.graphs import Shape, random_graph
from tests.search.truth import World, explore

pytestmark = pytest.mark.kernels

SHAPES = {
    "turns": Shape(positions=20, ends=6, values=(0, 10, 50, 100)),
    "chance, ends without values, roles without moves": Shape(roles=3, chance=True, odd=True, positions=20, ends=8),
    "at once": Shape(roles=3, together=True, positions=16),
    "one role": Shape(roles=1, positions=20),
}


@pytest.mark.parametrize("name", SHAPES)
def test_all_states_of_a_game(name: str) -> None:
    seen = set()
    for seed in (1, 2):
        pair = make_pair(parse_rulesheet(random_graph(SHAPES[name], seed)))
        machine, moves = pair.circuit, pair.compiled.moves
        world = explore(pair.interpreter, pair.circuit)
        assert world is not None
        packed = [machine.packed(state) for state in world.positions]
        states = np.concatenate([bits for bits in packed if bits is not None])
        assert len(states) == len(world.positions) <= 512
        expansion, steps = make_expansion(machine.batches), make_expansion(machine.batches)
        look(expansion, states, len(states))
        value_ends(expansion, states, len(states))
        for row, (state, position) in enumerate(world.positions.items()):
            chooser, count = int(expansion.chooser[row]), int(expansion.moves[row])
            assert is_terminal(expansion, row) == pair.interpreter.is_terminal(state)
            assert (chooser == OVER) == (position.value is not None)
            seen.add("end" if chooser == OVER else "several" if chooser == SEVERAL else "step")
            if position.value is not None:
                assert expansion.value[row].tolist() == pytest.approx(position.value)
                goals = [pair.interpreter.goal(state, role) if position.terminal else None for role in machine.roles]
                assert expansion.goal[row].tolist() == [-1 if goal is None else goal for goal in goals]
                continue
            legal = []
            for role, names in enumerate(moves):
                found, move = [], int(next_legal(expansion, row, role, 0))
                while move < len(names):
                    found.append(move)
                    move = int(next_legal(expansion, row, role, move + 1))
                legal.append(found)
                assert {names[at] for at in found} == set(position.legal[role])
            choosers = [role for role, found in enumerate(legal) if len(found) > 1]
            if len(choosers) > 1:
                assert chooser == SEVERAL
                continue
            assert [chooser] == (choosers or [0])
            assert count == len(legal[chooser])
            look(steps, states[row : row + 1], 1)
            assert list_steps(steps, states, row, 0, 0, 0) == (len(moves[chooser]), count)
            evaluate_steps(steps, steps.joint, count)
            check_steps(pair, world, state, steps, count)
    assert "end" in seen
    assert "several" in seen if name == "at once" else "step" in seen


def check_steps(pair: Pair, world: World, state: Facts, steps: Expansion, count: int) -> None:
    """The steps in a batch are those of the only role with a choice."""
    position, moves = world.positions[state], pair.compiled.moves
    done = set()
    for row in range(count):
        joint = tuple(moves[role][move] for role, move in enumerate(steps.joint[row].tolist()))
        done.add(joint)
        after = pair.circuit.unpacked(steps.after[row : row + 1])
        assert after == position.following[joint]
        assert (steps.chooser[row] == OVER) == (world.positions[after].value is not None)
    assert done == set(position.following)


def test_a_batch_that_is_full_goes_on_with_the_next_move() -> None:
    pair = make_pair(parse_rulesheet(random_graph(Shape(roles=1, positions=30, ends=2, most_moves=6), 3)))
    machine = pair.circuit
    expansion, states = make_expansion(machine.batches), machine.batches.initial
    look(expansion, states, 1)
    count = int(expansion.moves[0])
    assert count > 1
    move, rows = list_steps(expansion, states, 0, 0, 0, 511)
    assert rows == 512
    assert 0 < move < len(pair.compiled.moves[0])
    first = int(expansion.joint[511, 0])
    end, rows = list_steps(expansion, states, 0, 0, move, 0)
    assert (end, rows) == (len(pair.compiled.moves[0]), count - 1)
    assert first not in expansion.joint[: count - 1, 0]
    do_steps(expansion, expansion.joint, rows)
    assert {machine.unpacked(expansion.after[at : at + 1]) for at in range(rows)} <= {
        machine.next_state(machine.initial_state, (name,))
        for name in machine.legal_moves(machine.initial_state, machine.roles[0])
    }

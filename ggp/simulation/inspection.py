"""Compiled game → what its rulesheet was made into: sizes, cones, phases, recursion, independent parts, a drawing."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.compile import CompiledGame
from ggp.circuit.network import INPUT, LOOP, Circuit, Ids
from ggp.circuit.schedule import mark_needed
from ggp.errors import SettingsError
from ggp.gdl.terms import to_text
from ggp.kernel import kernel
from ggp.simulation.steps import Steps, make_steps

MOST_DRAWN = 500  # gates


@dataclass(frozen=True, slots=True)
class Cone:
    """The gates that some outputs depend on; cones may share gates."""

    gates: int
    ands: int
    xors: int
    depth: int  # gates on the longest path from an input or a loop node


@dataclass(frozen=True, slots=True)
class Cones:
    """What each kind of output takes."""

    legal_and_terminal: Cone  # state → legal, terminal
    goals: Cone  # state → goals
    next: Cone  # state and moves → next state
    percepts: Cone  # state and moves → percepts
    all: Cone


@dataclass(frozen=True, slots=True)
class StepPrograms:
    """How many instructions playouts run; each step is one program, random moves included."""

    phases: tuple[int, ...]  # in each phase of the game
    late_goals: int | None  # of the program that evaluates goals now and then; None where each step does


@dataclass(frozen=True, slots=True)
class Recursion:
    """Feedback within a state, brought to its least fixpoint."""

    loops: int
    components: tuple[int, ...]  # the loops of each, in the order in which they settle


@dataclass(frozen=True, slots=True)
class Inspection:
    """What there is to know of a compiled game."""

    roles: tuple[str, ...]
    facts: int
    moves: dict[str, int]  # of each role
    goals: dict[str, tuple[int, ...]]  # the values that each role may get
    has_percepts: bool
    compilation: dict[str, Any]  # the fields of `CompilationReport`
    constants: dict[str, int]  # fact → 0 or 1, which it is in every state
    period: int  # after so many steps, the facts below come round
    phases: dict[str, tuple[int, ...]]  # fact → its value in each phase
    cones: Cones
    recursion: Recursion
    programs: StepPrograms
    parts: tuple[int, ...]  # facts of each part that nothing but terminal and goals links to another, largest first


def inspect_game(compiled: CompiledGame) -> Inspection:
    """All of it; takes about as long as making the programs of playouts, which is part of it."""
    circuit = compiled.circuit
    names = list(map(to_text, compiled.facts))
    constants = compiled.constants
    timed: NDArray[np.bool_] = np.all(compiled.phases >= 0, axis=0)
    _, sizes = np.unique(circuit.loops.components, return_counts=True)
    return Inspection(
        roles=compiled.roles,
        facts=circuit.facts,
        moves=dict(zip(compiled.roles, circuit.moves, strict=True)),
        goals=dict(zip(compiled.roles, compiled.goals, strict=True)),
        has_percepts=compiled.has_percepts,
        compilation=asdict(compiled.report),
        constants={names[fact]: int(constants[fact]) for fact in np.flatnonzero(constants >= 0)},
        period=len(compiled.phases),
        phases={
            names[fact]: tuple(compiled.phases[:, fact].tolist()) for fact in np.flatnonzero(timed & (constants < 0))
        },
        cones=find_cones(circuit),
        recursion=Recursion(len(circuit.loops.results), tuple(sizes.tolist())),
        programs=count_instructions(make_steps(circuit, compiled.phases, compiled.moves)),
        parts=find_parts(circuit, timed),
    )


def count_instructions(steps: Steps) -> StepPrograms:
    """The sizes of the programs that playouts run."""
    late = None if steps.late_goals is None else len(steps.late_goals.left)
    return StepPrograms(tuple(len(program.left) for program in steps.phases), late)


def find_cones(circuit: Circuit) -> Cones:
    """The gates behind each kind of output."""
    depths = _depths(circuit.left, circuit.right)
    terminal = np.array([circuit.terminal], np.int32)
    return Cones(
        legal_and_terminal=_cone(circuit, depths, np.concatenate([circuit.legal, terminal])),
        goals=_cone(circuit, depths, circuit.goals),
        next=_cone(circuit, depths, circuit.next),
        percepts=_cone(circuit, depths, circuit.percepts),
        all=_cone(circuit, depths, circuit.outputs),
    )


def _cone(circuit: Circuit, depths: Ids, outputs: Ids) -> Cone:
    needed = mark_needed(circuit.left, circuit.right, circuit.loops.results, outputs.astype(np.int32))
    gates = needed & (circuit.left >= 0)
    ands = int(np.count_nonzero(gates & (circuit.left < circuit.right)))
    total = int(np.count_nonzero(gates))
    return Cone(total, ands, total - ands, int(depths[gates].max(initial=0)))


@kernel
def _depths(left: Ids, right: Ids) -> Ids:
    """(N,) how many gates are on the longest path to each node and in it; loop nodes are taken for inputs."""
    depths = np.zeros(left.shape[0], np.int32)
    for node in range(1, left.shape[0]):
        if left[node] >= 0:
            depths[node] = 1 + max(depths[left[node] >> 1], depths[right[node] >> 1])
    return depths


def find_parts(circuit: Circuit, timed: NDArray[np.bool_]) -> tuple[int, ...]:
    """The number of facts in each part of the game, largest first; what one output reads is linked.

    timed: (F,) facts that depend on the number of the step only; they link nothing and are not counted. That each role
    does one move in the whole game does not link the parts, nor do the end and the goals, which may look at everything.
    """
    outputs = np.concatenate([circuit.next, circuit.legal])
    needed = mark_needed(circuit.left, circuit.right, circuit.loops.results, outputs)
    silent = np.zeros(len(circuit.left), np.bool_)
    silent[0] = True
    silent[1 : 1 + circuit.facts] = timed
    part = _parts(circuit.left, circuit.right, circuit.loops.results, needed, silent, outputs[: circuit.inputs])
    _, sizes = np.unique(part[1 : 1 + circuit.facts][~timed], return_counts=True)
    return tuple(sorted(sizes.tolist(), reverse=True))


@kernel
def _parts(
    left: Ids,
    right: Ids,
    results: Ids,
    needed: "NDArray[np.bool_]",
    silent: "NDArray[np.bool_]",
    outputs: Ids,
) -> Ids:
    """(N,) the same number for nodes that are linked: gates to what they read, outputs to their inputs.

    silent: (N,) nodes that link nothing; those of gates are written. outputs: of the inputs, in order.
    """
    parent = np.arange(left.shape[0]).astype(np.int32)
    for node in range(1, left.shape[0]):
        if not needed[node] or left[node] == INPUT:
            continue
        first, second = left[node] >> 1, right[node] >> 1
        if left[node] == LOOP:
            first = second = results[right[node]] >> 1
        else:
            silent[node] = silent[first] and silent[second]
        for below in (first, second):
            if not silent[below]:
                parent[_root(parent, node)] = _root(parent, below)
    for at in range(outputs.shape[0]):
        node, below = 1 + at, outputs[at] >> 1
        if not silent[below] and not silent[node]:
            parent[_root(parent, node)] = _root(parent, below)
    for node in range(left.shape[0]):
        parent[node] = _root(parent, node)
    return parent


@kernel
def _root(parent: Ids, node: int) -> int:
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


def draw(compiled: CompiledGame) -> str:
    """The circuit in Graphviz's language: AND as circles, XOR as double circles, complements as dashed edges.

    SettingsError when it has more than MOST_DRAWN gates.
    """
    circuit = compiled.circuit
    if circuit.gates > MOST_DRAWN:
        raise SettingsError(f"a drawing shows at most {MOST_DRAWN} gates; this circuit has {circuit.gates:,}")
    lines = ["digraph circuit {", "  rankdir=LR;"]
    lines += [f"  {line};" for line in (*_drawn_nodes(compiled), *_drawn_outputs(compiled))]
    return "\n".join([*lines, "}"])


def _drawn_nodes(compiled: CompiledGame) -> Iterator[str]:
    circuit = compiled.circuit
    used = mark_needed(circuit.left, circuit.right, circuit.loops.results, circuit.outputs)
    inputs = [f"true {to_text(fact)}" for fact in compiled.facts]
    inputs += [f"does {role} {to_text(move)}" for role, move in _moves(compiled)]
    for node in np.flatnonzero(used).tolist():
        first, second = int(circuit.left[node]), int(circuit.right[node])
        if node == 0:
            yield 'n0 [shape=box, label="false"]'
        elif first == INPUT:
            yield f"n{node} [shape=box, label={_quoted(inputs[second])}]"
        elif first == LOOP:
            yield f'n{node} [shape=diamond, label="loop"]'
            yield _edge(int(circuit.loops.results[second]), f"n{node}", "constraint=false")
        else:
            shape, label = ("circle", "and") if first < second else ("doublecircle", "xor")
            yield f'n{node} [shape={shape}, label="{label}"]'
            yield from (_edge(literal, f"n{node}") for literal in (first, second))


def _drawn_outputs(compiled: CompiledGame) -> Iterator[str]:
    circuit = compiled.circuit
    labels = [f"next {to_text(fact)}" for fact in compiled.facts]
    labels += [f"legal {role} {to_text(move)}" for role, move in _moves(compiled)]
    labels.append("terminal")
    labels += [
        f"goal {role} {value}" for role, values in zip(compiled.roles, compiled.goals, strict=True) for value in values
    ]
    labels += [
        f"sees {role} {to_text(percept)}"
        for role, percepts in zip(compiled.roles, compiled.percepts, strict=True)
        for percept in percepts
    ]
    for number, (label, literal) in enumerate(zip(labels, circuit.outputs.tolist(), strict=True)):
        yield f"o{number} [shape=box, style=rounded, label={_quoted(label)}]"
        yield _edge(literal, f"o{number}")


def _moves(compiled: CompiledGame) -> Iterator[tuple[str, Any]]:
    for role, moves in zip(compiled.roles, compiled.moves, strict=True):
        for move in moves:
            yield role, move


def _edge(literal: int, target: str, *attributes: str) -> str:
    given = [*attributes, "style=dashed"] if literal & 1 else [*attributes]
    return f"n{literal >> 1} -> {target}" + (f" [{', '.join(given)}]" if given else "")


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

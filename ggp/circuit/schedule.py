"""Network and outputs → a program: gates in an order that keeps few words alive, each with the row that it writes.

Rows of the words: 0 is false, then whatever the caller declares (states, random words, outputs), then scratch rows that
are used again as soon as nothing reads them any more.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ggp.circuit.network import LOOP, Ids, Loops
from ggp.kernel import kernel

SPARE_ROWS = 1024  # the most that were needed, of 69 games, were 212


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """Instructions over rows of words; a literal is 2 · row, + 1 for the complement."""

    left: Ids  # (G,)
    right: Ids  # (G,)
    out: Ids  # (G,) the row that is written; ~row for an XOR, else it is an AND
    segments: Ids  # (S, 4): instructions from, to; feedback from, to: a segment with feedback is repeated
    feedback: Ids  # (K, 2) the row of a loop node, the literal that it takes after each pass
    outputs: Ids  # (K,) the rows whose values are wanted afterwards
    rows: int  # that the words need; the last SPARE_ROWS are for what machine code puts aside

    def moved(self, row_of: Ids) -> "Program":
        """The same program on other rows: row r becomes row_of[r]."""
        inverted = self.out < 0
        rows = row_of[np.where(inverted, ~self.out, self.out)]
        feedback = np.stack([row_of[self.feedback[:, 0]], _moved(self.feedback[:, 1], row_of)], axis=1)
        return Program(
            _moved(self.left, row_of),
            _moved(self.right, row_of),
            np.where(inverted, ~rows, rows).astype(np.int32),
            self.segments,
            feedback.astype(np.int32),
            row_of[self.outputs],
            self.rows,
        )


def _moved(literals: Ids, row_of: Ids) -> Ids:
    moved: Ids = (2 * row_of[literals >> 1] + (literals & 1)).astype(np.int32)
    return moved


class Nodes(NamedTuple):
    """A network as it is read here."""

    left: Ids
    right: Ids
    loop_results: Ids
    loop_components: Ids
    loop_nodes: Ids  # the nodes of the loops
    by_component: Ids  # the loops, sorted by component


def make_program(  # noqa: PLR0913, PLR0917 - each is an array of its own
    left: Ids, right: Ids, loops: Loops, outputs: Ids, row_of_input: Ids, output_rows: Ids, first_scratch: int
) -> Program:
    """The program that writes outputs[i] to output_rows[i].

    row_of_input: (N,) the row of each input node, -1 for all others. Rows from `first_scratch` on are free to use.
    """
    nodes = _read(left, right, loops)
    order, segments, members = _evaluation_order(nodes, outputs, _needed_components(nodes, outputs))
    program = _assign_rows(
        nodes, order, segments, members, outputs, row_of_input.astype(np.int32), output_rows.astype(np.int32),
        first_scratch,
    )  # fmt: skip
    return Program(*program[:5], output_rows.astype(np.int32), int(program[5]) + SPARE_ROWS)


def _read(left: Ids, right: Ids, loops: Loops) -> Nodes:
    found = np.flatnonzero(left == LOOP).astype(np.int32)
    loop_nodes = np.zeros(len(loops.results), np.int32)
    loop_nodes[right[found]] = found
    by_component = np.argsort(loops.components, kind="stable").astype(np.int32)
    return Nodes(left, right, loops.results, loops.components, loop_nodes, by_component)


def _needed_components(nodes: Nodes, outputs: Ids) -> Ids:
    """The components of loops that the outputs depend on, ascending."""
    if not len(nodes.loop_results):
        return np.zeros(0, np.int32)
    needed = mark_needed(nodes.left, nodes.right, nodes.loop_results, outputs)
    loops = nodes.right[(nodes.left == LOOP) & needed]
    return np.unique(nodes.loop_components[loops]).astype(np.int32)


@kernel
def mark_needed(left: Ids, right: Ids, loop_results: Ids, outputs: Ids) -> "np.typing.NDArray[np.bool_]":
    """(N,) which nodes the outputs depend on, through loops as well."""
    needed = np.zeros(left.shape[0], np.bool_)
    for literal in outputs:
        needed[literal >> 1] = True
    again = True
    while again:
        again = False
        for node in range(left.shape[0] - 1, -1, -1):
            if needed[node]:
                if left[node] >= 0:
                    needed[left[node] >> 1] = True
                    needed[right[node] >> 1] = True
                elif left[node] == LOOP and not needed[loop_results[right[node]] >> 1]:
                    needed[loop_results[right[node]] >> 1] = True
                    again = True
    return needed


@kernel
def _cone(nodes: Nodes, root: int, emitted: Ids, order: Ids, count: int, stack: Ids) -> int:
    """Append the gates below a literal that were not emitted before, inputs first; the new count."""
    stack[0] = root >> 1
    depth = 1
    while depth:
        node = stack[depth - 1]
        if emitted[node] or nodes.left[node] < 0:
            depth -= 1
            continue
        first, second = nodes.left[node] >> 1, nodes.right[node] >> 1
        if nodes.left[second] >= 0 and not emitted[second]:
            stack[depth] = second
            depth += 1
        elif nodes.left[first] >= 0 and not emitted[first]:
            stack[depth] = first
            depth += 1
        else:
            emitted[node] = 1
            order[count] = node
            count += 1
            depth -= 1
    return count


@kernel
def _evaluation_order(nodes: Nodes, outputs: Ids, components: Ids) -> tuple[Ids, Ids, Ids]:
    """Gates in order; segments (from, to, members from, to); the loops of each segment that is repeated."""
    size = nodes.left.shape[0]
    emitted = np.zeros(size, np.int32)
    order = np.empty(size, np.int32)
    stack = np.empty(size + 2, np.int32)
    segments = np.zeros((2 * components.shape[0] + 1, 4), np.int32)
    members = np.empty(nodes.loop_results.shape[0], np.int32)
    depends = np.zeros(size, np.int32)
    count, used, joined, sorted_at = 0, 0, 0, 0
    for component in components:
        start, first_member = count, joined
        while nodes.loop_components[nodes.by_component[sorted_at]] != component:
            sorted_at += 1
        while (
            sorted_at < nodes.by_component.shape[0]
            and nodes.loop_components[nodes.by_component[sorted_at]] == component
        ):
            members[joined] = nodes.by_component[sorted_at]
            depends[nodes.loop_nodes[members[joined]]] = 1
            joined += 1
            sorted_at += 1
        for at in range(first_member, joined):
            count = _cone(nodes, nodes.loop_results[members[at]], emitted, order, count, stack)
        inside = 0
        for at in range(start, count):
            node = order[at]
            if depends[nodes.left[node] >> 1] or depends[nodes.right[node] >> 1]:
                depends[node] = 1
                stack[inside] = node
                inside += 1
            else:
                order[at - inside] = node
        for at in range(inside):
            order[count - inside + at] = stack[at]
            depends[stack[at]] = 0
        for at in range(first_member, joined):
            depends[nodes.loop_nodes[members[at]]] = 0
        segments[used, 0], segments[used, 1] = start, count - inside
        segments[used + 1, 0], segments[used + 1, 1] = count - inside, count
        segments[used + 1, 2], segments[used + 1, 3] = first_member, joined
        used += 2
    start = count
    for literal in outputs:
        count = _cone(nodes, literal, emitted, order, count, stack)
    segments[used, 0], segments[used, 1] = start, count
    return order[:count], segments, members[:joined]


@kernel
def _assign_rows(  # noqa: C901, PLR0912, PLR0913, PLR0915, PLR0917 - kernel: a call costs
    nodes: Nodes,
    order: Ids,
    segments: Ids,
    members: Ids,
    outputs: Ids,
    row_of_input: Ids,
    output_rows: Ids,
    first_scratch: int,
) -> tuple[Ids, Ids, Ids, Ids, Ids, int]:
    """The instructions, segments, feedback and the number of rows."""
    size = nodes.left.shape[0]
    row = row_of_input.copy()
    row[0] = 0
    last_use = np.full(size, -1, np.int32)
    position = np.full(size, -1, np.int32)
    for at in range(order.shape[0]):
        position[order[at]] = at
    for segment in range(segments.shape[0]):
        start, end, first, last = segments[segment]
        for at in range(start, end):
            node = order[at]
            for below in (nodes.left[node] >> 1, nodes.right[node] >> 1):
                inside = last == first or position[below] >= start
                last_use[below] = max(last_use[below], at if inside else end)
        for at in range(first, last):
            last_use[nodes.loop_results[members[at]] >> 1] = end
    claimed = np.full(size, -1, np.int32)
    for at in range(outputs.shape[0]):
        node = outputs[at] >> 1
        last_use[node] = order.shape[0]
        if outputs[at] & 1 == 0 and nodes.left[node] >= 0 and claimed[node] < 0:
            claimed[node] = at
            row[node] = output_rows[at]
    rows = first_scratch
    for segment in range(segments.shape[0]):
        for at in range(segments[segment, 2], segments[segment, 3]):
            row[nodes.loop_nodes[members[at]]] = rows
            rows += 1
    free = np.empty(order.shape[0] + 1, np.int32)
    free_count = 0
    total = order.shape[0] + outputs.shape[0]
    left, right, out = np.empty(total, np.int32), np.empty(total, np.int32), np.empty(total, np.int32)
    scratch_from = rows
    for at in range(order.shape[0]):
        node = order[at]
        first, second = nodes.left[node], nodes.right[node]
        left[at] = 2 * row[first >> 1] + (first & 1)
        right[at] = 2 * row[second >> 1] + (second & 1)
        for below in (first >> 1, second >> 1):
            if last_use[below] == at and row[below] >= scratch_from and claimed[below] < 0:
                free[free_count] = row[below]
                free_count += 1
                last_use[below] = -1
        if row[node] < 0:
            if free_count:
                free_count -= 1
                row[node] = free[free_count]
            else:
                row[node] = rows
                rows += 1
        out[at] = ~row[node] if first > second else row[node]
    count = order.shape[0]
    for at in range(outputs.shape[0]):
        if claimed[outputs[at] >> 1] != at:
            left[count] = 2 * row[outputs[at] >> 1] + (outputs[at] & 1)
            right[count] = 1
            out[count] = output_rows[at]
            count += 1
    placed = segments.copy()
    placed[segments.shape[0] - 1, 1] = count
    feedback = np.empty((members.shape[0], 2), np.int32)
    for at in range(members.shape[0]):
        feedback[at, 0] = row[nodes.loop_nodes[members[at]]]
        result = nodes.loop_results[members[at]]
        feedback[at, 1] = 2 * row[result >> 1] + (result & 1)
    return left[:count], right[:count], out[:count], placed, feedback, rows

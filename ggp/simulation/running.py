"""Programs on words: instruction by instruction, or by machine code where there is some."""

from typing import NamedTuple

import numpy as np

from ggp.circuit.network import Ids
from ggp.circuit.schedule import Program
from ggp.kernel import WORD, Int, Words, gate_and, gate_xor, inner, lean


class Code(NamedTuple):
    """Programs one after the other, as kernels read them."""

    left: Ids
    right: Ids
    out: Ids
    segments: Ids  # (S, 4), of all programs
    feedback: Ids  # (K, 2)
    first_segment: Ids  # (P + 1,) program p has the segments first_segment[p]:first_segment[p + 1]


def join_programs(programs: tuple[Program, ...]) -> Code:
    """The programs as one value for kernels; they share their rows."""
    segments, gates, loops, first = [], 0, 0, [0]
    for program in programs:
        segments.append(program.segments + np.array([gates, gates, loops, loops], np.int32))
        gates += len(program.left)
        loops += len(program.feedback)
        first.append(first[-1] + len(program.segments))
    return Code(
        np.concatenate([program.left for program in programs]),
        np.concatenate([program.right for program in programs]),
        np.concatenate([program.out for program in programs]),
        np.concatenate(segments).astype(np.int32),
        np.concatenate([program.feedback for program in programs]),
        np.array(first, np.int32),
    )


@lean
def run_program(words: Words, code: Code, program: Int) -> None:
    """Evaluate one of the programs on all lanes."""
    for segment in range(code.first_segment[program], code.first_segment[program + 1]):
        start, end, first, last = code.segments[segment]
        if first == last:
            _run_gates(words, code, start, end)
            continue
        for at in range(first, last):
            gate_and(words, 0, 0, code.feedback[at, 0])
        while True:
            _run_gates(words, code, start, end)
            if not _feed_back(words, code, first, last):
                break


@inner
def _run_gates(words: Words, code: Code, start: Int, end: Int) -> None:
    for at in range(start, end):
        out = code.out[at]
        if out >= 0:
            gate_and(words, code.left[at], code.right[at], out)
        else:
            gate_xor(words, code.left[at], code.right[at], ~out)


@inner
def _feed_back(words: Words, code: Code, first: Int, last: Int) -> bool:
    """Give the loop nodes their results; whether any lane of any changed."""
    changed = np.uint64(0)
    for at in range(first, last):
        row, literal = code.feedback[at]
        mask = np.uint64(0) - np.uint64(literal & 1)
        for column in range(WORD):
            value = words[literal >> 1, column] ^ mask
            changed |= words[row, column] ^ value
            words[row, column] = value
    return bool(changed != 0)

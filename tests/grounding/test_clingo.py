"""Ground programs written and read, and runs of clingo."""

import signal
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from threading import Timer

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ggp.errors import GroundingError
from ggp.grounding.clingo import (
    Budget,
    ClaspRun,
    Clingo,
    GroundProgram,
    OverBudgetError,
    ground_text,
    list_rules,
    parse_aspif,
    parse_names,
)

TEXT = b"""asp 1 0 0
1 1 1 1 0 0
1 0 1 2 0 2 1 -3
1 0 1 3 0 0
1 1 1 14 0 1 2
1 0 1 105 0 1 14
4 1 a 1 14
4 6 b(c,d) 0
4 1 c 1 105
0
"""


def test_rules_and_names() -> None:
    aspif = parse_aspif(TEXT)
    assert aspif.heads.tolist() == [2, 3, 105]
    assert aspif.first_literal.tolist() == [0, 2, 2, 3]
    assert aspif.literals.tolist() == [1, -3, 14]
    assert aspif.names == (b"a", b"b(c,d)", b"c")
    assert aspif.named.tolist() == [14, 0, 105]
    assert parse_names(TEXT) == [b"a", b"b(c,d)", b"c"]


def test_an_output_that_breaks_off() -> None:
    with pytest.raises(ValueError, match="breaks off"):
        parse_aspif(TEXT[:-4])


def test_gringo_writes_that(clingo: Clingo) -> None:
    aspif = parse_aspif(ground_text(clingo, b"{a}. b :- a, not c. {c} :- a. #show b/0.", Budget()))
    (b,) = aspif.named.tolist()
    assert aspif.names == (b"b",)
    assert aspif.heads.tolist() == [b]
    assert sorted(literal < 0 for literal in aspif.literals) == [False, True]


def test_gringo_ends_before_it_has_read_everything(clingo: Clingo) -> None:
    with pytest.raises(OverBudgetError, match="ran out of time"):
        ground_text(clingo, b"a." * 1_000_000, Budget(seconds=0.0))


def test_gringo_refuses_what_is_no_program(clingo: Clingo) -> None:
    with pytest.raises(GroundingError, match=r"gringo failed .* syntax error"):
        ground_text(clingo, b"a :- :-.", Budget())


def test_a_run_that_gives_too_much_is_stopped_and_the_next_is_not(clingo: Clingo) -> None:
    many = b"n(1..100). p(X, Y) :- n(X), n(Y)."
    with pytest.raises(OverBudgetError, match="ran out of rules"):
        ground_text(clingo, many, Budget(rules=10))
    with pytest.raises(OverBudgetError, match="ran out of room"):
        ground_text(clingo, many, Budget(output=10))
    assert ground_text(clingo, many, Budget()).count(b"p(") == 10_000


def test_a_rule_that_a_run_could_not_finish_is_none(monkeypatch: pytest.MonkeyPatch, clingo: Clingo) -> None:
    class Ended:
        output = BytesIO(b"r14(1).\nr14(2).\nr1")

        def write(self, program: bytes) -> None:
            pass

        def end(self) -> tuple[int, float]:
            return -9, 2.0

        def close(self) -> None:
            pass

    monkeypatch.setattr(clingo, "start", lambda *_: Ended())
    taken: list[bytes] = []

    def take(rule: bytes) -> bool:
        taken.append(rule)
        return True

    assert not list_rules(clingo, b"", 1.0, 100, take)
    assert taken == [b"r14(1).\n", b"r14(2).\n"]


def test_a_rule_that_is_too_long_ends_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggp.grounding.clingo._LONGEST_RULE", 6)
    taken: list[bytes] = []

    def take(rule: bytes) -> bool:
        taken.append(rule)
        return True

    with Clingo() as clingo:
        assert not list_rules(clingo, b"a. loooong. b.", 5.0, 100, take)
    assert taken[-1] == b"loooon"


class Signalled:
    """A run that a signal ended."""

    output = BytesIO()

    def __init__(self, number: signal.Signals, seconds: float, message: bytes) -> None:
        self._exit_code, self._seconds, self.messages = -number, seconds, BytesIO(message)

    def write(self, program: bytes) -> None:
        pass

    def end(self) -> tuple[int, float]:
        return self._exit_code, self._seconds

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("number", "seconds", "message", "error"),
    [
        (signal.SIGKILL, 2.6, b"", "ran out of time"),
        (signal.SIGKILL, 0.6, b"", r"gringo failed \(-9\)"),
        (signal.SIGABRT, 0.6, b"terminate called after throwing an instance of 'std::bad_alloc'", "ran out of memory"),
        (signal.SIGABRT, 0.6, b"terminate called without an active exception", r"gringo failed \(-6\): terminate"),
    ],
)
def test_a_run_that_a_signal_ends_has_run_out_of_time_or_memory(
    number: signal.Signals, seconds: float, message: bytes, error: str, monkeypatch: pytest.MonkeyPatch, clingo: Clingo
) -> None:
    monkeypatch.setattr(clingo, "start", lambda *_: Signalled(number, seconds, message))
    with pytest.raises((OverBudgetError, GroundingError), match=error):
        ground_text(clingo, b"", Budget(seconds=3.0))


def test_a_process_that_is_killed_from_outside(clingo: Clingo) -> None:
    timer = Timer(0.2, clingo.kill)
    timer.start()
    with pytest.raises(GroundingError, match="clingo's process was killed"):
        ground_text(clingo, b"n(1..1000). p(X, Y, Z) :- n(X), n(Y), n(Z).", Budget(rules=1 << 40, output=1 << 40))
    timer.join()


def test_signals_to_a_process_that_another_thread_has_just_waited_for(
    monkeypatch: pytest.MonkeyPatch, clingo: Clingo
) -> None:
    clingo.kill()
    monkeypatch.setattr(subprocess.Popen, "poll", lambda _: None)  # as while another thread is in `wait`
    clingo.pause()
    clingo.kill()


@pytest.mark.parametrize("paths", [sys.path, []])
def test_both_ways_to_find_clingo(paths: list[str], tmp_path: Path) -> None:
    """By its C API, and by its Python API where there is no library of a known name."""
    program = tmp_path / "program.lp"
    program.write_text("a.")
    script = (
        f"import sys; from ggp.grounding.clingo_process import find_main; sys.exit(find_main({paths})(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "--mode=gringo", "--output=intermediate", program],
        capture_output=True,
        check=True,
    )
    assert done.stdout == b"asp 1 0 0\n1 0 1 1 0 0\n4 1 a 0\n0\n"


def test_statements_by_hand() -> None:
    program = GroundProgram()
    program.choice(1)
    program.rule(2, 1, -3)
    program.at_most_one([1, 2])
    program.rows(1, 0, 1, np.array([4, 5]), 0, 1, np.array([-1, 2]))
    program.constraint(4)
    program.show("a", 2)
    assert program.text() == (
        b"asp 1 0 0\n1 1 1 1 0 0 \n1 0 1 2 0 2 1 -3 \n1 0 0 1 2 2 1 1 2 1 \n1 0 1 4 0 1 -1 \n1 0 1 5 0 1 2 \n"
        b"1 0 0 0 1 4 \n4 1 a 1 2\n0\n"
    ).replace(b" \n", b"\n")


@given(st.lists(st.tuples(st.integers(1, 2**31 - 1), st.lists(st.integers(1 - 2**31, 2**31 - 1).filter(bool)))))
def test_rules_that_are_written_read_back(rules: list[tuple[int, list[int]]]) -> None:
    program = GroundProgram()
    for head, body in rules:
        program.rule(head, *body)
    aspif = parse_aspif(program.text())
    assert aspif.heads.tolist() == [head for head, _ in rules]
    assert aspif.literals.tolist() == [literal for _, body in rules for literal in body]
    assert np.diff(aspif.first_literal).tolist() == [len(body) for _, body in rules]


def test_an_answer_and_none(clingo: Clingo) -> None:
    program = GroundProgram()
    program.choice(1)
    program.rule(2, -1)
    program.show("chosen", 1)
    program.show("not", 2)
    program.constraint(2)
    solver = ClaspRun(clingo, program.text(), 1 << 30)
    assert solver.wait(60)
    assert (solver.answer, solver.is_refuted) == (["chosen"], False)
    program.constraint(1)
    solver = ClaspRun(clingo, program.text(), 1 << 30)
    assert solver.wait(60)
    assert (solver.answer, solver.is_refuted) == (None, True)

"""The command `ggp solve`: an equilibrium of a game, and how far the strategies found are from it."""

import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ggp.cache import is_warm
from ggp.commands.options import given, options_of, with_options
from ggp.commands.shared import GameArgument, JsonOption, load_argument, print_line
from ggp.equilibrium.settings import SolveSettings
from ggp.errors import AmbiguousMovesError, EquilibriumError, GroundingError, NoGoalError
from ggp.game import check_playable
from ggp.gdl.rulesheet import NATURE
from ggp.gdl.state_machine import Facts, JointMove
from ggp.gdl.terms import Term, to_text
from ggp.signals import EXIT_INTERRUPTED, noted

if TYPE_CHECKING:
    from ggp.equilibrium.backward_induction import BackwardInduction
    from ggp.equilibrium.merged import MergedSolver
    from ggp.equilibrium.policy import Decision, Policy
    from ggp.equilibrium.solving import EquilibriumSolver, SolveReport

_FIRST_REPORT = 0.1  # seconds of iterations; each later report comes after twice as many
_RESPONSE_SECONDS = 120.0  # for best responses that forget nothing
_LEAST_SHOWN = 0.0005  # a probability that is shown


def add_commands(app: typer.Typer) -> None:
    """Adds the sub-command to the application."""
    app.command("solve")(with_options(run_solve, options_of(SolveSettings, panel="How to solve")))


def run_solve(
    game: GameArgument,
    seconds: Annotated[float, typer.Option(min=0, help="Seconds of iterations at most.")] = 10.0,
    nash_conv: Annotated[float, typer.Option(min=0, help="End when NashConv is not above this (goal points).")] = 0.001,
    sets: Annotated[int, typer.Option(min=0, help="How many information sets of each role to show.")] = 10,
    memory: Annotated[int, typer.Option(min=1, help="Memory for the histories, in MiB.")] = 2048,
    as_json: JsonOption = False,
    **settings: Any,  # noqa: ANN401 - as typer has checked them
) -> None:
    """Find an equilibrium of a game with hidden information, chance or simultaneous moves.

    All histories are enumerated, then CFR+ goes on until NashConv is small: the sum of what each role would gain,
    in goal points from 0 to 100, by a best response to the others. Where two roles have opposed goals this is a Nash
    equilibrium; elsewhere NashConv tells how close the strategies come to one.

    Where there are too many histories, but nothing is hidden and one or two opposed roles have no more states than
    memory holds, these are solved from the ends to the start instead, each as a matrix game, and of states that are
    mirrored or turned images of one another (as `ggp perft --symmetries` tests) only one. Where two roles do not
    see everything, histories are merged: roles forget in which order they did and were told what (--recall).

    Ctrl-C ends it with the best so far, and exit code 130. With --json each report is an object on a line of its
    own, and the last one has "final": true and the whole policy.
    """
    if not is_warm():
        typer.echo("ggp: kernels may have to be compiled first, which takes a while; see `ggp cache warm`", err=True)
    from ggp.equilibrium.backward_induction import BackwardInduction, why_unsuitable  # noqa: PLC0415 - numba is slow
    from ggp.equilibrium.merged import MergedSolver  # noqa: PLC0415
    from ggp.equilibrium.solving import EquilibriumSolver  # noqa: PLC0415
    from ggp.learning.symmetries import find_symmetries, images_of  # noqa: PLC0415
    from ggp.simulation.state_machine import CircuitMachine  # noqa: PLC0415

    try:
        loaded = load_argument(game, "circuit")
    except GroundingError as error:
        raise GroundingError(f"{game} has no circuit, which solving needs: {error}") from None
    machine = loaded.machine
    assert isinstance(machine, CircuitMachine)
    if set(machine.roles) == {NATURE}:
        raise EquilibriumError(f"{loaded.name}: the only role is {NATURE}, so there is nothing to solve")
    check_playable(loaded.initial_state)
    chosen = SolveSettings(**given(settings))
    solver = EquilibriumSolver(machine, chosen, memory * 2**20)
    with noted() as interrupted:
        shown = _JsonShown() if as_json else _TextShown(sets)
        try:
            _solve(solver, seconds, nash_conv, shown, interrupted)
            shown.end(solver)
        except EquilibriumError as error:
            can_merge = machine.compiled.has_percepts and len(set(machine.roles) - {NATURE}) == 2
            if isinstance(error, AmbiguousMovesError | NoGoalError) or (why_unsuitable(machine) and not can_merge):
                raise
            del solver
            if can_merge:
                typer.echo(f"ggp: {error}: roles forget the order of steps", err=True)
                merged = MergedSolver(machine, chosen.recall, memory * 2**20)
                _solve_merged(merged, seconds, nash_conv, shown, interrupted)
            else:
                typer.echo(f"ggp: {error}: solving states instead", err=True)
                found = find_symmetries(machine.rulesheet, machine.batches, exact=True) if chosen.symmetries else None
                images = None if found is None else images_of(found, same_roles=True)
                states = BackwardInduction(machine, None, memory * 2**20, images)
                _solve_states(states, machine.rulesheet.source, shown, interrupted)
    if interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)


def _solve(
    solver: "EquilibriumSolver", seconds: float, nash_conv: float, shown: "_TextShown", interrupted: list[int]
) -> None:
    """Until the time is up, NashConv is small, or Ctrl-C."""
    while solver.tree is None and not interrupted:
        until = perf_counter() + 1.0
        solver.run(lambda until=until: bool(interrupted) or solver.tree is not None or perf_counter() >= until)  # type: ignore[misc]
        if solver.tree is None:
            shown.report(solver, solver.report())
    began, spent = perf_counter(), _FIRST_REPORT
    while not interrupted:
        until = began + min(spent, seconds)
        solver.run(lambda until=until: bool(interrupted) or perf_counter() >= until)  # type: ignore[misc]
        solver.run(lambda: False, 0 if solver.iterations else 1)
        report = solver.report()
        shown.report(solver, report)
        if spent >= seconds or (report.nash_conv is not None and report.nash_conv <= nash_conv):
            return
        spent *= 2


def _solve_states(solver: "BackwardInduction", source: str, shown: "_TextShown", interrupted: list[int]) -> None:
    """From the ends to the start; EquilibriumError where that cannot be."""
    began = told = perf_counter()
    while not (solver.is_solved or solver.why_failed or interrupted):
        solver.advance()
        if perf_counter() >= told + 1.0:
            told = perf_counter()
            shown.report_states(solver, told - began)
    if solver.why_failed:
        raise EquilibriumError(f"{source}: no backward induction: {solver.why_failed}")
    shown.end_states(solver, perf_counter() - began)


def _solve_merged(
    solver: "MergedSolver", seconds: float, nash_conv: float, shown: "_TextShown", interrupted: list[int]
) -> None:
    """Nodes, then iterations until the time is up, NashConv is small, or Ctrl-C.

    NashConv takes best responses. Before the end they get a quarter of the time of the iterations, and are left out
    where that is too short.
    """
    began = told = perf_counter()
    while solver.form is None and not interrupted:
        solver.advance()
        if perf_counter() >= told + 1.0:
            told = perf_counter()
            shown.report_merged(solver, told - began, [])
    best: list[float] = []
    iterated, spent, is_over = 0.0, min(_FIRST_REPORT, seconds), False
    while not (is_over or interrupted):
        until = perf_counter() + spent - iterated
        while not interrupted and (perf_counter() < until or solver.iterations == 0):
            solver.advance()
        iterated = spent
        taken = perf_counter() - began
        best = _best_responses(solver, _RESPONSE_SECONDS if spent >= seconds else spent / 4, interrupted)
        is_over = spent >= seconds or (bool(best) and sum(best) - sum(solver.values()) <= nash_conv)
        if not (is_over or interrupted):
            shown.report_merged(solver, taken, best)
        spent = min(2 * spent, seconds)
    shown.end_merged(solver, perf_counter() - began if interrupted else taken, best)


def _best_responses(solver: "MergedSolver", seconds: float, interrupted: list[int]) -> list[float]:
    """Of both roles, goal values; none where that takes longer."""
    until = perf_counter() + seconds
    best = []
    for role in solver.roles:
        value = solver.best_response(role, lambda: bool(interrupted) or perf_counter() >= until)
        if value is None:
            return []
        best.append(value)
    return best


def _likely_decisions(solver: "BackwardInduction") -> Iterator[tuple[str, tuple[JointMove, ...], dict[Term, float]]]:
    """What roles do in the states that come up when all keep to their strategies, and joint moves that lead there.

    Of states that are images of one another the first one that is met.
    """
    machine = solver.machine
    queue: deque[tuple[Facts, tuple[JointMove, ...]]] = deque([(machine.initial_state, ())])
    seen: set[int] = set()
    while queue:
        state, history = queue.popleft()
        packed = machine.packed(state)
        found = None if packed is None else solver.find_image(packed)
        if found is None or found[0] in seen:
            continue
        seen.add(found[0])
        for role, moves in zip(solver.roles, solver.strategies(*found), strict=True):
            if len(moves) > 1:
                yield role, history, moves
        for joint in solver.likely_joint_moves(*found):
            queue.append((machine.next_state(state, joint), (*history, joint)))


class _TextShown:
    """Lines for people."""

    def __init__(self, sets: int = 0) -> None:
        self._sets = sets

    def report(self, solver: "EquilibriumSolver", report: "SolveReport") -> None:
        found = f"{report.seconds:.1f} s, {report.histories:,} histories, {report.information_sets:,} information sets"
        if solver.tree is None or report.nash_conv is None:
            print_line(f"{found} so far")
            return
        values = _by_role(solver.tree.roles, report.values)
        print_line(f"{found}, {report.iterations:,} iterations: {values}; NashConv {report.nash_conv:.6f}")

    def end(self, solver: "EquilibriumSolver") -> None:
        policy = solver.policy()
        if policy is None:
            return
        if not _is_guaranteed(policy):
            print_line("the roles' goals are not those of two opponents: what is found need not be an equilibrium")
        for role, name in enumerate(policy.tree.roles):
            sets = range(int(policy.tree.form.first_set[role]), int(policy.tree.form.first_set[role + 1]))
            print_line(f"{name}: {len(sets):,} information sets")
            for decision in islice(map(policy.decision, sets), self._sets):
                print_line(f"  {in_words(decision)}")

    def report_states(self, solver: "BackwardInduction", seconds: float) -> None:
        print_line(f"{seconds:.1f} s, {solver.states:,} states, {solver.steps_done:,} joint moves so far")

    def end_states(self, solver: "BackwardInduction", seconds: float) -> None:
        if not solver.is_solved:
            return
        values = _by_role(solver.roles, solver.values(0))
        found = f"{seconds:.1f} s, {solver.states:,} states, {solver.steps_done:,} joint moves"
        print_line(f"{found}: {values}; NashConv {sum(solver.gains(0)):.6f}")
        for role, history, moves in islice(_likely_decisions(solver), self._sets * len(solver.roles)):
            steps = "; ".join(" ".join(map(to_text, joint)) for joint in history)
            print_line(f"  {role}, {f'after {steps}' if steps else 'at the start'} → {_moves_in_words(moves)}")

    def report_merged(self, solver: "MergedSolver", seconds: float, best: list[float]) -> None:
        found = f"{seconds:.1f} s, {solver.nodes:,} merged histories, {solver.information_sets:,} information sets"
        if solver.iterations == 0:
            print_line(f"{found} so far")
            return
        values = solver.values()
        print_line(f"{found}, {solver.iterations:,} iterations: {_by_role(solver.roles, values)}")
        if best:
            distance = sum(best) - sum(values)
            responses = _by_role(solver.roles, best)
            print_line(f"by best responses that forget nothing: {responses}; NashConv {distance:.6f}")

    def end_merged(self, solver: "MergedSolver", seconds: float, best: list[float]) -> None:
        self.report_merged(solver, seconds, best)
        for role in solver.roles if solver.iterations else ():
            print_line(f"  {role}, at the start → {_moves_in_words(solver.first_moves(role))}")


def _by_role(roles: Sequence[str], values: Iterable[float]) -> str:
    return ", ".join(f"{role} {value:.3f}" for role, value in zip(roles, values, strict=True))


class _JsonShown(_TextShown):
    """Objects, one on a line."""

    def report_merged(self, solver: "MergedSolver", seconds: float, best: list[float]) -> None:
        typer.echo(json.dumps({**_merged_as_dict(solver, seconds, best), "final": False}))

    def end_merged(self, solver: "MergedSolver", seconds: float, best: list[float]) -> None:
        first = {
            role: {to_text(move): share for move, share in solver.first_moves(role).items()}
            for role in (solver.roles if solver.iterations else ())
        }
        last = {"final": True, "is_guaranteed": False, "first_moves": first}
        typer.echo(json.dumps({**_merged_as_dict(solver, seconds, best), **last}, ensure_ascii=False))

    def report_states(self, solver: "BackwardInduction", seconds: float) -> None:
        typer.echo(json.dumps({**_states_as_dict(solver, seconds), "final": False}))

    def end_states(self, solver: "BackwardInduction", seconds: float) -> None:
        decisions = _likely_decisions(solver) if solver.is_solved else ()
        policy = [
            {
                "role": role,
                "history": [list(map(to_text, joint)) for joint in history],
                "moves": {to_text(move): share for move, share in moves.items()},
            }
            for role, history, moves in decisions
        ]
        last = {"final": True, "is_guaranteed": solver.is_solved, "policy": policy}
        typer.echo(json.dumps({**_states_as_dict(solver, seconds), **last}, ensure_ascii=False))

    def report(self, solver: "EquilibriumSolver", report: "SolveReport") -> None:
        typer.echo(json.dumps({**_as_dict(solver, report), "final": False}))

    def end(self, solver: "EquilibriumSolver") -> None:
        policy = solver.policy()
        decisions = [] if policy is None else [_decision_as_dict(each) for each in policy.decisions()]
        last = {"final": True, "is_guaranteed": policy is not None and _is_guaranteed(policy), "policy": decisions}
        typer.echo(json.dumps({**_as_dict(solver, solver.report()), **last}, ensure_ascii=False))


def in_words(decision: "Decision") -> str:
    """What a role has done and was told, and what it does."""
    parts = []
    for move, told in decision.known:
        parts.append(f"{to_text(move)}, told {' '.join(map(to_text, told)) or 'nothing'}")
    return f"{'; '.join(parts) or 'at the start'} → {_moves_in_words(decision.moves)}"


def _moves_in_words(moves: dict[Term, float]) -> str:
    shown = sorted(moves.items(), key=lambda item: -item[1])
    return ", ".join(f"{to_text(move)} {share:.1%}" for move, share in shown if share >= _LEAST_SHOWN)


def _is_guaranteed(policy: "Policy") -> bool:
    return len(policy.tree.roles) <= 2 and (policy.tree.is_constant_sum or len(policy.tree.roles) == 1)


def _as_dict(solver: "EquilibriumSolver", report: "SolveReport") -> dict[str, Any]:
    roles = () if solver.tree is None else solver.tree.roles
    return {
        "seconds": report.seconds,
        "histories": report.histories,
        "information_sets": report.information_sets,
        "iterations": report.iterations,
        "values": dict(zip(roles, report.values, strict=False)),
        "gains": dict(zip(roles, report.gains, strict=False)),
        "nash_conv": report.nash_conv,
    }


def _merged_as_dict(solver: "MergedSolver", seconds: float, best: list[float]) -> dict[str, Any]:
    values = solver.values() if solver.iterations else ()
    gains = [most - value for most, value in zip(best, values, strict=True)] if best else []
    return {
        "seconds": seconds,
        "merged_histories": solver.nodes,
        "information_sets": solver.information_sets,
        "iterations": solver.iterations,
        "values": dict(zip(solver.roles, values, strict=False)),
        "gains": dict(zip(solver.roles, gains, strict=False)),
        "nash_conv": sum(gains) if gains else None,
    }


def _states_as_dict(solver: "BackwardInduction", seconds: float) -> dict[str, Any]:
    values, gains = (solver.values(0), solver.gains(0)) if solver.is_solved else ((), ())
    return {
        "seconds": seconds,
        "states": solver.states,
        "joint_moves": solver.steps_done,
        "values": dict(zip(solver.roles, values, strict=False)),
        "gains": dict(zip(solver.roles, gains, strict=False)),
        "nash_conv": sum(gains) if solver.is_solved else None,
    }


def _decision_as_dict(decision: "Decision") -> dict[str, Any]:
    return {
        "role": decision.role,
        "known": [{"move": to_text(move), "told": list(map(to_text, told))} for move, told in decision.known],
        "moves": {to_text(move): share for move, share in decision.moves.items()},
    }

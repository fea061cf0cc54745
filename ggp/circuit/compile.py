"""Rulesheet → compiled game: its circuit, the names of its inputs and outputs, and a report on how it came about.

Kept in the cache, as is the reason why a rulesheet cannot be compiled within its budget, unless that is time.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from itertools import compress
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ggp.cache import Cache, CacheEntry, default_cache
from ggp.circuit.assembly import count_gates, specialise, without_facts
from ggp.circuit.build import build_circuit
from ggp.circuit.invariants import are_exclusive, find_phases
from ggp.circuit.network import Circuit, Loops
from ggp.circuit.reachability import find_unreachable
from ggp.circuit.schedule import mark_needed
from ggp.errors import GroundingError
from ggp.gdl.logic_program import LogicProgram, make_logic_program
from ggp.gdl.rulesheet import Rulesheet
from ggp.gdl.terms import Term
from ggp.grounding import Budget, Clingo, GroundRules, ground
from ggp.grounding.clingo import ProcessorTime

Names: TypeAlias = tuple[tuple[Term, ...], ...]

_KIND = "game"
_REFUSED = "refused"
_MOST_PROOF_SECONDS = 10.0
_LEAST_SAVING = 0.05  # share of the gates, from which on facts that are known in some phases only are used
_MOST_GATES = 500_000  # for which that is tried
_ARRAYS = ("left", "right", "initial", "next", "legal", "goals", "percepts")  # of a circuit


@dataclass(frozen=True, slots=True)
class CompilationReport:
    """How a game was compiled."""

    grounding_seconds: float
    building_seconds: float  # of the rest: the circuit, and proofs about it
    rules: int  # without variables
    literals: int  # in their bodies
    rewritings: tuple[tuple[str, int], ...]  # before grounding: the name of each and how often it was applied
    built: int  # gates before simplification
    gates: int
    unreachable: int  # facts that no match reaches: left out
    constants: int  # facts that never change
    phases: int  # the period with which facts come round, 1 when none does
    loops: int  # feedbacks of recursion within a state
    components: int  # that settle one after the other
    cached: bool = False  # whether it was made in an earlier run


@dataclass(frozen=True, slots=True, eq=False)
class CompiledGame:
    """A game as a circuit; names are in the order of its inputs and outputs."""

    roles: tuple[str, ...]
    facts: tuple[Term, ...]
    moves: Names  # per role, sorted by text
    goals: tuple[tuple[int, ...], ...]  # values per role, ascending
    percepts: Names  # per role, sorted by text
    has_percepts: bool  # whether a rule has `sees`
    circuit: Circuit
    phases: NDArray[np.int8]  # (P, F) the value of each fact at all steps t with t mod P = phase; -1: it varies
    exclusive: tuple[tuple[int, ...], ...]  # facts of which at most one holds, or the circuit says something else
    report: CompilationReport

    @property
    def constants(self) -> NDArray[np.int8]:
        """(F,) the value that a fact has in every state of a match, -1 when it varies; it is folded into the gates."""
        return _constants(self.phases)


def compile_game(
    rulesheet: Rulesheet,
    budget: Budget = Budget(),  # noqa: B008 - frozen
    cache: Cache | None = None,
) -> CompiledGame:
    """The game as a circuit, from the cache (that of this user, unless another is given) if it is there.

    GroundingError when the rules have a meaning that circuits do not, or when they cannot be written out in the budget.
    """
    cache = default_cache() if cache is None else cache
    entry = cache.get(_KIND, rulesheet.sha256)
    found = None if entry is None else _unpacked(entry)
    if found is not None:
        return found
    _raise_refusal(cache, rulesheet, budget)
    try:
        compiled = _compile(rulesheet, budget)
    except GroundingError as error:
        if not error.is_lasting:
            raise
        notes = {"message": str(error), "source": rulesheet.source, "budget": asdict(budget)}
        cache.put(_REFUSED, _text_key(rulesheet), CacheEntry(notes=notes))
        raise
    cache.put(_KIND, rulesheet.sha256, _packed(compiled))
    return compiled


def _compile(rulesheet: Rulesheet, budget: Budget) -> CompiledGame:
    program = make_logic_program(rulesheet)
    with Clingo() as clingo:
        time, began = ProcessorTime(clingo), perf_counter()
        rules, built, found = _rules_and_circuit(program, budget, clingo)
        _check_cones(built, rulesheet)
        unreachable = find_unreachable(rules, built, clingo, min(_MOST_PROOF_SECONDS, budget.seconds - time.spent()))
    facts, moves, reached = rules.facts, rules.moves, built
    if unreachable.any():
        reached, left = without_facts(built, unreachable)
        facts = tuple(compress(facts, ~unreachable))
        parts = np.split(left, np.cumsum(built.moves)[:-1])
        moves = tuple(tuple(compress(own, part)) for own, part in zip(moves, parts, strict=True))
    phases = _phases(reached, find_phases(reached) if found is None or unreachable.any() else found)
    circuit = specialise(reached, _constants(phases))
    numbers = np.flatnonzero(~unreachable)
    return CompiledGame(
        roles=rules.roles,
        facts=facts,
        moves=moves,
        goals=rules.goals,
        percepts=rules.percepts,
        has_percepts=rulesheet.has_percepts,
        circuit=circuit,
        phases=phases,
        exclusive=tuple(tuple(np.flatnonzero(np.isin(numbers, group)).tolist()) for group in rules.exclusive),
        report=_report(rules, built, circuit, phases, perf_counter() - began - rules.report.seconds),
    )


def _rules_and_circuit(
    program: LogicProgram, budget: Budget, clingo: Clingo
) -> tuple[GroundRules, Circuit, NDArray[np.int8] | None]:
    """The ground rules and their circuit; its phases, too, where a proof of what the rules suppose has needed them."""
    time = ProcessorTime(clingo)
    rules = ground(program, budget, supposes=True, clingo=clingo)
    built = build_circuit(rules)
    if not rules.exclusive:
        return rules, built, None
    phases = find_phases(built)
    if are_exclusive(built, rules.exclusive, phases):
        return rules, built, phases
    rules = ground(program, replace(budget, seconds=budget.seconds - time.spent()), clingo=clingo)
    return rules, build_circuit(rules), None


def _report(
    rules: GroundRules, built: Circuit, circuit: Circuit, phases: NDArray[np.int8], building_seconds: float
) -> CompilationReport:
    return CompilationReport(
        grounding_seconds=rules.report.seconds,
        building_seconds=building_seconds,
        rules=len(rules.heads),
        literals=len(rules.literals),
        rewritings=rules.report.rewritings,
        built=built.gates,
        gates=circuit.gates,
        unreachable=built.facts - circuit.facts,
        constants=int(np.count_nonzero(_constants(phases) >= 0)),
        phases=len(phases),
        loops=len(circuit.loops.results),
        components=len(np.unique(circuit.loops.components)),
    )


def _phases(circuit: Circuit, phases: NDArray[np.int8]) -> NDArray[np.int8]:
    """Those that are found; what is known in some phases only, where that saves gates in the one with most of it.

    Where it does not, it would only exclude states that are set up by hand, such as a problem of chess in which the
    number of steps does not fit the role on turn.
    """
    in_all = np.where((phases >= 0).all(axis=0), phases, -1).astype(np.int8)
    more = np.count_nonzero(phases != in_all, axis=1)
    if not more.any() or circuit.gates > _MOST_GATES:
        return in_all
    phase = int(more.argmax())
    gates, usual = (count_gates(circuit, known[phase]) for known in (phases, in_all))
    return phases if gates <= (1 - _LEAST_SAVING) * usual else in_all


def _constants(phases: NDArray[np.int8]) -> NDArray[np.int8]:
    return np.where((phases == phases[0]).all(axis=0), phases[0], -1).astype(np.int8)


def _check_cones(circuit: Circuit, rulesheet: Rulesheet) -> None:
    """GroundingError when what a state says depends on moves."""
    outputs = np.concatenate([circuit.legal, np.array([circuit.terminal], np.int32), circuit.goals])
    needed = mark_needed(circuit.left, circuit.right, circuit.loops.results, outputs.astype(np.int32))
    if needed[1 + circuit.facts : 1 + circuit.inputs].any():
        raise GroundingError(f"{rulesheet.source}: what is legal, the end or a goal depends on the moves")


def _raise_refusal(cache: Cache, rulesheet: Rulesheet, budget: Budget) -> None:
    """Raises what an earlier run with no smaller a budget ended with."""
    entry = cache.get(_REFUSED, _text_key(rulesheet))
    if entry is None:
        return
    earlier = entry.notes["budget"]
    if all(value <= earlier.get(name, 0) for name, value in asdict(budget).items()):
        message: str = entry.notes["message"].replace(entry.notes["source"], rulesheet.source, 1)
        raise GroundingError(f"{message} (as in an earlier run; `ggp cache clear` forgets it)")


def _text_key(rulesheet: Rulesheet) -> str:
    """Of the text as it stands, since a message names lines."""
    return sha256(rulesheet.text.encode(errors="surrogateescape")).hexdigest()


def _packed(compiled: CompiledGame) -> CacheEntry:
    circuit = compiled.circuit
    arrays: dict[str, NDArray[Any]] = {name: getattr(circuit, name) for name in _ARRAYS}
    arrays |= {"results": circuit.loops.results, "components": circuit.loops.components, "phases": compiled.phases}
    notes = {
        "roles": compiled.roles,
        "facts": compiled.facts,
        "moves": compiled.moves,
        "goals": compiled.goals,
        "percepts": compiled.percepts,
        "has_percepts": compiled.has_percepts,
        "terminal": circuit.terminal,
        "exclusive": compiled.exclusive,
        "report": asdict(compiled.report),
    }
    return CacheEntry(arrays, notes)


def _unpacked(entry: CacheEntry) -> CompiledGame | None:
    """The game of an entry; None for one that has something else."""
    arrays = {name: array.copy() for name, array in entry.arrays.items()}  # kernels are made for writable arrays
    notes = entry.notes
    try:
        report = CompilationReport(**{**notes["report"], "rewritings": _terms(notes["report"]["rewritings"])})
        moves = tuple(map(_terms, notes["moves"]))
        circuit = Circuit(
            facts=len(notes["facts"]),
            moves=tuple(map(len, moves)),
            loops=Loops(arrays.pop("results"), arrays.pop("components")),
            terminal=int(notes["terminal"]),
            **{name: arrays[name] for name in _ARRAYS},
        )
        return CompiledGame(
            roles=tuple(notes["roles"]),
            facts=_terms(notes["facts"]),
            moves=moves,
            goals=tuple(map(tuple, notes["goals"])),
            percepts=tuple(map(_terms, notes["percepts"])),
            has_percepts=bool(notes["has_percepts"]),
            circuit=circuit,
            phases=arrays["phases"],
            exclusive=_terms(notes["exclusive"]),
            report=replace(report, cached=True),
        )
    except (LookupError, TypeError, ValueError):
        return None


def _terms(found: Iterable[Any]) -> tuple[Any, ...]:
    """Lists as JSON has them → tuples, at any depth."""
    return tuple(_terms(part) if isinstance(part, list) else part for part in found)

"""Clauses → all that each relation can ever hold for: the rules without their dynamic negations, as facts.

Whether all nodes are connected is asked from one of them (`connectivity`). Where there is too much to list, large
relations are made narrower (`narrow`), or evaluated only for the arguments for which they are needed (`demand`). Where
terms can hold terms, there may be no end of them, though there are few states (`exploration`).
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import inf, prod
from typing import TypeAlias

from ggp.gdl.logic_program import DISTINCT, Clause, Literal, Relation
from ggp.gdl.terms import Term, variables
from ggp.grounding.automata import Chains, small_relations, written_out
from ggp.grounding.clingo import (
    NESTING,
    RULES,
    TIME,
    Budget,
    Clingo,
    OverBudgetError,
    ProcessorTime,
    ground_text,
    nests_without_end,
    parse_names,
)
from ggp.grounding.connectivity import reached_from_one
from ggp.grounding.demand import Demand
from ggp.grounding.exploration import UnboundedError, bounded
from ggp.grounding.narrow import Evaluate, joined_first, narrowed
from ggp.grounding.prepare import KEYWORDS, Prepared, Translation
from ggp.grounding.tables import Extents

_PART_PREFIX = "PART"
QUICK = Budget(seconds=5.0, rules=250_000)  # beyond this, large relations are evaluated on demand
_SOME_RULES = 1_500_000  # with which each way to say what is needed is tried, before one may use all
_SOME_SECONDS = 3.0  # for the first of these ways, before all is listed
_MANY_RULES = 5_000_000  # with which narrower relations are tried
_SHARE_OF_ALL = 0.5  # of the time that is left, for all arguments once more; and to follow states
_MUCH = 20_000.0  # joins of fewer rows are left as they are
_WIDE = 1e7  # static relations of more rows are never listed: automata test for them


def find_extents(
    prepared: Prepared, translation: Translation, clingo: Clingo, budget: Budget, *, supposes: bool = False
) -> tuple[Prepared, Extents]:
    """The extents of all relations that clauses read; and the clauses, guarded where only some arguments are needed.

    supposes: the clauses may be right only as long as some groups of facts are exclusive.
    """
    attempts = _Attempts(translation, clingo, budget, supposes)
    prepared = reached_from_one(prepared, attempts.within(QUICK.rules, seconds=QUICK.seconds).lister(prepared))
    if prepared.domains.can_nest:
        return _find_nested(prepared, attempts)
    found = attempts.run(prepared, _reach_all, QUICK.rules, QUICK.seconds)
    return found or _find_large(prepared, attempts)


def _find_large(prepared: Prepared, attempts: "_Attempts") -> tuple[Prepared, Extents]:
    """The same where not all can be listed quickly."""
    sizes = _Eliminator(prepared).relation_sizes()
    if any(size > _WIDE and not prepared.is_static(name) for name, size in sizes.items() if name not in KEYWORDS):
        # few rows of wide relations are needed if those that read them are asked, too
        found = attempts.run(prepared, _reach_all_on_demand, QUICK.rules, QUICK.seconds)
        if found:
            return found
    for narrower, rules in (
        (_with_automata, _SOME_RULES),
        (_supposing if attempts.supposes else _narrowed, _MANY_RULES),
    ):
        changed = narrower(prepared, attempts.within(rules))
        if changed is not prepared:
            prepared = changed
            found = attempts.run(prepared, _reach_all, rules)
            if found:
                return found
    for way, rules, seconds in (
        (_reach_combined, _SOME_RULES, _SOME_SECONDS),
        (_reach_all, _MANY_RULES, QUICK.seconds),  # to say what is needed may take more room than all there is
        (_reach_combined, _SOME_RULES, inf),
        (_reach_separate, _SOME_RULES, inf),
        (_reach_all, attempts.budget.rules, inf),
        (_reach_combined, attempts.budget.rules, inf),
        (_reach_separate, attempts.budget.rules, inf),
    ):
        found = attempts.run(prepared, way, rules, seconds)
        if found:
            return found
    raise attempts.error


def _find_nested(prepared: Prepared, attempts: "_Attempts") -> tuple[Prepared, Extents]:
    """The same where terms can hold terms, so that there may be no end of what relations can hold for."""
    for way in (_reach_all, _reach_from_left):
        found = attempts.run(prepared, way, QUICK.rules, QUICK.seconds)
        if found:
            return found
    with suppress(OverBudgetError, UnboundedError):
        guarded, asking, _ = _demand_from_left(prepared).clauses()
        evaluated = prepared.with_clauses((*guarded, *asking), prepared.tables)
        changed = bounded(prepared, evaluated, attempts.grounder(_MANY_RULES), attempts.within(_MANY_RULES).nests)
        found = attempts.run(changed, _reach_from_left, _MANY_RULES)
    if not found:
        found = attempts.run(prepared, _reach_all, _MANY_RULES)
    if not found:
        raise attempts.error
    return found


@dataclass(slots=True)
class _Attempts:
    """Ways to find extents, tried one after the other within one budget; and none again that is sure to fail again."""

    translation: Translation
    clingo: Clingo
    budget: Budget
    supposes: bool
    error: OverBudgetError = field(init=False)  # of the last way that failed, or of that which tells most
    _time: ProcessorTime = field(init=False)
    _failed: dict[tuple[Prepared, "_Way"], tuple[Budget, str]] = field(default_factory=dict)  # and by which resource

    def __post_init__(self) -> None:
        self._time = ProcessorTime(self.clingo)

    def within(self, rules: int, share: float = 1.0, seconds: float = inf) -> "_Gringo":
        """For a part of what is left of the budget."""
        left = min(seconds, share * (self.budget.seconds - self._time.spent()))
        return _Gringo(
            self.translation, self.clingo, replace(self.budget, rules=min(rules, self.budget.rules), seconds=left)
        )

    def grounder(self, rules: int) -> Callable[[bytes], bytearray]:
        """A function that grounds programs, all of them in a part of what is left of the budget."""
        end = self._time.spent() + self.within(rules, _SHARE_OF_ALL).budget.seconds
        return lambda program: self.within(rules, seconds=end - self._time.spent()).ground(program)

    def run(self, prepared: Prepared, way: "_Way", rules: int, seconds: float = inf) -> tuple[Prepared, Extents] | None:
        """What the way finds; None where it fails, or would fail."""
        share = _SHARE_OF_ALL if way is _reach_all else 1.0
        gringo = self.within(rules, share, seconds)
        if (prepared, way) in self._failed and not _has_more(gringo.budget, *self._failed[prepared, way]):
            return None
        try:
            return way(prepared, gringo)
        except OverBudgetError as error:
            if not any(resource == NESTING for _, resource in self._failed.values()):
                self.error = error
            self._failed[prepared, way] = gringo.budget, error.resource
            return None


def _has_more(budget: Budget, before: Budget, resource: str) -> bool:
    """Whether there is more of what ran out before."""
    return budget.rules > before.rules if resource == RULES else resource == TIME and budget.seconds > before.seconds


def _narrowed(prepared: Prepared, gringo: "_Gringo") -> Prepared:
    try:
        return narrowed(prepared, _Eliminator(prepared).large_relations(_MUCH), gringo.lister(prepared))
    except OverBudgetError:  # already the values that single arguments can have
        return prepared


def _supposing(prepared: Prepared, gringo: "_Gringo") -> Prepared:
    """The same, where some groups of facts may be supposed to be exclusive."""
    with suppress(OverBudgetError):
        prepared = joined_first(prepared, _Eliminator(prepared).large_relations(_MUCH), gringo.lister(prepared))
    return _narrowed(prepared, gringo)


def _with_automata(prepared: Prepared, gringo: "_Gringo") -> Prepared:
    """With chains of clauses in place of conditions on static relations that hold for too many rows to list them."""
    sizes = _Eliminator(prepared).relation_sizes()
    large = (name for name, size in sizes.items() if size > _WIDE and name not in KEYWORDS)
    wide = frozenset(filter(prepared.is_static, large))
    parted = written_out(prepared.clauses, prepared.tables, wide) if wide else None
    if parted is None:
        return prepared
    plain, reading = parted
    clauses = (*plain, *(one.clause for one in reading))
    try:
        extents = _reach(replace(prepared, clauses=clauses), clauses, small_relations(reading), gringo)
    except OverBudgetError:  # something else explodes, too
        return prepared
    chains = Chains(extents)
    if not all(map(chains.add, reading)):
        return prepared
    tables = {relation: rows for relation, rows in prepared.tables.items() if relation not in wide}
    found = prepared.with_clauses((*plain, *chains.clauses), {**tables, **chains.tables})
    return replace(found, chains=frozenset(chains.relations))


@dataclass(frozen=True, slots=True)
class _Gringo:
    """What a run of gringo needs along with its program."""

    translation: Translation
    clingo: Clingo
    budget: Budget

    def ground(self, program: bytes) -> bytearray:
        return ground_text(self.clingo, program, self.budget)

    def nests(self, program: bytes) -> bool:
        """Whether terms nest without end in the program, as far as a quick run shows."""
        seconds, rules = min(self.budget.seconds, QUICK.seconds), min(self.budget.rules, QUICK.rules)
        return nests_without_end(self.clingo, program, seconds, rules)

    def lister(self, prepared: Prepared) -> Evaluate:
        """What clauses give from the tables of a game."""

        def evaluate(clauses: Sequence[Clause], shown: Sequence[Relation]) -> Extents:
            text = self.translation.facts_text(clauses, prepared.tables, shown)
            return Extents(self.translation, parse_names(self.ground(text)))

        return evaluate


_Way: TypeAlias = Callable[[Prepared, _Gringo], tuple[Prepared, Extents]]


def _reach_all(prepared: Prepared, gringo: _Gringo) -> tuple[Prepared, Extents]:
    """For all arguments; not tried where terms are nested without end."""
    if prepared.domains.can_nest:
        text = gringo.translation.reached_text(reaching(prepared, prepared.clauses), prepared.tables, ())
        if gringo.nests(text):
            raise OverBudgetError(NESTING)
    return prepared, _reach(prepared, prepared.clauses, (), gringo)


def _reach_combined(prepared: Prepared, gringo: _Gringo) -> tuple[Prepared, Extents]:
    """For the arguments that are needed of large relations, all combinations of what conditions bind."""
    return _reach_for(prepared, gringo, _demand(prepared, _MUCH, combines=True))


def _reach_separate(prepared: Prepared, gringo: _Gringo) -> tuple[Prepared, Extents]:
    """For the arguments that are needed of large relations, fewer at a time."""
    return _reach_for(prepared, gringo, _demand(prepared, _MUCH, combines=False))


def _reach_all_on_demand(prepared: Prepared, gringo: _Gringo) -> tuple[Prepared, Extents]:
    """For the arguments that are needed of all relations."""
    return _reach_for(prepared, gringo, _demand(prepared, 0, combines=True))


def _reach_from_left(prepared: Prepared, gringo: _Gringo) -> tuple[Prepared, Extents]:
    """For what is asked if conditions are read as they are written, as in Prolog, where rules must end, too."""
    return _reach_for(prepared, gringo, _demand_from_left(prepared))


def _demand(prepared: Prepared, least: float, *, combines: bool) -> Demand:
    large = _Eliminator(prepared).large_relations(least)
    return Demand(prepared.clauses, large, prepared.dependencies.component, combines=combines)


def _demand_from_left(prepared: Prepared) -> Demand:
    return Demand(prepared.clauses, _Eliminator(prepared).large_relations(0), {}, combines=True)


def _reach_for(prepared: Prepared, gringo: _Gringo, demand: Demand) -> tuple[Prepared, Extents]:
    guarded, asking, needed = demand.clauses()
    extents = _reach(prepared, (*guarded, *asking), needed, gringo)
    tables = {**prepared.tables, **{relation: extents.terms(relation) for relation in needed}}
    return replace(prepared, clauses=tuple(guarded), tables=tables), extents


def _reach(prepared: Prepared, clauses: Iterable[Clause], needed: tuple[Relation, ...], gringo: _Gringo) -> Extents:
    parts = reaching(prepared, clauses)
    shown = dict.fromkeys(literal.relation for clause in prepared.clauses for literal in clause.body)
    shown |= dict.fromkeys(needed)
    shown.pop(DISTINCT, None)
    text = gringo.translation.reached_text(parts, prepared.tables, shown)
    return Extents(gringo.translation, parse_names(gringo.ground(text)))


def _positive(clause: Clause, prepared: Prepared) -> Clause:
    """Without negated conditions on dynamic relations."""
    body = [lit for lit in clause.body if lit.positive or lit.relation == DISTINCT or prepared.is_static(lit.relation)]
    return Clause(clause.head, tuple(body), clause.offset)


def reaching(prepared: Prepared, clauses: Iterable[Clause]) -> list[Clause]:
    """The clauses without what can fail, those with many rows in parts."""
    eliminator = _Eliminator(prepared)
    return [part for clause in clauses for part in eliminator.split(_positive(clause, prepared))]


def clause_size(clause: Clause, prepared: Prepared) -> float:
    """About how many ground rules a clause may have."""
    return _Eliminator(prepared).size(_positive(clause, prepared))


class _Eliminator:
    """Splits bodies that would give many rows, variable by variable, by the sizes of domains."""

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        self._parts = 0

    def split(self, clause: Clause) -> list[Clause]:
        """Clauses that give the same for the head."""
        if clause.relation in self._prepared.chains:
            return [clause]
        found: list[Clause] = []
        body = list(clause.body)
        sizes = self._domain_sizes(clause)
        while self._size(body, sizes) > _MUCH:
            wanted = set(variables(clause.head))
            names = dict.fromkeys(name for literal in body for name in variables(literal.atom) if name not in wanted)
            buckets = [(self._size(bucket := _bucket(body, name), sizes), len(bucket), name) for name in names]
            buckets = [row for row in buckets if row[1] < len(body)]
            if not buckets:
                break
            size, _, name = min(buckets)
            if size >= self._size(body, sizes):
                break
            bucket = _bucket(body, name)
            rest = [literal for literal in body if literal not in bucket]
            outside = wanted.union(*(variables(literal.atom) for literal in rest))
            kept = [v for v in dict.fromkeys(v for lit in bucket for v in variables(lit.atom)) if v in outside]
            bound = {v for lit in bucket if lit.positive and lit.relation != DISTINCT for v in variables(lit.atom)}
            if not bound.issuperset(v for lit in bucket for v in variables(lit.atom)):
                break
            self._parts += 1
            head: Term = (f"{_PART_PREFIX}{self._parts}", *kept) if kept else f"{_PART_PREFIX}{self._parts}"
            found.append(Clause(head, tuple(bucket), clause.offset))
            body = [*rest, Literal(head, positive=True)]
        return [*found, Clause(clause.head, tuple(body), clause.offset)]

    def size(self, clause: Clause) -> float:
        """About how many ground rules a clause has."""
        return self._size(clause.body, self._domain_sizes(clause))

    def large_relations(self, least: float) -> frozenset[Relation]:
        """Those that may hold for more arguments than that."""
        sizes = self.relation_sizes()
        return frozenset(relation for relation, size in sizes.items() if size > least and relation not in KEYWORDS)

    def relation_sizes(self) -> dict[Relation, float]:
        """For about how many arguments each relation may hold; tables apart."""
        sizes: dict[Relation, float] = {}
        for clause in self._prepared.clauses:
            known = self._domain_sizes(clause)
            head = prod(known.get(name, 1) for name in variables(clause.head))
            size = min(head, self._size(clause.body, known))
            sizes[clause.relation] = sizes.get(clause.relation, 0) + size
        return sizes

    def _domain_sizes(self, clause: Clause) -> dict[str, int]:
        """For each variable, the number of values that the smallest of its positions has."""
        sizes: dict[str, int] = {}
        domains = self._prepared.domains
        for literal in clause.body:
            if not literal.positive or literal.relation == DISTINCT:
                continue
            for index, argument in enumerate(literal.arguments):
                if isinstance(argument, str):
                    found = [(argument, len(domains.of(literal.relation, index)))]
                else:
                    inside = domains.inside(literal.relation, index, (str(argument[0]), len(argument) - 1))
                    found = [(str(p), len(v)) for p, v in zip(argument[1:], inside, strict=True) if isinstance(p, str)]
                for name, size in found:
                    if name.startswith("?") and size:
                        sizes[name] = min(sizes.get(name, size), size)
        return sizes

    def _size(self, body: Iterable[Literal], sizes: dict[str, int]) -> float:
        """About how many rows a join has."""
        known: set[str] = set()
        rows = 1.0
        tables = self._prepared.tables
        conditions = [lit for lit in body if lit.positive and lit.relation != DISTINCT]
        for literal in sorted(conditions, key=lambda lit: len(tables.get(lit.relation, ())) or 1 << 30):
            names = variables(literal.atom)
            new = prod(sizes.get(name, 1) for name in names if name not in known)
            if literal.relation in tables:
                old = prod(sizes.get(name, 1) for name in names if name in known)
                new = min(new, max(1, len(tables[literal.relation]) // max(1, old)))
            rows *= new
            known.update(names)
        return rows


def _bucket(body: list[Literal], name: str) -> list[Literal]:
    return [literal for literal in body if name in variables(literal.atom)]

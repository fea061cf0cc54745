"""Logic program → the clauses that are needed, each of them safe: a condition binds every variable."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NoReturn

from ggp.errors import GroundingError
from ggp.gdl.dependencies import Dependencies, Tier, find_dependencies
from ggp.gdl.domains import Domains, find_domains
from ggp.gdl.logic_program import DISTINCT, DOES, TRUE, Clause, Literal, LogicProgram, Relation
from ggp.gdl.rulesheet import name_and_arity
from ggp.gdl.terms import Term, is_variable, substitute, variables
from ggp.grounding.unification import unifier

OUTPUTS: dict[Relation, Tier] = {
    ("role", 1): Tier.STATIC,
    ("init", 1): Tier.STATIC,
    ("legal", 2): Tier.STATE,
    ("goal", 2): Tier.STATE,
    ("terminal", 0): Tier.STATE,
    ("next", 1): Tier.STEP,
    ("sees", 2): Tier.STEP,
}  # what a game is asked for, and the most that it may depend on
PROJECTION_PREFIX = "PROJECTION"  # no symbol of a rulesheet has capitals: the reader folds case
RIGID_PREFIX = "RIGID"


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is to be grounded."""

    clauses: tuple[Clause, ...]
    tables: dict[Relation, tuple[tuple[Term, ...], ...]]
    dependencies: Dependencies
    domains: Domains
    rigid: int  # the number of kinds of facts that never change

    def is_static(self, relation: Relation) -> bool:
        return relation not in (TRUE, DOES) and self.dependencies.tiers.get(relation, Tier.STATIC) == Tier.STATIC


def prepare(program: LogicProgram) -> Prepared:
    """The clauses and tables on which the outputs depend; GroundingError for rules that only evaluation can play."""
    relevant = _relevant(program)
    clauses = [clause for relation, found in program.clauses.items() if relation in relevant for clause in found]
    tables = {relation: rows for relation, rows in program.tables.items() if relation in relevant}
    clauses = [solved for clause in clauses if (solved := _solved(clause))]
    functions = _rigid(clauses, tables)
    clauses = _with_rigid(clauses, functions)
    projections: dict[Term, Clause] = {}
    clauses = [_projected(clause, projections) for clause in clauses]
    for clause in clauses:
        unbound = loose_variables(clause)
        if unbound:
            _fail(program, clause, f"nothing gives {unbound[0]} a value in a rule for '{clause.relation[0]}'")
    clauses += projections.values()
    by_relation: dict[Relation, tuple[Clause, ...]] = {}
    for clause in clauses:
        by_relation[clause.relation] = (*by_relation.get(clause.relation, ()), clause)
    rewritten = replace(program, clauses=by_relation, tables=tables)
    dependencies = find_dependencies(rewritten)
    _refuse(rewritten, dependencies)
    return Prepared(tuple(clauses), tables, dependencies, find_domains(rewritten), len(functions))


def loose_variables(clause: Clause) -> list[str]:
    """The variables of a clause that no condition gives a value."""
    known = {name for lit in clause.body if lit.positive and lit.relation != DISTINCT for name in variables(lit.atom)}
    wanted = dict.fromkeys(
        name for term in (clause.head, *(lit.atom for lit in clause.body)) for name in variables(term)
    )
    return [name for name in wanted if name not in known]


def _relevant(program: LogicProgram) -> set[Relation]:
    """The outputs and all that they read."""
    found = set(OUTPUTS)
    waiting = list(OUTPUTS)
    while waiting:
        for clause in program.clauses.get(waiting.pop(), ()):
            for literal in clause.body:
                if literal.relation not in found:
                    found.add(literal.relation)
                    waiting.append(literal.relation)
    return found


def _refuse(program: LogicProgram, dependencies: Dependencies) -> None:
    for relation in (TRUE, DOES):
        if relation in program.clauses or relation in program.tables:
            raise GroundingError(f"{program.rulesheet.source}: a rule has '{relation[0]}' as its head")
    for relation, clauses in program.clauses.items():
        if relation in OUTPUTS and dependencies.tiers[relation] > OUTPUTS[relation]:
            on = "does" if dependencies.tiers[relation] == Tier.STEP else "true"
            _fail(program, clauses[0], f"'{relation[0]}' depends on '{on}'")
        if relation in dependencies.negative_cycles and dependencies.tiers[relation] == Tier.STATIC:
            _fail(program, clauses[0], f"'{relation[0]}' depends on its own negation")


def _fail(program: LogicProgram, clause: Clause, message: str) -> NoReturn:
    raise GroundingError(f"{program.rulesheet.place(clause.offset)}: {message}")


def _solved(clause: Clause) -> Clause | None:
    """Without equations: a variable that must equal a term is replaced by it. None when they contradict each other."""
    while True:
        for literal in clause.body:
            if literal.relation == DISTINCT and not literal.positive:
                bindings = unifier(*literal.arguments)
                if bindings is None:
                    return None
                rest = [Literal(substitute(lit.atom, bindings), lit.positive) for lit in clause.body if lit != literal]
                clause = Clause(substitute(clause.head, bindings), tuple(rest), clause.offset)
                break
        else:
            return clause


def _rigid(clauses: list[Clause], tables: dict[Relation, tuple[tuple[Term, ...], ...]]) -> dict[Relation, Relation]:
    """The functions whose facts stay as they are at the start, with the static relations that stand for them."""
    kept: set[Relation] = set()
    changed: set[Relation] = {name_and_arity(row[0]) for row in tables.get(("next", 1), ())}
    for clause in clauses:
        if clause.relation == ("next", 1):
            fact = clause.arguments[0]
            keeps = clause.body == (Literal(("true", fact), positive=True),)
            if is_variable(fact):
                if not keeps:
                    return {}
            elif isinstance(fact, str):
                (kept if keeps else changed).add((fact, 0))
            elif keeps and len(set(fact)) == len(fact) and all(is_variable(part) for part in fact[1:]):
                kept.add(name_and_arity(fact))
            elif not keeps:
                changed.add(name_and_arity(fact))
    return {function: (f"{RIGID_PREFIX}{function[0]}", function[1]) for function in sorted(kept - changed)}


def _with_rigid(clauses: list[Clause], functions: dict[Relation, Relation]) -> list[Clause]:
    """With conditions on facts that never change put as conditions on the facts at the start."""
    if not functions:
        return clauses

    def replaced(literal: Literal) -> Literal:
        if literal.relation == TRUE:
            function = functions.get(name_and_arity(literal.arguments[0]))
            if function:
                return Literal(
                    (function[0], *literal.arguments[0][1:]) if function[1] else function[0], literal.positive
                )
        return literal

    found = [replace(clause, body=tuple(map(replaced, clause.body))) for clause in clauses]
    for function, relation in functions.items():
        names = tuple(f"?{index}" for index in range(function[1]))
        body = (Literal(("init", (function[0], *names) if names else function[0]), positive=True),)
        found.append(Clause((relation[0], *names) if names else relation[0], body, 0))
    return found


def _projected(clause: Clause, projections: dict[Term, Clause]) -> Clause:
    """With conditions that there is no such thing put as the negation of a relation that says that there is one."""
    found = Counter(name for term in (clause.head, *(lit.atom for lit in clause.body)) for name in variables(term))

    def parts() -> Iterator[Literal]:
        for literal in clause.body:
            names = variables(literal.atom)
            own = [name for name in names if found[name] == 1]
            if literal.positive or literal.relation == DISTINCT or not own:
                yield literal
            else:
                shared = tuple(name for name in names if found[name] > 1)
                yield Literal(_projection(literal.atom, names, shared, clause.offset, projections), positive=False)

    return replace(clause, body=tuple(parts()))


def _projection(
    atom: Term, names: tuple[str, ...], shared: tuple[str, ...], offset: int, projections: dict[Term, Clause]
) -> Term:
    """The atom that says that some values of the other variables make the atom hold; the same for equal atoms."""
    numbered: dict[str, Term] = {name: f"?{index}" for index, name in enumerate((*shared, *(set(names) - set(shared))))}
    pattern = substitute(atom, numbered)
    key: Term = ("pattern", str(len(shared)), pattern)
    if key not in projections:
        relation = f"{PROJECTION_PREFIX}{len(projections)}"
        head: Term = (relation, *(numbered[name] for name in shared)) if shared else relation
        projections[key] = Clause(head, (Literal(pattern, positive=True),), offset)
    relation = projections[key].relation[0]
    return (relation, *shared) if shared else relation

"""Logic program → the clauses that are needed, each of them safe; and their translation for gringo.

A clause is safe when each of its variables stands in a condition that gives it values.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from ggp.errors import GroundingError
from ggp.gdl.dependencies import Dependencies, Tier, find_dependencies
from ggp.gdl.domains import Domains, find_domains
from ggp.gdl.logic_program import DISTINCT, DOES, TRUE, Clause, Literal, LogicProgram, Relation, as_written
from ggp.gdl.rulesheet import name_and_arity
from ggp.gdl.terms import Term, is_variable, substitute, variables
from ggp.grounding.callers import UnboundError, bind_by_callers

_OUTPUTS: dict[Relation, Tier] = {
    ("role", 1): Tier.STATIC,
    ("init", 1): Tier.STATIC,
    ("legal", 2): Tier.STATE,
    ("goal", 2): Tier.STATE,
    ("terminal", 0): Tier.STATE,
    ("next", 1): Tier.STEP,
    ("sees", 2): Tier.STEP,
}  # what a game is asked for, and the highest tier on which it may depend
_PROJECTION_PREFIX = "PROJECTION"  # no symbol of a rulesheet has capitals: the reader folds case
_RIGID_PREFIX = "RIGID"


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """The clauses to be grounded, and their analysis."""

    clauses: tuple[Clause, ...]
    tables: dict[Relation, tuple[tuple[Term, ...], ...]]
    dependencies: Dependencies
    domains: Domains
    rigid: int  # the number of functions whose facts never change
    program: LogicProgram  # of which they were made
    connected: int = 0  # the number of relations between all nodes that became reachability from one of them
    chains: frozenset[Relation] = frozenset()  # of states of automata: their clauses are as small as they can be
    exclusive: tuple[Term, ...] = ()  # patterns of facts: the clauses suppose that at most one fact of each holds

    def is_static(self, relation: Relation) -> bool:
        return relation not in (TRUE, DOES) and self.dependencies.tiers.get(relation, Tier.STATIC) == Tier.STATIC

    def with_definitions(self, clauses: Iterable[Clause]) -> list[Clause]:
        """With the clauses of all relations that they read."""
        found = list(clauses)
        for clause in found:
            read = {literal.relation for literal in clause.body}
            found += [one for one in self.clauses if one.relation in read and one not in found]
        return found

    def with_clauses(self, clauses: Sequence[Clause], tables: Mapping[Relation, "Rows"]) -> "Prepared":
        """The same game in other clauses and tables."""
        program = _with_clauses(self.program, clauses, tables)
        return replace(
            self,
            clauses=tuple(clauses),
            tables=program.tables,
            dependencies=find_dependencies(program),
            domains=find_domains(program),
        )


def prepare(program: LogicProgram) -> Prepared:
    """The clauses and tables on which the outputs depend; GroundingError where only the interpreter can play."""
    relevant = _relevant(program)
    clauses = [clause for relation, found in program.clauses.items() if relation in relevant for clause in found]
    tables = {relation: rows for relation, rows in program.tables.items() if relation in relevant}
    clauses = [solved for clause in clauses if (solved := _solved(clause))]
    functions = _rigid(clauses, tables)
    clauses = _with_rigid(clauses, functions)
    projections: dict[Term, Clause] = {}
    clauses = [_projected(clause, projections) for clause in clauses]
    clauses += projections.values()
    clauses, tables = _bound(program, clauses, tables)
    rewritten = _with_clauses(program, clauses, tables)
    dependencies = find_dependencies(rewritten)
    _refuse(rewritten, dependencies)
    return Prepared(tuple(clauses), tables, dependencies, find_domains(rewritten), len(functions), program)


def _with_clauses(program: LogicProgram, clauses: Sequence[Clause], tables: Mapping[Relation, "Rows"]) -> LogicProgram:
    by_relation: dict[Relation, tuple[Clause, ...]] = {}
    for clause in clauses:
        by_relation[clause.relation] = (*by_relation.get(clause.relation, ()), clause)
    return replace(program, clauses=by_relation, tables=dict(tables))


def _bound(
    program: LogicProgram, clauses: list[Clause], tables: dict[Relation, "Rows"]
) -> tuple[list[Clause], dict[Relation, "Rows"]]:
    """With conditions for the variables that no condition binds, but callers of the relation do."""
    unbound = [(clause, names) for clause in clauses if (names := _unbound_variables(clause))]
    if not unbound:
        return clauses, tables
    try:
        found, filled = bind_by_callers(
            clauses, tables, _OUTPUTS, lambda *rules: find_domains(_with_clauses(program, *rules))
        )
    except UnboundError:
        clause, names = unbound[0]
        place = program.place_in_words(clause.relation)
        _fail(program, clause, f"no condition binds {as_written(names[0])} in {place}")
    return found, dict(filled)


def _unbound_variables(clause: Clause) -> list[str]:
    """The variables of a clause that no condition binds."""
    known = {name for lit in clause.body if lit.positive and lit.relation != DISTINCT for name in variables(lit.atom)}
    wanted = dict.fromkeys(
        name for term in (clause.head, *(lit.atom for lit in clause.body)) for name in variables(term)
    )
    return [name for name in wanted if name not in known]


def _relevant(program: LogicProgram) -> set[Relation]:
    """The outputs and all that they read."""
    found = set(_OUTPUTS)
    waiting = list(_OUTPUTS)
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
        if relation in _OUTPUTS and dependencies.tiers[relation] > _OUTPUTS[relation]:
            on = "does" if dependencies.tiers[relation] == Tier.STEP else "true"
            _fail(program, clauses[0], f"'{relation[0]}' depends on '{on}'")
        if relation in dependencies.negative_cycles and dependencies.tiers[relation] == Tier.STATIC:
            _fail(program, clauses[0], f"{program.in_words(relation)} depends on its own negation")


def _fail(program: LogicProgram, clause: Clause, message: str) -> NoReturn:
    raise GroundingError(f"{program.rulesheet.place(clause.offset)}: {message}")


def _solved(clause: Clause) -> Clause | None:
    """Without equations: a variable that must equal a term is replaced by it. None when the equations contradict."""
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
    """The functions whose facts never change, and the static relations that replace them."""
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
    return {function: (f"{_RIGID_PREFIX}{function[0]}", function[1]) for function in sorted(kept - changed)}


def _with_rigid(clauses: list[Clause], functions: dict[Relation, Relation]) -> list[Clause]:
    """With static conditions on the initial facts in place of conditions on facts that never change."""
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
    """With the negation of a new relation in place of a negated condition that has existential variables."""
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
    """The projection of the atom to the shared variables, as an atom of a new relation; the same for equal atoms."""
    numbered: dict[str, Term] = {name: f"?{index}" for index, name in enumerate((*shared, *(set(names) - set(shared))))}
    pattern = substitute(atom, numbered)
    key: Term = ("pattern", str(len(shared)), pattern)
    if key not in projections:
        relation = f"{_PROJECTION_PREFIX}{len(projections)}"
        head: Term = (relation, *(numbered[name] for name in shared)) if shared else relation
        projections[key] = Clause(head, (Literal(pattern, positive=True),), offset)
    relation = projections[key].relation[0]
    return (relation, *shared) if shared else relation


def unifier(left: Term, right: Term) -> dict[str, Term] | None:
    """The terms of variables that make two terms equal, with all variables in them replaced; None when nothing does."""
    bindings: dict[str, Term] = {}
    waiting = [(left, right)]
    while waiting:
        one, other = (_resolved(term, bindings) for term in waiting.pop())
        if one == other:
            continue
        if not (isinstance(one, str) and one.startswith("?")):
            one, other = other, one
        if isinstance(one, str) and one.startswith("?"):
            if one in variables(other):
                return None
            bindings = {name: substitute(term, {one: other}) for name, term in bindings.items()} | {one: other}
        elif isinstance(one, str) or isinstance(other, str) or one[0] != other[0] or len(one) != len(other):
            return None
        else:
            waiting += zip(one[1:], other[1:], strict=True)
    return bindings


def _resolved(term: Term, bindings: dict[str, Term]) -> Term:
    return substitute(term, bindings) if bindings else term


# Translation.

KEYWORDS: tuple[Relation, ...] = (
    ("role", 1),
    ("init", 1),
    TRUE,
    DOES,
    ("next", 1),
    ("legal", 2),
    ("goal", 2),
    ("terminal", 0),
    ("sees", 2),
)
# From a state over its moves to the next state, so that all reachable facts and moves are found.
_LOOP = "{true(F)}:-init(F).{true(F)}:-next(F).{does(R,M)}:-legal(R,M),role(R)."
_REACHED = "true(F):-init(F).true(F):-next(F).does(R,M):-legal(R,M),role(R)."
_TOKEN = re.compile(rb"[a-z0-9]+|\)")
_UNKNOWN = -1  # the number of a symbol that has no name

Rows = tuple[tuple[Term, ...], ...]


class Translation:
    """The names of one program: symbols of a rulesheet are numbered, so that every symbol has a name that gringo reads.

    Constant N is called `cN`, function N `fN`, relation N `pN`, but keywords keep their names.
    """

    def __init__(self) -> None:
        self.constants: list[Term] = []
        self.functions: list[Relation] = []
        self.relations: list[Relation] = list(KEYWORDS)
        self._constants: dict[Term, int] = {}
        self._functions: dict[Relation, int] = {}
        self._relations = {relation: number for number, relation in enumerate(KEYWORDS)}
        self._keywords = {relation[0].encode(): relation for relation in KEYWORDS}
        self._arguments: dict[bytes, tuple[Term, ...]] = {}  # of atoms that were read; several relations have the same

    def text(self, clauses: Iterable[Clause], tables: Mapping[Relation, Rows]) -> bytes:
        """The program; its output names the atoms of the keywords."""
        return self._text(_LOOP, clauses, tables, KEYWORDS)

    def reached_text(
        self, clauses: Iterable[Clause], tables: Mapping[Relation, Rows], shown: Iterable[Relation]
    ) -> bytes:
        """A program without choices: all that can ever hold becomes a fact; its output names the atoms of `shown`."""
        return self._text(_REACHED, clauses, tables, shown)

    def facts_text(
        self, clauses: Iterable[Clause], tables: Mapping[Relation, Rows], shown: Iterable[Relation]
    ) -> bytes:
        """A program of facts only, which says nothing of states; its output names the atoms of `shown`."""
        return self._text("", clauses, tables, shown)

    def atom(self, name: bytes) -> tuple[str, tuple[Term, ...]]:
        """An atom of the output as its relation's name and its arguments."""
        relation, _, rest = name.partition(b"(")
        known = self._arguments.get(rest)
        if known is None:
            known = self._arguments[rest] = self._read(rest)
        return relation.decode(), known

    def keyword(self, name: bytes) -> Relation | None:
        return self._keywords.get(name)

    def relation(self, name: bytes) -> Relation:
        """The relation that has this name in a program."""
        return self._keywords.get(name) or self.relations[int(name[1:])]

    def constant_number(self, term: Term) -> int:
        return self._constants.get(term, _UNKNOWN)

    def function_number(self, function: Relation) -> int:
        return self._functions.get(function, _UNKNOWN)

    def _text(
        self, loop: str, clauses: Iterable[Clause], tables: Mapping[Relation, Rows], shown: Iterable[Relation]
    ) -> bytes:
        lines = [loop, "#show.", *(f"#show {self._relation(relation)}/{relation[1]}." for relation in shown)]
        texts: dict[Term, str] = {}
        for relation, rows in tables.items():
            name = self._relation(relation)
            if relation[1]:
                for row in rows:
                    for term in row:
                        if term not in texts:
                            texts[term] = self._term(term, {})
                    lines.append(f"{name}({','.join([texts[term] for term in row])}).")
            else:
                lines.append(f"{name}.")
        lines += map(self._clause, clauses)
        return "\n".join(lines).encode()

    def _clause(self, clause: Clause) -> str:
        names: dict[str, str] = {}
        head = self._atom(clause.head, clause.relation, names)
        if not clause.body:
            return f"{head}."
        return f"{head}:-{','.join(self._literal(literal, names) for literal in clause.body)}."

    def _read(self, text: bytes) -> tuple[Term, ...]:
        """Terms up to a closing parenthesis."""
        arguments: list[Term] = []
        open_terms: list[tuple[int, list[Term]]] = []
        for token in _TOKEN.findall(text):
            if token[0] == ord("c"):
                arguments.append(self.constants[int(token[1:])])
            elif token[0] == ord("f"):
                open_terms.append((int(token[1:]), arguments))
                arguments = []
            elif open_terms:
                function, outer = open_terms.pop()
                outer.append((self.functions[function][0], *arguments))
                arguments = outer
        return tuple(arguments)

    def _literal(self, literal: Literal, names: dict[str, str]) -> str:
        if literal.relation == DISTINCT:
            left, right = (self._term(term, names) for term in literal.arguments)
            return f"{left}!={right}" if literal.positive else f"{left}={right}"
        atom = self._atom(literal.atom, literal.relation, names)
        return atom if literal.positive else f"not {atom}"

    def _atom(self, atom: Term, relation: Relation, names: dict[str, str]) -> str:
        name = self._relation(relation)
        if isinstance(atom, str):
            return name
        return f"{name}({','.join([self._term(part, names) for part in atom[1:]])})"

    def _relation(self, relation: Relation) -> str:
        number = self._relations.get(relation)
        if number is None:
            number = self._relations[relation] = len(self.relations)
            self.relations.append(relation)
        return relation[0] if number < len(KEYWORDS) else f"p{number}"

    def _term(self, term: Term, names: dict[str, str]) -> str:
        if isinstance(term, str):
            if term.startswith("?"):
                return names.setdefault(term, f"V{len(names)}")
            number = self._constants.get(term)
            if number is None:
                number = self._constants[term] = len(self.constants)
                self.constants.append(term)
            return f"c{number}"
        function = (str(term[0]), len(term) - 1)
        number = self._functions.get(function)
        if number is None:
            number = self._functions[function] = len(self.functions)
            self.functions.append(function)
        return f"f{number}({','.join([self._term(part, names) for part in term[1:]])})"

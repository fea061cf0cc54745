"""A game that cannot be grounded → which relation has too many instances, where, how many, and what to write instead.

gringo is asked once more, for a short time, and its ground rules are counted by the relation of their heads: it grounds
relations in the order of their dependencies, so that those after the one that explodes have none yet. Where time or
memory ran out in a join that gives few rules, what is left are estimates by the values that variables can have.
"""

import re
from collections.abc import Sequence

from ggp.gdl.logic_program import DISTINCT, Clause, Literal, as_written
from ggp.gdl.rulesheet import name_and_arity
from ggp.gdl.terms import Term, is_variable, variables
from ggp.grounding.clingo import NESTING, Clingo, OverBudgetError, list_rules
from ggp.grounding.demand import linked
from ggp.grounding.prepare import Prepared, Translation
from ggp.grounding.reach import clause_size

_SECONDS = 2.0  # of gringo's processor time
_MOST_RULES = 1_000_000
_HEAD = re.compile(rb"{?([a-z][a-z0-9]*)")  # of a rule as text
_APART = {
    ("legal", 2): "let roles choose them by one move after the other",
    ("next", 1): "write a fact for each",
}  # what to do with arguments that have nothing in common
_MANY = 5_000  # instances of a relation; below, it is a join that explodes


def explanation(
    error: OverBudgetError,
    prepared: Prepared,
    clauses: Sequence[Clause],
    text: bytes,
    clingo: Clingo,
    names: Translation,
) -> str:
    """What ran out, and why; the text is of the clauses, which were made of what was prepared."""
    counts, last, is_whole = _count_heads(clingo, text) if error.resource != NESTING else ({}, b"", False)
    found = {names.relation(name): count for name, count in counts.items()}
    defined = {relation: count for relation, count in found.items() if any(one.relation == relation for one in clauses)}
    nested = [one for one in clauses if prepared.domains.can_nest and _grows(one)]
    relation = max(defined, key=lambda one: defined[one], default=None)
    if relation is None or defined[relation] < min(_MANY, sum(found.values()) // 2):
        done = found.keys() - {names.relation(last)} if last else found.keys()
        open_ones = [one for one in clauses if is_whole or one.relation not in done]
        clause = _largest(nested or open_ones or clauses, prepared)
        what = "has no bound" if nested else f"may have about {clause_size(clause, prepared):.0e} instances"
    else:
        own = [one for one in clauses if one.relation == relation]
        clause = _largest([one for one in own if one in nested] or own, prepared)
        what = f"has {'' if is_whole else 'more than '}{defined[relation]:,} instances"
    rulesheet = prepared.program.rulesheet
    source = next((rule.head for rule in rulesheet.rules if rule.offset == clause.offset), clause.head)
    return (
        f"{rulesheet.place(clause.offset)}: {error}: '{name_and_arity(source)[0]}' {what}; {_advice(clause, prepared)}"
    )


def _count_heads(clingo: Clingo, program: bytes) -> tuple[dict[bytes, int], bytes, bool]:
    """How many of its ground rules have each relation as their head; the last one's; and whether these are all."""
    counts: dict[bytes, int] = {}
    name = b""

    def count(rule: bytes) -> bool:
        nonlocal name
        found = _HEAD.match(rule)
        if found:
            name = found[1]
            counts[name] = counts.get(name, 0) + 1
        return True

    is_whole = list_rules(clingo, program, _SECONDS, _MOST_RULES, count)
    return counts, name, is_whole


def _largest(clauses: Sequence[Clause], prepared: Prepared) -> Clause:
    return max(clauses, key=lambda clause: clause_size(clause, prepared))


def _advice(clause: Clause, prepared: Prepared) -> str:
    """What to write in place of a clause."""
    if prepared.domains.can_nest and any(isinstance(part, tuple) for part in _terms(clause)):
        return (
            "terms that hold terms can nest without limit: add a condition on a relation that lists the terms that can "
            "be, or write a list as facts that number its places"
        )
    passed = _passed_on(clause, prepared)
    if passed:
        places = " and ".join(map(str, passed))
        return (
            f"its recursion passes argument {places} on unchanged: leave out what only the rule that asks needs to know"
        )
    head = set(variables(clause.head))
    groups = _groups(clause)
    if len(groups) > 1:
        one, other = (", ".join(sorted(map(as_written, group & head))) for group in groups[:2])
        remedy = _APART.get(clause.relation, "write a relation for each, and have both asked where they are read")
        return f"no condition joins {one} with {other}: {remedy}"
    local = [name for name in _local(clause) if name not in head]
    if local:
        name = as_written(local[0])
        return f"split its body: write a relation for the conditions that read {name}, without it as an argument"
    return "write relations of fewer arguments in its place, each for the conditions that share variables"


def _grows(clause: Clause) -> bool:
    """Whether a variable stands deeper in its head than in its body, so that terms get longer each time."""
    depths = _depths(clause.head)
    inside = [_depths(literal.atom) for literal in clause.body if literal.positive]
    return any(depth > max(known.get(name, 0) for known in inside) for name, depth in depths.items() if inside)


def _depths(term: Term, depth: int = 0) -> dict[str, int]:
    """How deep each variable stands at most."""
    if isinstance(term, str):
        return {term: depth} if is_variable(term) else {}
    found: dict[str, int] = {}
    for part in term[1:]:
        for name, inner in _depths(part, depth + 1).items():
            found[name] = max(found.get(name, 0), inner)
    return found


def _terms(clause: Clause) -> list[object]:
    return [part for literal in (clause.head, *(lit.atom for lit in clause.body)) for part in literal[1:]]


def _passed_on(clause: Clause, prepared: Prepared) -> list[int]:
    """The numbers of the arguments that every recursive clause of the relation leaves as they are, from 1."""
    kept = set(range(clause.relation[1]))
    is_recursive = False
    for one in prepared.clauses:
        for literal in one.body:
            if one.relation == clause.relation == literal.relation:
                is_recursive = True
                pairs = zip(one.arguments, literal.arguments, strict=True)
                kept &= {place for place, (left, right) in enumerate(pairs) if left == right and is_variable(left)}
    return [place + 1 for place in sorted(kept)] if is_recursive else []


def _local(clause: Clause) -> list[str]:
    return list(dict.fromkeys(name for literal in clause.body for name in variables(literal.atom)))


def _groups(clause: Clause) -> list[set[str]]:
    """The variables of conditions that hang together, for all groups that bind variables of the head."""
    head = set(variables(clause.head))
    left: list[Literal] = [literal for literal in clause.body if literal.positive and literal.relation != DISTINCT]
    groups = []
    while left:
        group = linked(left, set(variables(left[0].atom))) or left[:1]
        left = [literal for literal in left if literal not in group]
        names = {name for literal in group for name in variables(literal.atom)}
        if names & head:
            groups.append(names)
    return groups

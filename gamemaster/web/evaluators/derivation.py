"""A rulesheet and a state → the rulesheet of the same game that begins there, and says where it comes from."""

import re
from dataclasses import dataclass

from ggp.gdl.rulesheet import RULE, Rule, Rulesheet, atoms, name_and_arity, parse_rulesheet, rule_term
from ggp.gdl.state_machine import Facts
from ggp.gdl.terms import Term, subterms, to_text

_INIT = "init"
_AROUND = (RULE, "not", "and", "or")  # what holds sentences
_ORIGIN = re.compile(r"; goes on from match ([A-Za-z0-9][A-Za-z0-9._~-]{0,199}) after ([0-9]{1,7}) steps\n")


@dataclass(frozen=True, slots=True)
class RulesheetOrigin:
    """The match and the state in it from which another goes on."""

    match: str
    step: int  # how many steps had been executed


def derived_rulesheet(rulesheet: Rulesheet, facts: Facts, origin: RulesheetOrigin | None = None) -> Rulesheet:
    """The same game from this state on.

    What other rules read of `init` stays as it was: the first state keeps its facts under another name.
    """
    kept = [rule for rule in rulesheet.rules if not _begins(rule)]
    old = _fresh(rulesheet) if any(_reads_init(rule) for rule in kept) else None
    lines = [f"(init {to_text(fact)})" for fact in sorted(facts, key=to_text)]
    if old is None:
        lines += [to_text(rule_term(rule)) for rule in kept]
    else:
        lines += [to_text(_renamed(rule_term(rule), old)) for rule in rulesheet.rules]
    heading = [] if origin is None else [f"; goes on from match {origin.match} after {origin.step} steps"]
    return parse_rulesheet("\n".join([*heading, *lines]) + "\n", rulesheet.source)


def origin_of(text: str) -> RulesheetOrigin | None:
    """What the first line of a derived rulesheet says."""
    found = _ORIGIN.match(text)
    return RulesheetOrigin(found[1], int(found[2])) if found else None


def _begins(rule: Rule) -> bool:
    return name_and_arity(rule.head)[0] == _INIT


def _reads_init(rule: Rule) -> bool:
    return any(name_and_arity(atom.term)[0] == _INIT for part in rule.body for atom, _ in atoms(part))


def _fresh(rulesheet: Rulesheet) -> str:
    """A name that the rules do not use."""
    terms = [part for rule in rulesheet.rules for part in subterms(rule_term(rule))]
    used = {part if isinstance(part, str) else part[0] for part in terms}
    name = "begun"
    while name in used:
        name += "_"
    return name


def _renamed(sentence: Term, name: str) -> Term:
    """A rule or a part of one with another name for the relation `init`; functions keep theirs."""
    if isinstance(sentence, str) or not sentence:
        return sentence
    if sentence[0] in _AROUND:
        return (sentence[0], *(_renamed(part, name) for part in sentence[1:]))
    return (name, *sentence[1:]) if sentence[0] == _INIT else sentence

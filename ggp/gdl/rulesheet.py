"""Nodes → rulesheet: rules with heads and bodies. Tolerant: only what has no meaning is refused here.

What is dubious but has a meaning is reported by `ggp.gdl.validator`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeAlias

from ggp.errors import Place, RulesheetError
from ggp.gdl.reader import Node, place_in, read
from ggp.gdl.terms import Term, to_text

RULE = "<="
HINTS = frozenset({"base", "input"})  # came to GDL late: rulesheets have relations of their own with these names
CONNECTIVES = frozenset({"not", "and", "or", "distinct"})
ARITIES = {
    "role": 1,
    "init": 1,
    "true": 1,
    "next": 1,
    "base": 1,
    "does": 2,
    "legal": 2,
    "input": 2,
    "goal": 2,
    "sees": 2,
    "terminal": 0,
}  # of the relations that GDL and GDL-II give a meaning to
KEYWORDS = CONNECTIVES | ARITIES.keys() | {RULE, "random"}
NATURE = "random"  # the role that GDL-II leaves to chance
# Characters that a terminal obeys or that change the direction of text; those that are white space end a name.
_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069]")
MAX_TERM_NESTING = 100  # levels of parentheses of an atom; evaluation makes deeper terms of those in the rules


@dataclass(frozen=True, slots=True)
class Atom:
    """A relation and its arguments."""

    term: Term
    offset: int


@dataclass(frozen=True, slots=True)
class Distinct:
    """Two terms that must differ."""

    left: Term
    right: Term
    offset: int


@dataclass(frozen=True, slots=True)
class Not:
    """Negation as failure."""

    part: "Sentence"
    offset: int


@dataclass(frozen=True, slots=True)
class And:
    """All of the parts; true when there are none."""

    parts: tuple["Sentence", ...]
    offset: int


@dataclass(frozen=True, slots=True)
class Or:
    """One of the parts; false when there are none."""

    parts: tuple["Sentence", ...]
    offset: int


Sentence: TypeAlias = Atom | Distinct | Not | And | Or


@dataclass(frozen=True, slots=True)
class Rule:
    """A head that holds when all of the body does; a fact has no body."""

    head: Term
    body: tuple[Sentence, ...]
    offset: int
    is_fact: bool  # written without `<=`


@dataclass(frozen=True, slots=True)
class Rulesheet:
    """The rules of a game in the order of their text."""

    rules: tuple[Rule, ...]
    text: str
    source: str

    def place(self, offset: int) -> Place:
        return place_in(self.text, self.source)(offset)

    @property
    def sha256(self) -> str:
        """Of the rules as `kif` prints them, so that comments and white space do not count; hexadecimal."""
        return sha256("\n".join(kif(self)).encode()).hexdigest()

    @property
    def has_percepts(self) -> bool:
        """Whether `sees` rules say what each role is told (GDL-II); otherwise roles are told the joint move."""
        return any(name_and_arity(rule.head) == ("sees", 2) for rule in self.rules)


def parse_rulesheet(text: str, source: str = "<rulesheet>", *, allow_control: bool = False) -> Rulesheet:
    """Text → rulesheet; ReadError or RulesheetError with the place of what has no meaning.

    allow_control: take control characters in names, for those who print none.
    """
    builder = _Builder(text, source, allow_control=allow_control)
    return Rulesheet(tuple(builder.rule(node) for node in read(text, source)), text, source)


def build_rulesheet(nodes: tuple[Node, ...], text: str, source: str) -> tuple[Rulesheet, tuple[RulesheetError, ...]]:
    """The rulesheet of those nodes that have a meaning, and what is wrong with each of the others."""
    builder = _Builder(text, source)
    rules: list[Rule] = []
    errors: list[RulesheetError] = []
    for node in nodes:
        try:
            rules.append(builder.rule(node))
        except RulesheetError as error:
            errors.append(error)
    return Rulesheet(tuple(rules), text, source), tuple(errors)


def kif(rulesheet: Rulesheet) -> tuple[str, ...]:
    """Each rule as one line of KIF without comments."""
    return tuple(to_text(rule_term(rule)) for rule in rulesheet.rules)


def rule_term(rule: Rule) -> Term:
    """The rule as it would be read, as a term."""
    if rule.is_fact:
        return rule.head
    return (RULE, rule.head, *(sentence_term(part) for part in rule.body))


def sentence_term(sentence: Sentence) -> Term:
    match sentence:
        case Atom(term):
            return term
        case Distinct(left, right):
            return ("distinct", left, right)
        case Not(part):
            return ("not", sentence_term(part))
        case And(parts):
            return ("and", *(sentence_term(part) for part in parts))
        case Or(parts):
            return ("or", *(sentence_term(part) for part in parts))


def atoms(sentence: Sentence) -> Iterator[tuple[Atom, bool]]:
    """The atoms of a sentence in the order of the text, each with whether it stands under an odd number of `not`."""
    match sentence:
        case Atom():
            yield sentence, False
        case Distinct():
            return
        case Not(part):
            for atom, negative in atoms(part):
                yield atom, not negative
        case And(parts) | Or(parts):
            for part in parts:
                yield from atoms(part)


def name_and_arity(atom: Term) -> tuple[str, int]:
    """What identifies a relation or a function."""
    if isinstance(atom, str):
        return atom, 0
    name = atom[0]
    assert isinstance(name, str)
    return name, len(atom) - 1


class _Builder:
    """Turns the nodes of one text into rules."""

    def __init__(self, text: str, source: str, *, allow_control: bool = False) -> None:
        self._place = place_in(text, source)
        self._seeks_control = not allow_control and _CONTROL.search(text) is not None

    def rule(self, node: Node) -> Rule:
        if not (node.items and node.items[0].text == RULE):
            return Rule(self._head(node), (), node.offset, is_fact=True)
        if len(node.items) == 1:
            raise self._error("a rule needs a head", node, "rule-form")
        body = tuple(self._sentence(part) for part in node.items[2:])
        return Rule(self._head(node.items[1]), body, node.offset, is_fact=False)

    def _head(self, node: Node) -> Term:
        term = self._atom(node)
        name, _ = name_and_arity(term)
        if name in CONNECTIVES or name == RULE:
            raise self._error(f"'{name}' cannot be the head of a rule", node, "head-form")
        return term

    def _sentence(self, node: Node) -> Sentence:
        word = node.items[0].text if node.items else node.text
        name = word.lower() if word else None
        parts = node.items[1:]
        if name == RULE or (name in CONNECTIVES and not node.is_list):
            raise self._error(f"'{name}' is not a sentence", node, "sentence-form")
        if name in ("and", "or"):
            inner = tuple(self._sentence(part) for part in parts)
            return And(inner, node.offset) if name == "and" else Or(inner, node.offset)
        if name == "not":
            if len(parts) != 1:
                raise self._error(f"'not' takes one sentence, not {len(parts)}", node, "not-arity")
            return Not(self._sentence(parts[0]), node.offset)
        if name == "distinct":
            if len(parts) != 2:
                raise self._error(f"'distinct' takes two terms, not {len(parts)}", node, "distinct-arity")
            return Distinct(self._term(parts[0]), self._term(parts[1]), node.offset)
        if len(node.items) == 1 and node.items[0].is_list:
            return self._sentence(node.items[0])
        return Atom(self._atom(node), node.offset)

    def _atom(self, node: Node) -> Term:
        term = self._term(node)
        name, arity = name_and_arity(term)
        if name.startswith("?"):
            raise self._error(f"the variable {name} is not a sentence", node, "variable-sentence")
        if name not in HINTS and ARITIES.get(name, arity) != arity:
            raise self._error(f"'{name}' takes {ARITIES[name]} arguments, not {arity}", node, "keyword-arity")
        return term

    def _term(self, node: Node) -> Term:
        stack = [(node, 1)]
        while stack:
            part, level = stack.pop()
            if part.is_list:
                if level > MAX_TERM_NESTING:
                    raise self._error(f"nested deeper than {MAX_TERM_NESTING} levels", part, "term-form")
                if not part.items:
                    raise self._error("an empty list is not a term", part, "term-form")
                head = part.items[0]
                if head.is_list and len(part.items) > 1:
                    raise self._error("a term starts with a name", part, "term-form")
                if len(part.items) > 1 and head.text is not None and head.text.startswith("?"):
                    raise self._error("a variable cannot name a function or relation", part, "term-form")
                stack.extend((inner, level + 1) for inner in reversed(part.items))
            elif self._seeks_control and part.text and (control := _CONTROL.search(part.text)):
                reason = f"the character U+{ord(control.group()):04X} cannot stand in a name"
                raise self._error(reason, part, "control-character")
        return node.term

    def _error(self, message: str, node: Node, check: str) -> RulesheetError:
        return RulesheetError(message, self._place(node.offset), check)

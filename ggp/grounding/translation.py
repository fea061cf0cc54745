"""Clauses → the text of an answer set program, and the names in its output → terms."""

import re
from collections.abc import Iterable, Mapping

from ggp.gdl.logic_program import DISTINCT, DOES, TRUE, Clause, Literal, Relation
from ggp.gdl.terms import Term

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
# From a state over its moves to the next, so that all that may ever be is found.
_LOOP = "{true(F)}:-init(F).{true(F)}:-next(F).{does(R,M)}:-legal(R,M),role(R)."
_REACHED = "true(F):-init(F).true(F):-next(F).does(R,M):-legal(R,M),role(R)."
_TOKEN = re.compile(rb"[a-z0-9]+|\)")
_UNKNOWN = -1  # the number of a symbol that has no name

Rows = tuple[tuple[Term, ...], ...]


class Translation:
    """The names of one program: symbols of a rulesheet are numbered, so that any text is a safe name.

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

    def text(self, clauses: Iterable[Clause], tables: Mapping[Relation, Rows]) -> bytes:
        """The program; its output names the atoms of the keywords."""
        return self._text(_LOOP, clauses, tables, KEYWORDS)

    def reached_text(
        self, clauses: Iterable[Clause], tables: Mapping[Relation, Rows], shown: Iterable[Relation]
    ) -> bytes:
        """A program without choices: all that may ever hold becomes a fact; its output names some relations' atoms."""
        return self._text(_REACHED, clauses, tables, shown)

    def atom(self, name: bytes) -> tuple[str, tuple[Term, ...]]:
        """An atom of the output as its relation's name and its arguments."""
        relation, _, rest = name.partition(b"(")
        return relation.decode(), self._read(rest)

    def keyword(self, name: bytes) -> Relation | None:
        return self._keywords.get(name)

    def constant_number(self, term: Term) -> int:
        return self._constants.get(term, _UNKNOWN)

    def function_number(self, function: Relation) -> int:
        return self._functions.get(function, _UNKNOWN)

    def _text(
        self, loop: str, clauses: Iterable[Clause], tables: Mapping[Relation, Rows], shown: Iterable[Relation]
    ) -> bytes:
        lines = [loop, "#show.", *(f"#show {self._relation(relation)}/{relation[1]}." for relation in shown)]
        for relation, rows in tables.items():
            name = self._relation(relation)
            if relation[1]:
                lines += [f"{name}({','.join([self._term(term, {}) for term in row])})." for row in rows]
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

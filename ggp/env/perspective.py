"""Rulesheet → the renaming that puts the next player in the place of each: its name, its pieces, its relations.

Chess programs that learn see the board from the side of the role that moves (Silver et al. 2017): their own pieces are
always on the same planes. Which words go with which role is found in the clauses: `(sign xplayer x)` and
`(sign oplayer o)` differ in a role and in one more word, so x goes with xplayer as o with oplayer. Such pairs of
clauses vote; what is agreed on helps to compare others. A renaming that maps the clauses onto themselves is a symmetry.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ggp.boards.orders import find_chains
from ggp.gdl.logic_program import Clause, LogicProgram, make_logic_program
from ggp.gdl.rulesheet import NATURE, Rulesheet
from ggp.gdl.terms import Term, to_text

_KEYWORDS = frozenset(
    ("role", "init", "true", "next", "legal", "does", "goal", "terminal", "sees", "base", "input", "distinct", "not",
     "<=", NATURE)
)  # fmt: skip
_ROOTS = frozenset(("legal", "next", "goal", "terminal", "sees"))
_TOKEN = re.compile(r"[^\s()]+")
_NUMBER = re.compile(r"[+-]?\d+")
_MOST_CANDIDATES = 50  # clauses that may correspond to one; if there are more, that says nothing

_Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Renaming:
    """What each word becomes when the next player is put in the place of each player, and the first after the last."""

    words: Mapping[str, str]  # those that change, with the names of the roles
    players: int  # the roles but `random`; after so many times each word is itself again
    is_symmetry: bool  # the rules are the same afterwards, but for the initial state

    def rename(self, term: Term, times: int = 1) -> Term:
        """What a fact, move or percept of the first player becomes for the one that comes so many places later."""
        for _ in range(times % self.players):
            term = self._renamed(term)
        return term

    def _renamed(self, term: Term) -> Term:
        if isinstance(term, str):
            return self.words.get(term, term)
        return tuple(map(self._renamed, term))


def find_renaming(rulesheet: Rulesheet, roles: Sequence[str]) -> Renaming:
    """The renaming from each role to the next one, in the order of the rulesheet; `random` stays.

    Numbers, and words of a chain such as coordinates, are never renamed; nothing is if a role is called by one of them.
    """
    program = make_logic_program(rulesheet)
    players = [role for role in roles if role != NATURE]
    given = dict(zip(players, [*players[1:], *players[:1]], strict=True)) if len(players) > 1 else {}
    clauses = [*_clauses(program)]
    chains = {word for chain in find_chains(program) for word in chain if word not in given}
    words = _Comparison(clauses, given, chains, len(players)).words if given else {}
    trial = Renaming(words, max(1, len(players)), is_symmetry=False)
    forms = Counter(map(_form, clauses))
    is_symmetry = bool(words) and forms == Counter(_form(_renamed_clause(clause, trial)) for clause in clauses)
    return Renaming(words, max(1, len(players)), is_symmetry)


def _clauses(program: LogicProgram) -> Iterable[Clause]:
    """Those on which depends what happens after the initial state."""
    waiting = [relation for relation in (*program.clauses, *program.tables) if relation[0] in _ROOTS]
    reached = set(waiting) | {("role", 1)}
    while waiting:
        for clause in program.clauses.get(waiting.pop(), ()):
            new = {literal.relation for literal in clause.body} - reached
            reached |= new
            waiting += new
    for relation in sorted(reached):
        yield from program.clauses.get(relation, ())
        for row in program.tables.get(relation, ()):
            yield Clause((relation[0], *row) if row else relation[0], (), 0)


def _renamed_clause(clause: Clause, renaming: Renaming) -> Clause:
    body = tuple(type(literal)(renaming.rename(literal.atom), literal.positive) for literal in clause.body)
    return Clause(renaming.rename(clause.head), body, 0)


def _form(clause: Clause, hidden: frozenset[str] = frozenset()) -> str:
    """The clause as text, the same for clauses that differ in the names of variables or the order of conditions only.

    Where conditions differ in nothing but variables their order may still matter, so that forms can differ without
    need. hidden: words that are all the same; they do not count for the order.
    """
    conditions = [("" if literal.positive else "not ") + to_text(literal.atom) for literal in clause.body]

    def plain(text: str) -> str:
        return _TOKEN.sub(lambda found: "?" if found[0][0] == "?" or found[0] in hidden else found[0], text)

    text = "\n".join([to_text(clause.head), *sorted(conditions, key=plain)])
    numbers: dict[str, str] = {}
    return _TOKEN.sub(
        lambda found: numbers.setdefault(found[0], f"?{len(numbers)}") if found[0][0] == "?" else found[0], text
    )


class _Comparison:
    """Compares clauses of the same form; `words` is what was agreed on."""

    def __init__(self, clauses: Sequence[Clause], given: Mapping[str, str], fixed: set[str], players: int) -> None:
        self._players = players
        texts = [
            " ".join(map(to_text, (clause.head, *(literal.atom for literal in clause.body)))) for clause in clauses
        ]
        seen = {word for text in texts for word in _TOKEN.findall(text) if word[0] != "?"}
        self._free = frozenset(w for w in seen - _KEYWORDS - fixed if not _NUMBER.fullmatch(w))
        self.words = dict(given) if given.keys() <= self._free else {}
        groups: defaultdict[str, set[_Words]] = defaultdict(set)
        for clause in clauses:
            form = _form(clause, self._free)
            found = _TOKEN.findall(form)
            groups[_TOKEN.sub(lambda word: "_" if word[0] in self._free else word[0], form)].add(
                tuple(word for word in found if word in self._free)
            )
        self._groups = [sorted(group) for group in groups.values() if len(group) > 1]
        while self.words and self._agree(self._votes()):
            pass

    def _votes(self) -> dict[str, dict[str, float]]:
        """For each word that is not agreed on what it becomes in clauses that correspond."""
        votes: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
        for group in self._groups:
            index: defaultdict[tuple[str | None, ...], list[_Words]] = defaultdict(list)
            for words in group:
                index[tuple(word if word in self.words else None for word in words)].append(words)
            for words in group:
                wanted = tuple(self.words.get(word) for word in words)
                found = index.get(wanted, []) if any(wanted) else []
                if not found or len(found) > _MOST_CANDIDATES:
                    continue
                changes = [sum(a != b for a, b in zip(words, other, strict=True)) for other in found]
                nearest = [other for other, count in zip(found, changes, strict=True) if count == min(changes)]
                for other in nearest:
                    for word, becomes, known in zip(words, other, wanted, strict=True):
                        if known is None:
                            votes[word][becomes] += 1 / len(nearest)
        return {word: dict(found) for word, found in votes.items()}

    def _agree(self, votes: Mapping[str, Mapping[str, float]]) -> bool:
        """Take what most votes say, where all words of a cycle say so; whether there was any."""
        best = {word: max(sorted(found), key=found.__getitem__) for word, found in votes.items()}
        new: dict[str, str] = {}
        for word in sorted(best):
            cycle = [word]
            while best.get(cycle[-1], word) not in cycle and len(cycle) <= self._players:
                cycle.append(best[cycle[-1]])
            closes = best.get(cycle[-1]) == word
            if closes and len(cycle) > 1 and self._players % len(cycle) == 0:
                new.update(zip(cycle, [*cycle[1:], word], strict=True))
        self.words |= new
        return bool(new)

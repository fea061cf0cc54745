"""Compiled game → how an environment's observation and mask are laid out: which row of the region stands where.

`perspective="mover"` renames a rulesheet so that the next player is in the place of each: its name, its pieces, its
relations. Chess programs that learn see the board from the side of the role that moves (Silver et al. 2017): their own
pieces are always on the same planes. Which words go with which role is found in the clauses: `(sign xplayer x)` and
`(sign oplayer o)` differ in a role and in one more word, so x goes with xplayer as o with oplayer. Such pairs of
clauses vote; what is agreed on helps to compare others. A renaming that maps the clauses onto themselves is a symmetry.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ggp.boards.layout import BoardLayout, Layout, Placement
from ggp.boards.profiles import find_chains
from ggp.circuit.compile import CompiledGame
from ggp.circuit.network import Ids
from ggp.errors import SettingsError
from ggp.gdl.logic_program import Clause, LogicProgram, make_logic_program
from ggp.gdl.rulesheet import NATURE, Rulesheet, name_and_arity
from ggp.gdl.terms import Term, to_text
from ggp.simulation.environment import Region

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


NOTHING = -1
_WORD_BITS = 64

Rows = NDArray[np.int64]  # rows of a region, or NOTHING


@dataclass(frozen=True, slots=True, eq=False)
class ArrayLayout:
    """What an array holds of each environment."""

    shape: tuple[int, ...]  # without the axis of the environments
    dtype: np.dtype[np.generic]  # uint64: bit i of a row is entry i; bool: one byte each, 0 or 1
    names: tuple[str, ...]  # of the entries of the last axis, or of the planes; of percepts those of all roles in a row
    rows: Ids  # of the region, as in View
    words: Ids | None
    turned: Ids  # (t, 3) as in View


@dataclass(frozen=True, slots=True)
class Perspective:
    """Who sees an observation: nobody in particular, or the role that is to move."""

    compiled: CompiledGame
    given: tuple[int, ...]  # the roles whose moves are given
    renaming: Renaming | None = None  # None: facts stand where they are, whichever role moves

    def places(self) -> list[int]:
        """For each given role how many places after the first player it comes; 0 for `random`."""
        if self.renaming is None:
            return [0] * len(self.given)
        players = [at for at, role in enumerate(self.compiled.roles) if role != NATURE]
        return [players.index(role) if role in players else 0 for role in self.given]

    def names_mover(self) -> bool:
        """Whether who moves is told apart: unless the same observation means the same to each role that may move."""
        if self.renaming is None or len(self.given) < 2:
            return False
        compiled = self.compiled
        moves = [own for role, own in zip(compiled.roles, compiled.moves, strict=True) if role != NATURE]
        same = all([*map(self.renaming.rename, one)] == [*other] for one, other in pairwise(moves))
        return not (self.renaming.is_symmetry and same)

    def all_views(self, terms: Iterable[Term]) -> list[Term]:
        """Terms, then what they become for other roles."""
        if self.renaming is None:
            return list(terms)
        terms = list(terms)
        places = range(self.renaming.players)
        return list(dict.fromkeys(self.renaming.rename(term, place) for place in places for term in terms))


def lay_out_facts(region: Region, perspective: Perspective, *, packed: bool) -> ArrayLayout:
    """All facts; of games with percepts the percepts of each given role, in rows as long as the longest."""
    compiled = perspective.compiled
    if compiled.has_percepts:
        return _lay_out_percepts(region, perspective, packed=packed)
    facts = perspective.all_views(compiled.facts)
    rows, turned = _views(perspective, facts, np.arange(len(facts)))
    names = [*map(to_text, facts)]
    if perspective.names_mover():
        rows = np.append(rows, _mover_rows(region, perspective))
        names += _mover_names(perspective)
    return _lay_out([rows], tuple(names), packed=packed, is_single=True, turned=turned)


def _lay_out_percepts(region: Region, seen: Perspective, *, packed: bool) -> ArrayLayout:
    """Seen by their roles, all rows have the same names."""
    compiled = seen.compiled
    first = region.percepts + np.concatenate([[0], np.cumsum(list(map(len, compiled.percepts)))])
    if seen.renaming is None:
        rows = [np.arange(first[role], first[role + 1]) for role in seen.given]
        names = [percept for role in seen.given for percept in compiled.percepts[role]]
    else:
        renaming, places = seen.renaming, seen.places()
        names = sorted(
            {
                renaming.rename(percept, -place)
                for role, place in zip(seen.given, places, strict=True)
                for percept in compiled.percepts[role]
            },
            key=to_text,
        )
        rows = []
        for role, place in zip(seen.given, places, strict=True):
            row = {percept: int(first[role]) + at for at, percept in enumerate(compiled.percepts[role])}
            rows.append(np.array([row.get(renaming.rename(name, place), NOTHING) for name in names], np.int64))
    return _lay_out(rows, tuple(map(to_text, names)), packed=packed, is_single=False)


def _views(seen: Perspective, facts: list[Term], entries: Rows) -> tuple[Rows, Ids]:
    """The rows of entries, which are numbers of facts or NOTHING, and what other movers see in their place."""
    row = {fact: number for number, fact in enumerate(seen.compiled.facts)}
    own = np.array([*(row.get(fact, NOTHING) for fact in facts), NOTHING])[entries]
    turned = [np.zeros((0, 3), np.int64)]
    for at, place in enumerate(seen.places()):
        if seen.renaming is not None and place:
            others = [row.get(seen.renaming.rename(fact, place), NOTHING) for fact in facts]
            rows = np.array([*others, NOTHING])[entries]
            moved = np.flatnonzero(rows != own)
            turned.append(np.stack([moved, np.full(len(moved), at), rows[moved]], axis=1))
    return own, np.concatenate(turned).astype(np.int32)


def _mover_rows(region: Region, seen: Perspective) -> Rows:
    return region.mover + np.arange(len(seen.given))


def _mover_names(seen: Perspective) -> list[str]:
    return [f"mover {seen.compiled.roles[role]}" for role in seen.given]


def lay_out_mask(compiled: CompiledGame, region: Region, given: tuple[int, ...], *, packed: bool) -> ArrayLayout:
    """The legal moves of each given role, in rows as long as the longest."""
    first = region.legal + np.concatenate([[0], np.cumsum(list(map(len, compiled.moves)))])
    rows = [np.arange(first[role], first[role + 1]) for role in given]
    return _lay_out(rows, (), packed=packed, is_single=False)


_STILL: Ids = np.zeros((0, 3), np.int32)


def _lay_out(
    parts: list[Rows], names: tuple[str, ...], *, packed: bool, is_single: bool, turned: Ids = _STILL
) -> ArrayLayout:
    longest = max(1, *map(len, parts))
    if packed:
        words = -(-longest // _WORD_BITS)
        counts = [max(0, min(_WORD_BITS, len(part) - _WORD_BITS * word)) for part in parts for word in range(words)]
        shape = (words,) if is_single else (len(parts), words)
        rows = np.concatenate(parts).astype(np.int32)
        return ArrayLayout(shape, np.dtype(np.uint64), names, rows, np.array(counts, np.int32), turned)
    padded = np.full((len(parts), longest), NOTHING, np.int32)
    for part, row in zip(parts, padded, strict=True):
        row[: len(part)] = part
    return ArrayLayout(
        (longest,) if is_single else padded.shape, np.dtype(np.bool_), names, padded.ravel(), None, turned
    )


def lay_out_planes(region: Region, perspective: Perspective, layout: Layout) -> ArrayLayout:
    """A plane for each thing that can be on the cells of a board, and one, all alike, for each fact on no board.

    Facts that never change are left out. SettingsError where no board is found, or roles do not see the state.
    """
    compiled = perspective.compiled
    if compiled.has_percepts:
        raise SettingsError("planes show the state, and the rules of this game hide it: take bits or bytes")
    if not layout.boards:
        raise SettingsError("no board is found in the rules of this game: take bits or bytes")
    grids = {board.name: _Grid(board) for board in layout.boards}
    height = max(grid.height for grid in grids.values())
    width = max(grid.width for grid in grids.values())
    planes: dict[tuple[str, ...], Rows] = {}
    loose: list[int] = []
    changing = (fact for fact, constant in zip(compiled.facts, compiled.constants, strict=True) if constant < 0)
    facts = perspective.all_views(changing)
    for number, fact in enumerate(facts):
        places = [
            (key, place)
            for board in layout.boards
            for key, place in grids[board.name].find(fact)
        ]  # fmt: skip
        for key, (down, across) in places:
            plane = planes.setdefault(key, np.full((height, width), NOTHING, np.int64))
            plane[down, across] = number
        if not places:
            loose.append(number)
    names = [" ".join(filter(None, key)) for key in planes] + [to_text(facts[number]) for number in loose]
    stacked = [*planes.values(), *(np.full((height, width), number, np.int64) for number in loose)]
    rows, turned = _views(perspective, facts, np.concatenate([plane.ravel() for plane in stacked]))
    if perspective.names_mover():
        rows = np.concatenate([rows, np.repeat(_mover_rows(region, perspective), height * width)])
        names += _mover_names(perspective)
    return ArrayLayout(
        (len(names), height, width), np.dtype(np.bool_), tuple(names), rows.astype(np.int32), None, turned
    )


class _Grid:
    """The cells of one board as rows and columns of a plane."""

    def __init__(self, board: BoardLayout) -> None:
        self._board = board
        self._downs = sorted({down for down, _ in board.places.values()})
        self._acrosses = sorted({across for _, across in board.places.values()})
        self.height, self.width = max(1, len(self._downs)), max(1, len(self._acrosses))

    def find(self, fact: Term) -> list[tuple[tuple[str, ...], tuple[int, int]]]:
        """The planes that show the fact, and where."""
        relation = name_and_arity(fact)
        words = () if isinstance(fact, str) else tuple(map(to_text, fact[1:]))
        found = []
        for placement in self._board.placements:
            if placement.relation != relation or not all(words[at] == constant for at, constant in placement.fixed):
                continue
            point = self._board.places.get(tuple(words[at] for at in placement.place))
            if point is not None:
                place = self._downs.index(point[0]), self._acrosses.index(point[1])
                found.append((self._key(placement, words), place))
        return found

    def _key(self, placement: Placement, words: tuple[str, ...]) -> tuple[str, ...]:
        others = [word for at, word in enumerate(words) if at not in placement.place]
        return (self._board.name, placement.relation[0], *others)

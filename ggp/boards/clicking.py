"""Moves → the cells to click for them: which arguments of a move are the coordinates of a cell."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ggp.boards.layouts import BoardLayout, Click, Layout, Place, Source
from ggp.boards.picture import Spot
from ggp.boards.profiles import Samples
from ggp.gdl.logic_program import Clause, LogicProgram, Relation
from ggp.gdl.rulesheet import name_and_arity
from ggp.gdl.terms import Term, to_text

_WITHIN = 0.6  # how many of the constants of an argument are coordinates, where the argument is one
_MOVES = frozenset(("legal", "does", "input"))
_FACTS = frozenset(("true", "next"))


@dataclass(frozen=True, slots=True)
class _Slot:
    """An argument of a run that names a cell."""

    says: Literal["index", "place"]
    constants: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Family:
    """Boards with the same cells, told apart by arguments."""

    names: Mapping[Place, str]  # constants of the index → board
    index: tuple[frozenset[str], ...]
    axes: tuple[frozenset[str], ...]
    relations: frozenset[Relation]
    source: Source  # the first one

    @property
    def windows(self) -> tuple[tuple[_Slot, ...], ...]:
        """What a run of arguments can be that names a cell: in the order of the facts, with the board or without."""
        of_board = [(at, _Slot("index", axis)) for (at, _), axis in zip(self.source.fixed, self.index, strict=True)]
        of_place = [(at, _Slot("place", axis)) for at, axis in zip(self.source.place, self.axes, strict=True)]
        places = tuple(slot for _, slot in of_place)
        whole = tuple(slot for _, slot in sorted((*of_board, *of_place), key=lambda pair: pair[0]))
        return (whole, places) if self.index else (places,)


def move_cells(layout: Layout, move: Term) -> tuple[tuple[Spot, ...], ...]:
    """The clicks that make a move, in order, each with the cells of which one is to be clicked; none where clicks do
    not say it.

    A cell has one click, from → to has two; a move that names only a column has one, on any cell of it. Several moves
    may have the same cells: then their other arguments must be asked for.
    """
    if isinstance(move, str):
        return ()
    words = tuple(map(to_text, move[1:]))
    spots = {(board.name, place): Spot(board.name, place) for board in layout.boards for place in board.places}
    found: list[tuple[Spot, ...]] = []
    for click in layout.clicks.get(name_and_arity(move), ()):
        index = tuple(words[place] for place in click.index)
        names = [click.boards[index]] if index in click.boards else [] if click.index else list(click.boards.values())
        wanted = [None if place is None else words[place] for place in click.place]
        cells = tuple(
            spot
            for (board, place), spot in spots.items()
            if board in names and all(word is None or word == own for word, own in zip(wanted, place, strict=True))
        )
        if not cells:
            return ()
        found.append(cells)
    return tuple(found)


def find_clicks(
    boards: Sequence[BoardLayout], program: LogicProgram, samples: Samples
) -> Mapping[Relation, tuple[Click, ...]]:
    """For each kind of move that names cells, how; read off the moves that were legal in the samples."""
    families = _families(boards)
    arguments: dict[Relation, list[set[str]]] = {}
    for move in samples.moves:
        relation = name_and_arity(move)
        columns = arguments.setdefault(relation, [set() for _ in range(relation[1])])
        for column, term in zip(columns, move[1:], strict=True) if relation[1] else ():
            column.add(to_text(term))
    found: dict[Relation, tuple[Click, ...]] = {}
    for relation, columns in sorted(arguments.items()):
        near = _nearest(families, program, relation)
        clicks = _clicks(near, columns, program, relation) or _column(near, columns)
        if clicks:
            found[relation] = clicks
    return found


def _families(boards: Sequence[BoardLayout]) -> tuple[_Family, ...]:
    found: dict[tuple[frozenset[Relation], frozenset[Place]], list[BoardLayout]] = {}
    for board in boards:
        key = (frozenset(source.relation for source in board.sources), frozenset(board.places))
        found.setdefault(key, []).append(board)
    families: list[_Family] = []
    for (relations, places), members in found.items():
        sources = [member.sources[0] for member in members]
        names = {tuple(constant for _, constant in s.fixed): m.name for s, m in zip(sources, members, strict=True)}
        index = tuple(map(frozenset, zip(*names, strict=True)))
        families.append(_Family(names, index, tuple(map(frozenset, zip(*places, strict=True))), relations, sources[0]))
    return tuple(families)


def _nearest(families: Sequence[_Family], program: LogicProgram, move: Relation) -> list[_Family]:
    """Those that most rules name together with the move; several only where they are equal."""
    counts = [sum(1 for _ in _meetings(family, program, move)) for family in families]
    return [family for family, count in zip(families, counts, strict=True) if count == max(counts)]


def _meetings(family: _Family, program: LogicProgram, move: Relation) -> Iterable[tuple[Term, Term]]:
    """Pairs of a move and a fact of the family in one rule."""
    for clauses in program.clauses.values():
        for clause in clauses:
            atoms = _atoms(clause)
            moves = [term for name, term in atoms if name in _MOVES and name_and_arity(term) == move]
            facts = [term for name, term in atoms if name in _FACTS and name_and_arity(term) in family.relations]
            yield from ((one, other) for one in moves for other in facts)


def _atoms(clause: Clause) -> list[tuple[str, Term]]:
    """Each atom about a move or a fact: its name, and the move or the fact."""
    atoms = [clause.head, *(literal.atom for literal in clause.body)]
    return [(str(atom[0]), atom[-1]) for atom in atoms if not isinstance(atom, str) and atom[0] in _MOVES | _FACTS]


def _clicks(
    families: Sequence[_Family], columns: Sequence[set[str]], program: LogicProgram, move: Relation
) -> tuple[Click, ...]:
    """The arguments from left to right, in runs that can name a cell."""
    found: list[Click] = []
    at = 0
    while at < len(columns):
        click = None
        for family in _turn(families, len(found)):
            for window in family.windows:
                if _fits(columns[at : at + len(window)], window):
                    index = tuple(at + n for n, slot in enumerate(window) if slot.says == "index")
                    place = tuple(at + n for n, slot in enumerate(window) if slot.says == "place")
                    click = Click(family.names, index, _in_order(family, place, program, move))
                    at += len(window)
                    break
            if click is not None:
                break
        if click is None:
            at += 1
        else:
            found.append(click)
    return tuple(found)


def _turn(families: Sequence[_Family], number: int) -> Sequence[_Family]:
    """Equal boards take turns: the first cell of a move is on the first one, the second on the second."""
    if not families:
        return ()
    first = number % len(families)
    return (*families[first:], *families[:first])


def _fits(columns: Sequence[set[str]], window: Sequence[_Slot]) -> bool:
    return len(columns) == len(window) and all(
        len(column & slot.constants) >= _WITHIN * len(column) for column, slot in zip(columns, window, strict=True)
    )


def _in_order(family: _Family, straight: tuple[int, ...], program: LogicProgram, move: Relation) -> tuple[int, ...]:
    """The arguments of a run in the order of the coordinates, which rules may name the other way round."""
    if len(straight) != 2:
        return straight
    same = crossed = 0
    for term, fact in _meetings(family, program, move):
        if name_and_arity(fact)[1] > max(family.source.place):
            first, second = (fact[1:][place] for place in family.source.place)
            one, other = (term[1:][place] for place in straight)
            variables = all(isinstance(v, str) and v.startswith("?") for v in (first, second)) and first != second
            same += variables and (one, other) == (first, second)
            crossed += variables and (one, other) == (second, first)
    return straight[::-1] if crossed > same else straight


def _column(families: Sequence[_Family], columns: Sequence[set[str]]) -> tuple[Click, ...]:
    """A move whose only argument is one coordinate, and cannot be the other one."""
    if len(columns) != 1 or not families or len(families[0].axes) != 2 or families[0].index:
        return ()
    family = families[0]
    fitting = [n for n in (0, 1) if _fits(columns, (_Slot("place", family.axes[n]),))]
    if len(fitting) == 2:
        fitting = [n for n in fitting if columns[0] == family.axes[n]]
    if len(fitting) != 1:
        return ()
    place = (0, None) if fitting == [0] else (None, 0)
    return (Click(family.names, (), place),)

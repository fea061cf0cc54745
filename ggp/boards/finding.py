"""Rulesheet and state machine → layout: the boards, how their pieces look, and which cells a move names.

Profiles without a grid of coordinates become points with names such as c7, concentric squares, rows and stacks.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal

from ggp.boards.grids import grid_boards
from ggp.boards.groups import find_groups
from ggp.boards.hints import hidden_relations, hinted_boards, hinted_words
from ggp.boards.layout import BoardLayout, Click, GridPoint, Layout, Place, Placement
from ggp.boards.marks import CHESS, BoardShape, Label, Mark, is_empty_word, make_marks
from ggp.boards.profiles import (
    Profile,
    StateSamples,
    compass,
    find_chains,
    find_points,
    find_profiles,
    natural,
    take_samples,
)
from ggp.gdl.domains import find_domains
from ggp.gdl.logic_program import Clause, LogicProgram, Relation, make_logic_program
from ggp.gdl.rulesheet import Rulesheet, name_and_arity
from ggp.gdl.state_machine import StateMachine
from ggp.gdl.terms import Term, to_text

_ROW = (3, 30)  # cells of a row, at least and at most
_MOST_CONTENTS = 12  # different pieces, other than numbers
_IN_A_ROW = 12  # cells side by side
_COUNT = re.compile(r"[a-z]?[0-9]+")
_MOST_RINGS = 6
_LIES_ON = re.compile(r"(is)?(on|above|atop|stacked)(_?top)?(_?of)?_?\d*")


def irregular_board(profile: Profile, samples: StateSamples, roles: Collection[str]) -> BoardLayout | None:
    """The board of a relation; None if it describes none."""
    return _points(profile) or _rings(profile, samples) or _row(profile, roles)


def stack_board(profile: Profile) -> BoardLayout | None:
    """The board of a relation that says what lies on what; None for other relations."""
    if profile.arity != 2 or not _LIES_ON.fullmatch(profile.relation[0]) or not profile.seen:
        return None
    upper, lower = (set(constants) for constants in profile.constants)
    if not upper & lower or not profile.determines((0,), 1) or any(over == under for over, under in profile.seen):
        return None
    name = profile.relation[0]
    places: dict[Place, GridPoint] = {
        (constant,): (0.0, float(at)) for at, constant in enumerate(natural(upper | lower))
    }
    placement = Placement(profile.relation, "stacks", (0,), end=(1,))
    return BoardLayout(name, name, "stacks", places, (), (), (placement,))


def _contents(profile: Profile, places: Sequence[int]) -> tuple[tuple[int, ...], frozenset[str]]:
    """The arguments that name the piece, and the names that mean an empty cell."""
    pieces = tuple(place for place in range(profile.arity) if place not in places)
    empty = frozenset(name for place in pieces for name in profile.constants[place] if is_empty_word(name))
    return pieces, empty


def _points(profile: Profile) -> BoardLayout | None:
    """Points named by a letter and a number: as on a chess board, or centred rows if these differ in length."""
    found = next(((n, points) for n, c in enumerate(profile.constants) if (points := find_points(c))), None)
    if found is None or profile.arity > 3:
        return None
    argument, points = found
    rows = natural({row for row, _ in points.values()})
    columns = natural({column for _, column in points.values()})
    places: dict[Place, GridPoint]
    shape: BoardShape
    if len(points) == len(rows) * len(columns):
        shape = "squares"
        places = {
            (name,): (float(columns[::-1].index(column)), float(rows.index(row)))
            for name, (row, column) in points.items()
        }
        labels = (_labels(columns[::-1]), _labels(rows))
    else:
        shape = "hexagons"
        members = {row: natural({c for r, c in points.values() if r == row}) for row in rows}
        widest = max(map(len, members.values()))
        places = {
            (name,): (float(rows.index(row)), (widest - len(members[row])) / 2 + members[row].index(column))
            for name, (row, column) in points.items()
        }
        labels = (_labels(rows), ())
    pieces, empty = _contents(profile, (argument,))
    placement = Placement(profile.relation, "pieces", (argument,), pieces=pieces, empty=empty)
    return BoardLayout(profile.relation[0], profile.relation[0], shape, places, *labels, (placement,))


def _labels(texts: Sequence[str]) -> tuple[Label, ...]:
    return tuple(Label(text, float(at)) for at, text in enumerate(texts))


def _rings(profile: Profile, samples: StateSamples) -> BoardLayout | None:
    """Concentric squares: one coordinate is a direction from the middle, the other one the distance."""
    directions = next(((n, steps) for n, c in enumerate(profile.constants) if (steps := compass(c))), None)
    if directions is None:
        return None
    direction, steps = directions
    rings = [n for n, order in enumerate(profile.orders) if n != direction and order and len(order) <= _MOST_RINGS]
    if not rings:
        return None
    ring = rings[0]
    order = profile.orders[ring] or ()
    coordinates = (ring, direction) if ring < direction else (direction, ring)
    middle = float(len(order))
    where: dict[tuple[str, str], GridPoint] = {
        (far, word): (middle + down * (at + 1), middle + across * (at + 1))
        for at, far in enumerate(order)
        for word, (down, across) in steps.items()
    }
    places: dict[Place, GridPoint] = {
        (far, word) if ring < direction else (word, far): point for (far, word), point in where.items()
    }
    pieces, empty = _contents(profile, coordinates)
    placement = Placement(profile.relation, "pieces", coordinates, pieces=pieces, empty=empty)
    name = profile.relation[0]
    guides = (*_around(order, steps, where), *_along_moves(places, samples))
    return BoardLayout(name, name, "points", places, (), (), (placement,), guides=guides)


def _around(
    order: Sequence[str], steps: Mapping[str, tuple[int, int]], where: Mapping[tuple[str, str], GridPoint]
) -> tuple[tuple[GridPoint, GridPoint], ...]:
    """From each point of a ring to its neighbours on the ring."""
    words = list(steps)
    neighbours = [
        (one, other)
        for at, one in enumerate(words)
        for other in words[at + 1 :]
        if sum(abs(a - b) for a, b in zip(steps[one], steps[other], strict=True)) == 1
    ]
    return tuple((where[far, one], where[far, other]) for far in order for one, other in neighbours)


def _along_moves(places: Mapping[Place, GridPoint], samples: StateSamples) -> tuple[tuple[GridPoint, GridPoint], ...]:
    """Between both points of each move that was seen and is one step long."""
    found: dict[tuple[GridPoint, GridPoint], None] = {}
    for move in sorted(samples.moves, key=to_text):
        if name_and_arity(move)[1] == 4:
            words = tuple(map(to_text, move[1:]))
            start, end = places.get(words[:2]), places.get(words[2:])
            if start and end and start < end and abs(start[0] - end[0]) + abs(start[1] - end[1]) == 1:
                found[start, end] = None
    return tuple(found)


def _row(profile: Profile, roles: Collection[str]) -> BoardLayout | None:
    """A row of named cells, each of which always holds exactly one thing."""
    if profile.arity != 2 or not profile.changes:
        return None
    key = next((n for n in (0, 1) if profile.is_total((n,)) and not set(profile.constants[n]) <= set(roles)), None)
    if key is None or not _ROW[0] <= len(profile.constants[key]) <= _ROW[1]:
        return None
    contents = profile.constants[1 - key]
    if len(contents) > _MOST_CONTENTS and not all(map(_COUNT.fullmatch, contents)):
        return None
    names = profile.orders[key] or natural(profile.constants[key])
    places: dict[Place, GridPoint] = {
        (name,): (float(at // _IN_A_ROW), float(at % _IN_A_ROW)) for at, name in enumerate(names)
    }
    pieces, empty = _contents(profile, (key,))
    placement = Placement(profile.relation, "pieces", (key,), pieces=pieces, empty=empty)
    return BoardLayout(profile.relation[0], profile.relation[0], "row", places, (), (), (placement,))


_MOST_NAMES = 400  # of pieces; if more are possible, only those that were seen get marks
_MOST_BOARDS = 36
_ROLE_SYMBOLS = ("cross", "ring", "disc")
_BLOCK = {"symbol": "block", "colour": "grey", "letters": "#"}  # the only piece that a cell can have
_TILE = {"symbol": "block", "colour": "sky", "letters": "#"}  # a cell named by a fact without a piece
_MEN = frozenset(("king", "pawn"))
_COORDINATE_SHARE = 0.6  # of the constants of a move's argument that are coordinates, if the argument is one
_MOVES = frozenset(("legal", "does", "input"))
_FACTS = frozenset(("true", "next"))


def find_layout(rulesheet: Rulesheet, machine: StateMachine, hints: Mapping[str, Any] | None = None) -> Layout:
    """How to draw the states of a game.

    machine: for these rules.
    hints: the table `drawing` of the game's metadata (see `ggp.boards.hints`). Relations that it does not mention are
    analysed by the rules and some random matches, the same ones in every run; that takes about 0.3 s.
    """
    program = make_logic_program(rulesheet)
    domains = find_domains(program)
    samples = take_samples(rulesheet, machine)
    chains = find_chains(program)
    profiles = find_profiles(program, domains, samples, chains)
    hinted, hinted_marks = hinted_boards(hints or {}, dict(profiles.keys()))
    placed = {placement.relation for board in hinted for placement in board.placements}
    told = (hints or {}).get("values")
    hidden = hidden_relations(hints or {})
    unseen = hidden | frozenset(told if isinstance(told, list) else ())
    free = {r: profile for r, profile in profiles.items() if r not in placed and r[0] not in unseen}
    found = [*hinted, *_found_boards(free, program, samples, machine.roles, chains)]
    boards = _arranged(found[:_MOST_BOARDS])
    marks = _marks(boards, profiles, machine.roles, hinted_marks)
    boards = tuple(replace(board, shade=_shade(board, profiles, marks)) for board in boards)
    words = hinted_words(hints or {}, "words")
    return Layout(boards, marks, _find_clicks(boards, program, samples), hidden, words)


def _found_boards(
    profiles: Mapping[Relation, Profile],
    program: LogicProgram,
    samples: StateSamples,
    roles: Sequence[str],
    chains: Sequence[tuple[str, ...]],
) -> list[BoardLayout]:
    stacks = {relation: board for relation, profile in profiles.items() if (board := stack_board(profile))}
    free = {relation: profile for relation, profile in profiles.items() if relation not in stacks}
    boards = [*stacks.values()]
    groups = find_groups(free, roles, chains)
    for group in groups:
        name = group.readings[0].profile.relation[0] if len(groups) > 1 else ""
        boards += grid_boards(group, program, samples, name)
    placed = {placement.relation for board in boards for placement in board.placements}
    for relation, profile in free.items():
        if relation not in placed and (board := irregular_board(profile, samples, roles)):
            boards.append(board)
    return boards


def _arranged(boards: Sequence[BoardLayout]) -> tuple[BoardLayout, ...]:
    """The boards of different relations side by side; a single board has no name."""
    if len(boards) == 1:
        return (replace(boards[0], name="", title=""),)
    found: list[BoardLayout] = []
    start = 0
    family: frozenset[Relation] = frozenset()
    for board in boards:
        own = frozenset(placement.relation for placement in board.placements)
        if own != family:
            start, family = max((other.across + 1 for other in found), default=0), own
        found.append(replace(board, across=start + board.across))
    return tuple(found)


def _marks(
    boards: Sequence[BoardLayout],
    profiles: Mapping[Relation, Profile],
    roles: Sequence[str],
    hinted_marks: Mapping[str, Any],
) -> dict[str, Mark]:
    """The marks of all pieces, and of roles that look like a piece."""
    names: dict[str, None] = {}
    given = dict(hinted_marks)
    for board in boards:
        names.update(dict.fromkeys(name for static in board.static.values() for name in static))
        names.update(dict.fromkeys(placement.piece for placement in board.placements if placement.kind == "heaps"))
    for placement in (placement for board in boards for placement in board.placements):
        if placement.kind in ("pieces", "boxes", "lines", "stacks") and placement.relation in profiles:
            own = _names(placement, profiles[placement.relation])
            names.update(dict.fromkeys(own))
            if len(own) == 1 and make_marks(own, roles)[own[0]].symbol == "badge":
                given.setdefault(own[0], _BLOCK if placement.pieces else _TILE)
    marks = make_marks(sorted(names, key=lambda name: name not in roles), roles, given)
    if {mark.symbol for mark in marks.values()} & CHESS == _MEN:
        marks = {name: replace(m, symbol="disc") if m.symbol == "pawn" else m for name, m in marks.items()}
    colours = {mark.colour for mark in marks.values() if mark.symbol != "text"}
    known = {(mark.symbol, mark.colour) for mark in marks.values()}
    for role, mark in make_marks(roles, roles).items():
        is_known = mark.symbol == "disc" and mark.colour in colours
        if role not in marks and (is_known or (mark.symbol in _ROLE_SYMBOLS and (mark.symbol, mark.colour) in known)):
            marks[role] = mark
    return marks


def _names(placement: Placement, profile: Profile) -> list[str]:
    """The names that pieces of the placement can have."""
    if placement.kind == "stacks":
        return list(dict.fromkeys([*profile.constants[0], *profile.constants[1]]))
    if not placement.pieces:
        return [placement.relation[0]] if placement.kind == "pieces" else []
    options: list[Iterable[str]] = [profile.constants[place] for place in placement.pieces]
    seen = {" ".join(row[place] for place in placement.pieces) for row in profile.seen}
    size = 1
    for place in placement.pieces:
        size *= len(profile.constants[place])
    names = seen if len(options) > 1 and size > _MOST_NAMES else {" ".join(words) for words in product(*options)}
    return [name for name in natural(names) if not set(name.split()) & placement.empty]


def _shade(board: BoardLayout, profiles: Mapping[Relation, Profile], marks: Mapping[str, Mark]) -> int | None:
    """Which cells of a board for chess or draughts are dark; None for other boards.

    Those are dark that all pieces were on, if there are such cells, or else those of the lower left one's colour.
    """
    if board.shade is not None or board.shape != "squares":
        return board.shade
    used: set[float] = set()
    is_chess = False
    for placement in board.placements:
        if placement.kind == "pieces" and placement.relation in profiles:
            profile = profiles[placement.relation]
            is_chess = is_chess or any(
                marks[name].symbol in CHESS for name in _names(placement, profile) if name in marks
            )
            for row in profile.seen:
                if not any(row[place] in placement.empty for place in placement.pieces):
                    used.add(sum(board.places.get(tuple(row[place] for place in placement.place), (0.0, 0.0))) % 2)
    if not is_chess:
        return None
    return round(used.pop()) if len(used) == 1 else round(board.height - 1) % 2


@dataclass(frozen=True, slots=True)
class _Slot:
    """One argument of several that together name a cell."""

    says: Literal["index", "place"]
    constants: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Family:
    """Boards with the same cells, which differ by the constants of some arguments."""

    names: Mapping[Place, str]  # constants of the index → name of the board
    index: tuple[frozenset[str], ...]
    axes: tuple[frozenset[str], ...]
    relations: frozenset[Relation]
    placement: Placement  # the first one

    @property
    def windows(self) -> tuple[tuple[_Slot, ...], ...]:
        """What arguments of a move that name a cell can be, in the order of the facts: with the board or without."""
        of_board = [(at, _Slot("index", axis)) for (at, _), axis in zip(self.placement.fixed, self.index, strict=True)]
        of_place = [(at, _Slot("place", axis)) for at, axis in zip(self.placement.place, self.axes, strict=True)]
        places = tuple(slot for _, slot in of_place)
        whole = tuple(slot for _, slot in sorted((*of_board, *of_place), key=lambda pair: pair[0]))
        return (whole, places) if self.index else (places,)


def _find_clicks(
    boards: Sequence[BoardLayout], program: LogicProgram, samples: StateSamples
) -> Mapping[Relation, tuple[Click, ...]]:
    """How each kind of move names cells, found from the moves that were legal in the samples."""
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
        key = (frozenset(placement.relation for placement in board.placements), frozenset(board.places))
        found.setdefault(key, []).append(board)
    families: list[_Family] = []
    for (relations, places), members in found.items():
        placements = [member.placements[0] for member in members]
        names = {tuple(constant for _, constant in s.fixed): m.name for s, m in zip(placements, members, strict=True)}
        index = tuple(map(frozenset, zip(*names, strict=True)))
        families.append(
            _Family(names, index, tuple(map(frozenset, zip(*places, strict=True))), relations, placements[0])
        )
    return tuple(families)


def _nearest(families: Sequence[_Family], program: LogicProgram, move: Relation) -> list[_Family]:
    """The families that most rules mention together with the move."""
    counts = [sum(1 for _ in _meetings(family, program, move)) for family in families]
    return [family for family, count in zip(families, counts, strict=True) if count == max(counts)]


def _meetings(family: _Family, program: LogicProgram, move: Relation) -> Iterable[tuple[Term, Term]]:
    """Pairs of a move and a fact of the family that occur in one rule."""
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
    """The cells that the arguments name, from left to right."""
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
    """Families for one cell of a move, by preference: the first cell is on the first one, the second on the second."""
    if not families:
        return ()
    first = number % len(families)
    return (*families[first:], *families[:first])


def _fits(columns: Sequence[set[str]], window: Sequence[_Slot]) -> bool:
    return len(columns) == len(window) and all(
        len(column & slot.constants) >= _COORDINATE_SHARE * len(column)
        for column, slot in zip(columns, window, strict=True)
    )


def _in_order(family: _Family, straight: tuple[int, ...], program: LogicProgram, move: Relation) -> tuple[int, ...]:
    """Two arguments in the order of the coordinates: rules may name column and row the other way round."""
    if len(straight) != 2:
        return straight
    same = crossed = 0
    for term, fact in _meetings(family, program, move):
        if name_and_arity(fact)[1] > max(family.placement.place):
            first, second = (fact[1:][place] for place in family.placement.place)
            one, other = (term[1:][place] for place in straight)
            variables = all(isinstance(v, str) and v.startswith("?") for v in (first, second)) and first != second
            same += variables and (one, other) == (first, second)
            crossed += variables and (one, other) == (second, first)
    return straight[::-1] if crossed > same else straight


def _column(families: Sequence[_Family], columns: Sequence[set[str]]) -> tuple[Click, ...]:
    """The click of a move whose only argument is one coordinate and cannot be the other one."""
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

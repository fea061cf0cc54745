"""Rulesheet and machine → layout: which facts are boards, and how their pieces look."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from ggp.boards.clicking import find_clicks
from ggp.boards.grids import grid_boards
from ggp.boards.grouping import find_groups
from ggp.boards.hints import hinted_boards
from ggp.boards.layouts import BoardLayout, Layout, Source
from ggp.boards.marks import CHESS, Mark, make_marks
from ggp.boards.orders import find_chains, natural
from ggp.boards.others import other_board, stack_board
from ggp.boards.profiles import Profile, Samples, find_profiles, take_samples
from ggp.gdl.domains import find_domains
from ggp.gdl.logic_program import LogicProgram, Relation, make_logic_program
from ggp.gdl.rulesheet import Rulesheet
from ggp.gdl.state_machine import StateMachine

_MOST_NAMES = 400  # of pieces of several words that get marks whether they were seen or not
_MOST_BOARDS = 36
_ROLE_SYMBOLS = ("cross", "ring", "disc")
_BLOCK = {"symbol": "block", "colour": "grey", "letters": "#"}  # the only content that a cell can have
_TILE = {"symbol": "block", "colour": "sky", "letters": "#"}  # a cell that a fact names without a content
_MEN = frozenset(("king", "pawn"))


def find_layout(rulesheet: Rulesheet, machine: StateMachine, hints: Mapping[str, Any] | None = None) -> Layout:
    """How to draw the states of a game.

    machine: of these rules.
    hints: the table `drawing` of the metadata of a game (see `ggp.boards.hints`). What it does not place is found out
    from the rules and from some random matches, the same in every run; that takes some tenths of a second.
    """
    program = make_logic_program(rulesheet)
    domains = find_domains(program)
    samples = take_samples(rulesheet, machine)
    chains = find_chains(program)
    profiles = find_profiles(program, domains, samples, chains)
    hinted, wishes = hinted_boards(hints or {}, dict(profiles.keys()))
    placed = {source.relation for board in hinted for source in board.sources}
    free = {relation: profile for relation, profile in profiles.items() if relation not in placed}
    found = [*hinted, *_found_boards(free, program, samples, machine.roles, chains)]
    boards = _arranged(found[:_MOST_BOARDS])
    marks = _marks(boards, profiles, machine.roles, wishes)
    boards = tuple(replace(board, shade=_shade(board, profiles, marks)) for board in boards)
    return Layout(boards, marks, find_clicks(boards, program, samples))


def hinted_layout(hints: Mapping[str, Any]) -> Layout:
    """The layout that hints alone give, without a rulesheet."""
    boards, wishes = hinted_boards(hints, {})
    return Layout(boards, make_marks([*wishes], [], wishes))


def _found_boards(
    profiles: Mapping[Relation, Profile],
    program: LogicProgram,
    samples: Samples,
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
    placed = {source.relation for board in boards for source in board.sources}
    for relation, profile in free.items():
        if relation not in placed and (board := other_board(profile, samples, roles)):
            boards.append(board)
    return boards


def _arranged(boards: Sequence[BoardLayout]) -> tuple[BoardLayout, ...]:
    """Families of boards beside each other; a board that is alone has no name."""
    if len(boards) == 1:
        return (replace(boards[0], name="", title=""),)
    found: list[BoardLayout] = []
    start = 0
    family: frozenset[Relation] = frozenset()
    for board in boards:
        own = frozenset(source.relation for source in board.sources)
        if own != family:
            start, family = max((other.across + 1 for other in found), default=0), own
        found.append(replace(board, across=start + board.across))
    return tuple(found)


def _marks(
    boards: Sequence[BoardLayout], profiles: Mapping[Relation, Profile], roles: Sequence[str], wishes: Mapping[str, Any]
) -> dict[str, Mark]:
    """The marks of all pieces, and of roles that look like one."""
    names: dict[str, None] = {}
    given = dict(wishes)
    for source in (source for board in boards for source in board.sources):
        if source.kind in ("pieces", "boxes", "lines", "stacks") and source.relation in profiles:
            own = _names(source, profiles[source.relation])
            names.update(dict.fromkeys(own))
            if len(own) == 1 and make_marks(own, roles)[own[0]].symbol == "badge":
                given.setdefault(own[0], _BLOCK if source.pieces else _TILE)
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


def _names(source: Source, profile: Profile) -> list[str]:
    """What a piece of the source can be called."""
    if source.kind == "stacks":
        return list(dict.fromkeys([*profile.constants[0], *profile.constants[1]]))
    if not source.pieces:
        return [source.relation[0]] if source.kind == "pieces" else []
    options: list[Iterable[str]] = [profile.constants[place] for place in source.pieces]
    seen = {" ".join(row[place] for place in source.pieces) for row in profile.seen}
    size = 1
    for place in source.pieces:
        size *= len(profile.constants[place])
    names = seen if len(options) > 1 and size > _MOST_NAMES else {" ".join(words) for words in product(*options)}
    return [name for name in natural(names) if not set(name.split()) & source.empty]


def _shade(board: BoardLayout, profiles: Mapping[Relation, Profile], marks: Mapping[str, Mark]) -> int | None:
    """The dark cells of a board on which pieces of chess or draughts stand: those that pieces keep to, if they do, or
    else those that the lower left one is of."""
    if board.shade is not None or board.shape != "squares":
        return board.shade
    used: set[float] = set()
    is_chess = False
    for source in board.sources:
        if source.kind == "pieces" and source.relation in profiles:
            profile = profiles[source.relation]
            is_chess = is_chess or any(marks[name].symbol in CHESS for name in _names(source, profile) if name in marks)
            for row in profile.seen:
                if not any(row[place] in source.empty for place in source.pieces):
                    used.add(sum(board.places.get(tuple(row[place] for place in source.place), (0.0, 0.0))) % 2)
    if not is_chess:
        return None
    return round(used.pop()) if len(used) == 1 else round(board.height - 1) % 2

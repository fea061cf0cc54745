"""Claims: a sentence about a game, and next to it what shows it.

A sentence is quoted from the metadata of the game. What shows it are moves from the initial state and what holds then:
`end ROLE VALUE …`, `open`, a fact, `no FACT`, `ROLE can MOVE`, `ROLE cannot MOVE`, `ROLE has NUMBER` (of legal moves).
"""

import re
from typing import NamedTuple

import ggp
from ggp.gdl.reader import read
from ggp.gdl.terms import to_text
from ggp.library import Metadata


class Claim(NamedTuple):
    """Moves are one for each step, made by the role that has it, or `ROLE: MOVE, ROLE: MOVE` for several at once."""

    game: str
    sentence: str
    moves: str
    expected: tuple[str, ...]


def words_of(metadata: Metadata) -> str:
    """All sentences about a game as one text."""
    parts = (metadata.description, metadata.source, *metadata.readings, *metadata.roles.values())
    return " ".join(" ".join(parts).split())


def play(state: ggp.State, moves: str) -> ggp.State:
    """The state after the moves; steps are separated by semicolons where several roles move, and by space otherwise."""
    if ":" in moves:
        for step in moves.split(";"):
            pairs = (part.split(":") for part in step.split(","))
            state = state.play({role.strip(): move.strip() for role, move in pairs})
        return state
    for node in read(moves):
        move = to_text(node.term)
        role = next((role for role in state.game.roles if move in state.legal_moves(role)), None)
        assert role is not None, f"{move} is legal for no role in {state.facts}"
        state = state.play({role: move})
    return state


def check(state: ggp.State, expected: str) -> None:
    """AssertionError where the state is not as expected."""
    word, _, rest = expected.partition(" ")
    roles = state.game.roles
    if word == "end":
        pairs = rest.split()
        goals = dict(zip(pairs[::2], map(int, pairs[1::2]), strict=True))
        assert state.is_terminal
        assert {role: state.goals[role] for role in goals} == goals
    elif expected == "open":
        assert not state.is_terminal
    elif word == "no":
        assert rest not in state.facts
    elif word in roles:
        match = re.fullmatch(r"(can|cannot|has) (.*)", rest)
        assert match is not None, expected
        legal = state.legal_moves(word)
        assert match[1] != "can" or match[2] in legal, f"{match[2]} is not in {legal}"
        assert match[1] != "cannot" or match[2] not in legal
        assert match[1] != "has" or len(legal) == int(match[2]), legal
    else:
        assert expected in state.facts, f"{expected} is not in {state.facts}"

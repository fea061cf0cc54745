"""Observations as the role that moves sees them agree with a twin that renames words in the text of facts."""

import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

import ggp
from ggp.env import SIMULTANEOUS, StepResult, VectorEnvironment, make_vec
from ggp.env.layouts import Renaming, find_renaming
from ggp.errors import SettingsError
from ggp.game import Game, load_text
from ggp.gdl.rulesheet import NATURE, parse_rulesheet
from ggp.gdl.state_machine import Facts
from ggp.gdl.terms import to_text
from ggp.interpreter import Interpreter
from tests.env.agreement import facts
from tests.env.games import SECRET
from tests.simulation.games import CLASHES, TURNS, rounds, together

pytestmark = pytest.mark.kernels

SHARED = Path(__file__).parents[3] / "shared" / "rulesheets"
# Words as they go round, role by role; whether the rules are the same for all roles, by the rulesheets' prose.
KNOWN: dict[str, tuple[list[tuple[str, ...]], bool]] = {
    "tictactoe": ([("xplayer", "oplayer"), ("x", "o")], True),
    "connectfour": ([("red", "yellow")], True),
    "tictactoe3": ([("x", "o", "v")], True),
    "connectfour3": ([("red", "yellow", "green")], True),
    "oware": ([("south", "north"), *((f"s{pit}", f"n{pit}") for pit in range(1, 7))], True),
    "breakthrough": ([("white", "black")], False),  # men of one role go up, those of the other one down
    "go5": ([("black", "white")], False),  # white gets a compensation
}
CHESSMEN = ("pawn", "knight", "bishop", "rook", "queen", "king")
WAITING = (("white", "aa"), ("black", "zz"))
Cycles: TypeAlias = Sequence[tuple[str, ...]]
GAMES: dict[str, tuple[str | Game, Cycles, bool]] = {
    **{name: (name, cycles, same) for name, (cycles, same) in KNOWN.items()},
    "turns": (load_text(TURNS), [("a", "b")], True),
    "clashes": (load_text(CLASHES), [("a", "b")], False),
    "three": (load_text(rounds(3, 2, 6)), [("r0", "r1", "r2")], False),
    "all at once": (load_text(together(3, 2)), [("r0", "r1", "r2")], False),
}
LINES = """
(role white) (role black) (init (cell 1 empty)) (init (to_move white)) (piece white w) (piece black z)
(<= (legal ?r (put ?n)) (true (to_move ?r)) (true (cell ?n empty)))
(<= (legal ?r pass) (role ?r) (not (true (to_move ?r))))
(<= (next (cell ?n ?p)) (does ?r (put ?n)) (piece ?r ?p)) (<= (next (to_move black)) (true (to_move white)))
(<= (next (to_move white)) (true (to_move black))) (<= terminal white_line) (<= terminal black_line)
(<= white_line (true (cell 1 w))) (<= black_line (true (cell 1 z)))
(<= (goal white 100) white_line) (<= (goal white 0) (not white_line))
(<= (goal black 100) black_line) (<= (goal black 0) (not black_line))
"""


def back(text: str, cycles: Cycles, places: int) -> str:
    """A fact as the role sees it that comes so many places after the first one."""
    words = {word: cycle[(at - places) % len(cycle)] for cycle in cycles for at, word in enumerate(cycle)}
    return re.sub(r"[^\s()]+", lambda found: words.get(found[0], found[0]), text)


def expected(state: Facts, mover: int, cycles: Cycles, *, same: bool, roles: tuple[str, ...]) -> set[str]:
    """The names of the entries that hold, the slow way."""
    found = {back(to_text(fact), cycles, max(0, mover)) for fact in state}
    return found if same or mover == SIMULTANEOUS else found | {f"mover {roles[mover]}"}


def flags(environments: VectorEnvironment, row: NDArray[Any]) -> set[str]:
    names = environments.observation_layout.names
    held = row if row.dtype == np.bool_ else np.unpackbits(row.view(np.uint8), bitorder="little", count=len(names))
    return {name for name, flag in zip(names, held, strict=True) if flag}


def run(environments: VectorEnvironment, steps: int, seed: int = 0) -> Iterator[StepResult]:
    numbers, step = np.random.default_rng(seed), environments.reset(seed=seed)
    yield step
    for _ in range(steps):
        step = environments.step(environments.random_moves(numbers, step))
        yield step


@pytest.mark.parametrize("autoreset", ["next_step", "same_step"])
@pytest.mark.parametrize("layout", ["bits", "bytes"])
@pytest.mark.parametrize("name", GAMES)
def test_facts_are_seen_by_the_role_that_moves(name: str, layout: str, autoreset: str) -> None:
    game, cycles, same = GAMES[name]
    environments = make_vec(game, 7, layout=layout, perspective="mover", autoreset=autoreset)
    movers = set()
    for step in run(environments, 30):
        for at, bits in enumerate(environments.states()):
            mover = int(step.mover[at])
            movers.add(mover)
            wanted = expected(facts(environments, bits), mover, cycles, same=same, roles=environments.roles)
            assert flags(environments, step.observation[at]) == wanted
    assert len(movers) > 1 or name == "all at once"


@pytest.mark.slow
@pytest.mark.parametrize("path", [*ggp.games(), *sorted(SHARED.glob("*.kif"))], ids=lambda path: Path(path).stem)
def test_facts_of_all_rulesheets_are_seen_by_the_role_that_moves(path: str | Path) -> None:
    environments = make_vec(path, 5, layout="bits", perspective="mover", autoreset="same_step")
    if environments.compiled.has_percepts:
        return
    renaming = find_renaming(environments.game.rulesheet, environments.compiled.roles)
    players = [role for role in environments.compiled.roles if role != NATURE]
    for step in run(environments, 20):
        for at, bits in enumerate(environments.states()):
            role = environments.roles[int(step.mover[at])] if step.mover[at] != SIMULTANEOUS else ""
            places = players.index(role) if role in players else 0
            wanted = {to_text(renaming.rename(fact, -places)) for fact in facts(environments, bits)}
            seen = flags(environments, step.observation[at])
            assert {name for name in seen if not name.startswith("mover ")} == wanted


def test_ends_that_are_shown_afterwards_are_seen_in_the_same_way() -> None:
    """A match that is over has no mover: facts stand as they are."""
    fixed, mover = (make_vec("tictactoe", 20, autoreset="same_step", perspective=view) for view in ("fixed", "mover"))
    ends = 0
    for one, other in zip(run(fixed, 30), run(mover, 30), strict=True):
        ends += int(one.terminated.sum())
        assert (fixed.final_observation() == mover.final_observation())[one.terminated].all()
        assert (other.terminated == one.terminated).all()
    assert ends > 20


@pytest.mark.parametrize("name", ["tictactoe", "connectfour", "tictactoe3", "breakthrough", "draughts"])
def test_planes_are_seen_by_the_role_that_moves(name: str) -> None:
    men = [("black", "white"), ("black_man", "white_man"), ("black_king", "white_king")]
    cycles, same = KNOWN.get(name, (men, False))
    fixed, mover = (make_vec(name, 40, layout="planes", perspective=view) for view in ("fixed", "mover"))
    plane = {plane: at for at, plane in enumerate(fixed.observation_layout.names)}
    names = mover.observation_layout.names
    height, width = fixed.observation_layout.shape[1:]
    turned = 0
    for one, other in zip(run(fixed, 25), run(mover, 25), strict=True):
        for at in range(40):
            role = int(one.mover[at])
            for number, shown in enumerate(names):
                if shown.startswith("mover "):
                    wanted: Any = np.full((height, width), shown == f"mover {mover.roles[role]}" and role >= 0)
                else:
                    source = plane.get(back(shown, cycles, -max(0, role)))
                    wanted = np.zeros((height, width)) if source is None else one.observation[at, source]
                    turned += source not in (None, number)
                assert (other.observation[at, number] == wanted).all(), (shown, role)
    assert turned > 100, "nothing was exchanged"
    assert any(shown.startswith("mover ") for shown in names) != same


def test_a_board_whose_cells_belong_to_roles_is_turned() -> None:
    """Oware: the pits n1 to n6 are opposite to s6 to s1, so north sees the board from its own side."""
    fixed, mover = (make_vec("oware", 20, layout="planes", perspective=view) for view in ("fixed", "mover"))
    seeds = [at for at, name in enumerate(fixed.observation_layout.names) if name.startswith("seeds ")]
    place = [mover.observation_layout.names.index(fixed.observation_layout.names[at]) for at in seeds]
    for one, other in zip(run(fixed, 20), run(mover, 20), strict=True):
        for at in range(20):
            board = one.observation[at, seeds]
            assert (other.observation[at, place] == (board[:, ::-1, ::-1] if one.mover[at] == 1 else board)).all()


def test_own_pieces_are_on_the_same_plane_whoever_moves() -> None:
    """By hand: a man of breakthrough moves, then it is black's turn, whose own 16 men are on white's plane."""
    environments = make_vec("breakthrough", 1, layout="planes", perspective="mover")
    step = environments.reset()
    names = environments.observation_layout.names
    own, other = names.index("cell white"), names.index("cell black")
    first = step.observation[0].copy()
    step = environments.step(step.mask[:, 0].argmax(axis=1))
    assert step.observation[0, own].sum() == step.observation[0, other].sum() == 16
    assert (step.observation[0, own] == first[other]).all(), "black has not moved yet"
    assert (step.observation[0, other] != first[own]).sum() == 2
    assert step.observation[0, names.index("mover black")].all()
    assert not step.observation[0, names.index("mover white")].any()


def test_the_first_moves_of_all_roles_look_alike_where_the_rules_are_the_same_for_all() -> None:
    """Tic-tac-toe: the first cell is always marked by the role that has just moved, which is the other one."""
    environments = make_vec("tictactoe", 1, perspective="mover")
    assert not any(name.startswith("mover") for name in environments.observation_layout.names)
    marks = []
    step = environments.reset()
    for _ in range(4):
        step = environments.step(step.mask[[0], step.mover].argmax(axis=1))
        marks.append(flags(environments, step.observation[0]))
    assert {name for name in marks[0] if " o)" in name} == {"(cell 1 1 o)"}
    assert {name for name in marks[1] if " x)" in name} == {"(cell 1 1 x)"}
    assert all("(control xplayer)" in found and "(control oplayer)" not in found for found in marks)


@pytest.mark.parametrize("chance", ["inside", "explicit"])
def test_chance_is_nobody_s_view(chance: str) -> None:
    environments = make_vec("pig", 9, perspective="mover", chance=chance, layout="bytes")
    random_at = environments.roles.index(NATURE) if NATURE in environments.roles else None
    seen = set()
    for step in run(environments, 60):
        for at, bits in enumerate(environments.states()):
            mover = int(step.mover[at])
            seen.add(mover)
            view = 0 if mover == random_at else mover
            wanted = expected(facts(environments, bits), view, [("first", "second")], same=True, roles=())
            assert flags(environments, step.observation[at]) == wanted
    assert {0, 1} <= seen
    assert (random_at in seen) == (chance == "explicit")


def test_percepts_are_seen_by_their_role_and_nothing_else_is() -> None:
    """Rows have the same names, so that one net can play all roles; who moves stays a secret."""
    cycles = [("x", "o")]
    fixed, mover = (make_vec("phantomtictactoe", 30, layout="bytes", perspective=view) for view in ("fixed", "mover"))
    percepts = fixed.compiled.percepts
    names = mover.observation_layout.names
    assert set(names) == {back(to_text(one), cycles, role) for role in (0, 1) for one in percepts[role]}
    told = 0
    for one, other in zip(run(fixed, 30), run(mover, 30), strict=True):
        assert (other.mover == SIMULTANEOUS).all()
        for at in range(30):
            for role in (0, 1):
                own = {to_text(percepts[role][n]) for n in np.flatnonzero(one.observation[at, role])}
                wanted = {back(text, cycles, role) for text in own}
                told += len(wanted)
                assert {names[n] for n in np.flatnonzero(other.observation[at, role])} == wanted
    assert told > 500


@pytest.mark.parametrize("layout", ["bits", "bytes"])
def test_hidden_facts_stay_hidden(layout: str) -> None:
    environments = make_vec(load_text(SECRET, engine="circuit"), 400, layout=layout, perspective="mover")
    assert set(environments.observation_layout.names) == {"hidden", "(it_was heads)", "(it_was tails)"}
    move = environments.moves[0].index("wait")
    step = environments.step(np.full((400, 1), move))
    assert len(np.unique(environments.states(), axis=0)) == 2
    for told in step:
        assert (told == told[0]).all()
    with pytest.raises(SettingsError, match="the rules of this game hide it"):
        make_vec(load_text(SECRET, engine="circuit"), 1, layout="planes", perspective="mover")


@pytest.mark.parametrize("name", KNOWN)
def test_what_belongs_to_each_role_is_found_in_the_rules(name: str) -> None:
    game, (cycles, same) = ggp.load(name, "interpreter"), KNOWN[name]
    found = find_renaming(game.rulesheet, game.roles)
    assert found.words == {a: b for cycle in cycles for a, b in zip(cycle, [*cycle[1:], cycle[0]], strict=True)}
    assert found.is_symmetry == same


def test_the_men_of_chess_are_exchanged() -> None:
    game = ggp.load("chess", "interpreter")
    found = find_renaming(game.rulesheet, game.roles)
    assert all(found.words[f"white_{man}"] == f"black_{man}" for man in CHESSMEN)
    assert all(found.words[f"black_{man}"] == f"white_{man}" for man in CHESSMEN)
    assert not found.is_symmetry


def renaming_of(text: str) -> Renaming:
    rulesheet = parse_rulesheet(text)
    return find_renaming(rulesheet, Interpreter(rulesheet).roles)


def test_names_need_not_be_alike() -> None:
    found = renaming_of(LINES)
    pairs = [("white", "black"), ("w", "z"), ("white_line", "black_line")]
    assert found.words == {**dict(pairs), **{b: a for a, b in pairs}}
    assert found.is_symmetry
    assert found.rename(("cell", "1", "w"), 1) == ("cell", "1", "z")
    assert found.rename(("cell", "1", "w"), 2) == ("cell", "1", "w")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(goal black 100) black_line", "(goal black 90) black_line"),
        ("(does ?r (put ?n)) (piece", "(does ?r (put ?n)) (true (to_move white)) (piece"),
        ("(<= terminal white_line)", "(<= terminal white_line) (<= terminal (true (cell 2 w)))"),
        ("(<= black_line (true (cell 1 z)))", "(<= black_line (not (true (cell 1 z))))"),
    ],
)
def test_rules_that_differ_for_one_role_are_no_symmetry(old: str, new: str) -> None:
    assert old in LINES
    found = renaming_of(LINES.replace(old, new))
    assert found.words["w"] == "z"
    assert not found.is_symmetry


def test_the_order_of_conditions_and_the_names_of_variables_do_not_matter() -> None:
    text = LINES.replace("(<= white_line (true (cell 1 w)))", "(<= white_line (true (cell ?a w)) (true (cell 1 ?b)))")
    text = text.replace("(<= black_line (true (cell 1 z)))", "(<= black_line (true (cell 1 ?c)) (true (cell ?d z)))")
    assert renaming_of(text).is_symmetry


def test_without_a_correspondence_only_the_mover_is_added() -> None:
    """Roles that are called by numbers: these name other things as well."""
    text = TURNS.replace("(role a)", "(role 1)").replace("(role b)", "(role 2)").replace("(turn a)", "(turn 1)")
    text = text.replace("(turn b)", "(turn 2)").replace("(last a)", "(last 1)").replace("(last b)", "(last 2)")
    text = text.replace("legal a", "legal 1").replace("legal b", "legal 2")
    game = load_text(text.replace("goal a", "goal 1").replace("goal b", "goal 2"), engine="circuit")
    environments = make_vec(game, 3, perspective="mover")
    plain = make_vec(game, 3)
    assert environments.observation_layout.names == (*plain.observation_layout.names, "mover 1", "mover 2")
    for one, other in zip(run(plain, 5), run(environments, 5), strict=True):
        assert (other.observation[:, :-2] == one.observation).all()
        assert (other.observation[:, -2:] == (one.mover[:, np.newaxis] == [0, 1])).all()


def test_moves_that_are_numbered_otherwise_need_the_mover() -> None:
    """The rules are the same for both, but the moves of one role have another order: an action means something else."""
    text = LINES.replace("(legal ?r (put ?n)) (true", "(legal ?r (put ?n ?p)) (piece ?r ?p) (true")
    text = text.replace("(does ?r (put ?n)) (piece ?r ?p)", "(does ?r (put ?n ?p))")
    assert renaming_of(text).is_symmetry
    same = make_vec(load_text(text, engine="circuit"), 1, perspective="mover")
    assert not any(name.startswith("mover") for name in same.observation_layout.names)
    waits = " ".join(f"(<= (legal {role} ({move} 1)) (not (true (to_move {role}))))" for role, move in WAITING)
    text = text.replace("(<= (legal ?r pass) (role ?r) (not (true (to_move ?r))))", waits)
    assert renaming_of(text).is_symmetry
    other = make_vec(load_text(text, engine="circuit"), 1, perspective="mover")
    assert other.moves == (("(aa 1)", "(put 1 w)"), ("(put 1 z)", "(zz 1)"))
    assert other.observation_layout.names[-2:] == ("mover white", "mover black")


def symmetric_games() -> list[str]:
    return [*(name for name, (_, same) in KNOWN.items() if same), "biddingtictactoe", "pig", "nim", "ataxx", "morris"]


@pytest.mark.parametrize("name", symmetric_games())
def test_a_symmetry_commutes_with_the_rules(name: str) -> None:
    """Legal moves, next states, ends and goals of a renamed state are those of the state, renamed."""
    check_symmetry(ggp.load(name, "interpreter"), 6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ggp.games())
def test_all_symmetries_commute_with_the_rules(name: str) -> None:
    check_symmetry(ggp.load(name, "interpreter"), 30)


def check_symmetry(game: Game, steps: int) -> None:
    machine, chance = Interpreter(game.rulesheet), random.Random(5)
    renaming = find_renaming(game.rulesheet, game.roles)
    players = [role for role in machine.roles if role != NATURE]
    if not renaming.is_symmetry:
        return
    follower = {**dict(zip(players, [*players[1:], players[0]], strict=True)), NATURE: NATURE}
    state = machine.initial_state
    for _ in range(steps):
        other = frozenset(map(renaming.rename, state))
        assert machine.is_terminal(other) == machine.is_terminal(state)
        for role in machine.roles:
            assert machine.goal(other, follower[role]) == machine.goal(state, role)
        if machine.is_terminal(state):
            state = machine.initial_state
            continue
        joint = {}
        for role in machine.roles:
            moves = machine.legal_moves(state, role)
            assert set(machine.legal_moves(other, follower[role])) == set(map(renaming.rename, moves))
            joint[role] = chance.choice(sorted(moves, key=to_text))
        renamed = {follower[role]: renaming.rename(move) for role, move in joint.items()}
        following = machine.next_state(state, tuple(joint[role] for role in machine.roles))
        there = machine.next_state(other, tuple(renamed[role] for role in machine.roles))
        assert there == frozenset(map(renaming.rename, following))
        state = following


def test_states_that_differ_look_different() -> None:
    """Where the rules are not the same for all, who moves is among what is seen."""
    environments = make_vec("breakthrough", 3, perspective="mover", layout="bits")
    seen: dict[bytes, bytes] = {}
    for step in run(environments, 60):
        for row, bits in zip(step.observation, environments.states(), strict=True):
            assert seen.setdefault(row.tobytes(), bits.tobytes()) == bits.tobytes()
    assert len(seen) > 100

"""Rulesheet → compiled game, and what the cache keeps of it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ggp.cache import Cache, CacheEntry
from ggp.circuit import compile as compile_module
from ggp.circuit.build import build_circuit
from ggp.circuit.compile import CompiledGame, compile_game
from ggp.circuit.network import Circuit
from ggp.errors import GroundingError
from ggp.gdl.rulesheet import Rulesheet, parse_rulesheet
from ggp.grounding import Budget, Clingo, GroundRules
from ggp.library import find_rulesheet

TICTACTOE = find_rulesheet("tictactoe").read_text(encoding="utf-8")
NO_CACHE = Cache(None)

SMALL = """
(role r) (role s) (init (on a)) (init (turn r)) (init kept)
(<= (next (turn s)) (true (turn r))) (<= (next (turn r)) (true (turn s))) (<= (next kept) (true kept))
(<= (legal r (put ?x)) (letter ?x) (true kept)) (legal s wait)
(<= (next (on ?x)) (does r (put ?x)))
(<= terminal (true (on b))) (<= (goal r 100) (true (on b))) (<= (goal r 0) (not (true (on b)))) (goal s 5)
(letter a) (letter b) (letter (f b))
"""
PARADOX = (
    "(role r) (legal r a) (<= p (true x) (not q)) (<= q (not p)) (<= terminal q) (goal r 0) (init x) (<= (next x) p)"
)


# Each stone begins a group with the number of its step; a stone next to groups of its role clears them.
GROUPS = f"""
(role red) (role blue) (init (control red)) (init (step 1)) {" ".join(f"(cell {at})" for at in range(6))}
{" ".join(f"(next_to {at} {(at + 1) % 6}) (next_to {(at + 1) % 6} {at})" for at in range(6))}
{" ".join(f"(after {at} {at + 1})" for at in range(1, 12))}
(<= (legal ?r (put ?c)) (true (control ?r)) (cell ?c)) (<= (legal ?r wait) (role ?r) (not (true (control ?r))))
(<= (next (control red)) (true (control blue))) (<= (next (control blue)) (true (control red)))
(<= (next (step ?n)) (true (step ?m)) (after ?m ?n))
(<= (next (owner ?n ?r)) (true (step ?n)) (true (control ?r))) (<= (next (owner ?n ?r)) (true (owner ?n ?r)))
(<= (hit ?n) (does ?r (put ?c)) (true (owner ?n ?r)) (true (in ?n ?d)) (next_to ?c ?d))
(<= (next (in ?n ?c)) (true (step ?n)) (does ?r (put ?c)))
(<= (next (in ?n ?c)) (true (in ?n ?c)) (not (hit ?n)))
(<= over (true (in ?n 0)) (true (in ?n 1))) (<= over (true (step 12))) (<= terminal over)
(<= (goal red 100) (true (in 3 2))) (<= (goal red 0) (not (true (in 3 2)))) (goal blue 0)
"""


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def same(one: CompiledGame, other: CompiledGame) -> bool:
    names = ("roles", "facts", "moves", "goals", "percepts", "has_percepts")
    assert [getattr(one, name) for name in names] == [getattr(other, name) for name in names]
    assert np.array_equal(one.phases, other.phases)
    assert replace(one.report, cached=True) == replace(other.report, cached=True)
    for name in Circuit.__slots__:
        left, right = getattr(one.circuit, name), getattr(other.circuit, name)
        for mine, theirs in zip(left, right, strict=True) if name == "loops" else [(left, right)]:
            assert np.array_equal(mine, theirs)
            assert getattr(mine, "dtype", None) == getattr(theirs, "dtype", None)
            assert not hasattr(mine, "flags") or (theirs.flags.writeable and theirs.flags.c_contiguous)
    return True


def test_names_and_report() -> None:
    game = compile_game(parse_rulesheet(SMALL), cache=NO_CACHE)
    assert game.roles == ("r", "s")
    assert set(game.facts) == {("on", "a"), ("on", "b"), ("on", ("f", "b")), ("turn", "r"), ("turn", "s"), "kept"}
    assert game.moves == ((("put", ("f", "b")), ("put", "a"), ("put", "b")), ("wait",))
    assert game.goals == ((0, 100), (5,))
    assert game.percepts == ((), ())
    assert not game.has_percepts
    constants = dict(zip(game.facts, game.constants.tolist(), strict=True))
    assert constants.pop("kept") == 1
    assert set(constants.values()) == {-1}
    assert (game.report.phases, game.report.constants, game.report.cached) == (2, 1, False)
    assert game.report.gates <= game.report.built
    assert game.report.rules > 0
    assert (game.report.loops, game.report.components) == (0, 0)


def known_in_some(game: CompiledGame) -> set[str]:
    """The functions of facts that are known in some phases, but not in all."""
    is_known = game.phases >= 0
    found = np.flatnonzero(is_known.any(axis=0) & ~is_known.all(axis=0))
    return {str(game.facts[number][0]) for number in found.tolist()}


def test_what_only_some_phases_know_is_used_where_it_saves_gates(monkeypatch: pytest.MonkeyPatch) -> None:
    """No group of an even number is red's, and none is begun on red's turn."""
    game = compile_game(parse_rulesheet(GROUPS), cache=NO_CACHE)
    assert "step" in known_in_some(game)
    even = [game.facts.index(("owner", str(at), "red")) for at in range(2, 12, 2)]
    assert (game.constants[even] == 0).all()
    hex7 = parse_rulesheet(find_rulesheet("hex7").read_text(encoding="utf-8"))
    assert known_in_some(compile_game(hex7, cache=NO_CACHE)) == set()
    monkeypatch.setattr(compile_module, "_LEAST_SAVING", 0.0)
    assert known_in_some(compile_game(hex7, cache=NO_CACHE))
    monkeypatch.setattr(compile_module, "_MOST_GATES", 10)
    assert known_in_some(compile_game(parse_rulesheet(GROUPS), cache=NO_CACHE)) == set()


def test_recursion_within_a_state_is_counted() -> None:
    text = """
    (role r) (init (on c d)) (edge a b) (edge b c) (edge c b)
    (<= (legal r (link ?x ?y)) (edge ?x ?y)) (<= (legal r (cut ?x ?y)) (true (on ?x ?y)))
    (<= (next (on ?x ?y)) (true (on ?x ?y)) (not (does r (cut ?x ?y)))) (<= (next (on ?x ?y)) (does r (link ?x ?y)))
    (<= (reach ?x ?y) (true (on ?x ?y))) (<= (reach ?x ?z) (reach ?x ?y) (true (on ?y ?z)))
    (<= terminal (reach a d)) (goal r 0)
    """
    report = compile_game(parse_rulesheet(text), cache=NO_CACHE).report
    assert report.loops > 0
    assert report.components > 0


@pytest.mark.parametrize("text", [SMALL, TICTACTOE])
def test_the_cache_gives_the_same_game(text: str, cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    made = compile_game(parse_rulesheet(text), cache=cache)
    monkeypatch.setattr(compile_module, "ground", None)
    commented = parse_rulesheet("; a comment\n" + text)
    found = compile_game(commented, cache=cache)
    assert same(made, found)
    assert (made.report.cached, found.report.cached) == (False, True)


def test_an_entry_with_something_else_is_made_anew(cache: Cache) -> None:
    rulesheet = parse_rulesheet(SMALL)
    made = compile_game(rulesheet, cache=cache)
    sound = cache.get("game", rulesheet.sha256)
    assert sound is not None
    without = {name: array for name, array in sound.arrays.items() if name != "legal"}
    for bad in (
        CacheEntry(),
        CacheEntry(without, sound.notes),
        CacheEntry(sound.arrays, sound.notes | {"facts": 7}),
        CacheEntry(sound.arrays, sound.notes | {"report": {}}),
    ):
        cache.put("game", rulesheet.sha256, bad)
        again = compile_game(rulesheet, cache=cache)
        assert not again.report.cached
        assert same(again, replace(made, report=again.report))
        assert compile_game(rulesheet, cache=cache).report.cached


class Counted:
    """Stands in for `ground`: fails, and counts."""

    def __init__(self, *, is_lasting: bool = True) -> None:
        self.calls = 0
        self.is_lasting = is_lasting

    def __call__(self, program: object, budget: Budget, *, supposes: bool, clingo: Clingo) -> GroundRules:
        self.calls += 1
        message = f"big.kif: grounding ran out of rules after {budget.seconds:.0f} s"
        raise GroundingError(message, is_lasting=self.is_lasting)


def test_a_spent_budget_is_remembered(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    ground = Counted()
    monkeypatch.setattr(compile_module, "ground", ground)
    big = parse_rulesheet(SMALL, "big.kif")
    with pytest.raises(GroundingError, match=r"^big.kif: grounding ran out of rules after 9 s$"):
        compile_game(big, Budget(seconds=9), cache)
    renamed = Rulesheet(big.rules, big.text, "renamed.kif")
    with pytest.raises(GroundingError, match=r"^renamed.kif: .* 9 s \(as in an earlier run; `ggp cache clear`"):
        compile_game(renamed, Budget(seconds=9), cache)
    with pytest.raises(GroundingError, match="earlier run"):
        compile_game(big, Budget(seconds=5), cache)
    assert ground.calls == 1
    with pytest.raises(GroundingError, match=r"after 20 s$"):
        compile_game(big, Budget(seconds=20), cache)
    with pytest.raises(GroundingError, match=r"after 9 s$"):
        compile_game(parse_rulesheet(SMALL + ";", "big.kif"), Budget(seconds=9), cache)
    assert ground.calls == 3


def test_what_a_busy_computer_did_not_do_in_time_is_tried_again(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    ground = Counted(is_lasting=False)
    monkeypatch.setattr(compile_module, "ground", ground)
    for _ in range(3):
        with pytest.raises(GroundingError, match=r"after 9 s$"):
            compile_game(parse_rulesheet(SMALL, "big.kif"), Budget(seconds=9), cache)
    assert ground.calls == 3


@pytest.mark.parametrize(("budget", "is_lasting"), [(Budget(seconds=0.0), False), (Budget(rules=3), True)])
def test_only_what_no_load_changes_is_lasting(budget: Budget, is_lasting: bool) -> None:
    with pytest.raises(GroundingError) as refused:
        compile_game(parse_rulesheet(SMALL), budget, NO_CACHE)
    assert refused.value.is_lasting == is_lasting


def test_rules_that_circuits_cannot_play() -> None:
    with pytest.raises(GroundingError, match="negation"):
        compile_game(parse_rulesheet(PARADOX), cache=NO_CACHE)


def test_what_a_state_says_cannot_depend_on_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(rules: GroundRules) -> Circuit:
        circuit = build_circuit(rules)
        return replace(circuit, terminal=2 * (1 + circuit.facts))

    compile_game(parse_rulesheet(SMALL), cache=NO_CACHE)
    monkeypatch.setattr(compile_module, "build_circuit", wrong)
    with pytest.raises(GroundingError, match="depends on the moves"):
        compile_game(parse_rulesheet(SMALL), cache=NO_CACHE)

"""What the player knows of equilibria while it plays: by all histories, or by merged ones where these are too many."""

from functools import partial

import pytest

from ggp.engines import make_machine
from ggp.equilibrium.merged import MergedSolver
from ggp.equilibrium.settings import SolveSettings
from ggp.errors import EquilibriumError
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.simulation.state_machine import CircuitMachine
from players import equilibria
from players.equilibria import Exact, Merged, Solving
from players.information import InformationSearch
from tests.equilibrium.games import random_game
from tests.players.test_information import Player, text_of

pytestmark = pytest.mark.kernels


def machine_of(text: str) -> CircuitMachine:
    machine = make_machine(parse_rulesheet(text), "circuit")
    assert isinstance(machine, CircuitMachine)
    return machine


def solved(solving: Solving) -> Solving:
    solving.run(lambda: False)
    return solving


@pytest.mark.parametrize(("tremble", "tolerance"), [(0.0, 0.02), (equilibria.TREMBLE, 0.04)])
def test_merged_histories_give_the_policy_of_all_histories(
    tremble: float, tolerance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kuhn poker has one equilibrium of the second role; trembles change little."""
    monkeypatch.setattr(equilibria, "TREMBLE", tremble)
    machine = machine_of(text_of("kuhnpoker"))
    seen = set()
    for card in ("jack", "queen", "king"):
        for told in (("did", "first", "bet"), ("did", "first", "pass")):
            heard = (("noop", (("dealt", card),)), ("noop", (told,)))
            exact, merged = (solved(kind(machine, "second", 2**24)).moves(heard) for kind in (Exact, Merged))
            assert merged == pytest.approx(exact, abs=tolerance)
            seen.add(round(exact["bet"], 1))
    assert seen == {0.0, 0.3, 1.0}
    unknown = solved(Merged(machine, "second", 2**24))
    assert unknown.moves((("noop", (("dealt", "ace"),)),)) == {}  # nobody is ever told this


def test_what_order_has_to_be_remembered_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """In Leduc poker a role that forgets all order does not know what is legal."""
    monkeypatch.setattr("players.equilibria.MergedSolver", partial(MergedSolver, few=0))
    machine = machine_of(text_of("leducpoker"))
    merged = Merged(machine, "first", 2**26)
    merged.run(lambda: merged.is_enumerated)
    assert merged.is_enumerated


def test_goals_have_to_be_opposed() -> None:
    rules = random_game(1).replace("(goal r1 0)", "(goal r1 30)").replace("(goal r1 100)", "(goal r1 30)")
    merged = Merged(machine_of(rules), "r0", 2**24)
    with pytest.raises(EquilibriumError, match="not opposed"):
        merged.run(lambda: False)


def test_a_game_with_too_many_histories_is_played_by_merged_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("players.equilibria.SolveSettings", lambda: SolveSettings(histories=10))
    player = Player(text_of("kuhnpoker"), "second")
    player.choose()
    player.choose(("dealt", "king"))
    assert player.choose(("did", "first", "bet")) == "bet"


def test_what_can_follow_the_belief_is_solved_where_the_game_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Monty Hall has one role, so that histories are not merged."""
    monkeypatch.setattr("players.equilibria.SolveSettings", lambda: SolveSettings(histories=2))
    searches: list[None] = []
    monkeypatch.setattr(InformationSearch, "_search_worlds", lambda *_: searches.append(None))
    player = Player(text_of("montyhall"), "candidate")
    player.choose()
    chosen = player.choose()
    assert chosen is not None
    player.choose()
    assert player.choose(("opened", next(door for door in "123" if door != chosen[1]))) == "switch"
    assert searches == []

"""Logic program → components, tiers, cycles; and the domains of arguments."""

from ggp.gdl.dependencies import Tier, find_dependencies, strong_components
from ggp.gdl.domains import find_domains
from ggp.gdl.logic_program import DOES, make_logic_program
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.gdl.terms import Term

RULES = make_logic_program(
    parse_rulesheet(
        "(role r) (n 1) (n 2) (s 1 2) (init (cell 1 (pos a b))) (base (cell 9 9))"
        "(<= (legal r (mark ?x)) (true (cell ?x ?p)))"
        "(<= (next (cell ?y ?p)) (does r (mark ?x)) (s ?x ?y) (true (cell ?x ?p)) (n ?x))"
        "(<= (up ?x ?y) (s ?x ?y)) (<= (up ?x ?z) (up ?x ?y) (up ?y ?z)) (<= (here ?p) (true (cell ?x ?p)))"
        "(<= (odd ?x) (n ?x) (not (even ?x))) (<= (even ?x) (n ?x) (not (odd ?x)))"
        "(<= (moved ?x) (does r (mark ?x)) (here ?q))"
    )
)


def test_tiers_follow_what_is_read() -> None:
    tiers = find_dependencies(RULES).tiers
    assert tiers["up", 2] == Tier.STATIC
    assert tiers["here", 1] == tiers["legal", 2] == Tier.STATE
    assert tiers["moved", 1] == tiers["next", 1] == Tier.STEP


def test_cycles_and_negative_cycles() -> None:
    dependencies = find_dependencies(RULES)
    assert dependencies.recursive == {("up", 2), ("odd", 1), ("even", 1)}
    assert dependencies.negative_cycles == {("odd", 1), ("even", 1)}
    assert dependencies.component["odd", 1] == dependencies.component["even", 1]
    order = dependencies.component
    assert order["s", 2] < order["up", 2]


def test_components_of_a_deep_graph_need_no_recursion() -> None:
    length = 50_000
    graph: dict[int, dict[int, None]] = {n: {n + 1: None} for n in range(length)}
    graph[length] = {length - 1: None}
    components = strong_components(graph)
    assert len(components) == length
    assert set(components[0]) == {length - 1, length}


def test_domains_hold_what_can_be_derived_and_hints_do_not_count() -> None:
    domains = find_domains(RULES)
    assert set(domains.of(("here", 1), 0)) == {("pos", 2)}
    first, second = domains.inside(("true", 1), 0, ("cell", 2))
    assert set(first) == {"1", "2"}
    assert set(second) == {("pos", 2)}
    move: Term = ("mark", "2")
    assert domains.admits(DOES, 1, move)
    assert not domains.admits(DOES, 1, ("mark", "3"))
    assert not domains.admits(DOES, 1, "mark")
    assert domains.admits(("here", 1), 0, ("pos", "a", "b"))
    assert not domains.admits(("here", 1), 0, ("pos", "b", "a"))

"""Differential: small random games, played by the circuit, by bytecode and by the interpreter.

HYPOTHESIS_PROFILE=explore looks for new ones.
"""

from itertools import islice
from random import Random

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from ggp.circuit.compile import CompiledGame
from ggp.engines import make_faster
from ggp.errors import GroundingError
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.grounding import Budget
from tests.circuit.agreement import Pair, Sample, batch_differences, differences, make_pair, samples

pytestmark = pytest.mark.usefixtures("one_clingo")

NAMES = ("a", "b", "c", "(f a)")
FACTS = {"p": 1, "q": 2, "s": 0, "k": 1}  # by arity; `k` never changes
STATIC = {"e": 2, "d": 1}
MOVES = ("wait", "(go {0})", "(put {0} {1})")
VARIABLES = ("?x", "?y", "?z")
LEVELS = 3  # views read those of their own level, and the negation of lower ones

names = st.sampled_from(NAMES)
arguments = st.sampled_from((*VARIABLES, "?x", "?y", "a"))


def written(name: str, parts: list[str]) -> str:
    return f"({name} {' '.join(parts)})" if parts else name


@st.composite
def positive(draw: st.DrawFn, level: int) -> str:
    """A condition that gives its variables values."""
    kind = draw(st.integers(0, 3 if level >= 0 else 2))
    if kind == 3:
        arity = draw(st.integers(0, 2))
        return written(f"v{draw(st.integers(0, level))}_{arity}", [draw(arguments) for _ in range(arity)])
    name = draw(st.sampled_from(sorted(STATIC if kind == 2 else FACTS)))
    arity = (STATIC | FACTS)[name]
    text = written(name, [draw(arguments) for _ in range(arity)])
    return text if kind == 2 else f"(true {text})"


@st.composite
def body(
    draw: st.DrawFn, level: int, wanted: tuple[str, ...] = (), more: str = ""
) -> tuple[list[str], st.SearchStrategy[str]]:
    """Conditions that bind the wanted variables, and what can stand where a bound variable can."""
    found = [more] if more else []
    found += [draw(positive(level)) for _ in range(draw(st.integers(0 if found else 1, 3)))]
    found += [f"(d {name})" for name in wanted if not any(name in part for part in found)]
    bound = [name for name in VARIABLES if any(name in part for part in found)]
    safe = st.sampled_from([*bound, *bound, "a", "b"])
    if draw(st.booleans()):
        lower = draw(st.integers(-1, level - 1)) if level > 0 else -1
        arity = draw(st.integers(0, 2))
        parts = [draw(safe) for _ in range(arity)]
        negated = (
            written(f"v{lower}_{arity}", parts) if lower >= 0 else f"(true {written(('s', 'p', 'q')[arity], parts)})"
        )
        found.append(f"(not {negated})")
    if draw(st.integers(0, 3)) == 0:
        found.append(f"(distinct {draw(safe)} {draw(safe)})")
    return draw(st.permutations(found)), safe


@st.composite
def view(draw: st.DrawFn, level: int) -> str:
    conditions, safe = draw(body(level))
    arity = draw(st.integers(0, 2))
    return f"(<= {written(f'v{level}_{arity}', [draw(safe) for _ in range(arity)])} {' '.join(conditions)})"


@st.composite
def for_role(draw: st.DrawFn, head: str, role: str, value: str, conditions: list[str]) -> str:
    """A rule for a role, or sometimes for all roles: nothing binds its variable then."""
    if draw(st.integers(0, 3)) == 0:
        role = "?r"
        if draw(st.booleans()):
            but = draw(st.sampled_from(("(distinct ?r r0)", "(not (true (p ?r)))", "(not (v0_1 ?r))")))
            conditions = [*conditions, but]
    return f"(<= ({head} {role} {value}) {' '.join(conditions)})"


@st.composite
def role_rules(draw: st.DrawFn, role: str) -> list[str]:
    found = [f"(legal {role} {draw(st.sampled_from(MOVES)).format(draw(names), draw(names))})"] * draw(
        st.integers(0, 1)
    )
    for _ in range(draw(st.integers(0, 2))):
        conditions, safe = draw(body(LEVELS - 1))
        move = draw(st.sampled_from(MOVES)).format(draw(safe), draw(safe))
        found.append(draw(for_role("legal", role, move, conditions)))
    for _ in range(draw(st.integers(0, 2))):
        value = draw(st.sampled_from(("0", "50", "100")))
        conditions, _ = draw(body(LEVELS - 1))
        found.append(draw(st.sampled_from((f"(goal {role} {value})", draw(for_role("goal", role, value, conditions))))))
    return found


@st.composite
def step_rule(draw: st.DrawFn, roles: list[str], head: str) -> str:
    """A rule that may read the moves."""
    role = draw(st.sampled_from([*roles, "?r"]))
    move = draw(st.sampled_from((*MOVES, "?z"))).format("?x", "?y")
    more = f"({draw(st.sampled_from(('does', 'does', 'not (does')))} {role} {move})"
    if "not" in more:
        conditions, _ = draw(body(LEVELS - 1, ("?x", "?y", "?z")))
        conditions = [*conditions, more.replace("?r", roles[0]) + ")"]
        safe = st.sampled_from(("?x", "?y", "b"))
    else:
        conditions, safe = draw(body(LEVELS - 1, (), more))
    if head == "sees":
        told = draw(st.sampled_from(("bang", "(saw {0})"))).format(draw(safe))
        return draw(for_role("sees", draw(st.sampled_from(roles)), told, conditions))
    fact = draw(st.sampled_from(("p", "q", "s")))
    return f"(<= (next {written(fact, [draw(safe) for _ in range(FACTS[fact])])}) {' '.join(conditions)})"


@st.composite
def backbone(draw: st.DrawFn, roles: list[str]) -> list[str]:
    """Some of the rules that make a game more than its initial state."""
    role = draw(st.sampled_from(roles))
    free = draw(st.sampled_from(("(not (true (q ?x ?y)))", "(true (p ?x))", "(not (true s))", "(distinct ?x ?y)")))
    kept = draw(st.sampled_from(("", "(not (true s))", "(true (k ?x))", f"(not (does {role} (go ?y)))")))
    found = [
        f"(<= (legal {role} (put ?x ?y)) (d ?x) (d ?y) {free})",
        f"(<= (legal {role} (go ?x)) (true (p ?x)))",
        f"(<= (next (q ?x ?y)) (does {role} (put ?x ?y)))",
        f"(<= (next (q ?x ?y)) (true (q ?x ?y)) {kept})",
        f"(<= (next (p ?y)) (does {role} (go ?x)) (e ?x ?y))",
        "(<= (next (p ?x)) (true (p ?x)) (not (true (q ?x ?x))))",
        "(<= (next s) (not (true s)))",
        "(<= (v0_2 ?x ?y) (true (q ?x ?y)))",
        "(<= (v0_2 ?x ?z) (v0_2 ?x ?y) (true (q ?y ?z)))",
        f"(<= (goal {role} 100) (v0_2 a c))",
        f"(<= (goal {role} 0) (not (v0_2 a c)))",
    ]
    return [rule for rule in found if draw(st.integers(0, 3))]


@st.composite
def games(draw: st.DrawFn) -> str:
    roles = [f"r{number}" for number in range(draw(st.integers(1, 6)))]
    found = [f"(role {role})" for role in roles] + ["(d a)", "(d b)"]
    for relations, form in ((FACTS, "(init {0})"), (STATIC, "{0}")):
        for _ in range(draw(st.integers(2, 8))):
            name = draw(st.sampled_from(sorted(relations)))
            found.append(form.format(written(name, [draw(names) for _ in range(relations[name])])))
    found.append("(<= (next (k ?x)) (true (k ?x)))")
    found += draw(backbone(roles))
    for level in range(LEVELS):
        found += [draw(view(level)) for _ in range(draw(st.integers(0, 3)))]
    for role in roles:
        found += draw(role_rules(role))
    found += [draw(step_rule(roles, "next")) for _ in range(draw(st.integers(0, 3)))]
    if draw(st.integers(0, 3)) == 0:
        found += [draw(step_rule(roles, "sees")) for _ in range(draw(st.integers(1, 3)))]
    conditions, _ = draw(body(LEVELS - 1))
    found.append(f"(<= terminal {' '.join(conditions)})")
    return "\n".join(found)


def strays(pair: Pair, random: Random) -> list[Sample]:
    """States made of some of the facts, reachable or not, and moves that may not be legal."""
    compiled = pair.compiled
    found = []
    for _ in range(5):
        state = frozenset(fact for fact in compiled.facts if random.random() < 0.5)
        moves = [[*moves, "none"] for moves in compiled.moves]
        found.append(Sample(state, tuple(map(random.choice, moves))))
    return found


def compared(text: str, seed: int) -> Pair:
    """Fails where the engines differ; rejects games whose facts grow without end."""
    try:
        pair = make_pair(parse_rulesheet(text), Budget(rules=50_000))
    except GroundingError as error:
        if "without bound" in str(error):
            reject()
        raise
    assert pair.circuit.roles == pair.interpreter.roles
    assert pair.circuit.initial_state == pair.interpreter.initial_state
    found = list(islice(samples(pair.interpreter, Random(seed), longest=6), 20))
    assert [each for sample in found for each in differences(pair.circuit, pair.interpreter, sample)] == []
    assert list(batch_differences(pair.compiled, pair.interpreter, found)) == []
    stray = strays(pair, Random(seed))
    for sample in stray:
        assert list(differences(pair.circuit, pair.interpreter, sample)) == []
    bytecode = make_faster(pair.interpreter)
    assert [each for sample in (*found, *stray) for each in differences(bytecode, pair.interpreter, sample)] == []
    return pair


SEPARATE = """
(role r) (d 1) (d 2) (d 3) (d 4) (init (c 1)) (<= (legal r (go ?x)) (d ?x))
(<= changed (does r ?m) busy (d ?x)) (<= busy (true (p ?y))) (<= (next (p ?y)) (does r (go ?y)))
(<= (next s) changed) (<= terminal (true s)) (<= (goal r 100) (true s))
"""


def test_conditions_that_share_no_variable_with_a_move() -> None:
    compared(SEPARATE, 1)
    compared(SEPARATE.replace("changed (does r ?m) busy (d ?x)", "changed (does r ?m) (true (c ?z)) (d ?x)"), 1)


def features(compiled: CompiledGame) -> set[str]:
    """What the game is an example of."""
    sizes = list(map(len, compiled.moves))
    found = {
        "recursion": compiled.report.loops > 0,
        "constants": compiled.report.constants > 0,
        "gates": compiled.report.gates > 0,
        "percepts": any(compiled.percepts),
        "single moves": 1 in sizes,
        "many moves": max(sizes) > 2,
    }
    return {name for name, has in found.items() if has} | {f"{len(sizes)} roles"}


def test_random_games_are_the_same() -> None:
    seen: set[str] = set()

    @settings(max_examples=120, suppress_health_check=list(HealthCheck))
    @given(games(), st.integers(0, 1000))
    def check(text: str, seed: int) -> None:
        seen.update(features(compared(text, seed).compiled))
        seen.update(head for head in ("legal", "goal", "sees") if f"(<= ({head} ?r" in text)

    check()
    wanted = {"recursion", "constants", "gates", "percepts", "single moves", "many moves", "legal", "goal", "sees"}
    assert seen >= wanted | {f"{count} roles" for count in range(1, 7)}

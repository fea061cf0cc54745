"""The interpreter, bytecode and the naive evaluator agree on random small rulesheets."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ggp.gdl.logic_program import make_logic_program
from ggp.gdl.rulesheet import name_and_arity, parse_rulesheet
from ggp.gdl.terms import Term, to_text
from ggp.interpreter import ask
from tests.bytecode_model import by_bytecode
from tests.naive import naive_model

UNIVERSE: tuple[Term, ...] = ("a", "b", ("f", "a"))
VARIABLES = ("?x", "?y", "?z")
ARITIES = (1, 2, 0)
LEVELS = 4  # relations of a level read those of their own level, and the negation of lower ones

constants = st.sampled_from(UNIVERSE).map(to_text)
plain = st.sampled_from((*VARIABLES, "?x", "?y", "a", "(f a)"))
arguments = st.sampled_from((*VARIABLES, "?x", "?y", "a", "(f a)", "(f ?x)"))


def written(name: str, parts: list[str]) -> str:
    return f"({name} {' '.join(parts)})" if parts else name


@st.composite
def atom(draw: st.DrawFn, level: int, argument: st.SearchStrategy[str]) -> str:
    """An atom of a relation, or of the state, that rules of this level may read."""
    arity = draw(st.sampled_from(ARITIES))
    own = draw(st.integers(0, level))
    name = f"p{own}_{arity}"
    if own == level and argument is arguments:
        argument = plain  # GDL restricts recursion: no greater terms that nothing else bounds
    parts = [draw(argument) for _ in range(arity)]
    text = written(name, parts)
    return f"(true {text})" if draw(st.integers(0, 4)) == 0 else text


@st.composite
def rule(draw: st.DrawFn, level: int) -> str:
    body = [draw(atom(level, arguments)) for _ in range(draw(st.integers(1, 3)))]
    bound = [name for name in VARIABLES if any(name in part for part in body)]
    safe = st.sampled_from([*bound, "a", "b"])
    if draw(st.booleans()) and level:
        body.append(f"(not {draw(atom(level - 1, safe))})")
    if draw(st.booleans()):
        body.append(f"({draw(st.sampled_from(['distinct', 'not (distinct']))} {draw(safe)} {draw(safe)})")
        body[-1] += ")" if "not" in body[-1] else ""
    if draw(st.booleans()):
        body.append(f"(or {draw(atom(level, safe))} {draw(atom(level, safe))})")
    arity = draw(st.sampled_from(ARITIES))
    head = written(f"p{level}_{arity}", [draw(safe) for _ in range(arity)])
    return f"(<= {head} {' '.join(draw(st.permutations(body)))})"


@st.composite
def rulesheets(draw: st.DrawFn) -> str:
    found = [draw(atom(0, constants)) for _ in range(draw(st.integers(0, 8)))]
    found = [text for text in found if not text.startswith("(true")]
    for level in range(LEVELS):
        found += [draw(rule(level)) for _ in range(draw(st.integers(0, 3)))]
    return "\n".join(found)


states = st.frozensets(
    st.builds(
        lambda arity, one, two: (f"p0_{arity}", one, two)[: arity + 1] if arity else "p0_0",
        st.sampled_from(ARITIES),
        st.sampled_from(UNIVERSE),
        st.sampled_from(UNIVERSE),
    ),
    max_size=5,
)


@pytest.mark.kernels
@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(rulesheets(), states)
def test_every_relation_holds_for_the_same(text: str, state: frozenset[Term]) -> None:
    program = make_logic_program(parse_rulesheet(text))
    expected = naive_model(program, UNIVERSE, (("true", fact) for fact in state))
    relations = [*program.clauses, *(relation for relation in program.tables if relation not in program.clauses)]
    found = ask(program, relations, state)
    for relation, rows in zip(relations, found, strict=True):
        assert rows == {term for term in expected if name_and_arity(term) == relation}, relation
    named = [(relation, rows) for relation, rows in zip(relations, found, strict=True) if "/" not in relation[0]]
    assert by_bytecode(text, [relation for relation, _ in named], state) == frozenset().union(
        *(rows for _, rows in named)
    )


def test_the_naive_evaluator_by_hand() -> None:
    program = make_logic_program(
        parse_rulesheet(
            "(e a b) (<= (r ?x ?y) (e ?x ?y)) (<= (r ?x ?z) (r ?x ?y) (e ?y ?z)) (e b c)"
            "(<= (s ?x) (e ?x ?y) (not (r ?x c)))"
        )
    )
    model = naive_model(program, ("a", "b", "c"))
    by_name: Callable[[str], set[str]] = lambda name: {to_text(term) for term in model if term[0] == name}  # noqa: E731
    assert by_name("r") == {"(r a b)", "(r b c)", "(r a c)"}
    assert by_name("s") == set()

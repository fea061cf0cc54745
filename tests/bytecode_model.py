"""What bytecode derives, for tests that compare it with another evaluator."""

from collections.abc import Iterable

from ggp.gdl.logic_program import Relation
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.gdl.terms import Term
from ggp.interpreter import Interpreter
from ggp.interpreter.bytecode_machine import BytecodeMachine
from ggp.interpreter.interpreter import PLAY_QUERIES

_NEXT = [query.relation for query in PLAY_QUERIES].index(("next", 1))


def by_bytecode(rules: str, relations: Iterable[Relation], state: frozenset[Term]) -> frozenset[Term]:
    """All that the relations hold for, before any move: asked for by rules that put it into the next state."""
    frame = "" if "(role " in rules else "(role asker)"
    atoms = [f"({name} {' '.join(f'?v{i}' for i in range(arity))})" if arity else name for name, arity in relations]
    asked = " ".join(f"(<= (next {atom}) {atom})" for atom in atoms)
    sheet = parse_rulesheet(f"{frame} (<= terminal (true over)) {rules} {asked}")
    return frozenset(BytecodeMachine(Interpreter(sheet)).answer(state, _NEXT))

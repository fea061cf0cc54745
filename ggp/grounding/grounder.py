"""Program → ground rules: rewriting, translation, gringo, numbering."""

from dataclasses import replace
from time import perf_counter

from ggp.errors import GroundingError
from ggp.grounding.aspif import parse_aspif
from ggp.grounding.gringo import Budget, OverBudgetError, run_gringo
from ggp.grounding.numbering import number_rules
from ggp.grounding.preparation import prepare
from ggp.grounding.reaching import find_extents
from ggp.grounding.rules import GroundRules, Report
from ggp.grounding.splitting import split_clauses
from ggp.grounding.translation import Translation
from ggp.program import Program


def ground(program: Program, budget: Budget = Budget()) -> GroundRules:  # noqa: B008 - frozen
    """All rules of a game without variables; GroundingError when only evaluation can play it, or the budget is spent."""
    start = perf_counter()
    prepared = prepare(program)
    translation = Translation()
    try:
        extents = find_extents(prepared, translation, budget)
        rewritten = split_clauses(prepared, extents)
        output = run_gringo(translation.text(rewritten.clauses, rewritten.tables), budget)
    except OverBudgetError as error:
        raise GroundingError(f"{program.rulesheet.source}: {error}") from None
    rules = number_rules(parse_aspif(output), translation, program.rulesheet)
    return replace(rules, report=Report(perf_counter() - start, None, rewritten.rewritings))

"""Logic program → ground rules: rewriting, translation, gringo, numbering."""

from dataclasses import replace
from time import perf_counter

from ggp.errors import GroundingError
from ggp.gdl.logic_program import LogicProgram
from ggp.grounding.aspif import parse_aspif
from ggp.grounding.gringo import Budget, OverBudgetError, run_gringo
from ggp.grounding.numbering import number_rules
from ggp.grounding.preparation import Prepared, prepare
from ggp.grounding.reaching import find_extents, largest_clause
from ggp.grounding.rules import GroundRules, Report
from ggp.grounding.splitting import Rewritten, split_clauses
from ggp.grounding.stratification import is_stratified
from ggp.grounding.translation import Translation

_SHARE = 0.6  # of the time, after which no more clauses are rewritten


def ground(program: LogicProgram, budget: Budget = Budget(), *, rewrite: bool = True) -> GroundRules:  # noqa: B008 - frozen
    """All rules of a game without variables; GroundingError when that cannot be, or not within the budget.

    Without `rewrite`, clauses are grounded as they stand: many more rules that say the same.
    """
    start = perf_counter()
    prepared = prepare(program)
    translation = Translation()
    rewritten = Rewritten(prepared.clauses, prepared.tables, ())
    try:
        if rewrite:
            prepared, extents = find_extents(prepared, translation, budget)
            rewritten = split_clauses(prepared, extents, start + _SHARE * budget.seconds)
        left = replace(budget, seconds=max(0.0, start + budget.seconds - perf_counter()))
        output = run_gringo(translation.text(rewritten.clauses, rewritten.tables), left)
    except OverBudgetError as error:
        raise GroundingError(_explanation(error, prepared, program)) from None
    rules = number_rules(parse_aspif(output), translation, program.rulesheet)
    cycles = [clause for clause in prepared.clauses if clause.relation in prepared.dependencies.negative_cycles]
    if cycles and not is_stratified(rules):
        place = program.rulesheet.place(cycles[0].offset)
        raise GroundingError(f"{place}: '{cycles[0].relation[0]}' depends on its own negation")
    return replace(rules, report=Report(perf_counter() - start, rewritten.rewritings))


def _explanation(error: OverBudgetError, prepared: Prepared, program: LogicProgram) -> str:
    """What ran out, and the rule that is most likely to blame."""
    if prepared.domains.can_nest:
        return f"{program.rulesheet.source}: {error}: terms may nest without bound"
    clause, size = largest_clause(prepared)
    place = program.rulesheet.place(clause.offset)
    return f"{place}: {error}: a rule for '{clause.relation[0]}' may have about {size:.0e} instances"

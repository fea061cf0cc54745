"""Whether ground rules have a meaning: no atom depends on its own negation.

Relations may do so where their atoms do not, as in `(<= (goal ?r 0) (not (goal ?r 100)))`.
"""

from ggp.gdl.dependencies import strong_components
from ggp.grounding.rules import GroundRules


def is_stratified(rules: GroundRules) -> bool:
    """Whether no atom is in a cycle that goes through a negation."""
    bounds = rules.first_literal.tolist()
    literals = rules.literals.tolist()
    reads: dict[int, dict[int, None]] = {atom: {} for atom in range(rules.atom_count)}
    negative: list[tuple[int, int]] = []
    for rule, head in enumerate(rules.heads.tolist()):
        for literal in literals[bounds[rule] : bounds[rule + 1]]:
            reads[head][literal >> 1] = None
            if literal & 1:
                negative.append((head, literal >> 1))
    component = {atom: number for number, members in enumerate(strong_components(reads)) for atom in members}
    return all(component[head] != component[atom] for head, atom in negative)

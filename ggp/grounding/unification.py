"""Two terms → the terms for their variables that make them equal."""

from ggp.gdl.terms import Term, substitute, variables


def unifier(left: Term, right: Term) -> dict[str, Term] | None:
    """The terms of variables that make two terms equal, with all variables in them replaced; None when nothing does."""
    bindings: dict[str, Term] = {}
    waiting = [(left, right)]
    while waiting:
        one, other = (_resolved(term, bindings) for term in waiting.pop())
        if one == other:
            continue
        if not (isinstance(one, str) and one.startswith("?")):
            one, other = other, one
        if isinstance(one, str) and one.startswith("?"):
            if one in variables(other):
                return None
            bindings = {name: substitute(term, {one: other}) for name, term in bindings.items()} | {one: other}
        elif isinstance(one, str) or isinstance(other, str) or one[0] != other[0] or len(one) != len(other):
            return None
        else:
            waiting += zip(one[1:], other[1:], strict=True)
    return bindings


def _resolved(term: Term, bindings: dict[str, Term]) -> Term:
    return substitute(term, bindings) if bindings else term

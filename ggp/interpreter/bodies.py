"""The body of a clause → nested loops and tests in Python.

`FunctionSource` holds the lines of a function, `BodyWriter` writes bodies into it.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Protocol

from ggp.gdl.logic_program import DISTINCT, DOES, TRUE, Literal, Relation
from ggp.gdl.terms import Term, variables

_MAX_LOOPS = 12  # in one function; Python allows 20 nested blocks
_UNCOUNTED = 256  # steps of loops in one call of a function that are not counted
_LEAST_UNCOUNTED = 16  # the same in a helper that is called in a loop


class FunctionSource:
    """The lines of one function; `close` goes back to an earlier indent.

    `reach` is how often the next line can be run at most in one evaluation, as far as the domains tell. Loops beyond a
    number of steps are counted: `n` are the steps that `spend` has not been told of yet.
    """

    def __init__(self, header: str, reach: float = 1.0) -> None:
        self.lines = [header]
        self.loops = 0
        self.reach = reach
        self._uncounted = max(_LEAST_UNCOUNTED, int(_UNCOUNTED / reach))
        self._counts = False
        self._indent = 1
        self._tests: list[str] = []

    def test(self, condition: str) -> None:
        """What follows runs only where the condition holds."""
        self._tests.append(condition)

    def loop(self, target: str, rows: str, most: float) -> None:
        """A loop over rows that have a length, of which there are at most so many."""
        self.reach *= most
        if self.reach > _UNCOUNTED:
            if not self._counts:
                self._counts = True
                self.lines.insert(1, "    n = 0")
            self.line(f"if (n := n + len(z := {rows})) > {self._uncounted}:")
            self._put("    n = spend(n)")
            rows = "z"
        self._loop(target, rows)

    def loop_over_generator(self, target: str, call: str) -> None:
        """A loop over what a helper yields, which counts for itself."""
        self.reach = inf
        self._loop(target, call)

    def _loop(self, target: str, rows: str) -> None:
        self.line(f"for {target} in {rows}:")
        self._indent += 1
        self.loops += 1

    def line(self, text: str) -> None:
        if self._tests:
            self._put(f"if {' and '.join(self._tests)}:")
            self._tests = []
            self._indent += 1
        self._put(text)

    def mark(self) -> tuple[int, int, float]:
        """The present indent, to close to."""
        return self._indent, self.loops, self.reach

    def close(self, mark: tuple[int, int, float]) -> None:
        self._indent, self.loops, self.reach = mark
        self._tests = []

    def _put(self, text: str) -> None:
        self.lines.append("    " * self._indent + text)


def pack(parts: Iterable[str]) -> str:
    """The expression for some values in one: nothing for none, the value itself for one, else a tuple."""
    found = tuple(parts)
    return found[0] if len(found) == 1 else f"({', '.join(found)})"


def expression(term: Term, names: dict[str, str]) -> str:
    """A term as Python; its variables under the names that hold their values."""
    if isinstance(term, str):
        return names[term] if term.startswith("?") else repr(term)
    return f"({term[0]!r}, {', '.join(expression(part, names) for part in term[1:])},)"


def unpack_key(source: FunctionSource, count: int) -> None:
    """Names the parts of a key `k`: `p0`, `p1` …"""
    if count:
        source.line(f"{', '.join(f'p{place}' for place in range(count))} = k")


# Bodies.


@dataclass(frozen=True, slots=True)
class Access:
    """How generated code asks a relation when some of its arguments are bound."""

    rows: Callable[[str], str]  # the expression for a key → that for the values of the free arguments
    test: Callable[[str], str]  # the expression for a key of all arguments → that for whether it holds


class _Context(Protocol):
    """What a body needs from the compiler around it."""

    def access(self, relation: Relation, bound: tuple[int, ...]) -> Access: ...
    def fact_rows(self, function: Relation, bound: tuple[int, ...], key: str) -> str: ...
    def most_rows(self, literal: Literal, known: Collection[str]) -> float: ...
    def helper(self, parameters: Sequence[str], write: Callable[[FunctionSource], None], reach: float) -> str: ...
    def suspends(self, literal: Literal) -> bool: ...
    def suspend(self, source: FunctionSource, literal: Literal, names: "Names", rest: "Rest") -> None: ...


class Names(dict[str, str]):
    """The Python names of the variables that are bound."""

    def fresh(self, variable: str) -> str:
        name = self[variable] = f"v{len(self)}"
        return name


@dataclass(frozen=True, slots=True)
class Rest:
    """What is still to be evaluated of a clause, and what to do for every way in which it holds."""

    literals: tuple[Literal, ...]
    needs: tuple[str, ...]  # the variables that `emit` reads
    emit: Callable[[FunctionSource, Names], None]
    once: bool  # the first way is enough, and `emit` ends the function

    def after_first(self) -> "Rest":
        return Rest(self.literals[1:], self.needs, self.emit, self.once)

    def live(self, names: Names) -> tuple[str, ...]:
        """The variables bound so far that matter from here on."""
        wanted = dict.fromkeys((*self.needs, *(v for literal in self.literals for v in variables(literal.atom))))
        return tuple(name for name in wanted if name in names)


class BodyWriter:
    """Writes bodies into functions; makes helper functions where a body only has to hold once, or is too deep."""

    def __init__(self, context: _Context) -> None:
        self._context = context
        self._temporaries = 0

    def write(self, source: FunctionSource, names: Names, rest: Rest) -> None:
        for index, literal in enumerate(rest.literals):
            here = Rest(rest.literals[index:], rest.needs, rest.emit, rest.once)
            waits = any(map(self._context.suspends, here.literals))
            if self._context.suspends(literal):
                self._context.suspend(source, literal, names, here.after_first())
                return
            if self._is_loop(literal, names):
                if not rest.once and not waits and all(name in names for name in rest.needs):
                    source.test(self._holds(here.literals, names, source.reach))
                    break
                if source.loops >= _MAX_LOOPS:
                    (self._go_on if waits else self._continue_in_generator)(source, names, here)
                    return
            self._literal(source, literal, names)
        rest.emit(source, names)

    def _holds(self, literals: tuple[Literal, ...], names: Names, reach: float) -> str:
        """The call of a helper that says whether the literals hold."""
        live = Rest(literals, (), _return_true, once=True).live(names)
        inner = Names({name: f"v{index}" for index, name in enumerate(live)})

        def write(helper: FunctionSource) -> None:
            mark = helper.mark()
            self.write(helper, inner, Rest(literals, (), _return_true, once=True))
            helper.close(mark)
            helper.line("return False")

        helper = self._context.helper(list(inner.values()), write, reach)
        return f"{helper}({', '.join(names[name] for name in live)})"

    def _go_on(self, source: FunctionSource, names: Names, rest: Rest) -> None:
        """Goes on in a helper function when one function cannot hold more loops; what waits does so there."""
        live = rest.live(names)
        inner = Names({name: f"v{index}" for index, name in enumerate(live)})
        helper = self._context.helper(
            list(inner.values()), lambda helper: self.write(helper, inner, rest), source.reach
        )
        source.line(f"{helper}({', '.join(names[name] for name in live)})")

    def _continue_in_generator(self, source: FunctionSource, names: Names, rest: Rest) -> None:
        """Goes on in a generator when one function cannot hold more loops."""
        live = rest.live(names)
        inner = Names({name: f"v{index}" for index, name in enumerate(live)})

        def give(helper: FunctionSource, bound: Names) -> None:
            helper.line(f"yield ({''.join(f'{bound[name]}, ' for name in rest.needs)})")

        def write(helper: FunctionSource) -> None:
            self.write(helper, inner, Rest(rest.literals, rest.needs, give, once=False))

        helper = self._context.helper(list(inner.values()), write, source.reach)
        call = f"{helper}({', '.join(names[name] for name in live)})"
        targets = [f"h{index}" for index in range(len(rest.needs))]
        source.loop_over_generator(f"({''.join(f'{target}, ' for target in targets)})" if targets else "_", call)
        rest.emit(source, Names({**names, **dict(zip(rest.needs, targets, strict=True))}))

    def _is_loop(self, literal: Literal, names: Names) -> bool:
        if literal.relation == DISTINCT or not literal.positive:
            return False
        if literal.relation == DOES and _all_bound(literal.arguments[0], names):
            return False
        return not _all_bound(literal.atom, names)

    def _literal(self, source: FunctionSource, literal: Literal, names: Names) -> None:
        relation = literal.relation
        if relation == DISTINCT:
            self._distinct(source, literal, names)
        elif not literal.positive:
            source.test(f"not {self._negated(literal, names, source.reach)}")
        elif relation == TRUE:
            self._fact(source, literal, names)
        elif relation == DOES:
            self._done(source, literal, names)
        else:
            self._view(source, literal, names)

    def _distinct(self, source: FunctionSource, literal: Literal, names: Names) -> None:
        left, right = literal.arguments
        if literal.positive:
            source.test(f"{expression(left, names)} != {expression(right, names)}")
        elif _all_bound(left, names):
            self.unify(source, right, expression(left, names), names)
        else:
            self.unify(source, left, expression(right, names), names)

    def _negated(self, literal: Literal, names: Names, reach: float) -> str:
        positive = Literal(literal.atom, positive=True)
        if not _all_bound(literal.atom, names):
            return self._holds((positive,), names, reach)
        if literal.relation == TRUE:
            return f"({expression(literal.arguments[0], names)} in state)"
        if literal.relation == DOES:
            role, move = literal.arguments
            return f"(joint.get({expression(role, names)}) == {expression(move, names)})"
        return f"({self._test(literal, names)})"

    def _test(self, literal: Literal, names: Names) -> str:
        bound = tuple(range(literal.relation[1]))
        return self._context.access(literal.relation, bound).test(_key(literal.arguments, bound, names))

    def _fact(self, source: FunctionSource, literal: Literal, names: Names) -> None:
        pattern, most = literal.arguments[0], self._context.most_rows(literal, names)
        if _all_bound(pattern, names):
            source.test(f"{expression(pattern, names)} in state")
        elif isinstance(pattern, str):
            source.loop(names.fresh(pattern), "state", most)
        else:
            arguments = pattern[1:]
            bound = tuple(index for index, argument in enumerate(arguments) if _all_bound(argument, names))
            free = [argument for index, argument in enumerate(arguments) if index not in bound]
            function = (str(pattern[0]), len(arguments))
            rows = self._context.fact_rows(function, bound, _key(arguments, bound, names))
            self._loop(source, free, (rows, most), names, prefix="_, " if not bound else "")

    def _done(self, source: FunctionSource, literal: Literal, names: Names) -> None:
        role, move = literal.arguments
        if not _all_bound(role, names):
            self._loop(source, [role, move], ("joint.items()", self._context.most_rows(literal, names)), names)
            return
        value = f"joint.get({expression(role, names)})"
        if _all_bound(move, names):
            source.test(f"{value} == {expression(move, names)}")
            return
        name = self._temporary()
        source.line(f"{name} = {value}")
        source.test(f"{name} is not None")
        self.unify(source, move, name, names)

    def _view(self, source: FunctionSource, literal: Literal, names: Names) -> None:
        arguments = literal.arguments
        bound = tuple(index for index, argument in enumerate(arguments) if _all_bound(argument, names))
        if len(bound) == len(arguments):
            source.test(self._test(literal, names))
            return
        free = [argument for index, argument in enumerate(arguments) if index not in bound]
        key = _key(arguments, bound, names)
        most = self._context.most_rows(literal, names)
        self._loop(source, free, (self._context.access(literal.relation, bound).rows(key), most), names)

    def _loop(
        self, source: FunctionSource, patterns: Sequence[Term], rows: tuple[str, float], names: Names, prefix: str = ""
    ) -> None:
        """A loop over rows: their expression, and how many there can be."""
        targets: list[str] = []
        later: list[tuple[Term, str]] = []
        for pattern in patterns:
            if isinstance(pattern, str) and pattern.startswith("?") and pattern not in names:
                targets.append(names.fresh(pattern))
            else:
                targets.append(self._temporary())
                later.append((pattern, targets[-1]))
        source.loop(f"{prefix}{', '.join(targets)}", *rows)
        for pattern, name in later:
            self.unify(source, pattern, name, names)

    def unify(self, source: FunctionSource, pattern: Term, value: str, names: Names) -> None:
        """Binds the free variables of a pattern to parts of a value, and tests that the rest is the same."""
        if isinstance(pattern, str) and not _all_bound(pattern, names):
            source.line(f"{names.fresh(pattern)} = {value}")
            return
        paths: dict[str, str] = {}  # of each variable that gets its value here
        stack = [(pattern, value)]
        while stack:
            part, path = stack.pop()
            if _all_bound(part, names):
                source.test(f"{path} == {expression(part, names)}")
            elif not isinstance(part, str):
                source.test(f"type({path}) is tuple and len({path}) == {len(part)} and {path}[0] == {part[0]!r}")
                stack.extend((inner, f"{path}[{index}]") for index, inner in reversed(list(enumerate(part[1:], 1))))
            elif part in paths:
                source.test(f"{path} == {paths[part]}")
            else:
                paths[part] = path
        for variable, path in paths.items():
            source.line(f"{names.fresh(variable)} = {path}")

    def _temporary(self) -> str:
        self._temporaries += 1
        return f"t{self._temporaries}"


def _key(arguments: Sequence[Term], bound: Iterable[int], names: Names) -> str:
    return pack(expression(arguments[index], names) for index in bound)


def _all_bound(term: Term, names: Names) -> bool:
    return all(name in names for name in variables(term))


def _return_true(source: FunctionSource, _: Names) -> None:
    source.line("return True")

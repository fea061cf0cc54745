"""Tables of numbers compared with sets of tuples."""

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ggp.grounding.tables import Table, join, make_table

LARGE = 1 << 30  # so that keys of three columns do not fit into one number at once

values = st.sampled_from((0, 1, 2, 3, LARGE))


@st.composite
def tables(draw: st.DrawFn) -> Table:
    names = tuple(draw(st.lists(st.sampled_from("abcd"), unique=True, max_size=4)))
    rows = draw(st.lists(st.tuples(*(values for _ in names)), max_size=12))
    return make_table(names, np.ascontiguousarray(np.array(rows, np.int32).reshape(len(rows), len(names)).T))


def rows_of(table: Table) -> list[dict[str, int]]:
    return [dict(zip(table.names, row, strict=True)) for row in table.rows.T.tolist()]


def as_set(rows: list[dict[str, int]]) -> set[frozenset[tuple[str, int]]]:
    return {frozenset(row.items()) for row in rows}


@given(tables(), st.frozensets(st.sampled_from("abcd")))
def test_projections_have_each_row_once(table: Table, names: frozenset[str]) -> None:
    expected = as_set([{name: value for name, value in row.items() if name in names} for row in rows_of(table)])
    projection = table.project(names)
    assert as_set(rows_of(projection)) == expected
    assert len(projection) == len(expected)
    assert table.count(names) == len(expected)


@given(tables(), tables())
def test_joins_agree_on_shared_names(left: Table, right: Table) -> None:
    expected = [
        one | other
        for one, other in product(rows_of(left), rows_of(right))
        if all(one[name] == other[name] for name in one.keys() & other.keys())
    ]
    joined = join(left, right, limit=1_000)
    assert joined is not None
    assert as_set(rows_of(joined)) == as_set(expected)
    assert len(joined) == len(expected)
    assert not expected or join(left, right, limit=len(expected) - 1) is None


@given(tables(), tables())
def test_without(left: Table, right: Table) -> None:
    right = right.project(left.names)
    unwanted = as_set(rows_of(right))
    expected = [row for row in rows_of(left) if frozenset((n, row[n]) for n in right.names) not in unwanted]
    assert rows_of(left.without(right)) == expected


def test_large_counts_are_close() -> None:
    numbers = np.arange(200_000, dtype=np.int32)
    table = make_table(("a", "b", "c"), np.array((numbers, numbers % 50_000, numbers % 7)))
    assert abs(table.count(("b",)) - 50_000) < 200
    assert table.count(("c",)) == 7
    assert abs(table.count(("a", "c")) - 200_000) < 800

"""Which groups a file can hold, by its statistics: no group that it does hold is ever left out."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyqbeast.approximate.estimate import GroupKind, GroupSpans, value_span
from pyqbeast.approximate.estimate.value_spans import ValueSpan

VALUES = {
    GroupKind.INTEGER: st.integers(-3, 3),
    GroupKind.DATE: st.dates(dt.date(1969, 12, 30), dt.date(1970, 1, 3)),
    GroupKind.TEXT: st.sampled_from(["", "a", "b", "é"]),
    GroupKind.BOOLEAN: st.booleans(),
}
KINDS = st.lists(st.sampled_from([*VALUES, None]), min_size=1, max_size=2)


def statistics_of(rows, kinds):
    """As Delta writes them: no bounds for booleans."""
    found = {"numRecords": len(rows), "minValues": {}, "maxValues": {}, "nullCount": {}}
    for at, kind in enumerate(kinds):
        values = [row[at] for row in rows if row[at] is not None]
        found["nullCount"][f"c{at}"] = len(rows) - len(values)
        if values and kind is not GroupKind.BOOLEAN:
            ends = [
                value.isoformat() if kind is GroupKind.DATE else value for value in (min(values), max(values))
            ]
            found["minValues"][f"c{at}"], found["maxValues"][f"c{at}"] = ends
    return found


@pytest.mark.slow
@given(st.data())
def test_a_file_is_left_out_only_if_all_its_groups_are_listed(data):
    kinds = data.draw(KINDS)
    row = st.tuples(*(st.none() | VALUES.get(kind, st.floats(0, 1)) for kind in kinds))
    files = data.draw(st.lists(st.lists(row, min_size=1, max_size=6), min_size=1, max_size=4))
    listed = data.draw(st.lists(row, unique=True, max_size=12)) + files[0]
    listed = list(dict.fromkeys(listed))
    spans = [
        tuple(
            value_span(statistics_of(rows, kinds), {}, f"c{at}", kind, holds_lists=False)
            for at, kind in enumerate(kinds)
        )
        for rows in files
    ]
    others = GroupSpans(kinds, spans, [len(rows) for rows in files]).others(listed)
    for rows, is_needed in zip(files, others, strict=True):
        assert is_needed or set(rows) <= set(listed)


def others(spans, groups, kind=GroupKind.INTEGER):
    return GroupSpans([kind], [(each,) for each in spans], [1] * len(spans)).others(
        [(group,) for group in groups]
    )


def test_whole_numbers_between_the_ends_are_counted():
    files = [ValueSpan(0, 2, has_null=False), ValueSpan(0, 2, has_null=True), ValueSpan(2, 3, has_null=False)]
    assert others(files, [0, 1, 2]).tolist() == [False, True, True]
    assert others(files, [0, 1, 2, None, 3]).tolist() == [False] * 3
    assert others([ValueSpan(-(2**63), 2**63 - 1, has_null=False), None], [1]).tolist() == [True, True]


def test_texts_count_where_there_is_one():
    files = [ValueSpan("a", "a", has_null=False), ValueSpan("a", "b", has_null=False)]
    assert others(files, ["a", "b"], GroupKind.TEXT).tolist() == [False, True]


def test_booleans_have_two_values_whatever_statistics_say():
    span = value_span({"numRecords": 4, "nullCount": {"c": 0}}, {}, "c", GroupKind.BOOLEAN, holds_lists=False)
    assert others([span], [True], GroupKind.BOOLEAN).tolist() == [True]
    assert others([span], [True, False], GroupKind.BOOLEAN).tolist() == [False]


def test_what_conditions_leave_out_cannot_be_missing():
    whole = ValueSpan(0, 100, has_null=True)
    assert others([whole.within(5, 6), whole.within(200, 300)], [5, 6]).tolist() == [False, False]
    assert others([whole.within(5, 7)], [5, 6]).tolist() == [True]


@pytest.mark.parametrize("stored", [1.5, True, None, "3", 2**70, [1]])
def test_statistics_of_another_type_tell_nothing(stored):
    text = {"numRecords": 2, "minValues": {"c": 1}, "maxValues": {"c": stored}, "nullCount": {"c": 0}}
    assert value_span(text, {}, "c", GroupKind.INTEGER, holds_lists=False) is None


def test_a_file_is_all_null_where_its_count_can_be_believed():
    """delta-rs up to 1.6.0 counts the nulls inside lists and maps as those of columns that are called alike."""
    counts = {"numRecords": 2, "nullCount": {"c": 2}}
    nothing = ValueSpan(None, None, has_null=True)

    def span(statistics, tags, *, holds_lists, kind=GroupKind.INTEGER):
        return value_span(statistics, tags, "c", kind, holds_lists=holds_lists)

    assert span(counts, {}, holds_lists=False) == nothing
    assert span(counts, {"revision": "1"}, holds_lists=True) == nothing
    assert span(counts, {}, holds_lists=True) is None
    bounded = counts | {"minValues": {"c": 3}, "maxValues": {"c": 5}}
    assert span(bounded, {}, holds_lists=False) == ValueSpan(3, 5, has_null=True)
    no_null = {"numRecords": 2, "nullCount": {"c": 0}}
    held = span(no_null, {}, holds_lists=True, kind=GroupKind.BOOLEAN)
    assert held == ValueSpan(0, 1, has_null=True)


def test_where_a_missing_group_may_lie():
    spans = GroupSpans(
        [GroupKind.DATE, None],
        [(ValueSpan(0, 3, has_null=False), None), (ValueSpan(10, 11, has_null=False), None)],
        [5, None],
    )
    first, both = np.array([True, False]), np.array([True, True])
    assert spans.between(first) == ((dt.date(1970, 1, 1), dt.date(1970, 1, 4)), None)
    assert spans.between(both)[0] == (dt.date(1970, 1, 1), dt.date(1970, 1, 12))
    assert (spans.rows_of(first), spans.rows_of(both)) == (5, np.inf)

"""Statistics of many files at once: never in order where a look at each by itself finds a problem."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyqbeast.delta_log.file_checks import check_statistics
from pyqbeast.delta_log.statistics_in_bulk import in_order
from tests.core.hostile import damaged, hostile_texts

USUAL = {
    "numRecords": 3,
    "minValues": {"a": -1, "s": {"x": "b"}, "t": "2020-10-25T02:30:00.000+02:00", "f": 1.5},
    "maxValues": {"a": 1, "s": {"x": "a"}, "t": "2020-10-25T02:10:00.000+01:00", "f": 2.5},
    "nullCount": {"a": 2, "s": {"x": 0}, "t": 0},
    "tightBounds": False,
}
OTHERS = [json.dumps(USUAL | {"numRecords": rows}) for rows in range(3, 200)]


def test_usual_statistics_are_in_order_at_once():
    few = json.dumps({"numRecords": 3, "minValues": {}, "maxValues": {}, "nullCount": {"a": 3}})
    assert all(in_order([*OTHERS, few]))


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(USUAL | {"numRecords": -1}),
        json.dumps(USUAL | {"numRecords": None}),
        json.dumps(USUAL | {"nullCount": {"s": {"x": 4}}}),
        json.dumps(USUAL | {"nullCount": {"a": -1}}),
        json.dumps(USUAL | {"nullCount": {"a": 3}}),
        json.dumps(USUAL | {"nullCount": {"s": {"x": 3}}, "minValues": {}}),
        json.dumps(USUAL | {"minValues": {"a": 2}}),
        json.dumps(USUAL | {"minValues": {"f": 2.75}}),
        json.dumps(USUAL | {"minValues": {"f": float("nan")}}),
        json.dumps(USUAL | {"minValues": {"f": 2**53 + 1}, "maxValues": {"f": 2**53}}),
        json.dumps(USUAL)[:-1] + ',"numRecords":3}',
        json.dumps(USUAL) + json.dumps(USUAL),
        json.dumps(USUAL, indent=1),
        '{"numRecords": 1e999}',
        "[" * 10_000,
        "{" + '"a":{' * 200_000 + "}",
        "",
        None,
    ],
)
@pytest.mark.parametrize("at", [0, 150])
def test_statistics_of_another_kind_are_left_to_a_closer_look(text, at):
    texts: list[str | None] = [*OTHERS]
    texts.insert(at, text)
    assert not in_order(texts)[at]


@pytest.mark.slow
@settings(max_examples=50)
@given(
    st.lists(
        hostile_texts([json.dumps(USUAL), *OTHERS[:3]]).flatmap(damaged) | st.sampled_from(OTHERS), min_size=1
    )
)
def test_what_is_in_order_has_no_problem(texts):
    for text, keeps in zip(texts, in_order(texts), strict=True):
        assert not (keeps and check_statistics("f", text, has_vector=True)), text

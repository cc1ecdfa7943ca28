from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pyqbeast.core.format.constants import (
    COMMON_FRACTIONS,
    TAG_MAX_ROW_WEIGHT,
    TAG_WEIGHTS,
    WEIGHT_MAX,
    WEIGHT_MIN,
)
from pyqbeast.core.format.weight import weight_of
from pyqbeast.core.format.weight_counts import (
    BORDERS,
    count_weights,
    counts_of_files,
    parse_weights_tag,
    weights_tag,
)
from pyqbeast.core.otree.invariants import check_weights

WEIGHTS = st.lists(st.integers(WEIGHT_MIN, WEIGHT_MAX), min_size=1, max_size=50)


def test_samples_that_people_take_end_at_borders():
    assert {weight_of(float(text)) for text in COMMON_FRACTIONS.split()} <= set(BORDERS.tolist())
    assert (np.diff(BORDERS.astype(np.int64)) > 0).all()


@pytest.mark.slow
@given(WEIGHTS)
def test_the_tag_tells_how_many_rows_are_lighter_than_each_border(weights):
    weights = np.array(weights, np.int32)
    told = parse_weights_tag({TAG_WEIGHTS: weights_tag(count_weights(weights))})
    for number, border in enumerate(BORDERS):
        assert sum(told[: number + 1]) == (weights < border).sum()
    assert sum(told) == len(weights)


@pytest.mark.parametrize("text", ["", "3", "a,1", "1,-1", "999,1", "0,1.5", "1,,2", "1,9" + "9" * 30, "²,1"])
def test_a_damaged_tag_tells_nothing(text):
    assert parse_weights_tag({TAG_WEIGHTS: text}) is None
    assert parse_weights_tag({}) is None


TAGS = st.one_of(
    WEIGHTS.map(lambda weights: weights_tag(count_weights(np.array(weights, np.int32)))),
    st.none(),
    st.text("0123456789,-", max_size=25),
    st.lists(st.integers(-1, 2**63), max_size=62).map(lambda numbers: ",".join(map(str, numbers))),
)


@pytest.mark.slow
@given(st.lists(TAGS, max_size=6))
@example([f"{2**63 - 1},0"])
def test_many_files_are_read_at_once_as_one_by_one(texts):
    found = counts_of_files(texts)
    read = [parse_weights_tag({TAG_WEIGHTS: text} if text is not None else {}) for text in texts]
    assert found.counted.tolist() == [at for at, counts in enumerate(read) if counts is not None]
    told = np.zeros((len(texts), len(BORDERS) + 1))
    told[found.file, found.interval] = found.rows
    assert told.tolist() == [[*map(float, counts or (0,) * (len(BORDERS) + 1))] for counts in read]


def test_verify_sees_a_tag_that_does_not_tell_the_weights_of_the_rows():
    weights = np.array([-5, 7, 2**30], np.int32)
    tags = {TAG_MAX_ROW_WEIGHT: str(2**30), TAG_WEIGHTS: weights_tag(count_weights(weights))}
    points = np.zeros((3, 1))
    assert check_weights("f", tags, points, weights) == []
    assert check_weights("f", {}, points, weights) == []
    assert [p.rule for p in check_weights("f", tags, points[:2], weights[:2])] == [
        "heaviest row",
        "rows by weight",
    ]

"""Many groups of few rows: no sample serves them, and their sums are kept small."""

from __future__ import annotations

import numpy as np
import pytest

from pyqbeast.approximate.estimate import Goal, Status
from pyqbeast.approximate.estimate.limit import Limit
from pyqbeast.approximate.estimate.state import BUCKETS_OF_ALL
from pyqbeast.approximate.steps.loop import read_until
from pyqbeast.approximate.steps.planning import MOST_GROUPS
from pyqbeast.approximate.steps.progress import Progress
from tests.approximate.steps.rows import Groups


@pytest.mark.slow
def test_a_sample_that_would_have_too_many_groups_is_not_read():
    """Four thousand rows are read, then eight times as many, and not again eight times."""
    progress = Progress(Groups(rows=10_000_000, groups=5_000_000, files=10_000))
    assert read_until(progress, Goal(0.5), Limit(), 0.95) is None
    assert len(progress.readings) == 2
    assert 25_000 < len(progress.state.groups) < MOST_GROUPS


def test_as_many_groups_as_a_sample_has_seen_often_are_no_reason_to_read_all():
    progress = Progress(Groups(rows=200_000, groups=100, files=100))
    (found,) = read_until(progress, Goal(0.02), Limit(), 0.95).values()
    assert set(found.status) == {Status.BOUNDED}
    assert progress.fraction < 0.5


@pytest.mark.slow
def test_all_rows_of_a_group_need_no_buckets():
    """Where the first rows cost too much to begin again, the rest is added to them."""
    table = Groups(rows=40_000, groups=20_000, files=4)
    progress = Progress(table)
    (found,) = read_until(progress, Goal(0.1), Limit(), 0.95).values()
    assert [reading.stop for reading in progress.readings] == [pytest.approx(0.25, abs=0.01), 1.0]
    assert progress.state.axes.buckets == BUCKETS_OF_ALL
    groups = [group for (group,) in progress.state.groups]
    mean = np.bincount(table.group, table.y) / np.bincount(table.group)
    np.testing.assert_allclose(found.value, mean[groups], rtol=1e-12)
    np.testing.assert_array_equal(found.low, found.value)
    np.testing.assert_array_equal(found.high, found.value)
    assert set(found.status) == {Status.EXACT}

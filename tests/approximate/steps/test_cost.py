"""What all steps together read, beside the query that is run in full where sums of the steps do not tell its answer."""

from __future__ import annotations

import numpy as np
import pytest

from pyqbeast.approximate.estimate import Aggregate, Goal
from pyqbeast.approximate.estimate.combination import Combination, Operation, Part
from pyqbeast.approximate.estimate.limit import Limit
from pyqbeast.approximate.estimate.rounding import NumberLimits
from pyqbeast.approximate.steps.loop import read_until
from pyqbeast.approximate.steps.progress import Progress
from tests.approximate.steps.rows import Columns

MEAN = Aggregate("avg", ("price",))
SPREAD = Aggregate("stddev_samp", ("x",))
ALIKE = Aggregate("corr", ("ones", "x"))


def table_of(requested, limits, rows):
    rng = np.random.default_rng(3)
    columns = {"x": rng.normal(10, 2, rows), "price": rng.integers(1, 1_000, rows) / 100}
    return Columns(requested, limits, ones=np.ones(rows), **columns)


@pytest.mark.parametrize(
    "mean", [MEAN, Combination((MEAN,), Operation("*", Part(0), 1.5))], ids=["alone", "in a product"]
)
def test_averages_of_decimals_are_known_to_need_the_query_before_anything_is_read(mean):
    """Only Spark divides decimals as it does. A deviation needs so many keys that the first step reads three files."""
    progress = Progress(table_of((SPREAD, mean), NumberLimits({MEAN: 0.0}, {}, {}), 60_000))
    assert read_until(progress, Goal(0.0001), Limit(), 0.95) is None
    assert progress.bytes_read == 0


def test_an_average_of_decimals_within_its_error_needs_no_query():
    progress = Progress(table_of((MEAN,), NumberLimits({MEAN: 0.0}, {}, {}), 60_000))
    assert read_until(progress, Goal(0.05), Limit(), 0.95) is not None
    assert progress.bytes_read == 1_000


def test_a_correlation_that_a_sample_leaves_undefined_is_not_read_to_the_end():
    progress = Progress(table_of((ALIKE,), NumberLimits({}, {}, {}), 100_000))
    assert read_until(progress, Goal(0.05), Limit(), 0.95) is None
    assert progress.bytes_read == 2_000

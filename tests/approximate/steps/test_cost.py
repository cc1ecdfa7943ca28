"""What all steps together read, beside the query that is run in full where sums of the steps do not tell its answer."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from pyqbeast.approximate.estimate import (
    Aggregate,
    FileCosts,
    Goal,
    GroupKind,
    GroupSpans,
    KnownBounds,
    Status,
)
from pyqbeast.approximate.estimate.combination import Combination, Operation, Part
from pyqbeast.approximate.estimate.limit import Limit
from pyqbeast.approximate.estimate.rounding import NumberLimits, exact_below, half_up
from pyqbeast.approximate.estimate.value_spans import ValueSpan
from pyqbeast.approximate.steps.loop import read_until
from pyqbeast.approximate.steps.progress import Progress
from pyqbeast.core.format.constants import WEIGHT_END
from tests.approximate.steps.rows import HeldRows

MEAN = Aggregate("avg", ("price",))
SPREAD = Aggregate("stddev_samp", ("x",))
ALIKE = Aggregate("corr", ("ones", "x"))


def table_of(requested, limits, rows):
    rng = np.random.default_rng(3)
    columns = {
        "x": rng.normal(10, 2, rows),
        "price": rng.integers(1, 1_000, rows) / 100,
        "ones": np.ones(rows),
    }
    return HeldRows(requested, columns, limits=limits)


@pytest.mark.parametrize(
    "mean", [MEAN, Combination((MEAN,), Operation("*", Part(0), 1.5))], ids=["alone", "in a product"]
)
def test_averages_of_decimals_are_known_to_need_the_query_before_anything_is_read(mean):
    """Only Spark divides decimals as it does. A deviation needs so many keys that the first step reads three files."""
    progress = Progress(table_of((SPREAD, mean), NumberLimits({MEAN: 0.0}), 60_000))
    assert read_until(progress, Goal(0.0001), Limit(), 0.95) is None
    assert progress.bytes_read == 0


def test_an_average_of_decimals_within_its_error_needs_no_query():
    progress = Progress(table_of((MEAN,), NumberLimits({MEAN: 0.0}), 60_000))
    assert read_until(progress, Goal(0.05), Limit(), 0.95) is not None
    assert progress.bytes_read == 1_000


class Shops(HeldRows):
    """Prices in cents of large shops and of rare ones, which have files of their own behind the first of ten."""

    known = KnownBounds(1, {"price": (0.0, 10.0)})

    def __init__(self):
        group = np.concatenate([np.arange(200_000) % 10, 10 + np.arange(600) % 10])
        price = np.round(np.random.default_rng(2).uniform(0, 10, len(group)), 2)
        super().__init__((MEAN,), {"price": price}, group, files=40, limits=TOLD)
        later = self.edges[4:-1]
        self.files = FileCosts(
            [1_000] * 40,
            [*self.edges[:4], later[0], *later[:-1]],
            [*(self.edges[1:5] - 1), WEIGHT_END - 1, *(later[1:] - 1)],
        )
        any_shop, rare, large = (ValueSpan(*ends, has_null=False) for ends in ((0, 19), (10, 19), (0, 9)))
        spans = [(each,) for each in (*[any_shop] * 4, rare, *[large] * 35)]
        self.group_spans = GroupSpans([GroupKind.INTEGER], spans, [5_015] * 40)


TOLD = NumberLimits(
    {MEAN: exact_below(6), Aggregate("sum", ("price",)): exact_below(2)},
    {},
    {MEAN: 6, Aggregate("sum", ("price",)): 2},
)


@pytest.mark.slow
def test_averages_of_decimals_of_rare_groups_are_read_where_they_lie():
    table = Shops()
    progress = Progress(table)
    (found,) = read_until(progress, Goal(0.1), Limit(), 0.95).values()
    assert progress.readings[-1].groups
    assert progress.bytes_read < 0.5 * progress.exact_bytes
    for (group,), value, status in zip(progress.state.groups, found.value, found.status, strict=True):
        cents = np.rint(100 * table.columns["price"][table.group == group]).astype(int)
        if group >= 10:
            exact = half_up(Fraction(int(cents.sum()), 100 * len(cents)), 6)
            assert (status, value) == (Status.EXACT, float(exact))


def test_an_average_of_decimals_is_read_on_where_its_sums_tell_it():
    """The files that it has read count for the exact answer, which takes but the others."""
    columns = {"price": np.round(np.random.default_rng(3).uniform(0, 10, 60_000), 2)}
    progress = Progress(HeldRows((MEAN,), columns, limits=TOLD))
    (found,) = read_until(progress, Goal(0.005), Limit(), 0.95).values()
    assert found.status[0] == Status.SAMPLE_ONLY
    assert 1_000 < progress.bytes_read <= 5_000


def test_an_average_whose_sums_doubles_do_not_hold_costs_no_more_than_the_query():
    price = 1e12 + np.round(np.random.default_rng(3).uniform(0, 10, 60_000), 2)
    columns = {"price": price, "x": price}
    progress = Progress(HeldRows((SPREAD, MEAN), columns, limits=TOLD))
    assert read_until(progress, Goal(0.0001), Limit(), 0.95) is None
    assert progress.bytes_read == 0


def test_a_budget_is_not_spent_on_more_than_the_error_takes():
    """The query in full, which alone would tell the average, costs more than is left."""
    columns = {"price": np.random.default_rng(3).uniform(0, 10, 60_000)}
    spent = []
    for limits in (NumberLimits(), NumberLimits({MEAN: 0.0})):
        progress = Progress(HeldRows((MEAN,), columns, limits=limits))
        assert read_until(progress, Goal(0.01), Limit(bytes=9_000), 0.95) is not None
        spent.append(progress.bytes_read)
    assert spent[0] == spent[1] < 4_000


def test_a_correlation_that_a_sample_leaves_undefined_is_not_read_to_the_end():
    progress = Progress(table_of((ALIKE,), NumberLimits(), 100_000))
    assert read_until(progress, Goal(0.05), Limit(), 0.95) is None
    assert progress.bytes_read == 2_000

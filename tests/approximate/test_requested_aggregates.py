"""What is noted of a query's aggregates before anything is read: up to where sums of doubles tell them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from pyspark.sql import types as T

from pyqbeast.approximate.estimate import Aggregate
from pyqbeast.approximate.estimate.rounding import exact_below
from pyqbeast.approximate.requested_aggregates import RequestedAggregates
from pyqbeast.bridge.aggregate_query import OutputColumn

MEAN, SUM = Aggregate("avg", ("x0",)), Aggregate("sum", ("x0",))
HALF = Aggregate("percentile", ("x0",), 0.5)


@pytest.mark.parametrize(("digits", "of_doubles"), [(10, True), (11, True), (12, False), (28, False)])
def test_sums_of_doubles_tell_averages_of_decimals_as_far_as_they_hold_the_sum(digits, of_doubles):
    limits = noted(T.DecimalType(digits, 2)).limits
    assert limits.exact_below == {MEAN: exact_below(6), SUM: exact_below(2)}
    assert limits.decimal_places == {MEAN: 6, SUM: 2}
    assert (MEAN in limits.of_doubles) == of_doubles


def test_an_average_of_decimals_whose_sum_may_be_beyond_its_type_is_left_to_the_query():
    assert noted(T.DecimalType(29, 2)).limits.exact_below == {MEAN: 0.0}


def test_averages_of_doubles_have_no_limits():
    assert noted(T.DoubleType()).limits.exact_below == {}


@pytest.mark.parametrize(("data_type", "places"), [(T.LongType(), 0), (T.DecimalType(20, 3), 3)])
def test_a_percentile_is_told_as_far_as_doubles_hold_its_column(data_type, places):
    limits = noted(data_type, HALF).limits
    assert limits.exact_below == {HALF: exact_below(places)}
    assert limits.overflows_at == {}
    assert noted(T.FloatType(), HALF).limits.exact_below == {}


def noted(data_type, aggregate=MEAN):
    """What is requested of the average, or another aggregate, of a column of this type."""
    requested = RequestedAggregates()
    function = {"avg": "Average", "percentile": "ApproximatePercentile"}[aggregate.kind]
    output = OutputColumn(function=function, inputs=(0,), percentage=aggregate.p)
    query = SimpleNamespace(statistics=[None])
    assert requested._add(output, query, T.StructType().add("x0", data_type)) == aggregate
    return requested

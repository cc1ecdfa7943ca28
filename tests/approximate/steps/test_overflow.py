"""What only the query in full tells, such as a sum beyond its type: it is not run for more than the limit."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pyqbeast.approximate.estimate import (
    Aggregate,
    Combination,
    Goal,
    KnownBounds,
    Operation,
    Part,
    Status,
)
from pyqbeast.approximate.estimate.limit import Limit
from pyqbeast.approximate.estimate.rounding import NumberLimits, known_numbers
from pyqbeast.approximate.steps.loop import read_until
from pyqbeast.approximate.steps.planning import step_to
from pyqbeast.approximate.steps.progress import Progress
from tests.approximate.steps.rows import HeldRows

VALUES = np.random.default_rng(2).normal(10, 2, 200_000) * 1e11
SUM, AVERAGE = Aggregate("sum", ("y",)), Aggregate("avg", ("y",))
DOUBLE = Operation("*", Part(0), 2.0)
#: The first is too large on the way, the second is of the same parts and is not.
QUOTIENT = Combination((SUM,), Operation("/", DOUBLE, 1e9))
DIFFERENCE = Combination((SUM,), Operation("-", Part(0), 1e9))


def read(requested, most, goal=None, exact_below=None, overflows_at=None):
    limits = NumberLimits(exact_below or {}, overflows_at or {})
    table = HeldRows(requested, {"y": VALUES}, limits=limits)
    table.known = KnownBounds(1, {"y": (0.0, 2e12)})
    progress = Progress(table)
    return progress, read_until(progress, goal, Limit(bytes=most), 0.95)


def test_a_sum_beyond_its_type_is_no_reason_to_spend_more():
    progress, found = read((SUM, AVERAGE), 3_500, overflows_at={SUM: 1e17})
    assert progress.bytes_read == 3_000
    assert (found[SUM].status[0], found[AVERAGE].status[0]) == (Status.LEFT_TO_QUERY, Status.BOUNDED)
    for values in (found[SUM].value, found[SUM].low, found[SUM].high):
        assert known_numbers(progress.state, found[SUM], values) == [None]
    assert found[AVERAGE].low[0] <= VALUES.mean() <= found[AVERAGE].high[0]


def test_what_is_computed_on_the_way_has_a_type_too():
    _, found = read(
        (QUOTIENT, DIFFERENCE), 3_500, overflows_at={Combination((SUM,), DOUBLE): 1.5 * VALUES.sum()}
    )
    assert found[QUOTIENT].status[0] == Status.LEFT_TO_QUERY
    assert found[DIFFERENCE].low[0] < VALUES.sum() < found[DIFFERENCE].high[0]


def test_the_query_is_run_where_its_bytes_are_left():
    progress, found = read((SUM,), 15_000, Goal(0.05), overflows_at={SUM: 1e17})
    assert found is None
    assert progress.bytes_read == 1_000
    assert read((SUM,), math.inf, Goal(0.05), overflows_at={SUM: 1e17})[1] is None


@pytest.mark.slow
@pytest.mark.parametrize("limits", ["exact_below", "overflows_at"])
def test_what_all_rows_tell_first(limits):
    """The sample has found the sum to be just below the limit."""
    _, sample = read((SUM,), 1_000)
    limit = (sample[SUM].value[0] + VALUES.sum()) / 2
    assert sample[SUM].value[0] < limit < VALUES.sum()
    progress, found = read((SUM,), 10_500, Goal(1e-9), **{limits: {SUM: limit}})
    assert progress.bytes_read == 10_000
    assert not progress.is_mergeable
    (known,) = known_numbers(progress.state, found[SUM], found[SUM].value)
    assert known == (None if limits == "overflows_at" else pytest.approx(VALUES.sum(), rel=1e-12))
    assert known_numbers(progress.state, found[SUM], found[SUM].low) == [None]
    assert found[SUM].status[0] == Status.LEFT_TO_QUERY


def test_sums_beyond_doubles_give_no_warning():
    """A sum of both signs could be infinite on the way, and is compared with what doubles hold."""
    mixed = 1.7e308 * np.where(np.arange(30_000) % 2, 1.0, -1.0)
    ratio = Combination((SUM, Aggregate("sum", ("ones",))), Operation("/", Part(0), Part(1)))
    for limits in (NumberLimits(), NumberLimits({SUM: 2.0**53})):
        columns = {"y": mixed, "ones": np.ones(30_000)}
        progress = Progress(HeldRows((ratio, SUM), columns, limits=limits))
        progress.read(step_to(progress, 1.0))
        assert set(progress.estimates(0.95)) == {ratio, SUM}

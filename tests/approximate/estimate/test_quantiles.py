"""Quantiles of Student's t and of Poisson counts, against printed tables."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from pyqbeast.approximate.estimate.quantiles import (
    mean_at_least,
    mean_at_least_seen,
    mean_at_most,
    t_quantile,
)


@pytest.mark.parametrize(
    ("p", "df", "value"),
    [
        (0.95, 3, 2.353363),
        (0.975, 3, 3.182446),
        (0.975, 4, 2.776445),
        (0.975, 10, 2.228139),
        (0.975, 30, 2.042272),
        (0.975, 120, 1.979930),
        (0.995, 3, 5.840909),
        (0.995, 60, 2.660283),
        (0.9995, 3, 12.923979),
        (0.9995, 30, 3.645959),
    ],
)
def test_table_values(p, df, value):
    assert t_quantile(p, np.array([df], dtype=float))[0] == pytest.approx(value, abs=6e-6)


def test_two_degrees_of_freedom_have_a_closed_form():
    p = 0.9
    assert t_quantile(p, np.array([2.0]))[0] == pytest.approx(
        (2 * p - 1) / np.sqrt(2 * p * (1 - p)), abs=1e-8
    )


def test_arrays_and_real_degrees_of_freedom():
    df = np.linspace(3, 1023, 50).reshape(5, 10)
    found = t_quantile(0.975, df)
    assert found.shape == df.shape
    assert np.all(np.diff(found.ravel()) < 0)
    # Cornish-Fisher: the two leading terms beyond the normal quantile.
    z = NormalDist().inv_cdf(0.975)
    assert found[-1, -1] == pytest.approx(z + (z**3 + z) / (4 * 1023), abs=1e-5)


def test_a_count_leaves_a_poisson_mean_as_large_as_tables_say():
    """Garwood's upper limits of 95 %, and what small counts and chances give in closed form."""
    counts, limits = np.array([0.0, 1.0, 3.0, 10.0, 100.0]), [3.689, 5.572, 8.767, 18.390, 121.627]
    assert mean_at_most(counts, 0.975) == pytest.approx(limits, abs=5e-4)
    for p in (0.5, 0.9, 0.99995):
        assert mean_at_most(np.zeros(2), p) == pytest.approx(-np.log1p(-p))
    large = mean_at_most(np.array([[1e6, 1e6 + 0.5]]), 0.975)
    assert large.shape == (1, 2)
    assert large[0, 0] < large[0, 1] == pytest.approx(1e6 + 1.96e3, rel=1e-5)


def test_a_count_leaves_a_poisson_mean_as_small_as_tables_say():
    counts, limits = np.array([0.0, 1.0, 3.0, 10.0, 100.0]), [0.0, 0.0253, 0.6187, 4.7954, 81.364]
    assert mean_at_least(counts, 0.975) == pytest.approx(limits, abs=5e-4)
    for p in (0.5, 0.9, 0.99995):
        assert mean_at_least(np.ones(2), p) == pytest.approx(-np.log(p))


def test_a_count_that_is_heard_of_where_it_is_not_0_leaves_a_smaller_mean():
    """Of two keys the chance is about half the mean then, where it would be half the mean's square."""
    for p in (0.75, 0.975, 0.99995):
        counts = np.array([1.0, 2.0, 5.0, 100.0])
        one, two, five, many = mean_at_least_seen(counts, p)
        assert one == 0
        assert 1 - two / np.expm1(two) == pytest.approx(1 - p, rel=1e-6)
        below = np.exp(-five) * sum(five**k / math.factorial(k) for k in range(1, 5))
        assert 1 - below / -np.expm1(-five) == pytest.approx(1 - p, rel=1e-6)
        assert five < mean_at_least(counts, p)[2]
        assert many == pytest.approx(mean_at_least(counts, p)[3], rel=1e-9)

"""Quantiles of Student's t, against printed tables."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

from pyqbeast.approximate.estimate.student import t_quantile


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

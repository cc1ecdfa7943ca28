"""A revision, and rows with their weights, for tests of trees."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from pyqbeast.core.format.constants import WEIGHT_MAX, WEIGHT_MIN
from pyqbeast.core.otree.tree import SampledRows
from pyqbeast.core.revisions.revision import Revision
from pyqbeast.core.transform.linear import Linear
from pyqbeast.core.transform.registry import transformer_for

INT = "IntegerDataType"
REVISION = Revision(
    1,
    0,
    "/t",
    100,
    (transformer_for("a", "linear", INT), transformer_for("b", "linear", INT)),
    (Linear(INT, 0, 9, 1), Linear(INT, 0, 9, 1)),
)
#: How points may lie: all over, on a few values with both ends among them, crowded at 0, or all on one.
SPREADS = {
    "uniform": lambda rng, shape: rng.random(shape),
    "grid": lambda rng, shape: rng.integers(0, 5, shape) / 4,
    "skewed": lambda rng, shape: rng.random(shape) ** 20,
    "one point": lambda rng, shape: np.broadcast_to(rng.random(shape[1]), shape).copy(),
}


def uniform_rows(n, dimensions, stands_for=1.0, seed=0):
    rng = np.random.default_rng(seed)
    weights = rng.integers(WEIGHT_MIN, WEIGHT_MAX, n, dtype=np.int32, endpoint=True)
    return SampledRows.of(rng.random((n, dimensions)), weights, np.full(n, stands_for))


@st.composite
def samples(draw, dimensions=None):
    """Up to 400 rows in 1 to 4 dimensions. Weights are random over the whole range, or one of a few."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(1, 400))
    d = draw(st.integers(1, 4)) if dimensions is None else dimensions
    points = SPREADS[draw(st.sampled_from(list(SPREADS)))](rng, (n, d))
    weights = rng.integers(WEIGHT_MIN, WEIGHT_MAX, n, dtype=np.int32, endpoint=True)
    if draw(st.booleans()):
        weights = rng.choice([WEIGHT_MIN + 1, -5, 0, 7, WEIGHT_MAX], n).astype(np.int32)
    counts = rng.choice([1.0, 2.5, 10.0], n) if draw(st.booleans()) else np.ones(n)
    return SampledRows.of(points, weights, counts)


cube_sizes = st.integers(1, 500)

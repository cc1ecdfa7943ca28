"""Hypothesis strategies that several tests of the core share."""

from __future__ import annotations

from hypothesis import strategies as st

from pyqbeast.core.format.cube import CubeId

coordinates = st.floats(0.0, 1.0)


@st.composite
def cubes(draw, dimensions=None):
    d = draw(st.integers(1, 9)) if dimensions is None else dimensions
    return CubeId(d, tuple(draw(st.lists(st.integers(0, 2**d - 1), max_size=20))))


@st.composite
def points_with_depth(draw):
    d = draw(st.integers(1, 8))
    return draw(st.lists(coordinates, min_size=d, max_size=d)), draw(st.integers(0, 40))

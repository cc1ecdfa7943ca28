"""The axes of maps: which values lie where."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyqbeast.core.revisions.revision import Revision
from pyqbeast.plot.gather.midnights import coordinate_of
from pyqbeast.plot.gather.scales import Scale

#: How finely an axis without values is divided.
_PARTS = 64
#: Seconds of NumPy's units of time. Years and months are mean ones.
_SECONDS = {
    "Y": 31_556_952.0,
    "M": 2_629_746.0,
    "W": 604_800.0,
    "D": 86_400.0,
    "h": 3_600.0,
    "m": 60.0,
    "s": 1.0,
}
_SECONDS |= {"ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12, "fs": 1e-15, "as": 1e-18}
#: From where on numbers are drawn nearer to zero, and how much.
_FAR, _NEARER = 1e300, 2.0**-64


@dataclass(frozen=True)
class Axis:
    """One dimension of a map.

    Attributes:
        name: what it is called.
        ticks: places that have a label, ascending.
        labels: one for each of them.
        is_ordered: whether the places are those of a scale, in its order: a range of values is a range of places.
    """

    name: str
    ticks: NDArray[np.float64]
    labels: tuple[str, ...]
    is_ordered: bool


def tree_axes(revision: Revision, scales: dict[str, Scale]) -> tuple[Axis, ...]:
    """The axes of a revision's cubes: coordinates from 0 to 1, named by values where these are in order.

    Args:
        revision: the revision.
        scales: of columns whose values have an order.
    """
    axes = []
    for transformer, transformation in zip(revision.transformers, revision.transformations, strict=True):
        scale = scales.get(transformer.column)
        coordinate = coordinate_of(transformer, transformation)
        places = np.array([coordinate(value) for value in scale.numbers]) if scale else None
        if scale and places is not None and places[0] < places[-1] and (np.diff(places) >= 0).all():
            axes.append(Axis(transformer.column, np.clip(places, 0.0, 1.0), scale.labels, is_ordered=True))
        else:
            places = np.arange(_PARTS + 1) / _PARTS
            labels = tuple(f"{place:.4g}" for place in places)
            axes.append(Axis(f"{transformer.spec}, coordinate", places, labels, is_ordered=False))
    return tuple(axes)


def half_cell(scale: Scale, unit: str | None) -> float:
    """Half of what a cell takes on the axis of a scale; 0 where cells are points.

    Args:
        scale: of the axis.
        unit: in which NumPy counts the times of the cells, None where they have none.
    """
    value = scale.values[0]
    if isinstance(value, (int, str)):
        return 0.5
    return _SECONDS[unit] / 2 if unit and not isinstance(value, float) else 0.0


def value_places(values: Sequence[Any], scale: Scale) -> NDArray[np.float64]:
    """Where values of a scale lie on an axis: numbers and times as they are, texts by their order.

    Numbers near the largest doubles lie nearer to zero, for whoever draws them works out distances and margins.
    """
    start, end = scale.values[0], scale.values[-1]
    if isinstance(start, str):
        return np.array([bisect_left(scale.values, value) for value in values], np.float64)
    if isinstance(start, (int, float)):
        unit = _NEARER if max(-start, end) > _FAR else 1.0
        return np.array([float(value) * unit for value in values], np.float64)
    return np.array([(value - start).total_seconds() for value in values], np.float64)

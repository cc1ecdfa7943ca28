"""Fragments in groups, so that only those of one group may overwrite each other's cells.

Only footers are read for that, and of dimensions of floats the fragments' statistics.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import numpy as np

from pyqbeast.tiledb.format.column import Mask
from pyqbeast.tiledb.format.domain import MBR, MBRs
from pyqbeast.tiledb.format.field import Field
from pyqbeast.tiledb.read.fragment import Fragment, as_read


def those_in(fragments: Sequence[Fragment], box: MBR | None, dimensions: Sequence[Field]) -> list[Fragment]:
    """The fragments that may have cells in a box."""
    with_cells = _with_cells(fragments)
    if box is None or not with_cells:
        return list(fragments)
    # In a dimension in which the box is open it does not matter what the domains are.
    sides = zip(dimensions, box.ranges, strict=True)
    bounded = {d.name for d, side in sides if side.low is not None or side.high is not None}
    meets = _domains(with_cells, dimensions, bounded).intersects(box)
    outside = {fragment for fragment, met in zip(with_cells, meets, strict=True) if not met}
    return [fragment for fragment in fragments if fragment not in outside]


def overlapping(fragments: Sequence[Fragment], dimensions: Sequence[Field]) -> list[list[Fragment]]:
    """The groups, each in the order of its fragments' times.

    A fragment is compared only with those that begin, in the first dimension, after it begins and before it ends.
    """
    with_cells = _with_cells(fragments)
    # A fragment alone overlaps no other, whatever its domain is.
    compared = {d.name for d in dimensions} if len(with_cells) > 1 else set()
    labels = _labels(_domains(with_cells, dimensions, compared)) if with_cells else []
    label_of = dict(zip(with_cells, labels, strict=True))
    groups: dict[object, list[Fragment]] = {}
    for fragment in fragments:
        groups.setdefault(label_of.get(fragment, fragment), []).append(fragment)
    return [sorted(group, key=lambda f: (f.name.start, f.name.text)) for group in groups.values()]


def _with_cells(fragments: Sequence[Fragment]) -> list[Fragment]:
    return [fragment for fragment in fragments if fragment.footer.non_empty_domain is not None]


def _domains(fragments: Sequence[Fragment], dimensions: Sequence[Field], compared: AbstractSet[str]) -> MBRs:
    """The rectangles around the fragments' cells as these are read, in the dimensions that are compared."""

    def told(dimension: Field) -> Mask:
        told_of = [dimension.name not in compared or f.has_numbers_alone(dimension) for f in fragments]
        return np.array(told_of, dtype=bool)

    domains = [f.footer.non_empty_domain for f in fragments]
    return as_read(MBRs.of([d for d in domains if d is not None], dimensions), dimensions, told)


def _labels(boxes: MBRs) -> list[int]:
    """A number for each box, the same for those that are joined by a chain of boxes that overlap."""
    order = np.argsort(boxes.lows[0], kind="stable")
    boxes = boxes.take(order)
    ends = np.searchsorted(boxes.lows[0], boxes.highs[0], side="right")
    labels = np.arange(len(boxes))
    for i, end in enumerate(ends.tolist()):
        later = np.arange(i + 1, end)
        met = np.unique(labels[later[boxes.take(later).intersects(boxes[i])]])
        if met.size and not (met == labels[i]).all():
            labels[np.isin(labels, met)] = labels[i]
    found = np.empty(len(boxes), dtype=np.intp)
    found[order] = labels
    result: list[int] = found.tolist()
    return result

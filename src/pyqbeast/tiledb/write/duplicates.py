"""Cells that fragments of one time have twice: found range by range, before any of them is seen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.tiledb.format.column import take
from pyqbeast.tiledb.format.domain import MBR, Range1D
from pyqbeast.tiledb.read.array import Array
from pyqbeast.tiledb.read.fragment import Fragment
from pyqbeast.tiledb.read.groups import overlapping
from pyqbeast.tiledb.read.order import last_of_equals, row_major, sort_keys
from pyqbeast.tiledb.read.predicate import box_mask
from pyqbeast.tiledb.read.prune import tiles_in_box
from pyqbeast.tiledb.read.request import Request
from pyqbeast.tiledb.read.split import ranges_of
from pyqbeast.tiledb.read.tile_data import read_column
from pyqbeast.tiledb.write.global_order import NO_DUPLICATES


def refuse_duplicates(array: Array, names: Sequence[str]) -> None:
    """Check that staged fragments of one time have no coordinates in common.

    Raises:
        InvalidInputError: they have, and chance would decide which cell wins.
    """
    staged = [array.fragment(name) for name in names]
    for group in overlapping(staged, array.schema.dimension_fields):
        if len(group) > 1:
            _refuse_duplicates_of(array, group)


def _refuse_duplicates_of(array: Array, group: Sequence[Fragment]) -> None:
    """Each tile is read once, for the first range that it reaches; its cells behind that wait for theirs.

    A comparison copies all that wait. So the next one comes when as many cells were read as waited, and all copies
    together are no more than three times the cells.
    """
    dimensions = array.schema.dimension_fields
    unread = {fragment: np.ones(fragment.tile_count, dtype=bool) for fragment in group}
    parts = [{d.name: pa.array([], d.raw_type) for d in dimensions}]
    waiting = fresh = 0
    boxes = ranges_of(group, Request(array.schema, ()), 1)
    for box in boxes:
        for fragment, mask in unread.items():
            tiles = np.flatnonzero(mask & tiles_in_box(fragment, box))
            mask[tiles] = False
            if tiles.size:
                parts.append({d.name: read_column(fragment, d.name, tiles) for d in dimensions})
                fresh += int(fragment.tile_cells(tiles).sum())
        if fresh < waiting and box is not boxes[-1]:
            continue
        cells = {d.name: pa.concat_arrays([part[d.name] for part in parts]) for d in dimensions}
        # Ranges that were passed over are compared with this one.
        reached = MBR((Range1D(None, box.ranges[0].high), *box.ranges[1:]))
        inside = box_mask(reached, dimensions, cells)
        due, later = np.flatnonzero(inside), np.flatnonzero(~inside)
        keys = sort_keys([take(cells[d.name], due) for d in dimensions], dimensions)
        if not last_of_equals(keys, row_major(keys)).all():
            raise InvalidInputError(f"{array.uri}: two tasks wrote the same coordinates, {NO_DUPLICATES}")
        parts = [{name: take(column, later) for name, column in cells.items()}]
        waiting, fresh = later.size, 0

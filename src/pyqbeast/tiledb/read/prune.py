"""Which tiles may hold cells that a reader asks for, from R-trees and from least and greatest values.

Not every stored statistic can be trusted. What is used, and why the rest is not:

- floats: only where the tile's sum is finite and below the largest float, because a NaN in the tile makes
  least and greatest values wrong, and makes the sum NaN; sums stop at their first overflow;
- scaled floats: never, the values are those before scaling, also in the R-tree;
- coordinates that are floats: as floats, but taken for numbers where no sums are stored (`Fragment.leaves`);
- variable ASCII: up to a NUL only, where the writer's comparison stopped;
- CHAR, UTF-8, bytes and cells of several values: never, there are none or they stop at a NUL;
- a column that took nulls and takes none any more: never, because it shows what is stored under them, and the
  writer left that out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pyqbeast.tiledb.datatypes import Datatype
from pyqbeast.tiledb.errors import ArrayFormatError
from pyqbeast.tiledb.format.column import Mask
from pyqbeast.tiledb.format.domain import MBR
from pyqbeast.tiledb.format.field import Field
from pyqbeast.tiledb.format.schema import ArraySchema
from pyqbeast.tiledb.format.statistics import are_of_numbers
from pyqbeast.tiledb.read.fragment import Fragment
from pyqbeast.tiledb.read.predicate import Predicate
from pyqbeast.tiledb.read.values import raw_value


def tiles_in_box(fragment: Fragment, box: MBR | None) -> Mask:
    """Which tiles of a sparse fragment may hold cells of a box."""
    leaves = fragment.leaves if box is not None else None
    if box is None or leaves is None:
        return np.ones(fragment.tile_count, dtype=bool)
    return leaves.intersects(box)


def tiles_matching(fragment: Fragment, predicates: Sequence[Predicate], schema: ArraySchema) -> Mask:
    """Which tiles of a sparse fragment may hold cells that satisfy all predicates.

    Args:
        fragment: the fragment.
        predicates: what cells must satisfy.
        schema: the array's schema at the time that is read.
    """
    keep = np.ones(fragment.tile_count, dtype=bool)
    for predicate in predicates:
        stored = fragment.fields.get(predicate.column)
        if stored is not None and not (stored[0].nullable and not schema.fields[predicate.column].nullable):
            keep &= _tiles_matching(fragment, predicate)
    return keep


def _tiles_matching(fragment: Fragment, predicate: Predicate) -> Mask:
    field = fragment.fields[predicate.column][0]
    if field.is_dimension:
        leaves = fragment.leaves
        if leaves is None:
            return np.ones(fragment.tile_count, dtype=bool)
        index = fragment.schema.dimension_fields.index(field)
        return predicate.may_match(field, leaves.lows[index], leaves.highs[index])
    if not has_trusted_bounds(field) or (mins := fragment.tile_mins(field.name)) is None:
        return np.ones(fragment.tile_count, dtype=bool)
    maxs = fragment.tile_maxs(field.name)
    lows, highs = mins.typed(field), maxs.typed(field) if maxs else np.zeros(0)
    if not lows.size == highs.size == fragment.tile_count:
        raise ArrayFormatError(
            "there is not one least and greatest value per tile", file=fragment.metadata_path
        )
    if field.is_var:
        return _may_match_ascii(predicate, field, lows, highs)
    return predicate.may_match(field, lows, highs) | ~trusted_tiles(fragment, field)


def has_trusted_bounds(field: Field) -> bool:
    """Whether least and greatest values of an attribute can be trusted at all."""
    if field.is_rounded:
        return False
    if field.is_var:
        return field.datatype is Datatype.STRING_ASCII
    kind = field.datatype
    return field.cell_val_num == 1 and (kind.is_number or kind.unit is not None)


def trusted_tiles(fragment: Fragment, field: Field) -> Mask:
    """Tiles whose least and greatest values can be trusted: not where numbers are NaN, infinite or too large to add."""
    if not field.datatype.is_float:
        return np.ones(fragment.tile_count, dtype=bool)
    sums = fragment.tile_sums(field.name)
    values = sums.typed(field) if sums else np.zeros(0)
    if values.size != fragment.tile_count:
        return np.zeros(fragment.tile_count, dtype=bool)
    return are_of_numbers(values)


def _may_match_ascii(
    predicate: Predicate, field: Field, lows: npt.NDArray[Any], highs: npt.NDArray[Any]
) -> Mask:
    """As `Predicate.may_match`, for the part of each text before a NUL.

    Cutting texts there never reverses their order.
    """
    raw = [raw_value(value, field) for value in predicate.values]
    if any(value is None for value in raw):
        return np.ones(len(lows), dtype=bool)
    cut = [value.partition(b"\0")[0] for value in raw]
    shorter = Predicate(predicate.column, predicate.operator, cut if predicate.operator == "in" else cut[0])
    return shorter.may_match(field, _before_nul(lows), _before_nul(highs))


def _before_nul(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    out = np.empty(len(values), dtype=object)
    out[:] = [value.partition(b"\0")[0] for value in values]
    return out

"""Least and greatest value, sum and null count of tiles and fragments, as readers rely on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyqbeast.tiledb.cursor import u64
from pyqbeast.tiledb.datatypes import Datatype
from pyqbeast.tiledb.format.column import numbers
from pyqbeast.tiledb.format.field import Field
from pyqbeast.tiledb.format.sections import FieldStatistics, TileMinsMaxs, TileNullCount, TileSums

_LARGEST = np.finfo(np.float64).max


@dataclass(frozen=True)
class TileStatistics:
    """The four sections of a column, and its entry in the fragment's statistics."""

    mins: TileMinsMaxs
    maxs: TileMinsMaxs
    sums: TileSums
    null_counts: TileNullCount
    fragment: FieldStatistics


NO_STATISTICS = TileStatistics(
    TileMinsMaxs(),
    TileMinsMaxs(),
    TileSums(np.zeros(0, "<u8")),
    TileNullCount(np.zeros(0, "<u8")),
    FieldStatistics(),
)


def tile_statistics(tiles: list[pa.Array], field: Field) -> TileStatistics:
    """The statistics of a column.

    Args:
        tiles: the raw cells of each tile (without padding).
        field: the column. Dimensions have sums alone: the R-tree holds their ranges.
    """
    nulls = np.array([tile.null_count for tile in tiles] if field.nullable else [], dtype="<u8")
    mins = maxs = TileMinsMaxs()
    sums, low, high, total = np.zeros(0, "<u8"), b"", b"", 0
    if has_sum(field):
        sums, total = _sums(tiles, field)
    if has_bounds(field):
        mins, maxs, low, high = _bounds(tiles, field)
    fragment = FieldStatistics(low, high, total, int(nulls.sum()))
    return TileStatistics(mins, maxs, TileSums(sums), TileNullCount(nulls), fragment)


def has_bounds(field: Field) -> bool:
    """Whether the format keeps least and greatest values of such a column."""
    kind = field.datatype
    if field.is_dimension:
        return False
    if kind in (Datatype.CHAR, Datatype.STRING_ASCII):
        return True
    return field.cell_val_num == 1 and not (kind.is_text or kind.is_bytes)


def has_sum(field: Field) -> bool:
    """Whether the format keeps sums of such a column."""
    kind = field.datatype
    return field.cell_val_num == 1 and not (kind.is_text or (kind.is_bytes and kind is not Datatype.CHAR))


def are_of_numbers(sums: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Which sums of floats tell that all that was added are numbers.

    A NaN makes its sum one. One that is infinite or too large tells nothing, as adding stops there.
    """
    told: npt.NDArray[np.bool_] = np.isfinite(sums) & (np.abs(sums) < _LARGEST)
    return told


def _valid(tile: pa.Array) -> pa.Array:
    return tile.drop_null() if tile.null_count else tile


def _values(tile: pa.Array, field: Field) -> npt.NDArray[Any]:
    """The numbers that are not null; single characters count as signed bytes."""
    if field.datatype is Datatype.CHAR:
        return np.frombuffer(b"".join(_valid(tile).to_pylist()), dtype=np.int8)
    return numbers(_valid(tile))


def _sums(tiles: list[pa.Array], field: Field) -> tuple[npt.NDArray[np.uint64], int]:
    """The bits of each tile's sum, and those of the fragment's. Sums out of range stay at its end."""
    if field.datatype.is_float:
        with np.errstate(over="ignore", invalid="ignore"):
            floats = np.array(
                [_values(tile, field).sum(dtype=np.float64) for tile in tiles], dtype=np.float64
            )
            whole = np.array([floats.sum()])
        return _bounded(floats).view("<u8"), int(_bounded(whole).view("<u8")[0])
    exact = [_exact_sum(_values(tile, field)) for tile in tiles]
    signed = field.datatype.dtype.kind == "i" or field.datatype is Datatype.CHAR
    clamped = [_clamped(total, signed) for total in exact]
    return np.array(clamped, dtype="<u8"), _clamped(sum(exact), signed)


def _bounded(sums: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.where(np.isinf(sums), np.copysign(_LARGEST, sums), sums)


def _exact_sum(values: npt.NDArray[Any]) -> int:
    if values.dtype.itemsize < 8:
        return int(values.sum(dtype=np.int64))
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())


def _clamped(total: int, signed: bool) -> int:
    """The 64 bits of a sum."""
    low, high = (-(2**63), 2**63 - 1) if signed else (0, 2**64 - 1)
    return min(max(total, low), high) & (2**64 - 1)


def _bounds(tiles: list[pa.Array], field: Field) -> tuple[TileMinsMaxs, TileMinsMaxs, bytes, bytes]:
    pairs = [_tile_bounds(_valid(tile), field) for tile in tiles]
    known = [pair for pair in pairs if pair is not None]
    nothing = b"" if field.is_var else bytes(field.cell_size)
    lows, highs = ([nothing if pair is None else pair[end] for pair in pairs] for end in (0, 1))
    if not known:
        return _section(lows, field), _section(highs, field), nothing, nothing
    ends = [end for pair in known for end in pair]
    if pa.types.is_primitive(field.raw_type):
        whole = _tile_bounds(pa.array(np.frombuffer(b"".join(ends), dtype=field.datatype.dtype)), field)
    else:
        whole = _tile_bounds(pa.array(ends, field.raw_type), field)
    assert whole is not None
    return _section(lows, field), _section(highs, field), whole[0], whole[1]


def _tile_bounds(tile: pa.Array, field: Field) -> tuple[bytes, bytes] | None:
    """The least and greatest value as stored, `None` where there is none. A NaN is neither."""
    if not len(tile):
        return None
    if field.is_var or field.datatype.is_bytes or field.datatype.is_text:
        bounds = pc.min_max(tile).as_py()
        return bounds["min"], bounds["max"]
    values = numbers(tile)
    if field.datatype.is_float:
        return np.fmin.reduce(values).tobytes(), np.fmax.reduce(values).tobytes()
    return values.min().tobytes(), values.max().tobytes()


def _section(values: list[bytes], field: Field) -> TileMinsMaxs:
    if not field.is_var:
        return TileMinsMaxs(b"".join(values))
    starts = np.cumsum([0, *map(len, values)])[:-1]
    return TileMinsMaxs(u64(*starts.tolist()), b"".join(values))

"""The sections of a fragment's metadata file that hold one value per tile, and the fragment's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from pyqbeast.tiledb.cursor import Bytes, Cursor, u64
from pyqbeast.tiledb.errors import ArrayFormatError
from pyqbeast.tiledb.format.column import cut
from pyqbeast.tiledb.format.field import Field

PerTile = TypeVar("PerTile", bound="_PerTile")


@dataclass(frozen=True, eq=False)
class _PerTile:
    """A count and as many 64-bit integers.

    Attributes:
        values: one per tile.
    """

    values: npt.NDArray[np.uint64]

    @classmethod
    def parse(cls: type[PerTile], payload: Bytes, file: str) -> PerTile:
        """Read the section from the payload of its generic tile."""
        cursor = Cursor(payload, file)
        return cls(cursor.u64s(cursor.u64("number of tiles"), "values"))

    def to_bytes(self) -> bytes:
        """The section's payload."""
        return u64(self.values.size) + self.values.astype("<u8").tobytes()


class TileOffsets(_PerTile):
    """Where each tile begins in a data file."""


class TileSizes(_PerTile):
    """The bytes of each tile of a file of variable cells, before filtering."""


class TileNullCount(_PerTile):
    """Null cells of each tile."""


class TileSums(_PerTile):
    """The sum of each tile, as the bits of a 64-bit integer or float."""

    def typed(self, field: Field) -> npt.NDArray[Any]:
        """The sums as numbers: floats, or integers of the field's signedness."""
        dtype = "<f8" if field.datatype.is_float else "<i8" if field.datatype.dtype.kind == "i" else "<u8"
        return self.values.view(dtype)


@dataclass(frozen=True)
class TileMinsMaxs:
    """The least, or the greatest, value of each tile.

    Attributes:
        fixed: one value per tile; for fields that vary in length 64-bit offsets into `var`.
        var: the values of such fields, one after another.
    """

    fixed: bytes = b""
    var: bytes = b""

    @classmethod
    def parse(cls, payload: Bytes, file: str) -> TileMinsMaxs:
        """Read the section from the payload of its generic tile."""
        cursor = Cursor(payload, file)
        # Both sizes come first, and both are bytes.
        fixed, var = cursor.u64("fixed size"), cursor.u64("var size")
        return cls(bytes(cursor.take(fixed, "fixed values")), bytes(cursor.take(var, "var values")))

    def to_bytes(self) -> bytes:
        """The section's payload."""
        return u64(len(self.fixed), len(self.var)) + self.fixed + self.var

    def typed(self, field: Field) -> npt.NDArray[Any]:
        """One value per tile: numbers, or bytes objects. Empty where the field has none."""
        if field.is_var:
            starts = np.frombuffer(self.fixed[: len(self.fixed) // 8 * 8], "<u8").tolist()
            pieces = cut(self.var, starts, field.name)
        else:
            if len(self.fixed) % field.cell_size:
                raise ArrayFormatError(
                    f"{len(self.fixed)} bytes of values of {field.cell_size}", field=field.name
                )
            if field.cell_val_num == 1:
                return np.frombuffer(self.fixed, dtype=field.datatype.dtype)
            pieces = cut(self.fixed, [*range(0, len(self.fixed), field.cell_size)])
        out = np.empty(len(pieces), dtype=object)
        out[:] = pieces
        return out


@dataclass(frozen=True)
class FieldStatistics:
    """Least and greatest value (as stored), sum (as 64 bits) and null count of a field in a fragment."""

    min: bytes = b""
    max: bytes = b""
    sum: int = 0
    null_count: int = 0


@dataclass(frozen=True)
class TileFragmentMinMaxSumNullCount:
    """The statistics of a whole fragment, one entry per slot."""

    fields: tuple[FieldStatistics, ...]

    @classmethod
    def parse(cls, payload: Bytes, file: str, slots: int) -> TileFragmentMinMaxSumNullCount:
        """Read the section from the payload of its generic tile."""
        cursor = Cursor(payload, file)
        fields = []
        for _ in range(slots):
            low = bytes(cursor.take(cursor.u64("min size"), "min"))
            high = bytes(cursor.take(cursor.u64("max size"), "max"))
            fields.append(FieldStatistics(low, high, cursor.u64("sum"), cursor.u64("null count")))
        return cls(tuple(fields))

    def to_bytes(self) -> bytes:
        """The section's payload."""
        return b"".join(
            u64(len(f.min)) + f.min + u64(len(f.max)) + f.max + u64(f.sum, f.null_count) for f in self.fields
        )


@dataclass(frozen=True)
class TileProcessedConditions:
    """The delete conditions that were applied when the fragment was made, by their files' names."""

    names: tuple[str, ...] = ()

    @classmethod
    def parse(cls, payload: Bytes, file: str) -> TileProcessedConditions:
        """Read the section from the payload of its generic tile."""
        cursor = Cursor(payload, file)
        count = cursor.u64("number of conditions")
        if count * 8 > cursor.remaining:
            raise cursor.error(f"{count} names in {cursor.remaining} bytes", "conditions")
        return cls(tuple(cursor.text(cursor.u64("name size"), "name") for _ in range(count)))

    def to_bytes(self) -> bytes:
        """The section's payload."""
        raw = [name.encode("utf-8") for name in self.names]
        return u64(len(raw)) + b"".join(u64(len(name)) + name for name in raw)

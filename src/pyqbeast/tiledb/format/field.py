"""Fields: what an attribute, a dimension and the three time columns of a fragment have in common."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
import pyarrow as pa

from pyqbeast.tiledb.datatypes import VAR_NUM, Datatype
from pyqbeast.tiledb.filters.base import ChunkContext
from pyqbeast.tiledb.filters.pipeline import NO_FILTERS, FilterPipeline
from pyqbeast.tiledb.filters.scale import FloatScale


class FileKind(Enum):
    """What a data file of a column holds. The value is its word in the footer's lists."""

    #: The cells, or the offsets of cells that vary in length.
    FIXED = "file"
    #: The bytes of cells that vary in length.
    VAR = "var"
    #: Which cells are no null.
    VALIDITY = "validity"

    @property
    def offsets_section(self) -> str:
        """The section of the metadata file that says where its tiles begin (see `SLOT_SECTIONS`)."""
        return "tile_offsets" if self is FileKind.FIXED else f"tile_{self.value}_offsets"

    def file_name(self, stem: str) -> str:
        """The file of a column with this stem, such as `a0`."""
        return f"{stem}.tdb" if self is FileKind.FIXED else f"{stem}_{self.value}.tdb"


@dataclass(frozen=True)
class Field:
    """One column of an array.

    Attributes:
        name: the name.
        datatype: the type of one value.
        cell_val_num: values per cell; `VAR_NUM` where that varies.
        nullable: whether cells may be null.
        filters: the filters of the values, as applied (a dimension without any has the schema's).
        is_dimension: whether it is a dimension.
        fill: the value of cells that nobody wrote, as stored.
        fill_valid: whether such cells are valid (and not null).
        enumeration: the name of the enumeration that its values number, or "".
        order: 0, or 1 or 2 where the values of all cells rise or fall (the labels of a dimension do).
    """

    name: str
    datatype: Datatype
    cell_val_num: int = 1
    nullable: bool = False
    filters: FilterPipeline = NO_FILTERS
    is_dimension: bool = False
    fill: bytes = b""
    fill_valid: bool = False
    enumeration: str = ""
    order: int = 0

    @property
    def is_var(self) -> bool:
        """Whether cells vary in length."""
        return self.cell_val_num == VAR_NUM

    @property
    def cell_size(self) -> int:
        """Bytes of a cell, or of one value where cells vary in length."""
        return self.datatype.size * (1 if self.is_var else self.cell_val_num)

    @property
    def file_kinds(self) -> list[FileKind]:
        """The data files that it has in a fragment."""
        has = {FileKind.FIXED: True, FileKind.VAR: self.is_var, FileKind.VALIDITY: self.nullable}
        return [kind for kind in FileKind if has[kind]]

    def context(self, version: int) -> ChunkContext:
        """What the field's filters see in a fragment of this version."""
        return ChunkContext(self.datatype, self.cell_val_num, version)

    def is_text_encoded(self, version: int) -> bool:
        """Whether the first filter keeps the cells' lengths, so that the offsets file holds nothing."""
        return self.filters.is_text(self.context(version))

    @property
    def is_rounded(self) -> bool:
        """Whether values change on the way to the disk and back, because a float scale rounds them."""
        return any(isinstance(step, FloatScale) for step in self.filters.filters)

    @property
    def has_counted_nulls(self) -> bool:
        """Whether TileDB counts the nulls of each tile: not of cells that vary in length, nor of texts beyond ASCII."""
        is_beyond_ascii = self.datatype is Datatype.STRING_UTF8 or self.datatype.is_wide_text
        return self.nullable and not self.is_var and not is_beyond_ascii

    @property
    def has_nulls(self) -> bool:
        """Whether readers may get nulls: what is no time, such as that of a cell that nobody wrote, is one."""
        return self.nullable or (pa.types.is_temporal(self.arrow_type) and not self.is_dimension)

    @property
    def arrow_type(self) -> pa.DataType:
        """The type of the column that readers get."""
        kind = self.datatype
        if self.is_var:
            if kind.is_text:
                return pa.large_string()
            return pa.large_binary() if kind.is_bytes else pa.large_list(kind.arrow())
        if kind.is_bytes or kind.is_text:
            return pa.binary(self.cell_size)
        return kind.arrow() if self.cell_val_num == 1 else pa.list_(kind.arrow(), self.cell_val_num)

    @property
    def raw_type(self) -> pa.DataType:
        """The type of the column while it is read: numbers, or bytes as stored."""
        if self.is_var:
            return pa.large_binary()
        if self.cell_val_num == 1 and not (self.datatype.is_bytes or self.datatype.is_text):
            return pa.from_numpy_dtype(self.datatype.dtype)
        return pa.binary(self.cell_size)

    @property
    def fill_bytes(self) -> bytes:
        """The fill value of one cell. The default of text and bytes, one NUL (in wide text of its size), is nothing."""
        if self.is_var:
            is_nothing = self.fill == bytes(self.datatype.size) and (
                self.datatype.is_text or self.datatype.is_bytes
            )
            return b"" if is_nothing else self.fill
        return (
            self.fill if len(self.fill) == self.cell_size else default_fill(self.datatype) * self.cell_val_num
        )


def default_fill(datatype: Datatype) -> bytes:
    """The fill value of one value of this type, where the schema states none."""
    dtype = datatype.dtype
    if datatype.is_float:
        return np.array(np.nan, dtype).tobytes()
    if (
        datatype in (Datatype.CHAR, Datatype.INT8, Datatype.INT16, Datatype.INT32, Datatype.INT64)
        or datatype.unit
    ):
        return np.array(-128 if dtype.kind == "u" else np.iinfo(dtype).min).astype(dtype).tobytes()
    if datatype in (Datatype.UINT8, Datatype.UINT16, Datatype.UINT32, Datatype.UINT64):
        return np.array(np.iinfo(dtype).max, dtype).tobytes()
    return bytes(dtype.itemsize)

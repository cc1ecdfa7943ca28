"""What a filter is: a reversible step between the cells of a chunk and its bytes on disk."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.tiledb.cursor import Cursor, u32
from pyqbeast.tiledb.datatypes import VAR_NUM, Datatype
from pyqbeast.tiledb.errors import ArrayFormatError

Octets = npt.NDArray[np.uint8]

#: The format version of what is written.
WRITTEN_VERSION = 22


@dataclass(frozen=True)
class ChunkContext:
    """What a filter has to know of the cells it sees.

    Attributes:
        datatype: the type of the values that enter the filter when writing.
        cell_val_num: values per cell of the field.
        version: the format version of the fragment.
        limit: the most bytes that decoding the parts of a chunk may give; more is taken for damage.
        column_type: the type of the column's own values, where a filter before has changed it.
    """

    datatype: Datatype
    cell_val_num: int = 1
    version: int = WRITTEN_VERSION
    limit: int = 2**31
    column_type: Datatype | None = None

    @property
    def cell_size(self) -> int:
        """Bytes of a cell, or of a value where cells vary in length."""
        return self.datatype.size * (1 if self.cell_val_num == VAR_NUM else self.cell_val_num)

    @property
    def of_column(self) -> ChunkContext:
        """The same for the column's own values, whatever the filters before made of them."""
        return self if self.column_type is None else replace(self, datatype=self.column_type)

    def of_type(self, datatype: Datatype) -> ChunkContext:
        """The same for values of another type."""
        return replace(self, datatype=datatype, column_type=self.of_column.datatype)


class Filter(ABC):
    """One step of a pipeline.

    `encode` takes and gives (metadata, data) of one chunk: the metadata of a later filter is followed by
    that of the earlier ones, and `decode` peels its own off the front.
    """

    #: The number of the filter on disk, and its name in messages.
    id: int
    name: str
    #: Whether the filter works on whole values, so that it would lose the bytes of a partial one, and whether
    #: its output consists of whole values.
    needs_whole_values = False
    leaves_whole_values = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Filter) and (self.id, self.options()) == (other.id, other.options())

    def __hash__(self) -> int:
        return hash((self.id, self.options()))

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in vars(self).items() if name != "key")
        return f"{type(self).__name__}({arguments})"

    def options(self) -> bytes:
        """The options as the schema stores them."""
        return b""

    def output_type(self, datatype: Datatype) -> Datatype:
        """The type of the values that leave the filter when writing."""
        return datatype

    def needs_whole_tile(self, context: ChunkContext) -> bool:
        """Whether the filter works on cells of text and so puts a tile into a single chunk."""
        return False

    def problem(self, context: ChunkContext) -> str | None:
        """Why no new array can have the filter at this place ("does not ..."), `None` where it can."""
        return None

    @abstractmethod
    def decode(self, metadata: memoryview, data: Octets, context: ChunkContext) -> tuple[memoryview, Octets]:
        """Undo the filter on one chunk."""

    @abstractmethod
    def encode(self, metadata: bytes, data: Octets, context: ChunkContext) -> tuple[bytes, Octets]:
        """Apply the filter to one chunk."""


def octets(data: bytes | memoryview | npt.NDArray[Any]) -> Octets:
    """Any buffer as a flat array of bytes, without a copy where it is contiguous."""
    if isinstance(data, np.ndarray):
        return np.ascontiguousarray(data).reshape(-1).view(np.uint8)
    return np.frombuffer(data, dtype=np.uint8)


def values(data: Octets, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """The whole values in `data`; bytes of a last partial one are left out."""
    kind = np.dtype(dtype)
    whole = data[: data.size // kind.itemsize * kind.itemsize]
    if whole.ctypes.data % kind.itemsize:
        whole = whole.copy()
    return whole.view(kind)


def whole_values(data: Octets, dtype: npt.DTypeLike, name: str) -> npt.NDArray[Any]:
    """The values in `data`. The last one must not be partial, as the filter `name` would lose its bytes.

    Raises:
        InvalidInputError: the last one is.
    """
    kind = np.dtype(dtype)
    if data.size % kind.itemsize:
        raise InvalidInputError(
            f"the filter {name} takes values of {kind.itemsize} bytes, and those before it leave {data.size} bytes"
        )
    return values(data, kind)


def read_parts(metadata: memoryview, data: Octets) -> tuple[list[Octets], memoryview]:
    """The parts that a shuffling filter kept apart, and the metadata of the filters before it."""
    cursor = Cursor(metadata)
    sizes = cursor.array("<u4", cursor.u32("number of parts"), "part sizes").astype(np.int64)
    if int(sizes.sum()) != data.size:
        raise ArrayFormatError(f"parts of {sizes.sum()} bytes in a chunk of {data.size}")
    return np.split(data, np.cumsum(sizes)[:-1]) if sizes.size else [data], cursor.rest()


def part_header(*sizes: int) -> bytes:
    """The metadata of a filter that keeps parts of these sizes apart."""
    return u32(len(sizes), *sizes)


def is_text_mode(context: ChunkContext, ascii_since: int) -> bool:
    """Whether the text filters keep the cells' lengths themselves in a field of this type and version."""
    if context.cell_val_num != VAR_NUM:
        return False
    since = {Datatype.STRING_ASCII: ascii_since, Datatype.STRING_UTF8: 17}.get(context.datatype)
    return since is not None and context.version >= since

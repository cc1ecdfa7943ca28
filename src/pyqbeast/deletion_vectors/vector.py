"""The rows of a data file that are deleted: a set of row indexes."""

from __future__ import annotations

import operator
import re
from collections.abc import Collection, Iterable, Iterator

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap64

from pyqbeast.core.arguments import check_type
from pyqbeast.core.errors import FormatError, InvalidInputError
from pyqbeast.core.location import Location
from pyqbeast.deletion_vectors import bitmaps, vector_files, vector_rules
from pyqbeast.deletion_vectors.vector_files import FsspecStore, Store
from pyqbeast.delta_log.descriptor import DeletionVectorDescriptor
from pyqbeast.delta_log.locations import Options

_PREFIX = re.compile("[0-9A-Za-z]*")


class DeletionVector(Collection[int]):
    """An immutable set of row indexes, counted from 0 in the order of the data file.

    `len`, `in`, and iteration in ascending order; equal by the rows. Raises `InvalidInputError` for what is
    no row index: numbers below 0 or over Delta's limit of 0x7FFFFFFE80000000, and what is no whole number.
    """

    def __init__(self, rows: Iterable[int] = ()) -> None:
        if isinstance(rows, range) and rows:
            # Building all of them first would take for ever.
            _check_largest(max(rows[0], rows[-1]))
        try:
            # pyroaring takes a range in one step, and would cut the fraction off anything else.
            bitmap = BitMap64(rows if isinstance(rows, range) else map(operator.index, _rows(rows)))
        except (OverflowError, TypeError) as error:
            raise InvalidInputError(f"row indexes are whole numbers from 0: {error}") from error
        if bitmap:
            _check_largest(bitmap.max())
        self._bitmap = bitmap

    @classmethod
    def from_bytes(
        cls, data: bytes | bytearray | memoryview, *, source: str = "deletion vector"
    ) -> DeletionVector:
        """The vector that `data` holds: the portable layout, or the older native one.

        `source` names the bytes in messages. Raises `FormatError` for bytes that are no vector.
        """
        check_type(data, (bytes, bytearray, memoryview), "a deletion vector is read from bytes")
        vector = cls()
        vector._bitmap = bitmaps.deserialize(bytes(data), source)
        return vector

    @classmethod
    def read(
        cls, descriptor: DeletionVectorDescriptor, table: Location, *, storage_options: Options = None
    ) -> DeletionVector:
        """The vector that `descriptor` describes, of the table at `table` (a path or an fsspec URL).

        `storage_options` go to fsspec, but for a file in another store than the table's.

        Raises `FormatError`, naming file and field, where the file is missing, truncated or altered, or holds
        other rows than the descriptor counts.
        """
        check_type(descriptor, DeletionVectorDescriptor, "a deletion vector is read by its descriptor")
        return read_from(descriptor, table, FsspecStore(table, storage_options))

    def to_array(self) -> npt.NDArray[np.int64]:
        """The row indexes, ascending."""
        # pyroaring fills an array of Python's in one step. Iterating would make a Python number of each row.
        return np.asarray(self._bitmap.to_array()).view(np.int64)

    def between(self, first: int, end: int) -> npt.NDArray[np.int64]:
        """The row indexes from `first` on and below `end`, ascending."""
        return np.asarray((self._bitmap & BitMap64(range(first, end))).to_array()).view(np.int64)

    def to_bytes(self) -> bytes:
        """The vector in the portable layout."""
        return bitmaps.serialize(self._bitmap)

    def to_inline(self) -> DeletionVectorDescriptor:
        """A descriptor that carries the vector itself; `EMPTY` for one without rows."""
        if not self:
            return DeletionVectorDescriptor.EMPTY
        return DeletionVectorDescriptor.inline_in_log(self.to_bytes(), len(self))

    @property
    def max_row_index(self) -> int | None:
        """The largest row index; None in an empty vector."""
        return self._bitmap.max() if self._bitmap else None

    def union(self, other: DeletionVector) -> DeletionVector:
        """The vector of the rows that are in either."""
        check_type(other, DeletionVector, "union takes a deletion vector")
        vector = DeletionVector()
        vector._bitmap = self._bitmap | other._bitmap
        vector._bitmap.run_optimize()
        return vector

    def __len__(self) -> int:
        return len(self._bitmap)

    def __iter__(self) -> Iterator[int]:
        return iter(self._bitmap)

    def __contains__(self, row: object) -> bool:
        try:
            index = operator.index(row)  # type: ignore[arg-type]
        except TypeError:
            return False
        return 0 <= index <= bitmaps.MAX_ROW_INDEX and index in self._bitmap

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeletionVector):
            return NotImplemented
        return self._bitmap == other._bitmap

    def __hash__(self) -> int:
        return hash((len(self), self.max_row_index))

    def __repr__(self) -> str:
        return f"<DeletionVector: {len(self)} rows>"


def _rows(rows: Iterable[int]) -> Iterable[int]:
    """The same rows. Python iterates over bytes as numbers, and counts with booleans."""
    if isinstance(rows, (bytes, bytearray, memoryview)):
        raise TypeError("bytes hold a whole vector, which from_bytes reads")
    listed = rows if isinstance(rows, Collection) else list(rows)
    if bool in set(map(type, listed)):
        raise TypeError("a boolean is none; the rows of a mask are those where it is true")
    return listed


def _check_largest(row: int) -> None:
    if row > bitmaps.MAX_ROW_INDEX:
        raise InvalidInputError(f"row index {row} is over Delta's limit {bitmaps.MAX_ROW_INDEX}")


def read_from(descriptor: DeletionVectorDescriptor, table: Location, store: Store) -> DeletionVector:
    """`DeletionVector.read` from a store."""
    if descriptor == DeletionVectorDescriptor.EMPTY:
        return DeletionVector()
    if descriptor.is_inline:
        source, data = f"inline deletion vector of {table}", descriptor.inline_data()
    else:
        path = descriptor.absolute_path(table)
        source = f"deletion vector file {path} at byte {descriptor.offset or 0}"
        data = vector_files.read_bytes(path, descriptor.offset or 0, descriptor.size_in_bytes, store)
    vector = DeletionVector.from_bytes(data, source=source)
    wrong = vector_rules.wrong_count(descriptor, len(vector))
    if wrong := wrong or vector_rules.wrong_largest(descriptor, vector.max_row_index):
        raise FormatError(f"{source}: {wrong}")
    return vector


def write_vectors(
    table: Location,
    vectors: Iterable[DeletionVector],
    *,
    random_prefix: str = "",
    store: Store | None = None,
    storage_options: Options = None,
) -> list[DeletionVectorDescriptor]:
    """Write `vectors` into one new file below `table` and return a descriptor for each, in order.

    The file lies in the folder `random_prefix` of the table if one is given. Nothing refers to it until a
    commit names the descriptors. `store` is what the table lies in; by default one that fsspec knows, which
    `storage_options` go to. No vectors, no file. Raises `InvalidInputError` for what is no list of vectors, and where
    the file would pass 2 GiB; `StorageError` where it cannot be written.
    """
    vectors = list(vectors) if isinstance(vectors, Iterable) else [vectors]
    if not all(isinstance(vector, DeletionVector) for vector in vectors):
        raise InvalidInputError("write_vectors takes a list of deletion vectors, also of one")
    check_type(random_prefix, str, "the prefix of a file of deletion vectors is a text")
    if not _PREFIX.fullmatch(random_prefix):
        raise InvalidInputError(
            f"the prefix of a file of deletion vectors is letters and digits, not {random_prefix!r}"
        )
    if not vectors:
        return []
    file_id, positions = vector_files.write_bytes(
        table,
        [vector.to_bytes() for vector in vectors],
        random_prefix,
        store or FsspecStore(table, storage_options),
    )
    return [
        DeletionVectorDescriptor.on_disk_with_relative_path(
            file_id, random_prefix, size_in_bytes=size, cardinality=len(vector), offset=offset
        )
        for vector, (offset, size) in zip(vectors, positions, strict=True)
    ]

"""A scan as a dataset of pyarrow: files that hold just what the scan gives are opened by the dataset's reader."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import dataset as ds
from pyarrow import fs as pafs

from pyqbeast.core.format.file_tags import is_of_spark
from pyqbeast.delta_log import locations
from pyqbeast.delta_log.indexed_snapshot import IndexedSnapshot
from pyqbeast.delta_log.live_file import LiveFile
from pyqbeast.delta_log.read_ahead import is_local, read_each
from pyqbeast.scanning.conditions.column_types import is_padded
from pyqbeast.scanning.conditions.file_bounds import BoundsOfFiles
from pyqbeast.scanning.conditions.predicate import Predicate
from pyqbeast.scanning.conditions.stored_columns import StoredFields
from pyqbeast.scanning.data_files import DataFiles
from pyqbeast.scanning.old_calendar import has_old_calendar

#: Programs whose statistics, in Parquet and in the log, say of a column that it has a NaN. Others leave it out.
_TELLS_NAN = "parquet-mr"


class PlainFiles:
    """The files whose rows and columns are those of the scan as they are, as a dataset.

    Its fragments know the bounds of their columns, so that a reader's filter leaves files out.
    """

    def __init__(self, data: DataFiles, whole: Collection[str], predicate: Predicate | None) -> None:
        """Of the files of a table.

        Args:
            data: the columns that the scan reads.
            whole: the paths of the files of which the scan takes all rows that are not deleted.
            predicate: the condition on their rows, which the dataset's reader will judge by bounds.
        """
        self._predicate = predicate
        self._data = data
        self._index: IndexedSnapshot = data.index
        self._schema = data.schema
        self._system, self._root = locations.open_location(self._index.location, data.storage_options)
        self._arrow_system: Any = (
            pafs.LocalFileSystem()
            if is_local(self._system)
            else pafs.PyFileSystem(pafs.FSSpecHandler(self._system))
        )
        self._format = ds.ParquetFileFormat(coerce_int96_timestamp_unit="us")
        self._whole = whole

    def among(self, files: Sequence[LiveFile]) -> list[LiveFile]:
        """Those of some files that are such. Reads footers, where the log alone does not rule a file out.

        Those of a store elsewhere are read several at once.
        """
        return list(itertools.compress(files, read_each(self._system, files, self._holds)))

    def _holds(self, file: LiveFile) -> bool:
        if (
            file.path not in self._whole
            or file.deletion_vector is not None
            or self._index.mapping_mode != "none"
            or locations.is_absolute(file.path)
            or any(map(is_padded, self._data.fields))
            or not self._are_bounds_whole(file)
        ):
            return False
        with self._data.opened(file) as footer:
            is_plain = not has_old_calendar(footer.metadata) and self._fits(footer.schema_arrow)
            if not is_plain or self._predicate is None or not self._predicate.floats:
                return is_plain
            tells_nan = footer.metadata.created_by.startswith(_TELLS_NAN)
            return tells_nan and not self._predicate.zero_groups(footer.metadata)

    def _are_bounds_whole(self, file: LiveFile) -> bool:
        """Whether every value that the condition looks at lies in the bounds that the log tells, as no NaN does."""
        if self._predicate is None:
            return True
        # Bounds of a struct, which hold its fields, are none to `BoundsOfFiles`.
        known = self._bounds([file], {path[0] for path in self._predicate.floats}).columns.values()
        return self._predicate.cases_of_nan == [] and not any(column.low.null_count for column in known)

    def dataset(self, files: Sequence[LiveFile]) -> ds.Dataset:
        """Of some of them."""
        bounds = self._bounds(files, list(filter(self._may_be_bounded, self._schema.names)))
        # Pyarrow takes a filter that holds between the bounds for true of all rows, also of a NaN outside of them.
        guarantees = bounds.guarantees([is_of_spark(file.tags) for file in files])
        fragments = [
            self._format.make_fragment(self._location(file), self._arrow_system, known)
            for file, known in zip(files, guarantees, strict=True)
        ]
        return ds.FileSystemDataset(fragments, self._schema, self._format, self._arrow_system)

    def _may_be_bounded(self, name: str) -> bool:
        """Whether bounds of a column leave the condition as it is.

        Pyarrow takes values outside of them out of a list, and looks for whole numbers among those that are left: there
        -0.0 is 0, which it is not among doubles.
        """
        is_whole = pa.types.is_integer(self._schema.field(name).type)
        return not (is_whole and self._predicate is not None and self._predicate.lists_minus_zero)

    def _bounds(self, files: Sequence[LiveFile], columns: Collection[str]) -> BoundsOfFiles:
        in_statistics = self._index.names_in_statistics
        return BoundsOfFiles(
            files,
            {name: in_statistics[name] for name in columns},
            self._schema,
            holds_lists=self._index.holds_lists,
        )

    def _location(self, file: LiveFile) -> str:
        return locations.file_location(self._root, file.path)

    def _fits(self, stored: pa.Schema) -> bool:
        """Whether the columns have their types and names, or are not there at all, and then are null."""
        fields = StoredFields(list(stored), "none")
        for field, wanted in zip(self._data.fields, self._schema, strict=True):
            at = fields.find(field)
            if at is not None and (stored.field(at).name, stored.field(at).type) != (
                wanted.name,
                wanted.type,
            ):
                return False
        return True

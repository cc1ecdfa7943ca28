"""Rows of data files: as the table has its columns today, without those that are deleted."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pyqbeast.core.errors import FormatError, StorageError, UnsupportedError
from pyqbeast.deletion_vectors.table import read_vector
from pyqbeast.deletion_vectors.vector_files import FsspecStore
from pyqbeast.delta_log import locations
from pyqbeast.delta_log.actions import is_damage
from pyqbeast.delta_log.indexed_snapshot import IndexedSnapshot
from pyqbeast.delta_log.live_file import LiveFile
from pyqbeast.delta_log.read_ahead import is_local, read_ahead
from pyqbeast.scanning.arrays import mask_array
from pyqbeast.scanning.conditions.column_types import Field, column_type, is_padded
from pyqbeast.scanning.conditions.predicate import Predicate
from pyqbeast.scanning.conditions.stored_columns import (
    StoredFields,
    conformed,
    has_dictionary_inside,
    has_ids,
)
from pyqbeast.scanning.old_calendar import has_old_calendar, refuse_old_calendar

#: Rows that are handled at once, at the most.
BATCH_ROWS = 1 << 14
#: What is made of a batch.
Part = TypeVar("Part")
_Numbers = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class DataFiles:
    """The data files of a version of a table.

    Attributes:
        index: the version.
        storage_options: what fsspec needs to open files of the table's own store.
        fields: columns in the JSON of the schema, those that a scan reads.
        sizes: how many bytes are read of files that have more, by their paths.
    """

    index: IndexedSnapshot
    storage_options: locations.Options
    fields: Sequence[Field]
    sizes: Mapping[str, int] = field(default_factory=dict)

    @property
    def schema(self) -> pa.Schema:
        """The columns that are read."""
        return pa.schema([(field["name"], column_type(field)) for field in self.fields])

    def batches(self, file: LiveFile, predicate: Predicate | None) -> Iterator[pa.RecordBatch]:
        """The rows of a file that are not deleted.

        Row groups without a row of the predicate are left out where Parquet's statistics tell it; the rows of others
        are not looked at.

        Raises:
            StorageError: the file is missing or cannot be read.
            FormatError: it is damaged, or does not hold what the table's schema says.
            UnsupportedError: it holds days of the old calendar.
        """
        with self.opened(file) as parquet:
            groups = self._row_groups(parquet, predicate)
            if file.path in self.sizes:
                groups = [number for number in groups if _begin(parquet, number) < self.sizes[file.path]]
            if groups:
                yield from self._rows(file, parquet, groups)

    def parts(
        self,
        files: Iterable[LiveFile],
        predicate: Predicate | None,
        part_of: Callable[[pa.RecordBatch], Part],
    ) -> Iterator[Part]:
        """What `part_of` makes of each batch of some files, one file after the other. Raises as `batches`.

        Files of a store elsewhere are read several at once; what is made of their rows is then in memory.
        """
        system, _ = locations.open_location(self.index.location, self.storage_options)
        if is_local(system):
            for file in files:
                yield from map(part_of, self.batches(file, predicate))
            return

        def read(file: LiveFile) -> list[Part]:
            return [part_of(batch) for batch in self.batches(file, predicate)]

        for parts in read_ahead(files, read):
            yield from parts

    @contextlib.contextmanager
    def opened(self, file: LiveFile) -> Iterator[pq.ParquetFile]:
        """A file while it is read. Errors that come up meanwhile name it; raises as `batches`."""
        location = locations.file_location(self.index.location, file.path)
        doing = f"reading {location}"
        with locations.storage_errors(doing, but_for=()), _errors_about(location):
            system, path = locations.open_named(location, self.index.location, self.storage_options)
            elsewhere = not is_local(system)
            with locations.storage_errors(doing, but_for=(FileNotFoundError, UnicodeEncodeError)):
                locations.check_is_file(system, path)
                source = (
                    locations.OpenedFile(locations.open_file(system, path), doing)
                    if elsewhere
                    else pa.OSFile(path)
                )
            with (
                contextlib.closing(source),
                pq.ParquetFile(source, coerce_int96_timestamp_unit="us", pre_buffer=elsewhere) as parquet,
            ):
                yield parquet

    def _row_groups(self, parquet: pq.ParquetFile, predicate: Predicate | None) -> list[int]:
        every = list(range(parquet.num_row_groups))
        if predicate is None or len(every) < 2 or self.index.mapping_mode != "none":
            return every
        # Statistics of days that a scan refuses are by the same calendar.
        if has_old_calendar(parquet.metadata) or predicate.cases_of_nan is None:
            return every
        stored, schema = parquet.schema_arrow, self.schema
        if any(field["name"] in predicate.columns and is_padded(field) for field in self.fields):
            return every
        # Another type than the table's may compare otherwise.
        if any(
            name not in stored.names or stored.field(name).type != schema.field(name).type
            for name in predicate.columns
        ):
            return every
        from pyarrow import dataset as ds  # brings pandas along, which most scans can do without

        # Each fragment reads its footer itself, and elsewhere each read of the file is waited for.
        footer = pa.BufferOutputStream()
        parquet.metadata.write_metadata_file(footer)
        kind, file = ds.ParquetFileFormat(coerce_int96_timestamp_unit="us"), footer.getvalue()
        kept = predicate.zero_groups(parquet.metadata)
        for known in (None, *predicate.cases_of_nan):
            fragment = kind.make_fragment(file, partition_expression=known)
            try:
                groups = fragment.subset(predicate.rows, schema=stored).row_groups
            except pa.ArrowInvalid:
                return every  # the condition fails for a bound
            kept |= {group.id for group in groups}
        return sorted(kept)

    def _rows(self, file: LiveFile, parquet: pq.ParquetFile, groups: list[int]) -> Iterator[pa.RecordBatch]:
        vector = read_vector(
            file.deletion_vector,
            file.path,
            parquet.metadata.num_rows,
            self.index.location,
            FsspecStore(self.index.location, self.storage_options),
        )
        stored, schema, mapping = list(parquet.schema_arrow), self.schema, self.index.mapping_mode
        held = list(map(StoredFields(stored, mapping).find, self.fields))
        if mapping == "id" and None in held and not has_ids(stored):
            raise FormatError(
                "the file has no field ids, and the table finds its columns by them: write its rows anew with a "
                "writer that knows column mapping"
            )
        names = [stored[at].name for at in held if at is not None]
        kinds = [pa.null() if at is None else stored[at].type for at in held]
        ends, shifts = _places(parquet, groups)
        has_deleted, start = bool(vector), 0
        # Dictionaries inside of structs, lists and maps Arrow reads from no more than one row group at once.
        is_apart = any(map(has_dictionary_inside, kinds))
        read_at_once = [[group] for group in groups] if is_apart else [groups]
        # Without a column to read, a batch still has its number of rows.
        for batch in itertools.chain.from_iterable(_batches(parquet, some, names) for some in read_at_once):
            rows = batch.num_rows
            columns = [
                pa.nulls(rows, kind)
                if at is None
                else conformed(batch.column(stored[at].name), field, mapping)
                for field, at, kind in zip(self.fields, held, schema.types, strict=True)
            ]
            refuse_old_calendar(parquet.metadata, columns, kinds)
            # Without columns, only a batch that was read knows its number of rows.
            whole = pa.RecordBatch.from_arrays(columns, schema=schema) if columns else batch.select([])
            if rows and has_deleted:
                kept = np.ones(rows, bool)
                # A few bytes of a vector may stand for more rows than memory holds.
                for first, end, shift in _stretches(start, start + rows, ends, shifts):
                    kept[vector.between(first + shift, end + shift) - shift - start] = False
                whole = whole.filter(mask_array(kept)) if columns else whole.slice(0, int(kept.sum()))
            start += rows
            yield whole


def _batches(
    parquet: pq.ParquetFile, groups: Sequence[int], columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """The rows of some row groups in turn.

    Arrow reads no batch whose structs, lists or maps hold more than 2 GiB of texts or bytes in one column. Only reading
    tells how large they are, so that the rest is read in smaller batches from there on.
    """
    given, at_once = 0, BATCH_ROWS
    while True:
        passed = 0
        try:
            for batch in parquet.iter_batches(at_once, row_groups=groups, columns=columns):
                known = min(batch.num_rows, given - passed)
                passed += batch.num_rows
                if known < batch.num_rows:
                    given = passed
                    yield batch.slice(known) if known else batch
            return
        except pa.ArrowNotImplementedError as error:
            if at_once == 1:
                raise UnsupportedError(
                    f"Arrow cannot read the file, not even row by row: {error}; leave columns out by select"
                ) from error
        at_once = max(1, at_once // 8)
        while (rows := parquet.metadata.row_group(groups[0]).num_rows) <= given:
            groups, given = groups[1:], given - rows


def _begin(parquet: pq.ParquetFile, group: int) -> int:
    """Where in the file a row group begins."""
    first = parquet.metadata.row_group(group).column(0)
    return int(first.dictionary_page_offset or first.data_page_offset)


def _places(parquet: pq.ParquetFile, groups: list[int]) -> tuple[_Numbers, _Numbers]:
    """Where each of some row groups ends among their rows, and how much farther on in the file they lie."""
    sizes = [parquet.metadata.row_group(number).num_rows for number in range(parquet.num_row_groups)]
    ends = np.cumsum([sizes[number] for number in groups])
    return ends, np.cumsum(sizes)[groups] - ends


def _stretches(start: int, end: int, ends: _Numbers, shifts: _Numbers) -> Iterator[tuple[int, int, int]]:
    """The parts of some rows that lie in one row group each, and how much farther on in the file it lies."""
    while start < end:
        group = np.searchsorted(ends, start, side="right")
        stop = min(end, int(ends[group]))
        yield start, stop, int(shifts[group])
        start = stop


@contextlib.contextmanager
def _errors_about(location: str) -> Iterator[None]:
    """Errors of reading a file, with its location."""
    try:
        yield
    except FileNotFoundError as error:
        raise StorageError(f"{location}: the table's log names this file, and it is missing") from error
    except (UnsupportedError, FormatError) as error:
        raise type(error)(f"{location}: {error}") from error
    except UnicodeEncodeError as error:
        # What the log calls its files has been looked at where it was read: this is about the folders above.
        raise StorageError(
            f"the path {location!r} is no UTF-8, as far as Python knows: rename the folder, or set a locale of UTF-8, "
            "such as LC_ALL=C.UTF-8"
        ) from error
    except Exception as error:
        if is_damage(error):
            raise FormatError(f"{location}: not a readable Parquet file: {error}") from error
        raise

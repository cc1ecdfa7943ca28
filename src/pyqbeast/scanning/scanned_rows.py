"""The rows that a scan takes of a version of a table, read file by file."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from pyqbeast.core.errors import InvalidInputError, UnsupportedError
from pyqbeast.core.format.constants import WEIGHT_MIN
from pyqbeast.core.format.logged_file import Needed
from pyqbeast.core.once import once
from pyqbeast.core.secrets import without_secrets
from pyqbeast.delta_log import locations
from pyqbeast.delta_log.indexed_snapshot import IndexedSnapshot
from pyqbeast.delta_log.live_file import LiveFile
from pyqbeast.scanning.conditions.column_types import is_collated, readable_columns, unpadded
from pyqbeast.scanning.conditions.predicate import Predicate
from pyqbeast.scanning.data_files import DataFiles
from pyqbeast.scanning.scan_plan import ScanPlan, plan_files
from pyqbeast.scanning.weighed_rows import rows_that_meet, weighed_rows


class WholeBatches(Iterator[pa.RecordBatch]):
    """Batches that end only behind the last one: a generator that has failed calls itself at its end."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        # As a text: the error itself would keep alive what its frames hold, this reader among it.
        self._failure: str | None = None
        # Nobody waits for it: in a process forked meanwhile it is never free.
        self._reading = threading.Lock()

    def __next__(self) -> pa.RecordBatch:
        if not self._reading.acquire(blocking=False):
            raise InvalidInputError(
                "another thread is reading the next batch: let one thread read, or each at its turn"
            )
        try:
            return self._next()
        finally:
            self._reading.release()

    def _next(self) -> pa.RecordBatch:
        if self._failure is not None:
            raise InvalidInputError(
                f"the rows behind the last batch are not known, as reading them failed ({self._failure}): call "
                "to_batches again, and begin with its first batch"
            )
        try:
            return next(self._batches)
        except StopIteration:
            raise
        except BaseException as error:
            self._failure = ": ".join(filter(None, (type(error).__name__, str(error))))
            raise


@dataclass(frozen=True, eq=False)
class ScannedRows:
    """Rows of a version of a table, still to be read.

    Attributes:
        index: the version.
        storage_options: keywords for fsspec, for the table's own store.
        fraction: the share of the table's rows of which they are; None for all.
        predicate: the condition that they meet; None for none.
        selected: the columns that are given out; None for all.
    """

    index: IndexedSnapshot
    storage_options: locations.Options = None
    fraction: float | None = None
    predicate: Predicate | None = None
    selected: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        sample = "" if self.fraction is None else f", sample {self.fraction}"
        condition = "" if self.predicate is None else ", where a condition holds"
        version = f"{without_secrets(str(self.index.table))!r}, version {self.index.snapshot.version}"
        return f"<rows of {version}{sample}{condition}, columns {list(self.names)}>"

    def narrowed(self, predicate: Predicate) -> ScannedRows:
        """The rows of a condition, beside all conditions named before."""
        return replace(self, predicate=self.predicate & predicate if self.predicate else predicate)

    def refuse_collations(self, columns: Collection[str], advice: str) -> None:
        """Raises UnsupportedError with an advice where one of some columns is compared by a collation."""
        for field in self.index.snapshot.metadata.fields:
            if field["name"] in columns and is_collated(field):
                raise UnsupportedError(
                    f"texts of column {field['name']!r} are compared by a collation, which a scan does not know: "
                    f"{advice}"
                )

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are given out."""
        if self.selected is not None:
            return self.selected
        return tuple(field["name"] for field in self.index.snapshot.metadata.fields)

    @property
    def needed_names(self) -> tuple[str, ...]:
        """The columns that are given out, and those of the condition."""
        of_predicate = sorted(self.predicate.columns) if self.predicate else []
        return tuple(dict.fromkeys([*self.names, *of_predicate]))

    @property
    def weighed_names(self) -> list[str]:
        """The columns that weights are made of, in order, as files hold them.

        Raises UnsupportedError where one of them has been dropped or renamed, or has got a type without hashes.
        """
        problem = self.index.hashed_column_problem
        if problem is not None:
            raise UnsupportedError(f"rows of the table at {self.index.table} have no weights: {problem}")
        by_name = {field["name"]: field for field in self.index.snapshot.metadata.fields}
        return [unpadded(by_name[name])["name"] for name in self.index.revision().hashed_columns]

    @property
    def readable_schema(self) -> pa.Schema:
        """The columns that conditions can name."""
        return readable_columns(self.index.snapshot.metadata.fields)

    def data_with(self, names: Iterable[str]) -> DataFiles:
        """The data files, to be read for some columns."""
        fields = self.index.snapshot.metadata.fields
        by_name = {each["name"]: each for field in fields for each in (field, unpadded(field))}
        return DataFiles(self.index, self.storage_options, [by_name[name] for name in dict.fromkeys(names)])

    @property
    @once
    def plan(self) -> ScanPlan:
        """Which files are opened, and why the others are not. Pyarrow judges a long expression file by file."""
        return plan_files(self.index, self._bound, self.predicate, self.readable_schema)

    def opened(self) -> set[str]:
        """The paths of the files that are opened."""
        return {file.path for file in self.plan.opened}

    def whole_files(self, among: Collection[str]) -> set[str]:
        """Those of some files of which surely every row that meets the condition is taken, by their paths."""
        needed = self._needed(among)
        return {path for path, of_file in needed.items() if of_file.is_whole} - self._shortened(needed).keys()

    def batches(self, among: Collection[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows of all files that are opened, or of some of them, by their paths."""
        opened = self.opened() if among is None else among
        needed = self._needed(opened)
        files = [file for file in self.index.snapshot.files if file.path in opened]
        sizes = self._shortened(needed)
        yield from self._rows_of([file for file in files if needed[file.path].is_whole], sizes, None)
        yield from self._rows_of(
            [file for file in files if not needed[file.path].is_whole], sizes, self._bound
        )

    @property
    def _bound(self) -> int | None:
        """The weight below which the rows lie; None for all weights."""
        return None if self.fraction is None else self.index.bound_of(self.fraction)

    def _needed(self, among: Collection[str]) -> dict[str, Needed]:
        """What is needed of some files, by their paths."""
        bound, prunable = self._bound, self.index.prunable_revisions
        return {
            file.path: file.needed_below(bound, prunable) for file in self.index.files if file.path in among
        }

    def _shortened(self, needed: Mapping[str, Needed]) -> dict[str, int]:
        """The bytes that are needed of the files that are not read to their end, by their paths."""
        sizes = {file.path: file.size for file in self.index.files}
        return {path: of_file.bytes for path, of_file in needed.items() if of_file.bytes < sizes[path]}

    def _rows_of(
        self, files: Sequence[LiveFile], sizes: Mapping[str, int], bound: int | None
    ) -> Iterator[pa.RecordBatch]:
        """The rows of some files below a weight. Without one, what weights are made of is not read.

        `sizes` are the bytes that are needed of files which are not read to their end.
        """
        predicate, names = self.predicate, self.names
        weighed = [] if bound is None else self.weighed_names
        data = replace(self.data_with([*self.needed_names, *weighed]), sizes=sizes)

        def chosen(batch: pa.RecordBatch) -> pa.RecordBatch:
            if bound is None:
                return rows_that_meet(batch, predicate).select(names)
            return weighed_rows(batch, weighed, WEIGHT_MIN, bound, predicate)[0].select(names)

        return (batch for batch in data.parts(files, predicate, chosen) if batch.num_rows)

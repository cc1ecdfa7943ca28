"""The deletion vectors of a table, file by file, read without Spark."""

from __future__ import annotations

import dataclasses
from urllib.parse import unquote

from pyqbeast.core.errors import FormatError, InvalidInputError
from pyqbeast.delta import dv_paths
from pyqbeast.delta.dv_vector import DeletionVector
from pyqbeast.delta.log_reader import LiveFile, Snapshot, read_snapshot


@dataclasses.dataclass(frozen=True)
class FileVector:
    """What a table's log says about the deleted rows of one live file.

    `storage` is the storage letter of its vector (`u`, `i`, `p`), None without one. `physical_rows` counts
    the rows in the file, deleted ones included; it and `deleted_share` (0 to 1) are None where the log does
    not say.
    """

    path: str
    storage: str | None
    cardinality: int
    physical_rows: int | None
    deleted_share: float | None


def file_vectors(snapshot: Snapshot) -> list[FileVector]:
    """Return one `FileVector` for each live file of `snapshot`, in the order of their paths.

    Raises `FormatError` for a vector that counts more rows than its file has. No vector is opened for this.
    """
    return [_file_vector(file) for file in snapshot.files]


def deleted_rows(table: dv_paths.Location, file: str) -> DeletionVector:
    """Return the deleted rows of one live file of `table`: an empty vector where it has none.

    `file` is its path as the log has it, or the same without URL encoding. Raises `InvalidInputError` for a
    file that is not live, `FormatError` for a vector that is broken or reaches beyond the file's rows.
    """
    live = next(
        (live for live in read_snapshot(table).files if file in (live.path, unquote(live.path))), None
    )
    if live is None:
        raise InvalidInputError(
            f"{file!r} is no live file of the table at {table}; `file_vectors` lists them"
        )
    if live.deletion_vector is None:
        return DeletionVector()
    try:
        vector = DeletionVector.read(live.deletion_vector, table)
    except FormatError as error:
        raise FormatError(f"{live.path}: {error}") from error
    largest = vector.max_row_index
    if live.physical_rows is not None and largest is not None and largest >= live.physical_rows:
        raise FormatError(f"{live.path}: row index {largest} is beyond the file's {live.physical_rows} rows")
    return vector


def _file_vector(file: LiveFile) -> FileVector:
    vector, rows = file.deletion_vector, file.physical_rows
    cardinality = vector.cardinality if vector else 0
    if rows is not None and cardinality > rows:
        raise FormatError(
            f"{file.path}: cardinality: {cardinality} rows deleted of the {rows} that the file has"
        )
    share = None if rows is None else cardinality / rows if rows else 0.0
    return FileVector(file.path, vector.storage_type if vector else None, cardinality, rows, share)

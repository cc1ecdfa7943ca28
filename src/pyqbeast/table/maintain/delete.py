"""Deleting: rows are marked in deletion vectors, and their files keep their place in the index."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from pyspark.errors import AnalysisException, UnsupportedOperationException
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from pyqbeast import bridge
from pyqbeast.bridge.row_deletion import MarkedFile, RowDeletion, delete_where
from pyqbeast.core.errors import CommitConflictError, FormatError, InvalidInputError, UnsupportedError
from pyqbeast.core.format.names import quoted_name
from pyqbeast.core.location import Location
from pyqbeast.deletion_vectors.table import find_file, read_vector
from pyqbeast.deletion_vectors.vector import DeletionVector, write_vectors
from pyqbeast.delta_log import locations
from pyqbeast.table.locate import existing
from pyqbeast.table.options import VECTORS_PROPERTY

_log = logging.getLogger(__name__)

#: How often a delete tries again after another writer has marked rows of the same file.
_COMMITS = 20


def delete(spark: SparkSession, path: str, condition: str | Column) -> None:
    """Deletes the rows that meet a condition; see `QbeastTable.delete`."""
    if not isinstance(condition, str | Column):
        raise InvalidInputError(f"the condition has to be an SQL text or a column, not {condition!r}")
    log = existing(bridge.TableLog(spark, path), path)
    if log.configuration.get(VECTORS_PROPERTY, "").lower() != "true":
        _log.warning(
            "%s does not take deletion vectors: the files that held deleted rows lose their index. %s",
            path,
            _how_to_enable(path),
        )
    try:
        conflict = delete_where(spark, path, F.expr(condition) if isinstance(condition, str) else condition)
    except AnalysisException as error:
        raise InvalidInputError(
            f"nothing was deleted from {path}, its rows cannot be asked {str(condition)!r}: {_first_line(error)}"
        ) from error
    except (UnsupportedOperationException, UnsupportedError) as error:
        raise _unsupported(path, error) from error
    if conflict:
        raise _conflict(path, conflict)


def delete_rows(spark: SparkSession, path: str, file: Location, indexes: Iterable[int]) -> int:
    """Deletes rows of one file by their indexes; see `QbeastTable.delete_rows`."""
    rows = DeletionVector(indexes)
    try:
        return _delete_rows(spark, path, file, rows)
    except (UnsupportedOperationException, UnsupportedError) as error:
        raise _unsupported(path, error) from error


def _delete_rows(spark: SparkSession, path: str, file: Location, rows: DeletionVector) -> int:
    conflict = ""
    for _ in range(_COMMITS):
        deletion = RowDeletion(spark, path)
        log = existing(bridge.TableLog(spark, path), path)
        if not deletion.is_enabled:
            raise UnsupportedError(f"it does not take deletion vectors. {_how_to_enable(path)}")
        live = [each.path for each in log.files()]
        name = find_file(file, live, deletion.root, locations.place_in_spark)
        stored = deletion.pick(name)
        added = None if stored is None else _mark(spark, deletion, name, stored, rows)
        if added is not None:
            return added
        conflict = deletion.conflict
    raise _conflict(path, conflict)


def _mark(
    spark: SparkSession, deletion: RowDeletion, name: str, stored: MarkedFile, rows: DeletionVector
) -> int | None:
    """Commits a vector of the rows deleted so far and of `rows`.

    Returns how many are new, or None if another writer came first.
    """
    physical = _count(spark, deletion.root, name) if stored.rows is None else stored.rows
    if stored.counted not in (None, physical):
        # Delta would take the file out of the table where as many rows go as it counts among those that are left.
        raise FormatError(
            f"nothing was deleted from {deletion.root}: its log counts {stored.counted} rows in file {name}, and it "
            f"has {physical}; `pyqbeast repair` writes the statistics anew"
        )
    if rows.max_row_index is not None and rows.max_row_index >= physical:
        raise InvalidInputError(
            f"row index {rows.max_row_index} is beyond file {name}, whose {physical} rows count from 0"
        )
    before = read_vector(stored.vector, name, physical, deletion.root, deletion)
    after = before.union(rows)
    if len(after) == len(before):
        return 0
    (vector,) = write_vectors(deletion.root, [after], store=deletion)
    return len(after) - len(before) if deletion.commit(vector) else None


def _count(spark: SparkSession, root: str, name: str) -> int:
    """The rows stored in a file, from its footer."""
    return bridge.parquet_frame(spark, locations.file_location(root, name)).count()


def _conflict(path: str, reason: str) -> CommitConflictError:
    return CommitConflictError(
        f"another writer changed {path} first, so nothing was deleted; run it again. Delta says: {reason}"
    )


def _unsupported(path: str, error: Exception) -> UnsupportedError:
    return UnsupportedError(f"nothing was deleted from {path}: {_first_line(error)}")


def _how_to_enable(path: str) -> str:
    change = f"SET TBLPROPERTIES ('{VECTORS_PROPERTY}' = 'true')"
    return f"ALTER TABLE delta.{quoted_name(path)} {change} makes it take them from now on"


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0]

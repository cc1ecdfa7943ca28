"""`pyqbeast.convert`: a Parquet folder or a Delta table becomes an indexed table without a file being rewritten."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable, Sequence

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pyqbeast import bridge
from pyqbeast.bridge import failures, progress_line
from pyqbeast.bridge.frames import is_case_sensitive
from pyqbeast.core.errors import (
    CommitConflictError,
    FormatError,
    InvalidInputError,
    NotIndexedError,
    StorageError,
    TableNotFoundError,
    UnsupportedError,
)
from pyqbeast.core.format.constants import TAG_REVISION, UNCHANGED
from pyqbeast.core.format.file_tags import INDEX_TAGS
from pyqbeast.core.format.names import column_named, did_you_mean, quoted_name
from pyqbeast.core.format.types import format_type
from pyqbeast.core.location import location_text
from pyqbeast.core.revisions.evolution import checked_cube_size
from pyqbeast.core.revisions.revision import Revision, configuration_entries, revisions_from_configuration
from pyqbeast.core.transform.column_spec import check_number_of_columns
from pyqbeast.core.transform.registry import kind_names
from pyqbeast.delta_log import locations
from pyqbeast.table.locate import delta_location, is_name
from pyqbeast.table.options import default_cube_size, number_of_retries
from pyqbeast.table.qbeast_table import QbeastTable
from pyqbeast.table.write.table_checks import check_names

#: The name in the table's history of a commit that takes tags away.
_OPERATION = "DROP QBEAST TAGS"
_BY_PATH = re.compile(r"(?i)(parquet|delta|qbeast)\.`(.+)`")


def convert(
    spark: SparkSession, identifier: str, *, columns_to_index: Sequence[str], cube_size: int | None = None
) -> QbeastTable:
    """Turns existing files into an indexed table. The files stay as they are and are not indexed yet;
    `optimize(0)` indexes them.

    A table that is indexed already is left as it is.

    A stream that writes to the table by `format("delta").toTable(name)` does not start again afterwards: start it with
    `format("qbeast")` and the same checkpoint.

    Args:
        spark: the session.
        identifier: "parquet.`/path`", "delta.`/path`", or the name of a Delta table in the catalog.
        columns_to_index: names of the columns that later rows are indexed by.
        cube_size: rows a cube, by default that of the session.

    Raises:
        InvalidInputError: an identifier of another form, a column that is not there or cannot be indexed, too many of
            them, a column whose name is used by the index itself, a cube size that is no number of rows.
        TableNotFoundError: there is nothing at the path, or no table of the name.
        UnsupportedError: the table is partitioned or clustered.
        FormatError: the table was indexed, and its index is damaged.
        CommitConflictError: other writers came first again and again.
        StorageError: storage failed. Parquet files may have become a Delta table by then; the message says so.
    """
    identifier = location_text(identifier)
    _check_wanted(columns_to_index)
    with progress_line.line_while(spark, doing := f"converting {identifier}"):
        return _convert(spark, identifier, columns_to_index, cube_size, doing)


def _convert(
    spark: SparkSession, identifier: str, columns_to_index: Sequence[str], cube_size: int | None, doing: str
) -> QbeastTable:
    with failures.readable(doing):
        kind, path = _kind_and_path(spark, identifier)
        size = default_cube_size(spark) if cube_size is None else cube_size
        size = checked_cube_size(size, "cube_size")
    is_made_delta = False
    try:
        with failures.readable(doing):
            lost = 0
            while lost <= number_of_retries(spark):
                transaction = bridge.Transaction(spark, path)
                if not transaction.exists:
                    if kind != "parquet":
                        raise TableNotFoundError(f"there is no Delta table at {path}")
                    is_made_delta = True
                    _make_delta(spark, path, transaction.path, identifier, columns_to_index)
                    transaction = bridge.Transaction(spark, path)
                if transaction.is_partitioned:
                    raise _partitioned(identifier)
                stored = revisions_from_configuration(transaction.configuration)
                if stored.last_id >= 0:
                    return QbeastTable.for_path(spark, path)
                stored.check_latest_is_known(path)
                if transaction.is_clustered:
                    raise _clustered(identifier)
                columns = _columns(spark.read.format("delta").load(path), columns_to_index)
                if not is_made_delta and not _tagged_files(log := transaction.log()).isEmpty():
                    lost += not _drop_tags(log)
                elif _store_staging(transaction, path, size, columns):
                    return QbeastTable(spark, path)
                else:
                    lost += 1
    except StorageError as error:
        became = _became(spark, path) if is_made_delta else ""
        if not became:
            raise
        raise type(error)(
            f"{identifier} {became}, and not an indexed one; convert it again. "
            f"{str(error).removesuffix(UNCHANGED)}; no row has changed"
        ) from error
    raise CommitConflictError(
        f"other writers changed {path} each time that it was converted, so it is no indexed table; convert it again"
        + (f". Delta says: {transaction.conflict}" if transaction.conflict else "")
    )


def _became(spark: SparkSession, path: str) -> str:
    """What a Parquet folder is after a failure; empty where it has no Delta log.

    The log may be written when Delta says that it has failed.
    """
    try:
        return "is a Delta table now" if bridge.Transaction(spark, path).exists else ""
    except StorageError:
        return "may be a Delta table now"


def _kind_and_path(spark: SparkSession, identifier: str) -> tuple[str, str]:
    """The format and the path of what is to be converted."""
    match = _BY_PATH.fullmatch(identifier.strip())
    if match:
        return match[1].lower(), match[2].replace("``", "`")
    if not is_name(spark, identifier):
        if "`" in identifier or "/" in identifier:
            raise InvalidInputError(
                f"{identifier!r} names no table to convert: write parquet.`/path`, delta.`/path` or the name of a table"
                + ("" if "`" in identifier else f"; did you mean {f'parquet.{quoted_name(identifier)}'!r}?")
            )
        raise TableNotFoundError(f"there is no table {identifier!r} in the catalog")
    location = delta_location(spark, identifier)
    if location is None:
        raise NotIndexedError(f"{identifier!r} is not a Delta table; convert its files as parquet.`/path`")
    return "delta", location


def _columns(table: DataFrame, wanted: Sequence[str]) -> list[str]:
    """The names that the columns to index have in the table, once all its columns may be in an indexed one."""
    check_number_of_columns(len(wanted))
    types = bridge.simple_types(table)
    check_names(types)
    columns = []
    for each in wanted:
        name = column_named(each, types, case_sensitive=is_case_sensitive(table.sparkSession))
        if name is None:
            raise InvalidInputError(
                f"column {each!r} is to be indexed and the table has only {list(types)}{_meant(each, types)}"
            )
        if name in columns:
            raise InvalidInputError(f"columns_to_index names {name!r} more than once")
        format_type(name, types[name])
        columns.append(name)
    return columns


def _meant(name: str, columns: Collection[str]) -> str:
    """The end of a message about a column that is not there."""
    column, _, kind = name.rpartition(":")
    if kind in kind_names() and column in columns:
        return f"; convert takes no kinds such as {kind!r}, so leave it out or write the rows to a new table"
    return did_you_mean(name, columns)


def _check_wanted(wanted: object) -> None:
    if (
        isinstance(wanted, str)
        or not isinstance(wanted, Collection)
        or not wanted
        or not all(isinstance(each, str) for each in wanted)
    ):
        raise InvalidInputError(f"columns_to_index has to be a list of column names, not {wanted!r}")


def _make_delta(spark: SparkSession, path: str, root: str, identifier: str, wanted: Sequence[str]) -> None:
    """Gives a Parquet folder a Delta log, once the columns to index are known to be in it.

    `root` is the whole location of `path`.
    """
    try:
        rows = bridge.parquet_frame(spark, path)
    except AnalysisException as error:
        raise TableNotFoundError(f"there are no Parquet files at {path}: {error.getCondition()}") from None
    _columns(rows, wanted)
    if _is_partitioned(root, rows.inputFiles()):
        raise _partitioned(identifier)
    bridge.change_table(spark, path, f"CONVERT TO DELTA parquet.{quoted_name(path)}")


def _is_partitioned(root: str, files: Iterable[str]) -> bool:
    """Whether the folders of some files (URLs) below a table's whole location are named by columns and values.

    Those above the table may have such names as well.
    """
    below = (locations.url_decode(file).removeprefix(root.rstrip("/") + "/") for file in files)
    return any("=" in folder for file in below for folder in file.split("/")[:-1])


def _store_staging(
    transaction: bridge.Transaction, path: str, cube_size: int, columns: Sequence[str]
) -> bool:
    """Commits the revision of files without an index; false where another writer came first."""
    revision = Revision.staging(path, cube_size, columns, int(time.time() * 1000))
    transaction.store(configuration_entries(revision, transaction.configuration), drops_revisions=False)
    return transaction.commit_stored()


def _tagged_files(log: bridge.TableLog) -> DataFrame:
    """The files that still have tags of an index that is gone, as `TableLog.file_frame` has them.

    The next revision may have the number in them, and the files would count as laid out by it.
    """
    return log.file_frame().filter(F.col("tags")[TAG_REVISION].isNotNull())


def _drop_tags(log: bridge.TableLog) -> bool:
    """Takes the tags of an index that is gone from its files; false where another writer came first."""
    tagged = _tagged_files(log)
    tags = F.col("tags")
    if not tagged.filter(log.tags_hold_copies(tags)).isEmpty():
        raise FormatError(
            f"{log.path} was indexed, its revisions are gone from the table's properties, and some of its files repeat "
            "rows of others: restore a version that has the properties, and run pyqbeast.upgrade on it"
        )
    kept = F.map_filter(tags, lambda name, _: ~name.isin(*INDEX_TAGS))
    changed = tagged.withColumns({"tags": kept, "dataChange": F.lit(False)})
    landed = log.rewrite_entries(_OPERATION, changed.select(*tagged.columns), tagged.limit(0), {}, {})
    return landed is not None


def _clustered(identifier: str) -> UnsupportedError:
    return UnsupportedError(
        f"{identifier} is clustered, and an index lays the same files out otherwise: run ALTER TABLE … CLUSTER BY NONE "
        "first"
    )


def _partitioned(identifier: str) -> UnsupportedError:
    return UnsupportedError(
        f"{identifier} is partitioned; an indexed table cannot be: write its rows to a new table instead, with "
        "the partition columns among columnsToIndex"
    )

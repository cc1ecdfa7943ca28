"""Files of a table as the log would have them if it told something else of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import MapType, StringType, StructType

from pyqbeast import bridge

_CHANGES = (
    StructType()
    .add("path", "string")
    .add("new_tags", MapType(StringType(), StringType()))
    .add("new_stats", "string")
    .add("new_size", "long")
    .add("new_cardinality", "long")
)


class FileChange(NamedTuple):
    """What the log is to say of a file instead; None where it says the truth.

    Attributes:
        tags: all of them.
        statistics: their JSON text.
        size: in bytes.
        deleted: rows that its deletion vector hides.
    """

    tags: Mapping[str, str] | None = None
    statistics: str | None = None
    size: int | None = None
    deleted: int | None = None


def changed_files(log: bridge.TableLog, changes: Mapping[str, FileChange]) -> DataFrame:
    """These files (by their paths in the log) with their changes, as `TableLog.file_frame` has them."""
    files = log.file_frame()
    # Arrow takes a map as a list of pairs.
    rows = [
        (path, None if of.tags is None else list(of.tags.items()), of.statistics, of.size, of.deleted)
        for path, of in changes.items()
    ]
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in _CHANGES]
    changes_frame = bridge.local_frame(files.sparkSession, _CHANGES, columns)
    vector = F.col("deletionVector")
    counted = vector.withField("cardinality", F.coalesce("new_cardinality", vector["cardinality"]))
    # The last row may be as wrong as the number, and no log has to say it.
    counted = counted.withField("maxRowIndex", F.when(F.isnull("new_cardinality"), vector["maxRowIndex"]))
    changed = files.join(F.broadcast(changes_frame), "path").withColumns(
        {
            "tags": F.coalesce("new_tags", "tags"),
            "stats": F.coalesce("new_stats", "stats"),
            "size": F.coalesce("new_size", "size"),
            "deletionVector": F.when(vector.isNotNull(), counted),
            "dataChange": F.lit(False),
        }
    )
    return changed.select(*files.columns)

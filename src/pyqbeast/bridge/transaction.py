"""A Delta transaction, and what it wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from pyqbeast.bridge.jvm import java
from pyqbeast.bridge.table_log import TableLog
from pyqbeast.core.format.file_parts import FilePart


class WrittenBlock(NamedTuple):
    """A block of a written file. `cube` is what `read_cube` reads, or `OUTSIDE`."""

    cube: int
    rows: int
    min_weight: int
    max_weight: int


@dataclass(frozen=True)
class WrittenFile:
    """A data file that a transaction wrote, as its writer saw it.

    Attributes:
        path: in the log.
        size: bytes.
        rows: how many it holds; None if Delta split the rows into change data and others, which are not counted.
        key_rows: rows of the most frequent key of the task that wrote the file: all rows of a key go to one.
        blocks: its blocks; None where the rows did not come from `arranged`, or not in its order.
        parts: its parts but the first.
        weights: the rows of each interval of `core.format.weight_counts`, where there are blocks.
        strays: rows whose values in the file give another weight than the one that they were laid out by.
    """

    path: str
    size: int
    rows: int | None = None
    key_rows: int = 0
    blocks: list[WrittenBlock] | None = None
    parts: tuple[FilePart, ...] = ()
    weights: tuple[int, ...] = ()
    strays: int = 0

    @property
    def max_row_weight(self) -> int:
        """The largest weight in a file that has blocks."""
        return max(block.max_weight for block in self.blocks or ())

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> WrittenFile:
        """Reads one entry of the bridge's JSON."""
        blocks, parts, weights = (fields.pop(name, None) for name in ("blocks", "parts", "weights"))
        blocks = None if blocks is None else [WrittenBlock(*block) for block in blocks]
        return cls(
            **fields,
            blocks=blocks,
            parts=tuple(FilePart(*part) for part in parts or ()),
            weights=tuple(weights or ()),
        )


class Transaction:
    """A Delta transaction on the newest version of the table at a path, which need not exist yet.

    Options of Hadoop, among those of a write, say how the path is reached.
    """

    def __init__(self, spark: SparkSession, path: str, options: Mapping[str, str] | None = None) -> None:
        self._spark = spark
        self._java = java(spark).commit.Transaction.begin(spark._jsparkSession, path, dict(options or {}))
        self.path: str = self._java.path()
        self.exists: bool = self._java.exists()
        log = self.log()
        self.configuration: dict[str, str] = log.configuration if self.exists else {}
        self.is_partitioned: bool = self.exists and log.is_partitioned

    @property
    def is_clustered(self) -> bool:
        """Whether Delta clusters the table by some columns."""
        return self.exists and self.log().is_clustered

    @property
    def is_overtaken(self) -> bool:
        """Whether this began without a table, and another writer has made one since."""
        return bool(self._java.isOvertaken())

    @property
    def has_legacy_files(self) -> bool:
        """Whether files of the table were written before format 0.6. One Spark job."""
        return self.exists and self.log().has_legacy_files

    @property
    def schema(self) -> dict[str, Any]:
        """The table's schema as Spark writes it in JSON; without fields for a new table."""
        return json.loads(self._java.schema() or '{"fields": []}')  # type: ignore[no-any-return]

    @property
    def has_given_numbers(self) -> bool:
        """Whether rows that this wrote got numbers of identity columns, which another writer may give out as well."""
        return bool(self._java.hasGivenNumbers())

    @property
    def has_read_table(self) -> bool:
        """Whether the rows that this wrote were worked out from rows of the table itself."""
        return bool(self._java.hasReadTable())

    def log(self) -> TableLog:
        """The log of the version that this began on."""
        return TableLog(self._spark, self.path, self._java.tableLog())

    @property
    def columns(self) -> StructType:
        """The table's columns; none for a new table."""
        return StructType.fromJson(self.schema)

    def store(self, entries: Mapping[str, str], *, drops_revisions: bool) -> None:
        """Entries for the table's configuration, beside the revisions that are there now or in their place."""
        self._java.store(json.dumps(dict(entries)), drops_revisions)

    def is_done(self, data: DataFrame, mode: str, options: Mapping[str, str]) -> bool:
        """Whether a write of the same `txnAppId` has been committed with this `txnVersion` or a later one."""
        return bool(self._java.isDone(data._jdf, mode, dict(options)))

    def kept(self, data: DataFrame) -> DataFrame:
        """The rows, worked out once and kept. What they read of the table counts as read by this transaction."""
        return DataFrame(self._java.kept(data._jdf), self._spark)

    def forget_kept(self) -> None:
        """Frees the memory of the rows of `kept`, also of those of a call that failed."""
        self._java.forgetKept()

    def as_stored(self, data: DataFrame, mode: str, options: Mapping[str, str]) -> tuple[DataFrame, set[int]]:
        """The rows as the table will hold them, and the revisions whose blocks tell the weights that rows have then."""
        rows = DataFrame(self._java.asStored(data._jdf, mode, dict(options)), self._spark)
        return rows, {int(number) for number in json.loads(self._java.prunableRevisions())}

    def write(self, data: DataFrame, mode: str, options: Mapping[str, str], page_rows: int) -> None:
        """Writes the rows of `as_stored`, laid out, one partition a file."""
        self._java.write(data._jdf, mode, dict(options), page_rows)

    def rows_of(self, paths: Sequence[str]) -> DataFrame:
        """The rows of some of the table's files, without those that deletion vectors hide."""
        return DataFrame(self._java.rowsOf(list(paths)), self._spark)

    def rewrite(
        self, data: DataFrame | None, paths: Sequence[str], options: Mapping[str, str], page_rows: int
    ) -> None:
        """Replaces files by others with the same rows, one partition of `data` a file; None where none are left."""
        self._java.rewrite(data._jdf if data else None, list(paths), dict(options), page_rows)

    def written(self) -> list[WrittenFile]:
        """The files of `write` or `rewrite`."""
        return [WrittenFile.from_json(file) for file in json.loads(self._java.written())]

    def tag(self, tags: Mapping[str, Mapping[str, str]]) -> None:
        """Gives written files their tags, by path."""
        self._java.tag(json.dumps(tags))

    def adopt(self, other: Transaction) -> None:
        """Takes over the files that another transaction wrote and could not commit, and the entries that it was
        to store.
        """
        self._java.adopt(other._java)

    def commit(self, mode: str, tags: Mapping[str, str]) -> bool:
        """Returns False if another writer's commit stands in the way; `conflict` says which."""
        return bool(self._java.commit(mode, dict(tags)))

    def commit_rewrite(self, tags: Mapping[str, str]) -> bool:
        """Commits a `rewrite`, as `commit` does."""
        return bool(self._java.commitRewrite(dict(tags)))

    def commit_stored(self) -> bool:
        """Commits what `store` was given and nothing else, as `commit` does."""
        return bool(self._java.commitStored())

    def actions(self) -> list[dict[str, Any]]:
        """What is about to be committed: Delta's actions, each an object with its kind as the only key."""
        return [json.loads(line) for line in self._java.pending()]

    @property
    def conflict(self) -> str:
        """Delta's message about what stood in the way of `commit`."""
        return str(self._java.conflict())

    def discard(self) -> None:
        """Deletes the written files, unless a commit of them may have landed."""
        self._java.discard()

"""The figures of one scan of a query: what it opens, of how much, and who has ruled out the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyqbeast.core.format.weight import fraction_of
from pyqbeast.core.secrets import without_secrets

#: Who skips files, by the reason: the index, or what Delta does for every table.
SKIPPED_BY = {
    "replicated": "index",
    "weights": "index",
    "partitions": "delta",
    "statistics": "delta",
    "limit": "delta",
}
#: Fields of a scan that are lists in JSON.
_TUPLES = {"indexed_columns", "hashed_columns", "partition_columns", "weights", "row_groups"}


@dataclass(frozen=True, slots=True)
class Amount:
    """Files, the bytes of these whole files, and their rows; None where the log does not tell the rows."""

    files: int = 0
    bytes: int = 0
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class Condition:
    """One of the conditions on the rows of a table, all of which have to hold.

    Attributes:
        text: as SQL.
        columns: those that it names.
        skips: what Delta skips by it alone. Two conditions may skip the same files.
        is_usable: whether the statistics or the partitions of files can say anything about it.
    """

    text: str
    columns: tuple[str, ...]
    skips: Amount
    is_usable: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class TableScan:
    """What a query opens of one table in one place.

    Attributes:
        table: the path of the table, without the secrets of a URL, or what Spark calls another source. A recursion
            (`WITH RECURSIVE`) is one, of which the figures are not known.
        version: of a Delta table; None for everything else.
        indexed_columns: in order; none where the table is not indexed.
        hashed_columns: those whose hash is the weight: the indexed columns, and the weight columns after them.
        partition_columns: those by which its files lie in folders.
        is_clustered: whether Delta clusters it by some columns.
        total: the whole version of the table; None where nothing is known of the source.
        opened: the files that the plan leaves.
        skipped: the other files, by the reasons of `SKIPPED_BY`. Each file counts for one of them: an index that rules
            it out comes before the rest.
        conditions: those that are not about weights.
        weights: the bounds of a sample: the least weight, and the one that no weight reaches.
        unindexed: opened files that are not indexed, which every sample reads.
        stale: opened files of revisions whose weights are not those that their rows have today.
        row_groups: of the opened files: those that the conditions leave by the statistics in the footers, and all. None
            where they are not known: more than 256 files, no Delta table, or a footer that cannot be read.
        drawn_by_spark: why Spark draws a sample row by row; empty where the table is not indexed, None without one.
        ran: what Spark's metrics say once the query has run: files and bytes opened, rows handed on.
        is_cached: whether the rows come from Spark's cache, which this scan fills.
    """

    table: str
    version: int | None = None
    indexed_columns: tuple[str, ...] = ()
    hashed_columns: tuple[str, ...] = ()
    partition_columns: tuple[str, ...] = ()
    is_clustered: bool = False
    total: Amount | None = None
    opened: Amount | None = None
    skipped: Mapping[str, Amount] = field(hash=False)
    conditions: tuple[Condition, ...] = ()
    weights: tuple[int, int] | None = None
    unindexed: Amount = Amount()
    stale: Amount = Amount()
    row_groups: tuple[int, int] | None = None
    drawn_by_spark: str | None = None
    ran: Amount | None = None
    is_cached: bool = False

    @classmethod
    def from_json(cls, described: Mapping[str, Any]) -> TableScan:
        """The scan as the JVM's side describes it; see `QueryScans.java`."""
        fields = {**described, "table": without_secrets(described["table"])}
        for name in {"total", "opened", "unindexed", "stale", "ran"} & fields.keys():
            fields[name] = Amount(**fields[name])
        skipped = fields.get("skipped", {})
        fields["skipped"] = {why: Amount(**skipped[why]) for why in SKIPPED_BY if why in skipped}
        fields["conditions"] = tuple(
            Condition(each["text"], tuple(each["columns"]), Amount(**each["skips"]), each["is_usable"])
            for each in fields.get("conditions", ())
        )
        for name in _TUPLES & fields.keys():
            fields[name] = tuple(fields[name])
        return cls(**fields)

    @property
    def weight_columns(self) -> tuple[str, ...]:
        """The columns that are hashed and not indexed."""
        return self.hashed_columns[len(self.indexed_columns) :]

    @property
    def sample_share(self) -> float | None:
        """The share of all weights that a sample takes; None without a sample."""
        if self.weights is None:
            return None
        low, high = self.weights
        return max(0.0, min(fraction_of(high), 1.0) - fraction_of(low))

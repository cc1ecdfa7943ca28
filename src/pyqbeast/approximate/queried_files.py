"""The files that a query reads, and what is known of their rows without reading."""

from __future__ import annotations

from dataclasses import dataclass

from pyqbeast.approximate.estimate import Files
from pyqbeast.approximate.estimate.known_facts import column_bounds, most_rows_of_a_key
from pyqbeast.bridge.aggregate_query import AggregateQuery, QueriedFile
from pyqbeast.core.errors import UnsupportedError
from pyqbeast.core.format.constants import WEIGHT_MAX, WEIGHT_MIN
from pyqbeast.core.format.file_tags import max_row_weight, parse_tags
from pyqbeast.core.revisions.revision import revisions_from_configuration


@dataclass(frozen=True)
class QueriedFiles:
    """The files of one query.

    Attributes:
        files: all of them.
        weights: their bytes and weights, in the same order. Two kinds of files may hold every weight, so that
        each step reads them: files without an index, and files of revisions whose weights no longer hold.
        rows: their rows, deleted ones included, as far as the log tells.
        key_rows: how many rows at the most have the same weight; None where it is not recorded.
    """

    files: list[QueriedFile]
    weights: Files
    rows: int
    key_rows: int | None

    @classmethod
    def of(cls, query: AggregateQuery) -> QueriedFiles:
        """Reads what the log tells of the query's files. One Spark job."""
        revisions = revisions_from_configuration(query.configuration).revisions
        prunable = {
            number: revision.dimensions
            for number, revision in revisions.items()
            if str(number) in query.prunable_revisions
        }
        files = query.files()
        lows, highs, rows = [], [], 0
        for file in files:
            blocks = parse_tags(file.tags, prunable.get).blocks
            if any(block.replicated for block in blocks):
                raise UnsupportedError(
                    "this query cannot be estimated: the table holds rows twice, as old versions of the format do; "
                    "call pyqbeast.upgrade on it, or pass exact=True"
                )
            lows.append(min((block.min_weight for block in blocks), default=WEIGHT_MIN))
            highs.append(max_row_weight(file.tags, blocks) if blocks else WEIGHT_MAX)
            rows += file.statistics.get("numRecords") or sum(block.element_count for block in blocks)
        weights = Files([file.size for file in files], lows, highs)
        return cls(files, weights, rows, most_rows_of_a_key(file.tags for file in files))

    def bounds(self, column: str) -> tuple[float, float] | None:
        """Smallest and largest value of a column, by its name in the statistics; None where a file does not tell.

        Days since 1970 for dates, microseconds for timestamps.
        """
        return column_bounds((file.statistics for file in self.files), column)

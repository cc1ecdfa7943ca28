"""How many rows of a table share one key, and so how small a sample by weight can be.

Rows of one key have one weight and are sampled together, so no sample is finer than the share of rows of the most
frequent key. Files tell the rows of a key in one write only. `WeightSums.java` computes the same for Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyqbeast.core.format.key_frequency import parse_key_frequency, rows_of_largest_keys


def repeated_rows(tags: Iterable[Mapping[str, str]]) -> int:
    """The rows that repeat a key within one write: of the most frequent key of each write all rows but one.

    A key that comes once in each of many writes is not seen, so that a table of distinct keys has granularity 0
    after any number of writes. `most_rows_of_a_key` is a bound for every key.

    Args:
        tags: those of each file. A file that does not tell its most frequent key adds nothing.
    """
    return sum(rows - 1 for rows in rows_of_largest_keys(map(parse_key_frequency, tags)).values())


def key_granularity(repeated: int, rows: float) -> float:
    """The share of the rows that one key may hold, as far as it repeats within writes; 0 for distinct keys.

    Args:
        repeated: the `repeated_rows`. None of them need be deleted.
        rows: all rows that are not deleted.
    """
    return min(1.0, repeated / rows) if rows else 0.0

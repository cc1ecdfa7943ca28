"""How many rows of a table share one key, and so how small a sample by weight can be.

Rows of one key have one weight and are sampled together, so no sample is finer than the share of rows of the most
frequent key. Files tell the rows of a key in one write only. `WeightProfile.java` computes the same for Spark.
"""

from __future__ import annotations

from collections.abc import Collection


def repeated_rows(largest: Collection[int]) -> int:
    """The rows that repeat a key within one write: of the most frequent key of each write all rows but one.

    A key that comes once in each of many writes is not seen, so that a table of distinct keys has granularity 0
    after any number of writes. `most_rows_of_a_key` is a bound for every key.

    Args:
        largest: of each write the rows of its most frequent key.
    """
    return sum(largest) - len(largest)


def key_granularity(repeated: float, rows: float) -> float:
    """The share of the rows that one key may hold; 0 for distinct keys.

    Args:
        repeated: the `repeated_rows`, or all those of a key that comes in each write. None of them need be deleted.
        rows: all rows that are not deleted.
    """
    return min(1.0, repeated / rows) if rows else 0.0

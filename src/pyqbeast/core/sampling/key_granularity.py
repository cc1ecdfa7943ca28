"""How many rows of a table share one key, and so how small a sample by weight can be.

Rows of one key have one weight and are sampled together, so no sample is finer than the share of rows that the most
frequent key may hold. `WeightSums.java` computes the same for Spark.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyqbeast.core.format.key_frequency import parse_key_frequency
from pyqbeast.core.sampling.logged_file import LoggedFile


def key_excess(files: Iterable[LoggedFile]) -> int:
    """How many rows beyond the first the most frequent key may hold, as far as the writers recorded it."""
    of_write: dict[str, int] = {}
    for file in files:
        stored = parse_key_frequency(file.tags)
        if stored is not None:
            of_write[stored.write] = max(stored.rows - 1, of_write.get(stored.write, 0))
    return sum(of_write.values())


def key_granularity(excess: int, rows: float) -> float:
    """The share of the rows that the most frequent key may hold; 0 for distinct keys.

    Args:
        excess: how many rows beyond its first one the key may hold. None of them need be deleted.
        rows: all rows that are not deleted.
    """
    return min(1.0, excess / rows) if rows else 0.0

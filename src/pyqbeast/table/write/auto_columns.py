"""Chooses the columns to index if the user names none and allows it: those with the most distinct values."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.format.types import format_type_or_none
from pyqbeast.core.transform.column_spec import ColumnSpec
from pyqbeast.table.coordinates import quoted


def choose_columns(data: DataFrame, types: Mapping[str, str], most: int) -> list[ColumnSpec]:
    """At most `most` columns, in the order of the table. One Spark job.

    The more distinct values a column has, the finer samples and filters on it can be. Among equals, and for a
    frame without rows, the first columns are taken.

    Raises:
        InvalidInputError: no column can be indexed.
    """
    usable = [name for name in types if format_type_or_none(types[name]) is not None]
    if not usable:
        raise InvalidInputError(
            f"none of the columns can be indexed: {dict(types)}; add one that is derived from them, such as a text"
        )
    counts = data.agg(*(F.approx_count_distinct(quoted(name)) for name in usable)).first()
    assert counts is not None
    ordered = sorted(range(len(usable)), key=lambda i: -counts[i])
    return [ColumnSpec(usable[i], None) for i in sorted(ordered[:most])]

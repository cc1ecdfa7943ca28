"""SQL expressions of the numbers that rows are summed by.

They are texts, because building a `Column` costs a call to the JVM for each of its parts. An estimate has to be faster
than the exact answer.
"""

from __future__ import annotations

from pyspark.sql import types as T


def number_of(column: str, data_type: T.DataType, kind: str) -> str | None:
    """The number that stands for a value: days since 1970 for a date, microseconds for a timestamp.

    None where an aggregate of such values is not estimated.

    Args:
        column: its name.
        data_type: of its values.
        kind: of the aggregate.
    """
    if isinstance(data_type, T.NumericType) or (kind == "count_if" and isinstance(data_type, T.BooleanType)):
        return f"CAST({column} AS DOUBLE)"
    if kind in ("min", "max") and isinstance(data_type, T.DateType):
        return f"CAST(unix_date({column}) AS DOUBLE)"
    if kind in ("min", "max") and isinstance(data_type, T.TimestampType):
        return f"CAST(unix_micros({column}) AS DOUBLE)"
    return None


def when(condition: str, value: str = "1.0D") -> str:
    """A value (double) where a condition holds, and null elsewhere."""
    return f"CASE WHEN {condition} THEN {value} END"


def literal(value: float) -> str:
    """A double in SQL, infinities and the sign included."""
    return f"CAST('{float(value)!r}' AS DOUBLE)"

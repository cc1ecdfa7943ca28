"""The quantiles of a column, for the option `columnStats` of a write that indexes it by quantiles."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pyqbeast import bridge
from pyqbeast.bridge.frames import is_case_sensitive
from pyqbeast.core.arguments import check_type, is_number, is_whole_number
from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.format.names import column_named, did_you_mean
from pyqbeast.core.format.types import STRING, format_type
from pyqbeast.core.transform.text_quantiles import utf16_key
from pyqbeast.table.coordinates import number_of, quoted


def compute_quantiles_for_column(
    df: DataFrame, column: str, number_of_quantiles: int = 50, relative_error: float = 0.1
) -> list[float] | list[str]:
    """Values that cut the rows of a frame into parts of about the same size, in ascending order.

    For `columnsToIndex="price:quantiles"` give them as `columnStats=json.dumps({"price_quantiles": …})`. Nulls, NaN
    and infinities are left out.

    Args:
        df: the rows, or a sample of them.
        column: a top-level column of a type that can be indexed.
        number_of_quantiles: how many parts, n.
        relative_error: how far a value's rank among the rows may be off, as a share of all rows; 0 is exact and
            slow. Where it is more than a part of the rows, as by default, several of the values may be one. It has no
            effect on texts, which Spark's own range partitioning cuts.

    Returns:
        for numbers n + 1 doubles, the smallest and the largest value among them; dates and timestamps in milliseconds
            since 1970. For texts up to n of them, in the order of UTF-16 units that the index uses.

    Raises:
        InvalidInputError: an argument that cannot be used, or a column with fewer than two values to tell apart.
    """
    check_type(df, DataFrame, "compute_quantiles_for_column takes a DataFrame")
    check_type(column, str, "compute_quantiles_for_column takes the name of a column")
    if not is_whole_number(number_of_quantiles) or number_of_quantiles < 2:
        raise InvalidInputError(
            f"number_of_quantiles has to be a whole number, 2 or more, not {number_of_quantiles!r}"
        )
    if not is_number(relative_error) or not 0 <= relative_error <= 1:
        raise InvalidInputError(f"relative_error has to be a number from 0 to 1, not {relative_error!r}")
    number_of_quantiles, relative_error = int(number_of_quantiles), float(relative_error)
    types = bridge.simple_types(df)
    found_column = column_named(column, types, case_sensitive=is_case_sensitive(df.sparkSession))
    if found_column is None:
        raise InvalidInputError(
            f"there is no column {column!r}; the rows have {list(types)}{did_you_mean(column, types)}"
        )
    column = found_column
    is_text = format_type(column, types[column]) == STRING
    quantiles: list[float] | list[str] = (
        _texts(df, column, number_of_quantiles)
        if is_text
        else _numbers(df, column, types[column], number_of_quantiles, relative_error)
    )
    if len(set(quantiles)) < 2:
        raise InvalidInputError(
            f"column {column!r} has fewer than two values, which cannot be cut: index it by hashing or linear"
        )
    return quantiles


def _numbers(df: DataFrame, column: str, spark_type: str, parts: int, relative_error: float) -> list[float]:
    value = number_of(df.sparkSession, quoted(column), spark_type).cast("double").alias("value")
    finite = df.select(value).filter(F.col("value").between(-1.7976931348623157e308, 1.7976931348623157e308))
    return finite.approxQuantile("value", [i / parts for i in range(parts + 1)], relative_error)


def _texts(df: DataFrame, column: str, parts: int) -> list[str]:
    texts = df.select(quoted(column).alias("text")).filter("text IS NOT NULL")
    firsts = texts.repartitionByRange(parts, "text").groupBy(F.spark_partition_id())
    return sorted((row["first"] for row in firsts.agg(F.min("text").alias("first")).collect()), key=utf16_key)

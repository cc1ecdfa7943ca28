"""What `tolerance` says on Spark of a random query is true: exact answers are those of plain Delta, and bounds hold."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from pyspark.errors import ArithmeticException
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql import types as T

import pyqbeast
from pyqbeast import UnsupportedError
from tests.fuzz.conditions import random_condition
from tests.fuzz.twin import FoundError, Pair
from tests.fuzz.values import quoted

_NUMBERS = (T.ByteType, T.ShortType, T.IntegerType, T.LongType, T.DecimalType, T.FloatType, T.DoubleType)
_GROUPS = (T.BooleanType, T.ByteType, T.ShortType, T.IntegerType, T.LongType, T.DateType)
#: Bounds of these hold always, or as good as.
_BOUNDED = ("n", "low", "high", "rounded")
#: So often a bound of the largest confidence holds. What lies outside by as much again is no chance any more.
_CONFIDENCE = 0.9999


def check_estimates(pair: Pair, rng: random.Random) -> None:
    """A query with some aggregates of a column of numbers, of a part of the rows or all, by groups or not."""
    column = quoted(
        rng.choice([each.name for each in pair.schema.fields if isinstance(each.dataType, _NUMBERS)])
    )
    by = [quoted(each.name) for each in pair.schema.fields if isinstance(each.dataType, _GROUPS)]
    groups = rng.sample(by, 1) if by and rng.random() < 0.4 else []
    condition = random_condition(pair.schema, rng, pair.next_key) if rng.random() < 0.5 else "true"
    asked = {"n": "count(*)", "low": f"min({column})", "high": f"max({column})"}
    asked |= {
        "mean": f"avg({column})",
        "spread": f"stddev({column})",
        "all": f"sum(cast({column} as double))",
        "rounded": f"round(max(cast({column} as double)), {rng.choice((-2, 0, 3))})",
        "share": f"sum(cast({column} as double)) / nullif(count_if({column} > 0), 0)",
    }

    def query(rows: DataFrame) -> DataFrame:
        named = [F.expr(text).alias(name) for name, text in asked.items()]
        return rows.where(condition).groupBy(*(F.expr(each).alias("g") for each in groups)).agg(*named)

    keys = ["g"] if groups else []
    try:
        truth = _by_group(query(pair.twin.read()), keys)
        answer = pyqbeast.tolerance(query(pair.ours.read()), rng.choice((0.5, 0.1)), _CONFIDENCE)
    # The sum of an average of decimals may have too many digits.
    except (UnsupportedError, ArithmeticException):
        pair.samples["not estimated"] += 1
        return
    pair.samples["answered from all rows" if answer.exact else "estimated"] += 1
    found = _by_group(answer.df, keys)
    told = f"tolerance\n{asked} by {groups} where {condition}, {answer}"
    is_complete = answer.groups is None or answer.groups.complete
    if found.keys() - truth.keys() or (is_complete and truth.keys() - found.keys()):
        raise FoundError(f"{told}\ngroups {sorted(found, key=str)} instead of {sorted(truth, key=str)}")
    for group, row in found.items():
        for name in asked if answer.exact else _BOUNDED:
            if not _holds(row, name, truth[group][name], is_exact=answer.exact):
                raise FoundError(f"{told}\n{name} of {group} is {truth[group][name]}, and not {row}")


def _by_group(frame: DataFrame, keys: Sequence[str]) -> dict[tuple[Any, ...], Row]:
    return {tuple(row[key] for key in keys): row for row in frame.collect()}


def _holds(row: Row, name: str, value: Any, *, is_exact: bool) -> bool:
    """Whether an estimate says what is true of a value."""
    if is_exact:
        return all(_equal(row[f"{name}{end}"], value) for end in ("", "_low", "_high"))
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return True
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    if name == "n" and low is not None:
        low, high = 2 * low - row["n"], 2 * high - row["n"]
    return (low is None or low <= value) and (high is None or high >= value)


def _equal(found: Any, value: Any) -> bool:
    if isinstance(value, float | Decimal) and found is not None:
        is_nan = math.isnan(value), math.isnan(found)
        return is_nan[0] if is_nan[0] or is_nan[1] else math.isclose(found, value, rel_tol=1e-8, abs_tol=1e-8)
    return bool(found == value)

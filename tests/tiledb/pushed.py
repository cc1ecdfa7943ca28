"""What conditions find, asked of Spark all at once: each is a scan of its own, with filters of its own."""

from __future__ import annotations

import functools

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def found_by(frame, conditions):
    """For each condition, the `x` of the rows that it finds, in order."""
    asked = [
        frame.where(each).select("x", F.lit(number).alias("asked")) for number, each in enumerate(conditions)
    ]
    rows = functools.reduce(DataFrame.union, asked).collect()
    return {
        each: sorted(row.x for row in rows if row.asked == number) for number, each in enumerate(conditions)
    }

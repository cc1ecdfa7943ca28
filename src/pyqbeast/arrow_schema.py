"""Arrow's types of Spark's columns.

Not a part of the bridge: a client of Spark Connect, whose PySpark has no way to a JVM, needs them for TileDB arrays.
"""

from __future__ import annotations

import inspect
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

#: Up to Spark 4.1 times are in UTC without being asked for.
_IN_UTC: dict[str, Any] = (
    {"timezone": "UTC"} if "timezone" in inspect.signature(to_arrow_schema).parameters else {}
)


def arrow_schema(schema: StructType) -> pa.Schema:
    """Arrow's types of Spark's columns; times are in UTC."""
    return to_arrow_schema(schema, **_IN_UTC)

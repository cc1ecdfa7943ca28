"""Statistics that a checkpoint holds as a struct with a value of its own type for each column, and not as JSON.

Delta writes them so with `delta.checkpoint.writeStatsAsStruct`. Everything else here reads statistics as JSON, so they
become the text that a commit would hold.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Set
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

COLUMN = "add.stats_parsed"
_TEXT, _PATH = "add.stats", "add.path"


def are_needed(parquet: pq.ParquetFile) -> bool:
    """Whether files of a checkpoint have no statistics as JSON. Reading the structs as well takes time."""
    metadata = parquet.metadata
    at = {metadata.schema.column(number).path: number for number in range(metadata.num_columns)}
    if not any(name.startswith(f"{COLUMN}.") for name in at):
        return False
    if _TEXT not in at or _PATH not in at:
        return True
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        texts, paths = (group.column(at[name]).statistics for name in (_TEXT, _PATH))
        if texts is None or paths is None or texts.null_count != paths.null_count:
            return True
    return False


def instants(parquet: pq.ParquetFile) -> frozenset[str]:
    """The columns whose times are instants, though Arrow knows no zone of them: Spark writes those with 12 bytes."""
    schema = parquet.metadata.schema
    columns = (schema.column(number) for number in range(parquet.metadata.num_columns))
    return frozenset(column.path for column in columns if column.physical_type == "INT96")


def rows_of(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """The rows of a part of a checkpoint; without the bounds that Python does not know, as far-away days."""
    try:
        return list(batch.to_pylist())
    except (OverflowError, ValueError):
        adds = batch.column("add")
        parts = {field.name: pc.struct_field(adds, field.name) for field in adds.type}
        if "stats_parsed" not in parts:
            raise
        parts["stats_parsed"] = _known_to_python(parts["stats_parsed"])
        known = pa.StructArray.from_arrays([*parts.values()], fields=[*adds.type], mask=pc.is_null(adds))
        return list(batch.set_column(batch.schema.get_field_index("add"), "add", known).to_pylist())


def _known_to_python(values: pa.Array) -> pa.Array:
    """Statistics, or those of a column, with nulls for each value that Python does not know."""
    if pa.types.is_struct(values.type):
        parts = [_known_to_python(pc.struct_field(values, [at])) for at in range(values.type.num_fields)]
        return pa.StructArray.from_arrays(parts, fields=[*values.type], mask=pc.is_null(values))
    try:
        values.to_pylist()
    except (OverflowError, ValueError):
        return pc.if_else(
            pa.array([_is_known(value) for value in values]), values, pa.scalar(None, values.type)
        )
    return values


def _is_known(value: pa.Scalar) -> bool:
    try:
        value.as_py()
    except (OverflowError, ValueError):
        return False
    return True


def as_json(parsed: Mapping[str, Any], instants: Set[str]) -> str:
    """The text of a struct. Values that JSON has no form for are left out, as by Delta."""
    return json.dumps(_known(parsed, COLUMN, instants), separators=(",", ":"), ensure_ascii=False)


def _known(values: Mapping[str, Any], path: str, instants: Set[str]) -> dict[str, Any]:
    stored = {name: _stored(value, f"{path}.{name}", instants) for name, value in values.items()}
    return {name: value for name, value in stored.items() if value is not None}


def _stored(value: Any, path: str, instants: Set[str]) -> Any:  # noqa: ANN401 (any value of Arrow's)
    if isinstance(value, dict):
        return _known(value, path, instants)
    if isinstance(value, dt.date):
        return value.isoformat() + ("Z" if path in instants else "")
    if isinstance(value, Decimal):
        return str(value)
    # NaN and infinity are no JSON.
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    return value if isinstance(value, (int, str)) else None

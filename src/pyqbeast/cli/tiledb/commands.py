"""What the command line does with arrays, as plain functions that return what is printed as text or as JSON.

Texts are texts, by the types of their columns; bytes and floats are what they are, and `cli.common` has them in JSON.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyqbeast.cli.rows import known
from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.secrets import without_secrets
from pyqbeast.tiledb.format.domain import MBR
from pyqbeast.tiledb.format.field import Field, FileKind
from pyqbeast.tiledb.read.fragment import Fragment
from pyqbeast.tiledb.read.opening import open_array
from pyqbeast.tiledb.verify import VerifyReport
from pyqbeast.tiledb.verify import verify as verify_array
from pyqbeast.tiledb.write.clean import clean as clean_array

if TYPE_CHECKING:
    from pyspark.sql import DataFrameReader, SparkSession

Value = Any
Data = dict[str, Value]


def info(uri: str, timestamp: int | None = None, encryption_key: str | None = None) -> Data:
    """The schema, the fragments and the metadata of an array.

    Raises:
        QbeastError: there is no array, or it cannot be read.
    """
    array = open_array(uri, timestamp, encryption_key=encryption_key)
    schema = array.schema
    return {
        "uri": without_secrets(array.uri),
        "kind": "dense" if schema.dense else "sparse",
        "version": schema.version,
        "allows_duplicates": schema.allows_duplicates,
        "tile_order": schema.tile_order.name.lower(),
        "cell_order": schema.cell_order.name.lower(),
        "capacity": schema.capacity,
        "dimensions": [
            _column(d.field)
            | {"domain": d.domain and [_plain(v) for v in d.domain], "extent": _plain(d.extent)}
            for d in schema.dimensions
        ],
        "attributes": [_column(a) for a in schema.attributes],
        "non_empty_domain": _domain(array.non_empty_domain, schema.dimension_fields),
        "current_domain": _domain(schema.current_domain, schema.dimension_fields),
        "fragments": [_fragment(f, schema.dimension_fields) for f in array.fragments],
        "deletes": len(array.deletions),
        "metadata": {key: _plain(value) for key, value in array.metadata.items()},
        "enumerations": {n: [_plain(known(v)) for v in e.values] for n, e in array.enumerations.items()},
    }


def verify(uri: str, timestamp: int | None = None, encryption_key: str | None = None) -> VerifyReport:
    """Check an array.

    Raises:
        QbeastError: there is no array, or its schema cannot be read.
    """
    return verify_array(open_array(uri, timestamp, encryption_key=encryption_key))


def clean(uri: str, retain_hours: float, *, dry_run: bool) -> Data:
    """Delete what failed writes left in an array's folder, or with `dry_run` list it."""
    files = clean_array(uri, retain_hours=retain_hours, dry_run=dry_run)
    return {"uri": without_secrets(uri), "dry_run": dry_run, "files": files}


def dump(
    uri: str, fragment: str | None = None, timestamp: int | None = None, encryption_key: str | None = None
) -> Data:
    """Everything that the metadata of fragments says: footer, R-tree leaves, offsets, sizes and statistics.

    Args:
        uri: the array.
        fragment: the name of a fragment, or the beginning of one; all of them by default.
        timestamp: the array as of this time (ms since 1970, UTC).
        encryption_key: the array's key.

    Raises:
        InvalidInputError: there is no such fragment.
    """
    array = open_array(uri, timestamp, encryption_key=encryption_key)
    chosen = [f for f in array.fragments if f.name.text.startswith(fragment or "")]
    if fragment is not None and not chosen:
        raise InvalidInputError(
            f"{uri}: no fragment {fragment!r}; there are {[f.name.text for f in array.fragments]}"
        )
    dimensions = array.schema.dimension_fields
    return {
        "uri": without_secrets(array.uri),
        "fragments": [_fragment(f, dimensions) | _sections(f, dimensions) for f in chosen],
    }


def export(
    spark: SparkSession,
    uri: str,
    table: str,
    columns: str | None = None,
    timestamp: int | None = None,
    encryption_key: str | None = None,
) -> Data:
    """Write an array's cells into an indexed table; the table must not exist.

    Args:
        spark: a session with both sources.
        uri: the array.
        table: where the table goes.
        columns: columns to index, with commas between them; by default the array's dimensions.
        timestamp: the array as of this time (ms since 1970, UTC).
        encryption_key: the array's key.
    """
    array = open_array(uri, timestamp, encryption_key=encryption_key)
    reader = spark.read.format("tiledb").options(**_key_option(encryption_key))
    if timestamp is not None:
        reader = reader.option("timestamp", str(timestamp))
    indexed = (
        [name.strip() for name in columns.split(",")]
        if columns
        else [d.name for d in array.schema.dimensions]
    )
    frame = reader.load(uri)
    frame.write.format("qbeast").option("columnsToIndex", ",".join(indexed)).save(table)
    return {
        "array": without_secrets(uri),
        "table": without_secrets(table),
        "columns_to_index": indexed,
        "rows": _rows(spark.read.format("qbeast"), table),
    }


def import_(
    spark: SparkSession,
    table: str,
    uri: str,
    dimensions: str | None = None,
    encryption_key: str | None = None,
) -> Data:
    """Write an indexed table's rows into an array: a new one, or one that is there and gets them added.

    Args:
        spark: a session with both sources.
        table: the table.
        uri: where the array is, or goes.
        dimensions: for a new array, the columns of its key, joined by commas.
        encryption_key: the array's key; a new one is encrypted with it.
    """
    key = _key_option(encryption_key)
    frame = spark.read.format("qbeast").load(table)
    rows = frame.count()
    writer = frame.write.format("tiledb").mode("append").options(**key)
    if dimensions is not None:
        writer = writer.option("dimensions", dimensions)
    writer.save(uri)
    return {
        "table": without_secrets(table),
        "array": without_secrets(uri),
        "rows": rows,
        "cells": _rows(spark.read.format("tiledb").options(**key), uri),
    }


def _key_option(encryption_key: str | None) -> dict[str, str]:
    return {} if encryption_key is None else {"encryptionKey": encryption_key}


def _rows(reader: DataFrameReader, path: str) -> int | None:
    """How many rows a table or array has now, `None` where it cannot be read: what was written has landed."""
    try:
        return reader.load(path).count()
    except Exception:
        return None


def _column(field: Field) -> Data:
    report: Data = {
        "name": field.name,
        "type": field.datatype.name,
        "cell_val_num": "var" if field.is_var else field.cell_val_num,
    }
    report |= {"nullable": field.nullable, "filters": field.filters.names}
    return report | ({"enumeration": field.enumeration} if field.enumeration else {})


def _fragment(fragment: Fragment, dimensions: Sequence[Field]) -> Data:
    footer = fragment.footer
    return {
        "name": fragment.name.text,
        "timestamps": [fragment.name.start, fragment.name.end],
        "version": footer.version,
        "schema": footer.schema_name,
        "tiles": fragment.tile_count,
        "cells": fragment.cell_count,
        "bytes": footer.data_bytes,
        "non_empty_domain": _domain(footer.non_empty_domain, dimensions),
        "has_timestamps": footer.has_timestamps,
        "has_deletes": footer.has_deletes,
        "processed_conditions": list(fragment.processed_conditions.names),
    }


def _sections(fragment: Fragment, dimensions: Sequence[Field]) -> Data:
    leaves = fragment.rtree.leaves
    return {
        "rtree": {"levels": [len(level) for level in fragment.rtree.levels], "fanout": fragment.rtree.fanout},
        "mbrs": [_domain(leaves[i], dimensions) for i in range(len(leaves))] if leaves is not None else [],
        "columns": {name: _column_sections(fragment, name) for name in fragment.fields},
    }


def _column_sections(fragment: Fragment, name: str) -> Data:
    field, files = fragment.fields[name][0], fragment.files_of(name)
    report: Data = {"file": files[FileKind.FIXED].name}
    for kind, file in files.items():
        report[f"{kind.value}_size"] = file.size
        report[kind.offsets_section] = file.tile_offsets().values.tolist()
        if kind is FileKind.VAR:
            report["tile_var_sizes"] = fragment.tile_var_sizes(name).values.tolist()
    for label, values in (("mins", fragment.tile_mins(name)), ("maxs", fragment.tile_maxs(name))):
        report[label] = [] if values is None else [_plain(v, field) for v in values.typed(field).tolist()]
    sums, nulls = fragment.tile_sums(name), fragment.tile_null_counts(name)
    report["sums"] = [] if sums is None else [_plain(v) for v in sums.typed(field).tolist()]
    report["null_counts"] = [] if nulls is None else nulls.values.tolist()
    return report


def _domain(box: MBR | None, dimensions: Sequence[Field]) -> list[list[Any]] | None:
    if box is None:
        return None
    ranges = zip(box.ranges, dimensions, strict=True)
    return [[_plain(each.low, field), _plain(each.high, field)] for each, field in ranges]


def _plain(value: Value, field: Field | None = None) -> Value:
    """A value, of a column where it is one: days and spans of time as texts, and so the bytes of a column of texts."""
    if isinstance(value, bytes) and field is not None and field.datatype.is_text:
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, list | tuple):
        return [_plain(item, field) for item in value]
    if isinstance(value, datetime.date | datetime.timedelta):
        return str(value)
    return value

"""Small Delta tables made by hand, for tests that need one without Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pyqbeast.delta import DeletionVectorDescriptor

PROTOCOL = {
    "protocol": {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["deletionVectors"],
        "writerFeatures": ["deletionVectors"],
    }
}
_FIELD = {"name": "id", "type": "long", "nullable": True, "metadata": {}}
METADATA = {
    "metaData": {
        "id": "0d4e3a4c-8a25-4a3e-9d0e-6a4ad35b3f0b",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": [_FIELD]}),
        "partitionColumns": [],
        "configuration": {"delta.enableDeletionVectors": "true"},
        "createdTime": 0,
    }
}


def struct(vector: DeletionVectorDescriptor | None):
    return None if vector is None else json.loads(vector.to_json())


def add(path: str, rows: int | None = None, vector: DeletionVectorDescriptor | None = None, size: int = 1):
    entry = {"path": path, "partitionValues": {}, "size": size, "modificationTime": 0, "dataChange": True}
    if rows is not None:
        entry["stats"] = json.dumps({"numRecords": rows, "tightBounds": vector is None})
    if vector is not None:
        entry["deletionVector"] = struct(vector)
    return {"add": entry}


def remove(path: str, vector: DeletionVectorDescriptor | None = None):
    entry = {"path": path, "deletionTimestamp": 0, "dataChange": True}
    if vector is not None:
        entry["deletionVector"] = struct(vector)
    return {"remove": entry}


def write_json(path: Path, *actions):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(action) + "\n" for action in actions), encoding="utf-8")


def commit(table: Path, version: int, *actions):
    write_json(table / "_delta_log" / f"{version:020d}.json", *actions)


def table_of(table: Path, *files: tuple[int, DeletionVectorDescriptor | None]):
    """Make a readable table of one column `id`, counting from 0 in each of `files`: (rows, vector)."""
    adds = []
    for number, (rows, vector) in enumerate(files):
        path = table / f"part-{number}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"id": pa.array(range(rows), pa.int64())}), path)
        adds.append(add(path.name, rows, vector, path.stat().st_size))
    commit(table, 0, PROTOCOL, METADATA, *adds)

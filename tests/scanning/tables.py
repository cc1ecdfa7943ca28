"""Small indexed tables made by hand, for tests that need one without Spark."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pyqbeast.core.format.constants import TAG_KEY_ROWS, TAG_MAX_ROW_WEIGHT, WEIGHT_MAX, WEIGHT_MIN
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.file_tags import Block, blocks_to_json
from pyqbeast.core.format.hashed_layout import layout_text, today_layout
from pyqbeast.core.format.key_frequency import KeyFrequency
from pyqbeast.core.format.weight import weight_of
from pyqbeast.core.revisions.revision import Revision, configuration_entries
from pyqbeast.core.transform.empty import Empty
from pyqbeast.core.transform.registry import transformer_for
from pyqbeast.scanning.row_weights import row_weights
from tests.deletion_vectors.tables import PROTOCOL, commit, struct

NUMBERS = pa.table({"id": pa.array(range(1_000), pa.int64()), "text": [f"t{i}" for i in range(1_000)]})
#: The names of types in the schema of a table.
NAMES = {
    pa.int32(): "integer",
    pa.int64(): "long",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "binary",
}
NAMES |= {pa.float32(): "float", pa.date32(): "date", pa.timestamp("us", "UTC"): "timestamp"}


def fields_of(schema):
    return [{"name": f.name, "type": name_of(f.type), "nullable": True, "metadata": {}} for f in schema]


def name_of(kind):
    if pa.types.is_struct(kind):
        return {"type": "struct", "fields": fields_of(kind)}
    return f"decimal({kind.precision},{kind.scale})" if pa.types.is_decimal(kind) else NAMES[kind]


def metadata(fields, indexed="id", partitions=(), *, is_recorded=False, **configuration):
    """The action of a table, whose revision may record how its files hold the indexed column."""
    transformers = (transformer_for(indexed, None, "LongDataType"),)
    recorded = layout_text(today_layout([indexed], fields, with_ids=False)) if is_recorded else None
    revision = Revision(1, 0, "", 1000, transformers, (Empty(),), hashed_as=recorded)
    configuration = {**configuration, **configuration_entries(revision, {})}
    schema = json.dumps({"type": "struct", "fields": fields})
    return {
        "metaData": {
            "schemaString": schema,
            "partitionColumns": [*partitions],
            "configuration": configuration,
        }
    }


def indexed_add(
    path: Path,
    rows: pa.Table,
    lowest=WEIGHT_MIN,
    highest=WEIGHT_MAX,
    vector=None,
    heaviest=None,
    key_rows=None,
    write="write",
    **how,
):
    """Writes a data file of one block, and returns its entry in the log.

    It has tags of its heaviest row and of the rows of its most frequent key if they are stated.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, path, **how)
    bounds = {}
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        # Python knows fewer days than Arrow.
        if pa.types.is_temporal(column.type) or pa.types.is_nested(column.type):
            continue
        held = pc.min_max(column)
        low, high = held["min"].as_py(), held["max"].as_py()
        if pa.types.is_floating(column.type) and not math.isfinite(pc.sum(column).as_py() or 0):
            continue
        if isinstance(low, (int, str, float)):
            bounds[name] = (low, high)
    statistics = {
        "numRecords": rows.num_rows,
        "minValues": {name: low for name, (low, _) in bounds.items()},
        "maxValues": {name: high for name, (_, high) in bounds.items()},
        "nullCount": {name: rows[name].null_count for name in rows.column_names},
        "tightBounds": vector is None,
    }
    block = Block(CubeId.root(1), lowest, highest, rows.num_rows)
    return {
        "add": {
            "path": path.name,
            "partitionValues": {},
            "size": path.stat().st_size,
            "modificationTime": 0,
            "dataChange": True,
            "stats": json.dumps(statistics),
            "tags": {
                "revision": "1",
                "blocks": blocks_to_json([block]),
                **({} if heaviest is None else {TAG_MAX_ROW_WEIGHT: str(heaviest)}),
                **({} if key_rows is None else {TAG_KEY_ROWS: KeyFrequency(write, key_rows).to_tag()}),
            },
            **({"deletionVector": struct(vector)} if vector else {}),
        }
    }


def indexed_table(table: Path, *parts: pa.Table, **how):
    """A table of one file for each part, indexed by `id`."""
    adds = [indexed_add(table / f"part-{n}.parquet", part, **how) for n, part in enumerate(parts)]
    commit(table, 0, PROTOCOL, metadata(fields_of(parts[0].schema)), *adds)
    return table


def by_weight(table, rows, files=20, **how):
    """A table whose files hold rows of ascending weight, as those of an index do."""
    adds = adds_by_weight(table, rows, files, **how)
    commit(table, 0, PROTOCOL, metadata(fields_of(rows.schema)), *adds)
    return table


def in_writes(table, writes, files=20):
    """The same of several writes, in each of which every key has one row."""
    told = metadata(fields_of(writes[0].schema), is_recorded=True)
    adds = [adds_by_weight(table, rows, files, key_rows=1, write=f"w{n:03}") for n, rows in enumerate(writes)]
    commit(table, 0, PROTOCOL, told, *itertools.chain(*adds))
    return table


def adds_by_weight(table, rows, files, write="write", **how):
    """The files of one write."""
    weights = row_weights([rows.column("id").combine_chunks()])
    order = np.argsort(weights, kind="stable")
    adds = []
    for number, part in enumerate(np.array_split(order, files)):
        held = weights[part]
        adds.append(
            indexed_add(
                table / f"{write}-{number:03}.parquet",
                rows.take(pa.array(part)),
                int(held[0]),
                int(held[-1]),
                heaviest=int(held[-1]),
                write=write,
                **how,
            )
        )
    return adds


def joined_blocks(table, rows, first):
    """A table as versions 0.3 to 0.5 of the Scala project leave it that have joined the blocks of each cube.

    The first rows were written when the root kept rows of every weight, the others when it kept the lightest tenth.
    The file of the root names the smaller of the two weights.
    """
    weights = row_weights([rows.column("id").combine_chunks()])
    is_first = np.arange(rows.num_rows) < first
    kept = weight_of(0.1)
    in_root = is_first | (weights <= kept)
    root = indexed_add(table / "root.parquet", rows.filter(pa.array(in_root)), int(weights.min()), kept)
    rest = indexed_add(table / "rest.parquet", rows.filter(pa.array(~in_root)), kept + 1)
    commit(table, 0, PROTOCOL, metadata(fields_of(rows.schema)), root, rest)
    return table


def count_and_sum(scan):
    ids = scan.select(["id"]).to_arrow()["id"]
    return len(ids), pc.sum(ids).as_py()


def ids(scan):
    return sorted(scan.to_arrow()["id"].to_pylist())

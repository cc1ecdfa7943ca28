"""The blocks of a table's files as rows, for those who list them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from pyqbeast.delta_log.indexed_snapshot import IndexedSnapshot

#: The columns of `QbeastTable.blocks`.
SCHEMA = pa.schema(
    [
        ("revision", pa.int64()),
        ("cube", pa.string()),
        ("depth", pa.int32()),
        ("file", pa.string()),
        ("file_bytes", pa.int64()),
        ("min_weight", pa.int32()),
        ("max_weight", pa.int32()),
        ("element_count", pa.int64()),
        ("replicated", pa.bool_()),
    ]
)


def block_rows(index: IndexedSnapshot) -> Iterator[dict[str, Any]]:
    """Every block of every indexed file, as a value for each column of the schema."""
    for file, block in index.blocks():
        yield {
            "revision": file.revision_id,
            "cube": block.cube.to_string(),
            "depth": block.cube.depth,
            "file": file.path,
            "file_bytes": file.size,
            "min_weight": block.min_weight,
            "max_weight": block.max_weight,
            "element_count": block.element_count,
            "replicated": block.replicated,
        }

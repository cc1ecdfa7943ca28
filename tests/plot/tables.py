"""Tables of many blocks that exist in their log only."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

from pyqbeast.core.format.constants import WEIGHT_MAX, WEIGHT_MIN
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.file_tags import Block, blocks_to_json
from pyqbeast.core.format.weight import weight_of
from pyqbeast.core.revisions.revision import Revision, configuration_entries
from pyqbeast.core.transform.linear import Linear
from pyqbeast.core.transform.registry import transformer_for
from tests.deletion_vectors.tables import PROTOCOL, commit

SPAN = 1_000_000


def table_of_blocks(
    table: Path, count: int, dimensions: int = 2, blocks_a_file: int = 1, **tags: str
) -> Path:
    """A table of so many blocks: those of all cubes down to a level, and further ones of the deepest cubes.

    `tags` are those of each file beside its index. The columns `c0`, `c1` … hold 0 to `SPAN`.
    All cubes hold about as many rows, those of the lowest weights.
    """
    names = [f"c{number}" for number in range(dimensions)]
    revision = Revision(
        1,
        0,
        "",
        1_000,
        tuple(transformer_for(name, "linear", "LongDataType") for name in names),
        tuple(Linear("LongDataType", 0, SPAN, 0) for _ in names),
    )
    fields = [{"name": name, "type": "long", "nullable": True, "metadata": {}} for name in names]
    metadata = {
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "configuration": configuration_entries(revision, {}),
    }
    deepest, cubes = 0, [CubeId.root(dimensions)]
    while len(cubes) + (1 << dimensions * (deepest + 1)) <= count:
        deepest += 1
        cubes += [
            CubeId(dimensions, path) for path in itertools.product(range(1 << dimensions), repeat=deepest)
        ]
    whole = len(cubes)
    cubes += cubes[-(count - whole) :] if count > whole else []
    # The share of the rows down to each level is the weight up to which its cubes keep them.
    edges = [sum(1 << dimensions * level for level in range(depth)) / whole for depth in range(deepest + 2)]
    adds = [
        _add(number, cubes[start : start + blocks_a_file], edges, names, tags)
        for number, start in enumerate(range(0, count, blocks_a_file))
    ]
    commit(table, 0, PROTOCOL, {"metaData": metadata}, *adds)
    return table


def _add(number: int, cubes: list[CubeId], edges: list[float], names: list[str], tags: dict[str, str]):
    blocks = [_block(cube, edges) for cube in cubes]
    corners = [_corner(cube) for cube in cubes]
    sides = [SPAN / 2**cube.depth for cube in cubes]
    lows = [int(min(corner[d] for corner in corners) * SPAN) for d in range(len(names))]
    highs = [
        int(max(corner[d] * SPAN + side for corner, side in zip(corners, sides, strict=True)))
        for d in range(len(names))
    ]
    rows = sum(block.element_count for block in blocks)
    statistics = {
        "numRecords": rows,
        "minValues": dict(zip(names, lows, strict=True)),
        "maxValues": dict(zip(names, highs, strict=True)),
        "nullCount": dict.fromkeys(names, 0),
    }
    return {
        "add": {
            "path": f"part-{number:06}.parquet",
            "partitionValues": {},
            "size": 40 * rows,
            "modificationTime": 0,
            "dataChange": True,
            "stats": json.dumps(statistics),
            "tags": {"revision": "1", "blocks": blocks_to_json(blocks), **tags},
        }
    }


def _block(cube: CubeId, edges: list[float]) -> Block:
    low = weight_of(edges[cube.depth]) if cube.depth else WEIGHT_MIN
    high = WEIGHT_MAX if cube.depth == len(edges) - 2 else weight_of(edges[cube.depth + 1])
    return Block(cube, low, high, 900 + sum(cube.path) * 37 % 200)


def _corner(cube: CubeId) -> list[float]:
    return [
        sum(
            (child >> (cube.dimensions - 1 - d) & 1) / 2 ** (level + 1)
            for level, child in enumerate(cube.path)
        )
        for d in range(cube.dimensions)
    ]

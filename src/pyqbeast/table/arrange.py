"""Puts the rows of a write in order: each row to the partition of its file, along the z-order curve in it.

Counts the blocks on the way, so that what the log says describes what was written.
"""

from __future__ import annotations

import logging
import re
import uuid
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from pyspark.sql import DataFrame

from pyqbeast.core.block import Block, blocks_to_json
from pyqbeast.core.closure import close_gaps
from pyqbeast.core.cube import CubeId
from pyqbeast.core.facts import (
    HELPER_CUBE,
    HELPER_FILE,
    HELPER_WEIGHT,
    TAG_BLOCKS,
    TAG_HEAVIEST,
    TAG_KEY_ROWS,
    TAG_REVISION,
    WEIGHT_MAX,
    WEIGHT_MIN,
)
from pyqbeast.core.key_rows import KeyRows
from pyqbeast.core.layout import Layout
from pyqbeast.core.revision import Revision
from pyqbeast.core.status import IndexStatus
from pyqbeast.core.tree import Tree
from pyqbeast.delta import bridge
from pyqbeast.table.coordinates import coordinates, weight

_log = logging.getLogger(__name__)

#: Names of columns that the Scala project gives its rows while it writes them; a table must not have one of them.
RESERVED = (HELPER_WEIGHT, HELPER_CUBE, HELPER_FILE)

_FILE_NAME = re.compile(r"part-(\d+)-.*[.-]c(\d+)\.")


@dataclass
class Arrangement:
    """Rows laid out for a tree. Write `rows.frame`; then `tags` describes the files that came of it.

    `write` tells the write apart from all others.
    """

    tree: Tree
    status: IndexStatus | None
    rows: bridge.Arrangement
    write: str

    def tags(self, files: list[bridge.WrittenFile], revision_id: int) -> dict[str, dict[str, str]]:
        """Tags of the written files, by path. A file of rows outside the revision's space has none."""
        entries = self.rows.tally().tolist()
        blocks = self._blocks(entries)
        key_rows = _key_rows(entries)
        heaviest = _heaviest(entries)
        tags = {}
        for file in files:
            match = _FILE_NAME.search(file.path.rsplit("/", 1)[-1])
            found = blocks.get((int(match[1]), int(match[2])), []) if match else []
            counted = sum(block.element_count for block in found)
            if match and found and file.rows in (None, counted):
                tags[file.path] = {
                    TAG_REVISION: str(revision_id),
                    TAG_BLOCKS: blocks_to_json(found),
                    TAG_KEY_ROWS: KeyRows(self.write, key_rows[int(match[1])]).to_tag(),
                    TAG_HEAVIEST: str(heaviest[int(match[1]), int(match[2])]),
                }
            elif found:
                # Untagged is safe: the file is read by every query, until `optimize` indexes it.
                _log.warning("%s holds %s rows and not %s, it stays unindexed", file.path, file.rows, counted)
        return tags

    def _blocks(self, entries: list[list[int]]) -> dict[tuple[int, int], list[Block]]:
        """The blocks of each file, by partition and number of the file in it."""
        counted: dict[tuple[int, int], dict[CubeId, Block]] = defaultdict(dict)
        cubes = {key: self._cube(key) for _, _, key, *_ in entries if key != bridge.OUTSIDE}
        stored = self.status.cubes if self.status else {}
        moves = close_gaps([cube for cube, _ in cubes.values()], stored)
        unindexed = {(partition, number) for partition, number, key, *_ in entries if key == bridge.OUTSIDE}
        for partition, number, key, rows, low, high, _ in entries:
            if (partition, number) in unindexed:
                continue
            cube, largest = cubes[key]
            if cube in moves:
                cube, largest = moves[cube], WEIGHT_MAX
            block = Block(cube, low, largest, rows)
            known = counted[partition, number].get(cube)
            assert high <= largest
            counted[partition, number][cube] = _joined(known, block) if known else block
        return {file: list(blocks.values()) for file, blocks in counted.items()}

    def _cube(self, key: int) -> tuple[CubeId, int]:
        """A cube and the largest weight that it keeps."""
        node, child = bridge.read_cube(key)
        if child is None:
            return self.tree.cube(node), int(self.tree.max_weight[node])
        return self.tree.cube(node).child(child), WEIGHT_MAX


def _key_rows(entries: list[list[int]]) -> dict[int, int]:
    """Rows of the most frequent key of each partition: all rows of a key go to one."""
    largest: dict[int, int] = defaultdict(int)
    for partition, *_, rows in entries:
        largest[partition] = max(largest[partition], rows)
    return largest


def _heaviest(entries: list[list[int]]) -> dict[tuple[int, int], int]:
    """The largest weight in each file, by partition and number of the file in it."""
    largest: dict[tuple[int, int], int] = defaultdict(lambda: WEIGHT_MIN)
    for partition, number, _, _, _, high, _ in entries:
        largest[partition, number] = max(largest[partition, number], high)
    return largest


def _joined(a: Block, b: Block) -> Block:
    return Block(
        a.cube,
        min(a.min_weight, b.min_weight),
        max(a.max_weight, b.max_weight),
        a.element_count + b.element_count,
    )


def arrange(
    data: DataFrame,
    types: Mapping[str, str],
    revision: Revision,
    tree: Tree,
    layout: Layout,
    status: IndexStatus | None,
    rows_per_file: int,
) -> Arrangement:
    """Lays out `data` for the files of `layout`, and one more for rows outside the revision's space.

    Args:
        data: the rows.
        types: Spark type of each column, as simple text.
        revision: whose space the rows are placed in.
        tree: its cubes.
        layout: the files of the cubes.
        status: what the revision holds already; None for a new one.
        rows_per_file: after so many rows of a partition Spark opens another file.
    """
    point = coordinates(data.sparkSession, revision, types)
    row_weight = weight(revision.hashed_columns)
    rows = bridge.Arrangement(data, point, row_weight, _tree_bytes(tree, layout), rows_per_file)
    return Arrangement(tree, status, rows, write=uuid.uuid4().hex)


def _tree_bytes(tree: Tree, layout: Layout) -> bytes:
    """As `Tree.of` in the bridge reads it."""
    head = [tree.dimensions, len(tree), len(layout.weight), layout.files, len(layout.cut)]
    nodes = [tree.parent, tree.child, tree.max_weight]
    files = [layout.start, layout.weight, layout.file, layout.cut_start]
    ints = np.concatenate([np.asarray(part, "<i4") for part in (head, *nodes, *files)])
    return ints.tobytes() + layout.cut.astype("<i8").tobytes()

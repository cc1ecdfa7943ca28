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
from pyqbeast.core.closure import announcements
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

    `status` is what the revision holds beside them. `write` tells the write apart from all others.
    """

    tree: Tree
    status: IndexStatus
    rows: bridge.Arrangement
    write: str

    def tags(self, files: list[bridge.WrittenFile], revision_id: int) -> dict[str, dict[str, str]]:
        """Tags of the written files, by path. A file of rows outside the revision's space has none."""
        entries = self.rows.tally().tolist()
        blocks = self._blocks(entries)
        tagged = {}
        for file in files:
            match = _FILE_NAME.search(file.path.rsplit("/", 1)[-1])
            place = (int(match[1]), int(match[2])) if match else None
            found = blocks.get(place, []) if place else []
            counted = sum(block.element_count for block in found)
            if place and found and file.rows in (None, counted):
                tagged[place] = file.path
            elif found:
                # Untagged is safe: the file is read by every query, until `optimize` indexes it.
                _log.warning("%s holds %s rows and not %s, it stays unindexed", file.path, file.rows, counted)
        self._close_gaps([blocks[place] for place in tagged])
        key_rows = _key_rows(entries)
        heaviest = _heaviest(entries)
        return {
            path: {
                TAG_REVISION: str(revision_id),
                TAG_BLOCKS: blocks_to_json(blocks[place]),
                TAG_KEY_ROWS: KeyRows(self.write, key_rows[place[0]]).to_tag(),
                TAG_HEAVIEST: str(heaviest[place]),
            }
            for place, path in tagged.items()
        }

    def _close_gaps(self, of_files: list[list[Block]]) -> None:
        """Adds the blocks that other implementations miss to the file of the lightest row, which most samples open."""
        if not of_files:
            return
        status = self.status.with_blocks(block for blocks in of_files for block in blocks)
        first = min(of_files, key=lambda blocks: min(block.min_weight for block in blocks))
        first += [Block(cube, weight, weight, 0) for cube, weight in announcements(status.cubes).items()]

    def _blocks(self, entries: list[list[int]]) -> dict[tuple[int, int], list[Block]]:
        """The blocks of each file, by partition and number of the file in it."""
        blocks: dict[tuple[int, int], list[Block]] = defaultdict(list)
        unindexed = {(partition, number) for partition, number, key, *_ in entries if key == bridge.OUTSIDE}
        for partition, number, key, rows, low, high, _ in entries:
            if (partition, number) in unindexed:
                continue
            cube, largest = self._cube(key)
            assert high <= largest
            blocks[partition, number].append(Block(cube, low, largest, rows))
        return blocks

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


def arrange(
    data: DataFrame,
    types: Mapping[str, str],
    revision: Revision,
    tree: Tree,
    layout: Layout,
    status: IndexStatus,
    rows_per_file: int,
) -> Arrangement:
    """Lays out `data` for the files of `layout`, and one more for rows outside the revision's space.

    Args:
        data: the rows.
        types: Spark type of each column, as simple text.
        revision: whose space the rows are placed in.
        tree: its cubes.
        layout: the files of the cubes.
        status: what the revision holds already.
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

"""Lays out the rows of a write: each row goes to the partition of its file, and a partition is sorted by the
stretches of the file.

The writer counts the blocks, so what the log says describes what was written.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from pyspark.sql import DataFrame

from pyqbeast import bridge
from pyqbeast.core.format.constants import (
    TAG_BLOCKS,
    TAG_KEY_ROWS,
    TAG_MAX_ROW_WEIGHT,
    TAG_PARTS,
    TAG_REVISION,
    TAG_WEIGHTS,
    WEIGHT_MAX,
)
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.file_parts import parts_tag
from pyqbeast.core.format.file_tags import Block, blocks_to_json
from pyqbeast.core.format.key_frequency import KeyFrequency
from pyqbeast.core.format.weight_counts import weights_tag
from pyqbeast.core.otree.file_layout import FileLayout
from pyqbeast.core.otree.gaps import closing
from pyqbeast.core.otree.status import IndexStatus
from pyqbeast.core.otree.tree import Tree
from pyqbeast.core.revisions.revision import Revision
from pyqbeast.table.coordinates import coordinates

_log = logging.getLogger(__name__)


@dataclass
class Arrangement:
    """Rows laid out for a tree. First write `frame`, then `tags` describes the files that were written.

    `status` is what the revision holds beside these rows. `write` is the unique id of the write.
    """

    tree: Tree
    status: IndexStatus
    frame: DataFrame
    write: str

    def tags(self, files: list[bridge.WrittenFile], revision_id: int) -> dict[str, dict[str, str]]:
        """Tags of the written files, by path. A file with rows outside the revision's space gets none."""
        blocks = {}
        for file in files:
            if file.blocks is None:
                # A file without tags is safe: every query reads it, until `optimize` indexes it.
                _log.warning("%s: nobody saw where its rows lie, it stays unindexed", file.path)
            elif file.strays:
                message = "%s: %d of its %d rows have other weights in the file than they were laid out by"
                _log.warning(f"{message}, it stays unindexed", file.path, file.strays, file.rows)
            elif outside := sum(block.rows for block in file.blocks if block.cube == bridge.OUTSIDE):
                message = "%s: %d of its %d rows lie outside the space of revision %d, it stays unindexed"
                _log.warning(message, file.path, outside, file.rows, revision_id)
            elif file.blocks:
                blocks[file.path] = [self._stored(block) for block in file.blocks]
        self._close_gaps(blocks)
        return {
            file.path: {
                TAG_REVISION: str(revision_id),
                TAG_BLOCKS: blocks_to_json(blocks[file.path]),
                TAG_KEY_ROWS: KeyFrequency(self.write, file.key_rows).to_tag(),
                TAG_MAX_ROW_WEIGHT: str(file.max_row_weight),
                TAG_WEIGHTS: weights_tag(file.weights),
                **({TAG_PARTS: parts_tag(file.parts)} if file.parts else {}),
            }
            for file in files
            if file.path in blocks
        }

    def _close_gaps(self, of_files: dict[str, list[Block]]) -> None:
        """Adds blocks without rows for missing cubes, which other implementations need."""
        if of_files:
            status = self.status.with_blocks(block for blocks in of_files.values() for block in blocks)
            first, added = closing(of_files, status.cubes)
            of_files[first] += added

    def _stored(self, block: bridge.WrittenBlock) -> Block:
        cube, largest = self._cube(block.cube)
        assert block.max_weight <= largest
        return Block(cube, block.min_weight, largest, block.rows)

    def _cube(self, key: int) -> tuple[CubeId, int]:
        """A cube and the largest weight that it keeps."""
        node, child = bridge.read_cube(key)
        if child is None:
            return self.tree.cube(node), int(self.tree.max_weight[node])
        return self.tree.cube(node).child(child), WEIGHT_MAX


def arrange(
    data: DataFrame,
    types: Mapping[str, str],
    revision: Revision,
    tree: Tree,
    layout: FileLayout,
    status: IndexStatus,
) -> Arrangement:
    """Lays out `data` for the files of `layout`, and one more for rows outside the revision's space.

    Args:
        data: the rows.
        types: Spark type of each column, as simple text.
        revision: whose space the rows are placed in.
        tree: its cubes.
        layout: the files of the cubes.
        status: what the revision holds already.
    """
    point = coordinates(data.sparkSession, revision, types)
    weight = bridge.row_weight(data, revision.hashed_columns)
    frame = bridge.arranged(data, point, weight, tree_bytes(tree, layout))
    return Arrangement(tree, status, frame, write=uuid.uuid4().hex)


def tree_bytes(tree: Tree, layout: FileLayout) -> bytes:
    """As `Tree.java` reads it."""
    head = [tree.dimensions, len(tree), len(layout.part_weight), len(layout.border), layout.files]
    cubes = [tree.parent, tree.child, tree.max_weight]
    cells = [layout.part_weight, layout.root, layout.dimension, layout.target, layout.stretch]
    ints = np.concatenate([np.asarray(part, "<i4") for part in (head, *cubes, *cells)])
    return ints.tobytes() + layout.border.astype("<f8").tobytes()

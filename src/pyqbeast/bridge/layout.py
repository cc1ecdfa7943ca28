"""Rows on their way to the files of a tree: sampled and sent there, and the longs that stand for their cubes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import Column, DataFrame

from pyqbeast.bridge.jvm import java, java_column
from pyqbeast.core.format.constants import MAX_COLUMNS

#: Bits of a cube's long that tell of a child which the tree does not have: its number plus one. See `Tree.java`.
_MISSING_CHILD_BITS = MAX_COLUMNS + 1

#: The cube of rows that lie outside the revision's space.
OUTSIDE = -1


def arranged(data: DataFrame, point: Sequence[Column], weight: Column, tree: bytes) -> DataFrame:
    """The rows shuffled to the files of a tree, one partition a file. `Tree.java` describes the bytes of the tree."""
    package = java(data.sparkSession)
    columns = [java_column(column) for column in (*point, weight)]
    return DataFrame(
        package.layout.RowShuffle.of(data._jdf, columns, package.layout.Tree(tree)), data.sparkSession
    )


def read_cube(cube: int) -> tuple[int, int | None]:
    """Splits the long that stands for a cube: its node, and the child's number if the cube is a missing child
    of that node.
    """
    child = cube & ((1 << _MISSING_CHILD_BITS) - 1)
    return cube >> _MISSING_CHILD_BITS, child - 1 if child else None


def sample_to(data: DataFrame, columns: Sequence[Column], rows: int, target: Path) -> None:
    """Samples doubles and longs of a frame's rows, with the weight last, into a file; see `Sampler.java`."""
    asked = [java_column(column) for column in columns]
    java(data.sparkSession).layout.Sampler.sample(data._jdf, asked, rows, str(target))

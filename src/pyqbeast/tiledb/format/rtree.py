"""The R-tree of a sparse fragment: the rectangles around its tiles, and around groups of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyqbeast.tiledb.cursor import Bytes, Cursor, u32, u64
from pyqbeast.tiledb.errors import ArrayFormatError
from pyqbeast.tiledb.format.column import numbers
from pyqbeast.tiledb.format.domain import MBRs
from pyqbeast.tiledb.format.field import Field

#: The most children of a node that is written.
FANOUT = 10


@dataclass(frozen=True, eq=False)
class RTree:
    """The tree, level by level.

    Attributes:
        fanout: the most children of a node.
        levels: the root's level first, the leaves last. Leaf i is the rectangle around tile i. Dense fragments
            have no levels.
    """

    fanout: int
    levels: tuple[MBRs, ...]

    @property
    def leaves(self) -> MBRs | None:
        """The rectangles around the tiles, `None` in a dense fragment."""
        return self.levels[-1] if self.levels else None

    @classmethod
    def parse(cls, payload: Bytes, file: str, dimensions: Sequence[Field]) -> RTree:
        """Read the tree from the payload of its generic tile."""
        cursor = Cursor(payload, file)
        fanout, count = cursor.u32("fanout"), cursor.u32("number of levels")
        if count * 8 > cursor.remaining:
            raise ArrayFormatError(f"{count} levels in {cursor.remaining} bytes", field="levels")
        levels = tuple(MBRs.parse(cursor, dimensions, cursor.u64("number of MBRs")) for _ in range(count))
        return cls(fanout, levels)

    @classmethod
    def build(cls, leaves: MBRs) -> RTree:
        """The tree over these leaves, built bottom-up from groups of ten."""
        levels = [leaves]
        while len(levels[0]) > 1:
            below = levels[0]
            starts = np.arange(0, len(below), FANOUT)
            lows = tuple(np.minimum.reduceat(low, starts) for low in below.lows)
            highs = tuple(np.maximum.reduceat(high, starts) for high in below.highs)
            levels.insert(0, MBRs(lows, highs))
        return cls(FANOUT, tuple(levels))

    def to_bytes(self, dimensions: Sequence[Field]) -> bytes:
        """The section's payload."""
        return u32(self.fanout, len(self.levels)) + b"".join(
            u64(len(level)) + level.to_bytes(dimensions) for level in self.levels
        )


def leaves_of(tiles: Mapping[str, list[pa.Array]], dimensions: Sequence[Field]) -> MBRs:
    """The rectangle around each tile, from the tiles' raw coordinates."""
    lows, highs = [], []
    for dimension in dimensions:
        parts = tiles[dimension.name]
        if dimension.is_var:
            ends = [_text_range(part) for part in parts]
            low, high = (np.empty(len(ends), dtype=object) for _ in range(2))
            low[:], high[:] = [e[0] for e in ends], [e[1] for e in ends]
        else:
            low, high = (np.array([f(numbers(part)) for part in parts]) for f in (np.min, np.max))
        lows.append(low)
        highs.append(high)
    return MBRs(tuple(lows), tuple(highs))


def _text_range(part: pa.Array) -> tuple[bytes, bytes]:
    bounds = pc.min_max(part).as_py()
    return bounds["min"], bounds["max"]

"""Tiles, the unit of storage: chunks of filtered bytes."""

from __future__ import annotations

import struct
from dataclasses import replace
from itertools import pairwise, takewhile

import numpy as np
import numpy.typing as npt

from pyqbeast.tiledb.cursor import Bytes, Cursor, u32, u64
from pyqbeast.tiledb.errors import ArrayFormatError
from pyqbeast.tiledb.filters.base import ChunkContext, Octets, octets
from pyqbeast.tiledb.filters.checks import Md5, Sha256
from pyqbeast.tiledb.filters.compress import Bzip2, Compressor, Lz4, Zstd
from pyqbeast.tiledb.filters.noop import NoOp
from pyqbeast.tiledb.filters.pipeline import FilterPipeline, decode_chunk, encode_chunk
from pyqbeast.tiledb.filters.shuffle import ByteShuffle, Xor
from pyqbeast.tiledb.filters.text import decode_text, encode_text

#: What the parts inside a chunk may come to beside the chunk itself: window records outgrow their values.
_PART_RATIO, _PART_SLACK = 16, 1 << 20

#: The filters that give an empty chunk back, here and in libtiledb; those that shuffle not before every other one.
_SHUFFLING = (ByteShuffle, Xor)
_TAKING_NO_BYTES = (NoOp, Zstd, Lz4, Bzip2, *_SHUFFLING, Md5, Sha256)

#: Original size, filtered size and metadata size of a chunk.
_CHUNK = struct.Struct("<III")


def _limited(context: ChunkContext, size: int) -> ChunkContext:
    return replace(context, limit=_PART_RATIO * size + _PART_SLACK)


class StoredTile:
    """A tile as stored, cut into its chunks; nothing is decoded yet.

    Attributes:
        size: bytes that the chunks claim to hold.

    Raises:
        ArrayFormatError: the chunks do not fill the bytes exactly.
    """

    def __init__(self, data: Bytes) -> None:
        cursor = Cursor(data)
        self._chunks: list[tuple[int, memoryview, memoryview]] = []
        for _ in range(cursor.u64("number of chunks")):
            original, filtered, metadata = _CHUNK.unpack(cursor.take(_CHUNK.size, "chunk header"))
            before = cursor.take(metadata, "chunk metadata")
            self._chunks.append((original, before, cursor.take(filtered, "chunk data")))
        if cursor.remaining:
            raise ArrayFormatError(f"{cursor.remaining} bytes after the last chunk")
        self.size = sum(size for size, _, _ in self._chunks)

    def decode(self, pipeline: FilterPipeline, context: ChunkContext, out: Octets) -> None:
        """Decode into `out`, whose size is that of the tile."""
        position = 0
        steps = pipeline.steps(_limited(context, max((c[0] for c in self._chunks), default=0)))
        for size, metadata, content in self._chunks:
            _, decoded = decode_chunk(steps, metadata, octets(content))
            if decoded.size != size:
                raise ArrayFormatError(f"a chunk of {size} bytes has {decoded.size}")
            out[position : position + size] = decoded
            position += size

    def decode_text(
        self, pipeline: FilterPipeline, context: ChunkContext, cells: int
    ) -> tuple[Octets, npt.NDArray[np.int64]]:
        """Decode text whose first filter keeps the cells' lengths, as so many cells.

        Returns:
            the characters and the offsets of the cells in them, one more than cells.

        Raises:
            ArrayFormatError: the tile is broken, or has another number of cells.
        """
        if len(self._chunks) > 1:
            raise ArrayFormatError(f"a tile of encoded text has {len(self._chunks)} chunks")
        if not self._chunks:
            if cells:
                raise ArrayFormatError(f"a tile without chunks where {cells} cells are due")
            return octets(b""), np.zeros(1, dtype=np.int64)
        size, metadata, content = self._chunks[0]
        first, *later = pipeline.steps(_limited(context, size))
        before, encoded = decode_chunk(later, metadata, octets(content))
        return decode_text(first[0].name, before, encoded, size, cells)


def encode_tile(
    data: Octets,
    pipeline: FilterPipeline,
    context: ChunkContext,
    offsets: npt.NDArray[np.int64] | None = None,
) -> bytes:
    """Filter and serialise a tile.

    Args:
        data: the values.
        pipeline: the filters to apply.
        context: what the values are.
        offsets: where cells begin, one more than cells, if they vary in length: no cell is cut in two.
    """
    if offsets is not None and pipeline.is_text(context):
        return _encode_text_tile(data, offsets, pipeline, context)
    ends = _fixed_cuts(data.size, pipeline, context) if offsets is None else _cell_cuts(offsets, pipeline)
    steps = pipeline.steps(context)
    parts, start = [u64(len(ends))], 0
    for end in ends:
        metadata, filtered = encode_chunk(steps, data[start:end])
        parts += [u32(end - start, filtered.size, len(metadata)), metadata, filtered.tobytes()]
        start = end
    return b"".join(parts)


def _fixed_cuts(size: int, pipeline: FilterPipeline, context: ChunkContext) -> list[int]:
    cell = context.cell_size
    step = max(pipeline.max_chunk_size // cell, 1) * cell
    return [*range(step, size, step), size]


def _cell_cuts(offsets: npt.NDArray[np.int64], pipeline: FilterPipeline) -> list[int]:
    """Chunk ends at cell ends: the last one within the limit, or one cell where it alone is longer.

    Cells without any bytes make an empty chunk: some libraries of TileDB, such as 2.16, die of a tile without chunks.
    Where there are filters that cannot read an empty one, libtiledb's too, they make none.
    """
    cuts, size, start = [], int(offsets[-1]), 0
    if not size and _takes_no_bytes(pipeline):
        return [0]
    while start < size:
        fitting = int(offsets[np.searchsorted(offsets, start + pipeline.max_chunk_size, side="right") - 1])
        if fitting <= start:
            fitting = int(offsets[np.searchsorted(offsets, start, side="right")])
        cuts.append(fitting)
        start = fitting
    return cuts


def _takes_no_bytes(pipeline: FilterPipeline) -> bool:
    """Whether an empty chunk comes back, here and in libtiledb.

    Where a filter that only passes bytes on is right behind one that shuffles them, libtiledb finds no buffer. What
    comes behind a compressor is not empty any more.
    """
    steps = pipeline.filters
    empty = list(takewhile(lambda step: not isinstance(step, Compressor), steps))
    return all(isinstance(step, _TAKING_NO_BYTES) for step in steps) and not any(
        isinstance(one, _SHUFFLING) and not isinstance(other, _SHUFFLING) for one, other in pairwise(empty)
    )


def _encode_text_tile(
    data: Octets, offsets: npt.NDArray[np.int64], pipeline: FilterPipeline, context: ChunkContext
) -> bytes:
    first, *later = pipeline.steps(context)
    metadata, content = encode_text(first[0].name, data, offsets)
    for step, seen in later:
        metadata, content = step.encode(metadata, content, seen)
    return u64(1) + u32(data.size, content.size, len(metadata)) + metadata + content.tobytes()

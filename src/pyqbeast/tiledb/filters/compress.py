"""The general compressors: gzip, zstd, lz4, bzip2 and run-length encoding."""

from __future__ import annotations

import bz2
import threading
import zlib
from abc import abstractmethod
from typing import Any

import numpy as np

from pyqbeast.core.extras import of_extra
from pyqbeast.tiledb.cursor import Cursor, i32, u8, u32
from pyqbeast.tiledb.errors import ArrayFormatError
from pyqbeast.tiledb.filters.base import ChunkContext, Filter, Octets, is_text_mode, octets, whole_values

#: lz4 cannot make more than this of one byte.
_LZ4_RATIO = 255
#: Run lengths are 16 bits wide, of texts too.
LONGEST_RUN = 0xFFFF

_local = threading.local()


def _zstandard() -> Any:  # noqa: ANN401 (a module)
    return of_extra("tiledb", "zstandard", "tiles compressed with zstd")


def _lz4() -> Any:  # noqa: ANN401 (a module)
    return of_extra("tiledb", "lz4.block", "tiles compressed with lz4")


class Compressor(Filter):
    """A filter that compresses metadata and data on their own and keeps nothing of its input's metadata.

    Args:
        level: the compression level; what it means is up to the method, -1 is its default.
    """

    #: The number of the method inside the options, which is not the filter's own.
    method: int
    #: The highest level that libtiledb can write with. It takes any lower one for one that the method has.
    highest_level = 2**31 - 1

    def __init__(self, level: int = -1) -> None:
        self.level = level

    def options(self) -> bytes:
        """The options as the schema stores them."""
        return u8(self.method) + i32(self.level)

    @abstractmethod
    def decompress(self, data: Octets, size: int, context: ChunkContext) -> bytes | Octets:
        """The `size` bytes that were compressed."""

    @abstractmethod
    def compress(self, data: Octets, context: ChunkContext) -> bytes | Octets:
        """The bytes, compressed."""

    def decode(self, metadata: memoryview, data: Octets, context: ChunkContext) -> tuple[memoryview, Octets]:
        """Undo the filter on one chunk."""
        header = Cursor(metadata)
        metadata_parts, data_parts = header.u32("metadata parts"), header.u32("data parts")
        sizes = header.array("<u4", 2 * (metadata_parts + data_parts), "part sizes").reshape(-1, 2)
        stated = int(sizes[:, 0].sum(dtype=np.uint64))
        if stated > context.limit:
            raise ArrayFormatError(f"{self.name}: the parts of a chunk claim {stated} bytes")
        body = Cursor(data.data)
        done = [self._part(int(size), body.take(int(packed), "part"), context) for size, packed in sizes]
        if body.remaining:
            raise ArrayFormatError(f"{self.name}: {body.remaining} bytes after the last part")
        before = b"".join(part.data for part in done[:metadata_parts])
        rest = done[metadata_parts:]
        return memoryview(before), rest[0] if len(rest) == 1 else octets(b"".join(part.data for part in rest))

    def _part(self, size: int, packed: memoryview, context: ChunkContext) -> Octets:
        part = octets(self.decompress(octets(packed), size, context)) if size else octets(b"")
        if part.size != size:
            raise ArrayFormatError(f"{self.name}: a part of {size} bytes has {part.size}")
        return part

    def encode(self, metadata: bytes, data: Octets, context: ChunkContext) -> tuple[bytes, Octets]:
        """Apply the filter to one chunk."""
        before = [octets(metadata)] if metadata else []
        packed = [octets(self.compress(part, context)) for part in (*before, data)]
        header = u32(len(before), 1)
        for part, result in zip((*before, data), packed, strict=True):
            header += u32(part.size, result.size)
        return header, np.concatenate(packed)


class Gzip(Compressor):
    """Deflate in a zlib stream."""

    id, method, name = 1, 1, "gzip"
    highest_level = 9

    def decompress(self, data: Octets, size: int, context: ChunkContext) -> bytes:
        """The `size` bytes that were compressed."""
        stream = zlib.decompressobj()
        # One byte more than asked for makes the stream reach its checksum, and shows too long a one.
        return stream.decompress(data.data, size + 1)

    def compress(self, data: Octets, context: ChunkContext) -> bytes:
        """The bytes, compressed."""
        return zlib.compress(data.data, min(max(self.level, -1), 9))


class Zstd(Compressor):
    """Zstandard frames."""

    id, method, name = 2, 2, "zstd"

    def decompress(self, data: Octets, size: int, context: ChunkContext) -> bytes:
        """The `size` bytes that were compressed."""
        zstandard = _zstandard()
        try:
            # A frame that states another size would be allocated in full before anything else is seen.
            if zstandard.frame_content_size(data.data) not in (-1, size):
                raise ArrayFormatError(f"zstd: the frame's size is not the part's, {size}")
            if not hasattr(_local, "decompressor"):
                _local.decompressor = zstandard.ZstdDecompressor()
            result: bytes = _local.decompressor.decompress(data.data, max_output_size=size)
        except zstandard.ZstdError as error:
            raise ArrayFormatError(f"cannot be decoded ({error})") from error
        return result

    def compress(self, data: Octets, context: ChunkContext) -> bytes:
        """The bytes, compressed."""
        zstandard = _zstandard()
        level = 3 if self.level < 0 else min(self.level, zstandard.MAX_COMPRESSION_LEVEL)
        result: bytes = zstandard.ZstdCompressor(level=level).compress(data.data)
        return result


class Lz4(Compressor):
    """Raw lz4 blocks."""

    id, method, name = 3, 3, "lz4"

    def decompress(self, data: Octets, size: int, context: ChunkContext) -> bytes:
        """The `size` bytes that were compressed."""
        if size > _LZ4_RATIO * data.size:
            raise ArrayFormatError(f"lz4: {size} bytes cannot come from {data.size}")
        lz4 = _lz4()
        try:
            result: bytes = lz4.decompress(data.data, uncompressed_size=size)
        except lz4.LZ4BlockError as error:
            raise ArrayFormatError(f"cannot be decoded ({error})") from error
        return result

    def compress(self, data: Octets, context: ChunkContext) -> bytes:
        """The bytes, compressed."""
        result: bytes = _lz4().compress(data.data, store_size=False)
        return result


class Bzip2(Compressor):
    """Bzip2 streams."""

    id, method, name = 5, 5, "bzip2"
    highest_level = 9

    def decompress(self, data: Octets, size: int, context: ChunkContext) -> bytes:
        """The `size` bytes that were compressed."""
        return bz2.BZ2Decompressor().decompress(data.data, size + 1)

    def compress(self, data: Octets, context: ChunkContext) -> bytes:
        """The bytes, compressed."""
        return bz2.compress(data.data, self.level if 1 <= self.level <= 9 else 9)


class Rle(Compressor):
    """Run-length encoding of whole cells: the cell, then the length of its run (16 bits, big-endian)."""

    id, method, name = 4, 4, "rle"
    needs_whole_values = True

    def needs_whole_tile(self, context: ChunkContext) -> bool:
        """Whether the filter works on cells of text and so puts a tile into a single chunk."""
        return is_text_mode(context, ascii_since=12)

    def decompress(self, data: Octets, size: int, context: ChunkContext) -> Octets:
        """The `size` bytes that were compressed."""
        width = context.of_column.cell_size
        runs = data.view(np.dtype([("cell", f"V{width}"), ("length", ">u2")]))
        lengths = runs["length"].astype(np.int64)
        if int(lengths.sum()) * width != size:
            raise ArrayFormatError(f"rle: runs of {int(lengths.sum()) * width} bytes in a part of {size}")
        return octets(np.repeat(runs["cell"], lengths))

    def compress(self, data: Octets, context: ChunkContext) -> Octets:
        """The bytes, compressed."""
        width = context.of_column.cell_size
        cells = whole_values(data, f"V{width}", self.name)
        rows = data.reshape(-1, width)
        starts = np.flatnonzero(np.concatenate([[True], (rows[1:] != rows[:-1]).any(axis=1)]))
        lengths = np.diff(np.append(starts, cells.size))
        # A run that is longer than its field can say is stored as several.
        pieces = -(-lengths // LONGEST_RUN)
        runs = np.empty(int(pieces.sum()), dtype=[("cell", f"V{width}"), ("length", ">u2")])
        runs["cell"] = np.repeat(cells[starts], pieces)
        runs["length"] = LONGEST_RUN
        runs["length"][np.cumsum(pieces) - 1] = lengths - (pieces - 1) * LONGEST_RUN
        return octets(runs)

"""Filters that reorder or combine bits: byteshuffle, bitshuffle and xor."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyqbeast.tiledb.datatypes import SIGNED, Datatype
from pyqbeast.tiledb.errors import ArrayFormatError
from pyqbeast.tiledb.filters.base import (
    ChunkContext,
    Filter,
    Octets,
    octets,
    part_header,
    read_parts,
    values,
    whole_values,
)

#: Bitshuffle works in blocks of this many bytes.
_BLOCK = 8192


class ByteShuffle(Filter):
    """First bytes of all values, then second bytes, and so on; bytes of a partial value stay at the end."""

    id, name = 9, "byteshuffle"
    leaves_whole_values = True

    def decode(self, metadata: memoryview, data: Octets, context: ChunkContext) -> tuple[memoryview, Octets]:
        """Undo the filter on one chunk."""
        parts, before = read_parts(metadata, data)
        return before, _joined([_transpose(part, context.datatype.size, False) for part in parts])

    def encode(self, metadata: bytes, data: Octets, context: ChunkContext) -> tuple[bytes, Octets]:
        """Apply the filter to one chunk."""
        return part_header(data.size) + metadata, _transpose(data, context.datatype.size, True)


def _transpose(data: Octets, width: int, forward: bool) -> Octets:
    if width == 1:
        return data
    count = data.size // width
    out = np.empty_like(data)
    table = data[: count * width].reshape((count, width) if forward else (width, count))
    out[: count * width].reshape(table.shape[::-1])[...] = table.T
    out[count * width :] = data[count * width :]
    return out


class BitShuffle(Filter):
    """First bits of all values of a block, then second bits, and so on.

    A chunk whose size is no multiple of 8 is divided. A part whose size is no multiple of 8 bytes, or of the
    value's size, is stored as it is.
    """

    id, name = 8, "bitshuffle"
    leaves_whole_values = True

    def decode(self, metadata: memoryview, data: Octets, context: ChunkContext) -> tuple[memoryview, Octets]:
        """Undo the filter on one chunk."""
        parts, before = read_parts(metadata, data)
        width = context.datatype.size
        return before, _joined(
            [_unshuffle(part, width) if _fits(part.size, width) else part for part in parts]
        )

    def encode(self, metadata: bytes, data: Octets, context: ChunkContext) -> tuple[bytes, Octets]:
        """Apply the filter to one chunk."""
        width = context.datatype.size
        whole = data.size // 8 * 8
        parts = [part for part in (data[:whole], data[whole:]) if part.size]
        shuffled = [_shuffle(part, width) if _fits(part.size, width) else part for part in parts]
        return part_header(*(part.size for part in parts)) + metadata, _joined(shuffled)


def _fits(size: int, width: int) -> bool:
    return size % 8 == 0 and size % width == 0


def _blocks(size: int, width: int) -> list[tuple[int, int]]:
    """(start, values per block) of the runs of equal blocks: the full ones, then a shorter last one."""
    per_block = _BLOCK // width
    full = size // width // per_block * per_block
    rest = (size // width - full) // 8 * 8
    return [(start, n) for start, n in ((0, per_block if full else 0), (full * width, rest)) if n]


def _unshuffle(data: Octets, width: int) -> Octets:
    out: Octets = data.copy()
    for start, per_block in _blocks(data.size, width):
        end = start + (data.size - start) // (per_block * width) * per_block * width
        bits = data[start:end].reshape(-1, width, 8, per_block // 8).transpose(0, 3, 1, 2)
        matrices = _transpose_bits(np.ascontiguousarray(bits).view("<u8")[..., 0])
        bytes_ = matrices[..., None].view(np.uint8).swapaxes(-1, -2)
        out[start:end].reshape(bytes_.shape)[...] = bytes_
    return out


def _shuffle(data: Octets, width: int) -> Octets:
    out: Octets = data.copy()
    for start, per_block in _blocks(data.size, width):
        end = start + (data.size - start) // (per_block * width) * per_block * width
        bytes_ = data[start:end].reshape(-1, per_block // 8, 8, width).swapaxes(-1, -2)
        matrices = _transpose_bits(np.ascontiguousarray(bytes_).view("<u8")[..., 0])
        bits = matrices[..., None].view(np.uint8).transpose(0, 2, 3, 1)
        out[start:end].reshape(bits.shape)[...] = bits
    return out


def _transpose_bits(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Each 64-bit word taken as eight rows of eight bits, transposed."""
    for shift, mask in ((7, 0x00AA00AA00AA00AA), (14, 0x0000CCCC0000CCCC), (28, 0x00000000F0F0F0F0)):
        swap = (words ^ (words >> np.uint64(shift))) & np.uint64(mask)
        words = words ^ swap ^ (swap << np.uint64(shift))
    return words


class Xor(Filter):
    """Each value xor-ed with the one before it."""

    id, name = 16, "xor"
    needs_whole_values = leaves_whole_values = True

    def output_type(self, datatype: Datatype) -> Datatype:
        """The type of the values that leave the filter when writing."""
        return SIGNED[datatype.size]

    def decode(self, metadata: memoryview, data: Octets, context: ChunkContext) -> tuple[memoryview, Octets]:
        """Undo the filter on one chunk."""
        parts, before = read_parts(metadata, data)
        dtype = SIGNED[context.datatype.size].dtype
        for part in parts:
            if part.size % dtype.itemsize:
                raise ArrayFormatError(f"xor: {part.size} bytes are no whole values of {dtype.itemsize}")
        return before, _joined([octets(np.bitwise_xor.accumulate(values(part, dtype))) for part in parts])

    def encode(self, metadata: bytes, data: Octets, context: ChunkContext) -> tuple[bytes, Octets]:
        """Apply the filter to one chunk."""
        numbers = whole_values(data, SIGNED[context.datatype.size].dtype, self.name).copy()
        numbers[1:] = numbers[1:] ^ numbers[:-1]
        return part_header(data.size) + metadata, octets(numbers)


def _joined(parts: list[Octets]) -> Octets:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)

"""Filters over differences of neighbouring values: delta and double-delta."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pyqbeast.tiledb.cursor import Cursor, u8, u64
from pyqbeast.tiledb.datatypes import Datatype
from pyqbeast.tiledb.errors import ArrayFormatError
from pyqbeast.tiledb.filters.base import ChunkContext, Octets, octets, whole_values
from pyqbeast.tiledb.filters.compress import Compressor

Words = npt.NDArray[np.uint64]


class _Differences(Compressor):
    """What both filters share: the type that the values are taken for.

    Args:
        level: stored, without a meaning.
        reinterpret: the type to take the values for, `None` for their own.
    """

    needs_whole_values = True

    def __init__(self, level: int = -1, reinterpret: Datatype | None = None) -> None:
        super().__init__(level)
        self.reinterpret = reinterpret

    def options(self) -> bytes:
        return super().options() + u8(Datatype.ANY if self.reinterpret is None else self.reinterpret)

    def problem(self, context: ChunkContext) -> str | None:
        kind = self.output_type(context.datatype)
        if kind.is_float:
            return f"does not take {kind.name} values, which have no exact differences"
        if context.datatype.size % kind.size:
            return f"cannot take {context.datatype.name} values for {kind.name}"
        return None

    def output_type(self, datatype: Datatype) -> Datatype:
        return datatype if self.reinterpret is None else self.reinterpret

    def _dtype(self, context: ChunkContext) -> np.dtype[Any]:
        kind = self.output_type(context.datatype)
        if kind.is_float:
            raise ArrayFormatError(f"{self.name}: {kind.name} values have no exact differences")
        # TileDB takes differences of the bytes of texts, also where a unit of them has two or four.
        return np.dtype("u1") if kind.is_wide_text else kind.dtype

    def _count(self, cursor: Cursor, size: int, dtype: np.dtype[Any]) -> int:
        count = cursor.u64("number of values")
        if count * dtype.itemsize != size:
            raise ArrayFormatError(
                f"{self.name}: {count} values of {dtype.itemsize} bytes in a part of {size}"
            )
        return count


class Delta(_Differences):
    """The first value, then each value's difference from the one before it."""

    id, method, name = 19, 8, "delta"
    leaves_whole_values = True

    def decompress(self, data: Octets, size: int, context: ChunkContext) -> Octets:
        """The `size` bytes that were compressed."""
        dtype = self._dtype(context)
        cursor = Cursor(data.data)
        count = self._count(cursor, size, dtype)
        return octets(np.cumsum(cursor.array(dtype, count, "differences"), dtype=dtype))

    def compress(self, data: Octets, context: ChunkContext) -> Octets:
        """The bytes, compressed."""
        numbers = whole_values(data, self._dtype(context), self.name)
        differences = np.diff(numbers, prepend=numbers.dtype.type(0))
        return np.concatenate([octets(u64(numbers.size)), octets(differences)])


class DoubleDelta(_Differences):
    """Differences of differences, packed into as many bits as the largest of them needs.

    libtiledb reads values whose differences wrap around, but cannot write them, nor consolidate their fragments.
    """

    id, method, name = 6, 6, "double-delta"

    def decompress(self, data: Octets, size: int, context: ChunkContext) -> Octets:
        """The `size` bytes that were compressed."""
        dtype = self._dtype(context)
        cursor = Cursor(data.data)
        bits = cursor.u8("bits")
        count = self._count(cursor, size, dtype)
        if bits >= 8 * dtype.itemsize - 1:
            return octets(cursor.array(dtype, count, "values"))
        head = cursor.array(dtype, min(count, 2), "first values")
        if count <= 2:
            return octets(head)
        packed = cursor.u64s(-(-(count - 2) * (bits + 1) // 64), "packed differences")
        out = np.empty(count, dtype=dtype)
        out[0] = head[0]
        # All arithmetic wraps around, as it did when the values were written.
        out[1:2] = head[1:] - head[:1]
        out[2:] = _unpack(packed, bits, count - 2).astype(dtype)
        out[1:] = np.cumsum(out[1:], dtype=dtype)
        return octets(np.cumsum(out, dtype=dtype))

    def compress(self, data: Octets, context: ChunkContext) -> Octets:
        """The bytes, compressed."""
        numbers = whole_values(data, self._dtype(context), self.name)
        raw_from = 8 * numbers.dtype.itemsize - 1
        bits, second = _second_differences(numbers)
        if numbers.size > 2 and bits >= raw_from:
            return np.concatenate([octets(u8(raw_from + 1) + u64(numbers.size)), octets(numbers)])
        packed = _pack(second, bits) if numbers.size > 2 else np.zeros(0, "<u8")
        head = u8(bits) + u64(numbers.size)
        return np.concatenate([octets(head), octets(numbers[:2]), octets(packed)])


def _second_differences(numbers: npt.NDArray[Any]) -> tuple[int, npt.NDArray[np.int64]]:
    """The bits that the largest magnitude needs, and the second differences (wrapped to the type's width)."""
    signed = np.dtype(f"<i{numbers.dtype.itemsize}")
    second = (
        np.diff(numbers.view(signed), n=2).astype(np.int64) if numbers.size > 2 else np.zeros(0, np.int64)
    )
    largest = max(int(second.max(initial=0)), -int(second.min(initial=0)))
    # libtiledb cannot read a magnitude of no bits, though values in equal steps need none.
    return max(largest.bit_length(), 1), second


def _unpack(words: Words, bits: int, count: int) -> npt.NDArray[np.int64]:
    """Signed numbers from a bit stream that fills 64-bit words from their highest bit: sign, magnitude."""
    width = bits + 1
    start = np.arange(count, dtype=np.uint64) * np.uint64(width)
    word, skip = (start >> np.uint64(6)).astype(np.intp), start & np.uint64(63)
    padded = np.append(words, np.uint64(0))
    low = (padded[word + 1] >> np.uint64(1)) >> (np.uint64(63) - skip)
    field = ((padded[word] << skip) | low) >> np.uint64(64 - width)
    magnitude = (field & np.uint64((1 << bits) - 1)).astype(np.int64)
    signed: npt.NDArray[np.int64] = np.where(field >> np.uint64(bits), -magnitude, magnitude)
    return signed


def _pack(numbers: npt.NDArray[np.int64], bits: int) -> Words:
    """The reverse of `_unpack`."""
    width = bits + 1
    field = np.abs(numbers).astype(np.uint64) | ((numbers < 0).astype(np.uint64) << np.uint64(bits))
    start = np.arange(numbers.size, dtype=np.uint64) * np.uint64(width)
    word, skip = (start >> np.uint64(6)).astype(np.intp), start & np.uint64(63)
    high = field << np.uint64(64 - width)
    out = np.zeros(-(-numbers.size * width // 64) + 1, dtype="<u8")
    np.bitwise_or.at(out, word, high >> skip)
    np.bitwise_or.at(out, word + 1, (high << np.uint64(1)) << (np.uint64(63) - skip))
    return out[:-1]

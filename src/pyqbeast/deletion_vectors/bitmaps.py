"""The serialized form of a deletion vector: checked to the last container, then handed to pyroaring.

Two layouts hold a list of standard 32-bit roaring bitmaps (RoaringFormatSpec), one for each 2^32 rows:

- portable, which Delta writes: magic, count (8 bytes), then key (4) and bitmap for each; little-endian;
- native, of older writers: magic, count (4 bytes), then size (4) and bitmap for each, in order of their keys.
  Delta's library has these words little-endian, the protocol's own example big-endian; both are read.

Every length and count is checked against the bytes that are there before anything is built from it, so that
forged bytes cost no more memory than their own size.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap64

from pyqbeast.core.errors import FormatError

PORTABLE_MAGIC = 1681511377
NATIVE_MAGIC = 1681511376
#: The largest row index that Delta's own bitmap can hold.
MAX_ROW_INDEX = 0x7FFFFFFE_80000000

_WITH_RUNS = 12347
_WITHOUT_RUNS = 12346
_MAX_ARRAY = 4096
_MAX_CONTAINERS = 1 << 16
# Key or size, cookie and count, of 4 bytes each: Delta writes an empty bitmap for each 2^32 rows without a deleted one.
_SMALLEST_BITMAP = 12


class _Bytes:
    """Serialized bytes and how far they are read; reading past their end is a `FormatError`."""

    def __init__(self, data: bytes, source: str) -> None:
        self.data = data
        self.position = 0
        self.source = source

    def error(self, what: str) -> FormatError:
        return FormatError(f"{self.source}: {what}")

    def take(self, size: int, what: str) -> bytes:
        remaining = len(self.data) - self.position
        if size > remaining:
            raise self.error(
                f"truncated: {what} takes {size} bytes at byte {self.position}, and {remaining} are left"
            )
        self.position += size
        return self.data[self.position - size : self.position]

    def number(self, form: str, what: str) -> int:
        (value,) = struct.unpack(form, self.take(struct.calcsize(form), what))
        return int(value)

    def shorts(self, count: int, what: str) -> npt.NDArray[np.int64]:
        return np.frombuffer(self.take(2 * count, what), "<u2").astype(np.int64)


def serialize(bitmap: BitMap64) -> bytes:
    """`bitmap` in the portable layout."""
    return struct.pack("<I", PORTABLE_MAGIC) + bitmap.serialize()


def deserialize(data: bytes, source: str) -> BitMap64:
    """The bitmap that `data` holds, in either layout.

    `source` names the bytes in messages. Raises `FormatError` for a wrong magic, truncated or left-over
    bytes, keys or values out of order, and row indexes over `MAX_ROW_INDEX`.
    """
    reader = _Bytes(data, source)
    magic = reader.take(4, "magic")
    if magic == struct.pack("<I", PORTABLE_MAGIC):
        parts = list(_portable(reader))
    elif magic == struct.pack("<I", NATIVE_MAGIC):
        parts = list(_native(reader, "<I"))
    elif magic == struct.pack(">I", NATIVE_MAGIC):
        parts = list(_native(reader, ">I"))
    else:
        raise reader.error(f"magic: {magic.hex()} is that of no deletion vector")
    if reader.position != len(data):
        raise reader.error(f"size: {len(data) - reader.position} bytes are left over after the last bitmap")
    bitmap = _build(parts, source)
    if bitmap and bitmap.max() > MAX_ROW_INDEX:
        raise reader.error(f"row index: {bitmap.max()} is over the largest that Delta can hold")
    return bitmap


def _build(parts: list[tuple[int, bytes]], source: str) -> BitMap64:
    framed = b"".join(struct.pack("<I", key) + bitmap for key, bitmap in parts)
    try:
        return BitMap64.deserialize(struct.pack("<Q", len(parts)) + framed)
    except ValueError as error:  # pragma: no cover - the checks before this one leave nothing to find
        raise FormatError(f"{source}: not a roaring bitmap: {error}") from error


def _portable(reader: _Bytes) -> Iterator[tuple[int, bytes]]:
    last = -1
    for _ in range(_count(reader, "<Q")):
        key = reader.number("<I", "bitmap key")
        if key <= last or key > MAX_ROW_INDEX >> 32:
            raise reader.error(f"bitmap key: {key} after {last}; keys ascend, up to {MAX_ROW_INDEX >> 32}")
        last = key
        yield key, _bitmap(reader)


def _native(reader: _Bytes, word: str) -> Iterator[tuple[int, bytes]]:
    for key in range(_count(reader, word)):
        size = reader.number(word, "bitmap size")
        bitmap = _bitmap(reader)
        if len(bitmap) != size:
            raise reader.error(f"bitmap size: {size} is given, and bitmap {key} takes {len(bitmap)} bytes")
        yield key, bitmap


def _count(reader: _Bytes, form: str) -> int:
    """The number of bitmaps to come, each with its key or size."""
    count = reader.number(form, "bitmap count")
    remaining = len(reader.data) - reader.position
    if count * _SMALLEST_BITMAP > remaining:
        raise reader.error(f"bitmap count: {count} bitmaps cannot be in {remaining} bytes")
    return count


def _bitmap(reader: _Bytes) -> bytes:
    """Read past one 32-bit bitmap and return its bytes, all of it checked."""
    start = reader.position
    cookie = reader.number("<I", "bitmap cookie")
    if cookie & 0xFFFF == _WITH_RUNS:
        count = (cookie >> 16) + 1
        flags = np.frombuffer(reader.take((count + 7) // 8, "run flags"), np.uint8)
        runs = np.unpackbits(flags, count=count, bitorder="little").tolist()
    elif cookie == _WITHOUT_RUNS:
        count = reader.number("<I", "container count")
        if count > _MAX_CONTAINERS:
            raise reader.error(f"container count: {count} is over {_MAX_CONTAINERS}")
        runs = [0] * count
    else:
        raise reader.error(f"bitmap cookie: {cookie} starts no roaring bitmap")
    headers = reader.shorts(2 * count, "container headers").reshape(count, 2)
    if np.any(np.diff(headers[:, 0]) <= 0):
        raise reader.error("container keys: they do not ascend")
    if cookie == _WITHOUT_RUNS or count >= 4:
        # Offsets are for random access. The containers are read in sequence here, so the offsets are skipped.
        reader.take(4 * count, "container offsets")
    for is_run, cardinality in zip(runs, (headers[:, 1] + 1).tolist(), strict=True):
        _container(reader, bool(is_run), cardinality)
    return reader.data[start : reader.position]


def _container(reader: _Bytes, is_run: bool, cardinality: int) -> None:
    """Read past one container and check that its values ascend and are as many as its header says."""
    if is_run:
        count = reader.number("<H", "run count")
        pairs = reader.shorts(2 * count, "runs").reshape(count, 2)
        starts, ends = pairs[:, 0], pairs[:, 0] + pairs[:, 1]
        # Runs that touch would be one run.
        ordered = not np.any(starts[1:] <= ends[:-1] + 1) and not np.any(ends > 0xFFFF)
        rows_held = int(pairs[:, 1].sum()) + count
    elif cardinality <= _MAX_ARRAY:
        values = reader.shorts(cardinality, "array container")
        ordered, rows_held = not np.any(np.diff(values) <= 0), cardinality
    else:
        bits = reader.take(_MAX_CONTAINERS // 8, "bitset container")
        ordered, rows_held = True, int.from_bytes(bits, "little").bit_count()
    if not ordered:
        raise reader.error(f"container: its values do not ascend, before byte {reader.position}")
    if rows_held != cardinality:
        raise reader.error(f"container cardinality: {cardinality} is given, and it holds {rows_held} rows")

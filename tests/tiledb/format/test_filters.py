"""Filters: each undoes what it did, guards its bytes, and packs them as the format says."""

from __future__ import annotations

import hashlib
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyqbeast.core.errors import InvalidInputError, UnsupportedError
from pyqbeast.tiledb import VAR_NUM, ArrayFormatError, Datatype, EncryptedArrayError
from pyqbeast.tiledb.cursor import Cursor, i32, u8, u32, u64
from pyqbeast.tiledb.filters import (
    BitShuffle,
    BitWidthReduction,
    ByteShuffle,
    Bzip2,
    Delta,
    Dictionary,
    DoubleDelta,
    FilterPipeline,
    FloatScale,
    Gzip,
    Lz4,
    Md5,
    PositiveDelta,
    Rle,
    Sha256,
    Xor,
    Zstd,
)
from pyqbeast.tiledb.filters.base import ChunkContext, octets
from pyqbeast.tiledb.filters.text import decode_text
from pyqbeast.tiledb.format.tile import StoredTile, encode_tile

INTEGERS = [
    Datatype.INT8, Datatype.UINT8, Datatype.INT16, Datatype.UINT16,
    Datatype.INT32, Datatype.UINT32, Datatype.INT64, Datatype.UINT64,
]  # fmt: skip
PIPELINES = {
    "none": [],
    "gzip": [Gzip()],
    "zstd": [Zstd()],
    "lz4": [Lz4()],
    "bzip2": [Bzip2()],
    "rle": [Rle()],
    "byteshuffle": [ByteShuffle()],
    "bitshuffle": [BitShuffle()],
    "xor": [Xor()],
    "delta": [Delta()],
    "double delta": [DoubleDelta()],
    "bit width": [BitWidthReduction()],
    "wide windows": [BitWidthReduction(1000)],
    "md5": [Md5()],
    "sha256": [Sha256()],
    "shuffled and compressed": [ByteShuffle(), Zstd()],
    "metadata through all": [BitWidthReduction(), Md5(), Gzip(), Sha256()],
    "windows over bytes": [BitShuffle(), Zstd(), BitWidthReduction()],
    "delta, runs, blocks": [Delta(), Rle(), Lz4()],
}


def round_trip(data, filters, context, max_chunk_size=65536):
    pipeline = FilterPipeline(tuple(filters), max_chunk_size)
    out = np.empty_like(data)
    StoredTile(encode_tile(data, pipeline, context)).decode(pipeline, context, out)
    return out


@pytest.mark.slow
@pytest.mark.parametrize("name", PIPELINES)
@given(data=st.data())
@settings(max_examples=25)
def test_integers_come_back(name, data):
    kind = data.draw(st.sampled_from(INTEGERS))
    bounds = np.iinfo(kind.dtype)
    low = data.draw(st.integers(bounds.min, bounds.max))
    high = data.draw(st.integers(low, min(bounds.max, low + data.draw(st.sampled_from([0, 3, 1000, 2**62])))))
    values = data.draw(st.lists(st.integers(low, high), min_size=1, max_size=300))
    stored = octets(np.array(values, dtype=kind.dtype))
    chunk = data.draw(st.sampled_from([65536, 64, 24]))
    assert np.array_equal(round_trip(stored, PIPELINES[name], ChunkContext(kind), chunk), stored)


@pytest.mark.slow
@given(st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=200), st.sampled_from([8, 64, 256]))
def test_rising_values_come_back_through_positive_delta(values, window):
    stored = octets(np.sort(np.array(values, dtype=np.int64)))
    context = ChunkContext(Datatype.INT64)
    assert np.array_equal(round_trip(stored, [PositiveDelta(window)], context), stored)


def test_positive_delta_refuses_falling_values():
    with pytest.raises(InvalidInputError, match="never fall"):
        round_trip(octets(np.array([2, 1])), [PositiveDelta()], ChunkContext(Datatype.INT64))


@pytest.mark.parametrize(
    "filters", [[FloatScale(0.5, 10.0, 2)], [FloatScale(0.5, 10.0, 4), BitShuffle(), Lz4()]]
)
def test_scaled_floats_come_back_where_they_fit(filters):
    values = np.arange(-200, 200) / 2
    assert np.array_equal(
        round_trip(octets(values), filters, ChunkContext(Datatype.FLOAT64)).view(float), values
    )
    with pytest.raises(InvalidInputError, match="does not fit"):
        round_trip(
            octets(np.array([1e9, np.nan])), [FloatScale(0.5, 10.0, 2)], ChunkContext(Datatype.FLOAT64)
        )


@pytest.mark.parametrize(
    "filters", [[Rle()], [Dictionary()], [Rle(), Zstd(), Md5()], [Dictionary(), Gzip()], [Zstd()]]
)
@given(words=st.lists(st.text(max_size=8), min_size=1, max_size=100))
@settings(max_examples=25)
def test_text_comes_back(filters, words):
    raw = [word.encode() for word in words]
    data, offsets = octets(b"".join(raw)), np.cumsum([0, *map(len, raw)])
    context, pipeline = ChunkContext(Datatype.STRING_UTF8, VAR_NUM), FilterPipeline(tuple(filters), 16)
    tile = StoredTile(encode_tile(data, pipeline, context, offsets))
    if pipeline.is_text(context):
        text, starts = tile.decode_text(pipeline, context, len(words))
        assert (text.tobytes(), starts.tolist()) == (data.tobytes(), offsets.tolist())
    else:
        out = np.empty_like(data)
        tile.decode(pipeline, context, out)
        assert out.tobytes() == data.tobytes()


def test_runs_longer_than_their_field_are_split():
    context = ChunkContext(Datatype.STRING_ASCII, VAR_NUM)
    data, offsets = octets(b"ab" * 70_000), np.arange(70_001) * 2
    pipeline = FilterPipeline((Rle(),))
    tile = StoredTile(encode_tile(data, pipeline, context, offsets))
    text, starts = tile.decode_text(pipeline, context, 70_000)
    assert np.array_equal(text, data)
    assert np.array_equal(starts, offsets)
    same = octets(np.zeros(70_000, dtype=np.int64))
    assert np.array_equal(round_trip(same, [Rle()], ChunkContext(Datatype.INT64), 2**20), same)


def test_no_cell_is_cut_in_two():
    lengths = [10, 200, 3, 3, 3, 60]
    offsets = np.cumsum([0, *lengths])
    tile = encode_tile(
        octets(bytes(279)), FilterPipeline((), 64), ChunkContext(Datatype.CHAR, VAR_NUM), offsets
    )
    ends = np.cumsum([size for size, _, _ in StoredTile(tile)._chunks])
    assert set(ends) <= set(offsets)
    assert len(ends) > 2


@pytest.mark.parametrize("kind", [Md5, Sha256])
def test_a_changed_byte_fails_the_checksum(kind):
    pipeline, context = FilterPipeline((kind(),)), ChunkContext(Datatype.INT32)
    tile = bytearray(encode_tile(octets(np.arange(100, dtype=np.int32)), pipeline, context))
    tile[-1] ^= 1
    with pytest.raises(ArrayFormatError, match="checksum"):
        StoredTile(bytes(tile)).decode(pipeline, context, np.empty(400, dtype=np.uint8))
    assert kind.digest(b"abc") == hashlib.new(kind.name, b"abc").digest()


def test_encryption_without_a_key_leaves_nothing_open():
    """What is to be encrypted is never stored as it is."""
    pipeline = FilterPipeline((Gzip(),)).with_key(None)
    with pytest.raises(EncryptedArrayError, match="pass its 32-byte key"):
        encode_tile(octets(bytes(100)), pipeline, ChunkContext(Datatype.UINT8))


def test_a_claimed_size_costs_no_memory():
    """Every compressor refuses a part that claims a gigabyte, before it takes the memory."""
    context = ChunkContext(Datatype.UINT8, limit=2**31)
    for kind in (Gzip, Zstd, Lz4, Bzip2):
        step = kind()
        metadata, data = step.encode(b"", octets(bytes(1000)), context)
        lying = metadata[:8] + u32(2**30) + metadata[12:]
        with pytest.raises((ArrayFormatError, Exception)) as found:
            step.decode(memoryview(lying), data, context)
        assert not isinstance(found.value, MemoryError)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Gzip, Zstd, Lz4, Bzip2, Rle, Delta, DoubleDelta])
def test_parts_of_a_chunk_cost_no_memory(kind):
    """Each is small, and all together are far more than the chunk can hold."""
    pipeline, context = FilterPipeline((kind(),)), ChunkContext(Datatype.UINT8)
    metadata, part = kind().encode(b"", octets(bytes(2**20)), context)
    metadata = u32(0, 200) + metadata[8:] * 200
    tile = u64(1) + u32(8, 200 * part.size, len(metadata)) + metadata + part.tobytes() * 200
    tracemalloc.start()
    try:
        with pytest.raises(
            ArrayFormatError, match=f"{kind.name}: the parts of a chunk claim {200 * 2**20} bytes"
        ):
            StoredTile(tile).decode(pipeline, context, np.empty(8, dtype=np.uint8))
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("runs", "stated", "due"),
    [
        ([20_000_000], 20_000_000, 10),
        ([20_000_000], 10, 10),
        # Their sum is 10 in 64 bits.
        ([2**62, 2**62, 2**62, 2**62, 10], 10, 10),
        ([2**63 + 20, 2**63 - 10], 10, 10),
        ([2, 2], 4, 5),
    ],
)
def test_runs_of_more_cells_than_are_due_cost_no_memory(runs, stated, due):
    """A chunk of 31 bytes took 1.6 GB."""
    data = b"".join(run.to_bytes(8, "big") + b"\0" for run in runs)
    metadata = u32(0, 1, 0, len(data), 8 * stated) + u8(8) + u8(1)
    tracemalloc.start()
    try:
        with pytest.raises(ArrayFormatError, match=rf"rle: .*{due} cells"):
            decode_text("rle", memoryview(metadata), octets(data), 0, due)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_texts_of_a_dictionary_are_as_many_as_are_due():
    metadata = u32(0, 1, 2, 2, 8 * 3) + u8(1) + u8(1) + u32(2) + b"\1a"
    with pytest.raises(ArrayFormatError, match="dictionary: 2 cells where 3 are due"):
        decode_text("dictionary", memoryview(metadata), octets(b"\0\0"), 2, 3)
    with pytest.raises(ArrayFormatError, match="a tile without chunks where 3 cells are due"):
        StoredTile(u64(0)).decode_text(FilterPipeline((Dictionary(),)), ChunkContext(Datatype.CHAR), 3)


@pytest.mark.parametrize(
    ("number", "error"), [(18, UnsupportedError), (17, UnsupportedError), (99, ArrayFormatError)]
)
def test_unknown_filters_are_named(number, error):
    raw = u32(65536, 1) + u8(number) + u32(5) + u8(0) + i32(-1)
    with pytest.raises(error, match=str(number)):
        FilterPipeline.parse(Cursor(raw, "__schema/x"), 22)


def test_options_are_stored_as_they_are_read():
    steps = (
        FloatScale(0.1, 2.0, 4),
        PositiveDelta(512),
        Delta(reinterpret=Datatype.UINT8),
        DoubleDelta(),
        Zstd(7),
    )
    raw = FilterPipeline(steps, 1234).to_bytes()
    again = FilterPipeline.parse(Cursor(raw), 22)
    assert again.to_bytes() == raw
    assert again.max_chunk_size == 1234
    assert again.names == ["float-scale", "positive-delta", "delta", "double-delta", "zstd"]


@pytest.mark.parametrize("kind", [Datatype.STRING_UTF16, Datatype.STRING_UCS4], ids=lambda kind: kind.name)
def test_differences_of_texts_are_those_of_their_bytes(kind):
    """As libtiledb takes them: the count in front is one of bytes."""
    stored = octets("a日".encode("utf-16-le" if kind.size == 2 else "utf-32-le"))
    for differences in (Delta(), DoubleDelta()):
        context = ChunkContext(kind)
        packed = differences.compress(stored, context)
        count = Cursor(packed.data[1 if differences.name == "double-delta" else 0 :]).u64("count")
        assert count == stored.size
        assert np.array_equal(differences.decompress(packed, stored.size, context), stored)

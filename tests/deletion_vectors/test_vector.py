"""The set of row indexes and its serialized form."""

import resource
import struct
import subprocess
import sys
import uuid

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from pyqbeast.core.errors import FormatError, InvalidInputError
from pyqbeast.deletion_vectors.bitmaps import MAX_ROW_INDEX
from pyqbeast.delta import DeletionVector, DeletionVectorDescriptor, write_vectors

PORTABLE = struct.pack("<I", 1681511377)
# Rows 2^31+4, 2^31+9 and 2^33+5, as the RoaringBitmapArray of Delta 4.4.0 writes them.
DELTA_ROWS = [2**31 + 4, 2**31 + 9, 2**33 + 5]
DELTA_NATIVE = bytes.fromhex(
    "d0d3396403000000140000003a30000001000000008001001000000004000900080000003a3000000000000012000000"
    "3a3000000100000000000000100000000500"
)
DELTA_PORTABLE = bytes.fromhex(
    "d1d339640300000000000000000000003a30000001000000008001001000000004000900010000003a30000000000000"
    "020000003a3000000100000000000000100000000500"
)
PROTOCOL_EXAMPLE = DeletionVectorDescriptor(
    "i", "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", None, 40, 6
)


def portable(*bitmaps):
    parts = [struct.pack("<I", key) + data for key, data in bitmaps]
    return PORTABLE + struct.pack("<Q", len(parts)) + b"".join(parts)


def containers(*headers, body=b"", runs=None):
    """A 32-bit bitmap with the given (key, cardinality) headers, all run containers where `runs` is given."""
    keys = b"".join(struct.pack("<HH", key, cardinality - 1) for key, cardinality in headers)
    if runs is not None:
        return struct.pack("<I", 12347 | (len(headers) - 1) << 16) + bytes([runs]) + keys + body
    return struct.pack("<II", 12346, len(headers)) + keys + bytes(4 * len(headers)) + body


def test_it_is_a_set_of_row_indexes():
    vector = DeletionVector([29, 3, 4, 3])
    assert list(vector) == [3, 4, 29]
    assert len(vector) == 3
    assert 4 in vector
    assert 5 not in vector
    assert -1 not in vector
    assert 2**70 not in vector
    assert "4" not in vector
    assert vector.max_row_index == 29
    assert vector == DeletionVector(iter((3, 4, 29)))
    assert vector != DeletionVector([3])
    assert not DeletionVector()
    assert DeletionVector().max_row_index is None


@pytest.mark.parametrize("rows", [[-1], range(-3, 2), [2**64], [0x7FFFFFFE80000001], [1.5], ["7"], [None]])
def test_what_is_no_row_index(rows):
    with pytest.raises(InvalidInputError):
        DeletionVector(rows)


@pytest.mark.parametrize("rows", [[], [7], [0, 2**32, MAX_ROW_INDEX]])
def test_the_rows_as_an_array(rows):
    array = DeletionVector(rows).to_array()
    assert array.dtype == np.int64
    assert array.tolist() == rows


@pytest.mark.parametrize(
    ("first", "end", "found"),
    [(0, 2**33, [0, 5, 2**32]), (5, 6, [5]), (6, 2**32, []), (2**32, 2**32 + 9, [2**32]), (3, 3, [])],
)
def test_the_rows_of_a_stretch_as_an_array(first, end, found):
    array = DeletionVector([0, 5, 2**32]).between(first, end)
    assert array.dtype == np.int64
    assert array.tolist() == found


def test_vectors_that_delta_wrote():
    assert list(DeletionVector.from_bytes(DELTA_PORTABLE)) == DELTA_ROWS
    assert list(DeletionVector.from_bytes(DELTA_NATIVE)) == DELTA_ROWS
    for kind in (bytearray, memoryview):
        assert list(DeletionVector.from_bytes(kind(DELTA_PORTABLE))) == DELTA_ROWS
    # Delta writes an empty bitmap for rows 2^32 to 2^33, which makes no difference.
    assert DeletionVector.from_bytes(DELTA_PORTABLE) == DeletionVector(DELTA_ROWS)


def test_the_example_of_the_protocol_which_is_big_endian():
    assert list(DeletionVector.read(PROTOCOL_EXAMPLE, "/nowhere")) == [3, 4, 7, 11, 18, 29]


def test_the_portable_layout_is_written():
    assert DeletionVector([3, 4]).to_bytes() == PORTABLE + bytes.fromhex(
        "0100000000000000000000003a300000010000000000010010000000" + "03000400"
    )


@given(
    st.lists(
        st.tuples(st.integers(0, 2**34), st.integers(1, 3000), st.sampled_from([1, 2, 7])).map(
            lambda spec: range(spec[0], spec[0] + spec[1] * spec[2], spec[2])
        ),
        max_size=4,
    )
)
@settings(max_examples=60)
def test_vectors_come_back(ranges):
    rows = sorted({row for rows in ranges for row in rows})
    back = DeletionVector.from_bytes(DeletionVector(rows).to_bytes())
    assert list(back) == rows


@pytest.mark.parametrize(
    "rows",
    [
        range(2**31 - 5, 2**31 + 5),
        range(2**32 - 5, 2**32 + 70_000),
        [*range(2**32 - 5, 2**32), *range(2**33 - 5, 2**33 + 5)],
        [0x7FFFFFFE80000000],
    ],
)
def test_rows_beyond_what_four_bytes_hold(rows):
    vector = DeletionVector(rows)
    back = DeletionVector.from_bytes(vector.to_bytes())
    assert back == vector
    assert len(back) == len(rows)
    assert rows[-1] in back


def test_each_kind_of_container_is_read():
    array, bitset, run = range(0, 100, 2), range(65536, 131072, 3), range(200_000, 260_000)
    data = DeletionVector([*array, *bitset, *run]).to_bytes()
    assert list(DeletionVector.from_bytes(data)) == [*array, *bitset, *run]


@pytest.mark.parametrize("count", [1, 3, 4, 8, 9])
def test_offsets_follow_the_headers_of_four_run_containers_and_more(count):
    vector = DeletionVector(range(count * 65536))
    assert DeletionVector.from_bytes(vector.to_bytes()) == vector


def test_inline_vectors():
    descriptor = DeletionVector([7, 9]).to_inline()
    assert (descriptor.storage_type, descriptor.cardinality) == ("i", 2)
    assert list(DeletionVector.read(descriptor, "/nowhere")) == [7, 9]
    assert DeletionVector().to_inline() == DeletionVectorDescriptor.EMPTY
    assert not DeletionVector.read(DeletionVectorDescriptor.EMPTY, "/nowhere")


ON_DISK = DeletionVectorDescriptor.on_disk_with_relative_path(
    uuid.UUID(int=1), size_in_bytes=1, cardinality=1
)


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda: DeletionVector(range(0, 2**64, 2**62)), "row index .* is over Delta's limit"),
        (lambda: DeletionVector(range(2**63, 0, -1)), "row index .* is over Delta's limit"),
        (lambda: DeletionVector(b"ab"), "whole numbers from 0: bytes hold a whole vector"),
        (lambda: DeletionVector([True, False]), "whole numbers from 0: a boolean is none; the rows of a mask"),
        (lambda: DeletionVector(row > 1 for row in [1, 2]), "whole numbers from 0: a boolean is none"),
        (lambda: DeletionVector.from_bytes(3), "read from bytes, not 3"),
        (lambda: DeletionVector.from_bytes("x"), "read from bytes, not 'x'"),
        (lambda: DeletionVector.read(None, "t"), "read by its descriptor, not None"),
        (lambda: DeletionVector.read(ON_DISK, None), "None is neither a path nor a URL"),
        (lambda: DeletionVector([1]).union([2]), r"union takes a deletion vector, not \[2\]"),
        (lambda: write_vectors(None, [DeletionVector([1])]), "None is neither a path nor a URL"),
        (lambda: write_vectors("t", [DeletionVector([1])], random_prefix=3), "prefix .* is a text, not 3"),
        (lambda: write_vectors("t", [DeletionVector([1])], random_prefix=".."), r"letters and digits, not '\.\.'"),
        (lambda: DeletionVectorDescriptor.from_base64(None), "compact form of a descriptor is a text, not None"),
        (lambda: DeletionVectorDescriptor.inline_in_log("x", 1), "vector is bytes, not 'x'"),
        (
            lambda: DeletionVectorDescriptor.on_disk_with_relative_path("x", size_in_bytes=1, cardinality=1),
            "named by a uuid.UUID, not 'x'",
        ),
    ],
)  # fmt: skip
def test_arguments_of_the_wrong_kind(use, words):
    with pytest.raises(InvalidInputError, match=words):
        use()


def test_a_cardinality_or_largest_row_that_disagrees():
    data = DeletionVector([7, 9]).to_bytes()
    with pytest.raises(FormatError, match="/my/table: cardinality: 3"):
        DeletionVector.read(DeletionVectorDescriptor.inline_in_log(data, 3), "/my/table")
    text = DeletionVector([7, 9]).to_inline().path_or_inline_dv
    with pytest.raises(FormatError, match="maxRowIndex: 8"):
        DeletionVector.read(DeletionVectorDescriptor("i", text, None, len(data), 2, 8), "/my/table")


ONE = BitMap([1]).serialize()
BROKEN = [
    ("magic", b"\0\0\0\0" + DELTA_PORTABLE[4:]),
    ("truncated: magic", b"\xd1\xd3"),
    ("bitmap count: 1099511627776", PORTABLE + struct.pack("<Q", 2**40) + bytes(40)),
    ("bitmap count: 4294967295", struct.pack("<II", 1681511376, 2**32 - 1) + bytes(40)),
    ("bitmap key: 3 after 3", portable((3, ONE), (3, ONE))),
    ("bitmap key: 2147483648", portable((2**31, ONE))),
    ("bitmap key: 2147483647", portable((2**31 - 1, ONE))),
    ("row index", portable((0x7FFFFFFE, BitMap([2**31 + 1]).serialize()))),
    ("bitmap size", DELTA_NATIVE[:8] + struct.pack("<I", 21) + DELTA_NATIVE[12:]),
    ("bitmap cookie", portable((0, struct.pack("<II", 1, 0)))),
    ("container count", portable((0, struct.pack("<II", 12346, 65537)))),
    ("truncated: container headers", portable((0, struct.pack("<II", 12346, 65536)))),
    (
        "truncated: container headers",
        portable((0, struct.pack("<I", 12347 | 65535 << 16) + bytes(65536 // 8))),
    ),
    ("truncated: array", portable((0, containers((0, 4096), body=b"\1\0")))),
    ("truncated: bitset", portable((0, containers((0, 4097), body=bytes(8191))))),
    ("truncated: runs", portable((0, containers((0, 9), runs=1, body=struct.pack("<HHH", 65535, 0, 8))))),
    ("container keys", portable((0, containers((1, 1), (1, 1), body=bytes(4))))),
    ("container: its values do not ascend", portable((0, containers((0, 2), body=struct.pack("<HH", 5, 5))))),
    ("container cardinality: 4097", portable((0, containers((0, 4097), body=bytes(8192))))),
    (
        "container cardinality: 9",
        portable((0, containers((0, 9), runs=1, body=struct.pack("<HHH", 1, 0, 6)))),
    ),
    (
        "container: its values do not ascend",
        portable((0, containers((0, 9), runs=1, body=struct.pack("<HHH", 1, 65530, 8)))),
    ),
    (
        "container: its values do not ascend",
        portable((0, containers((0, 4), runs=1, body=struct.pack("<5H", 2, 0, 1, 2, 1)))),
    ),
    ("size: 1 bytes are left over", DELTA_PORTABLE + b"\0"),
]


@pytest.mark.parametrize(("message", "data"), BROKEN)
def test_broken_bytes_are_refused_by_name(message, data):
    with pytest.raises(FormatError, match=f"^dv.bin: {message}"):
        DeletionVector.from_bytes(data, source="dv.bin")


@pytest.mark.parametrize("data", [DELTA_PORTABLE, DELTA_NATIVE, DeletionVector(range(9, 70_000)).to_bytes()])
def test_bytes_cut_anywhere_are_refused(data):
    for length in range(len(data)):
        with pytest.raises(FormatError):
            DeletionVector.from_bytes(data[:length])


MIXED = DeletionVector([1, 5, *range(70_000, 90_000), *range(131_072, 150_000, 2), 2**33]).to_bytes()


@given(st.binary(max_size=200).map(lambda tail: PORTABLE + tail) | st.binary(max_size=200))
def test_random_bytes_are_refused_or_read(data):
    read_or_refuse(data)


@pytest.mark.slow
@given(st.data())
@settings(max_examples=100)
def test_altered_bytes_are_refused_or_read(data):
    altered = bytearray(MIXED)
    # Most of the bytes are a bitset, in which little can go wrong: half of the places are in the headers.
    places = st.integers(0, 60) | st.integers(0, len(MIXED) - 1)
    for position in data.draw(st.lists(places, min_size=1, max_size=4)):
        altered[position] = data.draw(st.integers(0, 255))
    read_or_refuse(bytes(altered))


def read_or_refuse(data):
    try:
        vector = DeletionVector.from_bytes(data)
    except FormatError:
        return
    assert DeletionVector.from_bytes(vector.to_bytes()) == vector
    assert vector.max_row_index is None or vector.max_row_index in vector


@pytest.mark.slow
def test_forged_counts_take_no_memory():
    forged = [data for message, data in BROKEN if "count" in message or "truncated" in message]
    # In a process of its own, which may take 100 MB more than it has once everything is imported.
    program = f"""
import resource
from pyqbeast.core.errors import FormatError
from pyqbeast.delta import DeletionVector
DeletionVector.from_bytes(DeletionVector([1]).to_bytes())
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + 100 * 2**20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for data in {forged!r}:
    try:
        DeletionVector.from_bytes(data)
    except FormatError:
        continue
    raise SystemExit("read")
"""
    if not hasattr(resource, "RLIMIT_AS") or sys.platform != "linux":
        pytest.skip("needs /proc and address space limits")
    subprocess.run([sys.executable, "-c", program], check=True)

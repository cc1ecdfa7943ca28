"""Murmur3 as Spark computes it."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pyqbeast.core.sampling import murmur3

SEED = np.array([42], np.uint32)


def number(hashes):
    return int(hashes.view(np.int32)[0])


def text(content, seeds=SEED):
    data = np.frombuffer(content, np.uint8)
    return murmur3.hash_bytes(data, np.zeros(1, np.int64), np.array([len(content)]), seeds)


def test_the_example_of_sparks_documentation():
    """`hash('Spark', array(123), 2)`."""
    after = text(b"Spark")
    for value in (123, 2):
        after = murmur3.hash_ints(np.array([value], np.int32), after)
    assert number(after) == -1321691492


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_zeros_and_nans_are_one_value(kind):
    hashed = murmur3.hash_floats if kind is np.float32 else murmur3.hash_doubles
    values = np.array([0.0, -0.0, np.nan, -np.nan, 1.0], kind)
    found = hashed(values, np.full(5, 42, np.uint32))
    assert found[0] == found[1]
    assert found[2] == found[3]
    assert len(set(found.tolist())) == 3


def test_strings_of_all_lengths_at_once_are_those_one_by_one():
    texts = [bytes(range(200, 200 + n)) for n in (3, 0, 8, 5, 4, 1, 17, 2)]
    ends = np.cumsum([len(each) for each in texts])
    starts = np.array([0, *ends[:-1]])
    data = np.frombuffer(b"".join(texts), np.uint8)
    seeds = np.arange(len(texts), dtype=np.uint32)
    found = murmur3.hash_bytes(data, starts, ends - starts, seeds)
    assert found.tolist() == [int(text(t, seeds[i : i + 1])[0]) for i, t in enumerate(texts)]


def plain(content, seed):
    """Spark's rule for one text, in Python's integers."""
    whole = len(content) // 4 * 4
    values = [int.from_bytes(content[at : at + 4], "little") for at in range(0, whole, 4)]
    values += [each - 256 * (each > 127) for each in content[whole:]]
    for value in values:
        scrambled = value * 0xCC9E2D51 % 2**32
        seed ^= (scrambled << 15 | scrambled >> 17) * 0x1B873593 % 2**32
        seed = ((seed << 13 | seed >> 19) * 5 + 0xE6546B64) % 2**32
    seed ^= len(content)
    seed = (seed ^ seed >> 16) * 0x85EBCA6B % 2**32
    seed = (seed ^ seed >> 13) * 0xC2B2AE35 % 2**32
    return seed ^ seed >> 16


@pytest.mark.slow
@given(st.lists(st.tuples(st.binary(max_size=9), st.integers(0, 30), st.integers(0, 2**32 - 1)), max_size=80))
@example([(b"short", 1, 42)] * 100 + [(b"\xff long", 100, 7), (b"longer", 1_000, 7)])
def test_few_long_texts_among_many(texts):
    contents = [content * times for content, times, _ in texts]
    ends = np.cumsum([0, *map(len, contents)])
    seeds = np.array([seed for *_, seed in texts], np.uint32)
    data = np.frombuffer(b"".join(contents), np.uint8)
    found = murmur3.hash_bytes(data, ends[:-1], np.diff(ends), seeds)
    assert found.tolist() == [plain(each, seed) for each, (*_, seed) in zip(contents, texts, strict=True)]


def test_few_short_texts_are_hashed_together():
    """One by one, 50 texts of one word took five times as long."""
    starts, seeds = 4 * np.arange(50), np.full(50, 42, np.uint32)
    with patch.object(murmur3, "_mixed_in_turn", side_effect=AssertionError):
        found = murmur3.hash_bytes(np.arange(200, dtype=np.uint8), starts, np.full(50, 4), seeds)
    assert found[1] == plain(bytes([4, 5, 6, 7]), 42)


@pytest.mark.parametrize("value", [0, -1, 127, 128, -128, -129, 2**63, -(2**63) - 1, 10**37, -(10**37)])
def test_wide_decimals_are_hashed_by_the_bytes_that_they_need(value):
    unsigned = value % 2**128
    low, high = np.array([unsigned % 2**64], np.uint64), np.array([unsigned >> 64], np.uint64).view(np.int64)
    size = (value if value >= 0 else ~value).bit_length() // 8 + 1
    found = murmur3.hash_wide_decimals(low, high, SEED)
    assert found == text(value.to_bytes(size, "big", signed=True))

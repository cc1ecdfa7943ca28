"""Spark's `hash`, which makes the weight of a row: Murmur3 of 32 bits, for arrays of values at once.

A hash of several values is a chain: the hash of one value is the seed of the next. A null leaves the seed as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Seeds = NDArray[np.uint32]

_C1 = np.uint32(0xCC9E2D51)
_C2 = np.uint32(0x1B873593)
_ADDED = np.uint32(0xE6546B64)
#: Up to so many long texts, Python's own integers take no longer than NumPy for the next word of each.
_FEW = 50
#: To start with a text costs Python as much as so many words of it.
_WORDS_TO_START = 40


def hash_ints(values: NDArray[np.int32], seeds: Seeds) -> Seeds:
    """The hashes of 32-bit integers, each with its own seed."""
    return _finished(_mixed(seeds, values.view(np.uint32)), np.uint32(4))


def hash_longs(values: NDArray[np.int64], seeds: Seeds) -> Seeds:
    """The hashes of 64-bit integers, each with its own seed."""
    bits = values.view(np.uint64)
    low, high = bits.astype(np.uint32), (bits >> np.uint64(32)).astype(np.uint32)
    return _finished(_mixed(_mixed(seeds, low), high), np.uint32(8))


def hash_floats(values: NDArray[np.float32], seeds: Seeds) -> Seeds:
    """The hashes of 32-bit floats. Both zeros are one value, and so is every NaN."""
    return hash_ints(_canonical(values).view(np.int32), seeds)


def hash_doubles(values: NDArray[np.float64], seeds: Seeds) -> Seeds:
    """The hashes of doubles. Both zeros are one value, and so is every NaN."""
    return hash_longs(_canonical(values).view(np.int64), seeds)


def hash_bytes(
    data: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64], seeds: Seeds
) -> Seeds:
    """The hashes of byte strings, which are slices of `data`.

    Spark takes the bytes after the last whole word one by one, each as a signed integer.
    """
    # With the longest strings first, those that reach a word or a byte are always the first ones.
    order = np.argsort(-lengths, kind="stable")
    begin, words, rest = starts[order], lengths[order] // 4, lengths[order] % 4
    hashes = seeds[order].copy()
    ascending, word, left = -words, 0, int(words.max(initial=0))
    # NumPy takes as long for the next word of all as Python for `_FEW` words. Python pays for a start of each text.
    while (reached := int(np.searchsorted(ascending, -word))) * (left + _WORDS_TO_START) > _FEW * left:
        at = begin[:reached] + 4 * word
        value = data[at[:, None] + np.arange(4)].view("<u4").ravel()
        hashes[:reached] = _mixed(hashes[:reached], value)
        word, left = word + 1, left - 1
    for text in range(reached):
        remaining = data[begin[text] + 4 * word : begin[text] + 4 * words[text]]
        hashes[text] = _mixed_in_turn(int(hashes[text]), remaining.view("<u4"))
    for byte in range(3):
        longer = np.flatnonzero(rest > byte)
        at = begin[longer] + 4 * words[longer] + byte
        signed = data[at].view(np.int8).astype(np.int32)
        hashes[longer] = _mixed(hashes[longer], signed.view(np.uint32))
    found = np.empty_like(hashes)
    found[order] = hashes
    return _finished(found, lengths.astype(np.uint32))


def hash_wide_decimals(low: NDArray[np.uint64], high: NDArray[np.int64], seeds: Seeds) -> Seeds:
    """The hashes of decimals of more than 18 digits, by the two halves of their unscaled values.

    Spark hashes the bytes that Java's `BigInteger` has of the number: the highest first, and no more than it needs.
    """
    big_endian = np.empty((len(low), 16), np.uint8)
    big_endian[:, :8] = high.astype(">i8").view(np.uint8).reshape(-1, 8)
    big_endian[:, 8:] = low.astype(">u8").view(np.uint8).reshape(-1, 8)
    filler = np.where(high < 0, 0xFF, 0).astype(np.uint8)[:, None]
    # A byte can go if it only repeats the sign and the next byte shows the same sign.
    is_spare = (big_endian[:, :-1] == filler) & ((big_endian[:, 1:] ^ filler) < 0x80)
    spare = np.logical_and.accumulate(is_spare, axis=1).sum(axis=1)
    starts = 16 * np.arange(len(low), dtype=np.int64) + spare
    return hash_bytes(big_endian.ravel(), starts, 16 - spare, seeds)


def _canonical(values: NDArray[Any]) -> NDArray[Any]:
    whole: NDArray[Any] = values + values.dtype.type(0)  # turns the negative zero into the other one
    whole[np.isnan(whole)] = np.nan
    return whole


def _rotated(bits: Seeds, by: int) -> Seeds:
    rotated: Seeds = (bits << np.uint32(by)) | (bits >> np.uint32(32 - by))
    return rotated


def _mixed(hashes: Seeds, value: Seeds) -> Seeds:
    mixed: Seeds = _rotated(hashes ^ _scrambled(value), 13) * np.uint32(5) + _ADDED
    return mixed


def _mixed_in_turn(mixed: int, values: Seeds) -> int:
    """A hash mixed with one value after the other."""
    for scrambled in _scrambled(values).data:
        mixed ^= scrambled
        mixed = ((mixed << 13 | mixed >> 19) * 5 + int(_ADDED)) & 0xFFFFFFFF
    return mixed


def _scrambled(value: Seeds) -> Seeds:
    scrambled: Seeds = _rotated(value * _C1, 15) * _C2
    return scrambled


def _finished(hashes: Seeds, length: Seeds | np.uint32) -> Seeds:
    hashes = hashes ^ length
    hashes = (hashes ^ (hashes >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    hashes = (hashes ^ (hashes >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    finished: Seeds = hashes ^ (hashes >> np.uint32(16))
    return finished

"""What a Scala or Java writer does to text: its hashes of bytes and strings, and how it prints numbers.

A hashed column's coordinate is a hash of the printed value, so the text has to agree to the character.
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np

_BITS = 0xFFFFFFFF
_BYTES_SEED = 0x3C074A61
_STRING_SEED = 0xF7CA7FD2


def _rotated(value: int, count: int) -> int:
    return (value << count | value >> (32 - count)) & _BITS


def _mixed_last(state: int, word: int) -> int:
    """The state of a Murmur3 hash after a word, without the rotation that follows."""
    word = _rotated(word * 0xCC9E2D51 & _BITS, 15) * 0x1B873593 & _BITS
    return state ^ word


def _mixed(state: int, word: int) -> int:
    return (_rotated(_mixed_last(state, word), 13) * 5 + 0xE6546B64) & _BITS


def _finished(state: int, length: int) -> int:
    """The last mixing of a Murmur3 hash; a signed 32-bit number."""
    state ^= length
    state = (state ^ state >> 16) * 0x85EBCA6B & _BITS
    state = (state ^ state >> 13) * 0xC2B2AE35 & _BITS
    state ^= state >> 16
    return state - (1 << 32) if state >> 31 else state


def bytes_hash(data: bytes) -> int:
    """Scala's hash of a byte array without a seed: every byte is one 32-bit word of its own, sign and all.

    This is not the Murmur3 of the textbooks, which takes four bytes at a time. Answers a signed 32-bit
    number.
    """
    state = _BYTES_SEED
    for byte in data:
        state = _mixed(state, (byte - 256 if byte > 127 else byte) & _BITS)
    return _finished(state, len(data))


def string_hash(text: str) -> int:
    """Scala's hash of a string: UTF-16 units two at a time. Answers a signed 32-bit number."""
    encoded = text.encode("utf-16-be", "surrogatepass")
    state = _STRING_SEED
    whole = len(encoded) // 4 * 4
    for start in range(0, whole, 4):
        high = int.from_bytes(encoded[start : start + 2], "big")
        low = int.from_bytes(encoded[start + 2 : start + 4], "big")
        state = _mixed(state, ((high << 16) + low) & _BITS)
    if whole < len(encoded):
        state = _mixed_last(state, int.from_bytes(encoded[whole:], "big"))
    return _finished(state, len(encoded) // 2)


def hash_coordinate(text: bytes) -> float:
    """The coordinate (0..1) of a hashed value, given as the bytes of its text."""
    return (bytes_hash(text) & 0x7FFFFFFF) / 2147483647.0


def first_java_random_double(seed: int) -> float:
    """The first `nextDouble()` (0 <= x < 1) of a `java.util.Random` with this seed."""
    mask = (1 << 48) - 1
    state = (seed ^ 0x5DEECE66D) & mask
    drawn = []
    for bits in (26, 27):
        state = (state * 0x5DEECE66D + 0xB) & mask
        drawn.append(state >> (48 - bits))
    return ((drawn[0] << 27) + drawn[1]) * 2.0**-53


def java_double_text(value: float) -> str:
    """The text that Java (19 and later) prints for a double: `1.0`, `1.0E10`, `5.0E-7`, `NaN`."""
    value = float(value)
    return _java_text(value, repr(value))


def java_float_text(value: np.float32) -> str:
    """The text that Java (19 and later) prints for a 32-bit float."""
    value = np.float32(value)
    return _java_text(float(value), np.format_float_scientific(value, unique=True))


def java_decimal_text(value: Decimal) -> str:
    """The text that Java's `BigDecimal.toString` gives: `1.50`, `1E+3`. It knows no negative zero."""
    return str(value.copy_abs() if value.is_zero() else value)


def _java_text(value: float, shortest: str) -> str:
    """Java's layout of a number whose shortest digits are those of the Python text `shortest`."""
    if value != value:
        return "NaN"
    sign = "-" if shortest.startswith("-") else ""
    if value in (float("inf"), float("-inf")):
        return sign + "Infinity"
    if value == 0.0:
        return sign + "0.0"
    digits, exponent = _digits(shortest)
    if len(digits) == 1:
        # Java prints at least two digits. It takes the nearest number of two digits instead of adding a 0: the
        # smallest double, 5e-324 in Python, is 4.9E-324 in Java.
        digits, exponent = _digits(f"{value:.1e}")
    if -3 <= exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    if 0 <= exponent < 7:
        return f"{sign}{digits[: exponent + 1].ljust(exponent + 1, '0')}.{digits[exponent + 1 :] or '0'}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _digits(text: str) -> tuple[str, int]:
    """The significant digits of a printed number and the decimal exponent of the first of them."""
    number = Decimal(text).normalize()
    return "".join(map(str, number.as_tuple().digits)), number.adjusted()

"""The compact base64 form of a descriptor, which Delta hands to its Parquet reader.

Big-endian: cardinality (8 bytes), size (4), storage letter (1), offset (4, for files), then the text with a
length of 2 bytes before it, in Java's modified UTF-8. A capital letter says that a file's offset is absent.
"""

from __future__ import annotations

import base64
import struct

from pyqbeast.core.errors import FormatError, InvalidInputError

_HEAD = struct.Struct(">qic")
_OFFSET = struct.Struct(">i")
_LENGTH = struct.Struct(">H")

Fields = tuple[str, str, int | None, int, int]


def encode(letter: str, text: str, offset: int | None, size: int, cardinality: int) -> str:
    """The compact form of these fields."""
    encoded = _to_java(text)
    if len(encoded) > 0xFFFF:
        raise InvalidInputError(
            f"{len(encoded)} bytes of text are too long for the compact form (65535 at most)"
        )
    marker = letter if letter == "i" or offset is not None else letter.upper()
    place = b"" if offset is None else _OFFSET.pack(offset)
    head = _HEAD.pack(cardinality, size, marker.encode("ascii"))
    return base64.b64encode(head + place + _LENGTH.pack(len(encoded)) + encoded).decode("ascii")


def decode(text: str | bytes) -> Fields:
    """Storage letter, text, offset, size and cardinality of the compact form `text`.

    Raises `FormatError` where it is not base64, or too short or long. The values themselves are not judged.
    """
    try:
        data = base64.b64decode(text, validate=True)
        cardinality, size, marker = _HEAD.unpack_from(data)
        position, letter, offset = _HEAD.size, marker.decode("ascii"), None
        if letter.isupper():
            letter = letter.lower()
        elif letter != "i":
            (offset,) = _OFFSET.unpack_from(data, position)
            position += _OFFSET.size
        (length,) = _LENGTH.unpack_from(data, position)
        rest = data[position + _LENGTH.size :]
        if len(rest) != length:
            raise FormatError(f"its text takes {len(rest)} bytes and should take {length}")
        return letter, _from_java(rest), offset, size, cardinality
    except (ValueError, struct.error) as error:
        raise FormatError(f"not the compact form of a deletion vector descriptor: {error}") from error


def _to_java(text: str) -> bytes:
    """Modified UTF-8: each UTF-16 unit by itself, and NUL in two bytes."""
    raw = text.encode("utf-16-be", "surrogatepass")
    units = struct.unpack(f">{len(raw) // 2}H", raw)
    return "".join(map(chr, units)).encode("utf-8", "surrogatepass").replace(b"\0", b"\xc0\x80")


def _from_java(data: bytes) -> str:
    units = data.replace(b"\xc0\x80", b"\0").decode("utf-8", "surrogatepass")
    return units.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")

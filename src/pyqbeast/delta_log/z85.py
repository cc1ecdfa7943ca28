"""Z85, the text form of bytes in Delta's log: 5 characters for 4 bytes (ZeroMQ RFC 32)."""

from __future__ import annotations

import base64

from pyqbeast.core.errors import FormatError

# Z85 and the RFC 1924 form of the standard library do the same arithmetic with different characters.
_Z85 = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_RFC1924 = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_TO_Z85 = bytes.maketrans(_RFC1924, _Z85)
_FROM_Z85 = bytes.maketrans(_Z85, _RFC1924)
_ALPHABET = frozenset(_Z85.decode("ascii"))


def encode(data: bytes) -> str:
    """`data` as Z85, padded with zero bytes to a multiple of 4 as Delta does."""
    padded = data + bytes(-len(data) % 4)
    return base64.b85encode(padded).translate(_TO_Z85).decode("ascii")


def decode(text: str) -> bytes:
    """The bytes of `text`, padding included: 4 for each 5 characters.

    Raises `FormatError` for a foreign character, a length that is no multiple of 5, and for five characters
    that stand for more than 32 bits.
    """
    foreign = sorted(set(text) - _ALPHABET)
    if foreign:
        raise FormatError(f"not Z85: the character {foreign[0]!r} is not in its alphabet")
    if len(text) % 5:
        raise FormatError(f"not Z85: {len(text)} characters are no multiple of 5")
    try:
        return base64.b85decode(text.encode("ascii").translate(_FROM_Z85))
    except ValueError as error:
        raise FormatError("not Z85: five of its characters stand for more than 32 bits") from error

"""Opening an array by its URI: the span of time looked at, and the key of an encrypted one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.location import Location
from pyqbeast.tiledb.read.array import Array
from pyqbeast.tiledb.storage.names import EVERYTHING, LAST_TIMESTAMP, Window
from pyqbeast.tiledb.storage.stores import open_store

Timestamp = int | Sequence[int] | None


def open_array(
    uri: Location, timestamp: Timestamp = None, *, encryption_key: str | bytes | None = None
) -> Array:
    """Open an array for reading, as it was at a time.

    Args:
        uri: a path, or a URI that fsspec knows, or one of http(s).
        timestamp: take only what was written up to this time (ms since 1970, UTC, inclusive), or in the span
            from the first to the last of two. `None` takes everything.
        encryption_key: the 32-byte key of an encrypted array.

    Raises:
        TableNotFoundError: there is no array.
        ArrayFormatError: its schema is broken.
        UnsupportedError: it uses something that is not supported.
        EncryptedArrayError: it is encrypted and no key is given.

    Example:
        >>> array = open_array("s3://bucket/array", timestamp=1_700_000_000_000)  # doctest: +SKIP
        >>> array.read(["a"], where=[("a", ">", 5)], box={"x": (0, 99)})  # doctest: +SKIP
    """
    return Array(open_store(uri), _window(timestamp), key_bytes(encryption_key))


def _window(timestamp: Timestamp) -> Window:
    if timestamp is None:
        return EVERYTHING
    # Bytes are a sequence of whole numbers too, and nobody means a span by them.
    ends = timestamp if isinstance(timestamp, (list, tuple, range)) else (0, timestamp)
    are_whole = all(isinstance(end, (int, np.integer)) and not isinstance(end, bool) for end in ends)
    if len(ends) != 2 or not are_whole or not 0 <= ends[0] <= ends[1]:
        raise InvalidInputError(
            f"timestamp takes a whole number of ms since 1970, or the first and the last, not {timestamp!r}"
        )
    if ends[1] > LAST_TIMESTAMP:
        raise InvalidInputError(
            f"timestamp takes times up to {LAST_TIMESTAMP} ms since 1970, not {timestamp!r}"
        )
    return Window(int(ends[0]), int(ends[1]))


def key_bytes(encryption_key: str | bytes | None) -> bytes | None:
    """The bytes of an encryption key.

    Raises:
        InvalidInputError: they are not 32.
    """
    if isinstance(encryption_key, str):
        encryption_key = encryption_key.encode("utf-8", "surrogatepass")
    if encryption_key is not None and not (isinstance(encryption_key, bytes) and len(encryption_key) == 32):
        raise InvalidInputError("an encryption key is text or bytes, of 32 bytes")
    return encryption_key

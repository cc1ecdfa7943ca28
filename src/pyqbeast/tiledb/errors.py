"""The errors of this package: which file, which field, what is wrong."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from pyqbeast.core.errors import FormatError, StorageError, UnsupportedError


class ArrayFormatError(FormatError):
    """Bytes of an array that do not follow the format: truncated, contradictory or changed.

    Attributes:
        problem: what is wrong, in words.
        file: the path inside the array, or "" where it is not known.
        field: the part of the file, or "".
    """

    def __init__(self, problem: str, *, file: str = "", field: str = "") -> None:
        self.problem = problem
        self.file = file
        self.field = field
        super().__init__(": ".join(part for part in (file, field, problem) if part))

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.problem, self.file, self.field)


class EncryptedArrayError(UnsupportedError):
    """The array is encrypted and no key, or no library to use it, is at hand."""


def _rebuild(problem: str, file: str, field: str) -> ArrayFormatError:
    return ArrayFormatError(problem, file=file, field=field)


#: What NumPy and the codecs of the standard library raise for broken bytes, and for bytes that claim to be more
#: than fits into memory. Any other exception is a bug of ours.
DECODING_ERRORS = (
    MemoryError,
    ValueError,
    IndexError,
    OverflowError,
    EOFError,
    OSError,
    struct.error,
    zlib.error,
)


@contextmanager
def reading(file: str, field: str = "") -> Iterator[None]:
    """Say in every error about broken bytes which file and which part of it they are in."""
    try:
        yield
    except ArrayFormatError as error:
        if error.file and (error.field or not field):
            raise
        raise ArrayFormatError(
            error.problem, file=error.file or file, field=": ".join(p for p in (field, error.field) if p)
        ) from error.__cause__
    except (FormatError, StorageError, FileNotFoundError):
        raise
    except DECODING_ERRORS as error:
        raise ArrayFormatError(f"cannot be decoded ({error})", file=file, field=field) from error


@contextmanager
def telling(outcome: str = "the array is as it was") -> Iterator[None]:
    """Adds to an error of the storage what became of the array."""
    try:
        yield
    except StorageError as error:
        if str(error).endswith(outcome):
            raise
        raise StorageError(f"{error}; {outcome}") from error

"""Files of deletion vectors: a version byte, then size, bytes and CRC-32 of each vector, words big-endian."""

from __future__ import annotations

import contextlib
import glob
import struct
import uuid
import zlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import IO, Protocol

from pyqbeast.core.errors import FormatError, InvalidInputError
from pyqbeast.core.format.constants import INT_MAX
from pyqbeast.core.location import Location
from pyqbeast.delta_log import locations
from pyqbeast.delta_log.descriptor import DeletionVectorDescriptor

_VERSION = b"\x01"
_WORD = struct.Struct(">I")
# The size before a vector and the checksum behind it.
_FRAME_SIZE = 2 * _WORD.size
# Bytes that are fetched behind those asked for. fsspec fetches 5 MB unless it is told, and a file may hold thousands of
# vectors, each of which is read by itself.
_READ_AHEAD = 4096
# A vector that ends before this byte of its file is fetched with all that comes before it, as one more request for the
# version byte would take longer.
_FETCHED_FROM_START = 1 << 15


class Store(Protocol):
    """What files of vectors lie in: what fsspec knows, or the file systems of a Spark session."""

    def open(self, location: str, read_ahead: int) -> AbstractContextManager[IO[bytes]]:
        """The file, to be read. A store elsewhere fetches `read_ahead` bytes behind those that are asked for.

        Raises `FileNotFoundError` where there is none.
        """

    def write(self, location: str, content: bytes) -> None:
        """Writes a new file, and leaves nothing behind where that fails."""


@dataclass(frozen=True)
class FsspecStore:
    """The stores that fsspec knows; `storage_options` go to that of the table."""

    table: Location
    storage_options: locations.Options = None

    @contextlib.contextmanager
    def open(self, location: str, read_ahead: int) -> Iterator[IO[bytes]]:
        """See `Store`."""
        # An archive is closed where nobody knows its file system any more.
        file_system, path = locations.open_named(location, self.table, self.storage_options)
        with locations.looking_for(file_system, f"reading deletion vector file {location}"):
            locations.check_is_file(file_system, path)
            try:
                file = locations.open_file(file_system, path, block_size=read_ahead)
            # The client of Databricks takes no other size than its own.
            except ValueError:
                file = locations.open_file(file_system, path)
        with file:
            yield file

    def write(self, location: str, content: bytes) -> None:
        """See `Store`."""
        file_system, path = locations.open_named(location, self.table, self.storage_options)
        try:
            file_system.makedirs(path.rpartition("/")[0], exist_ok=True)
            file_system.pipe_file(path, content)
        except Exception:
            with contextlib.suppress(Exception):
                # Other file systems take what is to be deleted for a pattern.
                delete = file_system.rm_file if glob.has_magic(path) else file_system.rm
                delete(path)
            raise


def read_bytes(location: str, offset: int, size: int, store: Store) -> bytes:
    """The `size` serialized bytes of the vector whose size word is at byte `offset` of `location`.

    Raises `FormatError` where the file is missing, too short, of another version, or has another size or
    checksum.
    """
    source = f"deletion vector file {location}"
    end = offset + size + _FRAME_SIZE
    with locations.storage_errors(f"reading {source}"):
        try:
            with store.open(location, end if end <= _FETCHED_FROM_START else _READ_AHEAD) as file:
                return _read(file, source, offset, size)
        except FileNotFoundError as error:
            raise FormatError(f"{source}: there is no such file") from error


def cut_off(length: int, offset: int, size: int) -> str | None:
    """That a file of `length` bytes ends before the vector of `size` bytes at `offset`, in words; None where not."""
    if offset + size + _FRAME_SIZE <= length:
        return None
    return f"truncated: it has {length} bytes, too few for {size} at offset {offset}"


def _read(file: IO[bytes], source: str, offset: int, size: int) -> bytes:
    length = file.seek(0, 2)
    # The size is checked before so many bytes are read, because the descriptor may be forged, or the file cut
    # off.
    if wrong := cut_off(length, offset, size):
        raise FormatError(f"{source}: {wrong}")
    file.seek(0)
    # A vector at offset 0, for a descriptor without an offset, leaves no room for a version byte.
    if offset > 0 and (version := file.read(1)) != _VERSION:
        raise FormatError(f"{source}: version: {version[0]} is unknown; version 1 is read")
    file.seek(offset)
    record = file.read(size + _FRAME_SIZE)
    (stored_size,) = _WORD.unpack_from(record, 0)
    if stored_size != size:
        raise FormatError(f"{source}: sizeInBytes: {size} in the log, {stored_size} in the file at {offset}")
    data = record[_WORD.size : -_WORD.size]
    (checksum,) = _WORD.unpack_from(record, _WORD.size + size)
    if checksum != zlib.crc32(data):
        raise FormatError(f"{source}: checksum: wrong for the {size} bytes at {offset}; the file is altered")
    return bytes(data)


def write_bytes(
    table: Location, vectors: Sequence[bytes], random_prefix: str, store: Store
) -> tuple[uuid.UUID, list[tuple[int, int]]]:
    """Write the serialized `vectors` into a new file of `table`; return its UUID, and offsets and sizes.

    Raises `InvalidInputError` where an offset or size would not fit the log, before anything is written, and
    `StorageError` where the file could not be written.
    """
    parts, positions, position = [_VERSION], [], len(_VERSION)
    for data in vectors:
        # Sizes and offsets are 4-byte signed numbers in the log.
        if position + len(data) > INT_MAX:
            raise InvalidInputError(
                f"{len(vectors)} vectors do not fit a file of 2 GiB; write fewer into each"
            )
        positions.append((position, len(data)))
        parts += [_WORD.pack(len(data)), data, _WORD.pack(zlib.crc32(data))]
        position += len(data) + _FRAME_SIZE
    file_id = uuid.uuid4()
    location = DeletionVectorDescriptor.assemble_path(table, file_id, random_prefix)
    with locations.storage_errors(f"writing deletion vector file {location}"):
        store.write(location, b"".join(parts))
    return file_id, positions

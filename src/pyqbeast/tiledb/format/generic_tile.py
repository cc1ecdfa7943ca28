"""Generic tiles: self-describing tiles that hold everything but cells (schemas, metadata sections, conditions)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyqbeast.core.errors import UnsupportedError
from pyqbeast.tiledb.cursor import Bytes, Cursor, u8, u32, u64
from pyqbeast.tiledb.datatypes import Datatype
from pyqbeast.tiledb.errors import ArrayFormatError, reading
from pyqbeast.tiledb.filters.base import WRITTEN_VERSION, ChunkContext, octets
from pyqbeast.tiledb.filters.checks import Aes256Gcm
from pyqbeast.tiledb.filters.compress import Gzip
from pyqbeast.tiledb.filters.pipeline import FilterPipeline, in_array
from pyqbeast.tiledb.format.tile import StoredTile, encode_tile

#: The format versions that are read.
OLDEST_VERSION, NEWEST_VERSION = 10, 23

#: Deflate makes at most about 1,032 bytes of one; a tile that claims more is broken.
_LARGEST_RATIO = 1100
_NOT_ENCRYPTED, _AES = 0, 1


def check_version(version: int, file: str) -> int:
    """The version, if it is one that is read; `UnsupportedError` where not."""
    if not OLDEST_VERSION <= version <= NEWEST_VERSION:
        raise UnsupportedError(
            f"{file}: format version {version} is not supported (versions {OLDEST_VERSION} to {NEWEST_VERSION} are)"
        )
    return version


@dataclass(frozen=True)
class GenericTile:
    """The payload of a generic tile, and what its header says.

    Attributes:
        version: format version.
        encrypted: whether the tile is encrypted.
        payload: the decoded bytes.
    """

    version: int
    encrypted: bool
    payload: bytes

    @classmethod
    def parse(cls, data: Bytes, file: str, field: str = "", key: bytes | None = None) -> GenericTile:
        """Read the generic tile that `data` begins with.

        Args:
            data: the tile, and perhaps more behind it.
            file: its file, for messages.
            field: what it holds, for messages.
            key: the encryption key, if there is one.

        Raises:
            ArrayFormatError: the bytes are broken.
            UnsupportedError: the version is not supported.
            EncryptedArrayError: the tile is encrypted and there is no key.
        """
        with reading(file, field):
            cursor = Cursor(data, file)
            version = check_version(cursor.u32("version"), file)
            persisted, size = cursor.u64("persisted size"), cursor.u64("tile size")
            datatype = Datatype.parse(cursor.u8("datatype"), "datatype")
            cell_size, encryption = cursor.u64("cell size"), cursor.u8("encryption")
            if encryption not in (_NOT_ENCRYPTED, _AES):
                raise ArrayFormatError(f"unknown encryption {encryption}")
            if cell_size != datatype.size:
                raise ArrayFormatError(f"cells of {cell_size} bytes of type {datatype.name}")
            pipeline_size = cursor.u32("pipeline size")
            pipeline = FilterPipeline.parse(Cursor(cursor.take(pipeline_size, "pipeline"), file), version)
            if encryption == _AES:
                pipeline = FilterPipeline(
                    tuple(Aes256Gcm(key) if isinstance(f, Aes256Gcm) else f for f in pipeline.filters)
                )
            tile = StoredTile(cursor.take(persisted, "tile"))
            if tile.size != size or size > _LARGEST_RATIO * persisted:
                raise ArrayFormatError(f"{size} bytes cannot come from {persisted}")
            out = np.empty(size, dtype=np.uint8)
            tile.decode(pipeline, ChunkContext(datatype, version=version), out)
        return cls(version, encryption == _AES, out.tobytes())


def encode_generic_tile(payload: bytes, version: int = WRITTEN_VERSION, key: bytes | None = None) -> bytes:
    """A generic tile that holds `payload`, compressed, and encrypted if there is a key."""
    pipeline = in_array(FilterPipeline((Gzip(1),)), key)
    tile = encode_tile(octets(payload), pipeline, ChunkContext(Datatype.CHAR, version=version))
    filters = pipeline.to_bytes()
    header = u32(version) + u64(len(tile), len(payload)) + u8(Datatype.CHAR) + u64(1)
    return header + u8(_AES if key else _NOT_ENCRYPTED) + u32(len(filters)) + filters + tile

"""Filters that guard the bytes: checksums and encryption."""

from __future__ import annotations

import hashlib
import os

import numpy as np

from pyqbeast.tiledb.cursor import Bytes, Cursor, u32, u64
from pyqbeast.tiledb.errors import ArrayFormatError, EncryptedArrayError
from pyqbeast.tiledb.filters.base import ChunkContext, Filter, Octets, octets

_NONCE, _TAG = 12, 16


class _Checksum(Filter):
    """A digest of the metadata and one of the data, kept in front of the metadata.

    The name of the filter is that of its method in `hashlib`.
    """

    leaves_whole_values = True
    digest_size: int

    @classmethod
    def digest(cls, data: Bytes) -> bytes:
        """The digest of some bytes."""
        return hashlib.new(cls.name, data, usedforsecurity=False).digest()

    def decode(self, metadata: memoryview, data: Octets, context: ChunkContext) -> tuple[memoryview, Octets]:
        cursor = Cursor(metadata)
        counts = cursor.u32("metadata digests"), cursor.u32("data digests")
        record = np.dtype([("size", "<u8"), ("digest", f"V{self.digest_size}")])
        stored = [cursor.array(record, count, "digests") for count in counts]
        before = cursor.rest()
        for records, content in zip(stored, (before, data.data), strict=True):
            body = Cursor(content)
            for size, digest in zip(records["size"], records["digest"], strict=True):
                if self.digest(body.take(int(size), "guarded bytes")) != digest.tobytes():
                    raise ArrayFormatError(f"{self.name}: the checksum is not that of the data")
        return before, data

    def encode(self, metadata: bytes, data: Octets, context: ChunkContext) -> tuple[bytes, Octets]:
        before = [memoryview(metadata)] if metadata else []
        digests = b"".join(u64(part.nbytes) + self.digest(part) for part in (*before, data.data))
        return u32(len(before), 1) + digests + metadata, data


class Md5(_Checksum):
    """MD5 of every chunk."""

    id, name, digest_size = 12, "md5", 16


class Sha256(_Checksum):
    """SHA-256 of every chunk."""

    id, name, digest_size = 13, "sha256", 32


class Aes256Gcm(Filter):
    """AES-256 in Galois/counter mode; last in the pipelines of an encrypted array.

    Args:
        key: 32 bytes, or `None` where the user gave none.
    """

    id, name = 11, "aes-256-gcm"

    def __init__(self, key: bytes | None = None) -> None:
        self.key = key

    def decode(self, metadata: memoryview, data: Octets, context: ChunkContext) -> tuple[memoryview, Octets]:
        """Undo the filter on one chunk."""
        cursor = Cursor(metadata)
        counts = cursor.u32("metadata parts"), cursor.u32("data parts")
        body = Cursor(data.data)
        done: list[list[bytes]] = [[], []]
        for parts, count in zip(done, counts, strict=True):
            for _ in range(count):
                plain, sealed = cursor.u32("plain size"), cursor.u32("encrypted size")
                nonce, tag = cursor.take(_NONCE, "nonce"), cursor.take(_TAG, "tag")
                parts.append(self._open(bytes(nonce), bytes(body.take(sealed, "part")) + bytes(tag), plain))
        return memoryview(b"".join(done[0])), octets(b"".join(done[1]))

    def _open(self, nonce: bytes, sealed: bytes, size: int) -> bytes:
        plain = _Cipher(self.key).decrypt(nonce, sealed)
        if len(plain) != size:
            raise ArrayFormatError(f"{self.name}: a part of {size} bytes has {len(plain)}")
        return plain

    def encode(self, metadata: bytes, data: Octets, context: ChunkContext) -> tuple[bytes, Octets]:
        """Apply the filter to one chunk."""
        before = [metadata] if metadata else []
        header, sealed = u32(len(before), 1), b""
        for part in (*before, data.tobytes()):
            nonce = os.urandom(_NONCE)
            result = _Cipher(self.key).encrypt(nonce, part)
            header += u32(len(part), len(result) - _TAG) + nonce + result[-_TAG:]
            sealed += result[:-_TAG]
        return header, octets(sealed)


class _Cipher:
    """AES-GCM with the errors of this package."""

    def __init__(self, key: bytes | None) -> None:
        if key is None:
            raise EncryptedArrayError(
                "the array is encrypted: pass its 32-byte key as encryption_key (--encryption-key of a command)"
            )
        try:
            from cryptography.exceptions import InvalidTag
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ImportError as error:
            raise EncryptedArrayError(
                "encrypted arrays need the package cryptography: pip install 'pyqbeast[crypto]'"
            ) from error
        self._aead, self._invalid = AESGCM(key), InvalidTag

    def decrypt(self, nonce: bytes, sealed: bytes) -> bytes:
        try:
            return self._aead.decrypt(nonce, sealed, None)
        except self._invalid as error:
            raise ArrayFormatError("the encryption key is wrong or the bytes were changed") from error

    def encrypt(self, nonce: bytes, plain: bytes) -> bytes:
        return self._aead.encrypt(nonce, plain, None)

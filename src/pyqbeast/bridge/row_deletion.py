"""Rows that go: by Delta's own DELETE, or by the Delta transaction that gives one data file a new deletion vector."""

from __future__ import annotations

import io
import json
from contextlib import AbstractContextManager
from typing import IO, Any, NamedTuple, cast

from pyspark.sql import Column, SparkSession

from pyqbeast.bridge.jvm import java
from pyqbeast.delta_log.descriptor import DeletionVectorDescriptor
from pyqbeast.delta_log.file_checks import surely_stored


def delete_where(spark: SparkSession, path: str, condition: Column) -> str:
    """Deletes the rows that meet a condition by Delta's own DELETE.

    Returns:
        Delta's message where another writer's change stood in the way, and nothing is deleted; empty on success.
    """
    return str(java(spark).commands.WatchedCommand.delete(spark._jsparkSession, path, condition._jc))


class MarkedFile(NamedTuple):
    """What `RowDeletion.pick` tells of its one file, whose path the caller knows: rows and deletion vector.

    Attributes:
        counted: the rows that the log counts in it; None where it does not say.
        rows: stored in it, deleted ones too; None where the log does not surely say.
        vector: None without one.
    """

    counted: int | None
    rows: int | None
    vector: DeletionVectorDescriptor | None


class _VectorFile(io.RawIOBase):
    """A file of vectors in a store that Spark knows, to be read.

    Args:
        deletion: the transaction in Java.
        location: of the file.
        read_ahead: bytes to fetch at least, as each fetch is a request.

    Raises:
        FileNotFoundError: there is none.
    """

    def __init__(self, deletion: Any, location: str, read_ahead: int) -> None:  # noqa: ANN401 (an object of Java)
        self._deletion, self._location, self._read_ahead = deletion, location, read_ahead
        self._at, self._start, self._fetched = 0, 0, b""
        self._length = int(deletion.length(location))
        if self._length < 0:
            raise FileNotFoundError(location)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Goes on from there."""
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._length}[whence]
        return self._at

    def read(self, size: int = -1) -> bytes:
        """The next bytes: so many, or as many as there are."""
        left = self._length - self._at
        count = left if size < 0 else min(size, left)
        if not self._start <= self._at <= self._at + count <= self._start + len(self._fetched):
            self._start = self._at
            self._fetched = bytes(
                self._deletion.read(self._location, self._at, min(left, max(count, self._read_ahead)))
            )
        first, self._at = self._at - self._start, self._at + count
        return self._fetched[first : first + count]


class RowDeletion:
    """A transaction on the newest version of the table at a path, for the rows of one file.

    It is the store that the files of vectors lie in, as well: Spark has its own names of stores, and its own keys.
    """

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._java = java(spark).commit.RowDeletion.begin(spark._jsparkSession, path)
        #: Where the table lies, as a whole location.
        self.root: str = self._java.root()
        #: Whether the table takes new deletion vectors.
        self.is_enabled: bool = self._java.isEnabled()

    def open(self, location: str, read_ahead: int) -> AbstractContextManager[IO[bytes]]:
        """A file of vectors; see `pyqbeast.deletion_vectors.vector_files.Store`."""
        return cast("AbstractContextManager[IO[bytes]]", _VectorFile(self._java, location, read_ahead))

    def write(self, location: str, content: bytes) -> None:
        """Writes a new file of vectors; see `pyqbeast.deletion_vectors.vector_files.Store`."""
        self._java.write(location, content)

    def pick(self, path: str) -> MarkedFile | None:
        """Picks the file, by its path in the log; None where it is not live. One Spark job."""
        file_state = json.loads(self._java.pick(path))
        if not file_state:
            return None
        counted, logged, statistics = file_state
        vector = DeletionVectorDescriptor.from_json(logged) if logged else None
        rows = surely_stored(counted, vector.cardinality if vector else 0, statistics)
        return MarkedFile(counted, rows, vector)

    def commit(self, vector: DeletionVectorDescriptor) -> bool:
        """Gives the file its new vector, which counts the rows of the old one too.

        Returns False if another writer's commit stands in the way; `conflict` says which. The vector's file is
        deleted if it is certain that no commit names it.
        """
        return bool(self._java.commit(vector.to_base64()))

    @property
    def conflict(self) -> str:
        """Delta's message about what stood in the way of `commit`."""
        return str(self._java.conflict())

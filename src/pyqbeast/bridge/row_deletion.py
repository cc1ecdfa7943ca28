"""Rows that go: by Delta's own DELETE, or by the Delta transaction that gives one data file a new deletion vector."""

from __future__ import annotations

import json
from typing import NamedTuple

from pyspark.sql import Column, SparkSession

from pyqbeast.bridge.jvm import java
from pyqbeast.delta_log.descriptor import DeletionVectorDescriptor


def delete_where(spark: SparkSession, path: str, condition: Column) -> str:
    """Deletes the rows that meet a condition by Delta's own DELETE.

    Returns:
        Delta's message where another writer's change stood in the way, and nothing is deleted; empty on success.
    """
    return str(java(spark).commit.WatchedCommand.delete(spark._jsparkSession, path, condition._jc))


class MarkedFile(NamedTuple):
    """What `RowDeletion.open` tells of its one file, whose path the caller knows: rows and deletion vector.

    Attributes:
        rows: stored in it, deleted ones too; None where the log does not say.
        vector: None without one.
    """

    rows: int | None
    vector: DeletionVectorDescriptor | None


class RowDeletion:
    """A transaction on the newest version of the table at a path, for the rows of one file."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._java = java(spark).commit.RowDeletion.begin(spark._jsparkSession, path)
        #: Where the table lies, as a whole location.
        self.root: str = self._java.root()
        #: Whether the table takes new deletion vectors.
        self.is_enabled: bool = self._java.isEnabled()

    def open(self, path: str) -> MarkedFile | None:
        """Picks the file, by its path in the log; None where it is not live. One Spark job."""
        file_state = json.loads(self._java.open(path))
        if not file_state:
            return None
        rows, vector = file_state
        return MarkedFile(rows, DeletionVectorDescriptor.from_json(vector) if vector else None)

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

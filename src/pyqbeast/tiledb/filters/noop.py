"""The filter that changes nothing."""

from __future__ import annotations

from pyqbeast.tiledb.filters.base import ChunkContext, Filter, Octets


class NoOp(Filter):
    """Passes through what it gets. A dimension that has only this one is stored as it is.

    Without any filter it would have the schema's filters of coordinates.
    """

    id, name = 0, "noop"
    leaves_whole_values = True

    def decode(self, metadata: memoryview, data: Octets, context: ChunkContext) -> tuple[memoryview, Octets]:
        """Undo the filter on one chunk."""
        return metadata, data

    def encode(self, metadata: bytes, data: Octets, context: ChunkContext) -> tuple[bytes, Octets]:
        """Apply the filter to one chunk."""
        return metadata, data

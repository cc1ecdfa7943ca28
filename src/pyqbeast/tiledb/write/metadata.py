"""Writing the metadata of an array."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyqbeast.core.location import Location
from pyqbeast.tiledb.errors import telling
from pyqbeast.tiledb.format.generic_tile import encode_generic_tile
from pyqbeast.tiledb.format.metadata import metadata_bytes
from pyqbeast.tiledb.read.opening import open_array
from pyqbeast.tiledb.storage.folder import METADATA
from pyqbeast.tiledb.storage.names import TimestampedName, time_after
from pyqbeast.tiledb.write.commit import write_landed


@telling()
def write_metadata(
    uri: Location,
    values: Mapping[str, Any],
    *,
    timestamp: int | None = None,
    encryption_key: str | bytes | None = None,
) -> None:
    """Set array metadata: text, bytes, a number or a sequence of numbers by key; `None` deletes a key."""
    array = open_array(uri, encryption_key=encryption_key)
    name = TimestampedName.new(time_after(array.folder.metadata) if timestamp is None else timestamp).text
    tile = encode_generic_tile(metadata_bytes(values), key=array.key)
    write_landed(array.store, f"{METADATA}/{name}", tile, "the metadata is set")

"""Making arrays: the schema file is what makes a folder an array, so it is written last."""

from __future__ import annotations

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.tiledb.array import Array, key_bytes
from pyqbeast.tiledb.commit import write_landed
from pyqbeast.tiledb.errors import ArrayFormatError
from pyqbeast.tiledb.folder import SCHEMAS
from pyqbeast.tiledb.generic_tile import encode_generic_tile
from pyqbeast.tiledb.names import EVERYTHING, TimestampedName, time_after
from pyqbeast.tiledb.schema import ArraySchema
from pyqbeast.tiledb.storage import open_store


def create_array(
    uri: str, schema: ArraySchema, *, timestamp: int | None = None, encryption_key: str | bytes | None = None
) -> None:
    """Make an array without cells.

    Args:
        uri: Where; a folder that is there already must hold no array.
        schema: What its cells are.
        timestamp: When, in ms since 1970 (UTC); now by default.
        encryption_key: 32 bytes, for an array to be encrypted.

    Raises:
        InvalidInputError: There is an array, the storage is read-only, or no reader could open such an array.
    """
    store_schema(plan_array(uri, schema, timestamp=timestamp, encryption_key=encryption_key))


def plan_array(
    uri: str, schema: ArraySchema, *, timestamp: int | None = None, encryption_key: str | bytes | None = None
) -> Array:
    """The array that `create_array` would make. Nothing is written before `store_schema`."""
    name = TimestampedName.new(time_after([]) if timestamp is None else timestamp).text
    try:
        stored = ArraySchema.parse(schema.to_bytes(), name)
    except ArrayFormatError as error:
        raise InvalidInputError(f"{uri}: no array can have this schema: {error.problem}") from error
    array = Array(open_store(uri), EVERYTHING, key_bytes(encryption_key), stored)
    if array.folder.schemas:
        raise InvalidInputError(f"{uri}: there is an array already")
    return array


def store_schema(array: Array) -> None:
    """Make a planned array: from now on everybody sees it."""
    payload = array.schema.to_bytes()
    tile = encode_generic_tile(payload, key=array.key)
    write_landed(
        array.store, f"{SCHEMAS}/{array.schema.name}", tile, "there is an array, still without cells"
    )

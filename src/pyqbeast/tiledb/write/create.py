"""Making arrays: the schema file is what makes a folder an array, so it is written last."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Mapping
from dataclasses import replace

from pyqbeast.core.arguments import check_type
from pyqbeast.core.errors import InvalidInputError, UncertainWriteError
from pyqbeast.core.location import Location
from pyqbeast.tiledb.errors import telling
from pyqbeast.tiledb.format.dimension import Dimension
from pyqbeast.tiledb.format.enumeration import Enumeration
from pyqbeast.tiledb.format.generic_tile import encode_generic_tile
from pyqbeast.tiledb.format.schema import ArraySchema, Layout
from pyqbeast.tiledb.format.schema_rules import check_new_schema
from pyqbeast.tiledb.read.array import Array
from pyqbeast.tiledb.read.opening import key_bytes
from pyqbeast.tiledb.storage.folder import ENUMERATIONS, METADATA, SCHEMAS
from pyqbeast.tiledb.storage.names import EVERYTHING, TimestampedName, time_after
from pyqbeast.tiledb.storage.stores import open_store
from pyqbeast.tiledb.write.commit import write_landed


@telling("there is no array, as before")
def create_array(
    uri: Location,
    schema: ArraySchema,
    *,
    enumerations: Mapping[str, Enumeration] | None = None,
    timestamp: int | None = None,
    encryption_key: str | bytes | None = None,
) -> None:
    """Make an array without cells, in the format version that is written.

    Let one program make an array: where two do it at once, both succeed, and the array has both schemas, of which
    readers see the newer one.

    Args:
        uri: where; a folder that is there already must hold no array.
        schema: what its cells are. It may be that of another array, of any version.
        enumerations: the enumerations that attributes refer to, by name, as in `Array.enumerations`.
        timestamp: when, in ms since 1970 (UTC); now by default.
        encryption_key: 32 bytes, for an array to be encrypted.

    Raises:
        InvalidInputError: there is an array, the storage is read-only, or the schema is one that no reader could
            open or no writer could write.
    """
    known = enumerations or {}
    array = plan_array(uri, schema, enumerations=known, timestamp=timestamp, encryption_key=encryption_key)
    written = []
    try:
        for name, file in array.schema.enumerations.items():
            path = f"{ENUMERATIONS}/{file}"
            array.store.write(path, encode_generic_tile(known[name].to_bytes(file), key=array.key))
            written.append(path)
        store_schema(array)
    except UncertainWriteError:
        raise
    except Exception:
        with contextlib.suppress(Exception):
            for path in written:
                array.store.delete(path)
        raise


def plan_array(
    uri: Location,
    schema: ArraySchema,
    *,
    enumerations: Mapping[str, Enumeration] | None = None,
    timestamp: int | None = None,
    encryption_key: str | bytes | None = None,
) -> Array:
    """The array that `create_array` would make. Nothing is written."""
    known = enumerations or {}
    check_type(schema, ArraySchema, "create_array takes an ArraySchema")
    check_type(known, Mapping, "enumerations come as a mapping by name")
    check_new_schema(schema, known)
    name = TimestampedName.new(time_after([]) if timestamp is None else timestamp).text
    files = {key: f"__{uuid.uuid4().hex}_0" for key in known}
    made = replace(schema, enumerations=files, dimensions=_with_spans(schema))
    stored = ArraySchema.parse(made.to_bytes(), name)
    array = Array(open_store(uri), EVERYTHING, key_bytes(encryption_key), stored)
    if array.folder.schemas:
        raise InvalidInputError(f"{uri}: there is an array already")
    return array


def _with_spans(schema: ArraySchema) -> tuple[Dimension, ...]:
    """The dimensions, those of floats with the span of the domain where they have no extent.

    The library stores it, at the latest when it changes the schema, and orders cells by it: were it added then, cells
    that are there already would be in another order.
    """
    if schema.cell_order is Layout.HILBERT:
        return tuple(schema.dimensions)
    return tuple(
        replace(d, extent=d.tile_span) if d.field.datatype.is_float else d for d in schema.dimensions
    )


def store_schema(array: Array) -> None:
    """Write the schema of a planned array (whose enumerations are there): from now on everybody sees it."""
    tile = encode_generic_tile(array.schema.to_bytes(), key=array.key)
    write_landed(
        array.store, f"{SCHEMAS}/{array.schema.name}", tile, "there is an array, still without cells"
    )
    # libtiledb makes the other folders itself. 2.26 and 2.27 write no metadata on disks where this one is missing.
    array.store.make_folder(METADATA)

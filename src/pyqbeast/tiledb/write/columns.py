"""The columns of cells to be written, checked against the array and not only against its schema."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.tiledb.format.column import numbers
from pyqbeast.tiledb.format.enumeration import Enumeration
from pyqbeast.tiledb.format.field import Field
from pyqbeast.tiledb.format.ingest import check_table, raw_columns
from pyqbeast.tiledb.read.array import Array


def columns_to_write(table: pa.Table, array: Array) -> dict[str, pa.Array]:
    """The raw columns of a table to be written, by name.

    Raises:
        InvalidInputError: as `raw_columns`; or a number stands for no value of its enumeration.
    """
    check_table(table)
    columns = raw_columns(table, array.schema)
    for attribute in array.schema.attributes:
        if attribute.enumeration:
            _check_enumerated(columns[attribute.name], attribute, array.enumerations[attribute.enumeration])
    return columns


def _check_enumerated(column: pa.Array, attribute: Field, enumeration: Enumeration) -> None:
    """The library writes such numbers, and fails where it is to show what they stand for."""
    given, count = numbers(column.drop_null()), len(enumeration.raw)
    # The fill value is what readers get of cells that nobody wrote, and may be written back.
    fill = np.frombuffer(attribute.fill_bytes, attribute.datatype.dtype)[0]
    wrong = ((given < 0) | (given >= count)) & (given != fill)
    if wrong.any():
        raise InvalidInputError(
            f"column {attribute.name!r} has the number {given[wrong][0]}, and its enumeration "
            f"{attribute.enumeration!r} has {count} values, numbered from 0"
        )

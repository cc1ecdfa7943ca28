"""The Spark data source `tiledb`: `spark.read.format("tiledb")` and `df.write.format("tiledb")`.

Options for reading: `timestamp` (ms since 1970, UTC: the array as it was then), `encryptionKey`; `where` and
`box` (the arguments of `Array.read` as JSON, for cells to leave out before Spark sees them).

Options for writing: `dimensions` (names joined by commas: the key of an array that is not there yet),
`duplicates` ("true", the default: several rows may have the same key), `capacity` (rows per tile),
`timestamp`, `encryptionKey`. Modes are `append` and `overwrite`; the latter deletes the cells that are there
in the same step, and reads as of an earlier time still see them.
"""

from __future__ import annotations

import json
from typing import TypeVar

import numpy as np
import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceWriter
from pyspark.sql.types import StructField, StructType

from pyqbeast.arrow_schema import arrow_schema
from pyqbeast.core.errors import InvalidInputError, TableNotFoundError, UnsupportedError
from pyqbeast.tiledb.datatypes import Datatype, datatype_of
from pyqbeast.tiledb.errors import telling
from pyqbeast.tiledb.format.build import attribute_from_arrow, dimension
from pyqbeast.tiledb.format.dimension import Dimension
from pyqbeast.tiledb.format.schema import ArraySchema
from pyqbeast.tiledb.read.array import Array
from pyqbeast.tiledb.read.opening import open_array
from pyqbeast.tiledb.spark.reader import ArrayReader
from pyqbeast.tiledb.spark.types import spark_schema
from pyqbeast.tiledb.spark.writer import ArrayWriter
from pyqbeast.tiledb.storage.names import time_after
from pyqbeast.tiledb.write.commit import refuse_old_version
from pyqbeast.tiledb.write.create import plan_array

T = TypeVar("T")

_JSON_NAMES: dict[type, str] = {dict: "object", list: "array"}

#: The most digits of a number in an option.
_MOST_DIGITS = 20


def register(spark: SparkSession) -> None:
    """Make the source known to a session."""
    spark.dataSource.register(TileDBDataSource)


class TileDBDataSource(DataSource):
    """The source as Spark sees it."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "tiledb"

    def schema(self) -> StructType:
        """The columns of the array."""
        return spark_schema(self._open().schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the columns in `schema`."""
        # The bridge sets this option for each scan that has filters, see `TileDBFilters.java`. A reader that
        # always takes filters would not do: Spark refuses it unless the session pushes filters into all Python
        # sources.
        kind = ArrayReader
        if self._flag("_takesFilters", "false"):
            # Spark 4.0 has no such filters, and sets no such option.
            from pyqbeast.tiledb.spark.filtering_reader import FilteringArrayReader

            kind = FilteringArrayReader
        return kind(self._open(), schema, self._json("where", list), self._json("box", dict))

    @telling()
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """A writer, into a new array where there is none."""
        uri, key = self._uri(), self.options.get("encryptionKey")
        stated = _number(self.options.get("timestamp"), "timestamp")
        try:
            array = open_array(uri, encryption_key=key)
        except TableNotFoundError:
            array = plan_array(uri, self._new_schema(schema), timestamp=stated, encryption_key=key)
            return ArrayWriter(array, time_after([]) if stated is None else stated, create=True)
        if array.schema.dense:
            raise InvalidInputError(f"{uri} is dense; the Spark source writes sparse arrays")
        held = [*array.folder.fragments, *array.folder.conditions]
        timestamp = time_after(held) if stated is None else stated
        if overwrite:
            refuse_old_version(array)
            # The delete has to be later than all present cells, and the new cells later than the delete.
            timestamp = max([timestamp, 1, *(name.end + 2 for name in held)])
        return ArrayWriter(array, timestamp, replace=overwrite)

    def _uri(self) -> str:
        if not self.options.get("path"):
            raise InvalidInputError("the tiledb source needs a path: load(uri) or save(uri)")
        return self.options["path"]

    def _open(self) -> Array:
        timestamp = _number(self.options.get("timestamp"), "timestamp")
        return open_array(self._uri(), timestamp, encryption_key=self.options.get("encryptionKey"))

    def _flag(self, option: str, default: str) -> bool:
        text = (self.options.get(option) or default).lower()
        if text not in ("true", "false"):
            raise InvalidInputError(f"option {option} is true or false, not {text!r}")
        return text == "true"

    def _json(self, option: str, kind: type[T]) -> T | None:
        text = self.options.get(option)
        if text is None:
            return None
        try:
            value = json.loads(text)
        # The decoder raises RecursionError for deep nesting.
        except (ValueError, RecursionError) as error:
            raise InvalidInputError(f"option {option}: {text!r} is no JSON ({error})") from error
        if not isinstance(value, kind):
            raise InvalidInputError(f"option {option}: {text!r} is no JSON {_JSON_NAMES[kind]}")
        return value

    def _new_schema(self, schema: StructType) -> ArraySchema:
        """The schema of an array for a DataFrame."""
        columns = pa.schema([_arrow_field(column) for column in schema])
        names = [name.strip() for name in (self.options.get("dimensions") or "").split(",") if name.strip()]
        if not names:
            raise InvalidInputError(
                f"{self._uri()}: no array yet; the option dimensions says what its key is"
            )
        if unknown := [name for name in names if name not in columns.names]:
            raise InvalidInputError(f"no column {unknown[0]!r} to be a dimension; there are {columns.names}")
        attributes = tuple(attribute_from_arrow(field) for field in columns if field.name not in names)
        stated = _number(self.options.get("capacity"), "capacity")
        capacity = 10_000 if stated is None else stated
        dimensions = tuple(_dimension(columns.field(name)) for name in names)
        return ArraySchema(
            dimensions, attributes, allows_duplicates=self._flag("duplicates", "true"), capacity=capacity
        )


def _arrow_field(column: StructField) -> pa.Field:
    """A column as an array can hold it."""
    try:
        field = arrow_schema(StructType([column])).field(0)
        datatype_of(field.type)
    except (UnsupportedError, PySparkTypeError) as error:
        raise UnsupportedError(
            f"column {column.name!r} of type {column.dataType.simpleString()} has no counterpart in an array; cast it"
            " to a number, a string, a date or a timestamp, or leave it out"
        ) from error
    return field


def _dimension(field: pa.Field) -> Dimension:
    """A dimension for a column, over (nearly) all that its type can say."""
    datatype, cell_val_num = datatype_of(field.type)
    if datatype is Datatype.STRING_UTF8:
        return dimension(field.name, Datatype.STRING_ASCII)
    if cell_val_num != 1 or not (datatype.is_number or datatype.unit):
        raise InvalidInputError(f"column {field.name!r} of type {field.type} cannot be a dimension")
    if datatype.is_float:
        largest = np.finfo(datatype.dtype).max.item()
        return dimension(field.name, datatype, (-largest, largest))
    whole = np.iinfo(datatype.dtype)
    return dimension(field.name, datatype, (whole.min + 1, whole.max - 1))


def _number(text: str | None, option: str) -> int | None:
    if text is None:
        return None
    if not text.strip().isdecimal() or len(text.strip()) > _MOST_DIGITS:
        raise InvalidInputError(f"option {option}: {text!r} is no whole number")
    return int(text)

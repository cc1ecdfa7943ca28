"""Reading an array as a Spark DataFrame: partitions of tiles, Arrow batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.tiledb.read.array import Array
from pyqbeast.tiledb.read.split import Part, read_part, split
from pyqbeast.tiledb.spark.types import check_types, to_spark

#: Rows per batch that Spark gets.
_BATCH_ROWS = 65_536


class TilePartition(InputPartition):
    """One part of the read; None where there is nothing to be read.

    Spark puts a partition of its own in the place of none: None in 4.0 and 4.1, and in 4.2 an `InputPartition(None)`.
    """

    def __init__(self, part: Part | None) -> None:
        super().__init__(part)
        self.part = part


class ArrayReader(DataSourceReader):
    """Plans and runs the read. The opened array travels to the workers, so that all see the same fragments.

    Args:
        array: the array.
        schema: the columns of the DataFrame: all of them, or those that the user's schema names.
        where, box: as in `Array.read`.

    Raises:
        InvalidInputError: there is no column, the array has no such column, or its values are not cast to the type
            asked for.
    """

    def __init__(
        self,
        array: Array,
        schema: StructType,
        where: Sequence[Any] | None = None,
        box: Mapping[str, Any] | None = None,
    ) -> None:
        if not schema.fields:
            # Rows are counted by the columns of a batch, so there would be none.
            raise InvalidInputError(
                f"the schema names no column: name one or more of {list(array.schema.fields)}, or give no schema"
            )
        self.array, self.schema = array, schema
        self.request = array.request(schema.fieldNames(), where, box)
        self.target = check_types(schema, array.schema)

    def partitions(self) -> Sequence[InputPartition]:
        """One partition per range of tiles, or per range of coordinates."""
        return [TilePartition(part) for part in split(self.array, self.request)] or [TilePartition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a partition."""
        assert isinstance(partition, TilePartition)
        if partition.part is not None:
            for table in read_part(self.array, self.request, partition.part):
                yield from to_spark(table, self.target).to_batches(max_chunksize=_BATCH_ROWS)

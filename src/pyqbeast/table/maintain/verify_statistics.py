"""Whether the statistics that Delta keeps of a file hold for its rows: queries leave files out because of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from pyqbeast import bridge
from pyqbeast.bridge.file_contents import file_location, file_statistics, live_rows
from pyqbeast.core.format.names import quoted_name
from pyqbeast.core.format.statistics_keys import MAX_VALUES, MIN_VALUES, NULL_COUNT, NUM_RECORDS, TIGHT_BOUNDS
from pyqbeast.core.problems import BOUNDS, Problem

#: Delta answers the least and the largest value of these from the log, so there they have to be exact.
_EXACT = (ByteType, ShortType, IntegerType, LongType, FloatType, DoubleType, DateType)
_TIMES = (TimestampType, TimestampNTZType)
_BOUNDED = (*_EXACT, *_TIMES, DecimalType, StringType)

#: Names of columns here, which a table does not have.
_ROW = "row of a data file"
_LOCATION = "location of a data file"
_STORED = "stored"


class _Leaf:
    """A column, or a field in a struct, that statistics may tell of. In SQL texts, which are quicker to build."""

    def __init__(self, number: int, path: tuple[str, ...], data_type: DataType, *, is_told: bool) -> None:
        self.path = path
        self.data_type = data_type
        self.is_bounded = is_told and isinstance(data_type, _BOUNDED) and not _is_collated(data_type)
        self.is_text = self.is_bounded and isinstance(data_type, StringType)
        self.low, self.high, self.nulls = (f"{name}{number}" for name in ("low", "high", "nulls"))

    def figures(self) -> list[str]:
        """The aggregates over the rows of a file that statistics are compared with."""
        value = _inside(_ROW, *self.path)
        bounds = [f"min({value}) AS {self.low}", f"max({value}) AS {self.high}"] if self.is_bounded else []
        return [f"count_if({value} IS NULL) AS {self.nulls}", *bounds]

    def lies(self) -> list[str]:
        """Texts of what is wrong, null where nothing is."""
        tight = f"coalesce({_STORED}.{TIGHT_BOUNDS}, true)"
        nulls, low, high = (
            _inside(_STORED, name, *self.path) for name in (NULL_COUNT, MIN_VALUES, MAX_VALUES)
        )
        # Where rows are deleted the counts are those of before. All and none stay what they are.
        loose = (
            f"{nulls} = 0 AND {self.nulls} > 0 OR {nulls} = {_STORED}.{NUM_RECORDS} AND {self.nulls} < rows"
        )
        lies = [
            _lie(f"if({tight}, {nulls} != {self.nulls}, {loose})", NULL_COUNT, self.path, nulls, self.nulls)
        ]
        if self.is_bounded:
            # The log has milliseconds.
            up_to = f"try_add({high}, INTERVAL 1 MILLISECOND)" if isinstance(self.data_type, _TIMES) else high
            exact = tight if isinstance(self.data_type, _EXACT) else "false"
            is_low_wrong = f"{low} > {self.low} OR {exact} AND {low} != {self.low}"
            is_high_wrong = f"{up_to} < {self.high} OR {exact} AND {high} != {self.high}"
            lies.append(_lie(is_low_wrong, MIN_VALUES, self.path, low, self.low))
            lies.append(_lie(is_high_wrong, MAX_VALUES, self.path, high, self.high))
        return lies


def _lie(is_wrong: str, name: str, path: Sequence[str], stored: str, seen: str) -> str:
    column = ".".join(path).replace("\\", "\\\\").replace("'", "\\'")
    in_log, in_rows = f"left({stored}, 200)", f"left({seen}, 200)"
    parts = f"'{name} of {column} is ', {in_log}, ' in its statistics and ', {in_rows}, ' in its rows'"
    return f"if({is_wrong}, concat({parts}), null)"


class FileToRead(NamedTuple):
    """A file whose rows are looked at.

    Attributes:
        path: in the log.
        location: the whole one.
        size: in bytes, as storage has it.
        rows: stored in it.
        deleted: of them, by what is in its deletion vector.
        statistics: their JSON text in the log.
    """

    path: str
    location: str
    size: int
    rows: int
    deleted: int
    statistics: str | None


def check_statistics(
    spark: SparkSession,
    log: bridge.TableLog,
    files: Sequence[FileToRead],
    columns: Collection[tuple[str, ...]],
) -> tuple[list[Problem], dict[str, int]]:
    """Compares the statistics of files with their live rows. One Spark job.

    Args:
        spark: a session that goes on after a damaged file.
        log: the version of the table.
        files: files that are there, with deletion vectors that can be read.
        columns: paths of columns, as statistics name them, whose bounds some statistics tell.

    Returns:
        where the log says otherwise; and how many rows could be read, by path.
    """
    if not files:
        return [], {}
    leaves = _leaves_of(log, columns)
    counted = _by_file(spark, log, files, leaves)
    compared = counted.join(F.broadcast(_stored(spark, files, leaves)), "location")
    lies = F.expr(f"array_compact(array({', '.join(lie for leaf in leaves for lie in leaf.lies())})) AS lies")
    found = compared.select("path", "rows", lies).collect()
    return (
        [Problem(BOUNDS, each["path"], "", lie) for each in found for lie in each["lies"]],
        {file.path: 0 for file in files} | {each["path"]: each["rows"] for each in found},
    )


def right_statistics(
    spark: SparkSession, log: bridge.TableLog, files: Sequence[FileToRead], live: Mapping[str, int]
) -> dict[str, str]:
    """What the log should say of files that can be read, by path. One Spark job.

    The arguments are as above; `live` has the rows of each file that could be read before.
    """
    if not files:
        return {}
    texts = [leaf for leaf in _leaves_of(log) if leaf.is_text]
    counted = _by_file(spark, log, files, texts, right=file_statistics(log))
    known = counted.join(F.broadcast(_listed(spark, files)), "location")
    found = known.select("path", "rows", _right(known, texts).alias("right")).collect()
    # A file of which less can be read now is left as it is: the session goes on after an error of the storage.
    return {each["path"]: each["right"] for each in found if each["rows"] == live[each["path"]]}


def _by_file(
    spark: SparkSession,
    log: bridge.TableLog,
    files: Sequence[FileToRead],
    leaves: Sequence[_Leaf],
    **others: Column,
) -> DataFrame:
    """The live `rows` of each file, the figures of these columns, and other aggregates, behind its `location`."""
    rows = live_rows(log, spark, {file.path: (file.size, file.deleted) for file in files})
    # Spark 4.0 reads no columns without a type; they hold nulls alone.
    unread = {field.name: F.lit(None) for field in log.schema if field.name not in rows.columns}
    rows = rows.withColumns(unread) if unread else rows
    # Delta's aggregate takes the names of the table, and statistics have names of their own.
    row = F.struct(*map(_as_in_statistics, log.schema, _stored_fields(log)))
    seen = rows.select("*", row.alias(_ROW), file_location(spark, F.input_file_name()).alias(_LOCATION))
    # One text for all columns: a table may have hundreds, and each expression takes several calls to the JVM.
    figures = ", ".join(["count(*) AS rows", *(text for leaf in leaves for text in leaf.figures())])
    named = (aggregate.alias(name) for name, aggregate in others.items())
    counted = bridge.grouped(seen, [_inside(_LOCATION)], F.expr(f"struct({figures}) AS seen"), *named)
    return counted.select(F.col(_inside(_LOCATION)).alias("location"), "seen.*", *others)


def _stored_fields(log: bridge.TableLog) -> list[StructField]:
    """The columns of the table as statistics name them."""
    return [bridge.field_in_statistics(field) for field in log.schema]


def _leaves_of(log: bridge.TableLog, columns: Collection[tuple[str, ...]] | None = None) -> list[_Leaf]:
    """All columns and fields; `columns` are those with bounds, `None` stands for all that may have some."""
    return [
        _Leaf(number, path, kind, is_told=columns is None or path in columns)
        for number, (path, kind) in enumerate(_leaves(StructType(_stored_fields(log))))
    ]


def _as_in_statistics(field: StructField, stored: StructField) -> Column:
    """A column of the table under the name that statistics have for it, and so the fields of structs in it."""
    if field.dataType == stored.dataType:
        return F.expr(f"{_inside(field.name)} AS {_inside(stored.name)}")
    return F.col(_inside(field.name)).cast(stored.dataType).alias(stored.name)


def _right(counted: DataFrame, texts: Sequence[_Leaf]) -> Column:
    """The right statistics, as a text. Delta wants those of a file with deleted rows to count them too.

    A text that is no UTF-8 has no bound: JSON would hold another text. Moments are told in UTC, as by a write: offsets
    lack their seconds.
    """
    right, held = F.col("right"), counted.schema["right"].dataType
    for leaf in texts:
        for part, seen in ((MIN_VALUES, leaf.low), (MAX_VALUES, leaf.high)):
            if _holds(held, part, *leaf.path):
                bound = f"if(is_valid_utf8({seen}), {_inside('right', part, *leaf.path)}, null)"
                right = right.withField(_inside(part, *leaf.path), F.expr(bound))
    loose = right.withField(NUM_RECORDS, F.col("stored_rows")).withField(TIGHT_BOUNDS, F.lit(False))
    of_all, of_live = (F.to_json(each, {"timeZone": "UTC"}) for each in (loose, right))
    return F.when(F.col("deleted") > 0, of_all).otherwise(of_live)


def _holds(data_type: DataType, *path: str) -> bool:
    """Whether a struct has a field, by its path."""
    for name in path:
        if not isinstance(data_type, StructType) or name not in data_type.names:
            return False
        data_type = data_type[name].dataType
    return True


def _listed(spark: SparkSession, files: Sequence[FileToRead]) -> DataFrame:
    schema = StructType().add("path", "string").add("location", "string").add("size", "long")
    schema = schema.add("stored_rows", "long").add("deleted", "long").add("statistics", "string")
    return bridge.local_frame(spark, schema, [list(column) for column in zip(*files, strict=True)])


def _stored(spark: SparkSession, files: Sequence[FileToRead], leaves: Sequence[_Leaf]) -> DataFrame:
    """What the log has of files, its statistics as a struct."""
    bounds = _nested({leaf.path: leaf.data_type for leaf in leaves if leaf.is_bounded})
    parts = {
        NUM_RECORDS: LongType(),
        TIGHT_BOUNDS: BooleanType(),
        MIN_VALUES: bounds,
        MAX_VALUES: bounds,
        NULL_COUNT: _nested({leaf.path: LongType() for leaf in leaves}),
    }
    read = F.from_json("statistics", _nested({(k,): v for k, v in parts.items()}))
    return _listed(spark, files).withColumn(_STORED, read)


def _nested(fields: Mapping[tuple[str, ...], DataType]) -> StructType:
    below: dict[str, dict[tuple[str, ...], DataType]] = {}
    for (name, *rest), data_type in fields.items():
        below.setdefault(name, {})[tuple(rest)] = data_type
    return StructType(
        [StructField(name, inner[()] if () in inner else _nested(inner)) for name, inner in below.items()]
    )


def _leaves(schema: StructType) -> Iterator[tuple[tuple[str, ...], DataType]]:
    for field in schema:
        if isinstance(field.dataType, StructType):
            yield from (((field.name, *path), kind) for path, kind in _leaves(field.dataType))
        else:
            yield (field.name,), field.dataType


def _is_collated(data_type: DataType) -> bool:
    return isinstance(data_type, StringType) and data_type.collation != "UTF8_BINARY"


def _inside(*path: str) -> str:
    """A column by its exact name, or a field in a struct."""
    return ".".join(map(quoted_name, path))

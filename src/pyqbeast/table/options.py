"""What a write was asked for: the options of `df.write.format("qbeast")`, and the settings of the session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import SparkSession

from pyqbeast.core.errors import InvalidInputError

#: Options that are the index's own; all others go to Delta.
_OWN = ("columnstoindex", "cubesize", "columnstats", "tableformat", "path", "weightcolumns")
_CUBE_SIZE_SETTING = "spark.qbeast.index.defaultCubeSize"
_RETRIES_SETTING = "spark.qbeast.index.numberOfRetries"


@dataclass(frozen=True)
class WriteOptions:
    """Options of one write. All but the path and those of Delta are None where not given."""

    path: str
    columns_to_index: str | None
    cube_size: int | None
    column_stats: str | None
    weight_columns: str | None
    delta: dict[str, str]

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> WriteOptions:
        """From options as Spark hands them over; names in any case.

        Raises:
            InvalidInputError: no path, a cube size that is no number of rows, a table format other than Delta.
        """
        own = {key.lower(): value for key, value in options.items() if key.lower() in _OWN}
        if "path" not in own:
            raise InvalidInputError('no path: write with df.write.format("qbeast").save(path)')
        if own.get("tableformat", "delta").lower() != "delta":
            raise InvalidInputError(f"tableFormat has to be delta, not {own['tableformat']!r}")
        return cls(
            path=own["path"],
            columns_to_index=own.get("columnstoindex") or None,
            cube_size=_cube_size(own.get("cubesize"), "option cubeSize"),
            column_stats=own.get("columnstats") or None,
            weight_columns=own.get("weightcolumns") or None,
            delta={key: value for key, value in options.items() if key.lower() not in _OWN},
        )

    def delta_option(self, name: str) -> str | None:
        """An option of Delta's, whatever case its name was written in."""
        return next((value for key, value in self.delta.items() if key.lower() == name.lower()), None)

    @property
    def replaces_part(self) -> bool:
        """Whether an overwrite replaces only the rows that meet a condition."""
        return self.delta_option("replaceWhere") is not None

    @property
    def changes_schema(self) -> bool:
        """Whether the write may change the table's schema."""
        names = ("mergeSchema", "overwriteSchema")
        return any((self.delta_option(name) or "").lower() == "true" for name in names)


def default_cube_size(spark: SparkSession) -> int:
    """Rows a cube of a new table for which the user states none."""
    size = _cube_size(_setting(spark, _CUBE_SIZE_SETTING), f"setting {_CUBE_SIZE_SETTING}")
    return 5_000_000 if size is None else size


def number_of_retries(spark: SparkSession) -> int:
    """How often a write lays its rows out again after another writer has changed the revisions."""
    text = _setting(spark, _RETRIES_SETTING) or "2"
    if not text.isdigit():
        raise InvalidInputError(f"setting {_RETRIES_SETTING} has to be a whole number, not {text!r}")
    return int(text)


def _setting(spark: SparkSession, name: str) -> str | None:
    return spark.conf.get(name, None)


def _cube_size(text: str | None, where: str) -> int | None:
    if text is None:
        return None
    try:
        size = int(text)
    except ValueError:
        size = 0
    if not 1 <= size < 2**31:
        raise InvalidInputError(f"{where} has to be a number of rows from 1 to {2**31 - 1}, not {text!r}")
    return size

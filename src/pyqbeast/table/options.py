"""The options of a write, `df.write.format("qbeast").option(…)`, and the session's settings for it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from pyspark.sql import SparkSession

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.format.constants import (
    INDEX_OPTION_PREFIX,
    INDEX_OPTIONS,
    INT_MAX,
    READS_TABLE,
    REPLACES_TABLE,
    SAMPLE_FRACTIONS,
    TABLE_PROPERTY,
)
from pyqbeast.core.otree.weight_bands import DEFAULT_FRACTIONS, fractions_of
from pyqbeast.core.revisions.evolution import checked_cube_size

#: Rows in a Parquet page, a third of Parquet's default. A box query skips pages by their bounds, and a scan
#: pays for each page: a tenth of its CPU time with 5,000 rows, a twenty-fifth with 7,000.
#: `python -m benchmarks.suite --only boxes scan` shows both.
PAGE_ROWS = 7_000
#: Options that pyqbeast reads itself. All others go to Delta.
_INDEX = frozenset(INDEX_OPTIONS.split())
_OWN = _INDEX | {"tableformat", "path"}
#: How those of the index are spelled where they are told of.
_SPELLED = {
    name.lower(): name
    for name in ("columnsToIndex", "cubeSize", "columnStats", "weightColumns", "sampleFractions")
}
#: What a revision calls its cube size.
_MISTAKEN = {"desiredcubesize": "cubeSize"}
#: From this likeness on, of at most 1, another name is a misspelt one. None of Delta's and Spark's own comes near.
_ALIKE = 0.85
#: The table property that lets deletes mark rows instead of writing files again.
VECTORS_PROPERTY = "delta.enableDeletionVectors"
#: Properties that let readers of other formats read a table. Delta refuses deletion vectors beside them.
_FOR_OTHER_READERS = (
    *(f"delta.enableIcebergCompatV{version}" for version in (1, 2, 3)),
    "delta.universalFormat.enabledFormats",
    "delta.compatibility.symlinkFormatManifest.enabled",
)
#: Properties that state the versions of a table's protocol, and from which on these allow deletion vectors.
_VERSIONS_WITH_VECTORS = {"delta.minReaderVersion": 3, "delta.minWriterVersion": 7}
#: Beginning of the session's defaults for Delta's properties of new tables.
_DEFAULTS = "spark.databricks.delta.properties.defaults."
_CUBE_SIZE_SETTING = "spark.qbeast.index.defaultCubeSize"
_RETRIES_SETTING = "spark.qbeast.index.numberOfRetries"
_AUTO_SETTING = "spark.qbeast.index.columnsToIndex.auto"
_AUTO_MAX_SETTING = "spark.qbeast.index.columnsToIndex.auto.max"
_FILE_ROWS_SETTING = "spark.sql.files.maxRecordsPerFile"
_FILE_ROWS = "maxrecordsperfile"
#: Beginnings of options whose names keep their case: those that become properties of a new table, and Hadoop's.
_CASED = ("delta.", TABLE_PROPERTY, "fs.", "dfs.")
#: Beginning of the options that name pre-commit hooks, in lower case.
HOOK_OPTION = "qbeastprecommithook."


@dataclass(frozen=True)
class WriteOptions:
    """Options of one write. Those of its own but the path are None if not given.

    `delta` holds Delta's own options by their names in lower case, so that none stands in it twice, and the
    properties of a new table. `hooks` holds the options that name pre-commit hooks.
    """

    path: str
    columns_to_index: str | None
    cube_size: int | None
    column_stats: str | None
    weight_columns: str | None
    sample_fractions: str | None
    delta: dict[str, str]
    hooks: dict[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> WriteOptions:
        """From options as Spark hands them over; names in any case.

        Raises:
            InvalidInputError: no path, a cube size that is no number of rows, a table format other than Delta, an
                option that looks like a misspelt one of ours.
        """
        own = _own_options(options)
        others = {key: value for key, value in options.items() if _own_name(key) is None}
        _check_spelling(others)
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
            sample_fractions=own.get("samplefractions", options.get(TABLE_PROPERTY + SAMPLE_FRACTIONS)),
            delta={_named(key): value for key, value in others.items() if not _is_hook(key)},
            hooks={key: value for key, value in others.items() if _is_hook(key)},
        )

    def in_table(self, configuration: Mapping[str, str]) -> WriteOptions:
        """The options of a write to a table: where they state no cube size, the table's properties may.

        Raises:
            InvalidInputError: the property is no number of rows.
        """
        stated = _own_options(configuration).get("cubesize") if self.cube_size is None else None
        return replace(self, cube_size=self.cube_size or _cube_size(stated, "table property cubeSize"))

    def restated_size(self, configuration: Mapping[str, str]) -> dict[str, str]:
        """The table's properties that state a cube size, with the one that this write states, where it is another.

        The next write without the option goes by them. It would go back to the old size, and begin a revision for it.
        """
        stored = (key for key in configuration if _own_name(key) == "cubesize")
        stated = str(self.cube_size or "")
        return {key: stated for key in stored if stated and configuration[key] != stated}

    def with_file_rows(self, spark: SparkSession, cube_size: int) -> dict[str, str]:
        """Delta's options, with the most rows of a file, as estimates of these can be too low.

        They are at most twice the cube size; fewer where Spark's own option or, without it, Spark's setting says so.
        """
        text = self.delta.get(_FILE_ROWS) or _setting(spark, _FILE_ROWS_SETTING) or "0"
        try:
            limit = max(0, int(text)) or INT_MAX
        except ValueError:
            raise InvalidInputError(
                f"maxRecordsPerFile has to be a whole number of rows, not {text!r}"
            ) from None
        return {**self.delta, _FILE_ROWS: str(min(2 * cube_size, limit, INT_MAX))}

    def new_table_properties(self, spark: SparkSession) -> dict[str, str]:
        """Properties that a new table gets beside the user's.

        They are the fractions that the user samples by, and deletion vectors unless the user says no or asks for a
        table that has none: without vectors a DELETE writes the touched files again, and they lose their place in the
        index.
        """
        fractions = {} if self.sample_fractions is None else {SAMPLE_FRACTIONS: self.sample_fractions}
        others = (self._property(spark, name) or "" for name in _FOR_OTHER_READERS)
        versions = ((self._property(spark, name), least) for name, least in _VERSIONS_WITH_VECTORS.items())
        left_out = (
            self._property(spark, VECTORS_PROPERTY) is not None
            or any(value.strip().lower() not in ("", "false") for value in others)
            or any(stated and stated.isdecimal() and int(stated) < least for stated, least in versions)
        )
        return fractions if left_out else {**fractions, VECTORS_PROPERTY: "true"}

    def _property(self, spark: SparkSession, name: str) -> str | None:
        """What a new table has for a property of Delta's: what the user says in any case, or the session's default."""
        said = (value for key, value in self.delta.items() if key.lower() == name.lower())
        return next(said, _setting(spark, _DEFAULTS + name.removeprefix("delta.")))

    def fractions(self, configuration: Mapping[str, str]) -> tuple[float, ...]:
        """The fractions that rows are cut at: the write's own, those of the table's `configuration`, or the default.

        Raises:
            InvalidInputError: they are no fractions.
        """
        if self.sample_fractions is None:
            return stated_fractions(configuration)
        return fractions_of(self.sample_fractions, "sampleFractions")

    @property
    def replaces_part(self) -> bool:
        """Whether an overwrite replaces only the rows that meet a condition, or match new ones."""
        return self.replaces_matches or "replacewhere" in self.delta

    @property
    def replaces_matches(self) -> bool:
        """Whether an overwrite replaces the rows that match new ones."""
        return any(name in self.delta for name in ("replaceon", "replaceusing"))

    @property
    def overwrites_schema(self) -> bool:
        """Whether an overwrite gives the table the columns of the rows."""
        return self.delta.get("overwriteschema", "").lower() == "true"

    @property
    def replaces_table(self) -> bool:
        """Whether an overwrite makes another table of the same name."""
        return REPLACES_TABLE in self.delta

    @property
    def holds_rows_read(self) -> bool:
        """Whether the rows were worked out from rows of the table, and cannot be worked out again."""
        return READS_TABLE in self.delta

    @property
    def changes_schema(self) -> bool:
        """Whether the write may change the table's schema."""
        return self.overwrites_schema or self.delta.get("mergeschema", "").lower() == "true"


def stated_fractions(configuration: Mapping[str, str]) -> tuple[float, ...]:
    """The fractions that rows of a table are cut at.

    Raises:
        InvalidInputError: the table's property for it holds no fractions.
    """
    text = configuration.get(SAMPLE_FRACTIONS)
    return DEFAULT_FRACTIONS if text is None else fractions_of(text, f"the table property {SAMPLE_FRACTIONS}")


def _check_spelling(others: Iterable[str]) -> None:
    """Delta ignores options that it does not know, and so a misspelt one of ours would go unheard."""
    known = _SPELLED | _MISTAKEN
    for option in others:
        name = option.lower().removeprefix(TABLE_PROPERTY).removeprefix(INDEX_OPTION_PREFIX)
        meant = get_close_matches(name.replace("_", "").replace("-", ""), known, n=1, cutoff=_ALIKE)
        if meant:
            raise InvalidInputError(f"there is no option {option!r}; did you mean {known[meant[0]]!r}?")


def _own_name(option: str) -> str | None:
    """What an option that pyqbeast reads itself is called in lower case and without its prefix; None for any other."""
    name = option.lower()
    plain = name.removeprefix(INDEX_OPTION_PREFIX)
    return plain if plain in _INDEX else name if name in _OWN else None


def _own_options(options: Mapping[str, str]) -> dict[str, str]:
    """The options that pyqbeast reads itself.

    One without prefix comes before the same one with it, and one as we spell it before the same one in another case.
    """
    ascending = sorted(options, key=lambda key: (-len(key), key in _SPELLED.values(), key))
    return {name: options[key] for key in ascending if (name := _own_name(key)) is not None}


def _named(option: str) -> str:
    return option if option.lower().startswith(_CASED) else option.lower()


def _is_hook(option: str) -> bool:
    return option.lower().startswith(HOOK_OPTION)


def default_cube_size(spark: SparkSession) -> int:
    """Rows a cube of a new table for which the user states none."""
    size = _cube_size(_setting(spark, _CUBE_SIZE_SETTING), f"setting {_CUBE_SIZE_SETTING}")
    return 5_000_000 if size is None else size


def number_of_retries(spark: SparkSession) -> int:
    """How often a write lays its rows out again after another writer has changed the revisions."""
    text = _setting(spark, _RETRIES_SETTING) or "2"
    if not text.isdecimal():
        raise InvalidInputError(f"setting {_RETRIES_SETTING} has to be a whole number, not {text!r}")
    return int(text)


def most_chosen_columns(spark: SparkSession) -> int | None:
    """How many columns at the most are chosen for a new table whose user names none; None: the user has to."""
    text = _setting(spark, _AUTO_SETTING) or "false"
    if text.lower() not in ("true", "false"):
        raise InvalidInputError(f"setting {_AUTO_SETTING} has to be true or false, not {text!r}")
    most = _setting(spark, _AUTO_MAX_SETTING) or "3"
    if not most.isdecimal() or int(most) < 1:
        raise InvalidInputError(f"setting {_AUTO_MAX_SETTING} has to be a number from 1, not {most!r}")
    return int(most) if text.lower() == "true" else None


def _setting(spark: SparkSession, name: str) -> str | None:
    return spark.conf.get(name, None)


def _cube_size(text: str | None, where: str) -> int | None:
    if text is None:
        return None
    size: object = text
    with contextlib.suppress(ValueError):
        size = int(text)
    return checked_cube_size(size, where)

"""What the options of a write say of its columns: which are indexed and how, and which are hashed beside them."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from pyqbeast import bridge
from pyqbeast.bridge.frames import is_case_sensitive
from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.format.names import column_named, did_you_mean
from pyqbeast.core.format.types import format_type, unhashed_type
from pyqbeast.core.revisions.evolution import updated_transformers
from pyqbeast.core.revisions.revision import Revision
from pyqbeast.core.transform.base import ColumnStatistics, Transformer
from pyqbeast.core.transform.column_spec import ColumnSpec, parse_column_spec
from pyqbeast.core.transform.column_stats import parse_column_stats
from pyqbeast.table.options import WriteOptions

_log = logging.getLogger(__name__)


def specs_of(spark: SparkSession, text: str, types: Mapping[str, str]) -> list[ColumnSpec]:
    """The columns of the option `columnsToIndex`. Raises InvalidInputError for a text that is none."""
    return parse_column_spec(text, list(types), case_sensitive=is_case_sensitive(spark))


def transformers_of(
    specs: Sequence[ColumnSpec], types: Mapping[str, str], current: Revision | None
) -> tuple[Transformer, ...]:
    """The transformers of indexed columns; those of the current revision where they can go on.

    Raises:
        InvalidInputError: a column that the rows do not have.
    """
    for spec in specs:
        if spec.name not in types:
            raise InvalidInputError(
                f"column {spec.name!r} is to be indexed and the rows have only {list(types)}"
                f"{did_you_mean(spec.name, types)}"
            )
    return updated_transformers(
        current, specs, {spec.name: format_type(spec.name, types[spec.name]) for spec in specs}
    )


def stated_statistics(
    spark: SparkSession, options: WriteOptions, transformers: tuple[Transformer, ...]
) -> Mapping[str, ColumnStatistics]:
    """What the option `columnStats` states, by column. Logs a warning of keys that no column takes.

    Raises:
        InvalidInputError: a text that says something else.
    """
    if options.column_stats is None:
        return {}
    zone = spark.conf.get("spark.sql.session.timeZone") or "UTC"
    stated = parse_column_stats(
        options.column_stats,
        transformers,
        zone=zone,
        midnight=partial(bridge.midnight_of, spark),
        case_sensitive=is_case_sensitive(spark),
    )
    if stated.unused:
        _log.warning(
            "%s: columnStats has %s, which no indexed column takes, so it has no effect; keys that have one: %s",
            options.path,
            ", ".join(map(repr, stated.unused)),
            ", ".join(each.column + ending for each in transformers for ending in each.statistics) or "none",
        )
    return stated.columns


def stated_weight_columns(
    spark: SparkSession,
    options: WriteOptions,
    schema: StructType,
    specs: Sequence[ColumnSpec],
    previous: tuple[str, ...],
) -> tuple[str, ...]:
    """The columns of the option `weightColumns`, or those that the table has.

    Raises:
        InvalidInputError: a column that is not there, comes twice, is indexed anyway or cannot be hashed.
    """
    if options.weight_columns is None:
        stated, case_sensitive = list(previous), False
    else:
        stated, case_sensitive = options.weight_columns.split(","), is_case_sensitive(spark)
    whose = "weightColumns" if options.weight_columns else "weightColumns, which the table has had so far,"
    indexed = {spec.name for spec in specs}
    names: list[str] = []
    for each in stated:
        name = column_named(each.strip(), schema.names, case_sensitive=case_sensitive)
        if name is None:
            raise InvalidInputError(
                f"{whose} names {each.strip()!r} and the rows have only {schema.names}; name others, or "
                f"columnsToIndex alone for none{did_you_mean(each.strip(), schema.names)}"
            )
        if name in indexed or name in names:
            raise InvalidInputError(f"weightColumns names {name!r}, which is hashed already; leave it out")
        unhashed = unhashed_type(schema[name].dataType.jsonValue())
        if unhashed:
            raise InvalidInputError(
                f"{whose} names {name!r}, and a {unhashed} cannot be hashed; name others, or columnsToIndex alone "
                "for none"
            )
        names.append(name)
    return tuple(names)


def no_columns(types: Mapping[str, str]) -> InvalidInputError:
    """The error of a new table for which no columns are named."""
    example = ",".join(list(types)[:2])
    return InvalidInputError(
        f'a new table needs the option columnsToIndex, for example .option("columnsToIndex", "{example}")'
    )

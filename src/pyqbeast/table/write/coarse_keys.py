"""Keys that hold many rows. Rows with the same hashed values have the same weight and are always sampled together."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence

import numpy as np
from pyspark.sql import SparkSession

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.format.names import column_named, did_you_mean
from pyqbeast.core.revisions.revision import Revision
from pyqbeast.core.transform.column_spec import ColumnSpec
from pyqbeast.table.options import WriteOptions, is_case_sensitive
from pyqbeast.table.write.profile import Profile

_log = logging.getLogger(__name__)

#: A write logs a warning if one key holds more than this share of its rows.
COARSE = 0.001
#: Types that Spark cannot hash, at any depth of a column's type.
_UNHASHED = re.compile(r"(?:^|[<:,])(map(?=<)|variant(?=$|[>,]))")
#: A write of fewer rows than this logs no warning, as nobody samples so few.
_FEWEST_ROWS = 1_000


def stated_weight_columns(
    spark: SparkSession,
    options: WriteOptions,
    types: Mapping[str, str],
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
    indexed = {spec.name for spec in specs}
    names: list[str] = []
    for each in stated:
        name = column_named(each.strip(), types, case_sensitive=case_sensitive)
        if name is None:
            whose = (
                "weightColumns"
                if options.weight_columns
                else "weightColumns, which the table has had so far,"
            )
            raise InvalidInputError(
                f"{whose} names {each.strip()!r} and the rows have only {list(types)}; name others, or columnsToIndex "
                f"alone for none{did_you_mean(each.strip(), types)}"
            )
        if name in indexed or name in names:
            raise InvalidInputError(f"weightColumns names {name!r}, which is hashed already; leave it out")
        unhashed = _UNHASHED.search(types[name])
        if unhashed:
            raise InvalidInputError(f"weightColumns names {name!r}, and a {unhashed[1]} cannot be hashed")
        names.append(name)
    return tuple(names)


def warn_of_coarse_keys(profiled: Profile, revision: Revision, path: str) -> None:
    """Logs one line if a key holds so many rows that samples are too coarse."""
    if profiled.rows < _FEWEST_ROWS:
        return
    keys, rows = np.unique(profiled.weights, return_counts=True)
    # A key with one sampled row may have only this row, so the first row of a key does not count.
    share = (int(rows.max()) - 1) / len(profiled.weights)
    if share > COARSE:
        _log.warning(
            "%s: rows with equal values of %s are sampled together, and one such key holds %.2g of the rows "
            "(%d keys in %d rows looked at). Samples of a smaller share are left to Spark, which reads everything. "
            "The option weightColumns names further columns to tell rows apart",
            path,
            ", ".join(revision.hashed_columns),
            share,
            len(keys),
            len(profiled.weights),
        )

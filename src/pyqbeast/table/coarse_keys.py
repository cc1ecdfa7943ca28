"""Keys that hold many rows: rows with the same hashed values share a weight, and no sample tells them apart."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import numpy as np

from pyqbeast.core.column_spec import ColumnSpec
from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.revision import Revision
from pyqbeast.table.options import WriteOptions
from pyqbeast.table.survey import Survey

_log = logging.getLogger(__name__)

#: A write is worth a warning where one key holds more than this share of its rows.
COARSE = 0.001
#: In fewer rows than this nobody takes a sample.
_FEWEST_ROWS = 1_000


def stated_weight_columns(
    asked: WriteOptions, types: Mapping[str, str], specs: Sequence[ColumnSpec], kept: tuple[str, ...]
) -> tuple[str, ...]:
    """The columns of the option `weightColumns`, or those that the table has.

    Raises:
        InvalidInputError: a column that is not there, comes twice, is indexed anyway or cannot be hashed.
    """
    if asked.weight_columns is None:
        return kept
    names = tuple(name.strip() for name in asked.weight_columns.split(","))
    indexed = {spec.name for spec in specs}
    for name in names:
        if name not in types:
            raise InvalidInputError(f"weightColumns names {name!r} and the rows have only {list(types)}")
        if name in indexed or names.count(name) > 1:
            raise InvalidInputError(f"weightColumns names {name!r}, which is hashed already; leave it out")
        if "map<" in types[name]:
            raise InvalidInputError(f"weightColumns names {name!r}, and a map cannot be hashed")
    return names


def warn_of_coarse_keys(found: Survey, revision: Revision, path: str) -> None:
    """One log line where a key holds a share of the rows that samples feel."""
    if found.rows < _FEWEST_ROWS:
        return
    keys, rows = np.unique(found.weights, return_counts=True)
    # A key that a sample of rows meets once says nothing of its size.
    share = (int(rows.max()) - 1) / len(found.weights)
    if share > COARSE:
        _log.warning(
            "%s: rows with equal values of %s are sampled together, and one such key holds %.2g of the rows "
            "(%d keys in %d rows looked at). Samples of a smaller share are left to Spark, which reads everything. "
            "The option weightColumns names further columns to tell rows apart",
            path,
            ", ".join(revision.hashed_columns),
            share,
            len(keys),
            len(found.weights),
        )

"""Keys that hold many rows. Rows with the same hashed values have the same weight and are always sampled together."""

from __future__ import annotations

import logging

import numpy as np

from pyqbeast.core.revisions.revision import Revision
from pyqbeast.table.write.profile import Profile

_log = logging.getLogger(__name__)

#: A write logs a warning if one key holds more than this share of its rows.
COARSE = 0.001
#: A write of fewer rows than this logs no warning, as nobody samples so few.
_FEWEST_ROWS = 1_000


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

"""The rows of a batch between two weights, for which a condition holds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.format.constants import WEIGHT_MAX, WEIGHT_MIN
from pyqbeast.scanning.arrays import mask_array
from pyqbeast.scanning.conditions.expression_text import quoted
from pyqbeast.scanning.conditions.predicate import Predicate
from pyqbeast.scanning.row_weights import row_weights


def rows_that_meet(batch: pa.RecordBatch, predicate: Predicate | None) -> pa.RecordBatch:
    """The rows of a batch for which a condition is true. Raises InvalidInputError where it cannot be computed."""
    if predicate is None:
        return batch
    try:
        table = pa.Table.from_batches([batch]).filter(predicate.rows).combine_chunks()
    except pa.ArrowInvalid as error:
        raise InvalidInputError(f"the condition {quoted(predicate.rows)} fails on a row: {error}") from error
    return next(iter(table.to_batches()), batch.slice(0, 0))


def weighed_rows(
    batch: pa.RecordBatch, hashed: Sequence[str], start: int, stop: int, predicate: Predicate | None
) -> tuple[pa.RecordBatch, NDArray[np.int32]]:
    """The rows with start <= weight < stop for which a condition is true, and their weights.

    Args:
        batch: rows, with all columns that are needed.
        hashed: the columns that make weights.
        start: a weight.
        stop: a weight, or WEIGHT_END.
        predicate: the condition.
    """
    chosen = rows_that_meet(batch, predicate)
    weights = row_weights([chosen.column(name) for name in hashed])
    if start <= WEIGHT_MIN and stop > WEIGHT_MAX:
        return chosen, weights
    # A comparison with an integer beyond 32 bits widens the weights.
    mask = (weights >= start) & (weights < stop)
    return chosen.filter(mask_array(mask)), weights[mask]

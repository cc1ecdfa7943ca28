"""Dates where the cubes of a table have them: they count as midnights of whoever wrote them."""

from __future__ import annotations

from collections.abc import Callable

from pyqbeast.core.format.types import DATE, MILLISECONDS_PER_DAY, Value
from pyqbeast.core.transform.base import Transformation, Transformer

#: How much later than in UTC a day begins at the most: in Hawaii by 10 hours. In New Zealand it begins 13 hours before.
_LATEST = 10 * 3_600_000


def coordinate_of(transformer: Transformer, transformation: Transformation) -> Callable[[Value], float]:
    """The coordinate of a column's values, of which dates are midnights in UTC.

    No log tells the zone in which a table was written. The borders that a transformation keeps of dates are midnights
    of it; where its clocks change, some dates lie an hour beside their place.
    """
    borders = transformation.borders() if transformer.data_type == DATE else ()
    if not borders:
        return transformation.coordinate
    since_midnight = int(borders[-1]) % MILLISECONDS_PER_DAY
    later = since_midnight if since_midnight <= _LATEST else since_midnight - MILLISECONDS_PER_DAY

    def coordinate(value: Value) -> float:
        return transformation.coordinate(value + later if isinstance(value, int) else value)

    return coordinate

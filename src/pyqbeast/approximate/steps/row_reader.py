"""What reads the rows of a query for an estimate, on Spark or without it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pyqbeast.approximate.estimate.aggregate import Aggregate
from pyqbeast.approximate.estimate.budget import FileCosts, Step
from pyqbeast.approximate.estimate.combination import Requested
from pyqbeast.approximate.estimate.estimates import KnownBounds
from pyqbeast.approximate.estimate.group_spans import GroupSpans
from pyqbeast.approximate.estimate.rounding import NumberLimits
from pyqbeast.approximate.estimate.state import FloatArray, Group, State, StateAxes
from pyqbeast.core.sampling.weight_scale import WeightScale


class RowReader(Protocol):
    """What reads the rows of a query, and knows what can be told of them without reading."""

    @property
    def requested(self) -> Sequence[Requested]:
        """What the query aggregates."""

    @property
    def limits(self) -> NumberLimits:
        """Up to where doubles, and the types of the aggregates, hold the exact answers."""

    @property
    def files(self) -> FileCosts:
        """The bytes and weights of the files that the query reads."""

    @property
    def row_count(self) -> int:
        """The rows of these files, deleted ones included, as far as the log tells."""

    @property
    def other_bytes(self) -> int:
        """Bytes that every step reads besides, of joined tables."""

    @property
    def scale(self) -> WeightScale:
        """Which weights the table's rows have."""

    @property
    def known(self) -> KnownBounds:
        """What the log tells of the rows."""

    @property
    def group_spans(self) -> GroupSpans:
        """Which groups each of the files can hold."""

    @property
    def group_names(self) -> Sequence[str]:
        """What the columns of the groups are called; none for a query without groups."""

    def read(self, step: Step, axes: StateAxes) -> State:
        """The sums of the rows of a step.

        The first step also fixes the thresholds of percentiles, and the centres of columns that are squared.
        """

    def grid(self, aggregate: Aggregate, groups: Sequence[Group]) -> FloatArray | None:
        """The thresholds [group, threshold] of a percentile; None for other aggregates."""

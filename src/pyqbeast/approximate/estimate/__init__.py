"""Estimates with bounds from a progressive sample: the arithmetic, without Spark.

Lives here: what is asked for and kept of each step (`aggregate`, `combination`, `state`, `centre`), how the bounds
follow from it (`quantiles`, `interval`, `formulas`, `part_sums`, `percentile`, `estimates`), when to stop and what to
read next (`stopping`, `budget`), what the log tells without reading (`value_spans`, `group_spans`), which groups a
sample may have missed (`groups`), how the numbers of an answer are written (`rounding`), what it may cost and is worth
(`limit`, `choice`, `outcome`).
`pyqbeast.approximate.steps` reads rows by it until the bounds are narrow enough, and `pyqbeast.approximate.selection`
says which groups belong to an answer.
"""

from pyqbeast.approximate.estimate.aggregate import Aggregate
from pyqbeast.approximate.estimate.budget import FileCosts, Step
from pyqbeast.approximate.estimate.centre import about_centres, centre_near, squared_columns
from pyqbeast.approximate.estimate.combination import Combination, Operation, Part, Requested, Term, axes_for
from pyqbeast.approximate.estimate.estimates import Estimates, KnownBounds, Status, estimate
from pyqbeast.approximate.estimate.group_spans import GroupSpans
from pyqbeast.approximate.estimate.groups import Completeness
from pyqbeast.approximate.estimate.percentile import grid_from, grid_of_groups, grid_probabilities
from pyqbeast.approximate.estimate.state import Moment, State, StateAxes
from pyqbeast.approximate.estimate.stopping import Goal
from pyqbeast.approximate.estimate.value_spans import GroupKind, value_span

__all__ = [
    "Aggregate",
    "Combination",
    "Completeness",
    "Estimates",
    "FileCosts",
    "Goal",
    "GroupKind",
    "GroupSpans",
    "KnownBounds",
    "Moment",
    "Operation",
    "Part",
    "Requested",
    "State",
    "StateAxes",
    "Status",
    "Step",
    "Term",
    "about_centres",
    "axes_for",
    "centre_near",
    "estimate",
    "grid_from",
    "grid_of_groups",
    "grid_probabilities",
    "squared_columns",
    "value_span",
]

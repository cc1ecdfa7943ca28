"""Estimates with bounds from a progressive sample: the arithmetic, without Spark.

Lives here: what is asked for and kept of each step (`request`, `state`, `centre`), how the bounds follow from
it (`student`, `interval`, `formulas`, `percentile`, `aggregates`), when to stop and what to read next
(`stopping`, `budget`, `scale`), and which groups a sample may have missed (`groups`).
May import: numpy, the standard library and `pyqbeast.core.errors`. Imported by the rest of `pyqbeast.approximate`.

The loop of a caller, who owns the reading:

1. `axes = axes_for(aggregates)` names the partial aggregates (`axes.moments`, `axes.columns`).
2. `step = next_step(files, wanted=...)`, for a first step of about `pilot_keys(aggregates)` distinct keys,
   names the weights to read.
3. Aggregate the rows with `step.start <= weight < step.stop` by (group, bucket) and
   `state = merge(state, State.from_rows(axes, ...))`.
4. `estimates = [estimate(state, a, step.fraction, ...) for a in aggregates]`.
5. Stop where `all_met(estimates, goal)`, else `next_step(files, wanted_fraction(estimates, goal, ...), ...)`.
"""

from pyqbeast.approximate.estimate.aggregates import Estimates, KnownBounds, Status, estimate
from pyqbeast.approximate.estimate.budget import Files, Step, next_step
from pyqbeast.approximate.estimate.centre import pilot_centres, recentre
from pyqbeast.approximate.estimate.groups import Completeness, completeness
from pyqbeast.approximate.estimate.percentile import grid_from, grid_probabilities
from pyqbeast.approximate.estimate.request import Aggregate, axes_for
from pyqbeast.approximate.estimate.scale import WeightScale
from pyqbeast.approximate.estimate.state import Moment, State, StateAxes, bucket_count, fold, merge
from pyqbeast.approximate.estimate.stopping import Goal, all_met, met, pilot_keys, wanted_fraction

__all__ = [
    "Aggregate",
    "Completeness",
    "Estimates",
    "Files",
    "Goal",
    "KnownBounds",
    "Moment",
    "State",
    "StateAxes",
    "Status",
    "Step",
    "WeightScale",
    "all_met",
    "axes_for",
    "bucket_count",
    "completeness",
    "estimate",
    "fold",
    "grid_from",
    "grid_probabilities",
    "merge",
    "met",
    "next_step",
    "pilot_centres",
    "pilot_keys",
    "recentre",
    "wanted_fraction",
]

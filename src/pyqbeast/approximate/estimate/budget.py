"""Which weights to read next, so that all steps and the exact answer after them cost at most 1.1 exact ones.

A sample of fraction f is the rows whose weight (a signed 32-bit hash) lies below a threshold, which
`WeightScale` gives. A file must be read for the weights [start, stop) if its smallest weight is below stop and
its largest is not below start. A file with weights on both sides of a threshold is read twice, in the step
before it and in the step after it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyqbeast.core.format.constants import WEIGHT_END, WEIGHT_MIN
from pyqbeast.core.sampling.weight_scale import WeightScale

#: Most bytes that all steps together may read, by the bytes of the exact query.
MOST_BYTES = 1.1


class FileCosts:
    """The files of a query: those that are left after pruning by its filter.

    A file without an index may hold every weight, so every step reads it.
    """

    def __init__(self, size: ArrayLike, low: ArrayLike, high: ArrayLike) -> None:
        """Arrays [file]: bytes, smallest and largest weight (both inclusive) over the file's blocks."""
        self.size = np.asarray(size, dtype=np.int64)
        self.low = np.asarray(low, dtype=np.int64)
        self.high = np.asarray(high, dtype=np.int64)

    @property
    def total(self) -> int:
        """The bytes of the exact query."""
        return int(self.size.sum())

    def cost(self, start: int, stop: int) -> int:
        """The bytes of the files needed for the weights [start, stop)."""
        return int(self.size[self.needed(start, stop)].sum())

    def needed(self, start: int, stop: int) -> NDArray[np.bool_]:
        """Which files [file] the weights [start, stop) need."""
        return np.asarray((self.low < stop) & (self.high >= start) & (start < stop))

    def of_step(self, step: Step) -> NDArray[np.bool_]:
        """Which files [file] a step reads."""
        needed = self.needed(step.start, step.stop)
        if step.only is not None:
            needed &= np.isin(np.arange(len(needed)), step.only)
        return needed


@dataclass(frozen=True)
class Step:
    """The rows with start <= weight < stop are to be read next.

    Attributes:
        start: where the last step stopped.
        stop: WEIGHT_END if this step ends with the exact answer.
        cost: bytes of this step.
        fraction: the chance of a key to be lighter than `stop`.
        only: the numbers of the files to read, which hold all rows of some groups; None for all files.
        restart: whether to run the query over all weights, because adding up cannot give the exact answer or is slower.
    """

    start: int
    stop: int
    cost: int
    fraction: float
    restart: bool = False
    only: tuple[int, ...] | None = None

    @property
    def exact(self) -> bool:
        """Whether the answer after this step is exact."""
        return self.stop == WEIGHT_END and self.only is None


def next_step(
    files: FileCosts,
    wanted: float,
    *,
    start: int,
    spent: int,
    mergeable: bool,
    scale: WeightScale,
) -> Step:
    """The step from `start` to the wanted fraction or a bit beyond; to the exact answer if that is too dear.

    The stop is rounded up to the largest threshold that needs the same files. If reading on from there to the
    exact answer would break the budget, the next larger thresholds are tried. A first step reads a file at least:
    nothing can be estimated of one that ends before. The choice looks at weights only, so it does not bias the sample.

    Args:
        files: of the query.
        wanted: the fraction to read up to; 1 for the exact answer.
        start: where the last step stopped.
        spent: bytes of the steps so far.
        mergeable: the exact answer can be had by adding up the steps; a percentile's cannot.
        scale: which weights the table's rows have.
    """
    stops = scale.stops(files.low, max(scale.threshold(wanted), start + 1))
    if wanted < 1:
        rest = _cost_from(files, stops) if mergeable else np.full(len(stops), files.total)
        now = _cost_below(files, start, stops)
        fits = (stops < WEIGHT_END) & (spent + now + rest <= MOST_BYTES * files.total)
        fits &= (now > 0) | (start > WEIGHT_MIN)
        if fits.any():
            at = int(fits.argmax())
            return Step(start, int(stops[at]), int(now[at]), scale.share(int(stops[at])))
    # The query itself runs faster than the sums of an estimate, so it is preferred if both are within the
    # budget.
    affordable = spent + files.total <= MOST_BYTES * files.total
    if start == WEIGHT_MIN or (mergeable and not affordable):
        return Step(start, WEIGHT_END, files.cost(start, WEIGHT_END), 1.0)
    return Step(WEIGHT_MIN, WEIGHT_END, files.total, 1.0, restart=True)


def largest_step(
    files: FileCosts, most: float, wanted: float, *, start: int, mergeable: bool, scale: WeightScale
) -> Step | None:
    """The step from `start` that reads as many rows as are wanted, or the most for at most so many bytes.

    None where each costs more.

    Args:
        files: of the query.
        most: bytes.
        wanted: the fraction to read up to.
        start: where the last step stopped.
        mergeable: as for `next_step`; without it a step does not read to the end.
        scale: which weights the table's rows have.
    """
    # Files may be lighter whose rows have all been deleted. A step that ends before the first row tells nothing.
    stops = scale.stops(files.low, max(start, scale.start) + 1)
    cost = _cost_below(files, start, stops)
    fits = np.flatnonzero((cost > 0) & (cost <= most) & ((stops < WEIGHT_END) | mergeable))
    if not len(fits):
        return None
    # What is wanted may fit where the query in full, which tells the exact answer alone, does not.
    enough = int(np.searchsorted(stops[fits], scale.threshold(wanted)))
    at = int(fits[min(enough, len(fits) - 1)])
    stop = int(stops[at])
    return Step(start, stop, int(cost[at]), 1.0 if stop == WEIGHT_END else scale.share(stop))


def _cost_below(files: FileCosts, start: int, stops: NDArray[np.int64]) -> NDArray[np.int64]:
    """`files.cost(start, stop)` for every stop above start."""
    size = np.where(files.high >= start, files.size, 0)
    order = np.argsort(files.low)
    sums = np.append(0, np.cumsum(size[order]))
    return np.asarray(sums[np.searchsorted(files.low[order], stops, side="left")])


def _cost_from(files: FileCosts, stops: NDArray[np.int64]) -> NDArray[np.int64]:
    """`files.cost(stop, WEIGHT_END)` for every stop."""
    order = np.argsort(files.high)
    sums = np.append(0, np.cumsum(files.size[order]))
    return np.asarray(sums[-1] - sums[np.searchsorted(files.high[order], stops, side="left")])

"""Populations of keys, and samples of them as readers collect them, in many independent repetitions.

A population is stored as the sums of its keys, because a sample takes all rows of a key or none. A sample of
fraction f takes each key with probability f; each repetition has its own hash. A state's group axis holds the
repetitions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from pyqbeast.approximate.estimate import (
    Aggregate,
    Combination,
    KnownBounds,
    Moment,
    Operation,
    Part,
    Requested,
    State,
    StateAxes,
    axes_for,
)
from pyqbeast.approximate.estimate.part_sums import PartSums

COUNT, SUM, AVG = Aggregate("count", ("y",)), Aggregate("sum", ("y",)), Aggregate("avg", ("y",))
SD, CORR = Aggregate("stddev_samp", ("y",)), Aggregate("corr", ("x", "y"))
AGGREGATES = {"count": COUNT, "sum": SUM, "avg": AVG, "sd": SD, "corr": CORR}
#: What is computed from two aggregates of the same rows.
SUM_X = Aggregate("sum", ("x",))
RATIO = Combination((SUM_X, SUM), Operation("/", Part(0), Part(1)))
BOTH = Combination((SUM_X, SUM), Operation("+", Part(0), Part(1)))
COMBINED = {"ratio": RATIO, "both": BOTH}
AXES = axes_for([*AGGREGATES.values(), *COMBINED.values()])
# No value is missing here, so moments with the same powers are the same sums: they are added up once.
_POWERS = [tuple(sorted((c, p) for c, p in zip(m.columns, m.powers, strict=True) if p)) for m in AXES.moments]
SAME = [_POWERS.index(powers) for powers in _POWERS]


@dataclass(frozen=True, eq=False)
class Population:
    """`sums` [key, moment] of AXES; `spans` [key, column, 2]; rows' values `y` and the key of each row."""

    axes: StateAxes
    sums: np.ndarray
    spans: np.ndarray
    y: np.ndarray
    key: np.ndarray

    @cache  # noqa: B019  (populations are kept themselves)
    def truth(self, aggregate: Requested) -> float:
        """The aggregate of the whole population."""
        sums = PartSums(State(self.axes, ((),), self.sums[None], self.spans[None]), aggregate)
        return float(sums.value(sums.sampled[0].sum(axis=0)))

    @property
    def known(self) -> KnownBounds:
        """What a writer and the files' statistics would say."""
        bounds = {
            column: (float(self.spans[:, at, 0].min()), float(self.spans[:, at, 1].max()))
            for at, column in enumerate(self.axes.columns)
        }
        return KnownBounds(float(self.sums[:, 0].max()), bounds)


def of_rows(key: np.ndarray, y: np.ndarray, x: np.ndarray) -> Population:
    """The population of rows with these keys (0 to the number of keys - 1) and values."""
    values = {"x": x, "y": y}
    sums = np.ones((key.max() + 1, len(AXES.moments)), order="F")
    for at, moment in enumerate(AXES.moments):
        term = np.ones(len(key))
        for column, power in zip(moment.columns, moment.powers, strict=True):
            term *= values[column] ** power
        sums[:, at] = np.bincount(key, term)
    spans = np.empty((len(sums), len(AXES.columns), 2))
    spans[..., 0], spans[..., 1] = np.nan, -np.inf
    for at, column in enumerate(AXES.columns):
        np.fmin.at(spans[:, at, 0], key, values[column])
        np.maximum.at(spans[:, at, 1], key, values[column])
    return Population(AXES, sums, spans, y, key)


def _zipf(rng: np.random.Generator, keys: int) -> np.ndarray:
    sizes = np.arange(1, 301)
    return rng.choice(sizes, keys, p=sizes**-2.2 / np.sum(sizes**-2.2))


#: Joins of two tables, by name: how many rows each key has on the left and on the right.
JOINS = {
    # Orders and their lines.
    "lines": lambda rng, keys: (np.ones(keys, int), rng.geometric(0.3, keys)),
    "many": lambda rng, keys: (rng.geometric(0.4, keys), rng.geometric(0.4, keys)),
    # Who has much of one has much of the other.
    "alike": lambda rng, keys: tuple(1 + rng.poisson(rng.gamma(2, 0.7, keys), (2, keys))),
    # A third of the keys meet nothing. Drawn after the method was fixed.
    "hold join": lambda rng, keys: (
        np.ceil(rng.lognormal(0.4, 0.6, keys)).astype(int),
        rng.binomial(6, rng.beta(1, 2, keys)),
    ),
    "heavy join": lambda rng, keys: (_zipf(rng, keys), _zipf(rng, keys)),
}
KEYS_OF_JOINS = dict.fromkeys(JOINS, 100_000) | {"heavy join": 50_000}


def of_join(
    left: np.ndarray, right: np.ndarray, y: np.ndarray, x: np.ndarray, rng: np.random.Generator
) -> Population:
    """The inner join by key of two tables: each row of one meets each row of the other that has its key.

    `left` and `right` are the rows of each key; `y` and `x` the values of these rows, which get an effect of the key.
    """
    effect = rng.gamma(2, 1, len(left))
    key = np.repeat(np.arange(len(left)), left)
    pairs = right[key]
    row = np.repeat(np.arange(len(key)), pairs)
    first = np.cumsum(right) - right
    nth = np.arange(len(row)) - np.repeat(np.cumsum(pairs) - pairs, pairs)
    key = key[row]
    return of_rows(key, effect[key] * y[row], x[first[key] + nth])


@cache
def population(name: str) -> Population:
    """The populations of the acceptance test, by name."""
    rng = np.random.default_rng(sum(map(ord, name)))
    if name in JOINS:
        left, right = JOINS[name](rng, KEYS_OF_JOINS[name])
        noise = (rng.lognormal(0, 0.5, size) for size in (left.sum(), right.sum()))
        return of_join(left, right, *noise, rng)
    keys = {
        "ln1": 400_000,
        "norm": 400_000,
        "par": 100_000,
        "bent": 50_000,
        "rare": 1_200,
        "cl": 50_000,
        "spikes": 390_000,
    }.get(name, 200_000)

    def zipf(power: float, most: int) -> np.ndarray:
        sizes = np.arange(1, most + 1)
        return rng.choice(sizes, keys, p=sizes**-power / np.sum(sizes**-power))

    size = {
        "clmild": lambda: rng.geometric(0.2, keys),
        "clz50": lambda: zipf(1.5, 50),
        "clkm": lambda: rng.geometric(0.2, keys),
        "cl": lambda: zipf(2.2, 2000),
        "hold": lambda: np.ceil(rng.lognormal(1, 0.7, keys)).astype(int),
    }.get(name, lambda: np.ones(keys, int))()
    key = np.repeat(np.arange(keys), size)
    rows = len(key)
    if name == "norm":
        y = rng.normal(3, 1, rows)
    elif name == "spikes":
        y = np.where(key < 160, 81, rng.uniform(-0.7, 2.7, rows))
    elif name == "par":
        y = 1 + rng.pareto(1.5, rows)
    elif name in ("ln1", "rare", "bent"):
        y = rng.lognormal(0, 1, rows)
    elif name == "hold":
        y = rng.gamma(2, 1, keys)[key] * rng.weibull(0.6, rows)
    else:
        effect = np.sqrt(size) if name == "clkm" else 1.0
        y = (rng.lognormal(0, 0.5, keys) * effect)[key] * rng.lognormal(0, 0.5, rows)
    # A bent line: correlation of a heavy-tailed column, biased upwards in samples.
    x = np.log(y) + rng.normal(0, 1, rows) if name == "bent" else y + rng.normal(0, 2, rows)
    return of_rows(key, y, x)


def samples(name, stops, repetitions, rng, requested, spans=False, batch=50):
    """States of nested samples: one list of repetitions per batch, cumulated over the steps.

    Yields (sums [repetition, step, bucket, moment], spans [repetition, step, column, 2] or None). What nobody
    `requested` is NaN: adding it up would take most of the time.
    """
    pop, steps, buckets = population(name), len(stops), AXES.buckets
    needed = {AXES.moments.index(moment) for each in requested for moment in (Moment(), *each.moments)}
    columns = {AXES.columns.index(column) for each in requested for column in each.extremes}
    keys, last = len(pop.sums), stops[-1]
    for done in range(0, repetitions, batch):
        count = min(batch, repetitions - done)
        expected = count * keys * last
        # The gaps between sampled keys are geometric: exponential gaps rounded down. All repetitions are drawn
        # in a row.
        gaps = rng.standard_exponential(int(expected + 8 * np.sqrt(expected) + 50)) / -np.log1p(-last)
        place = np.cumsum(gaps.astype(np.int64) + 1) - 1
        assert place[-1] >= count * keys
        place = place[: np.searchsorted(place, count * keys)]
        repetition = place // keys
        key = place - repetition * keys
        drawn = rng.random(len(key)) * last
        # A search takes longer for so few stops, and so do large numbers.
        step = np.zeros(len(key), np.int8)
        for stop in stops:
            step += (drawn >= stop).view(np.int8)
        at = repetition * steps + step
        slot = at * buckets + rng.integers(0, buckets, len(key))
        sums = np.full((count, steps, buckets, pop.sums.shape[1]), np.nan)
        for same in {SAME[moment] for moment in needed}:
            added = np.bincount(slot, pop.sums[key, same], count * steps * buckets)
            those = [moment for moment in needed if SAME[moment] == same]
            sums[..., those] = added.reshape(count, steps, buckets, 1).cumsum(axis=1)
        seen = None
        if spans:
            seen = np.full((count, steps, len(AXES.columns), 2), np.nan)
            for column in columns:
                low, high = np.full((2, count * steps), [[np.inf], [-np.inf]])
                np.minimum.at(low, at, pop.spans[key, column, 0])
                np.maximum.at(high, at, pop.spans[key, column, 1])
                low = np.minimum.accumulate(low.reshape(count, steps), axis=1)
                seen[..., column, 0] = np.where(np.isinf(low), np.nan, low)
                seen[..., column, 1] = np.maximum.accumulate(high.reshape(count, steps), axis=1)
        yield sums, seen


def one_group(requested, **columns) -> State:
    """The state of some columns' rows, each of which has a key of its own."""
    values = {name: np.asarray(column, dtype=float) for name, column in columns.items()}
    axes, rows = axes_for(requested), len(next(iter(values.values())))
    sums = np.ones((rows, len(axes.moments)))
    for at, moment in enumerate(axes.moments):
        for column, power in zip(moment.columns, moment.powers, strict=True):
            sums[:, at] *= values[column] ** power
    ends = np.stack([values[column] for column in axes.columns], axis=1)
    buckets = np.random.default_rng(0).integers(0, axes.buckets, rows)
    return State.from_rows(axes, [()] * rows, buckets, sums, ends, ends)


def as_state(sums, spans=None) -> State:
    """A state whose groups are repetitions, of sums [repetition, bucket, moment]."""
    empty = State.empty(AXES, [(i,) for i in range(len(sums))])
    if spans is not None:
        empty.spans[:, 0] = spans
    return State(AXES, empty.groups, sums, empty.spans)

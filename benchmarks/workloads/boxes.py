"""Box queries of known selectivity on data of four kinds. Every round asks for another box."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from benchmarks import lab as peers
from benchmarks.data import INDEXED, KINDS, Data
from benchmarks.lab import Lab
from benchmarks.measure import SELECTED, Case, Counts, Peer

SHARES = (0.0001, 0.001, 0.01, 0.1)
#: Rows that boxes are drawn from. A hundredth of a percent of them are twenty.
DRAWN_ROWS = 200_000
#: Each indexed column as a number, and a number as a value of the column.
_NUMBER = {"c": "unix_micros(c)"}
_VALUE = {"a": "{!r}D", "b": "{:.0f}L", "c": "timestamp_micros({:.0f})", "d": "{:.0f}"}

Doubles = NDArray[np.float64]


def cases(lab: Lab) -> Iterator[Case]:
    """A class for each kind of data, number of columns and share of the rows; tables are indexed by four columns."""
    for data in KINDS:
        boxes = Boxes(lab, data)
        for dimensions in range(1, len(INDEXED) + 1):
            for share in SHARES:
                yield Case(
                    f"{data.name}, {dimensions} of 4 columns, {share:.2%}",
                    {
                        name: _asker(name, boxes, dimensions, share)
                        for name in (peers.OURS, peers.LIQUID, peers.Z_ORDER)
                    },
                    goal="≤ 0.95 × in the median, ≤ 1.1 × in the worst tenth",
                    rounds=lab.questions,
                    is_class=True,
                )


def _asker(peer: str, boxes: Boxes, dimensions: int, share: float) -> Peer:
    lab, data = boxes.lab, boxes.data
    asked: list[str] = []

    def before(number: int) -> None:
        lab.table(peer, data)
        asked[:] = [boxes.condition(number, dimensions, share)]

    def run(number: int) -> tuple[DataFrame, list[Row]]:
        table = lab.read(peer, lab.table(peer, data))
        query = table.filter(asked[0]).agg(F.count("*"), F.sum("small"))
        return query, query.collect()

    def counts(answered: tuple[DataFrame, list[Row]]) -> Counts:
        query, answer = answered
        assert boxes.answers.setdefault(asked[0], answer) == answer, f"{peer} answers otherwise: {asked[0]}"
        return {**peers.opened(query), SELECTED: answer[0][0]}

    return Peer(run, before, counts)


class Boxes:
    """Boxes around rows of a kind of data, the same ones for each peer, and the answers given so far."""

    def __init__(self, lab: Lab, data: Data) -> None:
        self.lab = lab
        self.data = data
        self.answers: dict[str, list[Row]] = {}

    def condition(self, number: int, dimensions: int, share: float) -> str:
        """The filter of a box over some of the columns. The number says which ones, and where the box lies."""
        draw = np.random.default_rng([self.lab.seed, number, dimensions, round(1e6 * share)])
        columns = sorted(draw.choice(len(INDEXED), dimensions, replace=False).tolist())
        bounds = box_around(self._ranks[:, columns], int(draw.integers(len(self._rows))), share)
        sides = []
        for i, (low, high) in zip(columns, bounds, strict=True):
            ascending = np.sort(self._rows[:, i])
            last = len(ascending) - 1
            ends = (ascending[min(last, int(rank * len(ascending)))] for rank in (low, high))
            name = INDEXED[i]
            sides.append(f"{name} BETWEEN {' AND '.join(_VALUE[name].format(float(end)) for end in ends)}")
        return " AND ".join(sides)

    @cached_property
    def _rows(self) -> Doubles:
        """The indexed columns of some rows as numbers."""
        source = self.lab.source(self.data)
        numbers = source.select(*(F.expr(_NUMBER.get(name, name)).alias(name) for name in INDEXED))
        some = numbers.sample(fraction=min(1.0, DRAWN_ROWS / self.lab.rows), seed=self.lab.seed)
        return np.column_stack([np.asarray(column, np.float64) for column in some.toArrow().columns])

    @cached_property
    def _ranks(self) -> Doubles:
        """For each value the share of smaller ones in its column."""
        columns = [np.searchsorted(np.sort(column), column) for column in self._rows.T]
        return np.stack(columns, axis=1) / len(self._rows)


def box_around(ranks: Doubles, centre: int, share: float) -> Doubles:
    """The bounds of the box around a row that holds `share` of all rows: d × 2 ranks.

    Its sides are equally long, as far as the ends of the ranks let them.

    Args:
        ranks: n × d numbers between 0 and 1.
        centre: the row.
        share: of the n rows.
    """
    distance = np.abs(ranks - ranks[centre]).max(axis=1)
    last = max(0, round(share * len(ranks)) - 1)
    half = np.partition(distance, last)[last]
    return np.stack([ranks[centre] - half, ranks[centre] + half], axis=1).clip(0.0, 1.0)

"""What cuts by weight cost boxes and bring samples, simulated without Spark: `python -m benchmarks.layouts`.

It prints the table of docs/indexing.md. The costs of a file and of a row are those that the suite's boxes show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyqbeast.core.format.weight import weight_of
from pyqbeast.core.otree import file_layout
from pyqbeast.core.otree.tree import SampledRows

Doubles = NDArray[np.float64]
Longs = NDArray[np.int64]

ROWS, COLUMNS, CUBES, PAGES_OF_CUBE, SAMPLED, QUESTIONS, SEED = 2_000_000, 4, 40, 100, 250_000, 12, 5
SHARES = (0.0001, 0.001, 0.01, 0.1)
FRACTIONS: tuple[tuple[float, ...], ...] = (
    (0.01, 0.03, 0.1, 0.3),
    (0.01, 0.1, 0.3, 0.5),
    (0.01, 0.1, 0.3),
    (0.01, 0.1),
    (),
)
#: Seconds to open a file of fifty megabytes, and to scan a million rows, of a table of 40 million rows on two cores.
SECONDS_OF_FILE, SECONDS_OF_MILLION, MILLIONS = 0.0167, 0.026, 40
HILBERT_BITS = 10


@dataclass(frozen=True)
class Pages:
    """The smallest and largest values of n pages, and those of the files that hold them."""

    low: Doubles
    high: Doubles
    rows: Longs

    @classmethod
    def of(cls, points: Doubles, parts: Longs) -> Pages:
        """Of rows that are sorted by their part."""
        begins = np.flatnonzero(np.diff(parts, prepend=-1))
        low = np.minimum.reduceat(points, begins)
        high = np.maximum.reduceat(points, begins)
        return cls(low, high, np.diff(np.append(begins, len(points))))

    def met(self, low: Doubles, high: Doubles) -> NDArray[np.bool_]:
        """Which of them a box meets."""
        return np.asarray(((self.low <= high) & (self.high >= low)).all(axis=1))


class Table:
    """Rows in files: `file` numbers the file of each row, and `order` sorts the rows within it."""

    def __init__(self, points: Doubles, file: Longs, order: Doubles) -> None:
        self.sorting = np.lexsort((order, file))
        file = file[self.sorting]
        begins = np.flatnonzero(np.diff(file, prepend=-1))
        page = (np.arange(len(file)) - np.repeat(begins, np.diff(np.append(begins, len(file))))) // (
            ROWS // CUBES // PAGES_OF_CUBE
        )
        self.files = Pages.of(points[self.sorting], file)
        self.pages = Pages.of(points[self.sorting], file * 1_000_000 + page)

    def asked(self, low: Doubles, high: Doubles) -> tuple[float, float]:
        """The seconds that a box takes, and the rows of the files that it opens."""
        files = self.files.met(low, high)
        scanned = self.pages.rows[self.pages.met(low, high)].sum() / ROWS * MILLIONS
        seconds = SECONDS_OF_FILE * files.sum() + SECONDS_OF_MILLION * scanned
        return float(seconds), float(self.files.rows[files].sum())


def uniform(draw: np.random.Generator) -> Doubles:
    """Rows everywhere."""
    return draw.random((ROWS, COLUMNS))


def clustered(draw: np.random.Generator) -> Doubles:
    """Rows around forty spots."""
    spots = draw.random((40, COLUMNS))[draw.integers(0, 40, ROWS)]
    points = spots + draw.standard_normal((ROWS, COLUMNS)) * 0.01
    low, high = points.min(axis=0), points.max(axis=0)
    return np.asarray((points - low) / (high - low))


def ranks(points: Doubles) -> Doubles:
    """For each column the share of the rows that have less."""
    return np.column_stack([np.searchsorted(np.sort(column), column) / len(column) for column in points.T])


def hilbert(cells: Longs) -> Longs:
    """The place of cells on Hilbert's curve, by Skilling's transformation of their coordinates."""
    axes = [cells[:, i].copy() for i in range(cells.shape[1])]
    for bit in (1 << i for i in range(HILBERT_BITS - 1, 0, -1)):
        for i in range(len(axes)):
            is_upper = (axes[i] & bit) != 0
            swapped = np.where(is_upper, 0, (axes[0] ^ axes[i]) & (bit - 1))
            axes[0] ^= np.where(is_upper, bit - 1, swapped)
            axes[i] ^= swapped
    for i in range(1, len(axes)):
        axes[i] ^= axes[i - 1]
    parity = np.zeros_like(axes[0])
    for bit in (1 << i for i in range(HILBERT_BITS - 1, 0, -1)):
        parity ^= np.where((axes[-1] & bit) != 0, bit - 1, 0)
    place = np.zeros_like(parity)
    for i in range(HILBERT_BITS - 1, -1, -1):
        for axis in axes:
            place = (place << 1) | (((axis ^ parity) >> i) & 1)
    return np.asarray(place)


def liquid(points: Doubles, of_ranks: Doubles, files: int, draw: np.random.Generator) -> Table:
    """The rows in Hilbert's order, cut into so many files; within a file they have none."""
    place = hilbert((of_ranks * ((1 << HILBERT_BITS) - 1)).astype(np.int64))
    file = np.empty(ROWS, np.int64)
    file[place.argsort(kind="stable")] = np.arange(ROWS) * files // ROWS
    return Table(points, file, draw.random(ROWS))


def boxes(points: Doubles, of_ranks: Doubles, draw: np.random.Generator) -> list[tuple[Doubles, Doubles]]:
    """Boxes around rows, on one to all columns, that select each of `SHARES`."""
    found = []
    for columns in range(1, COLUMNS + 1):
        for share in np.repeat(SHARES, QUESTIONS):
            chosen = draw.choice(COLUMNS, columns, replace=False)
            centre = of_ranks[draw.integers(ROWS)]
            distance = np.abs(of_ranks[::20, chosen] - centre[chosen]).max(axis=1)
            reach = np.quantile(distance, share)
            inside = points[::20][distance <= reach]
            low, high = np.full(COLUMNS, -np.inf), np.full(COLUMNS, np.inf)
            low[chosen], high[chosen] = inside[:, chosen].min(axis=0), inside[:, chosen].max(axis=0)
            found.append((low, high))
    return found


def ours(points: Doubles, weights: NDArray[np.int32], fractions: Sequence[float]) -> tuple[Table, float]:
    """The table that a write makes, and the share of it that a sample of 30 % reads."""
    every = ROWS // SAMPLED
    rows = SampledRows.of(points[::every], weights[::every], np.full(len(points[::every]), float(every)))
    layout = file_layout.lay_out(rows, ROWS // CUBES, fractions)
    leaf = layout.leaf_of(points, weights)
    file = layout.target[leaf].astype(np.int64)
    lightest = np.full(layout.files, 2**31, np.int64)
    np.minimum.at(lightest, file, weights)
    read = np.bincount(file, minlength=layout.files)[lightest < weight_of(0.3)].sum() / ROWS
    return Table(points, file, layout.stretch[leaf].astype(np.float64)), float(read)


def main() -> None:
    """Prints the table."""
    file_layout.STRETCH_ROWS = (
        ROWS // CUBES // PAGES_OF_CUBE // 2
    )  # pages are as small as the simulated files are
    print("| `sampleFractions` | data | seconds, median and slowest tenth | bytes | a sample of 30 % reads |")
    print("|---|---|---|---|---|")
    for make in (uniform, clustered):
        draw = np.random.default_rng(SEED)
        points = make(draw)
        of_ranks = ranks(points)
        weights = draw.integers(-(2**31), 2**31, ROWS).astype(np.int32)
        questions = boxes(points, of_ranks, draw)
        for fractions in FRACTIONS:
            table, read = ours(points, weights, fractions)
            peer = liquid(points, of_ranks, len(table.files.rows), draw)
            asked = np.array([table.asked(*box) for box in questions])
            seconds, size = (asked / np.array([peer.asked(*box) for box in questions])).T
            print(
                f"| `{','.join(map(str, fractions))}` | {make.__name__} | {np.median(seconds):.2f} ×, "
                f"{np.quantile(seconds, 0.9):.2f} × | {np.median(size):.2f} × | {read:.0%} |",
                flush=True,
            )


if __name__ == "__main__":
    main()

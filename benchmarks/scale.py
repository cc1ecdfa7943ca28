"""What planning a write costs the driver as tables grow, and how even its files get: `python -m benchmarks.scale`.

It needs no Spark and prints the first table of docs/scale.md, in two minutes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from pyqbeast.core.otree.file_layout import lay_out
from pyqbeast.core.otree.tree import SampledRows, build_tree
from pyqbeast.core.otree.weight_bands import DEFAULT_FRACTIONS
from pyqbeast.table.write.profile import SAMPLE_ROWS

TERABYTES = (0.01, 0.1, 1, 10, 100, 1_000)
ROW_BYTES, CUBE_SIZE, COLUMNS, SEED = 100, 5_000_000, 4, 1
T = TypeVar("T")


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What some work gives, and its seconds of CPU."""
    began = time.process_time()
    return work(), time.process_time() - began


def sample(draw: np.random.Generator, rows: float, sampled: int) -> SampledRows:
    """The sample of a write of so many evenly spread rows."""
    weights = draw.integers(-(2**31), 2**31, sampled).astype(np.int32)
    return SampledRows.of(draw.random((sampled, COLUMNS)), weights, np.full(sampled, rows / sampled))


def line(draw: np.random.Generator, terabytes: float, sampled: int = SAMPLE_ROWS) -> str:
    """The line of the table for a write of so many bytes, planned from so many sampled rows."""
    rows = terabytes * 1e12 / ROW_BYTES
    seen, others = sample(draw, rows, sampled), sample(draw, rows, sampled)
    tree, of_tree = timed(lambda: build_tree(seen, COLUMNS, CUBE_SIZE, ()))
    layout, of_layout = timed(lambda: lay_out(seen, CUBE_SIZE, DEFAULT_FRACTIONS))
    file = layout.target[layout.leaf_of(others.points, others.weights)]
    held = np.bincount(file, others.counts, layout.files) / CUBE_SIZE
    return (
        f"| {terabytes:g} TB | {rows:.0e} | {len(tree):,} | {layout.files:,} | {of_tree:.1f} | {of_layout:.1f} "
        f"| {np.quantile(held, 0.01):.1f} to {np.quantile(held, 0.99):.1f} cubes |"
    )


def main() -> None:
    """Prints the table."""
    print(
        "| bytes | rows | cubes | files | tree, s | layout, s | rows of a file, smallest and largest hundredth |"
    )
    print("|---|---|---|---|---|---|---|")
    draw = np.random.default_rng(SEED)
    for terabytes in TERABYTES:
        print(line(draw, terabytes), flush=True)


if __name__ == "__main__":
    main()

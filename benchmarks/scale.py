"""What planning a write costs the driver as tables grow, and how even its files get: `python -m benchmarks.scale`.

It needs no Spark and prints the first table of docs/scale.md, in a minute.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np

from pyqbeast.core.otree.file_layout import lay_out
from pyqbeast.core.otree.tree import SampledRows, build_tree
from pyqbeast.table.write.profile import SAMPLE_ROWS

TERABYTES = (0.01, 0.1, 1, 10, 100, 1_000)
ROW_BYTES, CUBE_SIZE, COLUMNS, SEED = 100, 5_000_000, 4, 1
T = TypeVar("T")


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What some work gives, and its seconds of CPU."""
    began = time.process_time()
    return work(), time.process_time() - began


def sample(draw: np.random.Generator, rows: float) -> SampledRows:
    """The sample of a write of so many evenly spread rows."""
    weights = draw.integers(-(2**31), 2**31, SAMPLE_ROWS).astype(np.int32)
    return SampledRows.of(
        draw.random((SAMPLE_ROWS, COLUMNS)), weights, np.full(SAMPLE_ROWS, rows / SAMPLE_ROWS)
    )


def main() -> None:
    """Prints the table."""
    print(
        "| bytes | rows | cubes | files | tree, s | layout, s | rows of a file, smallest and largest hundredth |"
    )
    print("|---|---|---|---|---|---|---|")
    draw = np.random.default_rng(SEED)
    for terabytes in TERABYTES:
        rows = terabytes * 1e12 / ROW_BYTES
        seen, others = sample(draw, rows), sample(draw, rows)
        tree, of_tree = timed(partial(build_tree, seen, COLUMNS, CUBE_SIZE))
        layout, of_layout = timed(partial(lay_out, seen, CUBE_SIZE))
        file = layout.target[layout.leaf_of(others.points, others.weights)]
        held = np.bincount(file, others.counts, layout.files) / CUBE_SIZE
        print(
            f"| {terabytes:g} TB | {rows:.0e} | {len(tree):,} | {layout.files:,} | {of_tree:.1f} | {of_layout:.1f} "
            f"| {np.quantile(held, 0.01):.1f} to {np.quantile(held, 0.99):.1f} cubes |",
            flush=True,
        )


if __name__ == "__main__":
    main()
